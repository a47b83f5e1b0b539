"""Reduces a run to the rate and delay of each load, the marks and drops of both queues, and the link utilisation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from bloatlab.simulation import Result
from bloatlab.studies.l4s.cases import FRAME, HEADERS, MSS, NECK, SIDES, STEP_AT, Case, cases, packet_ms

Measures = dict[str, float]

#: Cases by scenario name.
_CASES: Mapping[str, Case] = {f"l4s {case}": case for case in cases()}


def measure(result: Result) -> Measures:
    """Measures rates in Mbit/s, waits in the queue in ms, and shares in [0, 1].

    A wait is the delay without the propagation delay and without the packet's own transmission.
    """
    case = _CASES[result.scenario.name]
    neck = result.summary["links"][NECK]
    found: Measures = {
        "utilisation": neck["utilisation"],
        "wait_mean_ms": neck["sojourn_ms"]["mean"],
        "queue_max_packets": float(neck["queue_packets"]["max"]),
        "total_mbit": 0.0,
    }
    for side, load in zip(SIDES, case.loads, strict=False):
        app = result.summary["apps"][side]
        own = packet_ms(load, case) + (load.rtt / 2.0 if case.bench else 0.0)
        found[f"{side}_mbit"] = app["goodput_mbit"]
        found["total_mbit"] += app["goodput_mbit"]
        if app["delay_ms"]["count"]:
            found[f"{side}_wait_mean_ms"] = app["delay_ms"]["mean"] - own
            found[f"{side}_wait_p99_ms"] = max(app["delay_ms"]["p99"] - own, 0.0)
    if len(case.loads) > 1 and found["first_mbit"] > 0.0:
        found["ratio"] = found["second_mbit"] / found["first_mbit"]
        found["inverse"] = found["first_mbit"] / max(found["second_mbit"], 1e-9)
    if case.then:
        found |= _step(result, case)
    for name, one in neck.get("classes", {}).items():
        found |= _queue(name.lower(), one)
    if "c_delivered" in found:
        both = found["c_delivered"] + found["l_delivered"]
        found["c_share"] = found["c_delivered"] / both if both else 0.0
    return found


#: The round trip rises in a spike when the rate falls. The spike has ended when at most this share of the rise remains.
OVER = 0.1
#: The settled parts of a run, before and after the rate step, as shares of its length: 20 to 30 s and 35 to 60 s of
#: 60 s.
BEFORE, AFTER = (1 / 3, 0.5), (35 / 60, 1.0)
#: The share of an Ethernet frame's bytes that is payload.
PAYLOAD = MSS / (MSS + HEADERS) / FRAME


def _step(result: Result, case: Case) -> Measures:
    """Measures the effect of the rate step on the first flow.

    The measures describe the flow's smoothed round trip and its link utilisation, both before and after the step.
    """
    flow = result.table("flow_series").filter(pl.col("direction") == "forward")
    t, srtt, sent = (flow[name].to_numpy() for name in ("t_s", "srtt_ms", "goodput_bytes"))
    duration = result.summary["duration_s"]
    at = STEP_AT * duration
    before = float(srtt[(t >= BEFORE[0] * duration) & (t < at)].mean())
    after, later = srtt[t >= at], t[t >= at] - at
    top = float(after.max())
    down = (later >= later[after.argmax()]) & (after <= before + OVER * (top - before))
    spike = float(later[down][0]) if down.any() else duration * (1.0 - STEP_AT)

    def rate(share: tuple[float, float]) -> float:
        begin, end = (x * duration for x in share)
        return float(sent[(t >= begin) & (t < end)].sum()) * 8e-6 / (end - begin)

    used = [rate(when) / (mbit * PAYLOAD) for when, mbit in ((BEFORE, case.rate), (AFTER, case.then))]
    return {
        "rtt_before_ms": before, "rtt_max_ms": top, "induced_ms": top - before, "spike_s": spike,
        "used_before": used[0], "used_after": used[1], "lost": 1.0 - sum(used) / 2.0,
    }  # fmt: skip


def _queue(name: str, one: Mapping[str, Any]) -> Measures:
    """Measures DualPI2's low-latency queue (L) or its classic queue (C).

    The measures are the bytes delivered, the share of packets dropped, and the shares of delivered packets that were
    marked with DualPI2's probability (`marked`) and by the step (`step`).
    """
    decided = one["delivered_packets"] + one["dropped_packets"]
    return {
        f"{name}_delivered": float(one["delivered_bytes"]),
        f"{name}_dropped": one["dropped_packets"] / max(decided, 1),
        f"{name}_marked": one["marked_packets"]["law"] / max(one["delivered_packets"], 1),
        f"{name}_step": one["marked_packets"]["step"] / max(one["delivered_packets"], 1),
    }
