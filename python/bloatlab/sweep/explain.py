"""Estimates the number of runs in a sweep and their duration, from short trials of a few runs."""

import contextlib
import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bloatlab import outside
from bloatlab.scenario import Scenario
from bloatlab.simulation import run
from bloatlab.sweep import auto_warm_up, fingerprint
from bloatlab.sweep.gather import Measure
from bloatlab.sweep.grid import Grid
from bloatlab.sweep.pool import Cancelled, Point
from bloatlab.sweep.progress import silent
from bloatlab.sweep.store import Store

#: Maximum number of trials, which are spread evenly over the runs, and the time in s after which a trial is stopped.
TRIALS, TRIAL_SECONDS = 8, 0.4

#: The fractional parts of the multiples of this number are spread evenly, and do not repeat.
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate for a sweep of `runs` runs: `kept` are already stored, and `warm_ups` serve only to find warm-ups.

    `seconds` is the mean duration of a whole run, estimated from `tried` trials of runs that are not stored. `in_turn`
    is the share of the time that runs with Python code take. They hold the GIL, so they run one at a time in a process.
    """

    runs: int
    kept: int
    seconds: float
    tried: int
    warm_ups: int = 0
    in_turn: float = 0.0

    def wall(self, jobs: int, runs: int | None = None) -> float:
        """Returns the wall-clock time in s of `runs`, by default the missing ones, with `jobs` in parallel."""
        runs = self.runs - self.kept if runs is None else runs
        return self.seconds * runs * max(1.0 / max(min(jobs, runs), 1), self.in_turn)


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
    tried = [missing[n] for n in _spread(len(missing))]
    took = [(outside.used(scenario.text), _tried(scenario)) for scenario in tried]
    runs = len(first) + len(unknown) + len(known)
    every = sum(seconds for _, seconds in took)
    in_turn = sum(seconds for python, seconds in took if python) / every if every else 0.0
    mean = every / len(took) if took else 0.0
    return Estimate(runs, runs - len(missing), mean, len(took), len(first), in_turn)


def _spread(runs: int) -> list[int]:
    """Returns the numbers of the runs to try: one from each of `TRIALS` equal parts, at different places within it.

    Steps of equal length could try only one value of an axis.
    """
    if runs <= TRIALS:
        return list(range(runs))
    ends = [n * runs // TRIALS for n in range(TRIALS + 1)]
    return [low + int((high - low) * (n * _GOLDEN % 1.0)) for n, (low, high) in enumerate(itertools.pairwise(ends))]


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
