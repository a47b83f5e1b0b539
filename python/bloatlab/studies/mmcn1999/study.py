"""The study: its queues, published values, claims, tables and figures."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from bloatlab.studies import page
from bloatlab.studies.claims import medians
from bloatlab.studies.mmcn1999 import pages
from bloatlab.studies.mmcn1999.build import DECLARED, EXPERIMENTS, build, experiment_cases, main_cases, second_reading
from bloatlab.studies.mmcn1999.measure import measure, series
from bloatlab.studies.mmcn1999.rules import CLAIMS, GOALS, RULES, cells
from bloatlab.studies.mmcn1999.small import build_small, measure_small, series_small, small_cases
from bloatlab.studies.study import Batch, Options, Results
from bloatlab.sweep import Measure
from bloatlab.tables import TextTable

MEASURED = Measure("mmcn1999", measure, series)
SMALL = Measure("mmcn1999-small", measure_small, series_small)

#: Maximum number of seeds for experiments. Few seeds are enough, because experiments do not rank the queues.
FEW = 2

#: Names of the batches.
QUEUES, SENSITIVITY, NETWORKS = "nine queues", "sensitivity", "small networks"


def batches(options: Options) -> list[Batch]:
    """Returns the batches: the nine queues, the sensitivity runs, the small networks, and the requested experiments.

    The batch of the nine queues also contains the cases with limited transmit.
    """

    def experiment(name: str) -> Batch:
        return Batch(name=name, cases=experiment_cases(name), build=build, measure=MEASURED, most_seeds=FEW)

    return [
        Batch(name=QUEUES, cases=[*main_cases(), *second_reading()], build=build, measure=MEASURED),
        experiment(SENSITIVITY),
        Batch(name=NETWORKS, cases=small_cases(), build=build_small, measure=SMALL),
        *(experiment(name) for name in options.experiments if name != SENSITIVITY),
    ]


def _tcp(results: Results) -> Mapping[str, pl.DataFrame]:
    """Returns TCP's rate over time behind each queue, for the first seed."""
    return {key: frames["tcp"] for key, frames in results.ran[QUEUES].frames.items()}


def _queues(results: Results) -> list[TextTable]:
    return pages.queues_tables(results.scorecard, results.runs)


def _beyond(results: Results) -> list[TextTable]:
    """Makes tables of the small networks, the sensitivity runs, and the requested experiments."""
    runs, note = results.runs, f"One thing is changed at a time. {FEW} seeds."
    asked = [name for name in results.asked if name != SENSITIVITY]
    return [
        pages.small_table(runs),
        pages.cases_table("Sensitivity", runs, experiment_cases(SENSITIVITY), note=note),
        *(pages.cases_table(EXPERIMENTS[n], runs, experiment_cases(n), voice=n == "classes") for n in asked),
    ]


#: Functions that make the blocks of the page's sections, by the sections' anchors. Sections not listed here use
#: `page.SHARED`.
BLOCKS: Mapping[str, page.Blocks] = {
    "queues": _queues,
    "slides": lambda results: [pages.slides_table(results.scorecard)],
    "beyond": _beyond,
    "rules": DECLARED.rules(),
}

STUDY = DECLARED.study(
    BLOCKS,
    batches=batches,
    extent=lambda _: "9 queues",
    quick=DECLARED.quick(),
    experiments=EXPERIMENTS,
    cells=cells,
    goals=GOALS,
    rules=RULES,
    claims=CLAIMS,
    answer=lambda results: pages.answer(results.runs, _tcp(results), results.seeds),
    figures=lambda results: pages.figures(_tcp(results), results.ran[NETWORKS].frames, results.runs),
    data=lambda results: {"medians": medians(results.runs)},
)
