"""The study as one command: run the grids, compare, draw, bind. `kit.bind` says what it leaves in its folder."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from bloatlab.studies.claims import Runs, check_all
from bloatlab.studies.kit import begin, bind, run
from bloatlab.studies.registry import Options
from bloatlab.studies.scte2013 import figures
from bloatlab.studies.scte2013.build import SECONDS
from bloatlab.studies.scte2013.considerations import Consideration, consider
from bloatlab.studies.scte2013.experiments import ALWAYS, CDF, Experiment, key
from bloatlab.studies.scte2013.measure import cdf, measure
from bloatlab.studies.scte2013.page import Reproduction, page
from bloatlab.studies.scte2013.statements import scorecard
from bloatlab.studies.scte2013.text import ASKED, TEXT, tell
from bloatlab.studies.scte2013.text_claims import ALL_CLAIMS
from bloatlab.sweep import At, Gathered, Measure

QUICK_SECONDS = 60
QUICK_SEEDS = 1
QUICK_WARNING = (
    f"A quick look: {QUICK_SECONDS} s instead of {SECONDS} s and {QUICK_SEEDS} seed. One sawtooth of ten flows takes half of "
    "that, so no agreement or difference here proves anything."
)

#: Seeds of the experiments that the figures do not stand on.
EXPERIMENT_SEEDS = 3

#: What is kept of a run, and what of one whose distributions are drawn.
CELLS = Measure("scte2013", measure)
DISTRIBUTIONS = Measure("scte2013-cdf", measure, cdf)
CONSIDERED = Measure("scte2013-considerations", consider)
TOLD = Measure("scte2013-text", tell)

_Ran = Gathered[At]


def reproduce(options: Options) -> Reproduction:
    """Run the grids (and the experiments asked for), compare, and write the folder `options.out`.

    Raises `KeyError` for an unknown experiment, before anything runs.
    """
    asked = [e for name in options.experiments if (e := ASKED[name]) not in (*ALWAYS, *TEXT)]
    places = sum(len(e.grid((1,)).places()) for e in ALWAYS)
    begun = begin(options, "scte2013", f"{places} places", QUICK_SEEDS, QUICK_WARNING)
    seeds, few = begun.seeds, begun.few(EXPERIMENT_SEEDS)
    ran = {e.name: _run(e, seeds, options) for e in ALWAYS} | {e.name: _run(e, few, options) for e in (*TEXT, *asked)}
    drawn = _run(CDF, seeds, options)
    runs = measures_of(ran)
    card = scorecard(runs, len(seeds), proves_nothing=begun.proves_nothing)
    done = Reproduction(
        scorecard=card,
        claims=check_all(ALL_CLAIMS, runs),
        experiments=[*ALWAYS, *TEXT, *asked],
        measures=runs,
        **begun.taken(*ran.values(), drawn),
    )
    _write(done, ran, drawn)
    return done


def _run(experiment: Experiment, seeds: range, options: Options) -> _Ran:
    """Every place of a grid with every seed."""
    measured = DISTRIBUTIONS if experiment is CDF else CELLS
    if isinstance(experiment, Consideration):
        measured = CONSIDERED
    elif experiment in TEXT:
        measured = TOLD
    points = experiment.grid(seeds, QUICK_SECONDS if options.quick else None).points()
    return run(points, measured, options, experiment.name)


def measures_of(ran: Mapping[str, _Ran]) -> Runs:
    """The measures of every run by experiment and place, in the order of the seeds."""
    return {f"{name} {key(at)}": rows for name, gathered in ran.items() for at, rows in gathered.rows().items()}


def _write(done: Reproduction, ran: Mapping[str, _Ran], drawn: _Ran) -> None:
    """The study's folder."""
    frames = [gathered.frame().with_columns(experiment=pl.lit(name)) for name, gathered in ran.items()]
    distributions: dict[str, list[pl.DataFrame]] = {}
    for point, value in zip(drawn.points, drawn.values, strict=True):
        distributions.setdefault(str(point.key["series"]), []).append(value.frames["delay"])
    drawings = figures.draw(done.measures, distributions)
    scenarios = {key(point.key): point.scenario for point in drawn.points if point.seed == 1}
    bind(done, page(done, drawings), drawings, pl.concat(frames, how="diagonal_relaxed"), scenarios)
