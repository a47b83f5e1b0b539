"""The metrics of METHOD.md, from samples and counters of one run. NaN means that there is no value."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence
from typing import Any

from network import Counters, Qdisc
from traffic import Clock, Datagrams, Flow, Info, Pages, Pings

#: Start and end of each third of a run in group d, in s, without the first 5 s of the third.
THIRDS = {"first": (5.0, 30.0), "middle": (35.0, 60.0), "last": (65.0, 90.0)}
BEGINNING_S = 5.0
#: ssthresh of a flow that is still in its first slow start.
INFINITE = 0x7FFFFFFF


class Recorder:
    """Samples the discipline and the flows, and reads their counters at the start and end of each window of time."""

    def __init__(
        self, spec: dict[str, Any], clock: Clock, dice: random.Random, zero: float, flows: Sequence[Sequence[Flow]]
    ) -> None:
        self._spec, self._clock, self._dice, self._zero, self._flows = spec, clock, dice, zero, flows
        self._window = (float(spec["warmup_s"]), float(spec["duration_s"]))
        self._queue: list[tuple[float, Counters]] = []
        self._tcp: list[list[Info]] = [[] for _ in flows]
        self._exit: dict[str, float] = {}
        self._received: dict[float, list[list[int]]] = {}
        self._counters: dict[float, tuple[Counters, Counters]] = {}
        self._infos: dict[float, list[list[Info]]] = {}
        self._qdisc = Qdisc("s0", "s0-s1")
        self._uplink = Qdisc("s1", "s1-s0") if spec.get("up_bps") else None
        edges = {0.0, BEGINNING_S, *self._window, *(edge for third in THIRDS.values() for edge in third)}
        for edge in sorted(edges):
            if edge <= self._window[1]:
                clock.at(zero + edge, lambda edge=edge: self._edge(edge))
        for action in (self._sample_queue, self._sample_flows, self._slow_start):
            clock.at(zero, action)

    def _edge(self, edge: float) -> None:
        self._received[edge] = [[flow.received for flow in group] for group in self._flows]
        self._infos[edge] = [[flow.info() or {} for flow in group] for group in self._flows]
        self._counters[edge] = (self._qdisc.read(), self._uplink.read() if self._uplink else {})

    def _sample_queue(self) -> None:
        self._queue.append((time.monotonic() - self._zero, self._qdisc.read()))
        self._clock.at(time.monotonic() + self._dice.uniform(0.01, 0.03), self._sample_queue)

    def _sample_flows(self) -> None:
        if time.monotonic() - self._zero >= self._window[0]:
            for found, group in zip(self._tcp, self._flows, strict=True):
                if (info := group[0].info()) is not None:
                    found.append(info)
        self._clock.at(time.monotonic() + 0.1, self._sample_flows)

    def _slow_start(self) -> None:
        first = self._flows[0][0]
        info = first.info()
        if info is None or info["ssthresh"] == INFINITE:
            self._clock.at(time.monotonic() + 0.02, self._slow_start)
        else:
            self._exit = {"ss_exit_ssthresh": info["ssthresh"], "ss_exit_time_s": time.monotonic() - first.started}

    def metrics(self, pings: Sequence[Pings], datagrams: Sequence[Datagrams], pages: Pages | None) -> dict[str, float]:
        """Reduces the run to its metrics."""
        found = self._goodput() | self._senders() | self._discipline()
        for k, stream in enumerate(pings):
            rtts = [rtt for sent, rtt in stream.found if self._inside(sent - self._zero)]
            name = f"ping{k + 1}" if k else "ping"
            found |= {f"{name}_mean_ms": mean(rtts), f"{name}_median_ms": quantile(rtts, 0.5)}
            found[f"{name}_p95_ms"] = quantile(rtts, 0.95)
        for k, stream in enumerate(datagrams):
            window = (max(stream.udp["start_s"], self._window[0]), min(stream.udp["stop_s"], self._window[1]))
            if window[0] >= window[1]:
                continue
            found[f"udp{k}_rx_Mbps"] = self._udp_mbit(stream, window)
            found[f"udp{k}_loss_frac"] = 1 - found[f"udp{k}_rx_Mbps"] * 1e6 / stream.udp["bps"]
        if pages:
            took = [took for begun, took in pages.found if self._inside(begun - self._zero)]
            found |= {"page_mean_s": mean(took), "page_median_s": quantile(took, 0.5)}
        if self._spec.get("group") == "d":
            for third, window in THIRDS.items():
                found[f"tcp_Mbps_{third}_third"] = sum(map(sum, self._mbit(window)))
                found[f"udp_Mbps_{third}_third"] = sum(self._udp_mbit(stream, window) for stream in datagrams)
        if self._spec.get("group") == "D":
            found |= self._beginning()
        return found

    def _inside(self, moment: float) -> bool:
        return self._window[0] <= moment < self._window[1]

    def _mbit(self, window: tuple[float, float]) -> list[list[float]]:
        """Returns the goodput of each flow in a window, in Mbit/s."""
        begin, end = (self._received[edge] for edge in window)
        scale = 8e-6 / (window[1] - window[0])
        return [[(b - a) * scale for a, b in zip(x, y, strict=True)] for x, y in zip(begin, end, strict=True)]

    def _udp_mbit(self, stream: Datagrams, window: tuple[float, float]) -> float:
        arrived = sum(size for moment, size in stream.arrived if window[0] <= moment - self._zero < window[1])
        return arrived * 8e-6 / (window[1] - window[0])

    def _goodput(self) -> dict[str, float]:
        groups = self._mbit(self._window)
        every = [rate for group in groups for rate in group]
        found = {"goodput_Mbps": sum(every), "jain": jain(every)}
        for g, group in enumerate(groups):
            found |= {f"g{g}_goodput_Mbps": sum(group), f"g{g}_jain": jain(group)}
        if len(groups) > 1 and any(groups[1]):
            found["ratio_g0_g1"] = mean(groups[0]) / mean(groups[1])
        if self._uplink:
            up = [sum(g) for g, flows in zip(groups, self._spec["flows"], strict=True) if flows.get("dir") == "up"]
            begin, end = (self._counters[edge][1] for edge in self._window)
            found |= {"up_goodput_Mbps": sum(up), "up_sent_pkts": end["packets"] - begin["packets"]}
            found["up_ack_drops"] = end.get("ack_drops", 0.0) - begin.get("ack_drops", 0.0)
        return found

    def _senders(self) -> dict[str, float]:
        found: dict[str, float] = {}
        begin, end = (self._infos[edge] for edge in self._window)
        for g, samples in enumerate(self._tcp):
            change = {
                key: sum(b.get(key, 0.0) - a.get(key, 0.0) for a, b in zip(begin[g], end[g], strict=True))
                for key in ("retrans", "ce", "delivered")
            }
            found[f"g{g}_retrans"] = change["retrans"]
            found[f"g{g}_ce_frac"] = change["ce"] / change["delivered"] if change["delivered"] else math.nan
            found[f"g{g}_cwnd_mean"] = mean([info["cwnd"] for info in samples])
            found[f"g{g}_srtt_ms"] = mean([info["srtt"] for info in samples])
        return found | {"cwnd0_mean": found["g0_cwnd_mean"]}

    def _discipline(self) -> dict[str, float]:
        begin, end = (self._counters[edge][0] for edge in self._window)
        change = {key: end[key] - begin[key] for key in end}
        sent, inner = change["packets"], [counters for moment, counters in self._queue if self._inside(moment)]
        offered = change["drops"] + sent
        found = {
            "drop_frac": change["drops"] / offered if offered else math.nan,
            "backlog_mean_pkts": mean([counters["qlen"] for counters in inner]),
            "backlog_max_pkts": max(counters["qlen"] for counters in inner),
        }
        if "marks" in change:
            found["mark_frac"] = change["marks"] / sent if sent else math.nan
        if "step" in change:
            found |= {"step_marks": change["step"], "pi_marks": change["marks"] - change["step"]}
            found["mark_per_l_pkt"] = change["marks"] / change["in_l"] if change["in_l"] else math.nan
            for side in "cl":
                ages = [counters[f"delay_{side}"] / 1000 for counters in inner]
                found |= {f"head_age_{side}_mean_ms": mean(ages), f"head_age_{side}_p95_ms": quantile(ages, 0.95)}
        if "prob" in change:
            found["prob_mean"] = mean([counters["prob"] for counters in inner])
        return found

    def _beginning(self) -> dict[str, float]:
        window = (0.0, BEGINNING_S)
        begin, end = (self._counters[edge][0] for edge in window)
        return self._exit | {
            "rx_MB_5s": sum(map(sum, self._mbit(window))) * BEGINNING_S / 8,
            "drops_5s": end["drops"] - begin["drops"],
            "qlen_max_5s": max(counters["qlen"] for moment, counters in self._queue if moment < BEGINNING_S),
        }


def jain(shares: Sequence[float]) -> float:
    """Returns Jain's index."""
    squares = sum(x * x for x in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else math.nan


def mean(values: Sequence[float]) -> float:
    """Returns the mean."""
    return sum(values) / len(values) if values else math.nan


def quantile(values: Sequence[float], q: float) -> float:
    """Returns a quantile, interpolated between the two nearest values."""
    if not values:
        return math.nan
    ordered, at = sorted(values), q * (len(values) - 1)
    low = math.floor(at)
    return ordered[low] + (at - low) * (ordered[min(low + 1, len(ordered) - 1)] - ordered[low])
