"""Computes the measures for tables, rankings and figures, during the blast (20 to 60 s) unless stated otherwise.

drop rate     datagrams dropped by the compared queue, divided by datagrams sent
latency       mean one-way delay without propagation: waiting and serialisation
jitter        mean absolute difference in delay between consecutive packets of a session
buffer share  a class's share of the bytes in the queue, from Little's law: throughput x (delay - propagation)
queue         length in packets over the whole run

A value whose part of the run is missing, because `--set` shortened the run, is NaN; the rate of datagrams is then 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from bloatlab.simulation import Result
from bloatlab.studies.mmcn1999.build import BLAST_S, LINK, PROPAGATION_MS

SPAN_S = BLAST_S[1] - BLAST_S[0]

#: Selects the time before the blast, without the first 5 s, because TCP begins with slow start.
_BEFORE = pl.col("t_s").is_between(5, BLAST_S[0], closed="left")


def measure(result: Result) -> dict[str, float]:
    """Measures one run."""
    apps = result.summary["apps"]
    tcp = tcp_series(result)
    mm, voice, before = (_datagrams(apps, prefix) for prefix in ("mm_blast_", "voice_blast_", "mm_before_"))
    blast = _datagrams(apps, "blast")
    during = tcp.filter((pl.col("t_s") >= BLAST_S[0]) & (pl.col("t_s") < BLAST_S[1]))
    tcp_kbs, tcp_ms = _tcp(during)
    queued = {
        "tcp": tcp_kbs * tcp_ms,
        "mm": _queued(mm) + _queued(voice),
        "udp": _queued(blast),
    }
    total = sum(queued.values()) or math.nan
    link = result.summary["links"][LINK]
    return {
        "tcp_kbs": tcp_kbs,
        "tcp_before_kbs": _tcp(tcp.filter(_BEFORE))[0],
        "tcp_before_goodput_kbs": _goodput(tcp.filter(_BEFORE)),
        "tcp_before_wait_ms": _tcp(tcp.filter(_BEFORE))[1],
        "mm_before_drop_percent": before["drop"],
        "mm_before_latency_ms": before["latency"],
        "tcp_after_kbs": _tcp(tcp.filter(pl.col("t_s") >= BLAST_S[1] + 5))[0],
        "mm_drop_percent": mm["drop"],
        "mm_latency_ms": mm["latency"],
        "mm_p95_ms": mm["p95"],
        "mm_jitter_ms": mm["jitter"],
        "mm_kbs": mm["kbs"],
        "blast_kbs": blast["kbs"],
        "blast_drop_percent": blast["drop"],
        "udp_drop_percent": 100.0 * (mm["lost"] + blast["lost"]) / ((mm["sent"] + blast["sent"]) or math.nan),
        "share_tcp_percent": 100.0 * queued["tcp"] / total,
        "share_mm_percent": 100.0 * queued["mm"] / total,
        "share_udp_percent": 100.0 * queued["udp"] / total,
        "voice_drop_percent": voice["drop"],
        "voice_latency_ms": voice["latency"],
        "voice_jitter_ms": voice["jitter"],
        "queue_packets_mean": link["queue_packets"]["mean"],
        "queue_packets_max": float(link["queue_packets"]["max"]),
    }


def _datagrams(apps: Mapping[str, Any], prefix: str) -> dict[str, float]:
    """Measures all applications whose names begin with `prefix`. Means are weighted by received packets."""
    chosen = [a for name, a in sorted(apps.items()) if name.startswith(prefix)]
    # an application that starts after the end of the run has sent no datagrams, and its summary lacks these keys
    sent, dropped = (sum(a.get(k, 0) for a in chosen) for k in ("datagrams_sent", "dropped_packets"))
    arrived = sum(a["packets"] for a in chosen)
    fates = {"drop": 100.0 * dropped / (sent or math.nan), "sent": float(sent), "lost": float(dropped)}
    if not arrived:
        return {**fates, **dict.fromkeys(("latency", "p95", "jitter"), math.nan), "kbs": 0.0}

    def mean(value: Any) -> float:
        return sum(a["packets"] * (value(a) or 0.0) for a in chosen) / arrived

    return {
        **fates,
        "latency": mean(lambda a: a["delay_ms"]["mean"]) - PROPAGATION_MS,
        "p95": mean(lambda a: a["delay_ms"]["p95"]) - PROPAGATION_MS,
        "jitter": mean(lambda a: a["jitter_ms"]),
        "kbs": sum(a["wire_bytes"] for a in chosen) / SPAN_S / 1000.0,
    }


def _queued(of: Mapping[str, float]) -> float:
    """Returns the bytes of some applications in the queue, by Little's law; 0 if none of their packets arrived."""
    return of["kbs"] * of["latency"] if of["kbs"] else 0.0


def tcp_series(result: Result) -> pl.DataFrame:
    """Sums the values of all FTP flows in each time bin.

    `wire_bytes` is the sum of the bytes received on the wire, and `goodput_bytes` that of the goodput. `byte_ms` is the
    sum of each flow's bytes on the wire times its mean delay in ms. `weighed` sums the bytes on the wire of only those
    flows that have a delay in the bin, so that `byte_ms` / `weighed` is the mean delay.
    """
    series = result.table("flow_series").filter(
        pl.col("app").str.starts_with("ftp") & (pl.col("direction") == "forward")
    )
    weight = pl.col("wire_bytes").filter(pl.col("delay_ms_mean").is_not_nan())
    delay = pl.col("delay_ms_mean").filter(pl.col("delay_ms_mean").is_not_nan())
    return (
        series.group_by("t_s")
        .agg(
            pl.col("wire_bytes").sum(),
            pl.col("goodput_bytes").sum(),
            byte_ms=(weight * delay).sum(),
            weighed=weight.sum(),
        )
        .sort("t_s")
    )


def _tcp(bins: pl.DataFrame) -> tuple[float, float]:
    """Returns TCP's rate on the wire in kB/s, and the mean delay of its packets without propagation, in ms."""
    kbs = _kbs(bins, "wire_bytes")
    weighed = float(bins["weighed"].sum())
    return kbs, (float(bins["byte_ms"].sum()) / weighed - PROPAGATION_MS if weighed else math.nan)


def _goodput(bins: pl.DataFrame) -> float:
    """Returns the goodput in kB/s: the payload received in order."""
    return _kbs(bins, "goodput_bytes")


def _kbs(bins: pl.DataFrame, column: str) -> float:
    """Returns the rate in kB/s of bins of equal width; NaN for fewer than two bins, whose width is unknown."""
    t = bins["t_s"].to_numpy()
    if len(t) < 2:
        return math.nan
    return float(np.sum(bins[column].to_numpy())) / (len(t) * float(t[1] - t[0])) / 1000.0


def series(result: Result) -> Mapping[str, pl.DataFrame]:
    """Returns TCP's rate over time in kB/s, for the figures; empty for all seeds except the first."""
    if result.seed != 1:
        return {}
    tcp = tcp_series(result)
    width = float(tcp["t_s"][1] - tcp["t_s"][0])
    return {"tcp": tcp.select("t_s", (pl.col("wire_bytes") / width / 1000.0).alias("kbs"))}
