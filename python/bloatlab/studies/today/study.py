"""The study declared: its runs, what must hold of them, its tables and figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from bloatlab.studies import page
from bloatlab.studies.claims import medians
from bloatlab.studies.study import About, Batch, Options, PageSection, Publication, Quick, Results, Study
from bloatlab.studies.tables import statements_table
from bloatlab.studies.today import tables
from bloatlab.studies.today.answer import answer, draw
from bloatlab.studies.today.build import SECONDS, build
from bloatlab.studies.today.build import __doc__ as setup
from bloatlab.studies.today.cases import Line, Stack, cases, considered, quick
from bloatlab.studies.today.considerations import Consideration
from bloatlab.studies.today.considerations import __doc__ as asked
from bloatlab.studies.today.measure import MEASURE
from bloatlab.studies.today.scorecard import __doc__ as rules
from bloatlab.studies.today.scorecard import cells
from bloatlab.tables import TextTable

QUICK_SECONDS = 40

#: Measure, title and digits of the tables load by load.
LOADS = (
    ("game_p99_ms", "The game, load by load: 99th percentile, ms", 0),
    ("page_s", "Pages, load by load: median, s", 2),
    ("call_mos", "The call, load by load: MOS", 2),
)

#: The set-up in the words of `build`, without its drawing.
_SETUP = ((setup or "").split("    home")[0], "The line is" + (setup or "").split("The line is")[1])


def batches(options: Options) -> list[Batch]:
    """All cases; a slice of them for a quick look."""
    given, seconds = (quick(), QUICK_SECONDS) if options.quick else (cases(), SECONDS)
    return [Batch(name="all cases", cases=given, build=partial(build, seconds=seconds), measure=MEASURE)]


def _lines(results: Results) -> list[TextTable]:
    return [tables.lines_table(results.runs)]


def _laws(results: Results) -> list[TextTable]:
    return [statements_table(results.scorecard, "Closed forms and identities")]


def _considerations(results: Results) -> Iterable[TextTable]:
    """The game with every TCP, and all measures with one of then and one of today."""
    runs = results.runs
    ran = [s for s in Stack if any(considered(line, s, what).key in runs for line in Line for what in Consideration)]
    shown = [stack for stack in (Stack.CUBIC, Stack.PRAGUE) if stack in ran]
    return [tables.game_table(runs), *(tables.considerations_table(runs, s) for s in shown)]


def _tables(results: Results) -> Sequence[TextTable]:
    """Every line and TCP, and the game load by load."""
    game = [tables.loads_table(results.runs, *LOADS[0]), tables.game_table(results.runs)]
    return [*_lines(results), *game, *_laws(results)]


STUDY = Study(
    name="today",
    publication=Publication(
        "Thirteen years of bufferbloat: the loads of 2012, today",
        "The loads and the line of CableLabs 2012 (G. White, J. Padden); the runs are nobody's but ours.",
    ),
    about=About(
        "Thirteen years of bufferbloat",
        "The nine loads of CableLabs 2012 and the considerations of SCTE 2013, on a modem of 2012 and on what stands in homes today",
        "In 2012 CableLabs asked whether CoDel belongs into a cable modem. Here are its home, its line and its nine loads again, with a "
        "game beside the call and the pages: on the modem of then, on one of DOCSIS 3.1 with DOCSIS-PIE or with Low Latency, and behind home "
        "routers with fq_codel and CAKE; with "
        "the TCP of then, CUBIC with HyStart++, BBRv3 and Prague.",
    ),
    batches=batches,
    quick=Quick(1, f"A quick look: {QUICK_SECONDS} s, one seed, three loads, two considerations and two kinds of TCP, so that it proves nothing."),
    cells=cells,
    answer=lambda results: answer(results.runs, results.seeds),
    tables=_tables,
    figures=lambda results: [draw(results.runs)],
    sections=[
        PageSection("Every line and TCP", "lines", _lines),
        PageSection("Load by load", "loads", lambda results: [tables.loads_table(results.runs, *of) for of in LOADS],
             "The numbers are CableLabs’; 1 has no bulk traffic."),
        PageSection("What SCTE 2013 asked", "considerations", _considerations,
             "“Considerations For All Bufferbloat Mitigation Schemes”: research that the paper left to others. Each beside the call, the pages, the "
             "game and an upload; the rules below say what each is. With 50 uploads a game has to do with single queues: behind CAKE it shares the "
             "turn of its host with all of them, and behind fq_codel, in one seed of twenty, the queue of one."),
        page.figures("Medians over loads."),
        PageSection("What must hold", "laws", _laws,
             "Nobody has published these runs, so that ours are checked by what must hold: each row is judged by its worst run."),
        page.rules("Rules and set-up", rules, *_SETUP, asked),
    ],
    data=lambda results: {"medians": medians(results.runs)},
)  # fmt: skip
