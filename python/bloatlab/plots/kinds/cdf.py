"""How delay is distributed: the share at or below each value, and (ccdf) the share above it, on a log scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bloatlab.plots import style
from bloatlab.plots.delays import chosen, lacks, what
from bloatlab.plots.elements import curve, legend, log_scale, settle, sized_figure
from bloatlab.plots.kind import Asked, Kind
from bloatlab.plots.measures import Array, Distribution
from bloatlab.plots.style import Log
from bloatlab.plots.subjects import Run, Unfit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Less than this many ms nobody tells from nothing; a logarithmic axis begins here at the earliest.
FLOOR = 0.01

_HEIGHT = {"column": 0.75, "page": 0.5, "slide": 0.5}


def asked_for(runs: Sequence[Run], asked: Asked) -> list[Distribution]:
    """The distributions to draw. Raises `Unfit` where `of` names none."""
    found = chosen(runs, asked.of)
    if not found:
        raise Unfit(
            f"--of {asked.of}: no link, application or quantity (sojourn, delay, rtt) with a distribution in all"
        )
    return found


def steps(of: Distribution) -> tuple[Array, Array]:
    """The values, and the share at or below each, from 0 at the least."""
    return np.concatenate([of.values[:1], of.values]), np.concatenate([[0.0], of.shares()])


def above(of: Distribution) -> tuple[Array, Array]:
    """The values, and the share above each; the last, above which nothing is, is left out."""
    return of.values[:-1], (1.0 - of.shares())[:-1]


def span(axes: Axes, least: Sequence[float], most: Sequence[float], *, log: bool) -> None:
    """Limits of an axis of delays: from 0, or on a logarithmic one from the least, to a little beyond the greatest."""
    high = max(most) or 1.0
    if log:
        log_scale(axes, "x")
        axes.set_xlim(0.8 * max(FLOOR, min(least)), 1.2 * high)
    else:
        axes.set_xlim(0.0, 1.03 * high)


def is_log(found: Sequence[Distribution], asked: Log | None) -> bool:
    """Whether the delays need a logarithmic axis: by medians and 99 %, as single packets may not wait at all."""
    return style.logarithmic([max(one.quantile(q), FLOOR) for one in found for q in (0.5, 0.99)], "x", asked)


def draw_cdf(axes: Axes, found: Sequence[Distribution], asked: Log | None) -> None:
    """The lines and axes of a distribution."""
    for place, of in enumerate(found):
        curve(axes, *steps(of), place, step=True)
    axes.set_ylim(0.0, 1.02)
    _limits(axes, found, asked)
    axes.set_ylabel("share at or below")


def _limits(axes: Axes, found: Sequence[Distribution], asked: Log | None) -> None:
    ends = [one.quantile(0.01) for one in found], [float(one.values[-1]) for one in found]
    span(axes, *ends, log=is_log(found, asked))


def _cdf(runs: Sequence[Run], asked: Asked) -> Figure:
    return _drawn(runs, asked, log=False)


def _ccdf(runs: Sequence[Run], asked: Asked) -> Figure:
    return _drawn(runs, asked, log=True)


def _drawn(runs: Sequence[Run], asked: Asked, *, log: bool) -> Figure:
    found = asked_for(runs, asked)
    of = sized_figure(asked.width, _HEIGHT[asked.width])
    axes = of.figure.subplots()
    if log:
        least = 1.0
        for place, one in enumerate(found):
            x, y = above(one)
            curve(axes, x, y, place, step=True)
            least = min(least, float(y[y > 1e-9].min(initial=1.0)))
        log_scale(axes, "y")
        axes.set_ylim(10.0 ** np.floor(np.log10(least)), 1.0)
        _limits(axes, found, asked.log)
        axes.set_ylabel("share above")
    else:
        draw_cdf(axes, found, asked.log)
    axes.set_xlabel(what(runs, found))
    legend(of, [one.label for one in found])
    settle(of)
    return of.figure


KIND = Kind("cdf", "the share of packets (or pings) whose delay is at or below each value", "runs", lacks, _cdf)
CCDF = Kind(
    "ccdf", "the share whose delay is above each value, on a log scale: the rare long ones", "runs", lacks, _ccdf
)
