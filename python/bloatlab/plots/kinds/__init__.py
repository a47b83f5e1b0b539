"""The kinds of plot: one module each, and the one list that knows them all."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from bloatlab.plots.style import Log, Width

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Asked:
    """What a person may ask for beside the kind."""

    width: Width = "page"
    #: A link, an application, or sojourn, delay or rtt: what a distribution or a trace is of, a sequence's flow.
    of: str | None = None
    #: The axis along x of a sweep's plot.
    x: str | None = None
    #: Columns of a sweep, by pattern.
    columns: Sequence[str] = ()
    #: A line above everything.
    title: str = ""
    #: A name for each result, in their order, in place of what tells them apart.
    labels: Sequence[str] = ()
    #: From and to, in the axis's unit; of the first panel, and of those that share its axis.
    xlim: tuple[float, float] | None = None
    ylim: tuple[float, float] | None = None
    #: Logarithmic axes; None leaves it to each kind's values.
    log: Log | None = None


@dataclass(frozen=True)
class Kind:
    """A kind of plot. `lacks` says why something cannot be drawn so, in one line; None where it can."""

    name: str
    says: str
    takes: Literal["runs", "sweep"]
    lacks: Callable[[Any], str | None]
    draw: Callable[[Any, Asked], Figure]


#: The kinds by name and the module that has each, in the order in which help lists them.
_MODULES = {
    "overview": "overview",
    "series": "series",
    "cdf": "cdf",
    "ccdf": "cdf",
    "box": "box",
    "ellipse": "ellipse",
    "flows": "flows",
    "sequence": "sequence",
    "trace": "trace",
    "lines": "lines",
    "heatmap": "heatmap",
    "pareto": "pareto",
}

NAMES = tuple(_MODULES)


def kind(name: str) -> Kind:
    """The kind of this name. Raises `KeyError`."""
    module = importlib.import_module(f"bloatlab.plots.kinds.{_MODULES[name]}")
    found: Kind = module.CCDF if name == "ccdf" else module.KIND
    return found


def kinds(takes: Literal["runs", "sweep"]) -> list[Kind]:
    """All kinds that draw this."""
    return [of for of in map(kind, NAMES) if of.takes == takes]
