"""Finds overrides that replace earlier ones: then a table would show values that the runs do not have.

Overrides apply in order. A later one may set a value inside an earlier one, as long as the earlier one does not itself
give that value:

    link.up.queue = { codel = {} },                     then  link.up.queue.codel.target = "5ms"    adds to it
    link.up.queue = { codel = { target = "10ms" } },    then  link.up.queue.codel.target = "5ms"    replaces the target
    link.up.queue.codel.target = "5ms",                 then  link.up.queue = { codel = {} }        replaces the target
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bloatlab.scenario import Override


@dataclass(frozen=True)
class Values:
    """The values that an axis sets. Both mappings go from a path to the arms that contain it.

    `paths` has the paths of the overrides, and `leaves` also those of all values in tables and lists.
    """

    paths: Mapping[str, set[Any]]
    leaves: Mapping[str, set[Any]]

    @staticmethod
    def of(arms: Mapping[Any, Sequence[Override]]) -> Values:
        """Reads the overrides of each arm of an axis."""
        paths: dict[str, set[Any]] = {}
        leaves: dict[str, set[Any]] = {}
        for arm, sets in arms.items():
            for path, value in sets:
                paths.setdefault(path, set()).add(arm)
                for leaf in (path, *_leaves(path, _parsed(value))):
                    leaves.setdefault(leaf, set()).add(arm)
        return Values(paths, leaves)

    def replaced_by(self, path: str) -> dict[str, set[Any]]:
        """Returns the values that are lost if a later override sets `path`, with their arms."""
        return {leaf: arms for leaf, arms in self.leaves.items() if contains(path, leaf)}

    def replacing(self, path: str) -> str:
        """Returns a path of this axis by which an earlier override of `path` is lost; "" if there is none."""
        return next((own for own in self.paths if contains(own, path)), "")


def contains(outer: str, inner: str) -> bool:
    """Returns whether the path `inner` is `outer`, or leads into it."""
    above, below = _keys(outer), _keys(inner)
    return below[: len(above)] == above


def _keys(path: str) -> list[str]:
    """Splits a path at its dots. A key that contains dots is in double quotes."""
    return [key.replace('"', "") for key in re.findall(r'(?:"[^"]*"|[^."])+', path)]


def _leaves(path: str, value: Any) -> Iterator[str]:
    """Yields the paths of all values in a table or list, and of the parameters in a string: "codel target 5ms"."""
    match value:
        case dict():
            for key, inner in value.items():
                yield from _leaves(f'{path}."{key}"' if "." in key else f"{path}.{key}", inner)
        case list():
            for place, inner in enumerate(value):
                yield from _leaves(f"{path}.{place}", inner)
        case str():
            kind, *parameters = value.split() or [""]
            yield from [path, *(f"{path}.{kind}.{parameter}" for parameter in parameters if "." not in parameter)]
        case _:
            yield path


def _parsed(text: str) -> Any:
    """Returns the value of a TOML text; None for a text that is not valid, which the scenario will report."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return None
