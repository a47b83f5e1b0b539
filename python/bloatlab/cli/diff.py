"""`bloatlab diff`: what differs between two results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import polars as pl
from cyclopts import Parameter

from bloatlab.cli.common import BadInput, reading
from bloatlab.cli.options import TextCsvJson
from bloatlab.differences import TOP, Difference, diff
from bloatlab.results import csv_text, json_text
from bloatlab.terminal import Console, emit, show


def command(
    first: Path,
    second: Path,
    /,
    *,
    form: TextCsvJson = "text",
    top: str = str(TOP),
    every: Annotated[bool, Parameter(name="--all")] = False,
) -> int:
    """Compare two results: what differs in the scenario, then what changed, for people first.

    A row per measure: whose it is, both values, the change (the second less the first), and whether the second is
    better or worse, where that is defined. Applications come before links; what changed most is first.

    Parameters
    ----------
    first
        Folder that `bloatlab run -o` or `bloatlab live -o` kept, or a data file of flent (.flent.gz).
    second
        The same, to compare it with.
    form
        text for people; json (everything) and csv (a row per measure) for programs.
    top
        How many measures to show: a number, or all that differ. Default: 15 of those that people notice.
    every
        Show all measures, those that are equal, too.
    """
    most = _most(top)
    found = reading(first, lambda: reading(second, lambda: diff(first, second)))
    match form:
        case "json":
            emit(json_text(found.as_data()))
        case "csv":
            emit(csv_text(pl.DataFrame(found.rows(), infer_schema_length=None)))
        case _:
            _print(found, Console(), most, every=every)
    return 0


def _most(top: str) -> int | None:
    """How many measures; None for all."""
    if top == "all":
        return None
    if not top.isdecimal() or not 0 < int(top) <= 10**6:
        raise BadInput(f"--top {top}: a number from 1 on, or all")
    return int(top)


def _print(found: Difference, console: Console, top: int | None, *, every: bool) -> None:
    if found.equal:
        console.say(f"equal: {found.names[0]} and {found.names[1]} have the same scenario and the same measures")
    for place, table in enumerate(found.tables(top, every=every)):
        if place:
            console.print()
        show(table, console)
