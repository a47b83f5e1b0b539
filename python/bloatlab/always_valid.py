"""Confidence sequences: intervals for a mean that hold for all sample sizes at once, so sampling may stop at any time.

The n differences have the mean m and the standard deviation s (over n - 1); the error probability is a. The result is
the intersection of two intervals, each with error probability a / 2:

    known scatter     m -+ S/n sqrt((n + r) (ln((n + r) / r) + 2 ln(2/a)))         r = 0.25
    unknown scatter   m -+ s sqrt((n - 1)/n (L - 1) / (1 - k L)),   k = c/(n + c),  L = (4/(a^2 k))^(1/n),   c = 0.02
                      no bound while k L >= 1

Known scatter: the two-sided normal mixture (Robbins 1970; Howard, Ramdas, McAuliffe and Sekhon, Annals of Statistics
49, 2021, Proposition 5). It assumes differences that are sub-Gaussian with a standard deviation of at most S; S is the
larger of s and the scatter assumed by the caller. Unknown scatter: the t test martingale with a Gaussian prior on
mean over deviation (Wang and Ramdas 2023, arXiv:2310.03722). It assumes normal differences of any deviation. If s is
below S/2, S/2 replaces it, because a few equal values do not prove that there is no variation. The first interval is
narrower for few values. For many values, the second is narrower if s is well below S; if s = S, the first always is.
Any positive r and c are valid: they set the n for which the intervals are tuned.
"""

import math
import statistics
from collections.abc import Sequence

from bloatlab.statistics import Interval

#: The constants r and c in the formulas of the module docstring, tuned for few values.
KNOWN_TUNING, UNKNOWN_TUNING = 0.25, 0.02

#: The interval for unknown scatter is computed from the standard deviation of the values, but never from less than
#: `scatter / LEAST_SHARE`, where `scatter` is the deviation that the caller assumes.
LEAST_SHARE = 2.0


def bounds(values: Sequence[float], error: float, scatter: float) -> Interval:
    """Returns the interval of the confidence sequence after these values.

    `scatter` is the standard deviation that the caller assumes. If the values have a larger one, it is used instead.

    Raises `ValueError` if there are no values, the error probability is outside (0, 1), or the scatter is negative.
    """
    n = len(values)
    if not n or not 0.0 < error < 1.0 or not scatter >= 0.0:
        raise ValueError("a confidence sequence needs values, an error in (0, 1) and a scatter from 0")
    mean = math.fsum(values) / n
    seen = statistics.stdev(values) if n > 1 else 0.0
    half = min(_known(n, max(scatter, seen), error / 2.0), _unknown(n, max(seen, scatter / LEAST_SHARE), error / 2.0))
    return Interval(mean, mean - half, mean + half, n)


def _known(n: int, scatter: float, error: float) -> float:
    """Returns half the width of the interval for known scatter: the standard deviation must be at most `scatter`."""
    total = n + KNOWN_TUNING
    return scatter / n * math.sqrt(total * (math.log(total / KNOWN_TUNING) + 2.0 * math.log(1.0 / error)))


def _unknown(n: int, seen: float, error: float) -> float:
    """Returns half the width of the interval for unknown scatter; `seen` is the standard deviation of the n values.

    The result is infinite if there are too few values.
    """
    if n < 2:
        return math.inf
    k = UNKNOWN_TUNING / (n + UNKNOWN_TUNING)
    level = (1.0 / (error * error * k)) ** (1.0 / n)
    if k * level >= 1.0:
        return math.inf
    return seen * math.sqrt((n - 1.0) / n * (level - 1.0) / (1.0 - k * level))
