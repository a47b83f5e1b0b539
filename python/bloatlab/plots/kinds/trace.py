"""A trace drawn: what a law was at, and what a TCP sender was at, one strip a quantity under one clock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from bloatlab.plots import style
from bloatlab.plots.elements import beside, curve, fits_beside, line_labels, rug, settle, sheet
from bloatlab.plots.kind import Asked, Kind
from bloatlab.plots.labels import safe
from bloatlab.plots.measures import Array, bins, window
from bloatlab.plots.over_time import mark_changes
from bloatlab.plots.style import WIDTHS
from bloatlab.plots.subjects import Run, Unfit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STRIP = {"column": 0.36, "page": 0.2, "slide": 0.16}

#: Strips of a link: columns, in the order in which they are looked for; those that a law does not tell are left out.
_LINK = (
    ("wait in L and C (ms)", ("delay_l_ms", "delay_c_ms", "qdelay_l_ms", "qdelay_old_ms")),
    ("sojourn (ms)", ("sojourn_ms", "qdelay_old_ms", "latency_ms", "longest_wait_ms")),
    ("queue (packets)", ("avg_packets", "longest_queue_packets", "avgcq_packets")),
    ("queue (bytes)", ("avg_bytes",)),
    ("count", ("count", "lastcount")),
    ("probability", ("drop_prob", "prob", "p", "p_b", "max_p", "p_drop", "p_i", "p_c", "p_cl", "p_native")),
    ("burst allowance (ms)", ("burst_allowance_ms",)),
    ("active flows", ("active_flows", "new_flows_len")),
)

#: A column of a discipline of two queues: its packets' times in one queue would be those of two.
_TWO_QUEUES = ("delay_l_ms", "qdelay_l_ms")

#: Which of them a wait is of.
_QUEUES = {"delay_l_ms": "L", "qdelay_l_ms": "L", "delay_c_ms": "C"}

#: More drops or marks than this are drawn by the second: so many ticks would be a bar.
_MOST_TICKS = 300

#: Strips of a sender, and by what their columns are multiplied.
_SENDER = (
    ("window (kB)", ("cwnd_bytes", "ssthresh_bytes", "in_flight_bytes"), 1e-3),
    ("pace (Mbit/s)", ("pacing_rate_mbit", "btl_bw_mbit", "bwe_mbit"), 1.0),
    ("round trip (ms)", ("srtt_ms", "min_rtt_ms", "rt_prop_ms", "queuing_delay_ms"), 1.0),
    ("gain", ("pacing_gain", "cwnd_gain"), 1.0),
)


@dataclass
class _Strip:
    label: str
    lines: list[tuple[str, Array, Array]] = field(default_factory=list)
    ticks: list[tuple[str, Array, str]] = field(default_factory=list)


def lacks(runs: Sequence[Run]) -> str | None:
    """Why there is no trace to draw."""
    if len(runs) > 1:
        return "a trace is drawn of one result at a time"
    if not {"trace_links", "trace_flows"} & set(runs[0].tables):
        return f"{runs[0].label}: holds no trace; keep one with bloatlab run FILE -o DIR --trace links,flows"
    return None


def draw(runs: Sequence[Run], asked: Asked) -> Figure:
    """The link's strips, with its drops and marks as ticks, above those of the sender with most rows."""
    run = runs[0]
    found = [*_link(run, asked.of), *_sender(run, asked.of)]
    if not found:
        known = [*_names(run, "trace_links", "link"), *_names(run, "trace_flows", "app")]
        raise Unfit(f"--of {asked.of}: no trace of it was kept; there is {', '.join(known) or 'none'}")
    each = _STRIP[asked.width]
    of = sheet(asked.width, each * len(found) + 0.08)
    grid = of.figure.subplots(len(found), 1, sharex=True, squeeze=False).ravel()
    height = each * WIDTHS[asked.width].inches * 0.8
    for axes, strip in zip(grid, found, strict=True):
        axes.set_xlim(0.0, run.end)
        for place, (_, t, y) in enumerate(strip.lines):
            curve(axes, t, y, place, step=True)
        axes.set_ylabel(strip.label)
        high = axes.get_ylim()[1]
        axes.set_ylim(0.0, high * (1.0 + 0.09 * len(strip.ticks)) if high > 0.0 else 1.0)
        labels = line_labels(axes, [(name, y, place) for place, (name, _, y) in enumerate(strip.lines)])
        for i, (name, times, colour) in enumerate(strip.ticks):
            rug(of, axes, times, 0.97 - 0.07 * i, colour)
            labels.append((name, 0.97 - 0.07 * i, colour))
        if fits_beside(of, height, len(labels)):
            beside(axes, labels, of.text)
    grid[-1].set_xlabel("time (s)")
    of.figure.align_ylabels(list(grid))
    mark_changes(of, list(grid), run)
    settle(of)
    return of.figure


def _names(run: Run, table: str, column: str) -> list[str]:
    frame = run.table(table)
    return frame[column].unique(maintain_order=True).to_list() if column in frame.columns else []


def _link(run: Run, of: str | None) -> list[_Strip]:
    """Strips of link `of`, or of the one with most drops."""
    names = _names(run, "trace_links", "link")
    if not names or (of is not None and of not in names):
        return []
    chosen = of or max(names, key=lambda name: int(run.links.get(name, {}).get("dropped_packets", 0)))
    frame = run.table("trace_links").filter(pl.col("link") == chosen)
    two = any(_tells(frame, column) for column in _TWO_QUEUES)
    # the first strip is that of two queues, the second that of one
    found = list(_strips(frame, ((label, columns, 1.0) for label, columns in (_LINK[0], *_LINK[2:]) if two)))
    found = found or list(_strips(frame, ((label, columns, 1.0) for label, columns in _LINK[1:])))
    if "drop_next_s" in frame.columns and "dropping" in frame.columns:
        away = (pl.col("drop_next_s") - pl.col("t_s")) * 1e3
        rows = frame.select("t_s", away=pl.when(pl.col("dropping")).then(away).otherwise(float("nan")))
        line = ("drop_next", rows["t_s"].to_numpy(), np.maximum(rows["away"].to_numpy(), 0.0))
        if np.isfinite(line[2]).any():
            found.append(_Strip("to the next drop (ms)", [line]))
    for column, word, colour in (("dropped_packets", "drops", style.DROP), ("marked_packets", "marks", style.MARK)):
        times = frame.filter(pl.col(column).diff() > 0)["t_s"].to_numpy()
        if found and 0 < len(times) <= _MOST_TICKS:
            found[0].ticks.append((_count(run, chosen, column, word), times, colour))
        elif len(times):
            grown = _per_second(run, frame, column)
            found.append(_Strip(f"{word} (1/s)", [(_count(run, chosen, column, word), *grown)]))
    if found:
        found[0].label = f"{safe(chosen, 12)}: {found[0].label}"
    return found


def _count(run: Run, link: str, column: str, word: str) -> str:
    """How many of them the summary has."""
    return f"{run.links.get(link, {}).get(column, 0):,} {word}".replace(",", "\u202f")


def _per_second(run: Run, frame: pl.DataFrame, column: str) -> tuple[Array, Array]:
    """How much a counter grows in a second, in bins of about a hundredth of the run."""
    width = window(run) / 2.0
    wide = bins(frame, {column: "last"}, width)
    grown = np.diff(wide[column].to_numpy(), prepend=0.0)
    return wide["t_s"].to_numpy(), grown / width


def _tells(frame: pl.DataFrame, column: str) -> bool:
    return column in frame.columns and bool(frame[column].fill_nan(None).is_not_null().any())


def _sender(run: Run, of: str | None) -> list[_Strip]:
    """Strips of the sender of application `of` (or of all) that has most rows."""
    frame = run.table("trace_flows")
    if "app" not in frame.columns or (of is not None and of not in frame["app"]):
        return []
    mine = frame if of is None else frame.filter(pl.col("app") == of)
    key = ["app", "connection", "direction"]
    chosen = mine.group_by(key, maintain_order=True).len().sort("len", descending=True, maintain_order=True).row(0)
    rows = mine.filter(*(pl.col(column) == value for column, value in zip(key, chosen, strict=False)))
    found = list(_strips(rows, _SENDER))
    if found:
        found[0].label = f"{safe(chosen[0], 12)}: {found[0].label}"
        again = rows.filter(pl.col("retransmits").diff() > 0)["t_s"].to_numpy()
        if len(again):
            found[0].ticks = [("sent again", again, style.DROP)]
    return found


def _strips(frame: pl.DataFrame, of: Iterable[tuple[str, Sequence[str], float]]) -> Iterable[_Strip]:
    """A strip for each quantity of which the frame has a number."""
    t = frame["t_s"].to_numpy()
    for label, columns, scale in of:
        told = [c for c in columns if _tells(frame, c)]
        if told:
            yield _Strip(label, [(_word(c), t, frame[c].to_numpy() * scale) for c in told])


def _word(column: str) -> str:
    """A column's name without its unit; which of two queues it is of."""
    if column in _QUEUES:
        return _QUEUES[column]
    for unit in ("_ms", "_bytes", "_packets", "_mbit", "_s"):
        column = column.removesuffix(unit)
    return column


KIND = Kind(
    "trace",
    "what a law and a TCP sender were at; needs a trace (bloatlab run --trace links,flows)",
    "runs",
    lacks,
    draw,
)
