"""The last words of a reproduction at a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from bloatlab.studies.claims import Checked, tally
from bloatlab.studies.scorecard import Scorecard


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
