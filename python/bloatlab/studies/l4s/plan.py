"""All of the study's runs, and a slice of them for a quick look."""

from __future__ import annotations

from bloatlab.studies.l4s import heist
from bloatlab.studies.l4s.cases import OWN, OWN_QUICK, Case

_PICKED = (
    "dualpi2: cubic 20 / prague 20 at 50",
    "dualpi2: prague 20 / prague 10 at 50",
    "dualpi2: cubic 10 / prague 10 at 10",
    "pfifo(1000): cubic 20 / prague 20 at 50",
    "fq_codel: cubic 20 / prague 20 at 50",
)


def cases() -> list[Case]:
    """All of the study's."""
    return [
        *heist.PAIRS, *heist.SHARED, *heist.STEPS, *heist.OTHER_FORMS, *heist.JITTERED, *heist.OWN_CUBIC, *OWN,
    ]  # fmt: skip


def quick() -> list[Case]:
    """A slice of each group, for a look."""
    picked = [case for case in heist.PAIRS if case.key in _PICKED]
    return [
        *picked, picked[1].of_version("prague7"), heist.SHARED[0], heist.SHARED[5],
        heist.step("prague", 80.0, "fq_codel", 25.0), heist.step("prague", 20.0, "dualpi2", 25.0, bursts=True), *OWN_QUICK,
    ]  # fmt: skip
