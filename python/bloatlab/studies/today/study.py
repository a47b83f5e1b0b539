"""The study as one command: run the cases, judge the identities, draw, bind. `kit.bind` says what it leaves in its folder."""

from __future__ import annotations

from bloatlab.scenario import Scenario
from bloatlab.studies.kit import begin, bind, by_case, scenarios_of, simulate
from bloatlab.studies.registry import Options
from bloatlab.studies.today.answer import draw
from bloatlab.studies.today.build import SECONDS, build
from bloatlab.studies.today.cases import Case, cases, quick
from bloatlab.studies.today.measure import MEASURE
from bloatlab.studies.today.page import Reproduction, page
from bloatlab.studies.today.scorecard import scorecard

QUICK_SECONDS = 40
QUICK_WARNING = f"A quick look: {QUICK_SECONDS} s, one seed, three loads, two considerations and two kinds of TCP, so that it proves nothing."

#: What is asked for by name: nothing.
EXPERIMENTS: dict[str, str] = {}


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
