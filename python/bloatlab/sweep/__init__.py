"""Runs a scenario many times, with different values and seeds.

    frame = bloatlab.sweep("home.toml", {"link.up.rate": ["1mbit", "5mbit"]}, seeds=5)    # one row per run

`bloatlab.sweep` is both this function (see `grid_file.sweep`) and this package. In the package, a grid declares runs,
an executor runs them, a measure reduces each run, and a store keeps the results.

    grid = Grid({"queue": ["droptail", "codel"], "rtt_ms": [20, 100]}, build, seeds=range(1, 11))
    gathered = gather(grid.points(), Measure("voice", voice), store=Store(Path(".bloatlab/store")))
    gathered.frame()          # queue, rtt_ms, seed, scenario_hash and the measures of `voice`; one row per run

`bloatlab.sweep.sweep` applies any function to the results and stores nothing. Results do not depend on the number of
workers, on the order of the runs, or on whether they come from the store.
"""

import inspect
import sys
from types import ModuleType
from typing import Any

from bloatlab.sweep import grid_file
from bloatlab.sweep.cluster import ClusterError, Dask
from bloatlab.sweep.gather import Gathered, Interrupted, Measure, gather
from bloatlab.sweep.grid import At, Grid
from bloatlab.sweep.pool import Cancelled, Executor, Point, RunError, Stopped, Threads, default_jobs, sweep
from bloatlab.sweep.progress import Watch, silent, watch
from bloatlab.sweep.stopping import Reached, Until, gather_until
from bloatlab.sweep.store import Measured, Store, default_store

__all__ = [
    "At", "Cancelled", "ClusterError", "Dask", "Executor", "Gathered", "Grid", "Interrupted", "Measure", "Measured",
    "Point", "Reached", "RunError", "Stopped", "Store", "Threads", "Until", "Watch", "default_jobs", "default_store",
    "gather", "gather_until", "silent", "sweep", "watch",
]  # fmt: skip


class _Callable(ModuleType):
    """Makes the package itself callable, as in `bloatlab.sweep(...)`."""

    def __call__(self, *given: Any, **options: Any) -> Any:
        return grid_file.sweep(*given, **options)


__signature__ = inspect.signature(grid_file.sweep)
sys.modules[__name__].__class__ = _Callable
