"""The nine cases with every discipline: the paper's three and those that it names as future work, in the same tables.

The paper publishes nothing for these runs but its own three queues, whose rows are those of Tables 3 to 8 with as many
seeds as the others here. A field is the median over seeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from bloatlab.studies.cablelabs2012.cases import NUMBERS, Queue, case
from bloatlab.studies.cablelabs2012.measure import Measures
from bloatlab.studies.cablelabs2012.parameters import DISCIPLINES
from bloatlab.studies.cablelabs2012.published import FTP, MEDIAN, MOS, PAGES, PLR
from bloatlab.tables import TextCell, TextTable, number, spread

#: Measures of the seeds of every run, by key.
Runs = Mapping[str, Sequence[Measures]]

#: A page load that never ends counts as the whole run in a mean over cases.
NEVER_S = 600.0


@dataclass(frozen=True, slots=True)
class Column:
    """One table: a measure, its words, digits and scale, and which end of it is the better one."""

    measure: str
    title: str
    note: str
    digits: int
    better: Literal["more", "less"]
    scale: float = 1.0


COLUMNS: tuple[Column, ...] = (
    Column(MOS, "Voice, MOS as the paper counts it", "E-model of lost and late packets, without delay.", 2, "more"),
    Column("mos_with_delay", "Voice, MOS with its delay", "E-model of loss and one-way delay together.", 2, "more"),
    Column(PLR, "Voice, lost and late (%)", "Late is more than 60 ms above the least delay of the call.", 2, "less"),
    Column("voip_delay_p99_ms", "Voice, 99th percentile of the delay (ms)", "One way.", 1, "less"),
    Column(MEDIAN, "Web, median page load (s)", "From the GET to the last object.", 2, "less"),
    Column(PAGES, "Web, pages in 600 s", "Complete ones.", 0, "more"),
    Column(FTP, "Files, MB in 600 s", "Upstream on the wire, MB = 1000 kB.", 1, "more", 1e-3),
    Column("delay_typical_ms", "Queue, typical delay (ms)", "Median over time of the mean of 0.1 s.", 1, "less"),
)


def rows(paper: Runs, runs: Runs) -> dict[str, list[Sequence[Measures]]]:
    """The seeds of the nine cases, by discipline: the paper's three first. As many seeds of each as `runs` has."""
    seeds = min((len(s) for s in runs.values()), default=0)
    found: dict[str, list[Sequence[Measures]]] = {}
    for queue in Queue:
        found[queue.value] = [paper[case(n, queue).key][:seeds] for n in NUMBERS]
    for discipline in DISCIPLINES:
        found[f"{discipline.label}"] = [runs[f"{n:02d} {discipline.label}"] for n in NUMBERS]
    return found


def tables(paper: Runs, runs: Runs) -> list[TextTable]:
    """All cases together, then a table of the nine cases for each measure, then the parameters."""
    by_name = rows(paper, runs)
    return [_together(by_name), *(_cases(column, by_name) for column in COLUMNS), _parameters()]


def _cases(column: Column, by_name: Mapping[str, Sequence[Sequence[Measures]]]) -> TextTable:
    values = {name: [_median(seeds, column) for seeds in cases] for name, cases in by_name.items()}
    heads = [f"{n:02d}" if n == 1 else f"{n:02d}, {case(n, Queue.CODEL).rtt_ms} ms" for n in NUMBERS]
    body = _marked(values, [column] * len(NUMBERS))
    return TextTable(column.title, ["discipline", *heads], body, column.note, _LOADS)


#: The nine cases by their bulk traffic, over the columns; a column's own head is the case and its round trip.
_LOADS = (("", 1), ("no bulk", 1), ("1 TCP", 2), ("5 TCP", 2), ("5 TCP and UDP", 2), ("1 TCP in bursts", 2))


def _together(by_name: Mapping[str, Sequence[Sequence[Measures]]]) -> TextTable:
    """One line per discipline: what an operator asks first."""
    kept = {c.measure: c for c in COLUMNS}
    asked: list[tuple[Column, str, Callable[[Sequence[float]], float]]] = [
        (kept[MOS], "MOS, mean", _mean),
        (kept["mos_with_delay"], "with delay", _mean),
        (kept["voip_delay_p99_ms"], "worst p99 ms", max),
        (kept[MEDIAN], "page s, mean", _mean),
        (kept[PAGES], "pages", sum),
        (kept[FTP], "files MB", sum),
        (kept["delay_typical_ms"], "worst delay ms", max),
    ]
    values = {
        name: [over([_finite(_median(seeds, column)) for seeds in cases]) for column, _, over in asked]
        for name, cases in by_name.items()
    }
    note = (
        f"Medians over seeds, then over the nine cases: a mean, a sum, or the worst. A page that never loads counts as "
        f"{NEVER_S:.0f} s. Green is the best of a column, and what prints the same."
    )
    columns = ["discipline", *(words for _, words, _ in asked)]
    return TextTable("All nine cases", columns, _marked(values, [column for column, _, _ in asked]), note)


def _marked(values: Mapping[str, Sequence[float]], columns: Sequence[Column]) -> list[list[TextCell]]:
    """Rows of printed values, the best of each column marked; nothing is, where all print the same."""
    printed = {name: [number(v, c.digits) for v, c in zip(row, columns, strict=True)] for name, row in values.items()}
    best: list[str | None] = []
    for place, column in enumerate(columns):
        ranked = sorted(values, key=lambda name: values[name][place] * (1 if column.better == "less" else -1))
        texts = {row[place] for row in printed.values()}
        best.append(printed[ranked[0]][place] if len(texts) > 1 else None)
    return [
        [TextCell(name), *(_best(text) if text == b else TextCell(text) for text, b in zip(row, best, strict=True))]
        for name, row in printed.items()
    ]


def _best(text: str) -> TextCell:
    return TextCell(text, "good", word="best")


def _median(seeds: Sequence[Measures], column: Column) -> float:
    values = [s[column.measure] for s in seeds if not math.isnan(s[column.measure])]
    return spread(values).median * column.scale if values else math.nan


def _finite(value: float) -> float:
    return NEVER_S if math.isinf(value) else value


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _parameters() -> TextTable:
    body = [[TextCell(d.label), TextCell(_spec(d.queue)), TextCell(d.why)] for d in DISCIPLINES]
    return TextTable("Parameters, by argument", ["discipline", "queue", "why"], body, left=3)


def _spec(queue: Mapping[str, Mapping[str, object]]) -> str:
    return "; ".join(" ".join([name, *(f"{k} {v}" for k, v in values.items())]) for name, values in queue.items())
