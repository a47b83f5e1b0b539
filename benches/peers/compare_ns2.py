#!/usr/bin/env python3
"""Compares our ns-2 presets with ns-2 on the same bottleneck and transfers, quantity by quantity.

Needs `ns` (Debian: ns2) and the installed bloatlab:  .venv/bin/python benches/peers/compare_ns2.py [NAME ...] [-v ROWS]

Prints one line per case, with ns-2's value and ours for each quantity: goodput, first drop, mean and longest queue,
drops, timeouts, retransmissions, number of window reductions, sum of the mean windows, and bytes per packet. -v ROWS
also prints the first ROWS samples of the first transfer, ns-2's and ours: time in s, window and threshold in packets.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import bloatlab

HERE = Path(__file__).resolve().parent
NS2 = HERE / "ns2_stack.tcl"
STEP = 0.01

#: The TCP stack of bloatlab that corresponds to each TCP agent of ns-2.
STACKS = {
    "reno": {"preset": "ns2-reno"},
    "newreno": {"preset": "ns2-reno", "recovery": "newreno"},
    "sack1": {"preset": "ns2-reno", "recovery": "sack"},
    "cubic": {"preset": "ns2-cubic-2.6.22"},
    "fullsack": {"preset": "ns2-fulltcp-sack"},
}


@dataclass(frozen=True)
class Case:
    """A bottleneck, and `n` transfers that share it and have the same parameters."""

    agent: str
    n: int = 1
    rate: float = 5e6
    delay: float = 0.01
    qpkts: int = 50
    t: int = 100
    stagger: float = 0.0
    iw: int = 2
    window: int = 1_000_000
    ts: int = 0
    bytes: int = -1
    pause: float = 0.0
    stack: dict = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.agent}-{self.n}-{self.rate / 1e6:g}M-{self.delay * 2000:g}ms-{self.qpkts}p" + (
            f"-{self.bytes}B" if self.bytes > 0 else "") + (f"-{self.window}w" if self.window < 1_000_000 else "")


CASES = [
    Case(agent, n=n, delay=delay, qpkts=q, t=t, stagger=0.3, ts=int(agent in ("cubic", "fullsack")))
    for agent in STACKS
    for n in (1, 2, 5)
    for delay, q, t in ((0.01, 21, 200), (0.05, 21, 200), (0.01, 417, 300), (0.05, 417, 300))
] + [  # the cases of the study cablelabs2012, with the largest window that its README states
    Case("cubic", n=n, delay=delay, qpkts=q, t=120, stagger=0.3, ts=1, window=672)
    for n in (1, 2, 5)
    for delay, q in ((0.025, 21), (0.05, 21), (0.025, 417), (0.05, 417))
]


def ns2(case: Case, trace: Path) -> dict:
    """Runs the transfers in ns-2; returns the measurements."""
    words = {k: getattr(case, k) for k in ("agent", "n", "rate", "delay", "qpkts", "t", "stagger", "iw", "window", "ts", "bytes", "pause")}
    command = ["ns", str(NS2), *(f"{k}={v}" for k, v in words.items()), f"step={STEP}", f"trace={trace}"]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    o = json.loads(next(line for line in out.splitlines() if line.startswith("{")))
    unit = 1 if case.agent == "fullsack" else 1460
    rows = [[float(x) for x in line.split()] for line in trace.read_text().splitlines()]
    return {
        "goodput_kB": [round(a * unit / 1000) for a in o["acked"]],
        "first_drop_s": o["first_drop_s"],
        "queue_mean": o["queue_mean"],
        "queue_max": o["queue_max"],
        "drops": o["drops"],
        "timeouts": sum(o["timeouts"]),
        "retransmits": sum(o["retransmits"]),
        "bytes_per_packet": o["bytes"] / max(1, o["departures"]),
        "done": o["done"],
        "windows": [[(r[0], r[3 + 2 * i], r[4 + 2 * i]) for r in rows] for i in range(case.n)],
    }


def ours(case: Case) -> dict:
    """Runs the transfers with our preset; returns the measurements."""
    # as in ns-2, a transfer sends all its files over one connection
    files = {"size": f"{case.bytes}B", "pause": f"{case.pause}s", "new_connection": False}
    ftp = files if case.bytes > 0 else {}
    stack = {**STACKS[case.agent], "initial_window": {"segments": case.iw}, **case.stack}
    if case.window < 1_000_000:
        stack |= {"window_clamp": case.window, "initial_ssthresh": float(case.window)}
    scenario = {
        "name": case.name,
        "duration": f"{case.t}s",
        "link": {
            "up": {
                "from": "s", "to": "d", "rate": f"{case.rate:.0f}bit", "delay": f"{case.delay}s",
                "queue": {"droptail": {"limit": f"{case.qpkts}p", "ns2_off_by_one": True}},
            },
            "down": {"from": "d", "to": "s", "rate": "100mbit", "delay": f"{case.delay}s"},
        },
        "app": {
            f"f{i}": {"from": "s", "to": ["d"], "start": f"{case.stagger * i:.6f}s", "tcp": "x", "traffic": {"ftp": ftp}}
            for i in range(case.n)
        },
        "tcp": {"x": stack},
        "record": {"interval": f"{STEP}s", "links": ["up"]},
    }
    r = bloatlab.run(bloatlab.from_dict(scenario))
    s = r.summary
    apps = [s["apps"][f"f{i}"] for i in range(case.n)]
    link = s["links"]["up"]
    queue = r.table("queue_series")
    drops = queue.filter(queue["dropped_packets"] > 0)
    series = r.table("flow_series")
    windows = []
    for i in range(case.n):
        f = series.filter((series["app"] == f"f{i}") & (series["direction"] == "forward"))
        windows.append([
            (t, c / 1460, h / 1460) for t, c, h in zip(f["t_s"], f["cwnd_bytes"], f["ssthresh_bytes"], strict=True)
        ])
    return {
        "goodput_kB": [round(a["goodput_bytes"] / 1000) for a in apps],
        "first_drop_s": drops["t_s"].min() if len(drops) else -1,
        "queue_mean": link["queue_packets"]["mean"],
        "queue_max": link["queue_packets"]["max"],
        "drops": link["dropped_packets"],
        "timeouts": sum(a["timeouts"] for a in apps),
        "retransmits": sum(a["retransmits"] for a in apps),
        "bytes_per_packet": link["delivered_bytes"] / max(1, link["delivered_packets"]),
        "done": [],
        "windows": windows,
    }


def cuts(window: list) -> int:
    """Counts how often a window of more than two packets falls by more than 10 % from one sample to the next."""
    w = [c for _, c, _ in window if c == c]
    return sum(1 for a, b in zip(w, w[1:]) if b < 0.9 * a and a > 2)


def mean(window: list) -> float:
    w = [c for _, c, _ in window if c == c]
    return sum(w) / max(1, len(w))


def show(case: Case, verbose: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        a = ns2(case, Path(folder) / "trace")
    b = ours(case)
    for side in (a, b):
        side["goodput_total_kB"] = sum(side["goodput_kB"])
        side["cuts"] = sum(cuts(w) for w in side["windows"])
        side["window_mean"] = sum(mean(w) for w in side["windows"])
    keys = ("goodput_total_kB", "first_drop_s", "queue_mean", "queue_max", "drops", "timeouts", "retransmits", "cuts", "window_mean",
            "bytes_per_packet")
    print(f"{case.name:<30}" + "".join(f" {k} {a[k]:.6g}/{b[k]:.6g}" for k in keys), flush=True)
    if verbose:
        n = max(len(a["windows"][0]), len(b["windows"][0]))
        for i in range(0, min(n, verbose)):
            left = a["windows"][0][i] if i < len(a["windows"][0]) else ()
            right = b["windows"][0][i] if i < len(b["windows"][0]) else ()
            print("   ", *(f"{x:9.3f}" for x in left), " | ", *(f"{x:9.3f}" for x in right))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="cases whose name contains one of these; all by default")
    parser.add_argument("-v", "--verbose", type=int, default=0, metavar="ROWS", help="rows of both traces to print")
    args = parser.parse_args()
    for case in CASES:
        if not args.names or any(n in case.name for n in args.names):
            show(case, args.verbose)
    return 0


if __name__ == "__main__":
    sys.exit(main())
