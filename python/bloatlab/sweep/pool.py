"""Executors run the points of a sweep, and report one value for each. A point is one run with one seed.

The local executor is a pool of threads. A simulation without Python code releases the GIL, so threads use all cores,
and results need not be passed between processes. Each result is reduced in the thread that computed it: a sweep of
hundreds of runs holds a few numbers per run, not its series.

The values and their order do not depend on the number of workers: each point names its seed, and each value is stored
under the index of its point.
"""

import ctypes
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from bloatlab.classes import ClassError
from bloatlab.errors import InputError
from bloatlab.lazy import load
from bloatlab.scenario import Scenario, plain, problems
from bloatlab.simulation import Progress, Result, run
from bloatlab.sweep.pasts import Past
from bloatlab.sweep.progress import Watch, silent

Reduced = TypeVar("Reduced")
Key = TypeVar("Key")

#: Seconds between checks for Ctrl-C while threads work.
POLL_SECONDS = 0.1

#: Seconds for which a cancelled run may continue. Then it is interrupted, since a user's code in it may not return.
GRACE_SECONDS = 1.0


@dataclass(frozen=True)
class Point(Generic[Key]):
    """One run of a sweep: the scenario, the seed, and the caller's name for the run.

    `past` is the beginning that the run shares with other runs, if any; it is set by `gather`.
    """

    key: Key
    scenario: Scenario
    seed: int
    past: Past | None = None

    def seeded(self) -> Scenario:
        """Returns the scenario with this point's seed."""
        return self.scenario if self.scenario.seed == self.seed else self.scenario.with_seed(self.seed)

    def __str__(self) -> str:
        return f"{self.key} with seed {self.seed}"


class Cancelled(Exception):  # noqa: N818  not an error, because the user stopped the sweep
    """Raised inside a run that must stop because its sweep is stopping."""


class RunError(RuntimeError):
    """A run failed; the message names the point. `Threads` also chains the cause."""


class Stopped(Exception):  # noqa: N818  not an error in bloatlab
    """A sweep cannot continue, for example because the disk is full, the scheduler is gone, or a user's class failed.

    The message is one line.
    """


class ClassFailed(Stopped):
    """A user's class failed in a run. If the command is repeated, it fails again."""


#: A function that runs a point, and calls its second argument with the progress, from 0 to 1. The function must not
#: catch exceptions that this call raises.
Work = Callable[[Point[Any], Progress], Reduced]


class Executor(Protocol):
    """Runs points, on this machine or on a cluster; callers do not depend on which.

    `work` receives one point at a time, in any order, in any thread or process. `done` receives the index of a point
    and the value of `work`, soon after the point is finished, in any thread of the calling process. `watch` receives
    the progress where possible. The first failure stops the rest and is raised as `RunError`, or as `ClassFailed` if a
    user's class caused it; Ctrl-C stops the runs in progress, and `KeyboardInterrupt` is raised when they have stopped.
    Values of complete points are lost if they have not reached the calling process by then.
    """

    def __call__(
        self, points: Sequence[Point[Any]], work: Work[Reduced], done: Callable[[int, Reduced], None], watch: Watch
    ) -> None:
        """Runs all points."""
        ...


@dataclass(frozen=True)
class Threads:
    """The local executor: `jobs` runs at a time, by default one per core. Raises `InputError` for invalid `jobs`."""

    jobs: int | None = None

    def __post_init__(self) -> None:
        """Checks `jobs`."""
        jobs = plain(self.jobs, "jobs")
        if jobs is not None and not (type(jobs) is int and jobs >= 1):
            raise InputError(f"jobs: {self.jobs!r:.80} is not valid; expected a whole number from 1")

    def __call__(
        self, points: Sequence[Point[Any]], work: Work[Reduced], done: Callable[[int, Reduced], None], watch: Watch
    ) -> None:
        """Runs all points.

        Cancelling takes about a tenth of a second, or about a second if a user's code must be interrupted.
        """
        stop = threading.Event()
        running: dict[int, threading.Thread] = {}

        def one(index: int, point: Point[Any]) -> None:
            def progress(fraction: float) -> None:
                if stop.is_set():
                    raise Cancelled
                watch.advance(index, fraction)

            running[index] = threading.current_thread()
            try:
                progress(0.0)
                done(index, work(point, progress))
                watch.done(index)
            finally:
                del running[index]

        load()
        watch.begin(len(points))
        with ThreadPoolExecutor(max_workers=self.jobs or default_jobs(), thread_name_prefix="run") as pool:
            try:
                futures = [pool.submit(one, index, point) for index, point in enumerate(points)]
                _wait(futures)
                _raise_first(points, futures)
            except BaseException:
                # `futures` is unassigned if Ctrl-C came during `submit`, so the pool itself cancels the futures
                stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                _stop(running)
                raise
            finally:
                watch.end()


def default_jobs() -> int:
    """Returns the number of cores that this process may use."""
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
    """Runs every point and reduces each result where it was computed; returns the values in the order of `points`.

    The first failure stops the rest and raises `RunError` (`ClassFailed` for a user's class). Ctrl-C cancels the runs
    in progress, waits until they have stopped, and raises `KeyboardInterrupt`. `jobs` is for the local executor
    only. With `trace`, results include the traces that their scenarios enable.
    """

    def work(point: Point[Key], progress: Progress) -> Reduced:
        return reduce(point, run(point.scenario, point.seed, progress, trace=trace))

    values: dict[int, Reduced] = {}
    (executor or Threads(jobs))(points, work, values.__setitem__, watch or silent())
    return [values[index] for index in range(len(points))]


def _wait(futures: Sequence[Future[None]]) -> None:
    """Waits until all futures are done or one has failed. Ctrl-C interrupts the wait."""
    ended = threading.Event()
    left = len(futures)
    lock = threading.Lock()

    def count(future: Future[None]) -> None:
        nonlocal left
        with lock:
            left -= 1
            if not left or future.cancelled() or future.exception():
                ended.set()

    # counts with callbacks, because `concurrent.futures.wait` visits every future each time it is called
    for future in futures:
        future.add_done_callback(count)
    while futures and not ended.wait(POLL_SECONDS):
        pass


def _stop(running: Mapping[int, threading.Thread]) -> None:
    """Waits until all runs have stopped. A run that has not stopped is interrupted every second."""
    waited = 0.0
    while threads := [thread for thread in list(running.values()) if thread.is_alive()]:
        time.sleep(POLL_SECONDS)
        waited += POLL_SECONDS
        if waited > GRACE_SECONDS:
            waited = 0.0
            for thread in threads:
                ident = ctypes.c_ulong(thread.ident or 0)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(KeyboardInterrupt))


def _raise_first(points: Sequence[Point[Any]], futures: Sequence[Future[None]]) -> None:
    """Raises the error of the first failed point, in the order of `points`."""
    for point, future in zip(points, futures, strict=True):
        if future.done() and not future.cancelled() and (error := future.exception()):
            if isinstance(error, ClassError):
                raise ClassFailed(f"{point}: {problems(error)[0]}") from error
            raise RunError(f"{point}: {type(error).__name__}: {error}") from error
