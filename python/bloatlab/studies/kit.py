"""What every study does in the same way: run its cases, leave its folder, compose its page, print its tables.

A study brings its cases, its measures, its rules, its answer and its own tables; the rest is here.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict

import polars as pl
from rich.markup import escape
from rich.text import Text

from bloatlab.plots import save_figure
from bloatlab.report import Answer, Block, Drawn, Page, Prose, Provenance, Section, TableBlock, figure_block, write
from bloatlab.results import write_json, write_table
from bloatlab.scenario import Scenario, version
from bloatlab.studies.claims import Checked, count
from bloatlab.studies.folder import file_name, provenance
from bloatlab.studies.layout import SHARES, claims_table, facts, misses, reached_table, seeds, shares_table, unjudged
from bloatlab.studies.registry import PUBLICATIONS, Options
from bloatlab.studies.scorecard import Origin, Scorecard
from bloatlab.sweep import At, Gathered, Grid, Measure, Point, gather, watch
from bloatlab.tables import TextTable, counted
from bloatlab.terminal import Console, show, wrapped

REPORT = "report.html"

#: The widest line of the closing summary.
WIDTH = 80


@dataclass(frozen=True, slots=True)
class About:
    """What a study's page says before its tables: the heading, a line below it, and the set-up in a paragraph."""

    heading: str
    subtitle: str
    lead: str
    #: How it was run, after `bloatlab reproduce NAME`.
    flags: str = ""


@dataclass(frozen=True, kw_only=True)
class Reproduced(ABC):
    """A study reproduced: what it says, where it is, how many runs it took (`found` of them in the store), how long."""

    scorecard: Scorecard
    claims: Sequence[Checked]
    folder: Path
    runs: int
    found: int
    seconds: float

    @property
    def met(self) -> bool | None:
        """Whether the stated shares are reached; None for a quick look."""
        return self.scorecard.met

    @property
    def report(self) -> Path:
        """The HTML report."""
        return self.folder / REPORT

    def as_data(self) -> dict[str, Any]:
        """The scorecard as JSON: `cells`, `claims` and a `summary`."""
        data = self.scorecard.as_data()
        data["summary"]["claims"] = {str(origin): count(self.claims, origin).as_data() for origin in Origin}
        return data | {"claims": [claim.as_data() for claim in self.claims]}

    @abstractmethod
    def tables(self) -> Sequence[TextTable]:
        """The study's own tables, as a terminal shows them."""

    @abstractmethod
    def answer(self) -> Answer:
        """What the study found, computed from its runs."""

    def print(self, console: Console, *, full: bool = False) -> None:
        """What was reached, what was not, the answer and the report, in about 20 lines of at most 80 columns.

        `full` puts every table before it: the study's own, the claims, and the shares of every table and metric.
        """
        if full:
            claims = [claims_table(self.claims)] if self.claims else []
            shares = [shares_table(self.scorecard)] if self.scorecard.shares else []
            for table in (*self.tables(), *claims, *shares):
                show(table, console)
                console.print()
        width = min(console.width, WIDTH)
        stored = f" ({self.found} of them from the store)" if self.found else ""
        _say(console, f"{counted(self.runs, 'run')}{stored} in {self.seconds:.1f} s", width)
        if self.scorecard.proves_nothing:
            _say(console, self.scorecard.proves_nothing, width)
        else:
            console.print()
            show(reached_table(self.scorecard, self.claims), console)
            for line in misses(self.scorecard, self.claims):
                _say(console, line, width)
        console.print()
        answer = self.answer()
        _say(console, answer.question, width, style="bold")
        _say(console, answer.sentence, width)
        tables = "" if full else "; every table here: --full"
        console.print(f"Report: [bold]{escape(str(self.report))}[/]{tables}", soft_wrap=True, highlight=False)


def _say(console: Console, text: str, width: int, style: str = "") -> None:
    """Print a paragraph in lines of at most `width` characters."""
    for line in wrapped(text, width):
        console.print(Text(line.rstrip(), style=style), soft_wrap=True)


class Taken(TypedDict):
    """What a reproduction took, as `Reproduced` has it."""

    folder: Path
    runs: int
    found: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Begun:
    """A reproduction under way: its seeds, and what a quick look proves (nothing; empty for a full one)."""

    options: Options
    seeds: range
    proves_nothing: str
    since: float

    def few(self, most: int) -> range:
        """The seeds of what is reported and not gated."""
        return range(1, min(len(self.seeds), most) + 1)

    def taken(self, *ran: Gathered[Any]) -> Taken:
        """What all these runs took, until now."""
        return {
            "folder": self.options.out,
            "runs": sum(len(r.points) for r in ran),
            "found": sum(r.found for r in ran),
            "seconds": time.perf_counter() - self.since,
        }


def begin(options: Options, study: str, what: str, quick_seeds: int, quick_warning: str) -> Begun:
    """Say what is to be run ("41 cases") with how many seeds, and the warning of a quick look."""
    seeds = range(1, (quick_seeds if options.quick else options.seeds) + 1)
    said = f"[bold]{study}[/]  {what}, {counted(len(seeds), 'seed')}, {options.workers}"
    options.console.print(said, highlight=False)
    warning = " ".join([*([quick_warning] if options.quick else []), *_changed(options)])
    if warning:
        options.console.print(warning, style="yellow", markup=False)
    return Begun(options, seeds, warning, time.perf_counter())


def _changed(options: Options) -> list[str]:
    """What is changed in every scenario, and what that means; nothing where nothing is."""
    if not options.sets:
        return []
    pairs = ", ".join(f"{path}={value}" for path, value in options.sets)
    return [f"Changed in every run: {pairs}. The published values are of other runs, so nothing is judged."]


def simulate(
    cases: Sequence[Any],
    scenario: Callable[..., Scenario],
    seeds: Sequence[int],
    measure: Measure,
    options: Options,
    what: str,
) -> Gathered[At]:
    """Every case with every seed; `scenario` takes `case` and `seed`, `what` is said at the progress bar."""
    return run(Grid({"case": cases}, scenario, seeds).points(), measure, options, what)


def run(points: Sequence[Point[At]], measure: Measure, options: Options, what: str) -> Gathered[At]:
    """Every point, with what `--set` changes laid over its scenario. Raises `ScenarioError`."""
    if options.sets:
        points = [replace(p, scenario=p.scenario.with_sets(*options.sets)) for p in points]
    bar = watch(what, options.console)
    return gather(points, measure, store=options.store, jobs=options.jobs, watch=bar, executor=options.executor)


def by_case(gathered: Gathered[At]) -> dict[str, list[dict[str, Any]]]:
    """The measures of every case by its key, in the order of the seeds."""
    return {str(at["case"]): [dict(row) for row in rows] for at, rows in gathered.rows().items()}


def of_first_seed(gathered: Gathered[At]) -> Mapping[str, tuple[Scenario, Mapping[str, pl.DataFrame]]]:
    """The scenario of every case with seed 1, and the frames that were kept of it."""
    pairs = zip(gathered.points, gathered.values, strict=True)
    return {str(p.key["case"]): (p.scenario, value.frames) for p, value in pairs if p.seed == 1}


def scenarios_of(gathered: Gathered[At]) -> dict[str, Scenario]:
    """The scenario of every case with seed 1."""
    return {str(p.key["case"]): p.scenario for p in gathered.points if p.seed == 1}


def compose(done: Reproduced, about: About, sections: Sequence[Section]) -> Page:
    """A study's page: the answer, the verdict, the study's own sections, where it comes from."""
    card = done.scorecard
    publication = PUBLICATIONS[card.study]
    command = f"bloatlab reproduce {card.study} {about.flags}".strip()
    return Page(
        title=about.heading,
        subtitle=about.subtitle,
        sections=[_unjudged(section) for section in sections] if card.proves_nothing else sections,
        answer=done.answer(),
        lead=[about.lead],
        facts=facts(card, done.claims, done.runs),
        warning=card.proves_nothing,
        provenance=Provenance(
            [
                ("Published values", publication.cited),
                *([("Read it at", publication.link)] if publication.link else []),
                ("Ours", f"{done.runs} simulations, {seeds(card)}, by bloatlab {version()}"),
                ("Written by", command),
                ("Machine and time", "in provenance.json, beside this page"),
                ("Every number", "in scorecard.json and runs.parquet, beside this page"),
            ]
        ),
    )


def _unjudged(section: Section) -> Section:
    """A section of a quick look: no verdict in its tables, and no table of nothing but verdicts."""
    blocks: list[Block] = []
    for block in section.blocks:
        if not isinstance(block, TableBlock):
            blocks.append(block)
        elif block.table.title != SHARES and not block.table.title.endswith("cells outside"):
            blocks.append(replace(block, table=unjudged(block.table)))
    return replace(section, blocks=blocks or [Prose(["A quick look judges nothing: run it without --quick."])])


def figures_section(drawings: Sequence[Drawn], lead: str) -> Section:
    """The study's figures."""
    return Section("Figures", "figures", [figure_block(d) for d in drawings], lead)


def bind(
    done: Reproduced,
    page: Page,
    drawings: Sequence[Drawn],
    runs: pl.DataFrame,
    scenarios: Mapping[str, Scenario],
) -> None:
    """Leave the study's folder as every study leaves it.

    report.html          everything below for a reader
    scorecard.json       cells, claims and summary as data: what `-f json` prints
    runs.parquet         one row per run: case, seed, scenario hash and every measure
    figures/*.svg        the figures, and .png beside each
    scenarios/*.json     resolved scenarios, first seed, by the name of the case
    provenance.json      machine, time, versions: the only file that differs between two equal runs
    """
    folder = done.folder
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    (folder / "scenarios").mkdir(exist_ok=True)
    write_json(folder / "scorecard.json", done.as_data())
    write_table(runs, folder / "runs.parquet")
    for key, scenario in scenarios.items():
        write_json(folder / "scenarios" / f"{file_name(key)}.json", scenario.data)
    for drawing in drawings:
        save_figure(drawing.figure(), folder / "figures" / drawing.name)
    write(page, done.report)
    write_json(folder / "provenance.json", provenance(done.runs, done.seconds, done.found))


def rules_prose(doc: str | None) -> list[Prose]:
    """A module's own words about its rules, as paragraphs: what is printed is what the code says of itself."""
    paragraphs = [p.replace("\n", " ").replace("`", "").strip() for p in (doc or "").split("\n\n")]
    return [Prose([p]) for p in paragraphs if p]
