"""How delay is distributed: the share at or below each value, and (ccdf) the share above it, on a log scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bloatlab.plots.delays import chosen, lacks, what
from bloatlab.plots.kinds import Asked, Kind
from bloatlab.plots.measures import Array, Distribution
from bloatlab.plots.sheet import curve, legend, settle, sheet
from bloatlab.plots.subjects import Run, Unfit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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


def draw_cdf(axes: Axes, found: Sequence[Distribution]) -> None:
    """The lines and axes of a distribution."""
    for place, of in enumerate(found):
        curve(axes, *steps(of), place, step=True)
    axes.set_ylim(0.0, 1.02)
    _from_nothing(axes, found)
    axes.set_ylabel("share at or below")


def _from_nothing(axes: Axes, found: Sequence[Distribution]) -> None:
    """From 0 to a little beyond the greatest value."""
    axes.set_xlim(0.0, 1.02 * max(float(one.values[-1]) for one in found) or 1.0)


def _cdf(runs: Sequence[Run], asked: Asked) -> Figure:
    return _drawn(runs, asked, log=False)


def _ccdf(runs: Sequence[Run], asked: Asked) -> Figure:
    return _drawn(runs, asked, log=True)


def _drawn(runs: Sequence[Run], asked: Asked, *, log: bool) -> Figure:
    found = asked_for(runs, asked)
    of = sheet(asked.width, _HEIGHT[asked.width])
    axes = of.figure.subplots()
    if log:
        least = 1.0
        for place, one in enumerate(found):
            x, y = above(one)
            curve(axes, x, y, place, step=True)
            least = min(least, float(y[y > 1e-9].min(initial=1.0)))
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(lambda *_: "")
        axes.set_ylim(10.0 ** np.floor(np.log10(least)), 1.0)
        _from_nothing(axes, found)
        axes.set_ylabel("share above")
    else:
        draw_cdf(axes, found)
    axes.set_xlabel(what(runs, found))
    legend(of, [one.label for one in found])
    settle(of)
    return of.figure


KIND = Kind("cdf", "the share of packets (or pings) whose delay is at or below each value", "runs", lacks, _cdf)
CCDF = Kind(
    "ccdf", "the share whose delay is above each value, on a log scale: the rare long ones", "runs", lacks, _ccdf
)
