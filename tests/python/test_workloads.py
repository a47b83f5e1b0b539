"""Tests the scenarios that have a name: their contents, and that a name is accepted wherever a file is."""

from __future__ import annotations

import gzip
import json
import math
from itertools import accumulate
from pathlib import Path

import polars as pl
import pytest

import bloatlab
from bloatlab import flent
from bloatlab.cli.main import call
from bloatlab.expectations import check
from bloatlab.scenario import ScenarioError, load
from bloatlab.workloads import WORKLOADS
from bloatlab.workloads.build import flows_for

#: Parameters that make the run of any workload small: a slow line and a short load.
SHORT = {"rate": "2mbit", "length": "3s"}


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_workload_runs_and_carries_something(name: str):
    result = bloatlab.run(name, sets=SHORT)
    assert result.scenario.name == name
    assert sum(link["delivered_packets"] for link in result.summary["links"].values()) > 0
    for app, of in result.summary["apps"].items():
        assert of["packets"] + of["packets_reverse"] > 0 or result.scenario.data["app"][app]["start"] != "0s", app


def test_flows_for_a_loss_are_those_of_the_rfc():
    # according to RFC 7928, n = 1.147 S sqrt(l) flows cause the loss ratio l, where S is the sum of BDP and buffer in
    # packets. For S = 166 packets and the three loss ratios below, n is 6.02, 13.46 and 19.04
    assert [flows_for(loss, 166) for loss in (0.001, 0.005, 0.01)] == [6, 13, 19]
    assert flows_for(0.001, 2) == 1
    # 10 Mbit/s x 100 ms is 83.3 packets, rounded up to 84; with a buffer of the same size, S = 2 x 84 = 168
    for name, flows in (("rfc7928-8.2.2", 6), ("rfc7928-8.2.3", 14), ("rfc7928-8.2.4", 19)):
        data = load(name).data
        assert data["app"]["bulk"]["traffic"]["ftp"]["flows"] == flows
        assert data["link"]["bottleneck"]["queue"]["droptail"]["limit"] == "84p"
    data = load("rfc7928-8.2.5").data["app"]
    assert [data[level]["traffic"]["ftp"]["flows"] for level in ("mild", "medium", "heavy")] == [6, 8, 5]
    assert [data[level]["start"] for level in ("mild", "medium", "heavy")] == ["0s", "20s", "40s"]


def test_the_buffer_is_that_of_the_largest_round_trip():
    data = load("rfc7928-6.2", {"queue": "codel", "other": "560ms"}).data
    # the buffer is one BDP: 10 Mbit/s x 560 ms is 466.7 packets of 12 000 bit
    assert data["link"]["bottleneck"]["queue"]["codel"]["limit"] == "467p"
    given = load("rfc7928-5.1.1", {"queue": '{ codel = { limit = "50p" } }'}).data
    assert given["link"]["bottleneck"]["queue"]["codel"]["limit"] == "50p"
    both = load("rfc7928-4.5", {"queue": "codel"}).data
    assert both["link"]["bottleneck"]["queue"]["codel"]["ecn"]
    # over both bottlenecks, the round trip is 102 ms: 85 packets at 10 Mbit/s, 76.5 at 9 Mbit/s
    series = load("rfc7928-10").data["link"]
    assert [series[name]["queue"]["droptail"]["limit"] for name in ("bottleneck", "second")] == ["85p", "77p"]


def test_a_queue_in_tcs_syntax_has_the_same_buffer_and_ecn():
    for text in ("codel target 10ms", "codel target 10ms noecn"):
        in_tc = load("rfc7928-4.5", {"queue": text}).data["link"]["bottleneck"]["queue"]["codel"]
        assert (in_tc["limit"], in_tc["target"], in_tc["ecn"]) == ("84p", "10ms", True)
    fair = load("rfc7928-5.1.1", {"queue": "fq_codel ecn limit 50"}).data["link"]["bottleneck"]["queue"]["fq_codel"]
    assert (fair["limit"], fair["ecn"]) == ("50p", True)
    second = load("rfc7928-10", {"queue2": "pie target 20ms"}).data["link"]["second"]["queue"]["pie"]
    assert (second["limit"], second["target"]) == ("77p", "20ms")


def test_the_capacity_changes_in_each_period():
    turns = load("rfc7928-8.2.6").data["link"]["bottleneck"]["changes"]
    assert [(c["at"], c["rate"]) for c in turns] == [("20s", "10mbit"), ("40s", "100mbit")]
    with pytest.raises(ScenarioError, match=r"period.*500us.*at most 100000 changes"):
        load("rfc7928-8.2.6", {"period": "500us"})


def test_rrul_has_four_classes_each_way():
    data = load("rrul", {"rate": "20mbit", "up": "5mbit", "rtt": "30ms", "queue": "fq_codel"}).data
    loads = {name: app for name, app in data["app"].items() if "load_" in name}
    assert sorted((a["traffic"]["ftp"]["direction"], a["dscp"]) for a in loads.values()) == [
        (way, dscp) for way in ("down", "up") for dscp in (0, 8, 40, 46)
    ]
    assert {a["start"] for a in loads.values()} == {"5s"}
    assert [data["link"][way][key] for way in ("down", "up") for key in ("rate", "delay")] == [
        "20mbit", "15ms", "5mbit", "15ms"
    ]  # fmt: skip
    assert [data["app"][f"udp_{name}"]["dscp"] for name in ("EF", "BK", "BE")] == [46, 8, 0]
    assert {app["dscp"] for name, app in load("rrul_cs8").data["app"].items() if "load_" in name} == {
        8 * n for n in range(8)
    }


def test_flents_be_nflows_has_a_udp_probe_beside_icmp(tmp_path: Path):
    result = bloatlab.run("rrul_be_nflows", sets={"length": "2s", "flows": "2"})
    file = json.loads(gzip.decompress(flent.write(result, tmp_path / "x.flent.gz").read_bytes()))
    # the names of the series are those in flent's test
    assert {"Ping (ms) ICMP", "Ping (ms) UDP BE", "Ping (ms) avg"} <= set(file["results"])
    assert max(value for value in file["results"]["Ping (ms) UDP BE"] if value is not None) > 40.0


@pytest.mark.parametrize("segments", [3, 4, 10])
def test_short_flows_begin_with_the_window_that_the_user_chooses(segments: int):
    data = load("rfc7928-5.1.2", {"iw": str(segments)}).data
    stacks = {app["tcp"] for name, app in data["app"].items() if name.startswith("short_")}
    assert [data["tcp"][name]["initial_window"] for name in stacks] == [{"segments": segments}]


def test_the_idle_line_answers_request_and_response_at_its_round_trip():
    result = bloatlab.run("rrul", sets={"length": "1ms"})
    ping = result.summary["apps"]["udp_BE"]["ping"]
    # a round trip is 40 ms of propagation and 28 us of transmission (29 bytes at 50 and at 10 Mbit/s). The next probe
    # is sent as soon as the answer arrives, so about 250 probes are answered in 10 s
    assert ping["rtt_ms"]["p50"] == pytest.approx(40.03, rel=0.01)
    assert 245 <= ping["answered"] <= 250
    assert ping["rtt_over_time_ms"]["p50"] == pytest.approx(40.03, rel=0.01)


@pytest.mark.parametrize(
    ("name", "beside"), [("rrul", 10), ("tcp_2down", 10), ("tcp_4up_squarewave", 30), ("bursts", 0), ("ping", 0)]
)
def test_a_test_lasts_as_long_as_flents(name: str, beside: int):
    assert load(name, {"length": "20s"}).data["duration"] == f"{20 + beside}s"


def test_five_seconds_of_silence_follow_the_load():
    result = bloatlab.run("rrul", sets={"length": "10s", "rate": "20mbit", "queue": "fq_codel"})
    sent = result.table("queue_series").group_by("t_s").agg(pl.col("sent_bytes").sum()).sort("t_s")
    # the load ends at 15 s, but packets in flight and retransmissions arrive a little later
    under_load = sent.filter(pl.col("t_s").is_between(13.9, 14.9))["sent_bytes"].sum()
    after = sent.filter(pl.col("t_s") >= 17.0)["sent_bytes"].sum()
    assert under_load > 0.8 * 30e6 / 8
    # three probes of 29 bytes every 40 ms and an echo of 84 bytes every 0.2 s, in both directions, for 3 s
    assert after == pytest.approx(3 * 2 * (3 * 29 / 0.04 + 84 / 0.2), rel=0.05)


def test_probes_over_time_say_more_of_the_queue_than_samples():
    result = bloatlab.run("rrul", sets={"length": "20s"})
    ping = result.summary["apps"]["udp_BE"]["ping"]
    rtts = result.table("pings").filter(pl.col("app") == "udp_BE")["rtt_ms"].drop_nans().to_list()
    # each sample is weighted by its own duration, so the mean is the sum of squares divided by the sum
    assert ping["rtt_over_time_ms"]["mean"] == pytest.approx(sum(x * x for x in rtts) / sum(rtts), rel=0.01)
    assert ping["rtt_over_time_ms"]["mean"] > 1.1 * ping["rtt_ms"]["mean"]
    # this is the median over time, computed by hand. The reported median comes from a histogram whose bins are 2 %
    # wide, so it may be one sample lower or higher
    ordered = sorted(rtts)
    at = next(n for n, seen in enumerate(accumulate(ordered)) if seen >= sum(ordered) / 2)
    assert ordered[at - 1] * 0.98 <= ping["rtt_over_time_ms"]["p50"] <= ordered[at + 1] * 1.02


def test_a_name_is_the_base_of_a_sweep_and_of_a_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    sweep = tmp_path / "s.toml"
    sweep.write_text(
        'scenario = "rrul"\ncolumns = ["links.down.utilisation"]\n[set]\nlength = "2s"\n'
        '[axes]\nqueue = ["droptail", "fq_codel"]\nrtt = ["20ms", "40ms"]\n'
    )
    assert call(["sweep", str(sweep), "--no-store", "-o", str(tmp_path / "out.csv")]) == 0
    assert "fq_codel" in capsys.readouterr().out
    judged = check(Path("tcp_1up"), sets=[("length", "2s"), ('expect."links.up.dropped_packets"', ">= 0")])
    assert judged.kept
    assert (
        call(["run", "tcp_2down", "--set", "length=2s", "--set", "link.down.delay=1ms", "-o", str(tmp_path / "r")]) == 0
    )
    kept = json.loads((tmp_path / "r" / "scenario.resolved.json").read_text())
    assert (kept["name"], kept["link"]["down"]["delay"], kept["link"]["up"]["delay"]) == ("tcp_2down", "1ms", "20ms")


def test_a_file_of_that_name_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rrul").write_text('name = "mine"\nduration = "1s"\n[link.a]\nfrom = "x"\nto = "y"\n')
    assert load("rrul").name == "mine"


def test_refusals_are_one_line(capsys: pytest.CaptureFixture[str]):
    for words, told in (
        (["run", "rrull"], 'rrull: no such file or directory; did you mean "rrul"?'),
        (["run", "8.2.2"], '8.2.2: no such file or directory; did you mean "rfc7928-8.2.2"?'),
        (["run", "rrul", "--set", "rate=fast"], 'rrul: rate: "fast" is not a rate above 0; for example 10mbit'),
        (["run", "rrul", "--set", "rat=20mbit"], 'rrul: "rat" is not a parameter (valid: rate, up,'),
        (["run", "rrul", "--set", "quue=codel"], 'did you mean "queue"?'),
        (["run", "rrul", "--set", "length=0s"], 'rrul: length: "0s" is not a duration above 0; for example 60s'),
        (["run", "tcp_nup", "--set", "flows=0"], 'tcp_nup: flows: "0" is not valid; expected 1 to 1000'),
        (["run", "rfc7928-5.1.2", "--set", "iw=x"], 'rfc7928-5.1.2: iw: "x" is not valid; expected 3 to 10'),
        (["run", "rrul", "--set", "queue=fq_codle"], 'did you mean "fq_codel"?'),
        (["run", "rrul", "--set", "rtx=1s"], "rtx"),
    ):
        assert call(words) != 0
        err = capsys.readouterr().err
        assert told in err, err
        assert len(err.splitlines()) == 1, err


def test_results_are_flents_own_tests(tmp_path: Path):
    for name, flows in (("rrul", 8), ("rrul_be", 8), ("rrul_torrent", 14), ("tcp_1up", 1), ("tcp_4up", 4)):
        result = bloatlab.run(name, sets=SHORT)
        data = json.loads(gzip.decompress(flent.write(result, tmp_path / "x.flent.gz").read_bytes()))
        assert data["metadata"]["NAME"] == name
        tcp = [s for s in data["results"] if s.startswith("TCP") and not s.endswith(("avg", "sum", "totals"))]
        assert len(tcp) == flows, tcp
    series = flent.document(bloatlab.run("rrul", sets=SHORT))["results"]
    for expected in ("TCP upload BE", "TCP download CS5", "Ping (ms) UDP EF", "Ping (ms) ICMP", "TCP totals"):
        assert expected in series
        assert any(v is not None and math.isfinite(v) for v in series[expected])
