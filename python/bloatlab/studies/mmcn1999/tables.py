"""The study's tables as data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bloatlab.studies.claims import Runs
from bloatlab.studies.mmcn1999.build import SCHEMES, Case
from bloatlab.studies.mmcn1999.scorecard import ORDERS, SLIDES
from bloatlab.studies.mmcn1999.small import small_cases
from bloatlab.studies.scorecard import Cell, Scorecard
from bloatlab.studies.tables import medians_table, origin_cell, verdict_cell, with_interval
from bloatlab.tables import TextCell, TextTable, number, row

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
    rows = [((s.name,), s.key) for s in SCHEMES if s.key in runs]
    note = (
        "Medians over seeds, 20 to 60 s; press a value for its central 80 %. Latency: one way, without 20.2 ms of "
        "propagation. Shares are of bytes."
    )
    return medians_table("Nine queues", runs, rows, COLUMNS, ("queue",), note, _GROUPS)


_GROUPS = [("", 1), ("under the blast", 6), ("share of the buffer, %", 3)]


def state_table(runs: Runs) -> TextTable:
    """What each queue holds: packets, and the state beside them."""
    held = (("queue_packets_mean", "packets, mean", 1), ("queue_packets_max", "most", 0))
    rows = [((s.name, s.state), s.key) for s in SCHEMES if s.key in runs]
    note = "Packets over the whole run. Active flows in this workload: at most 38."
    return medians_table("State", runs, rows, held, ("queue", "state beside the packets"), note)


def cases_table(title: str, runs: Runs, cases: Sequence[Case], *, voice: bool = False, note: str = "") -> TextTable:
    """Cases of the slides' workload."""
    chosen = [*COLUMNS, *VOICE] if voice else list(COLUMNS)
    rows = [case.key for case in cases if case.key in runs]
    groups = [*_GROUPS, *([("", 3)] if voice else [])]
    return medians_table(title, runs, rows, chosen, note=note, groups=groups)


def gates_table(card: Scorecard) -> TextTable:
    """The orderings that are gated."""
    rows = [
        row(c.metric, c.case, c.printed, _spread(c, 3), origin_cell(c.origin), verdict_cell(c), c.reason)
        for c in card.cells
        if c.tables == ORDERS
    ]
    columns = ["of", "ratio", "wanted", "ours", "by", "", "why"]
    note = "Only the orders of the slides' chart are counted. Those of tagged datagrams have no number in the slides."
    return TextTable("Orders, in every seed", columns, rows, note, left=2, words_last=True, below=True)


def rows_table(card: Scorecard) -> TextTable:
    """Every row of the slides."""
    rows = [
        row(
            c.case,
            c.metric,
            f"{c.printed} {c.unit}".strip(),
            with_interval(c),
            verdict_cell(c),
            TextCell(c.reason, "muted"),
        )
        for c in card.cells
        if c.tables == SLIDES
    ]
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
    rows = [case.key for case in small_cases() if case.key in runs]
    note = (
        "In step: mean correlation of two windows. Clusters: variance over mean of the drops in 20 ms (two FTPs) or 100 ms. "
        "Two FTPs: RED's min_th and drop-tail's buffer, in packets."
    )
    return medians_table("Small networks", runs, rows, _SMALL, note=note)
