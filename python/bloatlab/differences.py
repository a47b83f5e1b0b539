"""What differs between two or more results: in the scenario, and in what was measured.

Scenarios are compared key by key. Where each names one thing of several (`queue.codel` here, `queue.droptail` there)
the names differ, not every parameter below them. Measures are the numbers of the summary under their dotted paths
(docs/results.md); the core declares for which of them more is better, or less (`measures.py`).
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bloatlab import flent
from bloatlab.measures import direction, importance, least, named, told_first
from bloatlab.results import open_result
from bloatlab.simulation import Result
from bloatlab.sweep import grid_file
from bloatlab.tables import TextCell, TextTable, Tone, counted, number
from bloatlab.terminal import lines

#: Measures that are shown unless more are asked for: with the settings they fit on a screen.
TOP = 15

#: Cells of the tables as text; larger changes than this factor are as large as each other.
_WIDTH, _MOST_SIZE = 100, math.log(1e6)


@dataclass(frozen=True, slots=True)
class Setting:
    """A value of the scenario that differs, as text, in the order of the results; "-" where there is none."""

    path: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A measure of two results. `first` or `second` is None where only the other has it."""

    path: str
    first: float | None
    second: float | None

    @property
    def difference(self) -> float | None:
        """Second less first."""
        return None if self.first is None or self.second is None else self.second - self.first

    @property
    def ratio(self) -> float | None:
        """Second over first; None where the first is 0."""
        return None if self.first in {None, 0.0} or self.second is None else self.second / (self.first or 1.0)

    @property
    def verdict(self) -> Literal["better", "worse", "equal", ""]:
        """Of the second, where that is defined."""
        moved, way = self.difference, direction(self.path)
        if moved is None or way is None:
            return "equal" if moved == 0.0 else ""
        if moved == 0.0:
            return "equal"
        return "better" if (moved > 0.0) == (way == "more is better") else "worse"

    @property
    def size(self) -> float:
        """How large the change is: |ln ratio|, of both with what nobody notices added.

        Infinite where their signs differ, one is nothing in a unit that has no such bound, or one is not there.
        """
        first, second = self.first, self.second
        if first is None or second is None:
            return math.inf
        if first == second:
            return 0.0
        unnoticed = least(self.path)
        low, high = sorted((abs(first), abs(second)))
        if ((first < 0.0) != (second < 0.0) and low > 0.0) or low + unnoticed == 0.0:
            return math.inf
        return math.log((high + unnoticed) / (low + unnoticed))


@dataclass(frozen=True, slots=True)
class Difference:
    """Two results beside each other: names, settings that differ, and every measure, in the order of `_order`."""

    names: tuple[str, str]
    settings: Sequence[Setting]
    changes: Sequence[Change]

    @property
    def equal(self) -> bool:
        """Whether neither a setting nor a measure differs."""
        return not self.settings and all(c.size == 0.0 for c in self.changes)

    def as_data(self) -> dict[str, Any]:
        """Everything as JSON."""
        return {
            "first": self.names[0],
            "second": self.names[1],
            "equal": self.equal,
            "scenario": [{"path": s.path, "first": s.values[0], "second": s.values[1]} for s in self.settings],
            "measures": self.rows(),
        }

    def rows(self) -> list[dict[str, Any]]:
        """A row per measure."""
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
        """The two tables for people: settings, then the `top` measures that say most, or all that differ for None.

        First what people notice (scores, losses, delays, rates of applications) and what links did, then everything
        else; the application or link that changed most comes first. With `every` equal measures stand there, too.
        """
        first, second = self.names
        settings = [[TextCell(clipped(text)) for text in (s.path, *s.values)] for s in self.settings]
        tables = [TextTable("Scenario", ["setting", first, second], settings, left=3)] if settings else []
        whole = every or top is None
        told = _told([c for c in self.changes if every or c.size != 0.0])
        kept = told if whole else [c for c in told if told_first(c.path)][:top]
        if kept or told:
            heads = ["", "measure (unit)", first, second, "change", ""]
            note = _note(len(told) - len(kept), sum(c.size == 0.0 for c in self.changes), every=every)
            tables.append(TextTable("What changed", heads, _rows(kept), note, left=2, words_last=True, keep=True))
        return tables

    def __str__(self) -> str:
        """The tables as plain text."""
        if self.equal:
            return f"equal: {self.names[0]} and {self.names[1]}"
        blocks = ["\n".join(line.plain for line in lines(table, _WIDTH)) for table in self.tables()]
        return "\n\n".join(blocks)

    def _repr_html_(self) -> str:
        if self.equal:
            return f"<p>{html.escape(str(self))}</p>"
        return "".join(table.as_html() for table in self.tables())


def diff(first: Result | str | Path, second: Result | str | Path) -> Difference:
    """What differs between two results: opened, or the folders that hold them, or data files of flent.

    Beside what flent measured a result is seen as flent would have: its pings and its TCP flows, under load. Raises
    `ResultError` for a folder that is none, `FlentError` for such a file, `OSError` where it cannot be read.
    """
    names = (_name(first, "first"), _name(second, "second"))
    if names[0] == names[1]:
        names = (str(first), str(second)) if isinstance(first, (str, Path)) else ("first", "second")
    if any(not isinstance(of, Result) and flent.is_flent(of) for of in (first, second)):
        sides = [_measured(of, name) for of, name in zip((first, second), names, strict=True)]
        return difference(names, None, [side.measures() for side in sides])
    results = [of if isinstance(of, Result) else open_result(of) for of in (first, second)]
    return difference(names, [r.scenario.data for r in results], [grid_file.summary(r) for r in results])


def _measured(of: Result | str | Path, name: str) -> flent.Measured:
    if not isinstance(of, Result) and flent.is_flent(of):
        return flent.read(of)
    return flent.of_result(of if isinstance(of, Result) else open_result(of), name)


def _name(of: Result | str | Path, place: str) -> str:
    return place if isinstance(of, Result) else Path(of).resolve().name or str(of)


def difference(
    names: tuple[str, str], scenarios: Sequence[Any] | None, measures: Sequence[Mapping[str, Any]]
) -> Difference:
    """What differs between two results: `scenarios` as plain values (None where one has none), `measures` by path."""
    settings = [] if scenarios is None else varying(scenarios)
    first, second = measures
    paths = [*first, *(p for p in second if p not in first)]
    changes = [Change(p, _number(first.get(p)), _number(second.get(p))) for p in paths]
    changes = [c for c in changes if c.first is not None or c.second is not None]
    return Difference(names, settings, sorted(changes, key=_order))


def _order(change: Change) -> tuple[int, float]:
    """What is better or worse, then what differs otherwise, the largest first; what only one has; what is equal."""
    if change.difference is None:
        return 2, 0.0
    if not change.size:
        return 3, 0.0
    return (0 if direction(change.path) else 1), -change.size


def varying(scenarios: Sequence[Any]) -> list[Setting]:
    """The settings in which resolved scenarios differ."""
    return list(_varying("", scenarios))


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
    return [Setting(path, tuple("-" if v is _NOTHING else shown(v) for v in values))]


def _choices(values: Sequence[Any]) -> bool:
    """Whether each names one thing (`{codel = {...}}`, "word", or nothing), and not all the same."""
    tables = [v for v in values if isinstance(v, dict)]
    single = bool(tables) and all(len(v) == 1 and isinstance(next(iter(v.values())), (dict, str)) for v in tables)
    return single and (len({next(iter(v)) for v in tables}) > 1 or len(tables) < len(values))


def _chosen(value: Any, among: Sequence[Any]) -> str:
    """The name of what is chosen, with its limit, and what else tells it from others of the same name."""
    if not isinstance(value, dict):
        return "-" if value is _NOTHING or value is None else shown(value)
    ((name, parameters),) = value.items()
    if not isinstance(parameters, dict):
        return f"{name} {shown(parameters)}"
    others = [v[name] for v in among if isinstance(v, dict) and name in v and isinstance(v[name], dict)]
    wanted = [s.path for s in _varying("", others)] if len(others) > 1 else []
    words = [f"{key} {shown(parameters[key])}" for key in wanted if key in parameters and key != "limit"]
    if parameters.get("limit") is not None:
        words.insert(0, shown(parameters["limit"]))
    return " ".join([name, *words])


def _number(value: float | bool | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


_TONES: Mapping[str, Tone] = {"better": "good", "worse": "bad", "equal": "muted", "": "plain"}


def _told(changes: Sequence[Change]) -> list[Change]:
    """Changes in the order in which a person reads them, each once.

    Measures that are told first, then the others. In both applications stand before the run as a whole, and that before
    links; of each kind the one that changed most, with its measures in the order of `measures.importance`.
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
        key = (told_first(c.path), name.of)
        most[key] = max(most.get(key, 0.0), min(c.size, _MOST_SIZE))
        found.append(((key, name.of), c))

    def place(item: tuple[tuple[Any, ...], Change]) -> tuple[Any, ...]:
        (key, of), c = item
        kind = 1 if not of else 2 if c.path.startswith("links.") else 0
        return not key[0], kind, -most[key], of, importance(c.path), _order(c)

    return [c for _, c in sorted(found, key=place)]


def _in_bytes(path: str, changes: Sequence[Change]) -> bool:
    """Whether a measure is a goodput in bytes that stands there in Mbit/s, too."""
    other = path.replace("goodput_bytes", "goodput_mbit")
    return other != path and any(c.path == other for c in changes)


def _rows(changes: Sequence[Change]) -> list[list[TextCell]]:
    """A row per measure; whose it is stands in the first of several rows."""
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
    """The order of the rows; then how many measures are not among them, and how to see these."""
    rest = [f"… and {hidden} more: --top all."] if hidden else []
    if same and not every:
        rest.append(f"{counted(same, 'measure')} equal: --all.")
    return "\n".join(filter(None, ["Applications, then links; in both what changed most is first.", " ".join(rest)]))


def _text(value: float | None, significant: int = 4, *, sign: bool = False) -> str:
    """Whole numbers whole; others with four significant digits."""
    if value is None:
        return "-"
    digits = 0 if value == int(value) else max(0, min(6, significant - 1 - math.floor(math.log10(abs(value)))))
    text = number(value, digits)
    return f"+{text}" if sign and value > 0.0 else text


def shown(value: Any) -> str:
    """A value of a scenario as JSON has it, without what is null in it; texts bare."""
    return value if isinstance(value, str) else json.dumps(_filled(value), ensure_ascii=False)


def _filled(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _filled(v) for key, v in value.items() if v is not None}
    return [_filled(v) for v in value] if isinstance(value, list) else value


def clipped(text: str, most: int = 80) -> str:
    """Text of at most `most` characters, without any that would move the cursor or turn the text around."""
    plain = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
    return plain if len(plain) <= most else f"{plain[: most - 1]}…"
