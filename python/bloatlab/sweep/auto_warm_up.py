"""Finds the warm-up of each grid point: `[set] "record.warm_up" = "auto"`.

Each point is run once without a warm-up, with the first seed; MSER-5 finds the time at which the run becomes steady
(`warm_up.find`), or half of the run if it never does. All seeds of the point are then run with that warm-up. Grid
points may have different warm-ups.
"""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from bloatlab.scenario import Scenario
from bloatlab.sweep.gather import Measure, gather
from bloatlab.sweep.grid import At, Grid
from bloatlab.sweep.pool import Executor, Point
from bloatlab.sweep.progress import Watch
from bloatlab.sweep.store import Store
from bloatlab.warm_up import WarmUp, find

#: The measure for runs made only to find a warm-up.
WARM_UP = Measure("warm-up", lambda result: asdict(find(result)))


def points(grid: Grid) -> list[Point[At]]:
    """Returns the runs that find the warm-ups: every grid point with the first seed."""
    return [grid.point(at, grid.seeds[0]) for at in grid.places()]


def with_warm_ups(
    grid: Grid, *, store: Store | None, watch: Watch, executor: Executor | None = None
) -> tuple[Grid, dict[At, WarmUp]]:
    """Returns the grid with a warm-up in each scenario, and the warm-up of each grid point.

    Raises the errors of `gather`.
    """
    done = gather(points(grid), WARM_UP, store=store, watch=watch, executor=executor)
    found = {
        point.key: WarmUp(float(value.row["seconds"] or 0.0), str(value.row["of"]), steady=bool(value.row["steady"]))
        for point, value in zip(done.points, done.values, strict=True)
    }

    def build(*, seed: int, **at: Any) -> Scenario:
        return grid.build(**at, seed=seed).with_sets(found[At(tuple(at.items()))].override)

    return replace(grid, build=build), found


def said(found: Mapping[At, WarmUp]) -> str:
    """Formats the warm-ups as one line."""
    seconds = [warm.seconds for warm in found.values()]
    line = f"warm-up by MSER-5: {min(seconds):g} to {max(seconds):g} s"
    unsteady = [(at, warm) for at, warm in found.items() if not warm.steady]
    for at, warm in unsteady[:1]:
        many = f"{len(unsteady)} of {len(found)} points"
        line += f"; half of the run at {many}, which never became steady, the first: {warm.of} at {at}"
    return line
