"""What happened over time: rate, queue, time in the queue, congestion window, round trip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bloatlab.plots.elements import Sheet, legend, settle, sheet
from bloatlab.plots.kind import Asked, Kind
from bloatlab.plots.measures import flows, pings, recorded
from bloatlab.plots.over_time import Strip, draw_strip, mark_changes, needs_log, strips, ticks_of
from bloatlab.plots.style import WIDTHS
from bloatlab.plots.subjects import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: How high one strip is, over the sheet's width.
_STRIP = {"column": 0.36, "page": 0.2, "slide": 0.16}


def lacks(runs: Sequence[Run]) -> str | None:
    """Why there is nothing over time."""
    for run in runs:
        if not (recorded(run) or flows(run) or pings(run)):
            return (
                f"{run.label}: no series were recorded; the scenario's record names the links and apps that have them"
            )
    return None


def draw(runs: Sequence[Run], asked: Asked) -> Figure:
    """A strip per quantity, all under one clock."""
    found = strips(runs)
    each = _STRIP[asked.width]
    of = sheet(asked.width, each * len(found) + 0.08)
    grid = of.figure.subplots(len(found), 1, sharex=True, squeeze=False).ravel()
    inches = WIDTHS[asked.width].inches
    for axes, strip in zip(grid, found, strict=True):
        draw_strip(
            of,
            axes,
            strip,
            max(r.end for r in runs),
            each * inches * 0.8,
            named=len(runs) == 1,
            tops=len(runs) <= 2,
            log=needs_log(strip, runs, asked.log),
        )
    grid[-1].set_xlabel("time (s)")
    of.figure.align_ylabels(list(grid))
    mark_changes(of, list(grid), runs[0])
    _key(of, runs, found)
    settle(of)
    return of.figure


def _key(of: Sheet, runs: Sequence[Run], found: Sequence[Strip]) -> None:
    if len(runs) > 1:
        legend(of, [run.label for run in runs], ticks=ticks_of(found))


KIND = Kind("series", "rate, queue, time in the queue, window and RTT over time; ticks are drops", "runs", lacks, draw)
