"""The study as one command: run the cases, compare, draw, bind.

What it leaves in its folder:

    report.html          everything below for a reader
    scorecard.json       cells, claims and summary as data: what `-f json` prints
    runs.parquet         one row per run: case, seed, scenario hash and every measure
    figures/figN_*.svg   Figures 2 to 9, and .png beside each
    scenarios/*.json     the resolved scenario of each case, first seed
    provenance.json      machine, time, versions: the only file that differs between two equal runs
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from bloatlab.plots import save_figure
from bloatlab.results import write_json
from bloatlab.run import Result
from bloatlab.scenario import Scenario
from bloatlab.studies.cablelabs2012 import figures, page, terminal
from bloatlab.studies.cablelabs2012.build import SECONDS, build
from bloatlab.studies.cablelabs2012.claims import CLAIMS
from bloatlab.studies.cablelabs2012.compare import scorecard
from bloatlab.studies.cablelabs2012.experiments import Trial, plateau, tables, trials
from bloatlab.studies.cablelabs2012.measure import Measures, measure
from bloatlab.studies.claims import Checked, check_all
from bloatlab.studies.folder import file_name, provenance
from bloatlab.studies.registry import Options
from bloatlab.studies.scorecard import Scorecard
from bloatlab.sweep import Point, default_jobs, sweep, watch

QUICK_SECONDS = 60
QUICK_SEEDS = 2
QUICK_WARNING = (
    f"A quick look: {QUICK_SECONDS} s instead of {SECONDS} s and {QUICK_SEEDS} seeds. The published values are of "
    f"{SECONDS} s, so no agreement or difference here proves anything."
)

#: Seeds of an experiment without published values.
EXPERIMENT_SEEDS = 3

_Runs = dict[str, list[Measures]]


@dataclass(frozen=True)
class Reproduction:
    """The study reproduced: the scorecard, the claims, what was left where, and how long it took."""

    scorecard: Scorecard
    claims: Sequence[Checked]
    experiments: Mapping[str, Mapping[str, Sequence[Measures]]]
    folder: Path
    runs: int
    seconds: float

    @property
    def met(self) -> bool | None:
        """Whether the stated shares are reached; None for a quick look."""
        return self.scorecard.met

    @property
    def report(self) -> Path:
        """The HTML report."""
        return self.folder / "report.html"

    def as_data(self) -> dict[str, Any]:
        """The scorecard as JSON: `cells`, `claims` and a `summary`."""
        return self.scorecard.as_data() | {"claims": [claim.as_data() for claim in self.claims]}

    def print(self, console: Console) -> None:
        """Tables 3 to 8, claims and shares, for a person at a terminal."""
        terminal.show(self, console)


def reproduce(options: Options) -> Reproduction:
    """Run the cases (and the experiments asked for), compare, and write the folder `options.out`.

    Raises `KeyError` for an unknown experiment, before anything runs.
    """
    asked = {name: trials(name) for name in options.experiments}
    seeds = range(1, (QUICK_SEEDS if options.quick else options.seeds) + 1)
    begun = time.perf_counter()
    _console_head(options, len(seeds))

    drawn = _Drawn({c.key for c in figures.needed()})
    main = _run([*tables(), *plateau()], seeds, options, "tables and figures", drawn)
    extra_seeds = range(1, min(len(seeds), EXPERIMENT_SEEDS) + 1)
    extra = {name: _run(given, extra_seeds, options, name) for name, given in asked.items()}

    runs = main.measures
    card = scorecard({t.key: runs[t.key] for t in tables()}, proves_nothing=QUICK_WARNING if options.quick else "")
    count = sum(len(s) for r in (main, *extra.values()) for s in r.measures.values())
    done = Reproduction(
        card,
        check_all(CLAIMS, runs),
        {name: r.measures for name, r in extra.items()},
        options.out,
        count,
        time.perf_counter() - begun,
    )
    _write(done, main, list(extra.values()), drawn)
    return done


@dataclass(frozen=True)
class _Ran:
    """Measures by key in the order of seeds, and the scenario of each run."""

    measures: _Runs
    scenarios: dict[tuple[str, int], Scenario]


class _Drawn:
    """Keeps, of the first seed of the cases that figures draw, the series that they draw."""

    def __init__(self, keys: set[str]) -> None:
        self._keys = keys
        self.frames: dict[str, figures.Frames] = {}

    def look(self, key: str, seed: int, result: Result) -> None:
        if seed == 1 and key in self._keys:
            self.frames[key] = figures.keep(result)


def _run(given: Sequence[Trial], seeds: range, options: Options, what: str, drawn: _Drawn | None = None) -> _Ran:
    """Every trial with every seed. Long runs are spread over the workers as they come free."""
    trials_of = [(trial, trial.setup.with_(seconds=QUICK_SECONDS) if options.quick else trial.setup) for trial in given]
    points = [Point(trial.key, build(trial.case, seed, setup), seed) for seed in seeds for trial, setup in trials_of]

    def reduce(point: Point[str], result: Result) -> Measures:
        if drawn is not None:
            drawn.look(point.key, point.seed, result)
        return measure(result)

    values = sweep(points, reduce, jobs=options.jobs, watch=watch(what, options.console))
    measures: _Runs = {trial.key: [] for trial in given}
    for point, value in zip(points, values, strict=True):
        measures[point.key].append(value)
    return _Ran(measures, {(p.key, p.seed): p.scenario for p in points})


def _console_head(options: Options, seeds: int) -> None:
    jobs = options.jobs or default_jobs()
    options.console.print(f"[bold]cablelabs2012[/]  27 cases and 2 more, {seeds} seeds, {jobs} workers")
    if options.quick:
        options.console.print(f"[yellow]{QUICK_WARNING}[/]")


def _write(done: Reproduction, main: _Ran, extra: Sequence[_Ran], drawn: _Drawn) -> None:
    """The study's folder."""
    folder = done.folder
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    (folder / "scenarios").mkdir(exist_ok=True)
    write_json(folder / "scorecard.json", done.as_data())
    _frame([main, *extra]).write_parquet(folder / "runs.parquet", compression="zstd", statistics=False)
    for (key, seed), scenario in main.scenarios.items():
        if seed == 1:
            write_json(folder / "scenarios" / f"{file_name(key)}.json", scenario.data)
    drawings = figures.draw(drawn.frames)
    for drawing in drawings:
        save_figure(drawing.figure(), folder / "figures" / drawing.name)
    page.write_report(done, drawings)
    write_json(folder / "provenance.json", provenance(done.runs, done.seconds))


def _frame(ran: Sequence[_Ran]) -> pl.DataFrame:
    rows = [
        {"case": key, "seed": seed, "scenario_hash": r.scenarios[key, seed].hash} | measures
        for r in ran
        for key, seeds in r.measures.items()
        for seed, measures in enumerate(seeds, start=1)
    ]
    return pl.DataFrame(rows, infer_schema_length=None)
