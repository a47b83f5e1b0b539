"""The study: its queues, published values, claims, tables and figures."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from bloatlab.studies import page
from bloatlab.studies.claims import medians
from bloatlab.studies.mmcn1999 import pages
from bloatlab.studies.mmcn1999.build import EXPERIMENTS, build, experiment_cases, main_cases, second_reading
from bloatlab.studies.mmcn1999.measure import measure, series
from bloatlab.studies.mmcn1999.rules import CLAIMS, GOALS, RULES, cells
from bloatlab.studies.mmcn1999.rules import __doc__ as rules
from bloatlab.studies.mmcn1999.small import build_small, measure_small, series_small, small_cases
from bloatlab.studies.study import About, Batch, Options, PageSection, Publication, Quick, Results, Study
from bloatlab.sweep import Measure
from bloatlab.tables import TextTable

MEASURED = Measure("mmcn1999", measure, series)
SMALL = Measure("mmcn1999-small", measure_small, series_small)

#: Seeds of the runs that no order stands on.
FEW = 2

#: Names of the batches.
QUEUES, SENSITIVITY, NETWORKS = "nine queues", "sensitivity", "small networks"


def batches(options: Options) -> list[Batch]:
    """The queues, their sensitivity, the small networks, and the requested experiments."""

    def experiment(name: str) -> Batch:
        return Batch(name=name, cases=experiment_cases(name), build=build, measure=MEASURED, most_seeds=FEW)

    return [
        Batch(name=QUEUES, cases=[*main_cases(), *second_reading()], build=build, measure=MEASURED),
        experiment(SENSITIVITY),
        Batch(name=NETWORKS, cases=small_cases(), build=build_small, measure=SMALL),
        *(experiment(name) for name in options.experiments if name != SENSITIVITY),
    ]


def _tcp(results: Results) -> Mapping[str, pl.DataFrame]:
    """TCP over time of the first seed, by queue."""
    return {key: frames["tcp"] for key, frames in results.ran[QUEUES].frames.items()}


def _queues(results: Results) -> list[TextTable]:
    return pages.queues_tables(results.scorecard, results.runs)


def _beyond(results: Results) -> list[TextTable]:
    """The small networks, the sensitivity, and the requested experiments."""
    runs, note = results.runs, f"One thing is changed at a time. {FEW} seeds."
    asked = [name for name in results.asked if name != SENSITIVITY]
    return [
        pages.small_table(runs),
        pages.cases_table("Sensitivity", runs, experiment_cases(SENSITIVITY), note=note),
        *(pages.cases_table(EXPERIMENTS[n], runs, experiment_cases(n), voice=n == "classes") for n in asked),
    ]


def _tables(results: Results) -> list[TextTable]:
    """The study's own, then the orders and every number of the slides."""
    queues, orders, state = _queues(results)
    return [queues, state, *_beyond(results), orders, pages.slides_table(results.scorecard)]


STUDY = Study(
    name="mmcn1999",
    publication=Publication(
        "Lightweight Active Router-Queue Management for Multimedia Networking (UNC, January 1999)",
        "M. Parris, K. Jeffay, F. D. Smith: Lightweight Active Router-Queue Management for Multimedia Networking. Multimedia "
        "Computing and Networking, January 1999 (slides; the paper is Proc. SPIE 3654).",
        "https://doi.org/10.1117/12.333807",
    ),
    about=About(
        "Class-based thresholds against unresponsive traffic",
        "Parris, Jeffay and Smith’s lightweight queue management of January 1999, rebuilt packet by packet",
        "Thirty TCP transfers and six video conferences share a link of 10 Mbit/s with a blast of 10 Mbit/s that does not "
        "respond. One queue with accounts per class (CBT) should protect TCP from the blast and the conferences from both, with "
        "less state than accounts per flow (FRED) or queues per class (CBQ).",
    ),
    batches=batches,
    extent=lambda _: "9 queues",
    quick=Quick(2, "A quick look: two seeds. The orders are tested in ten, so this proves nothing."),
    experiments=EXPERIMENTS,
    cells=cells,
    goals=GOALS,
    rules=RULES,
    claims=CLAIMS,
    answer=lambda results: pages.answer(results.runs, _tcp(results), results.seeds),
    tables=_tables,
    figures=lambda results: pages.figures(_tcp(results), results.ran[NETWORKS].frames, results.runs),
    sections=[
        PageSection("Nine queues", "queues", _queues,
             "The slides’ five queues, the class thresholds that follow active flows (D-CBT), and today's queues with their defaults."),
        page.figures("The blast lasts from 20 to 60 s. Dashed, in the colour of its queue: the slides’ chart, as read by a machine."),
        page.claims("The sentences of the slides, and below them expectations from memory or arithmetic, which are not counted."),
        PageSection("The slides", "slides", lambda results: [pages.slides_table(results.scorecard)],
             "Chart numbers of the slides were recovered by a machine: three tables of one figure disagree, and an axis is labelled kbps for kB/s."),
        PageSection("What it depends on", "beyond", _beyond),
        page.rules("Rules", rules),
    ],
    data=lambda results: {"medians": medians(results.runs)},
)  # fmt: skip
