"""Gives each setting its points.

    points of a measure    from 1 (at or beyond its threshold `bad`) to 100 (at or beyond its threshold `good`)
    points of a run        weighted geometric mean of the points of all measures that apply to the load
    points of a setting    mean over the round trips for each seed; then mean over seeds, with its 95 % interval

The mean is geometric, as for desirability functions (Derringer & Suich, J. Quality Technology 1980): a full line does
not make up for an unusable call, as it would in an arithmetic mean. Two measures with 100 and 1 points give 10,
not 50.5.

A setting is *on the front* unless another setting is noticeably better in some measure and noticeably worse in none.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bloatlab.advice.catalogue import AdviceError, Load, Objective, Wanted
from bloatlab.advice.line import DOWN, UP, Line
from bloatlab.advice.options import Option
from bloatlab.statistics import Interval, interval

#: The numbers in a run's summary, by dotted path.
Row = Mapping[str, Any]

#: Points of a measure that fails completely. It is not 0, because points are multiplied: two settings that fail in
#: one measure would otherwise get the same score, whatever their other measures are.
LEAST = 1.0

#: The measure of time in the queue (ms), which tables show but which gives no points.
QUEUE = f"links.{UP}.sojourn_ms.p99"


@dataclass(frozen=True, slots=True)
class Value:
    """The value of one measure for one setting: its mean over all round trips and seeds, with an interval.

    Seeds that lack a value at one of the round trips are left out of the mean; `of` is None if no seed is left.
    `runs` is the number of runs, and `missing` is the number of runs without a value, for example because no page was
    loaded.
    """

    of: Interval | None
    missing: int
    runs: int

    @property
    def nothing(self) -> bool:
        """True if most runs have no value, or if no seed has a value at every round trip."""
        return self.of is None or 2 * self.missing > self.runs


@dataclass(frozen=True, slots=True)
class Judged:
    """A setting with its mean points, its points by seed, and its measures by name.

    `apps` are the points from the applications' measures alone (from all measures if there are none of applications).
    `queue_ms` is the 99th percentile of the time in the queue, averaged over all runs.
    """

    option: Option
    points: Interval
    seeds: Sequence[float]
    apps: Interval
    values: Mapping[str, Value]
    queue_ms: float


def _kind(app: Mapping[str, Any]) -> str:
    """Returns the traffic model of an application."""
    traffic = app["traffic"]
    return traffic if isinstance(traffic, str) else str(next(iter(traffic), ""))


def _direction(app: Mapping[str, Any]) -> str:
    """Returns "down" for a download of files to the home, and "up" for every other application."""
    traffic = app["traffic"]
    return DOWN if isinstance(traffic, Mapping) and traffic.get("ftp", {}).get("direction") == DOWN else UP


def of_direction(app: Mapping[str, Any], direction: str) -> bool:
    """Returns whether an application is a file transfer in this direction."""
    return _kind(app) == "ftp" and _direction(app) == direction


def apps_of(wanted: Wanted, load: Load) -> list[str]:
    """Returns the names of the load's applications that a measure covers."""
    of_kind = {name: app for name, app in load.apps.items() if _kind(app) in wanted.kinds}
    return [name for name, app in of_kind.items() if wanted.direction in {"", _direction(app)}]


def concerned(objective: Objective, load: Load) -> list[Wanted]:
    """Returns the weighted measures that apply to the load. Raises `AdviceError` if there are none."""
    of_apps = [m for m in objective.measures if m.kinds]
    if of_apps and not any(apps_of(m, load) for m in of_apps):
        kinds = ", ".join(sorted({kind for m in of_apps for kind in m.kinds}))
        raise AdviceError(f"--objective {objective.name}: wants {kinds}, and load {load.name} has none of these")
    # measures of the downstream link count only if an application downloads files
    downloads = any(of_direction(app, DOWN) for app in load.apps.values())
    found = [
        m
        for m in objective.measures
        if m.weight > 0.0 and (apps_of(m, load) if m.kinds else m.direction == UP or downloads)
    ]
    if not found:
        raise AdviceError(f"--objective {objective.name}: no measure with a weight applies to load {load.name}")
    return found


def value_of(wanted: Wanted, row: Row, load: Load, line: Line) -> float | None:
    """Returns the value of a measure in a run; None if the run has no value, for example because no page was loaded."""
    if wanted.kinds:
        found: list[float] = []
        for app in apps_of(wanted, load):
            value = _number(row, f"apps.{app}.{wanted.value}")
            less = _number(row, f"apps.{app}.{wanted.less}") if wanted.less else 0.0
            if value is None or less is None:
                return None
            found.append(value - less)
        return sum(found) / len(found)
    link = f"links.{wanted.direction}"
    if wanted.value == "share_percent":
        could = line.could_carry(load.warm_up, load.seconds, wanted.direction)
        return 100.0 * (_number(row, f"{link}.delivered_bytes") or 0.0) / could
    if wanted.value == "dropped_percent":
        offered = max(_number(row, f"{link}.offered_packets") or 0.0, 1.0)
        return 100.0 * (_number(row, f"{link}.dropped_packets") or 0.0) / offered
    return _number(row, f"{link}.{wanted.value}")


def _number(row: Row, path: str) -> float | None:
    value = row.get(path)
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def points_of(wanted: Sequence[Wanted], row: Row, load: Load, line: Line) -> float:
    """Returns the points of a run, 1 to 100."""
    total = sum(m.weight * math.log(max(m.points(value_of(m, row, load, line)), LEAST)) for m in wanted)
    return math.exp(total / sum(m.weight for m in wanted))


def judged(option: Option, rows: Mapping[float, Sequence[Row]], objective: Objective, load: Load, line: Line) -> Judged:
    """Computes the points and measures of a setting from its runs.

    `rows` maps each round trip to its rows, one per seed. All round trips have the same seeds in the same order.
    """
    wanted = concerned(objective, load)
    of_apps = [m for m in wanted if m.kinds] or wanted
    seeds, apps = (
        _means([[points_of(of, row, load, line) for row in runs] for runs in rows.values()]) for of in (wanted, of_apps)
    )
    values: dict[str, Value] = {}
    for m in wanted:
        found = [[value_of(m, row, load, line) for row in runs] for runs in rows.values()]
        every = [v for over in found for v in over]
        known = _means(found)
        values[m.name] = Value(interval(known) if known else None, every.count(None), len(every))
    queue = [found for runs in rows.values() for row in runs if (found := _number(row, QUEUE)) is not None]
    waited = sum(queue) / len(queue) if queue else 0.0
    return Judged(option, interval(seeds), seeds, interval(apps), values, waited)


def _means(over: Sequence[Sequence[float | None]]) -> list[float]:
    """Returns the mean over the round trips for each seed, leaving out seeds that lack a value."""
    seeds = [[v for v in of if v is not None] for of in zip(*over, strict=True)]
    return [sum(of) / len(of) for of in seeds if len(of) == len(over)]


def front(all_: Sequence[Judged], wanted: Sequence[Wanted]) -> list[Judged]:
    """Returns the settings on the front, as the module docstring defines it."""

    def dominates(first: Judged, second: Judged) -> bool:
        gains = [_gain(first.values[m.name], second.values[m.name], m) for m in wanted]
        return any(g >= 1.0 for g in gains) and not any(g <= -1.0 for g in gains)

    return [j for j in all_ if not any(dominates(other, j) for other in all_ if other is not j)]


def _gain(first: Value, second: Value, wanted: Wanted) -> float:
    """Returns the advantage of the first value over the second, in units of `noticed`.

    Any value is better than one that most runs lack.
    """
    if first.of is None or second.of is None or first.nothing or second.nothing:
        return 0.0 if first.nothing and second.nothing else -math.inf if first.nothing else math.inf
    more = first.of.mean - second.of.mean
    gain = more if wanted.better == "more" else -more
    if wanted.noticed <= 0.0:
        return math.copysign(math.inf, gain) if gain else 0.0
    return gain / wanted.noticed
