"""Reduces a simulated or live run to the numbers used in tables and claims.

If a measure has a unit, its name ends with the unit. NaN marks a missing value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bloatlab.simulation import Result
from bloatlab.studies.csc458.build import LONG, PAGE, PING, UP, Lab

Measures = dict[str, float]

#: A queue counts as full if its length is at least this share of its greatest length in the run. The share is below 1
#: because the report's authors took "full" from a plot, not from exact lengths.
FULL = 0.9

#: Time for a packet to travel from h1 to s0's queue: the propagation delay of one link (1 ms). The transmission time is
#: negligible.
INTO_QUEUE_S = 0.001

Floats = NDArray[np.float64]


def measure(result: Result) -> Measures:
    """Measures one run of the lab's network."""
    return fetches(result) | pings(result) | flow(result) | queue(result) | equation_2(result, Lab())


def fetches(result: Result) -> Measures:
    """Measures the page fetches. Mean and (population) standard deviation are computed as in the lab's `helper.py`."""
    took = fetch_times(result)
    if len(took) == 0:
        return {"fetches": 0.0, **dict.fromkeys(("fetch_mean_s", "fetch_sd_s", "fetch_median_s"), math.nan)}
    return {
        "fetches": float(len(took)),
        "fetch_mean_s": float(np.mean(took)),
        "fetch_sd_s": float(np.std(took)),
        "fetch_median_s": float(np.median(took)),
    }


def fetch_times(result: Result) -> Floats:
    """Returns the duration of each finished fetch, in s."""
    return result.table("files").filter(pl.col("app") == PAGE)["took_s"].to_numpy()


def pings(result: Result) -> Measures:
    """Measures the round-trip times of pings."""
    rtt = answered(result)["rtt_ms"].to_numpy()
    if len(rtt) == 0:
        return dict.fromkeys(("rtt_median_ms", "rtt_p95_ms", "rtt_max_ms", "pings_lost_percent"), math.nan)
    return {
        "rtt_median_ms": float(np.median(rtt)),
        "rtt_p95_ms": float(np.quantile(rtt, 0.95)),
        "rtt_max_ms": float(np.max(rtt)),
        "pings_lost_percent": result.summary["apps"][PING]["ping"]["lost_percent"],
    }


def answered(result: Result) -> pl.DataFrame:
    """Returns the answered pings: `t_s`, `rtt_ms`."""
    frame = result.table("pings").filter(pl.col("app") == PING)
    return frame.filter(pl.col("rtt_ms").is_not_null() & pl.col("rtt_ms").is_not_nan()).sort("t_s")


def flow(result: Result) -> Measures:
    """Measures the long flow (goodput, losses, changes in its window), and counts the page's retransmissions."""
    app = result.summary["apps"][LONG]
    window = cwnd(result)["cwnd_bytes"].to_numpy()
    steps = np.diff(window[window > 0])
    moves = steps[steps != 0]
    return {
        "throughput_mbit": app["goodput_bytes"] * 8e-6 / result.measured_s,
        "retransmits": float(app["retransmits"]),
        "page_retransmits": float(result.summary["apps"][PAGE]["retransmits"]),
        "timeouts": known(app["timeouts"]),
        "cuts": known(app["fast_recoveries"]) + known(app["timeouts"]),
        "cwnd_up_share": float(np.mean(moves > 0)) if len(moves) else math.nan,
    }


def known(count: float | None) -> float:
    """Returns a counter, or NaN if the kernel does not report it."""
    return math.nan if count is None else float(count)


def cwnd(result: Result) -> pl.DataFrame:
    """Returns the long flow's congestion window: `t_s`, `cwnd_bytes`."""
    forward = (pl.col("app") == LONG) & (pl.col("direction") == "forward")
    return result.table("flow_series").filter(forward).sort("t_s").select("t_s", "cwnd_bytes").fill_nan(0).fill_null(0)


def queue(result: Result) -> Measures:
    """Measures the bottleneck's queue, in segments, and its drops."""
    link = result.summary["links"][UP]
    shares = result.table("queue_histogram").filter(pl.col("link") == UP)
    longest = link["queue_packets"]["max"]
    full = shares.filter(pl.col("packets") >= FULL * longest)["time_share"].sum()
    return {
        "queue_mean_packets": link["queue_packets"]["mean"],
        "queue_max_packets": float(longest),
        "empty_share": float(shares.filter(pl.col("packets") == 0)["time_share"].sum()),
        "full_share": float(full),
        "dropped_percent": 100.0 * link["dropped_packets"] / max(link["offered_packets"], 1),
        "utilisation": link["utilisation"],
        "queue_climb_share": climb_share(queue_series(result)),
    }


#: The span over which the growth of a queue is measured. At Q = 100, 1 s is several round trips, but only a small part
#: of the time between two losses.
TREND_S = 1.0


def climb_share(frame: pl.DataFrame, span_s: float = TREND_S) -> float:
    """Returns the fraction of time during which the queue grows.

    The queue grows if its mean length over `span_s` seconds is larger than its mean length over the preceding
    `span_s` seconds. The result is NaN if the series is too short.
    """
    t, packets = frame["t_s"].to_numpy(), frame["packets"].to_numpy()
    bins = round(span_s / (t[1] - t[0])) if len(t) > 1 else 0
    if bins == 0 or len(packets) < 3 * bins:
        return math.nan
    mean = np.convolve(packets, np.ones(bins) / bins, mode="valid")
    return float(np.mean(mean[bins:] > mean[:-bins]))


def queue_series(result: Result) -> pl.DataFrame:
    """Returns the bottleneck's queue: `t_s`, `packets` (mean in the bin, in segments)."""
    up = result.table("queue_series").filter(pl.col("link") == UP).sort("t_s")
    return up.select("t_s", pl.col("queue_packets_mean").fill_nan(0).fill_null(0).alias("packets"))


def equation_2(result: Result, lab: Lab) -> Measures:
    """Compares the round trip of each ping with equation (2) of the CSC458 report.

    The equation is evaluated for the queue length that the ping encounters.
    """
    frame, series = answered(result), queue_series(result)
    if frame.height < 2 or series.height < 2:
        return dict.fromkeys(("eq2_off_median_ms", "eq2_off_p95_ms", "eq2_correlation"), math.nan)
    t, packets = series["t_s"].to_numpy(), series["packets"].to_numpy()
    bins = np.searchsorted(t, frame["t_s"].to_numpy() + INTO_QUEUE_S, side="right") - 1
    rtt = frame["rtt_ms"].to_numpy()
    says = lab.rtt_ms + packets[bins] * lab.packet_ms()
    still = np.std(rtt) == 0 or np.std(says) == 0
    return {
        "eq2_off_median_ms": float(np.median(np.abs(rtt - says))),
        "eq2_off_p95_ms": float(np.quantile(np.abs(rtt - says), 0.95)),
        "eq2_correlation": math.nan if still else float(np.corrcoef(rtt, says)[0, 1]),
    }


def series(result: Result) -> Mapping[str, pl.DataFrame]:
    """Returns the series for figures and for the lab's q.txt: queue and window every 0.1 s, pings, fetches."""
    tenth = pl.int_range(pl.len()) % 10 == 0
    fetched = result.table("files").filter(pl.col("app") == PAGE).select("start_s", "took_s").sort("start_s")
    return {
        "queue": queue_series(result).filter(tenth),
        "cwnd": cwnd(result).filter(tenth),
        "ping": answered(result).select("t_s", "rtt_ms"),
        "fetch": fetched,
    }
