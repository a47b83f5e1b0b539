"""Labels in plots: short, unique, and printable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from bloatlab.differences import Setting, clipped, varying

#: Maximum length of a line's label, in characters.
LONGEST = 28


def safe(text: str, most: int = LONGEST) -> str:
    """Makes a name printable in a plot: clips it and escapes unprintable characters."""
    return clipped(text.strip() or "(no name)", most)


def distinct_labels(names: Sequence[str], scenarios: Sequence[Mapping[str, Any] | None]) -> list[str]:
    """Returns a label for each result: the one or two settings in which the results differ, or the result's name.

    Names are used if a result has no scenario, if the results differ in no setting or in more than two (without the
    seed), or if labels made of settings would be too long or not unique. Repeated names are numbered.
    """
    labels = _by_settings(scenarios) if len(names) > 1 and all(s is not None for s in scenarios) else None
    seen = Counter[str]()
    found: list[str] = []
    for label in map(safe, labels or names):
        seen[label] += 1
        found.append(label if seen[label] == 1 else f"{label} ({seen[label]})")
    return found


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
    """Formats a setting as its key and value, or as the value alone if the value is clear without the key."""
    value = setting.values[place]
    key = setting.path.rsplit(".", 1)[-1]
    speaks = key == "queue" or (value[:1].isdigit() and value[-1:].isalpha() and len(settings) == 1)
    return value if speaks else f"{key} {value}"
