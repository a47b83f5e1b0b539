"""The reproduction at a terminal: tables, claims, shares, and where the rest is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

from bloatlab.studies import layout as shared
from bloatlab.studies.cablelabs2012 import layout
from bloatlab.studies.cablelabs2012.experiments import EXPERIMENTS
from bloatlab.studies.terminal import last_words
from bloatlab.terminal import show as show_table

if TYPE_CHECKING:
    from bloatlab.studies.cablelabs2012.study import Reproduction


def show(done: Reproduction, console: Console) -> None:
    """Everything that fits a terminal."""
    for table in layout.blocks(done.scorecard):
        show_table(table, console)
        console.print()
    console.print(
        "[green]✓ within[/]  [bold red]✗ outside[/]  [yellow]c calibration, not counted[/]  [dim]derived[/]\n"
    )
    for name, runs in done.experiments.items():
        if name in done.readings:
            continue
        for table in layout.experiment_tables(name, EXPERIMENTS[name], runs, done.paper):
            show_table(table, console)
            console.print()
    if done.readings:
        show_table(layout.readings_table(done.scorecard, done.readings), console)
        console.print()
    show_table(shared.claims_table(done.claims), console)
    show_table(shared.shares_table(done.scorecard), console)
    last_words(done.scorecard, done.claims, done.runs, done.seconds, done.report, console, done.found)
