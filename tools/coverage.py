"""Counts how often a 95 % interval contains the true value, for a queue whose mean wait is known.

    tools/coverage.py                      500 repetitions of 10 seeds: about two minutes on two cores
    tools/coverage.py -n 40 --seeds 10     fewer
    tools/coverage.py --first 5001         with different seeds

The queue is M/D/1: datagrams of one size arrive as a Poisson process and leave at a constant rate. With load rho and
service time s the mean wait is W = rho s / (2 (1 - rho)) (Pollaczek and Khinchine): 0.5 ms at rho = 0.5 and s = 1 ms. A
repetition is a sweep with its own seeds. It checks whether the interval for the mean of `sojourn_ms.mean` contains W.
The 95 % sampling error of the coverage of N repetitions is 1.96 sqrt(0.95 0.05 / N): 1.9 % for 500. Exit code 1 if the
coverage of Student's t is not within 93 to 97 %.
"""

from __future__ import annotations

import argparse
import sys

import polars as pl

from bloatlab.scenario import Scenario, parse
from bloatlab.simulation import Result
from bloatlab.sweep import Grid, Measure, gather
from bloatlab.sweep.over_seeds import intervals

RHO, SERVICE_MS = 0.5, 1.0
WAIT_MS = RHO * SERVICE_MS / (2.0 * (1.0 - RHO))

#: A 1500-byte datagram takes 1 ms to send. The queue's relaxation time is s / (rho - 1 - ln rho) = 5.2 ms, a small
#: fraction of the warm-up.
QUEUE = f"""
duration = "11s"
record.warm_up = "1s"
link.up = {{ from = "a", to = "b", rate = "12mbit", delay = "0ms", queue.droptail = {{ limit = "100000p" }} }}
link.down = {{ from = "b", to = "a", rate = "12mbit", delay = "0ms" }}
[app.poisson]
from = "a"
to = ["b"]
traffic.cbr = {{ rate = "{12 * RHO}mbit", size = 1500, arrivals = "poisson" }}
"""


def repetitions(count: int, seeds: int, first: int) -> pl.DataFrame:
    """Runs `count` sweeps of `seeds` runs, starting at seed `first`.

    Returns one row per sweep, with two intervals: by Student's t and by the bootstrap.
    """

    def build(rho: float, seed: int) -> Scenario:  # noqa: ARG001
        return parse(QUEUE, sets=[("seed", str(seed))])

    def wait(result: Result) -> dict[str, float]:
        return {"wait_ms": result.summary["links"]["up"]["sojourn_ms"]["mean"]}

    grid = Grid({"rho": [RHO]}, build, range(first, first + count * seeds))
    frame = gather(grid.points(), Measure("wait", wait)).frame()
    frame = frame.with_columns(((pl.col("seed") - first) // seeds).alias("repetition"))
    return intervals(frame, ["repetition"], ["wait_ms"])


def covered(of: pl.DataFrame, method: str) -> int:
    """Counts the intervals by `method` that contain the true value."""
    return of.filter((pl.col(f"{method}_low") <= WAIT_MS) & (pl.col(f"{method}_high") >= WAIT_MS)).height


def main() -> int:
    """Prints how often each of the two intervals contains the true value; returns the exit code."""
    parser = argparse.ArgumentParser(description="Coverage of 95 % intervals on M/D/1.")
    parser.add_argument("-n", "--repetitions", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    given = parser.parse_args()
    of = repetitions(given.repetitions, given.seeds, given.first)
    print(f"mean wait {of['mean'].mean():.5f} ms, of M/D/1 {WAIT_MS} ms")
    for method in ("t", "bootstrap"):
        held = covered(of, method)
        print(f"{method}: {held} of {of.height} contain it, {100.0 * held / of.height:.1f} %")
    return 0 if 0.93 <= covered(of, "t") / of.height <= 0.97 else 1


if __name__ == "__main__":
    sys.exit(main())
