"""Every row of published.csv compared with ours: decided by a run, by arithmetic, taken as an input, or not testable.

result, claim   judged by a range fixed before the first run; counted
theory          computed; counted
parameter       used in the scenario, from which it is read back; not counted
not tested      no run or computation could test it; not counted

A statement that differs has an explanation, written after the runs, one entry per cause, each with the experiment that has to
support it. If the runs of that experiment do, the cause is printed with the value; if they do not, or were not made, the
statement is "not explained".
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from bloatlab.collisions import collision
from bloatlab.studies.claims import NOT_EXPLAINED, Runs, Value, each, judged, median_of
from bloatlab.studies.published import NOTHING, Place, Row, at_path, parameter_cell, places, quantity, row_cell, rows
from bloatlab.studies.scorecard import Band, Cell, Goal, Verdict, symmetric
from bloatlab.studies.scte2013 import theory
from bloatlab.studies.scte2013.build import buffer_bytes, build
from bloatlab.studies.scte2013.claims import (
    ABOVE_200_MS,
    CLAIMS,
    FIFTY,
    FTP,
    FTP_700,
    GAMER,
    GAMER_P99,
    NEVER_MORE,
    PLATEAU,
    TENTH,
    drops_ratio,
)
from bloatlab.studies.scte2013.experiments import ASKED, BDP_MS, SERIES
from bloatlab.studies.scte2013.readings import KNEE_SHARE, Reading, extreme, knee, place, point, r_squared, ratio
from bloatlab.tables import Spread

#: All statements that arithmetic decides should be within, and four in five of those that runs decide. (Two of the former are
#: not: the paper read them off a plot.)
THEORY_SHARE, RESULT_SHARE = 1.0, 0.8


@dataclass(frozen=True, slots=True)
class Theory:
    """Computed: `value` and the published one agree to the printed digits (`slack`, relative)."""

    value: Callable[[], float]
    why: str
    slack: float = 1e-9


@dataclass(frozen=True, slots=True)
class Parameter:
    """An input: read back from the resolved scenario, or counted from the grid."""

    value: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Result:
    """A number of the runs and its accepted range; the claim called `claim` must hold as well."""

    reading: Reading
    claim: str = ""


@dataclass(frozen=True, slots=True)
class Untested:
    """A statement that cannot be run or computed."""

    why: str


Rule = Theory | Parameter | Result | Untested


def cells(runs: Runs) -> list[Cell]:
    """All 80 statements."""
    return [_cell(row, runs) for row in rows("scte2013")]


def _cell(row: Row, runs: Runs) -> Cell:
    number = published_number(row.value)
    published = [] if number is None else [number]
    match rule_of(row):
        case Parameter(value):
            return parameter_cell(row, published[0], value())
        case Untested(why):
            return row_cell(row, published, NOTHING, Verdict.UNTESTED, why)
        case Theory(value, why, slack):
            ours, printed = value(), published[0]
            at_least = row.value.startswith(">")
            agrees = ours > printed if at_least else math.isclose(ours, printed, rel_tol=slack)
            band = Band(printed, math.inf) if at_least else symmetric(printed, slack * printed)
            found, reason = Spread(ours, ours, ours), why if agrees else f"{why}: {ours:.6g}"
        case Result(reading, ident):
            spread, band = reading.value(runs), reading.band
            if spread is None:
                return row_cell(row, published, NOTHING, Verdict.UNTESTED, "not run")
            claim = next((c.check(runs) for c in CLAIMS if c.ident == ident), None)
            agrees = band.holds(spread.median) and (claim is None or claim.holds is True)
            more = f"; {claim.says}: {claim.ours}" if claim is not None else ""
            found, reason = spread, f"accepted: {band.words()} {reading.unit}".strip() + more
    if not agrees:
        reason = f"{reason}; {explain(row.case, row.metric, runs)}"
    return row_cell(row, published, found, Verdict.WITHIN if agrees else Verdict.OUTSIDE, reason, [band])


def published_number(text: str) -> float | None:
    """The number in a printed value, if there is one: "~50", ">500 (marginally)", "<=1", "200+"; None for "0.5..1.0"."""
    match = re.match(r"^[~<>=≥≤]*\s*(-?\d+(?:\.\d+)?)(?!\.\.)", text)
    return float(match[1]) if match and ".." not in text else None


# --------------------------------------------------------------------------------------------------- the rules, row by row


def rule_of(row: Row | Cell) -> Rule:
    """The rule of a row, or of its cell. Raises `KeyError` for a row without one."""
    if match := re.fullmatch(r"buffer=(\d+)kB,RTT=(\d+)ms", row.case):
        kilobytes, rtt = float(match[1]), float(match[2])
        return Theory(lambda: theory.peak_rate_mbit(kilobytes, rtt), "8 x buffer / RTT, kB = 1000 bytes")
    return RULES[row.case, row.metric]


GOALS = (
    Goal("statements that arithmetic decides", THEORY_SHARE, lambda cell: isinstance(rule_of(cell), Theory)),
    Goal("statements that runs decide", RESULT_SHARE, lambda cell: not isinstance(rule_of(cell), Theory)),
)


@functools.cache
def _resolved(series: str) -> Mapping[str, Any]:
    """The resolved scenario of a series: a buffer of 960 ms, seed 1."""
    return build(replace(SERIES[series], buffer_ms=960), 1).data


def _place(place: Place) -> float:
    return place.read(_resolved(place.scenario))


def read_back(series: str, path: str, unit: str = "") -> float:
    """The value at `path` ("app.ftp.traffic.ftp.size") of a series' resolved scenario, in `unit`."""
    return quantity(at_path(_resolved(series), path), unit)


_SEARCH = "link.up.queue.sfq_hss"


def _before_collision() -> float:
    """Sessions in one group until two must share a queue: the first number for which a collision is certain."""
    ways = round(read_back("fig14", f"{_SEARCH}.ways"))
    return float(next(n for n, p in enumerate(collision(1, ways, 2 * ways)) if p > 0))


def _times(runs: Runs) -> Spread | None:
    """Ratio, for each seed, of LRED's drops per second with fifty sessions to those with one."""
    one, fifty = (runs.get(f"bloat lred200 {n}", ()) for n in (1, 50))
    pairs = [(a["drops_per_s"], b["drops_per_s"]) for a, b in zip(one, fifty, strict=False)]
    ratios = sorted(b / a for a, b in pairs if a)
    return Spread(ratios[len(ratios) // 2], ratios[0], ratios[-1]) if ratios else None


def _loss_ratio(runs: Runs) -> Spread | None:
    """Ratio of the loss at 1 Mbit/s to that at 5 Mbit/s, each as a part of Tmax, with a buffer of 200 ms."""
    slow, fast = (point(s, 200, "loss_percent", Band(0, 1)).value(runs) for s in ("fig3", "fig2"))
    if slow is None or fast is None:
        return None
    return Spread(slow.median / fast.median, slow.low / fast.high, slow.high / fast.low)


def _recommended(runs: Runs) -> Spread | None:
    """Least share of Tmax over all round trips with a buffer of 1.25 x the longest one's BDP, 250 ms."""
    points = [runs.get(f"rtt droptail 250 {rtt}", ()) for rtt in ASKED["rtt"].axes["rtt_ms"]]
    worst = [min(run["rate_share"] for run in seed) for seed in zip(*points, strict=False)]
    return Spread(float(np.median(worst)), min(worst), max(worst)) if worst else None


def _buffer_kb(ms: float, mbit: float) -> float:
    return buffer_bytes(ms, mbit) / 1000


#: Hash collisions: case, metric, shape of the hash table (groups, queues per group), sessions, slack, reason.
COLLISIONS: Sequence[tuple[str, str, tuple[int, int], int, float, str]] = (
    ("hash 256 queues, 2 sessions", "P(no collision)", (256, 1), 2, 5e-4, "exact, printed to a tenth"),
    ("hash 256 queues, 3 sessions", "P(no collision)", (256, 1), 3, 5e-4, "exact, printed to a tenth"),
    ("hash 256 queues, 10 sessions", "P(collision)", (256, 1), 10, 1e-9, "exact, more than 16 %"),
    ("hash 256 queues, 20 sessions", "P(collision)", (256, 1), 20, 1e-9,
     "exact, more than 50 %; the sentence that says 16 % for 20 is a slip"),
    ("set-assoc 64x4, 20 sessions", "P(collision)", (64, 4), 20, 0.1, "exact"),
    ("set-assoc 64x4, 35 sessions", "P(collision)", (64, 4), 35, 0.1, "exact"),
)  # fmt: skip


def _chance(metric: str, shape: tuple[int, int], sessions: int) -> float:
    """Percent."""
    some = collision(*shape, sessions)[sessions]
    return 100 * float(1 - some if metric == "P(no collision)" else some)


_GUIDANCE = "guidance on what round trips there are, not a result"
_OBSERVED = "an observation of the field, not a result"

RULES: Mapping[tuple[str, str], Rule] = {
    **{(p.case, p.metric): Parameter(functools.partial(_place, p)) for p in places("scte2013")},
    ("baseline", "points (buffer sizes) per series"): Parameter(
        lambda: float(sum(at["series"] == "fig2" for at in ASKED["figures"].grid((1,)).places()))),
    # two wires of half the round trip
    ("Fig2 DropTail", "uncongested RTT"): Parameter(lambda: 2.0 * read_back("fig2", "link.net50.delay", "ms")),
    # ------------------------------------------------------------------------------------------------------- computed
    **{
        (case, metric): Theory(functools.partial(_chance, metric, shape, sessions), why, slack)
        for case, metric, shape, sessions, slack, why in COLLISIONS
    },
    ("500 kB buffer @ 2 Mbps", "full-buffer drain time"): Theory(lambda: theory.drain_s(500, 2), "8 x 500 kB / 2 Mbit/s"),
    ("overview analogy", "queue wait 120 people x 1 min"): Theory(
        lambda: theory.queue_wait(120, 1.0), "an analogy: the wait behind 120 in a FIFO that serves one a minute"),
    ("two sessions RTT 100 vs 10 ms", "ratio of ideal buffers"): Theory(
        lambda: theory.peak_rate_mbit(1, 10) / theory.peak_rate_mbit(1, 100), "BDP is proportional to RTT"),
    ("Fig2 vs Fig3", "buffer bytes ratio at equal ms"): Theory(lambda: _buffer_kb(200, 5.0) / _buffer_kb(200, 1.0), "bytes = ms x Tmax / 8"),
    ("Fig6 SFQ 960 ms buffer", "physical buffer"): Theory(lambda: _buffer_kb(960, 5.0), "0.96 s x 5 Mbit/s / 8"),
    ("set-assoc 64x4", "sessions in one group before collision"): Theory(
        _before_collision, "one more than a group has queues in the scenario of Figure 14"),
    # ------------------------------------------------------------------------------------------------------------ run
    ("Fig2a DropTail", "gamer latency / FTP latency"): Result(ratio(("fig2", GAMER), ("fig2", FTP), TENTH, 0, worst=True)),
    ("Fig2a DropTail", "latency vs buffer"): Result(r_squared("fig2", FTP), "linear"),
    ("Fig2b DropTail", "total upstream rate vs buffer"): Result(point("fig2", BDP_MS, "rate_share", Band(0.97, 1.0), ""), "constant"),
    ("Fig2b DropTail", "knee of throughput curve"): Result(knee("fig2"), "same-knee"),
    ("Fig3b DropTail 1 Mbps,200 ms buffer", "data loss rate"): Result(point("fig3", 200, "loss_percent", Band(4.0, 14.0), "%")),
    ("Fig5 SFQ", "gamer latency"): Result(point("fig5", 960, GAMER, Band(40.0, 70.0)), "sfq-gamer"),
    ("Fig5b SFQ", "throughput and loss vs Fig 2b"): Result(
        ratio(("fig5", "rate_mbit"), ("fig2", "rate_mbit"), Band(0.97, 1.03), BDP_MS, worst=True), "sfq-rate"),
    ("recommendation", "buffer when SFQ is used"): Result(point("fig5", 200, "rate_share", Band(0.97, 1.0), "of Tmax"), "sfq-gamer"),
    ("Fig6 SFQ 960 ms buffer", "gamer latency range"): Result(point("fig5", 960, "gamer_p99_ms", GAMER_P99), "sfq-gamer"),
    ("Fig6 SFQ 960 ms buffer", "FTP latency range (most packets)"): Result(
        point("fig5", 960, "ftp_share_half_to_one_s", Band(0.5, 1.0), "of the packets between 0.5 and 1.0 s"), "sfq-ftp"),
    ("Fig7 SFQ forced collision gamer+1 FTP", "gamer latency vs baseline"): Result(
        ratio(("fig7", GAMER), ("fig2", GAMER), TENTH, BDP_MS, worst=False), "collision"),
    ("Fig7 SFQ forced collision", "drain rate of shared sub-queue"): Result(point("fig7", 960, "collided_share", Band(0.09, 0.11), "x Tmax")),
    ("Fig11 LRED", "latency plateau FTP and gamer"): Result(extreme("fig11", FTP, PLATEAU, least_ms=ABOVE_200_MS), "lred-plateau"),
    ("Fig12 LRED 960 ms buffer", "latency range (all packets)"): Result(point("fig11", 960, "ftp_p99_ms", Band(100.0, 210.0))),
    ("Fig12 LRED 960 ms buffer", "average latency"): Result(point("fig11", 960, FTP, Band(200.0, 230.0))),
    ("Fig13 LRED 1 Mbps", "average latency"): Result(point("fig13", 960, FTP, Band(80.0, 130.0))),
    ("Fig13 LRED 1 Mbps", "packet drop rate"): Result(point("fig13", 960, "drop_percent", Band(10.0, NEVER_MORE), "%")),
    ("LRED stand-alone", "usable target latency"): Result(
        point("fig13", 960, "drop_percent", Band(5.0, NEVER_MORE), "% dropped below 100 ms"), "lred-low"),
    ("Fig14 SFQ+LRED700", "FTP latency peak"): Result(point("fig14", 960, FTP, FTP_700)),
    ("Fig14 SFQ+LRED700", "gamer latency"): Result(point("fig14", 960, GAMER, Band(40.0, 70.0)), "both-gamer"),
    ("Fig15/16 SFQ+LRED 700 and 200", "gamer latency range"): Result(point("fig14", 960, "gamer_p99_ms", GAMER_P99), "both-only-ftp"),
    ("session bloat", "drops needed for 50 sessions vs 1"): Result(Reading(_times, FIFTY, "times")),
    ("low bandwidth SF", "Tmax regarded as low"): Result(Reading(_loss_ratio, Band(1.0, NEVER_MORE), "times the loss at 5 Mbit/s")),
    ("conclusion", "recommended drop-tail buffer"): Result(
        Reading(_recommended, Band(0.97, 1.0), "of Tmax, least of all round trips with 1.25 x the longest")),
    # ----------------------------------------------------------------------------------------------------- not tested
    ("same region", "typical RTT"): Untested(_GUIDANCE),
    ("same continent", "typical RTT"): Untested(_GUIDANCE),
    ("different continents", "typical RTT"): Untested(_GUIDANCE),
    ("BitTorrent observation", "peers"): Untested(_OBSERVED),
    ("BitTorrent observation", "concurrent active TCP sessions"): Untested(_OBSERVED),
    ("single drop", "fraction of streams affected"): Untested("1/N by definition: a packet belongs to one stream"),
}  # fmt: skip


# -------------------------------------------------------------------------------------------------------- explanations


@dataclass(frozen=True, slots=True)
class Explanation:
    """A cause, and the statements that it explains: shell patterns over case and metric.

    The `values` of `experiment` have to support it; `holds` and `ours` are those of a claim.
    """

    case: str
    metric: str
    why: str
    experiment: str
    values: Sequence[Value]
    holds: Callable[..., bool]
    ours: str | Callable[..., str]

    def words(self, runs: Runs) -> str:
        """The cause with its value, or the reason why it explains nothing here."""
        found = judged(runs, self.values, self.holds, self.ours)
        if found is None:
            return f"{NOT_EXPLAINED}: -e {self.experiment} was not run"
        text, holds = found
        if not holds:
            return f"{NOT_EXPLAINED}: -e {self.experiment} shows {text}"
        return f"{self.why} (-e {self.experiment}: {text})"


def explain(case: str, metric: str, runs: Runs) -> str:
    """The cause of a differing statement with the value of its experiment, or `NOT_EXPLAINED`."""
    for entry in EXPLANATIONS:
        if fnmatchcase(case, entry.case) and fnmatchcase(metric, entry.metric):
            return entry.words(runs)
    return NOT_EXPLAINED


KNEE_SESSIONS, KNEE_MS = ASKED["knee"].axes.values()
(P_MAXES,), (SHARPNESS,) = (ASKED[name].axes.values() for name in ("p_max", "sharpness"))


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
