"""A pool of threads over the core.

Simulation releases the GIL, so threads fill the cores and results never cross a process. Each result is reduced in the
thread that made it: a sweep of hundreds of runs holds a few numbers per run, not its series.

Order and numbers do not depend on the number of workers: a point carries its own seed, and results come back by index.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Generic, TypeVar

from bloatlab.run import Result, run
from bloatlab.scenario import Scenario
from bloatlab.sweep.watch import Watch, silent

Reduced = TypeVar("Reduced")
Key = TypeVar("Key")

#: Seconds between looks at Ctrl-C while threads work.
POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Point(Generic[Key]):
    """One run of a sweep: what to simulate, with which seed, and the caller's own name for it."""

    key: Key
    scenario: Scenario
    seed: int


class Cancelled(Exception):  # noqa: N818  not an error: somebody asked for it
    """Raised inside a run that is to stop because the sweep stops."""


class RunError(RuntimeError):
    """A run broke; the message names the point, the cause is chained."""


def default_jobs() -> int:
    """As many workers as this process may use cores."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def sweep(
    points: Sequence[Point[Key]],
    reduce: Callable[[Point[Key], Result], Reduced],
    *,
    jobs: int | None = None,
    watch: Watch | None = None,
) -> list[Reduced]:
    """Run every point and reduce each result where it was made; the answers come in the order of `points`.

    The first failure stops the rest and raises `RunError`. Ctrl-C cancels the runs under way, waits for them (a tenth
    of a second) and raises `KeyboardInterrupt`.
    """
    watch = watch or silent()
    stop = threading.Event()

    def one(index: int, point: Point[Key]) -> Reduced:
        def tell(fraction: float) -> None:
            if stop.is_set():
                raise Cancelled
            watch.advance(index, fraction)

        tell(0.0)
        value = reduce(point, run(point.scenario, point.seed, tell))
        watch.done(index)
        return value

    watch.begin(len(points))
    with ThreadPoolExecutor(max_workers=jobs or default_jobs(), thread_name_prefix="run") as pool:
        futures = [pool.submit(one, index, point) for index, point in enumerate(points)]
        try:
            _wait(futures)
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
        finally:
            watch.end()
        for point, future in zip(points, futures, strict=True):
            if future.done() and not future.cancelled() and (error := future.exception()):
                stop.set()
                pool.shutdown(wait=True, cancel_futures=True)
                raise RunError(f"{point.key} with seed {point.seed}: {type(error).__name__}: {error}") from error
    return [future.result() for future in futures]


def _wait(futures: Sequence[Future[Reduced]]) -> None:
    """Until all are done or one has failed, letting Ctrl-C in."""
    pending = set(futures)
    while pending:
        done, pending = wait(pending, timeout=POLL_SECONDS, return_when=FIRST_EXCEPTION)
        if any(f.exception() for f in done):
            return
