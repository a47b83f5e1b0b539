"""Small multiples of lines: the one form that time series, distributions and sweeps need.

A figure is data (`Panel`s of `Series`) until it is drawn, so the same figure goes to SVG, PNG and the report, and a
test can look at what would be drawn.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bloatlab.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Points beyond which a line is thinned to the lowest and highest value per column of pixels.
MAX_POINTS = 1600


@dataclass(frozen=True)
class Series:
    """One line. `x` and `y` are equally long; `kind` "step" holds each value until the next x.

    `band` is the lowest and highest y at each x (the interval over seeds), shaded behind the line.
    """

    label: str
    x: ArrayLike
    y: ArrayLike
    kind: Literal["line", "step", "points"] = "line"
    colour: str | None = None
    band: tuple[ArrayLike, ArrayLike] | None = None


@dataclass(frozen=True)
class Mark:
    """A level worth comparing with (a limit, a published value): a thin labelled line across, or upright at an x."""

    label: str
    value: float
    axis: Literal["x", "y"] = "y"


@dataclass(frozen=True)
class Panel:
    """One pair of axes. Labels end in their unit. `None` limits follow the data."""

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    x_range: tuple[float | None, float | None] = (None, None)
    y_range: tuple[float | None, float | None] = (0.0, None)
    marks: Sequence[Mark] = field(default_factory=tuple)
    log_x: bool = False
    log_y: bool = False
    whole_x: bool = False


def figure(panels: Sequence[Panel], *, columns: int = 2, size: tuple[float, float] = (4.2, 2.5)) -> Figure:
    """Panels left to right, top to bottom; `size` is one panel's in inches. Needs no display."""
    from matplotlib import rc_context  # noqa: PLC0415  plotting is imported by those who plot
    from matplotlib.figure import Figure as NewFigure  # noqa: PLC0415

    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    with rc_context(_rc()):
        drawn = NewFigure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
        grid = drawn.subplots(rows, columns, squeeze=False).ravel()
        for axes, panel in zip(grid, panels, strict=False):
            _draw(axes, panel)
        for axes in grid[len(panels) :]:
            axes.set_visible(False)
    return drawn


def save_figure(drawn: Figure, stem: Path) -> tuple[Path, Path]:
    """`stem`.svg (transparent, the same bytes each time) and `stem`.png (white, 200 dpi); returns both paths."""
    from matplotlib import rc_context  # noqa: PLC0415

    svg, png = stem.with_suffix(".svg"), stem.with_suffix(".png")
    svg.write_text(_svg(drawn), encoding="utf-8")
    with rc_context(_rc()):
        drawn.savefig(png, dpi=200, facecolor="white", metadata={"Software": None})
    return svg, png


def svg_text(drawn: Figure, label: str) -> str:
    """The figure as an `<svg>` element to stand in a page, scaling with its column; `label` is read aloud."""
    text = _svg(drawn)
    text = text[text.index("<svg") :]
    text = re.sub(r'\s(width|height)="[\d.]+pt"', "", text, count=2)
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    return text.replace("<svg ", f'<svg role="img" aria-label="{_attribute(label)}" ', 1)


#: Drawing takes most of a report's time, so a figure is drawn as SVG once, wherever it goes. Figures do not change.
_DRAWN: WeakKeyDictionary[Figure, str] = WeakKeyDictionary()


def _svg(drawn: Figure) -> str:
    """The figure as an SVG file. Its layout is settled from then on."""
    from matplotlib import rc_context  # noqa: PLC0415

    if drawn not in _DRAWN:
        buffer = io.StringIO()
        with rc_context(_rc()):
            drawn.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        drawn.set_layout_engine("none")
        _DRAWN[drawn] = buffer.getvalue()
    return _DRAWN[drawn]


def thin(x: NDArray[np.float64], y: NDArray[np.float64], most: int = MAX_POINTS) -> tuple[NDArray[Any], NDArray[Any]]:
    """At most `most` points that draw the same line: the extremes of each column of pixels, in order."""
    if len(x) <= most:
        return x, y
    keep: set[int] = {0, len(x) - 1}
    for part in np.array_split(np.arange(len(x)), most // 2):
        keep.update((int(part[np.argmin(y[part])]), int(part[np.argmax(y[part])])))
    chosen = np.fromiter(sorted(keep), dtype=np.intp)
    return x[chosen], y[chosen]


def _seen(series: Series, x_range: tuple[float | None, float | None]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The part of a series that the panel shows, with the point before and after, so that lines run to the edge."""
    x, y = np.asarray(series.x, dtype=float), np.asarray(series.y, dtype=float)
    low, high = (limit if limit is not None else edge for limit, edge in zip(x_range, (-np.inf, np.inf), strict=True))
    shown = np.flatnonzero((x >= low) & (x <= high))
    if len(shown) == 0:
        return x[:0], y[:0]
    part = slice(max(0, shown[0] - 1), shown[-1] + 2)
    return x[part], y[part]


def _rc() -> Any:
    from cycler import cycler  # noqa: PLC0415  comes with matplotlib

    return style.RC | {"axes.prop_cycle": cycler(color=list(style.COLOURS))}


def _draw(axes: Axes, panel: Panel) -> None:
    for series in panel.series:
        x, y = thin(*_seen(series, panel.x_range))
        options: dict[str, Any] = {"label": series.label}
        if series.colour is not None:
            options["color"] = series.colour
        match series.kind:
            case "line":
                (drawn,) = axes.plot(x, y, **options)
                _shade(axes, series, drawn.get_color())
            case "step":
                axes.step(x, y, where="post", **options)
            case "points":
                axes.plot(x, y, linestyle="none", marker="o", markersize=3, **options)
    for mark in panel.marks:
        _mark(axes, mark)
    above = 13.0 if any(mark.axis == "x" for mark in panel.marks) else 6.0
    axes.set_title(panel.title, pad=above)
    axes.set(xlabel=panel.x_label, ylabel=panel.y_label)
    axes.set_xscale("log" if panel.log_x else "linear")
    axes.set_yscale("log" if panel.log_y else "linear")
    if panel.whole_x:
        axes.locator_params(axis="x", integer=True)
    axes.set_xlim(*panel.x_range)
    axes.set_ylim(*panel.y_range)
    if len(panel.series) > 1:
        axes.legend(loc="best")


def _shade(axes: Axes, series: Series, colour: Any) -> None:
    """The band of a series, if it has one."""
    if series.band is not None:
        low, high = (np.asarray(edge, dtype=float) for edge in series.band)
        axes.fill_between(np.asarray(series.x, dtype=float), low, high, color=colour, alpha=0.18, linewidth=0)


def _mark(axes: Axes, mark: Mark) -> None:
    """The line, and its label outside the axes, where no data can hide it."""
    line: dict[str, Any] = {"color": style.PUBLISHED, "linewidth": 0.8, "linestyle": (0, (4, 3))}
    text: dict[str, Any] = {"textcoords": "offset points", "fontsize": 7.5, "color": style.PUBLISHED}
    if mark.axis == "y":
        axes.axhline(mark.value, **line)
        text |= {"xytext": (3, 0), "ha": "left", "va": "center"}
        axes.annotate(mark.label, (1.0, mark.value), xycoords=("axes fraction", "data"), **text)
    else:
        axes.axvline(mark.value, **line)
        text |= {"xytext": (0, 2), "ha": "center", "va": "bottom"}
        axes.annotate(mark.label, (mark.value, 1.0), xycoords=("data", "axes fraction"), **text)


def _attribute(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
