"""The study's own rules, fixed before any run: which value of ours counts as the paper's. `TOLERANCES` has the numbers.

A cell agrees within its tolerance, or where the published value lies inside our interval and the interval is narrower than
twice the tolerance. Ours is the median over seeds, the interval the central 80 %. Where these words leave a choice, it is the
stricter one: a CoDel transfer must keep its difference to both DropTail buffers; a published 0 pages wants 0 pages.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from bloatlab.studies.cablelabs2012.cases import Case, Queue
from bloatlab.studies.cablelabs2012.explanations import NOT_EXPLAINED, candidates, explain
from bloatlab.studies.cablelabs2012.measure import Measures
from bloatlab.studies.cablelabs2012.published import (
    FTP,
    FTP_RATIO,
    LATE,
    LOST,
    MAD,
    MEDIAN,
    MEDIAN_AGAIN,
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
from bloatlab.studies.scorecard import Band, Cell, Finding, Scorecard, Verdict, judge, share_of
from bloatlab.studies.tolerance import Tolerance
from bloatlab.tables import Spread, spread

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

#: Metrics of which 90 % are to be within; of the rest 80 %.
HEADLINE = (MOS, FTP, MEDIAN, PAGES)
HEADLINE_SHARE = 0.90
REST_SHARE = 0.80

#: Measures of every seed, by case key.
Runs = Mapping[str, Sequence[Measures]]


def scorecard(runs: Runs, *, proves_nothing: str = "") -> Scorecard:
    """Every cell of the paper beside ours. `runs` holds all 27 cases."""
    spreads = {key: _spreads(seeds) for key, seeds in runs.items()}
    cells = [_cell(cell, spreads) for cell in measured()]
    cells += [_derived(cell, other, spreads) for cell, other in derived()]
    counted = [c for c in cells if c.verdict is not Verdict.DERIVED]
    shares = (
        share_of("MOS, FTP, page medians and counts", [c for c in counted if c.metric in HEADLINE], HEADLINE_SHARE),
        share_of("lost, late, plr and MAD", [c for c in counted if c.metric not in HEADLINE], REST_SHARE),
    )
    seeds = min(len(s) for s in runs.values())
    return Scorecard("cablelabs2012", seeds, cells, shares, proves_nothing)


def wanted(card: Scorecard) -> Mapping[str, Sequence[str]]:
    """Of each reading that could explain a cell that differs, the cases to run: those of the rows in question.

    A whole row, since a transfer is judged by its difference between the queues.
    """
    asked: dict[str, dict[str, None]] = {}
    for cell in card.cells:
        if cell.verdict is Verdict.OUTSIDE:
            for entry in candidates(cell.case, cell.metric):
                rows = asked.setdefault(entry.reading, {})
                rows.update(dict.fromkeys(key for key in _row(cell.case)))
    return {reading: tuple(keys) for reading, keys in asked.items()}


def explained(card: Scorecard, runs: Runs, readings: Mapping[str, Runs]) -> Scorecard:
    """The scorecard with a reason for each cell that differs: what each reading that was run gives for it."""
    others = {name: _judged({**runs, **other}) for name, other in readings.items()}

    def reason(cell: Cell) -> Cell:
        if cell.verdict is not Verdict.OUTSIDE:
            return cell
        keys = _row(cell.case)
        rows = {
            name: {metric: c for (key, metric), c in judged.items() if key == cell.case and c.counted}
            for name, judged in others.items()
            if all(k in readings[name] for k in keys)
        }
        far = cell.reason.removesuffix(f"; {NOT_EXPLAINED}")
        return replace(cell, reason=f"{far}; {explain(cell, rows)}")

    return replace(card, cells=[reason(cell) for cell in card.cells])


def _row(key: str) -> Sequence[str]:
    """The keys of a case and of the same load with the other queues."""
    number = int(key[1:3])
    return [Case(number, queue.name).key for queue in Queue]


def _judged(runs: Runs) -> Mapping[tuple[str, str], Cell]:
    """The measured cells of any runs, judged."""
    spreads = {key: _spreads(seeds) for key, seeds in runs.items()}
    return {(c.case.key, c.metric): _cell(c, spreads) for c in measured()}


def tolerance(metric: str, published: float) -> Tolerance:
    """The tolerance of a metric. Raises `KeyError` for one that is not measured."""
    return LONG_LOAD if metric == MEDIAN and published > LONG_LOAD_S else TOLERANCES[metric]


def band(case: Case, metric: str, published: float) -> Band:
    """The values of ours that agree with `published` in a cell of this case and metric."""
    if metric == LOST and case.number == 1:
        return IDLE_LOST[case.queue is Queue.DROPTAIL_21]
    return tolerance(metric, published).band(published)


def difference_holds(published: float, ours: float) -> bool:
    """Whether a difference DropTail minus CoDel, in kB, is near enough to the paper's."""
    return abs(ours - published) <= DIFFERENCE.slack(published) + 1e-9


def rules() -> Sequence[tuple[str, str]]:
    """Every tolerance in words, for a reader."""
    large, small = IDLE_LOST[False], IDLE_LOST[True]
    return (
        ("lost, late and total plr", TOLERANCES[PLR].words()),
        ("lost of D01 and C01 (no load)", f"{large.words()} % with 417 packets, {small.words()} % with 21"),
        ("MOS", TOLERANCES[MOS].words()),
        ("median page load time", f"{TOLERANCES[MEDIAN].words()}; {LONG_LOAD.words()} where the paper has more than "
         f"{LONG_LOAD_S:g} s; at most {NEVER_PAGES:g} pages where it has >600"),
        ("its MAD", TOLERANCES[MAD].words()),
        ("pages completed", TOLERANCES[PAGES].words()),
        ("FTP kB", f"{TOLERANCES[FTP].words()}, and DropTail minus CoDel within {DIFFERENCE.words()}"),
    )  # fmt: skip


def _cell(cell: PublishedCell, spreads: Mapping[str, Mapping[str, Spread]]) -> Cell:
    """One measured cell, judged."""
    ours = spreads[cell.case.key][cell.metric]
    if not cell.values:
        finding, bands = None, ()
        verdict, reason = Verdict.DERIVED, "nothing published: no page completed"
    else:
        finding, bands = _find(cell, ours, spreads)
        verdict, reason = _verdict(cell, finding)
    return Cell(
        case=cell.case.key,
        metric=cell.metric,
        unit=UNITS[cell.metric],
        tables=cell.tables,
        published=cell.values,
        printed=cell.printed,
        ours=ours.median,
        low=ours.low,
        high=ours.high,
        bands=bands,
        verdict=verdict,
        reason=reason,
        agrees=None if finding is None else finding.agrees,
    )


def _find(
    cell: PublishedCell, ours: Spread, spreads: Mapping[str, Mapping[str, Spread]]
) -> tuple[Finding, tuple[Band, ...]]:
    if cell.metric == MEDIAN and math.isinf(cell.values[0]):
        pages = spreads[cell.case.key][PAGES].median
        return Finding(pages <= NEVER_PAGES, f"{pages:g} pages complete, at most 3 may"), ()
    bands = tuple(band(cell.case, cell.metric, value) for value in cell.values)
    must = cell.metric == LOST and cell.case.number == 1
    finding = judge(cell.values, bands, ours, interval_rule=not must)
    if cell.metric == FTP and finding.agrees and finding.why != "published value inside our interval":
        finding = _difference(cell, finding, spreads)
    return finding, bands


def _difference(cell: PublishedCell, finding: Finding, spreads: Mapping[str, Mapping[str, Spread]]) -> Finding:
    """The second half of the FTP rule: the difference between the queues."""
    codel = cell.case.with_queue(Queue.CODEL)
    droptails = [cell.case] if cell.case.queue is not Queue.CODEL else [codel.with_queue(q) for q in _DROPTAILS]
    for droptail in droptails:
        theirs = by_key()[droptail.key, FTP].values[0] - by_key()[codel.key, FTP].values[0]
        ours = spreads[droptail.key][FTP].median - spreads[codel.key][FTP].median
        if not difference_holds(theirs, ours):
            return Finding(False, f"{droptail.key} minus {codel.key} is {ours:+,.0f} kB, published {theirs:+,.0f} kB")
    return finding


_DROPTAILS = (Queue.DROPTAIL_417, Queue.DROPTAIL_21)


def _verdict(cell: PublishedCell, finding: Finding) -> tuple[Verdict, str]:
    if cell.case.calibration:
        return Verdict.CALIBRATION, f"free parameters were chosen on it; {finding.why}"
    if finding.agrees:
        return Verdict.WITHIN, finding.why
    return Verdict.OUTSIDE, f"{finding.why}; {NOT_EXPLAINED}"


def _derived(cell: PublishedCell, other: Case | None, spreads: Mapping[str, Mapping[str, Spread]]) -> Cell:
    """A cell that repeats or combines measured ones: shown beside ours, not judged."""
    ours = _combine(cell, other, spreads)
    against = f" vs {cell.case.queue.limit}" if other is not None else ""
    return Cell(
        case=f"{other.name}{against}" if other is not None else cell.case.key,
        metric=cell.metric,
        unit=UNITS[cell.metric],
        tables=cell.tables,
        published=cell.values,
        printed=cell.printed,
        ours=ours.median,
        low=ours.low,
        high=ours.high,
        bands=(),
        verdict=Verdict.DERIVED,
        reason="follows from measured cells" if other is not None else "repeats a measured cell, rounded",
    )


def _combine(cell: PublishedCell, other: Case | None, spreads: Mapping[str, Mapping[str, Spread]]) -> Spread:
    """Ours for a derived cell: a repeated median, or a combination of two medians over seeds (without an interval)."""
    own = spreads[cell.case.key]
    if cell.metric == MEDIAN_AGAIN or other is None:
        return own[MEDIAN]
    codel = spreads[other.key]
    match cell.metric:
        case _ if cell.metric == MOS_DELTA:
            value = codel[MOS].median - own[MOS].median
        case _ if cell.metric == FTP_RATIO:
            value = _percent(codel[FTP].median, own[FTP].median)
        case _ if cell.metric == MEDIAN_RATIO:
            value = _percent(codel[MEDIAN].median, own[MEDIAN].median)
        case _:
            raise KeyError(cell.metric)
    return Spread(value, value, value)


def _percent(part: float, whole: float) -> float:
    if math.isinf(whole):
        return math.nan if math.isinf(part) else 0.0
    return 100.0 * part / whole if whole else math.nan


def _spreads(seeds: Sequence[Measures]) -> dict[str, Spread]:
    """Median and central interval of every measure; a measure that applies to no seed is left out."""
    found: dict[str, Spread] = {}
    for name in seeds[0]:
        values = [s[name] for s in seeds if not math.isnan(s[name])]
        if values:
            found[name] = spread(values)
    return found
