"""Strips: what happened over time, one quantity each under one clock. The kinds series and overview stack them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from bloatlab.plots import style
from bloatlab.plots.elements import Sheet, beside, curve, fits_beside, line_labels, log_scale, rug, shade
from bloatlab.plots.labels import safe
from bloatlab.plots.measures import (
    Array,
    Flow,
    Line,
    bins,
    bottleneck,
    busy,
    carried,
    drops,
    flows,
    link_series,
    pings,
    rate,
    step_of,
    window,
)
from bloatlab.plots.style import Log
from bloatlab.plots.subjects import Run
from bloatlab.scenario import quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: More flows than this are drawn as the sum of their application.
MOST_FLOWS = 6


@dataclass(frozen=True)
class Ticks:
    """Moments, drawn as ticks at the top edge."""

    label: str
    times: Array
    colour: str


@dataclass(frozen=True)
class Strip:
    """One quantity over time: lines with the place of their colour, and ticks."""

    name: str
    y_label: str
    lines: Sequence[tuple[Line, int]]
    ticks: Sequence[Ticks] = field(default_factory=tuple)


def strips(runs: Sequence[Run]) -> list[Strip]:
    """Every strip that these runs have something for. One run shows its parts, several show one line each."""
    found = _parts(runs[0]) if len(runs) == 1 else _overlaid(runs)
    return [strip for strip in found if any(np.isfinite(line.y).any() for line, _ in strip.lines)]


def _parts(run: Run) -> list[Strip]:
    width, whole = window(run), flows(run)
    shown = _by_app(whole) if len(whole) > MOST_FLOWS else {f.label: f.frame for f in whole}
    place = {label: i for i, label in enumerate(shown)}
    column, word = carried([run])
    rates = [(rate(run, frame, column, safe(label)), place[label]) for label, frame in shown.items()]
    links = [(name, len(shown) + i) for i, name in enumerate(busy(run)[:3])]
    tcp = [f for f in whole if _has(f.frame, "cwnd_bytes")][:MOST_FLOWS]
    seats = {f.label: place.get(f.label, i) for i, f in enumerate(tcp)}
    ticks = [_ticks(run, links[0][0], "dropped_packets"), _ticks(run, links[0][0], "marked_packets")] if links else []
    return [
        Strip("rate", f"{word} (Mbit/s)", rates),
        Strip(
            "queue", "queue (packets)", [(_queue(run, n, n), i) for n, i in links], [t for t in ticks if len(t.times)]
        ),
        Strip("sojourn", "time in queue (ms)", [(_sojourn(run, n, n), i) for n, i in links]),
        Strip(
            "cwnd", "window (kB)", [(_mean(f.frame, "cwnd_bytes", width, f.label, 1e-3), seats[f.label]) for f in tcp]
        ),
        Strip("rtt", "RTT (ms)", _rtts(run, width, seats, len(shown) + len(links), tcp)),
    ]


def _rtts(run: Run, width: float, seats: Mapping[str, int], free: int, tcp: Sequence[Flow]) -> list[tuple[Line, int]]:
    """Round trips: as pings have them, else as the senders believe."""
    asked = pings(run)
    if asked:
        return [
            (_rtt(part, width, safe(app)), free + i) for i, (app, part) in enumerate(list(asked.items())[:MOST_FLOWS])
        ]
    return [(_mean(f.frame, "srtt_ms", width, f.label), seats[f.label]) for f in tcp if _has(f.frame, "srtt_ms")]


def _overlaid(runs: Sequence[Run]) -> list[Strip]:
    """One line per run: of the link where packets waited longest, of all data, of the window's mean, of the pings."""
    link = bottleneck(runs)
    of = safe(link, 12) if link else ""
    column, word = carried(runs)
    found = [Strip("rate", f"{word}, all data\n(Mbit/s)", _each(runs, lambda run: _all_data(run, column)))]
    if link is not None:
        ticks = [Ticks("", drops(run, link), style.colour(i)) for i, run in enumerate(runs) if len(runs) <= 4]
        found += [
            Strip("queue", f"queue of {of}\n(packets)", _each(runs, lambda run: _queue(run, link, run.label)), ticks),
            Strip("sojourn", f"time in {of}\n(ms)", _each(runs, lambda run: _sojourn(run, link, run.label))),
        ]
    return [
        *found,
        Strip("cwnd", "mean window (kB)", _each(runs, lambda run: _over_flows(run, "cwnd_bytes", 1e-3))),
        Strip("rtt", "RTT (ms)", _each(runs, _one_rtt)),
    ]


def _each(runs: Sequence[Run], line: Any) -> list[tuple[Line, int]]:
    made = [(line(run), i) for i, run in enumerate(runs)]
    return [(of, i) for of, i in made if of is not None]


def _all_data(run: Run, column: str) -> Line | None:
    whole = flows(run)
    return rate(run, pl.concat([f.frame for f in whole]), column, run.label) if whole else None


def _over_flows(run: Run, column: str, scale: float) -> Line | None:
    whole = [f.frame for f in flows(run) if _has(f.frame, column)]
    return _mean(pl.concat(whole), column, window(run), run.label, scale) if whole else None


def _one_rtt(run: Run) -> Line | None:
    asked = pings(run)
    if asked:
        return _rtt(pl.concat(list(asked.values())), window(run), run.label)
    return _over_flows(run, "srtt_ms", 1.0)


def _by_app(whole: Sequence[Flow]) -> dict[str, pl.DataFrame]:
    apps: dict[str, list[pl.DataFrame]] = {}
    for flow in whole:
        apps.setdefault(flow.app, []).append(flow.frame)
    return {app: pl.concat(frames) for app, frames in apps.items()}


def _has(frame: pl.DataFrame, column: str) -> bool:
    return column in frame.columns and bool(frame[column].fill_nan(None).is_not_null().any())


def _ticks(run: Run, link: str, column: str) -> Ticks:
    count = run.links.get(link, {}).get(column, 0)
    word, colour = ("drops", style.DROP) if column == "dropped_packets" else ("marks", style.MARK)
    return Ticks(f"{count:,} {word}".replace(",", "\u202f"), drops(run, link, column), colour)


def _queue(run: Run, link: str, label: str) -> Line:
    wide = bins(link_series(run, link), {"queue_packets_mean": "mean"}, window(run) / 2.0)
    return Line(safe(label), wide["t_s"].to_numpy(), wide["queue_packets_mean"].to_numpy())


def _sojourn(run: Run, link: str, label: str) -> Line:
    wide = bins(link_series(run, link), {"sojourn_ms_mean": "mean", "sojourn_ms_max": "max"}, window(run) / 2.0)
    return Line(safe(label), *(wide[c].to_numpy() for c in ("t_s", "sojourn_ms_mean", "sojourn_ms_max")))


def _mean(frame: pl.DataFrame, column: str, width: float, label: str, scale: float = 1.0) -> Line:
    wide = bins(frame.sort("t_s"), {column: "mean"}, max(width, step_of(frame)))
    return Line(safe(label), wide["t_s"].to_numpy(), wide[column].to_numpy() * scale)


def _rtt(part: pl.DataFrame, width: float, label: str) -> Line:
    wide = bins(part.with_columns(top=pl.col("rtt_ms")).sort("t_s"), {"rtt_ms": "mean", "top": "max"}, width)
    return Line(label, wide["t_s"].to_numpy(), wide["rtt_ms"].to_numpy(), wide["top"].to_numpy())


# ------------------------------------------------------------------------------------------------------------- drawn


def ticks_of(found: Sequence[Strip]) -> str:
    """What a legend says of the ticks of several results, which bear no names of their own; empty for none."""
    return "drops" if any(len(t.times) and not t.label for strip in found for t in strip.ticks) else ""


def needs_log(strip: Strip, runs: Sequence[Run], asked: Log | None) -> bool:
    """Whether several results are too far apart for a linear axis: the median of each, and the greatest value.

    Rates are not: who gets nothing belongs at the bottom.
    """
    if strip.name == "rate" or (len(runs) == 1 and asked is None):
        return False
    waits = [line.y[np.isfinite(line.y) & (line.y > 0.0)] for line, _ in strip.lines]
    return style.logarithmic([f(y) for y in waits if len(y) for f in (np.median, np.max)], "y", asked)


def draw_strip(
    of: Sheet, axes: Axes, strip: Strip, end: float, height: float, *, named: bool, tops: bool, log: bool = False
) -> None:
    """A strip in its axes, `height` inches high. `named` puts names beside the lines; `tops` shades to the maxima.

    On a logarithmic axis, what is below a tenth of the least median is drawn at the lower edge.
    """
    axes.set_xlim(0.0, end)
    for line, place in strip.lines:
        if tops and line.top is not None:
            shade(axes, line.t, line.y, line.top, place)
        curve(axes, line.t, line.y, place)
    axes.set_ylabel(strip.y_label)
    ticks = [t for t in strip.ticks if len(t.times)]
    if log:
        waits = [line.y[np.isfinite(line.y) & (line.y > 0.0)] for line, _ in strip.lines]
        low = 0.1 * min(float(np.median(y)) for y in waits if len(y))
        high = max(float(np.max(y)) for y in waits if len(y))
        log_scale(axes, "y")
        axes.set_ylim(low, high * (high / low) ** (0.05 + 0.09 * len(ticks)))
    else:
        high = axes.get_ylim()[1]
        axes.set_ylim(0.0, high * (1.0 + 0.09 * len(ticks)) if high > 0.0 else 1.0)
    labels = line_labels(axes, [(line.label, line.y, place) for line, place in strip.lines]) if named else []
    for i, tick in enumerate(ticks):
        at = 0.97 - 0.07 * i
        rug(of, axes, tick.times, at, tick.colour)
        labels += [(tick.label, at, tick.colour)] if tick.label else []
    if labels and fits_beside(of, height, len(labels)):
        beside(axes, labels, of.text)


def changes(run: Run) -> list[tuple[float, str]]:
    """When the scenario changes a link, s, and to what."""
    if run.scenario is None:
        return []
    links = run.scenario.get("link", {})
    found: list[tuple[float, str]] = []
    for name, link in links.items():
        for change in link.get("changes") or []:
            words = [
                str(value) if key == "rate" else f"{key.replace('_', ' ')} {_plain(value)}"
                for key, value in change.items()
                if key != "at" and value is not None
            ]
            of = f"{name} " if sum(bool(other.get("changes")) for other in links.values()) > 1 else ""
            found.append((quantity(change["at"]), safe(of + ", ".join(words), 24)))
    return sorted(found)


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def mark_changes(of: Sheet, stack: Sequence[Axes], run: Run) -> None:
    """An upright line at each change through all strips, and above the first what it changes to, in rows."""
    moments = [(at, words) for at, words in changes(run) if at < run.end]
    ends: list[float] = []
    low, high = stack[0].get_xlim()
    inches = style.WIDTHS[of.width].inches * 0.8
    for at, words in moments:
        for axes in stack:
            axes.axvline(at, color=style.INK, linewidth=0.7, linestyle=(0, (2, 2)), zorder=1)
        if len(moments) > 40:
            continue
        place = (at - low) / (high - low) * inches * 72.0
        length = of.text * 0.54 * len(words)
        row = next((r for r, end in enumerate(ends) if place >= end), len(ends))
        ends[row : row + 1] = [place + length + of.text]
        if row < 3:
            stack[0].annotate(
                words, (at, 1.0), xycoords=("data", "axes fraction"), xytext=(0, 2.0 + row * of.text * 1.2),
                textcoords="offset points", fontsize=of.text * 0.9, color=style.INK, ha="left", va="bottom",
            )  # fmt: skip
