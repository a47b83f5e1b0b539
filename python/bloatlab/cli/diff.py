"""`bloatlab diff`: what differs between two results."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import polars as pl
from cyclopts import Parameter
from rich.console import Console

from bloatlab.cli.common import BadInput, reading
from bloatlab.differences import Difference, diff
from bloatlab.flent import FlentError
from bloatlab.results import ResultError, json_text
from bloatlab.terminal import show


def command(
    first: Path,
    second: Path,
    /,
    *,
    form: Annotated[Literal["text", "json", "csv"], Parameter(name=["--format", "-f"])] = "text",
    every: Annotated[bool, Parameter(name="--all", negative=())] = False,
) -> int:
    """Lay two results beside each other: what differs in the scenario, then every measure that differs.

    Each measure stands with its difference (the second less the first), its ratio, and whether the second is better or
    worse, where that is defined. The largest change comes first.

    Parameters
    ----------
    first
        Folder that `bloatlab run -o` or `bloatlab live -o` kept, or a data file of flent (.flent.gz).
    second
        The same, to compare it with.
    form
        text for people; json (everything) and csv (a row per measure) for programs.
    every
        Show measures that are equal, too.
    """
    try:
        found = reading(first, lambda: reading(second, lambda: diff(first, second)))
    except (ResultError, FlentError) as error:
        raise BadInput(str(error)) from None
    match form:
        case "json":
            sys.stdout.write(json_text(found.as_data()))
        case "csv":
            sys.stdout.write(pl.DataFrame(found.rows(), infer_schema_length=None).write_csv())
        case _:
            _print(found, Console(), every=every)
    return 0


def _print(found: Difference, console: Console, *, every: bool) -> None:
    if found.equal:
        line = f"equal: {found.names[0]} and {found.names[1]} have the same scenario and the same measures"
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    for place, table in enumerate(found.tables(every=every)):
        if place:
            console.print()
        show(table, console)
