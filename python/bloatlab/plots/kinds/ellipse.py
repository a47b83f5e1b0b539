"""The plot kind ellipse: throughput against delay; up and to the right is better.

Each result, or each flow of a single result, is a point, at its means, inside an ellipse. The ellipse is the
one-standard-deviation contour of a normal distribution with the covariance of delay and rate over time windows. A
slanted ellipse shows a queue in which a higher rate costs more delay.

    windows    1 s long, or a 60th of the measured time if that is longer; rounded up to whole steps of the series
    semi-axes  the eigenvectors of the covariance, each as long as the square root of its eigenvalue
    cut        at the minimum and maximum delay and rate over all windows
    log axis   the ellipse is computed from the logarithms of the delays

Source: Winstein and Balakrishnan 2013 (TCP ex Machina), Figure 4; flent's plot "ellipsis".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from bloatlab.plots import style
from bloatlab.plots.elements import SizedFigure, free_labels, legend, log_scale, sized_figure
from bloatlab.plots.kind import Kind, Options
from bloatlab.plots.labels import safe
from bloatlab.plots.measures import (
    Array,
    bins,
    bottleneck,
    carried,
    flows,
    link_series,
    pings,
    step_of,
    waits,
    whole_steps,
)
from bloatlab.plots.style import Axes, Figure
from bloatlab.plots.subjects import Run

#: Shortest delay on a logarithmic axis, in ms. Shorter delays, which users do not notice, count as this delay.
FLOOR = 1.0

_HEIGHT = {"column": 0.85, "page": 0.6, "slide": 0.55}


@dataclass(frozen=True)
class Cloud:
    """The delay in ms and the rate in Mbit/s in each time window, for a run or one of its flows."""

    label: str
    delay: Array
    rate: Array

    def contour(self, points: int = 720, *, log: bool = False) -> tuple[Array, Array]:
        """Returns the one-standard-deviation ellipse around the means.

        With `log`, the ellipse is computed from the logarithms of the delays.
        """
        delay = np.log(np.maximum(self.delay, FLOOR)) if log else self.delay
        centre = np.array([[delay.mean()], [self.rate.mean()]])
        covariance = np.cov(delay, self.rate)
        lengths, ways = np.linalg.eigh(covariance)
        turn = np.linspace(0.0, 2.0 * np.pi, points)
        circle = np.stack([np.cos(turn), np.sin(turn)])
        x, y = ways @ (np.sqrt(np.maximum(lengths, 0.0))[:, None] * circle) + centre
        return np.exp(x) if log else x, y

    def drawn(self, *, log: bool = False) -> tuple[Array, Array]:
        """Returns the part of the ellipse within the minimum and maximum delay and rate over all windows.

        Without this cut, the ellipse could reach delays below 0. `log` is true for a logarithmic delay axis.
        """
        x, y = self.contour(log=log)
        low = max(FLOOR, self.delay.min()) if log else self.delay.min()
        within = (x >= low) & (x <= self.delay.max()) & (y >= self.rate.min()) & (y <= self.rate.max())
        if not within.any():
            return np.array([self.delay.mean()]), np.array([self.rate.mean()])
        x, y = x[within], y[within]
        return np.append(x, x[0]), np.append(y, y[0])

    def middle(self, *, log: bool = False) -> tuple[float, float]:
        """Returns the mean delay and the mean rate over the windows.

        With `log`, the delay is the geometric mean, with delays below `FLOOR` raised to `FLOOR`.
        """
        delay = np.exp(np.log(np.maximum(self.delay, FLOOR)).mean()) if log else self.delay.mean()
        return float(delay), float(self.rate.mean())


def clouds(runs: Sequence[Run]) -> tuple[list[Cloud], str]:
    """Returns the clouds and the label of the delay axis.

    There is one cloud per run. A single run of bloatlab has one cloud for each of its first six flows instead.
    """
    if len(runs) == 1 and runs[0].result is not None:
        return _apps(runs[0]), "one-way delay (ms)"
    if all(pings(run) and flows(run) for run in runs):
        column, _ = carried(runs)
        return [c for c in (_pinged(run, column) for run in runs) if c is not None], "round-trip time (ms)"
    link = bottleneck(runs)
    if link is None:
        return [], ""
    return [
        c for c in (_link(run, link) for run in runs) if c is not None
    ], f"time in the queue of {safe(link, 16)} (ms)"


def unfit(runs: Sequence[Run]) -> str | None:
    """Returns the reason why the ellipses cannot be drawn; None if they can."""
    found, _ = clouds(runs)
    if len(found) < (1 if len(runs) == 1 else len(runs)):
        return (
            f"{runs[0].label}: an ellipse needs series of rate and delay, of the same link or of pings, in every result"
        )
    return None


def _span(run: Run, frame: pl.DataFrame) -> float:
    """Returns the length of the windows in s: a whole number of steps of the series `frame`."""
    return whole_steps(max(1.0, (run.end - run.begin) / 60.0), step_of(frame))


def _cloud(label: str, frame: pl.DataFrame, run: Run, width: float) -> Cloud | None:
    """Returns the delay and the rate in each window with both a delay and sent data.

    None if there are fewer than three such windows. Windows that the warm-up or the end of the run cuts short are left
    out.
    """
    whole = (pl.col("t_s") >= run.begin) & (pl.col("t_s") + width <= run.end + 1e-6)
    frame = frame.filter(whole & pl.col("delay").is_not_nan() & (pl.col("bytes") > 0.0))
    if frame.height < 3:
        return None
    return Cloud(label, frame["delay"].to_numpy(), frame["bytes"].to_numpy() * 8e-6 / width)


def _apps(run: Run) -> list[Cloud]:
    width, found = _span(run, run.table("flow_series")), list[Cloud | None]()
    for flow in flows(run)[:6]:
        # the number of packets in a bin is not in the table, so each bin's mean is weighted by the bytes that arrived
        arrived = pl.col("wire_bytes")
        timed = pl.when(pl.col("delay_ms_mean").is_not_nan()).then(arrived).otherwise(0.0)
        frame = flow.frame.select("t_s", arrived, timed=timed, total=pl.col("delay_ms_mean").fill_nan(0.0) * arrived)
        wide = bins(frame, {"wire_bytes": "sum", "timed": "sum", "total": "sum"}, width)
        wide = wide.select("t_s", delay=pl.col("total") / pl.col("timed"), bytes=arrived)
        found.append(_cloud(safe(flow.label), wide, run, width))
    return [c for c in found if c is not None]


def _link(run: Run, link: str) -> Cloud | None:
    width = _span(run, link_series(run, link))
    return _cloud(run.label, waits(run, link, width).rename({"mean_ms": "delay", "sent_bytes": "bytes"}), run, width)


def _pinged(run: Run, column: str) -> Cloud | None:
    width = _span(run, run.table("flow_series"))
    rtts = bins(pl.concat(list(pings(run).values())).sort("t_s"), {"rtt_ms": "mean"}, width)
    sent = pl.concat([f.frame.select("t_s", bytes=column) for f in flows(run)]).sort("t_s")
    sent = bins(sent, {"bytes": "sum"}, width)
    both = rtts.with_columns(pl.col("t_s").round(6)).join(sent.with_columns(pl.col("t_s").round(6)), on="t_s")
    return _cloud(run.label, both.rename({"rtt_ms": "delay"}), run, width)


def draw(runs: Sequence[Run], options: Options) -> Figure:
    """Draws ellipses with their labels; delay increases to the left."""
    found, delay = clouds(runs)
    of = sized_figure(options.width, _HEIGHT[options.width])
    axes = of.figure.subplots()
    log = style.logarithmic([max(v, FLOOR) for c in found for v in (c.delay.mean(), c.delay.max())], "x", options.log)
    for place, cloud in enumerate(found):
        x, y = cloud.drawn(log=log)
        colour = style.colour(place)
        axes.fill(x, y, facecolor=colour, alpha=0.15, linewidth=0)
        axes.plot(x, y, color=colour, linestyle=style.dashes(place))
        axes.plot(
            *([v] for v in cloud.middle(log=log)), linestyle="none", color=colour,
            marker=style.marker(place), markersize=of.text * 0.6,
        )  # fmt: skip
    axes.margins(0.12)
    axes.autoscale_view()
    if log:
        log_scale(axes, "x")
    low, high = axes.get_xlim()
    if log:
        axes.set_xlim(1.3 * high, 0.8 * low)
    else:
        axes.set_xlim(high, low if low > 0.2 * high else -0.02 * high)
    axes.set_ylim(0.0, 1.06 * axes.get_ylim()[1])
    axes.set_xlabel(f"{delay}, less to the right")
    axes.set_ylabel("throughput (Mbit/s)")
    axes.annotate(
        "better ↗", (0.99, 0.98), xycoords="axes fraction", ha="right", va="top", color=style.INK, fontsize=of.text,
    )  # fmt: skip
    _names(of, axes, found, log=log)
    return of.figure


def _names(of: SizedFigure, axes: Axes, found: Sequence[Cloud], *, log: bool) -> None:
    """Labels each ellipse at its top; draws a legend if there is no room for the labels."""
    tops = [cloud.drawn(log=log) for cloud in found]
    labels = [
        (cloud.label, float(x[y.argmax()]), float(y.max()), style.colour(place))
        for place, (cloud, (x, y)) in enumerate(zip(found, tops, strict=True))
    ]
    before = list(axes.texts)
    if free_labels(of, axes, labels):
        for text in [t for t in axes.texts if t not in before]:
            text.remove()
        legend(of, [cloud.label for cloud in found], axes=axes)


KIND = Kind(
    "ellipse",
    "throughput against delay, with ellipses of one standard deviation; up and right is better",
    "runs",
    unfit,
    draw,
)
