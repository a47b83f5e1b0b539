"""Why a statement differs: written after looking, one entry per cause; one that none names is "not explained".

An entry is a cause with its evidence, not an excuse.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

NOT_EXPLAINED = "not explained"

#: Shell patterns over case and metric of a row of published.csv, and the cause.
EXPLANATIONS: tuple[tuple[str, str, str], ...] = ()


def explain(case: str, metric: str) -> str:
    """The cause that accounts for a differing statement, or `NOT_EXPLAINED`."""
    for cases, metrics, why in EXPLANATIONS:
        if fnmatchcase(case, cases) and fnmatchcase(metric, metrics):
            return why
    return NOT_EXPLAINED
