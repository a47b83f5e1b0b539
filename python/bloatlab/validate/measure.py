"""One run reduced to the kernel's metrics, by METHOD.md's definitions. NaN stands for what there is none of.

window      [warm-up, duration); pings that left in it
goodput     payload of the bulk flows * 8 / window; pages and datagrams not counted
jain        (sum x)^2 / (n sum x^2) over the flows' goodput
drop_frac   dropped / (dropped + sent), packets of the window at the discipline
backlog     packets in the discipline, looked at each 10 to 30 ms
cwnd0       window of the first flow in segments, looked at each 100 ms
thirds      30 s each without their first 5 s
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bloatlab.simulation import Result
from bloatlab.validate.build import BIN_S, MSS, PAGE, UDP_HEADER, UP, flow_name, ping_name, udp_name
from bloatlab.validate.reference import Entry

Floats = NDArray[np.float64]
Window = tuple[float, float]

#: Group d's thirds: 30 s each, without the first 5 s.
THIRDS: Mapping[str, Window] = {"first": (5.0, 30.0), "middle": (35.0, 60.0), "last": (65.0, 90.0)}

#: Bins between two looks at the queue: 10 to 30 ms.
LOOKS = (1, 2, 3)
#: Bins between two looks at a window: 100 ms.
CWND_EVERY = round(0.1 / BIN_S)


def measure(result: Result, entry: Entry) -> dict[str, float]:
    """Every metric that bloatlab can tell of a run."""
    window = (entry.warmup_s, entry.duration_s)
    flows = _Flows(result, entry)
    return (
        flows.goodput(window)
        | flows.windows(window)
        | flows.thirds()
        | pings(result, entry, window)
        | queue(result, window)
        | pages(result, window)
    )


class _Flows:
    """Goodput and windows of the bulk flows: one look at the series for all of them."""

    def __init__(self, result: Result, entry: Entry) -> None:
        names = [flow_name(g, i) for g, flows in enumerate(entry.flows) for i in range(flows.n)]
        frame = result.table("flow_series").filter(pl.col("direction") == "forward")
        self.entry = entry
        self.frames = {str(key[0]): part for key, part in frame.group_by("app")}
        self.names = names

    def mbit(self, name: str, window: Window) -> float:
        """A flow's goodput in a window."""
        frame = self.frames.get(name)
        if frame is None:
            return 0.0
        return float(inside(frame, window)["goodput_bytes"].sum()) * 8e-6 / (window[1] - window[0])

    def goodput(self, window: Window) -> dict[str, float]:
        """Of all flows and of each group, and how even it is."""
        by_group: list[list[float]] = []
        for g, flows in enumerate(self.entry.flows):
            by_group.append([self.mbit(flow_name(g, i), window) for i in range(flows.n)])
        every = [x for group in by_group for x in group]
        found = {"goodput_Mbps": sum(every), "jain": jain(every)}
        for g, group in enumerate(by_group):
            found |= {f"g{g}_goodput_Mbps": sum(group), f"g{g}_jain": jain(group)}
        if len(by_group) > 1:
            first, second = (sum(group) / len(group) for group in by_group[:2])
            found["ratio_g0_g1"] = first / second if second else math.nan
        return found

    def windows(self, window: Window) -> dict[str, float]:
        """Mean congestion window, segments, and smoothed round trip of the first flow of each group."""
        found: dict[str, float] = {}
        for g in range(len(self.entry.flows)):
            frame = self.frames.get(flow_name(g, 0))
            if frame is None:
                continue
            seen = inside(frame.sort("t_s"), window).gather_every(CWND_EVERY)
            # the kernel's window is a whole number of segments; what Reno has earned of the next one is not in it
            found[f"g{g}_cwnd_mean"] = _mean(seen["cwnd_bytes"] // MSS)
            found[f"g{g}_srtt_ms"] = _mean(seen["srtt_ms"])
        if "g0_cwnd_mean" in found:
            found["cwnd0_mean"] = found["g0_cwnd_mean"]
        return found

    def thirds(self) -> dict[str, float]:
        """TCP's and UDP's payload in the thirds of group d, and the datagrams lost."""
        found: dict[str, float] = {}
        if self.entry.group == "d":
            for third, window in THIRDS.items():
                found[f"tcp_Mbps_{third}_third"] = sum(self.mbit(name, window) for name in self.names)
                found[f"udp_Mbps_{third}_third"] = sum(self.udp_mbit(i, window) for i in range(len(self.entry.udp)))
        for i, udp in enumerate(self.entry.udp):
            window = (max(udp.start_s, self.entry.warmup_s), min(udp.stop_s, self.entry.duration_s))
            found[f"udp{i}_loss_frac"] = 1.0 - self.udp_mbit(i, window) * 1e6 / udp.bps
        return found

    def udp_mbit(self, index: int, window: Window) -> float:
        """Payload of a stream of datagrams."""
        frame, udp = self.frames.get(udp_name(index)), self.entry.udp[index]
        if frame is None:
            return 0.0
        wire = float(inside(frame, window)["wire_bytes"].sum())
        return wire * udp.payload / (udp.payload + UDP_HEADER) * 8e-6 / (window[1] - window[0])


def inside(frame: pl.DataFrame, window: Window) -> pl.DataFrame:
    """The bins of a window; their edges are whole bins."""
    half = BIN_S / 2
    return frame.filter(pl.col("t_s") >= window[0] - half, pl.col("t_s") < window[1] - half)


def jain(shares: Sequence[float]) -> float:
    """Jain's index: 1 for equal shares, 1/n for one that has all."""
    squares = sum(x * x for x in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else math.nan


def pings(result: Result, entry: Entry, window: Window) -> dict[str, float]:
    """Round-trip times of each stream."""
    found: dict[str, float] = {}
    table = result.table("pings")
    for i in range(len(entry.pings)):
        sent = table.filter(pl.col("app") == ping_name(i), pl.col("t_s") >= window[0], pl.col("t_s") < window[1])
        rtt = sent["rtt_ms"].drop_nulls().drop_nans().to_numpy()
        head = "ping" if i == 0 else f"ping{i + 1}"
        found[f"{head}_mean_ms"] = float(np.mean(rtt)) if len(rtt) else math.nan
        found[f"{head}_median_ms"] = float(np.median(rtt)) if len(rtt) else math.nan
        found[f"{head}_p95_ms"] = float(np.quantile(rtt, 0.95)) if len(rtt) else math.nan
    return found


def queue(result: Result, window: Window) -> dict[str, float]:
    """Drops and the length of the queue under test."""
    frame = inside(result.table("queue_series").filter(pl.col("link") == UP).sort("t_s"), window)
    dropped, sent = float(frame["dropped_packets"].sum()), float(frame["sent_packets"].sum())
    lengths = frame["queue_packets"].to_numpy()[_looks(frame.height, result.scenario.name, result.seed)]
    return {
        "drop_frac": dropped / (dropped + sent) if dropped + sent else math.nan,
        "backlog_mean_pkts": float(np.mean(lengths)) if len(lengths) else math.nan,
        "backlog_max_pkts": float(np.max(lengths)) if len(lengths) else math.nan,
    }


def _looks(bins: int, name: str, seed: int) -> list[int]:
    """The bins at whose ends the queue is looked at, with gaps drawn from `LOOKS`."""
    draw = random.Random(f"validate/{name}/{seed}/looks")  # noqa: S311
    found: list[int] = []
    at = draw.choice(LOOKS) - 1
    # each turn goes at least one bin on
    while at < bins:
        found.append(at)
        at += draw.choice(LOOKS)
    return found


def pages(result: Result, window: Window) -> dict[str, float]:
    """Time from connect to the last byte, of the pages asked for in the window."""
    if PAGE not in result.scenario.data["app"]:
        return {}
    frame = result.table("files").filter(pl.col("app") == PAGE)
    took = frame.filter(pl.col("start_s") >= window[0])["took_s"].to_numpy()
    if not len(took):
        return {}
    return {"page_mean_s": float(np.mean(took)), "page_median_s": float(np.median(took))}


def _mean(values: pl.Series) -> float:
    known = values.drop_nulls().drop_nans()
    return float(known.to_numpy().mean()) if len(known) else math.nan
