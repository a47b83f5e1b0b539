"""Runs aioquic behind each queue, alone and beside our CUBIC; prints its rows of the table in docs/transports.md.

The line and the queues are the same as in src/bench.rs.
"""

from __future__ import annotations

import sys

from stack import Aioquic

import bloatlab

#: The queues by name, in scenario syntax.
QUEUES: dict[str, object] = {
    "droptail": {"droptail": {"limit": "100ms"}},
    "codel": {"codel": {"ecn": True}},
    "cake": {"cake": {}},
    "dualpi2": {"dualpi2": {}},
}


def network(queue: str, mbit: int, seconds: int, *, beside_cubic: bool, **configuration: object) -> bloatlab.Network:
    """Returns the network, with aioquic at the nodes `client` and `server`. The round trip is 40 ms.

    `configuration` is passed to aioquic for the client.
    """
    line = {"rate": f"{mbit}mbit", "delay": "20ms"}
    scenario: dict[str, object] = {
        "name": "transports",
        "duration": f"{seconds}s",
        "start_spread": "0s",
        "link": {
            "up": {"from": "client", "to": "server", "queue": QUEUES[queue], **line},
            "down": {"from": "server", "to": "client", **line},
        },
    }
    if beside_cubic:
        scenario["tcp"] = {"cubic_ecn": {"preset": "linux-6", "ecn": True}}
        scenario["app"] = {"cubic": {"from": "client", "to": ["server"], "tcp": "cubic_ecn", "traffic": "ftp"}}
    made = bloatlab.Network(scenario)
    server = made.add_endpoint("server", Aioquic())
    made.add_endpoint("client", Aioquic(server, **configuration))
    return made


def main(mbit: int = 20, seconds: int = 60) -> None:
    """Prints the rows."""
    for queue in QUEUES:
        own = network(queue, mbit, seconds, beside_cubic=False).finish().summary["apps"]["client"]
        both = network(queue, mbit, seconds, beside_cubic=True).finish().summary["apps"]
        a, b = both["client"]["goodput_mbit"], both["cubic"]["goodput_mbit"]
        print(
            f"| aioquic | {queue} | {own['goodput_mbit']:.1f} | {own['delay_ms']['p99']:.0f} "
            f"| {own['dropped_packets']} | {own['ce_packets']} | {a:.1f} | {b:.1f} "
            f"| {(a + b) ** 2 / (2 * (a * a + b * b)):.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
