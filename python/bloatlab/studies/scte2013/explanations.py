"""Why a statement differs: written after looking, one entry per cause, each with the experiment that has to bear it out.

An entry names an experiment (`-e NAME`) and says what it must show. Where its runs show that, the cause stands with the value;
where they do not, or were not made, the statement is "not explained".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from bloatlab.studies.claims import Runs, median_of
from bloatlab.studies.scte2013.claims import FTP, GAMER
from bloatlab.studies.scte2013.readings import KNEE_SHARE
from bloatlab.studies.scte2013.text import KNEE_MS, KNEE_SESSIONS, P_MAXES, SHARPNESS
from bloatlab.tables import number

NOT_EXPLAINED = "not explained"

#: What an experiment shows in words, and whether it bears the cause out; None when a run is missing.
Shown = tuple[str, bool] | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """A cause, the statements that it accounts for (shell patterns over case and metric), and its experiment."""

    case: str
    metric: str
    why: str
    experiment: str
    shows: Callable[[Runs], Shown]

    def words(self, runs: Runs) -> str:
        """The cause with its value, or why it explains nothing here."""
        shown = self.shows(runs)
        if shown is None:
            return f"{NOT_EXPLAINED}: -e {self.experiment} was not run"
        text, holds = shown
        return (
            f"{self.why} (-e {self.experiment}: {text})"
            if holds
            else f"{NOT_EXPLAINED}: -e {self.experiment} shows {text}"
        )


def explain(case: str, metric: str, runs: Runs) -> str:
    """The cause that accounts for a differing statement, with the value of its experiment, or `NOT_EXPLAINED`."""
    for entry in EXPLANATIONS:
        if fnmatchcase(case, entry.case) and fnmatchcase(metric, entry.metric):
            return entry.words(runs)
    return NOT_EXPLAINED


def _values(runs: Runs, *wanted: tuple[str, str]) -> list[float] | None:
    found = [median_of(runs, *w) for w in wanted]
    return None if any(v is None for v in found) else [v for v in found if v is not None]


def _overflow_loss(runs: Runs) -> Shown:
    keys = ("overflow droptail tail 100", "overflow sfq tail 100", "overflow sfq longest 100")
    v = _values(runs, *((key, "loss_percent") for key in keys))
    if v is None:
        return None
    text = f"at 100 ms SFQ loses {v[1] - v[0]:.2f} % of Tmax more than drop-tail, {v[2] - v[0]:.2f} with longest-queue drop"
    return text, v[2] - v[0] <= 1.0 < v[1] - v[0] + 0.2


def _overflow_spread(runs: Runs) -> Shown:
    keys = ("overflow sfq tail 960", "overflow sfq longest 960")
    v = _values(runs, *((key, "ftp_share_half_to_one_s") for key in keys))
    if v is None:
        return None
    return f"with longest-queue drop {v[1]:.2f} of the packets, with tail drop {v[0]:.2f}", v[0] < 0.5 <= v[1]


def _overflow_collision(runs: Runs) -> Shown:
    keys = ("overflow droptail tail 960", "overflow sfq_collision tail 960", "overflow sfq_collision longest 960")
    v = _values(runs, *((key, GAMER) for key in keys))
    if v is None:
        return None
    text = f"baseline {v[0]:.0f} ms, collision {v[1]:.0f}, with longest-queue drop {v[2]:.0f}"
    return text, 0.9 <= v[2] / v[0] <= 1.1 < v[1] / v[0]


def _gamer_without_loss(runs: Runs) -> Shown:
    """Under plain SFQ, too, the gamer waits as under SFQ + LRED once nothing of it is dropped."""
    v = _values(
        runs,
        ("overflow sfq tail 960", GAMER),
        ("overflow sfq longest 960", GAMER),
        ("overflow sfq longest 960", "gamer_drops"),
        ("figures fig14 960", GAMER),
    )
    if v is None:
        return None
    text = f"SFQ alone {v[0]:.0f} ms; where it drops from the longest queue, nothing of the gamer's, {v[1]:.0f}; with LRED {v[3]:.0f}"
    return text, v[2] == 0.0 and abs(v[1] / v[3] - 1.0) <= 0.05


def _knees(runs: Runs) -> Shown:
    """The knee of n sessions beside BDP / sqrt(n), within a factor of two."""
    found: list[float] = []
    for sessions in KNEE_SESSIONS:
        rate = _values(runs, *((f"knee {sessions} {ms}", "rate_share") for ms in KNEE_MS))
        if rate is None:
            return None
        wanted = KNEE_SHARE * rate[-1]
        last = max(i for i, r in enumerate(rate[:-1]) if r < wanted)
        found.append(float(np.interp(wanted, rate[last : last + 2], KNEE_MS[last : last + 2])))
    theory = [50.0 / math.sqrt(n) for n in KNEE_SESSIONS]
    text = (
        f"{', '.join(number(k, 0) for k in found)} ms for {', '.join(map(str, KNEE_SESSIONS))} sessions, "
        f"by theory {', '.join(number(k, 0) for k in theory)}"
    )
    return text, all(0.5 <= k / t <= 2.0 for k, t in zip(found, theory, strict=True))


def _p_max(runs: Runs) -> Shown:
    points = [_values(runs, (f"p_max {p}", FTP), (f"p_max {p}", "drop_percent")) for p in P_MAXES]
    if any(v is None for v in points):
        return None
    both = [(p, v) for p, v in zip(P_MAXES, points, strict=True) if v and 80.0 <= v[0] <= 130.0 and v[1] > 10.0]
    text = "; ".join(
        f"Pmax {p:.0%} {v[0]:.0f} ms, {v[1]:.1f} % dropped" for p, v in zip(P_MAXES, points, strict=True) if v
    )
    return text, bool(both)


def _sharpness(runs: Runs) -> Shown:
    v = _values(runs, *((f"sharpness {p}", "ftp_p99_ms") for p in SHARPNESS))
    if v is None:
        return None
    text = ", ".join(f"p99 {x:.0f} ms with {p:.0%}" for p, x in zip(SHARPNESS, v, strict=True))
    return text, min(v) > 210.0


def _bloat(runs: Runs) -> Shown:
    """With a law that holds the delay, drops grow faster than sessions, too."""
    one, fifty = (_values(runs, (f"bloat pie {n}", "drops_per_s"), (f"bloat pie {n}", FTP)) for n in (1, 50))
    if one is None or fifty is None or not one[0]:
        return None
    text = f"PIE takes {fifty[0] / one[0]:.0f} times the drops for fifty sessions at {fifty[1]:.0f} ms as for one at {one[1]:.0f}"
    return text, fifty[0] / one[0] > 100.0 and fifty[1] < 1.25 * one[1]


_GAMER_WINDOW = (
    "the gamer's own window: one that loses nothing slow-starts (2, 3 and 2 segments, 70.3 ms on average by arithmetic); under SFQ it "
    "loses a packet now and then, its ssthresh stays at 2, and it sends 2, 2, 2 and 1 (62.7 ms), the message later"
)

EXPLANATIONS: tuple[Explanation, ...] = (
    Explanation(
        "Fig2b DropTail",
        "knee *",
        "n flows that are not in step need BDP / sqrt(n): loss, not throughput, is what a small buffer costs many flows",
        "knee",
        _knees,
    ),
    Explanation(
        "Fig5b SFQ",
        "*",
        "the overflow rule, which is not stated: under tail drop a memory that is shared unevenly loses more",
        "overflow",
        _overflow_loss,
    ),
    Explanation(
        "Fig6 *",
        "FTP *",
        "the overflow rule, which is not stated: under tail drop the sessions' shares of the memory are uneven",
        "overflow",
        _overflow_spread,
    ),
    Explanation(
        "Fig7 SFQ forced collision gamer*",
        "*",
        "the overflow rule, which is not stated: under tail drop the shared queue takes more than its tenth of the memory",
        "overflow",
        _overflow_collision,
    ),
    Explanation(
        "Fig12 *",
        "latency range*",
        "the paper's: packets are dropped only after 200 ms in the queue, and 25 ms of propagation come on top",
        "sharpness",
        _sharpness,
    ),
    Explanation("Fig13 *", "average latency", "Pmax is not stated, and decides; ours is 12 %", "p_max", _p_max),
    Explanation("Fig14 *", "gamer latency", _GAMER_WINDOW, "overflow", _gamer_without_loss),
    Explanation("Fig15/16 *", "*", _GAMER_WINDOW, "overflow", _gamer_without_loss),
    Explanation(
        "session bloat",
        "*",
        "a session's window is the N-th part, and loss goes with 1/W^2, so drops at one delay grow faster than sessions",
        "bloat",
        _bloat,
    ),
)
