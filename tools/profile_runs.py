"""Training runs of the PGO build (`tools/release.py`): they show the compiler which code is hot.

    python tools/profile_runs.py

They cover the most common queue disciplines, several TCP stacks at three rates, a call and page loads, in about 4 s of
CPU time.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import bloatlab


class Line(NamedTuple):
    """A bottleneck, and how long it is simulated."""

    rate: str
    buffer_bytes: int
    seconds: float


#: Shortened versions of the cases S1 to S3 in docs/speed.md. Each is run with every number of flows in its list.
LINES = {
    Line("5mbit", 600_000, 60): [10],
    Line("100mbit", 2_500_000, 5): [10, 100],
    Line("1gbit", 6_250_000, 1): [10, 1000],
}
#: Drop-tail counts twice, because most links use it.
QUEUES = [
    *["droptail", "droptail", "codel", "fq_codel", "cake", "pie"],
    *["fq_pie", "red", "cobalt", "dualpi2", "sfq", "drr"],
]
STACKS = ["linux-6", "rfc", "bbr", "bbr3", "prague"]


def main() -> None:
    """Makes all runs."""
    for scenario in scenarios():
        bloatlab.run(scenario)


def scenarios() -> Iterator[dict[str, object]]:
    """Yields the scenarios."""
    for line, numbers in LINES.items():
        for flows, queue in itertools.product(numbers, QUEUES):
            yield dumbbell(line, flows, queue, "linux-6")
        for stack in STACKS:
            yield dumbbell(line, 10, "fq_codel", stack)
    yield HOUSEHOLD


def dumbbell(line: Line, flows: int, queue: str, stack: str) -> dict[str, object]:
    """Returns a scenario with uploads and a game through one bottleneck between two routers."""
    limit = f"{line.buffer_bytes}B" if queue == "droptail" else f"{line.buffer_bytes // 1500}p"
    wide = {"rate": "10gbit", "delay": "1ms", "both_ways": True}
    return {
        "duration": f"{line.seconds}s",
        "link": {
            "access": {"from": "s", "to": "r1", **wide},
            "up": {"from": "r1", "to": "r2", "rate": line.rate, "delay": "23ms", "queue": {queue: {"limit": limit}}},
            "back": {"from": "r2", "to": "r1", "rate": line.rate, "delay": "23ms"},
            "exit": {"from": "r2", "to": "d", **wide},
        },
        "tcp": {"stack": {"preset": stack}},
        "app": {
            "load": {"from": "s", "to": ["d"], "tcp": "stack", "traffic": {"ftp": {"flows": flows}}},
            "game": {"from": "s", "to": ["d"], "traffic": {"messages": {"message": "10KB", "interval": "2s"}}},
        },
        "record": {"links": ["up"], "apps": []},
    }


#: Uploads, a call, pages and pings on a home line.
HOUSEHOLD: dict[str, object] = {
    "duration": "60s",
    "link": {
        "up": {"from": "home", "to": "net", "rate": "5mbit", "delay": "10ms", "queue": {"droptail": {"limit": "250p"}}},
        "down": {"from": "net", "to": "home", "rate": "50mbit", "delay": "10ms", "queue": {"fq_codel": {}}},
    },
    "app": {
        "upload": {"from": "home", "to": ["net"], "traffic": {"ftp": {"flows": 5}}},
        "call": {"from": "home", "to": ["net"], "traffic": {"voip": {}}},
        "pages": {"from": "home", "to": ["net"] * 4, "traffic": {"web": {}}},
        "ping": {"from": "home", "to": ["net"], "traffic": {"ping": {}}},
    },
}


if __name__ == "__main__":
    main()
