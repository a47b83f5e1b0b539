#!/usr/bin/env python3
"""Measures the cost of laws and controllers, in Python and in the core: CPU nanoseconds per packet or ACK of a run.

Laws: examples/laws/home.toml with a 50 Mbit/s link, two uploads and a call for 20 s; the time is per packet offered
to the queue. Controllers: one upload over 50 Mbit/s, with an ACK for every segment, 20 s; the time is per ACK. The
fastest of 20 runs counts. Run it with the Python of `make venv`.

usage: bench_python.py [laws] [controllers]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import bloatlab

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
ROUNDS = 20
FASTER = {"duration": "20s", "link.up.rate": "50mbit", "link.down.rate": "200mbit"}


class Nothing:
    """The smallest possible law, which passes every packet."""

    def head(self, packet: object, view: object) -> None:
        """Passes the packet."""


class Constant:
    """The smallest possible controller, with a window that fills the link."""

    def on_ack(self, sample: object) -> float:  # noqa: ARG002
        """Returns the window."""
        return 120.0

    def on_congestion(self, moment: object, kind: str, base: float) -> float:  # noqa: ARG002
        """Returns the threshold."""
        return 120.0


#: The queues to compare, by name. The first has a law of the core.
LAWS: dict[str, Any] = {
    "codel (core)": {"codel": {"limit": "250p"}},
    "a head that does nothing": {"python": {"law": "nothing", "limit": "250p"}},
    "patience.py": {"python": {"law": "patience.py:Patience", "limit": "250p"}},
    "codel.py": {"python": {"law": "codel.py:CoDel", "limit": "250p"}},
    "sfq_hss + codel (core)": {"sfq_hss": {"law": "codel"}},
    "sfq_hss + codel.py": {"sfq_hss": {"law": {"python": {"law": "codel.py:CoDel"}}}},
}

#: The settings common to all stacks in `CONTROLLERS`. A name with "(core)" is a controller of the core.
STACK = {"preset": "linux-6", "ack_every": 1, "quick_acks": 0}
CONTROLLERS: dict[str, Any] = {
    "reno (core)": STACK | {"congestion_control": "reno"},
    "westwood (core)": STACK | {"congestion_control": "westwood"},
    "a constant window": STACK | {"python": {"controller": "constant"}},
    "aimd.py": STACK | {"python": {"controller": "aimd.py:Aimd"}},
    "reno.py": STACK | {"python": {"controller": "reno.py:Reno"}},
    "westwood.py": STACK | {"python": {"controller": "westwood.py:Westwood"}},
}

#: For each kind of run: the scenario's file, the cases, the scenario key that a case sets, and additional settings.
KINDS: dict[str, tuple[Path, dict[str, Any], str, dict[str, Any]]] = {
    "laws": (EXAMPLES / "laws" / "home.toml", LAWS, "link.up.queue", {}),
    "controllers": (
        EXAMPLES / "controllers" / "home.toml",
        CONTROLLERS,
        "tcp.mine",
        {"app.upload.traffic": {"ftp": {}}, "link.up.queue": {"droptail": {"limit": "150p"}}},
    ),
}


def cost(scenario: bloatlab.Scenario, kind: str) -> tuple[float, int]:
    """Returns the CPU seconds of a run, and how many packets the link `up` (`down` for controllers) sent or dropped."""
    laws = {"nothing": Nothing} if '"law":"nothing"' in scenario.text else None
    controllers = {"constant": Constant} if '"controller":"constant"' in scenario.text else None
    begun = time.process_time()
    links = bloatlab.run(scenario, laws=laws, controllers=controllers).summary["links"]
    link = links["up" if kind == "laws" else "down"]
    return time.process_time() - begun, link["delivered_packets"] + link["dropped_packets"]


def main() -> int:
    """Prints one row per case; the last columns compare the case with the first case, which runs in the core."""
    for kind in sys.argv[1:] or KINDS:
        file, queues, place, more = KINDS[kind]
        cases = {name: bloatlab.load(file, {**FASTER, **more, place: case}) for name, case in queues.items()}
        # the cases alternate, so that a busy period of the machine affects all of them
        rounds = [{name: cost(scenario, kind) for name, scenario in cases.items()} for _ in range(ROUNDS)]
        found = {name: min(costs[name] for costs in rounds) for name in cases}
        sys.stdout.write(f"{kind:<26} {'packets':>8} {'ns/packet':>10} {'more':>6} {'times':>6}\n")
        first = next(iter(found.values()))
        own = first[0] / first[1]
        for name, (seconds, packets) in found.items():
            each = seconds / packets
            row = f"{name:<26} {packets:>8} {each * 1e9:>10.0f} {(each - own) * 1e9:>6.0f} {each / own:>6.1f}"
            sys.stdout.write(row + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
