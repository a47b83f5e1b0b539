"""The study's tables and figures as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from bloatlab.plots import Mark, Panel, Series
from bloatlab.studies.claims import Runs, over_seeds, words
from bloatlab.studies.layout import TONES, origin_cell, significant
from bloatlab.studies.mmcn1999.build import BLAST_S, PAPER, SCHEMES
from bloatlab.studies.mmcn1999.small import DRAWN, TWO_FTP_LIMITS, TWO_FTP_MIN_TH, names_small, small_cases
from bloatlab.studies.page import Drawn
from bloatlab.studies.scorecard import Cell, Scorecard
from bloatlab.tables import TextCell, TextTable, number

#: Measure, head of its column, digits.
COLUMNS = (
    ("tcp_kbs", "TCP kB/s", 0),
    ("blast_kbs", "blast kB/s", 0),
    ("mm_drop_percent", "tagged drops %", 1),
    ("mm_latency_ms", "latency ms", 1),
    ("mm_p95_ms", "p95 ms", 1),
    ("mm_jitter_ms", "jitter ms", 2),
    ("share_tcp_percent", "TCP", 0),
    ("share_mm_percent", "tagged", 0),
    ("share_udp_percent", "blast", 0),
)
VOICE = (
    ("voice_drop_percent", "voice drops %", 1),
    ("voice_latency_ms", "voice ms", 1),
    ("voice_jitter_ms", "voice jitter ms", 2),
)


def schemes_table(runs: Runs) -> TextTable:
    """Every queue under the slides' workload."""
    rows = [[TextCell(s.name), *_cells(runs, s.key, COLUMNS)] for s in SCHEMES if s.key in runs]
    note = (
        "Medians over seeds, 20 to 60 s; point at a value for its central 80 %. Latency: one way, without 20.2 ms of "
        "propagation. Shares are of bytes."
    )
    return TextTable("Nine queues", ["queue", *(head for _, head, _ in COLUMNS)], rows, note, groups=_GROUPS)


_GROUPS = [("", 1), ("under the blast", 6), ("share of the buffer, %", 3)]


def state_table(runs: Runs) -> TextTable:
    """What each queue holds: packets, and the state beside them."""
    held = (("queue_packets_mean", "", 1), ("queue_packets_max", "", 0))
    rows = [[TextCell(s.name), TextCell(s.state), *_cells(runs, s.key, held)] for s in SCHEMES if s.key in runs]
    note = "Packets over the whole run. Active flows in this workload: at most 38."
    return TextTable("State", ["queue", "state beside the packets", "packets, mean", "most"], rows, note, left=2)


def cases_table(title: str, runs: Runs, keys: Sequence[str], *, voice: bool = False, note: str = "") -> TextTable:
    """Cases by their keys."""
    chosen = [*COLUMNS, *VOICE] if voice else list(COLUMNS)
    rows = [[TextCell(key), *_cells(runs, key, chosen)] for key in keys if key in runs]
    groups = [*_GROUPS, *([("", 3)] if voice else [])]
    return TextTable(title, ["case", *(head for _, head, _ in chosen)], rows, note, groups=groups)


def _cells(runs: Runs, key: str, chosen: Sequence[tuple[str, str, int]]) -> list[TextCell]:
    cells = []
    for measure, _, digits in chosen:
        ours = over_seeds(runs, key, measure)
        cells.append(
            TextCell("-", "muted")
            if ours is None
            else TextCell(number(ours.median, digits), hint=words(ours, "", digits + 1))
        )
    return cells


def gates_table(card: Scorecard) -> TextTable:
    """The orderings that are gated."""
    rows = [
        [TextCell(c.metric), TextCell(c.case), TextCell(c.printed), TextCell(_spread(c, 3)), origin_cell(c.origin),
         TextCell(str(c.verdict), TONES[c.verdict]), TextCell(c.reason)]
        for c in card.cells
        if 1 in c.tables
    ]  # fmt: skip
    columns = ["of", "ratio", "wanted", "ours", "by", "", "why"]
    note = "Only the orders of the slides' chart are counted. Those of tagged datagrams have no number in the slides."
    return TextTable("Orders, in every seed", columns, rows, note, left=2, words_last=True, below=True)


def rows_table(card: Scorecard) -> TextTable:
    """Every row of the slides."""
    rows = [
        [TextCell(c.case), TextCell(c.metric), TextCell(f"{c.printed} {c.unit}".strip()), TextCell(_ours(c)),
         TextCell(str(c.verdict), TONES[c.verdict]), TextCell(c.reason, "muted")]
        for c in card.cells
        if 2 in c.tables
    ]  # fmt: skip
    return TextTable(
        "Every number of the slides",
        ["slide", "what", "printed", "ours (central 80 %)", "verdict", "why"],
        rows,
        "Numbers of charts were read by a machine: within 100 kB/s is asked of them.",
        left=2,
        words_last=True,
        below=True,
    )


def _spread(cell: Cell, digits: int) -> str:
    if np.isnan(cell.ours):
        return ""
    return f"{number(cell.ours, digits)} ({number(cell.low, digits)} to {number(cell.high, digits)})"


def _ours(cell: Cell) -> str:
    if np.isnan(cell.ours):
        return "-"
    between = "" if cell.low == cell.high else f" ({significant(cell.low)} to {significant(cell.high)})"
    return f"{significant(cell.ours)}{between}"


#: What the table of small networks shows: measure, head, digits.
_SMALL = (
    ("rate_share", "of the link", 3),
    ("queue_mean_packets", "queue", 1),
    ("queue_p99_packets", "p99", 0),
    ("sync", "in step", 2),
    ("drop_dispersion", "clusters", 1),
    ("fast_drop_percent", "10 Mbit/s loses %", 1),
    ("slow_drop_percent", "1 Mbit/s loses %", 1),
    ("least_share", "least share", 3),
)


def small_table(runs: Runs) -> TextTable:
    """The small networks, each with the measures that it has."""
    rows = [[TextCell(key), *_cells(runs, key, _SMALL)] for key in names_small(small_cases()) if key in runs]
    note = (
        "In step: mean correlation of two windows. Clusters: variance over mean of the drops in 20 ms (two FTPs) or 100 ms. "
        "Two FTPs: RED's min_th and drop-tail's buffer, in packets."
    )
    return TextTable("Small networks", ["case", *(head for _, head, _ in _SMALL)], rows, note)


def draw(
    frames: Mapping[str, pl.DataFrame], two_ftp: Mapping[str, Mapping[str, pl.DataFrame]], runs: Runs
) -> list[Drawn]:
    """TCP over time, what tagged traffic suffers, and Floyd and Jacobson's two FTPs."""
    marks = [Mark("blast", BLAST_S[0], "x"), Mark("", BLAST_S[1], "x")]
    return [
        Drawn(
            "1", "tcp_over_time", "TCP throughput of the paper’s five queues, seed 1, half seconds. The blast lasts from 20 to 60 s.",
            [_over_time("The paper’s queues", PAPER, frames, marks)], columns=1,
        ),
        Drawn(
            "2", "tcp_today", "The same for what one would use now, and D-CBT.",
            [_over_time("Later queues", [s.key for s in SCHEMES if s.key not in PAPER], frames, marks)], columns=1,
        ),
        Drawn("3", "tagged", "Tagged traffic under the blast: each queue at its drop rate and mean latency, the paper’s and D-CBT, medians over seeds.", _tagged(runs)),
        Drawn("4", "two_ftp", "Floyd and Jacobson’s two FTPs on 45 Mbit/s: over time (seed 1), and throughput against the queue, RED beside drop-tail (medians over seeds).", _two_ftp(two_ftp, runs)),
    ]  # fmt: skip


def _over_time(title: str, keys: Sequence[str], frames: Mapping[str, pl.DataFrame], marks: Sequence[Mark]) -> Panel:
    names = {s.key: s.name for s in SCHEMES}
    lines = [Series(names[k], frames[k]["t_s"].to_numpy(), frames[k]["kbs"].to_numpy()) for k in keys if k in frames]
    return Panel(title, "time [s]", "TCP throughput [kB/s]", lines, x_range=(0, 100), y_range=(0, 1400), marks=marks)


_PERCENT = (-2.0, 100.0)


def _tagged(runs: Runs) -> list[Panel]:
    def points(x: str, y: str) -> list[Series]:
        found = [(s.name, over_seeds(runs, s.key, x), over_seeds(runs, s.key, y)) for s in SCHEMES[:6]]
        return [Series(n, [a.median], [b.median], "points") for n, a, b in found if a and b]

    return [
        Panel(
            "Drops and latency",
            "tagged drops [%]",
            "mean latency [ms]",
            points("mm_drop_percent", "mm_latency_ms"),
            x_range=_PERCENT,
        ),
        Panel(
            "Drops and TCP",
            "tagged drops [%]",
            "TCP throughput [kB/s]",
            points("mm_drop_percent", "tcp_kbs"),
            x_range=_PERCENT,
            y_range=(0, 1400),
        ),
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
        return Panel(title, "time [s]", "window [segments]", lines, (0, _TWO_FTP_S), (0, 300))

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
            "Queue under RED, 5 and 15 packets", "time [s]", "queue [packets]", [held], (0, _TWO_FTP_S), marks=levels
        ),
        windows("Windows under RED", red),
        Panel("Throughput against queue", "mean queue [packets]", "of the link [%]", compared, (0, 110), (50, 101)),
        windows("Windows behind drop-tail, 60 packets", tail),
    ]
