"""The tables and the answer of the study.

The tables are Tables 3 to 8 with our value beside each published one, and tables of the experiments, the readings and
the free parameters.

In the answer, a queue is better for a user under a load if the difference is noticeable (`NOTICED`); otherwise the two
queues count as equal. The loads are the eight with bulk traffic. A number for all loads is the median over these eight.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bloatlab.plots import Series
from bloatlab.report import Answer, Drawn, Point
from bloatlab.studies.cablelabs2012 import disciplines
from bloatlab.studies.cablelabs2012.experiments import EXPERIMENTS, READINGS, UNKNOWNS
from bloatlab.studies.cablelabs2012.figures import COLOURS, NAMES
from bloatlab.studies.cablelabs2012.published import (
    DECLARED,
    DIGITS,
    FTP,
    FTP_RATIO,
    HEADS,
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
    by_key,
)
from bloatlab.studies.claims import Runs, median_of
from bloatlab.studies.drawing import of_cases, points
from bloatlab.studies.scorecard import Cell, Scorecard, Tolerance
from bloatlab.studies.tables import MARKS, judged_cell, medians_table, spaced, verdict_with_reason
from bloatlab.tables import TextCell, TextTable, Tone, number, row, spread
from bloatlab.workloads.cable_loads import LOADED, NUMBERS, Bulk, Case, Queue

#: `_TABLES`: for Tables 3 to 8, the number, the title, the DropTail queue compared with CoDel, and the metrics
#: printed for each queue.
_VOICE, _WEB, _SUMMARY = (LOST, LATE, PLR), (MEDIAN, MAD, PAGES), (MOS, FTP, MEDIAN_AGAIN)
_TABLES = (
    (3, "VoIP, DropTail without Buffer Control and CoDel", Queue.DROPTAIL_417, _VOICE),
    (4, "VoIP, DropTail with Buffer Control and CoDel", Queue.DROPTAIL_21, _VOICE),
    (5, "Web, DropTail without Buffer Control and CoDel", Queue.DROPTAIL_417, _WEB),
    (6, "Web, DropTail with Buffer Control and CoDel", Queue.DROPTAIL_21, _WEB),
    (7, "Summary, DropTail without Buffer Control and CoDel", Queue.DROPTAIL_417, _SUMMARY),
    (8, "Summary, DropTail with Buffer Control and CoDel", Queue.DROPTAIL_21, _SUMMARY),
)

#: Tables 7 and 8 print three columns for each of these metrics: DropTail, CoDel, and their comparison. Each entry gives
#: the name of the comparison's metric, the heading of its column, and the heading that spans all three columns.
_COMPARED = {
    MOS: (MOS_DELTA, "delta", "VoIP MOS"),
    FTP: (FTP_RATIO, "C/D %", "FTP kB in 600 s"),
    MEDIAN_AGAIN: (MEDIAN_RATIO, "C/D %", "median page load s"),
}

#: A column of the paper's tables: its heading, and one entry for each row of Table 2. An entry is None if the paper has
#: no such cell.
Column = tuple[str, Sequence[Cell | None]]


def _columns(card: Scorecard, droptail: Queue, metrics: Sequence[str]) -> list[tuple[str, list[Column]]]:
    """Returns the columns of one of Tables 3 to 8 as groups, each of them a heading and its columns.

    In Tables 7 and 8, each group is about a metric; in the others, each group is about a queue.
    """
    cells = {(c.case, c.metric): c for c in card.cells}

    def column(head: str, queue: Queue, metric: str, against: str = "") -> Column:
        return head, [cells.get((Case(n, queue).key + against, metric)) for n in NUMBERS]

    if metrics is not _SUMMARY:
        return [(queue.value, [column(HEADS[m], queue, m) for m in metrics]) for queue in (droptail, Queue.CODEL)]
    found: list[tuple[str, list[Column]]] = []
    for metric in metrics:
        ratio, head, words = _COMPARED[metric]
        both = [column("DropTail", droptail, metric), column("CoDel", Queue.CODEL, metric)]
        found.append((words, [*both, column(head, Queue.CODEL, ratio, f" vs {droptail.limit}")]))
    return found


def paper_tables(card: Scorecard, *, terminal: bool = False) -> list[TextTable]:
    """Makes Tables 3 to 8, with our value to the right of each published value.

    A hint on our value gives its interval and the reason for the verdict. A terminal shows no hints. Therefore, with
    `terminal`, each column of the paper becomes a group of four columns under its own heading: the published value, our
    value, its interval, and a mark for the verdict.
    """
    made: list[TextTable] = []
    for n, title, droptail, metrics in _TABLES:
        parts = _columns(card, droptail, metrics)
        columns = [column for _, part in parts for column in part]
        if terminal:
            fields, heads = _four, ["published", "ours", "80 % of seeds", ""] * len(columns)
            groups = [(f"{heading}: {name}", 4) for heading, part in parts for name, _ in part]
        else:
            fields, heads = _pair, [head for name, _ in columns for head in (name, "ours")]
            groups = [(heading, 2 * len(part)) for heading, part in parts]
        rows = [
            row(f"{case:02d}", TextCell(Case(case, Queue.CODEL).load, "muted"), *(f for _, c in columns for f in fields(c[place], n)))
            for place, case in enumerate(NUMBERS)
        ]  # fmt: skip
        made.append(TextTable(f"Table {n}. {title}", ["case", "load", *heads], rows, groups=[("", 2), *groups], left=2))
    return [*made[:-1], replace(made[-1], note=DECLARED.text("terminal"))] if terminal else made


def _pair(cell: Cell | None, table: int) -> list[TextCell]:
    """Returns two fields for a cell of the paper: the published value and our value.

    If the paper published two runs of a CoDel configuration, the published value is from the run in table number
    `table`.
    """
    if cell is None:
        return [TextCell("-", "muted"), TextCell("-", "muted")]
    runs = cell.printed.split(" / ")
    printed = runs[1] if len(runs) > 1 and table in (4, 6) else runs[0]
    between = _interval(cell, " to ")
    hint = f"{between} over seeds; " if between else ""
    hint += f"published {cell.printed} in two runs; " if len(runs) > 1 else ""
    ours = judged_cell(cell, number(cell.ours, DIGITS[cell.metric]), hint + verdict_with_reason(cell))
    return [TextCell(spaced(printed)), ours]


def _four(cell: Cell | None, table: int) -> list[TextCell]:
    """Returns four fields for a cell of the paper: the published value, our value, its interval, and a verdict mark."""
    printed, ours = _pair(cell, table)
    if cell is None:
        return [printed, ours, TextCell(""), TextCell("")]
    return [printed, ours, TextCell(_interval(cell, ".."), "muted"), TextCell(MARKS[cell.verdict], ours.tone)]


def _interval(cell: Cell, to: str) -> str:
    digits = DIGITS[cell.metric]
    return "" if cell.low == cell.high else f"{number(cell.low, digits)}{to}{number(cell.high, digits)}"


def unknowns_table() -> TextTable:
    """Returns a table of the free parameters, left open by the paper and fixed by this study."""
    rows = [
        row(u.what, str(u.ours), u.why, ", ".join(map(str, u.others)), "D01, D02" if u.calibrated else "none")
        for u in UNKNOWNS
    ]
    columns = ["what the paper leaves open", "ours", "why", "tried", "calibration cases"]
    return TextTable("Free parameters, one set for all cases", columns, rows, left=4)


def readings_table(card: Scorecard, readings: Mapping[str, Scorecard]) -> TextTable:
    """Returns a table of how many values are within tolerance, in the study and with each reading that was run."""
    what = {name: reading.what for name, reading in READINGS.items()}
    rows = [
        row(
            name,
            what.get(name, ""),
            str(judged.seeds),
            *(f"{share.within} of {share.cells}" for share in judged.shares),
        )
        for name, judged in {"the study": card, **readings}.items()
    ]
    columns = ["reading", "what is read differently", "seeds", *(share.name for share in card.shares)]
    return TextTable("Readings, judged by the same rules", columns, rows, "Counted cells within tolerance.", left=2)


def experiment_tables(name: str, runs: Runs, paper: Runs) -> list[TextTable]:
    """Returns the tables of an experiment. `paper` contains the runs of the paper's own cases, for comparison."""
    title = f"{name}: {EXPERIMENTS[name]}"
    match name:
        case "parameters" | "page":
            return [tried_table(title, runs)]
        case "peak":
            return [peak_table(title, runs)]
        case "disciplines":
            return disciplines.tables(paper, runs)
        case _:
            return [medians_table(title, runs, runs, DECLARED.columns("cases"), note=DECLARED.text("cases"))]


def tried_table(title: str, runs: Runs) -> TextTable:
    """Returns a table of the calibration cases: the paper's values, then ours for each trial."""
    columns = DECLARED.columns("tried")
    rows: list[list[TextCell]] = []
    for case in dict.fromkeys(key.split(" ")[0] for key in runs):
        printed = [spaced(by_key()[case, m].printed) for m, _, _ in columns[:-1]]
        rows.append(row(case, "the paper", *printed, TextCell("", "muted")))
        for key in runs:
            which, _, label = key.partition(" ")
            if which == case:
                rows.append(row(case, label, *(number(median_of(runs, key, m), digits) for m, _, digits in columns)))
    heads = ["case", "with", *(head for _, head, _ in columns)]
    return TextTable(title, heads, rows, DECLARED.text("tried"), left=2)


def peak_table(title: str, runs: Runs) -> TextTable:
    """Returns a table of the transfer during the burst, with medians over seeds."""
    columns = DECLARED.columns("peak")
    rows = [
        row(
            key,
            *(number(median_of(runs, key, m), digits) for m, _, digits in columns),
            number(None if (share := median_of(runs, key, "plateau_share")) is None else 100.0 * share, 0),
        )
        for key in runs
    ]
    heads = ["case", *(head for _, head, _ in columns), "then % of the peak"]
    return TextTable(title, heads, rows, DECLARED.text("peak"), left=1)


# -------------------------------------------------------------------------------------------------------------- answer

LARGE, SMALL, CODEL = Queue.DROPTAIL_417, Queue.DROPTAIL_21, Queue.CODEL

#: For calls, pages and uploads, the smallest difference that a user notices.
NOTICED: Mapping[str, Tolerance] = {
    MOS: Tolerance(least=0.2),
    MEDIAN: Tolerance(share=0.10),
    FTP: Tolerance(share=0.05),
}


@dataclass(frozen=True, slots=True)
class Beside:
    """A comparison of CoDel with another queue in one measure.

    `better`, `worse` and `same` count the loads under which CoDel is better than the other queue, worse, or the same.
    `codel` and `other` are the medians of the two queues over the loads.
    """

    better: int
    worse: int
    same: int
    codel: float
    other: float

    @property
    def verdict(self) -> str:
        """The verdict for more than half of the loads; "it depends on the load" if no verdict has such a majority."""
        most = max(self.better, self.worse, self.same)
        if 2 * most <= len(LOADED):
            return "it depends on the load"
        return "no difference" if most == self.same else "CoDel is better" if most == self.better else "CoDel is worse"

    @property
    def loads(self) -> str:
        """The number of loads for each verdict, as text."""
        parts = [("better", self.better), ("the same", self.same), ("worse", self.worse)]
        return ", ".join(f"{words} in {n}" for words, n in parts if n) + f" of {len(LOADED)} loads"


def beside(runs: Runs, metric: str, other: Queue, *, high_is_good: bool) -> Beside | None:
    """Compares CoDel with the queue `other` in one metric. Returns None if a run is missing.

    If only a page load time of `other` is missing, it counts as infinite instead.

    `high_is_good` is True if a higher value of the metric is better, and False if a lower value is better.
    """
    pairs: list[tuple[float, float]] = []
    for n in LOADED:
        ours, theirs = (median_of(runs, Case(n, queue).key, metric) for queue in (CODEL, other))
        if theirs is None and metric == MEDIAN:
            theirs = math.inf  # no page load time behind the other queue: infinite
        if ours is None or theirs is None:
            return None
        pairs.append((ours, theirs))
    better = worse = 0
    for ours, theirs in pairs:
        slack = 0.0 if math.isinf(theirs) else NOTICED[metric].slack(theirs)
        gain = (ours - theirs) if high_is_good else (theirs - ours)
        better += gain > slack
        worse += gain < -slack
    codel, others = (spread(values).median for values in zip(*pairs, strict=True))
    return Beside(better, worse, len(pairs) - better - worse, codel, others)


def answer(runs: Runs, seeds: int) -> Answer:
    """Determines from the runs whether CoDel is better than a 50 ms buffer, and for whom."""
    pairs = [(metric, other) for metric in (MOS, MEDIAN, FTP) for other in (SMALL, LARGE)]
    return DECLARED.answer(
        seeds,
        draw(runs),
        {(metric, other): beside(runs, metric, other, high_is_good=metric != MEDIAN) for metric, other in pairs},
        _sentence,
        _points,
        loads=len(LOADED),
        pages=NOTICED[MEDIAN].words(),
        mos=NOTICED[MOS].words(),
        uploads=NOTICED[FTP].words(),
    )


def _sentence(of: Mapping[tuple[str, Queue], Beside]) -> str:
    groups: dict[str, list[str]] = {}
    for metric, who in ((MEDIAN, "web pages"), (MOS, "calls"), (FTP, "uploads")):
        groups.setdefault(of[metric, SMALL].verdict, []).append(who)
    better = groups.pop("CoDel is better", [])
    begin = f"Yes, for {' and '.join(better)}" if better else "No"
    rest = [f"{verdict} for {' and '.join(who)}" for verdict, who in groups.items()]
    large, pages = of[MOS, LARGE], of[MEDIAN, SMALL]
    return (
        f"{'; '.join([begin, *rest])}. The median page takes {number(pages.codel, 1)} s behind CoDel and "
        f"{'more than 600 s' if math.isinf(pages.other) else f'{number(pages.other, 1)} s'} behind 50 ms of buffer. Behind one second of buffer (417 packets) a call's MOS is "
        f"{number(large.other, 1)}; behind CoDel it is {number(large.codel, 1)}, {_uploads(of[FTP, LARGE])}."
    )


def _uploads(of: Beside) -> str:
    change = 100.0 * (of.codel / of.other - 1.0) if of.other else 0.0
    if abs(change) < 0.5:
        return "at the same upload rate"
    return f"with {number(abs(change), 1)} % {'more' if change > 0 else 'less'} of the uploads"


def _points(of: Mapping[tuple[str, Queue], Beside]) -> list[Point]:
    found: list[Point] = []
    for metric, who, unit, digits, scale in _WHO:
        small, large = of[metric, SMALL], of[metric, LARGE]
        codel, other, most = (
            f"{number(v * scale, digits)} {unit}".strip() for v in (small.codel, small.other, large.other)
        )
        tone: Tone = "good" if small.better > len(LOADED) / 2 else "bad" if small.worse > len(LOADED) / 2 else "plain"
        text = f"{codel} behind CoDel, {other} behind 50 ms, {most} behind one second ({small.loads})."
        found.append(Point(who, f"{small.verdict}:", text, tone))
    return found


#: The metrics in the answer, each with its heading, the unit and the number of digits with which it is printed, and the
#: factor that converts a value to this unit.
_WHO = ((MEDIAN, "For pages", "s", 1, 1.0), (MOS, "For calls", "MOS", 2, 1.0), (FTP, "For uploads", "MB", 0, 1e-3))

_LOADS = {Bulk.NONE: "none", Bulk.SINGLE: "1", Bulk.MULTIPLE: "5", Bulk.MULTIPLE_AND_UDP: "UDP", Bulk.BURSTY: "burst"}


def draw(runs: Runs) -> Drawn:
    """Plots call MOS and page load times under each load: our values with their intervals, and the paper's values."""
    ticks: list[tuple[float, str]] = []
    for n in NUMBERS:
        load = Case(n, CODEL)
        ticks.append((float(n), _LOADS[load.bulk] if load.bulk is Bulk.NONE else f"{_LOADS[load.bulk]}\n{load.rtt_ms}"))
    return DECLARED.drawn("answer", _lines(runs, MOS), _lines(runs, MEDIAN), x_ticks=ticks)


def _lines(runs: Runs, metric: str) -> list[Series]:
    lines: list[Series] = []
    for place, queue in enumerate((LARGE, SMALL, CODEL)):
        keys = [Case(n, queue).key for n in NUMBERS]
        x = np.array(NUMBERS, dtype=float) + 0.2 * (place - 1)
        lines.append(points(NAMES[queue], x, of_cases(runs, keys, metric), COLOURS[queue]))
        cells = [by_key().get((key, metric)) for key in keys]
        printed = [c.values[0] if c and c.values and math.isfinite(c.values[0]) else math.nan for c in cells]
        lines.append(
            Series(f"{_SHORT[queue]}, the paper", x, printed, "points", COLOURS[queue], hollow=True, quiet=True)
        )
    return lines


_SHORT = {LARGE: "417 packets", SMALL: "21 packets", CODEL: "CoDel"}
