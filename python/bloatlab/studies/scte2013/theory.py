"""What doc 000 states and arithmetic decides: no run needed."""

from __future__ import annotations

from fractions import Fraction
from math import comb


def peak_rate_mbit(buffer_kb: float, rtt_ms: float) -> float:
    """Table 1: the rate of one TCP session whose window is the buffer, W / RTT, in Mbit/s; kB = 1000 bytes."""
    return buffer_kb * 8.0 / rtt_ms


def drain_s(kilobytes: float, rate_mbit: float) -> float:
    """Seconds that a buffer of `kilobytes` takes to empty."""
    return kilobytes * 8e-3 / rate_mbit


def no_collision(sessions: int, queues: int) -> Fraction:
    """Probability that `sessions` hashed into `queues` all have their own: prod (1 - i / queues)."""
    product = Fraction(1)
    for taken in range(sessions):
        product *= Fraction(queues - taken, queues)
    return product


def overfull_group(sessions: int, groups: int, ways: int) -> Fraction:
    """Probability that some group gets more sessions than it has queues."""
    return overfull_groups(sessions, groups, ways)[sessions]


def overfull_groups(sessions: int, groups: int, ways: int) -> list[Fraction]:
    """The same for 0, 1, ... `sessions` sessions.   Source: SPEC 5.1.

    f_g(m), the chance that m given sessions fill g groups without overflow, by how many fall into the last group:
    f_g(m) = sum_j C(m, j) (1/g)^j (1 - 1/g)^(m-j) f_(g-1)(m - j), exact in rationals.
    """
    ok = [Fraction(1)] + [Fraction(0)] * sessions
    for g in range(1, groups + 1):
        one, rest = Fraction(1, g), Fraction(g - 1, g)
        ok = [
            sum((comb(m, j) * one**j * rest ** (m - j) * ok[m - j] for j in range(min(ways, m) + 1)), Fraction(0))
            for m in range(sessions + 1)
        ]
    return [1 - p for p in ok]
