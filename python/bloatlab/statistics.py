"""Statistics over runs with different seeds: confidence intervals, paired differences, and the end of a warm-up.

With n values x of mean m and standard deviation s (over n - 1):

    t           m -+ t(n - 1, 97.5 %) s / sqrt(n)           Student 1908; exact for means of normal values
    bootstrap   the middle 95 % of the means of 9999 samples drawn from the values with replacement, corrected for bias
                and skewness (BCa, Efron 1987); does not assume normality; too narrow for fewer than about ten values
    paired      the t or bootstrap interval of the differences a - b of runs with the same seed
    MSER-5      the cut d in the first half with the smallest  var(z[d:]) / (n - d),  z: the n means of the series over
                batches of 5 (White 1997)

An interval shows how well the mean is known, not how much single runs vary; its width falls as 1 / sqrt(n).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Literal

from bloatlab.errors import InputError, nearest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    from bloatlab.lazy import np

#: Methods for confidence intervals.
Method = Literal["t", "bootstrap"]
METHODS: Mapping[Method, str] = {"t": "Student's t", "bootstrap": "bootstrap, BCa"}

CONFIDENCE = 0.95

#: Number of bootstrap samples, and the seed of their generator. Because the seed is fixed, equal values give equal
#: intervals.
RESAMPLES, RESAMPLING_SEED = 9999, 1

#: Number of values in a batch of MSER-5.
BATCH = 5


@dataclass(frozen=True, slots=True)
class Interval:
    """The mean of `n` values and its confidence interval.

    For n < 2 there is no interval, and both ends are NaN.
    """

    mean: float
    low: float
    high: float
    n: int
    method: Method = "t"

    @property
    def ends(self) -> tuple[float, float]:
        """Both ends of the interval. If there is no interval, both ends are the mean."""
        return (self.low, self.high) if self.n > 1 else (self.mean, self.mean)

    @property
    def half(self) -> float:
        """Half the interval's width; NaN if there is no interval."""
        return (self.high - self.low) / 2.0

    @property
    def relative(self) -> float:
        """`half` divided by |mean|: 0 for a width of 0, infinity for a mean of 0."""
        if self.half == 0.0:
            return 0.0
        return self.half / abs(self.mean) if self.mean else math.inf * self.half

    def of_amount(self, most: float = math.inf) -> Interval:
        """Clips the interval at 0 and at `most`, for quantities that are never negative and never above `most`.

        No number of a summary is negative. An end is not clipped if the mean itself lies beyond the limit.
        """
        low = 0.0 if self.low < 0.0 <= self.mean else self.low
        return replace(self, low=low, high=most if self.mean <= most < self.high else self.high)

    def differs(self) -> bool:
        """Returns whether the interval excludes 0: then a difference is significant.

        False if n < 2, or if all values are equal: then there is no scatter by which to judge a difference.
        """
        return self.half > 0.0 and (self.low > 0.0 or self.high < 0.0)


def interval(values: Sequence[float], method: Method = "t", confidence: float = CONFIDENCE) -> Interval:
    """Returns the mean of `values` with its interval; `confidence` is above 0 and below 1.

    Raises `ValueError` if an argument is not valid, or if `values` is empty or not all finite.
    """
    if not isinstance(method, str) or method not in METHODS:  # pyright: ignore[reportUnnecessaryIsInstance]
        known = f"{', '.join(METHODS)}{nearest(str(method), METHODS)}"
        raise InputError(f"method: {method!r:.80} is not valid; expected {known}")
    if not isinstance(confidence, Real) or not 0.0 < confidence < 1.0:
        raise InputError(f"confidence: {confidence!r:.80} is not valid; expected above 0 and below 1, such as 0.95")
    x = np.asarray(values, dtype=float)
    if not x.size or not np.isfinite(x).all():
        raise ValueError("an interval needs values, all of them finite")
    mean = float(x.mean())
    if x.size < 2:
        return Interval(mean, math.nan, math.nan, 1, method)
    if np.all(x == x[0]):
        return Interval(float(x[0]), float(x[0]), float(x[0]), int(x.size), method)
    if method == "t":
        half = _t(x.size - 1, confidence) * float(x.std(ddof=1)) / math.sqrt(x.size)
        return Interval(mean, mean - half, mean + half, int(x.size), method)
    import scipy.stats  # noqa: PLC0415  scipy.stats takes half a second to load

    rng = np.random.default_rng(RESAMPLING_SEED)
    done = scipy.stats.bootstrap(
        (x,), np.mean, n_resamples=RESAMPLES, confidence_level=confidence, method="BCa", rng=rng
    )
    ends = done.confidence_interval
    return Interval(mean, float(ends.low), float(ends.high), int(x.size), method)


def mser5(values: Sequence[float] | NDArray[np.float64]) -> int | None:
    """Returns the number of values to cut at the start of a series (a multiple of 5); None if the series is too short.

    Batches with a missing value (NaN) are skipped. A series is too short if it has fewer than four batches, or if the
    best cut is at the end of the first half, because the warm-up may then last even longer.
    """
    x = np.asarray(values, dtype=float)
    z = x[: x.size // BATCH * BATCH].reshape(-1, BATCH)
    z = z.mean(axis=1)
    known = np.flatnonzero(np.isfinite(z))
    z = z[known]
    n = z.size
    if n < 4:
        return None
    cuts = np.arange(n // 2 + 1)
    # computes var(z[d:]) / (n - d) for all d by cumulative sums from the end; z is centred, so that rounding errors of
    # the squares are small
    centred = z - z.mean()
    left = n - cuts
    total = np.cumsum(centred[::-1])[::-1][cuts]
    squares = np.cumsum(centred[::-1] ** 2)[::-1][cuts]
    error = np.maximum(squares - total**2 / left, 0.0) / left.astype(float) ** 2
    # if several minima are equal within rounding errors, the first is used
    best = int(np.argmax(error <= error.min() + 1e-12 * error.max()))
    if best == cuts[-1]:
        return None
    return int(known[best]) * BATCH if best else 0


@functools.cache
def _t(freedom: int, confidence: float) -> float:
    from scipy.special import stdtrit  # noqa: PLC0415  scipy.stats.t does the same, but takes a second to load

    return float(stdtrit(freedom, 0.5 + confidence / 2.0))
