"""Why a cell differs: written after looking, one entry per cause; a cell that none names is "not explained".

An entry is a cause with its evidence, not an excuse: it says what in the 2012 model we know or suspect to be different,
and how that was seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

NOT_EXPLAINED = "not explained"


@dataclass(frozen=True, slots=True)
class Explanation:
    """A cause, and the cells it accounts for: shell patterns over case key and metric."""

    cases: str
    metrics: str
    why: str


EXPLANATIONS: tuple[Explanation, ...] = ()


def explain(case: str, metric: str) -> str:
    """The cause that accounts for a differing cell, or `NOT_EXPLAINED`."""
    for entry in EXPLANATIONS:
        if fnmatchcase(case, entry.cases) and fnmatchcase(metric, entry.metrics):
            return entry.why
    return NOT_EXPLAINED
