"""Figures 2 to 9 of CableLabs 2012 from our runs, in the paper's order.

Figures 2 to 7 show one and five TCP sessions with a round trip of 100 ms (cases 03 and 05): a ramp of 0.6 s is six
round trips of slow start, which 20 ms would finish in an eighth of a second. Figures 8 and 9 are D04 with 21 packets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from bloatlab.plots import Mark, Panel, Series, style
from bloatlab.report import Drawn
from bloatlab.simulation import Result
from bloatlab.studies.cablelabs2012.answer import COLOURS, NAMES
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
_SHORT = {
    Queue.DROPTAIL_417: "DropTail 417",
    Queue.DROPTAIL_21: "DropTail 21",
    Queue.CODEL: "CoDel",
}
#: What the text says of these panels (CableLabs 2012 §4.1): when 20 Mbit/s are reached and when the burst is used, by queue and
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
    """Figures 2 to 9, and the three queues over each other; `frames` holds what `keep` kept, by case key."""
    drawn: list[Drawn] = []
    for place, queue in enumerate(Queue):
        of = {sessions: frames[case(n, queue).key] for sessions, n in _CASES.items()}
        rates = [_rate_panel(queue, sessions, f) for sessions, f in of.items()]
        delays = [_delay_panel(queue, sessions, f) for sessions, f in of.items()]
        low, words = queue.name.lower(), _WORDS[queue]
        drawn.append(
            Drawn(str(2 + 2 * place), f"fig{2 + 2 * place}_throughput_{low}", f"TCP throughput. {words}.", rates)
        )
        drawn.append(Drawn(str(3 + 2 * place), f"fig{3 + 2 * place}_delay_{low}", f"Queueing delay. {words}.", delays))
    crowded = frames[case(4, Queue.DROPTAIL_21).key]
    return [*_overlaid(frames), *drawn, _depth(crowded), _distribution(crowded)]


#: Which case has one transfer, and which five.
_CASES = {1: 3, 5: 5}


def _sessions(sessions: int) -> str:
    return "one TCP session" if sessions == 1 else "five TCP sessions"


def _overlaid(frames: Mapping[str, Frames]) -> list[Drawn]:
    """The queues over each other, as the text compares them."""
    rates: list[Panel] = []
    delays: list[Panel] = []
    for sessions, n in _CASES.items():
        of = {queue: frames[case(n, queue).key] for queue in Queue}
        rate = [replace(_rate(f), label=NAMES[q], colour=COLOURS[q]) for q, f in of.items()]
        delay = [replace(_delay(f), label=NAMES[q], colour=COLOURS[q]) for q, f in of.items()]
        title = f"{_sessions(sessions).replace('one', 'One').replace('five', 'Five')}, round trip 100 ms"
        marks = (Mark("peak", 20.0), Mark("MSR", 5.0))
        rates.append(Panel(title, "time (s)", "rate on the wire (Mbit/s)", rate, (0.0, _SECONDS), (0.0, 22.0), marks))
        delays.append(
            Panel(title, "time (s)", "delay in the queue (ms)", delay, (0.0, _SECONDS), (1.0, 2000.0), log_y=True)
        )
    return [
        Drawn("2, 4, 6", "overlay_throughput", "The three queues over each other: TCP throughput.", rates),
        Drawn("3, 5, 7", "overlay_delay", "The three queues over each other: the worst wait of each 0.1 s.", delays),
    ]


def _rate(frames: Frames) -> Series:
    rate = rate_series(frames["flow_series"], "wire_bytes", smooth=2)
    return Series("FTP", rate["t_s"].to_numpy(), rate["rate_mbit"].to_numpy())


def _delay(frames: Frames) -> Series:
    up = frames["queue_series"].sort("t_s")
    return Series("worst of 0.1 s", up["t_s"].to_numpy(), up["sojourn_ms_max"].fill_null(0).fill_nan(0).to_numpy())


def _rate_panel(queue: Queue, sessions: int, frames: Frames) -> Panel:
    stuck = [Mark("75 %", 15.0)] if (queue, sessions) == (Queue.CODEL, 1) else []
    times = [Mark(label, at, "x") for label, at in _TIMES.get((queue, sessions), ())]
    return Panel(
        f"{_SHORT[queue]}: {_sessions(sessions)}",
        "time (s)",
        "rate on the wire (Mbit/s)",
        [_rate(frames)],
        x_range=(0.0, _SECONDS),
        y_range=(0.0, 22.0),
        marks=(Mark("peak", 20.0), *stuck, Mark("MSR", 5.0), *times),
    )


def _delay_panel(queue: Queue, sessions: int, frames: Frames) -> Panel:
    level, words = _WORST_MS[queue]
    marks = [Mark(words, level), *(Mark(label, ms) for label, ms in _SPIKES_MS.get((queue, sessions), ()))]
    title = f"{_SHORT[queue]}: {_sessions(sessions)}"
    return Panel(title, "time (s)", "delay in the queue (ms)", [_delay(frames)], (0.0, _SECONDS), marks=marks)


def _depth(frames: Frames) -> Drawn:
    up = frames["queue_series"].sort("t_s")
    series = Series("queue", up["t_s"].to_numpy(), up["queue_packets_mean"].to_numpy())
    panel = Panel(
        "DropTail, 21 packets: five TCP sessions, 20 ms (D04)",
        "time (s)",
        "packets in the queue (mean of 0.1 s)",
        [series],
        y_range=(0.0, 23.0),
        marks=(Mark("21", 21.0), Mark("5 free", 15.0)),
    )
    return Drawn("8", "fig8_queue_size_d04", "Queue size over time, case D04 with a buffer of 21 packets.", [panel], 1)


def _distribution(frames: Frames) -> Drawn:
    shares = cumulative_share(frames["queue_histogram"], "packets", "time_share")
    series = Series("ours", shares["packets"].to_numpy(), shares["share"].to_numpy() * 100.0, "step")
    paper = Series("the paper", [14.0], [1.5], "points", style.PUBLISHED, hollow=True)
    panel = Panel(
        "DropTail, 21 packets: five TCP sessions, 20 ms (D04)",
        "packets in the queue",
        "share of the time at or below (%)",
        [series, paper],
        x_range=(0.0, 21.0),
        y_range=(0.0, 101.0),
        whole_x=True,
        marks=(Mark("5 free", 15.0, "x"),),
    )
    caption = (
        "Cumulative distribution of the queue size, case D04 with a buffer of 21 packets. The paper has at most 5 free "
        "slots for 98.5 % of the time."
    )
    return Drawn("9", "fig9_queue_cdf_d04", caption, [panel], 1)
