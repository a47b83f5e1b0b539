"""Estimates the number of runs in a sweep and their duration, from short trials of a few runs."""

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bloatlab.scenario import Scenario
from bloatlab.simulation import run
from bloatlab.sweep import auto_warm_up, fingerprint
from bloatlab.sweep.gather import Measure
from bloatlab.sweep.grid import Grid
from bloatlab.sweep.pool import Cancelled, Point
from bloatlab.sweep.progress import silent
from bloatlab.sweep.store import Store

#: Number of trials, evenly spread over the runs, and the maximum time that a trial may take in s.
TRIALS, TRIAL_SECONDS = 8, 0.4


@dataclass(frozen=True, slots=True)
class Estimate:
    """The number of runs. Of these, `kept` are already stored, and `warm_ups` serve only to find a warm-up.

    `seconds` is the mean duration of a whole run, estimated from `tried` trials of runs that are not stored.
    """

    runs: int
    kept: int
    seconds: float
    tried: int
    warm_ups: int = 0

    def wall(self, jobs: int) -> float:
        """Returns the wall-clock time in s with `jobs` runs in parallel."""
        return self.seconds * (self.runs - self.kept) / max(min(jobs, self.runs - self.kept), 1)


def estimate(grid: Grid, measure: Measure, store: Store | None, *, find_warm_up: bool = False) -> Estimate:
    """Estimates how long the missing runs of `grid` will take, from short trials of a few of them. Stores nothing.

    With `find_warm_up`, each grid point is also run once to find its warm-up (`auto_warm_up`). The runs of a point
    whose warm-up is not yet known count as missing.
    """
    first: list[Scenario] = []
    unknown: list[Scenario] = []
    missing: list[Scenario] = []
    if find_warm_up:
        points = auto_warm_up.points(grid)
        first, missing = _missing(points, auto_warm_up.WARM_UP, store)
        left = set(missing)
        found = {point.key for point in points if point.seeded() not in left}
        unknown = [*dict.fromkeys(p.seeded() for p in grid.where(lambda at: at not in found).points())]
        grid, _ = auto_warm_up.with_warm_ups(grid.where(found.__contains__), store=store, watch=silent())
    known, others = _missing(grid.points(), measure, store)
    missing += [*unknown, *others]
    tried = [missing[n * len(missing) // TRIALS] for n in range(TRIALS)] if len(missing) > TRIALS else missing
    took = [_tried(scenario) for scenario in tried]
    runs = len(first) + len(unknown) + len(known)
    return Estimate(runs, runs - len(missing), sum(took) / len(took) if took else 0.0, len(took), len(first))


def _missing(
    points: Sequence[Point[Any]], measure: Measure, store: Store | None
) -> tuple[list[Scenario], list[Scenario]]:
    """Returns the different scenarios of `points`, and the ones that have no result in `store`."""
    seeded = list(dict.fromkeys(point.seeded() for point in points))
    try:
        if store is not None:
            shelf = measure.shelf(store)
            return seeded, [scenario for scenario in seeded if shelf.get(scenario) is None]
    except fingerprint.Unsure:
        pass
    return seeded, list(seeded)


def _tried(scenario: Scenario) -> float:
    """Estimates how long a run takes, in s.

    Simulates the run for about `TRIAL_SECONDS`, and divides the elapsed time by the fraction that was simulated.
    """
    begun, reached = time.perf_counter(), 1.0

    def progress(fraction: float) -> None:
        nonlocal reached
        if fraction > 0.0 and time.perf_counter() - begun > TRIAL_SECONDS:
            reached = fraction
            raise Cancelled

    with contextlib.suppress(Cancelled):
        run(scenario, scenario.seed, progress, trace=False)
    return (time.perf_counter() - begun) / reached
