"""The nine cases with every discipline: the paper's three, and the disciplines that it names as future work.

The paper publishes values only for its own three queues. The rows for these queues are from the runs for Tables 3 to 8,
with the same number of seeds as the other disciplines. Each number is a median over seeds.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bloatlab.studies.cablelabs2012.published import DECLARED
from bloatlab.studies.claims import Measures, Runs
from bloatlab.studies.published import toml
from bloatlab.tables import TextCell, TextTable, number, row, spread
from bloatlab.workloads.cable_loads import NUMBERS, Case, Queue

#: In the table that combines all cases, a page load that never ends counts as the length of the run, in s.
NEVER_S = 600.0


@dataclass(frozen=True, slots=True)
class Discipline:
    """A queue discipline that is not one of the paper's three.

    `queue` is the value of `queue` in the scenario, and `why` is the reason for the discipline's parameters.
    """

    label: str
    queue: Mapping[str, Mapping[str, Any]]
    why: str


DISCIPLINES = tuple(Discipline(**table) for table in toml("cablelabs2012", "disciplines.toml")["disciplines"])


@dataclass(frozen=True, slots=True)
class Column:
    """A measure listed in `disciplines.toml`. Each measure has its own table, with one column per case.

    If `head` is not empty, the measure also has a column, with this heading, in the table that combines all cases.
    """

    measure: str
    title: str
    note: str
    digits: int
    better: str
    head: str = ""
    over: str = ""
    scale: float = 1.0


COLUMNS = tuple(Column(**table) for table in toml("cablelabs2012", "disciplines.toml")["columns"])

#: The functions that `disciplines.toml` can name in `over` and `better`.
_OVER: Mapping[str, Callable[[Sequence[float]], float]] = {"max": max, "mean": statistics.fmean, "min": min, "sum": sum}

#: Headings for the columns of a table, each with the number of columns that it spans. They name the bulk traffic of the
#: cases. The first is empty, because its column contains the disciplines. Below, each case has its own heading: its
#: number and, except for case 1, its round trip.
_LOADS = (("", 1), ("no bulk", 1), ("1 TCP", 2), ("5 TCP", 2), ("5 TCP and UDP", 2), ("1 TCP in bursts", 2))


def tables(paper: Runs, runs: Runs) -> list[TextTable]:
    """Returns a table that combines all cases, a table of the nine cases for each measure, and a parameter table."""
    seeds = min((len(s) for s in runs.values()), default=0)
    by_name = {q.value: [paper[Case(n, q).key][:seeds] for n in NUMBERS] for q in Queue}
    by_name |= {d.label: [runs[f"{n:02d} {d.label}"] for n in NUMBERS] for d in DISCIPLINES}
    medians = {c: {name: [_median(s, c) for s in cases] for name, cases in by_name.items()} for c in COLUMNS}
    body = [row(d.label, _spec(d.queue), d.why) for d in DISCIPLINES]
    return [
        _together(medians),
        *(_cases(column, values) for column, values in medians.items()),
        TextTable("Parameters, by argument", ["discipline", "queue", "why"], body, left=3),
    ]


def _cases(column: Column, values: Mapping[str, Sequence[float]]) -> TextTable:
    heads = [f"{n:02d}" if n == 1 else f"{n:02d}, {Case(n, Queue.CODEL).rtt_ms} ms" for n in NUMBERS]
    body = _marked(values, [column] * len(NUMBERS))
    return TextTable(column.title, ["discipline", *heads], body, column.note, _LOADS)


def _together(medians: Mapping[Column, Mapping[str, Sequence[float]]]) -> TextTable:
    """Returns the table that combines all cases, with one row per discipline and one column per measure.

    Each measure's `over` names the function that combines the values of the nine cases into one value.
    """
    columns = [column for column in COLUMNS if column.head]
    values = {
        name: [_OVER[c.over]([NEVER_S if math.isinf(v) else v for v in medians[c][name]]) for c in columns]
        for name in medians[COLUMNS[0]]
    }
    note = DECLARED.text("together", NEVER_S=NEVER_S)
    return TextTable("All nine cases", ["discipline", *(c.head for c in columns)], _marked(values, columns), note)


def _marked(values: Mapping[str, Sequence[float]], columns: Sequence[Column]) -> list[list[TextCell]]:
    """Formats the values as rows, and marks the best value in each column unless all of them print the same text."""
    printed = {name: [number(v, c.digits) for v, c in zip(of, columns, strict=True)] for name, of in values.items()}
    best: list[str | None] = []
    for place, column in enumerate(columns):
        several = len({texts[place] for texts in printed.values()}) > 1
        best.append(
            number(_OVER[column.better]([of[place] for of in values.values()]), column.digits) if several else None
        )
    return [
        row(name, *(TextCell(t, "good", word="best") if t == b else t for t, b in zip(texts, best, strict=True)))
        for name, texts in printed.items()
    ]


def _median(seeds: Sequence[Measures], column: Column) -> float:
    values = [s[column.measure] for s in seeds if not math.isnan(s[column.measure])]
    return spread(values).median * column.scale if values else math.nan


def _spec(queue: Mapping[str, Mapping[str, object]]) -> str:
    return "; ".join(" ".join([name, *(f"{k} {v}" for k, v in values.items())]) for name, values in queue.items())
