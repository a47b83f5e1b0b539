"""The report's Figures 1 to 10 from our runs (window, queue, round-trip time), the fetch times beside, and the remedies."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from bloatlab.plots import Mark, Panel, Series
from bloatlab.report import Drawn
from bloatlab.studies.csc458.build import QUEUES, TODAY, Case, Lab
from bloatlab.studies.csc458.scorecard import MEAN, PRINTED

#: Series of one run, as `measure.series` keeps them.
Frames = Mapping[str, pl.DataFrame]

#: Payload of a segment, for windows in segments.
MSS = 1448


def needed() -> list[Case]:
    """The cases whose series the figures draw."""
    return [*(Case("reno", q, 2) for q in QUEUES), Case("bbr", 100, 2), *(Case("reno", queue=q) for q in TODAY)]


def draw(frames: Mapping[str, Frames]) -> list[Drawn]:
    """The figures; `frames` holds the series by case key."""
    lab = Lab()
    kit = {q: frames[Case("reno", q, 2).key] for q in QUEUES}
    numbers = {5: ("1", "2", "8"), 20: ("3", "4", "9"), 100: ("5", "6", "10")}
    drawn: list[Drawn] = []
    for q in QUEUES:
        first, second, third = numbers[q]
        panels = [_queue(kit[q], f"Queue of Reno, Q = {q}", 2 * q), _cwnd(kit[q], f"Window of Reno, Q = {q}"),
                  _rtt(kit[q], f"Pings, Q = {q}", lab.eq2_ms(q), lab.eq2_ms(2 * q)),
                  _fetch(kit[q], f"Page fetches, Q = {q}", PRINTED[q, MEAN])]  # fmt: skip
        caption = (
            f"Reno with a queue of {q} packets, super-segments of two: the report’s figures {first}, {second} and {third}, "
            "and the fetch times of its table."
        )
        drawn.append(Drawn(f"{first}, {second}, {third}", f"q{q}", caption, panels))
    drawn.append(_compared(frames))
    return drawn


def lab_panels(frames: Frames, packets: int | None, lab: Lab) -> list[Panel]:
    """The four plots of one run of the lab."""
    marks = () if packets is None else (packets,)
    return [
        _queue(frames, "Queue", *marks),
        _cwnd(frames, "Window"),
        _rtt(frames, "Round-trip time", *(lab.eq2_ms(p) for p in marks)),
        _fetch(frames, "Page fetches"),
    ]


def _queue(frames: Frames, title: str, *levels: int) -> Panel:
    f = frames["queue"]
    series = [Series("queue", f["t_s"].to_numpy(), f["packets"].to_numpy())]
    return Panel(title, "time (s)", "queue (segments)", series, marks=[Mark(str(n), float(n)) for n in levels])


def _cwnd(frames: Frames, title: str) -> Panel:
    f = frames["cwnd"]
    series = [Series("cwnd", f["t_s"].to_numpy(), f["cwnd_bytes"].to_numpy() / MSS)]
    return Panel(title, "time (s)", "window (segments)", series)


def _rtt(frames: Frames, title: str, *levels: float) -> Panel:
    f = frames["ping"]
    series = [Series("ping", f["t_s"].to_numpy(), f["rtt_ms"].to_numpy())]
    return Panel(title, "time (s)", "RTT (ms)", series, marks=[Mark(f"{ms:.0f}", ms) for ms in levels])


#: All fetches on one scale, in s.
_FETCH_S = 2.5


def _fetch(frames: Frames, title: str, *means: float) -> Panel:
    f = frames["fetch"]
    took = f["took_s"].to_numpy()
    series = [Series("fetch", f["start_s"].to_numpy(), took, "points")]
    top = None if len(took) and float(took.max()) > _FETCH_S else _FETCH_S
    marks = [Mark(f"{seconds:.2f}", seconds) for seconds in means]
    return Panel(title, "time (s)", "fetch time (s)", series, y_range=(0.0, top), marks=marks)


def _compared(frames: Mapping[str, Frames]) -> Drawn:
    """Remedies beside the disease: the report's two, and those of today; how often a ping or a fetch takes so long."""
    shown = {
        "Reno, Q = 100": Case("reno", 100, 2),
        "Reno, Q = 20": Case("reno", 20, 2),
        "BBR, Q = 100": Case("bbr", 100, 2),
        **{f"Reno, {q}": Case("reno", queue=q) for q in TODAY},
    }

    def lines(frame: str, column: str) -> list[Series]:
        return [_shares(label, frames[case.key][frame][column]) for label, case in shown.items()]

    share = "share at or below (%)"
    panels = [
        Panel(
            "Round-trip time of pings",
            "RTT (ms)",
            share,
            lines("ping", "rtt_ms"),
            (3.0, 300.0),
            (0.0, 101.0),
            log_x=True,
        ),
        Panel("Page fetches", "fetch time (s)", share, lines("fetch", "took_s"), (0.2, 3.0), (0.0, 101.0), log_x=True),
    ]
    caption = "Two remedies of the report (a smaller buffer, BBR) and queue management of today: distributions, further left is better."
    return Drawn("", "remedies", caption, panels)


def _shares(label: str, values: pl.Series) -> Series:
    ordered = values.sort().to_numpy()
    return Series(label, ordered, 100.0 * np.arange(1, len(ordered) + 1) / max(len(ordered), 1), "step")
