"""The study: its grids, published statements, claims, tables and figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from bloatlab.report import Drawn, TableBlock
from bloatlab.studies import page
from bloatlab.studies.scte2013 import figures
from bloatlab.studies.scte2013.build import SECONDS
from bloatlab.studies.scte2013.claims import CLAIMS, DECLARED
from bloatlab.studies.scte2013.experiments import ALWAYS, ASKED, CDF, TEXT, Experiment, key
from bloatlab.studies.scte2013.measure import cdf, measure
from bloatlab.studies.scte2013.pages import answer, experiment_table, unknowns_table
from bloatlab.studies.scte2013.rules import GOALS, cells
from bloatlab.studies.study import Batch, Options, Results
from bloatlab.studies.tables import shares_table, statements_table
from bloatlab.sweep import Measure

QUICK = DECLARED.quick(full=SECONDS)

#: Maximum number of seeds for the experiments that are not in `ALWAYS`. The paper's figures do not need these
#: experiments.
EXPERIMENT_SEEDS = 3

#: `CELLS` reduces a run to its measures. `DISTRIBUTIONS` also keeps the distributions for the figures.
CELLS = Measure("scte2013", measure)
DISTRIBUTIONS = Measure("scte2013-cdf", measure, cdf)


def _batches(options: Options) -> list[Batch]:
    """Returns the batches: the distributions, the grids for claims and statements, and the requested experiments."""
    seconds = QUICK.seconds if options.quick else None
    drawn = Batch(name=CDF.name, measure=DISTRIBUTIONS, grid=lambda seeds: CDF.grid(seeds, seconds), key=key, apart=True,
                  columns=None)  # fmt: skip
    return [drawn, *(_batch(experiment, seconds) for experiment in _made(options.experiments))]


def _made(asked: Sequence[str]) -> list[Experiment]:
    """Returns the grids that always run, and the requested grids."""
    return [*ALWAYS, *TEXT, *(e for name in asked if (e := ASKED[name]) not in (*ALWAYS, *TEXT))]


def _batch(experiment: Experiment, seconds: int | None) -> Batch:
    return Batch(
        name=experiment.name,
        measure=CELLS,
        grid=lambda seeds: experiment.grid(seeds, seconds),
        key=lambda at: f"{experiment.name} {key(at)}",
        most_seeds=None if experiment in ALWAYS else EXPERIMENT_SEEDS,
        columns={"experiment": experiment.name},
    )


# -------------------------------------------------------------------------------------------------------------- results


def _figures(results: Results) -> Sequence[Drawn]:
    drawn = results.ran[CDF.name].gathered
    distributions: dict[str, list[pl.DataFrame]] = {}
    for point, value in zip(drawn.points, drawn.values, strict=True):
        distributions.setdefault(str(point.key["series"]), []).append(value.frames["delay"])
    return figures.draw(results.runs, distributions)


def _experiments(results: Results) -> Iterable[TableBlock]:
    for e in _made(results.options.experiments):
        yield TableBlock(experiment_table(e, results.runs), folded=len(e.places()) > 20)


#: Functions that make the blocks of the page's sections, by the sections' anchors. Sections not listed here use
#: `page.SHARED`.
BLOCKS: Mapping[str, page.Blocks] = {
    "statements": lambda results: [
        statements_table(results.scorecard, "All quantitative statements, in the order of the paper")
    ],
    "differs": page.differences({}),
    "beyond": _experiments,
    "rules": lambda results: [unknowns_table(), TableBlock(shares_table(results.scorecard), folded=True)],
}

STUDY = DECLARED.study(
    BLOCKS,
    batches=_batches,
    extent=lambda _: f"{sum(len(e.places()) for e in ALWAYS)} places",
    quick=QUICK,
    experiments={name: e.what for name, e in ASKED.items()},
    cells=cells,
    goals=GOALS,
    claims=CLAIMS,
    answer=lambda results: answer(results.runs, results.seeds),
    figures=_figures,
)
