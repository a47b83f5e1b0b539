"""The study: its runs, published values, claims, tables and figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from bloatlab.report import Block, Prose, TableBlock
from bloatlab.scenario import Scenario
from bloatlab.simulation import Result
from bloatlab.studies import page
from bloatlab.studies.cablelabs2012 import experiments, figures, pages
from bloatlab.studies.cablelabs2012.build import build, scenario_name
from bloatlab.studies.cablelabs2012.claims import CLAIMS, without_pages
from bloatlab.studies.cablelabs2012.experiments import EXPERIMENTS, READINGS, Trial
from bloatlab.studies.cablelabs2012.measure import measure
from bloatlab.studies.cablelabs2012.published import DECLARED, DIGITS
from bloatlab.studies.cablelabs2012.rules import GOALS, RULES, cells, explained, parameters_table, read_back, wanted
from bloatlab.studies.claims import Runs
from bloatlab.studies.scorecard import Cell, Scorecard, Verdict
from bloatlab.studies.study import Batch, Options, Ran, Results
from bloatlab.sweep import Measure
from bloatlab.tables import TextTable, counted
from bloatlab.workloads.cable_home import SECONDS
from bloatlab.workloads.cable_loads import grid

QUICK = DECLARED.quick(full=SECONDS)

#: Maximum number of seeds for an experiment without published values, or for a reading that could explain a difference.
EXPERIMENT_SEEDS = 3

#: Number of seeds that the rules assume. With fewer seeds, the study does not add runs with other readings of the paper
#: (see `experiments.Reading`) that could explain a difference.
RULES_SEEDS = 10

#: Names of the two batches that always run, and the prefix of the names of the batches that could explain differences.
MAIN, ALONE, WHY = "tables and figures", "transfers alone", "why: "


def _series(result: Result) -> Mapping[str, pl.DataFrame]:
    """Returns the series for the figures if the run has seed 1 and its case is in a figure; otherwise no series."""
    drawn = {scenario_name(c) for c in figures.needed()}
    return figures.keep(result) if result.seed == 1 and result.scenario.name in drawn else {}


#: `CELLS` reduces a run to its measures. `FIGURES` also keeps the time series of a run if a figure shows them.
CELLS = Measure("cablelabs2012", measure)
FIGURES = Measure("cablelabs2012-figures", measure, _series)


def _build(trial: Trial, seed: int, *, quick: bool = False) -> Scenario:
    return build(trial.case, seed, replace(trial.setup, seconds=QUICK.seconds or SECONDS) if quick else trial.setup)


def batches(options: Options) -> list[Batch]:
    """Returns the batches.

    One batch is for tables and figures, one contains the transfers without page loads, and each requested experiment
    has its own batch.
    """
    build = partial(_build, quick=options.quick)
    names = dict.fromkeys(n for name in options.experiments for n in (READINGS if name == "readings" else [name]))
    return [
        Batch(name=MAIN, cases=[*experiments.tables(), *experiments.plateau()], build=build, measure=FIGURES),
        Batch(name=ALONE, cases=experiments.alone(), build=build, measure=CELLS, apart=True),
        *(
            Batch(name=name, cases=experiments.trials(name), build=build, measure=CELLS, apart=True,
                  most_seeds=None if name in READINGS else EXPERIMENT_SEEDS)
            for name in names
        ),
    ]  # fmt: skip


def further(results: Results) -> list[Batch]:
    """Returns a batch for each reading of the paper that could explain a difference.

    The batch contains the rows of Table 2 with such differences, each with all three queues.
    """
    cases = {case.key: case for case in grid()}
    return [
        Batch(name=f"{WHY}{name}", cases=[experiments.read(name, cases[key]) for key in keys], build=_build, measure=CELLS,
              apart=True, most_seeds=EXPERIMENT_SEEDS)
        for name, keys in wanted(results.scorecard.cells).items()
    ]  # fmt: skip


def _of_cases(ran: Ran) -> Runs:
    """Returns the measures of the runs made with one reading of the paper, by case key."""
    return {at["case"].case.key: rows for at, rows in ran.gathered.rows().items()}


def _explain_cells(results: Results, found: Sequence[Cell]) -> Sequence[Cell]:
    readings = {name.removeprefix(WHY): _of_cases(ran) for name, ran in results.ran.items() if name.startswith(WHY)}
    return explained(found, results.runs, readings)


# -------------------------------------------------------------------------------------------------------------- results


def _readings(results: Results) -> dict[str, Scorecard]:
    """Returns a scorecard for each requested reading of the paper, judged by the study's rules."""
    return {
        name: STUDY.scorecard(_of_cases(results.ran[name]), results.proves_nothing)
        for name in results.asked
        if name in READINGS
    }


def _experiment(results: Results, name: str) -> list[TextTable]:
    return pages.experiment_tables(name, results.ran[name].runs, results.runs)


def _tables(results: Results) -> Sequence[TextTable]:
    """Makes Tables 3 to 8, and tables for the requested experiments."""
    readings = _readings(results)
    asked = [table for name in results.asked if name not in readings for table in _experiment(results, name)]
    judged = readings and not results.proves_nothing
    compared = [pages.readings_table(results.scorecard, readings)] if judged else []
    return [*pages.paper_tables(results.scorecard, terminal=True), *asked, *compared]


def _disciplines(results: Results) -> Iterable[TextTable]:
    return _experiment(results, "disciplines") if "disciplines" in results.asked else []


def _beyond(results: Results) -> Iterable[Block]:
    readings = _readings(results)
    if readings and not results.proves_nothing:
        yield TableBlock(pages.readings_table(results.scorecard, readings))
    for name in results.asked:
        if name != "disciplines":
            yield from (TableBlock(table, folded=True) for table in _experiment(results, name))


def _data(results: Results) -> Mapping[str, Any]:
    """Returns the study's additional data for JSON.

    The data are the paper's parameters compared with those in our scenarios, and, for each reading of the paper that
    was requested, the shares of values within tolerance.
    """
    shares = {
        name: {s.name: s.as_data() for s in card.shares} | {"seeds": card.seeds}
        for name, card in _readings(results).items()
    }
    parameters = [
        {
            "parameter": f"{c.case}: {c.metric}",
            "unit": c.unit,
            "published": c.printed,
            "ours": c.ours,
            "agrees": c.verdict is Verdict.PARAMETER,
        }
        for c in read_back()
    ]
    return {"parameters": parameters, **({"readings": shares} if shares else {})}


def _paper_tables(results: Results) -> Iterable[TextTable | Block]:
    seeds = results.options.seeds
    if seeds < RULES_SEEDS and not results.proves_nothing:
        yield Prose([DECLARED.text("few_seeds", seeds=counted(seeds, "seed"), rules=RULES_SEEDS)])
    yield from pages.paper_tables(results.scorecard)


#: By section anchor, the functions that make the blocks of the page's sections. `page.SHARED` has those left out here.
BLOCKS: Mapping[str, page.Blocks] = {
    "tables": _paper_tables,
    "differs": page.differences(DIGITS),
    "disciplines": _disciplines,
    "beyond": _beyond,
    "rules": DECLARED.rules(lambda: [pages.unknowns_table(), parameters_table()]),
}

STUDY = DECLARED.study(
    BLOCKS,
    batches=batches,
    extent=lambda _: "27 cases and 12 more",
    quick=QUICK,
    experiments=EXPERIMENTS,
    further=further,
    further_from=RULES_SEEDS,
    explain_cells=_explain_cells,
    explain_claims=lambda results, claims: without_pages(
        claims, {experiments.with_pages(key): rows for key, rows in results.ran[ALONE].runs.items()}
    ),
    cells=cells,
    goals=GOALS,
    rules=RULES,
    claims=CLAIMS,
    answer=lambda results: pages.answer(results.runs, results.seeds),
    tables=_tables,
    figures=lambda results: figures.draw(results.ran[MAIN].frames),
    data=_data,
)
