"""Tests the pool of workers: results keep the order of the points, a failure stops the remaining runs, runs can be
cancelled, and the number of workers changes no result.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

from bloatlab.errors import InputError
from bloatlab.scenario import Scenario
from bloatlab.simulation import Result
from bloatlab.sweep import Cancelled, Point, RunError, Watch, gather, pool, sweep
from bloatlab.sweep.grid_file import SUMMARY


@pytest.fixture
def fake_run(monkeypatch: pytest.MonkeyPatch):
    """Replaces runs with sleeps, which are shorter for seeds with a larger last digit. Each result has the scenario and
    the seed with which the run was called.
    """

    def run(scenario: Scenario, seed: int, progress, trace: bool):
        for step in range(5):
            progress(step / 5)
            time.sleep(0.002 * (10 - seed % 10))
        if scenario.text == "broken":
            raise ValueError("it broke")
        return Result(scenario, {"seed": seed}, {})

    monkeypatch.setattr(pool, "run", run)


def points(n: int) -> list[Point[str]]:
    return [Point(f"p{i}", Scenario("{}"), i) for i in range(n)]


@pytest.mark.parametrize("jobs", [0, -1, 2.5, True, "2", np.array([1, 2])])
def test_a_number_of_workers_is_a_whole_number(fake_run: None, jobs: Any):
    with pytest.raises(InputError, match=r"^jobs: .* is not valid; expected a whole number from 1$"):
        sweep(points(1), lambda p, r: None, jobs=jobs)
    with pytest.raises(InputError, match=r"^jobs: "):
        gather([], SUMMARY, jobs=jobs)
    assert sweep(points(2), lambda p, r: p.key, jobs=np.int64(2)) == [p.key for p in points(2)]  # type: ignore[arg-type]


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_answers_come_in_order_whatever_the_workers(fake_run: None, jobs: int):
    found = sweep(points(12), lambda p, r: (p.key, r.summary["seed"]), jobs=jobs)
    assert found == [(f"p{i}", i) for i in range(12)]


def test_failure_names_the_point_and_stops_the_rest(fake_run: None):
    given = [*points(3), Point("bad", Scenario("broken"), 9), *points(40)]
    done: list[str] = []
    with pytest.raises(RunError, match=r"^bad with seed 9: ValueError: it broke$") as error:
        sweep(given, lambda p, r: done.append(p.key), jobs=2)
    assert isinstance(error.value.__cause__, ValueError)
    assert len(done) < 20


def test_watch_hears_of_every_run(fake_run: None):
    class Ears(Watch):
        def __init__(self) -> None:
            self.heard: list[tuple[str, object]] = []

        def begin(self, total: int) -> None:
            self.heard.append(("begin", total))

        def advance(self, index: int, fraction: float) -> None:
            self.heard.append(("advance", (index, fraction)))

        def done(self, index: int) -> None:
            self.heard.append(("done", index))

        def end(self) -> None:
            self.heard.append(("end", None))

    ears = Ears()
    sweep(points(3), lambda p, r: None, jobs=2, watch=ears)
    assert ears.heard[0] == ("begin", 3)
    assert ears.heard[-1] == ("end", None)
    assert {v for k, v in ears.heard if k == "done"} == {0, 1, 2}


def test_ctrl_c_cancels_the_runs_under_way(monkeypatch: pytest.MonkeyPatch):
    started, cancelled = threading.Event(), threading.Event()

    def run(scenario: Scenario, seed: int, progress, trace: bool):
        started.set()
        try:
            while True:
                progress(0.5)
                time.sleep(0.005)
        except Cancelled:
            cancelled.set()
            raise

    def interrupt(*_a: object, **_k: object) -> None:
        assert started.wait(5)
        raise KeyboardInterrupt

    monkeypatch.setattr(pool, "run", run)
    monkeypatch.setattr(pool, "_wait", interrupt)
    with pytest.raises(KeyboardInterrupt):
        sweep(points(8), lambda p, r: None, jobs=2)
    assert cancelled.is_set()


def test_numpy_is_loaded_before_threads_can_be():
    """numpy is loaded before threads start: if two threads make Polars import it at the same time, the import can fail,
    which once caused a `TypeError` in a sweep.
    """
    for use in ("pl.DataFrame", "Threads()([], print, print, silent())"):
        code = f"from bloatlab.simulation import pl; from bloatlab.sweep import Threads, silent; {use}; "
        look = "import sys; print(type(sys.modules['polars._dependencies'].numpy).__name__)"
        done = subprocess.run([sys.executable, "-c", code + look], capture_output=True, text=True, check=True)
        assert done.stdout == "module\n", use
