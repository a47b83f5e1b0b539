"""Users' classes: parsing in several threads at once, what may run them, and the example of a controller."""

import contextlib
import gc
import sys
import threading
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import bloatlab
from bloatlab.classes import parsed
from bloatlab.cli.main import call

HOME = Path(__file__).resolve().parents[2] / "examples" / "controllers" / "home.toml"

#: Source code so long that garbage is collected while its syntax tree is built.
TEXT = Path(__file__).with_name("broken_controllers.py").read_text(encoding="utf-8") * 4


@pytest.fixture
def switching() -> Iterator[None]:
    """Makes the interpreter switch threads as often as possible, even during garbage collection."""

    def anything(_phase: str, _about: dict[str, int]) -> None:
        sum(range(50))

    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(50)
    gc.callbacks.append(anything)
    yield
    gc.callbacks.remove(anything)
    gc.set_threshold(*threshold)
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("switching")
def test_threads_parse_at_the_same_time() -> None:
    # with `ast.parse` instead of `parsed`, some of these calls raise SystemError in CPython 3.11
    with ThreadPoolExecutor(4) as threads:
        trees = list(threads.map(parsed, [TEXT] * 100))
    assert {len(tree.body) for tree in trees} == {len(parsed(TEXT).body)}


@pytest.mark.usefixtures("switching")
def test_another_thread_may_format_a_traceback() -> None:
    # to place its carets, a traceback calls `ast.parse`
    done = threading.Event()

    def formats() -> None:
        while not done.is_set():
            try:
                _ = 1 + int(done.is_set()) / 0
            except ZeroDivisionError:
                # the call of `ast.parse` that the traceback makes may still fail, but only the calls in the main thread
                # are tested
                with contextlib.suppress(SystemError):
                    traceback.format_exc()

    thread = threading.Thread(target=formats)
    thread.start()
    try:
        trees = [parsed(TEXT) for _ in range(20)]
    finally:
        done.set()
        thread.join()
    assert {len(tree.body) for tree in trees} == {len(parsed(TEXT).body)}


def test_nothing_but_a_simulation_runs_a_controller(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["play", str(HOME)]) == 2
    assert call(["live", str(HOME)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("tcp.mine.python: a controller in Python cannot run") for line in lines)
    with pytest.raises(bloatlab.ScenarioError, match="only runs started from Python"):
        bloatlab.machines.tcp_sender(python={"controller": "mine.py:Mine"})


def test_the_example_of_a_controller_runs() -> None:
    upload = bloatlab.run(HOME).summary["apps"]["upload"]
    assert upload["goodput_bytes"] > 0.9 * 5e6 / 8 * 30 * 0.8
