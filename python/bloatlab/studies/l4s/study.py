"""The study as one command: run the cases, compare, draw, bind. `kit.bind` says what it leaves in its folder."""

from __future__ import annotations

from bloatlab.scenario import Scenario
from bloatlab.studies.claims import check_all
from bloatlab.studies.kit import begin, bind, by_case, scenarios_of, simulate
from bloatlab.studies.l4s import figures
from bloatlab.studies.l4s.build import build
from bloatlab.studies.l4s.cases import Case
from bloatlab.studies.l4s.claims import CLAIMS
from bloatlab.studies.l4s.measure import MEASURE
from bloatlab.studies.l4s.page import Reproduction, page
from bloatlab.studies.l4s.plan import cases, quick
from bloatlab.studies.l4s.scorecard import scorecard
from bloatlab.studies.registry import Options

QUICK_SECONDS = 20
QUICK_WARNING = f"A quick look: {QUICK_SECONDS} s, one seed, and a slice of the cases, so that it proves nothing."

#: What is asked for by name: nothing; every experiment always runs.
EXPERIMENTS: dict[str, str] = {}


def reproduce(options: Options) -> Reproduction:
    """Run the cases, compare, and write the folder `options.out`."""
    given = quick() if options.quick else cases()
    begun = begin(options, "l4s", f"{len(given)} cases", 1, QUICK_WARNING)
    seconds = QUICK_SECONDS if options.quick else None

    def scenario(case: Case, seed: int) -> Scenario:
        return build(case, seed, seconds)

    gathered = simulate(given, scenario, begun.seeds, MEASURE, options, "all cases")
    runs = by_case(gathered)
    card, groups = scorecard(runs, begun.proves_nothing)
    done = Reproduction(
        scorecard=card,
        claims=check_all(CLAIMS, runs),
        measures=runs,
        groups=groups,
        **begun.taken(gathered),
    )
    drawings = figures.draw(runs)
    bind(done, page(done, drawings), drawings, gathered.frame(), scenarios_of(gathered))
    return done
