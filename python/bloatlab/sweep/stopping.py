"""More seeds until a mean is known well enough.

until = { "apps.call.voip.mos" = "2%", "links.up.sojourn_ms.p99" = 5.0 }    # half width: a share of the mean, or itself
seeds = 10                                                                 # to begin with
most_seeds = 100                                                           # the cap

A place on the axes takes the seeds in order and stops at the first number n >= `seeds` of them at which every interval
(95 %, Student's t) is that narrow, or at the cap. What n is follows from the results alone, not from how many are run
at a time; runs beyond n are kept in the store and are in no table. As n depends on the values, such an interval holds
the truth a little less often than 95 %: begin with ten or more.
"""

from __future__ import annotations

import fnmatch
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from bloatlab.errors import nearest
from bloatlab.statistics import Interval, interval
from bloatlab.sweep.axes import GridError
from bloatlab.sweep.gather import Gathered, Measure, gather
from bloatlab.sweep.grid import At, Grid
from bloatlab.sweep.pool import Executor, Point
from bloatlab.sweep.progress import Watch, silent
from bloatlab.sweep.store import Measured, Store

#: Seeds of one place, unless a file says otherwise.
MOST_SEEDS = 100

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Target:
    """How narrow: `width` is half the interval's, a share of the mean with `relative`. `column` may have `*`."""

    column: str
    width: float
    relative: bool

    def over(self, found: Interval) -> float:
        """How many times too wide it is."""
        return (found.relative if self.relative else found.half) / self.width

    def __str__(self) -> str:
        return f"{self.column} ±{100 * self.width:g} %" if self.relative else f"{self.column} ±{self.width:g}"


@dataclass(frozen=True)
class Until:
    """What a sweep wants to know, and the most seeds of a place that it may take."""

    targets: Sequence[Target]
    most: int = MOST_SEEDS

    @staticmethod
    def of(targets: Mapping[str, str | float], most: int = MOST_SEEDS) -> Until:
        """`{"apps.call.voip.mos": "2%", "links.up.sojourn_ms.mean": 0.5}`. Raises `GridError`."""
        return Until([_target(column, wanted) for column, wanted in targets.items()], most)


@dataclass(frozen=True, slots=True)
class Stop:
    """Where a place stopped: after how many seeds, with which interval of each column, and how wide that is.

    `over` is how many times too wide the widest is: at most 1 where all are reached. A column that no run of the place
    has a value for is in none of them.
    """

    at: At
    seeds: int
    intervals: Mapping[str, Interval]
    over: float

    @property
    def met(self) -> bool:
        """Whether every interval is as narrow as was asked."""
        return self.over <= 1.0


@dataclass(frozen=True)
class Reached(Generic[T]):
    """The runs up to where each place stopped, and where that was."""

    gathered: Gathered[T]
    stops: Sequence[Stop]


def read(data: Mapping[str, Any], seeds: Sequence[int]) -> Until | None:
    """What a grid file asks for. Raises `GridError`."""
    given, most = data.get("until"), data.get("most_seeds", MOST_SEEDS)
    if given is None:
        if "most_seeds" in data:
            raise GridError(
                'most_seeds: is the cap of until, which is missing: until = { "apps.call.voip.mos" = "2%" }'
            )
        return None
    if not isinstance(given, dict) or not given:
        raise GridError('until: a table of half widths by column, such as { "apps.call.voip.mos" = "2%" }')
    if len(seeds) < 2:
        raise GridError("until: one seed has no interval; begin with more, such as seeds = 10")
    if type(most) is not int or most < len(seeds):
        raise GridError(f"most_seeds: {most} is not a whole number from seeds on, which is {len(seeds)}")
    return Until.of(given, most)


def _target(column: str, wanted: Any) -> Target:
    place = f"until.{column}"
    if isinstance(wanted, (int, float)) and not isinstance(wanted, bool) and 0.0 < wanted < math.inf:
        return Target(column, float(wanted), relative=False)
    found = re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+) ?%", wanted) if isinstance(wanted, str) else None
    if found is None or not float(found[1]):
        raise GridError(f'{place}: {wanted} is no half width; "2%" of the mean, or a number in the unit of the column')
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
    """Measure every place with as many seeds as it takes, without `until` with the grid's own.

    `watch` is asked for a watch of each round, with its number of runs. Raises what `gather` does, and `GridError`.
    """
    if until is None:
        points = grid.points()
        return Reached(gather(points, measure, store=store, jobs=jobs, watch=watch(len(points)), executor=executor), [])
    seeds = [*grid.seeds]
    seeds += range(max(seeds) + 1, max(seeds) + 1 + until.most - len(seeds))
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
        for point, value in zip(done.points, done.values, strict=True):
            have[point.key].append((point, value))
        for at in [at for at in have if at not in stops]:
            rows = [value.row for _, value in have[at]]
            stop, more = _looked(at, rows, max(before[at] + 1, len(grid.seeds)), until)
            wanted[at] = more
            if stop is not None:
                stops[at] = stop
    kept = [have[at][n] for n in range(len(seeds)) for at in have if n < stops[at].seeds]
    return Reached(Gathered([p for p, _ in kept], [v for _, v in kept], found, ran), [stops[at] for at in have])


def _looked(at: At, rows: Sequence[Mapping[str, Any]], least: int, until: Until) -> tuple[Stop | None, int]:
    """Where the place stops among its first `least` to all rows; else how many rows to have next."""
    intervals: dict[str, Interval] = {}
    over = 0.0
    for n in range(least, len(rows) + 1):
        intervals, over = _intervals(rows[:n], until)
        if over <= 1.0:
            return Stop(at, n, intervals, over), n
    n = len(rows)
    if n >= until.most:
        return Stop(at, n, intervals, over), n
    # the width falls as 1 / sqrt(n): where it will be met if the deviation stays; at most twice as many, as it does not
    guess = math.ceil(n * over * over) if math.isfinite(over) else 2 * n
    return None, min(max(guess, n + 1), 2 * n, until.most)


def _intervals(rows: Sequence[Mapping[str, Any]], until: Until) -> tuple[dict[str, Interval], float]:
    """The interval of each column that has one, and how many times too wide the widest is."""
    found: dict[str, Interval] = {}
    over = 0.0
    for target in until.targets:
        names = fnmatch.filter(rows[0], target.column)
        if not names:
            raise GridError(f"until.{target.column}: no such value in the summary{nearest(target.column, rows[0])}")
        for name in names:
            values = [float(v) for row in rows if (v := row.get(name)) is not None and math.isfinite(v)]
            if values:
                found[name] = interval(values)
                over = max(over, target.over(found[name]) if len(values) > 1 else math.inf)
    return found, over
