"""Figures of a fixed width, and the elements shared by all kinds of plot.

matplotlib is imported when the first figure is made. Names from scenarios are drawn as text and never used as
matplotlib's own labels, because matplotlib hides a label that begins with an underscore.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bloatlab.plots import style
from bloatlab.plots.draw import lay_out, plain_legend, thin
from bloatlab.plots.kind import Options
from bloatlab.plots.measures import Array
from bloatlab.plots.style import Axes, Figure, Width
from bloatlab.plots.subjects import Unfit

#: The SVG id of each label at the right edge, by which `settle` finds these labels.
_BESIDE = "beside"

#: Height of a line of text, relative to the font size.
_LINE = 1.25


@dataclass
class SizedFigure:
    """A figure and its width."""

    figure: Figure
    width: Width

    @property
    def text(self) -> float:
        """The size of text, in points."""
        return style.WIDTHS[self.width].text

    @property
    def wide(self) -> bool:
        """Whether the figure has room for two panels side by side."""
        return self.width != "column"


def sized_figure(width: Width, height: float) -> SizedFigure:
    """Makes an empty figure; `height` is relative to the width. Call this within `style.drawing`."""
    from bloatlab.plots.notebook import NotebookFigure  # noqa: PLC0415

    inches = style.WIDTHS[width].inches
    return SizedFigure(NotebookFigure(width, figsize=(inches, inches * height)), width)


def _lay_out(of: SizedFigure) -> None:
    gap = of.text / 72.0
    lay_out(of.figure, w_pad=0.5 * gap, h_pad=0.4 * gap, hspace=0.02, wspace=0.02)


def heading(of: SizedFigure, text: str, labels: Sequence[str] = (), ticks: str = "") -> None:
    """Draws a sentence above the figure, wrapped to the figure's width.

    If there are several labels, a legend is drawn between the sentence and the figure.
    """
    if len(labels) > 1:
        legend(of, labels, ticks=ticks)
    _title(of, text)


def curve(axes: Axes, x: Array, y: Array, place: int, *, step: bool = False, **options: Any) -> None:
    """Draws a line with the `place`-th colour and dash pattern; skips NaN. With `step`, draws the line as steps.

    A line of a single value is a dot.
    """
    kept = np.isfinite(x) & np.isfinite(y)
    x, y = thin(x[kept], y[kept])
    styling: dict[str, Any] = {"color": style.colour(place), "linestyle": style.dashes(place)} | options
    if len(x) == 1:
        styling = {"marker": "o", "markersize": 3} | styling
    axes.plot(x, y, drawstyle="steps-post" if step else "default", **styling)


def shade(axes: Axes, x: Array, low: Array, high: Array, place: int) -> None:
    """Shades the area between two lines."""
    kept = np.isfinite(low) & np.isfinite(high)
    axes.fill_between(x[kept], low[kept], high[kept], color=style.colour(place), alpha=0.18, linewidth=0)


def log_scale(axes: Axes, axis: Literal["x", "y"]) -> None:
    """Makes an axis logarithmic, with plain numbers.

    An axis that began at or below 0 now begins at the smallest positive value or at a tenth of its upper limit,
    whichever is smaller.
    """
    of = axes.xaxis if axis == "x" else axes.yaxis
    low, high = sorted((axes.get_xlim if axis == "x" else axes.get_ylim)())
    if low <= 0.0:
        data = [np.asarray(line.get_data()[axis == "y"], dtype=float) for line in axes.lines]
        above = [float(values[values > 0.0].min()) for values in data if (values > 0.0).any()]
        (axes.set_xlim if axis == "x" else axes.set_ylim)(min([*above, 0.1 * high]), high)
    (axes.set_xscale if axis == "x" else axes.set_yscale)("log")
    of.set_major_formatter("{x:g}")
    of.set_minor_formatter(lambda *_: "")


def adjust(of: SizedFigure, options: Options) -> None:
    """Applies the options to a finished figure: limits, scales and a title; then lays it out again."""
    panels = [axes for axes in of.figure.axes if axes.get_visible() and axes.axison]
    if not panels or not (options.title or options.xlim or options.ylim or options.log):
        return
    first = panels[0]
    along = [axes for axes in panels if axes is first or first.get_shared_x_axes().joined(axes, first)]
    up = [axes for axes in panels if axes.get_ylabel() == first.get_ylabel()]
    wanted: list[tuple[Literal["x", "y"], list[Axes], tuple[float, float] | None]]
    wanted = [("x", along, options.xlim), ("y", up, options.ylim)]
    for axis, group, limits in wanted:
        for axes in group:
            if options.log not in {None, "none"} and axis in str(options.log) and not axes.images:
                log_scale(axes, axis)
            if limits is not None:
                if limits[0] <= 0.0 and (axes.get_xscale() if axis == "x" else axes.get_yscale()) == "log":
                    given = f"--{axis}lim {limits[0]:g} {limits[1]:g}"
                    raise Unfit(
                        f"{given}: the axis is logarithmic; give limits above 0"
                        + ("" if options.log else ", or --log none")
                    )
                turned = axes.xaxis_inverted() if axis == "x" else axes.yaxis_inverted()
                ends = limits[::-1] if turned else limits
                (axes.set_xlim if axis == "x" else axes.set_ylim)(*ends)
    if options.title:
        _title(of, options.title)
    settle(of)


def _title(of: SizedFigure, text: str) -> None:
    """Draws a title above everything, wrapped to the figure's width; replaces an earlier title or `heading`."""
    wrapped = "\n".join(textwrap.wrap(text, int(style.WIDTHS[of.width].inches * 72.0 / (of.text * 1.15 * 0.68))))
    styling: Any = {"size": of.text * 1.15, "weight": "bold"}
    if of.figure.legends:
        legend = of.figure.legends[0]
        legend.set_title(wrapped, prop=styling)
        legend.get_title().set_color(style.INK)
        legend.set_alignment("left")
    else:
        of.figure.suptitle(wrapped, x=0.01, ha="left", color=style.INK, **styling)


def legend(
    of: SizedFigure,
    labels: Sequence[str],
    *,
    lines: bool = True,
    markers: bool = False,
    axes: Axes | None = None,
    ticks: str = "",
) -> None:
    """Draws a legend above the figure, or above `axes` if given. The n-th label gets the n-th colour and style.

    `lines` and `markers` state whether the entries show lines and markers.

    `ticks` is the text of the last entry, for vertical ticks in the lines' colours.
    """
    from matplotlib.lines import Line2D  # noqa: PLC0415

    handles = [
        Line2D(
            [], [], color=style.colour(i), linestyle=style.dashes(i) if lines else "none",
            marker=style.marker(i) if markers else "none", markersize=of.text * 0.55,
        )
        for i in range(len(labels))
    ]  # fmt: skip
    if ticks:
        handles.append(Line2D([], [], color=style.INK, linestyle="none", marker="|", markersize=of.text * 0.8))
        labels = [*labels, ticks]
    longest = max(map(len, labels))
    room = style.WIDTHS[of.width].inches * (0.5 if axes is not None and of.wide else 1.0)
    across = max(1, min(len(labels), int(room * 72.0 / (of.text * (0.6 * longest + 5.0)))))
    if axes is None:
        plain_legend(of.figure, handles, labels, loc="outside upper left", ncols=across)
    else:
        at = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2}
        plain_legend(axes, handles, labels, ncols=across, **at)


def beside(axes: Axes, labels: Sequence[tuple[str, float, str]], size: float) -> None:
    """Draws labels (text, height as a fraction of the axes, colour) at the right edge. `settle` moves them apart."""
    for text, at, colour in labels:
        drawn = axes.annotate(
            text, (1.0, at), xycoords="axes fraction", xytext=(3, 0), textcoords="offset points",
            ha="left", va="center", color=colour, fontsize=size * 0.95, annotation_clip=False,
        )  # fmt: skip
        drawn.set_gid(_BESIDE)


def line_labels(axes: Axes, lines: Sequence[tuple[str, Array, int]]) -> list[tuple[str, float, str]]:
    """Returns labels for `beside`, each at the height of the mean of its line's last three values.

    The limits of the y axis must be final.
    """
    low, high = axes.get_ylim()
    place_of = axes.transScale.transform
    (_, bottom), (_, top) = place_of((1.0, low)), place_of((1.0, high))
    found: list[tuple[str, float, str]] = []
    for name, y, place in lines:
        finite = y[np.isfinite(y)]
        level = float(np.mean(finite[-3:])) if len(finite) else low
        at = (float(place_of((1.0, level))[1]) - bottom) / ((top - bottom) or 1.0)
        found.append((name, min(1.0, max(0.0, at)), style.colour(place)))
    return found


def fits_beside(of: SizedFigure, height: float, count: int) -> bool:
    """Returns whether `count` labels fit beside axes of `height` inches."""
    return count * of.text * _LINE <= height * 72.0 * 0.95


def settle(of: SizedFigure) -> None:
    """Lays the figure out, and moves labels at the right edge apart until none overlap."""
    _lay_out(of)
    for axes in of.figure.axes:
        texts: list[Any] = [text for text in axes.texts if text.get_gid() == _BESIDE]
        if len(texts) < 2:
            continue
        height = axes.get_window_extent().height * 72.0 / of.figure.dpi
        need = of.text * 0.95 * _LINE
        order = sorted(texts, key=lambda text: text.xy[1])
        places = spread([text.xy[1] * height for text in order], need, height)
        for text, place in zip(order, places, strict=True):
            text.xy = (1.0, place / height)


def spread(places: Sequence[float], need: float, room: float) -> list[float]:
    """Moves ascending positions until all are at least `need` apart; they stay within [0, `room`] if they fit."""
    moved = list(places)
    for _ in range(200):
        worst = 0.0
        for i in range(1, len(moved)):
            short = need - (moved[i] - moved[i - 1])
            if short > 1e-6:
                moved[i - 1] -= short / 2.0
                moved[i] += short / 2.0
                worst = max(worst, short)
        over = max(0.0, moved[-1] - room)
        moved = [m - over for m in moved] if over else moved
        under = max(0.0, -moved[0])
        moved = [m + under for m in moved] if under and moved[-1] + under <= room + 1e-6 else moved
        if worst < 0.01 and not over:
            break
    return moved


def rug(of: SizedFigure, axes: Axes, times: Array, at: float, colour: str) -> None:
    """Draws a tick for each time at height `at`, a fraction of the axes. Times are rounded to 1/2000 of the axis."""
    low, high = axes.get_xlim()
    seen = np.unique(np.round((times - low) / ((high - low) or 1.0) * 2000.0)) / 2000.0 * (high - low) + low
    styling: dict[str, Any] = {"marker": "|", "markersize": of.text * 0.56, "markeredgewidth": of.text * 0.09}
    level = np.full(len(seen), at)
    styling |= {"color": colour, "transform": axes.get_xaxis_transform(), "zorder": 4}
    axes.plot(seen, level, linestyle="none", **styling)


#: Positions of a label, best first: offset in text heights, and alignment.
_POSITIONS = (
    ((0.6, 0.5), "left", "bottom"),
    ((-0.6, 0.5), "right", "bottom"),
    ((0.6, -0.5), "left", "top"),
    ((-0.6, -0.5), "right", "top"),
    ((0.0, 0.8), "center", "bottom"),
    ((0.0, -0.8), "center", "top"),
    ((0.9, 0.0), "left", "center"),
    ((-0.9, 0.0), "right", "center"),
)


#: Positions of a label farther away, which a thin line joins to its point: offset in text heights, and alignment.
_FAR = tuple(
    ((r * dx, r * dy), across, up)
    for r in (1.8, 3.0, 4.5, 6.5)
    for dx, across in ((1.0, "left"), (-1.0, "right"), (0.2, "left"), (-0.2, "right"))
    for dy, up in ((0.8, "bottom"), (-0.8, "top"))
)


def free_labels(
    of: SizedFigure,
    axes: Axes,
    labels: Sequence[tuple[str, float, float, str]],
    lines: Sequence[Sequence[tuple[float, float]]] = (),
    *,
    far: bool = False,
) -> list[str]:
    """Lays the figure out, then labels points (text, x, y, colour); returns the labels that did not fit.

    Labels lie over no point, no other label and none of `lines`. With `far`, labels without room may be farther away.
    """
    from matplotlib.text import Text  # noqa: PLC0415

    _lay_out(of)
    box = axes.get_window_extent()
    taken = [text.get_window_extent() for text in axes.texts]
    pixels = [axes.transData.transform((x, y)) for _, x, y, _ in labels]
    for line in lines:
        pixels += _along([axes.transData.transform(point) for point in line])
    left: list[str] = []
    for name, x, y, colour in labels:
        for (dx, dy), across, up in (*_POSITIONS, *(_FAR if far else ())):
            away = max(abs(dx), abs(dy)) > 1.0
            joined = {"arrowstyle": "-", "color": colour, "linewidth": 0.6, "shrinkA": 0.0, "shrinkB": 0.4 * of.text}
            text = axes.annotate(
                name, (x, y), xytext=(dx * of.text, dy * of.text), textcoords="offset points", ha=across, va=up,
                color=colour, fontsize=of.text, arrowprops=joined if away else None,
            )  # fmt: skip
            text.get_window_extent()  # sets the position, and returns the box of the text together with its line
            place = Text.get_window_extent(text)
            inside = place.x0 >= box.x0 and place.x1 <= box.x1 and place.y0 >= box.y0 and place.y1 <= box.y1
            around = place.padded(0.3 * of.text * of.figure.dpi / 72.0)  # the radius of a marker
            covers = any(around.contains(px, py) for px, py in pixels)
            if inside and not covers and not any(place.overlaps(other) for other in taken):
                taken.append(place)
                break
            text.remove()
        else:
            left.append(name)
    return left


def _along(line: Sequence[Any]) -> list[Any]:
    """Returns points on a line in pixels, at most 2 pixels apart."""
    found: list[Any] = []
    for one, two in itertools.pairwise(line):
        steps = max(2, int(np.hypot(*(two - one)) / 2.0) + 2)
        found += list(np.linspace(one, two, steps))
    return found
