"""Series, ticks and answers that the studies share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bloatlab.plots import Series
from bloatlab.report import Answer, Drawn, Point, figure_block
from bloatlab.studies.claims import Runs, over_seeds
from bloatlab.tables import Spread

K = TypeVar("K")
V = TypeVar("V")


def intervals(spreads: Sequence[Spread | None]) -> NDArray[np.float64]:
    """An array with a row per spread: median, lower and upper end. NaN stands for a spread that was not run or never happened."""
    rows = [[s.median, s.low, s.high] if s else [math.nan] * 3 for s in spreads]
    found = np.array(rows, dtype=float).reshape(-1, 3)
    return np.where(np.isfinite(found), found, math.nan)


def points(
    label: str, xs: ArrayLike, spreads: Sequence[Spread | None], colour: str | None, kind: Literal["points", "line"] = "points"
) -> Series:  # fmt: skip
    """Medians over seeds with the central 80 %: bars through points, or a shade behind a line."""
    v = intervals(spreads)
    return Series(label, xs, v[:, 0], kind, colour, (v[:, 1], v[:, 2]))


def of_cases(runs: Runs, cases: Iterable[object], measure: str) -> list[Spread | None]:
    """A measure of each case (by its `str`) over seeds; None for a case that was not run."""
    return [over_seeds(runs, str(case), measure) for case in cases]


def ticks(labels: Iterable[str]) -> list[tuple[float, str]]:
    """Labels at 0, 1, 2, ... of an axis."""
    return [(float(place), label) for place, label in enumerate(labels)]


def answered(
    question: str, basis: str, drawn: Drawn, values: Mapping[K, V | None],
    sentence: Callable[[dict[K, V]], str], points: Callable[[dict[K, V]], Sequence[Point]],
) -> Answer:  # fmt: skip
    """An answer with its figure. `sentence` and `points` make its text from `values`; if a value is missing, the text says so."""
    known = {key: value for key, value in values.items() if value is not None}
    if len(known) < len(values):
        missing = "A quick look skips runs that this question needs; run it without --quick."
        return Answer(question, missing, (), figure_block(drawn), basis)
    return Answer(question, sentence(known), points(known), figure_block(drawn), basis)
