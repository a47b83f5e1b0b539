"""The study as one command: run the queues, judge the orderings, draw, bind.

report.html  scorecard.json  runs.parquet  figures/  scenarios/  provenance.json
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from rich.console import Console

from bloatlab.plots import save_figure
from bloatlab.report import Block, Page, Prose, Section, TableBlock, write
from bloatlab.results import write_json, write_table
from bloatlab.scenario import Scenario, version
from bloatlab.studies import layout as shared
from bloatlab.studies.claims import Runs
from bloatlab.studies.folder import file_name, provenance
from bloatlab.studies.mmcn1999 import layout
from bloatlab.studies.mmcn1999.build import (
    EXPERIMENTS,
    Case,
    build,
    experiment_cases,
    main_cases,
    names,
    second_reading,
    sensitivity_cases,
)
from bloatlab.studies.mmcn1999.compare import findings, medians, scorecard
from bloatlab.studies.mmcn1999.measure import measure, series
from bloatlab.studies.mmcn1999.small import Small, build_small, measure_small, series_small, small_cases
from bloatlab.studies.page import Drawn, facts, figure_block
from bloatlab.studies.registry import Options
from bloatlab.studies.reproduced import Reproduced
from bloatlab.studies.terminal import last_words
from bloatlab.sweep import At, Gathered, Grid, Measure, default_jobs, gather, watch
from bloatlab.tables import TextTable
from bloatlab.terminal import show

QUICK_SEEDS = 2
QUICK_WARNING = "A quick look: two seeds. The orderings are asked of ten, so this proves nothing."
#: Seeds of what is reported and not gated.
SENSITIVITY_SEEDS = 2

MEASURED = Measure("mmcn1999", measure, series)
SMALL = Measure("mmcn1999-small", measure_small, series_small)


@dataclass(frozen=True, kw_only=True)
class Reproduction(Reproduced):
    """The study reproduced."""

    runs_by_key: Runs
    experiments: Mapping[str, Sequence[str]]

    def as_data(self) -> dict[str, Any]:
        """The scorecard as JSON, and the medians of every case."""
        return super().as_data() | {"medians": medians(self.runs_by_key)}

    def print(self, console: Console) -> None:
        """The tables, for a person at a terminal."""
        card = self.scorecard
        for table in [
            *tables(self),
            layout.gates_table(card),
            layout.rows_table(card),
            shared.claims_table(self.claims),
        ]:
            show(table, console)
            console.print()
        last_words(self.scorecard, self.claims, self.runs, self.seconds, self.report, console, self.found)


def tables(done: Reproduction) -> list[TextTable]:
    """The queues, the sensitivity, and the experiments that were asked for."""
    runs = done.runs_by_key
    found = [
        layout.schemes_table(runs),
        layout.state_table(runs),
        layout.small_table(runs),
        layout.cases_table("Sensitivity", runs, names(sensitivity_cases()), note=_NOTE),
    ]
    return found + [
        layout.cases_table(EXPERIMENTS[name], runs, keys, voice=name == "classes")
        for name, keys in done.experiments.items()
    ]


_NOTE = f"Two things at once are never changed. {SENSITIVITY_SEEDS} seeds."


def reproduce(options: Options) -> Reproduction:
    """Run, judge and write the folder `options.out`. Raises `KeyError` for an unknown experiment, before anything runs."""
    asked = {name: experiment_cases(name) for name in options.experiments if name != "sensitivity"}
    seeds = range(1, (QUICK_SEEDS if options.quick else options.seeds) + 1)
    few = range(1, min(len(seeds), SENSITIVITY_SEEDS) + 1)
    begun = time.perf_counter()
    options.console.print(f"[bold]mmcn1999[/]  9 queues, {len(seeds)} seeds, {options.jobs or default_jobs()} workers")
    small = _run_small(seeds, options)
    ran = [
        _run([*main_cases(), *second_reading()], seeds, options, "nine queues"),
        _run(sensitivity_cases(), few, options, "sensitivity"),
        small,
        *(_run(cases, few, options, name) for name, cases in asked.items()),
    ]
    runs = {str(at["case"]): [dict(row) for row in rows] for r in ran for at, rows in r.rows().items()}
    card = scorecard(runs, len(seeds), proves_nothing=QUICK_WARNING if options.quick else "")
    done = Reproduction(
        scorecard=card,
        claims=findings(runs),
        runs_by_key=runs,
        experiments={name: names(cases) for name, cases in asked.items()},
        folder=options.out,
        runs=sum(len(r.points) for r in ran),
        found=sum(r.found for r in ran),
        seconds=time.perf_counter() - begun,
    )
    _write(done, ran, small)
    return done


def _run_small(seeds: range, options: Options) -> Gathered[At]:
    def scenario(case: Small, seed: int) -> Scenario:
        return build_small(case, seed)

    points = Grid({"case": small_cases()}, scenario, seeds).points()
    return gather(points, SMALL, store=options.store, jobs=options.jobs, watch=watch("small networks", options.console))


def _run(cases: Sequence[Case], seeds: range, options: Options, what: str) -> Gathered[At]:
    def scenario(case: Case, seed: int) -> Scenario:
        return build(case, seed)

    points = Grid({"case": cases}, scenario, seeds).points()
    return gather(points, MEASURED, store=options.store, jobs=options.jobs, watch=watch(what, options.console))


def _write(done: Reproduction, ran: Sequence[Gathered[At]], small: Gathered[At]) -> None:
    folder = done.folder
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    (folder / "scenarios").mkdir(exist_ok=True)
    write_json(folder / "scorecard.json", done.as_data())
    write_table(pl.concat([r.frame() for r in ran], how="diagonal_relaxed"), folder / "runs.parquet")
    frames = {}
    for point, value in zip(ran[0].points, ran[0].values, strict=True):
        if point.seed == 1:
            key = str(point.key["case"])
            write_json(folder / "scenarios" / f"{file_name(key)}.json", point.scenario.data)
            frames[key] = value.frames["tcp"]
    kept = zip(small.points, small.values, strict=True)
    two_ftp = {str(point.key["case"]): value.frames for point, value in kept if value.frames}
    drawings = layout.draw(frames, two_ftp, done.runs_by_key)
    for drawing in drawings:
        save_figure(drawing.figure(), folder / "figures" / drawing.name)
    write(_page(done, drawings), done.report)
    write_json(folder / "provenance.json", provenance(done.runs, done.seconds, done.found))


def _page(done: Reproduction, drawings: Sequence[Drawn]) -> Page:
    card = done.scorecard
    queues, state, small, sensitivity, *experiments = [TableBlock(t) for t in tables(done)]
    claims = TableBlock(shared.claims_table(done.claims))
    beyond: list[Block] = [small, sensitivity, *experiments]
    return Page(
        title="Class-based thresholds against unresponsive traffic",
        subtitle="Parris, Jeffay and Smith’s lightweight queue management of January 1999, rebuilt packet by packet",
        sections=[
            Section("Nine queues", "queues", [queues, TableBlock(layout.gates_table(card)), state], _QUEUES),
            Section("Figures", "figures", [figure_block(d) for d in drawings]),
            Section("Claims", "claims", [claims], _CLAIMS),
            Section("The slides", "slides", [TableBlock(layout.rows_table(card)), Prose([_RULES])]),
            Section("What it depends on", "beyond", beyond),
        ],
        lead=[_LEAD],
        facts=facts(card, done.claims, done.runs),
        warning=card.proves_nothing,
        footer=[f"bloatlab {version()}. {done.runs} runs. Written by: bloatlab reproduce mmcn1999"],
    )


_LEAD = (
    "Thirty TCP transfers and six video conferences share a link of 10 Mbit/s with a blast of 10 Mbit/s that does not "
    "respond. One queue with accounts per class (CBT) is to protect TCP from the blast and the conferences from both, with "
    "less state than accounts per flow (FRED) or queues per class (CBQ)."
)
_QUEUES = "The slides’ five queues, the class thresholds that follow active flows (D-CBT), and what one would use today with its defaults."
_CLAIMS = (
    "The sentences of the slides, and below them what is expected from memory or by arithmetic, which is not counted."
)
_RULES = "Chart numbers of the slides were recovered by a machine: three tables of one figure disagree, and an axis is labelled kbps for kB/s."
