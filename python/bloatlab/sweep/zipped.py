"""Axes that vary together, such as zipped ones: each value of one occurs with one value of the other.

They count as one axis in the effects and in plots, since no run can separate their influences.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import polars as pl

from bloatlab.sweep.over_seeds import Zips
from bloatlab.sweep.quantities import Amount, spelled


def together(frame: pl.DataFrame, axes: Sequence[str], sampled: Sequence[str] = (), zips: Zips = ()) -> list[list[str]]:
    """Returns the axes in groups that vary together, in the order of `axes`. Most groups have one axis.

    `frame` has one row per run or per grid point. Axes vary together if they are in the same group of `zips`, or if
    each has several values and each value of one occurs with exactly one value of the other. If the values are numbers,
    they must also rise or fall together, because the values of independent random samples occur in fixed pairs, too.
    Axes in `sampled` are known to be random samples, so only `zips` counts for them.
    """
    groups: list[list[str]] = []
    for axis in axes:
        for group in groups:
            first = group[0]
            zipped = any(axis in names and first in names for names in zips)
            if zipped or (not {axis, first} & {*sampled} and _tied(frame, first, axis)):
                group.append(axis)
                break
        else:
            groups.append([axis])
    return groups


def title(group: Sequence[str]) -> str:
    """Returns the name of a group of axes: their names, separated by commas."""
    return ", ".join(group)


def joint(values: Sequence[Any]) -> str:
    """Formats the values that axes of one group have in a run: a single value if all are equal."""
    texts = [spelled(value) for value in values]
    return texts[0] if len(set(texts)) == 1 else ", ".join(texts)


def drawn_together(frame: pl.DataFrame, first: str, second: str) -> bool:
    """Returns whether two axes look sampled: each value of `first` occurs with one value of `second`, in no order."""
    pairs = _pairs(frame, first, second)
    return len(pairs) == frame[first].n_unique() and not _ordered(pairs)


def _tied(frame: pl.DataFrame, first: str, second: str) -> bool:
    pairs = _pairs(frame, first, second)
    kinds = frame[first].n_unique()
    return 1 < kinds == frame[second].n_unique() == len(pairs) and _ordered(pairs)


def _pairs(frame: pl.DataFrame, first: str, second: str) -> list[tuple[Any, Any]]:
    return frame.select(pl.col(first).alias("0"), pl.col(second).alias("1")).unique(maintain_order=True).rows()


def _ordered(pairs: Sequence[tuple[Any, Any]]) -> bool:
    """Returns whether the values rise or fall together; true also if a value is not a number."""
    amounts = [(Amount.of(a), Amount.of(b)) for a, b in pairs]
    points = sorted((a.value, b.value) for a, b in amounts if a is not None and b is not None)
    steps = [(one, two) for (_, one), (_, two) in itertools.pairwise(points)]
    return len(points) < len(pairs) or all(a <= b for a, b in steps) or all(a >= b for a, b in steps)
