"""Opens the data of plots: runs (simulated or live), and tables of many runs."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from bloatlab import flent
from bloatlab.errors import InputError
from bloatlab.plots.labels import distinct_labels
from bloatlab.results import FORMS, SCENARIO, SUMMARY, open_result, read_table
from bloatlab.simulation import Result, invalid_line
from bloatlab.sweep import (
    At,
    Gathered,
    Measure,
    Point,
    Store,
    Watch,
    auto_warm_up,
    default_store,
    fingerprint,
    gather_until,
    grid_file,
    silent,
    sweeps,
    zipped,
)
from bloatlab.tables import natural

#: If a sweep's table has at most this number of measures, its author must have chosen them: a table with all numbers of
#: the summary has far more.
FEW = 12

#: Name of the runs table in a study's folder.
STUDY_TABLE = "runs.parquet"


class Unfit(InputError):  # noqa: N818  the input does not fit
    """Raised for a request that cannot be drawn. The message is one line for the user."""


@dataclass(frozen=True)
class Run:
    """One run. `scenario` and `result` are None for flent data; `captures` is the folder that may contain captures.

    `invalid` is the reason why a live run is invalid, and None for every other run.
    """

    label: str
    tables: Mapping[str, pl.DataFrame]
    summary: Mapping[str, Any]
    scenario: Mapping[str, Any] | None = None
    captures: Path | None = None
    result: Result | None = None
    invalid: str | None = None

    def table(self, name: str) -> pl.DataFrame:
        """Returns a table of the run; empty if the run has no table with this name."""
        return self.tables.get(name, pl.DataFrame())

    @property
    def links(self) -> Mapping[str, Any]:
        """The summaries of links, by name, in natural order."""
        return _ordered(self.summary.get("links", {}))

    @property
    def apps(self) -> Mapping[str, Any]:
        """The summaries of applications, by name, in natural order."""
        return _ordered(self.summary.get("apps", {}))

    @property
    def begin(self) -> float:
        """The time when measurement began, in s."""
        return float(self.summary.get("warm_up_s", 0.0))

    @property
    def end(self) -> float:
        """The time when the run ended, in s."""
        return float(self.summary["duration_s"])


def _ordered(of: Mapping[str, Any]) -> Mapping[str, Any]:
    return dict(sorted(of.items(), key=lambda one: natural(one[0])))


@dataclass(frozen=True)
class Sweep:
    """A table with one row per run; the columns before `seed` are the axes.

    With `study`, plots show medians instead of means, like the study's own tables. `chosen` has the measures that the
    author of the sweep chose, in order: the `columns` of a grid file, or all measures of a table that has at most
    `FEW`. It is empty if the author chose none.
    """

    label: str
    frame: pl.DataFrame
    axes: tuple[str, ...]
    study: bool = False
    chosen: tuple[str, ...] = ()

    @property
    def middle(self) -> str:
        """The word for the average over seeds that plots show: "mean" or "median"."""
        return "median" if self.study else "mean"

    @functools.cached_property
    def together(self) -> list[list[str]]:
        """The axes in groups that vary together, such as zipped axes. Most groups have one axis."""
        return zipped.together(self.frame.select(self.axes).unique(maintain_order=True), self.axes)

    @property
    def values(self) -> list[str]:
        """The columns of measured numbers."""
        return [name for name in self.measured if self.frame.schema[name].is_numeric()]

    @property
    def measured(self) -> list[str]:
        """The columns of measured values, including columns that are not numeric."""
        return [name for name in self.frame.columns if name not in {*self.axes, "seed", "scenario_hash"}]


Subject = Run | Sweep


def subjects(results: Sequence[Result | pl.DataFrame | str | Path]) -> list[Run] | Sweep:
    """Opens results and tables, given as objects or as paths. Returns labelled runs, or all tables joined into one.

    Raises `Unfit` for inputs that cannot be plotted, or cannot be plotted together, `ResultError` for a folder without
    a result, `FlentError`, `ScenarioError` for a point of a grid file, `StoreUnreadable`, and `OSError` if a file
    cannot be read.
    """
    found = [_subject(of, place) for place, of in enumerate(results, start=1)]
    if len(found) > 1 and any(isinstance(of, Run) and of.result is None for of in found):
        found = [_as_flent(of) for of in found]
    runs = [of for of in found if isinstance(of, Run)]
    sweeps = [of for of in found if isinstance(of, Sweep)]
    if not found:
        raise Unfit("nothing to plot: give a result's folder, or the table of a sweep")
    if runs and sweeps:
        raise Unfit(f"{sweeps[0].label}: is a table of many runs, {runs[0].label} is one run; plot them apart")
    if sweeps:
        return _joined(sweeps)
    labels = distinct_labels([run.label for run in runs], [run.scenario for run in runs])
    return [replace(run, label=label) for run, label in zip(runs, labels, strict=True)]


def _subject(of: Result | pl.DataFrame | str | Path, place: int) -> Subject:
    match of:
        case Result():
            return _run(of, str(of.summary.get("name", f"result {place}")))
        case pl.DataFrame():
            return _sweep(of, f"table {place}")
        case _:
            return _opened(Path(of))


def _as_flent(of: Subject) -> Subject:
    """Reduces a result to the quantities measured by flent, for comparison with flent's data."""
    if isinstance(of, Sweep) or of.result is None:
        return of
    return replace(_flent(flent.of_result(of.result, of.label)), invalid=of.invalid)


def _flent(of: flent.Measured) -> Run:
    return Run(of.name, of.tables, of.summary)


def _run(result: Result, label: str, captures: Path | None = None) -> Run:
    return Run(label, result.tables, result.summary, result.scenario.data, captures, result, result.invalid_because)


def warning(runs: Sequence[Run]) -> str:
    """Returns a sentence for each invalid live run, with the reason; empty if there is none."""
    return " ".join(invalid_line(run.label, run.invalid) for run in runs if run.invalid is not None)


def _opened(path: Path) -> Subject:
    if path.is_dir():
        if (path / STUDY_TABLE).exists() and not (path / SUMMARY).exists():
            return replace(_sweep(read_table(path / STUDY_TABLE), path.resolve().name), study=True, chosen=())
        if not (path / SCENARIO).exists() and any(path.glob("*/*-*/*.[jp]*")):
            raise Unfit(f"{path}: is a store of many sweeps; give the grid file of one, which finds its runs there")
        return _run(open_result(path), path.resolve().name, path)
    if flent.is_flent(path):
        return _flent(flent.read(path))
    path.stat()  # `stat` raises an error that names a missing file; polars' error does not
    suffix = path.suffix.removeprefix(".")
    if suffix in FORMS:
        try:
            return _sweep(read_table(path), path.stem)
        except pl.exceptions.PolarsError as error:
            raise Unfit(f"{path}: a table cannot be read: {str(error).splitlines()[0]}") from None
    if suffix == "toml":
        return _kept(path)
    raise Unfit(
        f"{path}: neither a result's folder nor a table of a sweep (.parquet, .csv, .json) nor its grid (.toml)"
    )


def _sweep(frame: pl.DataFrame, label: str) -> Sweep:
    if "seed" not in frame.columns or not frame.columns.index("seed"):
        raise Unfit(f"{label}: is not a table of a sweep: it has no axes before a column seed")
    if nested := next((name for name, kind in frame.schema.items() if kind.is_nested()), None):
        raise Unfit(
            f"{label}: is not a table of a sweep: the column {nested} has tables or lists; give a result as its folder"
        )
    if not frame.height:
        raise Unfit(f"{label}: the table has no rows")
    found = Sweep(label, frame, tuple(frame.columns[: frame.columns.index("seed")]))
    return replace(found, chosen=tuple(found.values)) if len(found.values) <= FEW else found


def _kept(path: Path) -> Sweep:
    """Reads the stored runs of a grid file. Raises `Unfit` if some are missing."""
    try:
        grid = grid_file.load(path)
    except grid_file.GridError as error:
        raise Unfit(str(error)) from None
    store = Store(default_store())
    missing: list[_MissingError] = []
    try:
        grid_file.SUMMARY.shelf(store)
        for measure in sweeps.measures(store):
            try:
                found = _sweep(_stored(grid, measure, store).frame(), path.stem)
                columns = grid_file.matching(found.measured, grid.columns) if grid.columns else found.chosen
                return replace(found, chosen=tuple(name for name in columns if name in found.values))
            except _MissingError as error:
                missing.append(error)
    except fingerprint.Unsure as unsure:
        raise Unfit(f"{path}: its runs cannot be stored: {unsure}") from None
    except grid_file.GridError as error:  # an unknown column in `until` or `columns`, or no value for `until`
        raise Unfit(f"{path}: {error}") from None
    raise Unfit(f"{path}: {missing[0]} are not stored; run them first: bloatlab sweep {path}")


class _MissingError(Exception):
    """Raised if runs are not stored; the message says how many."""


def _stored(grid: grid_file.GridFile, measure: Measure, store: Store) -> Gathered[At]:
    """Does the steps of `bloatlab sweep` with stored runs only. Raises `_MissingError` if they need any other run."""
    wanted = 0

    def watched(runs: int) -> Watch:
        nonlocal wanted
        wanted = runs
        return silent()

    def refuse(points: Sequence[Point[Any]], work: object, done: object, watch: object) -> None:  # noqa: ARG001
        raise _MissingError(f"{len(points)} of {wanted} runs")

    of = grid.grid
    if grid.find_warm_up:
        of, _ = auto_warm_up.with_warm_ups(of, store=store, watch=watched(len(of.places())), executor=refuse)
    return gather_until(of, measure, grid.until, store=store, watch=watched, executor=refuse).gathered


def _joined(sweeps: Sequence[Sweep]) -> Sweep:
    """Joins tables, and adds an axis with their names. Returns a single table unchanged."""
    first = sweeps[0]
    if len(sweeps) == 1:
        return first
    for other in sweeps[1:]:
        if other.axes != first.axes:
            axes = ", ".join(other.axes), ", ".join(first.axes)
            raise Unfit(f"{other.label}: has the axes {axes[0]}, {first.label} has {axes[1]}; plot them apart")
    labels = distinct_labels([s.label for s in sweeps], [None] * len(sweeps))
    axis = "table" if "table" not in first.frame.columns else "table of"
    frames = [
        s.frame.insert_column(0, pl.Series(axis, [n] * s.frame.height)) for s, n in zip(sweeps, labels, strict=True)
    ]
    joined = pl.concat(frames, how="diagonal_relaxed")
    chosen = dict.fromkeys(name for s in sweeps for name in s.chosen) if all(s.chosen for s in sweeps) else ()
    return Sweep(" and ".join(labels), joined, (axis, *first.axes), all(s.study for s in sweeps), tuple(chosen))
