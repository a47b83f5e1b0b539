"""How good each option is.

    points of a run       weighted geometric mean over the measures that the load has, each 1 to 100 by its thresholds
    points of an option   mean over the round trips, seed by seed; then mean over seeds, with its 95 % interval

The geometric mean is that of desirabilities (Derringer & Suich, J. Quality Technology 1980): a full line does not pay
for a call that nobody can hold, as it would in an arithmetic one. With two measures 100 and 1 are 10, not 50.

An option is *on the front* when no other is noticeably better in one measure and noticeably worse in none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bloatlab.advice.catalogue import AdviceError, Load, Objective, Wanted
from bloatlab.advice.line import DOWN, UP, Line
from bloatlab.advice.options import Option
from bloatlab.statistics import Interval, interval

#: What a run's summary says, by dotted path.
Row = Mapping[str, Any]

#: Points of what fails altogether: not 0, so that two options that fail in one measure still differ by the others.
LEAST = 1.0

#: The time in the queue, which is shown and not judged: ms.
QUEUE = f"links.{UP}.sojourn_ms.p99"


@dataclass(frozen=True, slots=True)
class Value:
    """A measure of an option: its mean over round trips and seeds; `missing` of `runs` runs have none (no page)."""

    of: Interval | None
    missing: int
    runs: int

    @property
    def nothing(self) -> bool:
        """Whether most runs have no value."""
        return self.of is None or 2 * self.missing > self.runs


@dataclass(frozen=True, slots=True)
class Judged:
    """An option with its points (by seed, and at each round trip in s), its measures by name, its time in the queue.

    `apps` are the points by what applications measure alone, `queue_ms` the 99th percentile of the time in the queue.
    """

    option: Option
    points: Interval
    seeds: Sequence[float]
    at: Mapping[float, float]
    apps: Interval
    values: Mapping[str, Value]
    queue_ms: float


def kind_of(app: Mapping[str, Any]) -> str:
    """Which traffic an application of a load is."""
    traffic = app["traffic"]
    return traffic if isinstance(traffic, str) else str(next(iter(traffic), ""))


def apps_of(wanted: Wanted, load: Load) -> list[str]:
    """The applications of a load that a measure is about."""
    of_kind = {name: app for name, app in load.apps.items() if kind_of(app) in wanted.kinds}
    if not wanted.direction:
        return list(of_kind)
    return [name for name, app in of_kind.items() if _direction(app) == wanted.direction]


def _direction(app: Mapping[str, Any]) -> str:
    """Where a file transfer goes, seen from the home: "up" or "down"."""
    traffic = app["traffic"]
    return DOWN if isinstance(traffic, Mapping) and traffic.get("ftp", {}).get("direction") == DOWN else UP


def _asks(wanted: Wanted, load: Load) -> bool:
    """Whether a load has what a measure is about. Downstream, the use of the line counts where files come down."""
    if wanted.kinds:
        return bool(apps_of(wanted, load))
    return wanted.direction == UP or any(
        kind_of(app) == "ftp" and _direction(app) == DOWN for app in load.apps.values()
    )


def concerned(objective: Objective, load: Load) -> list[Wanted]:
    """The measures that count and that the load has. Raises `AdviceError` for none."""
    of_apps = [m for m in objective.measures if m.kinds]
    if of_apps and not any(apps_of(m, load) for m in of_apps):
        kinds = ", ".join(sorted({kind for m in of_apps for kind in m.kinds}))
        raise AdviceError(f"--objective {objective.name}: wants {kinds}, and load {load.name} has none of it")
    found = [m for m in objective.measures if m.weight > 0.0 and _asks(m, load)]
    if not found:
        raise AdviceError(f"--objective {objective.name}: nothing that has a weight is in load {load.name}")
    return found


def value_of(wanted: Wanted, row: Row, load: Load, line: Line) -> float | None:
    """One measure of one run; None for what never happened."""
    if not wanted.kinds:
        return _of_link(wanted, row, load, line)
    found: list[float] = []
    for app in apps_of(wanted, load):
        value = _number(row, f"apps.{app}.{wanted.value}")
        less = _number(row, f"apps.{app}.{wanted.less}") if wanted.less else 0.0
        if value is None or less is None:
            return None
        found.append(value - less)
    return sum(found) / len(found)


def _of_link(wanted: Wanted, row: Row, load: Load, line: Line) -> float | None:
    link = wanted.direction
    of = {key: _number(row, f"links.{link}.{key}") for key in ("delivered_bytes", "dropped_packets", "offered_packets")}
    if wanted.value == "share_percent":
        return 100.0 * (of["delivered_bytes"] or 0.0) / line.could_carry(load.warm_up, load.seconds, link)
    if wanted.value == "dropped_percent":
        return 100.0 * (of["dropped_packets"] or 0.0) / max(of["offered_packets"] or 0.0, 1.0)
    return _number(row, f"links.{link}.{wanted.value}")


def _number(row: Row, path: str) -> float | None:
    value = row.get(path)
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def points_of(wanted: Sequence[Wanted], row: Row, load: Load, line: Line) -> float:
    """The points of one run, 1 to 100."""
    total = sum(m.weight * math.log(max(m.points(value_of(m, row, load, line)), LEAST)) for m in wanted)
    return math.exp(total / sum(m.weight for m in wanted))


def judged(option: Option, rows: Mapping[float, Sequence[Row]], objective: Objective, load: Load, line: Line) -> Judged:
    """An option from its runs: at each round trip a row per seed, the same seeds everywhere."""
    wanted = concerned(objective, load)
    of_apps = [m for m in wanted if m.kinds] or wanted
    at = {rtt: [points_of(wanted, row, load, line) for row in runs] for rtt, runs in rows.items()}
    seeds = _means(list(at.values()))
    apps = _means([[points_of(of_apps, row, load, line) for row in runs] for runs in rows.values()])
    values = {m.name: _value(m, rows, load, line) for m in wanted}
    queue = [found for runs in rows.values() for row in runs if (found := _number(row, QUEUE)) is not None]
    means = {rtt: sum(points) / len(points) for rtt, points in at.items()}
    mean = sum(queue) / len(queue) if queue else 0.0
    return Judged(option, interval(seeds), seeds, means, interval(apps), values, mean)


def _means(over: Sequence[Sequence[float]]) -> list[float]:
    """The mean over round trips of each seed."""
    return [sum(of) / len(of) for of in zip(*over, strict=True)]


def _value(wanted: Wanted, rows: Mapping[float, Sequence[Row]], load: Load, line: Line) -> Value:
    found = [[value_of(wanted, row, load, line) for row in runs] for runs in rows.values()]
    seeds: list[float] = []
    for over in zip(*found, strict=True):
        known = [v for v in over if v is not None]
        if len(known) == len(over):
            seeds.append(sum(known) / len(known))
    runs = [v for over in found for v in over]
    return Value(interval(seeds) if seeds else None, sum(v is None for v in runs), len(runs))


def front(all_: Sequence[Judged], wanted: Sequence[Wanted]) -> list[Judged]:
    """The options that no other beats."""
    return [j for j in all_ if not any(_beats(other, j, wanted) for other in all_ if other is not j)]


def _beats(first: Judged, second: Judged, wanted: Sequence[Wanted]) -> bool:
    gains = [_gain(first.values[m.name], second.values[m.name], m) for m in wanted]
    return any(g >= 1.0 for g in gains) and not any(g <= -1.0 for g in gains)


def _gain(first: Value, second: Value, wanted: Wanted) -> float:
    """How much better the first is, in what somebody would notice; something beats nothing."""
    nothing = (first.nothing, second.nothing)
    if any(nothing):
        return 0.0 if all(nothing) else -math.inf if nothing[0] else math.inf
    assert first.of is not None  # noqa: S101  else nothing[0]
    assert second.of is not None  # noqa: S101
    more = first.of.mean - second.of.mean
    gain = more if wanted.better == "more" else -more
    if wanted.noticed <= 0.0:
        return math.copysign(math.inf, gain) if gain else 0.0
    return gain / wanted.noticed
