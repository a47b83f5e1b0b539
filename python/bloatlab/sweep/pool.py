"""Points in, one value per point out: the executor protocol, and the one that every machine has, a pool of threads.

Simulation releases the GIL, so threads fill the cores and results never cross a process. Each result is reduced in the
thread that made it: a sweep of hundreds of runs holds a few numbers per run, not its series.

Order and numbers do not depend on the number of workers: a point carries its own seed, and values are told by index.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from bloatlab.laws import LawError
from bloatlab.scenario import Scenario, problems
from bloatlab.simulation import Progress, Result, run
from bloatlab.sweep.progress import Watch, silent

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

    def seeded(self) -> Scenario:
        """The scenario with this point's seed in it."""
        return self.scenario if self.scenario.seed == self.seed else self.scenario.with_sets(("seed", str(self.seed)))


class Cancelled(Exception):  # noqa: N818  not an error: somebody asked for it
    """Raised inside a run that is to stop because the sweep stops."""


class RunError(RuntimeError):
    """A run broke; the message names the point, the cause is chained."""


class Stopped(Exception):  # noqa: N818  nothing is wrong with bloatlab
    """A sweep that cannot go on, and not for a bug: a full disk, a lost machine, a law of one's own that breaks.

    The message is one line.
    """


#: What an executor does to a point; it tells its progress in [0, 1] and lets what that raises through.
Work = Callable[[Point[Any], Progress], Reduced]


class Executor(Protocol):
    """Runs points somewhere. This is the seam for more than one machine: nothing above knows where points run.

    `work` is given one point at a time, in any order, in any thread or process; `done` is told the index of a point in
    `points` and the value of `work`, as soon as there is one, from any thread of the calling process. `watch` hears of
    the progress, where there is a way. The first failure stops the rest and is raised as `RunError`; Ctrl-C stops the
    runs under way, and `KeyboardInterrupt` is raised when they have stopped. Each point that was complete before has
    been told.
    """

    def __call__(
        self, points: Sequence[Point[Any]], work: Work[Reduced], done: Callable[[int, Reduced], None], watch: Watch
    ) -> None:
        """Run them all."""
        ...


@dataclass(frozen=True)
class Threads:
    """The local executor: as many runs at a time as `jobs`, or as there are cores."""

    jobs: int | None = None

    def __call__(
        self, points: Sequence[Point[Any]], work: Work[Reduced], done: Callable[[int, Reduced], None], watch: Watch
    ) -> None:
        """Run them all. Cancelling takes about a tenth of a second."""
        stop = threading.Event()

        def one(index: int, point: Point[Any]) -> None:
            def tell(fraction: float) -> None:
                if stop.is_set():
                    raise Cancelled
                watch.advance(index, fraction)

            tell(0.0)
            done(index, work(point, tell))
            watch.done(index)

        watch.begin(len(points))
        with ThreadPoolExecutor(max_workers=self.jobs or default_jobs(), thread_name_prefix="run") as pool:
            futures = [pool.submit(one, index, point) for index, point in enumerate(points)]
            try:
                _wait(futures)
                _raise_first(points, futures)
            except BaseException:
                stop.set()
                pool.shutdown(wait=True, cancel_futures=True)
                raise
            finally:
                watch.end()


def default_jobs() -> int:
    """As many workers as this process may use cores."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def sweep(
    points: Sequence[Point[Key]],
    reduce: Callable[[Point[Key], Result], Reduced],
    *,
    jobs: int | None = None,
    watch: Watch | None = None,
    executor: Executor | None = None,
    trace: bool = False,
) -> list[Reduced]:
    """Run every point and reduce each result where it was made; the answers come in the order of `points`.

    The first failure stops the rest and raises `RunError`. Ctrl-C cancels the runs under way, waits for them (a tenth
    of a second) and raises `KeyboardInterrupt`. `jobs` is for the local executor only. `trace`: `reduce` sees what the
    scenarios' `trace` keeps.
    """

    def work(point: Point[Key], tell: Progress) -> Reduced:
        return reduce(point, run(point.scenario, point.seed, tell, trace=trace))

    values: dict[int, Reduced] = {}
    (executor or Threads(jobs))(points, work, values.__setitem__, watch or silent())
    return [values[index] for index in range(len(points))]


def _wait(futures: Sequence[Future[None]]) -> None:
    """Until all are done or one has failed, letting Ctrl-C in."""
    pending = set(futures)
    while pending:
        done, pending = wait(pending, timeout=POLL_SECONDS, return_when=FIRST_EXCEPTION)
        if any(f.exception() for f in done):
            return


def _raise_first(points: Sequence[Point[Any]], futures: Sequence[Future[None]]) -> None:
    """The failure of the first point that has one."""
    for point, future in zip(points, futures, strict=True):
        if future.done() and not future.cancelled() and (error := future.exception()):
            if isinstance(error, LawError):
                raise law_broke(point, problems(error)[0]) from error
            raise RunError(f"{point.key} with seed {point.seed}: {type(error).__name__}: {error}") from error


def law_broke(point: Point[Any], line: str) -> Stopped:
    """What stops a sweep whose own law, in Python, broke at `point`."""
    return Stopped(f"{point.key} with seed {point.seed}: {line}")
