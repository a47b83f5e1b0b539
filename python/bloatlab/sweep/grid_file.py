"""A grid in a file or in a call: a scenario, axes over its values, seeds.

scenario = "home-upload.toml"            # beside this file; or a workload, "rrul"
seeds = 10                               # 1 to 10; or a list of seeds
columns = ["links.up.sojourn_ms.p99"]    # values of the summary to show; * matches anything
until = { "apps.call.voip.mos" = "2%" }  # add seeds until the interval of the mean is +-2 %, at most `most_seeds`

[set]                                    # overrides for every run
duration = "60s"

[axes]
"link.up.rate" = ["1mbit", "5mbit"]      # an axis named by a path: a list of values, or a range (see `axes`)

[axes.queue]                             # an axis of named arms: each sets values by path
droptail = { "link.up.queue" = { droptail = { limit = "100p" } } }
codel = { "link.up.queue" = { codel = {} } }
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from bloatlab import files, measures, warm_up, workloads
from bloatlab.errors import nearest
from bloatlab.scenario import MOST_SEED, Override, Scenario, ScenarioError, Sets, opened, overrides, plain, problems
from bloatlab.simulation import Result
from bloatlab.sweep import axes as axes_of
from bloatlab.sweep.auto_warm_up import with_warm_ups
from bloatlab.sweep.axes import MOST_RUNS, NO_COLUMNS, GridError, known
from bloatlab.sweep.gather import Measure, gather
from bloatlab.sweep.grid import Grid
from bloatlab.sweep.over_seeds import Zips
from bloatlab.sweep.pool import Threads
from bloatlab.sweep.progress import silent
from bloatlab.sweep.quantities import spelled
from bloatlab.sweep.stopping import Until
from bloatlab.sweep.stopping import read as read_until
from bloatlab.sweep.store import Store

__all__ = ["MOST_RUNS", "SUMMARY", "GridError", "GridFile", "flat", "load", "matching", "summary", "sweep"]

_KEYS = ("scenario", "seeds", "most_seeds", "until", "columns", "set", "axes", "zip", "sample", "where", "expect")


@dataclass(frozen=True)
class GridFile:
    """The content of a grid file: the grid, the columns to show, and the precision that some means must reach.

    `sampled` names the sampled axes, `zips` the groups of zipped axes. With `find_warm_up`, the warm-up of each grid
    point must be found first (`auto_warm_up`); until then, the scenarios of `grid` have no warm-up.
    """

    grid: Grid
    columns: Sequence[str]
    until: Until | None = None
    sampled: Sequence[str] = ()
    find_warm_up: bool = False
    zips: Zips = ()


def load(path: Path, sets: Sequence[Override] = (), seeds: int | None = None) -> GridFile:
    """Loads the grid in the file `path`, with overrides for every scenario; `seeds` replaces the file's `seeds`.

    Raises `GridError`, `ScenarioError` for an invalid grid point, and `OSError` or `UnicodeDecodeError` if the file or
    its scenario cannot be read.
    """
    try:
        found = _grid_file(path, tomllib.loads(files.read_text(path)), sets, seeds)
    except tomllib.TOMLDecodeError as error:
        raise GridError(f"{path}: not valid TOML: {error}") from None
    except GridError as error:
        raise GridError(f"{path}: {error}") from None
    except ScenarioError as error:  # a value of a type that no scenario can contain, such as a date
        raise GridError(f"{path}: {problems(error)[0]}") from None
    _refuse_idle(found.grid, f"{path}: ")
    return found


def _refuse_idle(grid: Grid, source: str = "") -> None:
    """Raises `GridError` for an axis whose values never change the scenario, for example if another axis undoes them.

    Comparing paths cannot find such an axis, because a parameter of a workload has another name than the values of the
    scenario that it determines. In most grids, the first two points that differ only on the axis have different
    scenarios, which ends the search. Raises `ScenarioError` for an invalid grid point.
    """
    for n, axis in enumerate(grid.axes):
        first: dict[tuple[Any, ...], tuple[Any, str]] = {}
        same: tuple[Any, Any] | None = None
        for at in grid.places():
            value, text = at[axis], grid.point(at, grid.seeds[0]).scenario.text
            other, found = first.setdefault((*at.items_[:n], *at.items_[n + 1 :]), (value, text))
            if found != text:
                break
            if value is not other:
                same = (other, value)
        else:
            if same is not None:
                shown = " and ".join(map(spelled, same))
                why = "the values are equal, or another axis or override undoes them"
                raise GridError(f"{source}axes.{axis}: {shown} give the same scenario at every grid point; {why}")


def _grid_file(path: Path, data: Mapping[str, Any], sets: Sequence[Override], seeds: int | None) -> GridFile:
    if "scenario" not in data and not {"link", "app"}.isdisjoint(data):
        raise GridError(f'this is a scenario; a grid varies one: scenario = "{path.name}" and [axes] (docs/sweeps.md)')
    known(data, _KEYS)
    base = data.get("scenario")
    if not isinstance(base, str) or not base:
        raise GridError('scenario: the file to vary is missing; for example scenario = "home-upload.toml"')
    columns = _columns(data.get("columns", []))
    scenario = path.parent / base
    read = opened(base if workloads.find(base) is not None and not scenario.is_file() else scenario)
    fixed, auto = warm_up.asked(axes_of.overrides("set", data.get("set", {})))
    sets, auto_too = warm_up.asked(sets)
    auto = auto_too or (auto and all(path != warm_up.PATH for path, _ in sets))
    chosen = _seeds(data.get("seeds", 1)) if seeds is None else range(1, seeds + 1)
    until = read_until(data, chosen)
    axes = axes_of.read(data, MOST_RUNS // (len(chosen) if until is None else until.most))
    axes.refuse(fixed, "set.", before=True)
    axes.refuse(sets, "--set ")
    axes.refuse([(warm_up.PATH, "")] if auto else [], "")
    return GridFile(axes.grid(read, chosen, str(path), fixed, sets), columns, until, axes.sampled, auto, axes.zips)


def sweep(
    scenario: Scenario | str | Path | Mapping[str, object],
    axes: Mapping[str, Any],
    seeds: int | Sequence[int] = 1,
    *,
    sets: Sets = (),
    where: Sequence[str] = (),
    columns: Iterable[str] = (),
    jobs: int | None = None,
    store: str | Path | None = None,
) -> pl.DataFrame:
    """Runs a scenario at every combination of the axes' values with every seed.

    `axes` is as in a grid file (docs/sweeps.md): a list of values by path, `{"link.up.rate": ["1mbit", "5mbit"]}`, or a
    range, `{"from": "1mbit", "to": "1gbit", "steps": 7, "log": True}`; an axis with any other name consists of arms,
    each with the values that it sets: `{"queue": {"codel": {"link.up.queue": {"codel": {}}}}}`. `seeds` is a number of
    seeds, from 1, or a list. `sets` are overrides for every run; `where` keeps the grid points at which each line holds
    ("link.up.rate <= link.down.rate").

    Returns one row per run: the axes, `seed`, `scenario_hash`, and the numbers of the run's summary by dotted path, or
    only the numbers that match the patterns in `columns` ("apps.*.voip.mos"). The table does not depend on `jobs`.
    `store` is a folder; runs that it holds are not repeated. Raises `ScenarioError`, or `GridError` (a `ValueError`)
    with one line.
    """
    patterns = _columns(columns)
    given = plain(seeds, "seeds")
    chosen = _seeds(list(given) if isinstance(given, Iterable) else given)
    found = axes_of.read(
        {"axes": dict(axes), "where": where if isinstance(where, str) else list(where)}, MOST_RUNS // len(chosen)
    )
    given_sets = overrides(sets)
    found.refuse(given_sets, "sets.", before=True)
    fixed, auto = warm_up.asked(given_sets)
    grid = found.grid(opened(scenario), chosen, "sweep", fixed)
    _refuse_idle(grid)
    kept = None if store is None else Store(Path(store))
    if auto:
        grid, _ = with_warm_ups(grid, store=kept, watch=silent(), executor=Threads(jobs))
    points = grid.points()
    frame = gather(points, SUMMARY, store=kept, jobs=jobs).frame()
    names = [*found.sets, "seed", "scenario_hash"]
    return frame.select(*names, *matching([c for c in frame.columns if c not in names], patterns))


def matching(known: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Returns the columns that match the patterns, in pattern order; all columns if no pattern is given.

    Raises `GridError`.
    """
    chosen: dict[str, None] = {} if patterns else dict.fromkeys(known)
    for pattern in patterns:
        found = measures.matching(pattern, known)
        if not found:
            raise GridError(f"column {pattern}: no such number in the summary{nearest(pattern, known)}")
        chosen |= dict.fromkeys(found)
    return list(chosen)


def summary(result: Result) -> Mapping[str, float | int | bool | None]:
    """Returns the values of a run's summary, keyed by dotted path as in docs/results.md; see `flat`."""
    return flat(result.summary)


def flat(tree: Mapping[str, Any]) -> Mapping[str, float | int | bool | None]:
    """Returns every number, flag and null of a summary except `seed` and `version`, keyed by dotted path."""
    leaves: dict[str, float | int | bool | None] = {}
    _flatten(tree, "", leaves)
    for name in NO_COLUMNS:
        leaves.pop(name, None)
    return leaves


#: The types of most values in a summary. They are tested first, because a look-up in a set is faster than `isinstance`.
_LEAVES = frozenset({type(None), bool, int, float})


def _flatten(tree: Mapping[str, Any], prefix: str, leaves: dict[str, float | int | bool | None]) -> None:
    for name, value in tree.items():
        kind = type(value)
        if kind is dict:
            _flatten(value, f"{prefix}{name}.", leaves)
        elif kind in _LEAVES or isinstance(value, (bool, int, float)):
            leaves[prefix + name] = value


#: The measure of a sweep: all numbers of a run's summary, so that showing other columns needs no new runs.
SUMMARY = Measure("summary", summary)


def _columns(given: Any) -> Sequence[str]:
    try:  # a set is refused, because columns have an order
        names: list[Any] = [None] if isinstance(given, (str, set, frozenset, Mapping)) else list(given)
    except TypeError:  # not iterable
        names = [None]
    if not all(isinstance(name, str) for name in names):
        raise GridError('columns: expected a list of names, such as ["links.up.sojourn_ms.p99"]')
    return names


def _seeds(given: Any) -> Sequence[int]:
    """Reads the seeds: a number n for seeds 1 to n, or a list. Raises `GridError`."""
    given = plain(given)
    if type(given) is int and 0 < given <= MOST_RUNS:
        return range(1, given + 1)
    seeds: list[Any] = given if isinstance(given, list) else []
    if seeds and all(type(s) is int and 0 <= s <= MOST_SEED for s in seeds) and len(set(seeds)) == len(seeds):
        return seeds
    shown = repr(given) if len(repr(given)) <= 40 else f"{repr(given)[:40]}..."
    valid = f"a whole number from 1 to {MOST_RUNS} nor a list of different seeds from 0 to {MOST_SEED}"
    raise GridError(f"seeds: {shown} is neither {valid}")
