"""The L4S study: its closed forms by hand, its rules, and a golden slice."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from bloatlab.cli.main import call
from bloatlab.simulation import run
from bloatlab.studies import published
from bloatlab.studies.claims import Runs
from bloatlab.studies.l4s import cases as c
from bloatlab.studies.l4s import theory
from bloatlab.studies.l4s.build import build
from bloatlab.studies.l4s.compare import P99, RATIO, asked, ratio_band, scorecard
from bloatlab.studies.l4s.explain import explain
from bloatlab.studies.l4s.measure import measure
from bloatlab.studies.scorecard import Band, Origin, Verdict


def test_closed_forms_by_hand():
    # (10 + 15) / (10 + 1) / 1.2247; with 25 ms for Prague's round trip 25 / 25 / 1.2247
    assert theory.scalable_over_classic(10.0, scaled=False) == pytest.approx(1.856, abs=0.001)
    assert theory.scalable_over_classic(20.0, scaled=False) == pytest.approx(1.361, abs=0.001)
    assert theory.scalable_over_classic(80.0, scaled=False) == pytest.approx(0.958, abs=0.001)
    assert theory.scalable_over_classic(10.0, scaled=True) == pytest.approx(1 / 1.2247, abs=0.001)
    # 20 Mbit/s and 35 ms are 58.3 packets
    assert theory.window(20.0, 20.0) == pytest.approx(58.33, abs=0.01)
    assert theory.reno_drops(20.0, 20.0) == pytest.approx(1.5 / 58.33**2, rel=1e-3)
    # 1.1 times the rate: 9.09 % of the packets, p' 0.3015, 60.3 % in L
    assert theory.excess(1.1) == pytest.approx(0.0909, abs=1e-4)
    assert theory.coupled(theory.excess(1.1)) == pytest.approx(0.603, abs=1e-3)
    # ten flows at 5 ms: a 25th of a segment each; at 20 ms 0.64
    assert theory.overshoot(10, 5.0, 0.24, scaled=True) == pytest.approx(0.096)
    assert theory.overshoot(10, 20.0, 0.24, scaled=True) == pytest.approx(1.536)
    assert theory.overshoot(10, 5.0, 0.24, scaled=False) == pytest.approx(2.4)
    assert theory.floor_wait(10, 5.0, 0.6) == pytest.approx(7.0)


def test_every_case_has_a_name_of_its_own_and_a_scenario():
    keys = [case.key for case in c.cases()]
    assert len(set(keys)) == len(keys) == 117
    assert {case.key for case in c.quick()} <= set(keys)
    assert {build(case, 1).name for case in c.cases()} == {f"l4s {key}" for key in keys}
    assert {want.run.key for want in asked()} <= set(keys)


def test_prague_has_its_own_round_trips_where_the_tests_of_2020_are_judged():
    data = build(c.PAIRS[0], 1).data["tcp"]["prague"]
    assert data["prague_rtt"] == "own"
    assert "prague_rtt" not in build(c.beside(50.0, 1), 1).data["tcp"]["prague7"]


def test_a_ratio_is_within_a_factor_and_on_the_side_that_repeats_do_not_reach():
    # 32.39 / 14.94 = 2.168: 1.445 to 3.252
    assert (ratio_band(2.168).low, ratio_band(2.168).high) == pytest.approx((1.44533, 3.252), abs=1e-4)
    # 24.89 / 22.43 = 1.110 is more than exchanging the flows moves: never below 1
    assert (ratio_band(1.11).low, ratio_band(1.11).high) == pytest.approx((1.0, 1.665))
    assert ratio_band(12.24 / 35.44).high == pytest.approx(0.518, abs=0.001)
    # 24.18 / 23.11 = 1.046 is not
    assert ratio_band(1.046).low == pytest.approx(0.697, abs=0.001)


def as_asked() -> dict[str, list[dict[str, float]]]:
    runs: dict[str, list[dict[str, float]]] = {}
    for want in asked():
        (seed,) = runs.setdefault(want.run.key, [{}])
        seed[want.measure] = min(max(want.published, want.band.low), want.band.high) / want.scale
    return runs


def test_what_was_published_is_within():
    card, groups = scorecard(as_asked())
    assert card.met
    assert [share.cells for share in card.shares] == [15, 15]
    assert {cell.verdict for cell in card.cells} == {Verdict.WITHIN}
    assert {cell.origin for cell in groups["floods"]} == {Origin.TEXTBOOK}
    printed = {r.case for r in published.rows("l4s") if r.metric == "rates"}
    run = {cell.case for cell in groups["pairs"] if cell.metric == RATIO}
    # the one queue is judged by its imbalance; RED's thresholds are not given
    assert printed - run == {"one queue: cubic-ecn 20 / prague 20", "red 150000 B: cubic-ecn 20 / prague 20"}


def test_what_misses_has_the_experiment_that_moves_it_or_is_not_explained():
    runs = as_asked()
    case = c.beside(20.0, 10)
    runs[case.key][0]["first_wait_p99_ms"] = 4.0
    (cell,) = [x for x in scorecard(runs)[0].cells if x.metric == P99 and x.verdict is Verdict.OUTSIDE]
    assert cell.reason.endswith("not explained")
    runs[c.beside(20.0, 10, mss=c.SMALL).key] = [{"first_wait_p99_ms": 0.3}]
    (cell,) = [x for x in scorecard(runs)[0].cells if x.metric == P99 and x.verdict is Verdict.OUTSIDE]
    assert cell.reason == "one packet takes 0.60 ms; with packets of 188 bytes: 0.30"
    none: Runs = {}
    limits = Band(0.0, 2.0)
    assert explain(case, "first_wait_p99_ms", limits, 4.0, none) is None
    # the tests' 0.35 lies between Prague that stays in slow start and Prague that leaves it early
    fifo = c.PAIRS[10]
    of = {fifo.of_version("prague-early").key: [{"ratio": 0.14}]}
    assert (explain(fifo, "ratio", Band(0.23, 0.52), 0.73, of) or "").endswith("0.14, on the other side")
    # 16 to 2.1 ms: less than a quarter of what is too much remains
    slow = c.alone(4.0, 4)
    of = {c.alone(4.0, 4, c.HALF, mss=c.SMALL).key: [{"first_wait_p99_ms": 2.1}]}
    assert (explain(slow, "first_wait_p99_ms", limits, 16.0, of) or "").startswith("for the most part: 4 flows")


def test_an_unresponsive_flood_is_arithmetic():
    for case, measured, value in (
        (c.NOT_ECT[1], "c_dropped", 1 - 0.998 / 1.1),
        (c.ECT1[1], "l_dropped", 1 / 3),
        (c.ECT1[1], "l_marked", 1.0),
        (c.ECT1[2], "first_wait_mean_ms", 15.0),
        (c.WEIGHTED[0], "c_share", 1 / 16),
        (c.WEIGHTED[1], "c_share", 0.1),
    ):
        short = 20 if case.seconds > 20 else None
        assert measure(run(build(case, 1, short)))[measured] == pytest.approx(value, rel=0.03), case.key


#: Of a quick look, seed 1: what each case comes to. A change needs a line in CHANGELOG.
GOLDEN: dict[str, float] = {
    "dualpi2: cubic 20 / prague 20 | second flow over first": 1.919,
    "dualpi2: prague 20 / prague 10 | second flow over first": 2.5146,
    "droptail: cubic 20 / prague 20 | second flow over first": 2.2328,
    "fq_codel: cubic 20 / prague 20 | second flow over first": 1.0246,
    "one queue: cubic-ecn 20 / prague 20 | prague over cubic": 16.795,
    "20 Mbit/s, 1 each | L: 99th percentile of wait": 1.1449,
    "20 Mbit/s, 1 each | C: 99th percentile of wait": 24.435,
    "20 Mbit/s, 10 each | L: 99th percentile of wait": 4.0203,
    "20 Mbit/s, 10 each | C: 99th percentile of wait": 31.25,
    "50 Mbit/s, 4 each | L: 99th percentile of wait": 0.72256,
    "50 Mbit/s, 4 each | C: 99th percentile of wait": 22.698,
    "100 Mbit/s, 1 alone | L: 99th percentile of wait": 1.1006,
    "reno and prague 20 ms, own round trips | r_L / r_C": 2.206,
    "one Reno flow, 20 Mbit/s, 20 ms | p_C = 1.5 / W^2": 0.060088,
    "Not-ECT at 1.1 C | p_C = 1 - C/A": 9.2515,
    "Not-ECT at 1.1 C | p_CL = k sqrt(p_C), of L packets beside": 60.022,
}


def test_a_quick_look_leaves_a_whole_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert call(["reproduce", "l4s", "--quick", "-o", str(tmp_path), "-f", "json", "--no-store"]) == 0
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert data["summary"]["met"] is None
    cells = {f"{x['case']} | {x['metric']}": x["ours"] for x in data["cells"]}
    golden = {name: cells[name] for name in GOLDEN}
    assert golden == pytest.approx(GOLDEN, rel=1e-3)
    assert not any(math.isnan(x) for x in cells.values() if x is not None)
    assert (tmp_path / "report.html").stat().st_size > 100_000
    assert len(list((tmp_path / "figures").glob("*.svg"))) == 2
