"""The study: its runs, the bounds that check them, its tables and figures."""

from __future__ import annotations

from collections.abc import Mapping

from bloatlab.studies.claims import medians
from bloatlab.studies.page import Blocks
from bloatlab.studies.study import Results
from bloatlab.studies.tables import statements_table
from bloatlab.studies.today import pages
from bloatlab.studies.today.cases import Stack, build, cases, quick
from bloatlab.studies.today.measure import measure
from bloatlab.studies.today.pages import DECLARED, LOADS
from bloatlab.studies.today.rules import cells
from bloatlab.tables import TextTable


def _laws(results: Results) -> list[TextTable]:
    return [statements_table(results.scorecard, "Closed forms and identities")]


def _considerations(results: Results) -> list[TextTable]:
    """Makes a table of the game for all considerations and TCPs, and one table of all measures for each of two TCPs."""
    runs = results.runs
    made = [pages.considerations_table(runs, stack) for stack in (Stack.CUBIC, Stack.PRAGUE)]
    return [pages.game_table(runs), *(table for table in made if table.rows)]


#: Maps the anchor of each section of the page, except the figures, to the function that makes the section's blocks.
BLOCKS: Mapping[str, Blocks] = {
    "lines": lambda results: [pages.lines_table(results.runs)],
    "loads": lambda results: [pages.loads_table(results.runs, *of) for of in LOADS],
    "considerations": _considerations,
    "laws": _laws,
    "rules": DECLARED.rules(),
}

STUDY = DECLARED.study(
    BLOCKS,
    cases=cases(),
    build=build,
    measure=measure,
    quick=DECLARED.quick(quick()),
    cells=cells,
    answer=lambda results: pages.answer(results.runs, results.seeds),
    figures=lambda results: [pages.draw(results.runs)],
    data=lambda results: {"medians": medians(results.runs)},
)
