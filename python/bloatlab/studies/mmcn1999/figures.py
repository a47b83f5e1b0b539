"""The study's figures as data."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import polars as pl

from bloatlab.plots import Mark, Panel, Series, style
from bloatlab.report import Drawn
from bloatlab.studies.claims import Runs, over_seeds
from bloatlab.studies.mmcn1999.build import BLAST_S, PAPER, SCHEMES
from bloatlab.studies.mmcn1999.small import DRAWN, TWO_FTP_LIMITS, TWO_FTP_MIN_TH
from bloatlab.studies.published import rows


def draw(
    frames: Mapping[str, pl.DataFrame], two_ftp: Mapping[str, Mapping[str, pl.DataFrame]], runs: Runs
) -> list[Drawn]:
    """TCP over time, what tagged traffic suffers, and Floyd and Jacobson's two FTPs."""
    return [
        Drawn("1", "tcp_over_time", "TCP throughput of the paper’s five queues, seed 1, half seconds.",
              [over_time("TCP behind the paper’s five queues", PAPER, frames, published=True)], columns=1),
        Drawn("2", "tcp_today", "The same for what one would use now, and D-CBT.",
              [over_time("TCP behind later queues", [s.key for s in SCHEMES if s.key not in PAPER], frames)], columns=1),
        Drawn("3", "tagged", "Tagged traffic under the blast: each queue at its drop rate and mean latency, the paper’s and D-CBT, medians over seeds.", _tagged(runs)),
        Drawn("4", "two_ftp", "Floyd and Jacobson’s two FTPs on 45 Mbit/s: over time (seed 1), and throughput against the queue, RED beside drop-tail (medians over seeds).", _two_ftp(two_ftp, runs)),
    ]  # fmt: skip


def over_time(title: str, keys: Sequence[str], frames: Mapping[str, pl.DataFrame], *, published: bool = False) -> Panel:
    """TCP in kB/s over time behind each queue; with `published` what the slides' chart shows, dashed in the same colour."""
    names = {s.key: s.name for s in SCHEMES}
    lines: list[Series] = []
    for place, key in enumerate(k for k in keys if k in frames):
        colour = style.COLOURS[place % len(style.COLOURS)]
        lines.append(Series(names[key], frames[key]["t_s"].to_numpy(), frames[key]["kbs"].to_numpy(), colour=colour))
    for place, key in enumerate(keys if published else ()):
        x, y = _printed(names[key])
        if x:
            lines.append(Series(f"{names[key]}, slides", x, y, colour=style.COLOURS[place], dashed=True, quiet=True))
    marks = [Mark("blast begins", BLAST_S[0], "x"), Mark("ends", BLAST_S[1], "x")]
    return Panel(title, "time (s)", "TCP throughput (kB/s)", lines, x_range=(0, 100), y_range=(0, 1400), marks=marks)


#: The periods of the slides' chart in s.
_PERIODS = {"0-20": (0.0, 20.0), "20-60": (20.0, 60.0), "60-100": (60.0, 100.0), "during": (20.0, 60.0)}


def _printed(name: str) -> tuple[list[float], list[float]]:
    """The chart's TCP throughput of a queue: the first slide that has each period, as steps; nothing where none has."""
    found: dict[str, float] = {}
    for row in rows("mmcn1999"):
        period = next((p for p in _PERIODS if row.metric.startswith("TCP throughput") and p in row.metric), None)
        if period is not None and row.case.startswith(f"{name} "):
            found.setdefault("20-60" if period == "during" else period, float(re.findall(r"\d+", row.value)[0]))
    x = [edge for period in found for edge in _PERIODS[period]]
    return x, [value for value in found.values() for _ in range(2)]


_PERCENT = (-2.0, 100.0)


def _tagged(runs: Runs) -> list[Panel]:
    drops = "tagged drops (%)"

    def points(y: str) -> list[Series]:
        measured = [(s.name, *(over_seeds(runs, s.key, m) for m in ("mm_drop_percent", y))) for s in SCHEMES[:6]]
        return [
            Series(n, [a.median], [b.median], "points", band=([b.low], [b.high])) for n, a, b in measured if a and b
        ]

    return [
        Panel("Drops and latency", drops, "mean latency (ms)", points("mm_latency_ms"), x_range=_PERCENT),
        Panel("Drops and TCP", drops, "TCP throughput (kB/s)", points("tcp_kbs"), x_range=_PERCENT, y_range=(0, 1400)),
    ]


#: What the figure of two FTPs shows of the run, in s, and the payload of a segment.
_TWO_FTP_S = 10.0
_SEGMENT = 960


def _two_ftp(frames: Mapping[str, Mapping[str, pl.DataFrame]], runs: Runs) -> list[Panel]:
    def windows(title: str, key: str) -> Panel:
        flows = frames[key]["windows"]
        lines = [
            Series(f"{name} FTP", part["t_s"].to_numpy(), part["cwnd_bytes"].to_numpy() / _SEGMENT)
            for name in ("first", "second")
            if (part := flows.filter(app=name).sort("t_s")).height
        ]
        return Panel(title, "time (s)", "window (segments)", lines, (0, _TWO_FTP_S), (0, 300))

    def curve(label: str, keys: Sequence[str]) -> Series:
        spreads = [(over_seeds(runs, k, "queue_mean_packets"), over_seeds(runs, k, "rate_share")) for k in keys]
        points = sorted((q.median, 100.0 * s.median) for q, s in spreads if q and s)
        return Series(label, [q for q, _ in points], [s for _, s in points])

    red, tail = DRAWN
    queue = frames[red]["queue"]
    held = Series("queue", queue["t_s"].to_numpy(), queue["queue_packets_mean"].fill_nan(0.0).to_numpy())
    levels = (Mark("min_th", 5.0), Mark("max_th", 15.0))
    compared = [
        curve("RED, min_th 3 to 50", [f"two ftp, red {n}" for n in TWO_FTP_MIN_TH]),
        curve("drop-tail, 15 to 140", [f"two ftp, droptail {n}" for n in TWO_FTP_LIMITS]),
    ]
    return [
        Panel(
            "Queue under RED, 5 and 15 packets", "time (s)", "queue (packets)", [held], (0, _TWO_FTP_S), marks=levels
        ),
        windows("Windows under RED", red),
        Panel("Throughput against queue", "mean queue (packets)", "of the link (%)", compared, (0, 110), (50, 101)),
        windows("Windows behind drop-tail, 60 packets", tail),
    ]
