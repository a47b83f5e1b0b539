"""The plot kind pareto: two measures of a sweep against each other, with the Pareto front.

A point is on the front if no other is at least as good in both measures and better in one. Only settings on the same
network line are compared: each combination of rate, delay, loss and jitter has its own front. Both axes are oriented so
that up and to the right is better.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from bloatlab.measures import declared, direction, matching
from bloatlab.plots import style
from bloatlab.plots.elements import free_labels, legend, log_scale, sized_figure
from bloatlab.plots.kind import LIMITS, Kind, Options
from bloatlab.plots.style import WIDTHS, Figure
from bloatlab.plots.subjects import Sweep, Unfit
from bloatlab.plots.sweeps import Axis, axis_label, groups, measures, over_seeds
from bloatlab.plots.sweeps import axes as axes_of

#: Patterns of the default measures along x (`_DELAY`) and y (`_GAIN`). The first pattern whose columns vary is used.
_DELAY = ("links.*.sojourn_ms.p99", "apps.*.ping.induced_ms", "apps.*.delay_ms.p99", "*delay*p99*", "*_ms*")
_GAIN = (
    "apps.*.goodput_mbit",
    "apps.*.web.page_load_s.median",
    "apps.*.voip.mos",
    "links.*.utilisation",
    "*MOS*",
    "*FTP*",
)

#: If there are at most this number of points, all are named.
_MOST_NAMES = 10

#: Measures for which the core does not say whether more or less is better, with the answer that this plot uses.
_WAYS = {"utilisation": "more is better"}


def _way(column: str) -> str | None:
    way = direction(column) or _WAYS.get(column.rsplit(".", 1)[-1])
    if way is not None or declared(column):
        return way
    # an undeclared column is a measure of a study
    if "MOS" in column or "FTP" in column or "completed" in column:
        return "more is better"
    return "less is better" if "delay" in column else None


def chosen(of: Sweep, columns: Sequence[str]) -> tuple[str, str] | None:
    """Returns the measures to draw along x and along y; None if there are not two.

    Without `columns`, both are among those that the author of the sweep chose, if possible.
    """
    if columns:
        found = measures(of, columns)
        return (found[0], found[1]) if len(found) >= 2 else None
    for known in filter(None, (of.chosen, of.values)):
        both = [next(iter(_first(of, patterns, known)), None) for patterns in (_DELAY, _GAIN)]
        if both[0] and both[1] and both[0] != both[1]:
            return both[0], both[1]
    return None


def _first(of: Sweep, patterns: Sequence[str], known: Sequence[str]) -> list[str]:
    """Returns the columns in `known` that match a pattern, in the order of the patterns.

    A column is left out if its values are all equal, or if neither more nor less is better.

    If a pattern for rates matches several columns, the column with the largest mean comes first.
    """
    found: list[str] = []
    for pattern in patterns:
        fitting = [c for c in matching(pattern, known) if _way(c) is not None and of.frame[c].n_unique() > 1]
        if pattern.endswith("_mbit"):
            fitting.sort(key=lambda c: -float(np.nanmean(of.frame[c].cast(float).to_numpy())))
        found += fitting
    return found


#: An axis describes the line if the last word of its name is one of these, and the name does not contain "queue".
_LINE = ("rate", "delay", "rtt", "loss", "jitter")


def conditions(of: Sweep) -> list[Axis]:
    """Returns the axes whose values a user cannot choose, because they describe the line rather than a queue.

    If all axes describe the line, none is returned.
    """
    found = axes_of(of)
    lines = [a for a in found if "queue" not in a.name and re.split(r"[._ ]", a.name)[-1] in _LINE]
    return lines if len(lines) < len(found) else []


def unfit(of: Sweep) -> str | None:
    """Returns the reason why the Pareto front cannot be drawn; None if it can."""
    if chosen(of, ()) is None:
        return (
            f"{of.label}: a Pareto front needs two measures in which either more or less is better; name them with -c"
        )
    return None


def front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Returns the indices of the points on the Pareto front. In both coordinates, larger values are better."""
    return [i for i, (a, b) in enumerate(points) if not any(c >= a and d >= b and (c > a or d > b) for c, d in points)]


@dataclass(frozen=True, slots=True)
class Spot:
    """A setting, with its values of the two measures that are drawn.

    `best` says whether the setting is on the Pareto front of the settings on the same network line.
    """

    name: str
    x: float
    y: float
    best: bool


def lines_of(of: Sweep, both: Sequence[str], signs: Sequence[int]) -> list[tuple[str, list[Spot]]]:
    """Returns the name of each network line, and the grid points at which both measures have a finite average.

    If no axis describes the network line, all points are on one line, whose name is empty.
    """
    fixed = conditions(of)
    free = [a for a in axes_of(of) if a.name not in {f.name for f in fixed}]
    found: list[tuple[str, list[Spot]]] = []
    for line, rows in groups(of, fixed) if fixed else [("", of.frame)]:
        part = replace(of, frame=rows)
        at = [(name, *(over_seeds(of, some, c) for c in both)) for name, some in groups(part, free)]
        kept = [(n, a.middle, b.middle) for n, a, b in at if a and b and math.isfinite(a.middle + b.middle)]
        best = set(front([(signs[0] * a, signs[1] * b) for _, a, b in kept]))
        found.append((line, [Spot(n, a, b, i in best) for i, (n, a, b) in enumerate(kept)]))
    return [(line, spots) for line, spots in found if spots]


def draw(of: Sweep, options: Options) -> Figure:
    """Draws one marker per grid point; the markers on the Pareto front of each line are filled and joined.

    Where there is room, all markers are named if there are at most `_MOST_NAMES`, otherwise those on a front.
    """
    both = chosen(of, options.columns)
    if both is None:
        raise Unfit(f"{of.label}: a Pareto front needs two columns; name both with -c")
    signs = [_sign(of, column) for column in both]
    found = lines_of(of, both, signs)
    page = sized_figure(options.width, 0.85 if options.width == "column" else 0.6)
    grid = page.figure.subplots()
    every = [spot for _, spots in found for spot in spots]
    names: list[tuple[str, float, float, str]] = []
    fronts: list[list[tuple[float, float]]] = []
    for place, (_, spots) in enumerate(found):
        colour, marker = style.colour(place), style.marker(place)
        for spot in spots:
            grid.plot(
                [spot.x], [spot.y], linestyle="none", marker=marker, markersize=page.text * 0.6, color=colour,
                markerfacecolor=colour if spot.best else "none",
            )  # fmt: skip
        best = sorted((spot for spot in spots if spot.best), key=lambda spot: spot.x)
        grid.plot([s.x for s in best], [s.y for s in best], color=colour, linestyle=style.dashes(place), linewidth=1.0)
        fronts.append([(s.x, s.y) for s in best])
        names += [(s.name, s.x, s.y, colour) for s in (spots if len(every) <= _MOST_NAMES else best)]
    wanted: list[tuple[Literal["x", "y"], str, int]] = [("x", both[0], signs[0]), ("y", both[1], signs[1])]
    for way, column, sign in wanted:
        if style.logarithmic([s.x if way == "x" else s.y for s in every], way, options.log):
            log_scale(grid, way)
        (grid.set_xmargin if way == "x" else grid.set_ymargin)(0.12)
        if sign < 0:
            (grid.invert_xaxis if way == "x" else grid.invert_yaxis)()
        label = axis_label(column) + (", less is better" if sign < 0 else "")
        (grid.set_xlabel if way == "x" else grid.set_ylabel)(label)
    of_what = f", one for each {' and '.join(a.title for a in conditions(of))}" if len(found) > 1 else ""
    title = f"filled: on the Pareto front{of_what}; hollow: another setting is better"
    wide = int(WIDTHS[page.width].inches * 72.0 / (page.text * 0.62))
    grid.set_title("\n".join(textwrap.wrap(title, wide)), fontsize=page.text * 0.9)
    if len(found) > 1:
        legend(page, [line for line, _ in found], markers=True)
    points = [[(spot.x, spot.y)] * 2 for spot in every]
    free_labels(page, grid, names, [*fronts, *points], far=True)
    return page.figure


def _sign(of: Sweep, column: str) -> int:
    way = _way(column)
    if way is None:
        raise Unfit(f"{of.label}: neither more nor less of {column} is better; name another with -c")
    return 1 if way == "more is better" else -1


KIND = Kind(
    "pareto",
    "two measures against each other, and the settings on their Pareto front",
    "sweep",
    unfit,
    draw,
    ("columns", *LIMITS),
    lambda of, options: chosen(of, options.columns) or (),
)
