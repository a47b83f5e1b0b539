"""Judges every published value, and finds the readings that explain differences; `rules.md` states the rules."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from bloatlab.studies.cablelabs2012.build import build
from bloatlab.studies.cablelabs2012.published import (
    CEILING_KB,
    DECLARED,
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
    rows,
)
from bloatlab.studies.claims import Runs, over_seeds
from bloatlab.studies.published import parameter_cell, parameters, toml
from bloatlab.studies.scorecard import NOT_EXPLAINED, Band, Cell, Finding, Goal, Tolerance, Verdict, judge
from bloatlab.tables import Spread, TextCell, TextTable, row
from bloatlab.workloads.cable_loads import Case, Queue, grid

#: The accepted differences from the paper.
TOLERANCES: Mapping[str, Tolerance] = {
    **dict.fromkeys((LOST, LATE, PLR), Tolerance(share=0.35, least=0.5, unit="percentage points")),
    MOS: Tolerance(least=0.2),
    MEDIAN: Tolerance(share=0.10),
    MAD: Tolerance(factor=2.0, least=0.02, unit="s"),
    PAGES: Tolerance(share=0.10),
    FTP: Tolerance(least=0.005 * CEILING_KB, unit="kB"),
}

#: `LONG_LOAD` is the tolerance for a published median page load time of more than `LONG_LOAD_S` seconds.
LONG_LOAD_S, LONG_LOAD = 5.0, Tolerance(share=0.25)

#: If the paper prints ">600" s as a page load time, at most this many pages may complete.
NEVER_PAGES = 3.0

#: The tolerance for the difference in transfer size between DropTail and CoDel, in kB.
DIFFERENCE = Tolerance(share=0.30, least=1500.0, unit="kB")

#: Accepted percentages of lost voice packets in the cases without bulk traffic. The key is True for the small buffer
#: (DropTail with 21 packets), and False for the other queues.
IDLE_LOST: Mapping[bool, Band] = {False: Band(0.05, 0.2), True: Band(0.0, 0.02)}

#: For these metrics, 90 % of the values should be within tolerance; for all other metrics, 80 %.
HEADLINE = (MOS, FTP, MEDIAN, PAGES)

GOALS = (
    Goal("MOS, FTP, page medians and counts", 0.90, lambda cell: cell.metric in HEADLINE),
    Goal("lost, late, plr and MAD", 0.80, lambda cell: cell.metric not in HEADLINE),
)

#: Every tolerance in words, as printed on the page.
RULES = DECLARED.tolerances({
    "TOLERANCES": TOLERANCES, "IDLE_LOST": IDLE_LOST, "LONG_LOAD": LONG_LOAD, "LONG_LOAD_S": LONG_LOAD_S, "NEVER_PAGES": NEVER_PAGES,
    "DIFFERENCE": DIFFERENCE, "PLR": PLR, "MOS": MOS, "MEDIAN": MEDIAN, "MAD": MAD, "PAGES": PAGES, "FTP": FTP,
})  # fmt: skip


def _percent(part: float, whole: float) -> float:
    if math.isinf(whole):
        return math.nan if math.isinf(part) else 0.0
    return 100.0 * part / whole if whole else math.nan


#: For each metric that compares CoDel with DropTail: the measured metric that it is computed from, and the function
#: that computes it from the median with CoDel and the median with DropTail.
COMPARISONS: Mapping[str, tuple[str, Callable[[float, float], float]]] = {
    MOS_DELTA: (MOS, operator.sub),
    FTP_RATIO: (FTP, _percent),
    MEDIAN_RATIO: (MEDIAN, _percent),
}

#: Median and central interval over seeds, by case key and measure.
Spreads = Mapping[str, Mapping[str, Spread]]


def calibration(case: Case) -> bool:
    """Returns whether the case is D01, C01 or D02.

    The cells of these cases are not counted, because free parameters were chosen to fit them.
    """
    return case.number == 1 or case.name == "D02"


def cells(runs: Runs) -> Sequence[Cell]:
    """Returns every cell in the paper, with our value and its verdict. `runs` contains all 27 cases."""
    spreads = {
        key: {name: found for name in seeds[0] if (found := over_seeds(runs, key, name)) is not None}
        for key, seeds in runs.items()
    }
    return [*(_cell(cell, spreads) for cell in measured()), *(_derived(cell, spreads) for cell in derived())]


def band(case: Case, metric: str, published: float) -> Band:
    """Returns the range in which our value agrees with `published`, for this case and metric."""
    if metric == LOST and case.number == 1:
        return IDLE_LOST[case.queue is Queue.DROPTAIL_21]
    long = metric == MEDIAN and published > LONG_LOAD_S
    return (LONG_LOAD if long else TOLERANCES[metric]).band(published)


def difference_holds(published: float, ours: float) -> bool:
    """Returns whether DropTail minus CoDel, in kB, is close enough to the paper's difference."""
    return abs(ours - published) <= DIFFERENCE.slack(published) + 1e-9


def _cell(cell: PublishedCell, spreads: Spreads) -> Cell:
    """Judges one measured cell."""
    ours = spreads[cell.case.key][cell.metric]
    if not cell.values:
        return _unjudged(cell, ours, "nothing published: no page completed")
    bands = tuple(band(cell.case, cell.metric, value) for value in cell.values)
    if cell.metric == MEDIAN and math.isinf(cell.values[0]):
        pages, bands = spreads[cell.case.key][PAGES].median, ()
        finding = Finding(pages <= NEVER_PAGES, f"{pages:g} pages complete, at most {NEVER_PAGES:g} may")
    else:
        must = cell.metric == LOST and cell.case.number == 1
        finding = judge(cell.values, bands, ours, interval_rule=not must)
    if cell.metric == FTP and finding.agrees:
        finding = _difference(cell.case, spreads) or finding
    if calibration(cell.case):
        verdict, reason = Verdict.CALIBRATION, f"free parameters were chosen on it; {finding.why}"
    elif finding.agrees:
        verdict, reason = Verdict.WITHIN, finding.why
    else:
        verdict, reason = Verdict.OUTSIDE, f"{finding.why}; {NOT_EXPLAINED}"
    return replace(_unjudged(cell, ours, reason), verdict=verdict, bands=bands, agrees=finding.agrees)


def _unjudged(cell: PublishedCell, ours: Spread, reason: str) -> Cell:
    return Cell(
        cell.case.key, cell.metric, UNITS[cell.metric], cell.tables, cell.values, cell.printed, ours.median, ours.low,
        ours.high, (), Verdict.DERIVED, reason,
    )  # fmt: skip


def _difference(case: Case, spreads: Spreads) -> Finding | None:
    """Checks the second condition of the FTP rule: DropTail minus CoDel must be close to the paper's difference.

    Returns None if the condition holds; otherwise, the finding that explains why the cell does not agree.
    """
    codel = Case(case.number, Queue.CODEL)
    droptails = [Queue.DROPTAIL_417, Queue.DROPTAIL_21] if case.queue is Queue.CODEL else [case.queue]
    for droptail in (Case(case.number, queue) for queue in droptails):
        theirs = by_key()[droptail.key, FTP].values[0] - by_key()[codel.key, FTP].values[0]
        ours = spreads[droptail.key][FTP].median - spreads[codel.key][FTP].median
        if not difference_holds(theirs, ours):
            return Finding(False, f"{droptail.key} minus {codel.key} is {ours:+,.0f} kB, published {theirs:+,.0f} kB")
    return None


def _derived(cell: PublishedCell, spreads: Spreads) -> Cell:
    """Returns our value for a published cell that repeats a measured cell or compares two.

    The cell is not judged. If it compares two cells, our value has no interval.
    """
    own = spreads[cell.case.key]
    if cell.metric not in COMPARISONS:
        return _unjudged(cell, own[MEDIAN], "repeats a measured cell, rounded")
    metric, combine = COMPARISONS[cell.metric]
    codel = Case(cell.case.number, Queue.CODEL)
    value = combine(spreads[codel.key][metric].median, own[metric].median)
    found = _unjudged(cell, Spread(value, value, value), "follows from measured cells")
    return replace(found, case=f"{codel.name} vs {cell.case.queue.limit}")


# -------------------------------------------------------------------------------------------------------- explanations


@dataclass(frozen=True, slots=True)
class Explanation:
    """A reading (another interpretation of the paper), and the cells whose differences it may explain.

    `cases` and `metrics` are shell patterns. The reading may explain a cell if its case key and its metric match them.
    """

    reading: str
    cases: str
    metrics: str
    why: str
    #: What the paper states, if the reading contradicts it; empty if the paper's words allow the reading.
    against: str = ""

    @property
    def reason(self) -> str:
        """The explanation as text. If the reading contradicts the paper, the text says what the paper states."""
        return f"{self.why}; it changes what the paper states: {self.against}" if self.against else self.why


EXPLANATIONS = tuple(Explanation(**table) for table in toml("cablelabs2012", "readings.toml")["explanations"])


def candidates(case: str, metric: str) -> Sequence[Explanation]:
    """Returns the explanations that may apply to a value, in the order of `readings.toml`."""
    return [e for e in EXPLANATIONS if fnmatchcase(case, e.cases) and fnmatchcase(metric, e.metrics)]


def _row(key: str) -> Sequence[str]:
    """Returns the keys of all cases with the same load as the case `key`, one per queue."""
    return [Case(int(key[1:3]), queue).key for queue in Queue]


def wanted(card: Sequence[Cell]) -> Mapping[str, Sequence[str]]:
    """Returns the readings that could explain values outside tolerance, each with the keys of the cases to run.

    For each such value, all queues with the same load (a row of Table 2) are run, because transfer sizes are judged
    by the difference between the queues.
    """
    asked: dict[str, dict[str, None]] = {}
    for cell in card:
        if cell.verdict is Verdict.OUTSIDE:
            for entry in candidates(cell.case, cell.metric):
                asked.setdefault(entry.reading, {}).update(dict.fromkeys(_row(cell.case)))
    return {reading: tuple(keys) for reading, keys in asked.items()}


def explained(card: Sequence[Cell], runs: Runs, readings: Mapping[str, Runs]) -> Sequence[Cell]:
    """Completes the reason of each value outside tolerance with the results of the readings that were run for it."""
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
        return replace(cell, reason=f"{far}; {_explain(cell, rows)}")

    return [reason(cell) for cell in card]


def _explain(cell: Cell, rows: Mapping[str, Mapping[str, Cell]]) -> str:
    """Returns a text that explains why a value is outside tolerance, or says that this is not explained.

    The keys of `rows` are the names of the readings that were run. For each reading, `rows` contains the cells of the
    same case, by metric, as judged with this reading. Cells that are not counted are left out.
    """
    tried: list[str] = []
    for entry in candidates(cell.case, cell.metric):
        row = rows.get(entry.reading)
        if row is None:
            continue
        value = f"experiment {entry.reading}: {row[cell.metric].ours:.2f} {cell.unit}".rstrip()
        agree = sum(bool(other.agrees) for other in row.values())
        if agree == len(row):
            return f"{value}, and all {agree} cells of {cell.case} within: {entry.reason}"
        tried.append(f"{value}, {agree} of {len(row)} cells of {cell.case} within")
    return f"{NOT_EXPLAINED} ({'; '.join(tried)})" if tried else NOT_EXPLAINED


# --------------------------------------------------------------------------------------------- parameters of the paper


@functools.cache
def _resolved(key: str) -> Any:
    """Returns the scenario of the case `key` as plain values."""
    (case,) = [case for congested in (False, True) for case in grid(congested=congested) if case.key == key]
    return build(case, 1).data


def read_back() -> Sequence[Cell]:
    """Returns every parameter in the paper with its value in the study's scenarios."""
    printed = {(r.case, r.metric): r for r in rows()}
    found = parameters("cablelabs2012", _resolved)
    return [parameter_cell(printed[key], float(printed[key].value), read()) for key, read in found.items()]


def parameters_table() -> TextTable:
    """Returns the table that compares the paper's parameters with ours."""

    def ours(cell: Cell) -> TextCell:
        same = cell.verdict is Verdict.PARAMETER
        return TextCell(f"{cell.ours:g}", "good" if same else "bad", word="the same" if same else "differs")

    lines = [row(f"{c.case}: {c.metric}", f"{c.printed} {c.unit}".strip(), ours(c)) for c in read_back()]
    heads = ["parameter", "published", "ours"]
    return TextTable("The paper's parameters", heads, lines, DECLARED.text("parameters"), left=1)
