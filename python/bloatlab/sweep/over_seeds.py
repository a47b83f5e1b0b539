"""The table of a sweep with its seeds put together: intervals, differences between two arms, seeds that change nothing.

All of it is of the frame that `Gathered.frame()` returns: axes, `seed`, `scenario_hash`, measures; a row per run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from bloatlab.statistics import METHODS, Interval, Method, interval, paired

#: What a run is called by, and not what it measured.
NAMES = ("seed", "scenario_hash")


@dataclass(frozen=True, slots=True)
class Against:
    """Another arm of one axis less a baseline, on the seeds that both have, everything else equal."""

    place: Mapping[str, Any]
    interval: Interval


def by_place(frame: pl.DataFrame, axes: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], pl.DataFrame]]:
    """Each place on the axes with its runs, in order."""
    yield from frame.group_by(axes, maintain_order=True)


def known(values: pl.Series) -> list[float]:
    """The finite numbers among values."""
    return [float(v) for v in values.drop_nulls() if math.isfinite(v)]


def intervals(frame: pl.DataFrame, axes: Sequence[str], columns: Sequence[str], against: str = "") -> pl.DataFrame:
    """A row per place and column: n, mean, sd, cv, median and both 95 % intervals of the mean over seeds.

    `against` is an arm, such as "queue=codel": then also the mean difference from it on common seeds, with both
    intervals. Raises `ValueError` for an arm that there is not.
    """
    differences = {
        column: {tuple(of.place.values()): of for of in _both(frame, axes, column, against)} if against else {}
        for column in columns
    }
    rows: list[dict[str, Any]] = []
    for place, runs in by_place(frame, axes):
        for column in columns:
            row = {**dict(zip(axes, place, strict=True)), "column": column, **_moments(known(runs[column]))}
            if against:
                row |= _difference(differences[column].get(place))
            rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


def _moments(values: Sequence[float]) -> dict[str, float | int | None]:
    x = np.asarray(values)
    mean = float(x.mean()) if values else None
    sd = float(x.std(ddof=1)) if len(values) > 1 else None
    row: dict[str, float | int | None] = {
        "n": len(values),
        "mean": mean,
        "sd": sd,
        "cv": sd / abs(mean) if sd is not None and mean else None,
        "median": float(np.median(x)) if values else None,
    }
    for method in METHODS:
        found = interval(values, method) if len(values) > 1 else None
        row |= {f"{method}_low": found and found.low, f"{method}_high": found and found.high}
    return row


@dataclass(frozen=True, slots=True)
class _Both:
    place: Mapping[str, Any]
    first: Sequence[float]
    second: Sequence[float]


def _difference(of: _Both | None) -> dict[str, float | int | None]:
    n = len(of.first) if of else 0
    row: dict[str, float | int | None] = {"pairs": n}
    found = paired(of.first, of.second) if of and n else None
    row["difference"] = found and found.mean
    for method in METHODS:
        two = paired(of.first, of.second, method) if of and n > 1 else None
        row |= {f"difference_{method}_low": two and two.low, f"difference_{method}_high": two and two.high}
    return row


def differences(
    frame: pl.DataFrame, axes: Sequence[str], column: str, against: str, method: Method = "t"
) -> list[Against]:
    """Every other arm less the baseline `against`, such as "queue=codel", place by place.

    Raises `ValueError`, a line, for an axis or a value that there is not.
    """
    return [
        Against(both.place, paired(both.first, both.second, method))
        for both in _both(frame, axes, column, against)
        if both.first
    ]


def _both(frame: pl.DataFrame, axes: Sequence[str], column: str, against: str) -> list[_Both]:
    axis, baseline = arm(frame, axes, against)
    others = [a for a in axes if a != axis]
    wanted = frame.select(*axes, "seed", pl.col(column).cast(pl.Float64))
    base = wanted.filter(pl.col(axis) == baseline).drop(axis).rename({column: "baseline"})
    joined = wanted.filter(pl.col(axis) != baseline).join(
        base, on=[*others, "seed"], how="left", maintain_order="left", nulls_equal=True
    )
    found: list[_Both] = []
    for place, runs in by_place(joined, axes):
        pairs = [
            (float(a), float(b))
            for a, b in runs.select(column, "baseline").iter_rows()
            if a is not None and b is not None and math.isfinite(a) and math.isfinite(b)
        ]
        found.append(_Both(dict(zip(axes, place, strict=True)), [a for a, _ in pairs], [b for _, b in pairs]))
    return found


def arm(frame: pl.DataFrame, axes: Sequence[str], against: str) -> tuple[str, Any]:
    """The axis and the value of "queue=codel". Raises `ValueError`, a line, for those that there are not."""
    axis, equals, label = against.partition("=")
    if not equals:
        raise ValueError(f"{against}: not axis=value; for example {axes[0]}={frame[axes[0]][0]}")
    if axis not in axes:
        raise ValueError(f"{against}: no axis {axis}; there is {', '.join(axes)}")
    values = frame[axis].unique(maintain_order=True).to_list()
    found = next((value for value in values if str(value) == label), None)
    if found is None:
        raise ValueError(f"{against}: {axis} is never {label}; it is {', '.join(map(str, values))}")
    return axis, found


def alike(frame: pl.DataFrame, axes: Sequence[str]) -> tuple[int, int]:
    """How many places have several seeds, and at how many of these all seeds measured the very same."""
    several = same = 0
    measures = [c for c in frame.columns if c not in {*axes, *NAMES}]
    for _, runs in by_place(frame, axes):
        if runs.height > 1:
            several += 1
            same += all(runs[c].n_unique() == 1 for c in measures)
    return several, same
