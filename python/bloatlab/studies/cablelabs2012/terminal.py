"""The reproduction at a terminal: tables, claims, shares, and where the rest is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bloatlab.studies.cablelabs2012 import layout
from bloatlab.studies.cablelabs2012.experiments import EXPERIMENTS
from bloatlab.tables import TextTable, Tone

if TYPE_CHECKING:
    from bloatlab.studies.cablelabs2012.study import Reproduction

_STYLES: dict[Tone, str] = {"plain": "", "good": "green", "bad": "bold red", "muted": "dim", "marked": "yellow"}


def show(done: Reproduction, console: Console) -> None:
    """Everything that fits a terminal."""
    for table in layout.blocks(done.scorecard):
        console.print(rich_table(table))
        console.print()
    console.print(
        "[green]✓ within[/]  [bold red]✗ outside[/]  [yellow]c calibration, not counted[/]  [dim]derived[/]\n"
    )
    for name, runs in done.experiments.items():
        console.print(rich_table(layout.experiment_table(name, EXPERIMENTS[name], runs)))
    console.print(rich_table(layout.claims_table(done.claims)))
    console.print(rich_table(layout.shares_table(done.scorecard)))
    _last_words(done, console)


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


def _last_words(done: Reproduction, console: Console) -> None:
    held = sum(claim.holds is True for claim in done.claims)
    asked = sum(claim.holds is not None for claim in done.claims)
    console.print(f"{done.runs} runs in {done.seconds:.1f} s; {held} of {asked} claims hold.", highlight=False)
    match done.met:
        case True:
            console.print("[green]The stated shares are reached.[/]")
        case False:
            console.print("[bold red]The stated shares are not reached.[/]")
        case None:
            console.print(f"[yellow]{done.scorecard.proves_nothing}[/]")
    console.print(f"Report: [bold]{done.report}[/]", soft_wrap=True, highlight=False)
