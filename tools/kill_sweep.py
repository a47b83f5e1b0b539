"""Kills sweeps with SIGKILL at random times, resumes them, and compares their table with an undisturbed sweep's.

    .venv/bin/python tools/kill_sweep.py [--points 2000] [--kills 30] [--sweeps 1] [--jobs 2] [--seed 1]

With --sweeps 2, two commands share the store and are killed together. Each kill comes at a random time after the
commands have stored their first new run. --points must be a multiple of 5, because the grid has five rates. Exit code 1
if the tables differ in any byte, a stored run was lost, or the store does not contain exactly --points runs in the end.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bloatlab.sweep import Store

COMMAND = str(Path(sys.executable).with_name("bloatlab"))

SCENARIO = """
duration = "3s"
[link.up]
from = "home"
to = "net"
both_ways = true
rate = "5mbit"
queue.codel = {}
[app.file]
from = "home"
to = ["net"]
traffic.ftp = { flows = 2 }
[app.call]
from = "home"
to = ["net"]
traffic.voip = {}
"""

GRID = """
scenario = "scenario.toml"
seeds = {seeds}
[axes]
"link.up.rate" = ["1mbit", "2mbit", "5mbit", "10mbit", "20mbit"]
"""


def main() -> int:
    """Runs the test; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("points", 2000), ("kills", 30), ("sweeps", 1), ("jobs", 2), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=value)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bloatlab-kill-") as name:
        folder = Path(name)
        (folder / "scenario.toml").write_text(SCENARIO)
        grid = folder / "grid.toml"
        grid.write_text(GRID.format(seeds=given.points // 5))
        return disturbed(given, folder, grid)


def disturbed(given: argparse.Namespace, folder: Path, grid: Path) -> int:
    """Runs an undisturbed sweep, then disturbed ones, and compares the tables."""
    chance = random.Random(given.seed)  # noqa: S311
    store = folder / "store"
    whole, _ = finish(sweep(grid, folder / "other", folder / "whole.csv", given.jobs))
    rate = given.points / whole
    print(f"undisturbed: {given.points} runs in {whole:.1f} s", flush=True)
    before = 0
    for kill in range(given.kills):
        children = [sweep(grid, store, folder / f"{i}.csv", given.jobs) for i in range(given.sweeps)]
        # each kill waits for the first new run, and then for a random time short enough that work remains for the last
        # kills
        until(store, before + 1, children)
        time.sleep(chance.uniform(0.0, 0.8 * given.points / given.kills / rate))
        alive = sum(child.poll() is None for child in children)
        for child in children:
            child.send_signal(signal.SIGKILL)
            child.communicate()
        now = kept(store)
        print(f"kill {kill + 1}: {alive} processes, {now} runs kept", flush=True)
        if now < before:
            print(f"lost: {before} were kept before")
            return 1
        before = now
    children = [sweep(grid, store, folder / f"{i}.csv", given.jobs) for i in range(given.sweeps)]
    for child in children:
        print(finish(child)[1].strip())
    expected = (folder / "whole.csv").read_bytes()
    same = [(folder / f"{i}.csv").read_bytes() == expected for i in range(given.sweeps)]
    print(f"{given.kills} kills; tables of {len(expected)} bytes, byte for byte the undisturbed one: {same}")
    return 0 if all(same) and kept(store) == given.points else 1


def sweep(grid: Path, store: Path, table: Path, jobs: int) -> subprocess.Popen[str]:
    """Starts the command."""
    command = [COMMAND, "sweep", str(grid), "--store", str(store), "-o", str(table), "--jobs", str(jobs)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def finish(child: subprocess.Popen[str]) -> tuple[float, str]:
    """Waits for the command to end; returns how long that took, and its output."""
    begun = time.perf_counter()
    _, said = child.communicate()
    if child.returncode:
        raise SystemExit(said)
    return time.perf_counter() - begun, said


def until(store: Path, runs: int, children: list[subprocess.Popen[str]]) -> None:
    """Waits until the store contains at least this many runs, or a command has ended."""
    while kept(store) < runs and all(child.poll() is None for child in children):
        time.sleep(0.1)


def kept(store: Path) -> int:
    """Returns the number of runs in the store."""
    return sum(stock.runs for stock in Store(store).shelves())


if __name__ == "__main__":
    sys.exit(main())
