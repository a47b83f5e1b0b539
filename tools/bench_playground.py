#!/usr/bin/env python3
"""Compares WebAssembly with the native core: CPU time of the same scenarios in Node and in the Python package.

    bench_playground.py [--runs N] [--check]

web/bench/s1.toml and s2.toml are S1 and S2 of benches/speed with 10 flows. web/bench/household.toml is like a run made
by the page when a slider moves: five uploads and a call for 60 s, with the charts. Native and WebAssembly runs
alternate, so that other load affects both. The table shows CPU times in ms: the lower quartile of the native runs, that
of the WebAssembly runs, and that of the first runs in a fresh module, in which Node also compiles the module.

The limits of --check are 2.5 times native on S1 and S2, and 150 ms for the household. Exit code with --check: 1 if a
limit is exceeded, 2 if a program or file is missing. Without it, 0.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

from bloatlab import _core

ROOT = Path(__file__).resolve().parent.parent
WASM = ROOT / "target/wasm32-unknown-unknown/web/bloatlab_web.wasm"
MOST_RATIO, MOST_MS = 2.5, 150.0
ROUNDS = 5


def native(text: str, runs: int) -> list[float]:
    """Returns the CPU times of runs in this process, in ms."""
    resolved = _core.resolve(text)
    found: list[float] = []
    for _ in range(runs):
        before = time.process_time()
        _core.run(resolved)
        found.append(1e3 * (time.process_time() - before))
    return found


def webassembly(text: str, runs: int) -> tuple[float, float]:
    """Returns the CPU time of a fresh module's first run, and the lower quartile of its later runs' times, in ms."""
    command = ["node", str(ROOT / "web/tools/bench.mjs"), str(WASM), str(runs)]
    done = json.loads(subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout)
    return done["first"], done["quartile"]


def quartile(times: list[float]) -> float:
    """Returns the lower quartile."""
    return sorted(times)[(len(times) - 1) // 4]


def main() -> int:
    """Measures, prints the table, and with --check compares it with the limits."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=8, help="runs of each in a round")
    parser.add_argument("--check", action="store_true", help="fail if a limit is exceeded")
    options = parser.parse_args()
    if shutil.which("node") is None or not WASM.is_file():
        print("bench: no Node, or the simulator is not built for WebAssembly: make playground", file=sys.stderr)
        return 2 if options.check else 0
    print(f"{'scenario':<12}{'native ms':>10}{'wasm ms':>9}{'ratio':>7}{'first ms':>10}")
    passed = True
    for name in ("s1", "s2", "household"):
        text = (ROOT / "web/bench" / f"{name}.toml").read_text(encoding="utf-8")
        here: list[float] = []
        there: list[float] = []
        first: list[float] = []
        for _ in range(ROUNDS):
            here += native(text, options.runs)
            cold, warm = webassembly(text, options.runs)
            first.append(cold)
            there.append(warm)
        ours, theirs = quartile(here), quartile(there)
        print(f"{name:<12}{ours:>10.1f}{theirs:>9.1f}{theirs / ours:>7.2f}{quartile(first):>10.1f}")
        passed &= theirs <= MOST_RATIO * ours if name != "household" else theirs <= MOST_MS
    return 0 if passed or not options.check else 1


if __name__ == "__main__":
    sys.exit(main())
