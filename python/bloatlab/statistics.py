"""What several runs of one experiment say together: intervals, paired differences, and where a warm-up ends.

With n values x of mean m and standard deviation s (over n - 1):

    t           m -+ t(n - 1, 97.5 %) s / sqrt(n)           Student 1908; right for means of nearly normal values
    bootstrap   the middle 95 % of the means of 9999 samples drawn from the values with replacement, corrected for bias
                and skewness (BCa, Efron 1987); assumes no normality, and is too narrow for fewer than about ten values
    paired      either of them over the differences a - b of runs with the same seed
    MSER-5      of the series' means over batches of 5, the cut d in the first half with the least  var(z[d:]) / (n - d)
                (White 1997)

An interval says how well the mean is known, not how far single runs lie apart; it narrows as 1 / sqrt(n).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

#: How an interval is made.
Method = Literal["t", "bootstrap"]
METHODS: Mapping[Method, str] = {"t": "Student's t", "bootstrap": "bootstrap, BCa"}

CONFIDENCE = 0.95

#: Samples of a bootstrap. Their generator begins with a fixed seed: the same values give the same interval.
RESAMPLES, RESAMPLING_SEED = 9999, 1

#: Values in a batch of MSER-5.
BATCH = 5


@dataclass(frozen=True, slots=True)
class Interval:
    """Mean of `n` values and the interval that holds the true mean with 95 %. Without one (n < 2) both ends are NaN."""

    mean: float
    low: float
    high: float
    n: int
    method: Method = "t"

    @property
    def ends(self) -> tuple[float, float]:
        """Both ends; where there is no interval, the mean."""
        return (self.low, self.high) if self.n > 1 else (self.mean, self.mean)

    @property
    def half(self) -> float:
        """Half the interval's width; NaN without one."""
        return (self.high - self.low) / 2.0

    @property
    def relative(self) -> float:
        """`half` over |mean|: 0 for a width of 0, infinity for a mean of 0."""
        if self.half == 0.0:
            return 0.0
        return self.half / abs(self.mean) if self.mean else math.inf * self.half

    def of_amount(self) -> Interval:
        """The same of what is never below 0, as every number of a run's summary: its ends are not either."""
        return replace(self, low=max(self.low, 0.0)) if self.low < 0.0 <= self.mean else self

    def differs(self) -> bool:
        """Whether 0 lies outside: of a difference, whether there is one. An interval without a width says nothing."""
        return self.half > 0.0 and (self.low > 0.0 or self.high < 0.0)


def interval(values: Sequence[float], method: Method = "t", confidence: float = CONFIDENCE) -> Interval:
    """The mean of finite `values` with its interval. Raises `ValueError` for none."""
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
    low, high = _bootstrap(x, confidence)
    return Interval(mean, low, high, int(x.size), method)


def paired(first: Sequence[float], second: Sequence[float], method: Method = "t") -> Interval:
    """The mean of first - second over runs with the same seeds, in the same order. Raises as `interval` does."""
    return interval([a - b for a, b in zip(first, second, strict=True)], method)


def mser5(values: Sequence[float] | NDArray[np.float64]) -> int | None:
    """How many values of a series to leave out at its start (a multiple of 5); None where the series is too short.

    Batches without a value (NaN) are passed over. It is too short where the best cut lies at the end of the first half:
    what comes after is then no steadier than what came before.
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
    # var(z[d:]) / (n - d) for every d at once, over sums from the end; centred, so that squares lose nothing
    centred = z - z.mean()
    left = n - cuts
    total = np.cumsum(centred[::-1])[::-1][cuts]
    squares = np.cumsum(centred[::-1] ** 2)[::-1][cuts]
    error = np.maximum(squares - total**2 / left, 0.0) / left.astype(float) ** 2
    best = int(np.argmax(error <= error.min() + 1e-12 * error.max()))  # the first least: sums round off
    if best == cuts[-1]:
        return None
    return int(known[best]) * BATCH if best else 0


@functools.cache
def _t(freedom: int, confidence: float) -> float:
    from scipy.special import stdtrit  # noqa: PLC0415  what scipy.stats.t calls, without the second that it takes to load

    return float(stdtrit(freedom, 0.5 + confidence / 2.0))


def _bootstrap(x: NDArray[np.float64], confidence: float) -> tuple[float, float]:
    import scipy.stats  # noqa: PLC0415

    done = scipy.stats.bootstrap(
        (x,),
        np.mean,
        n_resamples=RESAMPLES,
        confidence_level=confidence,
        method="BCa",
        rng=np.random.default_rng(RESAMPLING_SEED),
    )
    return float(done.confidence_interval.low), float(done.confidence_interval.high)
