"""Compares settings in a race: each round drops settings that are clearly worse or tied, and adds a seed to the others.

    difference        the leader's points minus a setting's, seed by seed; all settings use the same seeds
    behind            the confidence sequence of the difference is above 0, and the mean difference is noticeable
    tied              the sequence is within the noticeable difference, or the points are equal in all seeds, at least 3
    not separated     neither

Every round adds a seed to the leader and to all settings that are not separated from it. The race ends when all are
separated, at the seed limit, or if another round would exceed the run limit. The first round is always run. Exceptions:
see `LEAST_SEEDS`, `KEPT_SEEDS` and `SHOWN_SEEDS`.

The sequences are valid after every round (`bloatlab.always_valid`), so testing after each round adds no error. With k
settings, the truly best one is compared with k - 1 others, each time with an error of 5 % / (k - 1) (Bonferroni). So
the best setting is judged behind in at most one race in twenty, whichever setting leads (multiple comparisons with the
best, Hsu 1984).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from bloatlab.advice.catalogue import Objective
from bloatlab.advice.options import Option
from bloatlab.advice.score import Judged
from bloatlab.always_valid import bounds
from bloatlab.statistics import CONFIDENCE, Interval

Verdict = Literal["behind", "tied", "not separated"]

#: The default run limit is `RUNS`, or `FIRST_LOOKS` times the number of runs in the first round, whichever is larger.
#: The first round runs every setting once with each RTT.
RUNS, FIRST_LOOKS = 66, 1.5

#: Two settings with equal points in every seed are tied if there are at least this many seeds, because they behave
#: alike: in a short buffer, an AQM that never drops is like no AQM.
EQUAL_SEEDS = 3

#: The leader gets at least this many seeds, if the limits allow, because one seed gives no interval.
LEAST_SEEDS = 2

#: The setting `kept` (see `race`) gets this many seeds, so that it has an interval in tables, even if this exceeds the
#: run limit. It gets fewer only if the seed limit is lower.
KEPT_SEEDS = 3

#: Maximum number of seeds for a setting not offered by the device. Such a setting cannot win, so more seeds would not
#: change the outcome.
SHOWN_SEEDS = 2


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison of a setting with the leader.

    `by` is the interval of the difference: the leader's points minus the setting's points.
    """

    judged: Judged
    by: Interval
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Raced:
    """The outcome of a race: the leader, all others (nearest first), and the reason why the race ended.

    `rounds` is the number of rounds, which is the number of seeds with which the leader was compared. `another` is the
    number of runs that the race would have with another round.
    """

    lead: Judged
    others: Sequence[Compared]
    end: Literal["separated", "seeds", "runs"]
    another: int
    rounds: int


def budget(options: int, rtts: int) -> int:
    """Returns the default run limit."""
    return max(RUNS, round(FIRST_LOOKS * options * rtts))


def compared(lead: Judged, other: Judged, objective: Objective, rtts: int, others: int) -> Compared:
    """Compares two settings over their common seeds."""
    differences = [a - b for a, b in zip(lead.seeds, other.seeds, strict=False)]
    error = (1.0 - CONFIDENCE) / max(others, 1)
    # a seed's points are the mean over `rtts` round trips, which divides their standard deviation by sqrt(`rtts`)
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
    """Races settings against each other.

    `judge(settings, n)` ensures that each of these settings has been run with the first n seeds, and returns the result
    of each setting by the setting's name. The setting `kept` gets `KEPT_SEEDS` seeds, if `seeds` allows.
    """
    found: dict[str, Judged] = {}
    dropped: dict[str, Verdict] = {}
    left, used, n = list(options), 0, 0
    while True:
        n += 1
        used += len(left) * rtts
        found |= judge(left, n)
        # if several settings have the same mean, max() returns the first of them, in the order of `options`
        lead = max((found[o.name] for o in left if o.discipline.settable), key=lambda j: j.points.mean)
        for o in left:
            if o is not lead.option:
                verdict = compared(lead, found[o.name], objective, rtts, len(options) - 1).verdict
                if verdict != "not separated" or (n >= SHOWN_SEEDS and not o.discipline.settable):
                    dropped[o.name] = verdict
        left = [o for o in left if o.name not in dropped or (o is kept and n < KEPT_SEEDS)]
        done, another = len(left) == 1 and n >= LEAST_SEEDS, used + len(left) * rtts
        if done or n == seeds or another > runs:
            break
    if kept is not None and n < min(KEPT_SEEDS, seeds):
        found |= judge([kept], min(KEPT_SEEDS, seeds))
        lead = found[lead.option.name]
    others = [compared(lead, found[o.name], objective, rtts, len(options) - 1) for o in options if o is not lead.option]
    # a verdict is kept once it is found, even if the leader changes later
    final = [Compared(c.judged, c.by, dropped.get(c.judged.option.name, c.verdict)) for c in others]
    end = (
        "separated"
        if all(o.name in dropped for o in left if o is not lead.option)
        else "seeds"
        if n == seeds
        else "runs"
    )
    return Raced(lead, sorted(final, key=lambda c: c.by.mean), end, another, n)
