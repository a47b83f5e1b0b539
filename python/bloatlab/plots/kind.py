"""What a kind of plot is, and what may be asked of it. `plots.kinds` has them all."""

from __future__ import annotations

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
