"""The study: its grids, published statements, claims, tables and figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from bloatlab.report import Drawn, TableBlock
from bloatlab.studies import page
from bloatlab.studies.scte2013 import figures
from bloatlab.studies.scte2013.build import SECONDS
from bloatlab.studies.scte2013.claims import CLAIMS
from bloatlab.studies.scte2013.experiments import ALWAYS, ASKED, CDF, TEXT, Experiment, key
from bloatlab.studies.scte2013.measure import cdf, measure
from bloatlab.studies.scte2013.pages import answer, experiment_table, unknowns_table
from bloatlab.studies.scte2013.rules import GOALS, cells
from bloatlab.studies.study import About, Batch, Options, PageSection, Publication, Quick, Results, Study
from bloatlab.studies.tables import shares_table, statements_table
from bloatlab.sweep import Measure
from bloatlab.tables import TextTable

QUICK_SECONDS = 60
QUICK = Quick(
    1,
    f"A quick look: {QUICK_SECONDS} s instead of {SECONDS} s and 1 seed. One sawtooth of ten flows takes half of "
    "that, so no agreement or difference here proves anything.",
)

#: Most seeds of an experiment outside `ALWAYS`, which the paper's figures do not need.
EXPERIMENT_SEEDS = 3

#: The measures of a run, and of one whose distributions are drawn.
CELLS = Measure("scte2013", measure)
DISTRIBUTIONS = Measure("scte2013-cdf", measure, cdf)


def _batches(options: Options) -> list[Batch]:
    """The distributions, the grids of claims and statements, and the requested experiments."""
    seconds = QUICK_SECONDS if options.quick else None
    drawn = Batch(name=CDF.name, measure=DISTRIBUTIONS, grid=lambda seeds: CDF.grid(seeds, seconds), key=key, apart=True,
                  columns=None)  # fmt: skip
    return [drawn, *(_batch(experiment, seconds) for experiment in _made(options.experiments))]


def _made(asked: Sequence[str]) -> list[Experiment]:
    """The grids that always run, and the requested ones."""
    return [*ALWAYS, *TEXT, *(e for name in asked if (e := ASKED[name]) not in (*ALWAYS, *TEXT))]


def _batch(experiment: Experiment, seconds: int | None) -> Batch:
    """Every place of a grid."""
    return Batch(
        name=experiment.name,
        measure=CELLS,
        grid=lambda seeds: experiment.grid(seeds, seconds),
        key=lambda at: f"{experiment.name} {key(at)}",
        most_seeds=None if experiment in ALWAYS else EXPERIMENT_SEEDS,
        columns={"experiment": experiment.name},
    )


# -------------------------------------------------------------------------------------------------------- what it shows


def _tables(results: Results) -> Sequence[TextTable]:
    """Every statement, and every experiment but the one that the figures show."""
    made = [e for e in _made(results.options.experiments) if e.name != "figures"]
    statements = statements_table(results.scorecard, "Every statement of the paper")
    return [statements, *(experiment_table(e, results.runs) for e in made)]


def _figures(results: Results) -> Sequence[Drawn]:
    drawn = results.ran[CDF.name].gathered
    distributions: dict[str, list[pl.DataFrame]] = {}
    for point, value in zip(drawn.points, drawn.values, strict=True):
        distributions.setdefault(str(point.key["series"]), []).append(value.frames["delay"])
    return figures.draw(results.runs, distributions)


def _experiments(results: Results) -> Iterable[TableBlock]:
    for e in _made(results.options.experiments):
        yield TableBlock(experiment_table(e, results.runs), folded=len(e.places()) > 20)


STUDY = Study(
    name="scte2013",
    publication=Publication(
        "Minimizing Bufferbloat and Optimizing Packet Stream Performance in DOCSIS 3.0 CMs and CMTSs (SCTE, 2013)",
        "T. Cloonan, J. Allen, T. Cotter, B. Widrevitz, J. Howe (ARRIS): Minimizing Bufferbloat and Optimizing Packet Stream "
        "Performance in DOCSIS 3.0 CMs and CMTSs. SCTE Cable-Tec Expo, 2013.",
    ),
    about=About(
        "Minimizing bufferbloat in DOCSIS 3.0 modems",
        "The SCTE paper of 2013 (ARRIS), reproduced packet by packet",
        "Ten file uploads and a game share the upstream of a cable modem. The buffer is varied from 20 ms to 1 s of the line's "
        "rate; it is managed by saturated tail-dropping (Type C), LRED (Type B), a queue for each session (Type A), and both. "
        "Every quantitative statement of the paper is compared with ours, by ranges fixed before the first run.",
    ),
    batches=_batches,
    extent=lambda _: f"{sum(len(e.places()) for e in ALWAYS)} places",
    quick=QUICK,
    experiments={name: e.what for name, e in ASKED.items()},
    cells=cells,
    goals=GOALS,
    claims=CLAIMS,
    answer=lambda results: answer(results.runs, results.seeds),
    tables=_tables,
    figures=_figures,
    sections=[
        page.claims("The sentences of the paper that runs can test. Ours is the median over seeds, in brackets the central 80 %. The free "
                    "parameters (TCP above all) are one set for the whole study, argued for from the standards of the time and not from the "
                    "paper's figures."),
        page.figures("Lines are medians over seeds, shades the central 80 %. Latency is one way, propagation (25 ms) included. The figures of "
                     "the paper carry no legible numbers; the statements of its text about them are in the claims."),
        PageSection("Every statement", "statements",
             lambda results: [statements_table(results.scorecard, "All quantitative statements, in the order of the paper")],
             "Within is inside the range that was fixed beforehand; a parameter is an input that our scenarios use; not tested are statements that "
             "no run or computation could test. The reason names the range."),
        page.differences("Every counted statement outside its range, and why.", {}),
        PageSection("Beyond the paper", "beyond", _experiments,
             "Arguments of the text without numbers, its future work, and the effect of its open TCP parameters. No published values exist: "
             "these are only ours. Press a value for its spread over seeds."),
        PageSection("Free parameters", "rules",
             lambda results: [unknowns_table(), TableBlock(shares_table(results.scorecard), folded=True)]),
    ],
)  # fmt: skip
