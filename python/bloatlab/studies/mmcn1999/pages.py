"""The tables, figures and answer of the study."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from bloatlab.plots import Mark, Panel, Series, style
from bloatlab.report import Answer, Drawn, Point
from bloatlab.studies.claims import Runs, median_of
from bloatlab.studies.drawing import answered, of_cases
from bloatlab.studies.mmcn1999.build import BLAST_S, PAPER, SCHEMES, Case
from bloatlab.studies.mmcn1999.rules import ORDERS, SLIDES
from bloatlab.studies.mmcn1999.small import DRAWN, TWO_FTP_LIMITS, TWO_FTP_MIN_TH, small_cases
from bloatlab.studies.published import rows
from bloatlab.studies.scorecard import Scorecard
from bloatlab.studies.tables import (
    Field,
    as_printed,
    between,
    cells_table,
    medians_table,
    origin_cell,
    verdict_cell,
    with_interval,
)
from bloatlab.tables import TextCell, TextTable, Tone, counted, listed, number

# ------------------------------------------------------------------------------------------------------------ tables

#: Measure, head of its column, digits.
COLUMNS = (
    ("tcp_kbs", "TCP kB/s", 0), ("blast_kbs", "blast kB/s", 0), ("mm_drop_percent", "tagged drops %", 1), ("mm_latency_ms", "latency ms", 1),
    ("mm_p95_ms", "p95 ms", 1), ("mm_jitter_ms", "jitter ms", 2), ("share_tcp_percent", "TCP", 0), ("share_mm_percent", "tagged", 0),
    ("share_udp_percent", "blast", 0),
)  # fmt: skip
VOICE = (
    ("voice_drop_percent", "voice drops %", 1),
    ("voice_latency_ms", "voice ms", 1),
    ("voice_jitter_ms", "voice jitter ms", 2),
)
_GROUPS = [("", 1), ("under the blast", 6), ("share of the buffer, %", 3)]


def queues_tables(card: Scorecard, runs: Runs) -> list[TextTable]:
    """Every queue under the slides' workload, the orders, and the state of each queue."""
    note = (
        "Medians over seeds, 20 to 60 s; press a value for its central 80 %. Latency: one way, without 20.2 ms of "
        "propagation. Shares are of bytes."
    )
    ratio: dict[str, Field] = {
        "of": lambda c: c.metric,
        "ratio": lambda c: c.case,
        "wanted": lambda c: c.printed,
        "ours": lambda c: f"{number(c.ours, 3)} ({between(c, 3)})",
        "by": lambda c: origin_cell(c.origin),
        "": verdict_cell,
        "why": lambda c: c.reason,
    }
    orders = [c for c in card.cells if c.tables == ORDERS]
    counted_note = (
        "Only the orders of the slides' chart are counted. Those of tagged datagrams have no number in the slides."
    )
    held = (("queue_packets_mean", "packets, mean", 1), ("queue_packets_max", "most", 0))
    active = "Packets over the whole run. Active flows in this workload: at most 38."
    return [
        medians_table("Nine queues", runs, [((s.name,), s.key) for s in SCHEMES], COLUMNS, ("queue",), note, _GROUPS),
        cells_table("Orders, in every seed", orders, ratio, counted_note, below=True),
        medians_table("State", runs, [((s.name, s.state), s.key) for s in SCHEMES], held, ("queue", "state beside the packets"), active),
    ]  # fmt: skip


def cases_table(title: str, runs: Runs, cases: Sequence[Case], *, voice: bool = False, note: str = "") -> TextTable:
    """Cases of the slides' workload."""
    columns, groups = ([*COLUMNS, *VOICE], [*_GROUPS, ("", 3)]) if voice else (COLUMNS, _GROUPS)
    return medians_table(title, runs, cases, columns, note=note, groups=groups)


def slides_table(card: Scorecard) -> TextTable:
    """Every row of the slides."""
    fields: dict[str, Field] = {
        "slide": lambda c: c.case,
        "what": lambda c: c.metric,
        "printed": as_printed,
        "ours (central 80 %)": with_interval,
        "verdict": verdict_cell,
        "why": lambda c: TextCell(c.reason, "muted"),
    }
    found = [c for c in card.cells if c.tables == SLIDES]
    note = "Numbers of charts were read by a machine: they are accepted within 100 kB/s."
    return cells_table("Every number of the slides", found, fields, note, below=True)


#: The table of small networks: measure, head, digits.
_SMALL = (
    ("rate_share", "of the link", 3), ("queue_mean_packets", "queue", 1), ("queue_p99_packets", "p99", 0), ("sync", "in step", 2),
    ("drop_dispersion", "clusters", 1), ("fast_drop_percent", "10 Mbit/s loses %", 1), ("slow_drop_percent", "1 Mbit/s loses %", 1),
    ("least_share", "least share", 3),
)  # fmt: skip


def small_table(runs: Runs) -> TextTable:
    """The small networks, each with the measures that it has."""
    note = (
        "In step: mean correlation of two windows. Clusters: variance over mean of the drops in 20 ms (two FTPs) or 100 ms. "
        "Two FTPs: RED's min_th and drop-tail's buffer, in packets."
    )
    return medians_table("Small networks", runs, small_cases(), _SMALL, note=note)


# ----------------------------------------------------------------------------------------------------------- figures

#: TCP over time by queue, and the series of each small network.
Frames = Mapping[str, pl.DataFrame]

NAMES = {s.key: s.name for s in SCHEMES}


def figures(frames: Frames, two_ftp: Mapping[str, Frames], runs: Runs) -> list[Drawn]:
    """TCP over time, drops and latency of tagged traffic, and Floyd and Jacobson's two FTPs."""
    later = [key for key in NAMES if key not in PAPER]
    return [
        Drawn("1", "tcp_over_time", "TCP throughput of the paper’s five queues, seed 1, half seconds.",
              [over_time("TCP behind the paper’s five queues", PAPER, frames, published=True)], columns=1),
        Drawn("2", "tcp_today", "The same for today's queues, and D-CBT.",
              [over_time("TCP behind later queues", later, frames)], columns=1),
        Drawn("3", "tagged", "Tagged traffic under the blast: each queue at its drop rate and mean latency, the paper’s and D-CBT, medians over seeds.", _tagged(runs)),
        Drawn("4", "two_ftp", "Floyd and Jacobson’s two FTPs on 45 Mbit/s: over time (seed 1), and throughput against the queue, RED beside drop-tail (medians over seeds).", _two_ftp(two_ftp, runs)),
    ]  # fmt: skip


def over_time(title: str, keys: Sequence[str], frames: Frames, *, published: bool = False) -> Panel:
    """TCP in kB/s over time behind each queue; with `published` the slides' chart, dashed in the same colour."""
    lines: list[Series] = []
    for place, key in enumerate(k for k in keys if k in frames):
        colour = style.COLOURS[place % len(style.COLOURS)]
        lines.append(Series(NAMES[key], frames[key]["t_s"].to_numpy(), frames[key]["kbs"].to_numpy(), colour=colour))
    for place, key in enumerate(keys if published else ()):
        x, y = _printed(NAMES[key])
        if x:
            lines.append(Series(f"{NAMES[key]}, slides", x, y, colour=style.COLOURS[place], dashed=True, quiet=True))
    marks = [Mark("blast begins", BLAST_S[0], "x"), Mark("ends", BLAST_S[1], "x")]
    return Panel(title, "time (s)", "TCP throughput (kB/s)", lines, x_range=(0, 100), y_range=(0, 1400), marks=marks)


#: The periods of the slides' chart in s.
_PERIODS = {"0-20": (0.0, 20.0), "20-60": (20.0, 60.0), "60-100": (60.0, 100.0), "during": (20.0, 60.0)}


def _printed(name: str) -> tuple[list[float], list[float]]:
    """The chart's TCP throughput of a queue as steps: the first slide that has each period."""
    found: dict[str, float] = {}
    for row in rows("mmcn1999"):
        period = next((p for p in _PERIODS if row.metric.startswith("TCP throughput") and p in row.metric), None)
        if period is not None and row.case.startswith(f"{name} "):
            found.setdefault("20-60" if period == "during" else period, float(re.findall(r"\d+", row.value)[0]))
    x = [edge for period in found for edge in _PERIODS[period]]
    return x, [value for value in found.values() for _ in range(2)]


def _tagged(runs: Runs) -> list[Panel]:
    keys, drops, percent = [s.key for s in SCHEMES[:6]], "tagged drops (%)", (-2.0, 100.0)

    def points(measure: str) -> list[Series]:
        pairs = zip(keys, of_cases(runs, keys, "mm_drop_percent"), of_cases(runs, keys, measure), strict=True)
        return [
            Series(NAMES[k], [a.median], [b.median], "points", band=([b.low], [b.high])) for k, a, b in pairs if a and b
        ]

    return [
        Panel("Drops and latency", drops, "mean latency (ms)", points("mm_latency_ms"), x_range=percent),
        Panel("Drops and TCP", drops, "TCP throughput (kB/s)", points("tcp_kbs"), x_range=percent, y_range=(0, 1400)),
    ]


def _two_ftp(frames: Mapping[str, Frames], runs: Runs) -> list[Panel]:
    segment, times = 960, (0, 10.0)  # payload of a segment; drawn part of the run, s

    def windows(title: str, key: str) -> Panel:
        flows = frames[key]["windows"]
        lines = [
            Series(f"{name} FTP", part["t_s"].to_numpy(), part["cwnd_bytes"].to_numpy() / segment)
            for name in ("first", "second")
            if (part := flows.filter(app=name).sort("t_s")).height
        ]
        return Panel(title, "time (s)", "window (segments)", lines, times, (0, 300))

    def curve(label: str, keys: Sequence[str]) -> Series:
        spreads = zip(of_cases(runs, keys, "queue_mean_packets"), of_cases(runs, keys, "rate_share"), strict=True)
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
        Panel("Queue under RED, 5 and 15 packets", "time (s)", "queue (packets)", [held], times, marks=levels),
        windows("Windows under RED", red),
        Panel("Throughput against queue", "mean queue (packets)", "of the link (%)", compared, (0, 110), (50, 101)),
        windows("Windows behind drop-tail, 60 packets", tail),
    ]


# ------------------------------------------------------------------------------------------------------------ answer

#: A protected TCP keeps this part of its throughput before the blast, a protected conference loses less than this part of its packets.
KEPT, LOST_PERCENT = 0.8, 5.0

MEASURES = ("tcp_kbs", "tcp_before_kbs", "mm_drop_percent")
Values = Mapping[tuple[str, str], float]


def answer(runs: Runs, frames: Frames, seeds: int) -> Answer:
    """Which queue protects TCP and the conferences from traffic that does not respond? Answered from the runs."""
    keys = [key for key in NAMES if key in PAPER or key in runs]
    return answered(
        "Which queue protects TCP and the video conferences from traffic that does not respond?",
        f"Medians of {counted(seeds, 'seed')}, 20 to 60 s. Protected: TCP keeps {KEPT:.0%} of its throughput before the blast; a "
        f"conference loses less than {LOST_PERCENT:g} % of its packets.",
        draw(frames),
        {(key, m): median_of(runs, key, m) for key in keys for m in MEASURES},
        lambda of: _sentence(of, keys),
        lambda of: [_point(of, key) for key in PAPER],
    )


def _protected(of: Values, key: str) -> str:
    tcp, before, drops = (of[key, m] for m in MEASURES)
    return "neither" if tcp < KEPT * before else "both" if drops < LOST_PERCENT else "only TCP"


def _names(keys: Iterable[str]) -> str:
    return listed([NAMES[key] for key in keys])


def _sentence(of: Values, keys: Sequence[str]) -> str:
    groups = {kind: [k for k in keys if _protected(of, k) == kind] for kind in ("both", "only TCP", "neither")}
    both = groups["both"]
    parts = [f"{_names(both)} protect both" if both else "None protects both"]
    parts += [f"{_names(groups['only TCP'])} only TCP"] if groups["only TCP"] else []
    parts += [f"{_names(groups['neither'])} not even TCP"] if groups["neither"] else []
    best = min(both or keys, key=lambda key: of[key, "mm_drop_percent"])
    tcp, before, drops = (number(of["fifo", m], 0) for m in MEASURES)
    return (
        f"{'; '.join(parts)}. Behind FIFO the blast leaves TCP {tcp} of {before} kB/s and drops {drops} % of a conference; behind "
        f"{NAMES[best]} TCP keeps {number(of[best, 'tcp_kbs'], 0)} kB/s and a conference loses {number(of[best, 'mm_drop_percent'], 1)} %."
    )


def _point(of: Values, key: str) -> Point:
    tcp, before, drops = (of[key, m] for m in MEASURES)
    text = f"protected. TCP {number(tcp, 0)} of {number(before, 0)} kB/s; a conference loses {number(drops, 1)} %."
    verdict = _protected(of, key)
    tones: dict[str, Tone] = {"both": "good", "neither": "bad"}
    return Point(NAMES[key], verdict, text, tones.get(verdict, "plain"))


def draw(frames: Frames) -> Drawn:
    """The paper's queues over time, with the chart's numbers."""
    panel = over_time("TCP behind the paper's five queues", PAPER, frames, published=True)
    caption = (
        "Thirty TCP transfers and six conferences on 10 Mbit/s; the blast of 10 Mbit/s lasts from 20 to 60 s. Dashed: read off the "
        "slides' chart by a machine, each queue in its colour. Seed 1."
    )
    return Drawn("", "answer", caption, [panel], 1, size=(7.0, 3.4))
