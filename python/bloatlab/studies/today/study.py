"""The study as one command: run the cases, judge the identities, draw, bind. `kit.bind` says what it leaves in its folder."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from bloatlab.report import Answer
from bloatlab.scenario import Scenario
from bloatlab.studies.claims import Runs, median_of
from bloatlab.studies.kit import Reproduced, bind, by_case, of_first_seed, simulate
from bloatlab.studies.layout import statements_table
from bloatlab.studies.registry import Options
from bloatlab.studies.scorecard import Verdict
from bloatlab.studies.today import layout
from bloatlab.studies.today.answer import answer, draw
from bloatlab.studies.today.build import SECONDS, build
from bloatlab.studies.today.cases import Case, cases, quick
from bloatlab.studies.today.compare import scorecard
from bloatlab.studies.today.measure import MEASURE
from bloatlab.studies.today.page import page
from bloatlab.tables import TextTable, counted
from bloatlab.terminal import show

QUICK_SECONDS = 40
QUICK_WARNING = (
    f"A quick look: {QUICK_SECONDS} s, one seed, three loads and two kinds of TCP, so that it proves nothing."
)

#: What is asked for by name: nothing.
EXPERIMENTS: dict[str, str] = {}


@dataclass(frozen=True, kw_only=True)
class Reproduction(Reproduced):
    """The study reproduced."""

    measures: Runs

    @property
    def met(self) -> bool | None:
        """Whether every identity holds; None for a quick look."""
        if self.scorecard.proves_nothing:
            return None
        return all(cell.verdict is Verdict.WITHIN for cell in self.scorecard.cells)

    def as_data(self) -> dict[str, Any]:
        """The scorecard as JSON, and the medians over seeds of every case."""
        medians = {
            key: {name: median for name in rows[0] if (median := median_of(self.measures, key, name)) is not None}
            for key, rows in self.measures.items()
        }
        finite = {key: {n: v if math.isfinite(v) else None for n, v in of.items()} for key, of in medians.items()}
        return super().as_data() | {"medians": finite}

    def tables(self) -> Sequence[TextTable]:
        """Every line and TCP, and the game load by load."""
        return [
            layout.lines_table(self.measures),
            layout.loads_table(self.measures, "game_p99_ms", "The game, load by load: 99th percentile, ms", 0),
            statements_table(self.scorecard, "Closed forms and identities"),
        ]

    def print(self, console: Console) -> None:
        """The tables and the answer: there are no published values, and so no shares or claims of a paper."""
        for table in self.tables():
            show(table, console)
            console.print()
        self._last_words(console)

    def answer(self) -> Answer:
        """What thirteen years have changed."""
        return answer(self.measures, self.scorecard.seeds)


def reproduce(options: Options) -> Reproduction:
    """Run the cases, judge the identities, and write the folder `options.out`."""
    given = quick() if options.quick else cases()
    seeds = range(1, (1 if options.quick else options.seeds) + 1)
    seconds = QUICK_SECONDS if options.quick else SECONDS
    begun = time.perf_counter()
    options.console.print(
        f"[bold]today[/]  {len(given)} cases, {counted(len(seeds), 'seed')}, {options.workers}", highlight=False
    )
    if options.quick:
        options.console.print(f"[yellow]{QUICK_WARNING}[/]")

    def scenario(case: Case, seed: int) -> Scenario:
        return build(case, seed, seconds)

    gathered = simulate(given, scenario, seeds, MEASURE, options, "all cases")
    runs = by_case(gathered)
    done = Reproduction(
        scorecard=scorecard(runs, given, QUICK_WARNING if options.quick else ""),
        claims=[],
        measures=runs,
        folder=options.out,
        runs=len(gathered.points),
        found=gathered.found,
        seconds=time.perf_counter() - begun,
    )
    drawings = [draw(runs)]
    scenarios = {key: one for key, (one, _) in of_first_seed(gathered).items()}
    bind(done, page(done, drawings), drawings, gathered.frame(), scenarios)
    return done
