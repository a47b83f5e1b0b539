"""The report for a sweep: measures changed by the axes, best and worst grid points, and a table of all points."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from bloatlab.measures import direction, named
from bloatlab.plots import Panel, Series, style
from bloatlab.plots.labels import distinct, safe
from bloatlab.plots.subjects import Sweep
from bloatlab.plots.sweeps import OverSeeds, axis_label, every_axis, measures, noticeable, over_seeds
from bloatlab.report.chart import Drawn, figure_block
from bloatlab.report.page import Answer, Block, Page, Point, Provenance, Section, TableBlock
from bloatlab.tables import TextCell, TextTable, counted, listed, number, row

#: The maximum number of measures in the answer, of measures drawn on the page, and of lines in each chart.
MOST_POINTS, MOST_CHARTS, MOST_LINES = 5, 8, len(style.COLOURS)

#: A combination of axis values, as their labels.
Place = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Swept:
    """A measure, with its average at every grid point where it is finite."""

    name: str
    at: Mapping[Place, OverSeeds]

    @property
    def label(self) -> str:
        """The measure with its unit, and its link or application."""
        return axis_label(self.name)

    @property
    def noticed(self) -> bool:
        """Whether the axes change the measure by an amount that a user would notice."""
        return noticeable(self.name, (v.middle for v in self.at.values()))

    @property
    def ends(self) -> tuple[Place, Place]:
        """The grid points with the minimum and the maximum value."""
        return min(self.at, key=lambda place: self.at[place].middle), max(
            self.at, key=lambda place: self.at[place].middle
        )


def sweep_page(sweep: Sweep, provenance: Provenance, columns: Sequence[str] = ()) -> Page:
    """Makes the report for a table of many runs.

    It shows the measures that match a pattern in `columns`; by default those that the author of the sweep chose, or
    else a selection of those that the axes change noticeably.
    """
    axes = every_axis(sweep)
    parts = sweep.frame.partition_by([axis.name for axis in axes], maintain_order=True, as_dict=True)
    labels = [axis.labels() for axis in axes]
    places = {
        tuple(names[str(value)] for names, value in zip(labels, key, strict=True)): frame
        for key, frame in parts.items()
    }
    every = _swept(sweep, places, columns)
    first = every[:MOST_POINTS]
    beyond = [m.label for m in every[MOST_CHARTS:]]
    without = f"No chart: {', '.join(beyond)}. -c chooses the measures." if beyond else ""
    interval = "the central 80 %" if sweep.study else "the 95 % interval of the mean (Student's t)"
    seeds = counted(max(frame.height for frame in places.values()), "seed")
    basis = f"{sweep.middle.capitalize()}s of {seeds}; bars: {interval}."
    names = listed([safe(axis) for axis in sweep.axes])
    question = f"How {names} {'affects' if len(sweep.axes) == 1 else 'affect'} delay, quality and throughput"
    along = _along(places)
    figure = figure_block(_drawn(first[:2], sweep, along)) if first else None
    charts: list[Block] = [figure_block(_drawn([m], sweep, along)) for m in every[2:MOST_CHARTS]]
    return Page(
        title=f"Sweep {sweep.label}",
        subtitle=f"{counted(len(places), 'setting')}, {counted(sweep.frame.height, 'run')}",
        sections=[
            *([Section("More measures", "measures", charts, without)] if charts else []),
            Section("Every setting", "settings", [TableBlock(_table(sweep, list(places), every))], basis),
        ],
        answer=Answer(question, _sentence(first, sweep), [_point(m, sweep) for m in first], figure, basis),
        provenance=provenance,
    )


def _swept(sweep: Sweep, places: Mapping[Place, pl.DataFrame], columns: Sequence[str]) -> list[Swept]:
    """Returns the measures to show, most important first.

    If neither `columns` nor the author of the sweep chose them, those that the axes do not change noticeably are left
    out, and measures of reverse links come last.
    """
    found: list[Swept] = []
    names = measures(sweep, columns, most=len(sweep.values))
    selected = not (columns or sweep.chosen)
    for name in sorted(names, key=lambda name: name.startswith("links.~")) if selected else names:
        values = {place: over_seeds(sweep, frame, name) for place, frame in places.items()}
        at = {place: v for place, v in values.items() if v is not None and math.isfinite(v.middle)}
        swept = Swept(name, at)
        if swept.noticed if selected else at:
            found.append(swept)
    return found


def _sentence(found: Sequence[Swept], sweep: Sweep) -> str:
    """Returns a sentence with the ranges of the first two noticeably changed measures, or that there are none."""
    noticed = [m for m in found if m.noticed]
    if not noticed:
        return "The axes change nothing that a user would notice." if found else "The axes change nothing measured."
    text = "; ".join(_range(m, sweep) for m in noticed[:2])
    return f"{text[0].upper()}{text[1:]}."


def _range(m: Swept, sweep: Sweep) -> str:
    """Formats the minimum and the maximum of a measure. The maximum comes first if more is better."""
    ends = m.ends[::-1] if direction(m.name) == "more is better" else m.ends
    name = named(m.name)
    what, _, statistic = name.measure.partition(", ")
    of = (f"{what} of {name.of}" if name.of else what) + (f" ({statistic})" if statistic else "")
    values = [f"{_with_unit(m.at[place].middle, name.unit)} with {_words(place, sweep)}" for place in ends]
    return f"{of}: {values[0]} and {values[1]}"


def _with_unit(value: float, unit: str) -> str:
    return _value(value) if not unit or unit[0].isdigit() else f"{_value(value)} {unit}"


def _words(place: Place, sweep: Sweep) -> str:
    return ", ".join(axis.phrases()[value] for axis, value in zip(every_axis(sweep), place, strict=True))


def _point(m: Swept, sweep: Sweep) -> Point:
    if not m.noticed:
        values = list(dict.fromkeys(_value(m.at[place].middle) for place in m.ends))
        return Point(m.label, " to ".join(values), "everywhere, no noticeable difference")
    way = direction(m.name)
    best = m.ends[0] if way == "less is better" else m.ends[1]
    verdict = f"{'best' if way else 'largest'} {_value(m.at[best].middle)}"
    return Point(m.label, verdict, f"at {_words(best, sweep)}")


def _drawn(found: Sequence[Swept], sweep: Sweep, along: int) -> Drawn:
    panels = [_panel(m, sweep, along) for m in found]
    caption = f"{', '.join(m.label for m in found)} against {every_axis(sweep)[along].title}."
    return Drawn("", found[0].name, caption, panels, 1, "places", size=(7.0, 2.6))


def _along(places: Iterable[Place]) -> int:
    """Returns the number of the axis along x: the axis with the most values, or the last of several such axes."""
    counts = [len(set(values)) for values in zip(*places, strict=True)]
    return max(range(len(counts)), key=lambda n: (counts[n], n))


def _panel(m: Swept, sweep: Sweep, along: int) -> Panel:
    """Draws a measure's panel: one series of points per combination of the other axes' values, at most `MOST_LINES`."""
    ticks = list(dict.fromkeys(place[along] for place in m.at))
    others = dict.fromkeys(place[:along] + place[along + 1 :] for place in m.at)
    ends = [s.middle for s in m.at.values()]
    log = min(ends) > 0.0 and max(ends) > 30.0 * min(ends)
    floor = 0.8 * min(ends) if log else min(0.0, *ends)
    lines: list[Series] = []
    for n, other in enumerate(list(others)[:MOST_LINES]):
        at = [m.at.get((*other[:along], tick, *other[along:])) for tick in ticks]
        # the interval bars are cut off at the lower end of the y axis
        middle, low, high = np.array([(s.middle, max(s.low, floor), s.high) if s else [math.nan] * 3 for s in at]).T
        apart = 0.08 * (n - (min(len(others), MOST_LINES) - 1) / 2.0)
        x = np.arange(len(ticks), dtype=float) + apart
        label = ", ".join(other) or m.label
        lines.append(Series(label, x, middle, "points", style.COLOURS[n], (low, high)))
    return Panel(
        m.label,
        every_axis(sweep)[along].title,
        safe(named(m.name).with_unit),
        lines,
        (-0.5, len(ticks) - 0.5),
        (floor, 1.25 * max(ends)) if log else (floor, None),
        log_y=log,
        x_ticks=list(enumerate(distinct(ticks, 14))),
    )


def _table(sweep: Sweep, places: Sequence[Place], found: Sequence[Swept]) -> TextTable:
    def cell(of: OverSeeds | None) -> TextCell:
        interval = "central 80 %" if sweep.study else "95 % interval"
        spread = f"{_value(of.low)} to {_value(of.high)}: {interval}" if of and of.high > of.low else ""
        return TextCell("-" if of is None else _value(of.middle), hint=spread)

    rows = [row(*place, *(cell(m.at.get(place)) for m in found)) for place in places]
    axes = every_axis(sweep)
    columns = [*(axis.title for axis in axes), *(m.label for m in found)]
    rest = len(sweep.values) - len(found)
    note = f"{counted(rest, 'more measure')} of the sweep: report -c NAME shows them." if rest > 0 else ""
    return TextTable("", columns, rows, note, left=len(axes))


def _value(value: float) -> str:
    if value == 0.0:
        return "0"
    digits = 0 if value == int(value) else max(0, min(4, 2 - math.floor(math.log10(abs(value)))))
    return number(value, digits)
