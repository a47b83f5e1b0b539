"""The data behind plots of a sweep: its axes in order, its measures by pattern, and averages over seeds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from bloatlab.measures import least, matching, named
from bloatlab.plots.labels import LONGEST, safe, value_labels
from bloatlab.plots.subjects import Sweep, Unfit
from bloatlab.scenario import amount, quantity
from bloatlab.statistics import interval
from bloatlab.sweep.quantities import spelled
from bloatlab.sweep.zipped import drawn_together
from bloatlab.tables import spread

#: Patterns of the columns that `wanted` prefers if the author of the sweep chose none, most important first.
DEFAULT_COLUMNS = (
    "links.*.sojourn_ms.p99",
    "apps.*.voip.mos",
    "apps.*.web.page_load_s.median",
    "apps.*.ping.induced_ms",
    "apps.*.files.median_s",
    "links.*.utilisation",
    "apps.*.goodput_mbit",
    "apps.*.ping.rtt_ms.p99",
    "links.*.dropped_packets",
)


#: Maximum length of the name of a combination of values, in characters. A name may be longer if its values would
#: otherwise get fewer than `_LEAST` characters each.
_MOST, _LEAST = 48, 10


#: Maximum number of measures drawn in a figure by default.
MOST = 4


def measures(of: Sweep, columns: Sequence[str], most: int = MOST) -> list[str]:
    """Returns the measures to draw: all columns that match a pattern, or by default the first `most` of `wanted`.

    Raises `Unfit` if a pattern matches no column of numbers.
    """
    return _matched(of, columns) if columns else wanted(of)[:most]


def left_out(of: Sweep, columns: Sequence[str], shown: Sequence[str]) -> list[str]:
    """Returns the requested columns that are not in `shown`.

    The requested columns are those that match a pattern in `columns`; if `columns` is empty, the author's choice.
    """
    return [name for name in (_matched(of, columns) if columns else of.chosen) if name not in shown]


def wanted(of: Sweep) -> list[str]:
    """Returns the measures to show by default, most important first.

    They are those that the author of the sweep chose. If the author chose none, they are the columns of
    `DEFAULT_COLUMNS` that vary noticeably, otherwise all columns that vary noticeably, otherwise all that vary,
    otherwise all columns.
    """
    if of.chosen:
        return [*of.chosen]
    known = of.values
    found = dict.fromkeys(name for pattern in DEFAULT_COLUMNS for name in matching(pattern, known))
    ordered = [*(found | dict.fromkeys(known))]
    noticed = [n for n in ordered if noticeable(n, of.frame[n].cast(pl.Float64).drop_nulls().drop_nans())]
    varying = [n for n in ordered if of.frame[n].drop_nulls().n_unique() > 1]
    return [n for n in noticed if n in found] or noticed or varying or ordered


def _matched(of: Sweep, columns: Sequence[str]) -> list[str]:
    known = of.values
    some = ", ".join(known[:6]) + (" ..." if len(known) > 6 else "")
    found: dict[str, None] = {}
    for pattern in columns:
        names = matching(pattern, known)
        if not names:
            for name in matching(pattern, of.measured):
                raise Unfit(f"{of.label}: the column {name} has no numbers; expected {some}")
            raise Unfit(f"{of.label}: no column {pattern}; expected {some}")
        found |= dict.fromkeys(names)
    return list(found)


def noticeable(column: str, values: Iterable[float]) -> bool:
    """Returns whether the values of a measure differ by an amount that a user would notice."""
    found = list(values)
    return bool(found) and max(found) != min(found) and not max(found) - min(found) < least(column)


def axis_label(column: str) -> str:
    """Returns the label of a column, with its unit."""
    name = named(column)
    text = safe(f"{name.of}: {name.measure}" if name.of else name.measure, 60)
    return f"{text} ({name.unit})" if name.unit else text


def number_of(value: Any) -> float | None:
    """Converts a value of an axis to a number. The text of a duration gives s, that of a rate gives bit/s.

    Returns None for any other value, such as a name, a boolean, or a size.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return float(value)
    try:
        return quantity(str(value))
    except ValueError:
        return None


@dataclass(frozen=True)
class Axis:
    """An axis of a sweep, with its values in order.

    `numbers` are the same values as numbers, or None if a value is not a number or if there is only one value. `beside`
    maps each axis that varies together with this one, such as a zipped axis, to its value at each of `values`.
    """

    name: str
    values: list[Any]
    numbers: list[float] | None
    beside: Mapping[str, list[Any]] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The axis's name, with the names of the axes beside it."""
        return ", ".join(safe(name, 32) for name in (self.name, *self.beside))

    @property
    def label(self) -> str:
        """The label for the axis of a plot: the names of this axis and of those beside it, and the unit, if any."""
        unit = f" ({self.scale[1]})" if self.scale[1] else ""
        if self._equal:
            return self.title + unit
        return f"{safe(self.name, 32)}{unit}, with {', '.join(safe(name, 32) for name in self.beside)}"

    @property
    def _equal(self) -> bool:
        return all(list(map(spelled, of)) == list(map(spelled, self.values)) for of in self.beside.values())

    def labels(self, most: int = LONGEST) -> dict[str, str]:
        """Maps each value, as text, to its label, in order.

        If the axes beside this one have other values, the labels include these.
        """
        if self._equal:
            return dict(zip(map(str, self.values), value_labels(self.values, most), strict=True))
        each = max(_LEAST, most // (1 + len(self.beside)) - 2)
        parts = [value_labels(values, each) for values in (self.values, *self.beside.values())]
        return dict(zip(map(str, self.values), map(", ".join, zip(*parts, strict=True)), strict=True))

    def phrases(self) -> dict[str, str]:
        """Maps each label to a phrase with the last part of each axis's name: "rate 5mbit" for `link.up.rate`."""
        words = [safe(name.rsplit(".", 1)[-1]) for name in (self.name, *self.beside)]
        labels = list(self.labels().values())
        if self._equal:
            return {label: f"{', '.join(dict.fromkeys(words))} {label}" for label in labels}
        parts = [value_labels(values) for values in (self.values, *self.beside.values())]
        at = zip(*parts, strict=True)
        return {
            label: ", ".join(f"{word} {text}" for word, text in zip(words, texts, strict=True))
            for label, texts in zip(labels, at, strict=True)
        }

    @property
    def scale(self) -> tuple[float, str]:
        """The divisor for the axis's numbers, and the resulting unit."""
        texts = [v for v in self.values if isinstance(v, str)]
        if self.numbers is None or not texts:
            return 1.0, ""
        if (found := amount(texts[0])) is not None and found[0] == "rate":
            return 1e6, "Mbit/s"
        return (1e-3, "ms") if max(self.numbers) < 1.0 else (1.0, "s")

    @property
    def drawn(self) -> list[float]:
        """The axis's numbers in the unit of `scale`."""
        return [a / self.scale[0] for a in self.numbers or []]


def axis(of: Sweep, name: str) -> Axis:
    """Makes an axis from a column of a sweep's table.

    If all values are numbers, they are sorted; otherwise, they have the order of the table.
    """
    values = of.frame[name].unique(maintain_order=True).to_list()
    numbers = {value: number for value in values if (number := number_of(value)) is not None}
    if len(numbers) < len(values) or len(values) < 2:
        return Axis(name, values, None)
    ordered = sorted(values, key=numbers.__getitem__)
    return Axis(name, ordered, [numbers[value] for value in ordered])


def joined(of: Sweep, names: Sequence[str]) -> Axis:
    """Joins axes that vary together into one axis, which has the values of the first."""
    first, *rest = names
    found = axis(of, first)
    if not rest:
        return found
    at = {row[0]: row[1:] for row in of.frame.select(names).unique(maintain_order=True).iter_rows()}
    return replace(found, beside={name: [at[value][n] for value in found.values] for n, name in enumerate(rest)})


def every_axis(of: Sweep) -> list[Axis]:
    """Returns all axes. Those that vary together are one axis."""
    return [joined(of, names) for names in of.together]


def axes(of: Sweep) -> list[Axis]:
    """Returns the axes with several values, or only the first axis if every axis has a single value."""
    found = every_axis(of)
    return [a for a in found if len(a.values) > 1] or found[:1]


def along(of: Sweep, wanted: str | None) -> tuple[Axis, list[Axis]]:
    """Returns the axis along x, and the others of `axes`.

    By default, x is the first numeric axis, or the axis with the most values if none is numeric.
    """
    found = axes(of)
    if wanted is not None:
        if wanted not in of.axes:
            raise Unfit(f"{of.label}: no axis {wanted}; expected {', '.join(of.axes)}")
        chosen = joined(of, next(sorted(names, key=wanted.__ne__) for names in of.together if wanted in names))
    else:
        numeric = [a for a in found if a.numbers is not None]
        chosen = numeric[0] if numeric else max(found, key=lambda a: len(a.values))
    return chosen, [a for a in found if a.name not in {chosen.name, *chosen.beside}]


def sampled_with(of: Sweep, x: Axis, others: Sequence[Axis]) -> list[Axis]:
    """Returns the axes in `others` that look sampled together with `x`.

    Each value of `x` then occurs with a single value of each of these axes.
    """
    return [a for a in others if drawn_together(of.frame, x.name, a.name)]


def groups(of: Sweep, by: Sequence[Axis]) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yields the rows for each combination of values of these axes, and the name of the combination."""
    if not by:
        yield of.label, of.frame
        return
    labels = [a.labels(min(LONGEST, max(_LEAST, _MOST // len(by) - 2))) for a in by]
    for key, rows in of.frame.group_by([a.name for a in by], maintain_order=True):
        yield ", ".join(names[str(value)] for names, value in zip(labels, key, strict=True)), rows


@dataclass(frozen=True, slots=True)
class OverSeeds:
    """The average over seeds at one grid point, and its interval.

    For a sweep, `middle` is the mean, and `low` and `high` are the ends of the 95 % interval (Student's t), as in its
    table. If there is only one seed, all three are the value of this run. Seeds without a value are left out; if a
    value is infinite, all three are infinite. For a study, `middle` is the median, and `low` and `high` are the ends of
    the central 80 %, as in its tables; infinity means "never happened".
    """

    middle: float
    low: float
    high: float


def over_seeds(of: Sweep, rows: pl.DataFrame, column: str) -> OverSeeds | None:
    """Averages a column over the given rows; returns None if the column has no numbers in them."""
    numbers = [float(v) for v in rows[column].drop_nulls() if not math.isnan(float(v))]
    if not numbers:
        return None
    if of.study:
        found = spread(numbers)
        return OverSeeds(found.median, found.low, found.high)
    if not all(map(math.isfinite, numbers)):
        return OverSeeds(math.inf, math.inf, math.inf)
    over = interval(numbers) if min(numbers) < 0.0 else interval(numbers).of_amount()
    return OverSeeds(over.mean, *over.ends)


def by_value(rows: pl.DataFrame, of: Axis) -> dict[Any, pl.DataFrame]:
    """Returns the rows for each value of an axis."""
    return {key[0]: part for key, part in rows.partition_by(of.name, maintain_order=True, as_dict=True).items()}


def unfit(of: Sweep) -> str | None:
    """Returns the reason why a table cannot be drawn; None if it can."""
    return None if of.values else f"{of.label}: the table has no column of measured numbers"
