"""The axes of a grid file, and the grid points that they define.

"link.up.rate" = ["1mbit", "5mbit"]                                    a list of values
"link.up.delay" = { from = "5ms", to = "50ms", steps = 10 }            ten evenly spaced values, including both ends
"link.up.rate" = { from = "1mbit", to = "1gbit", steps = 7, log = true }    at equal ratios
flows = { from = 1, to = 9, step = 2 }                                 1, 3, 5, 7, 9
queue = { codel = { "link.up.queue" = { codel = {} } }, ... }          named arms: each sets values by path
"link.up.rate" = { from = "1mbit", to = "50mbit", log = true }         no steps: drawn by [sample]

    product of { zipped axes side by side;  the sample's points;  every other axis }  ->  where  ->  grid points
"""

import functools
import itertools
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bloatlab.errors import InputError, nearest
from bloatlab.measures import declared
from bloatlab.scenario import Override, Scenario, ScenarioError, plain, problems, toml_value
from bloatlab.sweep.grid import At, Grid
from bloatlab.sweep.over_seeds import COLUMNS, Zips
from bloatlab.sweep.overriding import Values, contains, same
from bloatlab.sweep.quantities import Amount, read_amount, spelled

#: Maximum number of runs in a grid; more is probably a mistake.
MOST_RUNS = 1_000_000

#: Significant digits of the values of a range with a `step`. More digits would show rounding errors of the sums.
STEP_DIGITS = 12

#: Keys of a summary that are not measures: the name and the version, which a sweep's table leaves out, and the seed.
NO_COLUMNS = ("name", "seed", "version")

_METHODS = ("sobol", "latin-hypercube")
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}

#: Matches `write --set PATH=VALUE` at the end of a message. A grid file needs another form of this advice.
_AS_SET = re.compile(r"write --set '([^=]+)=(.*)'$")

#: A name and a value for each axis of a group: the sampled axes, zipped axes, or a single axis.
_Drawn = tuple[tuple[str, Any], ...]


class GridError(InputError):
    """An invalid grid; the message is one line with the path in the file."""


@dataclass(frozen=True, slots=True)
class Between:
    """A range of values for an axis, from `low` to `high`. Each point of a sample has a value drawn from this range.

    `ends` holds both ends as the grid points contain them: as in the grid file, or as floats if both ends are plain
    numbers and not both are whole.
    """

    low: Amount
    high: Amount
    log: bool
    ends: tuple[Any, Any]

    def at(self, share: float) -> float | int | str:
        """Returns the value at a position in the range: `share` is 0 at `low` and 1 at `high`.

        The ends are returned in the form of `ends`. Values between them are rounded, but not to a value beyond an end.
        """
        low, high = self.low.value, self.high.value
        value = low * (high / low) ** share if self.log else low + (high - low) * share
        written = Amount(value, self.low.kind).written()
        rounded = value if (found := Amount.of(written)) is None else found.value
        if share == 0.0 or rounded <= low:
            return self.ends[0]
        return self.ends[1] if share == 1.0 or rounded >= high else written

    def drawn(self, share: float) -> float | int | str:
        """Returns a value drawn from the range with the random number `share` in [0, 1).

        In a linear range of whole numbers, all numbers are equally likely.
        """
        low, high = self.low.value, self.high.value
        if self.high.kind == "a whole number" and not self.log:
            return min(int(low) + int(share * (high - low + 1)), int(high))
        return self.at(share)


@dataclass(frozen=True)
class Axes:
    """The axes of a grid: the overrides for each value, and the grid points in order.

    `sampled` holds the names of the sampled axes, `zips` the groups of zipped axes.
    """

    sets: Mapping[str, Mapping[Any, Sequence[Override]]]
    places: Sequence[At]
    sampled: Sequence[str] = ()
    zips: Zips = ()

    def grid(
        self,
        read: Callable[[Sequence[Override], str], Scenario],
        seeds: Sequence[int],
        source: str,
        fixed: Sequence[Override],
        last: Sequence[Override] = (),
    ) -> Grid:
        """Makes the grid. `read` makes its scenarios from overrides.

        The order of the overrides is `fixed`, then the overrides of the grid point, then `last`, then the seed.
        `source` names the grid in messages. `refuse` checks that no override is lost.
        """

        @functools.cache
        def at_place(*at: tuple[str, Any]) -> Scenario:
            chosen = [override for axis, value in at for override in self.sets[axis][value]]
            place = " ".join(f"{axis}={spelled(value)}" for axis, value in at)
            sets = [("seed", str(seeds[0])), *fixed, *chosen, *last]
            try:
                return read(sets, f"{source} ({place})")
            except ScenarioError as error:
                lines = [_in_grid(line, [axis for axis, _ in at], last) for line in problems(error)]
                raise ScenarioError(lines) from None

        def build(*, seed: int, **at: Any) -> Scenario:
            return at_place(*at.items()).with_seed(seed)

        return Grid({axis: list(values) for axis, values in self.sets.items()}, build, seeds, given=self.places)

    @functools.cached_property
    def given(self) -> Mapping[str, Values]:
        """The values that each axis sets."""
        return {axis: Values.of(arms) for axis, arms in self.sets.items()}

    def refuse(self, sets: Sequence[Override], kind: str, *, before: bool = False) -> None:
        """Raises `GridError` if `sets`, overrides for all runs, contain the seed or undo what an axis varies.

        By default, these overrides apply after those of the axes. With `before`, they apply first; then an axis may
        change a part of their values, but must not replace a whole value. The message begins with `kind`, which says
        where the overrides come from.
        """
        for path, _ in sets:
            if same(path, "seed"):
                raise GridError(f"{kind}{path}: seeds varies it")
            for axis, values in self.given.items():
                by = values.replacing(path)
                if by and same(by, path):
                    raise GridError(f"{kind}{path}: axes.{axis} varies it")
                if before and by:
                    raise GridError(f"{kind}{path}: axes.{axis} replaces it, because it sets {by}")
                for lost in [] if before else values.replaced_by(path):
                    why = "varies it" if contains(path, lost) else _as_text(lost)
                    raise GridError(f"{kind}{path}: axes.{axis} {why}")


def _in_grid(line: str, axes: Sequence[str], last: Sequence[Override]) -> str:
    """Rewrites a message that advises `--set PATH=VALUE`, unless it is about an override in `last`.

    The new advice is a line of the grid file, PATH = VALUE. If an axis varies a value at or below PATH, VALUE is in a
    list, as for an axis.
    """
    found = _AS_SET.search(line)
    if found is None or any(contains(found[1], path) for path, _ in last):
        return line
    value = f"[{found[2]}]" if any(contains(found[1], axis) for axis in axes) else found[2]
    return f"{line[: found.start()]}write '{found[1]}' = {value}"


def _as_text(path: str) -> str:
    """Returns an error text: values inside a queue in tc's syntax cannot be set later. Includes the remedy."""
    return f"gives {path} as text with parameters; write a table there, such as {{ codel = {{ ecn = true }} }}"


def read(data: Mapping[str, Any], most: int) -> Axes:
    """Reads the axes of a grid file, with at most `most` grid points.

    Raises `GridError`, whose message does not name the file, and `ScenarioError` for a value that no scenario can
    contain, such as a date.
    """
    given = data.get("axes", {})
    if not isinstance(given, dict) or not given:
        raise GridError('axes: none given; for example [axes] "link.up.rate" = ["1mbit", "5mbit"]')
    axes = {name: axis(name, values) for name, values in given.items()}
    for name in axes:
        _free(name)
        if like := [other for other in axes if other != name and other.lower() == name.lower()]:
            why = f"axes.{like[0]} differs only in case, which SQL ignores"
            raise GridError(f"axes.{name}: {why}; rename one of them (named arms can have any name)")
    sampled = {name: of for name, of in axes.items() if isinstance(of, Between)}
    listed = {name: of for name, of in axes.items() if not isinstance(of, Between)}
    zips = _zips(data.get("zip", []), listed, sampled)
    sample = _sample(data.get("sample"), sampled)
    groups: list[list[_Drawn]] = []
    placed: set[str] = set()
    for name in axes:
        if name in placed:
            continue
        if name in sampled:
            group, points = list(sampled), sample
        else:
            group = next((z for z in zips if name in z), [name])
            points = [tuple(zip(group, at, strict=True)) for at in zip(*(listed[n] for n in group), strict=True)]
        groups.append(points)
        placed.update(group)
    count = math.prod(map(len, groups))
    if count > most:
        raise GridError(f"axes: {count} grid points; with the seeds, more than {MOST_RUNS} runs")
    order = {name: n for n, name in enumerate(axes)}
    places = [At(tuple(sorted(itertools.chain(*chosen), key=lambda pair: order[pair[0]])))
              for chosen in itertools.product(*groups)]  # fmt: skip
    kept = _where(data.get("where", []), list(dict.fromkeys(places)), list(axes))
    drawn = {
        name: {v: [(name, toml_value(v))] for point in sample for axis, v in point if axis == name} for name in sampled
    }
    found = Axes(
        {name: dict(listed[name]) if name in listed else drawn[name] for name in axes}, kept, list(sampled), zips
    )
    refuse_each_other(found.given, lambda arms: any(all(at[a] in some for a, some in arms.items()) for at in kept))
    return found


def _free(name: str) -> None:
    """Raises `GridError` for an axis with the name (ignoring case) of another column or row of the sweep's tables."""
    lower = name.lower()
    if lower in {"seed", "scenario_hash"}:
        raise GridError(f"axes.{name}: seeds are not an axis; write seeds = 10")
    if lower in {"seeds", "rest"}:
        raise GridError(f"axes.{name}: is a source of variance in the table of --effects; rename the axis")
    if lower in COLUMNS:
        raise GridError(f"axes.{name}: is a column of --summary; rename the axis ({', '.join(COLUMNS)} are taken)")
    if lower == "file_row_number":
        raise GridError(f"axes.{name}: is a column of DuckDB, which reads the sweep's table; rename the axis")
    if lower not in NO_COLUMNS and declared(lower):
        raise GridError(f"axes.{name}: is a number of every run's summary (docs/results.md); rename the axis")


def refuse_each_other(
    given: Mapping[str, Values], meet: Callable[[Mapping[str, set[Any]]], bool] = lambda _arms: True
) -> None:
    """Raises `GridError` if the arms of an axis set the seed, or undo what the arms of an earlier axis set.

    `given` has the values of each axis, in the order in which they apply. `meet` returns whether arms of two axes occur
    together.
    """
    for axis, values in given.items():
        if any(same(path, "seed") for path in values.paths):
            raise GridError(f"axes.{axis}: seed: an axis cannot set it, because every run has a seed of its own")
    for (axis, earlier), (other, later) in itertools.combinations(given.items(), 2):
        for path, arms in later.paths.items():
            for lost, undone in earlier.replaced_by(path).items():
                if meet({axis: undone, other: arms}):
                    why = f"sets {lost} inside it; write axes.{other} first"
                    if same(path, lost):
                        why = "sets it, too; only one of them can"
                    elif contains(lost, path):
                        why = _as_text(lost)
                    place = f"axes.{other}" if path == other else f"axes.{other}: {path}"
                    raise GridError(f"{place}: axes.{axis} {why}")


def axis(name: str, values: Any) -> dict[Any, list[Override]] | Between:
    """Reads one axis: the overrides for each of its values, or a range. Raises `GridError`."""
    place = f"axes.{name}"
    match values := plain(values, place):
        case [_, *_]:
            pairs = [(label(v, place), [(name, toml_value(v))]) for v in values]
        case {"from": _, **_rest} | {"to": _, **_rest} if not all(isinstance(v, dict) for v in values.values()):
            found = _range(place, values)
            if isinstance(found, Between):
                return found
            pairs = [(v, [(name, toml_value(v))]) for v in found]
        case {**named} if named:
            pairs = [(arm, overrides(f"{place}.{arm}", sets)) for arm, sets in named.items()]
        case _:
            example = '{ from = "1mbit", to = "9mbit", steps = 5 }'
            raise GridError(f"{place}: expected a list of values, {example}, or a table of named arms; not empty")
    read = dict(pairs)
    if len(read) < len(pairs):
        raise GridError(f"{place}: a value is given twice")
    return read


def _range(place: str, given: Mapping[str, Any]) -> list[Any] | Between:
    """Returns the values of a range that has `steps` or `step`.

    A range with neither is returned as `Between`, because a sample draws its values.
    """
    known(given, ("from", "to", "steps", "step", "log"), f"{place}: ")
    low, high = (_end(place, given, key) for key in ("from", "to"))
    if not low.like(high):
        raise GridError(f"{place}: from is {low.kind}, to is {high.kind}")
    if not low.value < high.value:
        raise GridError(f"{place}: from {given['from']} is not below to {given['to']}")
    log = given.get("log", False)
    if not isinstance(log, bool):
        raise GridError(f"{place}.log: {log} is not true or false")
    if log and low.value <= 0.0:
        raise GridError(f"{place}.from: {given['from']} has no logarithm; begin above 0")
    kind = low.kind if low.kind == high.kind else "a number"
    ends = (low.value, high.value) if kind == "a number" else (given["from"], given["to"])
    between = Between(Amount(low.value, kind), Amount(high.value, kind), log, ends)
    match given:
        case {"steps": _, "step": _}:
            raise GridError(f"{place}: give steps or step, not both")
        case {"steps": steps}:
            return _stepped(place, between, steps)
        case {"step": _} if log:
            raise GridError(f"{place}.step: equal ratios have no step; write steps")
        case {"step": step}:
            return _by_step(place, between, step)
        case _:
            return between


def _end(place: str, given: Mapping[str, Any], key: str) -> Amount:
    found = Amount.of(given.get(key))
    if found is None or not math.isfinite(found.value):
        why = "is missing" if key not in given else f"{given[key]} is not a number or quantity"
        raise GridError(f'{place}.{key}: {why}; for example {{ from = "1mbit", to = "9mbit", steps = 5 }}')
    return found


def _stepped(place: str, between: Between, steps: Any) -> list[Any]:
    if type(steps) is not int or not 2 <= steps <= MOST_RUNS:
        raise GridError(f"{place}.steps: {steps} is not a whole number from 2 to {MOST_RUNS}")
    values = [between.at(n / (steps - 1)) for n in range(steps)]
    if len(set(values)) < steps:
        ends = f"from {between.ends[0]} to {between.ends[1]}"
        why = "values are rounded to four digits or whole units"
        if between.low.kind == "a whole number":
            why = f"between whole numbers, values are whole; for fractions, write to = {between.high.value}"
        raise GridError(f"{place}.steps: {steps} steps {ends} give some values twice; {why}")
    return values


def _by_step(place: str, between: Between, step: Any) -> list[Any]:
    by, low = Amount.of(step), between.low
    if by is None or not by.like(low) or not 0.0 < by.value < math.inf:
        raise GridError(f"{place}.step: {step} is not {low.kind} above 0")
    steps = math.floor((between.high.value - low.value) / by.value + 1e-9) + 1
    if steps > MOST_RUNS:
        raise GridError(f"{place}.step: {steps} values; at most {MOST_RUNS}")
    kind = low.kind if by.kind == low.kind else "a number"
    first = low.value if kind == "a number" else between.ends[0]
    values = [first, *(Amount(low.value + n * by.value, kind).written(STEP_DIGITS) for n in range(1, steps))]
    if len(set(values)) < steps:
        raise GridError(f"{place}.step: {step} is too small beside {between.ends[0]}: some values are given twice")
    return values


def _zips(given: Any, listed: Mapping[str, Any], sampled: Mapping[str, Between]) -> list[list[str]]:
    """Reads the groups of axes that vary together. Axes in a group have the same length; no axis is in two groups."""
    if not isinstance(given, list) or not all(isinstance(z, list) and len(z) > 1 for z in given):
        raise GridError('zip: expected a list of groups of axes, such as [["link.up.rate", "link.down.rate"]]')
    used: dict[str, int] = {}
    for n, group in enumerate(given):
        for name in group:
            if name in sampled:
                raise GridError(f"zip: {name} is drawn by [sample]; give it steps, or leave it out")
            if name not in listed:
                raise GridError(f"zip: there is no axis {name}{nearest(str(name), listed)}")
            if name in used:
                raise GridError(f"zip: {name} is in {'two groups' if used[name] != n else 'a group twice'}")
            used[name] = n
        lengths = {name: len(listed[name]) for name in group}
        if len(set(lengths.values())) > 1:
            found = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise GridError(f"zip: axes of a group need equally many values; found {found}")
    return given


def _sample(given: Any, axes: Mapping[str, Between]) -> list[_Drawn]:
    """Draws the points of a sample over `axes`."""
    if given is None:
        for name in axes:
            raise GridError(
                f"axes.{name}: the number of values is missing; write steps = 5, or a [sample] that draws them"
            )
        return []
    if not isinstance(given, dict):
        raise GridError('sample: expected a table, such as { method = "sobol", points = 64 }')
    known(given, ("method", "points", "seed"), "sample: ")
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
        raise GridError(f"sample.seed: {seed} is not a whole number from 0 on")
    if method == "sobol" and points & (points - 1):
        below = 1 << (points.bit_length() - 1)
        raise GridError(
            f"sample.points: {points} is not a power of two, as Sobol's method needs; {below} or {2 * below}"
        )
    from scipy.stats import qmc  # noqa: PLC0415  scipy.stats takes half a second to load

    sampler = qmc.Sobol(len(axes), rng=seed) if method == "sobol" else qmc.LatinHypercube(len(axes), rng=seed)
    shares: list[list[float]] = sampler.random(points).tolist()
    return [tuple((name, axis.drawn(s)) for (name, axis), s in zip(axes.items(), row, strict=True)) for row in shares]


def _where(given: Any, places: Sequence[At], axes: Sequence[str]) -> list[At]:
    """Returns the grid points at which every condition of `where` holds.

    A condition may have alternatives, separated by ` or `.
    """
    if not isinstance(given, list) or not all(isinstance(line, str) for line in given):
        raise GridError('where: expected conditions, such as ["link.up.rate <= link.down.rate", "queue != codel"]')
    lines = [[_condition(line, part.strip(), places, axes) for part in re.split(r"\s+or\s+", line)] for line in given]
    kept = [at for at in places if all(any(holds(at) for holds in line) for line in lines)]
    if not kept:
        raise GridError(f"where: no grid point is left of {len(places)}")
    return kept


def _condition(line: str, part: str, places: Sequence[At], axes: Sequence[str]) -> Callable[[At], bool]:
    found = re.fullmatch(r"(.+?)\s*(<=|>=|==|!=|<|>)\s*(.+)", part)
    if found is None:
        expected = f"AXIS, one of {' '.join(_COMPARE)}, then a value or an axis"
        raise GridError(f'where: "{line}" is not a condition; expected {expected}')
    name, sign, right = found[1].strip(), found[2], found[3].strip().strip("\"'")
    if name not in axes:
        raise GridError(f'where: "{line}": there is no axis {name}{nearest(name, axes)}')
    compare = _COMPARE[sign]
    values = {spelled(at[name]) for at in places}
    if right not in axes and sign in {"==", "!="} and not any(_can_equal(v, right) for v in values):
        raise GridError(f'where: "{line}": {name} is never {right}{nearest(right, values)}')

    def holds(at: At) -> bool:
        left, other = at[name], at[right] if right in axes else right
        mine, theirs = read_amount(left), read_amount(other)
        if mine is not None and theirs is not None and mine.comparable(theirs):
            return compare(mine.value, theirs.value)
        if sign in {"==", "!="}:
            return compare(spelled(left), spelled(other))
        raise GridError(f'where: "{line}": {spelled(left)} and {spelled(other)} have no order')

    return holds


def _can_equal(value: str, right: str) -> bool:
    """Returns whether `value` could equal `right`: they are the same text, or amounts that can be compared."""
    mine, theirs = read_amount(value), read_amount(right)
    return value == right or (mine is not None and theirs is not None and mine.comparable(theirs))


def overrides(place: str, sets: Any) -> list[Override]:
    """Converts a table that maps paths to values into a list of overrides.

    Raises `GridError`, and `ScenarioError` for a value such as a date.
    """
    if not isinstance(sets, dict):
        raise GridError(f'{place}: expected a table of values by path, such as {{ "link.up.rate" = "5mbit" }}')
    for first, later in itertools.combinations(sets, 2):
        if contains(later, first):
            raise GridError(f"{place}: {later} replaces {first}; write {later} before it")
    return [(name, toml_value(value, f"{place}.{name}")) for name, value in sets.items()]


def known(given: Mapping[str, Any], valid: Sequence[str], place: str = "") -> None:
    """Raises `GridError` for an unknown key."""
    for key in given:
        if key not in valid:
            raise GridError(f'{place}unknown key "{key}"{nearest(key, valid)} (valid: {", ".join(valid)})')


def label(value: Any, place: str) -> Any:
    """Returns an axis value as it appears in a table column; `place` names the axis in messages."""
    return value if isinstance(value, (str, int, float)) else toml_value(value, place)
