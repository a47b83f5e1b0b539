"""Reduces a run to the measures that the figures and claims of ARRIS 2013 use.

Latency is the one-way delay from the time a segment is sent until it arrives, including propagation. Loss is the rate
at which the queue drops bytes, as a share of Tmax. Latency, loss and the rates exclude the warm-up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bloatlab.scenario import quantity
from bloatlab.simulation import Result
from bloatlab.studies.published import at_path
from bloatlab.tables import histogram_quantile, running_mean

Measures = dict[str, float]

#: The peak and the sustained rate of a DOCSIS service flow, in Mbit/s, and how long each of them lasts, in s.
PEAK_MBIT, SUSTAINED_MBIT, HALF_PERIOD_S = 20.0, 5.0, 25

#: The sessions' latency has recovered when it is at most `RECOVERED` times its settled value, or at most `RECOVERED_MS`
#: above it.
RECOVERED = 1.5
RECOVERED_MS = 10.0

#: Time in s after which none of the gamer's packets may be dropped under SFQ + LRED.
SETTLED_S = 10.0


def measure(result: Result) -> Measures:
    """Measures one run."""
    (link,) = result.scenario.data["record"]["links"]
    found = rates(result, link) | latencies(result) | fates(result, link) | stability(result) | each_flow(result)
    return found | beside(result) | after_changes(result) | before_and_after(result)


def after_warm_up(result: Result, table: str) -> pl.DataFrame:
    """Returns a series table without the warm-up."""
    return result.table(table).filter(pl.col("t_s") >= warm_up(result) - 1e-9)


def warm_up(result: Result) -> float:
    """Returns the length in s of the part left out at the start of the run."""
    return quantity(result.scenario.data["record"]["warm_up"])


def rates(result: Result, link: str) -> Measures:
    """Returns the link's queueing delay, its total rate on the wire, its drops, and its loss.

    The loss is the rate of dropped bytes: the number of packets dropped per second, times their mean size.
    """
    series = after_warm_up(result, "queue_series").filter(link=link)
    seconds = result.measured_s
    totals = result.summary["links"][link]
    tmax = totals["delivered_bytes"] * 8e-6 / seconds / totals["utilisation"]
    dropped = float(series["dropped_packets"].sum())
    size = totals["dropped_bytes"] / totals["dropped_packets"] if totals["dropped_packets"] else 0.0
    sent = float(series["sent_bytes"].sum())
    loss = dropped * size * 8e-6 / seconds
    packets = sent / (totals["delivered_bytes"] / totals["delivered_packets"]) if sent else 0.0
    sojourn = totals["sojourn_ms"]
    return {
        "sojourn_mean_ms": sojourn["mean"],
        "sojourn_p50_ms": sojourn["p50"],
        "sojourn_p99_ms": sojourn["p99"],
        "rate_mbit": sent * 8e-6 / seconds,
        "rate_share": sent * 8e-6 / seconds / tmax,
        "loss_mbit": loss,
        "loss_percent": 100.0 * loss / tmax,
        "drop_percent": 100.0 * dropped / (dropped + packets) if dropped + packets else 0.0,
        "drops_per_s": dropped / seconds,
    }


def latencies(result: Result) -> Measures:
    """Returns the one-way latency in ms of the gamer's packets, and of the packets of all FTP sessions combined.

    Also returns the share of FTP packets with a latency of 0.5 to 1 s.
    """
    found: Measures = {}
    for name in ("gamer", "ftp"):
        part = _forward(result.table("delay_histogram"), name)
        found |= {f"{name}_p{q}_ms": histogram_quantile(part, q / 100.0) for q in (1, 10, 50, 90, 99)}
        found[f"{name}_mean_ms"] = _mean(result, name)
    ftp = _forward(result.table("delay_histogram"), "ftp")
    half_to_one = ftp.filter((pl.col("lower_ms") >= 500.0) & (pl.col("upper_ms") <= 1000.0))
    found["ftp_share_half_to_one_s"] = float(half_to_one["count"].sum()) / max(1.0, float(ftp["count"].sum()))
    return found


def _forward(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """Returns the rows of packets sent by applications whose names begin with `name`."""
    return frame.filter(pl.col("app").str.starts_with(name) & (pl.col("direction") == "forward"))


def _mean(result: Result, name: str) -> float:
    """Returns the mean latency over all packets of the applications whose names begin with `name`."""
    given = [app["delay_ms"] for key, app in result.summary["apps"].items() if key.startswith(name)]
    count = sum(d["count"] for d in given)
    return sum(d["mean"] * d["count"] for d in given if d["count"]) / count if count else math.nan


def fates(result: Result, link: str) -> Measures:
    """Counts the packets dropped by a full queue, those dropped early, the timeouts, and the gamer's lost packets.

    The gamer's losses are counted twice: those after the warm-up, and those after `SETTLED_S`. Also returns the mean
    time that a message of the gamer takes to arrive.
    """
    drops = result.summary["links"][link]["drops"]
    apps = result.summary["apps"]
    late = _forward(result.table("flow_series"), "gamer").filter(pl.col("t_s") >= SETTLED_S)
    tail = sum(n for reason, n in drops.items() if reason in ("tail_full", "head_full"))
    return {
        "tail_drops": float(tail),
        "early_drops": float(sum(n for reason, n in drops.items() if reason.startswith("early"))),
        "timeouts": float(sum(app["timeouts"] for app in apps.values())),
        "gamer_drops": float(apps["gamer"]["dropped_packets"]) if "gamer" in apps else math.nan,
        "gamer_drops_late": float(late["dropped_packets"].sum()),
        "gamer_message_ms": 1e3 * apps["gamer"]["files"]["mean_s"] if apps.get("gamer", {}).get("files") else math.nan,
    }


def stability(result: Result) -> Measures:
    """Measures the FTP sessions' goodput after the warm-up.

    The measures are the total goodput, its fairness between the sessions, and how much it varies from second to second:
    the coefficient of variation of the total, and the mean of the sessions' coefficients. All are NaN without
    sessions, and with more than 32 sessions, for which a run records no series.
    """
    frame = _forward(after_warm_up(result, "flow_series"), "ftp")
    if frame.is_empty():
        return dict.fromkeys(("goodput_mbit", "cov_total", "cov_session", "fairness"), math.nan)
    seconds = result.measured_s
    total = frame.group_by("t_s", maintain_order=True).agg(pl.col("goodput_bytes").sum())["goodput_bytes"].to_numpy()
    each = [part["goodput_bytes"].to_numpy() for _, part in frame.group_by("app", "flow", maintain_order=True)]
    means = np.array([part.mean() for part in each])
    return {
        "goodput_mbit": float(total.sum()) * 8e-6 / seconds,
        "cov_total": variation(total),
        "cov_session": float(np.mean([variation(part) for part in each])),
        "fairness": float(means.sum() ** 2 / (len(means) * (means**2).sum())) if means.any() else math.nan,
    }


def variation(values: NDArray[np.float64]) -> float:
    """Returns the standard deviation divided by the mean; NaN for a mean of 0."""
    mean = float(values.mean()) if len(values) else 0.0
    return float(values.std()) / mean if mean else math.nan


def each_flow(result: Result) -> Measures:
    """Returns the goodput in Mbit/s of each FTP application after the warm-up; each round trip has its own application.

    Also returns the share of all bytes on the wire that belong to the gamer or to the FTP session forced into the same
    queue as the gamer. This share is NaN if no collision is forced.
    """
    apps = result.summary["apps"]
    flows = {
        name: app["goodput_bytes"] * 8e-6 / result.measured_s for name, app in apps.items() if name.startswith("ftp")
    }
    carried = {name: app["wire_bytes"] for name, app in apps.items()}
    collided = carried["ftp_hit"] + carried.get("gamer", 0) if "ftp_hit" in carried else math.nan
    total = sum(carried.values())
    share = collided / total if total else math.nan
    return {**{f"goodput_mbit_{name}": mbit for name, mbit in flows.items()}, "collided_share": share}


#: Measures of additional applications: the name of the measure, the application, and the path of the value in the
#: application's summary.
BESIDE = (
    ("video_mbit", "video", "video.mean_bitrate_mbit"),
    ("video_switches", "video", "video.switches"),
    ("video_stalls", "video", "video.stalls"),
    ("video_stalled_s", "video", "video.stalled_s"),
    ("call_p50_ms", "call", "delay_ms.p50"),
    ("call_p99_ms", "call", "delay_ms.p99"),
    ("call_lost_percent", "call", "voip.lost_percent"),
    ("call_mos", "call", "voip.mos"),
)


def beside(result: Result) -> Measures:
    """Measures the additional applications that run beside the uploads and the game in some experiments."""
    apps = result.summary["apps"]
    seconds = result.measured_s
    found: Measures = {}
    if "background" in apps:
        all_ = sum(app["goodput_bytes"] for name, app in apps.items() if name != "gamer")
        found["background_share"] = apps["background"]["goodput_bytes"] / max(1.0, all_)
    if "download" in apps:
        found["download_mbit"] = apps["download"]["goodput_bytes_reverse"] * 8e-6 / seconds
        found["upload_mbit"] = apps["ftp"]["goodput_bytes"] * 8e-6 / seconds if "ftp" in apps else 0.0
    if "swarm" in apps:
        found["swarm_mbit"] = apps["swarm"]["goodput_bytes"] * 8e-6 / seconds
    for name in (name for name in ("burst", "short") if name in apps):
        files = apps[name].get("files") or {"median_s": math.inf, "p99_s": math.inf, "done": 0}
        names = {"p50_s": "median_s", "p99_s": "p99_s", "done": "done"}
        found |= {f"{name}_{ours}": float(files[theirs]) for ours, theirs in names.items()}
    return found | {ours: float(at_path(apps[name], path)) for ours, name, path in BESIDE if name in apps}


def after_changes(result: Result) -> Measures:
    """Measures the worst latency after each downward step of the rate, and the time until the latency has recovered.

    The latency in a bin of 0.1 s is the mean over the FTP flows of the mean latency of their packets. The settled value
    is the median of the last 10 s before the next change. The latency has recovered as soon as, after the worst bin,
    its running mean over 1 s is at most 1.5 times the settled value, or at most 10 ms above the settled value. Both
    measures are medians over the steps, without those in the first half of the warm-up. A third measure,
    `rate_up_share`, is the mean rate during the periods of high rate, as a share of `PEAK_MBIT`.
    """
    changes = _changes(result)
    if not changes:
        return {}
    series = result.table("flow_series").filter((pl.col("app") == "ftp") & (pl.col("direction") == "forward"))
    by_bin = (
        series.group_by("t_s").agg(pl.col("delay_ms_mean").drop_nans().mean(), pl.col("wire_bytes").sum()).sort("t_s")
    )
    t, delay = by_bin["t_s"].to_numpy(), by_bin["delay_ms_mean"].fill_null(0.0).to_numpy()
    worst, recover = [], []
    for n in range(0, len(changes) - 1, 2):
        start = HALF_PERIOD_S * (n + 1)
        if start < warm_up(result) / 2:
            continue
        part = (t >= start) & (t < start + HALF_PERIOD_S)
        settled = np.median(delay[(t >= start + HALF_PERIOD_S - 10) & (t < start + HALF_PERIOD_S)])
        peak = int(np.argmax(np.where(part, delay, -1.0)))
        smooth = running_mean(delay, 10)
        calm = np.flatnonzero(part & (t >= t[peak]) & (smooth <= max(RECOVERED * settled, settled + RECOVERED_MS)))
        worst.append(float(delay[peak]))
        recover.append(float(t[calm[0]]) - start if len(calm) else math.inf)
    link = after_warm_up(result, "queue_series").filter(link="up")
    high = (link["t_s"] / HALF_PERIOD_S).floor().cast(pl.Int64) % 2 == 0
    sent = float(link.filter(high)["sent_bytes"].sum()) * 8e-6
    time = max(1e-9, float(high.sum()) * 0.1)
    return {
        "worst_ms": float(np.median(worst)) if worst else math.nan,
        "recover_s": float(np.median(recover)) if recover else math.nan,
        "rate_up_share": sent / time / PEAK_MBIT,
    }


def before_and_after(result: Result) -> Measures:
    """Returns the mean FTP latency before and after the link's only change.

    The first mean covers the time directly before the change, the second the end of the run. Both cover 60 s, or half
    of the time before the change if that is shorter.
    """
    changes = _changes(result)
    if len(changes) != 1:
        return {}
    length = float(result.summary["duration_s"])
    step = quantity(changes[0]["at"])
    span = min(60.0, step / 2)
    frame = _forward(result.table("flow_series"), "ftp")

    def mean(end: float) -> float:
        part = frame.filter((pl.col("t_s") >= end - span) & (pl.col("t_s") < end)).drop_nans("delay_ms_mean")
        return float(np.average(part["delay_ms_mean"].to_numpy(), weights=part["wire_bytes"].to_numpy() + 1.0))

    before, after = mean(step), mean(length)
    return {"ftp_before_ms": before, "ftp_after_ms": after, "fall_ratio": after / before}


def _changes(result: Result) -> Sequence[Mapping[str, Any]]:
    """Returns the changes to the upstream link's rate."""
    return result.scenario.data["link"]["up"].get("changes") or []


def cdf(result: Result) -> Mapping[str, pl.DataFrame]:
    """Returns the distributions drawn in the CDF figures."""
    frame = result.table("delay_histogram").filter(direction="forward")
    return {"delay": frame.select("app", "lower_ms", "upper_ms", "count")}


def merged(frames: Sequence[pl.DataFrame], app: str) -> pl.DataFrame:
    """Returns one application's distribution over several runs."""
    both = pl.concat(frames).filter(pl.col("app").str.starts_with(app))
    return both.group_by("lower_ms", "upper_ms").agg(pl.col("count").sum()).sort("lower_ms")
