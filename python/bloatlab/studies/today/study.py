"""The study: its runs, the laws that hold in them, its tables and figures."""

from __future__ import annotations

from collections.abc import Sequence

from bloatlab.studies import page
from bloatlab.studies.claims import medians
from bloatlab.studies.study import About, PageSection, Publication, Quick, Results, Study
from bloatlab.studies.tables import statements_table
from bloatlab.studies.today import pages
from bloatlab.studies.today.cases import Stack, build, cases, quick
from bloatlab.studies.today.cases import __doc__ as setup
from bloatlab.studies.today.measure import measure
from bloatlab.studies.today.rules import __doc__ as rules
from bloatlab.studies.today.rules import cells
from bloatlab.tables import TextTable

QUICK_SECONDS = 40

#: Measure, title and digits of the tables load by load.
LOADS = (
    ("game_p99_ms", "The game, load by load: 99th percentile, ms", 0),
    ("page_s", "Pages, load by load: median, s", 2),
    ("call_mos", "The call, load by load: MOS", 2),
)

#: The docstring of `cases`, without its drawing.
_SETUP = ((setup or "").split("    home")[0], "The line is" + (setup or "").split("The line is")[1])


def _laws(results: Results) -> list[TextTable]:
    return [statements_table(results.scorecard, "Closed forms and identities")]


def _considerations(results: Results) -> list[TextTable]:
    """The game with every TCP, and all measures with two TCPs of today."""
    runs = results.runs
    made = [pages.considerations_table(runs, stack) for stack in (Stack.CUBIC, Stack.PRAGUE)]
    return [pages.game_table(runs), *(table for table in made if table.rows)]


def _tables(results: Results) -> Sequence[TextTable]:
    """Every line and TCP, and the game load by load."""
    runs = results.runs
    game = [pages.loads_table(runs, *LOADS[0]), pages.game_table(runs)]
    return [pages.lines_table(runs), *game, *_laws(results)]


STUDY = Study(
    name="today",
    publication=Publication(
        "Thirteen years of bufferbloat: the loads of 2012, today",
        "The loads and the line of CableLabs 2012 (G. White, J. Padden); no published results exist for these runs; they are ours.",
    ),
    about=About(
        "Thirteen years of bufferbloat",
        "The nine loads of CableLabs 2012 and the considerations of SCTE 2013, on a modem of 2012 and on the equipment of today's homes",
        "In 2012 CableLabs studied whether CoDel belongs into a cable modem. These runs repeat its home, its line and its nine loads, with a "
        "game added to the call and the pages: on the modem of 2012, on one of DOCSIS 3.1 with DOCSIS-PIE or with Low Latency, and behind home "
        "routers with fq_codel and CAKE; with "
        "the TCP of 2012, CUBIC with HyStart++, BBRv3 and Prague.",
    ),
    cases=cases(),
    build=build,
    measure=measure,
    quick=Quick(
        1,
        f"A quick look: {QUICK_SECONDS} s, one seed, three loads, two considerations and two kinds of TCP, so that it proves nothing.",
        quick(),
        QUICK_SECONDS,
    ),
    cells=cells,
    answer=lambda results: pages.answer(results.runs, results.seeds),
    tables=_tables,
    figures=lambda results: [pages.draw(results.runs)],
    sections=[
        PageSection("Every line and TCP", "lines", lambda results: [pages.lines_table(results.runs)]),
        PageSection("Load by load", "loads", lambda results: [pages.loads_table(results.runs, *of) for of in LOADS],
             "The numbers are CableLabs’; 1 has no bulk traffic."),
        PageSection("The considerations of SCTE 2013", "considerations", _considerations,
             "“Considerations For All Bufferbloat Mitigation Schemes”: research that the paper left to others. Each is combined with the call, the pages, the "
             "game and an upload; the rules below describe each. With 50 uploads a game depends on single queues: behind CAKE it shares the "
             "turn of its host with all of them, and behind fq_codel, in one seed of twenty, the queue of one."),
        page.figures("Medians over loads."),
        PageSection("Bounds", "laws", _laws,
             "No results are published for these runs, so that ours are checked against bounds that always hold: each row is judged by its worst run."),
        page.rules("Rules and set-up", rules, *_SETUP),
    ],
    data=lambda results: {"medians": medians(results.runs)},
)  # fmt: skip
