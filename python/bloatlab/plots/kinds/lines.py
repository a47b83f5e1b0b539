"""The plot kind lines: measures of a sweep along one axis, averaged over seeds, with intervals.

The averages are means with 95 % intervals; for a study, medians with the central 80 %.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

import numpy as np

from bloatlab.plots import style
from bloatlab.plots.elements import SizedFigure, curve, legend, log_scale, settle, shade, sized_figure
from bloatlab.plots.kind import LIMITS, Kind, Options
from bloatlab.plots.measures import Array
from bloatlab.plots.style import WIDTHS, Axes, Figure
from bloatlab.plots.subjects import Sweep, Unfit
from bloatlab.plots.sweeps import (
    Axis,
    OverSeeds,
    along,
    axis_label,
    by_value,
    groups,
    measures,
    over_seeds,
    sampled_with,
    unfit,
)

#: Maximum number of lines.
_MOST = 18


def draw(of: Sweep, options: Options) -> Figure:
    """Draws one panel per measure. If the axis values are names, draws rows of dots with intervals instead of lines.

    If other axes are sampled together with `x`, they vary along x, too. Points with intervals then replace the lines.
    """
    x, others = along(of, options.x)
    columns = _shown(of, options)
    sampled = sampled_with(of, x, others) if x.numbers is not None else []
    others = [a for a in others if a not in sampled]
    lines = [name for name, _ in groups(of, others)] if others else []
    if len(lines) > _MOST:
        raise Unfit(
            f"{of.label}: {len(lines)} lines along {x.name}; at most {_MOST}: choose another axis with --x, or heatmap"
        )
    if x.numbers is None:
        return _dots(of, options, x, others, columns)
    across = 1 if options.width == "column" else min(2, len(columns))
    rows = -(-len(columns) // across)
    page = sized_figure(options.width, (0.62 if across == 1 else 0.36) * rows + 0.06)
    grid = page.figure.subplots(rows, across, squeeze=False, sharex=True).ravel()
    for axes, column in zip(grid, columns, strict=False):
        for place, (_, found) in enumerate(groups(of, others)):
            parts = by_value(found, x)
            spreads = [over_seeds(of, parts[value], column) if value in parts else None for value in x.values]
            (_points if sampled else _line)(axes, x, spreads, place)
        axes.set_ylabel(axis_label(column))
        if min(x.drawn) > 0 and max(x.drawn) / min(x.drawn) >= 8.0:
            log_scale(axes, "x")
            if not sampled:  # a sample has too many values to label each
                axes.set_xticks(x.drawn, [f"{v:g}" for v in x.drawn])
                axes.set_xticks([], minor=True)
        _scaled(axes, options)
        axes.margins(x=0.03)
    for axes in grid[len(columns) :]:
        axes.set_visible(False)
    for axes in grid[max(0, len(columns) - across) : len(columns)]:
        axes.set_xlabel("; ".join([x.label, *(f"{a.title} varies, too" for a in sampled)]))
        axes.tick_params(labelbottom=True)
    if lines:
        legend(page, lines, lines=not sampled, markers=True)
    settle(page)
    return page.figure


def _shown(of: Sweep, options: Options) -> list[str]:
    """Returns the measures to draw: at most two if their panels are side by side in the width of a column."""
    columns = measures(of, options.columns)
    x, _ = along(of, options.x)
    return columns[:2] if x.numbers is None and options.width == "column" else columns


def _scaled(axes: Axes, options: Options) -> None:
    """Sets the scale of the y axis. By default, the scale is logarithmic if the averages span two decades.

    A linear axis begins at 0, except if a value is negative, or if the lower half of the axis would be empty.
    """
    low, high = axes.dataLim.intervaly
    middles = [float(y) for drawn in axes.lines for y in np.asarray(drawn.get_ydata(), dtype=float)]
    if style.logarithmic(middles, "y", options.log):
        log_scale(axes, "y")
    elif 0.0 <= low < 0.5 * high:
        axes.set_ylim(0.0, 1.06 * high)


def _line(axes: Axes, x: Axis, spreads: Sequence[OverSeeds | None], place: int) -> None:
    t, (middle, low, high) = np.array(x.drawn), _arrays(spreads)
    shade(axes, t, low, high, place)
    curve(axes, t, middle, place, marker=style.marker(place), markersize=3)


def _points(axes: Axes, x: Axis, spreads: Sequence[OverSeeds | None], place: int) -> None:
    """Draws a marker, and the interval as a bar, for each value of `x`."""
    middle, low, high = _arrays(spreads)
    kept = np.isfinite(middle)
    t, colour, marker = np.array(x.drawn)[kept], style.colour(place), style.marker(place)
    axes.vlines(t, low[kept], high[kept], color=colour, linewidth=1.0)
    axes.plot(t, middle[kept], linestyle="none", marker=marker, markersize=3.2, color=colour)


def _arrays(spreads: Sequence[OverSeeds | None]) -> tuple[Array, Array, Array]:
    """Returns the averages and the ends of their intervals; NaN if there is no finite value."""
    middle, low, high = (
        np.array([getattr(s, name) if s is not None and math.isfinite(getattr(s, name)) else np.nan for s in spreads])
        for name in ("middle", "low", "high")
    )
    return middle, low, high


def _dots(of: Sweep, options: Options, x: Axis, others: list[Axis], columns: list[str]) -> Figure:
    """Draws one panel per measure, side by side, with one row for each value of the axis `x`.

    Within a row, dots for different values of the other axes are at slightly different heights.
    """
    size = WIDTHS[options.width]
    names = [name for name, _ in groups(of, others)] if others else []
    inches = size.text / 72.0 * (1.5 * len(x.values) * max(1.0, 0.45 * len(names)) + 7.0)
    page = sized_figure(options.width, max(0.35, inches / size.inches))
    grid = page.figure.subplots(1, len(columns), squeeze=False, sharey=True).ravel()
    for axes, column in zip(grid, columns, strict=True):
        for place, (_, rows) in enumerate(groups(of, others)):
            shift = 0.6 * ((place + 0.5) / max(1, len(names)) - 0.5)
            parts = by_value(rows, x)
            seats = [
                (seat + shift, found)
                for seat, value in enumerate(x.values)
                if value in parts and (found := over_seeds(of, parts[value], column)) and math.isfinite(found.middle)
            ]
            colour, marker = style.colour(place), style.marker(place)
            axes.hlines(
                [y for y, _ in seats], [f.low for _, f in seats], [min(f.high, 1e300) for _, f in seats],
                color=colour, linewidth=1.0,
            )  # fmt: skip
            middles = [f.middle for _, f in seats]
            axes.plot(middles, [y for y, _ in seats], linestyle="none", marker=marker, markersize=3.2, color=colour)
        middles = [float(v) for drawn in axes.lines for v in np.asarray(drawn.get_xdata(), dtype=float)]
        if style.logarithmic(middles, "x", options.log):
            log_scale(axes, "x")
        _wrapped(page, axes, axis_label(column), len(columns))
        axes.margins(x=0.06)
    grid[0].set_yticks(range(len(x.values)), [*x.labels(24).values()])
    grid[0].set_ylim(len(x.values) - 0.4, -0.6)
    grid[0].set_ylabel(x.label)
    if names:
        legend(page, names, lines=False, markers=True)
    settle(page)
    return page.figure


def _wrapped(page: SizedFigure, axes: Axes, label: str, beside: int) -> None:
    room = WIDTHS[page.width].inches * 72.0 / beside / (page.text * 0.62)
    axes.set_xlabel("\n".join(textwrap.wrap(label, max(10, int(room * 0.85)))))


KIND = Kind(
    "lines",
    "measures along one axis: means over seeds and their 95 % intervals; of a study medians and the central 80 %",
    "sweep",
    unfit,
    draw,
    ("x", "columns", *LIMITS),
    _shown,
)
