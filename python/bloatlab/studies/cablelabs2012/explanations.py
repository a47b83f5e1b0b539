"""Why a cell differs: causes that an experiment bears out, one entry per cause; a cell without one is "not explained".

An entry names a reading (`experiments.py`) that could be the reason, in which cells, and the evidence that is not the cell
itself. It explains a cell when, under that reading, the study's own rule finds the cell within; the program runs it and
prints what it gives. Nothing here is a number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from bloatlab.studies.scorecard import Cell

NOT_EXPLAINED = "not explained"


@dataclass(frozen=True, slots=True)
class Explanation:
    """A reading that could be the cause, and the cells it may account for: shell patterns over case key and metric."""

    reading: str
    cases: str
    metrics: str
    why: str


_LIVE = "the paper's words are read as REQ(1) before the shift; they can be read as after it"
_ROUND_TRIPS = (
    "five equal round trips keep the transfers in phase, so that their losses come together; the scripts of the time set "
    "them 2 ms apart, the paper names one (TCP does what ns-2's does: compare_ns2.py)"
)
_WINDOW = "how much of a burst stands in the queue is the bursty sender's window, which the paper does not give"
_ORDER = (
    "who of 24 SYNs sent in one moment gets into a queue of 21 is the order of opening, which the paper does not give"
)

EXPLANATIONS: tuple[Explanation, ...] = (
    Explanation("round_trips_apart", "?0[4-7]*", "*", _ROUND_TRIPS),
    Explanation("bursty_window", "?0[89]*", "*", _WINDOW),
    Explanation("interleaved", "D0[3-9]/21", "page*", _ORDER),
    Explanation("live", "*", "*", _LIVE),
)

#: What a reading gives for a cell: the cell as the study's rule finds it under that reading.
Under = Callable[[str, Cell], Cell]


def candidates(case: str, metric: str) -> Sequence[Explanation]:
    """The entries that may account for a cell, the more special first."""
    return [e for e in EXPLANATIONS if fnmatchcase(case, e.cases) and fnmatchcase(metric, e.metrics)]


def explain(cell: Cell, found: Mapping[str, Cell], digits: int = 2) -> str:
    """Why `cell` differs, in words with the experiment's name and value; `found` has the cell under each reading that was run."""
    told: list[str] = []
    for entry in candidates(cell.case, cell.metric):
        other = found.get(entry.reading)
        if other is None:
            continue
        value = f"experiment {entry.reading}: {other.ours:.{digits}f} {cell.unit}".rstrip()
        if other.agrees:
            return f"{value}, within: {entry.why}"
        told.append(value)
    return f"{NOT_EXPLAINED} ({'; '.join(told)})" if told else NOT_EXPLAINED
