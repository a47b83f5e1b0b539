#!/usr/bin/env python3
"""Measures the time until a plot, or a report in Chromium, is visible. Prints a table for docs/speed.md.

    .venv/bin/python tools/bench_sight.py [STUDY...] [--rounds 5]

STUDY is a folder that `bloatlab reproduce` wrote; the default is runs/cablelabs2012. A plot is timed in CPU seconds in
two ways: in a Python process that has drawn before, as in a notebook, and as a command, which first loads Python,
polars and matplotlib. A page is timed in wall-clock seconds, in a running Chromium, from its opening to the first chart
that responds to the pointer. The table shows the median over rounds. Exit code 2 if Chromium or a study is missing.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import bloatlab
from bloatlab.plots.kinds import NAMES

ROOT = Path(__file__).resolve().parents[1]
#: Kinds of plots that need no capture and no sweep.
KINDS = [name for name in NAMES if name not in {"sequence", "lines", "heatmap", "pareto"}]


def main() -> int:
    """Measures everything and prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("studies", nargs="*", type=Path, default=[ROOT / "runs/cablelabs2012"])
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    missing = [str(study) for study in asked.studies if not (study / "report.html").is_file()]
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if missing or not chromium:
        print(f"missing: {', '.join(missing) or 'chromium'}", file=sys.stderr)
        return 2
    print(f"{'CPU seconds, median of ' + str(asked.rounds):44}{'plot':>8}{'command':>9}")
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        bloatlab.save(bloatlab.run(ROOT / "examples/home-upload.toml"), run)
        for subject, kind in [*((run, kind) for kind in KINDS), *((study, None) for study in asked.studies)]:
            called, commanded = plot_of(subject, kind, Path(folder), asked.rounds)
            print(f"{subject.name + ', ' + (kind or 'lines'):44}{called:8.2f}{commanded:9.2f}", flush=True)
    print(f"\n{'':44}{'chart, s':>8}{'MB':>9}")
    for study in asked.studies:
        page = study / "report.html"
        chart = page_of(page, chromium, asked.rounds)
        print(f"{study.name + ', report.html':44}{chart:8.2f}{page.stat().st_size / 1e6:9.2f}", flush=True)
    return 0


def plot_of(subject: Path, kind: str | None, folder: Path, rounds: int) -> tuple[float, float]:
    """Returns the median CPU seconds for a plot by the function `bloatlab.plot`, and by the command `bloatlab plot`."""
    file = folder / "plot.svg"
    words = [str(Path(sys.executable).with_name("bloatlab")), "plot", str(subject), "-o", str(file)]
    words += ["--kind", kind] if kind else []
    bloatlab.plot(subject, kind=kind, output=file)
    called = timed(lambda: bloatlab.plot(subject, kind=kind, output=file), rounds)
    return called, timed(lambda: subprocess.run(words, check=True, capture_output=True), rounds)


def page_of(page: Path, chromium: str, rounds: int) -> float:
    """Returns the median number of seconds from opening a page to its first chart."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 (installed only with the developer's tools)

    charts: list[float] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for _ in range(rounds):
            tab = browser.new_page()
            begun = time.perf_counter()
            tab.goto(page.resolve().as_uri(), wait_until="commit")
            tab.wait_for_selector(".uplot canvas")
            charts.append(time.perf_counter() - begun)
            tab.close()
        browser.close()
    return median(charts)


def timed(do: Callable[[], object], rounds: int) -> float:
    """Returns the median CPU seconds of `do`, including the processes it starts."""
    times: list[float] = []
    for _ in range(rounds):
        begun = cpu()
        do()
        times.append(cpu() - begun)
    return median(times)


def cpu() -> float:
    """Returns the CPU seconds used by this process and its finished children."""
    return sum(os.times()[:4])


if __name__ == "__main__":
    sys.exit(main())
