"""Runs the points of a sweep, reduces each result by a measure, and returns a table. Stored runs are not repeated."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import polars as pl

from bloatlab.scenario import Scenario
from bloatlab.simulation import Progress, Result, run
from bloatlab.sweep import fingerprint, pasts
from bloatlab.sweep.grid import labels
from bloatlab.sweep.pasts import Pasts
from bloatlab.sweep.pool import ClassFailed, Executor, Point, RunError, Stopped, Threads
from bloatlab.sweep.progress import Watch, silent
from bloatlab.sweep.store import Measured, Shelf, Store, StoreFull, plain

Key = TypeVar("Key")


@dataclass(frozen=True)
class Measure:
    """Reduces a run to a row of numbers and strings, and to frames for figures.

    `row` and `frames` receive only the result (with its scenario and seed), so equal scenarios have equal measures.
    `name` is part of a folder's name in the store. Results are stored under a hash of the functions' source; change
    `version` if a function returns other values although its source is the same. With `trace`, results include the
    traces that their scenarios enable. `run` replaces `bloatlab.run`: it makes a result from the scenario, the seed and
    the progress. Its source is hashed, too.
    """

    name: str
    row: Callable[[Result], Mapping[str, Any]]
    frames: Callable[[Result], Mapping[str, pl.DataFrame]] | None = None
    version: int = 1
    trace: bool = False
    run: Callable[[Scenario, int, Progress], Result] | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9][a-z0-9_.-]*", self.name):
            allowed = "small letters, digits, dots, dashes and underscores"
            raise ValueError(f"{self.name!r}: the name of a measure has only {allowed}")

    def __call__(self, result: Result) -> Measured:
        """Returns the measures of a run."""
        return Measured(plain(self.row(result)), {} if self.frames is None else dict(self.frames(result)))

    @property
    def functions(self) -> list[Callable[..., Any]]:
        """The functions that make and reduce a run. A worker on another machine must have the same functions."""
        return [function for function in (self.row, self.frames, self.run) if function is not None]

    def shelf(self, store: Store) -> Shelf:
        """Returns the shelf of this measure and this core in a store. Raises `fingerprint.Unsure`."""
        return store.shelf(fingerprint.core(), f"{self.name}-{self.version}", fingerprint.code(*self.functions))


class Interrupted(KeyboardInterrupt):
    """The sweep was interrupted by Ctrl-C; the message contains the number of stored runs."""


@dataclass(frozen=True)
class _Work:
    """The work of a sweep: runs a point, and reduces its result to measures. Can be sent to other processes."""

    measure: Measure
    shared: Pasts = field(default_factory=Pasts)

    @property
    def functions(self) -> list[Callable[..., Any]]:
        return self.measure.functions

    def __call__(self, point: Point[Any], progress: Progress) -> Measured:
        if point.past is not None:
            return self.measure(self.shared.run(point.seeded(), point.past, progress))
        if self.measure.run is not None:
            return self.measure(self.measure.run(point.scenario, point.seed, progress))
        return self.measure(run(point.scenario, point.seed, progress, trace=self.measure.trace))


@dataclass(frozen=True)
class Gathered(Generic[Key]):
    """The measures of every point, in point order.

    `found` is the number of runs taken from the store, and `ran` is the number of runs that were made for this call.
    """

    points: Sequence[Point[Key]]
    values: Sequence[Measured]
    found: int
    ran: int

    def frame(self) -> pl.DataFrame:
        """Makes a table with one row per run: the axes, `seed`, `scenario_hash`, and the measures.

        For points that are not of a grid, the column `key` replaces the axes.

        Raises `ValueError` if a measure has the name of one of the other columns.
        """
        for point, value in zip(self.points, self.values, strict=True):
            _distinct(point, value)
        rows = [
            {**labels(point.key), "seed": point.seed, "scenario_hash": point.seeded().hash, **value.row}
            for point, value in zip(self.points, self.values, strict=True)
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def rows(self) -> dict[Key, list[Mapping[str, Any]]]:
        """Returns the rows of each key, in point order."""
        found: dict[Key, list[Mapping[str, Any]]] = {}
        for point, value in zip(self.points, self.values, strict=True):
            found.setdefault(point.key, []).append(value.row)
        return found


def gather(
    points: Sequence[Point[Key]],
    measure: Measure,
    *,
    store: Store | None = None,
    jobs: int | None = None,
    watch: Watch | None = None,
    executor: Executor | None = None,
) -> Gathered[Key]:
    """Measures every point: takes stored measures from `store`, runs the other points, and stores each when complete.

    Points with equal scenarios and seeds are run once. If several runs have the same beginning, each process simulates
    it only once (`pasts`), unless `measure` has `trace` or `run`. Ctrl-C raises `Interrupted`, a failure `RunError` (in
    a user's class `ClassFailed`), and a full disk or a lost scheduler `Stopped`. If the call is
    repeated, runs that are already stored are not made again. `jobs` is for the local executor only.
    """
    run_all = executor or Threads(jobs)
    shelf = _shelf(measure, store)
    seeded = [point.seeded() for point in points]
    first = {scenario: index for index, scenario in reversed(list(enumerate(seeded)))}
    values = {} if shelf is None else {s: kept for s in first if (kept := shelf.get(s)) is not None}
    found = len(values)
    left = sorted(index for scenario, index in first.items() if scenario not in values)
    # a run that starts from a shared beginning (a past) has no trace of that beginning, so traced runs share nothing
    alone = measure.trace or measure.run is not None
    order = [(n, None) for n in range(len(left))] if alone else pasts.planned([seeded[index] for index in left])
    plan = [(left[place], past) for place, past in order]

    def done(place: int, value: Measured) -> None:
        scenario = seeded[plan[place][0]]
        values[scenario] = value
        if shelf is not None:
            shelf.put(scenario, value)

    def stored() -> str:
        if shelf is None:
            return f"{len(values)} of {len(first)} runs were complete; none is stored"
        done = f"{found + shelf.kept} of {len(first)} runs"
        return f"{done} are stored in {shelf.store}; the same command continues from there"

    try:
        if plan:
            runs = [replace(points[index], past=past) for index, past in plan]
            run_all(runs, _Work(measure), done, watch or silent())
    except KeyboardInterrupt:
        raise Interrupted(stored()) from None
    except (RunError, Stopped) as error:
        why = error.__cause__ if isinstance(error, RunError) else error
        # the text of `stored()` promises that the same command continues; after an error in a user's class, this would
        # be wrong, because the command would fail again
        if isinstance(why, ClassFailed) or not isinstance(why, (Stopped, StoreFull)):
            raise
        raise Stopped(f"{why}; {stored()}") from None
    finally:
        if shelf is not None:
            shelf.close()
    return Gathered(points, [values[scenario] for scenario in seeded], found, len(plan))


def _distinct(point: Point[Any], measured: Measured) -> None:
    """Raises `ValueError` if a measure has the name of another column of the table, and would replace it."""
    others = (*labels(point.key), "seed", "scenario_hash")
    if (name := next((name for name in others if name in measured.row), None)) is not None:
        kind = "an axis" if name in others[:-2] else "a column of every sweep"
        raise ValueError(f"{name}: a measure cannot have the name of {kind} ({', '.join(others)})")


def _shelf(measure: Measure, store: Store | None) -> Shelf | None:
    try:
        return None if store is None else measure.shelf(store)
    except fingerprint.Unsure as unsure:
        if store is not None:
            store.notice(f"results of {measure.name} are not kept: {unsure}")
        return None
