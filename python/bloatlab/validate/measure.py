"""Reduces a run to the metrics defined for the kernel in METHOD.md. NaN means that there is no value.

window      [warm-up, duration); a ping counts if it was sent in the window
goodput     payload of the bulk flows * 8 / window; pages and datagrams not counted
jain        (sum x)^2 / (n sum x^2) over the flows' goodput
drop_frac   dropped / (dropped + sent), packets of the window at the discipline; with tso, sent counts segments, like tc
mark_frac   marks / sent; step_marks, pi_marks: marks by dualpi2's step and by its law; mark_per_l_pkt: all marks per
            packet that joined queue L
ce_frac     packets marked with CE as reported to the sender / its delivered segments
retrans     segments of a group's flows that were retransmitted in the window
backlog     packets in the discipline, sampled every 10 to 30 ms
cwnd0       window of the first flow in segments, sampled every 100 ms
thirds      parts of 30 s each, without their first 5 s
ss_exit     first slow start threshold of the first flow in segments, and its time since the flow's start
head_age    waiting time of the first packet in each of dualpi2's queues; prob: dualpi2's base probability p', or pie's
            drop probability; both are sampled at the same times as backlog
rx_MB_5s    payload of all flows in the first 5 s; drops_5s, qlen_max_5s: drops and the longest queue in this time
"""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bloatlab.simulation import Result
from bloatlab.validate.build import (
    ACKS,
    BIN_S,
    FRAME,
    PAGE,
    PING_BYTES,
    UDP_HEADER,
    UP,
    flow_name,
    flow_names,
    mss,
    offloads,
    ping_name,
    start_s,
    udp_name,
)
from bloatlab.validate.reference import Entry

Floats = NDArray[np.float64]
Window = tuple[float, float]

#: The thirds of a run in group d (METHOD.md), which is not group D. Each lasts for 30 s, but its first 5 s are not
#: measured.
THIRDS: Mapping[str, Window] = {"first": (5.0, 30.0), "middle": (35.0, 60.0), "last": (65.0, 90.0)}

#: Possible numbers of bins between two queue samples: 10 to 30 ms.
LOOKS = (1, 2, 3)
#: Length of the beginning of a run, in s. Scenarios of group D (METHOD.md) have metrics for the beginning.
BEGINNING_S = 5.0
#: Number of bins between two congestion window samples: 100 ms.
CWND_EVERY = round(0.1 / BIN_S)


def measure(result: Result, entry: Entry) -> dict[str, float]:
    """Measures one run. Returns the value of every metric that bloatlab supports and that applies to the run."""
    window = (entry.warmup_s, entry.duration_s)
    flows = _Flows(result, entry)
    return (
        flows.goodput(window)
        | flows.windows(window)
        | flows.thirds()
        | flows.repairs()
        | (flows.beginning() if entry.group == "D" else {})
        | pings(result, entry, window)
        | queue(result, entry, window)
        | marks(result, entry, window)
        | law(result, window)
        | uplink(result, flows, window)
        | pages(result, window)
    )


class _Flows:
    """The series of all flows, by application."""

    def __init__(self, result: Result, entry: Entry) -> None:
        frame = result.table("flow_series").filter(pl.col("direction") == "forward")
        self.entry = entry
        self.result = result
        self.frames = {str(key[0]): part for key, part in frame.group_by("app")}
        self.names = flow_names(entry)

    def mbit(self, name: str, window: Window) -> float:
        """Returns a flow's goodput in a window, in Mbit/s."""
        frame = self.frames.get(name)
        sent = 0.0 if frame is None else float(inside(frame, window)["goodput_bytes"].sum())
        return sent * 8e-6 / (window[1] - window[0])

    def goodput(self, window: Window) -> dict[str, float]:
        """Returns the goodput and Jain's fairness index of all flows together and of each group.

        If there are several groups, also returns the ratio of the mean goodputs of the first two.
        """
        by_group = [
            [self.mbit(flow_name(g, i), window) for i in range(flows.n)] for g, flows in enumerate(self.entry.flows)
        ]
        every = [x for group in by_group for x in group]
        found = {"goodput_Mbps": sum(every), "jain": jain(every)}
        for g, group in enumerate(by_group):
            found |= {f"g{g}_goodput_Mbps": sum(group), f"g{g}_jain": jain(group)}
        if len(by_group) > 1:
            first, second = (sum(group) / len(group) for group in by_group[:2])
            found["ratio_g0_g1"] = first / second if second else math.nan
        return found

    def windows(self, window: Window) -> dict[str, float]:
        """Returns the mean congestion window in segments and the smoothed round trip of each group's first flow."""
        found: dict[str, float] = {}
        for g in range(len(self.entry.flows)):
            frame = self.frames.get(flow_name(g, 0))
            if frame is None:
                continue
            seen = inside(frame.sort("t_s"), window).gather_every(CWND_EVERY)
            # the kernel counts its window in whole segments, so a fraction of a segment is discarded here
            found[f"g{g}_cwnd_mean"] = _mean(seen["cwnd_bytes"] // mss(self.entry.flows[g]))
            found[f"g{g}_srtt_ms"] = _mean(seen["srtt_ms"])
        if "g0_cwnd_mean" in found:
            found["cwnd0_mean"] = found["g0_cwnd_mean"]
        return found

    def repairs(self) -> dict[str, float]:
        """Returns, for each group, the number of retransmissions, and the CE marks reported per delivered segment.

        The marks per segment are 0 without ECN, and NaN if no segment was delivered.
        """
        table = self.result.tables.get("flows")
        if table is None:
            return {}
        forward = table.filter(pl.col("direction") == "forward")
        found: dict[str, float] = {}
        for g, flows in enumerate(self.entry.flows):
            names = [flow_name(g, i) for i in range(flows.n)]
            group = forward.filter(pl.col("app").is_in(names))
            found[f"g{g}_retrans"] = float(group["retransmits"].sum())
            marked = float(group["ce_packets"].sum()) if "ce_packets" in group.columns else 0.0
            delivered = float(group["goodput_bytes"].sum()) / mss(flows) if "goodput_bytes" in group.columns else 0.0
            found[f"g{g}_ce_frac"] = marked / delivered if delivered else math.nan
        return found

    def beginning(self) -> dict[str, float]:
        """Measures the first 5 s of the run, and the end of the first flow's slow start."""
        window = (0.0, BEGINNING_S)
        frame = _queue(self.result, window)
        found = {
            "rx_MB_5s": sum(self.mbit(name, window) for name in self.names) * BEGINNING_S / 8.0,
            "drops_5s": float(frame["dropped_packets"].sum()),
            "qlen_max_5s": _stat(np.max, _sampled(self.result, frame)["queue_packets"]),
        }
        first = self.frames.get(self.names[0])
        if first is None:
            return found
        known = first.sort("t_s").filter(pl.col("ssthresh_bytes").is_finite())
        if known.height:
            start = start_s(self.entry, self.result.seed, self.names[0])
            found["ss_exit_ssthresh"] = float(known["ssthresh_bytes"][0] // mss(self.entry.flows[0]))
            found["ss_exit_time_s"] = float(known["t_s"][0]) + BIN_S - start
        return found

    def thirds(self) -> dict[str, float]:
        """Returns the rate at which the payload of each datagram stream arrives, and the fraction that is lost.

        A stream that stops before the warm-up ends, or begins after the end of the run, is not measured.

        For a run of group d, also returns the payload rates of TCP and of UDP in each third of the run.
        """
        found: dict[str, float] = {}
        if self.entry.group == "d":
            for third, window in THIRDS.items():
                found[f"tcp_Mbps_{third}_third"] = sum(self.mbit(name, window) for name in self.names)
                found[f"udp_Mbps_{third}_third"] = sum(self.udp_mbit(i, window) for i in range(len(self.entry.udp)))
        for i, udp in enumerate(self.entry.udp):
            window = (max(udp.start_s, self.entry.warmup_s), min(udp.stop_s, self.entry.duration_s))
            if window[0] >= window[1]:
                continue
            found[f"udp{i}_rx_Mbps"] = self.udp_mbit(i, window)
            found[f"udp{i}_loss_frac"] = 1.0 - found[f"udp{i}_rx_Mbps"] * 1e6 / udp.bps
        return found

    def udp_mbit(self, index: int, window: Window) -> float:
        """Returns the payload rate of a datagram stream, in Mbit/s."""
        frame, udp = self.frames.get(udp_name(index)), self.entry.udp[index]
        if frame is None:
            return 0.0
        wire = float(inside(frame, window)["wire_bytes"].sum())
        return wire * udp.payload / (udp.payload + UDP_HEADER) * 8e-6 / (window[1] - window[0])


def inside(frame: pl.DataFrame, window: Window) -> pl.DataFrame:
    """Returns the bins in a window. The window begins and ends at bin edges."""
    half = BIN_S / 2
    return frame.filter(pl.col("t_s") >= window[0] - half, pl.col("t_s") < window[1] - half)


def jain(shares: Sequence[float]) -> float:
    """Returns Jain's index: 1 for equal shares, 1/n if one flow has everything."""
    squares = sum(x * x for x in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else math.nan


def pings(result: Result, entry: Entry, window: Window) -> dict[str, float]:
    """Returns round-trip time metrics for each stream of pings."""
    found: dict[str, float] = {}
    table = result.table("pings")
    for i in range(len(entry.pings)):
        sent = table.filter(pl.col("app") == ping_name(i), pl.col("t_s") >= window[0], pl.col("t_s") < window[1])
        rtt, head = sent["rtt_ms"], "ping" if i == 0 else f"ping{i + 1}"
        found |= {f"{head}_mean_ms": _mean(rtt), f"{head}_median_ms": _stat(np.median, rtt)}
        found[f"{head}_p95_ms"] = _stat(_p95, rtt)
    return found


def _queue(result: Result, window: Window) -> pl.DataFrame:
    """Returns the series for the queue under test."""
    return inside(result.table("queue_series").filter(pl.col("link") == UP).sort("t_s"), window)


def queue(result: Result, entry: Entry, window: Window) -> dict[str, float]:
    """Measures the queue under test: drops and length."""
    frame = _queue(result, window)
    dropped, sent = float(frame["dropped_packets"].sum()), _sent(result, entry, frame, window)
    lengths = _sampled(result, frame)["queue_packets"]
    return {
        "drop_frac": dropped / (dropped + sent) if dropped + sent else math.nan,
        "backlog_mean_pkts": _mean(lengths),
        "backlog_max_pkts": _stat(np.max, lengths),
    }


def _sent(result: Result, entry: Entry, frame: pl.DataFrame, window: Window) -> float:
    """Returns the number of packets that left the queue, as tc counts them.

    tc counts each segment of a packet that contains several, whereas a drop or a mark counts once per packet. To find
    the number of segments, the bytes of pings and datagrams are subtracted; the rest counts as full segments.
    """
    packets = float(frame["sent_packets"].sum())
    if not offloads(entry):
        return packets
    pings = result.table("pings").filter(pl.col("t_s") >= window[0], pl.col("t_s") < window[1])
    small = {PING_BYTES: float(pings.height)}
    for i, udp in enumerate(entry.udp):
        size = udp.payload + UDP_HEADER
        series = result.table("flow_series").filter(pl.col("app") == udp_name(i), pl.col("direction") == "forward")
        small[size] = small.get(size, 0.0) + float(inside(series, window)["wire_bytes"].sum()) / size
    others = sum(size * n for size, n in small.items())
    return sum(small.values()) + (float(frame["sent_bytes"].sum()) - others) / FRAME


def marks(result: Result, entry: Entry, window: Window) -> dict[str, float]:
    """Measures the number of CE marks per packet sent by the queue.

    For dualpi2, also counts marks by their cause, which is either the marking probability or the step threshold.
    `mark_per_l_pkt` divides all marks, including those in the classic queue C, by the number of packets that joined
    the low latency queue L (METHOD.md).
    """
    frame = _queue(result, window)
    if "marked_packets" not in frame.columns:
        return {}
    marked, sent = float(frame["marked_packets"].sum()), _sent(result, entry, frame, window)
    found = {"mark_frac": marked / sent if sent else math.nan}
    classes: Mapping[str, Mapping[str, Any]] = result.summary.get("links", {}).get(UP, {}).get("classes", {})
    if "marked_packets" in classes.get("L", {}):
        law, step = (sum(float(c["marked_packets"][rule]) for c in classes.values()) for rule in ("law", "step"))
        joined = float(classes["L"]["offered_packets"])
        per_packet = (law + step) / joined if joined else math.nan
        found |= {"pi_marks": law, "step_marks": step, "mark_per_l_pkt": per_packet}
    return found


def uplink(result: Result, flows: _Flows, window: Window) -> dict[str, float]:
    """Measures the goodput of uploads, and counts the packets and dropped ACKs at the bottleneck on the ACKs' path."""
    of: Mapping[str, Any] | None = result.summary.get("links", {}).get(ACKS)
    if of is None:
        return {}
    groups = [(g, group) for g, group in enumerate(flows.entry.flows) if group.rest.get("dir") == "up"]
    names = [flow_name(g, i) for g, group in groups for i in range(group.n)]
    return {
        "up_goodput_Mbps": sum(flows.mbit(name, window) for name in names),
        "up_sent_pkts": float(of["delivered_packets"]),
        "up_ack_drops": float(of["drops"].get("ack_filter", 0)),
    }


#: The metrics that describe the age of the head packet in dualpi2's queues L and C. Each metric is mapped to the trace
#: column that contains this age.
HEADS: Mapping[str, str] = {"head_age_l": "delay_l_ms", "head_age_c": "delay_c_ms"}
#: The trace columns that may hold the law's probability.
PROBABILITY = ("prob", "drop_prob")


def law(result: Result, window: Window) -> dict[str, float]:
    """Measures the ages of the packets at the head of dualpi2's queues, and the law's probability.

    Both are sampled in the same way as the queue length.
    """
    table = result.tables.get("trace_links")
    if table is None:
        return {}
    frame = _sampled(result, inside(table.filter(pl.col("link") == UP).sort("t_s"), window))
    found: dict[str, float] = {}
    for metric, column in HEADS.items():
        if column in frame.columns:
            found |= {f"{metric}_mean_ms": _mean(frame[column]), f"{metric}_p95_ms": _stat(_p95, frame[column])}
    for column in PROBABILITY:
        if column in frame.columns:
            found["prob_mean"] = _mean(frame[column])
    return found


def _sampled(result: Result, frame: pl.DataFrame) -> pl.DataFrame:
    """Returns the bins at the end of which the queue is sampled.

    The number of bins from one sample to the next is chosen at random from `LOOKS`.
    """
    draw = random.Random(f"validate/{result.scenario.name}/{result.seed}/looks")  # noqa: S311
    found: list[int] = []
    at = draw.choice(LOOKS) - 1
    while at < frame.height:  # the loop ends, because each iteration advances by at least one bin
        found.append(at)
        at += draw.choice(LOOKS)
    return frame[found]


def pages(result: Result, window: Window) -> dict[str, float]:
    """Returns the time from connect to the last byte, for the pages requested in the window."""
    if PAGE not in result.scenario.data["app"]:
        return {}
    took = result.table("files").filter(pl.col("app") == PAGE, pl.col("start_s") >= window[0])["took_s"]
    return {"page_mean_s": _mean(took), "page_median_s": _stat(np.median, took)} if len(took) else {}


def _stat(of: Callable[[Floats], Any], values: pl.Series) -> float:
    """Applies the statistic `of` to the values that are neither null nor NaN. Returns NaN if there are none."""
    known = values.drop_nulls().drop_nans().to_numpy()
    return float(of(known)) if len(known) else math.nan


def _mean(values: pl.Series) -> float:
    return _stat(np.mean, values)


def _p95(values: Floats) -> float:
    return float(np.quantile(values, 0.95))
