"""How many runs a sweep is, and about how long it takes, from a moment of a few of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bloatlab.simulation import run
from bloatlab.sweep import fingerprint
from bloatlab.sweep.gather import Measure
from bloatlab.sweep.pool import Cancelled, Point
from bloatlab.sweep.store import Store

#: So many runs, evenly spread over those to come, are tried for so long each.
TRIALS, TRIAL_SECONDS = 8, 0.4


@dataclass(frozen=True, slots=True)
class Estimate:
    """`runs` in all, `kept` of them from before; each other takes about `seconds` of a core, by `tried` trials."""

    runs: int
    kept: int
    seconds: float
    tried: int

    def wall(self, jobs: int) -> float:
        """Seconds until all are done with so many at a time."""
        return self.seconds * (self.runs - self.kept) / max(min(jobs, self.runs - self.kept), 1)


def estimate(points: Sequence[Point[Any]], measure: Measure, store: Store | None) -> Estimate:
    """What is to come of `points`. Keeps nothing."""
    seeded = list(dict.fromkeys(point.seeded() for point in points))
    missing = seeded
    if store is not None:
        try:
            shelf = measure.shelf(store)
            missing = [scenario for scenario in seeded if shelf.get(scenario) is None]
        except fingerprint.Unsure:
            pass
    tried = [missing[n * len(missing) // TRIALS] for n in range(TRIALS)] if len(missing) > TRIALS else missing
    took = [_tried(Point("", scenario, scenario.seed)) for scenario in tried]
    return Estimate(len(seeded), len(seeded) - len(missing), sum(took) / len(took) if took else 0.0, len(took))


def _tried(point: Point[str]) -> float:
    """Seconds that the run would take: those of its beginning over the share that this is."""
    begun = time.perf_counter()
    reached = 0.0

    def tell(fraction: float) -> None:
        nonlocal reached
        reached = fraction
        if fraction > 0.0 and time.perf_counter() - begun > TRIAL_SECONDS:
            raise Cancelled

    try:
        run(point.scenario, point.seed, tell, trace=False)
    except Cancelled:
        return (time.perf_counter() - begun) / reached
    return time.perf_counter() - begun
