"""Small networks for sentences of the slides that the workload cannot test.

    two flows      10 and 1 Mbit/s of datagrams on 10 Mbit/s: the losses of each ("10 -> 9, 1 -> 0.9")
    equal classes  CBQ with a third of the link for each of three classes that want more
    two ftp        two FTPs on 45 Mbit/s, as in Floyd and Jacobson's figure: queue and throughput, RED beside drop-tail
    thirty ftp     the slides' transfers without sessions and blast: do they cut their windows together?

The values of Floyd and Jacobson's network are from our memory of their paper of 1993: 45 Mbit/s, 1000-byte packets,
windows up to 240 packets, thresholds of 5 and 15 packets, max_p 1/50, starts at 0.2 and 0.6 s. The slide shows a
picture without numbers.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bloatlab.scenario import Scenario, from_dict
from bloatlab.simulation import Result
from bloatlab.studies.mmcn1999.build import LINK, RED, RENO, Json
from bloatlab.studies.published import toml

#: Length of a run, and length of the warm-up, which the measures of networks with only FTPs leave out. Unit: s.
SECONDS = 30
WARM_UP_S = 5

#: The settings compared in the network with two FTPs: RED's min_th (max_th is three times min_th), and the size of the
#: drop-tail buffer. Unit: packets.
TWO_FTP_MIN_TH = (3, 5, 10, 20, 30, 50)
TWO_FTP_LIMITS = (15, 30, 60, 80, 100, 120, 140)

_EQUAL = [
    {"name": "tcp", "match": {"protocol": ["tcp"]}, "share": 1 / 3},
    {"name": "tagged", "match": {"protocol": ["udp"], "dscp": [34]}, "share": 1 / 3},
    {"name": "other", "match": {}, "share": 1 / 3},
]


@dataclass(frozen=True, slots=True)
class Small:
    """A small network. `kind` is the name of its traffic in `small.toml`, and `queue` is the bottleneck's queue."""

    key: str
    kind: str
    queue: Json

    def __str__(self) -> str:
        return self.key


def small_cases() -> list[Small]:
    """Returns all small networks."""
    red, droptail = {"red": RED}, {"droptail": {"limit": "60p"}}
    return [
        Small("two flows, red", "two flows", red),
        Small("two flows, fred", "two flows", {"fred": {}}),
        Small("equal classes", "equal classes", {"cbq": {"classes": _EQUAL}}),
        *(Small(f"two ftp, red {n}", "two ftp", two_ftp_red(n)) for n in TWO_FTP_MIN_TH),
        *(Small(f"two ftp, droptail {n}", "two ftp", {"droptail": {"limit": f"{n}p"}}) for n in TWO_FTP_LIMITS),
        Small("thirty ftp, droptail", "thirty ftp", droptail),
        Small("thirty ftp, red", "thirty ftp", red),
    ]


def two_ftp_red(min_th: int) -> Json:
    """Returns RED as Floyd and Jacobson published it in 1993, with a buffer that never fills up."""
    thresholds = {"min": f"{min_th}p", "max": f"{3 * min_th}p", "probability": 0.02, "weight": 0.002}
    return {"red": {"variant": "floyd93", "limit": "400p", **thresholds}}


#: Start times of Floyd and Jacobson's FTPs, in ms, without the random delay; for other applications, it is 0.
_AT_MS = {"first": 200, "second": 600}


def build_small(case: Small, seed: int, seconds: int = SECONDS) -> Scenario:
    """Returns the scenario of one small network.

    Each application starts up to 0.2 s late, at random, so that results differ between seeds even with drop-tail.
    """
    network = toml("mmcn1999", "small.toml")
    kind = network.pop("kinds")[case.kind]
    network["link"][LINK]["queue"] = dict(case.queue)
    dice = random.Random(f"mmcn1999/small/{seed}")  # noqa: S311  not security-sensitive
    for name, app in kind["app"].items():
        app["start"] = f"{_AT_MS.get(name, 0) + round(200 * dice.random())}ms"
    own = {"name": f"mmcn1999 {case}", "seed": seed, "duration": f"{seconds}s", "tcp": {"reno": RENO}}
    return from_dict(network | own | {"app": kind["app"]}, source=case.key, sets=kind.get("sets", {}))


# ------------------------------------------------------------------------------------------------------------ measures


def measure_small(result: Result) -> dict[str, float]:
    """Measures a small network; measures that do not apply are left out."""
    apps = result.summary["apps"]
    if "fast" in apps:
        return _of_two_flows(result)
    if "tagged" in apps:
        carried = [apps[name]["wire_bytes"] for name in ("ftp", "tagged", "other")]
        return {"least_share": min(carried) / sum(carried), "greatest_share": max(carried) / sum(carried)}
    return _of_transfers(result)


def _of_two_flows(result: Result) -> dict[str, float]:
    apps, seconds = result.summary["apps"], result.measured_s
    found: dict[str, float] = {}
    for name in ("fast", "slow"):
        found[f"{name}_mbit"] = apps[name]["wire_bytes"] * 8e-6 / seconds
        found[f"{name}_drop_percent"] = 100.0 * apps[name]["dropped_packets"] / apps[name]["datagrams_sent"]
    return found


def _of_transfers(result: Result) -> dict[str, float]:
    """Measures the queue, its drops and the throughput after the warm-up, and how the senders' windows correlate."""
    queue = result.table("queue_series").filter((pl.col("link") == LINK) & (pl.col("t_s") >= WARM_UP_S))
    t = queue["t_s"].to_numpy()
    width = float(t[1] - t[0])
    length = queue["queue_packets_mean"].fill_nan(0.0).to_numpy()
    sent = float(queue["sent_bytes"].sum()) * 8e-6 / (len(t) * width)
    link = result.scenario.data["link"][LINK]["rate"]
    return {
        "queue_mean_packets": float(length.mean()),
        "queue_sd_packets": float(length.std()),
        "queue_p99_packets": float(np.quantile(length, 0.99)),
        "rate_share": sent / float(link.removesuffix("mbit")),
        "sync": in_step(windows(result)),
        "drops": float(queue["dropped_packets"].sum()),
        "drop_dispersion": dispersion(queue["dropped_packets"].to_numpy().astype(float)),
    }


def windows(result: Result) -> NDArray[np.float64]:
    """Returns the congestion windows after the warm-up: one row per transfer, one column per bin."""
    frame = result.table("flow_series").filter((pl.col("direction") == "forward") & (pl.col("t_s") >= WARM_UP_S))
    rows = [
        part.sort("t_s")["cwnd_bytes"].fill_nan(0.0).fill_null(0.0).to_numpy()
        for _, part in frame.group_by("app", "flow", maintain_order=True)
    ]
    return np.array(rows, dtype=float)


def in_step(rows: NDArray[np.float64]) -> float:
    """Returns the mean pairwise correlation r of n series: 1 if all move together.

    If each series is scaled to mean 0 and variance 1, Var(sum) = n + n (n - 1) r. Constant series are left out. The
    result is NaN if fewer than two series vary.
    """
    moving = rows[rows.std(axis=1) > 0]
    n = len(moving)
    if n < 2:
        return float("nan")
    scores = (moving - moving.mean(axis=1, keepdims=True)) / moving.std(axis=1, keepdims=True)
    return float((scores.sum(axis=0).var() - n) / (n * (n - 1)))


def dispersion(counts: NDArray[np.float64]) -> float:
    """Returns the index of dispersion of the counts: their variance divided by their mean.

    The result is about 1 if drops are independent, larger if they occur in clusters, and NaN if there are no drops.
    """
    mean = float(counts.mean())
    return float(counts.var()) / mean if mean else float("nan")


#: The networks whose windows the figure shows over time. For the first, it also shows the queue.
DRAWN = ("two ftp, red 5", "two ftp, droptail 60")


def series_small(result: Result) -> Mapping[str, pl.DataFrame]:
    """Returns the time series of the queue and of the congestion windows, for the figure.

    The result is empty for networks that are not in `DRAWN`, and for all seeds except the first.
    """
    if result.seed != 1 or result.scenario.name not in {f"mmcn1999 {key}" for key in DRAWN}:
        return {}
    queue = result.table("queue_series").filter(pl.col("link") == LINK).select("t_s", "queue_packets_mean")
    flows = result.table("flow_series").filter(pl.col("direction") == "forward").select("app", "t_s", "cwnd_bytes")
    return {"queue": queue, "windows": flows}
