"""The study: its runs, published values, claims, tables and figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import polars as pl

from bloatlab.scenario import Scenario
from bloatlab.simulation import Result
from bloatlab.studies.csc458 import pages
from bloatlab.studies.csc458.build import (
    DECLARED,
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
from bloatlab.studies.scorecard import Goal
from bloatlab.studies.study import Batch, OnKernels, Options
from bloatlab.sweep import Measure

QUICK = DECLARED.quick(full=Lab().seconds)


def _reduced(result: Result) -> Measures:
    """Measures one run. The run for equation (1) has only one measure, the longest wait."""
    if result.scenario.name == NIC:
        return {"wait_max_s": result.summary["links"][NIC]["sojourn_ms"]["max"] / 1e3}
    return measure(result)


def _kept(result: Result) -> Mapping[str, pl.DataFrame]:
    """Returns the series for the figures if the run has seed 1 and its case is in a figure; otherwise no series."""
    drawn = {f"csc458 {case}" for case in pages.needed()}
    return series(result) if result.seed == 1 and result.scenario.name in drawn else {}


MEASURE = Measure("csc458", _reduced, _kept)


def _lab(options: Options) -> Lab:
    return Lab(seconds=QUICK.seconds or 0) if options.quick else Lab()


def _scenario(case: Case | str, seed: int, *, lab: Lab) -> Scenario:
    return network_card(seed) if isinstance(case, str) else build(case, seed, lab)


def batches(options: Options) -> list[Batch]:
    """Returns a batch of all cases, including the network card, and a batch for each requested experiment.

    Experiments have at most three seeds and, except in a quick look, longer runs.
    """
    lab = _lab(options)
    long = partial(_scenario, lab=lab if options.quick else replace(lab, seconds=JITTER_SECONDS))
    return [
        Batch(name="all cases", cases=[*cases(), NIC], build=partial(_scenario, lab=lab), measure=MEASURE),
        *(
            Batch(name=name, cases=experiment_cases(name), build=long, measure=MEASURE, most_seeds=3, apart=True, columns=None)
            for name in options.experiments
        ),
    ]  # fmt: skip


STUDY = DECLARED.study(
    pages.BLOCKS,
    batches=batches,
    extent=lambda options: f"{len(cases())} cases of {_lab(options).seconds} s",
    quick=QUICK,
    experiments=EXPERIMENTS,
    on_kernels=OnKernels(lambda options: {str(c): build(c, 1, _lab(options)) for c in live_cases()}, measure),
    published=PUBLISHED,
    goals=[Goal("published numbers", 0.75)],
    rules=RULES,
    claims=CLAIMS,
    answer=lambda results: pages.answer(results.runs, results.seeds),
    figures=lambda results: pages.figures(results.ran["all cases"].frames),
    data=lambda results: {"claims_by_duplicate_acks": [claim.as_data() for claim in pages.readings(results)]},
)
