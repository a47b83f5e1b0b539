"""The published values and closed forms, their tolerances, and reasons for differences; `rules.md` states the rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from bloatlab.studies import published
from bloatlab.studies.claims import Published, Runs, each, median_of
from bloatlab.studies.l4s import cases as c
from bloatlab.studies.l4s import theory
from bloatlab.studies.l4s.cases import DECLARED, Case
from bloatlab.studies.scorecard import Band, Cell, Goal, Origin, Tolerance
from bloatlab.tables import Spread, number

RATIO, TOTAL, IMBALANCE = "second flow over first", "both flows", "prague over the other"
TOP, INDUCED, SPIKE, LOST = "greatest TCP RTT", "induced delay", "length of the spike", "lost utilisation"
P99, MEAN = "L: 99th percentile of wait", "L: mean wait"
C_MEAN, C_P99, SHARE = "C: mean wait", "C: 99th percentile of wait", "CUBIC's rate over Prague's"

RATES, FORMS = Tolerance(factor=1.5), Tolerance(factor=2.0)
STATIC, WEIGHTS = Tolerance(share=0.03), Tolerance(share=0.01)
TOTALS = Band(46.5, 48.5)
LOSSES = Tolerance(least=20.0, unit="percentage points")
#: In the tests with DualPI2, swapping the two flows changed each rate by up to this share.
SWAP = 0.04

_RFC, _BOOK = "RFC 9330 §5.1", "RFC 9332 App. C"


def rates() -> dict[str, tuple[float, float]]:
    """Returns the rates of the two flows in Mbit/s, for each row in the tables of the L4S tests."""
    found = (r for r in published.rows("l4s") if r.metric == "rates")
    return {r.case: (float(r.value.split(";")[0]), float(r.value.split(";")[1])) for r in found}


def ratio_band(published_ratio: float, *, alike: bool = False) -> Band:
    """Returns the accepted rate ratios: within a factor of 1.5 of the published ratio, and on the same side of 1.

    A ratio on the other side of 1 is also accepted if the flows are `alike`, or if the published ratio is so close to 1
    that repeated tests may fall on both sides.
    """
    band = RATES.band(published_ratio)
    if alike or abs(math.log(published_ratio)) <= 2.0 * SWAP:
        return band
    return Band(max(band.low, 1.0), band.high) if published_ratio > 1.0 else Band(band.low, min(band.high, 1.0))


def _row(
    case: Case, metric: str, unit: str, value: float, printed: str, measure: str, band: Band,
    origin: Origin = Origin.PAPER, where: str = "L4S tests", scale: float = 1.0, name: str = "",
) -> Published:  # fmt: skip
    key = str(case)
    return Published(name or key, metric, unit, value, printed, key, measure, band, origin, where, scale)


def _of_rates(cases: Sequence[Case]) -> Iterator[Published]:
    """Yields the published ratio of the two flows' rates in each case; at 50 Mbit/s, also the sum of the rates.

    The sum at 10 Mbit/s is left out: the tests add up ss's delivery rates, and at this rate their sums are up to 10 %
    below a full link.
    """
    both = rates()
    for case in cases:
        first, second = both[str(case)]
        printed = f"{first:.2f} and {second:.2f} Mbit/s"
        if case.group == "shared":
            yield _row(case, IMBALANCE, "", first / second, printed, "inverse", RATES.band(first / second))
        else:
            alike = len({(x.stack, x.rtt) for x in case.loads}) == 1
            yield _row(case, RATIO, "", second / first, printed, "ratio", ratio_band(second / first, alike=alike))
        if case.rate == 50.0:
            yield _row(case, TOTAL, "Mbit/s", first + second, f"{first + second:.2f}", "total_mbit", TOTALS)


def _steps() -> Iterator[Published]:
    one = c.step("prague", 80.0, "fq_codel", 1.0)
    half = c.step("prague", 80.0, "fq_codel", 25.0)
    bursts = c.step("prague", 20.0, "dualpi2", 25.0, bursts=True)
    yield _row(one, TOP, "ms", 4346.0, "4346", "rtt_max_ms", RATES.band(4346.0))
    # a run ends 30 s after the step, and its last sample is 50 ms earlier
    yield _row(one, SPIKE, "s", 30.0, "over 30", "spike_s", Band(29.9, math.inf))
    yield _row(half, INDUCED, "ms", 100.0, "about 100", "induced_ms", RATES.band(100.0))
    yield _row(half, SPIKE, "s", 5.0, "around 5", "spike_s", RATES.band(5.0))
    yield _row(bursts, LOST, "%", 50.0, "about 50", "lost", LOSSES.band(50.0), scale=100.0)


#: What the L4S RFCs claim for L4S and classic flows that share a link. Each row contains arguments of `_row`: the
#: metric, its unit, the value, the value as printed, our measure, the accepted band, the origin, and the place in the
#: RFC.
_WAITS = (
    (P99, "ms", 2.0, "below 2", "first_wait_p99_ms", Band(0.0, 2.0), Origin.PAPER, _RFC),
    (MEAN, "ms", 1.0, "below 1", "first_wait_mean_ms", Band(0.0, 1.0), Origin.PAPER, _RFC),
    (C_MEAN, "ms", 12.5, "5 to 20", "second_wait_mean_ms", Band(5.0, 20.0), Origin.PAPER, _RFC),
    (C_P99, "ms", 30.0, "20 to 30", "second_wait_p99_ms", Band(0.0, 30.0), Origin.PAPER, _RFC),
    (SHARE, "", 1.0, "roughly equal", "ratio", Band(0.5, 2.0), Origin.OURS, "RFC 9332 §1"),
)


def _beside() -> Iterator[Published]:
    for case in c.BESIDE:
        name = f"{case.rate:g} Mbit/s, {case.flows} each"
        for promise in _WAITS:
            yield _row(case, *promise, name=name)


def _alone() -> Iterator[Published]:
    for case in c.ALONE:
        name = f"{case.rate:g} Mbit/s, {case.flows} alone"
        yield _row(case, *_WAITS[0][:6], Origin.OURS, _RFC, name=name)


def _laws() -> Iterator[Published]:
    def law(case: Case, name: str, metric: str, unit: str, value: float, digits: int, measure: str) -> Published:
        scale = 100.0 if unit == "%" else 1.0
        value *= scale
        band, printed = FORMS.band(value), f"{value:.{digits}f}"
        return _row(case, metric, unit, value, printed, measure, band, Origin.TEXTBOOK, _BOOK, scale, name)

    for case in c.COUPLED:
        scaled = case.loads[1].stack == "prague7"
        name = f"reno and prague {case.rtt:g} ms" + (", version 0.7" if scaled else ", own round trips")
        yield law(case, name, "r_L / r_C", "", theory.scalable_over_classic(case.rtt, scaled=scaled), 2, "ratio")
    reno, step = c.RENO_ALONE, c.STEP_ALONE
    drops, marks = theory.reno_drops(reno.rate, reno.rtt), theory.step_marks(step.rate, step.rtt)
    yield law(reno, "one Reno flow, 20 Mbit/s, 20 ms", "p_C = 1.5 / W^2", "%", drops, 3, "c_dropped")
    name = "one Prague flow (own round trips), 100 Mbit/s, 20 ms"
    yield law(step, name, "marks at the step: sqrt(2 / W)", "%", marks, 1, "l_step")
    yield _row(step, "99th percentile at the step", "ms", 1.0, "1 and a burst", "first_wait_p99_ms", RATES.band(1.0),
               Origin.TEXTBOOK, _BOOK, name=name)  # fmt: skip


def _floods() -> Iterator[Published]:
    def exact(
        case: Case, name: str, metric: str, unit: str, value: float, measure: str, rule: Tolerance | Band, scale: float = 1.0
    ) -> Published:  # fmt: skip
        band = rule if isinstance(rule, Band) else rule.band(value)
        where = "RFC 9332 §2, §4.2"
        return _row(case, metric, unit, value, f"{value:.4g}", measure, band, Origin.TEXTBOOK, where, scale, name)

    for case in c.NOT_ECT:
        offered = case.loads[0].share
        # the few packets in L use the share SPARSE of the link, and queue C gets the rest
        p_c, name = theory.excess(offered / (1.0 - c.SPARSE)), f"Not-ECT at {offered:g} C"
        yield exact(case, name, "p_C = 1 - C/A", "%", 100.0 * p_c, "c_dropped", STATIC, 100.0)
        yield exact(case, name, "C: mean wait = target", "ms", theory.TARGET, "first_wait_mean_ms", STATIC)
        coupled = 100.0 * theory.coupled(p_c)
        yield exact(case, name, "p_CL = k sqrt(p_C), of L packets beside", "%", coupled, "l_marked", STATIC, 100.0)
    for case in c.ECT1:
        offered = case.loads[0].share
        name = f"ECT(1) at {offered:g} C"
        yield exact(case, name, "dropped: 1 - C/A", "%", 100.0 * theory.excess(offered), "l_dropped", STATIC, 100.0)
        yield exact(case, name, "L: mean wait = target", "ms", theory.TARGET, "first_wait_mean_ms", STATIC)
        if offered > 4.0 / 3.0:
            yield exact(case, name, "survivors marked", "%", 100.0, "l_marked", Band(99.9, 100.0), 100.0)
    name = "ECT(1) at 1.5 C, drop_overload off"
    yield exact(c.NO_DROPS, name, "queue up to its limit", "packets", 1000.0, "queue_max_packets", Band(999.0, 1001.0))
    for case, share in zip(c.WEIGHTED, (1.0 / 16.0, 0.1), strict=True):
        name = f"both queues full, {case.queue.split(',')[0]}"
        yield exact(case, name, "C's share", "%", 100.0 * share, "c_share", WEIGHTS, 100.0)
    for case, turns in zip(c.TURN, (15.0, 9.0), strict=True):
        name = f"a C packet now and then, L full, {case.queue.split(',')[0]}"
        yield exact(case, name, "longest usual wait (99th percentile)", "packet times", turns, "second_wait_p99_ms",
                    Band(turns - 1.0, turns + 1.0), 1.0 / case.packet_ms)  # fmt: skip


#: The compared values by group, in page order.
VALUES: Mapping[str, Sequence[Published]] = {
    "pairs": [*_of_rates(c.PAIRS)],
    "shared": [*_of_rates(c.SHARED)],
    "steps": [*_steps()],
    "beside": [*_beside()],
    "alone": [*_alone()],
    "laws": [*_laws()],
    "floods": [*_floods()],
}

PUBLISHED = [value for values in VALUES.values() for value in values]

#: Every tolerance in words, as printed on the page.
RULES = DECLARED.tolerances({
    "RATES": RATES, "TOTALS": TOTALS, "LOSSES": LOSSES, "FORMS": FORMS, "STATIC": STATIC, "WEIGHTS": WEIGHTS,
})  # fmt: skip

#: The groups in which the rate ratios are counted: each group's label, and a function that tests whether a cell
#: belongs to the group.
PARTS: Sequence[tuple[str, Callable[[Cell], bool]]] = (
    ("through DualPI2", lambda cell: cell.case.startswith("dualpi2")),
    ("through fq_codel", lambda cell: cell.case.startswith("fq_codel:")),
    ("through a plain buffer", lambda cell: cell.case.startswith("pfifo")),
    ("in one queue of RFC 3168", lambda cell: cell.metric == IMBALANCE),
)

#: Metrics that compare the rates of two flows.
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

_GROUP_OF = {(value.case, value.metric): group for group, values in VALUES.items() for value in values}


def groups(found: Sequence[Cell]) -> dict[str, list[Cell]]:
    """Returns the compared values by group, in page order."""
    by_group: dict[str, list[Cell]] = {}
    for cell in found:
        by_group.setdefault(_GROUP_OF[cell.case, cell.metric], []).append(cell)
    return by_group


# -------------------------------------------------------------------------------------------------------- explanations

#: An experiment explains most of a value's excess above its band if it leaves at most this share of the excess.
REST = 0.25
#: According to RFC 9330, the 99th percentile of the waits in the low-latency queue (L) is below this limit, in ms.
LIMIT = 2.0

_CASES = {str(case): case for case in c.cases()}


def explain(runs: Runs, value: Published, ours: Spread) -> str:
    """Returns the experiment that explains a value outside its band, with its result; "" if there is none.

    Each experiment changes one thing, or two for Prague alone. The best explanation is an experiment that brings the
    value into the band. The second best is an experiment that brings the value to the other side of the band: the
    change then matters, and the published value lies between the two results. The last choice is an experiment that
    removes at least three quarters of the excess of a value above its band.
    """
    band = value.band
    tried = [
        (text, found * value.scale)
        for other, text in experiments(_CASES[value.run], value.measure)
        if (found := median_of(runs, str(other), value.measure)) is not None
    ]
    over = ours.median > band.high
    for text, found in tried:
        if band.holds(found):
            return f"{text}: {number(found, 2)}"
    for text, found in tried:
        if found < band.low if over else found > band.high:
            return f"{text}: {number(found, 2)}, on the other side"
    for text, found in tried:
        if over and found - band.high <= REST * (ours.median - band.high):
            return f"for the most part: {text}: {number(found, 2)}"
    return ""


def experiments(case: Case, measure: str) -> Iterator[tuple[Case, str]]:
    """Yields the experiments that could explain a value of `case`.

    Each experiment is a pair: its case, and a text that names the suspected mechanism and the experiment's change.
    """
    packet = f"one packet takes {number(case.packet_ms, 2)} ms"
    match case.group:
        case "beside":
            yield from _of_beside(case, measure, packet)
        case "pairs" if case.queue.startswith("pfifo"):
            yield (
                replace(case, jittered=True),
                "arrivals in step with departures; with random delays of up to a packet's time",
            )
        case "pairs":
            yield (
                case.of_version("prague-rounds"),
                "the time at which Prague cuts its window; with one cut in each round of alpha",
            )
            yield case.of_version("prague6"), "with version 0.6, which scales short round trips only after 500 rounds"
        case "shared":
            yield case.instead(c.UNFRIENDLY), "CUBIC's Reno-friendly region; without this region"
        case "coupled":
            yield (
                case.loaded(flows=4),
                "a single Reno flow empties C's queue when it halves its window; with four flows of each kind",
            )
        case "alone":
            yield from _of_alone(case, packet)
        case _:
            pass


def _of_beside(case: Case, measure: str, packet: str) -> Iterator[tuple[Case, str]]:
    if measure == "ratio":
        text = f"{packet}, so that the step marks a lone L packet that waits for a packet of C; with a step that never marks a lone packet"
        yield replace(case, queue="dualpi2, step behind one"), text
    if measure.startswith("second_wait"):
        yield (
            replace(case, queue="dualpi2, even"),
            "random drops; with evenly spaced drops (the function recur of RFC 9332)",
        )
    least = theory.under_way(case.packet_ms)
    bound = (
        f", so that waiting for a packet of C alone gives a 99th percentile of {number(least, 2)} ms"
        if least > LIMIT
        else ""
    )
    yield replace(case, mss=c.SMALL), f"{packet}{bound}; with packets of 188 bytes"


def _of_alone(case: Case, packet: str) -> Iterator[tuple[Case, str]]:
    grow = f"{case.flows} flows grow for a round trip before the marks of its start come back"
    if case.flows > 1:
        yield case.loaded(rtt=c.SHORT), f"{grow}; at a round trip of {c.SHORT:g} ms, with a 25th of that growth"
    both = f"{grow}, and {packet}" if case.flows > 1 else packet
    small, text = replace(case, mss=c.SMALL), f"{both}; with packets of 188 bytes"
    yield small, text
    for rtt in (c.HALF, c.SHORT):
        yield small.loaded(rtt=rtt), f"{text} at a round trip of {rtt:g} ms"


# -------------------------------------------------------------------------------------------------------------- claims


#: Pairs of flows through fq_codel with equal round-trip times.
_FQ = [x for x in c.of_queue("fq_codel") if x.loads[0].rtt == x.loads[1].rtt]

#: Claims made in the text of the L4S tests, and our expectations of Prague 0.7 and of the mechanisms that explain
#: differences.
CLAIMS = DECLARED.claims({"each": each, "FQ": _FQ, "SHARED": c.SHARED, "SMALLER": c.SMALLER})
