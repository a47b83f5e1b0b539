"""Why a cell differs: causes that an experiment bears out, one entry per cause; a cell without one is "not explained".

An entry names a reading (`experiments.py`) that could be the reason, in which cells, and the evidence that is not the cell
itself. It is judged by the whole row: it explains a cell when, under that reading, the study's own rule finds every cell of the
same case within. A reading that moves one cell in and leaves or pushes another out explains nothing; the program says how many.
Nothing here is a number.

Some readings were found by search: README.md, "What the missing rows depend on", says what was tried. Such a reading shows what a row
depends on, not what the paper ran.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    #: Which stated fact of the paper the reading changes; nothing for one that the paper's words allow.
    against: str = ""

    @property
    def reason(self) -> str:
        """Why, with the stated fact that the reading changes."""
        return f"{self.why}; it changes what the paper states: {self.against}" if self.against else self.why


_LIVE = "the paper's words are read as REQ(1) before the shift; they can be read as after it"
_ROUND_TRIPS = (
    "five equal round trips keep the transfers in phase, so that their losses come together; the scripts of the time set "
    "them 2 ms apart (TCP does what ns-2's does: compare_ns2.py)"
)
_WINDOW = (
    "the bursty sender's window, which the paper does not give, decides how much of a burst waits in the queue; of the windows of "
    "64 to 417 segments that were tried, those of 70 to 112 do this"
)
_WINDOW_67 = (
    "at 5 Mbit/s and 100 ms 42 segments are in flight, so that 25 of a window of 67 wait: 60 ms, where voice counts as late; one "
    "segment more or less moves the share of late voice by some ten points"
)
_ORDER = (
    "who of 24 SYNs sent in one moment gets into a queue of 21 is the order of opening, which the paper does not give"
)
_KMN = "CoDel's revision kmn drops sooner again after a pause; the paper does not say which revision it ran"
_BULK_ACKS = (
    "if every second segment is acknowledged, the window grows more slowly and the transmit queue loses less during the burst; the "
    "paper does not say how its receivers acknowledge"
)

EXPLANATIONS: tuple[Explanation, ...] = (
    Explanation("round_trips_apart", "?0[4-7]*", "*", _ROUND_TRIPS, "one round trip for all five transfers (Table 2)"),
    Explanation("bursty_window", "?0[89]*", "*", _WINDOW),
    Explanation("bursty_window_67", "D09/417", "*", _WINDOW_67),
    Explanation("interleaved", "D0[3-9]/21", "page*", _ORDER),
    Explanation("live", "*", "*", _LIVE),
    Explanation("kmn", "C0[46]", "*", _KMN),
    Explanation("bulk_acks_of_two", "D03/417", "*", _BULK_ACKS),
)

#: What a reading gives: the counted cells of one case, by metric, as the study's rule finds them under it.
Row = Mapping[str, Cell]


def candidates(case: str, metric: str) -> Sequence[Explanation]:
    """The entries that may account for a cell, the more special first."""
    return [e for e in EXPLANATIONS if fnmatchcase(case, e.cases) and fnmatchcase(metric, e.metrics)]


def explain(cell: Cell, rows: Mapping[str, Row], digits: int = 2) -> str:
    """Why `cell` differs, in words with the experiment's name and value; `rows` has the cell's case under each reading that was run."""
    told: list[str] = []
    for entry in candidates(cell.case, cell.metric):
        row = rows.get(entry.reading)
        if row is None:
            continue
        value = f"experiment {entry.reading}: {row[cell.metric].ours:.{digits}f} {cell.unit}".rstrip()
        agree = sum(bool(other.agrees) for other in row.values())
        if agree == len(row):
            return f"{value}, and all {agree} cells of {cell.case} within: {entry.reason}"
        told.append(f"{value}, {agree} of {len(row)} cells of {cell.case} within")
    return f"{NOT_EXPLAINED} ({'; '.join(told)})" if told else NOT_EXPLAINED
