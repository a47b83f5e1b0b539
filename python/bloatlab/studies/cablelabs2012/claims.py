"""The measured values with which the claims in `claims.toml` are checked.

Some cases with one or five transfers are also run without pages. If a claim about a value of such a case does not hold,
and the value is not a page time, it is checked again on the run without pages (`without_pages`). The second result is
printed beside the claim, but does not change the verdict, which is based on the paper's own test cases.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from bloatlab.studies.cablelabs2012.published import CEILING_KB, DECLARED, FTP, LATE, MAD, MEDIAN, MOS, PLR
from bloatlab.studies.claims import Checked, Quantity, Runs, Value, check_all, each, median_of
from bloatlab.workloads.cable_loads import LOADED, NUMBERS, Case, Queue

LARGE, SMALL, CODEL = Queue.DROPTAIL_417, Queue.DROPTAIL_21, Queue.CODEL


def by_row(measure: str) -> Value:
    """Returns a function that gives a measure's medians by queue and row of Table 2, or None if a run is missing."""

    def value(runs: Runs) -> Mapping[Queue, Mapping[int, float]] | None:
        found = {(q, n): median_of(runs, Case(n, q).key, measure) for q in Queue for n in NUMBERS}
        known = {at: median for at, median in found.items() if median is not None}
        return {q: {n: known[q, n] for n in NUMBERS} for q in Queue} if len(known) == len(found) else None

    return value


def keys(queue: Queue, *numbers: int) -> list[str]:
    """Returns the case keys for the queue `queue` and the given row numbers of Table 2."""
    return [Case(n, queue).key for n in numbers]


def _two_with_most(table: Mapping[int, float]) -> list[int]:
    """Returns the numbers of the two rows with the largest values, in ascending order."""
    return sorted(sorted(table, key=lambda n: (-table[n], n))[:2])


def _retries(runs: Runs) -> float | None:
    """Returns the maximum over seeds of the SYN retries of one connection in case D04/21; None if it was not run.

    In each seed, only the connection with the most retries counts, and only if they were at the paper's times. If no
    seed has such retries, the result is 0.
    """
    agree = [s["syn_agree"] for s in runs.get("D04/21", ())]
    return max((a for a in agree if not math.isnan(a)), default=0.0) if agree else None


#: Rows of Table 2 whose transfers never pause for long.
_STEADY = (2, 3, 4, 5, 6, 7)

CLAIMS = DECLARED.claims({
    "CEILING_MB": CEILING_KB / 1e3, "CODEL": CODEL, "FTP": FTP, "LARGE": LARGE, "LATE": LATE, "LOADED": LOADED, "MAD": MAD,
    "MEDIAN": MEDIAN, "MOS": MOS, "NUMBERS": NUMBERS, "PLR": PLR, "SMALL": SMALL,
    "by_row": by_row, "each": each, "keys": keys, "retries": _retries, "steady": lambda queue: keys(queue, *_STEADY),
    "two_with_most": _two_with_most,
})  # fmt: skip


#: The names of the measures of page loads begin with one of these.
_OF_PAGES = ("page", "mad")


def without_pages(checked: Sequence[Checked], alone: Runs) -> list[Checked]:
    """Repeats the check of each claim that does not hold, on runs without pages, and adds the result to the claim.

    `alone` contains the runs of the same transfers without pages, by case. Claims about several values, about pages, or
    about cases that are not in `alone` are returned unchanged.
    """
    asked = [c for c in CLAIMS if isinstance(c, Quantity) and c.case in alone and not c.measure.startswith(_OF_PAGES)]
    again = {c.ident: c for c in check_all(asked, alone)}

    def beside(claim: Checked) -> Checked:
        other = again.get(claim.ident)
        if claim.holds is not False or other is None or other.holds is None:
            return claim
        return replace(claim, why=f"without pages {other.ours}, {'holds' if other.holds else 'differs'}")

    return [beside(claim) for claim in checked]
