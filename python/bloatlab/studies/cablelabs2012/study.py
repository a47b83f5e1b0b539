"""The study as one command: run the cases, compare, draw, bind. `kit.bind` says what it leaves in its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import polars as pl

from bloatlab.scenario import Scenario
from bloatlab.simulation import Result
from bloatlab.studies.cablelabs2012 import figures
from bloatlab.studies.cablelabs2012.build import SECONDS, build, scenario_name
from bloatlab.studies.cablelabs2012.cases import by_case_key
from bloatlab.studies.cablelabs2012.claims import CLAIMS, without_pages
from bloatlab.studies.cablelabs2012.compare import explained, scorecard, wanted
from bloatlab.studies.cablelabs2012.experiments import (
    READINGS,
    Trial,
    alone,
    plateau,
    read,
    tables,
    trials,
    with_pages,
)
from bloatlab.studies.cablelabs2012.measure import Measures, measure
from bloatlab.studies.cablelabs2012.page import Reproduction, page
from bloatlab.studies.claims import check_all
from bloatlab.studies.kit import begin, bind, by_case, of_first_seed, scenarios_of, simulate
from bloatlab.studies.registry import Options
from bloatlab.studies.scorecard import Scorecard
from bloatlab.sweep import At, Gathered, Measure

QUICK_SECONDS = 60
QUICK_SEEDS = 2
QUICK_WARNING = (
    f"A quick look: {QUICK_SECONDS} s instead of {SECONDS} s and {QUICK_SEEDS} seeds. The published values are of "
    f"{SECONDS} s, so no agreement or difference here proves anything."
)

#: Seeds of an experiment without published values.
EXPERIMENT_SEEDS = 3

_Runs = dict[str, list[Measures]]
_Ran = Gathered[At]


def reproduce(options: Options) -> Reproduction:
    """Run the cases (and the experiments asked for), compare, and write the folder `options.out`.

    Raises `KeyError` for an unknown experiment, before anything runs.
    """
    names = dict.fromkeys(n for name in options.experiments for n in (READINGS if name == "readings" else [name]))
    asked = {name: trials(name) for name in names}
    begun = begin(options, "cablelabs2012", "27 cases and 12 more", QUICK_SEEDS, QUICK_WARNING)
    main = _run([*tables(), *plateau()], begun.seeds, options, "tables and figures", FIGURES)
    extra_seeds = begun.few(EXPERIMENT_SEEDS)
    extra = {
        name: _run(given, begun.seeds if name in READINGS else extra_seeds, options, name)
        for name, given in asked.items()
    }
    peak = _run(alone(), begun.seeds, options, "transfers alone")

    runs: _Runs = by_case(main)
    own = {t.key: runs[t.key] for t in tables()}
    card = scorecard(own, proves_nothing=begun.proves_nothing)
    causes = {} if options.quick else _causes(card, extra_seeds, options)
    card = explained(card, own, {name: _case_keys(r) for name, r in causes.items()})
    ran = [main, peak, *extra.values(), *causes.values()]
    done = Reproduction(
        scorecard=card,
        claims=without_pages(check_all(CLAIMS, runs), {with_pages(key): rows for key, rows in by_case(peak).items()}),
        paper=runs,
        experiments={name: by_case(r) for name, r in extra.items()},
        readings={name: scorecard(_case_keys(extra[name])) for name in asked if name in READINGS},
        **begun.taken(*ran),
    )
    _write(done, ran)
    return done


def _causes(card: Scorecard, seeds: range, options: Options) -> dict[str, _Ran]:
    """The readings that could explain what differs, run for the rows in question."""
    return {
        name: _run([read(name, by_case_key()[key]) for key in keys], seeds, options, f"why: {name}")
        for name, keys in wanted(card).items()
    }


def _case_keys(ran: _Ran) -> _Runs:
    """The measures of a reading by the key of the case."""
    rows = ran.rows()
    return {
        cast("Trial", at["case"]).case.key: [cast("Measures", dict(r)) for r in given] for at, given in rows.items()
    }


def _series(result: Result) -> Mapping[str, pl.DataFrame]:
    """Of the first seed of the cases that figures draw, the series that they draw; of the others nothing."""
    drawn = {scenario_name(c) for c in figures.needed()}
    return figures.keep(result) if result.seed == 1 and result.scenario.name in drawn else {}


#: What is kept of a run, and what of one whose figures may be drawn.
CELLS = Measure("cablelabs2012", measure)
FIGURES = Measure("cablelabs2012-figures", measure, _series)


def _run(given: Sequence[Trial], seeds: range, options: Options, what: str, measured: Measure = CELLS) -> _Ran:
    """Every trial with every seed."""

    def scenario(case: Trial, seed: int) -> Scenario:
        return build(case.case, seed, case.setup.with_(seconds=QUICK_SECONDS) if options.quick else case.setup)

    return simulate(given, scenario, seeds, measured, options, what)


def _write(done: Reproduction, ran: Sequence[_Ran]) -> None:
    """The study's folder."""
    main = of_first_seed(ran[0])
    drawings = figures.draw({key: frames for key, (_, frames) in main.items() if frames})
    rows = pl.concat([r.frame() for r in ran], how="diagonal_relaxed")
    bind(done, page(done, drawings), drawings, rows, scenarios_of(ran[0]))
