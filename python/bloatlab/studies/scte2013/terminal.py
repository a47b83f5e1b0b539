"""The reproduction at a terminal: statements, claims, shares, and where the rest is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

from bloatlab.studies import layout as shared
from bloatlab.studies.scte2013 import layout
from bloatlab.studies.terminal import last_words
from bloatlab.terminal import show as show_table

if TYPE_CHECKING:
    from bloatlab.studies.scte2013.study import Reproduction


def show(done: Reproduction, console: Console) -> None:
    """Everything that fits a terminal."""
    show_table(shared.statements_table(done.scorecard, "Every statement of the paper"), console)
    console.print()
    for experiment in done.experiments:
        if experiment.name != "figures":
            show_table(layout.experiment_table(experiment, done.measures), console)
            console.print()
    show_table(shared.claims_table(done.claims), console)
    show_table(shared.shares_table(done.scorecard), console)
    last_words(done.scorecard, done.claims, done.runs, done.seconds, done.report, console, done.found)
