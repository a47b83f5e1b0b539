"""The label, unit and direction of each measure by its path, as declared by the core.

links.up.sojourn_ms.p99     link up     time in queue, 99 %     ms             less is better
apps.call.voip.mos          call        MOS                     1 to 4.5       more is better
latency.induced_ms                      delay added by load     ms             less is better

The declarations are next to the values, in crates/measure and crates/traffic; `bloatlab list measures` prints them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from bloatlab.scenario import measures

#: The direction in which a measure improves.
Direction = Literal["more is better", "less is better"]


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: its suffix in names, its symbol, the smallest noticeable difference, and the number of digits to show."""

    suffix: str
    symbol: str
    least: float
    digits: int | None


@dataclass(frozen=True, slots=True)
class Measure:
    """A summary key, as declared by the core, or another column, whose unit follows from its name.

    Each `*` in `path` stands for any name. The first is the name of the link or application. The `*`s in `label` stand
    for the other names, in the same order. `least` is the smallest noticeable difference (0: none is declared), `rank`
    the place among the measures that users notice most (None: no place). `parts` are the statistics of a distribution.
    """

    path: str
    label: str
    unit: str
    direction: Direction | None
    least: float
    rank: int | None
    doc: str
    parts: Sequence[Measure] = ()


@dataclass(frozen=True, slots=True)
class Name:
    """A measure's label: `of` is its link or application (empty for the whole run); `unit` may be empty."""

    of: str
    measure: str
    unit: str

    @property
    def with_unit(self) -> str:
        """The label, with the unit in parentheses."""
        return f"{self.measure} ({self.unit})" if self.unit else self.measure

    def __str__(self) -> str:
        """Returns the full label, for an axis or a sentence."""
        return f"{self.of}: {self.with_unit}" if self.of else self.with_unit


@cache
def declarations() -> Sequence[Measure]:
    """Returns the declared keys of the summary. The statistics of a distribution are in its `parts`."""
    return [_measure(of) for of in measures()["measures"]]


@cache
def units() -> Sequence[Unit]:
    """Returns the units that a name may end with."""
    return [Unit(**of) for of in measures()["units"]]


def _measure(of: Mapping[str, Any]) -> Measure:
    parts = [_measure(part) for part in of["parts"]]
    better: Direction | None = of["better"] or None
    return Measure(of["path"], of["words"], of["unit"], better, of["least"], of["rank"], of["doc"], parts)


@cache
def _patterns() -> Sequence[tuple[re.Pattern[str], Measure]]:
    """Returns each declaration that stands for a single value, with a pattern that matches its path.

    A distribution is not a single value, so its statistics are returned instead. A `*` in a path matches any name,
    which may contain dots.
    """
    leaves = [leaf for measure in declarations() for leaf in (measure.parts or [measure])]
    # a path may match several patterns; the pattern with the most literal keys applies
    ordered = sorted(leaves, key=lambda of: len([part for part in of.path.split(".") if part != "*"]), reverse=True)
    return [(re.compile(re.escape(measure.path).replace(r"\*", "(.+?)")), measure) for measure in ordered]


def declared(path: str) -> bool:
    """Returns whether a summary can have a value with this path."""
    return any(pattern.fullmatch(path) for pattern, _ in _patterns())


#: The keys of applications and links whose values are strings or booleans.
_NOT_NUMBERS = ("kind", "grade", "ping.grade", "files.exact", "rpm.class", "rpm.confidence", "rpm.goodput_confidence")


@cache
def numbers_of(part: Literal["apps", "links"]) -> Sequence[str]:
    """Returns the paths, such as `voip.mos`, of all single numbers below the name of an application or a link."""
    below = f"{part}.*."
    paths = [of.path.removeprefix(below) for _, of in _patterns() if of.path.startswith(below)]
    return [path for path in paths if path not in _NOT_NUMBERS]


@cache
def _by_key() -> Mapping[str, Measure]:
    """Returns a map from the last key of a path to the first measure declared with this key.

    It also contains the statistics of distributions, under the names of their columns in sweeps, such as
    `sojourn_p99_ms`. Measures whose label contains a `*` are left out.
    """
    found: dict[str, Measure] = {}
    for measure in declarations():
        if "*" in measure.label:
            continue
        key = measure.path.rsplit(".", 1)[-1]
        found.setdefault(key, measure)
        for part in measure.parts:
            stem, _, unit = key.rpartition("_")
            found.setdefault(f"{stem}_{part.path.rsplit('.', 1)[-1]}_{unit}", part)
    return found


@cache
def _looked_up(path: str) -> tuple[Name, Measure | None]:
    """Returns the label of a column, and its declaration if there is one.

    The label is the first of these that exists: the label declared for `path`, a path in the summary; the label
    declared for the last key of `path`; the name without its suffix, which gives the unit. The name of another
    program's measure (`_OTHERS`) is used unchanged.
    """
    parts = path.split(".")
    found = next(((m, match.groups()) for pattern, m in _patterns() if (match := pattern.fullmatch(path))), None)
    if found is not None:
        measure, names = found
        of = "" if not names else f"link {names[0]}" if parts[0] == "links" else names[0]
        label = measure.label
        for name in names[1:]:
            label = label.replace("*", name.replace("_", " "), 1)
        return _name(of, label, measure), measure
    if measure := _by_key().get(parts[-1]):
        return _name(".".join(parts[:-1]), measure.label, measure), measure
    for symbol, (rank, way) in _OTHERS.items():
        if path.endswith(f"({symbol})"):
            unit = next(u for u in units() if u.symbol == symbol)
            return Name("", path, ""), Measure(path, path, symbol, way, unit.least, rank, "")
    ends = next((u for u in units() if path.endswith(u.suffix)), None)
    if ends is None:
        return Name("", path.replace("_", " "), ""), None
    label = path.removesuffix(ends.suffix).replace("_", " ")
    return Name("", label, ends.symbol), Measure(path, label, ends.symbol, None, ends.least, None, "")


def _name(of: str, label: str, measure: Measure) -> Name:
    """Makes a `Name` with the measure's unit, or with no unit if the label already contains it ("packets back")."""
    return Name(of, label, "" if measure.unit in label.split() else measure.unit)


#: The largest rank. Measures with a rank are reported before those without.
_LAST = 1001

#: Maps the unit of a measure from another program, such as flent, to the measure's rank and to whether more or less of
#: it is better. The name of such a measure ends with its unit in parentheses. The ranks place these measures after
#: bloatlab's own measures that have a rank.
_OTHERS: Mapping[str, tuple[int, Direction]] = {
    "Mbit/s": (_LAST - 1, "more is better"),
    "ms": (_LAST, "less is better"),
}


def named(path: str) -> Name:
    """Returns the label and unit of a measure. If none are declared, both are derived from the name."""
    return _looked_up(path)[0]


def direction(path: str) -> Direction | None:
    """Returns whether more or less of a measure is better; None if neither is."""
    measure = _looked_up(path)[1]
    return measure.direction if measure else None


#: The smallest noticeable difference of a share (0 to 1) for which none is declared.
_LEAST_SHARE = 0.01


def least(path: str) -> float:
    """Returns the smallest noticeable difference of a measure, in its unit; 0 if every difference counts."""
    measure = _looked_up(path)[1]
    if measure is None:
        return 0.0
    return measure.least or (_LEAST_SHARE if measure.unit == "0 to 1" else 0.0)


def importance(path: str) -> int:
    """Returns a measure's place in the list of measures that users notice most; 1 is first.

    All measures without a rank share the place after `_LAST`.
    """
    measure = _looked_up(path)[1]
    return (measure.rank if measure else None) or _LAST + 1


def reported_first(path: str) -> bool:
    """Returns whether a measure has a rank. Measures with a rank are reported before those without."""
    return importance(path) <= _LAST


def matching(pattern: str, paths: Iterable[str]) -> list[str]:
    """Returns the paths that match a pattern. `*` stands for any text; no other character is special."""
    compiled = re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL)
    return [path for path in paths if compiled.fullmatch(path)]


def value_at(summary: Mapping[str, Any], path: str) -> Any:
    """Returns the value at a dotted path in a summary or a part of one; None if there is none."""
    value: Any = summary
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


@cache
def digits(name: str) -> int | None:
    """Returns the number of decimals for a column, from the unit in its name; None if the number is not limited."""
    found = {unit.suffix[1:]: unit.digits for unit in units()}
    return next((found[word] for word in reversed(name.split("_")[1:]) if found.get(word)), None)
