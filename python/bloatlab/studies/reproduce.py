"""Reproduces a study: makes its runs, writes its folder, and prints the result."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import polars as pl
from rich.markup import escape
from rich.text import Text

from bloatlab import live
from bloatlab.plots import save_figure
from bloatlab.report import write
from bloatlab.results import PROVENANCE, ResultError, read_json, save, this_process, write_json, write_table
from bloatlab.studies.page import page
from bloatlab.studies.study import Batch, Live, OnKernels, Options, Ran, Results, Study, StudyError
from bloatlab.studies.tables import claims_table, misses, reached_table, shares_table
from bloatlab.sweep import At, Point, gather, watch
from bloatlab.tables import TextTable, counted
from bloatlab.terminal import Console, show, wrapped

#: Maximum line width of paragraphs in the closing summary.
WIDTH = 80


def reproduce(study: Study, options: Options) -> Results:
    """Runs the cases and requested experiments, compares the values, and writes the folder `options.out`.

    Raises `ScenarioError` if a scenario of the plan is not valid, before any run; `StudyError` if a published value or
    a claim needs a measure that no run has, if two cases would have the same file, or if `options.sets` have `name`;
    and `live.LiveError` if live runs are not possible.
    """
    begun = time.perf_counter()
    if any(path == "name" for path, _ in options.sets):
        raise StudyError("--set name: a study identifies its cases by the names of their scenarios")
    seeds = range(1, (study.quick.seeds if options.quick else options.seeds) + 1)
    plan = study.plan(options)
    _check_files([plan[0].key(at) for at in plan[0].of_seeds(seeds).places()])
    results = Results(study, options, {}, _announce(study, options, plan, seeds))
    results = _with(results, plan, seeds)
    _check_measures(results)
    if study.further is not None and not options.quick and options.seeds >= study.further_from:
        results = _with(results, study.further(results), seeds)
    if options.live and study.on_kernels is not None:
        results = replace(results, live=_on_kernels(study.on_kernels, options))
    results = replace(results, seconds=time.perf_counter() - begun)
    bind(results)
    return results


def _announce(study: Study, options: Options, plan: Iterable[Batch], seeds: range) -> str:
    """Prints the first line, and a warning if the runs are a quick look or have `--set` values.

    The results of such runs do not count as a reproduction. Returns the warning, or "" if there is none.
    """
    extent = study.extent(options) if study.extent else counted(sum(len(batch.cases) for batch in plan), "case")
    line = f"[bold]{study.name}[/]  {extent}, {counted(len(seeds), 'seed')}, {options.workers}"
    options.console.print(line, highlight=False)
    warnings = [study.quick.warning] if options.quick else []
    if options.sets:
        pairs = ", ".join(f"{path}={value}" for path, value in options.sets)
        warnings.append(f"Changed in every run: {pairs}. The published values are of other runs, so nothing is judged.")
    if warnings:
        options.console.print(" ".join(warnings), style="yellow", markup=False)
    return " ".join(warnings)


def _check_files(keys: Iterable[str]) -> None:
    """Raises `StudyError` if two cases would have the same file in the study's folder."""
    first: dict[str, str] = {}
    for key in keys:
        if (other := first.setdefault(file_name(key), key)) != key:
            both = f'the cases "{other}" and "{key}" have the same file'
            raise StudyError(f"{both} scenarios/{file_name(key)}.json; rename one of them")


def _check_measures(results: Results) -> None:
    """Raises `StudyError` if a published value or a claim names a measure that no run has or that is not a number.

    If no run has the measure, its name is usually misspelt. NaN means "not measured". It counts as a number if some run
    has another value, or if the runs prove nothing. Cases that were not run are left out.
    """
    rows = [row for of in results.runs.values() for row in of]
    known = sorted({name for row in rows for name in row})
    for what, case, measure in results.study.compared():
        if case not in results.runs:
            continue
        if measure not in known:
            raise StudyError(f"{what}: no run has the measure {measure!r}; expected {', '.join(known)}")
        values = [cast("object", row[measure]) for row in rows if measure in row]
        wrong = [value for value in values if not isinstance(value, (int, float))]
        if wrong:
            raise StudyError(f"{what}: the measure {measure!r} is {wrong[0]!r}, which is not a number")
        judged = not results.proves_nothing
        if judged and all(value != value for value in values):  # noqa: PLR0124  only NaN differs from itself
            raise StudyError(f"{what}: the measure {measure!r} is nan in every run, which is not a number")


def _with(results: Results, batches: Iterable[Batch], seeds: range) -> Results:
    """Adds the runs of additional batches to the results.

    All scenarios of these batches are made before the first run, so that an invalid scenario stops the study at once.
    """
    planned = [(batch, points(batch, seeds, results.options)) for batch in batches]
    further = {batch.name: run(batch, of, results.options) for batch, of in planned}
    return replace(results, ran={**results.ran, **further})


def points(batch: Batch, seeds: range, options: Options) -> Sequence[Point[At]]:
    """Returns every case of a batch with each of its seeds. The scenarios are changed as requested with `--set`.

    Raises `ScenarioError` if a scenario is not valid.
    """
    points = batch.of_seeds(seeds).points()
    return [replace(p, scenario=p.scenario.with_sets(*options.sets)) for p in points] if options.sets else points


def run(batch: Batch, points: Sequence[Point[At]], options: Options) -> Ran:
    """Runs the points of a batch."""
    bar = watch(batch.name, options.console)
    gathered = gather(
        points, batch.measure, store=options.store, jobs=options.jobs, watch=bar, executor=options.executor
    )
    return Ran(batch, gathered)


def _on_kernels(wanted: OnKernels, options: Options) -> Live:
    """Runs each live case once, in turn, and saves every result.

    Raises `live.LiveError` if live runs are not possible.
    """
    done = Live({}, {})
    live.clean()
    scenarios = wanted.scenarios(options)
    for place, (key, scenario) in enumerate(scenarios.items(), start=1):
        begun = time.perf_counter()
        result = live.run(scenario)
        save(result, options.out / "live" / file_name(key), seconds=time.perf_counter() - begun)
        reason = result.invalid_because
        done = Live(
            {**done.measures, key: wanted.measure(result)},
            done.invalid if reason is None else {**done.invalid, key: reason},
        )
        verdict = "valid" if reason is None else "invalid"
        options.console.print(f"live {place} of {len(scenarios)}  {key}  {verdict}", highlight=False)
    return done


def bind(results: Results) -> None:
    """Writes the study's folder.

    report.html          the page for readers
    scorecard.json       values, claims and summary as data: the output of `-f json`
    runs.parquet         one row per run: case, seed, scenario hash and every measure (without batches whose `columns`
                         are None)
    figures/*.svg        the figures, and .png beside each
    scenarios/*.json     resolved scenarios of the first batch, first seed, by case name
    live/CASE/           with --live, each run on kernels, as written by `bloatlab live`
    provenance.json      machine, time, versions, and the files in figures and scenarios: without --live, the only file
                         that differs between two equal runs

    Figures and scenarios that an earlier run of the study wrote, and that this run does not write, are removed.
    """
    folder = results.options.out
    before = _listed(folder)
    folder.mkdir(parents=True, exist_ok=True)
    # first, because the command accepts a folder with files only if scorecard.json names the same study: so it can be
    # repeated after Ctrl-C
    write_json(folder / "scorecard.json", results.as_data())
    (folder / "figures").mkdir(exist_ok=True)
    (folder / "scenarios").mkdir(exist_ok=True)
    ran = list(results.ran.values())
    rows = [one.table for one in ran if one.batch.columns is not None]
    write_table(pl.concat(rows, how="diagonal_relaxed"), folder / "runs.parquet")
    written: list[Path] = []
    for key, scenario in ran[0].scenarios.items():
        written.append(folder / "scenarios" / f"{file_name(key)}.json")
        write_json(written[-1], scenario.data)
    for drawing in results.figures:
        written += save_figure(drawing.figure(), folder / "figures" / drawing.name)
    write(page(results), results.report)
    files = sorted(path.relative_to(folder).as_posix() for path in written)
    for old in before.difference(files):
        (folder / old).unlink(missing_ok=True)
    write_json(folder / PROVENANCE, {**provenance(results.made, results.seconds, results.found), "files": files})


def _listed(folder: Path) -> set[str]:
    """Returns the figures and scenarios that an earlier run of a study has written into a folder."""
    try:
        listed = read_json(folder / PROVENANCE).get("files")
    except (OSError, ResultError):
        return set()
    known = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    return {name for name in known if re.fullmatch(r"(figures|scenarios)/[^/\\]+\.(json|svg|png)", name)}


def file_name(key: str) -> str:
    """Makes a file name from a run's key."""
    return key.replace("/", "-").replace(" ", "_")


def provenance(runs: int, seconds: float, found: int = 0) -> dict[str, Any]:
    """Returns facts that may differ between two reproductions with equal results, such as machine, time and versions.

    `found` is the number of runs whose results were taken from the store.
    """
    return {"runs": runs, "runs_from_store": found, "wall_seconds": round(seconds, 2), **this_process()}


def report(results: Results, console: Console, *, full: bool = False) -> None:
    """Prints the number of runs, goals, differences, the answer and the path of the report, in about 20 lines.

    For runs that prove nothing, the reason replaces goals and differences. With `full`, all tables are printed first.
    """
    card, claims = results.scorecard, results.claims
    for table in _tables(results) if full else ():
        show(table, console)
        console.print()
    width = min(console.width, WIDTH)
    stored = f" ({results.found} of them from the store)" if results.found else ""
    _say(console, f"{counted(results.made, 'run')}{stored} in {results.seconds:.1f} s", width)
    if card.proves_nothing:
        _say(console, card.proves_nothing, width)
    else:
        console.print()
        show(reached_table(card, claims), console)
        enough = results.study.further_from
        for line in misses(card, claims, explained_from=enough if results.options.seeds < enough else None):
            _say(console, line, width)
    console.print()
    _say(console, results.answer.question, width, style="bold")
    _say(console, results.answer.sentence, width)
    tables = "" if full else "; every table here: --full"
    console.print(f"Report: [bold]{escape(str(results.report))}[/]{tables}", soft_wrap=True, highlight=False)


def _tables(results: Results) -> Iterator[TextTable]:
    """Yields the tables of `--full`."""
    card, claims, own = results.scorecard, results.claims, results.study.tables
    if own is None:
        yield from page(results).tables()
        return
    yield from own(results)
    yield from [claims_table(claims)] if claims else []
    yield from [shares_table(card)] if card.shares else []


def _say(console: Console, text: str, width: int, style: str = "") -> None:
    """Prints a paragraph in lines of at most `width` characters."""
    for line in wrapped(text, width):
        console.print(Text(line.rstrip(), style=style), soft_wrap=True)
