"""Fixtures and helpers that tests share, such as a small dumbbell scenario and results that agree with a paper."""

from __future__ import annotations

import fcntl
import hashlib
import os
import signal
import subprocess
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler.loadfile import LoadFileScheduling

from bloatlab.cli.main import call
from bloatlab.results import PROVENANCE
from bloatlab.studies.cablelabs2012.measure import Measures
from bloatlab.studies.cablelabs2012.published import FTP, LATE, LOST, MAD, MEDIAN, MOS, PAGES, PLR, measured
from bloatlab.sweep import Store
from browser import ARGUMENTS, chromium

# hypothesis draws the same examples in every run, here and in CI
settings.register_profile("bloatlab", derandomize=True)
settings.load_profile("bloatlab")

#: A function that runs a command and returns its exit code, its output as one line, and its errors.
Say = Callable[..., tuple[int, str, str]]

#: Three files that serve as locks. A test marked `live` or `alone` takes LIVE first, and holds it to its end. Every
#: test holds RUNNING while it runs: exclusively if it is marked `alone`, otherwise shared with others. It holds TURN
#: only while it waits for RUNNING.
LIVE, TURN, RUNNING = Path(__file__).with_name("test_live.py"), Path(__file__).with_name("kernel.py"), Path(__file__)


#: Files that one worker runs, one after another, because most of their tests would wait for each other.
TOGETHER = ("test_live.py", "test_live_tcp.py", "test_live_impairments.py", "test_compare.py")

#: The test files that take longest after those in TOGETHER, in the order in which they start.
LONG = (
    "test_playground_page.py",
    "test_stage.py",
    "test_playground_first.py",
    "test_report_command.py",
    "test_site.py",
    "test_flent.py",
    "test_wheel.py",
    "test_cluster.py",
    "test_playground_essays.py",
    "test_plot_kinds.py",
    "test_store_damage.py",
    "test_playground_out.py",
    "test_store_files.py",
    "test_notebooks.py",
    "test_cluster_tls.py",
    "test_cablelabs2012_runs.py",
    "test_statistics.py",
    "test_playground_hostile.py",
    "test_scte2013.py",
    "test_l4s.py",
    "test_terminal.py",
    "test_report_browser.py",
    "test_plot_options.py",
    "test_collisions.py",
    "test_film.py",
    "test_sweep_command.py",
    "test_answers.py",
    "test_attack.py",
)


def pytest_configure(config: pytest.Config) -> None:
    """Makes `pytest -n` hand out test files in the order of collection, not by their number of tests."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """Returns one worker more than there are cores, because tests often wait for a browser or another process. Returns
    None if xdist's own variable sets the number.
    """
    return None if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ else (os.cpu_count() or 1) + 1


class Files(LoadFileScheduling):
    """Hands out files as `--dist loadfile` does, but the files in TOGETHER as one."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return TOGETHER[0] if file.rpartition("/")[2] in TOGETHER else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Files | None:
    return Files(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the files that take longest first, so that the workers of `pytest -n` end at about the same time. Within
    TOGETHER, tests marked `alone` come first, because successive ones wait only once for the other workers.
    """
    rank = {name: n for n, name in enumerate((TOGETHER[0], *LONG))} | dict.fromkeys(TOGETHER, 0)
    items.sort(
        key=lambda item: (rank.get(item.path.name, len(rank)), item.path.name in TOGETHER and not _has(item, "alone"))
    )


#: The locks that this worker holds.
_HELD: list[IO[str]] = []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """Makes the workers of `pytest -n` wait for each other where tests could disturb one another.

    A test marked `alone` has the machine to itself. A test marked `live` makes live runs, or compares the state of the
    host before and after, so it runs beside other tests, but not beside one marked `live` or `alone`. Successive tests
    marked `alone` share their locks. If these were released between two tests, another worker would start a test, and
    this worker would have to wait until that test has ended.
    """
    if not _HELD:
        # first the lock of live runs, so that other tests can start while this test waits for another live run
        if _has(item, "alone") or _has(item, "live"):
            _HELD.append(_locked(LIVE, fcntl.LOCK_EX))
        with _locked(TURN, fcntl.LOCK_EX):
            _HELD.append(_locked(RUNNING, fcntl.LOCK_EX if _has(item, "alone") else fcntl.LOCK_SH))
    try:
        return (yield)
    finally:
        if nextitem is None or not (_has(item, "alone") and _has(nextitem, "alone")):
            while _HELD:
                _HELD.pop().close()


def _has(item: pytest.Item, mark: str) -> bool:
    return item.get_closest_marker(mark) is not None


def _locked(path: Path, how: int) -> IO[str]:
    file = path.open()
    fcntl.flock(file, how)
    return file


def digest(folder: Path) -> str:
    """Returns the SHA-256 of the files of a result folder, without the provenance, which differs between equal runs."""
    sha = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.name != PROVENANCE):
        sha.update(f"{path.relative_to(folder)}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return sha.hexdigest()


DUMBBELL = """
name = "dumbbell"
seed = 7
duration = "5s"

[link.up]
from = "home"
to = "net"
rate = "5mbit"
delay = "10ms"
queue.codel = { limit = "100p" }

[link.down]
from = "net"
to = "home"
rate = "20mbit"
delay = "10ms"

[app.file]
from = "home"
to = ["net"]
tcp = "rfc"
traffic.ftp = {}

[app.voip]
from = "home"
to = ["net"]
traffic.voip = {}
"""


def interrupt(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Sends SIGINT, as Ctrl-C does, and returns the output of the process; kills a process that does not end."""
    process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=60)
    finally:
        process.kill()


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Say:
    """Returns a function that runs a command of bloatlab, with a store for this test only."""
    monkeypatch.setenv("BLOATLAB_STORE", str(tmp_path / "store"))

    def command(*arguments: object) -> tuple[int, str, str]:
        code = call([str(a) for a in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, " ".join(out.split()), err

    return command


@pytest.fixture
def scenario_file(tmp_path: Path) -> Path:
    path = tmp_path / "dumbbell.toml"
    path.write_text(DUMBBELL)
    return path


@pytest.fixture
def as_published() -> Callable[[], dict[str, list[Measures]]]:
    """Returns a function that makes measures of three seeds; they agree with the paper in every cell."""

    def make() -> dict[str, list[Measures]]:
        runs: dict[str, list[Measures]] = {}
        for cell in measured():
            value = cell.values[0] if cell.values else float("inf")
            for seed in runs.setdefault(cell.case.key, [{}, {}, {}]):
                seed[cell.metric] = value
        return runs

    return make


METRICS = (LOST, LATE, PLR, MOS, MEDIAN, MAD, PAGES, FTP)


@pytest.fixture(scope="session", autouse=True)
def own_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Makes tests keep results in a temporary folder instead of the user's store."""
    folder = tmp_path_factory.mktemp("store")
    before = os.environ.get("BLOATLAB_STORE")
    os.environ["BLOATLAB_STORE"] = str(folder)
    yield folder
    if before is None:
        del os.environ["BLOATLAB_STORE"]
    else:
        os.environ["BLOATLAB_STORE"] = before


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Debian's Chromium, controlled by Playwright."""
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: make venv, then make test")
    path = chromium()
    if path is None:
        pytest.skip("no Chromium: apt-get install chromium")
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield started
        started.close()


@pytest.fixture
def notices() -> list[str]:
    return []


@pytest.fixture
def store(tmp_path: Path, notices: list[str]) -> Store:
    return Store(tmp_path / "store", notices.append)


@pytest.fixture
def page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Yields a function that opens the playground, by default without a scenario, and waits for its first result. Each
    opened page is checked when the test is done.
    """
    from playground import pages  # noqa: PLC0415 - only tests of the playground need it

    with pages(browser) as begin:
        yield begin
