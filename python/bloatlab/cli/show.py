"""`bloatlab show`: a result folder, or one of its tables."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bloatlab.cli.common import BadInput, nearest, reading, wide_console
from bloatlab.results import ResultError, open_result
from bloatlab.simulation import Result
from bloatlab.tables import TextTable, summary_tables


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
        print_result(found, wide_console())
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
    console.print(
        f"[bold]{result.summary['name']}[/]  seed {result.seed}  {result.summary['duration_s']:g} s", highlight=False
    )
    for table in summary_tables(result):
        console.print()
        console.print(_drawn(table))


def _drawn(table: TextTable) -> Table:
    drawn = Table(
        title=table.title,
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
        header_style="bold",
        padding=(0, 2, 0, 0),
    )
    heads: dict[int, str] = {}
    place = 0
    for name, width in table.groups:
        heads[place] = name
        place += width
    for index, column in enumerate(table.columns):
        head = Text.assemble((f"{heads.get(index, '')}\n", "dim"), column) if table.groups else Text(column)
        drawn.add_column(head, justify="left" if index < table.left else "right")
    for row in table.rows:
        drawn.add_row(*(cell.text for cell in row))
    return drawn
