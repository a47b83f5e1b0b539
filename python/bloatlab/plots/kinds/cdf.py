"""The plot kinds cdf (the share of delays at or below a value) and ccdf (the share above it, on a logarithmic axis)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bloatlab.plots import style
from bloatlab.plots.delays import axis_of, chosen, unfit
from bloatlab.plots.elements import curve, legend, log_scale, settle, sized_figure
from bloatlab.plots.kind import LIMITS, Kind, Options
from bloatlab.plots.measures import Distribution
from bloatlab.plots.style import Axes, Figure, Log
from bloatlab.plots.subjects import Run, Unfit

#: The shortest delay to show on a logarithmic axis, in ms. Shorter delays make no difference to users.
FLOOR = 0.01

_HEIGHT = {"column": 0.75, "page": 0.5, "slide": 0.5}


def distributions_of(runs: Sequence[Run], options: Options) -> list[Distribution]:
    """Returns the distributions that `options.of` selects. Raises `Unfit` if there are none."""
    found = chosen(runs, options.of)
    if not found:
        raise Unfit(
            f"--of {options.of}: no link, application or quantity (sojourn, delay, rtt) with a distribution in all"
        )
    return found


def span(axes: Axes, least: Sequence[float], most: Sequence[float], *, log: bool) -> None:
    """Sets the limits of a delay axis, which ends just above the largest value in `most`.

    A linear axis begins at 0. A logarithmic axis begins just below `FLOOR` or the smallest value in `least`, whichever
    is larger.
    """
    high = max(most) or 1.0
    if log:
        log_scale(axes, "x")
        axes.set_xlim(0.8 * max(FLOOR, min(least)), 1.2 * high)
    else:
        axes.set_xlim(0.0, 1.03 * high)


def _span(axes: Axes, found: Sequence[Distribution], log: Log | None) -> None:
    """Sets the scale (linear or logarithmic) and the limits of the delay axis.

    By default, the medians and the 99th percentiles decide the scale. Minima do not, because they may be 0.
    """
    typical = [max(one.quantile(q), FLOOR) for one in found for q in (0.5, 0.99)]
    ends = [one.quantile(0.01) for one in found], [float(one.values[-1]) for one in found]
    span(axes, *ends, log=style.logarithmic(typical, "x", log))


def draw_cdf(axes: Axes, found: Sequence[Distribution], log: Log | None) -> None:
    """Draws the share at or below each value; the line starts at share 0 at the smallest value."""
    for place, of in enumerate(found):
        shares = np.concatenate([[0.0], of.shares()])
        curve(axes, np.concatenate([of.values[:1], of.values]), shares, place, step=True)
    axes.set_ylim(0.0, 1.02)
    _span(axes, found, log)
    axes.set_ylabel("share at or below")


def draw_ccdf(axes: Axes, found: Sequence[Distribution], log: Log | None) -> None:
    """Draws the share above each value. The largest value is left out, because no value is above it."""
    least = 1.0
    for place, of in enumerate(found):
        above = (1.0 - of.shares())[:-1]
        curve(axes, of.values[:-1], above, place, step=True)
        least = min(least, float(above[above > 1e-9].min(initial=1.0)))
    log_scale(axes, "y")
    axes.set_ylim(10.0 ** np.floor(np.log10(least)), 1.0)
    _span(axes, found, log)
    axes.set_ylabel("share above")


def _figure(
    runs: Sequence[Run], options: Options, lines: Callable[[Axes, list[Distribution], Log | None], None]
) -> Figure:
    found = distributions_of(runs, options)
    of = sized_figure(options.width, _HEIGHT[options.width])
    axes = of.figure.subplots()
    lines(axes, found, options.log)
    axes.set_xlabel(axis_of(runs, found))
    legend(of, [one.label for one in found])
    settle(of)
    return of.figure


KIND = Kind(
    "cdf",
    "the share of packets (or pings) whose delay is at or below each value",
    "runs",
    unfit,
    lambda runs, options: _figure(runs, options, draw_cdf),
    ("of", *LIMITS),
)
CCDF = Kind(
    "ccdf",
    "the share whose delay is above each value, on a log scale: the rare long ones",
    "runs",
    unfit,
    lambda runs, options: _figure(runs, options, draw_ccdf),
    ("of", *LIMITS),
)
