"""Tables and the last words of a reproduction at a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bloatlab.studies.claims import Checked, tally
from bloatlab.studies.scorecard import Scorecard
from bloatlab.tables import TextTable, Tone

_STYLES: dict[Tone, str] = {"plain": "", "good": "green", "bad": "bold red", "muted": "dim", "marked": "yellow"}


def rich_table(table: TextTable) -> Table:
    """A table for people as rich draws it; groups of columns become a prefix of the first of them."""
    drawn = Table(title=table.title, title_justify="left", title_style="bold", caption=table.note or None,
                  caption_justify="left", box=None, pad_edge=False, header_style="bold")  # fmt: skip
    starts: dict[int, str] = {}
    place = 0
    for name, width in table.groups:
        starts[place] = name
        place += width
    for index, column in enumerate(table.columns):
        head = Text.assemble((f"{starts[index]}\n", "dim"), column) if starts.get(index) else Text(column)
        words = index < table.left
        drawn.add_column(
            head, justify="left" if words else "right", no_wrap=not words or table.left < 3, vertical="top"
        )
    for row in table.rows:
        drawn.add_row(*(Text(cell.text, style=_STYLES[cell.tone]) for cell in row))
    return drawn


def last_words(
    card: Scorecard,
    claims: Sequence[Checked],
    runs: int,
    seconds: float,
    report: Path,
    console: Console,
    found: int = 0,
) -> None:
    """How many runs (`found` of them in the store), which claims hold, whether the shares are reached, the report."""
    stored = f" ({found} of them kept from before)" if found else ""
    console.print(f"{runs} runs{stored} in {seconds:.1f} s; {tally(claims)}.", highlight=False)
    match card.met:
        case True:
            console.print("[green]The stated shares are reached.[/]")
        case False:
            console.print("[bold red]The stated shares are not reached.[/]")
        case None:
            console.print(f"[yellow]{card.proves_nothing}[/]")
    console.print(f"Report: [bold]{report}[/]", soft_wrap=True, highlight=False)
