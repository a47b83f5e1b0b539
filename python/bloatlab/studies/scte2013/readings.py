"""Our runs as curves, and the numbers stated about such curves in ARRIS 2013.

A curve is a measure against buffer size, one per seed. A number is read off each seed's curve, and has a spread over
seeds. Vague terms (a knee, "nearly constant") are defined here; the definitions were fixed before the first run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bloatlab.studies.claims import Runs, over_seeds, telling, words
from bloatlab.studies.scorecard import Band
from bloatlab.studies.scte2013.experiments import BDP_MS, BUFFERS_MS
from bloatlab.tables import Spread, spread

Curve = NDArray[np.float64]

#: A measure's curve: the name of a series in the figures, and the name of the measure.
CurveName = tuple[str, str]

#: The knee is where the total rate reaches this share of its value with the largest buffer.
KNEE_SHARE = 0.98

_SIZES = np.array(BUFFERS_MS, dtype=float)


@dataclass(frozen=True, slots=True)
class Reading:
    """A number read off the runs, and the range in which it is accepted.

    `value` returns the spread of the number over seeds, or None if its runs were not made or no seed has the number.
    The number is printed with `unit` and at least `digits` decimals.
    """

    value: Callable[[Runs], Spread | None]
    band: Band
    unit: str = ""
    digits: int = 2

    def words(self, ours: Spread) -> str:
        """Formats the number with enough digits to show on which side of each limit it lies."""
        return words(ours, self.unit, telling(ours.median, self.band, self.digits))


def read(number: Callable[..., float], *lines: CurveName) -> Callable[[Runs], Spread | None]:
    """Returns a function that reads a number off the curves of each seed; seeds without the number are left out."""

    def value(runs: Runs) -> Spread | None:
        found = [number(*of) for of in zip(*(curves(runs, *line) for line in lines), strict=False)]
        known = [v for v in found if not math.isnan(v)]
        return spread(known) if known else None

    return value


def r_squared(series: str, measure: str) -> Reading:
    """Reads the R squared of the line fitted to latency against buffer size, beyond the BDP."""
    return Reading(read(lambda c: line(c)[1], (series, measure)), Band(0.99, 1.0), digits=4)


def flat(series: str, measure: str) -> Reading:
    """Reads the ratio of minimum to maximum of a curve beyond the BDP; a ratio of at least 0.97 is accepted."""
    return Reading(read(flatness, (series, measure)), Band(0.97, 1.0), digits=3)


def slope(series: str, measure: str) -> Reading:
    """Reads the slope of latency against buffer size beyond the BDP: ms of latency per ms of buffer."""
    return Reading(read(lambda c: line(c)[0], (series, measure)), Band(0.75, 1.0), "ms/ms")


def knee(series: str) -> Reading:
    """Reads the buffer size at the knee of the total rate; it is accepted from 0.5 to 1.5 times the BDP."""
    return Reading(read(knee_ms, (series, "rate_mbit")), Band(BDP_MS / 2, 1.5 * BDP_MS), "ms", 0)


def point(series: str, buffer_ms: float, measure: str, band: Band, unit: str = "ms", digits: int = 0) -> Reading:
    """Reads a measure at one buffer size."""
    return Reading(lambda runs: over_seeds(runs, place(series, buffer_ms), measure), band, unit, digits)


def extreme(series: str, measure: str, band: Band, *, least_ms: float = 0, low: bool = False) -> Reading:
    """Reads the maximum of a curve (the minimum if `low` is true) at buffer sizes of at least `least_ms`."""
    pick = np.min if low else np.max
    return Reading(read(lambda c: float(pick(beyond(c, least_ms))), (series, measure)), band, "ms", 0)


def ratio(first: CurveName, second: CurveName, band: Band, least_ms: float, *, worst: bool) -> Reading:
    """Reads the ratio of two curves at buffer sizes of at least `least_ms`.

    The result is the median of the ratios or, with `worst`, the ratio farthest from 1.
    """
    of = worst_ratio if worst else typical_ratio
    return Reading(read(lambda a, b: of(a, b, least_ms), first, second), band)


# ----------------------------------------------------------------------------------------------------- values of curves


def place(series: str, buffer_ms: float) -> str:
    """Returns the key of a point in a figure."""
    return f"figures {series} {buffer_ms:g}"


def curves(runs: Runs, series: str, measure: str) -> list[Curve]:
    """Returns one curve per seed: a measure at each of the 20 buffer sizes. A seed with a missing run has no curve."""
    points = [runs.get(place(series, size), ()) for size in BUFFERS_MS]
    seeds = min(len(p) for p in points)
    return [np.array([p[seed][measure] for p in points]) for seed in range(seeds)]


def beyond(curve: Curve, least_ms: float = BDP_MS) -> Curve:
    """Returns the part of a curve at buffer sizes of at least `least_ms`."""
    return curve[least_ms <= _SIZES]


def below_bdp(curve: Curve) -> float:
    """Returns the mean over buffer sizes below the BDP."""
    return float(curve[_SIZES < BDP_MS].mean())


def line(curve: Curve, least_ms: float = BDP_MS) -> tuple[float, float]:
    """Returns the slope and R squared of the least-squares line through the part starting at `least_ms`.

    The slope is in ms per ms.
    """
    x, y = beyond(_SIZES, least_ms), beyond(curve, least_ms)
    slope, intercept = np.polyfit(x, y, 1)
    residual = float(((y - slope * x - intercept) ** 2).sum())
    total = float(((y - y.mean()) ** 2).sum())
    return float(slope), 1.0 - residual / total if total else math.nan


def knee_ms(rate: Curve, sizes: Sequence[float] = BUFFERS_MS) -> float:
    """Returns the buffer size in ms beyond which the rate stays above 98 % of its last value.

    The result is interpolated between two of `sizes`. If all rates are above 98 %, it is the smallest size.
    """
    wanted = KNEE_SHARE * rate[-1]
    below = np.flatnonzero(rate < wanted)
    if not len(below):
        return float(sizes[0])
    last = int(below[-1])
    return float(np.interp(wanted, rate[last : last + 2], sizes[last : last + 2]))


def flatness(curve: Curve, least_ms: float = BDP_MS) -> float:
    """Returns the minimum divided by the maximum at buffer sizes of at least `least_ms`; 1 for a constant curve."""
    part = beyond(curve, least_ms)
    return float(part.min() / part.max())


def worst_ratio(first: Curve, second: Curve, least_ms: float = BDP_MS) -> float:
    """Returns the ratio `first / second` farthest from 1 (by its logarithm) at buffer sizes of at least `least_ms`."""
    ratios = beyond(first, least_ms) / beyond(second, least_ms)
    return float(ratios[np.argmax(np.abs(np.log(ratios)))])


def typical_ratio(first: Curve, second: Curve, least_ms: float = BDP_MS) -> float:
    """Returns the median of the ratios `first / second` at buffer sizes of at least `least_ms`."""
    return float(np.median(beyond(first, least_ms) / beyond(second, least_ms)))


def worst_difference(first: Curve, second: Curve, least_ms: float = BDP_MS) -> float:
    """Returns the maximum absolute difference between two curves at buffer sizes of at least `least_ms`."""
    return float(np.abs(beyond(first, least_ms) - beyond(second, least_ms)).max())
