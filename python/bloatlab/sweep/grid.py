"""A study declared: axes, seeds, and how a place on the axes becomes a scenario."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from bloatlab.scenario import Scenario
from bloatlab.sweep.pool import Point


@dataclass(frozen=True)
class At(Mapping[str, Any]):
    """A place on the axes of a grid: the value of each axis by its name, in the order of the axes. Hashable."""

    items_: tuple[tuple[str, Any], ...]

    def __getitem__(self, name: str) -> Any:
        for axis, value in self.items_:
            if axis == name:
                return value
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, _ in self.items_])

    def __len__(self) -> int:
        return len(self.items_)

    def __hash__(self) -> int:
        return hash(tuple((name, str(label(value))) for name, value in self.items_))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, At) and self.items_ == other.items_

    def __str__(self) -> str:
        return " ".join(f"{name}={label(value)}" for name, value in self.items_)

    def labels(self) -> dict[str, float | int | str | bool | None]:
        """What stands in a table's columns."""
        return {name: label(value) for name, value in self.items_}


@dataclass(frozen=True)
class Grid:
    """Every combination of the axes' values with every seed.

    `axes` gives each axis by name its values; names become columns, and a value that is no number, text or None stands
    there as its `str`. `build` is called with each axis as a keyword, and `seed`; it returns the scenario. Seeds are
    paired: every place is run with the same ones. `keeps` leaves out what makes no sense. `given` are the places where
    they are not every combination (zipped axes, samples).
    """

    axes: Mapping[str, Sequence[Any]]
    build: Callable[..., Scenario]
    seeds: Sequence[int] = (1,)
    keeps: Callable[[At], bool] | None = field(default=None)
    given: Sequence[At] | None = None

    def places(self) -> list[At]:
        """The combinations, without seeds; the last axis varies fastest."""
        if self.given is not None:
            places = list(self.given)
        else:
            combinations = itertools.product(*self.axes.values())
            places = [At(tuple(zip(self.axes, values, strict=True))) for values in combinations]
        return places if self.keeps is None else [at for at in places if self.keeps(at)]

    def points(self) -> list[Point[At]]:
        """The runs, seed by seed: what an interrupted sweep has is whole for the first seeds.

        Raises what `build` raises (`ScenarioError`), before anything runs.
        """
        places = self.places()
        return [self.point(at, seed) for seed in self.seeds for at in places]

    def point(self, at: At, seed: int) -> Point[At]:
        """The run at one place with one seed. Raises what `build` raises."""
        return Point(at, self.build(**at, seed=seed), seed)

    def with_(self, *, seeds: Sequence[int] | None = None, **axes: Sequence[Any]) -> Grid:
        """This grid with other seeds, or other values on some axes (then every combination of these).

        Raises `KeyError` for an axis it does not have.
        """
        for name in axes:
            if name not in self.axes:
                raise KeyError(f"no axis {name!r}; there is {', '.join(self.axes)}")
        given = None if axes else self.given
        return replace(self, axes={**self.axes, **axes}, seeds=self.seeds if seeds is None else seeds, given=given)

    def where(self, keeps: Callable[[At], bool]) -> Grid:
        """This grid without the places that `keeps` refuses."""
        own = self.keeps
        return replace(self, keeps=keeps if own is None else lambda at: own(at) and keeps(at))


def label(value: Any) -> float | int | str | bool | None:
    """A value of an axis as it stands in a column."""
    match value:
        case Enum():
            return value.name
        case None | bool() | int() | float() | str():
            return value
        case _:
            return str(value)


def labels(key: Any) -> dict[str, Any]:
    """What a run's key has in a table's columns: a place its axes, any other `key`."""
    return key.labels() if isinstance(key, At) else {"key": label(key)}
