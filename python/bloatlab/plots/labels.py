"""Labels in plots: short, unique, and printable."""

from __future__ import annotations

import itertools
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from bloatlab.differences import Setting, clipped, told_apart, varying
from bloatlab.sweep.quantities import spelled

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
    return distinct(labels or names)


def distinct(texts: Sequence[str], most: int = LONGEST) -> list[str]:
    """Makes texts printable, each at most `most` characters long, and unique.

    If clipping would make different texts equal, the beginning that they share is left out. Texts that are still equal
    are numbered.
    """
    found = [safe(text, most) for text in texts]
    if len(set(found)) < len(set(texts)):
        shared = next(n for n in itertools.count() if len({text[: n + 1] for text in texts}) > 1)
        found = [safe(f"…{text[shared:]}", most) for text in texts]
    repeated = Counter[str]()
    labels: dict[str, None] = {}
    for text in found:
        label = text
        while label in labels:  # a numbered label may be equal to another text
            repeated[text] += 1
            number = f" ({repeated[text] + 1})"
            label = safe(text, most - len(number)) + number
        labels[label] = None
    return list(labels)


def value_labels(values: Sequence[Any], most: int = LONGEST) -> list[str]:
    """Returns a label for each value of a sweep's axis.

    A table, given as TOML text, is labelled by how it differs from the other values.
    """
    read = [_read(value) for value in values]
    tables = any(isinstance(value, dict) for value in read)
    return distinct(told_apart(read) if tables else [spelled(value) for value in values], most)


def _read(value: Any) -> Any:
    """Parses the text of a table; returns any other value unchanged."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            return tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            return value
    return value


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
