"""Tests the study `today`: its scenarios, delays computed by hand, and short runs whose values must not change."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bloatlab.cli.main import call
from bloatlab.scenario import load
from bloatlab.simulation import run
from bloatlab.studies.scorecard import Verdict
from bloatlab.studies.today.cases import Case, Consideration, Equipment, Stack, build, cases, considered, quick
from bloatlab.studies.today.measure import measure
from bloatlab.studies.today.pages import answer, considerations_table, loads_table
from bloatlab.studies.today.rules import FULL, LAWS, over_loads
from bloatlab.studies.today.study import STUDY
from bloatlab.workloads.build import pareto_mean
from bloatlab.workloads.cable_home import DOWN, UP
from bloatlab.workloads.cable_loads import LOADED


def test_every_case_has_a_name_of_its_own_and_a_scenario():
    keys = [case.key for case in cases()]
    assert len(set(keys)) == len(keys) == len(Equipment) * len(Stack) * (9 + len(Consideration))
    assert {case.key for case in quick()} <= set(keys)
    for line in Equipment:
        for stack in Stack:
            assert build(Case(line, stack, 6), 1).name == f"today {line} / {stack} / 6"
        for what in Consideration:
            assert build(considered(line, Stack.PRAGUE, what), 1).name == f"today {line} / Prague / {what}"


def test_lines_differ_by_equipment_and_stacks_by_tcp_and_by_nothing_else():
    old, modern = (build(Case(Equipment.MODEM_2012, stack, 4), 1).data for stack in (Stack.OF_2012, Stack.PRAGUE))
    assert old["link"] == modern["link"]
    assert old["app"] == modern["app"]
    assert {tcp["preset"] for tcp in modern["tcp"].values()} == {"prague"}
    cake = build(Case(Equipment.CAKE, Stack.PRAGUE, 4), 1).data
    assert cake["app"] == modern["app"]
    assert cake["link"][UP] == modern["link"][UP]
    # the router shapes to 95 % of the line's rates, which are 5 Mbit/s up and 20 Mbit/s down
    assert cake["link"]["wan"]["queue"]["cake"]["bandwidth"] == "4750kbit"
    assert cake["link"]["wan_down"]["queue"]["cake"]["bandwidth"] == "19mbit"
    assert cake["link"][DOWN] == modern["link"][DOWN]
    for line, discipline in ((Equipment.PIE, "docsis_pie"), (Equipment.LLD, "docsis_lld")):
        links = build(Case(line, Stack.PRAGUE, 4), 1).data["link"]
        for way, shaping in ((UP, modern["link"][UP]["docsis"]["flow"]), (DOWN, modern["link"][DOWN]["shaper"])):
            link = links[way]
            assert (link["docsis31"]["flow"], link["delay"]) == (shaping, modern["link"][way]["delay"])
            assert ("downstream" in link["docsis31"]) == (way == DOWN)
            assert list(link["queue"]) == [discipline]
            assert discipline == "docsis_pie" or link["queue"]["docsis_lld"]["l_dscp"] == [45, 46]
    # the game's code point means non-queue-building traffic, and the call's means expedited forwarding
    assert (modern["app"]["game"]["dscp"], modern["app"]["voip"]["dscp"]) == (45, 46)


def test_a_lone_packet_through_the_modem_of_2012_by_hand():
    """A packet waits for two to three MAP intervals of 2 ms and travels for 1 ms. The case has no bulk traffic."""
    found = measure(run(build(Case(Equipment.MODEM_2012, Stack.CUBIC, 1), 1, 20)))
    assert found["game_min_ms"] == pytest.approx(5.0, abs=0.05)
    assert 5.0 < found["game_p99_ms"] <= 7.05
    assert found["unaccounted"] == 0
    # if the buffer of 417 packets and the transmit queue of 32 are full, a packet waits for 449 packets of 2.4 ms each;
    # the remaining 7.05 ms is the maximum delay of a lone packet
    assert pytest.approx(449 * 2.4 + 7.05) == FULL


def test_a_proactive_grant_comes_within_two_intervals_under_load():
    """A packet takes 0.135 ms to be prepared, 0.135 ms to be sent in a frame, and 1 ms to travel. It waits for at most
    two intervals of 2.025 ms.
    """
    found = measure(run(build(Case(Equipment.LLD, Stack.CUBIC, 6), 1, 20)))
    assert found["game_min_ms"] == pytest.approx(1.27, abs=0.05)
    assert found["game_max_ms"] <= 1.27 + 2 * 2.025
    assert found["unaccounted"] == 0


def test_considerations_are_what_they_say():
    def data(line: Equipment, what: Consideration) -> dict[str, Any]:
        return build(considered(line, Stack.CUBIC, what), 1).data

    plain = build(Case(Equipment.CAKE, Stack.CUBIC, 2), 1).data
    apps = {what: data(Equipment.CAKE, what)["app"] for what in Consideration}
    assert {what: sorted(of.keys() - plain["app"].keys()) for what, of in apps.items()} == {
        Consideration.LEDBAT: ["background"],
        Consideration.SESSIONS: [],
        Consideration.LOW_RATE: [],
        Consideration.BURSTS: ["burst"],
        Consideration.SHORT: ["short"],
        Consideration.RATE: [],
    }
    assert apps[Consideration.SESSIONS]["ftp"]["traffic"]["ftp"]["flows"] == 50
    # file sizes follow a Pareto distribution with shape 1.2 from 3 kB, capped at 1 MB. Their mean is the integral of
    # the probability that a size is larger than x: 1 up to 3 kB, then (3 kB / x)^1.2 up to 1 MB
    xs = np.geomspace(3e3, 1e6, 200_001)
    assert pareto_mean(1.2, 3e3, 1e6) == pytest.approx(3e3 + np.trapezoid((3e3 / xs) ** 1.2, xs), rel=1e-6)
    # at 1 Mbit/s, the router shapes to 95 % of this rate, and a grant of 253 bytes every 8.1 ms is 250 kbit/s
    low = {line: data(line, Consideration.LOW_RATE)["link"] for line in Equipment}
    assert low[Equipment.CAKE]["wan"]["queue"]["cake"]["bandwidth"] == "950kbit"
    assert low[Equipment.FQ_CODEL]["wan"]["shaper"]["htb"]["rate"] == "950kbit"
    assert low[Equipment.LLD][UP]["docsis31"]["low_latency"]["guaranteed_grant_interval"] == "8100us"
    # the rate of the line falls at 10 s, but the router keeps its rate
    changing = data(Equipment.CAKE, Consideration.RATE)["link"]
    assert [(c["at"], c["max_sustained_rate"]) for c in changing[UP]["changes"]] == [
        ("10s", "1250kbit"), ("20s", "5mbit"), ("30s", "1250kbit"), ("40s", "5mbit"), ("50s", "1250kbit")
    ]  # fmt: skip
    assert changing["wan"] == plain["link"]["wan"]


@pytest.mark.parametrize(
    ("law", "what", "change"),
    [
        ("a full slow modem", Consideration.RATE, {"game_max_ms": 4400.0}),
        ("a full modem of 1 Mbit/s", Consideration.LOW_RATE, {"game_max_ms": 5500.0}),
        ("the line of 1 Mbit/s", Consideration.LOW_RATE, {"up_mbit": 1.1}),
        ("the changing line", Consideration.RATE, {"up_mbit": 2.9}),
        ("LEDBAT behind CAKE", Consideration.LEDBAT, {"background_share": 0.835}),
    ],
)
def test_a_law_of_a_consideration_that_breaks_is_outside(law: str, what: Consideration, change: dict[str, float]):
    def verdicts(changed: dict[str, float]) -> dict[str, Verdict]:
        fine = {"game_min_ms": 5.0, "game_p99_ms": 6.9, "game_max_ms": 900.0, "unaccounted": 0.0, "up_mbit": 0.9,
                "modem_dropped": 0.0, "background_share": 0.82}  # fmt: skip
        of = [considered(line, Stack.CUBIC, what) for line in (Equipment.MODEM_2012, Equipment.CAKE)]
        return {cell.case: cell.verdict for cell in STUDY.scorecard({case.key: [fine | changed] for case in of}).cells}

    assert set(verdicts({}).values()) == {Verdict.WITHIN}
    assert law in [name for name, verdict in verdicts(change).items() if verdict is Verdict.OUTSIDE]


def test_prague_in_the_queue_of_the_game_waits_no_longer_than_its_buffer_by_hand():
    """The bound is a sum: the time to send 38 kB at 230/256 of the rate, the delay from a request to its grant (3.645
    ms), two grant intervals, and 1.27 ms for preparation, the frame and propagation.
    """
    high = {law.name: law.band.high for law in LAWS}
    # 38 kB takes 67.7, 270.7 or 338.4 ms at 230/256 of 5, 1.25 or 1 Mbit/s; grants come every 2.025 or 8.1 ms
    assert high["Low Latency, shared"] == pytest.approx(67.673 + 3.645 + 4.05 + 1.27, abs=1e-3)
    assert high["Low Latency, shared and slow"] == pytest.approx(270.692 + 3.645 + 4.05 + 1.27, abs=1e-3)
    assert high["Low Latency, shared, 1 Mbit/s"] == pytest.approx(338.365 + 3.645 + 16.2 + 1.27, abs=1e-3)

    def verdicts(case: Case, delay: float) -> dict[str, Verdict]:
        row = {"game_min_ms": 1.3, "game_p99_ms": 4.0, "game_max_ms": delay, "unaccounted": 0.0, "up_mbit": 0.9}
        return {cell.case: cell.verdict for cell in STUDY.scorecard({case.key: [row]}).cells}

    prague = Case(Equipment.LLD, Stack.PRAGUE, 6)
    assert verdicts(prague, 76.0)["Low Latency, shared"] is Verdict.WITHIN
    assert verdicts(prague, 77.0)["Low Latency, shared"] is Verdict.OUTSIDE
    slow = considered(Equipment.LLD, Stack.PRAGUE, Consideration.RATE)
    assert verdicts(slow, 280.0)["Low Latency, shared and slow"] is Verdict.OUTSIDE
    low = considered(Equipment.LLD, Stack.PRAGUE, Consideration.LOW_RATE)
    assert verdicts(low, 360.0)["Low Latency, shared, 1 Mbit/s"] is Verdict.OUTSIDE
    # TCPs other than Prague do not share the queue of the game
    assert "Low Latency, shared" not in verdicts(Case(Equipment.LLD, Stack.CUBIC, 6), 4.0)


FIFTY = Path(__file__).resolve().parents[2] / "examples" / "today" / "fifty-uploads.toml"
FQ_CODEL = {"link.up.rate": "4750kbit", "link.up.queue": "fq_codel"}
PRAGUE = {"tcp.sender.preset": "prague"}


def fifty(changes: dict[str, str], seed: int = 1) -> dict[str, Any]:
    """Runs fifty-uploads.toml with some of its values changed; returns the measures of its applications."""
    return run(load(FIFTY, [("seed", str(seed)), *changes.items()])).summary["apps"]


def lost_percent(game: dict[str, Any]) -> float:
    return 100.0 * game["dropped_packets"] / game["datagrams_sent"]


def test_uploads_of_2012_are_locked_out_by_cake_when_a_packet_waits_longer_than_its_target():
    """With N uploads, a packet waits for N x 2.573 ms minus the round trip of 20 ms. CAKE drops no packet that has
    waited for less than the time of four full packets, 4 x 2.55 ms. With 12 uploads or more, packets wait longer.
    """

    def goodput(changes: dict[str, str]) -> float:
        return fifty(changes)["ftp"]["goodput_mbit"]

    assert goodput({"app.ftp.traffic.ftp.flows": "11"}) > 4.4
    assert 0.5 < goodput({"app.ftp.traffic.ftp.flows": "12"}) < 4.0
    assert goodput({"app.ftp.traffic.ftp.flows": "14"}) == 0.0
    assert goodput({}) == 0.0
    # a packet waits for 50 x 2.573 - 20 = 109 ms, which is less than the target set here, so CAKE does not drop
    assert goodput({"link.up.queue.cake.target": "115ms"}) > 4.4
    # with either change, each upload sends one packet at a time, and CAKE does not drop the only packet in a queue
    assert goodput({"tcp.sender.reduction": "rate-halving"}) > 4.4
    assert goodput({"tcp.sender.any_ack_restarts_timer": "false"}) > 4.4


@pytest.mark.parametrize("preset", ["ns2-cubic-2.6.22", "bbr3"])
def test_a_game_loses_packets_to_the_fifty_flows_of_its_host_and_to_nobody_else(preset: str):
    """In each round, the scheduler gives a flow 300 / 50 = 6 bytes, so a packet of 146 bytes needs 25 rounds."""
    sender = {"tcp.sender.preset": preset}
    assert lost_percent(fifty(sender)["game"]) > 5.0
    for change in ({"app.game.from": "console"}, {"link.up.queue.cake.isolation": "flows"}):
        game = fifty(sender | change)["game"]
        assert game["dropped_packets"] == 0
        if preset != "bbr3":  # CAKE sometimes treats flows of bbr3 as new, and serves them before the game
            # 10 ms of propagation, 0.25 ms to transmit the packet, and 2.57 ms to transmit the packet before it
            assert game["delay_ms"]["max"] < 10.0 + 0.25 + 2.57


@pytest.mark.parametrize("preset", ["prague", "linux-6"])
def test_a_game_in_the_queue_of_an_upload_starves_and_with_more_queues_does_not(preset: str):
    sender = FQ_CODEL | {"tcp.sender.preset": preset}
    assert lost_percent(fifty(sender, 9)["game"]) == 0.0
    # with Prague, the uploads use ECN, so their packets are marked, and all dropped packets belong to the game
    assert lost_percent(fifty(sender, 10)["game"]) > (95.0 if preset == "prague" else 30.0)
    more = sender | {"link.up.queue": "{ fq_codel = { flows = 65536 } }"}
    assert lost_percent(fifty(more, 10)["game"]) == 0.0


def test_a_call_of_which_nothing_arrives_has_an_infinite_delay():
    """The delay of a call is infinite if none of its packets arrive, as with seed 5, where the call shares the queue of
    a Prague upload.
    """
    case = considered(Equipment.FQ_CODEL, Stack.PRAGUE, Consideration.SESSIONS)
    found = measure(run(build(case, 5, 20)))
    assert (found["call_p99_ms"], found["call_mos"] < 1.1) == (math.inf, True)


def test_fifty_pragues_keep_four_segments_each_and_forty_fewer():
    """At Prague's minimum rate of 100 kbit/s, 45 flows fill the line. Fifty flows keep 4 segments each in flight, and
    the line takes 511 ms to send these 200 segments. Forty flows do not fill the line at this rate, so they keep fewer.
    """

    def median(flows: int) -> float:
        return fifty(PRAGUE | {"app.ftp.traffic.ftp.flows": str(flows)})["ftp"]["delay_ms"]["p50"]

    assert median(40) < 100.0
    assert 511.0 * 0.8 < median(50) < 511.0 * 5 / 4


def judged(changed: dict[str, float]) -> dict[str, Verdict]:
    fine = {"game_min_ms": 5.0, "game_p99_ms": 6.9, "game_max_ms": 900.0, "unaccounted": 0.0, "up_mbit": 5.0,
            "modem_dropped": 0.0}  # fmt: skip
    of = [Case(line, Stack.CUBIC, n) for line in (Equipment.MODEM_2012, Equipment.CAKE) for n in (1, 2)]
    runs = {case.key: [fine | changed] for case in of}
    return {cell.case: cell.verdict for cell in STUDY.scorecard(runs).cells}


@pytest.mark.parametrize(
    ("law", "change"),
    [
        ("idle, least", {"game_min_ms": 4.0}),
        ("idle, most", {"game_p99_ms": 8.0}),
        ("a full modem", {"game_max_ms": 1200.0}),
        ("books", {"unaccounted": 1.0}),
        ("the line", {"up_mbit": 7.0}),
        ("behind a router", {"modem_dropped": 1.0}),
    ],
)
def test_a_law_that_breaks_is_outside(law: str, change: dict[str, float]):
    assert set(judged({}).values()) == {Verdict.WITHIN}
    assert law in {of.name for of in LAWS}
    assert [name for name, verdict in judged(change).items() if verdict is Verdict.OUTSIDE] == [law]


@pytest.mark.parametrize(
    ("law", "line", "inside", "broken"),
    [
        ("idle, least", Equipment.MODEM_2012, 5.05, 4.0),
        ("idle, least", Equipment.MODEM_2012, 5.05, 6.0),
        ("Low Latency, least", Equipment.LLD, 1.28, 1.0),
        ("Low Latency, least", Equipment.LLD, 1.28, 3.0),
    ],
)
def test_one_run_of_many_that_breaks_either_end_of_a_bound_decides(
    law: str, line: Equipment, inside: float, broken: float
):
    """The game's shortest delay must be 5.0 to 5.1 ms with the 2012 modem, and 1.27 to 1.32 ms with Low Latency (1 ms
    of travel and two times of 0.135 ms).
    """
    fine = {"game_min_ms": inside, "game_p99_ms": 6.9, "game_max_ms": 5.0, "unaccounted": 0.0, "up_mbit": 5.0,
            "modem_dropped": 0.0}  # fmt: skip
    rows = [dict(fine) for _ in range(10)]

    def judged_cell() -> tuple[Verdict, float]:
        card = STUDY.scorecard({Case(line, Stack.CUBIC, 1).key: rows})
        return next((cell.verdict, cell.ours) for cell in card.cells if cell.case == law)

    assert judged_cell() == (Verdict.WITHIN, inside)
    rows[3]["game_min_ms"] = broken
    assert judged_cell() == (Verdict.OUTSIDE, broken)


def test_the_answer_is_computed_from_the_runs():
    def rows(game: float) -> list[dict[str, float]]:
        return [
            {"game_p99_ms": game + 10 * seed, "call_mos": 4.0, "page_s": 2.0, "upload_mbit": 4.0} for seed in (0, 1)
        ]

    runs = {Case(line, stack, n).key: rows(800.0 if line is Equipment.MODEM_2012 else 20.0)
            for line in Equipment for stack in Stack for n in LOADED}  # fmt: skip
    runs |= {Case(Equipment.CAKE, Stack.BBR3, n).key: rows(9.0) for n in LOADED}
    runs |= {Case(Equipment.LLD, stack, n).key: rows(6.0) for stack in Stack for n in LOADED}
    said = answer(runs, 2)
    # the sentence names the equipment with the smallest worst case over all TCPs. At worst, the delay is 11 ms with Low
    # Latency, and 25 ms with CAKE (CUBIC 25, BBRv3 14, Prague 25)
    assert said.sentence.startswith(
        "DOCSIS 3.1, Low Latency (CUBIC, BBRv3 or Prague): 99 of 100 packets of a game take 11 instead of 805 ms"
    )
    assert "CUBIC, BBRv3 or Prague alone leaves the game of a 2012 modem at 805 ms" in said.sentence
    points = {point.who: point for point in said.points}
    assert points["2012 modem, router with CAKE"].verdict == "14 to 25 ms"
    assert "(CUBIC 25, BBRv3 14, Prague 25)" in points["2012 modem, router with CAKE"].text
    # for each seed, the median over the loads is taken, and then the median over the seeds
    found = over_loads(runs, Equipment.CAKE, Stack.BBR3, "game_p99_ms")
    assert found is not None
    assert found.median == 14.0
    assert answer({}, 2).sentence.startswith("A quick look skips")


def test_tables_leave_out_what_did_not_run():
    row = {"game_p99_ms": 9.0, "game_lost_percent": 0.0, "call_mos": 4.0, "page_s": 2.0, "upload_mbit": 4.0}
    of = [Case(line, stack, n) for line in Equipment for stack in (Stack.OF_2012, Stack.PRAGUE) for n in (1, 2)]
    asked = considered(Equipment.CAKE, Stack.PRAGUE, Consideration.LEDBAT)
    nothing = {"short_s": math.nan, "background_share": 0.8}
    runs = {case.key: [row] for case in of} | {asked.key: [row | nothing]}
    table = loads_table(runs, "game_p99_ms", "", 0)
    assert [cells[0].text for cells in table.rows] == ["1: no bulk traffic", "2: 1 TCP, 20 ms"]
    heads = considerations_table(runs, Stack.PRAGUE).columns
    assert "LEDBAT's share" in heads
    assert "short flow s" not in heads


#: Values of a quick look with seed 1: the 99th percentile of the game's delay in ms, and the MOS of the call. If a
#: value changes, CHANGELOG must say so.
GOLDEN: dict[str, tuple[float, float]] = {
    "2012 modem / Prague / 2": (631.50, 1),
    "2012 modem / Prague / 6": (671.88, 1),
    "2012 modem / TCP of 2012 / 2": (868.48, 1),
    "2012 modem / TCP of 2012 / 6": (807.14, 1),
    "2012 modem, router with CAKE / Prague / 2": (9.3676, 4.416),
    "2012 modem, router with CAKE / Prague / 6": (12.587, 4.416),
    "2012 modem, router with fq_codel / Prague / 2": (9.2856, 4.416),
    "2012 modem, router with fq_codel / Prague / 6": (10.858, 4.416),
    "2012 modem, router with CAKE / Prague / LEDBAT": (10.924, 4.416),
    "DOCSIS 3.1, Low Latency / TCP of 2012 / rate changes": (4.1175, 4.418),
}


def test_a_quick_look_leaves_a_whole_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert call(["reproduce", "today", "--quick", "-o", str(tmp_path), "-f", "json", "--no-store"]) == 0
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert {cell["verdict"] for cell in data["cells"]} == {"not judged"}
    medians = data["medians"]
    assert {key: (medians[key]["game_p99_ms"], medians[key]["call_mos"]) for key in GOLDEN} == {
        key: pytest.approx(value, rel=1e-3) for key, value in GOLDEN.items()
    }
    assert not any(math.isnan(of["game_p99_ms"]) for of in medians.values())
    assert (tmp_path / "report.html").stat().st_size > 100_000
    assert len(list((tmp_path / "figures").glob("*.svg"))) == 1
