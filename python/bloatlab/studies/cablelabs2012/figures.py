"""Figures 2 to 9 of doc 001 from our runs, in the paper's order.

Figures 2 to 7 show one and five TCP sessions with a round trip of 100 ms (cases 03 and 05): a ramp of 0.6 s is six
round trips of slow start, which 20 ms would finish in an eighth of a second. Figures 8 and 9 are D04 with 21 packets.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from bloatlab.plots import Mark, Panel, Series
from bloatlab.report import Drawn
from bloatlab.simulation import Result
from bloatlab.studies.cablelabs2012.build import UP
from bloatlab.studies.cablelabs2012.cases import Case, Queue, case
from bloatlab.studies.cablelabs2012.measure import forward_ftp, upstream
from bloatlab.tables import cumulative_share, rate_series

#: What the figures keep of a run: the series they draw.
Frames = Mapping[str, pl.DataFrame]

_SECONDS = 30.0
_WORDS = {
    Queue.DROPTAIL_417: "DropTail, 417 packets (bufferbloat)",
    Queue.DROPTAIL_21: "DropTail, 21 packets (Buffer Control)",
    Queue.CODEL: "CoDel, 417 packets",
}
#: What the text says of these panels (doc 001 §4.1): when 20 Mbit/s are reached and when the burst is used, by queue and
#: number of TCP sessions, in seconds.
_TIMES: dict[tuple[Queue, int], tuple[tuple[str, float], ...]] = {
    (Queue.DROPTAIL_417, 1): (("0.6 s", 0.6), ("6 s", 6.0)),
    (Queue.DROPTAIL_417, 5): (("5.8 s", 5.8),),
    (Queue.DROPTAIL_21, 1): (("10 s", 10.0), ("12 s", 12.0)),
    (Queue.DROPTAIL_21, 5): (("4.5 s", 4.5), ("6.7 s", 6.7)),
    (Queue.CODEL, 1): (("2.5 s", 2.5),),
}
_SPIKES_MS = {
    (Queue.DROPTAIL_417, 1): (("250 ms", 250.0),),
    (Queue.DROPTAIL_417, 5): (("250 ms", 250.0),),
    (Queue.CODEL, 5): (("370 ms", 370.0),),
}
_WORST_MS = {Queue.DROPTAIL_417: (1000.0, "1 s"), Queue.DROPTAIL_21: (50.0, "50 ms"), Queue.CODEL: (5.0, "5 ms")}


def needed() -> list[Case]:
    """The cases whose series the figures draw."""
    return [case(n, q) for q in Queue for n in (3, 5)] + [case(4, Queue.DROPTAIL_21)]


def keep(result: Result) -> Frames:
    """The part of a result that the figures draw."""
    up = pl.col("link") == UP
    return {
        "flow_series": forward_ftp(result).select("flow", "t_s", "wire_bytes"),
        "queue_series": upstream(result),
        "queue_histogram": result.table("queue_histogram").filter(up),
    }


def draw(frames: Mapping[str, Frames]) -> list[Drawn]:
    """Figures 2 to 9; `frames` holds what `keep` kept, by case key."""
    drawn: list[Drawn] = []
    for place, queue in enumerate(Queue):
        single, five = frames[case(3, queue).key], frames[case(5, queue).key]
        drawn.append(_throughput(2 + 2 * place, queue, single, five))
        drawn.append(_delay(3 + 2 * place, queue, single, five))
    crowded = frames[case(4, Queue.DROPTAIL_21).key]
    return [*drawn, _depth(crowded), _distribution(crowded)]


def _throughput(number: int, queue: Queue, single: Frames, five: Frames) -> Drawn:
    panels = [
        _rate_panel("One TCP session", queue, 1, single),
        _rate_panel("Five TCP sessions, together", queue, 5, five),
    ]
    return Drawn(
        str(number), f"fig{number}_throughput_{queue.name.lower()}", f"TCP throughput. {_WORDS[queue]}.", panels
    )


def _rate_panel(title: str, queue: Queue, sessions: int, frames: Frames) -> Panel:
    stuck = [Mark("75 %", 15.0)] if (queue, sessions) == (Queue.CODEL, 1) else []
    times = [Mark(label, at, "x") for label, at in _TIMES.get((queue, sessions), ())]
    rate = rate_series(frames["flow_series"], "wire_bytes", smooth=2)
    return Panel(
        title,
        "time (s)",
        "rate on the wire (Mbit/s)",
        [Series("FTP", rate["t_s"].to_numpy(), rate["rate_mbit"].to_numpy())],
        x_range=(0.0, _SECONDS),
        y_range=(0.0, 22.0),
        marks=(Mark("peak", 20.0), *stuck, Mark("MSR", 5.0), *times),
    )


def _delay(number: int, queue: Queue, single: Frames, five: Frames) -> Drawn:
    panels = [_delay_panel("One TCP session", queue, 1, single), _delay_panel("Five TCP sessions", queue, 5, five)]
    return Drawn(str(number), f"fig{number}_delay_{queue.name.lower()}", f"Queueing delay. {_WORDS[queue]}.", panels)


def _delay_panel(title: str, queue: Queue, sessions: int, frames: Frames) -> Panel:
    up = frames["queue_series"].sort("t_s")
    level, words = _WORST_MS[queue]
    marks = [Mark(words, level), *(Mark(label, ms) for label, ms in _SPIKES_MS.get((queue, sessions), ()))]
    series = Series("worst of 0.1 s", up["t_s"].to_numpy(), up["sojourn_ms_max"].fill_null(0).fill_nan(0).to_numpy())
    return Panel(title, "time (s)", "delay in the queue (ms)", [series], (0.0, _SECONDS), marks=marks)


def _depth(frames: Frames) -> Drawn:
    up = frames["queue_series"].sort("t_s")
    series = Series("queue", up["t_s"].to_numpy(), up["queue_packets_mean"].to_numpy())
    panel = Panel(
        "D04, 21 packets",
        "time (s)",
        "packets in the queue (mean of 0.1 s)",
        [series],
        y_range=(0.0, 23.0),
        marks=(Mark("21", 21.0), Mark("5 free", 16.0)),
    )
    return Drawn("8", "fig8_queue_size_d04", "Queue size over time, case D04 with a buffer of 21 packets.", [panel], 1)


def _distribution(frames: Frames) -> Drawn:
    shares = cumulative_share(frames["queue_histogram"], "packets", "time_share")
    series = Series("share", shares["packets"].to_numpy(), shares["share"].to_numpy() * 100.0, "step")
    panel = Panel(
        "D04, 21 packets",
        "packets in the queue",
        "share of the time at or below (%)",
        [series],
        x_range=(0.0, 21.0),
        y_range=(0.0, 101.0),
        whole_x=True,
        marks=(Mark("5 free: 1.5 % below", 16.0, "x"),),
    )
    caption = (
        "Cumulative distribution of the queue size, case D04 with a buffer of 21 packets. The paper has at most 5 free "
        "slots for 98.5 % of the time."
    )
    return Drawn("9", "fig9_queue_cdf_d04", caption, [panel], 1)
