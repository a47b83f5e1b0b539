"""Tests grids, the store and `gather`: no run is repeated, no outdated or damaged result is used, and Ctrl-C keeps
finished runs.
"""

from __future__ import annotations

import functools
import hashlib
import math
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from bloatlab import _core
from bloatlab.scenario import Scenario, parse
from bloatlab.simulation import Result
from bloatlab.sweep import At, Grid, Interrupted, Measure, Point, RunError, Store, fingerprint, gather
from bloatlab.sweep.store import Measured, plain

BASE = """
duration = "2s"
[link.up]
from = "home"
to = "net"
both_ways = true
rate = "5mbit"
[app.file]
from = "home"
to = ["net"]
traffic.ftp = { flows = 2 }
"""


def build(rate: str, limit: int, seed: int) -> Scenario:
    sets = [("link.up.rate", rate), ("link.up.queue", f'{{ droptail = {{ limit = "{limit}p" }} }}')]
    return parse(BASE, sets=[*sets, ("seed", str(seed))])


def row(result: Result) -> Mapping[str, Any]:
    up = result.summary["links"]["up"]
    return {"sent_bytes": up["delivered_bytes"], "p99_ms": up["sojourn_ms"]["p99"], "never_s": math.inf}


def frames(result: Result) -> Mapping[str, pl.DataFrame]:
    series = result.table("queue_series")
    return {"queue": series, "nothing": series.head(0)}


GRID = Grid({"rate": ["1mbit", "5mbit"], "limit": [5, 50]}, build, seeds=(1, 2))
MEASURE = Measure("test", row, frames)


def kept(store: Store) -> int:
    return sum(stock.runs for stock in store.shelves())


# ------------------------------------------------------------------------------------------------ grid


def test_a_grid_is_the_product_of_its_axes_seed_by_seed():
    points = GRID.points()
    assert [(str(p.key), p.seed) for p in points[:5]] == [
        ("rate=1mbit limit=5", 1),
        ("rate=1mbit limit=50", 1),
        ("rate=5mbit limit=5", 1),
        ("rate=5mbit limit=50", 1),
        ("rate=1mbit limit=5", 2),
    ]
    assert len(points) == 8
    for p in points:
        assert p.scenario == build(p.key["rate"], p.key["limit"], p.seed)
    assert points[0].key == points[4].key
    assert hash(points[0].key) == hash(points[4].key)
    assert points[0].key != points[1].key


def test_a_grid_with_less_of_it():
    small = GRID.with_(limit=[5], seeds=[7]).where(lambda at: at["rate"] == "5mbit")
    assert [(dict(p.key), p.seed) for p in small.points()] == [({"rate": "5mbit", "limit": 5}, 7)]
    never = GRID.where(lambda at: at["limit"] == 5).where(lambda at: at["limit"] == 50)
    assert never.points() == []
    with pytest.raises(KeyError, match="no axis 'rtt'; expected rate, limit"):
        GRID.with_(rtt=[1])


# ---------------------------------------------------------------------------------------------- gather


@pytest.mark.parametrize("jobs", [1, 3])
def test_what_is_kept_is_what_was_measured(store: Store, jobs: int):
    fresh = gather(GRID.points(), MEASURE, store=store, jobs=2)
    again = gather(GRID.points(), MEASURE, store=store, jobs=jobs)
    without = gather(GRID.points(), MEASURE, jobs=jobs)
    assert (fresh.found, fresh.ran) == (0, 8)
    assert (again.found, again.ran) == (8, 0)
    assert fresh.frame().equals(again.frame())
    assert fresh.frame().equals(without.frame())
    for one, other in zip(fresh.values, again.values, strict=True):
        assert {k: type(v) for k, v in one.row.items()} == {k: type(v) for k, v in other.row.items()}
        assert set(one.frames) == set(other.frames) == {"queue", "nothing"}
        assert all(one.frames[k].equals(other.frames[k]) for k in one.frames)
        assert all(one.frames[k].schema == other.frames[k].schema for k in one.frames)


def test_the_table_has_axes_seed_hash_and_measures_in_the_order_of_points():
    gathered = gather(GRID.points(), MEASURE)
    frame = gathered.frame()
    assert frame.columns == ["rate", "limit", "seed", "scenario_hash", "sent_bytes", "p99_ms", "never_s"]
    assert frame["seed"].to_list() == [1] * 4 + [2] * 4
    assert frame["limit"].to_list() == [5, 50] * 4
    assert frame["scenario_hash"].to_list() == [p.scenario.hash for p in GRID.points()]
    rows = gathered.rows()
    assert [r["sent_bytes"] for r in rows[GRID.places()[3]]] == frame["sent_bytes"].gather([3, 7]).to_list()


@pytest.mark.parametrize("name", ["rate", "seed", "scenario_hash"])
def test_a_table_in_which_a_measure_would_replace_another_column_is_refused(store: Store, name: str):
    measure = Measure("clash", lambda _: {"fine": 1, name: 7})
    line = rf"^{name}: a measure cannot have the name of .* \(rate, limit, seed, scenario_hash\)$"
    for ran in (1, 0):  # the second time, from the store
        gathered = gather(GRID.points()[:1], measure, store=store)
        assert gathered.ran == ran
        assert [row[name] for rows in gathered.rows().values() for row in rows] == [7]
        with pytest.raises(ValueError, match=line):
            gathered.frame()


def test_equal_scenarios_are_run_once(store: Store):
    one = parse(BASE)
    gathered = gather([Point("a", one, 1), Point("b", one, 1), Point("a", one, 2)], MEASURE, store=store)
    assert (gathered.ran, kept(store)) == (2, 2)
    assert gathered.values[0] == gathered.values[1]
    assert gathered.frame()["key"].to_list() == ["a", "b", "a"]


def test_another_seed_scenario_measure_or_version_is_not_found(store: Store):
    def ran(points: list[Point[Any]], measure: Measure) -> int:
        return gather(points, measure, store=store).ran

    point = Point("p", parse(BASE), 1)
    assert ran([point], MEASURE) == 1
    assert ran([point], MEASURE) == 0
    assert ran([Point("p", point.scenario, 2)], MEASURE) == 1
    assert ran([Point("p", parse(BASE, sets=[("duration", "3s")]), 1)], MEASURE) == 1
    assert ran([point], Measure("test", row, frames, version=2)) == 1
    assert ran([point], Measure("test", row)) == 1
    assert ran([point], Measure("other", row, frames)) == 1
    assert ran([Point("another name", point.scenario, 1)], MEASURE) == 0


def test_another_core_is_not_found(store: Store, monkeypatch: pytest.MonkeyPatch):
    points = GRID.points()[:1]
    gather(points, MEASURE, store=store)
    monkeypatch.setattr(fingerprint, "core", lambda: "0" * 64)
    assert gather(points, MEASURE, store=store).ran == 1


# ----------------------------------------------------------------------------------------- fingerprint


def test_core_fingerprint_is_the_hash_of_the_loaded_file():
    assert fingerprint.core() == hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()


def code_of(folder: Path, helper: str, measure: str = "row") -> str:
    """Writes a module and its helper module; returns the fingerprint of one of its functions, from a new process."""
    (folder / "mine.py").write_text(
        "import helper\nfrom functools import partial\n"
        "def make(n):\n    def row(result):\n        return {'x': helper.f() + n}\n    return row\n"
        "row, two = make(1), make(2)\n"
    )
    (folder / "helper.py").write_text(helper)
    for path in folder.glob("*.py"):
        os.utime(path, (1e9, 1e9))
    source = f"import mine; from bloatlab.sweep import fingerprint; print(fingerprint.code(mine.{measure}))"
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", source], env=environment, capture_output=True, text=True, check=True, cwd=folder
    )
    return done.stdout.strip()


def test_code_is_a_function_its_closure_and_every_module_behind_it(tmp_path: Path):
    one = code_of(tmp_path, "def f(): return 1\n")
    assert one == code_of(tmp_path, "def f(): return 1\n")
    assert one != code_of(tmp_path, "def f(): return 2\n")
    assert one != code_of(tmp_path, "def f(): return 1\n", "two")


def test_code_that_cannot_be_known_is_refused():
    class Machine:
        def __call__(self, result: Result) -> dict[str, float]:
            return {}

    unknown, cyclic = object(), summary
    with pytest.raises(fingerprint.Unsure, match="is not a plain function"):
        fingerprint.code(Machine())
    with pytest.raises(fingerprint.Unsure, match="closes over object"):
        fingerprint.code(lambda _: {"x": unknown})
    with pytest.raises(fingerprint.Unsure, match="contains itself"):
        fingerprint.code(lambda _: {"x": cyclic})
    early = lambda _: {"x": later}  # noqa: E731
    with pytest.raises(fingerprint.Unsure, match="a variable that has no value yet"):
        fingerprint.code(early)
    later = 1
    assert fingerprint.code(functools.partial(build, "a")) != fingerprint.code(functools.partial(build, "b"))


def keyword_default(n: int):
    def measure(_: Result, *, x: int = n) -> dict[str, int]:
        return {"x": x}

    return measure


def lambdas(n: int):
    both = lambda _: {"x": 1}, lambda _: {"x": 2}  # fmt: skip
    return both[n - 1]


def wrapped(n: int):
    inner = lambdas(n)

    def outer(result: Result) -> dict[str, int]:
        return inner(result)

    return outer


def from_text(n: int):
    place = {"__name__": __name__}
    exec(f"def measure(_): return {{'x': {n}}}", place)  # noqa: S102
    return place["measure"]


NUMBER = 0


def helper(_: Result) -> dict[str, int]:
    return {"x": NUMBER}


def reads_a_number(n: int):
    globals()["NUMBER"] = n
    return lambda _: {"x": NUMBER}


def calls(result: Result) -> dict[str, int]:
    return helper(result)


def calls_a_helper(n: int):
    globals()["NUMBER"] = n
    return calls


def calls_another_helper(n: int):
    globals()["helper"] = keyword_default(n)
    return calls


def calls_a_foreign_function(n: int):
    globals()["helper"] = (shutil.copy, shutil.move)[n - 1]
    return calls


@pytest.mark.parametrize(
    "make",
    [
        keyword_default,
        lambdas,
        wrapped,
        from_text,
        reads_a_number,
        calls_a_helper,
        calls_another_helper,
        calls_a_foreign_function,
    ],
)
def test_measures_that_differ_do_not_share_results(make: Callable[[int], Any], monkeypatch: pytest.MonkeyPatch):
    for name in ("NUMBER", "helper"):
        monkeypatch.setitem(globals(), name, globals()[name])
    one, two, again = (fingerprint.code(make(n)) for n in (1, 2, 1))
    assert one != two
    assert one == again


summary: list[Any] = []
summary.append(summary)


def reads_a_list_and_an_attribute(result: Result) -> dict[str, int]:
    return {"x": len(summary), "y": len(result.summary)}


def test_a_list_that_grows_keeps_the_fingerprint():
    before = fingerprint.code(reads_a_list_and_an_attribute)
    summary.append(1)
    assert fingerprint.code(reads_a_list_and_an_attribute) == before


def test_a_fingerprint_is_the_same_in_every_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """\
def f(): return 1
def g(): return f
TABLE, SET = {f: "f", frozenset({"a", "b", "c"}): 2}, {f, g}
def measure(result, table=TABLE): return {"x": len(TABLE), "y": len(SET & {f, g}), "z": result in {"a", "b", "c"}}
"""
    codes: set[str] = set()
    for seed in ("1", "2"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        codes.add(code_of(tmp_path, text, "helper.measure"))
    assert len(codes) == 1


def test_a_function_in_its_own_closure_has_a_fingerprint():
    def count(n: int) -> int:
        return n and count(n - 1)

    assert fingerprint.code(count) == fingerprint.code(count)


def test_a_file_newer_than_the_process_is_not_trusted(store: Store, notices: list[str], monkeypatch):
    monkeypatch.setattr(fingerprint, "_LOADED", 0.0)
    gathered = gather(GRID.points()[:1], MEASURE, store=store)
    assert (gathered.ran, kept(store)) == (1, 0)
    assert len(notices) == 1
    assert "written after this process began" in notices[0]


# ---------------------------------------------------------------------------------------------- damage


def test_a_store_that_cannot_be_written_is_told_once_and_stops_nothing(tmp_path: Path, notices: list[str]):
    place = tmp_path / "file"
    place.write_text("")
    gathered = gather(GRID.points(), MEASURE, store=Store(place, notices.append))
    assert gathered.ran == 8
    assert len(notices) == 1
    assert "results are not kept" in notices[0]


def test_collecting_removes_other_cores_and_older_code(store: Store):
    point = GRID.points()[:1]
    gather(point, MEASURE, store=store)
    current = store.shelves()[0]
    copies = (current.folder.with_name(f"test-1-{'0' * 16}"), store.folder / ("f" * 16) / current.folder.name)
    for other in copies:
        shutil.copytree(current.folder, other)
        for path in other.iterdir():
            os.utime(path, (1e9, 1e9))
    assert len(store.shelves()) == 3
    assert store.collect(fingerprint.core()) == (2, 2 * current.size)
    assert [s.folder for s in store.shelves()] == [current.folder]
    assert gather(point, MEASURE, store=store).found == 1


def test_rows_hold_plain_values():
    found = plain({"a": np.float64(1.5), "b": np.int64(2), "c": np.bool_(True), "d": None, "e": "x", "f": 3})
    assert found == {"a": 1.5, "b": 2, "c": True, "d": None, "e": "x", "f": 3}
    assert [type(v) for v in found.values()] == [float, int, bool, type(None), str, int]
    with pytest.raises(TypeError, match="x is list"):
        plain({"x": [1]})
    with pytest.raises(TypeError, match=r"^the name of a measure is a string, not 1$"):
        plain({"x": 1, 1: 1})  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match=r"run\.seed: names of measures do not begin with 'run\.'"):
        plain({"run.seed": 1})


# ---------------------------------------------------------------------------------- stopping, resuming


class Stopping:
    """Runs points on this machine, and acts as if Ctrl-C were pressed after a number of runs."""

    def __init__(self, after: int) -> None:
        self.after = after

    def __call__(self, points, work, done, watch) -> None:
        for index, point in enumerate(points):
            if index == self.after:
                raise KeyboardInterrupt
            done(index, work(point, lambda _: None))


def test_what_was_complete_is_kept_and_only_the_rest_is_run(store: Store):
    with pytest.raises(Interrupted, match=r"3 of 8 runs are stored in .*store; the same command continues"):
        gather(GRID.points(), MEASURE, store=store, executor=Stopping(3))
    rest = gather(GRID.points(), MEASURE, store=store)
    assert (rest.found, rest.ran) == (3, 5)
    assert rest.frame().equals(gather(GRID.points(), MEASURE).frame())


def test_a_failure_keeps_what_was_complete(store: Store):
    def fails(result: Result) -> dict[str, float]:
        if result.seed == 2:
            raise ValueError("no")
        return {"x": 1.0}

    measure = Measure("fails", fails)
    with pytest.raises(RunError, match="rate=1mbit limit=5 with seed 2: ValueError: no"):
        gather(GRID.points(), measure, store=store, jobs=1)
    assert kept(store) == 4


def test_threads_share_a_shelf(store: Store):
    shelf = MEASURE.shelf(store)
    scenario = parse(BASE)
    value = Measured({"x": 1.0}, {})
    threads = [threading.Thread(target=shelf.put, args=(scenario, value)) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert kept(store) == 1
    assert shelf.get(scenario) == value


def test_places_are_hashable_whatever_stands_on_an_axis():
    at = At((("queue", {"codel": {}}), ("n", 1)))
    assert at.labels() == {"queue": "{'codel': {}}", "n": 1}
    assert {at: 1}[At((("queue", {"codel": {}}), ("n", 1)))] == 1
