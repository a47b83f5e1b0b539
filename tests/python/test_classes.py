"""Parsing users' classes in several threads at once."""

import contextlib
import gc
import sys
import threading
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bloatlab.classes import parsed

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
