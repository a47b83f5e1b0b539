"""The study's own rules, fixed before any run: which value of ours counts as the paper's.

    lost, late, plr   0.5 percentage points or 35 %, whichever is larger;
                      but D01 and C01 lost must be 0.05 to 0.2 % with 417 packets, at most 0.02 % with 21
    MOS               0.2
    page time         10 %, 25 % where the paper has more than 5 s; where it has ">600": at most 3 pages complete
    its MAD           a factor of two, or 0.02 s
    pages             10 %
    FTP kB            0.5 % of the ceiling (385 000 kB), and the difference DropTail minus CoDel within 30 % or 1.5 MB

or the published value lies inside our interval and the interval is narrower than twice the tolerance. `ours` is the
median over seeds, the interval the central 80 %. Readings of these words that leave a choice are the stricter ones: a
CoDel transfer must keep its difference to both DropTail buffers; a published 0 pages wants 0 pages.
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
from bloatlab.studies.scorecard import Band, Cell, Finding, Scorecard, Verdict, judge, share_of, symmetric
from bloatlab.tables import Spread, spread

#: kB that the shaper lets through in 600 s: 10 MB burst + 5 Mbit/s.
CEILING_KB = 385_000.0

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
        found = {
            name: others[name][cell.case, cell.metric] for name in others if all(k in readings[name] for k in keys)
        }
        far = cell.reason.removesuffix(f"; {NOT_EXPLAINED}")
        return replace(cell, reason=f"{far}; {explain(cell, found)}")

    return replace(card, cells=[reason(cell) for cell in card.cells])


def _row(key: str) -> Sequence[str]:
    """The keys of a case and of the same load with the other queues."""
    number = int(key[1:3])
    return [Case(number, queue.name).key for queue in Queue]


def _judged(runs: Runs) -> Mapping[tuple[str, str], Cell]:
    """The measured cells of any runs, judged."""
    spreads = {key: _spreads(seeds) for key, seeds in runs.items()}
    return {(c.case.key, c.metric): _cell(c, spreads) for c in measured()}


def band(case: Case, metric: str, published: float) -> Band:
    """The values of ours that agree with `published` in a cell of this case and metric."""
    if metric == LOST and case.number == 1:
        return Band(0.0, 0.02) if case.queue is Queue.DROPTAIL_21 else Band(0.05, 0.2)
    match metric:
        case _ if metric in (LOST, LATE, PLR):
            return symmetric(published, max(0.5, 0.35 * published))
        case _ if metric == MOS:
            return symmetric(published, 0.2)
        case _ if metric == MEDIAN:
            return symmetric(published, published * (0.25 if published > 5.0 else 0.10))
        case _ if metric == MAD:
            return Band(min(published / 2.0, published - 0.02), max(published * 2.0, published + 0.02))
        case _ if metric == PAGES:
            return symmetric(published, 0.10 * published)
        case _ if metric == FTP:
            return symmetric(published, 0.005 * CEILING_KB)
        case _:
            raise KeyError(metric)


def difference_holds(published: float, ours: float) -> bool:
    """Whether a difference DropTail minus CoDel, in kB, is within 30 % or 1.5 MB of the paper's."""
    return abs(ours - published) <= max(0.30 * abs(published), 1500.0) + 1e-9


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
        return Finding(pages <= 3.0, f"{pages:g} pages complete, at most 3 may"), ()
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
