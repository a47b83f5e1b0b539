"""Measures scenarios on a Linux kernel, and writes the results in the format that `bloatlab validate` reads.

    .venv/bin/python tools/kernel/run.py KERNEL SCENARIOS.json -o measured.json [--seeds 2] [--only TEXT] [-j 2]
    bloatlab validate measured.json

KERNEL is a User-Mode Linux kernel (docs/validation.md, "A kernel of your own"). SCENARIOS.json has the format of the
reference files; its `metrics` are ignored. Every run boots the kernel, whose clock is virtual (see guest.py). Runs are
kept in a folder beside the output, here measured.runs. A kept run is not repeated unless its scenario has changed, so
the command can be interrupted and continued. Remove the folder after changing the kernel.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

GUEST = Path(__file__).resolve().with_name("guest.py")

#: The first process of the guest. It sees the files of the host.
INIT = """#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs tmp /run
mkdir -p /run/netns
python3 {guest} {spec} {out} > {log} 2>&1
python3 -c 'import ctypes; ctypes.CDLL(None).reboot(0x4321fedc)'
"""
BOOT = (
    "time-travel=inf-cpu",
    "mem=512M",
    "rootfstype=hostfs",
    "rootflags=/",
    "rw",
    "con=null",
    "con0=fd:0,fd:1",
    "quiet",
)

#: Minimum tolerance of a metric: a fraction of its value or an absolute amount, whichever is larger. The first row
#: whose text occurs in the metric's name applies. The references in the package have similar tolerances.
FLOORS: Sequence[tuple[str, float, float]] = (
    ("jain", 0.0, 0.005),
    ("goodput", 0.02, 0.002),
    ("Mbps", 0.03, 0.02),
    ("frac", 0.08, 0.0005),
    ("per_l", 0.08, 0.0005),
    ("retrans", 0.08, 5.0),
    ("drops", 0.08, 5.0),
    ("marks", 0.08, 5.0),
    ("pkts", 0.05, 1.0),
    ("qlen", 0.05, 1.0),
    ("_ms", 0.03, 0.12),
    ("_s", 0.08, 0.02),
    ("", 0.05, 0.0),
)


def main(argv: Sequence[str]) -> int:
    """Runs the command. Exit code 1 if a run failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernel", type=Path)
    parser.add_argument("scenarios", type=Path)
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=2, help="seeds 1 to N; they change starts and phases")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help="scenarios with TEXT in their name")
    parser.add_argument("-j", "--jobs", type=int, default=1)
    given = parser.parse_args(argv)
    scenarios: Mapping[str, Any] = json.loads(given.scenarios.read_text())
    chosen = {n: s for n, s in scenarios.items() if not given.only or any(text in n for text in given.only)}
    runs = given.out.resolve().with_suffix(".runs")
    runs.mkdir(parents=True, exist_ok=True)
    measured: dict[str, Any] = {}
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        work = {
            name: [pool.submit(run, given.kernel, runs, name, scenario, seed) for seed in range(1, given.seeds + 1)]
            for name, scenario in chosen.items()
        }
        for name, futures in work.items():
            found = [values for future in futures if (values := future.result()) is not None]
            failed += len(futures) - len(found)
            if found:
                measured[name] = {**chosen[name], "metrics": summary(found)}
                given.out.write_text(json.dumps(measured, indent=1) + "\n")
    return 1 if failed else 0


def run(kernel: Path, runs: Path, name: str, scenario: Mapping[str, Any], seed: int) -> dict[str, float | None] | None:
    """Measures one scenario with one seed, or returns an earlier command's values. Returns None if the run failed."""
    files = {part: runs / f"{name}.{seed}.{part}" for part in ("spec", "out", "log", "init")}
    spec = json.dumps({k: v for k, v in {**scenario, "name": name, "seed": seed}.items() if k != "metrics"})
    if not files["spec"].exists() or files["spec"].read_text() != spec:
        files["out"].unlink(missing_ok=True)
    if not files["out"].exists():
        files["spec"].write_text(spec)
        files["init"].write_text(
            INIT.format(guest=shlex.quote(str(GUEST)), **{k: shlex.quote(str(v)) for k, v in files.items()})
        )
        files["init"].chmod(0o755)
        begun = time.monotonic()
        done = subprocess.run(
            [kernel.resolve(), *BOOT, f"init={files['init']}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if not files["out"].exists():
            log = files["log"].read_text() if files["log"].exists() else done.stdout.decode(errors="replace")
            print(f"{name}, seed {seed}: failed: {log.strip()[-400:]}", file=sys.stderr, flush=True)
            return None
        print(f"{name}, seed {seed}: {time.monotonic() - begun:.0f} s", flush=True)
    values: dict[str, float | None] = json.loads(files["out"].read_text())
    return values


def summary(runs: Sequence[Mapping[str, float | None]]) -> dict[str, dict[str, float | int | str]]:
    """Reduces the runs of a scenario to the mean, the spread and the tolerance of each metric (METHOD.md)."""
    found: dict[str, dict[str, float | int | str]] = {}
    for metric in runs[0]:
        values = [value for values in runs if (value := values.get(metric)) is not None]
        if values:
            mean, spread = statistics.fmean(values), (max(values) - min(values)) / 2
            share, amount = next((share, amount) for part, share, amount in FLOORS if part in metric)
            tolerance = max(2 * spread, share * abs(mean), amount)
            found[metric] = {"value": mean, "tol": tolerance, "grade": "A", "spread": spread, "n": len(values)}
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
