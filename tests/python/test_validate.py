"""Tests `bloatlab validate`: tc's syntax, METHOD.md's network, metrics by hand, and part of the comparison."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from bloatlab.cli.main import call
from bloatlab.scenario import Scenario
from bloatlab.simulation import Result, run
from bloatlab.validate import Entry, NoReferenceError, build, load, measure, public, validate
from bloatlab.validate.judge import Cell, explanations
from bloatlab.validate.measure import jain
from bloatlab.validate.queues import NotSupportedError, queue_of, shapes
from bloatlab.validate.reference import read

ENTRIES = {e.name: e for path in public() for e in load(path)}


ALL: dict[str, Any] = {name: given for path in public() for name, given in json.loads(path.read_text()).items()}


def entry(name: str, **other: Any) -> Entry:
    """Returns a scenario of the packaged reference, with some of its values replaced."""
    given = {**ALL[name], **other}
    return one(given, name)


def one(given: dict[str, Any], name: str = "x") -> Entry:
    (found,) = read({name: given}, "x")
    return found


# ---------------------------------------------------------------------------------------------------------------- tc


def queue(text: str, rate: int = 10_000_000) -> dict[str, Any]:
    """Builds a scenario with this discipline, given in tc's syntax, and returns the discipline's parameters from it."""
    (found,) = build(entry("sf-b-pie-reno", qdisc=text, rate_bps=rate), 1).data["link"]["up"]["queue"].values()
    return found


def test_tc_is_read_in_its_own_units():
    red = queue("red limit 90840 min 22710 max 45420 avpkt 1514 burst 100 probability 0.1 bandwidth 10mbit")
    assert {name: red[name] for name in ("limit", "min", "max", "avpkt", "burst", "probability", "bandwidth")} == {
        "limit": "90840B",
        "min": "22710B",
        "max": "45420B",
        "avpkt": "1514B",
        "burst": 100,
        "probability": 0.1,
        "bandwidth": "10mbit",
    }
    # tc(8): k is 1024 for sizes and 1000 for rates
    codel = queue("fq_codel noecn target 5000us interval 100ms memory_limit 32Mb quantum 1k")
    assert (codel["target"], codel["interval"]) == ("5ms", "100ms")
    assert (codel["memory_limit"], codel["quantum"], codel["ecn"]) == ("33554432B", "1024B", False)
    assert shapes("ROOT cake bandwidth 160kbit besteffort")
    assert not shapes("cake bandwidth 160kbit besteffort")
    assert queue("ROOT cake bandwidth 160kbit besteffort")["bandwidth"] == "160kbit"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the text is empty"),
        ("ROOT", "the text is empty"),
        ("fq_coddle", 'did you mean "fq_codel"?'),
        ("pfifo limt 5", 'did you mean "limit"?'),
        ("pfifo limit", '"limit" is followed by a number of packets'),
        ("pfifo limit 1.5", '"1.5" is not valid; expected a number of packets'),
        ("pfifo limit ٣", "expected a number of packets"),
        ("codel target 5parsecs", '"5parsecs" is not valid; expected a time'),
        ("codel target 5000", 'tc reads it as microseconds; write "5000us"'),
        ("red limit 9000 bandwidth -1mbit", "expected a rate"),
        ("red", "without a limit"),
        ("fq_codel ce_threshold 1ms ce_threshold_selector 0x1", '"0x1" is not valid'),
        ("dualpi2 step_tresh 2ms", 'did you mean "step_thresh"?'),
        ("x" * 5000, "..."),
    ],
)
def test_what_tc_would_refuse_is_refused_in_a_line(text: str, says: str):
    with pytest.raises(NotSupportedError) as caught:
        queue(text)
    assert says in str(caught.value)
    assert len(str(caught.value)) < 700
    assert "\n" not in str(caught.value)


def test_kernel_defaults():
    assert queue("pfifo limit 20")["limit"] == "20p"
    assert queue("bfifo limit 30000")["limit"] == "30KB"
    # tc-fq_codel(8): 10240 packets, 1024 flows, 32 MiB, and ECN is on by default; tc-codel(8): ECN is off by default
    fq = queue("fq_codel")
    assert (fq["limit"], fq["flows"], fq["memory_limit"], fq["ecn"]) == ("10240p", 1024, "33554432B", True)
    assert (queue("fq_codel noecn")["ecn"], queue("codel")["ecn"]) == (False, False)
    # tc-fq_codel(8): above ce_threshold, a packet is marked only if its DS field, masked with MASK, equals VALUE
    chosen = queue("fq_codel ce_threshold 1ms ce_threshold_selector 0x1/0x3")
    assert (chosen["ce_threshold"], chosen["ce_threshold_selector"]) == ("1ms", "0x1/0x3")
    # tc-pie(8): alpha is 2 and beta 20, in units of 1/16
    pie = queue("pie target 20ms")
    assert (pie["alpha"], pie["beta"], pie["target"], pie["variant"]) == (0.125, 1.25, "20ms", "linux")
    # with HZ = 1000, a timer of 15 ms expires in the 16th millisecond
    assert [q["tupdate"] for q in (pie, queue("fq_pie")["pie"], queue("pie tupdate 32ms"))] == ["16ms", "16ms", "32ms"]
    assert {queue(kind)["variant"] for kind in ("codel", "fq_codel", "sfq")} == {"linux"}
    assert queue("fq_pie")["pie"]["variant"] == "linux"
    # tc-red(8): bandwidth is 10mbit, whatever the rate of the link
    assert queue("red limit 90kb")["bandwidth"] == "10mbit"
    assert queue("red limit 90kb bandwidth 5mbit")["bandwidth"] == "5mbit"
    # packet sizes include the Ethernet header (`header`, 14 bytes), which CAKE subtracts before it adds `overhead` to
    # the size of the IP packet
    root = queue("ROOT cake bandwidth 5mbit besteffort", 5_000_000)
    assert (root["header"], root["diffserv"], root["bandwidth"]) == (14, "besteffort", "5mbit")
    cake = queue("cake docsis ack-filter dual-srchost rtt 50ms memlimit 4Mb")
    assert {name: cake[name] for name in ("isolation", "ack_filter", "overhead", "mpu", "rtt", "memory_limit")} == {
        "isolation": "dual_srchost",
        "ack_filter": "normal",
        "overhead": 18,
        "mpu": 64,
        "rtt": "50ms",
        "memory_limit": "4194304B",
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("fq", '"fq" of tc is not modelled'),
        ("ROOT cake bandwidth 5mbit nat", '"nat" of tc is not modelled'),
        ("ROOT cake", "without a bandwidth"),
        ("ROOT cake bandwidth 50mbit", "above the link"),
        ("ROOT codel", "does not shape"),
        ("sfq flows 3", '"flows" of tc is not modelled'),
        ("red limit 9000 adaptive", '"adaptive" of tc is not modelled'),
    ],
)
def test_what_is_not_there_is_said(text: str, why: str):
    with pytest.raises(NotSupportedError, match=why):
        queue_of(text, 10_000_000)


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"flows": [{"n": 1, "cc": "illinois"}]}, "no illinois"),
        ({"flows": [{"n": 1, "cc": "reno", "ecn": 5}]}, "a flow's ecn 5"),
        ({"flows": [{"n": 1, "cc": "reno", "dir": "sideways"}]}, "a flow's dir sideways"),
        ({"pings": [{"tos": 0}, {"tos": 3}]}, "sent with CE"),
        ({"up_bps": 400_000, "up_qdisc": "pfifo"}, "up_qdisc that does not shape"),
        ({"tso": 2}, "tso 2"),
        ({"h1_qdisc": "codel"}, "h1_qdisc codel"),
        ({"h1_qdisc": "sfq limit 9"}, "h1_qdisc sfq limit 9"),
        ({"gso_max_segs": "all"}, "gso_max_segs all"),
        ({"sysctl": {"net.ipv4.tcp_ecn": 3, "net.ipv4.tcp_sack": 0}}, "sysctl net.ipv4.tcp_sack 0"),
        ({"sysctl": 1}, "sysctl 1"),
    ],
)
def test_traffic_that_is_not_there_is_said(other: dict[str, Any], why: str):
    with pytest.raises(NotSupportedError, match=why):
        build(entry("sf-b-pie-reno", **other), 1)


def test_every_known_discipline_is_read():
    for kind in ("pfifo", "bfifo", "codel", "fq_codel", "pie", "fq_pie", "sfq", "red limit 90kb", "cake", "dualpi2"):
        assert queue(kind)


def test_words_of_dualpi2():
    found = queue("dualpi2 any_ect step_thresh 2ms")
    assert (found["ecn_mask"], found["step_thresh"], found["variant"]) == (3, "2ms", "linux")


def test_datagrams_with_an_ecn_field():
    apps = build(ENTRIES["sf-A-40M-40-cu1"], 1).data["app"]
    assert [apps[p].get("datagram_ecn") for p in ("ping1", "ping2")] == [None, "ect1"]


# ------------------------------------------------------------------------------------------------------- the network


def test_the_network_is_the_kernels():
    data = build(ENTRIES["sf-d-red-reno"], 3).data
    links, apps = data["link"], data["app"]
    assert [links[k]["rate"] for k in ("nic", "up", "hop", "back")] == ["1gbit", None, "10200kbit", "1gbit"]
    assert links["up"]["shaper"]["htb"] == {"rate": "10mbit", "ceil": None, "burst": "1600B", "cburst": "1600B"}
    # the whole round-trip delay is on the path of the ACKs
    assert [links[k]["delay"] for k in ("nic", "up", "hop", "back")] == ["0s", "0s", "0s", "20ms"]
    assert data["record"]["warm_up"] == "5s"
    flows = [a for name, a in apps.items() if name.startswith("flow")]
    assert len(flows) == 30
    starts = {a["start"] for a in flows}
    assert len(starts) == 30
    assert starts != {a["start"] for n, a in build(ENTRIES["sf-d-red-reno"], 4).data["app"].items() if n[:4] == "flow"}
    # datagrams with 1000 B of payload are 1042 B long with headers, so 10 Mbit/s of payload is 10.42 Mbit/s on the link
    udp = apps["udp0"]
    assert (udp["traffic"]["cbr"]["rate"], udp["traffic"]["cbr"]["size"]) == ("10420kbit", "1042B")
    assert (udp["traffic"]["cbr"]["arrivals"], udp["traffic"]["cbr"]["randomize"]) == ("random_walk", 0.1)
    assert (udp["start"], udp["stop"], apps["ping1"]["stop"]) == ("30s", "60s", "88s")


def test_frames_have_the_kernels_sizes():
    # the buffer is larger than the BDP, so one flow keeps the link busy. A frame of 1514 B carries 1448 B of data
    # (METHOD.md), so the goodput is 1448 / 1514 = 0.9564 times the link's rate R
    quiet = entry("sf-e1-fq_pie-reno", qdisc="pfifo limit 60")
    result = run(build(quiet, 1))
    values = measure(result, quiet)
    assert values["goodput_Mbps"] == pytest.approx(5 * 1448 / 1514, rel=2e-3)


def test_cake_in_the_place_of_the_shaper_shapes_by_itself():
    up = build(ENTRIES["sf-b-cake-cubic"], 1).data["link"]["up"]
    assert (up["shaper"], up["rate"], up["queue"]["cake"]["bandwidth"]) == (None, None, "5mbit")


def test_a_lone_ping_takes_the_base_round_trip():
    """HTB sends a lone ping at once. The round trip is 4 ms, plus the transmission time of 98 B at 1.02 times the
    shaper's rate, plus twice the transmission time of 98 B at 1 Gbit/s.
    """
    given = entry("sf-a-pfifo5-reno", group="x", duration_s=6, warmup_s=2)
    quiet = build(given, 1, (("app.flow0_0000.start", "5.9s"),))
    (rtt,) = set(run(quiet).table("pings").filter(pl.col("t_s") < 4)["rtt_ms"].round(6).to_list())
    assert rtt == pytest.approx(4 + 98 * 8 / 10.2e3 + 2 * 98 * 8e-6, abs=1e-5)


def test_ecn_by_group():
    tcp = build(ENTRIES["sf-A-40M-10-dc1acc-cu1"], 1).data["tcp"]
    keys = ("ecn", "ecn_feedback", "ect", "accecn_option")
    assert [tcp["kernel0"].get(k) for k in keys] == [True, "accecn", "ect1", True]
    assert [tcp["kernel1"].get(k) for k in keys] == [False, None, None, None]
    plain = build(ENTRIES["sf-D-dctcp1-step10"], 1).data["tcp"]["kernel0"]
    assert [plain.get(k) for k in ("congestion_control", *keys)] == ["dctcp", True, "dctcp", None, None]


def test_a_bottleneck_of_the_acks():
    """On the way from h2 to h1, ACKs cross a link with the delay, then a link with the discipline and its own shaper,
    and finally a link at 1.02 times the shaper's rate.
    """
    links = build(ENTRIES["sf-B-asym20-04-d4-ack-on"], 1).data["link"]
    way = [(links[k]["from"], links[k]["to"], links[k]["rate"]) for k in ("back", "acks", "acks_hop")]
    assert way == [("h2", "s2", "1gbit"), ("s2", "s3", None), ("s3", "h1", "408kbit")]
    assert links["acks"]["queue"]["cake"]["ack_filter"] == "normal"
    up = build(ENTRIES["sf-B-asym20-1-d4u4-ack-off"], 1).data["app"]
    assert [(up[f"flow{g}_0000"]["from"], up[f"flow{g}_0000"]["to"]) for g in (0, 1)] == [
        ("h1", ["h2"]),
        ("h2", ["h1"]),
    ]


def test_several_hosts_have_links_of_their_own():
    data = build(ENTRIES["sf-B-10M-hosts-triple"], 1).data
    apps, links = data["app"], data["link"]
    assert [(apps[f"flow{g}_0000"]["from"], apps[f"flow{g}_0000"]["to"]) for g in (0, 1)] == [
        ("h1", ["h2"]),
        ("h1_2", ["h2_2"]),
    ]
    assert (apps["ping1"]["from"], apps["ping1"]["to"]) == ("h1", ["h2"])
    assert [links[k]["from"] for k in ("nic", "nic1", "back", "back1")] == ["h1", "h1_2", "h2", "h2_2"]
    assert links["back1"]["delay"] == "20ms"


def test_senders_have_the_kernels_bursts():
    stacks = [build(ENTRIES[name], 1).data["tcp"]["kernel0"] for name in ("sf-A-40M-10-dc1", "sf-A-40M-10-dc1-gso1")]
    assert [(s["gso_max_segs"], s["ack_pushed"], s["paced"]) for s in stacks] == [
        (65_535, True, False),
        (1, True, False),
    ]


def test_a_discipline_of_h1_paces_or_not():
    """The rate of h1's access link has no effect: it is 100 Gbit/s, at which 1514 bytes take 0.12 us."""
    for h1_qdisc, paced in (("fq", True), ("pfifo", False), ("pfifo limit 1000", False)):
        data = build(entry("sf-D-hystart-20M-40-fq", h1_qdisc=h1_qdisc), 1).data
        assert (data["link"]["nic"]["rate"], data["tcp"]["kernel0"]["paced"]) == ("100gbit", paced)


def test_the_state_of_the_law_is_looked_at():
    """Datagrams arrive at dualpi2 at 1.1 times its rate. This load holds the base probability p' of RFC 9332
    at sqrt(1 - rate / arrivals) = sqrt(1/11), and keeps the sojourn time of the first packet in the classic queue near
    the target.
    """
    given = entry(
        "sf-A-40M-40-cu1",
        udp=[{"start_s": 0, "stop_s": 20, "bps": 44e6 * 1472 / 1514, "payload": 1472, "tos": 0}],
        duration_s=20,
        warmup_s=10,
    )
    scenario = build(given, 1, (("app.flow0_0000.start", "19.9s"),))
    found = measure(run(scenario), given)
    assert found["prob_mean"] == pytest.approx(math.sqrt(1 / 11), rel=0.05)
    assert found["head_age_c_mean_ms"] == pytest.approx(15, rel=0.05)
    assert found["head_age_l_mean_ms"] < 0.3


def test_pages_are_group_as_alone():
    assert "page" in build(ENTRIES["sf-a-pfifo5-reno"], 1).data["app"]
    assert "page" not in build(ENTRIES["sf-b-pie-reno"], 1).data["app"]


# ------------------------------------------------------------------------------------------------------------ metrics


def series(**columns: list[Any]) -> pl.DataFrame:
    return pl.DataFrame(columns)


def test_metrics_by_hand():
    """The metrics agree with values computed by hand. Two flows run for 1 s; after the warm-up of 0.5 s, one delivers
    10 kB and the other 30 kB.
    """
    given = {
        "qdisc": "pfifo",
        "rate_bps": 1_000_000,
        "rtt_ms": 10,
        "duration_s": 1,
        "warmup_s": 0.5,
        "flows": [{"n": 2, "cc": "reno"}],
        "metrics": {"jain": {"value": 1, "tol": 1, "grade": "A"}},
    }
    t = [round(i * 0.01, 2) for i in range(100)]
    both = [("flow0_0000", 200.0), ("flow0_0001", 600.0)]
    rows = [(app, x, 0.0 if x < 0.5 else per) for app, per in both for x in t]
    flow_series = series(
        app=[r[0] for r in rows],
        direction=["forward"] * 200,
        t_s=[r[1] for r in rows],
        goodput_bytes=[r[2] for r in rows],
        wire_bytes=[r[2] for r in rows],
        cwnd_bytes=[1448.0 * 4.7] * 200,
        srtt_ms=[20.0] * 200,
    )
    # drops before the end of the warm-up (99 in each bin) do not count; after it, one packet of four is dropped
    queue_series = series(
        link=["up"] * 100,
        t_s=t,
        queue_packets=[9.0 if x < 0.5 else 2.0 for x in t],
        dropped_packets=[99.0 if x < 0.5 else 1.0 for x in t],
        sent_packets=[0.0 if x < 0.5 else 3.0 for x in t],
        marked_packets=[7.0 if x < 0.5 else 0.6 for x in t],
    )
    # in the L queue, the law marks 5 of 100 packets and the step threshold marks 20; in the C queue, the law marks 4
    classes = {
        "L": {"offered_packets": 100, "marked_packets": {"law": 5, "step": 20}},
        "C": {"offered_packets": 900, "marked_packets": {"law": 4, "step": 0}},
    }
    flows = series(
        app=[a for a, _ in both],
        direction=["forward"] * 2,
        retransmits=[3, 4],
        ce_packets=[1, 1],
        goodput_bytes=[14480, 14480],
    )
    pings = series(app=["ping1"] * 5, t_s=[0.1, 0.5, 0.6, 0.7, 0.8], rtt_ms=[99.0, 10.0, 20.0, math.nan, 40.0])
    files = series(app=["page"] * 3, start_s=[0.1, 0.6, 0.7], took_s=[9.0, 1.0, 2.0])
    tables = {"flow_series": flow_series, "queue_series": queue_series, "pings": pings, "files": files, "flows": flows}
    summary = {"links": {"up": {"classes": classes}}}
    found = measure(Result(Scenario('{"name":"x","seed":1,"app":{"page":{}}}'), summary, tables), one(given))
    assert found["mark_frac"] == pytest.approx(0.2)
    assert (found["pi_marks"], found["step_marks"], found["mark_per_l_pkt"]) == (9, 20, 0.29)
    # in the table `flows`, the two flows deliver 20 segments of 1448 bytes, of which 2 (a share of 0.1) are marked
    assert (found["g0_retrans"], found["g0_ce_frac"]) == (7, 0.1)
    assert found["goodput_Mbps"] == pytest.approx((10_000 + 30_000) * 8e-6 / 0.5)
    # Jain's index of the rates 1 and 3 is (1 + 3)^2 / (2 x (1^2 + 3^2)) = 16 / (2 x 10)
    assert found["jain"] == pytest.approx(0.8)
    assert found["drop_frac"] == 0.25
    assert (found["backlog_mean_pkts"], found["backlog_max_pkts"]) == (2.0, 2.0)
    assert found["ping_mean_ms"] == pytest.approx(70 / 3)
    assert found["ping_median_ms"] == 20.0
    # percentiles are interpolated between order statistics: the 95th percentile of three values is at 0.95 * 2 = 1.9
    assert found["ping_p95_ms"] == pytest.approx(20 + 0.9 * 20)
    assert (found["page_mean_s"], found["cwnd0_mean"]) == (1.5, 4.0)


def test_jain_by_hand():
    assert jain([1.0, 1.0, 1.0]) == 1.0
    assert jain([4.0, 0.0, 0.0, 0.0]) == 0.25
    assert math.isnan(jain([0.0, 0.0]))


def test_a_cell_is_judged_by_the_mean():
    def within(*by_seed: float) -> bool | None:
        return Cell("x", "m", "A", 10.0, 1.0, by_seed).within

    assert [within(9.0), within(11.0), within(8.9), within(8.0, 10.0)] == [True, True, False, True]
    assert within() is None
    assert within(math.nan) is None


# ----------------------------------------------------------------------------------------- comparison with the kernel


def test_a_slice_agrees_with_the_kernel():
    """Two seeds are enough for Reno with a buffer of 20 packets to agree with the kernel, because the period of Reno's
    window depends only on the queue, not on random numbers.
    """
    done = validate([ENTRIES["sf-a-pfifo20-reno"]], seeds=2)
    cells = {c.metric: c for c in done.cells}
    assert len(cells) == 11
    for metric in ("goodput_Mbps", "ping_median_ms", "ping_p95_ms", "drop_frac", "backlog_mean_pkts", "cwnd0_mean"):
        assert cells[metric].within, (metric, cells[metric].ours)
    assert done.met


def test_the_command_writes_what_it_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    short = {k: {**v, "duration_s": 8, "warmup_s": 4} for k, v in ALL.items() if k.startswith("sf-a-pfifo5")}
    short["sf-x"] = {**copy.deepcopy(next(iter(short.values()))), "qdisc": "fq"}
    (tmp_path / "short.json").write_text(json.dumps(short))
    code = call(["validate", str(tmp_path / "short.json"), "--seeds", "1", "-o", str(tmp_path / "out")])
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    assert code in {0, 1}
    assert max(len(line) for line in out.splitlines()) <= 80
    assert 'sf-x: not supported: "fq" of tc is not modelled' in out
    assert (tmp_path / "out" / "validate.txt").read_text() == out
    data = json.loads((tmp_path / "out" / "validate.json").read_text())
    assert [s["name"] for s in data["scenarios"]] == ["sf-a-pfifo5-reno", "sf-x"]
    assert data["met"] == (code == 0)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"qdisc": 3}, "qdisc: expected a string"),
        ({"rate_bps": "fast"}, "rate_bps: expected a number"),
        ({"rate_bps": -1}, "rate_bps: -1 is not above 0"),
        ({"warmup_s": 60}, "is not before duration_s"),
        ({"flows": []}, "flows: expected a list"),
        ({"flows": [{"n": 1}]}, "cc: expected the name"),
        ({"flows": [{"n": 1e9, "cc": "reno"}]}, "more than the 1000"),
        ({"metrics": {}}, "metrics: expected an object"),
        ({"metrics": {"jain": {"value": 1, "tol": -1, "grade": "A"}}}, "tol: -1 is not"),
        ({"metrics": {"jain": {"value": 1, "tol": 0, "grade": "D"}}}, "expected A, B or C"),
    ],
)
def test_bad_entries_are_refused(change: dict[str, Any], says: str):
    with pytest.raises(NoReferenceError, match=says):
        entry("sf-a-pfifo5-reno", **change)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"a": 3}', '{"a": {}}', "\x00", "[" * 100_000])
def test_bad_files_are_one_line(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "bad.json"
    path.write_text(text)
    assert call(["validate", str(path)]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "bad.json" in err.replace("\n", "")


def test_nothing_chosen_is_said(capsys: pytest.CaptureFixture[str]):
    assert call(["validate", "--only", "no-such"]) == 2
    assert "in no scenario's name" in capsys.readouterr().err


def test_explanations_are_of_cells_that_exist():
    for (name, metric), of in explanations().items():
        assert metric in ENTRIES[name].metrics
        assert of.sets
        assert all("=" in change for change in of.sets)
        assert of.says


def test_every_packaged_scenario_is_supported():
    for of in ENTRIES.values():
        assert queue_of(of.qdisc, of.rate_bps)
        assert build(of, 1).data["app"]


def test_packets_of_several_segments():
    name = "sf-B-10M-be-no-split-gso-tso-cu4"
    data = build(entry(name), 1).data
    assert data["link"]["up"]["queue"]["cake"]["split_gso"] is False
    assert data["tcp"]["kernel0"]["tso"] is True
    split = build(entry(name, qdisc="ROOT cake bandwidth 10mbit besteffort split-gso"), 1).data
    assert split["link"]["up"]["queue"]["cake"]["split_gso"] is True
    # with gso_max_segs = 1, no packet has more than one segment; tso must be 0 or 1
    assert build(entry(name, gso_max_segs=1), 1).data["tcp"]["kernel0"]["tso"] is False
    with pytest.raises(NotSupportedError, match="tso 2"):
        build(entry(name, tso=2), 1)


def test_a_burst_is_cut_before_the_queue():
    """All segments of a burst join the queue at the same time. If they arrived 12 us apart (at 1 Gbit/s), the step
    would mark fewer of them.
    """
    for name, bursts in (("sf-A-40M-10-dc1", True), ("sf-A-40M-10-dc1-gso1", False), ("sf-b-pie-reno", True)):
        data = build(ENTRIES[name], 1).data
        assert (data["tcp"]["kernel0"]["tso"], "cut" in data["link"]) == (bursts, bursts), name
    whole = [name for name, given in ENTRIES.items() if given.rest.get("tso")]
    assert whole
    assert all("cut" not in build(ENTRIES[name], 1).data["link"] for name in whole)
    name = "sf-A-40M-10-dc1-cu1-udpC"
    (marks,) = [c for c in validate([ENTRIES[name]], seeds=2).cells if c.metric == "step_marks"]
    assert marks.within, marks.ours
