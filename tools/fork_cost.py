"""Measures how much time and memory a fork of a simulation costs: the table in docs/driving.md."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import bloatlab

SCENARIO = Path(__file__).resolve().parents[1] / "examples" / "home-upload.toml"
NO_SERIES = {"record.apps": [], "record.links": []}

#: The measured cases, each with the values it sets in the scenario.
CASES = {
    "as it is": {},
    "bins of 100 ms": {"record.interval": "100ms"},
    "bins of 100 ms, no series": {"record.interval": "100ms", **NO_SERIES},
    "100 flows, no series": {"record.interval": "1s", "app.upload.traffic.ftp.flows": 100, **NO_SERIES},
}


def resident() -> int:
    """Returns this process's resident memory, in bytes."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])


def measure(case: str) -> str:
    """Returns the minimum time over 300 forks, and the mean memory per fork over 400 forks that are kept."""
    sim = bloatlab.open(SCENARIO, sets=CASES[case])
    sim.run_until(10)
    times: list[float] = []
    for _ in range(300):
        begun = time.perf_counter()
        sim.fork()
        times.append(time.perf_counter() - begun)
    before = resident()
    kept = [sim.fork() for _ in range(400)]
    grown = (resident() - before) / len(kept)
    return f"{case:<28} {min(times) * 1e6:6.0f} us {grown / 1e3:6.0f} kB"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(measure(sys.argv[1]))
    else:  # a process for each case, because freed memory would be reused
        for name in CASES:
            subprocess.run([sys.executable, __file__, name], check=True)
