"""The plot kind trace: the state of a control law and of a sender, one panel per quantity, sharing a time axis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from bloatlab.plots import style
from bloatlab.plots.kind import LIMITS, Kind, Options
from bloatlab.plots.labels import safe
from bloatlab.plots.measures import Array, Curve, bins, has, window
from bloatlab.plots.over_time import EVENTS, Ticks, TimePanel, stacked, ticks
from bloatlab.plots.style import Figure
from bloatlab.plots.subjects import Run, Unfit

#: Panels of a link: label and columns. Columns that the link's queue discipline does not report are left out.
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

#: Only disciplines with two queues report these columns. For such a discipline, `sojourn_ms` is not drawn, because it
#: mixes the packets of both queues.
_TWO_QUEUES = ("delay_l_ms", "qdelay_l_ms")

#: The queue that each column describes: L (low latency) or C (classic), as in RFC 9332.
_QUEUES = {"delay_l_ms": "L", "qdelay_l_ms": "L", "delay_c_ms": "C"}

#: If there are more drops or marks than this, they are drawn as a rate, because their ticks would merge.
_MOST_TICKS = 300

#: Panels of a TCP sender or a sender of live video: label, columns, and their scale factor.
_SENDER = (
    ("window (kB)", ("cwnd_bytes", "ssthresh_bytes", "ref_wnd_bytes", "send_window_bytes", "in_flight_bytes"), 1e-3),
    ("target (Mbit/s)", ("target_mbit", "delay_based_mbit", "loss_based_mbit", "received_mbit"), 1.0),
    ("pace (Mbit/s)", ("pacing_rate_mbit", "btl_bw_mbit", "bwe_mbit"), 1.0),
    ("round trip (ms)", ("srtt_ms", "min_rtt_ms", "rt_prop_ms", "queuing_delay_ms", "qdelay_ms"), 1.0),
    ("delay variation (ms)", ("m_ms", "threshold_ms"), 1.0),
    ("gain", ("pacing_gain", "cwnd_gain"), 1.0),
)

#: Columns that do not come from `probe()` of a class in Python, so `_own_panels` leaves them out.
_COMMON = frozenset({
    "t_s", "link", "backlog_packets", "backlog_bytes", "offered_packets", "delivered_packets", "dropped_packets",
    "marked_packets", "rate_mbit", "tokens_bytes", "transmit_backlog_packets", "app", "flow", "connection", "direction",
    "state", "unacked_bytes", "rttvar_ms", "rto_ms", "acked_bytes", "retransmits", "timeouts",
})  # fmt: skip

#: For each ending of a column's name, the unit that it means.
_UNITS = {
    "_ms": "ms", "_bytes": "bytes", "_packets": "packets", "_segments": "segments", "_mbit": "Mbit/s", "_s": "s",
}  # fmt: skip

#: The message about a link or sender that is in the trace but has no number in any panel.
_EMPTY = "its trace has no values to draw, as on a link without packets"


def unfit(runs: Sequence[Run]) -> str | None:
    """Returns the reason why the trace cannot be drawn; None if it can."""
    if len(runs) > 1:
        return "a figure shows the trace of one result only"
    if not {"trace_links", "trace_flows"} & set(runs[0].tables):
        return f"{runs[0].label}: has no trace; record one with bloatlab run FILE -o DIR --trace links,flows"
    if not (_link(runs[0], None) or _sender(runs[0], None)):
        return f"{runs[0].label}: {_EMPTY}"
    return None


def draw(runs: Sequence[Run], options: Options) -> Figure:
    """Draws the link's panels, with drops and marks as ticks or rates, above those of the sender with the most rows."""
    run = runs[0]
    found = [*_link(run, options.of), *_sender(run, options.of)]
    if not found:
        known = [*_names(run, "trace_links", "link"), *_names(run, "trace_flows", "app")]
        reason = _EMPTY if options.of in known else f"has no trace; expected {', '.join(known)}"
        raise Unfit(f"--of {options.of}: {reason}")
    return stacked(runs, options, found, step=True)


def _names(run: Run, table: str, column: str) -> list[str]:
    frame = run.table(table)
    return frame[column].unique(maintain_order=True).to_list() if column in frame.columns else []


def _link(run: Run, of: str | None) -> list[TimePanel]:
    """Makes the panels of link `of`, or of the link with the most drops among those that have any panel."""
    names = _names(run, "trace_links", "link")
    if of is not None:
        return _panels_of_link(run, of) if of in names else []
    names.sort(key=lambda name: -int(run.links.get(name, {}).get("dropped_packets", 0)))
    return next(filter(None, (_panels_of_link(run, name) for name in names)), [])


def _panels_of_link(run: Run, chosen: str) -> list[TimePanel]:
    frame = run.table("trace_links").filter(pl.col("link") == chosen)
    two = any(has(frame, column) for column in _TWO_QUEUES)
    # The first panel of `_LINK` is for disciplines with two queues, the second for disciplines with one.
    found = list(_panels(frame, ((label, columns, 1.0) for label, columns in (_LINK[0], *_LINK[2:]) if two)))
    found = found or list(_panels(frame, ((label, columns, 1.0) for label, columns in _LINK[1:])))
    if "drop_next_s" in frame.columns and "dropping" in frame.columns:
        away = (pl.col("drop_next_s") - pl.col("t_s")) * 1e3
        rows = frame.select("t_s", away=pl.when(pl.col("dropping")).then(away).otherwise(float("nan")))
        line = Curve("drop_next", rows["t_s"].to_numpy(), np.maximum(rows["away"].to_numpy(), 0.0))
        if np.isfinite(line.y).any():
            found.append(TimePanel("drop_next", "to the next drop (ms)", [(line, 0)]))
    if run.scenario is not None and _has_python(run.scenario["link"].get(chosen.removeprefix("~"))):
        found += _own_panels(frame, [column for _, columns in _LINK for column in columns])
    few: list[Ticks] = []
    for column, (word, _) in EVENTS.items():
        events = ticks(column, *_growths(frame, column))
        if found and 0 < len(events.times) <= _MOST_TICKS:
            few.append(events)
        elif len(events.times):
            found.append(TimePanel(column, f"{word} (1/s)", [(_per_second(run, frame, column, events.label), 0)]))
    return _titled(found, safe(chosen, 12), few)


def _titled(found: list[TimePanel], name: str, events: Sequence[Ticks]) -> list[TimePanel]:
    """Adds the name of the link or sender, and the ticks for its events, to the first panel."""
    if not found:
        return []
    label = found[0].y_label
    between = "\n" if len(name) + len(label) > 22 else " "
    return [replace(found[0], y_label=f"{name}:{between}{label}", ticks=events), *found[1:]]


def _per_second(run: Run, frame: pl.DataFrame, column: str, label: str) -> Curve:
    """Returns the rate at which a counter grows, per second, in about 120 to 300 equal bins."""
    width = window(run) / 2.0
    wide = bins(frame, {column: "last"}, width)
    grown = np.diff(wide[column].to_numpy(), prepend=0.0)
    return Curve(label, wide["t_s"].to_numpy(), grown / width)


def _growths(frame: pl.DataFrame, counter: str) -> tuple[Array, int]:
    """Returns the times in s at which a counter grew, and its last value. The counter starts at 0.

    There are no times if the sender has no such counter, as in live video. The column is then missing, or NaN if
    another sender in the trace has the counter.
    """
    if counter not in frame.columns:
        return np.zeros(0), 0
    known = frame.select("t_s", pl.col(counter).fill_nan(None)).drop_nulls()
    grown = known.filter(pl.col(counter) > pl.col(counter).shift(1, fill_value=0))
    return grown["t_s"].to_numpy(), int(known[counter].tail(1).sum())


def _sender(run: Run, of: str | None) -> list[TimePanel]:
    """Makes the panels of one sender: the sender with the most rows in the trace.

    Only senders of application `of` are considered, or all senders if `of` is None. If the application has several
    senders, the number of the connection follows its name.
    """
    frame = run.table("trace_flows")
    if "app" not in frame.columns or (of is not None and of not in frame["app"]):
        return []
    mine = frame if of is None else frame.filter(pl.col("app") == of)
    key = ["app", "connection", "direction"]
    chosen = mine.group_by(key, maintain_order=True).len().sort("len", descending=True, maintain_order=True).row(0)
    app, connection, direction = chosen[:3]
    rows = mine.filter(*(pl.col(column) == value for column, value in zip(key, chosen, strict=False)))
    panels = list(_panels(rows, _SENDER))
    if _python_sender(run, app, direction):
        panels += _own_panels(rows, [column for _, columns, _ in _SENDER for column in columns])
    again, _ = _growths(rows, "retransmits")
    events = [Ticks("sent again", again, style.DROP)] if len(again) else []
    several = mine.filter(pl.col("app") == app).select(key).n_unique() > 1
    number = f" {connection}{' reverse' if direction == 'reverse' else ''}" if several else ""
    return _titled(panels, safe(app, 12) + number, events)


def _panels(frame: pl.DataFrame, of: Iterable[tuple[str, Sequence[str], float]]) -> Iterable[TimePanel]:
    """Yields one panel for each quantity with at least one number in the frame."""
    t = frame["t_s"].to_numpy()
    for label, columns, scale in of:
        found = [c for c in columns if has(frame, c)]
        if found:
            lines = [Curve(_word(c), t, frame[c].to_numpy() * scale) for c in found]
            yield TimePanel(label, label, [(line, place) for place, line in enumerate(lines)])


def _own_panels(frame: pl.DataFrame, drawn: Sequence[str]) -> list[TimePanel]:
    """Makes a panel for each value that `probe()` of a class in Python returned, except those in the columns `drawn`.

    Words are left out. True is drawn as 1, false as 0.
    """
    own = [c for c in frame.columns if c not in {*_COMMON, *drawn} and frame.schema[c] != pl.String]
    frame = frame.with_columns(pl.col(own).cast(pl.Float64))
    return list(_panels(frame, ((_with_unit(c), (c,), 1.0) for c in own)))


def _with_unit(column: str) -> str:
    """Returns the name of a column, with its unit in parentheses."""
    for ending, unit in _UNITS.items():
        if column.endswith(ending):
            return f"{safe(column.removesuffix(ending), 16)} ({unit})"
    return safe(column, 20)


def _has_python(part: Any) -> bool:
    """Returns whether a part of a scenario has a table `python`, with a law or a controller."""
    return isinstance(part, Mapping) and (
        isinstance(part.get("python"), Mapping) or any(_has_python(inner) for inner in part.values())
    )


def _python_sender(run: Run, app: str, direction: str) -> bool:
    """Returns whether the controller of an application's senders in this direction is written in Python."""
    if run.scenario is None or app not in run.scenario["app"]:
        return False
    of = run.scenario["app"][app]
    stack = (of.get("tcp_server") if direction == "reverse" else None) or of.get("tcp")
    return _has_python(run.scenario.get("tcp", {}).get(stack))


def _word(column: str) -> str:
    """Returns the label of a column: the name of its queue, or the column's name without the unit."""
    if column in _QUEUES:
        return _QUEUES[column]
    for ending in _UNITS:
        column = column.removesuffix(ending)
    return safe(column, 16)


KIND = Kind(
    "trace",
    "the state of a law and a sender; needs a trace (bloatlab run --trace links,flows)",
    "runs",
    unfit,
    draw,
    ("of", *LIMITS),
)
