"""Series and ticks shared by the studies."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bloatlab.plots import Series
from bloatlab.studies.claims import Runs, over_seeds
from bloatlab.tables import Spread


def intervals(spreads: Sequence[Spread | None]) -> NDArray[np.float64]:
    """Returns an array with one row per spread, which contains the median and the lower and upper end of the interval.

    Values that are infinite or missing become NaN.
    """
    rows = [[s.median, s.low, s.high] if s else [math.nan] * 3 for s in spreads]
    found = np.array(rows, dtype=float).reshape(-1, 3)
    return np.where(np.isfinite(found), found, math.nan)


def points(
    label: str, xs: ArrayLike, spreads: Sequence[Spread | None], colour: str | None, kind: Literal["points", "line"] = "points"
) -> Series:  # fmt: skip
    """Makes a series of medians over seeds.

    The interval that contains the central 80 % of the seeds is drawn as a bar through each point, or as shading behind
    the line.
    """
    v = intervals(spreads)
    return Series(label, xs, v[:, 0], kind, colour, (v[:, 1], v[:, 2]))


def of_cases(runs: Runs, cases: Iterable[object], measure: str) -> list[Spread | None]:
    """Returns the spread of a measure over seeds for each case; None for a case without runs or without a value.

    `str(case)` is the key of the case's runs.
    """
    return [over_seeds(runs, str(case), measure) for case in cases]


def ticks(labels: Iterable[str]) -> list[tuple[float, str]]:
    """Gives labels the positions 0, 1, 2, ... on an axis."""
    return [(float(place), label) for place, label in enumerate(labels)]
