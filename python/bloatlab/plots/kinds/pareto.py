"""Two measures of a sweep against each other: what no other place beats in both is the Pareto front.

Which way is better is `differences.DIRECTIONS`; both axes are turned so that better is up and to the right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bloatlab.differences import direction
from bloatlab.plots import style
from bloatlab.plots.kinds import Asked, Kind
from bloatlab.plots.labels import safe
from bloatlab.plots.places import free_labels
from bloatlab.plots.sheet import legend, sheet
from bloatlab.plots.subjects import Sweep, Unfit
from bloatlab.plots.sweeps import axes as axes_of
from bloatlab.plots.sweeps import groups, measures, over_seeds, words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: What is drawn unless two columns are named: the first of each that varies.
_DELAY = ("links.*.sojourn_ms.p99", "apps.*.ping.induced_ms", "apps.*.delay_ms.p99", "*delay*p99*", "*_ms*")
_GAIN = (
    "apps.*.goodput_mbit",
    "apps.*.web.page_load_s.median",
    "apps.*.voip.mos",
    "links.*.utilisation",
    "*MOS*",
    "*FTP*",
)

#: Not in the table of directions, but plain where two measures are traded for each other.
_WAYS = {"utilisation": "more is better"}


def _way(column: str) -> str | None:
    if "MOS" in column or "FTP" in column or "completed" in column:
        return "more is better"
    return (
        direction(column) or _WAYS.get(column.rsplit(".", 1)[-1]) or ("less is better" if "delay" in column else None)
    )


def chosen(of: Sweep, columns: Sequence[str]) -> tuple[str, str] | None:
    """The two measures: along x and along y."""
    if columns:
        found = measures(of, columns)
        return (found[0], found[1]) if len(found) >= 2 else None
    both = [next(iter(_first(of, patterns)), None) for patterns in (_DELAY, _GAIN)]
    return (both[0], both[1]) if both[0] and both[1] and both[0] != both[1] else None


def _first(of: Sweep, patterns: Sequence[str]) -> list[str]:
    found: list[str] = []
    for pattern in patterns:
        try:
            found += [c for c in measures(of, [pattern]) if _way(c) is not None and of.frame[c].n_unique() > 1]
        except Unfit:
            continue
    return found


def lacks(of: Sweep) -> str | None:
    """Why there is no trade to show."""
    if chosen(of, ()) is None:
        return f"{of.label}: a Pareto front needs two measures of which more or less is better; name them with -c"
    return None


def front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Which points no other beats, more being better in both: none is at least as good in both and better in one."""
    return [i for i, (a, b) in enumerate(points) if not any(c >= a and d >= b and (c > a or d > b) for c, d in points)]


def draw(of: Sweep, asked: Asked) -> Figure:
    """A mark per place, the front joined and named."""
    both = chosen(of, asked.columns)
    if both is None:
        raise Unfit(f"{of.label}: a Pareto front needs two columns; name both with -c")
    signs = [_sign(of, column) for column in both]
    found = [(name, *(over_seeds(of, rows, c) for c in both)) for name, rows in groups(of, axes_of(of))]
    kept = [
        (n, a.middle, b.middle) for n, a, b in found if a and b and math.isfinite(a.middle) and math.isfinite(b.middle)
    ]
    best = set(front([(signs[0] * a, signs[1] * b) for _, a, b in kept]))
    page = sheet(asked.width, 0.85 if asked.width == "column" else 0.6)
    grid = page.figure.subplots()
    for i, (_, a, b) in enumerate(kept):
        place, fade = (0, 1.0) if i in best else (1, 0.55)
        look: dict[str, Any] = {"marker": style.MARKERS[place], "color": style.colour(place), "alpha": fade}
        grid.plot([a], [b], linestyle="none", markersize=page.text * 0.6, **look)
    line = np.array(sorted((kept[i][1], kept[i][2]) for i in best))
    grid.plot(line[:, 0], line[:, 1], color=style.colour(0), linewidth=1.0)
    for way, column, sign in (("x", both[0], signs[0]), ("y", both[1], signs[1])):
        values = [a if way == "x" else b for _, a, b in kept]
        if min(values) > 0.0 and max(values) / min(values) > 20.0:
            (grid.set_xscale if way == "x" else grid.set_yscale)("log")
            axis = grid.xaxis if way == "x" else grid.yaxis
            axis.set_major_formatter("{x:g}")
            axis.set_minor_formatter(lambda *_: "")
        (grid.set_xmargin if way == "x" else grid.set_ymargin)(0.12)
        if sign < 0:
            (grid.invert_xaxis if way == "x" else grid.invert_yaxis)()
        label = words(column) + (", less is better" if sign < 0 else "")
        (grid.set_xlabel if way == "x" else grid.set_ylabel)(label)
    legend_words = ["on the front", "beaten in one and not better in the other"]
    legend(page, legend_words, lines=False)
    free_labels(page, grid, [(safe(kept[i][0], 40), kept[i][1], kept[i][2], style.colour(0)) for i in sorted(best)])
    return page.figure


def _sign(of: Sweep, column: str) -> int:
    way = _way(column)
    if way is None:
        raise Unfit(f"{of.label}: of {column} neither more nor less is better; name another with -c")
    return 1 if way == "more is better" else -1


KIND = Kind(
    "pareto", "two measures against each other, and the places that no other beats in both", "sweep", lacks, draw
)
