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
    #: The subject of a distribution, trace or sequence: a link, an application, or sojourn, delay or rtt.
    of: str | None = None
    #: The axis of a sweep to put on the x axis.
    x: str | None = None
    #: Patterns of the sweep's columns to draw.
    columns: Sequence[str] = ()
    #: A title above the figure.
    title: str = ""
    #: A name for each result, in order; by default the settings in which the results differ.
    labels: Sequence[str] = ()
    #: `xlim` and `ylim`: axis limits in the axis's unit, for the first panel and the panels that share its axis.
    xlim: tuple[float, float] | None = None
    ylim: tuple[float, float] | None = None
    #: The logarithmic axes; with None, this depends on the values of each axis.
    log: Log | None = None


@dataclass(frozen=True)
class Kind:
    """A kind of plot: its name, its description, its subject, and the function that draws it.

    `unfit` returns one line that says why this kind cannot draw the given runs or sweep, or None if it can.
    """

    name: str
    description: str
    takes: Literal["runs", "sweep"]
    unfit: Callable[[Any], str | None]
    draw: Callable[[Any, Options], Figure]
