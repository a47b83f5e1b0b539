"""The race of the options: what is clearly beaten is dropped, what is close gets more seeds.

    difference        leader's points less an option's, seed by seed; the same seeds for all (common random numbers)
    behind            the confidence sequence of the difference is above 0, and its mean at least what one would notice
    tied              the sequence is below what one would notice, or the points are equal in each of the first seeds
    not separated     neither yet

Every round adds a seed to the leader and to all that is not separated from it. The race ends when nothing is left to
separate, at the most seeds of an option, or where another round would exceed the budget of runs.

The sequences hold at every round (`bloatlab.always_valid`), so looking after each of them costs nothing. Of k options
the truly best one takes part in k - 1 differences; each has an error of 5 % / (k - 1) (Bonferroni), so it is called
behind in at most one of twenty races, whoever leads meanwhile (multiple comparisons with the best, Hsu 1984).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from bloatlab.advice.catalogue import Objective
from bloatlab.advice.options import Option
from bloatlab.advice.score import Judged
from bloatlab.always_valid import Bounds, bounds
from bloatlab.statistics import CONFIDENCE

Verdict = Literal["behind", "tied", "not separated"]

#: Runs that a race may take, unless told otherwise, and how many first looks (a seed of everything) at least.
RUNS, FIRST_LOOKS = 66, 1.5

#: Seeds in which the points of two options are the same to the last digit where these do the same, as an AQM that never
#: acts in a short buffer and no AQM.
EQUAL_SEEDS = 3

#: Seeds that the leader and what is `kept` have at least, for their own figures.
LEAST_SEEDS = 2

#: Seeds of an option that cannot be set: it can win nothing.
SHOWN_SEEDS = 2


@dataclass(frozen=True, slots=True)
class Compared:
    """The leader's points less an option's: the bounds on their common seeds, and what these say."""

    judged: Judged
    by: Bounds
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Raced:
    """How a race ended: who leads, all others beside it (the nearest first), and why it ended."""

    lead: Judged
    others: Sequence[Compared]
    end: Literal["separated", "seeds", "runs"]


def budget(options: int, rtts: int) -> int:
    """Runs that a race of so many options may take, unless told otherwise."""
    return max(RUNS, round(FIRST_LOOKS * options * rtts))


def compared(lead: Judged, other: Judged, objective: Objective, rtts: int, others: int) -> Compared:
    """What the common seeds of two options say of them."""
    differences = [a - b for a, b in zip(lead.seeds, other.seeds, strict=False)]
    error = (1.0 - CONFIDENCE) / max(others, 1)
    # a seed's points are a mean over the round trips
    by = bounds(differences, error, objective.scatter / rtts**0.5)
    if by.low > 0.0 and by.mean >= objective.noticed:
        return Compared(other, by, "behind")
    equal = len(differences) >= EQUAL_SEEDS and not any(differences)
    if equal or (-objective.noticed < by.low and by.high < objective.noticed):
        return Compared(other, by, "tied")
    return Compared(other, by, "not separated")


def race(
    options: Sequence[Option],
    judge: Callable[[Sequence[Option], int], Mapping[str, Judged]],
    objective: Objective,
    *,
    rtts: int,
    seeds: int,
    runs: int,
    kept: Option | None = None,
) -> Raced:
    """Race options. `judge` runs options with n seeds and returns each by its name, judged by these seeds.

    `kept` is not dropped before its second seed.
    """
    found: dict[str, Judged] = {}
    dropped: dict[str, Verdict] = {}
    left, used, n = list(options), 0, 0
    while True:
        n += 1
        used += len(left) * rtts
        found |= judge(left, n)
        lead = leader([found[o.name] for o in left])
        for o in left:
            if o is not lead.option:
                verdict = compared(lead, found[o.name], objective, rtts, len(options) - 1).verdict
                if verdict != "not separated" or (n >= SHOWN_SEEDS and not o.discipline.settable):
                    dropped[o.name] = verdict
        left = [o for o in left if o.name not in dropped or (o is kept and n < LEAST_SEEDS)]
        done = len(left) == 1 and n >= LEAST_SEEDS
        if done or n == seeds or used + len(left) * rtts > runs:
            break
    others = [compared(lead, found[o.name], objective, rtts, len(options) - 1) for o in options if o is not lead.option]
    # a verdict stands once it is found, whoever leads later
    final = [Compared(c.judged, c.by, dropped.get(c.judged.option.name, c.verdict)) for c in others]
    end = "separated" if len(left) == 1 else "seeds" if n == seeds else "runs"
    return Raced(lead, sorted(final, key=lambda c: c.by.mean), end)


def leader(all_: Sequence[Judged]) -> Judged:
    """The most points of what can be set; of equal ones the first."""
    return max((j for j in all_ if j.option.discipline.settable), key=lambda j: j.points.mean)
