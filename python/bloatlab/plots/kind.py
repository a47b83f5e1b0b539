"""A kind of plot, and the options of a plot. `plots.kinds` contains all kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bloatlab.plots.style import Figure, Log, Width


@dataclass(frozen=True)
class Options:
    """The options of a plot, besides its kind."""

    width: Width = "page"
    #: What to draw, if a run has several candidates. For delay distributions, this is a link, an application, or one of
    #: the quantities sojourn, delay and rtt; for a trace, a link or an application; for a sequence, an application.
    of: str | None = None
    #: The sweep's axis that is drawn along x.
    x: str | None = None
    #: The columns of the sweep to draw, as names or wildcard patterns such as `links.*.utilisation`.
    columns: Sequence[str] = ()
    #: A title above the figure.
    title: str = ""
    #: A name for each result, in order; by default the settings in which the results differ.
    labels: Sequence[str] = ()
    #: `xlim` and `ylim`: axis limits in the axis's unit, for the first panel. `xlim` also applies to the panels that
    #: share its x axis, `ylim` to the panels with the same y label.
    xlim: tuple[float, float] | None = None
    ylim: tuple[float, float] | None = None
    #: The axes with a logarithmic scale. With None, the values on each axis determine its scale.
    log: Log | None = None


#: The names of the options that not all kinds use, and the names of the axis limits among them.
OPTIONAL = ("of", "x", "columns", "xlim", "ylim")
LIMITS = ("xlim", "ylim")


@dataclass(frozen=True)
class Kind:
    """A kind of plot: its name, its description, its input (runs or a sweep), and the function that draws it.

    `unfit` returns one line that says why this kind cannot draw the given runs or sweep, or None if it can. `uses` has
    the options in `OPTIONAL` that have an effect; the others in `OPTIONAL` are refused. `shown` returns the measures of
    a sweep that are drawn, and nothing for kinds that draw runs.
    """

    name: str
    description: str
    takes: Literal["runs", "sweep"]
    unfit: Callable[[Any], str | None]
    draw: Callable[[Any, Options], Figure]
    uses: Sequence[str] = LIMITS
    shown: Callable[[Any, Options], Sequence[str]] = lambda _of, _options: ()
