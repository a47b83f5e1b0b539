"""Figures 2 to 9 of CableLabs 2012 from our runs, in the paper's order.

Figures 2 to 7 show one and five TCP sessions with a round trip of 100 ms (cases 03 and 05): a ramp of 0.6 s is six
round trips of slow start, which 20 ms would finish in an eighth of a second. Figures 8 and 9 are D04 with 21 packets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from bloatlab.plots import Mark, Panel, Series, style
from bloatlab.report import Drawn
from bloatlab.simulation import Result
from bloatlab.studies.cablelabs2012.measure import forward_ftp, upstream
from bloatlab.studies.cablelabs2012.published import DECLARED
from bloatlab.tables import cumulative_share, rate_series
from bloatlab.workloads.cable_home import UP
from bloatlab.workloads.cable_loads import Case, Queue

#: The series of a run that the figures draw.
Frames = Mapping[str, pl.DataFrame]

_LARGE, _SMALL, _CODEL = Queue.DROPTAIL_417, Queue.DROPTAIL_21, Queue.CODEL

#: Colour and name of each queue where they are drawn over each other.
COLOURS = {_LARGE: style.COLOURS[1], _SMALL: style.COLOURS[2], _CODEL: style.COLOURS[0]}
NAMES = {_LARGE: "DropTail, 417 packets (1 s)", _SMALL: "DropTail, 21 packets (50 ms)", _CODEL: "CoDel"}

#: The title of each queue's panels, and the words of its caption.
_WORDS = {
    _LARGE: ("DropTail 417", "DropTail, 417 packets (bufferbloat)"),
    _SMALL: ("DropTail 21", "DropTail, 21 packets (Buffer Control)"),
    _CODEL: ("CoDel", "CoDel, 417 packets"),
}

#: The number of TCP sessions in words, and the row of Table 2 that has them.
_SESSIONS = {"one TCP session": 3, "five TCP sessions": 5}

#: Values of the text (CableLabs 2012 §4.1) by queue and row: rates; the times when 20 Mbit/s are reached and the burst is used; delays.
_RATES = {(_CODEL, 3): [Mark("75 %", 15.0)]}
_TIMES = {
    (_LARGE, 3): [Mark("0.6 s", 0.6, "x"), Mark("6 s", 6.0, "x")],
    (_LARGE, 5): [Mark("5.8 s", 5.8, "x")],
    (_SMALL, 3): [Mark("10 s", 10.0, "x"), Mark("12 s", 12.0, "x")],
    (_SMALL, 5): [Mark("4.5 s", 4.5, "x"), Mark("6.7 s", 6.7, "x")],
    (_CODEL, 3): [Mark("2.5 s", 2.5, "x")],
}
_DELAYS = {
    (_LARGE, 3): [Mark("1 s", 1000.0), Mark("250 ms", 250.0)],
    (_LARGE, 5): [Mark("1 s", 1000.0), Mark("250 ms", 250.0)],
    (_SMALL, 3): [Mark("50 ms", 50.0)],
    (_SMALL, 5): [Mark("50 ms", 50.0)],
    (_CODEL, 3): [Mark("5 ms", 5.0)],
    (_CODEL, 5): [Mark("5 ms", 5.0), Mark("370 ms", 370.0)],
}


def needed() -> list[Case]:
    """The cases whose series the figures draw."""
    return [Case(n, q) for q in Queue for n in _SESSIONS.values()] + [Case(4, _SMALL)]


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
    for place, (queue, (title, words)) in enumerate(_WORDS.items()):
        of = {(name, n): frames[Case(n, queue).key] for name, n in _SESSIONS.items()}
        rates = [
            _rates(f"{title}: {name}", [_rate(f)], [*_RATES.get((queue, n), []), _MSR, *_TIMES.get((queue, n), [])])
            for (name, n), f in of.items()
        ]
        delays = [
            _panel("delays", f"{title}: {name}", [_delay(f)], marks=_DELAYS[queue, n]) for (name, n), f in of.items()
        ]
        number, about = 2 + 2 * place, {"queue": queue.name.lower(), "words": words}
        drawn.append(DECLARED.figure("throughput", rates, about | {"number": number}))
        drawn.append(DECLARED.figure("delay", delays, about | {"number": number + 1}))
    crowded = frames[Case(4, _SMALL).key]
    return [*_overlaid(frames), *drawn, _depth(crowded), _distribution(crowded)]


def _overlaid(frames: Mapping[str, Frames]) -> list[Drawn]:
    """The queues over each other, for the comparisons of the text."""
    rates: list[Panel] = []
    delays: list[Panel] = []
    for name, n in _SESSIONS.items():
        of = {queue: frames[Case(n, queue).key] for queue in Queue}
        title = f"{name[0].upper()}{name[1:]}, round trip 100 ms"
        rates.append(_rates(title, [_rate(f, NAMES[q], COLOURS[q]) for q, f in of.items()], [_MSR]))
        delay = [_delay(f, NAMES[q], COLOURS[q]) for q, f in of.items()]
        delays.append(_panel("delays", title, delay, y_range=(1.0, 2000.0), log_y=True))
    return [DECLARED.figure("overlay_throughput", rates), DECLARED.figure("overlay_delay", delays)]


_MSR = Mark("MSR", 5.0)


def _panel(kind: str, title: str, series: Sequence[Series], **more: Any) -> Panel:
    return replace(DECLARED.panel({"kind": kind, "title": title}, series), **more)


def _rates(title: str, series: Sequence[Series], marks: Sequence[Mark]) -> Panel:
    return _panel("rates", title, series, marks=(Mark("peak", 20.0), *marks))


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
