"""The reproduction at a terminal: tables, claims, shares, and where the rest is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

from bloatlab.studies import layout as shared
from bloatlab.studies.cablelabs2012 import layout
from bloatlab.studies.cablelabs2012.experiments import EXPERIMENTS
from bloatlab.studies.terminal import last_words, rich_table

if TYPE_CHECKING:
    from bloatlab.studies.cablelabs2012.study import Reproduction


def show(done: Reproduction, console: Console) -> None:
    """Everything that fits a terminal."""
    for table in layout.blocks(done.scorecard):
        console.print(rich_table(table))
        console.print()
    console.print(
        "[green]✓ within[/]  [bold red]✗ outside[/]  [yellow]c calibration, not counted[/]  [dim]derived[/]\n"
    )
    for name, runs in done.experiments.items():
        for table in layout.experiment_tables(name, EXPERIMENTS[name], runs, done.paper):
            console.print(rich_table(table))
            console.print()
    console.print(rich_table(shared.claims_table(done.claims)))
    console.print(rich_table(shared.shares_table(done.scorecard)))
    last_words(done.scorecard, done.claims, done.runs, done.seconds, done.report, console, done.found)
