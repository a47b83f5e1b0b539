"""What a file expects of its runs, and whether they keep to it: `[expect]` of a scenario or a sweep, judged.

    [expect]
    "apps.call.voip.mos" = ">= 4.0"              # a dotted path of the summary; * stands for anything
    "links.up.sojourn_ms.p99" = "< 50"
    "links.up.utilisation" = "0.9 .. 1"

With several seeds the mean is judged by the worse end of its 95 % interval (Student's t): what is expected must hold
for all of it. No number of a summary is below 0, so no end is. With one seed it is that run's value. A value that a run
does not have (a call of which nothing arrived has no MOS) is not as expected.
"""

from __future__ import annotations

import fnmatch
import json
import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from bloatlab import files, warm_up, workloads
from bloatlab.errors import InputError, nearest
from bloatlab.judgement import within_cell
from bloatlab.results import open_result
from bloatlab.scenario import Override, Scenario, load, parse
from bloatlab.statistics import interval
from bloatlab.sweep import At, Executor, Gathered, Grid, Store, Threads, Watch, gather_until, grid_file, silent
from bloatlab.sweep.auto_warm_up import with_warm_ups
from bloatlab.sweep.grid_file import GridFile
from bloatlab.tables import TextTable, row

#: A comparison in words and as what must hold at an end of the interval: (low end, high end) -> kept.
_SIGNS: Mapping[str, Callable[[float, float, float], bool]] = {
    ">=": lambda low, _, x: low >= x,
    "<=": lambda _, high, x: high <= x,
    "==": lambda low, high, x: low == x == high,
    ">": lambda low, _, x: low > x,
    "<": lambda _, high, x: high < x,
}


class NothingExpectedError(InputError):
    """A file that expects nothing, or something of a value that there is not; the message is one line."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One expectation at one place: what was expected, what was measured, and whether it was kept.

    `mean` is None where a run has no value; `low` and `high` are the ends of the interval, equal for one seed.
    """

    place: str
    path: str
    expected: str
    mean: float | None
    low: float
    high: float
    seeds: int
    kept: bool

    def measured(self) -> str:
        """The mean and its interval in words."""
        if self.mean is None:
            return "no value"
        if self.seeds == 1:
            return f"{self.mean:.6g}"
        if self.low == self.high:
            return f"{self.mean:.6g} (all {self.seeds} seeds)"
        return f"{self.mean:.5g} ({self.low:.5g} to {self.high:.5g}, {self.seeds} seeds)"


@dataclass(frozen=True, slots=True)
class Checked:
    """The verdicts of one file, and how long its runs took."""

    file: str
    verdicts: Sequence[Verdict]
    seconds: float = 0.0

    @property
    def kept(self) -> bool:
        """Whether everything that was expected holds."""
        return all(v.kept for v in self.verdicts)


def keeps(expected: str, low: float, high: float) -> bool:
    """Whether all of [low, high] is as expected: ">= 4", "< 50", "== 0" or "0.9 .. 1"."""
    if ".." in expected:
        least, most = (float(part) for part in expected.split(".."))
        return least <= low and high <= most
    sign = next(sign for sign in _SIGNS if expected.startswith(sign))
    return _SIGNS[sign](low, high, float(expected.removeprefix(sign)))


def judge(place: str, expect: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> list[Verdict]:
    """What is expected, beside what runs with different seeds measured at one place. Raises `NothingExpectedError`.

    A row has the numbers of one run's summary by their dotted paths.
    """
    known = list(dict.fromkeys(path for row in rows for path in row))
    verdicts: list[Verdict] = []
    for pattern, expected in expect.items():
        paths = [pattern] if pattern in known else fnmatch.filter(known, pattern)
        if not paths:
            raise NothingExpectedError(f'expect: the summary has no number "{pattern}"{nearest(pattern, known)}')
        verdicts += [_verdict(place, path, expected, [row.get(path) for row in rows]) for path in paths]
    return verdicts


def _verdict(place: str, path: str, expected: str, values: Sequence[float | None]) -> Verdict:
    numbers = [float(v) for v in values if v is not None and math.isfinite(v)]
    if len(numbers) < len(values):
        return Verdict(place, path, expected, None, math.nan, math.nan, len(values), kept=False)
    over = interval(numbers).of_amount()
    return Verdict(place, path, expected, over.mean, *over.ends, over.n, keeps(expected, *over.ends))


def check(
    file: Path,
    *,
    sets: Sequence[Override] = (),
    seeds: int | None = None,
    store: Store | None = None,
    jobs: int | None = None,
    watch: Watch | None = None,
    executor: Executor | None = None,
) -> Checked:
    """Run what `file` says, and judge what it expects: a scenario, a sweep; or a result's folder, without a run.

    `seeds` are 1 to so many, in place of the file's own; a sweep's `until` adds to them. Raises `NothingExpectedError`,
    and what reading raises.
    """
    if file.is_dir():
        result = open_result(file)
        expect = result.scenario.data.get("expect", {})
        return _judged(file, [("", expect, [grid_file.flat(result.summary)])])
    asked = _asked(file, sets, seeds)
    first = asked.grid.seeds[0]
    expects = {at: asked.grid.point(at, first).scenario.data.get("expect", {}) for at in asked.grid.places()}
    gathered = _gathered(asked, store, watch, executor or Threads(jobs))
    return _judged(file, [(str(at), expects[at], rows) for at, rows in gathered.rows().items()])


def _gathered(asked: GridFile, store: Store | None, watch: Watch | None, executor: Executor) -> Gathered[At]:
    """The runs, with the warm-ups and as many seeds as the file asks for."""
    built = asked.grid.build
    grid = replace(asked.grid, build=lambda **at: _bare(built(**at)))
    shown = watch or silent()
    if asked.find_warm_up:
        grid, _ = with_warm_ups(grid, store=store, watch=shown, executor=executor)
    done = gather_until(grid, grid_file.SUMMARY, asked.until, store=store, watch=lambda _: shown, executor=executor)
    return done.gathered


def _judged(file: Path, places: Sequence[tuple[str, Mapping[str, str], Sequence[Mapping[str, Any]]]]) -> Checked:
    if not any(expect for _, expect, _ in places):
        raise NothingExpectedError(
            f'{file}: expects nothing; for example, at its end, [expect] and "links.up.sojourn_ms.p99" = "< 50"'
        )
    try:
        return Checked(str(file), [v for place, expect, rows in places for v in judge(place, expect, rows)])
    except NothingExpectedError as error:
        raise NothingExpectedError(f"{file}: {error}") from None


def _asked(file: Path, sets: Sequence[Override], seeds: int | None) -> GridFile:
    """The runs of a file; what a sweep's own [expect] says is laid over each of its scenarios."""
    sweep = None if workloads.find(file) is not None else _sweep(file, files.read_text(file))
    if sweep is not None:
        more = [(f'expect."{path}"', str(expected)) for path, expected in sweep.items()]
        return grid_file.load(file, [*sets, *more], seeds)
    sets, find_warm_up = warm_up.asked(sets)
    scenario = load(file, sets)
    chosen = [scenario.seed] if seeds is None else range(1, seeds + 1)
    grid = Grid({}, lambda *, seed: scenario.with_sets(("seed", str(seed))), chosen)
    return GridFile(grid, [], find_warm_up=find_warm_up)


def _sweep(file: Path, text: str) -> Mapping[str, Any] | None:
    """What a sweep's file expects; None for a scenario's."""
    if file.suffix == ".json":
        return None
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None  # reading it as a scenario says what is wrong
    if not isinstance(data.get("scenario"), str):
        return None
    expect = data.get("expect", {})
    if not isinstance(expect, dict):
        raise NothingExpectedError(f'{file}: expect: a table, such as "apps.call.voip.mos" = ">= 4.0"')
    return expect


def _bare(scenario: Scenario) -> Scenario:
    """The scenario without what it expects, so that another threshold runs nothing again."""
    data = scenario.data
    if data.pop("expect", None) is None:
        return scenario
    return parse(json.dumps(data), form="json", source=scenario.name)


def table(checked: Checked) -> TextTable:
    """The verdicts of a file for people."""
    placed = any(v.place for v in checked.verdicts)
    rows = [
        row(*([v.place] if placed else []), v.path, v.expected, v.measured(), within_cell(v.kept, "kept", "not kept"))
        for v in checked.verdicts
    ]
    columns = [*(["place"] if placed else []), "value", "expected", "measured", ""]
    return TextTable(checked.file, columns, rows, left=len(columns))


def junit(all_: Sequence[Checked]) -> str:
    """The verdicts as JUnit XML: a suite per file, a case per expectation."""
    every = [v for checked in all_ for v in checked.verdicts]
    root = ET.Element("testsuites", {"name": "bloatlab check", **_counts(every)})
    for checked in all_:
        named = {"name": checked.file, "time": f"{checked.seconds:.3f}"}
        suite = ET.SubElement(root, "testsuite", {**named, **_counts(checked.verdicts)})
        for v in checked.verdicts:
            name = f"{v.path} {v.expected}" + (f" at {v.place}" if v.place else "")
            case = ET.SubElement(suite, "testcase", classname=checked.file, name=name)
            if not v.kept:
                text = f"expected {v.expected}, measured {v.measured()}"
                ET.SubElement(case, "failure", message=text, type="expectation").text = f"{name}: {text}"
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _counts(verdicts: Sequence[Verdict]) -> dict[str, str]:
    return {"tests": str(len(verdicts)), "failures": str(sum(not v.kept for v in verdicts)), "errors": "0"}
