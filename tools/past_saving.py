"""Measures the CPU time that a sweep saves by common pasts: the figures in docs/sweeps.md.

A common past is an initial segment shared by several runs; it is simulated once for all of them.

    .venv/bin/python tools/past_saving.py [GRID.toml]

The sweep is run alternately with and without common pasts, on one thread. The tables must be equal.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from bloatlab.scenario import Scenario
from bloatlab.sweep import gather, grid_file, pasts

GRID = Path(__file__).resolve().parents[1] / "examples" / "sweeps" / "falling-rate.toml"
#: The sweep is measured this number of times with common pasts, and as often without them. The minimum of each kind is
#: printed.
ROUNDS = 3

planned = pasts.planned


def none_planned(scenarios: Sequence[Scenario]) -> list[tuple[int, pasts.Past | None]]:
    """Returns all runs in their given order, each to be simulated from its own start, without a shared beginning.

    `measure` replaces `pasts.planned` with this function to time the sweep without common pasts.
    """
    return [(index, None) for index in range(len(scenarios))]


def measure(grid: Path, *, shared: bool) -> tuple[float, pl.DataFrame]:
    """Returns the CPU time of a sweep in s, and its table."""
    pasts.planned = planned if shared else none_planned
    points = grid_file.load(grid).grid.points()
    begun = time.process_time()
    frame = gather(points, grid_file.SUMMARY, jobs=1).frame()
    return time.process_time() - begun, frame


def main() -> None:
    """Prints the times."""
    grid = Path(sys.argv[1]) if len(sys.argv) > 1 else GRID
    times: dict[bool, list[float]] = {True: [], False: []}
    frames: list[pl.DataFrame] = []
    for shared in [True, False] * ROUNDS:
        seconds, frame = measure(grid, shared=shared)
        times[shared].append(seconds)
        frames.append(frame)
    if not all(frame.equals(frames[0]) for frame in frames):
        raise SystemExit("the tables differ")
    alone, together = min(times[False]), min(times[True])
    print(f"{grid.name}: {len(frames[0])} runs, {alone:.2f} s of CPU time alone, {together:.2f} s with common pasts")


if __name__ == "__main__":
    main()
