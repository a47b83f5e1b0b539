"""Every published value and closed form beside ours, by rules fixed before the runs.

Rates of two flows: what is compared is one's over the other's. It agrees within a factor of 1.5 and in the same order, where the
order is more than what exchanging the two flows moved in the tests' DualPI2 (4 % of a rate). Flows that are alike have no order. Both
together are 47.5 Mbit/s at 50, give or take 1.

Steps of the rate: round trips and times within a factor of 1.5; lost utilisation within 20 points.

The low-latency queue: RFC 9330's sentence, less than 1 ms on average and less than 2 ms for 99 of 100, asked of every
rate from 4 to 200 Mbit/s and of 1, 4 and 10 paced Prague flows beside as many of CUBIC. What a packet waits is counted, not
its own transmission.

Closed forms of responsive flows agree within a factor of two: the tests themselves lie 1.5 to 1.7 from them. What answers
nothing is arithmetic: within 3 %.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from bloatlab.studies import published
from bloatlab.studies.cells import Published
from bloatlab.studies.claims import Runs
from bloatlab.studies.l4s import cases as c
from bloatlab.studies.l4s import heist, theory
from bloatlab.studies.l4s.explain import explain
from bloatlab.studies.l4s.plan import cases
from bloatlab.studies.scorecard import Band, Cell, Goal, Origin
from bloatlab.studies.tolerance import Tolerance
from bloatlab.tables import Spread

RATIO, TOTAL, IMBALANCE = "second flow over first", "both flows", "prague over the other"
TOP, INDUCED, SPIKE, LOST = "greatest TCP RTT", "induced delay", "length of the spike", "lost utilisation"
P99, MEAN = "L: 99th percentile of wait", "L: mean wait"
C_MEAN, C_P99, SHARE = "C: mean wait", "C: 99th percentile of wait", "CUBIC's rate over Prague's"

#: The rules.
RATES = Tolerance(factor=1.5)
FORMS = Tolerance(factor=2.0)
STATIC = Tolerance(share=0.03)
WEIGHTS = Tolerance(share=0.01)
TOTALS = Band(46.5, 48.5)
LOSSES = Tolerance(least=20.0, unit="percentage points")
FACTOR_2 = Band(0.5, 2.0)
#: What exchanging the flows moves each rate by.
SWAP = 0.04

_RFC, _ISSUE = "RFC 9330 §5.1", "RFC 9332 §1"


def rates() -> dict[str, tuple[float, float]]:
    """Both rates of every row of the tests' tables, in Mbit/s."""
    found = (r for r in published.rows("l4s") if r.metric == "rates")
    return {r.case: (float(r.value.split(";")[0]), float(r.value.split(";")[1])) for r in found}


def _pairs() -> list[Published]:
    rows = rates()
    found: list[Published] = []
    for case in heist.PAIRS:
        first, second = rows[case.key]
        printed, band = f"{first:.2f} and {second:.2f} Mbit/s", ratio_band(second / first, alike=case.alike)
        found.append(_row(case.key, RATIO, "", second / first, printed, case, "ratio", band))
        found += _total(case, first + second)
    return found


def _shared() -> list[Published]:
    rows = rates()
    found: list[Published] = []
    for case in heist.SHARED:
        first, second = rows[case.key]
        printed, band = f"{first:.2f} and {second:.2f} Mbit/s", RATES.band(first / second)
        found.append(_row(case.key, IMBALANCE, "", first / second, printed, case, "inverse", band))
        found += _total(case, first + second)
    return found


def _row(
    name: str, metric: str, unit: str, value: float, printed: str, case: c.Case, measure: str, band: Band,
    origin: Origin = Origin.PAPER, where: str = "L4S tests", scale: float = 1.0,
) -> Published:  # fmt: skip
    return Published(
        name, metric, unit, value, printed, case.key, measure, band, origin, where, scale, interval_rule=False
    )


def _total(case: c.Case, total: float) -> list[Published]:
    """At 50 Mbit/s; at 10 the tests' own sums, means of what ss calls the delivery rate, are up to 3 % below a full link."""
    if case.rate != 50.0:
        return []
    return [_row(case.key, TOTAL, "Mbit/s", total, f"{total:.2f}", case, "total_mbit", TOTALS)]


def ratio_band(published_ratio: float, *, alike: bool = False) -> Band:
    """What a ratio of rates may be: a factor of 1.5, on the same side of 1 where the tests' own repeats are."""
    band = RATES.band(published_ratio)
    if alike or abs(math.log(published_ratio)) <= 2.0 * SWAP:
        return band
    return Band(max(band.low, 1.0), band.high) if published_ratio > 1.0 else Band(band.low, min(band.high, 1.0))


def _steps() -> list[Published]:
    one = heist.step("prague", 80.0, "fq_codel", 1.0)
    half = heist.step("prague", 80.0, "fq_codel", 25.0)
    bursts = heist.step("prague", 20.0, "dualpi2", 25.0, bursts=True)
    # a run ends 30 s after the step; the last sample is 50 ms before that
    return [
        _row(one.key, TOP, "ms", 4346.0, "4346", one, "rtt_max_ms", RATES.band(4346.0)),
        _row(one.key, SPIKE, "s", 30.0, "over 30", one, "spike_s", Band(29.9, math.inf)),
        _row(half.key, INDUCED, "ms", 100.0, "about 100", half, "induced_ms", RATES.band(100.0)),
        _row(half.key, SPIKE, "s", 5.0, "around 5", half, "spike_s", RATES.band(5.0)),
        _row(bursts.key, LOST, "%", 50.0, "about 50", bursts, "lost", LOSSES.band(50.0), scale=100.0),
    ]


#: What is asked of flows of both kinds: metric, unit, value, as said, measure, band, by whom, where.
_WAITS = (
    (P99, "ms", 2.0, "below 2", "first_wait_p99_ms", Band(0.0, 2.0), Origin.PAPER, _RFC),
    (MEAN, "ms", 1.0, "below 1", "first_wait_mean_ms", Band(0.0, 1.0), Origin.PAPER, _RFC),
    (C_MEAN, "ms", 12.5, "5 to 20", "second_wait_mean_ms", Band(5.0, 20.0), Origin.PAPER, _RFC),
    (C_P99, "ms", 30.0, "20 to 30", "second_wait_p99_ms", Band(0.0, 30.0), Origin.PAPER, _RFC),
    (SHARE, "", 1.0, "roughly equal", "ratio", FACTOR_2, Origin.OURS, _ISSUE),
)


def _delays() -> list[Published]:
    return [
        _row(_name(case), metric, unit, value, words, case, measure, band, origin, where)
        for case in c.BESIDE
        for metric, unit, value, words, measure, band, origin, where in _WAITS
    ]


def _alone() -> list[Published]:
    limit = Band(0.0, 2.0)
    return [
        _row(_name(case), P99, "ms", 2.0, "below 2", case, "first_wait_p99_ms", limit, Origin.OURS, _RFC)
        for case in c.ALONE
    ]


def _name(case: c.Case) -> str:
    flows = case.loads[0].flows
    return f"{case.rate:g} Mbit/s, {flows} each" if len(case.loads) > 1 else f"{case.rate:g} Mbit/s, {flows} alone"


def _laws() -> list[Published]:
    book, where = Origin.TEXTBOOK, "RFC 9332 App. C"
    found: list[Published] = []
    for case in c.COUPLED:
        scaled = case.loads[1].stack == "prague7"
        value = theory.scalable_over_classic(case.loads[0].rtt, scaled=scaled)
        name = f"reno and prague {case.loads[0].rtt:g} ms" + (", version 0.7" if scaled else ", own round trips")
        found.append(_row(name, "r_L / r_C", "", value, f"{value:.2f}", case, "ratio", FORMS.band(value), book, where))
    reno, step = c.RENO_ALONE, c.STEP_ALONE
    drops = 100.0 * theory.reno_drops(reno.rate, reno.loads[0].rtt)
    marks = 100.0 * theory.step_marks(step.rate, step.loads[0].rtt)
    name = "one Prague flow (own round trips), 100 Mbit/s, 20 ms"
    return [
        *found,
        _row("one Reno flow, 20 Mbit/s, 20 ms", "p_C = 1.5 / W^2", "%", drops, f"{drops:.3f}", reno, "c_dropped",
             FORMS.band(drops), book, where, 100.0),
        _row(name, "marks at the step: sqrt(2 / W)", "%", marks, f"{marks:.1f}", step, "l_step", FORMS.band(marks), book,
             where, 100.0),
        _row(name, "99th percentile at the step", "ms", 1.0, "1 and a burst", step, "first_wait_p99_ms", RATES.band(1.0),
             book, where),
    ]  # fmt: skip


def _floods() -> list[Published]:
    found: list[Published] = []

    def put(case: c.Case, name: str, metric: str, unit: str, value: float, measure: str, rule: Tolerance | Band,
            scale: float = 1.0) -> None:  # fmt: skip
        band = rule if isinstance(rule, Band) else rule.band(value)
        found.append(
            _row(
                name,
                metric,
                unit,
                value,
                f"{value:.4g}",
                case,
                measure,
                band,
                Origin.TEXTBOOK,
                "RFC 9332 §2, §4.2",
                scale,
            )
        )

    for case in c.NOT_ECT:
        offered = case.loads[0].share
        # C has what the few L packets leave
        p_c, name = theory.excess(offered / (1.0 - c.SPARSE)), f"Not-ECT at {offered:g} C"
        coupled = 100.0 * theory.coupled(p_c)
        put(case, name, "p_C = 1 - C/A", "%", 100.0 * p_c, "c_dropped", STATIC, 100.0)
        put(case, name, "C: mean wait = target", "ms", theory.TARGET, "first_wait_mean_ms", STATIC)
        put(case, name, "p_CL = k sqrt(p_C), of L packets beside", "%", coupled, "l_marked", STATIC, 100.0)
    for case in c.ECT1:
        offered = case.loads[0].share
        name = f"ECT(1) at {offered:g} C"
        put(case, name, "dropped: 1 - C/A", "%", 100.0 * theory.excess(offered), "l_dropped", STATIC, 100.0)
        put(case, name, "L: mean wait = target", "ms", theory.TARGET, "first_wait_mean_ms", STATIC)
        if offered > 4.0 / 3.0:
            put(case, name, "survivors marked", "%", 100.0, "l_marked", Band(99.9, 100.0), 100.0)
    put(c.NO_DROPS, "ECT(1) at 1.5 C, drop_overload off", "queue up to its limit", "packets", 1000.0, "queue_max_packets",
        Band(999.0, 1001.0))  # fmt: skip
    for case, share in zip(c.WEIGHTED, (1.0 / 16.0, 0.1), strict=True):
        name = f"both queues full, {case.queue.split(',')[0]}"
        put(case, name, "C's share", "%", 100.0 * share, "c_share", WEIGHTS, 100.0)
    for case, turns in zip(c.TURN, (15.0, 9.0), strict=True):
        name = f"a C packet now and then, L full, {case.queue.split(',')[0]}"
        put(case, name, "longest usual wait (99th percentile)", "packet times", turns, "second_wait_p99_ms",
            Band(turns - 1.0, turns + 1.0), 1.0 / case.packet_ms)  # fmt: skip
    return found


#: All that is compared, by group, in the order of the page.
VALUES: Mapping[str, Sequence[Published]] = {
    "pairs": _pairs(),
    "shared": _shared(),
    "steps": _steps(),
    "beside": _delays(),
    "alone": _alone(),
    "laws": _laws(),
    "floods": _floods(),
}

#: Every tolerance in words, for a reader.
RULES: Sequence[tuple[str, str]] = [
    ("rates of two flows", f"{RATES.words()}; the same order"),
    ("both flows together, at 50 Mbit/s", f"{TOTALS.words()} Mbit/s"),
    ("steps of the rate", f"{RATES.words()}; lost utilisation {LOSSES.words()}"),
    ("L's waits", "at most 1 ms on average, at most 2 ms for 99 of 100"),
    ("C's waits", "5 to 20 ms on average, at most 30 ms for 99 of 100"),
    ("CUBIC beside Prague, one round trip", FORMS.words()),
    ("closed forms of responsive flows", FORMS.words()),
    ("closed forms of floods", STATIC.words()),
    ("weights", WEIGHTS.words()),
]


#: What the rates are of: the words, and which cells.
PARTS: Sequence[tuple[str, Callable[[Cell], bool]]] = (
    ("through DualPI2", lambda cell: cell.case.startswith("dualpi2")),
    ("through fq_codel", lambda cell: cell.case.startswith("fq_codel:")),
    ("through a plain buffer", lambda cell: cell.case.startswith("pfifo")),
    ("in one queue of RFC 3168", lambda cell: cell.metric == IMBALANCE),
)


#: Cells that compare the rates of two flows.
RATIOS = (RATIO, IMBALANCE)

GOALS = (
    Goal("rates of the L4S tests", 0.75, lambda cell: cell.metric in RATIOS),
    *(
        Goal(f"rates {words}", None, lambda cell, belongs=belongs: cell.metric in RATIOS and belongs(cell))
        for words, belongs in PARTS
    ),
    Goal("steps of the rate", 0.75, lambda cell: cell.metric in (TOP, INDUCED, SPIKE, LOST)),
    Goal("L's 99th percentiles", 1.0, lambda cell: cell.metric == P99),
)

_CASES = {case.key: case for case in cases()}


def cells(runs: Runs) -> list[Cell]:
    """Every value beside ours."""

    def why(value: Published, ours: Spread) -> str:
        return explain(_CASES[value.run], value.measure, value.band, ours.median, runs, value.scale) or ""

    return [cell for values in VALUES.values() for v in values if (cell := v.cell(runs, why)) is not None]


_GROUP_OF = {(value.case, value.metric): group for group, values in VALUES.items() for value in values}


def groups(found: Sequence[Cell]) -> dict[str, list[Cell]]:
    """The cells by group, in the order of the page."""
    by_group: dict[str, list[Cell]] = {}
    for cell in found:
        by_group.setdefault(_GROUP_OF[cell.case, cell.metric], []).append(cell)
    return by_group
