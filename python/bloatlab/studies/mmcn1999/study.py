"""The study as one command: run the queues, judge the orderings, draw, bind. `kit.bind` says what it leaves in its folder."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from bloatlab.scenario import Scenario
from bloatlab.studies.kit import begin, bind, by_case, of_first_seed, scenarios_of, simulate
from bloatlab.studies.mmcn1999 import figures
from bloatlab.studies.mmcn1999.build import (
    Case,
    build,
    experiment_cases,
    main_cases,
    names,
    second_reading,
    sensitivity_cases,
)
from bloatlab.studies.mmcn1999.measure import measure, series
from bloatlab.studies.mmcn1999.page import SENSITIVITY_SEEDS, Reproduction, page
from bloatlab.studies.mmcn1999.scorecard import findings, scorecard
from bloatlab.studies.mmcn1999.small import Small, build_small, measure_small, series_small, small_cases
from bloatlab.studies.registry import Options
from bloatlab.sweep import At, Gathered, Measure

QUICK_SEEDS = 2
QUICK_WARNING = "A quick look: two seeds. The orderings are asked of ten, so this proves nothing."

MEASURED = Measure("mmcn1999", measure, series)
SMALL = Measure("mmcn1999-small", measure_small, series_small)


def reproduce(options: Options) -> Reproduction:
    """Run, judge and write the folder `options.out`. Raises `KeyError` for an unknown experiment, before anything runs."""
    asked = {name: experiment_cases(name) for name in options.experiments if name != "sensitivity"}
    begun = begin(options, "mmcn1999", "9 queues", QUICK_SEEDS, QUICK_WARNING)
    seeds, few = begun.seeds, begun.few(SENSITIVITY_SEEDS)
    small = _run_small(seeds, options)
    ran = [
        _run([*main_cases(), *second_reading()], seeds, options, "nine queues"),
        _run(sensitivity_cases(), few, options, "sensitivity"),
        small,
        *(_run(cases, few, options, name) for name, cases in asked.items()),
    ]
    runs = {key: rows for r in ran for key, rows in by_case(r).items()}
    first = of_first_seed(ran[0])
    card = scorecard(runs, len(seeds), proves_nothing=begun.proves_nothing)
    done = Reproduction(
        scorecard=card,
        claims=findings(runs),
        runs_by_key=runs,
        tcp={key: frames["tcp"] for key, (_, frames) in first.items()},
        experiments={name: names(cases) for name, cases in asked.items()},
        **begun.taken(*ran),
    )
    _write(done, ran, small)
    return done


def _run_small(seeds: range, options: Options) -> Gathered[At]:
    def scenario(case: Small, seed: int) -> Scenario:
        return build_small(case, seed)

    return simulate(small_cases(), scenario, seeds, SMALL, options, "small networks")


def _run(cases: Sequence[Case], seeds: range, options: Options, what: str) -> Gathered[At]:
    def scenario(case: Case, seed: int) -> Scenario:
        return build(case, seed)

    return simulate(cases, scenario, seeds, MEASURED, options, what)


def _write(done: Reproduction, ran: Sequence[Gathered[At]], small: Gathered[At]) -> None:
    """The study's folder."""
    two_ftp = {key: frames for key, (_, frames) in of_first_seed(small).items() if frames}
    drawings = figures.draw(done.tcp, two_ftp, done.runs_by_key)
    rows = pl.concat([r.frame() for r in ran], how="diagonal_relaxed")
    bind(done, page(done, drawings), drawings, rows, scenarios_of(ran[0]))
