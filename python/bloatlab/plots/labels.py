"""What things are called in a plot: short, unique, and text whatever a person wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bloatlab.differences import Setting, clipped, varying

#: Longest label of a line.
LONGEST = 28


def safe(text: str, most: int = LONGEST) -> str:
    """A name as it can stand in a plot: clipped, and nothing in it that is not printed."""
    return clipped(text.strip() or "(no name)", most)


def told_apart(names: Sequence[str], scenarios: Sequence[Mapping[str, Any] | None]) -> list[str]:
    """A label for each of several results: what tells its scenario from the others, else its name.

    A name that stands twice gets a number.
    """
    labels = _by_settings(scenarios) if len(names) > 1 and all(s is not None for s in scenarios) else None
    return _unique([safe(label) for label in (labels or names)])


def _by_settings(scenarios: Sequence[Mapping[str, Any] | None]) -> list[str] | None:
    settings = [s for s in varying(scenarios) if s.path != "name"]
    if len(settings) > 1:
        settings = [s for s in settings if s.path != "seed"]
    if not 0 < len(settings) <= 2:
        return None
    labels = [", ".join(_phrase(s, i, settings) for s in settings) for i in range(len(scenarios))]
    fits = all(len(label) <= LONGEST for label in labels)
    return labels if fits and len(set(labels)) == len(labels) else None


def _phrase(setting: Setting, place: int, settings: Sequence[Setting]) -> str:
    """A value; with the name of its key where the value alone would not say what it is."""
    value = setting.values[place]
    key = setting.path.rsplit(".", 1)[-1]
    speaks = key == "queue" or (value[:1].isdigit() and value[-1:].isalpha() and len(settings) == 1)
    return value if speaks else f"{key} {value}"


def _unique(labels: Sequence[str]) -> list[str]:
    seen: dict[str, int] = {}
    found: list[str] = []
    for label in labels:
        seen[label] = seen.get(label, 0) + 1
        found.append(label if seen[label] == 1 else f"{label} ({seen[label]})")
    return found
