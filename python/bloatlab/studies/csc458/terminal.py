"""The reproduction at a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

from bloatlab.studies import layout as shared
from bloatlab.studies.csc458 import layout
from bloatlab.studies.terminal import last_words
from bloatlab.terminal import show as show_table

if TYPE_CHECKING:
    from bloatlab.studies.csc458.study import Reproduction


def show(done: Reproduction, console: Console) -> None:
    """Everything that fits a terminal."""
    tables = [layout.published_table(done.scorecard), layout.cases_table(done.simulated)]
    if done.live is not None:
        tables.append(layout.live_table(done.simulated, done.live.measures, done.live.invalid))
    tables.extend(layout.experiment_table(name, runs) for name, runs in done.experiments.items())
    claims = (shared.claims_table(done.claims), layout.readings_table(done.claims, done.second_reading))
    for table in (*tables, *claims, shared.shares_table(done.scorecard)):
        show_table(table, console)
        console.print()
    last_words(done.scorecard, done.claims, done.runs, done.seconds, done.report, console, done.found)
