"""Charts: panels as a static picture, and as data for an interactive chart that replaces it on screen.

The picture is drawn by matplotlib, and is shown without JavaScript and on paper. The interactive chart is drawn by
uPlot from JSON, with values under the pointer, linked zoom, and lines that can be hidden. Both start with the same
view.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bloatlab.plots import Panel, figure, style, svg_text
from bloatlab.plots.draw import apart, thin, visible
from bloatlab.plots.style import Axes, Figure

#: Panel size in inches, by the number of panels per row.
_SIZES = {1: (8.0, 2.9), 2: (4.3, 2.7), 3: (3.1, 2.7)}

#: Maximum number of points per line in an interactive chart: more than in the static picture, because users zoom in.
MOST_POINTS = 2400

#: Significant digits of values under the pointer.
DIGITS = 5


@dataclass(frozen=True)
class Drawn:
    """A figure as data: its number in a paper ("" if it has none), the name of its files, its caption and its panels.

    If a user zooms a chart, all charts with the same `link` are zoomed too. Without a `link`, only the panels of this
    figure are zoomed together.
    """

    number: str
    name: str
    caption: str
    panels: Sequence[Panel]
    columns: int = 2
    link: str = ""
    size: tuple[float, float] | None = None

    def figure(self) -> Figure:
        """Returns the figure; the first call draws it."""
        return self._figure

    @functools.cached_property
    def _figure(self) -> Figure:
        return figure(self.panels, columns=self.columns, size=self.size or _SIZES[self.columns])


@dataclass(frozen=True, slots=True)
class FigureBlock:
    """A picture (a trusted `<svg>` element) with its caption, and the data of the interactive chart."""

    svg: str
    caption: str
    number: str = ""
    data: str = ""
    columns: int = 2
    kind: str = "figure"


def figure_block(drawn: Drawn) -> FigureBlock:
    """Makes a report block from a figure."""
    number = f"Figure {drawn.number}." if drawn.number else ""
    picture = themed(svg_text(drawn.figure(), drawn.caption))
    return FigureBlock(picture, drawn.caption, number, chart_json(drawn), drawn.columns)


def themed(svg: str) -> str:
    """Makes a picture use the page's colours (light or dark), and makes its ids unique."""
    for place, colour in enumerate(style.COLOURS):
        svg = svg.replace(colour, f"var(--c{place},{colour})")
    for name, colour in (("axis", style.INK), ("published", style.PUBLISHED), ("gridline", style.GRID)):
        svg = svg.replace(colour, f"var(--{name},{colour})")
    return re.sub(r'\s(?:xmlns:xlink|xmlns)="[^"]*"', "", apart(svg))  # HTML needs neither


def chart_json(drawn: Drawn) -> str:
    """Encodes the figure for uPlot, as JSON that is safe inside a `<script>`."""
    axes = drawn.figure().axes
    panels = [_panel(panel, of) for panel, of in zip(drawn.panels, axes, strict=False)]
    return script_json({"link": drawn.link or drawn.name, "panels": panels})


def script_json(data: Any) -> str:
    """Encodes JSON that cannot end an HTML `<script>` element."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _panel(panel: Panel, axes: Axes) -> dict[str, Any]:
    shared: dict[bytes, int] = {}
    columns: list[list[float]] = []

    def x_of(x: NDArray[Any]) -> int:
        key = x.tobytes()
        if key not in shared:
            shared[key] = len(columns)
            columns.append([_rounded(v, 7) or 0.0 for v in x])
        return shared[key]

    lines: list[dict[str, Any]] = []
    for place, series in enumerate(panel.series):
        x, y = _ordered(*thin(*visible(series, panel.x_range), MOST_POINTS))
        line: dict[str, Any] = {
            "label": series.label,
            "kind": series.kind,
            "colour": _colour(series.colour, place),
            "x": x_of(x),
            "y": [_rounded(v) for v in y],
        }
        if series.dashed:
            line["dash"] = True
        if series.hollow:
            line["hollow"] = True
        if series.quiet:
            line["quiet"] = True
        if series.band is not None and len(x) == np.size(series.x):
            x, *band = (np.asarray(values, dtype=float) for values in (series.x, *series.band))
            order = np.argsort(x, kind="stable")
            line["low"], line["high"] = ([_rounded(v) for v in edge[order]] for edge in band)
        lines.append(line)
    return {
        "title": panel.title,
        "x": _axis(panel.x_label, panel.log_x, axes.get_xlim(), panel.x_ticks),
        "y": _axis(panel.y_label, panel.log_y, axes.get_ylim(), panel.y_ticks),
        "xs": columns,
        "series": lines,
        "marks": [{"label": m.label, "value": m.value, "axis": m.axis} for m in panel.marks],
        "labels": [{"text": n.text, "x": n.x, "y": n.y, "bold": n.bold} for n in panel.labels],
    }


def _axis(label: str, log: bool, limits: Sequence[float], ticks: Sequence[tuple[float, str]]) -> Mapping[str, Any]:
    made: dict[str, Any] = {"label": label, "range": [float(limits[0]), float(limits[1])]}
    if log:
        made["log"] = True
    if ticks:
        made["ticks"] = [[at, words] for at, words in ticks]
    return made


def _colour(given: str | None, place: int) -> str:
    """Returns the CSS variable for a style colour, by `place` if none is given; other colours are unchanged."""
    if given is None:
        return f"--c{place % len(style.COLOURS)}"
    named = {colour: f"--c{n}" for n, colour in enumerate(style.COLOURS)}
    named |= {style.INK: "--axis", style.GRID: "--gridline", style.PUBLISHED: "--published"}
    return named.get(given, given)


def _ordered(x: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Sorts points by x, and adds tiny offsets so that each x is unique, because uPlot identifies points by x."""
    order = np.argsort(x, kind="stable")
    x, y = np.array(x[order], dtype=float), y[order]
    hair = max(float(np.ptp(x)) if len(x) else 0.0, 1e-9) * 1e-6
    for place in range(1, len(x)):
        if x[place] <= x[place - 1]:
            x[place] = x[place - 1] + hair
    return x, y


def _rounded(value: float, digits: int = DIGITS) -> float | None:
    return None if not math.isfinite(value) else float(f"{value:.{digits}g}")
