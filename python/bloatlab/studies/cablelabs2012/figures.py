"""Figures 2 to 9 of CableLabs 2012 from our runs, in the paper's order.

Figures 2 to 7 show one and five TCP sessions. We draw those with a round trip of 100 ms (cases 03 and 05), because the
ramp in the paper's figures takes 0.6 s, which is six round trips of slow start at 100 ms. At 20 ms, six round trips
would take 0.12 s. Figures 8 and 9 are D04 with 21 packets.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from bloatlab.plots import Series, style
from bloatlab.report import Drawn
from bloatlab.simulation import Result
from bloatlab.studies.cablelabs2012.measure import forward_ftp, upstream
from bloatlab.studies.cablelabs2012.published import DECLARED
from bloatlab.tables import cumulative_share, rate_series
from bloatlab.workloads.cable_home import UP
from bloatlab.workloads.cable_loads import Case, Queue

#: The series of a run that are drawn in figures.
Frames = Mapping[str, pl.DataFrame]

_LARGE, _SMALL, _CODEL = Queue.DROPTAIL_417, Queue.DROPTAIL_21, Queue.CODEL

#: Colour and name of each queue in figures with several queues.
COLOURS = {_LARGE: style.COLOURS[1], _SMALL: style.COLOURS[2], _CODEL: style.COLOURS[0]}
NAMES = {_LARGE: "DropTail, 417 packets (1 s)", _SMALL: "DropTail, 21 packets (50 ms)", _CODEL: "CoDel"}

#: The rows of Table 2 shown in Figures 2 to 7: one and five TCP sessions.
_ROWS = (3, 5)


def needed() -> list[Case]:
    """Returns the cases whose series are drawn in figures."""
    return [Case(n, q) for q in Queue for n in _ROWS] + [Case(4, _SMALL)]


def keep(result: Result) -> Frames:
    """Returns the part of a result that is drawn in figures."""
    up = pl.col("link") == UP
    return {
        "flow_series": forward_ftp(result).select("flow", "t_s", "wire_bytes"),
        "queue_series": upstream(result),
        "queue_histogram": result.table("queue_histogram").filter(up),
    }


def draw(frames: Mapping[str, Frames]) -> list[Drawn]:
    """Draws Figures 2 to 9, and figures with all three queues. `frames` maps cases to the series kept by `keep`."""
    of = {queue: [frames[Case(n, queue).key] for n in _ROWS] for queue in Queue}
    every = list(zip(*of.values(), strict=True))
    drawn = [
        DECLARED.drawn(
            "overlay_throughput",
            *([_rate(f, NAMES[q], COLOURS[q]) for q, f in zip(of, row, strict=True)] for row in every),
        ),
        DECLARED.drawn(
            "overlay_delay",
            *([_delay(f, NAMES[q], COLOURS[q]) for q, f in zip(of, row, strict=True)] for row in every),
        ),
    ]
    for place, queue in enumerate((_LARGE, _SMALL, _CODEL)):
        number, low = 2 + 2 * place, queue.name.lower()
        drawn.append(DECLARED.drawn(f"fig{number}_throughput_{low}", *([_rate(f)] for f in of[queue])))
        drawn.append(DECLARED.drawn(f"fig{number + 1}_delay_{low}", *([_delay(f)] for f in of[queue])))
    crowded = frames[Case(4, _SMALL).key]
    return [*drawn, _depth(crowded), _distribution(crowded)]


def _rate(frames: Frames, name: str = "FTP", colour: str | None = None) -> Series:
    rate = rate_series(frames["flow_series"], "wire_bytes", smooth=2)
    return Series(name, rate["t_s"].to_numpy(), rate["rate_mbit"].to_numpy(), colour=colour)


def _delay(frames: Frames, name: str = "worst of 0.1 s", colour: str | None = None) -> Series:
    up = frames["queue_series"].sort("t_s")
    worst = up["sojourn_ms_max"].fill_null(0).fill_nan(0).to_numpy()
    return Series(name, up["t_s"].to_numpy(), worst, colour=colour)


def _depth(frames: Frames) -> Drawn:
    up = frames["queue_series"].sort("t_s")
    series = Series("queue", up["t_s"].to_numpy(), up["queue_packets_mean"].to_numpy())
    return DECLARED.drawn("fig8_queue_size_d04", [series])


def _distribution(frames: Frames) -> Drawn:
    shares = cumulative_share(frames["queue_histogram"], "packets", "time_share")
    series = Series("ours", shares["packets"].to_numpy(), shares["share"].to_numpy() * 100.0, "step")
    paper = Series("the paper", [14.0], [1.5], "points", style.PUBLISHED, hollow=True)
    return DECLARED.drawn("fig9_queue_cdf_d04", [series, paper])
