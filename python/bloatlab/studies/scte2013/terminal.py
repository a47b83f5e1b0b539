"""The reproduction at a terminal: statements, claims, shares, and where the rest is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

from bloatlab.studies import layout as shared
from bloatlab.studies.scte2013 import layout
from bloatlab.studies.terminal import last_words, rich_table

if TYPE_CHECKING:
    from bloatlab.studies.scte2013.study import Reproduction


def show(done: Reproduction, console: Console) -> None:
    """Everything that fits a terminal."""
    console.print(rich_table(shared.statements_table(done.scorecard, "Every statement of the paper")))
    console.print()
    for experiment in done.experiments:
        if experiment.name != "figures":
            console.print(rich_table(layout.experiment_table(experiment, done.measures)))
            console.print()
    console.print(rich_table(shared.claims_table(done.claims)))
    console.print(rich_table(shared.shares_table(done.scorecard)))
    last_words(done.scorecard, done.claims, done.runs, done.seconds, done.report, console, done.found)
