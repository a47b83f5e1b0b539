"""`bloatlab sweep`: runs a scenario over a grid of values and seeds."""

import fnmatch
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import polars as pl
from cyclopts import Parameter, validators

from bloatlab.cli.common import BadInput, overrides, reading, replaceable, say_notes, writing
from bloatlab.cli.options import Output, Sets, TextCsvJson
from bloatlab.cli.runs import RUNNING, Running, check_table_name
from bloatlab.cli.sweep_tables import compared, means, what_matters, where_it_stopped
from bloatlab.files import make_folder
from bloatlab.results import read_table, table_text, write_table
from bloatlab.statistics import Method
from bloatlab.sweep import At, Point, auto_warm_up, default_jobs, gather_until, grid_file, over_seeds, sweeps, watch
from bloatlab.sweep.explain import Estimate, estimate
from bloatlab.sweep.grid_file import matching
from bloatlab.sweep.stopping import Stop
from bloatlab.sweep.store import Store
from bloatlab.tables import TextTable, counted
from bloatlab.terminal import Console, emit, show

#: Columns shown on a terminal by default, if the scenario has them.
ON_TERMINAL = (
    "links.*.utilisation",
    "links.*.dropped_packets",
    "links.*.sojourn_ms.p50",
    "links.*.sojourn_ms.p99",
    "apps.*.files.mean_s",
    "apps.*.voip.plr_percent",
    "apps.*.voip.mos",
    "apps.*.web.page_load_s.median",
)


def command(
    grid: Path,
    /,
    *,
    sets: Sets = (),
    output: Output = None,
    form: TextCsvJson = "text",
    columns: Annotated[tuple[str, ...], Parameter(name=["--column", "-c"])] = (),
    seeds: Annotated[int | None, Parameter(validator=validators.Number(gte=1, lte=grid_file.MOST_RUNS))] = None,
    force: bool = False,
    explain: bool = False,
    summary: Path | None = None,
    interval: Method = "t",
    against: str | None = None,
    effects: bool = False,
    keep: tuple[str, ...] = (),
    run: Running = RUNNING,
) -> int:
    """Run a scenario over a grid of values and seeds; print the means over seeds.

    The means have 95 % confidence intervals. --output writes a table with a row per run, and -f csv or json prints it.
    The results do not depend on the number of workers. Finished runs are stored and not repeated: Ctrl-C loses only
    the runs in progress, and the same command continues. See docs/sweeps.md.

    Args:
        grid: Grid in TOML: a scenario, axes over its values, seeds.
        output: File for the table: .parquet, .csv or .json by its suffix.
        columns: Summary values to include, by dotted path; * matches anything. Repeatable. Default: the columns that
            the grid names; if it names none, all values in a file, and a selection on the terminal.
        seeds: Run seeds 1 to SEEDS instead of the grid's own. If the grid has `until`, more seeds may follow.
        force: Replace a file even if it is not a table of this sweep.
        explain: Print the number of runs and an estimate of the time, from short trials of a few of them; run nothing
            else.
        summary: File (.parquet, .csv or .json) with a row per grid point and column: number of seeds, mean, deviation,
            median, and the confidence intervals by Student's t and by bootstrap.
        interval: Confidence interval of the printed means: t (Student's) or bootstrap (BCa).
        against: Baseline, such as queue=codel: print the difference of every other value from it, paired by seed.
        effects: Print which axes matter: the main effects, and the share of the variance due to each axis and to
            each pair of axes.
        keep: Also store this table of each run, for `bloatlab query`: queue_series, pings, ... Repeatable.
    """
    measure = sweeps.measure(keep)
    console = Console(stderr=True)
    _writable(output, summary)
    asked = reading(grid, lambda: grid_file.load(grid, overrides(sets), seeds))
    points = asked.grid.points()
    axes = list(asked.grid.axes)
    for file, head in ((output, [*axes, *over_seeds.NAMES]), (summary, [*axes, "column", "n"])):
        replaceable(file, force=force, ours=partial(_begins_with, head), kind="a table of this sweep")
    _arm(asked, against)
    kept = run.opened(console)
    say_notes(console, *(point.scenario for point in points))
    if explain:
        found = estimate(asked.grid, measure, kept, find_warm_up=asked.find_warm_up)
        if run.dask is not None:  # each worker is a process with a GIL of its own
            found = replace(found, in_turn=0.0)
        return _explained(asked, found, run.jobs or default_jobs())
    begun = time.perf_counter()
    try:
        with run.executor(console) as executor:
            if asked.find_warm_up:
                bar = watch(counted(len(asked.grid.places()), "warm-up"), console)
                steady, found = auto_warm_up.with_warm_ups(asked.grid, store=kept, watch=bar, executor=executor)
                console.say(auto_warm_up.said(found))
                asked = replace(asked, grid=steady)
            _note(kept, grid, sets, asked.grid.points())
            done = gather_until(
                asked.grid, measure, asked.until, store=kept, executor=executor,
                watch=lambda runs: watch(counted(runs, "run"), console),
            )  # fmt: skip
        _note(kept, grid, sets, done.gathered.points)
    except grid_file.GridError as error:  # raised if `until` names an unknown column
        raise BadInput(f"{grid}: {error}") from None
    seconds = time.perf_counter() - begun
    frame = done.gathered.frame()
    wanted = _chosen(frame, axes, columns or asked.columns)
    table = frame.select(*axes, *over_seeds.NAMES, *wanted)
    where = ""
    if output is not None:
        writing(output, lambda: write_table(table, output))
        where += f", {counted(table.height, 'row')} written to {output}"
    if summary is not None:
        over = over_seeds.intervals(frame, axes, wanted, against or "", zips=asked.zips)
        writing(summary, lambda: write_table(over, summary))
        where += f", intervals to {summary}"
    if form == "text":
        printed = wanted if columns or asked.columns else _on_terminal(frame)
        _print(frame, asked, printed, done.stops, interval=interval, against=against, effects=effects)
    else:
        emit(table_text(table, form))
    if asked.until is not None:
        console.say(where_it_stopped(done.stops, asked.until))
    _say_alike(frame, axes, console)
    runs = counted(done.gathered.found + done.gathered.ran, "run")
    console.say(f"{runs}, {done.gathered.found} of them from the store, in {seconds:.1f} s{where}")
    return 0


def _note(kept: Store | None, grid: Path, sets: Sequence[str], points: Sequence[Point[At]]) -> None:
    """Records in the store which runs belong to this sweep."""
    if kept is not None:
        writing(kept.folder, lambda: sweeps.note(kept, grid, overrides(sets), points))


def _arm(asked: grid_file.GridFile, against: str | None) -> None:
    """Checks before the runs that the baseline `against` exists and can be compared. Raises `BadInput`."""
    if against is None:
        return
    places = pl.DataFrame([at.labels() for at in asked.grid.places()], infer_schema_length=None)
    try:
        over_seeds.check_baseline(places, list(asked.grid.axes), against, zips=asked.zips)
    except ValueError as error:
        raise BadInput(f"--against {error}") from None


def _explained(asked: grid_file.GridFile, of: Estimate, jobs: int) -> int:
    """Prints the number of runs and the estimated time."""
    places, seeds = len(asked.grid.places()), len(asked.grid.seeds)
    points = f"{counted(places, 'point')} with {counted(seeds, 'seed')}"
    if of.warm_ups:
        points += f", and {counted(of.warm_ups, 'run')} to find the warm-up"
    line = f"{points}: {counted(of.runs, 'run')}, {of.kept} of them stored"
    if of.runs > of.kept:
        each = f"{of.seconds:.1f} s" if of.seconds >= 0.1 else f"{of.seconds * 1e3:.1f} ms"
        tried = counted(of.tried, "trial")
        line += f"; {each} each ({tried}): about {_about(of.wall(jobs))} with {counted(jobs, 'run')} in parallel"
        if of.in_turn and jobs > 1:
            line += " (those with Python code one at a time; in parallel with --dask local)"
    if asked.until is not None:
        most = places * asked.until.most + of.warm_ups
        line += f"; with more seeds for until: up to {counted(most, 'run')}, {_about(of.wall(jobs, most))}"
    emit(line + "\n")
    return 0


def _about(seconds: float) -> str:
    for unit, size in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2.0 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 1.0 else "a second"


def _say_alike(frame: pl.DataFrame, axes: Sequence[str], console: Console) -> None:
    """Prints a note if all seeds of a grid point gave the same result, because more seeds add nothing there."""
    several, same = over_seeds.alike(frame, axes)
    if not same:
        return
    where = "everywhere" if same == several else f"at {same} of {counted(several, 'point')}"
    console.say(
        f"note: all seeds gave the same result {where}: nothing is random there (start_spread = 0s, or no traffic), so "
        "more seeds add nothing. docs/sweeps.md explains what a seed varies"
    )


def _writable(output: Path | None, summary: Path | None) -> None:
    """Checks the file names of both tables before the runs, and makes their folders. Raises `BadInput`."""
    for file in (output, summary):
        check_table_name(file)
        if file is None:
            continue
        if file.is_dir():
            raise BadInput(f"{file}: cannot write: is a directory")
        writing(file, lambda file=file: make_folder(file.parent))
    if output is not None and summary is not None and output.resolve() == summary.resolve():
        raise BadInput(f"--summary {summary}: is the file of -o, too; expected another file")


def _begins_with(head: Sequence[str], table: Path) -> bool:
    """Returns whether a table's columns begin with `head`, as in an earlier table of the same sweep."""
    try:
        return read_table(table).columns[: len(head)] == head
    except (OSError, pl.exceptions.PolarsError, ValueError):
        return False


def _chosen(frame: pl.DataFrame, axes: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Returns the columns that match the patterns, in the order of the patterns; without patterns, all columns.

    Raises `BadInput`.
    """
    try:
        return matching([c for c in frame.columns if c not in {*axes, *over_seeds.NAMES}], patterns)
    except grid_file.GridError as error:
        raise BadInput(f"--{error}") from None


def _on_terminal(frame: pl.DataFrame) -> list[str]:
    """Returns the columns shown on a terminal by default, except those that are empty or 0 in every run."""
    found = [c for pattern in ON_TERMINAL for c in fnmatch.filter(frame.columns, pattern)]
    return [c for c in found if any(frame[c].drop_nulls())]


def _print(
    frame: pl.DataFrame,
    asked: grid_file.GridFile,
    shown: Sequence[str],
    stops: Sequence[Stop],
    *,
    interval: Method,
    against: str | None,
    effects: bool,
) -> None:
    console = Console()
    axes = list(asked.grid.axes)
    tables: list[TextTable] = [*means(frame, axes, shown, interval, width=console.width, counted_seeds=bool(stops))]
    if against is not None:
        tables.append(compared(frame, axes, shown, against, interval, zips=asked.zips))
    if effects:
        tables += what_matters(frame, axes, shown, asked.sampled, asked.zips)
    for n, table in enumerate(tables):
        if n:
            console.print()
        show(table, console)
