"""Axes as a grid file declares them, and the places that they come to.

"link.up.rate" = ["1mbit", "5mbit"]                                    a list of values
"link.up.delay" = { from = "5ms", to = "50ms", steps = 10 }            ten values at equal distances, with both ends
"link.up.rate" = { from = "1mbit", to = "1gbit", steps = 7, log = true }    at equal ratios
flows = { from = 1, to = 9, step = 2 }                                 1, 3, 5, 7, 9
queue = { codel = { "link.up.queue" = { codel = {} } }, ... }          named arms: each sets what it likes
"link.up.rate" = { from = "1mbit", to = "50mbit", log = true }         no steps: drawn by [sample]

    product of { zipped axes side by side;  the sample's points;  every other axis }  ->  where  ->  places
"""

from __future__ import annotations

import itertools
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bloatlab.errors import InputError, nearest
from bloatlab.scenario import Override, ScenarioError, problems
from bloatlab.scenario import toml as as_toml
from bloatlab.sweep.grid import At
from bloatlab.sweep.quantities import Amount

#: Most runs that a file may declare: beyond it, a mistake is likelier than a wish.
MOST_RUNS = 1_000_000

_METHODS = ("sobol", "latin-hypercube")
_RANGE_KEYS = ("from", "to", "steps", "step", "log")
_SAMPLE_KEYS = ("method", "points", "seed")

_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}


class GridError(InputError):
    """A grid file that says nothing to run; the message is one line with the path in the file."""


@dataclass(frozen=True, slots=True)
class Between:
    """An axis without values of its own: anything from `low` to `high`, which a sample draws from."""

    low: Amount
    high: Amount
    log: bool

    def at(self, share: float) -> float | int | str:
        """The value at a share of the way, in [0, 1); every whole number is as likely as any other."""
        if self.high.kind == "a whole number" and not self.log:
            return min(int(self.low.value) + int(share * (self.high.value - self.low.value + 1)), int(self.high.value))
        return _along(self.low, self.high, share, log=self.log).written()


@dataclass(frozen=True)
class Axes:
    """All of them: what each value sets, and the places in order. `sampled` names those that a sample drew."""

    sets: Mapping[str, Mapping[Any, Sequence[Override]]]
    places: Sequence[At]
    sampled: Sequence[str] = ()

    def values(self) -> dict[str, list[Any]]:
        """The values of each axis."""
        return {name: list(values) for name, values in self.sets.items()}


def read(data: Mapping[str, Any], most: int) -> Axes:
    """The axes of a grid file, of which at most `most` places are wanted. Raises `GridError`, without the file."""
    given = data.get("axes", {})
    if not isinstance(given, dict) or not given:
        raise GridError('axes: there is none; for example [axes] "link.up.rate" = ["1mbit", "5mbit"]')
    axes = {name: _axis(name, values) for name, values in given.items()}
    sampled = {name: axis for name, axis in axes.items() if isinstance(axis, Between)}
    listed = {name: axis for name, axis in axes.items() if not isinstance(axis, Between)}
    zips = _zips(data.get("zip", []), listed, sampled)
    sample = _sample(data.get("sample"), sampled)
    groups: list[list[tuple[tuple[str, Any], ...]]] = []
    placed: set[str] = set()
    for name in axes:
        if name in placed:
            continue
        group = next((z for z in zips if name in z), [name])
        if name in sampled:
            group = list(sampled)
            groups.append(sample)
        else:
            groups.append([tuple(zip(group, at, strict=True)) for at in zip(*(listed[n] for n in group), strict=True)])
        placed |= set(group)
    if math.prod(map(len, groups)) > most:
        raise GridError(
            f"axes: {math.prod(map(len, groups))} places; with the seeds that makes more than {MOST_RUNS} runs"
        )
    order = {name: n for n, name in enumerate(axes)}
    places = [At(tuple(sorted(itertools.chain(*chosen), key=lambda pair: order[pair[0]])))
              for chosen in itertools.product(*groups)]  # fmt: skip
    kept = _where(data.get("where", []), list(dict.fromkeys(places)), list(axes))
    sets = {name: dict(listed[name]) if name in listed else _drawn(name, sample) for name in axes}
    return Axes(sets, kept, list(sampled))


def _axis(name: str, values: Any) -> dict[Any, list[Override]] | Between:
    place = f"axes.{name}"
    if name in {"seed", "scenario_hash"}:
        raise GridError(f"{place}: seeds are no axis; write seeds = 10")
    match values:
        case [_, *_]:
            pairs = [(label(v), [(name, toml(v))]) for v in values]
        case {"from": _, **_rest} | {"to": _, **_rest} if not all(isinstance(v, dict) for v in values.values()):
            found = _range(place, values)
            if isinstance(found, Between):
                return found
            pairs = [(v, [(name, toml(v))]) for v in found]
        case {**named} if named:
            pairs = [(arm, overrides(f"{place}.{arm}", sets)) for arm, sets in named.items()]
        case _:
            raise GridError(
                f'{place}: a list of values, {{ from = "1mbit", to = "9mbit", steps = 5 }}, or a table of named ones, '
                "at least one of them"
            )
    axis = dict(pairs)
    if len(axis) < len(pairs):
        raise GridError(f"{place}: a value stands there twice")
    return axis


def _range(place: str, given: Mapping[str, Any]) -> list[Any] | Between:
    """Values from one end to the other, or what a sample draws from."""
    known(given, _RANGE_KEYS, f"{place}.")
    low, high = (_end(place, given, key) for key in ("from", "to"))
    if not low.like(high):
        raise GridError(f"{place}: from is {low.kind}, to is {high.kind}")
    if not low.value < high.value:
        raise GridError(f"{place}: from {given['from']} is not below to {given['to']}")
    log = _log(place, given, low)
    kind = low.kind if low.kind == high.kind else "a number"
    low, high = Amount(low.value, kind), Amount(high.value, kind)
    match given:
        case {"steps": _, "step": _}:
            raise GridError(f"{place}: steps and step: one of them")
        case {"steps": steps}:
            return _stepped(place, low, high, steps, log=log)
        case {"step": _} if log:
            raise GridError(f"{place}.step: equal ratios have no step; write steps")
        case {"step": step}:
            return _by_step(place, low, high, step)
        case _:
            return Between(low, high, log)


def _log(place: str, given: Mapping[str, Any], low: Amount) -> bool:
    log = given.get("log", False)
    if not isinstance(log, bool):
        raise GridError(f"{place}.log: {log} is neither true nor false")
    if log and low.value <= 0.0:
        raise GridError(f"{place}.from: {given['from']} has no logarithm; begin above 0")
    return log


def _end(place: str, given: Mapping[str, Any], key: str) -> Amount:
    found = Amount.of(given.get(key))
    if found is None:
        said = "is missing" if key not in given else f"{given[key]} is no number or quantity"
        raise GridError(f'{place}.{key}: {said}; for example {{ from = "1mbit", to = "9mbit", steps = 5 }}')
    return found


def _stepped(place: str, low: Amount, high: Amount, steps: Any, *, log: bool) -> list[Any]:
    if type(steps) is not int or not 2 <= steps <= MOST_RUNS:
        raise GridError(f"{place}.steps: {steps} is not a whole number from 2 to {MOST_RUNS}")
    values = [_along(low, high, n / (steps - 1), log=log).written() for n in range(steps)]
    if len(set(values)) < steps:
        raise GridError(f"{place}.steps: {steps} steps from {low.written()} to {high.written()} meet some values twice")
    return values


def _by_step(place: str, low: Amount, high: Amount, step: Any) -> list[Any]:
    by = Amount.of(step)
    if by is None or not by.like(low) or by.value <= 0.0:
        raise GridError(f"{place}.step: {step} is not {low.kind} above 0")
    steps = math.floor((high.value - low.value) / by.value + 1e-9) + 1
    if steps > MOST_RUNS:
        raise GridError(f"{place}.step: {steps} values; at most {MOST_RUNS}")
    kind = low.kind if by.kind == low.kind else "a number"
    values = [Amount(low.value + n * by.value, kind).written() for n in range(steps)]
    if len(set(values)) < steps:
        raise GridError(f"{place}.step: {step} is finer than the four digits that a value is written with")
    return values


def _along(low: Amount, high: Amount, share: float, *, log: bool) -> Amount:
    if log:
        return Amount(low.value * (high.value / low.value) ** share, low.kind)
    return Amount(low.value + (high.value - low.value) * share, low.kind)


def _zips(given: Any, listed: Mapping[str, Any], sampled: Mapping[str, Between]) -> list[list[str]]:
    """Axes that go side by side: each as long as the others, none in two groups."""
    if not isinstance(given, list) or not all(isinstance(z, list) and len(z) > 1 for z in given):
        raise GridError('zip: a list of groups of axes, such as [["link.up.rate", "link.down.rate"]]')
    used: dict[str, int] = {}
    for n, group in enumerate(given):
        for name in group:
            if name in sampled:
                raise GridError(f"zip: {name} is drawn by [sample]; give it steps, or leave it out")
            if name not in listed:
                raise GridError(f"zip: there is no axis {name}{nearest(str(name), listed)}")
            if name in used:
                raise GridError(f"zip: {name} stands in {'two groups' if used[name] != n else 'a group twice'}")
            used[name] = n
        lengths = {name: len(listed[name]) for name in group}
        if len(set(lengths.values())) > 1:
            words = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise GridError(f"zip: axes side by side have equally many values; there are {words}")
    return given


def _sample(given: Any, axes: Mapping[str, Between]) -> list[tuple[tuple[str, Any], ...]]:
    """The points of a sample over `axes`, each a value of every one of them."""
    if given is None:
        if axes:
            name = next(iter(axes))
            raise GridError(f"axes.{name}: how many values? write steps = 5, or a [sample] that draws them")
        return []
    if not isinstance(given, dict):
        raise GridError('sample: a table, such as { method = "sobol", points = 64 }')
    known(given, _SAMPLE_KEYS, "sample.")
    if not axes:
        raise GridError('sample: no axis to draw from; give one as { from = "1mbit", to = "50mbit" }, without steps')
    method, points, seed = given.get("method", "sobol"), given.get("points"), given.get("seed", 1)
    if method not in _METHODS:
        raise GridError(
            f"sample.method: {method} is not valid; {' or '.join(_METHODS)}{nearest(str(method), _METHODS)}"
        )
    if type(points) is not int or not 0 < points <= MOST_RUNS:
        raise GridError(f"sample.points: {points} is not a whole number from 1 to {MOST_RUNS}")
    if type(seed) is not int or seed < 0:
        raise GridError(f"sample.seed: {seed} is no seed; a whole number from 0 on")
    if method == "sobol" and points & (points - 1):
        below = 1 << (points.bit_length() - 1)
        raise GridError(f"sample.points: {points} is no power of two, which Sobol's needs; {below} or {2 * below}")
    shares = _shares(method, len(axes), points, seed)
    return [tuple((name, axis.at(s)) for (name, axis), s in zip(axes.items(), row, strict=True)) for row in shares]


def _shares(method: Literal["sobol", "latin-hypercube"], axes: int, points: int, seed: int) -> list[list[float]]:
    from scipy.stats import qmc  # noqa: PLC0415  half a second, which only samples wait for

    sampler = qmc.Sobol(axes, rng=seed) if method == "sobol" else qmc.LatinHypercube(axes, rng=seed)
    return sampler.random(points).tolist()


def _drawn(name: str, sample: Sequence[tuple[tuple[str, Any], ...]]) -> dict[Any, list[Override]]:
    return {value: [(name, toml(value))] for point in sample for axis, value in point if axis == name}


def _where(given: Any, places: Sequence[At], axes: Sequence[str]) -> list[At]:
    """The places at which every line holds; in a line one of the alternatives."""
    if not isinstance(given, list) or not all(isinstance(line, str) for line in given):
        raise GridError('where: a list of conditions, such as ["link.up.rate <= link.down.rate", "queue != codel"]')
    lines = [[_condition(line, part.strip(), places, axes) for part in re.split(r"\s+or\s+", line)] for line in given]
    kept = [at for at in places if all(any(holds(at) for holds in line) for line in lines)]
    if not kept:
        raise GridError(f"where: no place is left of {len(places)}")
    return kept


def _condition(line: str, part: str, places: Sequence[At], axes: Sequence[str]) -> Callable[[At], bool]:
    found = re.fullmatch(r"(.+?)\s*(<=|>=|==|!=|<|>)\s*(.+)", part)
    if found is None:
        raise GridError(f'where: "{line}" is no condition; AXIS, one of {" ".join(_COMPARE)}, then a value or an axis')
    name, sign, right = found[1].strip(), found[2], found[3].strip().strip("\"'")
    if name not in axes:
        raise GridError(f'where: "{line}": there is no axis {name}{nearest(name, axes)}')
    compare = _COMPARE[sign]
    labels = {str(at[name]) for at in places}
    if right not in axes and sign in {"==", "!="} and right not in labels and _amount(right) is None:
        raise GridError(f'where: "{line}": {name} never is {right}{nearest(right, labels)}')

    def holds(at: At) -> bool:
        left, other = at[name], at[right] if right in axes else right
        mine, theirs = _amount(left), _amount(other)
        if mine is not None and theirs is not None and mine.like(theirs):
            return compare(mine.value, theirs.value)
        if sign in {"==", "!="}:
            return compare(str(left), str(other))
        raise GridError(f'where: "{line}": {left} and {other} have no order')

    return holds


def _amount(value: Any) -> Amount | None:
    if isinstance(value, str):
        with_unit = Amount.of(value)
        if with_unit is not None:
            return with_unit
        return Amount(float(value), "a number") if re.fullmatch(r"-?[0-9]+\.?[0-9]*([eE]-?[0-9]+)?", value) else None
    return Amount.of(value)


def overrides(place: str, sets: Any) -> list[Override]:
    """A table of values by their paths, as overrides. Raises `GridError`."""
    if not isinstance(sets, dict):
        raise GridError(f'{place}: a table of values by their paths, such as {{ "link.up.rate" = "5mbit" }}')
    return [(name, toml(value)) for name, value in sets.items()]


def known(given: Mapping[str, Any], valid: Sequence[str], place: str = "") -> None:
    """Raises `GridError` for a key that is not valid."""
    for key in given:
        if key not in valid:
            raise GridError(f'{place}unknown key "{key}"{nearest(key, valid)} (valid: {", ".join(valid)})')


def label(value: Any) -> Any:
    """A value as it stands in a column."""
    return value if isinstance(value, (str, int, float)) else toml(value)


def toml(value: Any) -> str:
    """A value as it stands in TOML, on one line. Raises `GridError` for what has no place in a scenario (a date)."""
    try:
        return as_toml(value)
    except ScenarioError as error:
        raise GridError(problems(error)[0]) from None
