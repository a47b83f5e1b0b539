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
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bloatlab.studies import published
from bloatlab.studies.claims import Runs, over_seeds
from bloatlab.studies.l4s import cases as c
from bloatlab.studies.l4s import heist, theory
from bloatlab.studies.l4s.explain import explain
from bloatlab.studies.scorecard import Band, Cell, Origin, Scorecard, Verdict, judge, share_of
from bloatlab.studies.tolerance import Tolerance

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

_TESTS, _RFC, _ISSUE = "L4S tests", "RFC 9330 §5.1", "RFC 9332 §1"


@dataclass(frozen=True, slots=True)
class Asked:
    """A value and where ours comes from."""

    group: str
    case: str
    metric: str
    unit: str
    published: float
    printed: str
    run: c.Case
    measure: str
    band: Band
    origin: Origin = Origin.PAPER
    where: str = _TESTS
    scale: float = 1.0


def asked() -> list[Asked]:
    """All that is compared, in the order of the page."""
    return [*_pairs(), *_shared(), *_steps(), *_delays(), *_alone(), *_laws(), *_floods()]


def rates() -> dict[str, tuple[float, float]]:
    """Both rates of every row of the tests' tables, in Mbit/s."""
    found = (r for r in published.rows("l4s") if r.metric == "rates")
    return {r.case: (float(r.value.split(";")[0]), float(r.value.split(";")[1])) for r in found}


def _pairs() -> list[Asked]:
    rows = rates()
    found: list[Asked] = []
    for case in heist.PAIRS:
        first, second = rows[case.key]
        ratio = second / first
        printed = f"{first:.2f} and {second:.2f} Mbit/s"
        band = ratio_band(ratio, alike=case.alike)
        found += [
            Asked("pairs", case.key, RATIO, "", ratio, printed, case, "ratio", band),
            *_total("pairs", case, first + second),
        ]
    return found


def _shared() -> list[Asked]:
    rows = rates()
    found: list[Asked] = []
    for case in heist.SHARED:
        first, second = rows[case.key]
        printed = f"{first:.2f} and {second:.2f} Mbit/s"
        band = RATES.band(first / second)
        found.append(Asked("shared", case.key, IMBALANCE, "", first / second, printed, case, "inverse", band))
        found += _total("shared", case, first + second)
    return found


def _total(group: str, case: c.Case, total: float) -> list[Asked]:
    """At 50 Mbit/s; at 10 the tests' own sums, means of what ss calls the delivery rate, are up to 3 % below a full link."""
    if case.rate != 50.0:
        return []
    return [Asked(group, case.key, TOTAL, "Mbit/s", total, f"{total:.2f}", case, "total_mbit", TOTALS)]


def ratio_band(published_ratio: float, *, alike: bool = False) -> Band:
    """What a ratio of rates may be: a factor of 1.5, on the same side of 1 where the tests' own repeats are."""
    band = RATES.band(published_ratio)
    if alike or abs(math.log(published_ratio)) <= 2.0 * SWAP:
        return band
    return Band(max(band.low, 1.0), band.high) if published_ratio > 1.0 else Band(band.low, min(band.high, 1.0))


def _steps() -> list[Asked]:
    one = heist.step("prague", 80.0, "fq_codel", 1.0)
    half = heist.step("prague", 80.0, "fq_codel", 25.0)
    bursts = heist.step("prague", 20.0, "dualpi2", 25.0, bursts=True)
    # a run ends 30 s after the step; the last sample is 50 ms before that
    return [
        Asked("steps", one.key, TOP, "ms", 4346.0, "4346", one, "rtt_max_ms", RATES.band(4346.0)),
        Asked("steps", one.key, SPIKE, "s", 30.0, "over 30", one, "spike_s", Band(29.9, math.inf)),
        Asked("steps", half.key, INDUCED, "ms", 100.0, "about 100", half, "induced_ms", RATES.band(100.0)),
        Asked("steps", half.key, SPIKE, "s", 5.0, "around 5", half, "spike_s", RATES.band(5.0)),
        Asked("steps", bursts.key, LOST, "%", 50.0, "about 50", bursts, "lost", LOSSES.band(50.0), scale=100.0),
    ]


#: What is asked of flows of both kinds: metric, unit, value, as said, measure, band, by whom, where.
_WAITS = (
    (P99, "ms", 2.0, "below 2", "first_wait_p99_ms", Band(0.0, 2.0), Origin.PAPER, _RFC),
    (MEAN, "ms", 1.0, "below 1", "first_wait_mean_ms", Band(0.0, 1.0), Origin.PAPER, _RFC),
    (C_MEAN, "ms", 12.5, "5 to 20", "second_wait_mean_ms", Band(5.0, 20.0), Origin.PAPER, _RFC),
    (C_P99, "ms", 30.0, "20 to 30", "second_wait_p99_ms", Band(0.0, 30.0), Origin.PAPER, _RFC),
    (SHARE, "", 1.0, "roughly equal", "ratio", FACTOR_2, Origin.OURS, _ISSUE),
)


def _delays() -> list[Asked]:
    found: list[Asked] = []
    for case in c.BESIDE:
        for metric, unit, value, words, measure, band, origin, where in _WAITS:
            found.append(Asked("beside", _name(case), metric, unit, value, words, case, measure, band, origin, where))
    return found


def _alone() -> list[Asked]:
    return [
        Asked(
            "alone",
            _name(case),
            P99,
            "ms",
            2.0,
            "below 2",
            case,
            "first_wait_p99_ms",
            Band(0.0, 2.0),
            Origin.OURS,
            _RFC,
        )
        for case in c.ALONE
    ]


def _name(case: c.Case) -> str:
    flows = case.loads[0].flows
    return f"{case.rate:g} Mbit/s, {flows} each" if len(case.loads) > 1 else f"{case.rate:g} Mbit/s, {flows} alone"


def _laws() -> list[Asked]:
    book, where = Origin.TEXTBOOK, "RFC 9332 App. C"
    found: list[Asked] = []
    for case in c.COUPLED:
        scaled = case.loads[1].stack == "prague7"
        value = theory.scalable_over_classic(case.loads[0].rtt, scaled=scaled)
        name = f"reno and prague {case.loads[0].rtt:g} ms" + (", version 0.7" if scaled else ", own round trips")
        found.append(
            Asked("laws", name, "r_L / r_C", "", value, f"{value:.2f}", case, "ratio", FORMS.band(value), book, where)
        )
    reno, step = c.RENO_ALONE, c.STEP_ALONE
    value = 100.0 * theory.reno_drops(reno.rate, reno.loads[0].rtt)
    found.append(
        Asked("laws", "one Reno flow, 20 Mbit/s, 20 ms", "p_C = 1.5 / W^2", "%", value, f"{value:.3f}", reno, "c_dropped",
              FORMS.band(value), book, where, 100.0)
    )  # fmt: skip
    value = 100.0 * theory.step_marks(step.rate, step.loads[0].rtt)
    name = "one Prague flow (own round trips), 100 Mbit/s, 20 ms"
    found.append(
        Asked("laws", name, "marks at the step: sqrt(2 / W)", "%", value, f"{value:.1f}", step, "l_step",
              FORMS.band(value), book, where, 100.0)
    )  # fmt: skip
    found.append(
        Asked("laws", name, "99th percentile at the step", "ms", 1.0, "1 and a burst", step, "first_wait_p99_ms",
              RATES.band(1.0), book, where)
    )  # fmt: skip
    return found


def _floods() -> list[Asked]:
    book, where = Origin.TEXTBOOK, "RFC 9332 §2, §4.2"
    found: list[Asked] = []

    def put(case: c.Case, name: str, metric: str, unit: str, value: float, measure: str, rule: Tolerance | Band,
            scale: float = 1.0, words: str = "") -> None:  # fmt: skip
        band = rule if isinstance(rule, Band) else rule.band(value)
        found.append(
            Asked("floods", name, metric, unit, value, words or f"{value:.4g}", case, measure, band, book, where, scale)
        )

    for case in c.NOT_ECT:
        offered = case.loads[0].share
        # C has what the few L packets leave
        p_c, name = theory.excess(offered / (1.0 - c.SPARSE)), f"Not-ECT at {offered:g} C"
        put(case, name, "p_C = 1 - C/A", "%", 100.0 * p_c, "c_dropped", STATIC, 100.0)
        put(case, name, "C: mean wait = target", "ms", theory.TARGET, "first_wait_mean_ms", STATIC)
        put(
            case,
            name,
            "p_CL = k sqrt(p_C), of L packets beside",
            "%",
            100.0 * theory.coupled(p_c),
            "l_marked",
            STATIC,
            100.0,
        )
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
        put(
            case,
            f"both queues full, {case.queue.split(',')[0]}",
            "C's share",
            "%",
            100.0 * share,
            "c_share",
            WEIGHTS,
            100.0,
        )
    for case, turns in zip(c.TURN, (15.0, 9.0), strict=True):
        name = f"a C packet now and then, L full, {case.queue.split(',')[0]}"
        put(case, name, "longest usual wait (99th percentile)", "packet times", turns, "second_wait_p99_ms",
            Band(turns - 1.0, turns + 1.0), 1.0 / case.packet_ms)  # fmt: skip
    return found


def rules() -> Sequence[tuple[str, str]]:
    """Every tolerance in words, for a reader."""
    return [
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


def scorecard(runs: Runs, proves_nothing: str = "") -> tuple[Scorecard, dict[str, list[Cell]]]:
    """Every value beside ours, and the same by group."""
    groups: dict[str, list[Cell]] = {}
    for want in asked():
        cell = _cell(want, runs)
        if cell is not None:
            groups.setdefault(want.group, []).append(cell)
    cells = [cell for group in groups.values() for cell in group]
    seeds = max((len(of) for of in runs.values()), default=0)
    ratios = [x for x in cells if x.metric in (RATIO, IMBALANCE)]
    shares = [
        share_of("rates of the L4S tests", ratios, 0.75),
        *(share_of(f"rates {words}", [x for x in ratios if belongs(x)]) for words, belongs in PARTS),
        share_of("steps of the rate", [x for x in cells if x.metric in (TOP, INDUCED, SPIKE, LOST)], 0.75),
        share_of("L's 99th percentiles", [x for x in cells if x.metric == P99], 1.0),
    ]
    return Scorecard("l4s", seeds, cells, shares, proves_nothing), groups


def _cell(want: Asked, runs: Runs) -> Cell | None:
    ours = over_seeds(runs, want.run.key, want.measure)
    if ours is None:
        return None
    ours = type(ours)(*(x * want.scale for x in (ours.median, ours.low, ours.high)))
    finding = judge([want.published], [want.band], ours, interval_rule=False)
    verdict = Verdict.WITHIN if finding.agrees else Verdict.OUTSIDE
    reason = finding.why
    if not finding.agrees:
        reason = (
            explain(want.run, want.measure, want.band, ours.median, runs, want.scale) or f"{finding.why}: not explained"
        )
    return Cell(want.case, want.metric, want.unit, (), (want.published,), want.printed, ours.median, ours.low, ours.high,
                (want.band,), verdict, reason, finding.agrees, where=want.where, origin=want.origin)  # fmt: skip
