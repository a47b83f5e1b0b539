"""Sweeps on a Dask cluster of real processes give the same table as one machine, even if workers die."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("distributed", reason="Dask is not installed: pip install dask distributed")

import distributed
from dask import config as dask_config
from distributed.client import FutureCancelledError

import bloatlab
from bloatlab.cli.main import call
from bloatlab.simulation import Result
from bloatlab.studies import Batch, Options
from bloatlab.studies.reproduce import points
from bloatlab.studies.reproduce import run as run_batch
from bloatlab.sweep import (
    Dask,
    Grid,
    Measure,
    Point,
    RunError,
    Stopped,
    Store,
    Watch,
    cluster,
    fingerprint,
    gather,
    grid_file,
    sweep,
)

ROOT = Path(__file__).resolve().parents[2]
COMMAND = str(Path(sys.executable).with_name("bloatlab"))
# ignores Dask's own warnings about event loops and sockets when the process ends
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

GRID = """
scenario = "dumbbell.toml"
seeds = {seeds}
[set]
duration = "{duration}"
[axes]
"link.up.rate" = ["1mbit", "2mbit", "3mbit", "4mbit"]
"""


@pytest.fixture
def grid(scenario_file: Path) -> Path:
    path = scenario_file.with_name("grid.toml")
    path.write_text(GRID.format(seeds=10, duration="1s"))
    return path


#: A program that imports Dask once, which takes most of the CPU time of starting a scheduler or worker. For each line
#: that it reads, it starts a scheduler or worker in a fork, and prints the fork's PID. A fork imports modules from the
#: given folders first. When the tests end or are killed, the program kills all forks.
FORKS = """
import json, os, signal, sys
from distributed.cli import dask_scheduler, dask_worker
started = []
for line in sys.stdin:
    part, paths, words = json.loads(line)
    if (child := os.fork()) == 0:
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        os.dup2(0, 1)
        sys.path[:0] = paths
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
        {"scheduler": dask_scheduler, "worker": dask_worker}[part].main(words)
        os._exit(0)
    started.append(child)
    print(child, flush=True)
for child in started:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""


class Forks:
    """The program FORKS in a process of its own."""

    def __init__(self) -> None:
        environment = os.environ | {"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen([sys.executable, "-c", FORKS], env=environment, text=True, **pipes)

    def start(self, part: str, paths: tuple[Path, ...], words: tuple[str, ...]) -> int:
        """Starts a scheduler or worker, which imports modules from `paths` first; returns its PID."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([part, [*map(str, paths)], words]) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    made = Forks()
    yield made
    made.close()


class Cluster:
    """A scheduler and workers, each in a process of its own, by their PIDs."""

    def __init__(self, forks: Forks) -> None:
        self._forks = forks
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{port}"
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
        self.workers: list[int] = []

    def worker(self, *paths: Path) -> None:
        """Starts a single-threaded worker without a nanny. If `paths` are given, the worker imports bloatlab from the
        first of them.
        """
        more = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", "60")
        self.workers.append(self._start("worker", self.address, *more, paths=paths))

    def _start(self, part: str, *words: str, paths: tuple[Path, ...] = ()) -> int:
        return self._forks.start(part, (*paths, Path(__file__).parent), words)

    def close(self) -> None:
        for process in [*self.workers, self.scheduler]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


@pytest.fixture
def machines(forks: Forks) -> Iterator[Cluster]:
    made = Cluster(forks)
    yield made
    made.close()


@pytest.fixture(scope="module")
def standing(forks: Forks) -> Iterator[Cluster]:
    """A cluster with one worker. The tests that share it leave both processes in working order."""
    made = Cluster(forks)
    made.worker()
    yield made
    made.close()


def table(grid: Path, out: Path, *more: str) -> bytes:
    assert call(["sweep", str(grid), "-o", str(out), "--no-store", *more]) == 0
    return out.read_bytes()


@contextlib.contextmanager
def client_of(machines: Cluster, workers: int = 1) -> Generator[Any]:
    """Yields a client of the scheduler as soon as at least `workers` workers are connected."""
    with distributed.Client(machines.address) as client:
        client.wait_for_workers(workers, timeout=60)
        yield client


def busy(client: Any) -> int:
    """Returns the number of workers that are processing a task."""
    return sum(map(bool, client.processing().values()))


def voice(result: Result) -> dict[str, float]:
    return {"sent_bytes": result.summary["links"]["up"]["delivered_bytes"]}


_SEEN: dict[int, float] = {}


def with_a_memo(result: Result) -> dict[str, float]:
    return {"x": _SEEN.setdefault(len(_SEEN), 1.0)}


def build(rate: str, seed: int) -> bloatlab.Scenario:
    text = 'duration = "1s"\n[link.up]\nfrom = "a"\nto = "b"\nboth_ways = true\nrate = "1mbit"\n'
    text += '[app.file]\nfrom = "a"\nto = ["b"]\ntraffic.ftp = {}\n'
    return bloatlab.parse(text, sets=[("link.up.rate", rate), ("seed", str(seed))])


MADE = Grid({"rate": ["1mbit", "3mbit"]}, build, seeds=range(1, 4))


# ----------------------------------------------------------------------------- results equal those of threads


def test_the_table_of_a_local_cluster_is_that_of_threads(grid: Path, tmp_path: Path, capsys):
    assert table(grid, tmp_path / "dask.csv", "--dask", "local", "--jobs", "2") == table(grid, tmp_path / "own.csv")
    assert "40 runs" in capsys.readouterr().err


def test_any_client_is_an_executor_and_fills_the_store(standing: Cluster, tmp_path: Path):
    store = Store(tmp_path / "store")
    with client_of(standing) as client:
        gathered = gather(MADE.points(), Measure("voice", voice), store=store, executor=Dask(client))
        values = sweep(MADE.points(), lambda point, result: (point.key["rate"], result.seed), executor=Dask(client))
    assert values == [(rate, seed) for seed in (1, 2, 3) for rate in ("1mbit", "3mbit")]
    again = gather(MADE.points(), Measure("voice", voice), store=store)
    assert (gathered.ran, again.found) == (6, 6)
    assert gathered.frame().equals(again.frame())
    assert gathered.frame().equals(gather(MADE.points(), Measure("voice", voice)).frame())


def test_a_worker_whose_variables_have_changed_is_not_another_build(standing: Cluster):
    with client_of(standing) as client:
        for seed in (1, 2):
            points = Grid({"rate": ["1mbit"]}, build, seeds=[seed]).points()
            assert gather(points, Measure("memo", with_a_memo), executor=Dask(client)).ran == 1


def of_case(case: str, seed: int) -> bloatlab.Scenario:
    return build(case, seed)


def test_a_study_runs_on_a_cluster(standing: Cluster, tmp_path: Path):

    def made(**how: Any) -> Any:
        options = Options(tmp_path, jobs=1, **how)
        batch = Batch(name="all cases", cases=["1mbit", "3mbit"], build=of_case, measure=Measure("voice", voice))
        return run_batch(batch, points(batch, range(1, 3), options), options).gathered

    with client_of(standing) as client:
        there = made(executor=Dask(client))
    assert there.ran == 4
    assert there.frame().equals(made().frame())


def test_killed_workers_lose_nothing(grid: Path, tmp_path: Path, machines: Cluster):
    """The table is complete even if one of two workers is killed and replaced, twice in one sweep."""
    grid.write_text(GRID.format(seeds=10, duration="150s"))
    machines.worker()
    machines.worker()
    out = tmp_path / "dask.csv"
    command = [COMMAND, "sweep", str(grid), "-o", str(out), "--no-store", "--dask", machines.address]
    with client_of(machines, 2) as client:
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while child.poll() is None and busy(client) < 2:
            time.sleep(0.02)
        assert child.poll() is None, "the sweep was over before both workers had work"
        first, second = machines.workers
        # the second worker is stopped, so that it is still in the middle of its run when it is killed below, however
        # fast the machine is
        os.kill(second, signal.SIGSTOP)
        os.kill(first, signal.SIGKILL)
        machines.worker()
        client.wait_for_workers(2, timeout=60)
        assert child.poll() is None, "the sweep was over without the stopped worker"
        os.kill(second, signal.SIGKILL)
        machines.worker()
    _, said = child.communicate()
    assert child.returncode == 0, said
    assert out.read_bytes() == table(grid, tmp_path / "own.csv")


# ---------------------------------------------------------------------------------------------- another build


@pytest.fixture
def other_build(tmp_path: Path) -> Path:
    """Copies bloatlab and adds a comment to one of its files. Returns the folder that contains the copy."""
    folder = tmp_path / "other"
    shutil.copytree(Path(bloatlab.__file__).parent, folder / "bloatlab", ignore=shutil.ignore_patterns("__pycache__"))
    with (folder / "bloatlab" / "tables.py").open("a") as file:
        file.write("# another build\n")
    return folder


def test_another_build_is_refused_and_the_others_do_its_work(machines: Cluster, other_build: Path, tmp_path: Path):
    machines.worker(other_build)
    machines.worker()
    notices: list[str] = []
    points = Grid({"rate": ["1mbit", "3mbit"]}, build, seeds=range(1, 21)).points()
    with client_of(machines, 2) as client:
        gathered = gather(points, Measure("voice", voice), executor=Dask(client, notices.append))
    assert gathered.frame().equals(gather(points, Measure("voice", voice)).frame())
    (notice,) = notices
    assert re.match(r"tcp://.*: a different build of bloatlab \(", notice)


def test_a_cluster_of_another_build_ends_in_a_line(
    grid: Path, tmp_path: Path, machines: Cluster, other_build: Path, capsys
):
    machines.worker(other_build)
    store = tmp_path / "store"
    assert call(["sweep", str(grid), "--store", str(store), "--dask", machines.address]) == 2
    out, err = capsys.readouterr()
    lines = [line for line in err.splitlines() if "workers yet" not in line]
    assert (out, len(lines)) == ("", 2), err
    assert "its results are refused" in lines[0]
    assert "no worker has this build of bloatlab" in lines[1]
    assert "0 of 40 runs are stored in" in lines[1]
    assert sum(stock.runs for stock in Store(store).shelves()) == 0


def test_a_build_is_all_of_bloatlab(other_build: Path):
    source = "from bloatlab.sweep import fingerprint; print(fingerprint.core(), fingerprint.build())"

    def of(environment: dict[str, str]) -> list[str]:
        command = [sys.executable, "-c", source]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.split()

    core, build = of(dict(os.environ))
    assert (core, build) == (fingerprint.core(), fingerprint.build())
    other_core, other = of(os.environ | {"PYTHONPATH": str(other_build)})
    assert other_core == core
    assert other != build


# --------------------------------------------------------------------------------------------------- failures


def test_a_scheduler_that_dies_before_a_result_is_fetched_is_gone():
    client = SimpleNamespace(status="running", scheduler=SimpleNamespace(address="tcp://here:1"))
    unused: Any = None
    sending = cluster._Sending(client, [], unused, unused, unused, unused)

    def result() -> None:
        raise FutureCancelledError("a batch", "scheduler-connection-lost")

    with pytest.raises(Stopped, match="the Dask scheduler at tcp://here:1 is gone"):
        sending._ask(result)


def test_a_dead_scheduler_is_a_line_and_what_is_done_is_kept(grid: Path, tmp_path: Path, machines: Cluster):
    grid.write_text(GRID.format(seeds=50, duration="20s"))
    machines.worker()
    store = tmp_path / "store"
    command = [COMMAND, "sweep", str(grid), "--store", str(store), "-f", "csv"]
    child = subprocess.Popen(
        [*command, "--dask", machines.address], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    for _ in range(600):
        if sum(stock.runs for stock in Store(store).shelves()) >= 3 or child.poll() is not None:
            break
        time.sleep(0.1)
    os.kill(machines.scheduler, signal.SIGKILL)
    out, err = child.communicate(timeout=60)
    lines = [line for line in err.splitlines() if "workers yet" not in line]
    assert (child.returncode, out, len(lines)) == (2, "", 1), err
    told = re.fullmatch(r"the Dask scheduler at tcp://\S+ is gone; (\d+) of 200 runs are stored in .*", lines[0])
    assert told, err
    assert int(told[1]) >= 3
    assert sum(stock.runs for stock in Store(store).shelves()) == int(told[1])


def test_ctrl_c_stops_the_runs_of_the_workers(grid: Path, tmp_path: Path, machines: Cluster):
    grid.write_text(GRID.format(seeds=2, duration="100000s"))
    machines.worker()
    command = [COMMAND, "sweep", str(grid), "--store", str(tmp_path / "store"), "--dask", machines.address]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with distributed.Client(machines.address) as client:
        for _ in range(300):
            if busy(client) or child.poll() is not None:
                break
            time.sleep(0.1)
        time.sleep(1)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=30)
        assert child.returncode == 130, err
        assert "interrupted: 0 of 8 runs are stored" in err
        assert client.submit(int, "5").result(timeout=10) == 5  # the only thread of the worker is free again


def test_a_run_that_breaks_is_named(standing: Cluster):

    def fails(point: Point[Any], result: Result) -> int:
        if result.seed == 2:
            raise ValueError("no")
        return result.seed

    with client_of(standing) as client:
        with pytest.raises(RunError, match=r"^rate=[13]mbit with seed 2: ValueError: no$"):
            sweep(MADE.points(), fails, executor=Dask(client))
        assert sweep(MADE.points()[:2], fails, executor=Dask(client)) == [1, 1]


def test_a_run_that_kills_its_workers_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cluster, "MOST_DEATHS", 0)

    def deadly(point: Point[Any], result: Result) -> int:
        if result.seed == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return result.seed

    with (
        dask_config.set({"distributed.scheduler.allowed-failures": 0}),
        cluster.connected("local", 1, lambda _: None) as executor,
        pytest.raises(RunError, match="every worker that ran it died"),
    ):
        sweep(MADE.points(), deadly, executor=executor)


def report_every_step() -> None:
    """Makes a worker report every step of its progress instead of one step per second, so that even a fast machine
    reports some.
    """
    cluster.LOOK_SECONDS = 0.0


def test_progress_comes_by_way_of_the_scheduler(standing: Cluster):
    heard: list[tuple[int, float]] = []

    class Ears(Watch):
        def advance(self, index: int, fraction: float) -> None:
            heard.append((index, fraction))

        def done(self, index: int) -> None:
            heard.append((index, 1.0))

    def slow(point: Point[Any], result: Result) -> int:
        return result.seed

    long = [Point("long", build("3mbit", 1).with_sets(("duration", "2000s")), 1)]
    with client_of(standing) as client:
        client.wait_for_workers(1)
        client.run(report_every_step)
        sweep(long, slow, executor=Dask(client), watch=Ears())
    assert heard[-1] == (0, 1.0)
    fractions = [fraction for _, fraction in heard]
    assert fractions == sorted(fractions)
    assert any(0.0 < fraction < 1.0 for fraction in fractions)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--dask", "tcp://127.0.0.1:9"], "--dask tcp://127.0.0.1:9: no Dask scheduler"),
        (["--dask", "nonsense"], "--dask nonsense: no Dask scheduler"),
        (["--dask", "nowhere.json"], "--dask nowhere.json: no Dask scheduler"),
        (["--dask", "tcp://127.0.0.1:9", "--jobs", "2"], "--jobs: the cluster sets the number of parallel runs"),
    ],
)
def test_a_cluster_that_is_not_there_is_a_line(grid: Path, capsys, monkeypatch, flags: list[str], words: str):
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 2)
    assert call(["sweep", str(grid), *flags]) == 2
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1), err
    assert words in err


def test_a_sweep_of_a_lost_client_says_so():
    class Gone:
        status = "closed"

    with pytest.raises(Stopped, match="is gone; 0 of 6 runs were complete"):
        gather(MADE.points(), grid_file.SUMMARY, store=None, executor=Dask(Gone()))


# ---------------------------------------------------------------------------------------------- deployments
