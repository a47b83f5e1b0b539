"""A report of a sweep: which measure the axes change most, where it is best and worst, and every place in a table."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from bloatlab.measures import direction, named
from bloatlab.plots import Panel, Series, style
from bloatlab.plots.labels import safe
from bloatlab.plots.subjects import Sweep
from bloatlab.plots.sweeps import axis_label
from bloatlab.report.chart import Drawn, figure_block
from bloatlab.report.page import Answer, Block, Page, Point, Provenance, Section, TableBlock
from bloatlab.statistics import Interval, interval
from bloatlab.tables import TextCell, TextTable, counted, number, row

#: What a sweep is asked about, the most telling first, as far as its table has them; then whatever else it has.
TOLD = (
    "links.*.sojourn_ms.p99",
    "apps.*.voip.mos",
    "apps.*.web.page_load_s.median",
    "apps.*.ping.rtt_ms.p99",
    "apps.*.files.mean_s",
    "apps.*.goodput_mbit",
    "links.*.utilisation",
    "links.*.dropped_packets",
)

#: Measures in the answer, charts, lines of a chart.
MOST_POINTS, MOST_CHARTS, MOST_LINES = 5, 8, len(style.COLOURS)

#: A place on the axes, in words.
Place = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Measured:
    """One measure over all places: means over seeds with their 95 % intervals."""

    name: str
    at: Mapping[Place, Interval]

    @property
    def moved(self) -> float:
        """How far the axes move it: the range over the larger end."""
        values = [s.mean for s in self.at.values() if math.isfinite(s.mean)]
        top = max((abs(v) for v in values), default=0.0)
        return (max(values) - min(values)) / top if top else 0.0

    def least(self) -> tuple[Place, Interval]:
        """The place with the smallest mean."""
        return min(self.at.items(), key=lambda item: item[1].mean)

    def most(self) -> tuple[Place, Interval]:
        """The place with the largest mean."""
        return max(self.at.items(), key=lambda item: item[1].mean)


def sweep_page(sweep: Sweep, provenance: Provenance) -> Page:
    """The report of a table of many runs."""
    places = _places(sweep)
    measured = _measured(sweep, places)
    seeds = max(frame.height for frame in places.values())
    axes = " and ".join(safe(axis) for axis in sweep.axes)
    question = f"How {axes} {'affects' if len(sweep.axes) == 1 else 'affect'} delay, quality and throughput"
    told = measured[:MOST_POINTS]
    figure = figure_block(_drawn(told[:2], sweep, 1)) if told else None
    charts: list[Block] = [figure_block(_drawn([m], sweep, 1)) for m in measured[2:MOST_CHARTS]]
    sections = [
        *([Section("More measures", "measures", charts)] if charts else []),
        Section("Every place", "places", [TableBlock(_table(sweep, measured))], _basis(seeds)),
    ]
    return Page(
        title=f"Sweep {sweep.label}",
        subtitle=f"{counted(len(places), 'place')}, {counted(sweep.frame.height, 'run')}",
        sections=sections,
        answer=Answer(question, _sentence(told, sweep), _points(told, sweep), figure, _basis(seeds)),
        provenance=provenance,
    )


def _basis(seeds: int) -> str:
    return f"Means of {counted(seeds, 'seed')}; bars: the 95 % interval of the mean (Student's t)."


def _places(sweep: Sweep) -> dict[Place, pl.DataFrame]:
    parts = sweep.frame.partition_by(sweep.axes, maintain_order=True, as_dict=True)
    return {tuple(str(v) for v in key): frame for key, frame in parts.items()}


def _measured(sweep: Sweep, places: Mapping[Place, pl.DataFrame]) -> list[Measured]:
    """The measures that the axes move, the most telling first."""
    names = dict.fromkeys(name for pattern in TOLD for name in fnmatch.filter(sweep.values, pattern))
    if not names:
        names = dict.fromkeys(name for name in sweep.values if direction(name) is not None) or dict.fromkeys(
            sweep.values
        )
    found: list[Measured] = []
    for name in names:
        at: dict[Place, Interval] = {}
        for place, frame in places.items():
            values = [float(v) for v in frame[name].drop_nulls() if math.isfinite(float(v))]
            if values:
                at[place] = interval(values)
        measure = Measured(name, at)
        if at and measure.moved > 0.0:
            found.append(measure)
    return found


def _sentence(told: Sequence[Measured], sweep: Sweep) -> str:
    if not told:
        return "Nothing that was measured depends on them."
    parts = [_range(m, sweep) for m in told[:2]]
    return f"{'; '.join(parts)}."


def _range(m: Measured, sweep: Sweep) -> str:
    """From the better end to the worse, where one is better."""
    (low, least), (high, most) = m.least(), m.most()
    ends = [(low, least), (high, most)]
    if direction(m.name) == "more is better":
        ends.reverse()
    name = named(m.name)
    what, _, statistic = name.measure.partition(", ")
    of = (f"{what} of {name.of}" if name.of else what) + (f" ({statistic})" if statistic else "")
    values = [f"{_with_unit(end.mean, name.unit)} with {_words(place, sweep)}" for place, end in ends]
    return f"{of[0].upper()}{of[1:]}: {values[0]} and {values[1]}"


def _with_unit(value: float, unit: str) -> str:
    return _value(value) if not unit or unit[0].isdigit() else f"{_value(value)} {unit}"


def _words(place: Place, sweep: Sweep) -> str:
    return ", ".join(
        f"{safe(axis.rsplit('.', 1)[-1])} {safe(value)}" for axis, value in zip(sweep.axes, place, strict=True)
    )


def _points(told: Sequence[Measured], sweep: Sweep) -> list[Point]:
    points: list[Point] = []
    for m in told:
        way = direction(m.name)
        best = m.least() if way == "less is better" else m.most()
        verdict = f"{'best' if way else 'largest'} {_value(best[1].mean)}"
        points.append(Point(axis_label(m.name), verdict, f"at {_words(best[0], sweep)}"))
    return points


def _drawn(measured: Sequence[Measured], sweep: Sweep, columns: int) -> Drawn:
    panels = [_panel(m, sweep) for m in measured]
    caption = f"{', '.join(axis_label(m.name) for m in measured)} against {safe(sweep.axes[-1])}."
    return Drawn("", measured[0].name, caption, panels, columns, "places", size=(7.0, 2.6))


def _panel(m: Measured, sweep: Sweep) -> Panel:
    """One axis along x (the one with most values), the others as lines."""
    counts = [len({place[n] for place in m.at}) for n in range(len(sweep.axes))]
    along = max(range(len(counts)), key=lambda n: (counts[n], n))
    ticks = list(dict.fromkeys(place[along] for place in m.at))
    others = dict.fromkeys(place[:along] + place[along + 1 :] for place in m.at)
    lines: list[Series] = []
    for n, other in enumerate(list(others)[:MOST_LINES]):
        at = [m.at.get((*other[:along], tick, *other[along:])) for tick in ticks]
        values = np.array([(s.mean, *s.ends) if s else [math.nan] * 3 for s in at])
        apart = 0.08 * (n - (min(len(others), MOST_LINES) - 1) / 2.0)
        x = np.arange(len(ticks), dtype=float) + apart
        label = ", ".join(safe(v) for v in other) or m.name
        lines.append(Series(label, x, values[:, 0], "points", style.COLOURS[n], (values[:, 1], values[:, 2])))
    ends = [s.mean for s in m.at.values()]
    log = min(ends) > 0.0 and max(ends) > 30.0 * min(ends)
    return Panel(
        axis_label(m.name),
        safe(sweep.axes[along]),
        safe(named(m.name).with_unit),
        lines,
        (-0.5, len(ticks) - 0.5),
        (0.8 * min(ends), 1.25 * max(ends)) if log else (0.0, None),
        log_y=log,
        x_ticks=[(float(n), safe(tick, 14)) for n, tick in enumerate(ticks)],
    )


def _table(sweep: Sweep, measured: Sequence[Measured]) -> TextTable:
    rows: list[list[TextCell]] = []
    for place in _places(sweep):
        cells = row(*(safe(value, 60) for value in place))
        for m in measured:
            s = m.at.get(place)
            hint = f"{_value(s.low)} to {_value(s.high)}: 95 % interval" if s is not None and s.half > 0.0 else ""
            cells.append(TextCell("-" if s is None else _value(s.mean), hint=hint))
        rows.append(cells)
    columns = [*(safe(axis) for axis in sweep.axes), *(axis_label(m.name) for m in measured)]
    return TextTable("", columns, rows, left=len(sweep.axes))


def _value(value: float) -> str:
    if value == 0.0:
        return "0"
    digits = 0 if value == int(value) else max(0, min(4, 2 - math.floor(math.log10(abs(value)))))
    return number(value, digits)
