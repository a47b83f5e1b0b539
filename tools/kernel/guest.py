"""Measures one scenario inside a User-Mode Linux kernel. Runs there as root, with the standard library only.

    python3 guest.py SPEC.json OUT.json

The kernel's clock is virtual (`time-travel=inf-cpu`): running code takes no time, so one process can act for all hosts
without delaying a packet. METHOD.md describes the network, the traffic and the metrics.
"""

from __future__ import annotations

import json
import math
import random
import sys
import time
from pathlib import Path
from typing import Any

from metrics import Recorder
from network import build, rewrite_ect
from traffic import Clock, Datagrams, Flow, Pages, Pings

#: Time from the making of the sockets to time zero, in s.
SETTLE_S = 0.5
#: The datagrams in every scenario of group `d`. The scenarios themselves do not list them.
BLAST = {"start_s": 30, "stop_s": 60, "bps": 10e6, "payload": 1000}


def measure(spec: dict[str, Any]) -> dict[str, float]:
    """Builds the network, runs the traffic, and returns the metrics."""
    build(spec)
    dice, clock = _dice(spec, "samples"), Clock()
    zero, duration = time.monotonic() + SETTLE_S, float(spec["duration_s"])
    flows: list[list[Flow]] = []
    for group in spec["flows"]:
        first = 5001 + sum(len(made) for made in flows)
        flows.append([Flow(clock, group, first + i) for i in range(group["n"])])
        for i, flow in enumerate(flows[-1]):
            clock.at(zero + _dice(spec, f"flow{len(flows) - 1}_{i:04}").random(), flow.start)
    rewrite_ect([flow.port for made in flows for flow in made if flow.group.get("ect1")])
    pings = [
        Pings(clock, k, stream.get("tos", 0), zero + 0.1 * _dice(spec, f"ping{k + 1}").random(), zero + duration - 2)
        for k, stream in enumerate(spec.get("pings", [{"tos": 0}]))
    ]
    streams = spec.get("udp") or ([BLAST] if spec.get("group") == "d" else [])
    datagrams = [Datagrams(clock, k, udp, zero, dice) for k, udp in enumerate(streams)]
    pages = Pages(clock, spec["flows"][0]["cc"], zero, zero + duration) if spec.get("group") == "a" else None
    recorder = Recorder(spec, clock, dice, zero, flows)
    clock.run(zero + duration + 0.001)
    return recorder.metrics(pings, datagrams, pages)


def _dice(spec: dict[str, Any], name: str) -> random.Random:
    """Returns the generator of random numbers for one purpose.

    Flows and pings start at the same times as in bloatlab with the same seed (validate/build.py).
    """
    return random.Random(f"validate/{spec['name']}/{spec['seed']}/{name}")  # noqa: S311


def main(spec: Path, out: Path) -> None:
    """Measures the scenario in `spec` and writes its metrics to `out`, null for those without a value."""
    found = measure(json.loads(spec.read_text()))
    part = out.with_suffix(".part")
    part.write_text(json.dumps({name: None if math.isnan(value) else value for name, value in found.items()}))
    part.rename(out)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
