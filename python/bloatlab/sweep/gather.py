"""Points and a measure in, a table out; what the store knows is not run again."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import polars as pl

from bloatlab.simulation import Progress, Result, run
from bloatlab.sweep import fingerprint
from bloatlab.sweep.grid import labels
from bloatlab.sweep.pool import Executor, Point, RunError, Stopped, Threads
from bloatlab.sweep.progress import Watch, silent
from bloatlab.sweep.store import Measured, Shelf, Store, StoreFull, plain

Key = TypeVar("Key")


@dataclass(frozen=True)
class Measure:
    """How a run is reduced to what a study needs: a row of numbers and texts, and perhaps the frames of its figures.

    Both functions see the result alone (its scenario and seed included), so that equal scenarios have equal measures.
    `name` stands in the store's folders; the functions' source is part of what a result is kept under, and `version`
    says by hand what no source shows.
    """

    name: str
    row: Callable[[Result], Mapping[str, Any]]
    frames: Callable[[Result], Mapping[str, pl.DataFrame]] | None = None
    version: int = 1

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9][a-z0-9_.-]*", self.name):
            raise ValueError(f"{self.name!r}: a measure is named in small letters, digits, dots, dashes")

    def __call__(self, result: Result) -> Measured:
        """What this measures of one run."""
        frames = {} if self.frames is None else dict(self.frames(result))
        return Measured(plain(self.row(result)), frames)

    def shelf(self, store: Store) -> Shelf:
        """Where results of this measure, by this core, are kept. Raises `fingerprint.Unsure`."""
        code = fingerprint.code(self.row, *([] if self.frames is None else [self.frames]))
        return store.shelf(fingerprint.core(), f"{self.name}-{self.version}", code)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C; the message says how much is kept."""


@dataclass(frozen=True)
class _Work:
    """Runs a point and reduces it; goes to other processes as it is."""

    measure: Measure

    @property
    def functions(self) -> list[Callable[..., Any]]:
        """What reduces a run: another machine must have the same."""
        return [f for f in (self.measure.row, self.measure.frames) if f is not None]

    def __call__(self, point: Point[Any], tell: Progress) -> Measured:
        return self.measure(run(point.scenario, point.seed, tell, trace=False))


@dataclass(frozen=True)
class Gathered(Generic[Key]):
    """What every point measured, in the order of the points. `found` of them came from the store, `ran` were run."""

    points: Sequence[Point[Key]]
    values: Sequence[Measured]
    found: int
    ran: int

    def frame(self) -> pl.DataFrame:
        """One row per run: the axes (or `key`), `seed`, `scenario_hash`, and the measures."""
        rows = [
            {**labels(point.key), "seed": point.seed, "scenario_hash": point.seeded().hash, **value.row}
            for point, value in zip(self.points, self.values, strict=True)
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def rows(self) -> dict[Key, list[Mapping[str, Any]]]:
        """The rows of each key, in the order of its points, so of its seeds."""
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
    """Measure every point. What `store` has is taken from it; what it has not is run and kept as soon as it is there.

    Points with equal scenarios and seeds are run once. Ctrl-C raises `Interrupted`, a failure `RunError`, a full disk
    or a lost scheduler `Stopped`; each way everything that was complete is kept, and the same call goes on from there.
    `jobs` is for the local executor only.
    """
    shelf = _shelf(measure, store)
    seeded = [point.seeded() for point in points]
    first = {scenario: index for index, scenario in reversed(list(enumerate(seeded)))}
    values = {} if shelf is None else {s: kept for s in first if (kept := shelf.get(s)) is not None}
    found = len(values)
    missing = sorted(index for scenario, index in first.items() if scenario not in values)

    def done(place: int, value: Measured) -> None:
        scenario = seeded[missing[place]]
        values[scenario] = value
        if shelf is not None:
            shelf.put(scenario, value)

    try:
        if missing:
            (executor or Threads(jobs))([points[i] for i in missing], _Work(measure), done, watch or silent())
    except KeyboardInterrupt:
        raise Interrupted(_kept(len(values), len(first), shelf, found)) from None
    except (RunError, Stopped) as error:
        why = error.__cause__ if isinstance(error, RunError) else error
        if not isinstance(why, (Stopped, StoreFull)):
            raise
        raise Stopped(f"{why}; {_kept(len(values), len(first), shelf, found)}") from None
    finally:
        if shelf is not None:
            shelf.close()
    return Gathered(points, [values[scenario] for scenario in seeded], found, len(missing))


def _shelf(measure: Measure, store: Store | None) -> Shelf | None:
    if store is None:
        return None
    try:
        return measure.shelf(store)
    except fingerprint.Unsure as unsure:
        store.notice(f"results of {measure.name} are not kept: {unsure}")
        return None


def _kept(done: int, of: int, shelf: Shelf | None, found: int) -> str:
    if shelf is None:
        return f"{done} of {of} runs were complete; none is kept"
    return f"{found + shelf.kept} of {of} runs are kept in {shelf.store}; the same command goes on from there"
