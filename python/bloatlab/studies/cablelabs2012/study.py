"""The study as one command: run the cases, compare, draw, bind. `kit.bind` says what it leaves in its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import polars as pl

from bloatlab.report import Answer
from bloatlab.scenario import Scenario
from bloatlab.simulation import Result
from bloatlab.studies.cablelabs2012 import figures, layout
from bloatlab.studies.cablelabs2012.answer import answer
from bloatlab.studies.cablelabs2012.build import SECONDS, build, scenario_name
from bloatlab.studies.cablelabs2012.cases import by_case_key
from bloatlab.studies.cablelabs2012.claims import CLAIMS, without_pages
from bloatlab.studies.cablelabs2012.compare import explained, scorecard, wanted
from bloatlab.studies.cablelabs2012.experiments import (
    EXPERIMENTS,
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
from bloatlab.studies.cablelabs2012.page import page
from bloatlab.studies.cablelabs2012.readback import read_back
from bloatlab.studies.claims import check_all
from bloatlab.studies.kit import Reproduced, begin, bind, by_case, of_first_seed, scenarios_of, simulate
from bloatlab.studies.registry import Options
from bloatlab.studies.scorecard import Scorecard
from bloatlab.sweep import At, Gathered, Measure
from bloatlab.tables import TextTable

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


@dataclass(frozen=True, kw_only=True)
class Reproduction(Reproduced):
    """The study reproduced."""

    paper: Mapping[str, Sequence[Measures]]
    experiments: Mapping[str, Mapping[str, Sequence[Measures]]]
    #: The readings that were asked for, each judged by the study's rules.
    readings: Mapping[str, Scorecard]

    def as_data(self) -> dict[str, Any]:
        """The scorecard as JSON, with the paper's parameters read back and the shares of the readings that were asked for."""
        data = super().as_data() | {"parameters": [p.as_data() for p in read_back()]}
        if not self.readings:
            return data
        shares = {
            name: {s.name: s.as_data() for s in card.shares} | {"seeds": card.seeds}
            for name, card in self.readings.items()
        }
        return data | {"readings": shares}

    def tables(self) -> Sequence[TextTable]:
        """Tables 3 to 8, and the experiments that were asked for."""
        given = {name: runs for name, runs in self.experiments.items() if name not in self.readings}
        asked = [
            t
            for name, runs in given.items()
            for t in layout.experiment_tables(name, EXPERIMENTS[name], runs, self.paper)
        ]
        readings = [layout.readings_table(self.scorecard, self.readings)] if self.readings else []
        return [*layout.blocks(self.scorecard), *asked, *readings]

    def answer(self) -> Answer:
        """Whether CoDel is better than a small buffer, and for whom."""
        return answer(self.paper, self.scorecard.seeds)


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
