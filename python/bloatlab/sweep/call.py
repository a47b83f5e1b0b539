"""`bloatlab.sweep`: a scenario over axes and seeds, as one table. `bloatlab sweep` does the same with a file."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from bloatlab.errors import nearest
from bloatlab.scenario import Scenario, Sets, opened, overrides
from bloatlab.sweep import axes as axes_of
from bloatlab.sweep import grid_file
from bloatlab.sweep.axes import MOST_RUNS, GridError
from bloatlab.sweep.gather import gather
from bloatlab.sweep.grid import Grid
from bloatlab.sweep.store import Store


def sweep(
    scenario: Scenario | str | Path | Mapping[str, object],
    axes: Mapping[str, Any],
    seeds: int | Sequence[int] = 1,
    *,
    sets: Sets = (),
    where: Sequence[str] = (),
    columns: Sequence[str] = (),
    jobs: int | None = None,
    store: str | Path | None = None,
) -> pl.DataFrame:
    """Run a scenario at every combination of the axes' values with every seed.

    `axes` is as in a grid file (docs/sweeps.md): by path a list of values, `{"link.up.rate": ["1mbit", "5mbit"]}`, or a
    range, `{"from": "1mbit", "to": "1gbit", "steps": 7, "log": True}`; by another name arms, each with what it sets:
    `{"queue": {"codel": {"link.up.queue": {"codel": {}}}}}`. `seeds` is how many, from 1, or a list. `sets` are laid
    over every run, `where` keeps the places at which each line holds ("link.up.rate <= link.down.rate").

    Returns one row per run: the axes, `seed`, `scenario_hash`, and the numbers of its summary by dotted path, or those
    that the patterns in `columns` name ("apps.*.voip.mos"). The table does not depend on `jobs`. `store` is a folder:
    what was run before is taken from it. Raises `ScenarioError`, or `GridError` (a `ValueError`), in one line.
    """
    chosen = grid_file.seeds_of(seeds if isinstance(seeds, int) else list(seeds))
    found = axes_of.read({"axes": dict(axes), "where": list(where)}, MOST_RUNS // len(chosen))
    fixed = overrides(sets)
    grid_file.apart(found, fixed, "sets.")
    read = opened(scenario)

    def build(*, seed: int, **at: Any) -> Scenario:
        varied = [override for axis, value in at.items() for override in found.sets[axis][value]]
        place = " ".join(f"{axis}={value}" for axis, value in at.items())
        return read([("seed", str(seed)), *fixed, *varied], f"sweep ({place})")

    points = Grid(found.values(), build, chosen, given=found.places).points()
    kept = None if store is None else Store(Path(store))
    frame = gather(points, grid_file.SUMMARY, store=kept, jobs=jobs).frame()
    names = [*found.sets, "seed", "scenario_hash"]
    return frame.select(*names, *matching([c for c in frame.columns if c not in names], columns))


def matching(known: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """The columns that patterns name, in the order of the patterns; all without any. Raises `GridError`."""
    chosen: dict[str, None] = {} if patterns else dict.fromkeys(known)
    for pattern in patterns:
        found = fnmatch.filter(known, pattern)
        if not found:
            raise GridError(f"column {pattern}: no such value in the summary{nearest(pattern, known)}")
        chosen |= dict.fromkeys(found)
    return list(chosen)
