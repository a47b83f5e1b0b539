"""The distribution of episodes: scenarios, axes that vary their values, and a seed for each run.

scenario    a file, a workload, a `Scenario` or plain values; or a list of such scenarios, from which one is drawn per
            episode; or a function that takes a random generator and returns such a scenario
axes        maps paths, as in the axes of a sweep's grid file, to the values that they may have: a list, a range
            `{"from": "1mbit", "to": "50mbit", "log": True}`, or a table of named arms and their overrides; one value
            of each axis is drawn for each episode
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bloatlab.scenario import Override, Scenario, opened
from bloatlab.sweep.axes import Between, GridError, axis, refuse_each_other
from bloatlab.sweep.overriding import Values

#: Everything that `bloatlab.open` accepts.
Opened = Scenario | str | Path | Mapping[str, object]
#: A single scenario, several, or a function that draws one.
Given = Opened | Sequence[Opened] | Callable[[np.random.Generator], Opened]


@dataclass(frozen=True)
class Episode:
    """The scenario of one episode, and the values drawn for its axes."""

    scenario: Scenario
    drawn: Mapping[str, Any]


class Episodes:
    """A distribution of episodes (see the module docstring), from which `draw` takes one."""

    def __init__(self, given: Given, axes: Mapping[str, Any]) -> None:
        """Reads the scenario files and the axes.

        Raises `ScenarioError`, `GridError`, `OSError`, `ValueError` for an empty list.
        """
        self._axes = {name: axis(name, values) for name, values in axes.items()}
        arms = {name: {name: [(name, "")]} if isinstance(of, Between) else of for name, of in self._axes.items()}
        self._given = {name: Values.of(of) for name, of in arms.items()}
        refuse_each_other(self._given)
        self._draw = given if callable(given) else None
        several = isinstance(given, Sequence) and not isinstance(given, str)
        self._readers: list[Any] = [] if callable(given) else [opened(one) for one in (given if several else [given])]  # type: ignore[list-item]
        if self._draw is None and not self._readers:
            raise ValueError("scenario: the list is empty; expected at least one scenario")

    def refuse(self, *paths: str) -> None:
        """Raises `GridError` if an axis sets a value that the environment would replace by setting one of `paths`."""
        for path in paths:
            for name, values in self._given.items():
                for lost in values.replaced_by(path):
                    place = f"axes.{name}" if lost == name else f"axes.{name}: {lost}"
                    raise GridError(f"{place}: the environment sets {path}")

    def draw(self, rng: np.random.Generator, sets: Sequence[Override]) -> Episode:
        """Draws a scenario, a value for each axis and a seed, and applies `sets`. Raises `ScenarioError`, `OSError`."""
        if self._draw is not None:
            read = opened(self._draw(rng))
        else:
            read = self._readers[int(rng.integers(len(self._readers)))]
        drawn: dict[str, Any] = {}
        chosen: list[Override] = []
        for name, values in self._axes.items():
            if isinstance(values, Between):
                drawn[name] = values.drawn(float(rng.random()))
                chosen.append((name, str(drawn[name])))
            else:
                drawn[name] = list(values)[int(rng.integers(len(values)))]
                chosen += values[drawn[name]]
        chosen.append(("seed", str(int(rng.integers(2**32)))))
        return Episode(read([*chosen, *sets], "scenario"), drawn)
