"""`bloatlab show`: a result folder, or one of its tables."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.console import Console

from bloatlab.cli.common import BadInput, nearest, reading
from bloatlab.results import ResultError, open_result
from bloatlab.simulation import Result
from bloatlab.summaries import headline, summary_tables
from bloatlab.terminal import show, wrapped


def command(
    result: Path,
    /,
    *,
    table: Annotated[str | None, Parameter(name=["--table", "-t"])] = None,
    form: Annotated[Literal["text", "csv", "json"], Parameter(name=["--format", "-f"])] = "text",
) -> int:
    """Print a result that `bloatlab run -o` kept.

    Parameters
    ----------
    result
        The result's folder.
    table
        One table in place of the summary: queue_series, flow_series, pages, ...
    form
        text for people; csv (with --table) and json for programs.
    """
    try:
        found = reading(result, lambda: open_result(result))
    except ResultError as error:
        raise BadInput(str(error)) from None
    if table is not None:
        _print_table(found, table, form)
    elif form == "text":
        print_result(found, Console())
    elif form == "json":
        Console(soft_wrap=True).print_json(data=found.summary)
    else:
        raise BadInput(f"-f {form}: a summary is no table; name one with --table ({', '.join(sorted(found.tables))})")
    return 0


def _print_table(found: Result, name: str, form: str) -> None:
    if name not in found.tables:
        raise BadInput(f"--table {name}: there is {', '.join(sorted(found.tables))}{nearest(name, found.tables)}")
    frame = found.table(name)
    match form:
        case "csv":
            sys.stdout.write(frame.write_csv())
        case "json":
            sys.stdout.write(frame.write_json() + "\n")
        case _:
            sys.stdout.write(f"{frame}\n")


def print_result(result: Result, console: Console) -> None:
    """The summary of a result as tables."""
    for line in wrapped(headline(result), console.width):
        console.print(line, style="bold", highlight=False, markup=False, soft_wrap=True)
    for table in summary_tables(result):
        console.print()
        show(table, console)
