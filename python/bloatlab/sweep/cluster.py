"""Sends batches of runs to the workers of a Dask cluster. Each worker reports the fingerprint of its build.

    with Client("tcp://10.0.0.1:8786") as client:
        gather(points, measure, store=store, executor=Dask(client))

Short runs are sent in batches of about half a second, so that even 10 ms runs are worth sending. The last batches are
smaller, so that all workers finish together. Any worker may run a batch, and a batch may run more than once, because
Dask gives the batch of a dead worker to another worker. A worker with a different build runs nothing, and gets no more
batches. `done` is called in this process, with the index of each point, so results do not depend on the worker that
computed them.

Needs the extra `cluster` (dask, distributed).
"""

import collections
import contextlib
import ipaddress
import logging
import math
import pickle
import queue
import secrets
import time
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent import futures
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bloatlab.classes import ClassError
from bloatlab.errors import InputError
from bloatlab.scenario import problems
from bloatlab.simulation import Progress
from bloatlab.sweep import fingerprint
from bloatlab.sweep.pool import POLL_SECONDS, Cancelled, ClassFailed, Point, Reduced, RunError, Stopped, Work
from bloatlab.sweep.progress import Watch

#: Seconds that a batch should take, which determines its number of runs.
BATCH_SECONDS = 0.5
#: Maximum number of runs in a batch.
MOST_RUNS = 500
#: Number of batches per worker thread: one running and one waiting.
AHEAD = 2
#: Seconds between queries for the list of workers, and between a run's progress reports.
LOOK_SECONDS = 1.0
#: Seconds to wait for the scheduler's first answer.
CONNECT_SECONDS = 10
#: A batch fails when Dask has lost several workers that ran it. A run that has been in more than `MOST_DEATHS` failed
#: batches, and was alone in the last of these batches, is taken to be the cause, and the sweep fails.
MOST_DEATHS = 1

#: The settings that Dask needs to connect to a scheduler over TLS.
CERTIFICATES = (
    "TLS needs DASK_DISTRIBUTED__COMM__TLS__CA_FILE, ...__TLS__CLIENT__CERT and ...__TLS__CLIENT__KEY (docs/cluster.md)"
)


class ClusterError(InputError):
    """A cluster that cannot be reached or started; the message is one line."""


@dataclass(frozen=True)
class Dask:
    """An executor that sends runs to the workers of `client`, a `distributed.Client`.

    `notice` receives one line per refused worker, and one when there are no workers.
    """

    client: Any
    notice: Callable[[str], None] = warnings.warn

    def __call__(
        self, points: Sequence[Point[Any]], work: Work[Reduced], done: Callable[[int, Reduced], None], watch: Watch
    ) -> None:
        """Runs all points. Ctrl-C and a failure stop the runs in progress within about a tenth of a second."""
        sending = _Sending(self.client, points, work, done, watch, self.notice)
        watch.begin(len(points))
        try:
            sending.run()
        finally:
            sending.stop()
            watch.end()


@contextlib.contextmanager
def connected(where: str, jobs: int | None, notice: Callable[[str], None]) -> Generator[Dask]:
    """Connects to the cluster at `where`: a scheduler's address or file (.json), or `local` for `jobs` processes.

    Silences Dask's log. Raises `ClusterError`.
    """
    try:
        import distributed  # noqa: PLC0415
        from dask import config  # noqa: PLC0415
    except ModuleNotFoundError:
        raise ClusterError(f"{where}: dask is not installed: pip install dask distributed") from None
    with contextlib.ExitStack() as held:
        # the loggers stay silent until the process ends, because Dask's threads still log after the last answer
        for name in [*logging.root.manager.loggerDict]:
            if name.partition(".")[0] in {"distributed", "tornado", "asyncio"}:
                logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        held.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        try:
            if where == "local":
                held.enter_context(config.set(_LOCAL))
                quiet: dict[str, Any] = {"dashboard_address": None, "silence_logs": logging.CRITICAL + 1}
                cluster = distributed.LocalCluster(n_workers=jobs, threads_per_worker=1, **quiet)
                client = distributed.Client(held.enter_context(cluster))
            elif where.endswith(".json"):
                Path(where).stat()  # without this check, Dask would wait until the file exists
                client = distributed.Client(scheduler_file=where, timeout=CONNECT_SECONDS)
            else:
                client = distributed.Client(where, timeout=CONNECT_SECONDS)
        except (OSError, ValueError, TypeError) as error:
            words = str(error).splitlines()[0] if str(error) else type(error).__name__
            # without a CA file, Dask refuses TLS
            bare = where.startswith("tls:") and not config.get("distributed.comm.tls.ca-file", None)
            raise ClusterError(f"{where}: no Dask scheduler: {words}{f'; {CERTIFICATES}' if bare else ''}") from None
        if (open_door := exposed(client.scheduler_info()["address"])) is not None:
            notice(open_door)
        held.callback(_close, client)
        yield Dask(client, notice)


#: Settings of local workers. The profiler, which samples a hundred times a second, is off. Event loops and memory are
#: checked once a second, because at Dask's default intervals, 20 and 100 ms, these checks take 5 % of a core. By
#: default, Dask gives up on a lost worker whose replacement does not start within 15 s. On a slow machine, this is too
#: short, so here Dask never gives up in practice.
_LOCAL: Mapping[str, Any] = {
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.deploy.lost-worker-timeout": "1000 days",
}


def exposed(address: str) -> str | None:
    """Returns a warning if the scheduler accepts connections from other machines without a certificate, or else None.

    This is dangerous, because Dask runs any code that it receives.
    """
    scheme, _, place = address.partition("://")
    host = place.rpartition(":")[0].strip("[]")
    if scheme in {"tls", "wss", "inproc"} or host == "localhost":
        return None
    with contextlib.suppress(ValueError):
        if ipaddress.ip_address(host).is_loopback:
            return None
    return f"--dask {address}: no TLS: anyone who reaches this port can run programs on its machines (docs/cluster.md)"


def _close(client: Any) -> None:
    with contextlib.suppress(Exception):
        client.close(timeout=2)


# --------------------------------------------------------------------------------------------------- on a worker


@dataclass(frozen=True)
class _Order:
    """A batch for a worker: indexed runs, the work for each run, the required build, and the progress topic."""

    points: Sequence[tuple[int, Point[Any]]]
    work: Work[Any]
    build: str
    topic: str


@dataclass(frozen=True)
class _Done:
    """One run of a batch: its value, or the reason for its failure and whether a user's class caused the failure."""

    index: int
    value: Any = None
    failure: str = ""
    own: bool = False


def _serve(packed: bytes) -> tuple[str, str, float, list[_Done]]:
    """Runs a batch, and stops at the first run that fails.

    Returns the fingerprint of the worker's build, the worker's address, the time taken in s, and the outcome of each
    run, including the failed run.

    A worker with a different build runs nothing. If it cannot load the work, the reason replaces the fingerprint. The
    batch is sent as bytes, so that the scheduler need not import the user's modules.
    """
    from distributed import get_worker  # noqa: PLC0415

    worker: Any = get_worker()
    found: list[_Done] = []
    begun = time.perf_counter()
    try:
        order: _Order = pickle.loads(packed)  # noqa: S301  the data comes from the scheduler, which can run any code anyway
    except (ImportError, AttributeError) as error:
        return f"cannot load the work: {error}", worker.address, 0.0, found
    build = _stamp_of(order)
    if build == order.build:
        key = worker.get_current_task()
        for index, point in order.points:
            try:
                found.append(_Done(index, order.work(point, _reporter(worker, key, order.topic, index))))
            except Cancelled:
                raise
            except ClassError as error:
                found.append(_Done(index, failure=problems(error)[0], own=True))
                break
            except Exception as error:  # noqa: BLE001  the sweep's process raises it again
                found.append(_Done(index, failure=f"{type(error).__name__}: {error}"))
                break
    return build, worker.address, time.perf_counter() - begun, found


def _reporter(worker: Any, key: str, topic: str, index: int) -> Progress:
    """Returns a function that reports a run's progress, at most once a second, and stops a run no longer wanted."""
    last = time.monotonic()

    def report(fraction: float) -> None:
        nonlocal last
        task = worker.state.tasks.get(key)
        if task is None or task.state == "cancelled":
            raise Cancelled
        if time.monotonic() >= last + LOOK_SECONDS:
            last = time.monotonic()
            worker.log_event(topic, (index, fraction))

    return report


#: The results of `stamp` on this worker (fingerprints of bloatlab and of a sweep's functions), by sweep. They are
#: cached, because a fingerprint takes as long to compute as many runs.
_stamps: dict[str, str] = {}


def _stamp_of(order: _Order) -> str:
    if order.topic not in _stamps:
        _stamps[order.topic] = stamp(order.work)
    return _stamps[order.topic]


def stamp(work: Work[Any]) -> str:
    """Returns the fingerprint of this build, and of the source of the functions that reduce a run.

    If it cannot be computed, returns "unknown: " and the reason.
    """
    try:
        functions: Sequence[Any] = getattr(work, "functions", ())
        return f"{fingerprint.build()[:16]} {(fingerprint.travelling(*functions) or 'by value')[:16]}"
    except fingerprint.Unsure as unsure:
        return f"unknown: {unsure}"


# ------------------------------------------------------------------------------ on the machine of the sweep


@dataclass
class _Sending:
    """A sweep in progress: the waiting runs, the running batches, and the workers that may receive more batches."""

    client: Any
    points: Sequence[Point[Any]]
    work: Work[Any]
    done: Callable[[int, Any], None]
    watch: Watch
    notice: Callable[[str], None]
    out: dict[Any, list[int]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    deaths: collections.Counter[int] = field(default_factory=collections.Counter)
    ended: queue.SimpleQueue[Any] = field(default_factory=queue.SimpleQueue)
    #: Recent mean duration of a run, in s.
    seconds: float | None = None
    threads: Mapping[str, int] = field(default_factory=dict)
    looked: float = -math.inf
    idle: bool = False

    def run(self) -> None:
        """Runs all points, and returns when every value has been passed to `done`. Raises `RunError`, `Stopped`."""
        self.waiting = collections.deque(range(len(self.points)))
        self.name = f"bloatlab-{secrets.token_hex(6)}"
        self.build = stamp(self.work)
        if self.build.startswith("unknown"):
            raise Stopped(
                f"results of workers could not be distinguished from those of a different build: {self.build[9:]}"
            )
        self._ask(lambda: self.client.subscribe_topic(self.name, lambda event: self.watch.advance(*event[1])))
        while self.waiting or self.out:
            self._look()
            while self.waiting and self.threads and len(self.out) < AHEAD * sum(self.threads.values()):
                self._send()
            with contextlib.suppress(queue.Empty):
                self._take(self.ended.get(timeout=POLL_SECONDS))
                while True:
                    self._take(self.ended.get_nowait())

    def stop(self) -> None:
        """Cancels the batches in progress."""
        with contextlib.suppress(Exception):
            if self.out:
                self.client.cancel(list(self.out), force=True)
            self.client.unsubscribe_topic(self.name)
        self.out.clear()

    def _ask(self, of: Callable[[], Any]) -> Any:
        """Waits for the scheduler's answer. Raises `Stopped` if it does not answer."""
        try:
            if self.client.status == "running":
                return of()
        except (OSError, TimeoutError, ValueError, RuntimeError, futures.CancelledError):
            pass  # losing the scheduler also cancels batches that have ended but whose results are not fetched yet
        raise self._lost()

    def _lost(self) -> Stopped:
        scheduler = getattr(self.client, "scheduler", None)
        return Stopped(f"the Dask scheduler at {getattr(scheduler, 'address', 'its address')} is gone")

    def _look(self) -> None:
        """Updates the list of workers once a second.

        Raises `Stopped` if the scheduler is gone or all workers are refused.
        """
        if time.monotonic() < self.looked + LOOK_SECONDS:
            return
        there: Mapping[str, int] = self._ask(self.client.nthreads)
        self.threads = {address: n for address, n in there.items() if address not in self.refused}
        self.looked = time.monotonic()
        if there and not self.threads and not self.out:
            address, build = next(iter(self.refused.items()))
            raise Stopped(
                f"no worker has this build of bloatlab, {self.build} ({address} has {build}); "
                "install the same one everywhere"
            )
        if not there and not self.idle:
            self.notice("no Dask workers yet; waiting for some")
        self.idle = not there

    def _send(self) -> None:
        import cloudpickle  # noqa: PLC0415  dask installs cloudpickle

        share = math.ceil(len(self.waiting) / (AHEAD * sum(self.threads.values())))
        wanted = 1 if self.seconds is None else int(BATCH_SECONDS / max(self.seconds, 1e-6))
        count = 1 if self.deaths[self.waiting[0]] else max(1, min(wanted, share, MOST_RUNS))
        batch = [self.waiting.popleft() for _ in range(min(count, len(self.waiting)))]
        packed = cloudpickle.dumps(_Order([(i, self.points[i]) for i in batch], self.work, self.build, self.name))
        only = list(self.threads) if self.refused else None
        key = f"{self.name}-{secrets.token_hex(8)}"
        future = self._ask(lambda: self.client.submit(_serve, packed, key=key, pure=False, workers=only))
        self.out[future] = batch
        future.add_done_callback(self.ended.put)

    def _take(self, future: Any) -> None:
        """Handles a batch that has ended: complete, failed, refused or cancelled."""
        batch = self.out.pop(future, None)
        if batch is None:
            return
        if future.status == "cancelled":
            raise self._lost()
        if future.status == "error":
            self._failed(batch, self._ask(future.exception))
            return
        build, address, seconds, found = self._ask(future.result)
        if build != self.build:
            if address not in self.refused:
                here = f"({build}; here {self.build})"
                self.notice(f"{address}: a different build of bloatlab {here}: its results are refused")
            self.refused.setdefault(address, build)
            self.looked = -math.inf
            self.waiting.extendleft(reversed(batch))
            return
        for run in found:
            if run.failure:
                kind = ClassFailed if run.own else RunError
                raise kind(f"{self.points[run.index]}: {run.failure}")
            self.done(run.index, run.value)
            self.watch.done(run.index)
        mean = seconds / max(1, len(found))
        self.seconds = mean if self.seconds is None else 0.7 * self.seconds + 0.3 * mean

    def _failed(self, batch: Sequence[int], error: BaseException) -> None:
        """Handles a batch that failed because its workers died. For any other error, raises `Stopped`.

        One run of the batch may be the cause, so each run is sent again in its own batch. Raises `RunError` for a run
        that is taken to be the cause (see `MOST_DEATHS`).
        """
        if type(error).__name__ != "KilledWorker":
            words = " ".join(f"{type(error).__name__}: {error}".split())
            raise Stopped(f"a Dask worker cannot do the work ({words[:300]}); install the same bloatlab everywhere")
        for index in batch:
            self.deaths[index] += 1
            if self.deaths[index] > MOST_DEATHS and len(batch) == 1:
                raise RunError(f"{self.points[index]}: every worker that ran it died")
        self.waiting.extendleft(reversed(batch))
