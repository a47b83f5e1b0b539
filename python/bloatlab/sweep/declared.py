"""A grid in a file: a scenario, axes over its values, seeds.

scenario = "home-upload.toml"            # beside this file
seeds = 10                               # 1 to 10; or a list of them
columns = ["links.up.sojourn_ms.p99"]    # of the summary, what the table shows; * stands for anything

[set]                                    # laid over the scenario in every run
duration = "60s"

[axes]
"link.up.rate" = ["1mbit", "5mbit"]      # an axis that is a path: its values

[axes.queue]                             # an axis with a name: each value by its own name sets what it likes
droptail = { "link.up.queue" = { droptail = { limit = "100p" } } }
codel = { "link.up.queue" = { codel = {} } }
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bloatlab.scenario import Override, Scenario, ScenarioError, parse, problems
from bloatlab.scenario import toml as as_toml
from bloatlab.simulation import Result
from bloatlab.sweep.gather import Measure
from bloatlab.sweep.grid import Grid

_KEYS = ("scenario", "seeds", "columns", "set", "axes")

#: Most runs that a file may declare: beyond it, a mistake is likelier than a wish.
MOST_RUNS = 1_000_000


class GridError(ValueError):
    """A grid file that says nothing to run; the message is one line with the path in the file."""


@dataclass(frozen=True)
class Declared:
    """A grid file: its grid, and the columns that it wants shown."""

    grid: Grid
    columns: Sequence[str]


def load(path: Path, sets: Sequence[Override] = (), seeds: int | None = None) -> Declared:
    """The grid in the file `path`, with `sets` laid over every scenario; `seeds` replaces the file's.

    Raises `GridError`, and `OSError` or `UnicodeDecodeError` for a file (or its scenario's) that cannot be read.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise GridError(f"{path}: not valid TOML: {error}") from None
    for key in data:
        _known(path, key)
    base = data.get("scenario")
    if not isinstance(base, str):
        raise GridError(f'{path}: scenario: the file to vary is missing; for example scenario = "home-upload.toml"')
    scenario = path.parent / base
    text = scenario.read_text(encoding="utf-8")
    form: Literal["toml", "json"] = "json" if scenario.suffix == ".json" else "toml"
    fixed = _sets(path, "set", data.get("set", {}))
    axes = _axes(path, data.get("axes", {}))
    _apart(path, axes, fixed, "set.")
    _apart(path, axes, sets, "--set ")

    def build(*, seed: int, **at: Any) -> Scenario:
        chosen = [override for axis, value in at.items() for override in axes[axis][value]]
        where = " ".join(f"{axis}={value}" for axis, value in at.items())
        return parse(text, form=form, source=f"{path} ({where})", sets=[("seed", str(seed)), *fixed, *chosen, *sets])

    grid = Grid({name: list(values) for name, values in axes.items()}, build, _seeds(path, data.get("seeds", 1), seeds))
    runs = len(grid.seeds)
    for values in axes.values():
        runs *= len(values)
    if runs > MOST_RUNS:
        raise GridError(f"{path}: axes: {runs} runs; at most {MOST_RUNS}")
    return Declared(grid, _columns(path, data.get("columns", [])))


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


def _known(path: Path, key: str) -> None:
    if key not in _KEYS:
        near = difflib.get_close_matches(key, _KEYS, n=1, cutoff=0.5)
        hint = f'; did you mean "{near[0]}"?' if near else ""
        raise GridError(f'{path}: unknown key "{key}"{hint} (valid: {", ".join(_KEYS)})')


def _axes(path: Path, axes: Any) -> dict[str, dict[Any, list[Override]]]:
    """Of each axis its values as they stand in a column, and what each lays over the scenario."""
    if not isinstance(axes, dict) or not axes:
        raise GridError(f'{path}: axes: there is none; for example [axes] "link.up.rate" = ["1mbit", "5mbit"]')
    found: dict[str, dict[Any, list[Override]]] = {}
    for name, values in axes.items():
        place = f"axes.{name}"
        if name in {"seed", "scenario_hash"}:
            raise GridError(f"{path}: {place}: seeds are no axis; write seeds = 10")
        match values:
            case [_, *_]:
                pairs = [(_label(v), [(name, toml(v))]) for v in values]
            case {**named} if named:
                pairs = [(label, _sets(path, f"{place}.{label}", sets)) for label, sets in named.items()]
            case _:
                raise GridError(f"{path}: {place}: a list of values, or a table of named ones, at least one of them")
        found[name] = dict(pairs)
        if len(found[name]) < len(pairs):
            raise GridError(f"{path}: {place}: a value stands there twice")
    return found


def _apart(
    path: Path, axes: Mapping[str, Mapping[Any, Sequence[Override]]], sets: Sequence[Override], kind: str
) -> None:
    """What is the same in every run is on no axis, or the axis would say what is not so."""
    varied = {name: axis for axis, values in axes.items() for chosen in values.values() for name, _ in chosen}
    for name, _ in sets:
        if name == "seed" or name in varied:
            other = f"axes.{varied[name]}" if name in varied else "seeds"
            raise GridError(f"{path}: {kind}{name}: {other} varies it")


def _sets(path: Path, place: str, sets: Any) -> list[Override]:
    if not isinstance(sets, dict):
        raise GridError(f'{path}: {place}: a table of values by their paths, such as {{ "link.up.rate" = "5mbit" }}')
    return [(name, toml(value)) for name, value in sets.items()]


def _seeds(path: Path, given: Any, asked: int | None) -> Sequence[int]:
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
    raise GridError(f"{path}: seeds: {given} is neither a number of seeds from 1 on nor a list of different ones")


def _columns(path: Path, columns: Any) -> Sequence[str]:
    if not isinstance(columns, list) or not all(isinstance(c, str) for c in columns):
        raise GridError(f'{path}: columns: a list of names, such as ["links.up.sojourn_ms.p99"]')
    return columns


def _label(value: Any) -> Any:
    return value if isinstance(value, (str, int, float)) else toml(value)


def toml(value: Any) -> str:
    """A value as it stands in TOML, on one line. Raises `GridError` for what has no place in a scenario (a date)."""
    try:
        return as_toml(value)
    except ScenarioError as error:
        raise GridError(problems(error)[0]) from None
