#!/usr/bin/env python3
"""Measures the cost of a law in Python: CPU nanoseconds per packet of a run, compared with a law of the core.

The scenario is examples/laws/home.toml with a link of 50 Mbit/s: two uploads and a call for 20 s. The shortest of 20
runs counts.
Run it with the Python of `make venv`.

usage: bench_laws.py
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import bloatlab

HOME = Path(__file__).resolve().parents[1] / "examples" / "laws" / "home.toml"
ROUNDS = 20
FASTER = {"duration": "20s", "link.up.rate": "50mbit", "link.down.rate": "200mbit"}


class Nothing:
    """The smallest possible law, which passes every packet."""

    def head(self, packet: object, view: object) -> None:
        """Passes the packet."""


#: The queues that are compared, by name.
CORE = "codel (core)"
CASES: dict[str, Any] = {
    CORE: {"codel": {"limit": "250p"}},
    "a head that does nothing": {"python": {"law": "nothing", "limit": "250p"}},
    "patience.py": {"python": {"law": "patience.py:Patience", "limit": "250p"}},
    "codel.py": {"python": {"law": "codel.py:CoDel", "limit": "250p"}},
    "sfq_hss + codel (core)": {"sfq_hss": {"law": "codel"}},
    "sfq_hss + codel.py": {"sfq_hss": {"law": {"python": {"law": "codel.py:CoDel"}}}},
}


def cost(scenario: bloatlab.Scenario) -> tuple[float, int]:
    """Returns the CPU seconds of a run, and the number of packets that were offered to the queue."""
    laws = {"nothing": Nothing} if '"law":"nothing"' in scenario.text else None
    begun = time.process_time()
    up = bloatlab.run(scenario, laws=laws).summary["links"]["up"]
    return time.process_time() - begun, up["delivered_packets"] + up["dropped_packets"]


def main() -> int:
    """Prints a row per case; the last columns compare it with the run of the core's CoDel."""
    cases = {name: bloatlab.load(HOME, {**FASTER, "link.up.queue": queue}) for name, queue in CASES.items()}
    # the cases take turns, so that a busy time of the machine affects all of them
    rounds = [{name: cost(scenario) for name, scenario in cases.items()} for _ in range(ROUNDS)]
    found = {name: min(costs[name] for costs in rounds) for name in cases}
    sys.stdout.write(f"{'law':<26} {'packets':>8} {'ns/packet':>10} {'more':>6} {'times':>6}\n")
    own = found[CORE][0] / found[CORE][1]
    for name, (seconds, packets) in found.items():
        each = seconds / packets
        row = f"{name:<26} {packets:>8} {each * 1e9:>10.0f} {(each - own) * 1e9:>6.0f} {each / own:>6.1f}"
        sys.stdout.write(row + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
