"""Tables 3 to 8 as the paper sets them, each published value beside ours; for the terminal and for the page alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bloatlab.studies.cablelabs2012 import disciplines
from bloatlab.studies.cablelabs2012.experiments import EXPERIMENTS, READINGS
from bloatlab.studies.cablelabs2012.parameters import UNKNOWNS
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
from bloatlab.studies.claims import Measures, Runs
from bloatlab.studies.scorecard import Cell, Scorecard
from bloatlab.studies.tables import MARKS, judged_cell, medians_table, spaced, verdict_with_reason
from bloatlab.tables import TextCell, TextTable, number, row, spread
from bloatlab.workloads.cable_home import Setup
from bloatlab.workloads.cable_loads import NUMBERS, Case, Queue

DIGITS = {
    LOST: 2, LATE: 2, PLR: 2, MEDIAN: 3, MAD: 3, PAGES: 0, MOS: 2, FTP: 0,
    MOS_DELTA: 1, FTP_RATIO: 0, MEDIAN_AGAIN: 1, MEDIAN_RATIO: 0,
}  # fmt: skip

_HEADS = {
    LOST: "lost %", LATE: "late %", PLR: "plr %", MEDIAN: "median s", MAD: "MAD s", PAGES: "pages", MOS: "MOS",
    FTP: "FTP kB", MEDIAN_AGAIN: "median s", MOS_DELTA: "MOS C-D", FTP_RATIO: "FTP C/D %", MEDIAN_RATIO: "median C/D %",
}  # fmt: skip

#: Tables 3 to 8: number, what it is about, the DropTail queue beside CoDel, and the metrics of each queue.
_VOICE, _WEB, _SUMMARY = (LOST, LATE, PLR), (MEDIAN, MAD, PAGES), (MOS, FTP, MEDIAN_AGAIN)
_TABLES = (
    (3, "VoIP, DropTail without Buffer Control and CoDel", Queue.DROPTAIL_417, _VOICE),
    (4, "VoIP, DropTail with Buffer Control and CoDel", Queue.DROPTAIL_21, _VOICE),
    (5, "Web, DropTail without Buffer Control and CoDel", Queue.DROPTAIL_417, _WEB),
    (6, "Web, DropTail with Buffer Control and CoDel", Queue.DROPTAIL_21, _WEB),
    (7, "Summary, DropTail without Buffer Control and CoDel", Queue.DROPTAIL_417, _SUMMARY),
    (8, "Summary, DropTail with Buffer Control and CoDel", Queue.DROPTAIL_21, _SUMMARY),
)

#: The comparison of CoDel with DropTail that Tables 7 and 8 have for each metric, its head, and the words for all three columns.
_COMPARED = {
    MOS: (MOS_DELTA, "delta", "VoIP MOS"),
    FTP: (FTP_RATIO, "C/D %", "FTP kB in 600 s"),
    MEDIAN_AGAIN: (MEDIAN_RATIO, "C/D %", "median page load s"),
}

#: Fields of the paper: for each row of Table 2 the cell, or None where the paper has none.
Column = Sequence[Cell | None]


def _columns(
    cells: Mapping[tuple[str, str], Cell], metrics: Sequence[str], queue: Queue, against: str = ""
) -> list[Column]:
    """The cells of each metric, row by row, of one queue; or of CoDel `against` another queue."""
    keys = [Case(n, queue).key + against for n in NUMBERS]
    return [[cells.get((key, metric)) for key in keys] for metric in metrics]


def _sections(
    card: Scorecard, droptail: Queue, metrics: Sequence[str]
) -> Mapping[str, tuple[Sequence[str], list[Column]]]:
    """What one of Tables 3 to 8 has: by a heading, the metrics and their columns."""
    cells = {(c.case, c.metric): c for c in card.cells}
    found = {queue.value: (metrics, _columns(cells, metrics, queue)) for queue in (droptail, Queue.CODEL)}
    if metrics is _SUMMARY:
        ratios = [_COMPARED[metric][0] for metric in metrics]
        columns = _columns(cells, ratios, Queue.CODEL, f" vs {droptail.limit}")
        found[f"CoDel against {droptail.value}"] = (ratios, columns)
    return found


def paper_tables(card: Scorecard) -> list[TextTable]:
    """Tables 3 to 8. Each field reads "published | ours"; the interval and the reason are its hint."""
    made: list[TextTable] = []
    for n, title, droptail, metrics in _TABLES:
        sections = _sections(card, droptail, metrics)
        columns = [column for _, columns in sections.values() for column in columns]
        if metrics is _SUMMARY:  # by metric, where the others are by queue
            columns = [columns[place + step] for place in range(3) for step in (0, 3, 6)]
            names = [name for m in metrics for name in ("DropTail", "CoDel", _COMPARED[m][1])]
            groups = [(_COMPARED[m][2], 6) for m in metrics]
        else:
            names = [_HEADS[m] for m in metrics] * 2
            groups = [(heading, 6) for heading in sections]
        rows = [
            [
                TextCell(f"{number:02d}"),
                TextCell(Case(number, Queue.CODEL).load, "muted"),
                *(field for column in columns for field in _pair(column[place], n)),
            ]
            for place, number in enumerate(NUMBERS)
        ]
        heads = ["case", "load", *(head for name in names for head in (name, "ours"))]
        made.append(TextTable(f"Table {n}. {title}", heads, rows, groups=[("", 2), *groups], left=2))
    return made


def blocks(card: Scorecard) -> list[TextTable]:
    """Tables 3 to 8 in halves that fit a terminal: per cell published, ours, its interval, and a mark."""
    made = [
        _block(f"Table {n}. {heading}", metrics, columns, n)
        for n, _, droptail, of in _TABLES
        for heading, (metrics, columns) in _sections(card, droptail, of).items()
    ]
    note = "✓ within, ✗ outside, c calibration (not counted); the others are derived."
    return [*made[:-1], replace(made[-1], note=note)]


def _block(title: str, metrics: Sequence[str], columns: Sequence[Column], table: int) -> TextTable:
    rows = [
        [TextCell(f"{number:02d}"), *(field for column in columns for field in _four(column[place], table))]
        for place, number in enumerate(NUMBERS)
    ]
    names = [name for _ in metrics for name in ("published", "ours", "80 % of seeds", "")]
    groups = [("", 1), *(("total plr %" if m == PLR else _HEADS[m], 4) for m in metrics)]
    return TextTable(title, ["case", *names], rows, groups=groups)


def _pair(cell: Cell | None, table: int) -> list[TextCell]:
    """Published and ours of one cell in one table: the run of CoDel that this table prints."""
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
    """Published, ours, interval and mark of one cell."""
    printed, ours = _pair(cell, table)
    if cell is None:
        return [printed, ours, TextCell(""), TextCell("")]
    return [printed, ours, TextCell(_interval(cell, ".."), "muted"), TextCell(MARKS[cell.verdict], ours.tone)]


def _interval(cell: Cell, to: str) -> str:
    digits = DIGITS[cell.metric]
    return "" if cell.low == cell.high else f"{number(cell.low, digits)}{to}{number(cell.high, digits)}"


def unknowns_table() -> TextTable:
    """What the paper does not say and what we took."""
    own = Setup()
    rows = [
        row(
            u.what,
            str(getattr(own, u.field)),
            u.why,
            ", ".join(map(str, u.others)),
            "D01, D02" if u.calibrated else "none",
        )
        for u in UNKNOWNS
    ]
    columns = ["what the paper leaves open", "ours", "why", "tried", "cases that know of it"]
    return TextTable("Free parameters, one set for all cases", columns, rows, left=4)


def readings_table(card: Scorecard, readings: Mapping[str, Scorecard]) -> TextTable:
    """The shares of the study and of each reading that was run."""
    given = {"as the study takes it": card, **readings}
    rows = [
        row(
            name,
            READINGS[name].what if name in READINGS else "",
            str(judged.seeds),
            *(f"{share.within} of {share.cells}" for share in judged.shares),
        )
        for name, judged in given.items()
    ]
    columns = ["reading", "what is read otherwise", "seeds", *(share.name for share in card.shares)]
    return TextTable("Readings, judged by the same rules", columns, rows, "Counted cells within tolerance.", left=2)


def experiment_tables(name: str, runs: Runs, paper: Runs) -> list[TextTable]:
    """An experiment as tables; `paper` has the runs of the paper's own cases, for those that stand beside them."""
    title = f"{name}: {EXPERIMENTS[name]}"
    match name:
        case "parameters" | "page":
            return [tried_table(title, runs)]
        case "peak":
            return [peak_table(title, runs)]
        case "disciplines":
            return disciplines.tables(paper, runs)
        case _:
            columns = [(m, _HEADS[m], DIGITS[m]) for m in (LOST, LATE, MOS, MEDIAN, MAD, PAGES, FTP)]
            columns.append(("voip_delay_p99_ms", "voice p99 ms", 1))
            note = "Medians over seeds. The paper publishes no values for these runs."
            return [medians_table(title, runs, [((key,), key) for key in runs], columns, note=note)]


def tried_table(title: str, runs: Runs) -> TextTable:
    """What the calibration cases give with each value that was tried, under what the paper has."""
    columns = {m: _HEADS[m] for m in (LOST, MEDIAN, MAD, PAGES, FTP)}
    digits = {**DIGITS, "page_up_kb": 1}

    rows: list[list[TextCell]] = []
    for case in dict.fromkeys(key.split(" ")[0] for key in runs):
        printed = [spaced(by_key()[case, m].printed) for m in columns]
        rows.append(row(case, "the paper", *printed, TextCell("", "muted")))
        for key, seeds in runs.items():
            which, _, label = key.partition(" ")
            if which == case:
                ours = [number(median(seeds, m), digits[m]) for m in (*columns, "page_up_kb")]
                rows.append(row(case, label, *ours))
    heads = ["case", "with", *columns.values(), "kB up per page"]
    note = (
        "Medians over seeds. kB up per page: what arrived upstream of the pages; the paper's tables come to 138 in D02."
    )
    return TextTable(title, heads, rows, note, left=2)


def peak_table(title: str, runs: Runs) -> TextTable:
    """How a transfer goes through the burst: medians over seeds."""
    columns = {"ramp_s": "at the peak after s", "full_rate_s": "leaves it after s", "burst_s": "burst used after s"}
    rows = [
        row(
            key,
            *(number(median(seeds, m), 1) for m in columns),
            number(100.0 * median(seeds, "plateau_share"), 0),
        )
        for key, seeds in runs.items()
    ]
    note = "The paper: leaves 20 Mbit/s after 2.5 s and stays at 75 % with 417 packets, and does not with 130 and 170."
    return TextTable(title, ["case", *columns.values(), "then % of the peak"], rows, note, left=1)


def median(seeds: Sequence[Measures], measure: str) -> float:
    """The median of a measure that every seed has."""
    return spread([seed[measure] for seed in seeds]).median
