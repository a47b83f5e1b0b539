"""The data behind plots: series of runs in equal bins, and distributions. Nothing here draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bloatlab.measures import value_at
from bloatlab.plots.subjects import Run
from bloatlab.tables import answered_pings, natural

Array = NDArray[np.float64]

#: Approximate number of bins for a rate over time: fewer bins hide changes, more bins show single packets.
BINS = 150

Quantity = Literal["sojourn", "delay", "rtt"]
QUANTITIES: Mapping[Quantity, str] = {
    "sojourn": "time in the queue (ms)",
    "delay": "one-way delay (ms)",
    "rtt": "round-trip time (ms)",
}


@dataclass(frozen=True)
class Curve:
    """A curve over time: the start of each bin in s and its value; `top` is the maximum in each bin."""

    label: str
    t: Array
    y: Array
    top: Array | None = None


@dataclass(frozen=True)
class Distribution:
    """The distinct delays in ms, in ascending order, and how often each occurs.

    For a histogram, the values are the midpoints of its bins.
    """

    label: str
    quantity: Quantity
    values: Array
    counts: Array

    def quantile(self, q: float) -> float:
        """Returns the smallest value that has at least the fraction `q` of all values at or below it (nearest rank)."""
        total = self.counts.sum()
        rank = max(1.0, np.ceil(q * total - 1e-9))
        return float(self.values[np.searchsorted(np.cumsum(self.counts), rank)])

    def shares(self) -> Array:
        """Returns the fraction at or below each value."""
        return np.cumsum(self.counts) / self.counts.sum()


def window(run: Run) -> float:
    """Returns the width in s of the windows for rates over time: 1, 2 or 5 times a power of ten.

    The run then has at most about `BINS` windows, and at least 0.4 times as many.
    """
    target = run.end / BINS
    power = 10.0 ** np.floor(np.log10(target))
    return float(next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= target * 0.999))


def bins(
    frame: pl.DataFrame, columns: Mapping[str, Literal["sum", "mean", "max", "last"]], width: float
) -> pl.DataFrame:
    """Aggregates a series with ascending `t_s` into wider bins.

    In the result, `t_s` is the start of each bin. Bins without rows are left out. If a bin has rows but no values, its
    sum is 0, and its mean, maximum and last value are NaN.
    """
    how = {name: getattr(pl.col(name).fill_nan(None), way)() for name, way in columns.items()}
    place = (pl.col("t_s") / width + 1e-6).floor()
    wide = frame.group_by(place.alias("bin")).agg(**how).sort("bin")
    return wide.select(
        (pl.col("bin") * width).alias("t_s"), *(pl.col(c).cast(pl.Float64).fill_null(np.nan) for c in columns)
    )


def step_of(frame: pl.DataFrame) -> float:
    """Returns the bin width of a series in s; 0 for fewer than two bins."""
    t = frame["t_s"].unique().sort() if "t_s" in frame.columns else pl.Series([])
    return float(t[1] - t[0]) if len(t) > 1 else 0.0


def has(frame: pl.DataFrame, column: str) -> bool:
    """Returns whether a table has this column, with at least one number in it."""
    return column in frame.columns and bool(frame[column].fill_nan(None).is_not_null().any())


def _mean_wait(run: Run, link: str) -> float:
    return float(value_at(run.links.get(link, {}), "sojourn_ms.mean") or 0.0)


def recorded(run: Run) -> list[str]:
    """Returns the links whose queue was recorded over time; the link with the longest mean wait comes first."""
    frame = run.table("queue_series")
    names = frame["link"].unique(maintain_order=True).to_list() if "link" in frame.columns else []
    known = [name for name in names if name in run.links]  # tables edited by a user may name other links
    return sorted(known, key=lambda name: -_mean_wait(run, name))


def busy(run: Run) -> list[str]:
    """Returns the recorded links whose mean wait is at least 1 ms and at least a tenth of the longest mean wait.

    If no mean wait reaches 1 ms, returns only the link with the longest.
    """
    found = recorded(run)
    return [n for n in found if _mean_wait(run, n) >= max(1.0, 0.1 * _mean_wait(run, found[0]))] or found[:1]


def bottleneck(runs: Sequence[Run]) -> str | None:
    """Returns the link with the longest mean wait in any run, among the links recorded in all runs."""
    common = set.intersection(*({*recorded(run)} for run in runs)) if runs else set[str]()
    return max(sorted(common), key=lambda name: max(_mean_wait(run, name) for run in runs), default=None)


def link_series(run: Run, link: str) -> pl.DataFrame:
    """Returns the rows of one link in the table `queue_series`."""
    return run.table("queue_series").filter(pl.col("link") == link)


def waits(run: Run, link: str, width: float) -> pl.DataFrame:
    """Returns the time in a link's queue in bins of `width` s.

    The column `mean_ms` is the mean over the packets that left in the bin, and `max_ms` their maximum; both are NaN
    without such packets. The column `sent_bytes` is their bytes.
    """
    total = (pl.col("sojourn_ms_mean").fill_nan(0.0) * pl.col("sent_packets")).alias("total")
    frame = link_series(run, link).with_columns(total, pl.col("sojourn_ms_max").alias("max_ms"))
    wide = bins(frame, {"total": "sum", "sent_packets": "sum", "sent_bytes": "sum", "max_ms": "max"}, width)
    return wide.select("t_s", (pl.col("total") / pl.col("sent_packets")).alias("mean_ms"), "max_ms", "sent_bytes")


def whole_steps(width: float, step: float) -> float:
    """Returns the smallest multiple of `step` that is at least `width`.

    If the width were not a multiple of `step`, bins would hold unequal numbers of steps, and sums over bins would go up
    and down.
    """
    return step * max(1.0, float(np.ceil(width / step - 1e-6))) if step > 0.0 else width


def rate(run: Run, frame: pl.DataFrame, column: str, label: str) -> Curve:
    """Converts a column of byte counts to a rate in Mbit/s.

    The bin width is a multiple of the bin width of `frame`; the last bin may be shorter.
    """
    width = whole_steps(window(run), step_of(frame))
    total = frame.group_by("t_s").agg(pl.col(column).fill_nan(None).sum()).sort("t_s")
    wide = bins(total, {column: "sum"}, width)
    t = wide["t_s"].to_numpy()
    return Curve(label, t, wide[column].to_numpy() * 8e-6 / np.minimum(width, run.end - t))


@dataclass(frozen=True)
class Flow:
    """One direction of a flow. `frame` contains the flow's rows of the table `flow_series` in this direction."""

    app: str
    number: int
    direction: str
    label: str
    frame: pl.DataFrame


def others(count: int) -> str:
    """Returns the label for the sum of the `count` items that are not drawn separately."""
    return f"{count} others"


def carried(runs: Sequence[Run]) -> tuple[str, str]:
    """Returns the column from which rates are computed, and the word for these rates.

    The column counts bytes on the wire if all runs recorded them, and otherwise payload bytes.
    """
    wire = all("wire_bytes" in run.table("flow_series").columns for run in runs)
    return ("wire_bytes", "rate") if wire else ("goodput_bytes", "goodput")


def flows(run: Run) -> list[Flow]:
    """Returns each direction of each flow that was recorded over time and carried payload.

    The applications are in natural order. Pings are left out.
    """
    frame = run.table("flow_series")
    if frame.height:
        frame = frame.filter(~pl.col("app").is_in([app for app, of in run.apps.items() if of.get("kind") == "ping"]))
    if not frame.height:
        return []
    parts = frame.partition_by("app", "flow", "direction", maintain_order=True, as_dict=True)
    kept = {
        (str(app), int(number), str(way)): part
        for (app, number, way), part in parts.items()
        if float(part["goodput_bytes"].fill_nan(0.0).sum()) > 0.0
    }
    several = {app for app, number, _ in kept if number > 0}
    both = {(app, number) for app, number, way in kept if way == "reverse" and (app, number, "forward") in kept}

    def label(app: str, number: int, way: str) -> str:
        words = app + (f" {number + 1}" if app in several else "")
        return words + (" back" if way == "reverse" and (app, number) in both else "")

    found = [Flow(app, number, way, label(app, number, way), part) for (app, number, way), part in kept.items()]
    return sorted(found, key=lambda flow: natural(flow.app))


def drops(run: Run, link: str, column: str = "dropped_packets") -> tuple[Array, int]:
    """Returns the start in s of each bin with a drop (or mark) in a link's queue, and the number of drops.

    The drops of the warm-up are included.
    """
    frame = link_series(run, link)
    if column not in frame.columns:
        return np.zeros(0), 0
    found = frame.filter(pl.col(column).fill_nan(None) > 0)
    return found["t_s"].to_numpy(), int(found[column].sum())


def pings(run: Run) -> dict[str, pl.DataFrame]:
    """Returns the rows for answered pings, by application."""
    return answered_pings(run.table("pings"))


def videos(run: Run) -> dict[str, pl.DataFrame]:
    """Returns the rows of the table `media` (live video) by application, for the first six applications."""
    frame = run.table("media")
    if not frame.height:
        return {}
    parts = frame.partition_by("app", maintain_order=True, as_dict=True)
    return {str(app): part for (app,), part in list(parts.items())[:6]}


def distributions(run: Run) -> list[Distribution]:
    """Returns the distributions of a run: round-trip times of pings, one-way delays, times in queues."""
    found = [
        Distribution(app, "rtt", *_counted(part.filter(pl.col("t_s") >= run.begin)["rtt_ms"].to_numpy()))
        for app, part in pings(run).items()
        if part.filter(pl.col("t_s") >= run.begin).height
    ]
    frame = run.table("delay_histogram")
    if frame.height:
        parts = frame.partition_by("app", "direction", maintain_order=True, as_dict=True)
        for (app, way), part in sorted(parts.items(), key=lambda one: natural(str(one[0][0]))):
            both = (app, "forward") in parts and (app, "reverse") in parts
            label = f"{app} back" if way == "reverse" and both else str(app)
            found += _histogram(label, "delay", part)
    frame = run.table("sojourn_histogram")
    for link in recorded(run):
        found += _histogram(link, "sojourn", frame.filter(pl.col("link") == link))
    return found


def _counted(values: Array) -> tuple[Array, Array]:
    found, counts = np.unique(values, return_counts=True)
    return found, counts.astype(np.float64)


def _histogram(label: str, quantity: Quantity, frame: pl.DataFrame) -> list[Distribution]:
    frame = frame.filter(pl.col("count") > 0).sort("lower_ms")
    if not frame.height:
        return []
    middle = (frame["lower_ms"].to_numpy() + frame["upper_ms"].to_numpy()) / 2.0
    return [Distribution(label, quantity, middle, frame["count"].to_numpy().astype(np.float64))]
