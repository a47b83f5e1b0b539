"""`bloatlab sweep`: a scenario over a grid of values and seeds, as a table."""

from __future__ import annotations

import fnmatch
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import polars as pl
from cyclopts import Parameter, validators
from rich.console import Console

from bloatlab.cli.common import BadInput, nearest, overrides, reading, store_at, writing
from bloatlab.results import FORMS, read_table, write_table
from bloatlab.sweep import declared, default_jobs, gather, watch
from bloatlab.tables import TextCell, TextTable, number, spread
from bloatlab.terminal import show

#: What a terminal shows of a table unless columns are named; as far as a scenario has it.
SHOWN = (
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
    sets: Annotated[tuple[str, ...], Parameter(name="--set", negative=())] = (),
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    form: Annotated[Literal["text", "csv", "json"], Parameter(name=["--format", "-f"])] = "text",
    columns: Annotated[tuple[str, ...], Parameter(name=["--column", "-c"], negative=())] = (),
    seeds: Annotated[int | None, Parameter(validator=validators.Number(gte=1, lte=declared.MOST_RUNS))] = None,
    jobs: Annotated[int | None, Parameter(name=["--jobs", "-j"], validator=validators.Number(gte=1))] = None,
    store: Path | None = None,
    force: Annotated[bool, Parameter(negative=())] = False,
    no_store: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Run a scenario over a grid of values and seeds; print or write a table with a row per run.

    What was run before is not run again: Ctrl-C loses the runs under way and no other, and the same command goes on.
    The table is the same for any number of workers. See docs/sweeps.md.

    Parameters
    ----------
    grid
        Grid in TOML: a scenario, axes over its values, seeds.
    sets
        Lay a value over the scenario in every run: --set duration=60s. May be given again.
    output
        File for the table: .parquet, .csv or .json by its suffix.
    form
        text prints medians over seeds (and the central 80 %); csv and json print a row per run.
    columns
        Which values of the summary, by dotted path; * stands for anything. May be given again. Default: the grid's, or
        everything in files and a choice on a terminal.
    seeds
        How many seeds, from 1, in place of the grid's.
    jobs
        How many runs at a time; does not change a number. Default: as many as there are cores.
    store
        Folder where runs are kept. Default: BLOATLAB_STORE, or .bloatlab/store.
    force
        Replace a file that is no table of this sweep.
    no_store
        Run everything and keep nothing but the table.
    """
    console = Console(stderr=True)
    _writable(output)
    try:
        asked = reading(grid, lambda: declared.load(grid, overrides(sets), seeds))
        points = asked.grid.points()
        _no_other(output, list(asked.grid.axes), force=force)
    except declared.GridError as error:
        raise BadInput(str(error)) from None
    kept = store_at(store, console, refused=no_store)
    begun = time.perf_counter()
    bar = watch(f"{len(points)} runs", console)
    gathered = gather(points, declared.SUMMARY, store=kept, jobs=jobs or default_jobs(), watch=bar)
    seconds = time.perf_counter() - begun
    frame = gathered.frame()
    axes = list(asked.grid.axes)
    wanted = _chosen(frame, axes, columns or asked.columns)
    table = frame.select(*axes, "seed", "scenario_hash", *wanted)
    if output is not None:
        writing(output, lambda: write_table(table, output))
    _print(frame, table, axes, wanted if columns or asked.columns else _shown(frame), form)
    where = f", written to {output}" if output is not None else ""
    console.print(
        f"{len(points)} runs, {gathered.found} of them kept from before, in {seconds:.1f} s{where}", highlight=False
    )
    return 0


def _writable(output: Path | None) -> None:
    """Before the runs, not after them."""
    if output is None:
        return
    if output.suffix.removeprefix(".") not in FORMS:
        raise BadInput(f"--output {output}: a table's name ends in {', '.join(f'.{form}' for form in FORMS)}")
    if output.is_dir():
        raise BadInput(f"{output}: cannot write: is a directory")
    writing(output, lambda: output.parent.mkdir(parents=True, exist_ok=True))


def _no_other(output: Path | None, axes: Sequence[str], *, force: bool) -> None:
    """The same sweep may write its table again; anything else in its place is refused. Raises `BadInput`."""
    if output is None or force or not output.exists():
        return
    try:
        columns = read_table(output).columns
    except (OSError, pl.exceptions.PolarsError, ValueError):
        columns = []
    if columns[: len(axes) + 2] != [*axes, "seed", "scenario_hash"]:
        raise BadInput(f"{output}: is there and is no table of this sweep; --force replaces it, or give another name")


def _chosen(frame: pl.DataFrame, axes: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """The columns that patterns name, in the order of the patterns; all without any. Raises `BadInput`."""
    known = [c for c in frame.columns if c not in {*axes, "seed", "scenario_hash"}]
    if not patterns:
        return known
    chosen: dict[str, None] = {}
    for pattern in patterns:
        found = fnmatch.filter(known, pattern)
        if not found:
            raise BadInput(f"--column {pattern}: no such value in the summary{nearest(pattern, known)}")
        chosen |= dict.fromkeys(found)
    return list(chosen)


def _shown(frame: pl.DataFrame) -> list[str]:
    """What a terminal shows without being told: what there is, and is not the same nothing in every run."""
    found = [c for pattern in SHOWN for c in fnmatch.filter(frame.columns, pattern)]
    return [c for c in found if any(frame[c].drop_nulls())]


def _print(frame: pl.DataFrame, table: pl.DataFrame, axes: Sequence[str], shown: Sequence[str], form: str) -> None:
    match form:
        case "csv":
            sys.stdout.write(table.write_csv())
        case "json":
            sys.stdout.write(table.write_json() + "\n")
        case _:
            show(_medians(frame, axes, shown), Console())


def _medians(frame: pl.DataFrame, axes: Sequence[str], shown: Sequence[str]) -> TextTable:
    """A row per place: the median over seeds, and the central 80 % of them where they differ."""
    heads = [*axes, *(column.replace(".", "\n") for column in shown)]
    rows = [
        [TextCell(text) for text in (*map(str, place), *(_median(found[column]) for column in shown))]
        for place, found in frame.group_by(axes, maintain_order=True)
    ]
    return TextTable("", heads, rows, left=len(axes))


def _median(values: pl.Series) -> str:
    numbers = [float(v) for v in values.drop_nulls().drop_nans()]
    if not numbers:
        return "-"
    over = spread(numbers)
    digits = 0 if all(v == int(v) for v in numbers) else 3 if abs(over.median) < 10 else 1
    middle, low, high = (number(v, digits) for v in (over.median, over.low, over.high))
    return middle if low == high else f"{middle}  {low}..{high}"
