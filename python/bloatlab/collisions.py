"""The probability that sessions share a queue if a hash chooses one of G groups, each with k queues.

    ordinary hashing      k = 1: two sessions in a group share its queue
    serial search         a session takes an unused queue of its group; sessions share only if a group has more than k
    P(no sharing)         n! / G^n  [x^n] (1 + x + x^2/2! + ... + x^k/k!)^G
    P(a given session is in an overfull group)    1 - sum_{j<k} C(n-1, j) (1/G)^j (1 - 1/G)^(n-1-j)

Reason for the first formula: of the G^n maps of n sessions to G groups, those with at most k sessions in each group
have the exponential generating function (sum_{j<=k} x^j/j!)^G. It is a power of a polynomial, so a recurrence gives its
coefficients exactly, for every n at once, in O(n k) operations. ARRIS 2013 found no such formula and simulated.

ARRIS 2013 has G = 64 and k = 4. Sessions are always active and the hash is uniform. A group with more than k sessions
is overfull. The discipline decides which of its sessions share a queue, so the second formula gives the probability of
being in an overfull group, not of sharing.

Source: ARRIS 2013, "Decreasing Hash Collision Probability", Figures 8 and 9.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

#: Number of trials per batch: with 64 groups, 50 000 trials take 6.4 MB of 16-bit counts.
_BATCH = 50_000

#: The maximum number of groups, of queues per group and of sessions, which limits the time of exact arithmetic. 4096
#: sessions take less than a second with 64 groups of 4 queues, and half a minute with 64 groups of 64.
MOST = 4096


def _refuse(groups: int, ways: int, sessions: int) -> None:
    for name, value, least in (("groups", groups, 1), ("ways", ways, 1), ("sessions", sessions, 0)):
        if not least <= value <= MOST:
            raise ValueError(f"{name}: {value} is not from {least} to {MOST}")


def collision(groups: int, ways: int, sessions: int) -> list[Fraction]:
    """Returns the exact probability that some group is overfull, for 0, 1, ... `sessions` sessions.

    Raises `ValueError` if an argument is out of range.
    """
    _refuse(groups, ways, sessions)
    inverse = [Fraction(1, math.factorial(j)) for j in range(ways + 1)]
    power = [Fraction(1)]  # the coefficients of (sum x^j / j!)^groups, starting at x^0
    for n in range(1, sessions + 1):
        terms = (inverse[j] * power[n - j] * (j * (groups + 1) - n) for j in range(1, min(ways, n) + 1))
        power.append(sum(terms, Fraction(0)) / n)
    fits, chances = Fraction(1), [Fraction(0)]
    for n in range(1, sessions + 1):
        fits = fits * n / groups  # `fits` is n! / groups^n
        chances.append(1 - fits * power[n])
    return chances


def given_session(groups: int, ways: int, sessions: int) -> Fraction:
    """Returns the exact probability that one given session, among `sessions` sessions, is in an overfull group.

    Raises `ValueError`.
    """
    _refuse(groups, ways, sessions)
    others, here = max(0, sessions - 1), Fraction(1, groups)
    few = (math.comb(others, j) * here**j * (1 - here) ** (others - j) for j in range(min(ways, others + 1)))
    return 1 - sum(few, Fraction(0))


@dataclass(frozen=True, slots=True)
class Share:
    """The share of trials with an event, and the exact (Clopper-Pearson) confidence interval for its probability."""

    hits: int
    trials: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """Hits divided by trials."""
        return self.hits / self.trials


@dataclass(frozen=True, slots=True)
class Trials:
    """The share of trials with an overfull group, where item n of each list is the share for n sessions.

    `any_session` counts trials in which any group is overfull; `first_session`, those in which the first session's is.
    """

    any_session: list[Share]
    first_session: list[Share]


def monte_carlo(groups: int, ways: int, sessions: int, trials: int, *, seed: int, confidence: float = 0.95) -> Trials:
    """Assigns sessions to random groups, `trials` times; the same trials are used for every number of sessions.

    Raises `ValueError` if an argument is out of range.
    """
    _refuse(groups, ways, sessions)
    draw = np.random.default_rng([seed, groups, ways])
    some, first = np.zeros(sessions + 1, dtype=np.int64), np.zeros(sessions + 1, dtype=np.int64)
    for start in range(0, trials, _BATCH):
        size = min(_BATCH, trials - start)
        found = overfull(draw.integers(groups, size=(size, sessions), dtype=np.int32), groups, ways)
        some += found[0]
        first += found[1]
    return Trials(*([share_of(int(h), trials, confidence) for h in hits] for hits in (some, first)))


def overfull(choices: NDArray[np.int32], groups: int, ways: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Counts the trials with an overfull group, and the trials in which the first session's group is overfull.

    Both results have a count for each number of sessions: 0, 1, ...
    `choices` has one row per trial: the sessions' groups in order of arrival.
    """
    rows = np.arange(len(choices))
    counts = np.zeros((len(choices), groups), dtype=np.int16)
    over = np.zeros(len(choices), dtype=bool)
    some, first = [0], [0]
    for n in range(choices.shape[1]):
        counts[rows, choices[:, n]] += 1
        over |= counts[rows, choices[:, n]] > ways
        some.append(int(over.sum()))
        first.append(int((counts[rows, choices[:, 0]] > ways).sum()))
    return np.array(some), np.array(first)


def share_of(hits: int, trials: int, confidence: float = 0.95) -> Share:
    """Returns the share of hits, with the exact (Clopper-Pearson) confidence interval for the probability of a hit."""
    if not 0 <= hits <= trials or trials < 1:
        raise ValueError(f"{hits} of {trials} is not a share")
    from scipy.special import betaincinv  # noqa: PLC0415  only this command needs scipy, which loads slowly

    tail = (1.0 - confidence) / 2.0
    low = 0.0 if hits == 0 else float(betaincinv(hits, trials - hits + 1, tail))
    high = 1.0 if hits == trials else float(betaincinv(hits + 1, trials - hits, 1.0 - tail))
    return Share(hits, trials, low, high)


def sessions_of(text: str) -> Sequence[int]:
    """Parses numbers of sessions: `20`, `1..60`, or `5,20,35`. Raises `ValueError`."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dots, last = part.strip().partition("..")
        if not part.isascii() or not first.isdigit() or (dots and not last.isdigit()):
            raise ValueError(f'"{part}" is neither a number nor a range such as 1..60')
        numbers += range(int(first), int(last or first) + 1)
    if not numbers or min(numbers) < 1 or max(numbers) > MOST:
        raise ValueError(f'"{text}" is not from 1 to {MOST}')
    return sorted(set(numbers))
