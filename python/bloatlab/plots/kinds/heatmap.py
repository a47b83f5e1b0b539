"""The plot kind heatmap: one measure, averaged over seeds, for each pair of values of two sweep axes."""

from __future__ import annotations

import math
import textwrap
from typing import Any

import numpy as np
import polars as pl

from bloatlab.measures import direction
from bloatlab.plots import style
from bloatlab.plots.elements import settle, sized_figure
from bloatlab.plots.kind import Kind, Options
from bloatlab.plots.style import WIDTHS, Figure
from bloatlab.plots.subjects import Sweep, Unfit
from bloatlab.plots.sweeps import Axis, along, axes, axis_label, measures, over_seeds, unfit
from bloatlab.tables import number


def _unfit(of: Sweep) -> str | None:
    varying = sum(len(a.values) > 1 for a in axes(of))
    few = f"{of.label}: a heat map needs two axes with several values; found {varying}" if varying < 2 else None
    return unfit(of) or few


def field(of: Sweep, x: Axis, y: Axis, column: str) -> np.ndarray[Any, Any]:
    """Averages a measure over seeds and all other axes.

    The result has one row for each value of `y`, and NaN for points without a value.
    """
    found = np.full((len(y.values), len(x.values)), np.nan)
    for j, down in enumerate(y.values):
        for i, across in enumerate(x.values):
            at = over_seeds(of, of.frame.filter((pl.col(x.name) == across) & (pl.col(y.name) == down)), column)
            found[j, i] = at.middle if at is not None and math.isfinite(at.middle) else np.nan
    return found


def draw(of: Sweep, options: Options) -> Figure:
    """Draws one coloured field for each pair of values of the two axes.

    Worse values are darker. If neither more nor less is better, smaller values are darker. A bar beside the fields
    shows the values of the colours. The colours are viridis, which remains legible in grey.
    """
    if options.log in ("x", "xy"):
        raise Unfit(f"--log {options.log}: a heatmap has no such axis; expected y, for logarithmic shades, or none")
    x, others = along(of, options.x)
    y = others[0]
    (column,) = _shown(of, options)
    values = field(of, x, y, column)
    page = sized_figure(options.width, min(1.2, (0.35 if options.width == "column" else 0.2) + 0.075 * len(y.values)))
    grid = page.figure.subplots()
    grid.grid(visible=False)
    way = direction(column)
    shades = "viridis_r" if way == "less is better" else "viridis"
    wide = style.logarithmic(values[np.isfinite(values)].tolist(), "y", options.log)
    shown = np.log10(np.where(values > 0.0, values, np.nan)) if wide else values
    drawn = grid.imshow(shown, cmap=shades, aspect="auto")
    if np.unique(shown[np.isfinite(shown)]).size > 1:
        bar = page.figure.colorbar(drawn, ax=grid, fraction=0.04, pad=0.02, aspect=30, use_gridspec=False)
        bar.outline.set_visible(False)
        if wide:
            bar.ax.yaxis.set_major_formatter(lambda exponent, _: f"{10.0**exponent:.3g}")
        if way is not None:
            bar.set_label(way)
    grid.set_xticks(range(len(x.values)), [*x.labels(16).values()])
    grid.set_yticks(range(len(y.values)), [*y.labels(20).values()])
    grid.tick_params(length=0)
    grid.set_xlabel(x.title)
    grid.set_ylabel(y.title)
    if values.size <= 200:
        shade: Any = drawn.cmap
        for (j, i), value in np.ndenumerate(shown):
            red, green, blue, _ = shade(drawn.norm(value)) if np.isfinite(value) else (1.0, 1.0, 1.0, 1.0)
            ink = "white" if 0.3 * red + 0.59 * green + 0.11 * blue < 0.55 else "black"
            text = _text(float(values[j, i]))
            grid.text(i, j, text, ha="center", va="center", color=ink, fontsize=page.text * 0.95)
    over = f", {of.middle} over {', '.join([*(a.title for a in others[1:]), 'seeds'])}"
    title = axis_label(column) + over + (" (shades: logarithmic)" if wide else "")
    grid.set_title("\n".join(textwrap.wrap(title, int(WIDTHS[page.width].inches * 72.0 / (page.text * 0.9)))))
    settle(page)
    return page.figure


def _shown(of: Sweep, options: Options) -> list[str]:
    return measures(of, options.columns, most=1)[:1]


def _text(value: float) -> str:
    if math.isnan(value):
        return "-"
    return number(value, 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2)


KIND = Kind(
    "heatmap",
    "one measure over two axes: its mean over seeds (median for a study) in each field",
    "sweep",
    _unfit,
    draw,
    ("x", "columns"),
    _shown,
)
