"""Measures the store with 100 000 runs: writing, opening, SQL, `store gc`. Prints a table for docs/store.md.

    .venv/bin/python tools/bench_store.py [--runs 100000]

Only three runs of home-upload are simulated: with drop-tail, CoDel and fq_codel. The store is filled with copies of
them. Each copy has a seed of its own, and every floating-point number is changed slightly, so the store is as large as
if all runs had been simulated.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import bloatlab
from bloatlab.query import Views
from bloatlab.scenario import Scenario
from bloatlab.sweep import Measured, Store, fingerprint, grid_file
from bloatlab.sweep.store import Shelf

ROOT = Path(__file__).resolve().parents[1]
T = TypeVar("T")


def main() -> None:
    """Measures everything and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory(prefix="bloatlab-bench-", dir=os.environ.get("TMPDIR")) as folder:
        store = Store(Path(folder))
        scenarios = timed(f"put {runs} runs", lambda: put(store, runs))
        shelf = timed("open: find any run", lambda: found(store, scenarios[runs // 2]))
        timed("read all", lambda: [shelf.get(scenario) for scenario in scenarios])
        command = str(Path(sys.executable).with_name("bloatlab"))
        aggregate = 'SELECT seed % 3 AS arm, median("apps.call.voip.mos") AS mos, count(*) FROM summaries GROUP BY 1'
        with Views(store, fingerprint.core()) as db:
            timed("an aggregate in SQL", lambda: db.query(aggregate))
        timed(
            "bloatlab query, the same with the start of the program",
            lambda: call(command, "query", aggregate, "--store", folder),
        )
        timed("bloatlab store", lambda: call(command, "store", "--store", folder))
        stale(store)
        timed(
            f"bloatlab store gc, {runs} runs of another core", lambda: call(command, "store", "gc", "--store", folder)
        )
        files = [path for path in Path(folder).rglob("*") if path.is_file()]
        print(f"{len(files)} files, {sum(path.stat().st_size for path in files) / runs:.0f} bytes per run")
        print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def timed(what: str, do: Callable[[], T]) -> T:
    """Calls `do`, prints how long it took, and returns its result."""
    wall, cpu = time.perf_counter(), processor()
    value = do()
    print(f"{what:55} {time.perf_counter() - wall:8.2f} s, {processor() - cpu:7.2f} s of CPU", flush=True)
    return value


def processor() -> float:
    """Returns the CPU seconds used by this process and the commands it has run."""
    mine, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return mine.ru_utime + mine.ru_stime + others.ru_utime + others.ru_stime


def put(store: Store, runs: int) -> list[Scenario]:
    """Writes the runs to the store as a sweep does; returns their scenarios."""
    queues = ('{ droptail = { limit = "100p" } }', "{ codel = {} }", "{ fq_codel = {} }")
    sets = [[("duration", "10s"), ("link.up.queue", queue)] for queue in queues]
    models = [bloatlab.load(ROOT / "examples" / "home-upload.toml", of) for of in sets]
    rows = [grid_file.SUMMARY(bloatlab.run(model)).row for model in models]
    shelf = grid_file.SUMMARY.shelf(store)
    scenarios: list[Scenario] = []
    for seed in range(1, runs + 1):
        model = seed % len(models)
        scenario = models[model].with_sets(("seed", str(seed)))
        row = {k: v * (1 + seed * 1e-7) if isinstance(v, float) else v for k, v in rows[model].items()}
        shelf.put(scenario, Measured(row))
        scenarios.append(scenario)
    shelf.close()
    return scenarios


def found(store: Store, scenario: Scenario) -> Shelf:
    """Opens the shelf of the store that holds summaries, and returns it if it contains this scenario's run.

    Exits with an error if the run is missing.
    """
    shelf = grid_file.SUMMARY.shelf(store)
    if shelf.get(scenario) is None:
        raise SystemExit("a run that was put is not found")
    return shelf


def stale(store: Store) -> None:
    """Copies the runs into the folder of a core version that does not exist, so that `store gc` has runs to remove."""
    core = store.folder / fingerprint.core()[:16]
    subprocess.run(["cp", "-r", core, store.folder / ("0" * 16)], check=True)


def call(*command: str) -> None:
    """Runs a command and passes its output through."""
    subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
