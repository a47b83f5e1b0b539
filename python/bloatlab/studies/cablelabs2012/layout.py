"""Tables 3 to 8 as the paper sets them, each published value beside ours; for the terminal and for the page alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bloatlab.studies.cablelabs2012 import disciplines
from bloatlab.studies.cablelabs2012.cases import NUMBERS, Case, Queue, case
from bloatlab.studies.cablelabs2012.experiments import READINGS
from bloatlab.studies.cablelabs2012.measure import Measures
from bloatlab.studies.cablelabs2012.parameters import UNKNOWNS, Free
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
    by_key,
)
from bloatlab.studies.layout import MARKS, judged_cell, medians_table, spaced, verdict_with_reason
from bloatlab.studies.scorecard import Cell, Scorecard
from bloatlab.tables import TextCell, TextTable, number, spread

DIGITS = {
    LOST: 2, LATE: 2, PLR: 2, MEDIAN: 3, MAD: 3, PAGES: 0, MOS: 2, FTP: 0,
    MOS_DELTA: 1, FTP_RATIO: 0, MEDIAN_AGAIN: 1, MEDIAN_RATIO: 0,
}  # fmt: skip

_SHORT = {LOST: "lost %", LATE: "late %", PLR: "plr %", MEDIAN: "median s", MAD: "MAD s", PAGES: "pages"}

Cells = Mapping[tuple[str, str], Cell]


def paper_tables(card: Scorecard) -> list[TextTable]:
    """Tables 3 to 8. Each field reads "published | ours"; the interval and the reason are its hint."""
    cells = {(c.case, c.metric): c for c in card.cells}
    voice, web = (LOST, LATE, PLR), (MEDIAN, MAD, PAGES)
    return [
        _two_queues(3, "VoIP, DropTail without Buffer Control and CoDel", Queue.DROPTAIL_417, voice, cells),
        _two_queues(4, "VoIP, DropTail with Buffer Control and CoDel", Queue.DROPTAIL_21, voice, cells),
        _two_queues(5, "Web, DropTail without Buffer Control and CoDel", Queue.DROPTAIL_417, web, cells),
        _two_queues(6, "Web, DropTail with Buffer Control and CoDel", Queue.DROPTAIL_21, web, cells),
        _summary(7, "Summary, DropTail without Buffer Control and CoDel", Queue.DROPTAIL_417, cells),
        _summary(8, "Summary, DropTail with Buffer Control and CoDel", Queue.DROPTAIL_21, cells),
    ]


def _two_queues(n: int, title: str, queue: Queue, metrics: Sequence[str], cells: Cells) -> TextTable:
    rows = [
        [
            *_head(row),
            *_fields(case(row, queue), metrics, cells, n),
            *_fields(case(row, Queue.CODEL), metrics, cells, n),
        ]
        for row in NUMBERS
    ]
    names = [name for m in metrics for name in (_SHORT[m], "ours")]
    width = len(names)
    groups = [("", 2), (queue.value, width), (Queue.CODEL.value, width)]
    return TextTable(f"Table {n}. {title}", ["case", "load", *names, *names], rows, groups=groups, left=2)


def _summary(n: int, title: str, queue: Queue, cells: Cells) -> TextTable:
    rows: list[list[TextCell]] = []
    for row in NUMBERS:
        droptail, codel = case(row, queue), case(row, Queue.CODEL)
        against = f"{codel.name} vs {queue.limit}"
        fields = _head(row)
        for metric, ratio in ((MOS, MOS_DELTA), (FTP, FTP_RATIO), (MEDIAN_AGAIN, MEDIAN_RATIO)):
            for key in (droptail.key, codel.key):
                fields += _pair(cells.get((key, metric)), n)
            fields += _pair(cells.get((against, ratio)), n)
        rows.append(fields)
    names = ["DropTail", "ours", "CoDel", "ours"]
    columns = ["case", "load", *names, "delta", "ours", *names, "C/D %", "ours", *names, "C/D %", "ours"]
    groups = [("", 2), ("VoIP MOS", 6), ("FTP kB in 600 s", 6), ("median page load s", 6)]
    return TextTable(f"Table {n}. {title}", columns, rows, groups=groups, left=2)


def _head(row: int) -> list[TextCell]:
    return [TextCell(f"{row:02d}"), TextCell(case(row, Queue.CODEL).load, "muted")]


def _fields(which: Case, metrics: Sequence[str], cells: Cells, table: int) -> list[TextCell]:
    return [field for metric in metrics for field in _pair(cells.get((which.key, metric)), table)]


def _pair(cell: Cell | None, table: int) -> list[TextCell]:
    """Published and ours of one cell in one table: the run of CoDel that this table prints."""
    if cell is None:
        return [TextCell("-", "muted"), TextCell("-", "muted")]
    runs = cell.printed.split(" / ")
    printed = runs[1] if len(runs) > 1 and table in (4, 6) else runs[0]
    digits = DIGITS[cell.metric]
    ours = number(cell.ours, digits)
    low, high = number(cell.low, digits), number(cell.high, digits)
    seeds = "" if cell.low == cell.high else f"{low} to {high} over seeds; "
    both = f"published {cell.printed} in two runs; " if len(runs) > 1 else ""
    return [
        TextCell(spaced(printed)),
        judged_cell(cell, ours, f"{seeds}{both}{verdict_with_reason(cell)}"),
    ]


def blocks(card: Scorecard) -> list[TextTable]:
    """Tables 3 to 8 in halves that fit a terminal: per cell published, ours, its interval, and a mark."""
    cells = {(c.case, c.metric): c for c in card.cells}
    made: list[TextTable] = []
    for n, droptail, metrics in _TABLES:
        for queue in (droptail, Queue.CODEL):
            keys = [(f"{row:02d}", case(row, queue).key) for row in NUMBERS]
            made.append(_block(f"Table {n}. {queue.value}", keys, metrics, cells, n))
        if n > 6:
            keys = [(f"{row:02d}", f"{case(row, Queue.CODEL).name} vs {droptail.limit}") for row in NUMBERS]
            made.append(_block(f"Table {n}. CoDel against {droptail.value}", keys, _RATIOS, cells, n))
    return [
        *made[:-1],
        replace(made[-1], note="✓ within, ✗ outside, c calibration (not counted); the others are derived."),
    ]


_VOICE, _WEB, _SUMMARY = (LOST, LATE, PLR), (MEDIAN, MAD, PAGES), (MOS, FTP, MEDIAN_AGAIN)
_RATIOS = (MOS_DELTA, FTP_RATIO, MEDIAN_RATIO)
_TABLES = (
    (3, Queue.DROPTAIL_417, _VOICE),
    (4, Queue.DROPTAIL_21, _VOICE),
    (5, Queue.DROPTAIL_417, _WEB),
    (6, Queue.DROPTAIL_21, _WEB),
    (7, Queue.DROPTAIL_417, _SUMMARY),
    (8, Queue.DROPTAIL_21, _SUMMARY),
)


def _block(title: str, keys: Sequence[tuple[str, str]], metrics: Sequence[str], cells: Cells, table: int) -> TextTable:
    rows = [
        [TextCell(label), *(field for m in metrics for field in _four(cells.get((key, m)), table))]
        for label, key in keys
    ]
    names = [name for _ in metrics for name in ("published", "ours", "80 % of seeds", "")]
    groups = [("", 1), *((_WORDS[m], 4) for m in metrics)]
    return TextTable(title, ["case", *names], rows, groups=groups)


_WORDS = {
    LOST: "lost %", LATE: "late %", PLR: "total plr %", MEDIAN: "median s", MAD: "MAD s", PAGES: "pages", MOS: "MOS",
    FTP: "FTP kB", MEDIAN_AGAIN: "median s", MOS_DELTA: "MOS C-D", FTP_RATIO: "FTP C/D %", MEDIAN_RATIO: "median C/D %",
}  # fmt: skip


def _four(cell: Cell | None, table: int) -> list[TextCell]:
    """Published, ours, interval and mark of one cell."""
    printed, ours = _pair(cell, table)
    if cell is None:
        return [printed, ours, TextCell(""), TextCell("")]
    digits = DIGITS[cell.metric]
    between = "" if cell.low == cell.high else f"{number(cell.low, digits)}..{number(cell.high, digits)}"
    return [printed, ours, TextCell(between, "muted"), TextCell(MARKS[cell.verdict], ours.tone)]


def unknowns_table() -> TextTable:
    """What the paper does not say and what we took."""
    free = Free()
    rows = [
        [
            TextCell(u.what),
            TextCell(str(getattr(free, u.field))),
            TextCell(u.why),
            TextCell(", ".join(map(str, u.others))),
            TextCell("D01, D02" if u.calibrated else "none"),
        ]
        for u in UNKNOWNS
    ]
    columns = ["what the paper leaves open", "ours", "why", "tried", "cases that know of it"]
    return TextTable("Free parameters, one set for all cases", columns, rows, left=4)


def readings_table(card: Scorecard, readings: Mapping[str, Scorecard]) -> TextTable:
    """The shares of the study and of each reading that was run."""
    given = {"as the study takes it": card, **readings}
    rows = [
        [
            TextCell(name),
            TextCell(READINGS[name].what if name in READINGS else ""),
            TextCell(str(judged.seeds)),
            *(TextCell(f"{share.within} of {share.cells}") for share in judged.shares),
        ]
        for name, judged in given.items()
    ]
    columns = ["reading", "what is read otherwise", "seeds", *(share.name for share in card.shares)]
    return TextTable("Readings, judged by the same rules", columns, rows, "Counted cells within tolerance.", left=2)


def experiment_tables(
    name: str, what: str, runs: Mapping[str, Sequence[Measures]], paper: Mapping[str, Sequence[Measures]]
) -> list[TextTable]:
    """An experiment as tables; `paper` has the runs of the paper's own cases, for those that stand beside them."""
    if name in ("parameters", "page"):
        return [tried_table(name, what, runs)]
    if name == "peak":
        return [peak_table(name, what, runs)]
    return disciplines.tables(paper, runs) if name == "disciplines" else [experiment_table(name, what, runs)]


def tried_table(name: str, what: str, runs: Mapping[str, Sequence[Measures]]) -> TextTable:
    """What the calibration cases give with each value that was tried, under what the paper has."""
    columns = (LOST, MEDIAN, MAD, PAGES, FTP)

    def row(key: str, values: Sequence[str]) -> list[TextCell]:
        case_key, _, label = key.partition(" ")
        return [TextCell(case_key), TextCell(label), *(TextCell(v) for v in values)]

    rows: list[list[TextCell]] = []
    for key in dict.fromkeys(k.split(" ")[0] for k in runs):
        cells = [by_key()[key, m] for m in columns]
        rows.append([*row(f"{key} the paper", [spaced(c.printed) for c in cells]), TextCell("", "muted")])
        for full, seeds in runs.items():
            if full.split(" ")[0] == key:
                values = [number(spread([s[m] for s in seeds]).median, DIGITS[m]) for m in columns]
                rows.append([*row(full, values), TextCell(number(spread([s["page_up_kb"] for s in seeds]).median, 1))])
    names = ["case", "with", "lost %", "median s", "MAD s", "pages", "FTP kB", "kB up per page"]
    note = (
        "Medians over seeds. kB up per page: what arrived upstream of the pages; the paper's tables come to 138 in D02."
    )
    return TextTable(f"{name}: {what}", names, rows, note, left=2)


def peak_table(name: str, what: str, runs: Mapping[str, Sequence[Measures]]) -> TextTable:
    """How a transfer goes through the burst: medians over seeds."""
    columns = {"ramp_s": "at the peak after s", "full_rate_s": "leaves it after s", "burst_s": "burst used after s"}
    rows = [
        [
            TextCell(key),
            *(TextCell(number(spread([s[m] for s in seeds]).median, 1)) for m in columns),
            TextCell(number(100.0 * spread([s["plateau_share"] for s in seeds]).median, 0)),
        ]
        for key, seeds in runs.items()
    ]
    note = "The paper: leaves 20 Mbit/s after 2.5 s and stays at 75 % with 417 packets, and does not with 130 and 170."
    return TextTable(f"{name}: {what}", ["case", *columns.values(), "then % of the peak"], rows, note, left=1)


def experiment_table(name: str, what: str, runs: Mapping[str, Sequence[Measures]]) -> TextTable:
    """Medians over seeds of an experiment without published values."""
    columns = [(m, _HEADS[m], DIGITS[m]) for m in (LOST, LATE, MOS, MEDIAN, MAD, PAGES, FTP)]
    columns.append(("voip_delay_p99_ms", "voice p99 ms", 1))
    note = "Medians over seeds. The paper publishes no values for these runs."
    return medians_table(f"{name}: {what}", runs, [((key,), key) for key in runs], columns, note=note)


_HEADS = _SHORT | {MOS: "MOS", FTP: "FTP kB"}
