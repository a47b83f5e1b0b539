"""The study declared: its queues, its published values, its claims, its tables and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from bloatlab.studies import page
from bloatlab.studies.claims import medians
from bloatlab.studies.mmcn1999 import figures, tables
from bloatlab.studies.mmcn1999.answer import answer
from bloatlab.studies.mmcn1999.build import (
    EXPERIMENTS,
    build,
    experiment_cases,
    main_cases,
    second_reading,
    sensitivity_cases,
)
from bloatlab.studies.mmcn1999.claims import CLAIMS
from bloatlab.studies.mmcn1999.measure import measure, series
from bloatlab.studies.mmcn1999.scorecard import GOALS, RULES, cells
from bloatlab.studies.mmcn1999.scorecard import __doc__ as rules
from bloatlab.studies.mmcn1999.small import build_small, measure_small, series_small, small_cases
from bloatlab.studies.study import About, Batch, Options, PageSection, Publication, Quick, Results, Study
from bloatlab.sweep import Measure
from bloatlab.tables import TextTable

MEASURED = Measure("mmcn1999", measure, series)
SMALL = Measure("mmcn1999-small", measure_small, series_small)

#: Seeds of what is reported and not gated.
FEW = 2

#: Names of the batches.
QUEUES, SENSITIVITY, NETWORKS = "nine queues", "sensitivity", "small networks"


def batches(options: Options) -> list[Batch]:
    """The queues, what they depend on, the small networks, and the experiments that are asked for."""
    asked = [name for name in options.experiments if name != SENSITIVITY]
    return [
        Batch(name=QUEUES, cases=[*main_cases(), *second_reading()], build=build, measure=MEASURED),
        Batch(name=SENSITIVITY, cases=sensitivity_cases(), build=build, measure=MEASURED, most_seeds=FEW),
        Batch(name=NETWORKS, cases=small_cases(), build=build_small, measure=SMALL),
        *(
            Batch(name=name, cases=experiment_cases(name), build=build, measure=MEASURED, most_seeds=FEW)
            for name in asked
        ),
    ]


def _tcp(results: Results) -> Mapping[str, pl.DataFrame]:
    """TCP over time of the first seed, by queue."""
    return {key: frames["tcp"] for key, frames in results.ran[QUEUES].frames.items()}


def _queues(results: Results) -> list[TextTable]:
    return [tables.schemes_table(results.runs), tables.gates_table(results.scorecard), tables.state_table(results.runs)]


def _beyond(results: Results) -> list[TextTable]:
    """The small networks, the sensitivity, and the experiments that were asked for."""
    note = f"Two things at once are never changed. {FEW} seeds."
    return [
        tables.small_table(results.runs),
        tables.cases_table("Sensitivity", results.runs, sensitivity_cases(), note=note),
        *(
            tables.cases_table(EXPERIMENTS[name], results.runs, experiment_cases(name), voice=name == "classes")
            for name in results.asked
            if name != SENSITIVITY
        ),
    ]


def _slides(results: Results) -> list[TextTable]:
    return [tables.rows_table(results.scorecard)]


def _tables(results: Results) -> Sequence[TextTable]:
    """The study's own, then the orders and every number of the slides."""
    queues, gates, state = _queues(results)
    return [queues, state, *_beyond(results), gates, *_slides(results)]


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
        "respond. One queue with accounts per class (CBT) is to protect TCP from the blast and the conferences from both, with "
        "less state than accounts per flow (FRED) or queues per class (CBQ).",
    ),
    batches=batches,
    extent=lambda _: "9 queues",
    quick=Quick(2, "A quick look: two seeds. The orderings are asked of ten, so this proves nothing."),
    experiments=EXPERIMENTS,
    cells=cells,
    goals=GOALS,
    rules=RULES,
    claims=CLAIMS,
    answer=lambda results: answer(results.runs, _tcp(results), results.seeds),
    tables=_tables,
    figures=lambda results: figures.draw(_tcp(results), results.ran[NETWORKS].frames, results.runs),
    sections=[
        PageSection("Nine queues", "queues", _queues,
             "The slides’ five queues, the class thresholds that follow active flows (D-CBT), and what one would use today with its defaults."),
        page.figures("The blast lasts from 20 to 60 s. Dashed, in the colour of its queue: what the slides’ chart shows, as a machine read it."),
        page.claims("The sentences of the slides, and below them what is expected from memory or by arithmetic, which is not counted."),
        PageSection("The slides", "slides", _slides,
             "Chart numbers of the slides were recovered by a machine: three tables of one figure disagree, and an axis is labelled kbps for kB/s."),
        PageSection("What it depends on", "beyond", _beyond),
        page.rules("Rules", rules),
    ],
    data=lambda results: {"medians": medians(results.runs)},
)  # fmt: skip
