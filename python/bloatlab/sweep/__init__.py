"""Many runs of a scenario, over values and seeds.

    frame = bloatlab.sweep("home.toml", {"link.up.rate": ["1mbit", "5mbit"]}, seeds=5)    # one row per run

`bloatlab.sweep` is both that call (see `call`) and the package of its parts: a grid declares runs, an executor runs
them, a measure reduces each, a store remembers.

    grid = Grid({"queue": ["droptail", "codel"], "rtt_ms": [20, 100]}, build, seeds=range(1, 11))
    gathered = gather(grid.points(), Measure("voice", voice), store=Store(Path(".bloatlab/store")))
    gathered.frame()          # queue, rtt_ms, seed, scenario_hash and what `voice` measured; one row per run

`bloatlab.sweep.sweep` applies any reduction and keeps nothing. Results do not depend on the number of workers, on
their order, or on whether they come from the store.
"""

import inspect
import sys
from types import ModuleType
from typing import Any

from bloatlab.sweep import call
from bloatlab.sweep.cluster import ClusterError, Dask
from bloatlab.sweep.gather import Gathered, Interrupted, Measure, gather
from bloatlab.sweep.grid import At, Grid
from bloatlab.sweep.pool import Cancelled, Executor, Point, RunError, Stopped, Threads, default_jobs, sweep
from bloatlab.sweep.progress import Watch, silent, watch
from bloatlab.sweep.stopping import Reached, Until, gather_until
from bloatlab.sweep.store import Measured, Store, default_store

__all__ = [
    "At",
    "Cancelled",
    "ClusterError",
    "Dask",
    "Executor",
    "Gathered",
    "Grid",
    "Interrupted",
    "Measure",
    "Measured",
    "Point",
    "Reached",
    "RunError",
    "Stopped",
    "Store",
    "Threads",
    "Until",
    "Watch",
    "default_jobs",
    "default_store",
    "gather",
    "gather_until",
    "silent",
    "sweep",
    "watch",
]


class _Callable(ModuleType):
    """Makes `bloatlab.sweep(...)` a call and `from bloatlab.sweep import Grid` an import."""

    def __call__(self, *given: Any, **options: Any) -> Any:
        return call.sweep(*given, **options)


__signature__ = inspect.signature(call.sweep)
sys.modules[__name__].__class__ = _Callable
