"""The plot kind `series`: rate, queue, time in the queue, window, round-trip time and live video over time."""

from __future__ import annotations

from collections.abc import Sequence

from bloatlab.plots.kind import Kind, Options
from bloatlab.plots.measures import flows, pings, recorded
from bloatlab.plots.over_time import stacked, time_panels
from bloatlab.plots.style import Figure
from bloatlab.plots.subjects import Run


def unfit(runs: Sequence[Run]) -> str | None:
    """Returns the reason why the series cannot be drawn; None if they can."""
    for run in runs:
        if not (recorded(run) or flows(run) or pings(run)):
            return (
                f"{run.label}: no series were recorded; the scenario's record names the links and apps that have them"
            )
    return None


def draw(runs: Sequence[Run], options: Options) -> Figure:
    """Draws one panel per quantity, sharing a time axis."""
    return stacked(runs, options, time_panels(runs))


KIND = Kind("series", "rate, queue, time in the queue, window and RTT over time; ticks are drops", "runs", unfit, draw)
