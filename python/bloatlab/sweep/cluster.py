"""Many machines: runs go to the workers of a Dask cluster, in batches, and come back with the build that made them.

    with Client("tcp://10.0.0.1:8786") as client:
        gather(points, measure, store=store, executor=Dask(client))

A batch is as many runs as take about half a second, so that a run of 10 ms is worth sending; the last ones are smaller,
so that no worker is waited for. What is asked of the cluster is little: it runs a function somewhere, once at least. A
worker that dies has its batch run by another (Dask does that); one of another build has its answers refused, and gets
no more. Values are told in this process, by index: a table does not know where its rows were made.

Needs the extra `cluster` (dask, distributed).
"""

from __future__ import annotations

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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bloatlab.errors import InputError
from bloatlab.laws import LawError
from bloatlab.scenario import problems
from bloatlab.sweep import fingerprint
from bloatlab.sweep.pool import POLL_SECONDS, Cancelled, Point, Reduced, RunError, Stopped, Work, law_broke
from bloatlab.sweep.progress import Watch

#: Seconds of work in a batch, and the most runs in one.
BATCH_SECONDS = 0.5
MOST_RUNS = 500
#: Batches under way for each thread of the workers: one that runs, one that waits beside it.
AHEAD = 2
#: Seconds between looks at who is there, and between what a run tells of its progress.
LOOK_SECONDS = 1.0
#: Seconds to wait for a scheduler's first word.
CONNECT_SECONDS = 10
#: How often a run may take the workers with it that it is on, before it is the run that is to blame.
MOST_DEATHS = 1


class ClusterError(InputError):
    """A cluster that cannot be had; the message is one line."""


@dataclass(frozen=True)
class Dask:
    """An executor: the workers of `client`, a `distributed.Client`. `notice` is told, in a line, of what is refused."""

    client: Any
    notice: Callable[[str], None] = warnings.warn

    def __call__(
        self, points: Sequence[Point[Any]], work: Work[Reduced], done: Callable[[int, Reduced], None], watch: Watch
    ) -> None:
        """Run them all. Ctrl-C and a failure stop the runs under way within about a tenth of a second."""
        sending = _Sending(self.client, points, work, done, watch, self.notice)
        watch.begin(len(points))
        try:
            sending.run()
        finally:
            sending.stop()
            watch.end()


@contextlib.contextmanager
def connected(where: str, jobs: int | None, notice: Callable[[str], None]) -> Generator[Dask]:
    """The cluster at `where`: a scheduler's address, the file that it wrote (.json), or `local` for `jobs` processes.

    Raises `ClusterError`. Dask's own log says nothing within.
    """
    try:
        import distributed  # noqa: PLC0415
    except ModuleNotFoundError:
        raise ClusterError(f"{where}: dask is not installed: pip install dask distributed") from None
    with contextlib.ExitStack() as held:
        _silence()
        held.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        try:
            if where == "local":
                held.enter_context(_lean())
                quiet: dict[str, Any] = {"dashboard_address": None, "silence_logs": logging.CRITICAL + 1}
                cluster = distributed.LocalCluster(n_workers=jobs, threads_per_worker=1, **quiet)
                held.enter_context(cluster)
                client = distributed.Client(cluster)
            elif where.endswith(".json"):
                Path(where).stat()  # Dask would wait for it
                client = distributed.Client(scheduler_file=where, timeout=CONNECT_SECONDS)
            else:
                client = distributed.Client(where, timeout=CONNECT_SECONDS)
        except (OSError, ValueError, TypeError) as error:
            words = str(error).splitlines()[0] if str(error) else type(error).__name__
            needs = "" if not where.startswith("tls:") or _certificates() else f"; {CERTIFICATES}"
            raise ClusterError(f"{where}: no Dask scheduler: {words}{needs}") from None
        address: str = client.scheduler_info()["address"]
        if (open_door := exposed(address)) is not None:
            notice(open_door)
        held.callback(_closed, client)
        yield Dask(client, notice)


#: What a scheduler with TLS asks of those who connect, in Dask's own configuration.
CERTIFICATES = (
    "TLS needs DASK_DISTRIBUTED__COMM__TLS__CA_FILE, ...__TLS__CLIENT__CERT and ...__TLS__CLIENT__KEY (docs/cluster.md)"
)


def _certificates() -> bool:
    """Whether Dask's configuration names an authority, without which it makes no connection by TLS."""
    from dask import config  # noqa: PLC0415

    return bool(config.get("distributed.comm.tls.ca-file", None))


def exposed(address: str) -> str | None:
    """A line for a scheduler that others can reach without a certificate: Dask runs what anybody sends. Else None."""
    scheme, _, place = address.partition("://")
    host = place.rpartition(":")[0].strip("[]")
    if scheme in {"tls", "wss", "inproc"} or host == "localhost":
        return None
    with contextlib.suppress(ValueError):
        if ipaddress.ip_address(host).is_loopback:
            return None
    return f"--dask {address}: no TLS: whoever reaches this port can run programs on its machines (docs/cluster.md)"


def _lean() -> Any:
    """Local workers without Dask's profiler, which looks a hundred times a second. One that dies is always replaced.

    Dask gives a local worker up for good that is just not there 15 s after a death: one that dies often, or starts
    slowly. Its nanny would have brought it back.
    """
    from dask import config  # noqa: PLC0415

    return config.set(
        {
            "distributed.worker.profile.enabled": False,
            "distributed.admin.system-monitor.gil.enabled": False,
            "distributed.deploy.lost-worker-timeout": "1000 days",
        }
    )


def _silence() -> None:
    """Of Dask's and its network's log, for the rest of the process: threads go on writing after the last answer."""
    for name in [*logging.root.manager.loggerDict]:
        if name.split(".")[0] in {"distributed", "tornado", "asyncio"}:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _closed(client: Any) -> None:
    with contextlib.suppress(Exception):
        client.close(timeout=2)


# --------------------------------------------------------------------------------------------------- on a worker


@dataclass(frozen=True)
class _Order:
    """What goes to a worker: runs by their index, what to do with each, the build that is wanted, where to tell."""

    points: Sequence[tuple[int, Point[Any]]]
    work: Work[Any]
    build: str
    topic: str


#: Begins what is told of a run whose law in Python broke.
_LAW = "law: "


def _serve(packed: bytes) -> tuple[str, str, float, list[tuple[int, Any, str | None]]]:
    """Run a batch. Returns build, address, seconds, and of each run index, value, and in words why it broke.

    A worker of another build runs nothing. After a run that broke, the rest of the batch is left. The order comes as
    bytes, which the scheduler hands on unread: it needs no module of the user's.
    """
    from distributed import get_worker  # noqa: PLC0415

    worker: Any = get_worker()
    found: list[tuple[int, Any, str | None]] = []
    begun = time.perf_counter()
    try:
        order: _Order = pickle.loads(packed)  # noqa: S301  from the scheduler, which can have anything run anyway
    except (ImportError, AttributeError) as error:
        return f"cannot load the work: {error}", worker.address, 0.0, found
    build = _stamp_of(order)
    if build == order.build:
        key = worker.get_current_task()
        for index, point in order.points:
            try:
                found.append((index, order.work(point, _Told(worker, key, order.topic, index)), None))
            except Cancelled:
                raise
            except LawError as error:
                found.append((index, None, _LAW + problems(error)[0]))
                break
            except Exception as error:  # noqa: BLE001  told where the sweep is
                found.append((index, None, f"{type(error).__name__}: {error}"))
                break
    return build, worker.address, time.perf_counter() - begun, found


#: Of each sweep that came by, what `stamp` said: to find out takes as long as many runs.
_stamps: dict[str, str] = {}


def _stamp_of(order: _Order) -> str:
    if order.topic not in _stamps:
        _stamps[order.topic] = stamp(order.work)
    return _stamps[order.topic]


def stamp(work: Work[Any]) -> str:
    """What a value follows from besides its point: this build, and the source of the functions that reduce a run."""
    try:
        functions: Sequence[Any] = getattr(work, "functions", ())
        return f"{fingerprint.build()[:16]} {(fingerprint.travelling(*functions) or 'by value')[:16]}"
    except fingerprint.Unsure as unsure:
        return f"unknown: {unsure}"


class _Told:
    """The progress of one run on a worker: now and then to the scheduler's log; stops a run that nobody wants."""

    def __init__(self, worker: Any, key: str, topic: str, index: int) -> None:
        self._worker, self._key, self._topic, self._index = worker, key, topic, index
        self._next = time.monotonic() + LOOK_SECONDS

    def __call__(self, fraction: float) -> None:
        task = self._worker.state.tasks.get(self._key)
        if task is None or task.state == "cancelled":
            raise Cancelled
        now = time.monotonic()
        if now >= self._next:
            self._next = now + LOOK_SECONDS
            self._worker.log_event(self._topic, (self._index, fraction))


# --------------------------------------------------------------------------------------- where the sweep is


@dataclass
class _Sending:
    """A sweep under way: what waits, what is out, who may have it."""

    client: Any
    points: Sequence[Point[Any]]
    work: Work[Any]
    done: Callable[[int, Any], None]
    watch: Watch
    notice: Callable[[str], None]
    out: dict[Any, list[int]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    deaths: collections.Counter[int] = field(default_factory=collections.Counter)
    seconds: float | None = None
    """Of one run, on average, lately."""
    threads: Mapping[str, int] = field(default_factory=dict)
    looked: float = -math.inf
    idle: bool = False

    def run(self) -> None:
        """Until every value is told. Raises `RunError`, `Stopped`."""
        self.waiting = collections.deque(range(len(self.points)))
        self.ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.name = f"bloatlab-{secrets.token_hex(6)}"
        self.build = stamp(self.work)
        if self.build.startswith("unknown"):
            raise Stopped(f"results of workers could not be told from those of another build: {self.build[9:]}")
        self._ask(lambda: self.client.subscribe_topic(self.name, self._progress))
        while self.waiting or self.out:
            self._look()
            while self.waiting and len(self.out) < AHEAD * max(1, sum(self.threads.values())) and self.threads:
                self._send()
            with contextlib.suppress(queue.Empty):
                self._take(self.ended.get(timeout=POLL_SECONDS))
                while True:
                    self._take(self.ended.get_nowait())

    def stop(self) -> None:
        """Take back what is out."""
        with contextlib.suppress(Exception):
            if self.out:
                self.client.cancel(list(self.out), force=True)
            self.client.unsubscribe_topic(self.name)
        self.out.clear()

    def _ask(self, of: Callable[[], Any]) -> Any:
        """What the scheduler says. Raises `Stopped` where it does not."""
        try:
            if self.client.status == "running":
                return of()
        except (OSError, TimeoutError, ValueError, RuntimeError):
            pass
        raise self._lost()

    def _lost(self) -> Stopped:
        scheduler = getattr(self.client, "scheduler", None)
        return Stopped(f"the Dask scheduler at {getattr(scheduler, 'address', 'its address')} is gone")

    def _look(self) -> None:
        """Who is there, once a second. Raises `Stopped` when the scheduler is not, or all workers are refused."""
        if time.monotonic() < self.looked + LOOK_SECONDS:
            return
        there: Mapping[str, int] = self._ask(self.client.nthreads)
        self.threads = {address: n for address, n in there.items() if address not in self.refused}
        self.looked = time.monotonic()
        if there and not self.threads and not self.out:
            address, build = next(iter(self.refused.items()))
            raise Stopped(
                f"every worker has another build of bloatlab than this one, {self.build} ({address}: {build}); "
                "install the same one everywhere"
            )
        if not there and not self.idle:
            self.notice("no Dask workers; waiting for some")
        self.idle = not there

    def _send(self) -> None:
        import cloudpickle  # noqa: PLC0415  comes with dask

        threads = max(1, sum(self.threads.values()))
        share = math.ceil(len(self.waiting) / (AHEAD * threads))
        wanted = 1 if self.seconds is None else BATCH_SECONDS / max(self.seconds, 1e-6)
        first = self.waiting[0]
        count = 1 if self.deaths[first] else max(1, min(int(wanted), share, MOST_RUNS))
        batch = [self.waiting.popleft() for _ in range(min(count, len(self.waiting)))]
        order = _Order([(index, self.points[index]) for index in batch], self.work, self.build, self.name)
        packed = cloudpickle.dumps(order)
        only = list(self.threads) if self.refused else None
        future = self._ask(
            lambda: self.client.submit(
                _serve, packed, key=f"{self.name}-{secrets.token_hex(8)}", pure=False, workers=only
            )
        )
        self.out[future] = batch
        future.add_done_callback(self.ended.put)

    def _take(self, future: Any) -> None:
        """What came of a batch."""
        batch = self.out.pop(future, None)
        if batch is None:
            return
        if future.status == "cancelled":
            raise self._lost()
        if future.status == "error":
            self._broken(batch, self._ask(future.exception))
            return
        build, address, seconds, found = self._ask(future.result)
        if build != self.build:
            self._refuse(address, build)
            self.waiting.extendleft(reversed(batch))
            return
        for index, value, why in found:
            if why is not None:
                if why.startswith(_LAW):
                    raise law_broke(self.points[index], why.removeprefix(_LAW))
                raise RunError(f"{self.points[index].key} with seed {self.points[index].seed}: {why}")
            self.done(index, value)
            self.watch.done(index)
        mean = seconds / max(1, len(found))
        self.seconds = mean if self.seconds is None else 0.7 * self.seconds + 0.3 * mean

    def _broken(self, batch: Sequence[int], error: BaseException) -> None:
        """A batch whose workers died, or that none could begin. One of its runs may be why: then each goes alone."""
        if type(error).__name__ != "KilledWorker":
            words = " ".join(f"{type(error).__name__}: {error}".split())
            raise Stopped(f"a Dask worker cannot do the work ({words[:300]}); install the same bloatlab everywhere")
        for index in batch:
            self.deaths[index] += 1
            if self.deaths[index] > MOST_DEATHS and len(batch) == 1:
                point = self.points[index]
                raise RunError(f"{point.key} with seed {point.seed}: every worker that ran it died")
        self.waiting.extendleft(reversed(batch))

    def _refuse(self, address: str, build: str) -> None:
        if address not in self.refused:
            self.refused[address] = build
            self.notice(f"{address}: another build of bloatlab ({build}; here {self.build}): its results are refused")
        self.looked = -math.inf

    def _progress(self, event: Any) -> None:
        """What a worker tells of a run, by way of the scheduler."""
        index, fraction = event[1]
        self.watch.advance(index, fraction)
