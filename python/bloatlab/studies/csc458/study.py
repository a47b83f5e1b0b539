"""The study: its runs, published values, claims, tables and figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import polars as pl

from bloatlab.scenario import Scenario
from bloatlab.simulation import Result
from bloatlab.studies import page
from bloatlab.studies.csc458 import pages
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
from bloatlab.studies.csc458.measure import Measures, measure, series
from bloatlab.studies.csc458.rules import CLAIMS, PUBLISHED, RULES
from bloatlab.studies.csc458.rules import __doc__ as rules
from bloatlab.studies.scorecard import Goal
from bloatlab.studies.study import About, Batch, OnKernels, Options, PageSection, Publication, Quick, Study
from bloatlab.sweep import Measure

QUICK_SECONDS = 20


def _reduced(result: Result) -> Measures:
    """One run's measures; the network card of equation (1) has only a wait."""
    if result.scenario.name == NIC:
        return {"wait_max_s": result.summary["links"][NIC]["sojourn_ms"]["max"] / 1e3}
    return measure(result)


def _kept(result: Result) -> Mapping[str, pl.DataFrame]:
    """The series that figures draw, of the first seed of the drawn cases."""
    drawn = {f"csc458 {case}" for case in pages.needed()}
    return series(result) if result.seed == 1 and result.scenario.name in drawn else {}


MEASURE = Measure("csc458", _reduced, _kept)


def _lab(options: Options) -> Lab:
    return Lab(seconds=QUICK_SECONDS) if options.quick else Lab()


def _scenario(case: Case | str, seed: int, *, lab: Lab) -> Scenario:
    return network_card(seed) if isinstance(case, str) else build(case, seed, lab)


def batches(options: Options) -> list[Batch]:
    """All cases and the network card; the requested experiments, longer and with three seeds at most."""
    lab = _lab(options)
    long = partial(_scenario, lab=lab if options.quick else replace(lab, seconds=JITTER_SECONDS))
    return [
        Batch(name="all cases", cases=[*cases(), NIC], build=partial(_scenario, lab=lab), measure=MEASURE),
        *(
            Batch(name=name, cases=experiment_cases(name), build=long, measure=MEASURE, most_seeds=3, apart=True, columns=None)
            for name in options.experiments
        ),
    ]  # fmt: skip


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
        "its queues count super-segments of two segments as one packet. This page shows both ways.",
    ),
    batches=batches,
    extent=lambda options: f"{len(cases())} cases of {_lab(options).seconds} s",
    quick=Quick(
        2,
        f"A quick look: {QUICK_SECONDS} s instead of {Lab().seconds} s and 2 seeds. A window at Q = 100 takes longer "
        "than that from one loss to the next, so no agreement or difference here proves anything.",
    ),
    experiments=EXPERIMENTS,
    on_kernels=OnKernels(lambda options: {str(c): build(c, 1, _lab(options)) for c in live_cases()}, measure),
    published=PUBLISHED,
    goals=[Goal("published numbers", 0.75)],
    rules=RULES,
    claims=CLAIMS,
    answer=lambda results: pages.answer(results.runs, results.seeds),
    tables=pages.tables,
    figures=lambda results: pages.figures(results.ran["all cases"].frames),
    sections=[
        PageSection("Every published number", "tables", pages.published_tables,
             "Ours is the median over seeds; the central 80 % is in brackets, or shown when a value is pressed. Each number has its "
             "verdict by the range accepted beforehand."),
        PageSection("On kernels", "live", pages.live_tables,
             "The same scenarios on this machine’s kernel TCP, one run each, with ordinary packets: compare live with the rows "
             "without x2. Published values are of super-segments."),
        PageSection("Beyond the report", "beyond", pages.experiment_tables),
        page.figures("From seed 1, as the lab samples: queue and window every 0.1 s. Dashed: Q and 2 Q, equation (2) for both, and the "
                     "report’s mean."),
        page.claims("", pages.readings_table),
        page.rules("Rules and set-up", rules, more=lambda: [pages.setup_table()]),
    ],
    data=lambda results: {"claims_by_duplicate_acks": [claim.as_data() for claim in pages.readings(results)]},
)  # fmt: skip
