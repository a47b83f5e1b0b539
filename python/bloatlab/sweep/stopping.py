"""Adds seeds until the means are known well enough.

until = { "apps.call.voip.mos" = "2%", "links.up.sojourn_ms.p99" = 5.0 }    # half-width: % of mean, or column's unit
seeds = 10                                                                 # to begin with
most_seeds = 100                                                           # the limit

A grid point takes seeds in order. It stops at the first number of seeds (at least `seeds`) at which every interval (95
%, Student's t) is narrow enough, or at the limit. This number depends only on the results, not on the number of runs
made in parallel. Runs beyond it are kept in the store, but not in the table. Because the number of seeds depends on the
values, the interval contains the true mean slightly less often than 95 % of the time, so begin with ten seeds or more.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from bloatlab.errors import nearest
from bloatlab.measures import matching
from bloatlab.scenario import MOST_SEED
from bloatlab.statistics import Interval, interval
from bloatlab.sweep.axes import GridError
from bloatlab.sweep.gather import Gathered, Measure, gather
from bloatlab.sweep.grid import At, Grid
from bloatlab.sweep.pool import Executor, Point
from bloatlab.sweep.progress import Watch, silent
from bloatlab.sweep.store import Measured, Store

#: Default limit on seeds per grid point.
MOST_SEEDS = 100

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Target:
    """The largest half-width that is accepted for the confidence interval of a column.

    With `relative`, `width` is a fraction of the mean. `column` may contain `*`.
    """

    column: str
    width: float
    relative: bool

    def over(self, found: Interval) -> float:
        """Returns the ratio of the half-width of `found` to the target. The target is met if the ratio is at most 1."""
        return (found.relative if self.relative else found.half) / self.width

    def __str__(self) -> str:
        return f"{self.column} ±{100 * self.width:g} %" if self.relative else f"{self.column} ±{self.width:g}"


@dataclass(frozen=True)
class Until:
    """The targets of a sweep, and the limit on seeds per grid point."""

    targets: Sequence[Target]
    most: int = MOST_SEEDS

    @staticmethod
    def of(targets: Mapping[str, str | float], most: int = MOST_SEEDS) -> Until:
        """Reads targets such as `{"apps.call.voip.mos": "2%", "links.up.sojourn_ms.mean": 0.5}`. Raises `GridError`."""
        return Until([_target(column, wanted) for column, wanted in targets.items()], most)


@dataclass(frozen=True, slots=True)
class Stop:
    """The result of a grid point: its number of seeds, and the interval of each column with a target and values.

    `over` is the largest ratio of a half-width to its target. It is at most 1 if all targets are met, and infinite if
    there are too few values to judge a target (see `_intervals`).
    """

    at: At
    seeds: int
    intervals: Mapping[str, Interval]
    over: float

    @property
    def met(self) -> bool:
        """Whether every interval is narrow enough."""
        return self.over <= 1.0


@dataclass(frozen=True)
class Reached(Generic[T]):
    """The runs of all grid points. Each grid point has as many runs as its `Stop` has seeds.

    Without targets, `stops` is empty, and each grid point has one run per seed of the grid.
    """

    gathered: Gathered[T]
    stops: Sequence[Stop]


def read(data: Mapping[str, Any], seeds: Sequence[int]) -> Until | None:
    """Reads the targets in a grid file. Raises `GridError`."""
    given, most = data.get("until"), data.get("most_seeds", MOST_SEEDS)
    if given is None:
        if "most_seeds" in data:
            raise GridError('most_seeds: until is missing; for example until = { "apps.call.voip.mos" = "2%" }')
        return None
    if not isinstance(given, dict) or not given:
        raise GridError('until: expected a table of half widths by column, such as { "apps.call.voip.mos" = "2%" }')
    if len(seeds) < 2:
        raise GridError("until: one seed has no interval; begin with more, such as seeds = 10")
    if type(most) is not int or most < len(seeds):
        raise GridError(f"most_seeds: {most} is not a whole number of at least seeds, {len(seeds)}")
    _with_more(seeds, most)
    return Until.of(given, most)


def _with_more(seeds: Sequence[int], most: int) -> list[int]:
    """Returns `most` seeds: `seeds`, then the numbers after the largest. Raises `GridError` if one is too large."""
    last = max(seeds) + most - len(seeds)
    if last > MOST_SEED:
        raise GridError(f"seeds: {max(seeds)} is too large for most_seeds = {most}: the largest seed is {MOST_SEED}")
    return [*seeds, *range(max(seeds) + 1, last + 1)]


def _target(column: str, wanted: Any) -> Target:
    place = f"until.{column}"
    if isinstance(wanted, (int, float)) and not isinstance(wanted, bool) and 0.0 < wanted < math.inf:
        return Target(column, float(wanted), relative=False)
    found = re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+) ?%", wanted) if isinstance(wanted, str) else None
    if found is None or not float(found[1]):
        raise GridError(f'{place}: {wanted} is not a half width; expected "2%" of the mean, or a number in its unit')
    return Target(column, float(found[1]) / 100.0, relative=True)


def gather_until(
    grid: Grid,
    measure: Measure,
    until: Until | None,
    *,
    store: Store | None = None,
    jobs: int | None = None,
    watch: Callable[[int], Watch] = lambda _runs: silent(),
    executor: Executor | None = None,
) -> Reached[At]:
    """Measures every grid point with as many seeds as the targets `until` require.

    Without targets, every point is measured with the seeds of the grid.

    Runs are made in rounds. `watch` receives the number of runs of a round, and returns the display of their progress.
    Raises the errors of `gather`, and `GridError`.
    """
    if until is None:
        points = grid.points()
        return Reached(gather(points, measure, store=store, jobs=jobs, watch=watch(len(points)), executor=executor), [])
    seeds = _with_more(grid.seeds, until.most)
    have: dict[At, list[tuple[Point[At], Measured]]] = {at: [] for at in grid.places()}
    wanted = dict.fromkeys(have, len(grid.seeds))
    stops: dict[At, Stop] = {}
    found = ran = 0
    while len(stops) < len(have):
        points = [
            grid.point(at, seed)
            for n, seed in enumerate(seeds)
            for at, known in have.items()
            if at not in stops and len(known) <= n < wanted[at]
        ]
        done = gather(points, measure, store=store, jobs=jobs, watch=watch(len(points)), executor=executor)
        found, ran = found + done.found, ran + done.ran
        before = {at: len(known) for at, known in have.items()}
        if not any(before.values()):
            _have_values([value.row for value in done.values], until)
        for point, value in zip(done.points, done.values, strict=True):
            have[point.key].append((point, value))
        for at in [at for at in have if at not in stops]:
            rows = [value.row for _, value in have[at]]
            stop = _stop(at, rows, max(before[at] + 1, len(grid.seeds)), until)
            if stop.met or stop.seeds >= until.most:
                stops[at] = stop
            # if the deviation stayed constant, the width would fall as 1 / sqrt(n); but the deviation may change, so n
            # is at most doubled
            else:
                guess = math.ceil(stop.seeds * min(stop.over, 1.5) ** 2)
                wanted[at] = min(max(guess, stop.seeds + 1), 2 * stop.seeds, until.most)
    kept = [have[at][n] for n in range(len(seeds)) for at in have if n < stops[at].seeds]
    return Reached(Gathered([p for p, _ in kept], [v for _, v in kept], found, ran), [stops[at] for at in have])


def _stop(at: At, rows: Sequence[Mapping[str, Any]], least: int, until: Until) -> Stop:
    """Returns where a grid point stops: after the smallest number of seeds (at least `least`) that meets the targets.

    `rows` has one row per seed. If no number of seeds meets the targets, the grid point stops after all rows.
    """
    for n in range(least, len(rows)):
        stop = Stop(at, n, *_intervals(rows[:n], until))
        if stop.met:
            return stop
    return Stop(at, len(rows), *_intervals(rows, until))


def _intervals(rows: Sequence[Mapping[str, Any]], until: Until) -> tuple[dict[str, Interval], float]:
    """Returns the interval of each column that has a target, and the largest ratio of a half-width to its target.

    A column without finite values has no interval. The ratio is infinite for a column with only one value, and for a
    target of which no column has a value.
    """
    found: dict[str, Interval] = {}
    over = 0.0
    for target in until.targets:
        values = {name: _values(rows, name) for name in matching(target.column, _names(rows))}
        if not any(values.values()):
            over = math.inf
        for name, known in values.items():
            if known:
                found[name] = interval(known)
                over = max(over, target.over(found[name]) if len(known) > 1 else math.inf)
    return found, over


def _have_values(rows: Sequence[Mapping[str, Any]], until: Until) -> None:
    """Raises `GridError` for a target without a value in any run, because more seeds would hardly help.

    The rows of grid points may have different names, because their applications or links differ.
    """
    for target in until.targets:
        names = matching(target.column, known := _names(rows))
        if not names:
            raise GridError(f"until.{target.column}: no such number in the summary{nearest(target.column, known)}")
        if not any(_values(rows, name) for name in names):
            raise GridError(f"until.{target.column}: has no value in any run")


def _names(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns the names of the rows' columns, each once."""
    return list(dict.fromkeys(name for row in rows for name in row))


def _values(rows: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    """Returns the finite values of a column."""
    return [float(v) for row in rows if (v := row.get(name)) is not None and math.isfinite(v)]
