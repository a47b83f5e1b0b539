"""A grid in a file: a scenario, axes over its values, seeds.

scenario = "home-upload.toml"            # beside this file; or a workload, "rrul"
seeds = 10                               # 1 to 10; or a list of them
columns = ["links.up.sojourn_ms.p99"]    # of the summary, what the table shows; * stands for anything
until = { "apps.call.voip.mos" = "2%" }  # more seeds until the mean is known so well, at most `most_seeds`

[set]                                    # laid over the scenario in every run
duration = "60s"

[axes]
"link.up.rate" = ["1mbit", "5mbit"]      # an axis that is a path: its values; or a range, see `axes`

[axes.queue]                             # an axis with a name: each value by its own name sets what it likes
droptail = { "link.up.queue" = { droptail = { limit = "100p" } } }
codel = { "link.up.queue" = { codel = {} } }
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bloatlab import files, warm_up, workloads
from bloatlab.scenario import Override, Scenario, opened
from bloatlab.simulation import Result
from bloatlab.sweep import axes as axes_of
from bloatlab.sweep.axes import MOST_RUNS, Axes, GridError, known, overrides, toml
from bloatlab.sweep.gather import Measure
from bloatlab.sweep.grid import Grid
from bloatlab.sweep.stopping import Until
from bloatlab.sweep.stopping import read as read_until

__all__ = ["MOST_RUNS", "SUMMARY", "GridError", "GridFile", "flat", "load", "summary", "toml"]

_KEYS = ("scenario", "seeds", "most_seeds", "until", "columns", "set", "axes", "zip", "sample", "where", "expect")


@dataclass(frozen=True)
class GridFile:
    """A grid file: its grid, the columns that it wants shown, how well it wants to know them.

    `sampled` are the axes whose values a sample drew. With `find_warm_up` each place's warm-up is to be found first
    (`auto_warm_up`); the grid itself has none.
    """

    grid: Grid
    columns: Sequence[str]
    until: Until | None = None
    sampled: Sequence[str] = ()
    find_warm_up: bool = False


def load(path: Path, sets: Sequence[Override] = (), seeds: int | None = None) -> GridFile:
    """The grid in the file `path`, with `sets` laid over every scenario; `seeds` replaces the file's.

    Raises `GridError`, and `OSError` or `UnicodeDecodeError` for a file (or its scenario's) that cannot be read.
    """
    try:
        data = tomllib.loads(files.read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise GridError(f"{path}: not valid TOML: {error}") from None
    try:
        return _grid_file(path, data, sets, seeds)
    except GridError as error:
        raise GridError(f"{path}: {error}") from None


def _grid_file(path: Path, data: Mapping[str, Any], sets: Sequence[Override], asked: int | None) -> GridFile:
    """The same of what the file holds. Raises `GridError` without its name."""
    if "scenario" not in data and not {"link", "app"}.isdisjoint(data):
        raise GridError(f'this is a scenario; a grid varies one: scenario = "{path.name}" and [axes] (docs/sweeps.md)')
    known(data, _KEYS)
    base = data.get("scenario")
    if not isinstance(base, str):
        raise GridError('scenario: the file to vary is missing; for example scenario = "home-upload.toml"')
    scenario = path.parent / base
    read = opened(base if workloads.find(base) is not None and not scenario.is_file() else scenario)
    fixed, auto = warm_up.asked(overrides("set", data.get("set", {})))
    sets, auto_too = warm_up.asked(sets)
    auto = auto_too or (auto and all(path != warm_up.PATH for path, _ in sets))
    seeds = seeds_of(data.get("seeds", 1), asked)
    until = read_until(data, seeds)
    runs = len(seeds) if until is None else until.most
    axes = axes_of.read(data, MOST_RUNS // runs)
    apart(axes, fixed, "set.")
    apart(axes, sets, "--set ")
    apart(axes, [(warm_up.PATH, "")] if auto else [], "")

    def build(*, seed: int, **at: Any) -> Scenario:
        chosen = [override for axis, value in at.items() for override in axes.sets[axis][value]]
        where = " ".join(f"{axis}={value}" for axis, value in at.items())
        every = [("seed", str(seed)), *fixed, *chosen, *sets]
        return read(every, f"{path} ({where})")

    grid = Grid(axes.values(), build, seeds, given=axes.places)
    return GridFile(grid, _columns(data.get("columns", [])), until, axes.sampled, auto)


def summary(result: Result) -> Mapping[str, float | int | bool | None]:
    """Every number of a run's summary under its dotted path, as in docs/results.md."""
    return flat(result.summary)


def flat(tree: Mapping[str, Any]) -> Mapping[str, float | int | bool | None]:
    """The same of a summary."""
    return dict(_flat("", {k: v for k, v in tree.items() if k not in {"name", "seed", "version"}}))


#: What a declared sweep keeps of a run: everything that its summary says, so that other columns need no other runs.
SUMMARY = Measure("summary", summary)


def _flat(prefix: str, tree: Mapping[str, Any]) -> list[tuple[str, float | int | bool | None]]:
    leaves: list[tuple[str, float | int | bool | None]] = []
    for name, value in tree.items():
        if isinstance(value, Mapping):
            leaves += _flat(f"{prefix}{name}.", value)
        elif value is None or isinstance(value, (bool, int, float)):
            leaves.append((f"{prefix}{name}", value))
    return leaves


def apart(axes: Axes, sets: Sequence[Override], kind: str) -> None:
    """Refuses a value laid over every run that an axis varies. Raises `GridError`; `kind` says who set it."""
    varied = {name: axis for axis, values in axes.sets.items() for chosen in values.values() for name, _ in chosen}
    for name, _ in sets:
        if name == "seed" or name in varied:
            other = f"axes.{varied[name]}" if name in varied else "seeds"
            raise GridError(f"{kind}{name}: {other} varies it")


def seeds_of(given: Any, asked: int | None = None) -> Sequence[int]:
    """The seeds that a file or a call gives: how many, from 1, or a list; `asked` replaces them. Raises `GridError`."""
    if asked is not None:
        return range(1, asked + 1)
    match given:
        case bool():
            pass
        case int() if 0 < given <= MOST_RUNS:
            return range(1, given + 1)
        case [_, *_] if all(type(s) is int and 0 <= s < 2**64 for s in given) and len(set(given)) == len(given):
            return given
        case _:
            pass
    shown = repr(given) if len(repr(given)) <= 40 else f"{repr(given)[:40]}..."
    raise GridError(f"seeds: {shown} is neither a whole number from 1 to {MOST_RUNS} nor a list of different seeds")


def _columns(columns: Any) -> Sequence[str]:
    if not isinstance(columns, list) or not all(isinstance(c, str) for c in columns):
        raise GridError('columns: a list of names, such as ["links.up.sojourn_ms.p99"]')
    return columns
