"""What happened over time: rate, queue, time in the queue, congestion window, round trip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bloatlab.plots.kind import Asked, Kind
from bloatlab.plots.measures import flows, pings, recorded
from bloatlab.plots.over_time import stacked, time_panels
from bloatlab.plots.subjects import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def lacks(runs: Sequence[Run]) -> str | None:
    """Why there is nothing over time."""
    for run in runs:
        if not (recorded(run) or flows(run) or pings(run)):
            return (
                f"{run.label}: no series were recorded; the scenario's record names the links and apps that have them"
            )
    return None


def draw(runs: Sequence[Run], asked: Asked) -> Figure:
    """A panel per quantity, all under one clock."""
    return stacked(runs, asked, time_panels(runs))


KIND = Kind("series", "rate, queue, time in the queue, window and RTT over time; ticks are drops", "runs", lacks, draw)
