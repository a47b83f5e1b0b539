"""Kills Dask workers with SIGKILL every few seconds during a sweep, and compares its table with an undisturbed sweep's.

    .venv/bin/python tools/kill_workers.py [--points 2000] [--every 3] [--workers 2] [--seed 1]

The cluster is the same as with `--dask local`: Dask's LocalCluster with single-threaded worker processes, which nannies
restart. About every `--every` seconds, a random busy worker is killed. At least one run is stored between two
kills, because on a busy machine a process may need longer than `--every` to start. Exit code 1 if the two tables differ
in any byte, or if no worker was killed.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bloatlab.sweep import cluster
from kill_sweep import COMMAND, GRID, SCENARIO, finish, kept

LOOK_SECONDS = 0.05


def main() -> int:
    """Runs an undisturbed and a disturbed sweep and compares them; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("points", 2000), ("workers", 2), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--every", type=float, default=3.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bloatlab-kill-") as name:
        folder = Path(name)
        (folder / "scenario.toml").write_text(SCENARIO)
        (folder / "grid.toml").write_text(GRID.format(seeds=given.points // 5))
        took, _ = finish(sweep(folder, "whole", "--jobs", str(given.workers)))
        print(f"one machine: {given.points} runs in {took:.1f} s", flush=True)
        with cluster.connected("local", given.workers, print) as executor:
            begun = time.perf_counter()
            child = sweep(folder, "disturbed", "--dask", executor.client.scheduler.address)
            chance = random.Random(given.seed)  # noqa: S311
            kills = disturb(child, executor.client, folder / "disturbed", given.every, chance)
            _, said = finish(child)
            took = time.perf_counter() - begun
        print(said.strip())
        expected, found = ((folder / name).read_bytes() for name in ("whole.csv", "disturbed.csv"))
        print(f"{given.workers} workers: {given.points} runs in {took:.1f} s, {kills} workers killed; "
              f"table of {len(found)} bytes, byte for byte that of one machine: {found == expected}")  # fmt: skip
        return 0 if kills and found == expected else 1


def sweep(folder: Path, name: str, *more: str) -> subprocess.Popen[str]:
    """Starts the sweep called `name`, with a store and a table of its own."""
    where = ["--store", str(folder / name), "-o", str(folder / f"{name}.csv")]
    command = [COMMAND, "sweep", str(folder / "grid.toml"), *where, *more]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def disturb(child: subprocess.Popen[str], client: Any, store: Path, every: float, chance: random.Random) -> int:
    """Kills workers until the command has ended; returns the number of kills."""
    kills, before, due = 0, 0, time.monotonic() + every
    while child.poll() is None:
        time.sleep(LOOK_SECONDS)
        if time.monotonic() < due or (now := kept(store)) <= before:
            continue
        busy = sorted(address for address, tasks in client.processing().items() if tasks)
        if busy and kill(client, chance.choice(busy)):
            kills, before, due = kills + 1, now, time.monotonic() + every * chance.uniform(0.5, 1.5)
            print(f"kill {kills}, {now} runs kept", flush=True)
    return kills


def kill(client: Any, address: str) -> bool:
    """Kills the worker at this address with SIGKILL; returns false if no worker has this address."""
    pids = [nanny.pid for nanny in client.cluster.workers.values() if nanny.worker_address == address and nanny.pid]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    return bool(pids)


if __name__ == "__main__":
    sys.exit(main())
