"""Tests runs against the `[expect]` table of a scenario or a sweep.

    [expect]
    "apps.call.voip.mos" = ">= 4.0"              # a dotted path of the summary; * stands for anything
    "links.up.sojourn_ms.p99" = "< 50"
    "links.up.utilisation" = "0.9 .. 1"

With several seeds, the condition must hold for the whole 95 % interval of the mean (Student's t). The interval is
clipped at 0, because no number in a summary is negative. The interval of a percentage that cannot exceed 100 is also
clipped at 100, and that of a fairness index at 1. With one seed, the run's value is tested. A missing value fails the
condition: for example, a call has no MOS if all its packets are still on the way at the end of the run.
"""

import itertools
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
from bloatlab.measures import matching
from bloatlab.results import open_result
from bloatlab.scenario import Override, Scenario, load, parse
from bloatlab.simulation import invalid_line
from bloatlab.statistics import interval
from bloatlab.sweep import At, Executor, Gathered, Grid, Store, Threads, Watch, gather_until, grid_file, silent
from bloatlab.sweep.auto_warm_up import with_warm_ups
from bloatlab.sweep.grid_file import GridFile
from bloatlab.tables import TextCell, TextTable, natural, row

#: Maps each comparison sign to a function of three numbers: the low and the high end of an interval, and the threshold.
#: The function returns whether every value in the interval meets the comparison.
_SIGNS: Mapping[str, Callable[[float, float, float], bool]] = {
    ">=": lambda low, _, x: low >= x,
    "<=": lambda _, high, x: high <= x,
    "==": lambda low, high, x: low == x == high,
    ">": lambda low, _, x: low > x,
    "<": lambda _, high, x: high < x,
}

#: Percentages that may exceed 100: a channel can grant more than the sustained rate of a link.
_ABOVE_100 = ("unused_of_rate_percent",)


class NothingExpectedError(InputError):
    """A file has no table of expectations, or expects a number that no summary contains; the message is one line."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One expectation at one grid point: the condition, the measured value, and whether it was met.

    `mean` is None if a run has no value; `low` and `high` are the ends of the interval, equal for one seed. `kept` is
    None for an invalid live run, whose values are not judged.
    """

    place: str
    path: str
    expected: str
    mean: float | None
    low: float
    high: float
    seeds: int
    kept: bool | None

    def measured(self) -> str:
        """Formats the mean and its interval."""
        if self.mean is None:
            return "no value"
        if self.seeds == 1:
            return f"{self.mean:.6g}"
        if self.low == self.high:
            return f"{self.mean:.6g} (all {self.seeds} seeds)"
        return f"{self.mean:.5g} ({self.low:.5g} to {self.high:.5g}, {self.seeds} seeds)"


@dataclass(frozen=True, slots=True)
class Checked:
    """The verdicts for one file, and the time taken by its runs. `invalid` is the reason why a live run is invalid."""

    file: str
    verdicts: Sequence[Verdict]
    seconds: float = 0.0
    invalid: str | None = None

    @property
    def kept(self) -> bool:
        """Whether all expectations are met. False for an invalid live run."""
        return self.invalid is None and all(v.kept for v in self.verdicts)


def keeps(expected: str, low: float, high: float) -> bool:
    """Returns whether the whole interval [low, high] meets a condition: ">= 4", "< 50", "== 0" or "0.9 .. 1"."""
    if ".." in expected:
        least, most = (float(part) for part in expected.split(".."))
        return least <= low and high <= most
    sign = next(sign for sign in _SIGNS if expected.startswith(sign))
    return _SIGNS[sign](low, high, float(expected.removeprefix(sign)))


def judge(
    place: str, expect: Mapping[str, str], rows: Sequence[Mapping[str, Any]], *, valid: bool = True
) -> list[Verdict]:
    """Judges the expectations at one grid point from its runs with different seeds. Raises `NothingExpectedError`.

    Each of `rows` contains the numbers in the summary of one run, by dotted path. If a live run is not `valid`, no
    value is judged, and a number that the summary does not contain raises no error.
    """
    known = sorted({path for row in rows for path in row}, key=natural)
    verdicts: list[Verdict] = []
    for pattern, expected in expect.items():
        paths = [pattern] if pattern in known else matching(pattern, known)
        if not paths and valid:
            raise NothingExpectedError(f'expect: the summary has no number "{pattern}"{nearest(pattern, known)}')
        verdicts += [_verdict(place, path, expected, [row.get(path) for row in rows]) for path in paths or [pattern]]
    return verdicts if valid else [replace(v, kept=None) for v in verdicts]


def _verdict(place: str, path: str, expected: str, values: Sequence[float | None]) -> Verdict:
    numbers = [float(v) for v in values if v is not None and math.isfinite(v)]
    if len(numbers) < len(values):
        return Verdict(place, path, expected, None, math.nan, math.nan, len(values), kept=False)
    over = interval(numbers).of_amount(_most(path))
    return Verdict(place, path, expected, over.mean, *over.ends, over.n, keeps(expected, *over.ends))


def _most(path: str) -> float:
    """Returns the upper bound of a number in the summary, or infinity if it has none.

    A utilisation has none, because bursts may exceed a shaper's rate.
    """
    key = path.rpartition(".")[2]
    if key == "fairness":
        return 1.0
    return 100.0 if key.endswith("_percent") and key not in _ABOVE_100 else math.inf


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
    """Runs a scenario or a sweep and judges its expectations. If `file` is a result folder, only judges this result.

    `seeds` replaces the file's own seeds with 1 to `seeds`; a sweep's `until` may add seeds. Raises
    `NothingExpectedError`, `InputError` for a result folder with `sets` or `seeds`, and the errors from reading the
    file.
    """
    if file.is_dir():
        if sets or seeds is not None:
            raise InputError(f"{file}: a finished run, which --set and --seeds cannot change; give the scenario")
        result = open_result(file)
        expect = result.scenario.data.get("expect", {})
        places = [("", expect, [grid_file.flat(result.summary)])]
        return _judged(file, places, invalid=result.invalid_because)
    asked = _asked(file, sets, seeds)
    first = asked.grid.seeds[0]
    expects = {at: asked.grid.point(at, first).scenario.data.get("expect", {}) for at in asked.grid.places()}
    gathered = _gathered(asked, store, watch, executor or Threads(jobs))
    return _judged(file, [(str(at), expects[at], rows) for at, rows in gathered.rows().items()])


def _gathered(asked: GridFile, store: Store | None, watch: Watch | None, executor: Executor) -> Gathered[At]:
    """Runs the grid without its expectations.

    If `asked` requires it, warm-ups are found before the runs, and seeds are added until the targets are met or the
    maximum number of seeds is reached.
    """
    built = asked.grid.build
    grid = replace(asked.grid, build=lambda **at: _bare(built(**at)))
    shown = watch or silent()
    if asked.find_warm_up:
        grid, _ = with_warm_ups(grid, store=store, watch=shown, executor=executor)
    done = gather_until(grid, grid_file.SUMMARY, asked.until, store=store, watch=lambda _: shown, executor=executor)
    return done.gathered


def _judged(
    file: Path, places: Sequence[tuple[str, Mapping[str, str], Sequence[Mapping[str, Any]]]], invalid: str | None = None
) -> Checked:
    if not any(expect for _, expect, _ in places):
        raise NothingExpectedError(
            f'{file}: has no [expect] table; add one, such as [expect] and "links.up.sojourn_ms.p99" = "< 50"'
        )
    try:
        verdicts = [v for place in places for v in judge(*place, valid=invalid is None)]
        return Checked(str(file), verdicts, invalid=invalid)
    except NothingExpectedError as error:
        raise NothingExpectedError(f"{file}: {error}") from None


def _asked(file: Path, sets: Sequence[Override], seeds: int | None) -> GridFile:
    """Returns the grid of runs for a scenario or sweep file. A sweep's [expect] table is added to each scenario.

    `sets` are applied last, so they also replace an expectation of the sweep.
    """
    sweep = None if workloads.find(file) is not None else _sweep(file, files.read_text(file))
    if sweep is not None:
        more = [(f'expect."{path}"', str(expected)) for path, expected in sweep.items()]
        return grid_file.load(file, [*more, *sets], seeds)
    sets, find_warm_up = warm_up.asked(sets)
    scenario = load(file, sets)
    chosen = [scenario.seed] if seeds is None else range(1, seeds + 1)
    grid = Grid({}, lambda *, seed: scenario.with_sets(("seed", str(seed))), chosen)
    return GridFile(grid, [], find_warm_up=find_warm_up)


def _sweep(file: Path, text: str) -> Mapping[str, Any] | None:
    """Returns the [expect] table of a sweep file; None for a scenario file."""
    if file.suffix == ".json":
        return None
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None  # the caller then reads the file as a scenario, which reports the error
    if not isinstance(data.get("scenario"), str):
        return None
    expect = data.get("expect", {})
    if not isinstance(expect, dict):
        raise NothingExpectedError(f'{file}: expect: expected a table, such as "apps.call.voip.mos" = ">= 4.0"')
    return expect


def _bare(scenario: Scenario) -> Scenario:
    """Removes a scenario's expectations, so that a stored run's key does not depend on thresholds."""
    data = scenario.data
    if data.pop("expect", None) is None:
        return scenario
    return parse(json.dumps(data), form="json", source=scenario.name)


def table(checked: Checked) -> TextTable:
    """Makes a table of a file's verdicts. In a sweep, the verdicts of each grid point follow a row with its values."""
    rows: list[list[TextCell]] = []
    for place, group in itertools.groupby(checked.verdicts, key=lambda v: v.place):
        if place:
            rows.append(row("", TextCell(f"{place}:", "muted"), "", ""))
        for v in group:
            verdict = within_cell(v.kept, "met", "not met", "invalid")
            rows.append(row(verdict, v.path, v.expected, v.measured()))
    columns = ["verdict", "value", "expected", "measured"]
    note = "" if checked.invalid is None else invalid_line(checked.file, checked.invalid)
    return TextTable(checked.file, columns, rows, note, left=len(columns), keep=True)


def junit(all_: Sequence[Checked]) -> str:
    """Writes the verdicts as JUnit XML: one suite per file, one case per verdict."""
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
                if checked.invalid is not None:
                    text = f"{text}; {invalid_line(checked.file, checked.invalid)}"
                ET.SubElement(case, "failure", message=text, type="expectation").text = f"{name}: {text}"
    ET.indent(root)
    # XML cannot contain control characters, which a file's name may have
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + files.escaped(ET.tostring(root, encoding="unicode")) + "\n"


def _counts(verdicts: Sequence[Verdict]) -> dict[str, str]:
    return {"tests": str(len(verdicts)), "failures": str(sum(not v.kept for v in verdicts)), "errors": "0"}
