"""The differences between results: in their scenarios and in their measures.

Scenarios are compared key by key. If they choose different variants (one has `queue.codel`, the other
`queue.droptail`), the difference is the variant's name, not every parameter below it. Measures are the numbers of the
summary under their dotted paths (docs/results.md); the core declares which direction is better (`measures.py`).
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from bloatlab import flent
from bloatlab.measures import direction, importance, least, named, reported_first
from bloatlab.results import open_result
from bloatlab.simulation import Result, invalid_line
from bloatlab.sweep import grid_file
from bloatlab.tables import TextCell, TextTable, Tone, counted, number
from bloatlab.terminal import lines

#: Number of measures shown by default. Together with the settings, they fit on a screen.
TOP = 15

#: Width of the text tables, in characters; and the limit applied to `Change.size` when changes are sorted for display.
_WIDTH, _MOST_SIZE = 100, math.log(1e6)


@dataclass(frozen=True, slots=True)
class Setting:
    """A scenario value that differs between results. `values` has one text per result: its value, or "-" if missing."""

    path: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A measure in two results. `first` or `second` is None if that result lacks the measure."""

    path: str
    first: float | None
    second: float | None

    @property
    def difference(self) -> float | None:
        """The second value minus the first; None if a value is missing."""
        return None if self.first is None or self.second is None else self.second - self.first

    @property
    def ratio(self) -> float | None:
        """The second value divided by the first; None if the first is 0 or a value is missing."""
        return None if self.first in {None, 0.0} or self.second is None else self.second / (self.first or 1.0)

    @property
    def unnoticed(self) -> bool:
        """Whether the values differ by less than the smallest noticeable step (`measures.least`)."""
        return self.difference is not None and 0.0 < abs(self.difference) < least(self.path)

    @property
    def verdict(self) -> Literal["better", "worse", "about equal", "equal", ""]:
        """How the second value compares with the first. "about equal": the difference is too small to notice.

        Empty if a value is missing, or if the difference is noticeable but neither direction is better.
        """
        moved, way = self.difference, direction(self.path)
        if moved == 0.0:
            return "equal"
        if self.unnoticed:
            return "about equal"
        if moved is None or way is None:
            return ""
        return "better" if (moved > 0.0) == (way == "more is better") else "worse"

    @property
    def size(self) -> float:
        """The size of the change: |ln ratio| of the absolute values, each increased by the smallest noticeable step.

        The size is infinite if the signs differ, if one value is missing, or if one is 0 and the unit has no such step.
        """
        first, second = self.first, self.second
        if first is None or second is None:
            return math.inf
        if first == second:
            return 0.0
        step = least(self.path)
        low, high = sorted((abs(first), abs(second)))
        if ((first < 0.0) != (second < 0.0) and low > 0.0) or low + step == 0.0:
            return math.inf
        return math.log((high + step) / (low + step))


@dataclass(frozen=True, slots=True)
class Difference:
    """The comparison of two results: their names, the settings that differ, and every measure, sorted by `_order`."""

    names: tuple[str, str]
    settings: Sequence[Setting]
    changes: Sequence[Change]
    #: The reason why each result is an invalid live run; None for every other result.
    invalid: tuple[str | None, str | None] = (None, None)

    @property
    def warnings(self) -> list[str]:
        """A sentence for each result that is an invalid live run."""
        return [invalid_line(name, why) for name, why in zip(self.names, self.invalid, strict=True) if why is not None]

    @property
    def equal(self) -> bool:
        """Whether all settings and all measures are equal."""
        return not self.settings and all(c.size == 0.0 for c in self.changes)

    def as_data(self) -> dict[str, Any]:
        """Returns the comparison as plain data for JSON."""
        return {
            "first": self.names[0],
            "second": self.names[1],
            "equal": self.equal,
            "invalid_because": list(self.invalid),
            "scenario": [{"path": s.path, "first": s.values[0], "second": s.values[1]} for s in self.settings],
            "measures": self.rows(),
        }

    def rows(self) -> list[dict[str, Any]]:
        """Returns one row per measure."""
        return [
            {
                "measure": c.path,
                "first": c.first,
                "second": c.second,
                "difference": c.difference,
                "ratio": c.ratio,
                "verdict": c.verdict,
            }
            for c in self.changes
        ]

    def tables(self, top: int | None = TOP, *, every: bool = False) -> list[TextTable]:
        """Makes the tables to print: the settings that differ, then the measures that differ.

        Measures that users notice (scores, losses, delays, rates of applications) and the state of links come first,
        then all others. Within each group, applications come before links; of each kind, the one that changed most
        comes first; changes that are too small to notice come last. If `top` is a number, only the first `top` measures
        of the first group are shown; if it is None, all differing measures of both groups. With `every`, all measures
        are shown, including those that are equal. Duplicates are left out.
        """
        first, second = self.names
        settings = [[TextCell(clipped(text)) for text in (s.path, *s.values)] for s in self.settings]
        tables = [TextTable("Scenario", ["setting", first, second], settings, left=3)] if settings else []
        whole = every or top is None
        ordered = _ordered([c for c in self.changes if every or c.size != 0.0])
        kept = ordered if whole else [c for c in ordered if reported_first(c.path)][:top]
        if kept or ordered:
            heads = ["", "measure (unit)", first, second, "change", ""]
            note = _note(len(ordered) - len(kept), sum(c.size == 0.0 for c in self.changes), every=every)
            tables.append(TextTable("What changed", heads, _rows(kept), note, left=2, words_last=True, keep=True))
        return tables

    def __str__(self) -> str:
        """Returns the tables as plain text."""
        if self.equal:
            blocks = [f"equal: {self.names[0]} and {self.names[1]}"]
        else:
            blocks = ["\n".join(line.plain for line in lines(table, _WIDTH)) for table in self.tables()]
        return "\n\n".join([*self.warnings, *blocks])

    def _repr_html_(self) -> str:
        warned = "".join(f"<p>{html.escape(line)}</p>" for line in self.warnings)
        if self.equal:
            return f"{warned}<p>equal: {html.escape(' and '.join(self.names))}</p>"
        return warned + "".join(table.as_html() for table in self.tables())


def diff(first: Result | str | Path, second: Result | str | Path) -> Difference:
    """Compares two results, given as results, result folders or flent data files.

    If either is flent data, only what flent measures is compared: the pings and the TCP flows, under load.
    Raises `ResultError` for a folder without a result, `FlentError` for a bad flent file, `OSError` if a file cannot be
    read.
    """
    names = (_name(first, "first"), _name(second, "second"))
    if names[0] == names[1]:
        names = (str(first), str(second)) if isinstance(first, (str, Path)) else ("first", "second")
    sides = [_opened(first), _opened(second)]
    invalid = tuple(of.invalid_because if isinstance(of, Result) else None for of in sides)
    results = [of for of in sides if isinstance(of, Result)]
    if len(results) == len(sides):
        found = difference(names, [r.scenario.data for r in results], [grid_file.summary(r) for r in results])
    else:
        pairs = zip(sides, names, strict=True)
        measured = [flent.of_result(of, name) if isinstance(of, Result) else of for of, name in pairs]
        found = difference(names, None, [side.measures() for side in measured])
    return replace(found, invalid=(invalid[0], invalid[1]))


def _opened(of: Result | str | Path) -> Result | flent.Measured:
    if isinstance(of, Result):
        return of
    return flent.read(of) if flent.is_flent(of) else open_result(of)


def _name(of: Result | str | Path, place: str) -> str:
    return place if isinstance(of, Result) else Path(of).resolve().name or str(of)


def difference(
    names: tuple[str, str], scenarios: Sequence[Any] | None, measures: Sequence[Mapping[str, Any]]
) -> Difference:
    """Compares two results.

    `scenarios` contains both scenarios as plain values; it is None if a result has no scenario. `measures` contains
    the measures of each result, keyed by path.
    """
    settings = [] if scenarios is None else varying(scenarios)
    first, second = measures
    paths = [*first, *(p for p in second if p not in first)]
    changes = [Change(p, _number(first.get(p)), _number(second.get(p))) for p in paths]
    changes = [c for c in changes if c.first is not None or c.second is not None]
    return Difference(names, settings, sorted(changes, key=_order))


def _order(change: Change) -> tuple[int, float]:
    """Returns a measure's sort key.

    Measures that changed for better or worse come first, then other changed measures, both sorted by size; then
    measures that only one result has; then changes that are too small to notice; then equal measures.
    """
    if change.difference is None:
        return 2, 0.0
    if not change.size:
        return 4, 0.0
    if change.unnoticed:
        return 3, -change.size
    return (0 if direction(change.path) else 1), -change.size


def varying(scenarios: Sequence[Any]) -> list[Setting]:
    """Returns the settings in which resolved scenarios differ."""
    return list(_varying("", scenarios))


def told_apart(values: Sequence[Any]) -> list[str]:
    """Returns a text for each value that shows how it differs from the others.

    A table that chooses a variant is shown by the variant's name, its limit and the parameters that vary. Any other
    table is shown by the keys that vary or, if none does (for example, in a single value), as a whole.
    """
    if _variants(values):
        return [_chosen(value, values) for value in values]
    settings = varying(values)
    if not settings:
        return [value_text(value) for value in values]
    return [", ".join(f"{s.path} {s.values[i]}".strip() for s in settings) for i in range(len(values))]


_NOTHING = object()


def _varying(path: str, values: Sequence[Any]) -> list[Setting]:
    if all(v == values[0] for v in values[1:]):
        return []
    tables = all(isinstance(v, dict) for v in values)
    if tables and not _choices(values):
        keys = dict.fromkeys(key for v in values for key in v)
        found: list[Setting] = []
        for key in keys:
            found += _varying(f"{path}.{key}" if path else key, [v.get(key, _NOTHING) for v in values])
        return found
    lists = all(isinstance(v, list) for v in values) and len({len(v) for v in values if isinstance(v, list)}) == 1
    if lists and len(values[0]) <= 20:
        return [s for i, of in enumerate(zip(*values, strict=True)) for s in _varying(f"{path}.{i}", of)]
    if _choices(values):
        return [Setting(path, tuple(_chosen(v, values) for v in values))]
    return [Setting(path, tuple("-" if v is _NOTHING else value_text(v) for v in values))]


def _choices(values: Sequence[Any]) -> bool:
    """Returns whether the values choose between variants, such as queue disciplines, and choose different ones.

    A variant is chosen by a table with one key (`{codel = {...}}`), by a word, or by the absence of a value. Laws in
    Python are variants, too.
    """
    tables = [v for v in values if isinstance(v, dict)]
    return _variants(values) and (len({_variant(v) for v in tables}) > 1 or len(tables) < len(values))


def _variants(values: Sequence[Any]) -> bool:
    """Returns whether there are tables among the values, and each of them may choose a variant."""
    tables = [v for v in values if isinstance(v, dict)]
    return bool(tables) and all(len(v) == 1 and isinstance(next(iter(v.values())), (dict, str)) for v in tables)


def _chosen(value: Any, among: Sequence[Any]) -> str:
    """Formats the variant that `value` chooses: its name, its limit, and the parameters that vary.

    A parameter varies if it differs between the values in `among` that choose the same variant. A law in Python is
    named by its class, and has its limit only if the limit varies. If classes of several files have the same name, the
    text includes the file.
    """
    if not isinstance(value, dict):
        return "-" if value is _NOTHING or value is None else value_text(value)
    ((name, parameters),) = value.items()
    if not isinstance(parameters, dict):
        return f"{name} {value_text(parameters)}"
    variants = [v for v in among if isinstance(v, dict) and isinstance(v.get(name), dict)]
    others = [v[name] for v in variants if _variant(v) == _variant(value)]
    varied = {s.path: s.values[others.index(parameters)] for s in varying(others)}
    limit = None if parameters.get("limit") is None else value_text(parameters["limit"])
    if isinstance(law := parameters.get("law"), str) and name == "python":
        laws = {_variant(v) for v in variants}
        name = _law(law) if sum(_law(other) == _law(law) for other in laws) == 1 else law
        limit = varied["limit"] if varied.get("limit", "-") != "-" else None
        varied = {path: text for path, text in varied.items() if path.partition(".")[0] not in {"law", "source"}}
    words = [f"{path} {text}" for path, text in varied.items() if path != "limit" and text != "-"]
    return " ".join([name, *([] if limit is None else [limit]), *words])


def _variant(table: Mapping[str, Any]) -> str:
    """Returns the key of a table that chooses a variant; for a law in Python, its file and class."""
    ((name, parameters),) = table.items()
    law = parameters.get("law") if name == "python" and isinstance(parameters, dict) else None
    return law if isinstance(law, str) else name


def _law(label: str) -> str:
    """Returns the name of the class of a law in Python."""
    return label.rpartition(":")[2]


def _number(value: float | bool | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


_TONES: Mapping[str, Tone] = {"better": "good", "worse": "bad", "about equal": "muted", "equal": "muted", "": "plain"}


def _ordered(changes: Sequence[Change]) -> list[Change]:
    """Sorts changes for display, and drops duplicates.

    Measures for which `reported_first` is true come before all others. Within each of these two groups, applications
    come first, then the whole run, then links. The application or link that changed most comes before the others of its
    kind, and its measures are in the order of `measures.importance`. In both groups, changes that are too small to
    notice come last.
    """
    seen: set[tuple[object, ...]] = set()
    found: list[tuple[tuple[object, ...], Change]] = []
    most: dict[tuple[bool, str], float] = {}
    for c in changes:
        name = named(c.path)
        same = (name.of, name.measure, name.unit, c.first, c.second)
        if same in seen or _in_bytes(c.path, changes):
            continue
        seen.add(same)
        key = (reported_first(c.path), name.of)
        most[key] = max(most.get(key, 0.0), 0.0 if c.unnoticed else min(c.size, _MOST_SIZE))
        found.append(((key, name.of), c))

    def place(item: tuple[tuple[Any, ...], Change]) -> tuple[Any, ...]:
        (key, of), c = item
        kind = 1 if not of else 2 if c.path.startswith("links.") else 0
        return not key[0], c.unnoticed, kind, -most[key], of, importance(c.path), _order(c)

    return [c for _, c in sorted(found, key=place)]


def _in_bytes(path: str, changes: Sequence[Change]) -> bool:
    """Returns whether a measure is a goodput in bytes that `changes` also contains in Mbit/s."""
    other = path.replace("goodput_bytes", "goodput_mbit")
    return other != path and any(c.path == other for c in changes)


def _rows(changes: Sequence[Change]) -> list[list[TextCell]]:
    """Returns the rows of the table, one per measure. Only the first row of an application or link shows its name."""
    rows: list[list[TextCell]] = []
    before: str | None = None
    for c in changes:
        name, moved = named(c.path), c.difference
        rows.append([
            TextCell("" if name.of == before else name.of or "whole run"),
            TextCell(name.with_unit),
            TextCell(_text(c.first)),
            TextCell(_text(c.second)),
            TextCell("-" if moved is None else _text(moved, 3, sign=True)),
            TextCell("only in one" if moved is None else c.verdict, _TONES[c.verdict]),
        ])  # fmt: skip
        before = name.of
    return rows


def _note(hidden: int, same: int, *, every: bool) -> str:
    """Makes the note below the table: the order of its rows, the number of hidden measures, and how to see them."""
    rest = [f"… and {hidden} more: --top all."] if hidden else []
    if same and not every:
        rest.append(f"{counted(same, 'measure')} equal: --all.")
    return "\n".join(
        filter(
            None,
            ["Applications, then links; the largest changes first. About equal: too small to notice.", " ".join(rest)],
        )
    )


def _text(value: float | None, significant: int = 4, *, sign: bool = False) -> str:
    """Formats a whole number exactly, any other to `significant` digits with 0 to 6 decimals; "-" for None."""
    if value is None:
        return "-"
    digits = 0 if value == int(value) else max(0, min(6, significant - 1 - math.floor(math.log10(abs(value)))))
    text = number(value, digits)
    return f"+{text}" if sign and value > 0.0 else text


def value_text(value: Any) -> str:
    """Returns a scenario value as JSON, without the nulls of tables and without quotes around a string."""
    return value if isinstance(value, str) else json.dumps(_filled(value), ensure_ascii=False)


def _filled(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _filled(v) for key, v in value.items() if v is not None}
    return [_filled(v) for v in value] if isinstance(value, list) else value


def clipped(text: str, most: int = 80) -> str:
    """Clips a string to `most` characters, and escapes control and bidirectional characters."""
    plain = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
    return plain if len(plain) <= most else f"{plain[: most - 1]}…"
