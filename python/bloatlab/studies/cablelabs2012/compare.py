"""The study's own rules, fixed before any run: which value of ours counts as the paper's. `TOLERANCES` has the numbers.

A cell agrees within its tolerance, or where the published value lies inside our interval and the interval is narrower than
twice the tolerance. Ours is the median over seeds, the interval the central 80 %. Where these words leave a choice, it is the
stricter one: a CoDel transfer must keep its difference to both DropTail buffers; a published 0 pages wants 0 pages.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from bloatlab.studies.cablelabs2012.explanations import NOT_EXPLAINED, candidates, explain
from bloatlab.studies.cablelabs2012.published import (
    FTP,
    FTP_RATIO,
    LATE,
    LOST,
    MAD,
    MEDIAN,
    MEDIAN_RATIO,
    MOS,
    MOS_DELTA,
    PAGES,
    PLR,
    UNITS,
    PublishedCell,
    by_key,
    derived,
    measured,
)
from bloatlab.studies.claims import Runs, over_seeds
from bloatlab.studies.scorecard import Band, Cell, Finding, Goal, Tolerance, Verdict, judge
from bloatlab.tables import Spread
from bloatlab.workloads.cable_loads import Case, Queue

#: kB that the shaper lets through in 600 s: 10 MB burst + 5 Mbit/s.
CEILING_KB = 385_000.0

#: How far ours may be from the paper's.
TOLERANCES: Mapping[str, Tolerance] = {
    **dict.fromkeys((LOST, LATE, PLR), Tolerance(share=0.35, least=0.5, unit="percentage points")),
    MOS: Tolerance(least=0.2),
    MEDIAN: Tolerance(share=0.10),
    MAD: Tolerance(factor=2.0, least=0.02, unit="s"),
    PAGES: Tolerance(share=0.10),
    FTP: Tolerance(least=0.005 * CEILING_KB, unit="kB"),
}

#: The same where the paper's median page load takes longer than this, in s.
LONG_LOAD_S, LONG_LOAD = 5.0, Tolerance(share=0.25)

#: Pages that may complete where the paper has ">600" s for one.
NEVER_PAGES = 3.0

#: DropTail minus CoDel, of what a transfer carries.
DIFFERENCE = Tolerance(share=0.30, least=1500.0, unit="kB")

#: Voice packets lost without any load, in %: by whether the buffer is the small one.
IDLE_LOST: Mapping[bool, Band] = {False: Band(0.05, 0.2), True: Band(0.0, 0.02)}

#: Metrics of which 90 % should be within; of the rest 80 %.
HEADLINE = (MOS, FTP, MEDIAN, PAGES)

GOALS = (
    Goal("MOS, FTP, page medians and counts", 0.90, lambda cell: cell.metric in HEADLINE),
    Goal("lost, late, plr and MAD", 0.80, lambda cell: cell.metric not in HEADLINE),
)

#: Every tolerance in words, for a reader.
RULES: Sequence[tuple[str, str]] = (
    ("lost, late and total plr", TOLERANCES[PLR].words()),
    ("lost of D01 and C01 (no load)", f"{IDLE_LOST[False].words()} % with 417 packets, {IDLE_LOST[True].words()} % with 21"),
    ("MOS", TOLERANCES[MOS].words()),
    ("median page load time", f"{TOLERANCES[MEDIAN].words()}; {LONG_LOAD.words()} where the paper has more than {LONG_LOAD_S:g} s; at "
     f"most {NEVER_PAGES:g} pages where it has >600"),
    ("its MAD", TOLERANCES[MAD].words()),
    ("pages completed", TOLERANCES[PAGES].words()),
    ("FTP kB", f"{TOLERANCES[FTP].words()}, and DropTail minus CoDel within {DIFFERENCE.words()}"),
)  # fmt: skip


def _percent(part: float, whole: float) -> float:
    if math.isinf(whole):
        return math.nan if math.isinf(part) else 0.0
    return 100.0 * part / whole if whole else math.nan


#: Metrics that compare CoDel with DropTail: the measured one, and the comparison of two medians over seeds.
COMPARISONS: Mapping[str, tuple[str, Callable[[float, float], float]]] = {
    MOS_DELTA: (MOS, operator.sub),
    FTP_RATIO: (FTP, _percent),
    MEDIAN_RATIO: (MEDIAN, _percent),
}

#: Median and central interval of every measure that a case has, by its key.
Spreads = Mapping[str, Mapping[str, Spread]]


def calibration(case: Case) -> bool:
    """Whether a free parameter was chosen on this case: D01, C01, D02. Its cells prove nothing and are not counted."""
    return case.number == 1 or case.name == "D02"


def cells(runs: Runs) -> Sequence[Cell]:
    """Every cell of the paper beside ours. `runs` holds all 27 cases."""
    spreads = _spreads(runs)
    return [*(_cell(cell, spreads) for cell in measured()), *(_derived(cell, spreads) for cell in derived())]


def wanted(card: Sequence[Cell]) -> Mapping[str, Sequence[str]]:
    """The readings that could explain a cell that differs, and the cases to run of each: whole rows of Table 2.

    A whole row, since a transfer is judged by its difference between the queues.
    """
    asked: dict[str, dict[str, None]] = {}
    for cell in card:
        if cell.verdict is Verdict.OUTSIDE:
            for entry in candidates(cell.case, cell.metric):
                asked.setdefault(entry.reading, {}).update(dict.fromkeys(_row(cell.case)))
    return {reading: tuple(keys) for reading, keys in asked.items()}


def explained(card: Sequence[Cell], runs: Runs, readings: Mapping[str, Runs]) -> Sequence[Cell]:
    """The cells, each that differs with a reason: what each reading that was run gives for it."""
    others = {name: cells({**runs, **other}) for name, other in readings.items()}

    def reason(cell: Cell) -> Cell:
        if cell.verdict is not Verdict.OUTSIDE:
            return cell
        rows = {
            name: {c.metric: c for c in judged if c.case == cell.case and c.counted}
            for name, judged in others.items()
            if all(key in readings[name] for key in _row(cell.case))
        }
        far = cell.reason.removesuffix(f"; {NOT_EXPLAINED}")
        return replace(cell, reason=f"{far}; {explain(cell, rows)}")

    return [reason(cell) for cell in card]


def _row(key: str) -> Sequence[str]:
    """The keys of a case and of the same load with the other queues."""
    return [Case(int(key[1:3]), queue).key for queue in Queue]


def band(case: Case, metric: str, published: float) -> Band:
    """The values of ours that agree with `published` in a cell of this case and metric."""
    if metric == LOST and case.number == 1:
        return IDLE_LOST[case.queue is Queue.DROPTAIL_21]
    long = metric == MEDIAN and published > LONG_LOAD_S
    return (LONG_LOAD if long else TOLERANCES[metric]).band(published)


def difference_holds(published: float, ours: float) -> bool:
    """Whether a difference DropTail minus CoDel, in kB, is near enough to the paper's."""
    return abs(ours - published) <= DIFFERENCE.slack(published) + 1e-9


def _cell(cell: PublishedCell, spreads: Spreads) -> Cell:
    """One measured cell, judged."""
    ours = spreads[cell.case.key][cell.metric]
    if not cell.values:
        return _beside(cell, ours, Verdict.DERIVED, "nothing published: no page completed")
    bands = tuple(band(cell.case, cell.metric, value) for value in cell.values)
    if cell.metric == MEDIAN and math.isinf(cell.values[0]):
        pages, bands = spreads[cell.case.key][PAGES].median, ()
        finding = Finding(pages <= NEVER_PAGES, f"{pages:g} pages complete, at most {NEVER_PAGES:g} may")
    else:
        must = cell.metric == LOST and cell.case.number == 1
        finding = judge(cell.values, bands, ours, interval_rule=not must)
    if cell.metric == FTP and finding.agrees and finding.why != "published value inside our interval":
        finding = _difference(cell.case, spreads) or finding
    if calibration(cell.case):
        verdict, reason = Verdict.CALIBRATION, f"free parameters were chosen on it; {finding.why}"
    elif finding.agrees:
        verdict, reason = Verdict.WITHIN, finding.why
    else:
        verdict, reason = Verdict.OUTSIDE, f"{finding.why}; {NOT_EXPLAINED}"
    return replace(_beside(cell, ours, verdict, reason), bands=bands, agrees=finding.agrees)


def _beside(cell: PublishedCell, ours: Spread, verdict: Verdict, reason: str) -> Cell:
    return Cell(
        cell.case.key, cell.metric, UNITS[cell.metric], cell.tables, cell.values, cell.printed, ours.median, ours.low,
        ours.high, (), verdict, reason,
    )  # fmt: skip


def _difference(case: Case, spreads: Spreads) -> Finding | None:
    """The second half of the FTP rule, the difference between the queues: what it finds wrong, or None."""
    codel = Case(case.number, Queue.CODEL)
    droptails = [Queue.DROPTAIL_417, Queue.DROPTAIL_21] if case.queue is Queue.CODEL else [case.queue]
    for droptail in (Case(case.number, queue) for queue in droptails):
        theirs = by_key()[droptail.key, FTP].values[0] - by_key()[codel.key, FTP].values[0]
        ours = spreads[droptail.key][FTP].median - spreads[codel.key][FTP].median
        if not difference_holds(theirs, ours):
            return Finding(False, f"{droptail.key} minus {codel.key} is {ours:+,.0f} kB, published {theirs:+,.0f} kB")
    return None


def _derived(cell: PublishedCell, spreads: Spreads) -> Cell:
    """A cell that repeats or combines measured ones: shown beside ours, not judged. A combination has no interval."""
    own = spreads[cell.case.key]
    if cell.metric not in COMPARISONS:
        return _beside(cell, own[MEDIAN], Verdict.DERIVED, "repeats a measured cell, rounded")
    metric, combine = COMPARISONS[cell.metric]
    codel = Case(cell.case.number, Queue.CODEL)
    value = combine(spreads[codel.key][metric].median, own[metric].median)
    found = _beside(cell, Spread(value, value, value), Verdict.DERIVED, "follows from measured cells")
    return replace(found, case=f"{codel.name} vs {cell.case.queue.limit}")


def _spreads(runs: Runs) -> Spreads:
    """Median and central interval of every measure; a measure that applies to no seed is left out."""
    return {
        key: {name: found for name in seeds[0] if (found := over_seeds(runs, key, name)) is not None}
        for key, seeds in runs.items()
    }
