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


_SYN_ORDER = (
    "suspected: who of 24 SYNs sent in one moment gets into a queue of 21 (sensitivity: web_open_order), and how hard five "
    "transfers press on it: there voice loses more than published, too. ns-2 itself does as our presets do "
    "(benches/peers/compare_ns2.py), so what differs is in the paper's script"
)
_ROUND_TRIPS = (
    "suspected: five equal round trips keep the transfers in phase, so that their losses come together; 1 ms apart each way, as in "
    "the scripts of the time, voice loses far less, and the published value lies between or beside "
    "(benches/peers/round_trips_apart.py); TCP does what ns-2's does (compare_ns2.py)"
)
_FEWER_PAGES = (
    "follows from the page counts behind 21 packets: what pages do not use, the transfer does; the rule wants CoDel's difference "
    "to both DropTail buffers"
)

EXPLANATIONS: tuple[Explanation, ...] = (
    Explanation("D0[46]/*", "VoIP *", _ROUND_TRIPS),
    Explanation("D07/21", "VoIP *", _ROUND_TRIPS),
    Explanation("D0[2-8]/21", "page load time *", _SYN_ORDER),
    Explanation("D0[2-8]/21", "pages completed *", _SYN_ORDER),
    Explanation(
        "?06*",
        "FTP *",
        "the paper's own: its transfer rises by 2.93 MB under CoDel, where the pages' upstream bytes account for 0.14 (SPEC 3.6, "
        "6); the ceiling less voice, UDP and pages gives ours",
    ),
    Explanation("D0[37]/21", "FTP *", _FEWER_PAGES),
    Explanation("C0[237]", "FTP *", _FEWER_PAGES),
    Explanation(
        "?09*",
        "FTP *",
        "suspected: at 100 ms the bursty sender's window decides how much of the bucket is used, and it is known only to a few "
        "segments (inferred from D08 with 417 packets)",
    ),
    Explanation(
        "D09/417",
        "page load time *",
        "suspected: as for the transfer; one segment of the sender's window is 2.4 ms of queue and, over 32 round trips, 77 ms "
        "of page time",
    ),
)


def explain(case: str, metric: str) -> str:
    """The cause that accounts for a differing cell, or `NOT_EXPLAINED`."""
    for entry in EXPLANATIONS:
        if fnmatchcase(case, entry.cases) and fnmatchcase(metric, entry.metrics):
            return entry.why
    return NOT_EXPLAINED
