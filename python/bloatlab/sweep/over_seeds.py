"""Computes statistics over the seeds of a sweep: confidence intervals, and differences from a baseline.

`alike` counts the grid points at which all seeds give the same measures. Most functions receive as `frame` the table
that `Gathered.frame()` returns: it has one row per run, with the axes, `seed`, `scenario_hash` and the measures.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from bloatlab.statistics import METHODS, Interval, Method, interval
from bloatlab.sweep.quantities import same, spelled

#: The columns that identify a run and are not measures.
NAMES = ("seed", "scenario_hash")

#: The values of the axes at a grid point.
Place = tuple[Any, ...]

#: Groups of zipped axes: the axes of a group vary together.
Zips = Sequence[Sequence[str]]


def by_place(frame: pl.DataFrame, axes: Sequence[str]) -> Iterator[tuple[Place, pl.DataFrame]]:
    """Yields the runs of each grid point, in order."""
    yield from frame.group_by(axes, maintain_order=True)


def known(values: pl.Series) -> list[float]:
    """Returns the finite values."""
    return [float(v) for v in values.drop_nulls() if math.isfinite(v)]


def intervals(
    frame: pl.DataFrame, axes: Sequence[str], columns: Sequence[str], against: str = "", *, zips: Zips = ()
) -> pl.DataFrame:
    """Makes a table with a row for each grid point and each of `columns`.

    A row has n, mean, sd, cv (sd / |mean|) and median, and two 95 % intervals of the mean: Student's t and bootstrap.

    With a baseline `against`, such as "queue=codel", the table also contains the mean difference from the baseline and
    both 95 % intervals of this difference, over the seeds for which both runs have a value. Raises `ValueError` for an
    unknown baseline, and for an axis that has the name of one of these columns (`COLUMNS`).
    """
    if (axis := next((axis for axis in axes if axis in COLUMNS), None)) is not None:
        raise ValueError(f"{axis}: an axis cannot have the name of a column of statistics ({', '.join(COLUMNS)})")
    less_by_place = {column: paired(frame, axes, column, against, zips=zips) if against else {} for column in columns}
    rows: list[dict[str, Any]] = []
    for place, runs in by_place(frame, axes):
        for column in columns:
            row = {**dict(zip(axes, place, strict=True)), "column": column, **_moments(known(runs[column]))}
            if against:
                less = less_by_place[column].get(place, [])
                row |= {"pairs": len(less), "difference": interval(less).mean if less else None}
                row |= _ends(less, "difference_")
            rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


def _moments(values: Sequence[float]) -> dict[str, float | int | None]:
    x = np.asarray(values)
    mean = float(x.mean()) if values else None
    sd = float(x.std(ddof=1)) if len(values) > 1 else None
    cv = sd / abs(mean) if sd is not None and mean else None
    median = float(np.median(x)) if values else None
    return {"n": len(values), "mean": mean, "sd": sd, "cv": cv, "median": median, **_ends(values)}


def _ends(values: Sequence[float], prefix: str = "") -> dict[str, float | None]:
    """Returns the ends of the confidence interval by each method, by column name; None for fewer than two values."""
    ends: dict[str, float | None] = {}
    for method in METHODS:
        low, high = interval(values, method).ends if len(values) > 1 else (None, None)
        ends |= {f"{prefix}{method}_low": low, f"{prefix}{method}_high": high}
    return ends


#: The columns of the table that `intervals` makes, besides the axes.
COLUMNS = ("column", *_moments([]), "pairs", "difference", *_ends([], "difference_"))


@dataclass(frozen=True, slots=True)
class Against:
    """The mean difference from the baseline at one grid point, over the seeds for which both runs have a value."""

    place: Mapping[str, Any]
    interval: Interval


def differences(
    frame: pl.DataFrame, axes: Sequence[str], column: str, against: str, method: Method = "t", *, zips: Zips = ()
) -> list[Against]:
    """Returns the mean difference of `column` from the baseline `against`, such as "queue=codel", at each grid point.

    `zips` are the groups of zipped axes. Grid points of the baseline itself, and those without a pair of values, are
    left out. Raises `ValueError` with one line for an unknown axis or value.
    """
    found = paired(frame, axes, column, against, zips=zips)
    return [
        Against(dict(zip(axes, place, strict=True)), interval(less, method)) for place, less in found.items() if less
    ]


def paired(
    frame: pl.DataFrame, axes: Sequence[str], column: str, against: str, *, zips: Zips = ()
) -> dict[Place, list[float]]:
    """Returns the differences of `column` from the baseline `against`, such as "queue=codel", by grid point.

    Each difference is between two runs with the same seed, which differ only in the axis of the baseline and in the
    axes that are zipped with it. The grid points of the baseline itself are left out. Raises `ValueError` with
    one line for an unknown axis or value.
    """
    axis, baseline = arm(frame, axes, against)
    # numbers replace the axes' names, because an axis may have the name of another column here
    numbers = dict(zip(axes, map(str, range(len(axes))), strict=True))
    wanted = frame.select(
        *(pl.col(a).alias(n) for a, n in numbers.items()), "seed", value=pl.col(column).cast(pl.Float64)
    )
    own = numbers[axis]
    others = [*(numbers[other] for other in _others(axes, axis, zips)), "seed"]
    base = wanted.filter(pl.col(own) == baseline).select(*others, baseline="value")
    arms = wanted.filter(pl.col(own) != baseline)
    joined = arms.join(base, on=others, how="left", maintain_order="left", nulls_equal=True)
    found: dict[Place, list[float]] = {}
    for place, runs in by_place(joined, list(numbers.values())):
        both = runs.filter(pl.all_horizontal(pl.col("value", "baseline").is_finite()))
        found[place] = (both["value"] - both["baseline"]).to_list()
    return found


def check_baseline(places: pl.DataFrame, axes: Sequence[str], against: str, *, zips: Zips = ()) -> None:
    """Checks that a baseline exists and can be compared; `places` has a row per grid point, without measures.

    Raises `ValueError` with one line.
    """
    axis, baseline = arm(places, axes, against)
    others = _others(axes, axis, zips)
    base, arms = places.filter(pl.col(axis) == baseline), places.filter(pl.col(axis) != baseline)
    if arms.is_empty():
        raise ValueError(f"{against}: {axis} has no other value to compare with it")
    if others and arms.join(base, on=others, how="semi", nulls_equal=True).is_empty():
        raise ValueError(f"{against}: no point with another {axis} has the same {', '.join(others)}")


def _others(axes: Sequence[str], axis: str, zips: Zips) -> list[str]:
    """Returns the axes in which a run and its baseline are equal: all but `axis` and those zipped with it."""
    together = next((group for group in zips if axis in group), [axis])
    return [other for other in axes if other not in together]


def arm(frame: pl.DataFrame, axes: Sequence[str], against: str) -> tuple[str, Any]:
    """Parses a baseline such as "queue=codel" into its axis and value.

    Raises `ValueError` with one line if the axis or the value is unknown.
    """
    axis, equals, label = against.partition("=")
    if not equals:
        raise ValueError(f"{against}: not axis=value; for example {axes[0]}={spelled(frame[axes[0]][0])}")
    if axis not in axes:
        raise ValueError(f"{against}: no axis {axis}; expected {', '.join(axes)}")
    values = frame[axis].unique(maintain_order=True).to_list()
    found = sorted((v for v in values if same(v, label)), key=lambda v: spelled(v) != label)
    if not found:
        raise ValueError(f"{against}: {axis} is never {label}; it is {', '.join(map(spelled, values))}")
    return axis, found[0]


def alike(frame: pl.DataFrame, axes: Sequence[str]) -> tuple[int, int]:
    """Returns the number of grid points with several seeds, and how many of these have equal measures for all seeds."""
    several = same = 0
    measures = [c for c in frame.columns if c not in {*axes, *NAMES}]
    for _, runs in by_place(frame, axes):
        if runs.height > 1:
            several += 1
            same += all(runs[c].n_unique() == 1 for c in measures)
    return several, same
