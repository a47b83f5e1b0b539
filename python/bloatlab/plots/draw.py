"""Panels of lines, for studies and reports.

A figure is data (`Panel`s of `Series`) until it is drawn, so it can be drawn as an SVG, a PNG or an interactive chart,
and tests can check the data.
"""

from __future__ import annotations

import hashlib
import html
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bloatlab import files
from bloatlab.plots import style
from bloatlab.plots.labels import safe
from bloatlab.plots.style import Axes, Figure
from bloatlab.plots.ticks import part_ticks

#: A series with more points than this is thinned: each group of consecutive points keeps its minimum and maximum.
MAX_POINTS = 1600


#: The diameter of a dot, in typographic points.
_DOT = 3.4

#: If data lie beyond a panel's own limit, the limit moves beyond the data by this share of the axis.
_MARGIN = 0.04

#: The size of a legend's text, in points.
_LEGEND_TEXT = style.RC["legend.fontsize"]


@dataclass(frozen=True)
class Series:
    """One line, or one set of points. `x` and `y` have the same length. A "step" line holds each y until the next x.

    On a logarithmic y axis, "points" at 0 or below are triangles at the lower end.

    `band` holds the minimum and maximum y at each x, such as the interval over seeds. It is drawn as shading behind a
    line, or as bars through points, but not with steps. Published values are `hollow` points or a `dashed` line, in the
    same colour as the simulated values. A `quiet` line has no entry in the legend.
    """

    label: str
    x: ArrayLike
    y: ArrayLike
    kind: Literal["line", "step", "points"] = "line"
    colour: str | None = None
    band: tuple[ArrayLike, ArrayLike] | None = None
    dashed: bool = False
    hollow: bool = False
    quiet: bool = False


@dataclass(frozen=True)
class Mark:
    """A value to compare with, such as a limit. Drawn as a thin labelled line, horizontal at y or vertical at x."""

    label: str
    value: float
    axis: Literal["x", "y"] = "y"


@dataclass(frozen=True)
class Label:
    """The name of a point, written beside it, if possible where it hides neither points nor other names."""

    text: str
    x: float
    y: float
    bold: bool = False


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Labels end with their unit. A limit of `None` follows the data. If data lie beyond the limits of y, these are moved
    outward (`y_limits`), so no data are hidden. `x_ticks` and `y_ticks` replace the ticks of an axis by the given
    positions and labels.
    """

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
    x_ticks: Sequence[tuple[float, str]] = ()
    y_ticks: Sequence[tuple[float, str]] = ()
    labels: Sequence[Label] = ()


def figure(panels: Sequence[Panel], *, columns: int = 2, size: tuple[float, float] = (4.2, 2.5)) -> Figure:
    """Draws panels from left to right and top to bottom, each of `size` inches. No display is needed."""
    from matplotlib.figure import Figure as NewFigure  # noqa: PLC0415  only plots need matplotlib, which loads slowly

    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    with style.drawing():
        drawn = NewFigure(figsize=(size[0] * columns, size[1] * rows))
        grid = drawn.subplots(rows, columns, squeeze=False).ravel()
        for axes, panel in zip(grid, panels, strict=False):
            _draw(axes, panel)
        for axes in grid[len(panels) :]:
            axes.set_visible(False)
        _equal_scales(grid, panels)
        for axes, panel in zip(grid, panels, strict=False):
            _marks(axes, panel.marks, (0.8 * 72.0 * size[0], 0.7 * 72.0 * size[1]))
        _legends(drawn, grid, panels)
        lay_out(drawn)
        for axes, panel in zip(grid, panels, strict=False):
            _point_labels(axes, panel)
    return drawn


def lay_out(drawn: Figure, **gaps: Any) -> None:
    """Sets the positions of panels and legends; `gaps` are options of matplotlib's constrained layout.

    The layout is computed here, and no layout engine is attached to the figure, because matplotlib draws a figure with
    a layout engine twice when saving it.
    """
    from matplotlib.layout_engine import ConstrainedLayoutEngine  # noqa: PLC0415

    ConstrainedLayoutEngine(**gaps).execute(drawn)
    if part_ticks(drawn):
        ConstrainedLayoutEngine(**gaps).execute(drawn)


def _equal_scales(grid: Any, panels: Sequence[Panel]) -> None:
    """Gives panels with the same y label the same limits of y, so that they can be compared.

    Panels without an upper limit of their own share only the upper limit. Panels that declare the same limits keep
    equal limits, even if data moved those of one panel.
    """
    alike: dict[tuple[object, ...], list[Axes]] = {}
    for axes, panel in zip(grid, panels, strict=False):
        own = () if panel.y_range[1] is None else panel.y_range
        alike.setdefault((panel.y_label, panel.log_y, *own), []).append(axes)
    for (_, _, *own), same in alike.items():
        bottom = min(axes.get_ylim()[0] for axes in same) if own else None
        top = max(axes.get_ylim()[1] for axes in same)
        for axes in same:
            axes.set_ylim(bottom, top)


def _legends(drawn: Figure, grid: Any, panels: Sequence[Panel]) -> None:
    """Draws one legend below the figure, or below each panel if their lines differ; panels with one line need none."""
    several = [(axes, panel) for axes, panel in zip(grid, panels, strict=False) if len(panel.series) > 1]
    if several and len({tuple(s.label for s in panel.series if not s.quiet) for _, panel in several}) == 1:
        handles, labels = _entries(*several[0])
        points = drawn.get_figwidth() * 72.0
        fitting = max(1, int(points / (_LEGEND_TEXT * (0.55 * max(map(len, labels), default=0) + 4.0))))
        rows = max(1, -(-len(labels) // min(fitting, 6 if len(panels) > 1 else 5)))
        plain_legend(drawn, handles, labels, loc="outside lower center", ncols=max(1, -(-len(labels) // rows)))
        return
    for axes, panel in several:
        below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.22), "ncols": 2, "fontsize": 8.0}
        plain_legend(axes, *_entries(axes, panel), **below)


def plain_legend(of: Figure | Axes, handles: Sequence[Any], labels: Sequence[str], **options: Any) -> None:
    """Adds a legend whose labels are plain text: matplotlib itself drops a label that begins with "_"."""
    legend = of.legend(handles, [str(place) for place in range(len(labels))], **options)
    for text, label in zip(legend.get_texts(), labels, strict=True):
        text.set_text(label)


def _entries(axes: Axes, panel: Panel) -> tuple[list[Any], list[str]]:
    """Returns the legend entries. A `quiet` line has no entry, because the caption describes it."""
    handles, _ = axes.get_legend_handles_labels()
    kept = [place for place, series in enumerate(panel.series) if not series.quiet]
    return [handles[place] for place in kept], [safe(panel.series[place].label, 60) for place in kept]


def save_figure(drawn: Figure, stem: Path) -> tuple[Path, Path]:
    """Writes `stem`.svg (transparent, reproducible) and `stem`.png (white, 200 dpi); returns both paths."""
    svg, png = stem.with_suffix(".svg"), stem.with_suffix(".png")
    files.write(svg, _svg(drawn))
    with style.drawing(), files.beside(png) as aside:
        options: dict[str, Any] = {"facecolor": "white", "metadata": {"Software": "bloatlab"}}
        drawn.savefig(aside, format="png", dpi=200, bbox_inches=_box(drawn), **options)
    return svg, png


def svg_text(drawn: Figure, label: str) -> str:
    """Draws the figure as an `<svg>` element for a page, as wide as its column; screen readers read `label`."""
    text = _svg(drawn)
    text = text[text.index("<svg") :]
    text = re.sub(r'\s(width|height)="[\d.]+pt"', "", text, count=2)
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    return text.replace("<svg ", f'<svg role="img" aria-label="{html.escape(label)}" ', 1)


def apart(svg: str) -> str:
    """Adds a prefix to all ids in an SVG, so that a page can contain it beside other SVGs."""
    own = hashlib.sha256(svg.encode()).hexdigest()[:6]
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{own}-\1"', svg)
    return re.sub(r'(href="#|url\(#)', rf"\g<1>{own}-", svg)


#: The SVG of each figure. Making the SVGs takes most of a report's time, so each is made only once.
_DRAWN: WeakKeyDictionary[Figure, str] = WeakKeyDictionary()
#: The bounding box of each figure's contents, with a margin, in inches. Each box is computed only once.
_BOXES: WeakKeyDictionary[Figure, Any] = WeakKeyDictionary()


def _svg(drawn: Figure) -> str:
    if drawn not in _DRAWN:
        buffer = io.StringIO()
        with style.drawing():
            options: dict[str, Any] = {"transparent": True, "metadata": {"Date": None, "Creator": "bloatlab"}}
            drawn.savefig(buffer, format="svg", bbox_inches=_box(drawn), **options)
        _DRAWN[drawn] = buffer.getvalue()
    return _DRAWN[drawn]


def _box(drawn: Figure) -> Any:
    """Returns the bounding box of a figure's contents, with a margin. Call this within `style.drawing`."""
    if drawn not in _BOXES:
        _BOXES[drawn] = drawn.get_tightbbox().padded(style.RC["savefig.pad_inches"])
    return _BOXES[drawn]


def thin(x: NDArray[np.float64], y: NDArray[np.float64], most: int = MAX_POINTS) -> tuple[NDArray[Any], NDArray[Any]]:
    """Thins a line to about `most` points that look the same: the extremes and gaps of groups of consecutive points."""
    if len(x) <= most:
        return x, y
    keep: set[int] = {0, len(x) - 1}
    missing = np.isnan(y)
    low, high = np.where(missing, np.inf, y), np.where(missing, -np.inf, y)
    for part in np.array_split(np.arange(len(x)), most // 2):
        keep.update((int(part[np.argmin(low[part])]), int(part[np.argmax(high[part])])))
        if missing[part].any():  # the line stays interrupted there
            keep.add(int(part[np.argmax(missing[part])]))
    chosen = np.fromiter(sorted(keep), dtype=np.intp)
    return x[chosen], y[chosen]


def visible(series: Series, x_range: tuple[float | None, float | None]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Returns the part of a series within the panel.

    A line also gets a point on each side, so that it spans the panel.
    """
    x, y = np.asarray(series.x, dtype=float), np.asarray(series.y, dtype=float)
    within = _within(x, x_range)
    if series.kind == "points":
        return x[within], y[within]
    shown = np.flatnonzero(within)
    if len(shown) == 0:
        return x[:0], y[:0]
    part = slice(max(0, shown[0] - 1), shown[-1] + 2)
    return x[part], y[part]


def _within(x: NDArray[np.float64], x_range: tuple[float | None, float | None]) -> NDArray[np.bool_]:
    low, high = (limit if limit is not None else edge for limit, edge in zip(x_range, (-np.inf, np.inf), strict=True))
    return (x >= low) & (x <= high)


def y_limits(panel: Panel) -> tuple[float | None, float | None]:
    """Returns the limits of a panel's y axis, moved outward if data would otherwise be hidden.

    The data are the values and bands of all series within the panel's range of x. On a logarithmic axis, values up to 0
    do not count.
    """
    low, high = panel.y_range
    found = [np.empty(0)]
    for series in panel.series:
        within = _within(np.asarray(series.x, dtype=float), panel.x_range)
        found += [np.asarray(values, dtype=float)[within] for values in (series.y, *(series.band or ()))]
    data = np.concatenate(found)
    data = data[np.isfinite(data) & (data > (0.0 if panel.log_y else -np.inf))]
    if not data.size:
        return low, high
    least, most = float(data.min()), float(data.max())
    bottom, top = (min(v for v in (low, least) if v is not None), max(v for v in (high, most) if v is not None))
    if low is not None and least < low:
        low = least * (bottom / top) ** _MARGIN if panel.log_y else least - _MARGIN * (top - bottom)
    if high is not None and most > high:
        high = most * (top / bottom) ** _MARGIN if panel.log_y else most + _MARGIN * (top - bottom)
    return low, high


def _draw(axes: Axes, panel: Panel) -> None:
    limits = y_limits(panel)
    for place, series in enumerate(panel.series):
        x, y = thin(*visible(series, panel.x_range))
        options = _styling(series, y, str(place))
        match series.kind:
            case "line":
                (drawn,) = axes.plot(x, y, **options)
                _band(axes, series, panel, drawn.get_color())
            case "step":
                axes.step(x, y, where="post", **options)
            case "points":
                _points(axes, series, panel, options)
    for mark in panel.marks:
        line = axes.axhline if mark.axis == "y" else axes.axvline
        line(mark.value, color=style.PUBLISHED, linewidth=0.8, linestyle=(0, (4, 3)))
    above = 13.0 if any(mark.axis == "x" for mark in panel.marks) else 6.0
    axes.set_title(panel.title, pad=above)
    axes.set(xlabel=panel.x_label, ylabel=panel.y_label)
    axes.set_xscale("log" if panel.log_x else "linear")
    axes.set_yscale("log" if panel.log_y else "linear")
    if panel.whole_x:
        axes.locator_params(axis="x", integer=True)
    for axis, ticks in ((axes.xaxis, panel.x_ticks), (axes.yaxis, panel.y_ticks)):
        _named_ticks(axis, ticks)
    axes.set_xlim(*panel.x_range)
    axes.set_ylim(*limits)
    for axis, limits in [(axes.xaxis, axes.get_xlim())] * panel.log_x + [(axes.yaxis, axes.get_ylim())] * panel.log_y:
        _log_ticks(axis, limits)


def _styling(series: Series, y: NDArray[np.float64], label: str) -> dict[str, Any]:
    options: dict[str, Any] = {"label": label, "linestyle": (0, (5, 3)) if series.dashed else "-"}
    if series.colour is not None:
        options["color"] = series.colour
    if np.isfinite(y).sum() == 1:  # a line of a single value is a dot
        options |= {"marker": "o", "markersize": _DOT}
    return options


def _points(axes: Axes, series: Series, panel: Panel, options: dict[str, Any]) -> None:
    """Draws points, and triangles at the lower end of a logarithmic axis for values of 0 and below."""
    x, y = thin(*visible(series, panel.x_range))
    looks = {"markerfacecolor": "none", "markersize": 5.5} if series.hollow else {"markersize": _DOT}
    low = (y <= 0.0) & panel.log_y
    # without clipping, matplotlib would report a bounding box at the figure's corner for an empty set of points
    options |= {"linestyle": "none", "marker": "o", "clip_on": bool(low.all()), "zorder": 3} | looks
    (drawn,) = axes.plot(x[~low], y[~low], **options)
    if low.any():
        options |= {"marker": "v", "color": drawn.get_color(), "label": "_", "clip_on": False}
        options["transform"] = axes.get_xaxis_transform()
        axes.plot(x[low], np.zeros(low.sum()), **options)
    _band(axes, series, panel, drawn.get_color())


def _named_ticks(axis: Any, ticks: Sequence[tuple[float, str]]) -> None:
    if ticks:
        axis.set_ticks([at for at, _ in ticks], labels=[words for _, words in ticks])
        axis.set_tick_params(length=0)


def _log_ticks(axis: Any, limits: tuple[float, float]) -> None:
    """Labels an axis at 1, 2 and 5 times the powers of ten, or only at the powers if the range is wide."""
    from matplotlib.ticker import LogLocator, NullFormatter  # noqa: PLC0415

    narrow = limits[0] > 0.0 and np.log10(limits[1] / limits[0]) < 2.5
    axis.set_major_locator(LogLocator(10.0, subs=(1.0, 2.0, 5.0) if narrow else (1.0,), numticks=20))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def _band(axes: Axes, series: Series, panel: Panel, colour: Any) -> None:
    """Draws the band of a series: bars through points, shading behind a line.

    On a logarithmic axis, a bar whose lower end is 0 or less is drawn from the axis's lower limit, or from its point
    if no limit is set.
    """
    if series.band is None:
        return
    x, low, high = (np.asarray(values, dtype=float) for values in (series.x, *series.band))
    if series.kind == "points":
        seen = _within(x, panel.x_range)
        if panel.log_y:
            bottom = panel.y_range[0] or np.asarray(series.y, dtype=float)
            low = np.where(low > 0.0, low, bottom)
            seen &= (low > 0.0) & (high > 0.0)
        axes.vlines(x[seen], low[seen], high[seen], color=colour, linewidth=1.0, alpha=0.6, clip_on=False)
    else:
        axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)


#: Places of a label relative to its point: rows and sides, nearest first. A row is a label's height.
_PLACES = [(side, row) for row in (0, 1, -1, 2, -2, 3, -3, 4, -4) for side in (1, -1, 0) if side or row]


def _point_labels(axes: Axes, panel: Panel) -> None:
    """Writes the labels of points, each at the first of `_PLACES` where it covers the fewest points and labels."""
    scale = 72.0 / axes.figure.dpi
    area = [scale * v for v in axes.bbox.extents]

    def place(x: float, y: float) -> tuple[float, float]:
        at = axes.transData.transform((x, y))
        return scale * float(at[0]), scale * float(at[1])

    dots = [place(x, y) for s in panel.series for x, y in zip(np.asarray(s.x), np.asarray(s.y), strict=True)]
    taken = [(x - 3.0, y - 3.0, x + 3.0, y + 3.0) for x, y in dots]
    for label in panel.labels:
        x, y = place(label.x, label.y)
        width, height = _CHARACTER_PT * len(label.text) * (1.08 if label.bold else 0.98), _LABEL_PT + 2.0
        found: list[tuple[int, int, tuple[float, float, float, float]]] = []
        for n, (side, row) in enumerate(_PLACES):
            left = x + (5.0 if side > 0 else -5.0 - width if side < 0 else -width / 2.0)
            box = (left, y + row * height - height / 2.0, left + width, y + row * height + height / 2.0)
            outside = box[0] < area[0] or box[2] > area[2] or box[1] < area[1] or box[3] > area[3] + 4.0
            found.append((100 * outside + sum(_overlap(box, other) for other in taken), n, box))
            if found[-1][0] == 0:
                break
        _, n, box = min(found)
        taken.append(box)
        side, row = _PLACES[n]
        at = {"xytext": (5.0 * side, row * height), "ha": {1: "left", -1: "right", 0: "center"}[side]}
        text: dict[str, Any] = {"textcoords": "offset points", "fontsize": _LABEL_PT, "va": "center", **at}
        if abs(row) > 1:
            text["arrowprops"] = {"arrowstyle": "-", "linewidth": 0.4, "color": style.PUBLISHED, "shrinkA": 0.0}
        axes.annotate(label.text, (label.x, label.y), fontweight="bold" if label.bold else "normal", **text)


def _overlap(a: Sequence[float], b: Sequence[float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


#: The font size of the labels of marks and points, and the approximate width of their characters, in points.
_LABEL_PT, _CHARACTER_PT = 7.5, 4.6


def _marks(axes: Axes, marks: Sequence[Mark], size: tuple[float, float]) -> None:
    """Draws the mark labels outside the axes, where no data hides them; moves overlapping labels apart.

    `size` is the approximate size of the axes in points.
    """
    for way, extent in (("x", size[0]), ("y", size[1])):
        mine = sorted((mark for mark in marks if mark.axis == way and mark.label), key=lambda mark: mark.value)
        places = [_fraction(axes, mark) * extent for mark in mine]
        shifts = [0.0] * len(mine)
        for k in range(1, len(mine)):
            both = len(mine[k - 1].label) + len(mine[k].label)
            room = _CHARACTER_PT * (both / 2.0 + 1.0) if way == "x" else _LABEL_PT + 1.5
            short = room - (places[k] + shifts[k] - places[k - 1] - shifts[k - 1])
            if short > 0.0:
                shifts[k - 1] -= short / 2.0
                shifts[k] += short / 2.0
        for mark, shift in zip(mine, shifts, strict=True):
            text: dict[str, Any] = {"textcoords": "offset points", "fontsize": _LABEL_PT, "color": style.PUBLISHED}
            if way == "y":
                text |= {"xytext": (3, shift), "ha": "left", "va": "center"}
                axes.annotate(mark.label, (1.0, mark.value), xycoords=("axes fraction", "data"), **text)
            else:
                text |= {"xytext": (shift, 2), "ha": "center", "va": "bottom"}
                axes.annotate(mark.label, (mark.value, 1.0), xycoords=("data", "axes fraction"), **text)


def _fraction(axes: Axes, mark: Mark) -> float:
    """Returns the position of a mark as a fraction of its axis; outside [0, 1] if the mark is beyond the limits."""
    at = (mark.value, axes.get_ylim()[0]) if mark.axis == "x" else (axes.get_xlim()[0], mark.value)
    place = axes.transAxes.inverted().transform(axes.transData.transform(at))
    return float(place[0 if mark.axis == "x" else 1])
