"""The study as one command: run the cases, judge the identities, draw, bind. `kit.bind` says what it leaves in its folder."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bloatlab.report import Answer
from bloatlab.scenario import Scenario
from bloatlab.studies.claims import Runs, median_of
from bloatlab.studies.kit import Reproduced, begin, bind, by_case, scenarios_of, simulate
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
from bloatlab.tables import TextTable

QUICK_SECONDS = 40
QUICK_WARNING = f"A quick look: {QUICK_SECONDS} s, one seed, three loads, two considerations and two kinds of TCP, so that it proves nothing."

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
            layout.game_table(self.measures),
            statements_table(self.scorecard, "Closed forms and identities"),
        ]

    def answer(self) -> Answer:
        """What thirteen years have changed."""
        return answer(self.measures, self.scorecard.seeds)


def reproduce(options: Options) -> Reproduction:
    """Run the cases, judge the identities, and write the folder `options.out`."""
    given = quick() if options.quick else cases()
    begun = begin(options, "today", f"{len(given)} cases", 1, QUICK_WARNING)
    seconds = QUICK_SECONDS if options.quick else SECONDS

    def scenario(case: Case, seed: int) -> Scenario:
        return build(case, seed, seconds)

    gathered = simulate(given, scenario, begun.seeds, MEASURE, options, "all cases")
    runs = by_case(gathered)
    done = Reproduction(
        scorecard=scorecard(runs, given, begun.proves_nothing),
        claims=[],
        measures=runs,
        **begun.taken(gathered),
    )
    drawings = [draw(runs)]
    bind(done, page(done, drawings), drawings, gathered.frame(), scenarios_of(gathered))
    return done
