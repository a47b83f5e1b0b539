"""Finds overrides that replace earlier ones. With such overrides, a table would show values that the runs do not have.

Overrides apply in order. A later one may set a value inside an earlier one, as long as the earlier one does not itself
give that value:

    link.up.queue = { codel = {} },                     then  link.up.queue.codel.target = "5ms"    adds to it
    link.up.queue = { codel = { target = "10ms" } },    then  link.up.queue.codel.target = "5ms"    replaces the target
    link.up.queue.codel.target = "5ms",                 then  link.up.queue = { codel = {} }        replaces the target
    link.up.queue = "codel",                            then  link.up.queue.codel.target = "5ms"    adds to it
    link.up.queue = "codel target 10ms",                then  link.up.queue.codel.ecn = true        counts as replacing

The last counts as replacing, whatever it sets, because tc's keywords may have other names than the parameters.
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
    """The values that an axis sets. All three mappings go from a path to the arms that contain it.

    `paths` has the paths of the overrides. `leaves` also has the paths of all values in tables and lists. `texts` has
    only the paths of strings with several words, such as "codel target 5ms".
    """

    paths: Mapping[str, set[Any]]
    leaves: Mapping[str, set[Any]]
    texts: Mapping[str, set[Any]]

    @staticmethod
    def of(arms: Mapping[Any, Sequence[Override]]) -> Values:
        """Reads the overrides of each arm of an axis."""
        paths: dict[str, set[Any]] = {}
        leaves: dict[str, set[Any]] = {}
        texts: dict[str, set[Any]] = {}
        for arm, sets in arms.items():
            for path, value in sets:
                paths.setdefault(path, set()).add(arm)
                leaves.setdefault(path, set()).add(arm)
                for leaf, one in _leaves(path, _parsed(value)):
                    leaves.setdefault(leaf, set()).add(arm)
                    if isinstance(one, str) and len(one.split()) > 1:
                        texts.setdefault(leaf, set()).add(arm)
        return Values(paths, leaves, texts)

    def replaced_by(self, path: str) -> dict[str, set[Any]]:
        """Returns the paths of the values that are lost if a later override sets `path`, with their arms."""
        inside = {leaf: arms for leaf, arms in self.leaves.items() if contains(path, leaf)}
        return inside or {leaf: arms for leaf, arms in self.texts.items() if contains(leaf, path)}

    def replacing(self, path: str) -> str:
        """Returns the path of this axis that overwrites an earlier override of `path`, or "" if none does."""
        return next((own for own in self.paths if contains(own, path)), "")


def contains(outer: str, inner: str) -> bool:
    """Returns whether the path `inner` is `outer`, or leads into it."""
    above, below = _keys(outer), _keys(inner)
    return below[: len(above)] == above


def same(path: str, other: str) -> bool:
    """Returns whether two paths have the same keys, with or without quotes."""
    return _keys(path) == _keys(other)


def _keys(path: str) -> list[str]:
    """Splits a path at its dots. A key that contains dots is in double quotes."""
    return [key.replace('"', "") for key in re.findall(r'(?:"[^"]*"|[^."])+', path)]


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yields the path and value of each item in nested tables and lists, except the tables and lists themselves."""
    match value:
        case dict():
            for key, inner in value.items():
                yield from _leaves(f'{path}."{key}"' if "." in key else f"{path}.{key}", inner)
        case list():
            for place, inner in enumerate(value):
                yield from _leaves(f"{path}.{place}", inner)
        case _:
            yield path, value


def _parsed(text: str) -> Any:
    """Returns the value of a TOML text; None for a text that is not valid, which the scenario will report."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return None
