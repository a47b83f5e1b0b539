"""A grid whose warm-ups are found: `[set] "record.warm_up" = "auto"`.

Each place is run once without a warm-up, with the first seed; MSER-5 finds where it becomes steady (`warm_up.find`),
and all seeds of the place are run with that. Arms may have different warm-ups, seeds of one place never.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bloatlab.scenario import Scenario
from bloatlab.simulation import Result
from bloatlab.sweep.gather import Measure, gather
from bloatlab.sweep.grid import At, Grid
from bloatlab.sweep.pool import Executor
from bloatlab.sweep.progress import Watch
from bloatlab.sweep.store import Store
from bloatlab.warm_up import WarmUp, find


def _found(result: Result) -> Mapping[str, float | str | bool]:
    found = find(result)
    return {"seconds": found.seconds, "of": found.of, "steady": found.steady}


#: What is kept of the runs that look for a warm-up.
WARM_UP = Measure("warm-up", _found)


def with_warm_ups(
    grid: Grid, *, store: Store | None, watch: Watch, executor: Executor | None = None
) -> tuple[Grid, dict[At, WarmUp]]:
    """The grid with each place's warm-up in its scenarios, and these; raises what `gather` does."""
    points = [grid.point(at, grid.seeds[0]) for at in grid.places()]
    done = gather(points, WARM_UP, store=store, watch=watch, executor=executor)
    found = {
        point.key: WarmUp(float(row["seconds"] or 0.0), str(row["of"]), steady=bool(row["steady"]))
        for point, row in zip(points, (value.row for value in done.values), strict=True)
    }

    def build(*, seed: int, **at: Any) -> Scenario:
        return grid.build(**at, seed=seed).with_sets(found[At(tuple(at.items()))].override)

    return replace(grid, build=build), found


def said(found: Mapping[At, WarmUp]) -> str:
    """What was found, in a line."""
    seconds = [warm.seconds for warm in found.values()]
    line = f"warm-up by MSER-5: {min(seconds):g} to {max(seconds):g} s"
    unsteady = [(at, warm) for at, warm in found.items() if not warm.steady]
    if unsteady:
        at, warm = unsteady[0]
        line += (
            f"; at {len(unsteady)} of {len(found)} places half of the run, as it never became steady: {warm.of} at {at}"
        )
    return line
