"""A run into the quantities that the figures and claims of SCTE 2013 are about.

Latency is one way: from the sender's segment to its arrival, propagation included. Loss is what the queue dropped,
as a part of Tmax. Both, and the rates, leave out the warm-up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bloatlab.simulation import Result
from bloatlab.tables import histogram_quantile

Measures = dict[str, float]

#: Seconds after which no packet of the gamer may be dropped under SFQ + LRED (issue: "after the first 10 s").
SETTLED_S = 10.0


def measure(result: Result) -> Measures:
    """Everything that a figure or a claim asks of one run."""
    link, tmax = bottleneck(result)
    return rates(result, link, tmax) | latencies(result) | fates(result, link) | stability(result) | each_flow(result)


def bottleneck(result: Result) -> tuple[str, float]:
    """The link with the buffer, and its rate in Mbit/s."""
    (name,) = result.scenario.data["record"]["links"]
    summary = result.summary["links"][name]
    return name, summary["delivered_bytes"] * 8e-6 / result.measured_s / summary["utilisation"]


def after_warm_up(result: Result, table: str) -> pl.DataFrame:
    """A table of series without the warm-up."""
    return result.table(table).filter(pl.col("t_s") >= warm_up(result) - 1e-9)


def warm_up(result: Result) -> float:
    """How much of the start is left out, in s."""
    return _seconds(result.scenario.data["record"]["warm_up"])


def rates(result: Result, link: str, tmax: float) -> Measures:
    """Total rate on the wire, and loss: of the packets that were dropped, their mean size."""
    series = after_warm_up(result, "queue_series").filter(link=link)
    seconds = result.measured_s
    totals = result.summary["links"][link]
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
    """One-way latency of the gamer's packets and of all FTP sessions' together, in ms."""
    frame = result.table("delay_histogram").filter(direction="forward")
    found: Measures = {}
    for name, part in (
        ("gamer", frame.filter(app="gamer")),
        ("ftp", frame.filter(pl.col("app").str.starts_with("ftp"))),
    ):
        found |= {f"{name}_{key}": value for key, value in distribution(part).items()}
        found[f"{name}_mean_ms"] = _mean(result, name)
    ftp = frame.filter(pl.col("app").str.starts_with("ftp"))
    half_to_one = ftp.filter((pl.col("lower_ms") >= 500.0) & (pl.col("upper_ms") <= 1000.0 * (1 + 1 / 64)))
    found["ftp_share_half_to_one_s"] = float(half_to_one["count"].sum()) / max(1.0, float(ftp["count"].sum()))
    return found


def distribution(frame: pl.DataFrame) -> Measures:
    """Quantiles of a histogram of delays."""
    return {f"p{q:g}_ms": histogram_quantile(frame, q / 100.0) for q in (1, 10, 50, 90, 99)}


def _mean(result: Result, name: str) -> float:
    """Mean latency over all packets of the applications whose names begin with `name`."""
    given = [app["delay_ms"] for key, app in result.summary["apps"].items() if key.startswith(name)]
    count = sum(d["count"] for d in given)
    return sum(d["mean"] * d["count"] for d in given if d["count"]) / count if count else math.nan


def fates(result: Result, link: str) -> Measures:
    """Drops at the head and at the tail, timeouts, and what the gamer lost after it all had settled."""
    drops = result.summary["links"][link]["drops"]
    apps = result.summary["apps"]
    gamer = result.table("flow_series").filter((pl.col("app") == "gamer") & (pl.col("direction") == "forward"))
    late = gamer.filter(pl.col("t_s") >= SETTLED_S)
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
    """Goodput of the FTP sessions after the warm-up: its mean, and its coefficient of variation from second to second.

    The latter of all together and of each on its own (their mean). NaN where there are more sessions than series are kept of (32).
    """
    frame = after_warm_up(result, "flow_series")
    frame = frame.filter(pl.col("app").str.starts_with("ftp") & (pl.col("direction") == "forward"))
    if frame.is_empty():
        return dict.fromkeys(("goodput_mbit", "cov_total", "cov_session", "fairness"), math.nan)
    seconds = result.measured_s
    total = frame.group_by("t_s").agg(pl.col("goodput_bytes").sum())["goodput_bytes"].to_numpy()
    each = [part["goodput_bytes"].to_numpy() for _, part in frame.group_by("app", "flow", maintain_order=True)]
    means = np.array([part.mean() for part in each])
    return {
        "goodput_mbit": float(total.sum()) * 8e-6 / seconds,
        "cov_total": variation(total),
        "cov_session": float(np.mean([variation(part) for part in each])),
        "fairness": float(means.sum() ** 2 / (len(means) * (means**2).sum())) if means.any() else math.nan,
    }


def variation(values: NDArray[np.float64]) -> float:
    """Standard deviation over mean; NaN for a mean of 0."""
    mean = float(values.mean()) if len(values) else 0.0
    return float(values.std()) / mean if mean else math.nan


def each_flow(result: Result) -> Measures:
    """Goodput of the sessions of each round trip after the warm-up in Mbit/s, and the share of a forced collision's queue."""
    seconds = result.measured_s
    found = {
        f"goodput_mbit_{name}": app["goodput_bytes"] * 8e-6 / seconds
        for name, app in result.summary["apps"].items()
        if name.startswith("ftp")
    }
    return found | {"collided_share": _collided(result)}


def _collided(result: Result) -> float:
    """The part of all bytes that came out of the queue in which a collision was forced; NaN without one."""
    carried = {name: app["wire_bytes"] for name, app in result.summary["apps"].items()}
    if "ftp_hit" not in carried:
        return math.nan
    return (carried["ftp_hit"] + carried.get("gamer", 0)) / sum(carried.values())


def cdf(result: Result) -> Mapping[str, pl.DataFrame]:
    """The distributions that the CDF figures draw."""
    frame = result.table("delay_histogram").filter(direction="forward")
    return {"delay": frame.select("app", "lower_ms", "upper_ms", "count")}


def merged(frames: Sequence[pl.DataFrame], app: str) -> pl.DataFrame:
    """One application's distribution over several runs."""
    both = pl.concat(frames).filter(pl.col("app").str.starts_with(app))
    return both.group_by("lower_ms", "upper_ms").agg(pl.col("count").sum()).sort("lower_ms")


def _seconds(text: str) -> float:
    """A duration of a resolved scenario in seconds."""
    for unit, factor in (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0)):
        if text.endswith(unit):
            return float(text.removesuffix(unit)) * factor
    raise ValueError(text)
