"""Estimates the number of runs in a sweep and their duration, from short trials of a few runs."""

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bloatlab.scenario import Scenario
from bloatlab.simulation import run
from bloatlab.sweep import fingerprint
from bloatlab.sweep.gather import Measure
from bloatlab.sweep.pool import Cancelled, Point
from bloatlab.sweep.store import Store

#: Number of trials, evenly spread over the runs, and the maximum time that a trial may take in s.
TRIALS, TRIAL_SECONDS = 8, 0.4


@dataclass(frozen=True, slots=True)
class Estimate:
    """The number of runs, of which `kept` are already stored.

    `seconds` is the mean duration of a whole run, estimated from `tried` trials of runs that are not stored.
    """

    runs: int
    kept: int
    seconds: float
    tried: int

    def wall(self, jobs: int) -> float:
        """Returns the wall-clock time in s with `jobs` runs in parallel."""
        return self.seconds * (self.runs - self.kept) / max(min(jobs, self.runs - self.kept), 1)


def estimate(points: Sequence[Point[Any]], measure: Measure, store: Store | None) -> Estimate:
    """Estimates how long the missing runs of `points` will take, from short trials of a few of them. Stores nothing."""
    seeded = missing = list(dict.fromkeys(point.seeded() for point in points))
    try:
        if store is not None:
            shelf = measure.shelf(store)
            missing = [scenario for scenario in seeded if shelf.get(scenario) is None]
    except fingerprint.Unsure:
        pass
    tried = [missing[n * len(missing) // TRIALS] for n in range(TRIALS)] if len(missing) > TRIALS else missing
    took = [_tried(scenario) for scenario in tried]
    return Estimate(len(seeded), len(seeded) - len(missing), sum(took) / len(took) if took else 0.0, len(took))


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
