"""Measures the speed-up from a second worker, and the cost per run outside the core.

The results are in docs/cluster.md.

    .venv/bin/python tools/bench_cluster.py [--runs 1000] [--rounds 3]

All runs are of examples/home-upload.toml. The speed-up of two workers over one is measured twice: with runs of 8
simulated seconds, which take about 10 ms, and with runs of 400, which take about 50 ms. The cost is measured with runs
of 2 simulated seconds: the CPU time per run of a sweep, minus the CPU time of the core alone. One sweep uses one
thread, and another a local cluster of one worker; both write to a store. Each round measures the core and both sweeps,
and the cost is the median over the rounds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import bloatlab
from bloatlab import _core
from bloatlab.sweep import Executor, Point, Store, Threads, cluster, gather, grid_file

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Measures everything and prints the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    overhead(points("2s", given.runs), given.rounds)
    for duration, runs in (("8s", given.runs), ("400s", 2 * given.runs // 5)):
        speedup(points(duration, runs), duration, given.rounds)
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def points(duration: str, runs: int) -> list[Point[int]]:
    """Returns `runs` points of home-upload with this duration and different seeds."""
    model = bloatlab.load(ROOT / "examples" / "home-upload.toml", [("duration", duration)])
    return [Point(seed, model.with_sets(("seed", str(seed))), seed) for seed in range(1, runs + 1)]


def overhead(of: Sequence[Point[int]], rounds: int) -> None:
    """Prints the core's CPU time per run, and the CPU time per run that a sweep adds to it.

    The added time is measured for a sweep with one thread and for a sweep with one Dask worker.
    """
    alone, threads, dask = [], [], []
    with cluster.connected("local", 1, print) as executor:
        gather(of[:50], grid_file.SUMMARY, executor=executor)
        for _ in range(rounds):
            begun = time.process_time()
            for point in of:
                _core.run(point.scenario.text, None, lambda _: None, None, None)
            alone.append(time.process_time() - begun)
            begun = time.process_time()
            measured(of, Threads(1))
            threads.append(time.process_time() - begun)
            begun, theirs = time.process_time(), worker_seconds(executor.client)
            measured(of, executor)
            dask.append(time.process_time() - begun + worker_seconds(executor.client) - theirs)
    core = statistics.median(alone) / len(of)
    print(
        f"core alone: {core * 1e3:.2f} ms of CPU per run of 2 s of home-upload, median of {rounds} rounds of {len(of)}"
    )
    for name, took in (
        ("sweep by a thread, stored", threads),
        ("by one Dask worker, scheduler and store included", dask),
    ):
        more = statistics.median(of_round - bare for of_round, bare in zip(took, alone, strict=True)) / len(of)
        print(f"  {name}: {more * 1e3:.2f} ms more")


def measured(of: Sequence[Point[int]], executor: Executor) -> float:
    """Returns the wall time, in s, of a sweep that runs all points and writes to a new store."""
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        gather(of, grid_file.SUMMARY, store=Store(Path(folder)), executor=executor)
        return time.perf_counter() - begun


def worker_seconds(client: Any) -> float:
    """Returns the CPU seconds used by all workers so far."""
    used: Callable[[], float] = time.process_time
    return sum(client.run(used).values())


def speedup(of: Sequence[Point[int]], duration: str, rounds: int) -> None:
    """Prints the wall time with one worker divided by the wall time with two."""
    took: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(rounds):
        for workers, times in took.items():
            with cluster.connected("local", workers, print) as executor:
                gather(of[: 20 * workers], grid_file.SUMMARY, executor=executor)
                times.append(measured(of, executor))
    one, two = min(took[1]), min(took[2])
    print(f"{len(of)} runs of {duration} ({one / len(of) * 1e3:.0f} ms each): two workers {one / two:.2f} times one")


if __name__ == "__main__":
    main()
