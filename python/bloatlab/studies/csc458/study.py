"""The study declared: its runs, its published values, its claims, its tables and figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from bloatlab.report import Drawn
from bloatlab.scenario import Scenario
from bloatlab.simulation import Result
from bloatlab.studies import page
from bloatlab.studies.csc458 import figures, tables
from bloatlab.studies.csc458.answer import answer
from bloatlab.studies.csc458.build import (
    EXPERIMENTS,
    JITTER_SECONDS,
    NIC,
    Case,
    Lab,
    build,
    cases,
    experiment_cases,
    live_cases,
    network_card,
)
from bloatlab.studies.csc458.claims import CLAIMS
from bloatlab.studies.csc458.measure import Measures, measure, series
from bloatlab.studies.csc458.scorecard import PUBLISHED, RULES, in_second_reading
from bloatlab.studies.csc458.scorecard import __doc__ as rules
from bloatlab.studies.scorecard import Goal
from bloatlab.studies.study import About, Batch, OnKernels, Options, PageSection, Publication, Quick, Results, Study
from bloatlab.sweep import Measure
from bloatlab.tables import TextTable

QUICK_SECONDS = 20
QUICK = Quick(
    2,
    f"A quick look: {QUICK_SECONDS} s instead of {Lab().seconds} s and 2 seeds. A window at Q = 100 takes longer "
    "than that from one loss to the next, so no agreement or difference here proves anything.",
)


def _reduced(result: Result) -> Measures:
    """One run's measures; the network card of equation (1) has only a wait."""
    if result.scenario.name == NIC:
        return {"wait_max_s": result.summary["links"][NIC]["sojourn_ms"]["max"] / 1e3}
    return measure(result)


def _kept(result: Result) -> Mapping[str, pl.DataFrame]:
    """Of the first seed of the cases that figures draw, the series that they draw; of the others nothing."""
    drawn = {f"csc458 {case.key}" for case in figures.needed()}
    return series(result) if result.seed == 1 and result.scenario.name in drawn else {}


MEASURE = Measure("csc458", _reduced, _kept)


def _lab(options: Options) -> Lab:
    return Lab(seconds=QUICK_SECONDS) if options.quick else Lab()


def _scenario(case: Case | str, seed: int, *, lab: Lab) -> Scenario:
    return network_card(seed) if isinstance(case, str) else build(case, seed, lab)


def batches(options: Options) -> list[Batch]:
    """All cases and the network card; the experiments that are asked for, longer and with three seeds at most."""
    lab = _lab(options)
    long = lab if options.quick else replace(lab, seconds=JITTER_SECONDS)
    main = Batch(name="all cases", cases=[*cases(), NIC], build=partial(_scenario, lab=lab), measure=MEASURE)
    return [
        main,
        *(
            Batch(name=name, cases=experiment_cases(name), build=partial(_scenario, lab=long), measure=MEASURE,
                  most_seeds=3, apart=True, columns=None)
            for name in options.experiments
        ),
    ]  # fmt: skip


def _live(options: Options) -> Mapping[str, Scenario]:
    return {case.key: build(case, 1, _lab(options)) for case in live_cases()}


def _extent(options: Options) -> str:
    return f"{len(cases())} cases of {_lab(options).seconds} s"


# -------------------------------------------------------------------------------------------------------- what it shows


def _readings(results: Results) -> TextTable:
    return tables.readings_table(results.claims, STUDY.check(in_second_reading(results.runs)))


def _published(results: Results) -> list[TextTable]:
    return [tables.published_table(results.scorecard), tables.cases_table(results.runs)]


def _kernels(results: Results) -> Iterable[TextTable]:
    return [] if results.live is None else [tables.live_table(results.runs, results.live)]


def _experiments(results: Results) -> Sequence[TextTable]:
    return [tables.experiment_table(name, results.ran[name].runs) for name in results.asked]


def _tables(results: Results) -> list[TextTable]:
    """Published beside ours, every case, the kernels and the experiments that were asked for."""
    return [*_published(results), *_kernels(results), *_experiments(results), _readings(results)]


def _figures(results: Results) -> Sequence[Drawn]:
    return figures.draw(results.ran["all cases"].frames)


def _data(results: Results) -> Mapping[str, Any]:
    second = STUDY.check(in_second_reading(results.runs))
    return {"claims_by_duplicate_acks": [claim.as_data() for claim in second]}


STUDY = Study(
    name="csc458",
    publication=Publication(
        "The Mininet bufferbloat lab (CSC458, University of Toronto)",
        "Z. Zhang: CSC458 Programming Assignment 2 Report: Bufferbloat Problem. University of Toronto.",
    ),
    about=About(
        "The Mininet bufferbloat lab",
        "CSC458’s second assignment, packet by packet and on kernels",
        "A home computer sends to a server through 10 Mbit/s with 5, 20 or 100 packets of buffer, pings it ten times a second, and "
        "serves it a page every two seconds. The lab’s own Mininet kit shows round trips twice those of the report’s equation (2): "
        "its queues count super-segments of two segments as one packet. Here both ways stand side by side.",
    ),
    batches=batches,
    extent=_extent,
    quick=QUICK,
    experiments=EXPERIMENTS,
    on_kernels=OnKernels(_live, measure),
    published=PUBLISHED,
    goals=[Goal("published numbers", 0.75)],
    rules=RULES,
    claims=CLAIMS,
    answer=lambda results: answer(results.runs, results.seeds),
    tables=_tables,
    figures=_figures,
    sections=[
        PageSection("Every published number", "tables", _published,
             "Ours is the median over seeds, in brackets or on pressing a value the central 80 %. Each number has its verdict by what was "
             "accepted beforehand."),
        PageSection("On kernels", "live", _kernels,
             "The same scenarios on this machine’s kernel TCP, one run each. There a packet is a packet: compare live with the rows "
             "without x2. Published values are of super-segments."),
        PageSection("Beyond the report", "beyond", _experiments),
        page.figures("From seed 1, as the lab samples: queue and window each 0.1 s. Dashed: Q and 2 Q, equation (2) for both, and the "
                     "report’s mean."),
        page.claims("", _readings),
        page.rules("Rules and set-up", rules, more=lambda: [tables.setup_table()]),
    ],
    data=_data,
)  # fmt: skip
