"""`bloatlab diff`: the differences between two results."""

from pathlib import Path
from typing import Annotated

import polars as pl
from cyclopts import Parameter

from bloatlab import flent
from bloatlab.cli.common import BadInput, reading
from bloatlab.cli.options import TextCsvJson
from bloatlab.differences import TOP, diff
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
    """Compare two results: how the scenarios differ, then which measures changed.

    Prints a row per measure: its application or link, both values, the change (second minus first), and whether the
    second is better or worse, where that is defined. Applications come before links, large changes before small ones.

    Args:
        first: Result folder of `bloatlab run -o` or `bloatlab live -o`, or a flent data file (.flent.gz).
        second: The result to compare it with, in the same form.
        top: Number of measures to show, or all. Default: 15 of those that users notice.
        every: Show every measure, including those that are equal.
    """
    most = _most(top)
    found = reading(first, lambda: reading(second, lambda: diff(first, second)))
    match form:
        case "json":
            emit(json_text(found.as_data()))
        case "csv":
            for line in found.warnings:
                Console(stderr=True).say(line)
            emit(csv_text(pl.DataFrame(found.rows(), infer_schema_length=None)))
        case _:
            console = Console()
            for line in found.warnings:
                console.say_wrapped(line, "bold")
            if found.equal:
                partly = flent.is_flent(first) or flent.is_flent(second)  # such a file has no scenario
                theirs = "the same round trips and TCP rates; a flent file has no scenario and no other measures"
                same = theirs if partly else "the same scenario and the same measures"
                console.say(f"equal: {found.names[0]} and {found.names[1]} have {same}")
            for place, table in enumerate(found.tables(most, every=every)):
                if place:
                    console.print()
                show(table, console)
    return 0


def _most(top: str) -> int | None:
    """Parses --top; None for all. Raises `BadInput`."""
    if top == "all":
        return None
    if not top.isdecimal() or not 0 < int(top) <= 10**6:
        raise BadInput(f"--top {top}: expected a number from 1, or all")
    return int(top)
