"""Reduces a run to the numbers of tables and claims: a flat dict, so that hundreds of runs need little memory.

The paper's metrics have their names in `published.csv` as keys; the names of most other measures end with their unit.
Infinity marks an event that never happened, such as a page load if no page completed. NaN marks a missing value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bloatlab.simulation import Result
from bloatlab.studies.cablelabs2012.published import FTP, LATE, LOST, MAD, MEDIAN, MOS, PAGES, PLR
from bloatlab.tables import rate_series, running_mean
from bloatlab.workloads.cable_home import UP

Measures = dict[str, float]

PEAK_MBIT = 20.0
SUSTAINED_MBIT = 5.0
BURST_MB = 10.0

#: A transfer has reached the peak rate when its own rate is at least 95 % of the peak rate, because voice, ACKs and
#: GETs use the rest. It has left the peak rate when its rate is below 90 %; according to the paper, the rate falls to
#: 75 %.
FULL, LEFT = 0.95, 0.9

#: Times of the attempts to open a connection that never succeeds, relative to its first SYN (CableLabs 2012 §4.3.2:
#: T = 1, 4, 10, ...).
SYN_OFFSETS_S = (0.0, 3.0, 9.0, 21.0, 45.0, 93.0, 153.0, 213.0, 273.0)


def measure(result: Result) -> Measures:
    """Measures one run."""
    return cells(result) | burst(result) | queueing(result) | {"syn_agree": syn_agreement(result)}


def cells(result: Result) -> Measures:
    """Returns the measured values for Tables 3 to 8, by their names in `published.csv`, and other measures."""
    apps = result.summary["apps"]
    voice, web = apps["voip"]["voip"], apps["web"]["web"]
    loads = web["page_load_s"]
    complete = web["pages"] > 0
    ftp = [app["wire_bytes"] for name, app in apps.items() if name.startswith("ftp")]
    pages = apps["web"]["wire_bytes"] / 1000.0
    return {
        LOST: voice["lost_percent"],
        LATE: voice["late_percent"],
        PLR: voice["plr_percent"],
        MOS: voice["mos_loss_only"],
        MEDIAN: loads["median"] if complete else math.inf,
        MAD: loads["mad"] if complete else math.inf,
        "mad_share": loads["mad"] / loads["median"] if complete else math.nan,
        PAGES: float(web["pages"]),
        FTP: sum(ftp) / 1000.0,
        "page_up_kb": pages / web["pages"] if complete else math.nan,
        "mos_with_delay": voice["mos"],
        "voip_delay_p99_ms": voice["delay_ms"]["p99"],
        "page_load_max_s": loads["max"] if complete else math.inf,
        "up_wire_mb": result.summary["links"][UP]["delivered_bytes"] / 1e6,
    }


def burst(result: Result) -> Measures:
    """Measures the bulk transfer: its ramp, its burst, and its rate in the part of the burst after the peak rate.

    Five transfers of the application `ftp` are measured as one, by the sum of their rates.

    In slow start, a sender sends one batch of packets per round trip, so a rate is a mean over 0.3 s, which is three
    round trips of 100 ms. Times are relative to the transfer's first packet. These definitions were fixed before the
    first runs. Finer definitions were tried later (means over 0.2 s; limits of 85 % or 87.5 % of the peak rate). They
    changed no verdict, and the paper does not require them, so the first definitions stay.

    `plateau_share` is the median rate as a share of the peak rate. It is measured from 1 s after the transfer leaves
    the peak rate, until 0.3 s before the end of the burst but not beyond 11.7 s of the run. If the transfer keeps the
    peak rate to the last 0.3 s of the burst, the time at the peak rate is measured instead. NaN: no time to measure.
    """
    if "ftp" not in result.summary["apps"]:
        return dict.fromkeys(("ramp_s", "burst_s", "full_rate_s", "peak_s", "left_s", "plateau_share"), math.nan)
    series = forward_ftp(result)
    rate = rate_series(series, "wire_bytes", smooth=3)
    t, mbit = rate["t_s"].to_numpy(), rate["rate_mbit"].to_numpy()
    begun = series.filter(pl.col("wire_bytes") > 0)["t_s"].to_numpy()
    start = float(begun.min()) if len(begun) else 0.0
    burst_s = _burst_used(upstream(result))
    full = np.flatnonzero(mbit >= FULL * PEAK_MBIT)
    ramp = float(t[full[0]]) if len(full) else math.inf
    left = np.flatnonzero((t > ramp) & (mbit < LEFT * PEAK_MBIT)) if len(full) else np.array([])
    dropped = float(t[left[0]]) if len(left) else math.inf
    kept, end = (t >= ramp) & (t < dropped), min(burst_s, 12.0) - 0.3
    plateau = mbit[kept if dropped > burst_s - 0.3 else (t > dropped + 1.0) & (t < end)]
    return {
        "ramp_s": ramp - start,
        "burst_s": burst_s - start,
        "full_rate_s": dropped - start,
        # `peak_s` is the time at the peak rate. `left_s` is how long the burst lasts after the transfer has left this
        # rate.
        "peak_s": dropped - ramp if math.isfinite(ramp) else 0.0,
        "left_s": max(0.0, burst_s - dropped) if math.isfinite(dropped) else 0.0,
        "plateau_share": float(np.median(plateau)) / PEAK_MBIT if len(plateau) else math.nan,
    }


def upstream(result: Result) -> pl.DataFrame:
    """Returns the series of the rate shaping queue; `t_s` is the start of a bin."""
    return result.table("queue_series").filter(pl.col("link") == UP).sort("t_s")


def forward_ftp(result: Result) -> pl.DataFrame:
    """Returns the rows of `flow_series` for the data sent by the application `ftp`."""
    return result.table("flow_series").filter((pl.col("app") == "ftp") & (pl.col("direction") == "forward"))


def _burst_used(up: pl.DataFrame) -> float:
    """Returns the time at which the token bucket first falls below 2 % of its 10 MB.

    From one bin to the next, tokens <- min(burst, tokens + rate dt) - sent.
    """
    begin, sent = up["t_s"].to_numpy(), up["sent_bytes"].to_numpy() * 1e-6
    width = float(begin[1] - begin[0])
    tokens = BURST_MB
    for start, gone in zip(begin, sent, strict=True):
        tokens = min(BURST_MB, tokens + SUSTAINED_MBIT / 8.0 * width) - gone
        if tokens < 0.02 * BURST_MB:
            return float(start) + width
    return math.inf


def queueing(result: Result) -> Measures:
    """Measures the delay of the rate shaping queue, and how often the queue is nearly full.

    `delay_burst_ms` is the largest delay until 0.2 s before the end of the burst, and `delay_after_ms` the largest from
    0.2 s after its end. `delay_typical_ms` is the median over bins of the mean delay, and `spike_ms` is the largest
    delay in the first 60 s.
    """
    up = upstream(result)
    t, worst = up["t_s"].to_numpy(), up["sojourn_ms_max"].to_numpy()
    mean = up["sojourn_ms_mean"].to_numpy()
    end = _burst_used(up)
    early, late = worst[t < end - 0.2], worst[t > end + 0.2]
    spike = float(np.nanmax(worst[t < 60.0], initial=0.0))
    return {
        "delay_burst_ms": float(np.nanmax(early, initial=0.0)),
        "delay_after_ms": float(np.nanmax(late, initial=0.0)),
        "delay_typical_ms": float(np.nanmedian(mean)) if len(mean) else 0.0,
        "spike_ms": spike,
        "settle_s": _settled(t, mean, end),
        "free5_share": _nearly_full(result),
    }


def _settled(t: NDArray[np.float64], mean: NDArray[np.float64], start: float) -> float:
    """Returns the time from the end of the burst, `start`, until the mean delay over 0.5 s is below 5 ms.

    The result is at least 0.2 s. 5 ms is CoDel's default target.
    """
    after = np.flatnonzero(t > start + 0.2)
    smooth = running_mean(np.nan_to_num(mean), 5)
    calm = [i for i in after if smooth[i] < 5.0]
    return float(t[calm[0]]) - start if calm else math.inf


def _nearly_full(result: Result) -> float:
    """Returns the fraction of time during which the rate shaping queue has room for at most 5 more packets."""
    frame = result.table("queue_histogram").filter(pl.col("link") == UP)
    limit = _limit_packets(result)
    return float(frame.filter(pl.col("packets") >= limit - 5)["time_share"].sum()) if limit else math.nan


def _limit_packets(result: Result) -> int | None:
    """Returns the number of packets that fit in the rate shaping queue; None if its limit is not in packets.

    ns-2's DropTail stores one packet fewer than its limit.
    """
    ((_, queue),) = result.scenario.data["link"][UP]["queue"].items()
    limit = str(queue.get("limit", ""))
    if not limit.endswith("p"):
        return None
    return int(limit.removesuffix("p")) - bool(queue.get("ns2_off_by_one"))


def syn_agreement(result: Result) -> float:
    """Returns how many SYN retries (at most 8) there were on the connection that retried most often.

    The result is NaN if these retries were not at the paper's times, or if the run has no table `syn_times`.
    """
    if "syn_times" not in result.tables:
        return math.nan
    frame = result.table("syn_times").filter(pl.col("app") == "web")
    attempts = [sorted(times) for times in frame.group_by("connection").agg("t_s")["t_s"].to_list()]
    return syn_match(max(attempts, key=len, default=[]))


def syn_match(times: Sequence[float]) -> float:
    """Returns the number of SYN retries if all are at the paper's offsets; otherwise NaN.

    `times` are the times of a connection's SYNs in s, ascending. Those after the ninth are ignored.
    """
    offsets = [t - times[0] for t in times[: len(SYN_OFFSETS_S)]]
    agree = all(abs(ours - theirs) < 0.02 for ours, theirs in zip(offsets, SYN_OFFSETS_S, strict=False))
    return float(max(0, len(offsets) - 1)) if agree else math.nan
