"""Grids: axes, seeds, and the function that makes a scenario from a value for each axis and a seed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from bloatlab.scenario import Scenario, plain
from bloatlab.sweep.pool import Point
from bloatlab.sweep.quantities import spelled


@dataclass(frozen=True)
class At(Mapping[str, Any]):
    """A point of a grid: the value of each axis by name, in axis order. Hashable."""

    items_: tuple[tuple[str, Any], ...]

    def __getitem__(self, name: str) -> Any:
        return dict(self.items_)[name]

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, _ in self.items_])

    def __len__(self) -> int:
        return len(self.items_)

    def __hash__(self) -> int:
        return hash(tuple((name, str(label(value))) for name, value in self.items_))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, At) and self.items_ == other.items_

    def __str__(self) -> str:
        return " ".join(f"{name}={spelled(label(value))}" for name, value in self.items_)

    def labels(self) -> dict[str, float | int | str | bool | None]:
        """Returns the values by axis, as they appear in a table's columns."""
        return {name: label(value) for name, value in self.items_}


@dataclass(frozen=True)
class Grid:
    """Every combination of the axes' values with every seed.

    `axes` maps the name of each axis to its values. These names become table columns, in which an
    `Enum` appears by its name, and objects other than numbers, strings and None as `str(value)`. `build` is called with
    one keyword argument per axis, and `seed`; it returns the scenario. Every point is run with the same seeds, so that
    runs can be compared in pairs. Combinations for which `keeps` returns false are left out. `given` lists the points
    if they are not all combinations (zipped axes, samples).
    """

    axes: Mapping[str, Sequence[Any]]
    build: Callable[..., Scenario]
    seeds: Sequence[int] = (1,)
    keeps: Callable[[At], bool] | None = field(default=None)
    given: Sequence[At] | None = None

    def places(self) -> list[At]:
        """Returns the grid points (not the runs: seeds play no part), without the points that `keeps` excludes.

        The points have the order of `given`; without `given`, the last axis varies fastest.
        """
        places = self.given
        if places is None:
            combinations = itertools.product(*self.axes.values())
            places = [At(tuple(zip(self.axes, values, strict=True))) for values in combinations]
        return [at for at in places if self.keeps is None or self.keeps(at)]

    def points(self) -> list[Point[At]]:
        """Returns all runs: first every grid point with the first seed, then with the second seed, and so on.

        With this order, an interrupted sweep is complete for its first seeds. Raises the errors of `build`
        (`ScenarioError`), before anything runs.
        """
        places = self.places()
        return [self.point(at, seed) for seed in self.seeds for at in places]

    def point(self, at: At, seed: int) -> Point[At]:
        """Returns the run at one point with one seed. Raises the errors of `build`."""
        return Point(at, self.build(**at, seed=seed), seed)

    def with_(self, *, seeds: Sequence[int] | None = None, **axes: Sequence[Any]) -> Grid:
        """Returns this grid with other seeds, or with other values of some axes. Raises `KeyError` for an unknown axis.

        If `axes` are given, the new grid ignores `given`: it has every combination of values that `keeps` accepts.
        """
        for name in axes:
            if name not in self.axes:
                raise KeyError(f"no axis {name!r}; expected {', '.join(self.axes)}")
        given = None if axes else self.given
        return replace(self, axes={**self.axes, **axes}, seeds=self.seeds if seeds is None else seeds, given=given)

    def where(self, keeps: Callable[[At], bool]) -> Grid:
        """Returns this grid without the points for which `keeps` is false."""
        own = self.keeps
        return replace(self, keeps=keeps if own is None else lambda at: own(at) and keeps(at))


def label(value: Any) -> float | int | str | bool | None:
    """Returns an axis value as it appears in a table column."""
    if isinstance(value, Enum):
        return value.name
    value = plain(value)
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def labels(key: Any) -> dict[str, Any]:
    """Returns a run's key as table columns: one per axis for a grid point, a column `key` for any other key."""
    return key.labels() if isinstance(key, At) else {"key": label(key)}
