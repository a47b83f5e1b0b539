"""What matters: how much of a measure's variance each axis explains, by itself and together with another.

Of the values y of all runs, with the models "mains" (every axis by itself) and "pairs" (and every two of them):

    of an axis           RSS(mains without it) - RSS(mains)
    of two axes          RSS(mains) - RSS(mains and these two together)
    seeds                sum (y - mean of its place)^2
    rest                 RSS(pairs) - seeds: three axes together, and what a curve does not follow

each over sum (y - mean)^2, as a share. On a full grid these add up to 1. With zipped axes, filters or samples axes hang
together and they need not: each is then what the axis explains beyond all others (type II sums of squares). An axis of
names or a few values has a mean of its own for each; one that a sample drew is a parabola of its value, or of its
logarithm. F compares with the seeds' mean square: `p` is how often so much would come from seeds alone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bloatlab.sweep.quantities import Amount

Matrix = NDArray[np.float64]

#: Columns of the largest model: pairs of axes with more values than that are left to the rest.
MOST_COLUMNS = 600

#: An axis of more numbers than that is a curve, too.
MOST_LEVELS = 50

#: From this ratio of its ends on a drawn axis is a curve of its logarithm.
LOG_FROM = 20.0


@dataclass(frozen=True, slots=True)
class Effect:
    """One source of variance. `axes` are none for "seeds" and "rest"; `p` is NaN without a test."""

    name: str
    axes: tuple[str, ...]
    share: float
    p: float


def effects(frame: pl.DataFrame, axes: Sequence[str], column: str, sampled: Sequence[str] = ()) -> list[Effect]:
    """The sources of the variance of `column`, axes first, then pairs, rest and seeds; none where it does not vary.

    `frame` has a row per run, as `Gathered.frame()` returns it; `sampled` are axes of drawn values.
    """
    runs = frame.filter(pl.col(column).is_not_null() & pl.col(column).cast(pl.Float64).is_finite())
    y = runs[column].cast(pl.Float64).to_numpy()
    total = float(((y - y.mean()) ** 2).sum()) if y.size else 0.0
    moving = [a for a in axes if runs[a].n_unique() > 1]
    if not total > 1e-24 * float((y**2).sum()) or not moving:
        return []
    at = runs.select(moving).with_columns(pl.Series("", y)).group_by(moving, maintain_order=True)
    value = pl.col("")
    means = at.agg(value.mean().alias("mean"), pl.len().alias("n"), (value.var(ddof=0) * pl.len()).alias("within"))
    within = float(means["within"].sum())
    weight = np.sqrt(means["n"].to_numpy().astype(float))
    target = means["mean"].to_numpy() * weight
    model = _Model({a: _coded(means[a], a in sampled) for a in moving}, weight, target)
    spread = _Spread(total, within, y.size - means.height)
    rest = mains = model.left([(a,) for a in moving])
    found: list[Effect] = []
    for axis in moving:
        others = model.left([(a,) for a in moving if a != axis])
        found.append(Effect(axis, (axis,), *spread.of(others - mains, model.columns((axis,)))))
    pairs = model.able(itertools.combinations(moving, 2))
    for pair in pairs:
        whole = model.left([*((a,) for a in moving), pair])
        found.append(Effect(" × ".join(pair), pair, *spread.of(mains - whole, model.columns(pair))))
    if pairs:
        rest = model.left([*((a,) for a in moving), *pairs])
    found.append(Effect("rest", (), max(rest, 0.0) / total, math.nan))
    found.append(Effect("seeds", (), within / total, math.nan))
    return found


def levels(frame: pl.DataFrame, axis: str, column: str) -> Mapping[str, float]:
    """The main effect of an axis: the mean of `column` over all runs with each of its values."""
    of = frame.group_by(axis, maintain_order=True).agg(pl.col(column).cast(pl.Float64).mean().alias("mean"))
    return {str(value): mean for value, mean in of.iter_rows() if mean is not None}


@dataclass(frozen=True, slots=True)
class _Spread:
    """Squares of all runs, those within places, and these places' degrees of freedom."""

    total: float
    within: float
    freedom: int

    def of(self, squares: float, columns: int) -> tuple[float, float]:
        """The share of `squares` in all, and p of F: how often seeds alone would give so much. NaN without a test."""
        share = max(squares, 0.0) / self.total
        if self.freedom < 1 or self.within <= 1e-24 * self.total:
            return share, math.nan
        from scipy.stats import f  # noqa: PLC0415  half a second, which only those who ask wait for

        return share, float(f.sf(max(squares, 0.0) / columns / (self.within / self.freedom), columns, self.freedom))


class _Model:
    """Least squares over the means of places, weighted by their runs."""

    def __init__(self, coded: Mapping[str, Matrix], weight: NDArray[np.float64], target: NDArray[np.float64]) -> None:
        self._coded, self._weight, self._target = coded, weight, target

    def able(self, pairs: itertools.combinations[tuple[str, str]]) -> list[tuple[str, str]]:
        """Those pairs that the places can tell apart, as far as there is room for them."""
        found: list[tuple[str, str]] = []
        room = min(MOST_COLUMNS, self._target.size - 1) - sum(m.shape[1] for m in self._coded.values())
        for a, b in pairs:
            columns = self._coded[a].shape[1] * self._coded[b].shape[1]
            if columns <= room:
                found.append((a, b))
                room -= columns
        return found

    def left(self, terms: Sequence[tuple[str, ...]]) -> float:
        """What a model of these terms and a mean leaves unexplained."""
        matrix = self._matrix(terms)
        fit = matrix @ np.linalg.lstsq(matrix, self._target, rcond=None)[0]
        return float(((self._target - fit) ** 2).sum())

    def columns(self, term: tuple[str, ...]) -> int:
        """Degrees of freedom of a term."""
        return math.prod(self._coded[a].shape[1] for a in term)

    def _matrix(self, terms: Sequence[tuple[str, ...]]) -> Matrix:
        parts = [np.ones((self._target.size, 1))]
        for term in terms:
            product = self._coded[term[0]]
            for axis in term[1:]:
                product = (product[:, :, None] * self._coded[axis][:, None, :]).reshape(len(product), -1)
            parts.append(product)
        return np.hstack(parts) * self._weight[:, None]


def _coded(values: pl.Series, drawn: bool) -> Matrix:
    """An axis as columns: a parabola of drawn numbers; else each value less the last (they sum to nothing)."""
    amounts = [Amount.of(v) for v in values]
    kinds = values.unique(maintain_order=True).to_list()
    if (drawn or len(kinds) > MOST_LEVELS) and all(a is not None for a in amounts):
        x = np.array([a.value for a in amounts if a is not None])
        if x.min() > 0.0 and x.max() / x.min() >= LOG_FROM:
            x = np.log(x)
        z = (x - x.mean()) / (x.std() or 1.0)
        return np.column_stack([z, z**2 - (z**2).mean()])
    place = {kind: n for n, kind in enumerate(kinds)}
    matrix = np.zeros((len(values), len(kinds) - 1))
    for row, value in enumerate(values):
        n = place[value]
        if n == len(kinds) - 1:
            matrix[row] = -1.0
        else:
            matrix[row, n] = 1.0
    return matrix
