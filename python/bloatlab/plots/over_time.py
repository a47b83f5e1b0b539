"""Panels over time, one per quantity, sharing a time axis. The kinds series, overview and trace stack them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from bloatlab.plots import elements, measures, style
from bloatlab.plots.kind import Options
from bloatlab.plots.labels import safe
from bloatlab.plots.style import Axes, Figure, Log
from bloatlab.plots.subjects import Run
from bloatlab.scenario import quantity

#: The events drawn as ticks: for each column that counts events of a link, the label and the colour of the ticks.
EVENTS = {"dropped_packets": ("drops", style.DROP), "marked_packets": ("marks", style.MARK)}

#: Height of each panel in a stack, relative to the figure's width.
_HEIGHT = {"column": 0.36, "page": 0.2, "slide": 0.16}

#: Panels of live video: for each column of the table `media` that is drawn, the label of the panel's y axis.
_VIDEO = {"target_mbit": "target (Mbit/s)", "frame_delay_ms": "frame delay (ms)"}

#: Maximum number of flows drawn one by one. If a run has more flows, the rate panel shows the sum for each application,
#: and the panels for windows and round trips show only the first flows. If a run has more applications, the rate panel
#: shows those with the most data, and the sum of the others.
MOST_FLOWS = 6


@dataclass(frozen=True)
class Ticks:
    """The times of events, drawn as ticks at the top edge of a panel."""

    label: str
    times: measures.Array
    colour: str


@dataclass(frozen=True)
class TimePanel:
    """A panel that shows one quantity over time. Each line comes with the index of its colour."""

    name: str
    y_label: str
    lines: Sequence[tuple[measures.Curve, int]]
    ticks: Sequence[Ticks] = field(default_factory=tuple)


def time_panels(runs: Sequence[Run]) -> list[TimePanel]:
    """Makes every panel for which there is data.

    A single run gets one line per flow, application or link. Several runs get one line per run.
    """
    found = _of_run(runs[0]) if len(runs) == 1 else _of_runs(runs)
    return [panel for panel in found if any(np.isfinite(line.y).any() for line, _ in panel.lines)]


def _of_run(run: Run) -> list[TimePanel]:
    width, whole = measures.window(run), measures.flows(run)
    shown = _by_app(whole) if len(whole) > MOST_FLOWS else {f.label: f.frame for f in whole}
    place = {label: i for i, label in enumerate(shown)}
    column, word = measures.carried([run])
    rates = [(measures.rate(run, frame, column, safe(label)), place[label]) for label, frame in shown.items()]
    links = [(name, len(shown) + i) for i, name in enumerate(measures.busy(run)[:3])]
    tcp = [f for f in whole if measures.has(f.frame, "cwnd_bytes")][:MOST_FLOWS]
    seats = {f.label: place.get(f.label, i) for i, f in enumerate(tcp)}
    events = [ticks(column, *measures.drops(run, links[0][0], column)) for column in EVENTS if links]
    videos = measures.videos(run)
    return [
        TimePanel("rate", f"{word} (Mbit/s)", rates),
        TimePanel(
            "queue", "queue (packets)", [(_queue(run, n, n), i) for n, i in links], [e for e in events if len(e.times)]
        ),
        TimePanel("sojourn", "time in queue (ms)", [(sojourn_line(run, n, n), i) for n, i in links]),
        TimePanel(
            "cwnd", "window (kB)", [(_mean(f.frame, "cwnd_bytes", width, f.label, 1e-3), seats[f.label]) for f in tcp]
        ),
        TimePanel("rtt", "RTT (ms)", _rtts(run, width, seats, len(shown) + len(links), tcp)),
        *(
            TimePanel(
                name,
                label,
                [(_video(part, name, width, app), place.get(app, i)) for i, (app, part) in enumerate(videos.items())],
            )
            for name, label in _VIDEO.items()
        ),
    ]


def _rtts(
    run: Run, width: float, seats: Mapping[str, int], free: int, tcp: Sequence[measures.Flow]
) -> list[tuple[measures.Curve, int]]:
    """Returns the round-trip times of pings, or the senders' estimates if there are no pings."""
    pinged = measures.pings(run)
    if pinged:
        return [
            (_rtt(part, width, safe(app)), free + i) for i, (app, part) in enumerate(list(pinged.items())[:MOST_FLOWS])
        ]
    return [
        (_mean(f.frame, "srtt_ms", width, f.label), seats[f.label]) for f in tcp if measures.has(f.frame, "srtt_ms")
    ]


def _of_runs(runs: Sequence[Run]) -> list[TimePanel]:
    """Makes panels with one line per run.

    The panels show the combined rate of all flows, the bottleneck's queue, the mean window of the flows, the round-trip
    times, and live video.
    """
    link = measures.bottleneck(runs)
    of = safe(link, 12) if link else ""
    column, word = measures.carried(runs)
    found = [TimePanel("rate", f"{word}, all data\n(Mbit/s)", _each(runs, lambda run: _all_data(run, column)))]
    if link is not None:
        few = runs if len(runs) <= 4 else ()
        each = [Ticks("", measures.drops(run, link)[0], style.colour(i)) for i, run in enumerate(few)]
        found += [
            TimePanel(
                "queue", f"queue of {of}\n(packets)", _each(runs, lambda run: _queue(run, link, run.label)), each
            ),
            TimePanel("sojourn", f"time in {of}\n(ms)", _each(runs, lambda run: sojourn_line(run, link, run.label))),
        ]
    return [
        *found,
        TimePanel("cwnd", "mean window (kB)", _each(runs, lambda run: _over_flows(run, "cwnd_bytes", 1e-3))),
        TimePanel("rtt", "RTT (ms)", _each(runs, _one_rtt)),
        *(TimePanel(name, label, _each(runs, partial(_videos, column=name))) for name, label in _VIDEO.items()),
    ]


def _each(runs: Sequence[Run], line: Any) -> list[tuple[measures.Curve, int]]:
    made = [(line(run), i) for i, run in enumerate(runs)]
    return [(of, i) for of, i in made if of is not None]


def _all_data(run: Run, column: str) -> measures.Curve | None:
    whole = measures.flows(run)
    return measures.rate(run, pl.concat([f.frame for f in whole]), column, run.label) if whole else None


def _over_flows(run: Run, column: str, scale: float) -> measures.Curve | None:
    whole = [f.frame for f in measures.flows(run) if measures.has(f.frame, column)]
    return _mean(pl.concat(whole), column, measures.window(run), run.label, scale) if whole else None


def _one_rtt(run: Run) -> measures.Curve | None:
    pinged = measures.pings(run)
    if pinged:
        return _rtt(pl.concat(list(pinged.values())), measures.window(run), run.label)
    return _over_flows(run, "srtt_ms", 1.0)


def _video(part: pl.DataFrame, column: str, width: float, label: str) -> measures.Curve:
    return _mean(part.with_columns(pl.col(column).fill_nan(None)), column, width, label)


def _videos(run: Run, column: str) -> measures.Curve | None:
    parts = list(measures.videos(run).values())
    return _video(pl.concat(parts), column, measures.window(run), run.label) if parts else None


def _by_app(whole: Sequence[measures.Flow]) -> dict[str, pl.DataFrame]:
    """Returns the rows by application. Beyond `MOST_FLOWS` applications, those with the least data are joined."""
    apps: dict[str, list[pl.DataFrame]] = {}
    for flow in whole:
        apps.setdefault(flow.app, []).append(flow.frame)
    found = {app: pl.concat(frames) for app, frames in apps.items()}
    if len(found) <= MOST_FLOWS:
        return found
    most = sorted(found, key=lambda app: -float(found[app]["goodput_bytes"].fill_nan(0.0).sum()))[: MOST_FLOWS - 1]
    others = pl.concat([frame for app, frame in found.items() if app not in most])
    return {app: frame for app, frame in found.items() if app in most} | {
        measures.others(len(found) - len(most)): others
    }


def ticks(column: str, times: measures.Array, count: int) -> Ticks:
    """Makes ticks at `times` for `count` events of `column` (a key of `EVENTS`). The label contains their number."""
    word, colour = EVENTS[column]
    return Ticks(f"{count:,} {word}".replace(",", "\u202f"), times, colour)


def _queue(run: Run, link: str, label: str) -> measures.Curve:
    wide = measures.bins(measures.link_series(run, link), {"queue_packets_mean": "mean"}, measures.window(run) / 2.0)
    return measures.Curve(safe(label), wide["t_s"].to_numpy(), wide["queue_packets_mean"].to_numpy())


def sojourn_line(run: Run, link: str, label: str) -> measures.Curve:
    """Returns the time in a link's queue: the mean and maximum in each bin."""
    wide = measures.waits(run, link, measures.window(run) / 2.0)
    return measures.Curve(safe(label), *(wide[c].to_numpy() for c in ("t_s", "mean_ms", "max_ms")))


def _mean(frame: pl.DataFrame, column: str, width: float, label: str, scale: float = 1.0) -> measures.Curve:
    wide = measures.bins(frame.sort("t_s"), {column: "mean"}, max(width, measures.step_of(frame)))
    return measures.Curve(safe(label), wide["t_s"].to_numpy(), wide[column].to_numpy() * scale)


def _rtt(part: pl.DataFrame, width: float, label: str) -> measures.Curve:
    wide = measures.bins(part.with_columns(top=pl.col("rtt_ms")).sort("t_s"), {"rtt_ms": "mean", "top": "max"}, width)
    return measures.Curve(label, wide["t_s"].to_numpy(), wide["rtt_ms"].to_numpy(), wide["top"].to_numpy())


# ----------------------------------------------------------------------------------------------------------- drawing


def ticks_of(found: Sequence[TimePanel]) -> str:
    """Returns the text of the legend entry that explains unlabelled ticks; empty if every tick has a label.

    Only a plot of several results has unlabelled ticks: they show drops, in the colours of the results.
    """
    return "drops" if any(len(t.times) and not t.label for panel in found for t in panel.ticks) else ""


def stacked(runs: Sequence[Run], options: Options, found: Sequence[TimePanel], *, step: bool = False) -> Figure:
    """Draws panels one below another. With `step`, each value holds until the next, and axes are linear by default."""
    each = _HEIGHT[options.width]
    of = elements.sized_figure(options.width, each * len(found) + 0.08)
    grid = list(of.figure.subplots(len(found), 1, sharex=True, squeeze=False).ravel())
    end, height = max(run.end for run in runs), each * style.WIDTHS[options.width].inches * 0.8
    for axes, panel in zip(grid, found, strict=True):
        log = not step and needs_log(panel, runs, options.log)
        draw_time_panel(of, axes, panel, end, height, named=len(runs) == 1, tops=len(runs) <= 2, log=log, step=step)
    grid[-1].set_xlabel("time (s)")
    of.figure.align_ylabels(grid)
    mark_changes(of, grid, runs[0])
    if len(runs) > 1:
        elements.legend(of, [run.label for run in runs], ticks=ticks_of(found))
    elements.settle(of)
    return of.figure


def needs_log(panel: TimePanel, runs: Sequence[Run], log: Log | None) -> bool:
    """Returns whether a panel's y axis is logarithmic.

    By default, the axis is logarithmic if there are several results, and their medians and maxima together span two
    decades. Rates then still have a linear axis, because a logarithmic axis cannot show a flow that gets no
    throughput. A panel without values above 0 never has a logarithmic axis.
    """
    if not _positive(panel) or (log is None and (panel.name == "rate" or len(runs) == 1)):
        return False
    return style.logarithmic([f(y) for y in _positive(panel) for f in (np.median, np.max)], "y", log)


def _positive(panel: TimePanel) -> list[measures.Array]:
    """Returns the positive values of each line, without the lines that have no positive values."""
    found = [line.y[np.isfinite(line.y) & (line.y > 0.0)] for line, _ in panel.lines]
    return [y for y in found if len(y)]


def draw_time_panel(
    of: elements.SizedFigure,
    axes: Axes,
    panel: TimePanel,
    end: float,
    height: float,
    *,
    named: bool,
    tops: bool,
    log: bool = False,
    step: bool = False,
) -> None:
    """Draws a panel in axes `height` inches high.

    With `named`, the lines have labels. With `tops`, the area between each line and its maxima is shaded. A logarithmic
    axis begins at a tenth of the smallest median.
    """
    axes.set_xlim(0.0, end)
    for line, place in panel.lines:
        if tops and line.top is not None:
            elements.shade(axes, line.t, line.y, line.top, place)
        elements.curve(axes, line.t, line.y, place, step=step)
    axes.set_ylabel(panel.y_label)
    events = [t for t in panel.ticks if len(t.times)]
    if log:
        low = 0.1 * min(float(np.median(y)) for y in _positive(panel))
        drawn = [*_positive(panel), *(line.top for line, _ in panel.lines if tops and line.top is not None)]
        high = max(float(np.nanmax(y, initial=0.0)) for y in drawn)
        elements.log_scale(axes, "y")
        axes.set_ylim(low, high * (high / low) ** (0.05 + 0.09 * len(events)))
    else:
        low, high = axes.get_ylim()
        low = low if min((np.nanmin(line.y, initial=0.0) for line, _ in panel.lines), default=0.0) < 0.0 else 0.0
        high = max(high, 0.0) if low else high if high > 0.0 else 1.0
        axes.set_ylim(low, high + (high - low) * 0.09 * len(events))
    labels = elements.line_labels(axes, [(line.label, line.y, place) for line, place in panel.lines]) if named else []
    for i, tick in enumerate(events):
        at = 0.97 - 0.07 * i
        elements.rug(of, axes, tick.times, at, tick.colour)
        labels += [(tick.label, at, tick.colour)] if tick.label else []
    if labels and elements.fits_beside(of, height, len(labels)):
        elements.beside(axes, labels, of.text)


def changes(run: Run) -> list[tuple[float, str]]:
    """Returns the link changes in the scenario: time in s, and the new values."""
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


def mark_changes(of: elements.SizedFigure, stack: Sequence[Axes], run: Run) -> None:
    """Draws a vertical line at each link change, and the new values above the first panel, in up to three rows.

    With more than 40 changes, the values are left out.
    """
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
