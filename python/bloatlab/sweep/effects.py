"""The effects of the axes: the share of a measure's variance due to each axis, and to each pair of axes together.

Two models are fitted to the values y of all runs: "mains" contains every axis by itself, "pairs" also every pair of
axes. RSS is the residual sum of squares of a model.

    of an axis           RSS(mains without it) - RSS(mains)
    of two axes          RSS(mains) - RSS(mains and these two together)
    seeds                sum (y - mean of its grid point)^2
    rest                 RSS(pairs) - seeds: interactions of three or more axes, pairs too large for the model, and
                         deviations from a parabola

Each is divided by sum (y - mean)^2, which gives a share. On a full grid the shares add up to 1. Axes that vary together
(`zipped`) count as one axis. With filters or samples, axes depend on each other and the sum may differ, because the
share of an axis is what it explains beyond all other axes (type II sums of squares). An axis of names or of few values
has one mean for each value. A sampled axis, or one of many numbers, is modelled as a parabola in its value or in the
logarithm of its value.
The F test compares a share with the mean square of seeds: `p` is the probability that seeds alone give a share
at least as large.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bloatlab.sweep.over_seeds import Zips, by_place
from bloatlab.sweep.quantities import Amount
from bloatlab.sweep.zipped import joint, title, together

Matrix = NDArray[np.float64]

#: Maximum number of columns in a model. The effect of a pair of axes that would need more columns is part of "rest".
MOST_COLUMNS = 600

#: An axis with more numeric values than this is modelled as a parabola.
MOST_LEVELS = 50

#: The parabola is fitted to the logarithm of an axis if its largest value is at least this multiple of the smallest.
LOG_FROM = 20.0


@dataclass(frozen=True, slots=True)
class Effect:
    """A source of variance.

    `axes` is empty for "seeds" and "rest"; otherwise, it includes all axes that vary together. `p` is NaN for these two
    sources, and for any source that cannot be tested.
    """

    name: str
    axes: tuple[str, ...]
    share: float
    p: float


def effects(
    frame: pl.DataFrame, axes: Sequence[str], column: str, sampled: Sequence[str] = (), zips: Zips = ()
) -> list[Effect]:
    """Returns the sources of the variance of `column`: the axes, then pairs of axes, "rest" and "seeds".

    The list is empty if `column` has no finite values or is constant, or if every axis is constant. `frame` has one row
    per run, as returned by `Gathered.frame()`; `sampled` names the sampled axes, and `zips` holds the groups of zipped
    axes. Axes that vary together (`together`) are one source, named "first axis, second axis".
    """
    runs = frame.filter(pl.col(column).is_not_null() & pl.col(column).cast(pl.Float64).is_finite())
    y = runs[column].cast(pl.Float64).to_numpy()
    total = float(((y - y.mean()) ** 2).sum()) if y.size else 0.0
    groups = together(runs, [a for a in axes if runs[a].n_unique() > 1], sampled, zips)
    moving = [group[0] for group in groups]  # the first axis of a group stands for all its axes
    if not total > 1e-24 * float((y**2).sum()) or not moving:
        return []
    # numbers replace the axes' names, because an axis may have the name of another column here
    numbers = {a: str(n) for n, a in enumerate(moving)}
    at = runs.select(*(pl.col(a).alias(n) for a, n in numbers.items()), pl.Series("value", y))
    value = pl.col("value")
    means = at.group_by(numbers.values(), maintain_order=True).agg(
        value.mean().alias("mean"), pl.len().alias("n"), (value.var(ddof=0) * pl.len()).alias("within")
    )
    within = float(means["within"].sum())
    model = _Model({a: _coded(means[n], a in sampled) for a, n in numbers.items()}, means)
    singles = [(a,) for a in moving]
    mains = model.left(singles)
    pairs = model.fitting(itertools.combinations(moving, 2))
    squares = {(a,): model.left([(b,) for b in moving if b != a]) - mains for a in moving}
    squares |= {pair: mains - model.left([*singles, pair]) for pair in pairs}
    seeds = (within, y.size - means.height) if within > 1e-24 * total else (0.0, 0)
    found: list[Effect] = []
    for term, of in squares.items():
        parts = [group for group in groups if group[0] in term]
        names = [f"({title(group)})" if len(parts) > 1 and len(group) > 1 else title(group) for group in parts]
        p = _p(of, model.columns(term), *seeds)
        found.append(Effect(" × ".join(names), (*itertools.chain(*parts),), max(of, 0.0) / total, p))
    rest = model.left([*singles, *pairs])
    return [*found, Effect("rest", (), max(rest, 0.0) / total, math.nan), Effect("seeds", (), within / total, math.nan)]


def levels(frame: pl.DataFrame, axis: str | Sequence[str], column: str) -> Mapping[str, float]:
    """Returns the main effect of an axis: the mean of `column` over the runs with each value of the axis.

    `axis` may also be a group of axes that vary together.
    """
    names = [axis] if isinstance(axis, str) else axis
    found = {joint(values): runs[column].cast(pl.Float64).mean() for values, runs in by_place(frame, names)}
    return {value: mean for value, mean in found.items() if isinstance(mean, float)}


def _p(squares: float, columns: int, within: float, freedom: int) -> float:
    """Returns the probability (F test) that seeds alone would give a sum of squares at least this large.

    The result is NaN if no grid point has runs with different values.
    """
    if freedom < 1:
        return math.nan
    from scipy.stats import f  # noqa: PLC0415  scipy.stats takes half a second to load

    return float(f.sf(max(squares, 0.0) / columns / (within / freedom), columns, freedom))


class _Model:
    """A least-squares model of the means of the grid points. Each mean is weighted by its number of runs."""

    def __init__(self, coded: Mapping[str, Matrix], means: pl.DataFrame) -> None:
        self._coded = coded
        self._weight = np.sqrt(means["n"].to_numpy().astype(float))
        self._target = means["mean"].to_numpy() * self._weight

    def fitting(self, pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Returns the pairs of axes whose columns fit in the model, in the given order.

        Besides the mean, the model has fewer columns than there are grid points, and at most `MOST_COLUMNS`.
        """
        found: list[tuple[str, str]] = []
        room = min(MOST_COLUMNS, self._target.size - 1) - sum(m.shape[1] for m in self._coded.values())
        for pair in pairs:
            columns = self.columns(pair)
            if columns <= room:
                found.append(pair)
                room -= columns
        return found

    def left(self, terms: Sequence[tuple[str, ...]]) -> float:
        """Returns the residual sum of squares (RSS) of the model that consists of the mean and these terms."""
        parts = [np.ones((self._target.size, 1))]
        for first, *more in terms:
            product = self._coded[first]
            for axis in more:
                product = (product[:, :, None] * self._coded[axis][:, None, :]).reshape(len(product), -1)
            parts.append(product)
        matrix = np.hstack(parts) * self._weight[:, None]
        fit = matrix @ np.linalg.lstsq(matrix, self._target, rcond=None)[0]
        return float(((self._target - fit) ** 2).sum())

    def columns(self, term: tuple[str, ...]) -> int:
        """Returns the number of columns of a term, which is its number of degrees of freedom."""
        return math.prod(self._coded[a].shape[1] for a in term)


def _coded(values: pl.Series, drawn: bool) -> Matrix:
    """Codes an axis as columns: x and x² for a parabola, otherwise one column for each value except the last.

    Sampled axes and axes with more than `MOST_LEVELS` values become parabolas, if all their values are numeric. The
    columns for values contain -1 in the rows with the last value, so that their effects sum to 0.
    """
    amounts = [Amount.of(v) for v in values]
    kinds = values.unique(maintain_order=True).to_list()
    if (drawn or len(kinds) > MOST_LEVELS) and all(a is not None for a in amounts):
        x = np.array([a.value for a in amounts if a is not None])
        if x.min() > 0.0 and x.max() / x.min() >= LOG_FROM:
            x = np.log(x)
        z = (x - x.mean()) / (x.std() or 1.0)
        return np.column_stack([z, z**2 - (z**2).mean()])
    codes = np.vstack([np.eye(len(kinds) - 1), -np.ones(len(kinds) - 1)])
    return codes[[kinds.index(value) for value in values]]
