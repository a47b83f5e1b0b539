"""Why a statement differs: written after looking, one entry per cause, each with the experiment that has to bear it out.

An entry names an experiment (`-e NAME`) and says what it must show. Where its runs show that, the cause stands with the value;
where they do not, or were not made, the statement is "not explained".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from bloatlab.studies.claims import NOT_EXPLAINED, Runs, Value, each, judged, median_of
from bloatlab.studies.scte2013.claims import FTP, GAMER, drops_ratio
from bloatlab.studies.scte2013.readings import KNEE_SHARE, place
from bloatlab.studies.scte2013.text import KNEE_MS, KNEE_SESSIONS, P_MAXES, SHARPNESS


@dataclass(frozen=True, slots=True)
class Explanation:
    """A cause, and the statements that it accounts for: shell patterns over case and metric.

    `values` of `experiment` have to bear it out; `holds` and `ours` are as those of a claim.
    """

    case: str
    metric: str
    why: str
    experiment: str
    values: Sequence[Value]
    holds: Callable[..., bool]
    ours: str | Callable[..., str]

    def words(self, runs: Runs) -> str:
        """The cause with its value, or why it explains nothing here."""
        found = judged(runs, self.values, self.holds, self.ours)
        if found is None:
            return f"{NOT_EXPLAINED}: -e {self.experiment} was not run"
        text, holds = found
        if not holds:
            return f"{NOT_EXPLAINED}: -e {self.experiment} shows {text}"
        return f"{self.why} (-e {self.experiment}: {text})"


def explain(case: str, metric: str, runs: Runs) -> str:
    """The cause that accounts for a differing statement, with the value of its experiment, or `NOT_EXPLAINED`."""
    for entry in EXPLANATIONS:
        if fnmatchcase(case, entry.case) and fnmatchcase(metric, entry.metric):
            return entry.words(runs)
    return NOT_EXPLAINED


def _knees(runs: Runs) -> list[float] | None:
    """The knee of each number of sessions in ms of buffer, interpolated."""
    found: list[float] = []
    for sessions in KNEE_SESSIONS:
        rate = [
            share for ms in KNEE_MS if (share := median_of(runs, f"knee {sessions} {ms}", "rate_share")) is not None
        ]
        if len(rate) < len(KNEE_MS):
            return None
        wanted = KNEE_SHARE * rate[-1]
        last = max(i for i, share in enumerate(rate[:-1]) if share < wanted)
        found.append(float(np.interp(wanted, rate[last : last + 2], KNEE_MS[last : last + 2])))
    return found


#: BDP / sqrt(n) of each number of sessions.
_THEORY = [50.0 / math.sqrt(n) for n in KNEE_SESSIONS]


def _knees_beside_theory(knees: Sequence[float]) -> str:
    ours, theory = (", ".join(f"{ms:.0f}" for ms in of) for of in (knees, _THEORY))
    return f"{ours} ms for {', '.join(map(str, KNEE_SESSIONS))} sessions, by theory {theory}"


_TAIL, _LONGEST = "overflow sfq tail 960", "overflow sfq longest 960"

_GAMER_WINDOW = (
    "the gamer's own window: one that loses nothing slow-starts (2, 3 and 2 segments, 70.3 ms on average by arithmetic); under SFQ it "
    "loses a packet now and then, its ssthresh stays at 2, and it sends 2, 2, 2 and 1 (62.7 ms), the message later"
)
#: Under plain SFQ, too, the gamer waits as under SFQ + LRED once nothing of it is dropped.
_WITHOUT_LOSS = (
    "overflow",
    [(_TAIL, GAMER), (_LONGEST, GAMER), (_LONGEST, "gamer_drops"), (place("fig14", 960), GAMER)],
    lambda _, longest, drops, lred: drops == 0.0 and abs(longest / lred - 1.0) <= 0.05,
    "SFQ alone {0:.0f} ms; where it drops from the longest queue, nothing of the gamer's, {1:.0f}; with LRED {3:.0f}",
)

EXPLANATIONS: tuple[Explanation, ...] = (
    Explanation(
        "Fig2b DropTail", "knee *",
        "n flows that are not in step need BDP / sqrt(n): loss, not throughput, is what a small buffer costs many flows",
        "knee", [_knees], lambda knees: all(0.5 <= k / t <= 2.0 for k, t in zip(knees, _THEORY, strict=True)),
        _knees_beside_theory,
    ),
    Explanation(
        "Fig5b SFQ", "*",
        "the overflow rule, which is not stated: under tail drop a memory that is shared unevenly loses more",
        "overflow",
        each([f"overflow {queue} 100" for queue in ("droptail tail", "sfq tail", "sfq longest")], "loss_percent"),
        lambda droptail, tail, longest: longest - droptail <= 1.0 < tail - droptail + 0.2,
        lambda droptail, tail, longest: f"at 100 ms SFQ loses {tail - droptail:.2f} % of Tmax more than drop-tail, "
        f"{longest - droptail:.2f} with longest-queue drop",
    ),
    Explanation(
        "Fig6 *", "FTP *",
        "the overflow rule, which is not stated: under tail drop the sessions' shares of the memory are uneven",
        "overflow", each([_LONGEST, _TAIL], "ftp_share_half_to_one_s"), lambda longest, tail: tail < 0.5 <= longest,
        "with longest-queue drop {:.2f} of the packets, with tail drop {:.2f}",
    ),
    Explanation(
        "Fig7 SFQ forced collision gamer*", "*",
        "the overflow rule, which is not stated: under tail drop the shared queue takes more than its tenth of the memory",
        "overflow",
        each([f"overflow {queue} 960" for queue in ("droptail tail", "sfq_collision tail", "sfq_collision longest")], GAMER),
        lambda baseline, tail, longest: 0.9 <= longest / baseline <= 1.1 < tail / baseline,
        "baseline {:.0f} ms, collision {:.0f}, with longest-queue drop {:.0f}",
    ),
    Explanation(
        "Fig12 *", "latency range*",
        "the paper's: packets are dropped only after 200 ms in the queue, and 25 ms of propagation come on top",
        "sharpness", each([f"sharpness {p}" for p in SHARPNESS], "ftp_p99_ms"), lambda *p99: min(p99) > 210.0,
        lambda *p99: ", ".join(f"p99 {ms:.0f} ms with {p:.0%}" for p, ms in zip(SHARPNESS, p99, strict=True)),
    ),
    Explanation(
        "Fig13 *", "average latency", "Pmax is not stated, and decides; ours is 12 %",
        "p_max", each([f"p_max {p}" for p in P_MAXES], FTP, "drop_percent"),
        lambda *v: any(80.0 <= ms <= 130.0 and dropped > 10.0 for ms, dropped in zip(v[:5], v[5:], strict=True)),
        lambda *v: "; ".join(
            f"Pmax {p:.0%} {ms:.0f} ms, {dropped:.1f} % dropped" for p, ms, dropped in zip(P_MAXES, v[:5], v[5:], strict=True)
        ),
    ),
    Explanation("Fig14 *", "gamer latency", _GAMER_WINDOW, *_WITHOUT_LOSS),
    Explanation("Fig15/16 *", "*", _GAMER_WINDOW, *_WITHOUT_LOSS),
    # with a law that holds the delay, drops have to grow faster than sessions, too
    Explanation(
        "session bloat", "*",
        "a session's window is the N-th part, and loss goes with 1/W^2, so drops at one delay grow faster than sessions",
        "bloat", [drops_ratio("pie"), *each(["bloat pie 1", "bloat pie 50"], FTP)],
        lambda times, wait, waits: times > 100.0 and waits < 1.25 * wait,
        "PIE takes {0:.0f} times the drops for fifty sessions at {2:.0f} ms as for one at {1:.0f}",
    ),
)  # fmt: skip
