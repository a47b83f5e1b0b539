"""What a run is reduced to: each side's rate and delay, the two queues' marks and drops, the link."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bloatlab.simulation import Result
from bloatlab.studies.l4s.build import NECK, SIDES, packet_ms
from bloatlab.studies.l4s.cases import Case, cases
from bloatlab.sweep import Measure

Measures = dict[str, float]

#: Cases by the name of their scenario.
_CASES: Mapping[str, Case] = {f"l4s {case.key}": case for case in cases()}


def measure(result: Result) -> Measures:
    """Rates in Mbit/s, waits in the queue in ms (delay less the packet's own transmission), shares in [0, 1]."""
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
        own = packet_ms(load, case)
        found[f"{side}_mbit"] = app["goodput_mbit"]
        found["total_mbit"] += app["goodput_mbit"]
        if app["delay_ms"]["count"]:
            found[f"{side}_wait_mean_ms"] = app["delay_ms"]["mean"] - own
            found[f"{side}_wait_p99_ms"] = max(app["delay_ms"]["p99"] - own, 0.0)
    if len(case.loads) > 1 and found["first_mbit"] > 0.0:
        found["ratio"] = found["second_mbit"] / found["first_mbit"]
    for name, one in neck.get("classes", {}).items():
        found |= _queue(name.lower(), one)
    if "c_delivered" in found:
        both = found["c_delivered"] + found["l_delivered"]
        found["c_share"] = found["c_delivered"] / both if both else 0.0
    return found


def _queue(name: str, one: Mapping[str, Any]) -> Measures:
    """Of L or C: bytes delivered, and the shares of packets that were dropped and marked."""
    decided = one["delivered_packets"] + one["dropped_packets"]
    return {
        f"{name}_delivered": float(one["delivered_bytes"]),
        f"{name}_dropped": one["dropped_packets"] / max(decided, 1),
        f"{name}_marked": one["marked_packets"]["law"] / max(one["delivered_packets"], 1),
        f"{name}_step": one["marked_packets"]["step"] / max(one["delivered_packets"], 1),
    }


MEASURE = Measure("l4s", measure)
