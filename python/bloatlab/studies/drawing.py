"""Series that figures of several studies draw."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bloatlab.plots import Series
from bloatlab.tables import Spread


def intervals(spreads: Sequence[Spread | None]) -> NDArray[np.float64]:
    """Median, lower and upper end of each, a row each; NaN for what was not run or never happened."""
    rows = [[s.median, s.low, s.high] if s else [math.nan] * 3 for s in spreads]
    found = np.array(rows, dtype=float).reshape(-1, 3)
    return np.where(np.isfinite(found), found, math.nan)


def points(label: str, xs: ArrayLike, spreads: Sequence[Spread | None], colour: str) -> Series:
    """Medians over seeds as points, with the central 80 % as bars."""
    v = intervals(spreads)
    return Series(label, xs, v[:, 0], "points", colour, (v[:, 1], v[:, 2]))
