"""Every row of published.csv beside ours: what a run shows, what arithmetic decides, what is an input, what cannot be tested.

result, claim   judged by a range fixed before the first run; counted
theory          computed; counted
parameter       taken over into the scenario, from which it is read back; not counted
not tested      says nothing that a run or a computation could bear out; not counted
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bloatlab.collisions import collision
from bloatlab.studies.claims import Claim, Runs
from bloatlab.studies.published import Row, at_path, quantity, rows
from bloatlab.studies.scorecard import Band, Cell, Goal, Verdict, symmetric
from bloatlab.studies.scte2013 import theory
from bloatlab.studies.scte2013.build import build
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
)
from bloatlab.studies.scte2013.experiments import BDP_MS, FIGURES, RTTS_MS, SERIES
from bloatlab.studies.scte2013.explanations import explain
from bloatlab.studies.scte2013.queues import buffer_bytes
from bloatlab.studies.scte2013.readings import Reading, extreme, knee, point, r_squared, ratio
from bloatlab.tables import Spread

#: Every statement that arithmetic decides must come out, and four in five of those that runs decide. (Two of the thirty do
#: not: they were read off a plot. That is the paper's, and it is missed all the same.)
THEORY_SHARE = 1.0
RESULT_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class Theory:
    """Computed: `value` beside the published one, to the digits that are printed (`slack`, relative)."""

    value: Callable[[], float]
    why: str
    slack: float = 1e-9


@dataclass(frozen=True, slots=True)
class Parameter:
    """An input: read back from the resolved scenario that runs, or counted from the grid."""

    value: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Result:
    """A number that runs give, and the range it should lie in; `claim` names a check that must hold as well."""

    reading: Reading
    claim: str = ""


@dataclass(frozen=True, slots=True)
class Untested:
    """Nothing to run or compute."""

    why: str


Rule = Theory | Parameter | Result | Untested


def cells(runs: Runs) -> list[Cell]:
    """All 80 statements beside ours."""
    claims = {c.ident: c for c in CLAIMS}
    return [_cell(row, runs, claims) for row in rows("scte2013")]


def _cell(row: Row, runs: Runs, claims: Mapping[str, Claim]) -> Cell:
    published = published_number(row.value)
    ours, bands, verdict, reason = _judge(row, math.nan if published is None else published, runs, claims)
    if verdict is Verdict.OUTSIDE and not isinstance(rule_of(row), Parameter):
        reason = f"{reason}; {explain(row.case, row.metric, runs)}"
    agrees = {Verdict.WITHIN: True, Verdict.OUTSIDE: False}.get(verdict)
    return Cell(
        row.case, row.metric, row.unit, (), () if published is None else (published,), row.value,
        ours.median, ours.low, ours.high, bands, verdict, reason, agrees, row.where,
    )  # fmt: skip


def _judge(
    row: Row, published: float, runs: Runs, claims: Mapping[str, Claim]
) -> tuple[Spread, tuple[Band, ...], Verdict, str]:
    """Ours, what is accepted, the verdict, and why."""
    match rule_of(row):
        case Theory(value, why, slack):
            ours = value()
            at_least = row.value.startswith(">")
            agrees = ours > published if at_least else math.isclose(ours, published, rel_tol=slack)
            band = Band(published, math.inf) if at_least else symmetric(published, slack * published)
            return _one(ours), (band,), _counted(agrees), why if agrees else f"{why}: {ours:.6g}"
        case Parameter(value):
            ours = value()
            if math.isclose(ours, published, rel_tol=1e-9):
                return _one(ours), (), Verdict.PARAMETER, "as in our scenarios"
            return _one(ours), (), Verdict.OUTSIDE, "our scenarios have something else"
        case Untested(why):
            return _one(math.nan), (), Verdict.UNTESTED, why
        case Result(reading, claim):
            spread = reading.value(runs)
            if spread is None:
                return _one(math.nan), (), Verdict.UNTESTED, "not run"
            checked = claims[claim].check(runs) if claim else None
            agrees = reading.band.holds(spread.median) and (checked is None or checked.holds is True)
            more = f"; {checked.says}: {checked.ours}" if checked is not None else ""
            asked = f"asked: {reading.band.words()} {reading.unit}".strip()
            return spread, (reading.band,), _counted(agrees), f"{asked}{more}"


def _counted(agrees: bool) -> Verdict:
    return Verdict.WITHIN if agrees else Verdict.OUTSIDE


def _one(value: float) -> Spread:
    return Spread(value, value, value)


def published_number(text: str) -> float | None:
    """The number in a printed value, if there is one: "~50", ">500 (marginally)", "<=1", "200+"; None for "0.5..1.0"."""
    match = re.match(r"^[~<>=≥≤]*\s*(-?\d+(?:\.\d+)?)(?!\.\.)", text)
    return float(match[1]) if match and ".." not in text else None


# -------------------------------------------------------------------------------------------------- the rules, row by row


def rule_of(row: Row | Cell) -> Rule:
    """The rule of a row, or of its cell. Raises `KeyError` for one that nobody has thought of."""
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
    """The scenario of a series as it runs, with every default in it: a buffer of 960 ms, seed 1."""
    return build(replace(SERIES[series], buffer_ms=960), 1).data


def read_back(series: str, path: str, unit: str = "") -> float:
    """The value at `path` ("app.ftp.traffic.ftp.size") of a series' resolved scenario, in `unit`."""
    return quantity(at_path(_resolved(series), path), unit)


def _rtt() -> float:
    """There and back: two wires of half the round trip."""
    return 2.0 * read_back("fig2", "link.net50.delay", "ms")


def _points() -> float:
    """Buffer sizes of one series in the grid that runs."""
    return float(sum(at["series"] == "fig2" for at in FIGURES.grid((1,)).places()))


_SEARCH = "link.up.queue.sfq_hss"


def _before_collision() -> float:
    """Sessions in one group until two must share a queue: the first count of whom a collision is certain."""
    ways = round(read_back("fig14", f"{_SEARCH}.ways"))
    return float(next(n for n, p in enumerate(collision(1, ways, 2 * ways)) if p > 0))


def _times(runs: Runs) -> Spread | None:
    """Drops per second with fifty sessions under LRED over those with one, seed by seed."""
    one, fifty = (runs.get(f"bloat lred200 {n}", ()) for n in (1, 50))
    pairs = [(a["drops_per_s"], b["drops_per_s"]) for a, b in zip(one, fifty, strict=False)]
    ratios = sorted(b / a for a, b in pairs if a)
    return Spread(ratios[len(ratios) // 2], ratios[0], ratios[-1]) if ratios else None


def _loss_ratio(runs: Runs) -> Spread | None:
    """Loss at 1 Mbit/s over that at 5 Mbit/s, both in parts of Tmax, with a buffer of 200 ms."""
    slow, fast = (point(s, 200, "loss_percent", Band(0, 1)).value(runs) for s in ("fig3", "fig2"))
    if slow is None or fast is None:
        return None
    return Spread(slow.median / fast.median, slow.low / fast.high, slow.high / fast.low)


def _recommended(runs: Runs) -> Spread | None:
    """Least share of Tmax over all round trips with a buffer of 1.25 x the longest one's BDP, 250 ms."""
    points = [runs.get(f"rtt droptail 250 {rtt}", ()) for rtt in RTTS_MS]
    worst = [min(run["rate_share"] for run in seed) for seed in zip(*points, strict=False)]
    return Spread(float(np.median(worst)), min(worst), max(worst)) if worst else None


def _buffer_kb(ms: float, mbit: float) -> float:
    return buffer_bytes(ms, mbit) / 1000


#: Inputs that stand in a scenario: case and metric, the series, the path in its scenario, the unit.
READ_BACK: Sequence[tuple[str, str, str, str, str]] = (
    ("baseline", "FTP object size", "fig2", "app.ftp.traffic.ftp.size", "MB"),
    ("baseline", "spacing between FTP objects", "fig2", "app.ftp.traffic.ftp.pause", "s"),
    ("baseline", "gamer message size", "fig2", "app.gamer.traffic.messages.message", "KB"),
    ("baseline", "gamer message interval", "fig2", "app.gamer.traffic.messages.interval", "s"),
    ("Fig2 DropTail", "number of FTP sessions", "fig2", "app.ftp.traffic.ftp.flows", ""),
    ("Fig2 DropTail", "Tmax", "fig2", "link.up.rate", "mbit"),
    ("Fig3 DropTail", "Tmax", "fig3", "link.up.rate", "mbit"),
    ("set-assoc 64x4", "groups", "fig14", f"{_SEARCH}.groups", ""),
    ("set-assoc 64x4", "queues per group", "fig14", f"{_SEARCH}.ways", ""),
    ("Fig11 LRED", "MINth", "fig11", "link.up.queue.lred.min_th", "ms"),
    ("Fig11 LRED", "MAXth", "fig11", "link.up.queue.lred.max_th", "ms"),
    ("Fig11 LRED", "Pmin", "fig11", "link.up.queue.lred.p_min", "%"),
    ("Fig11 LRED", "Pmax", "fig11", "link.up.queue.lred.p_max", "%"),
    ("Fig13 LRED 1 Mbps", "latency goal (MINth)", "fig13", "link.up.queue.lred.min_th", "ms"),
    ("Fig14 SFQ+LRED700", "MINth", "fig14", f"{_SEARCH}.law.lred.min_th", "ms"),
    ("Fig14 SFQ+LRED700", "MAXth", "fig14", f"{_SEARCH}.law.lred.max_th", "ms"),
    ("Fig14 SFQ+LRED700", "Pmin", "fig14", f"{_SEARCH}.law.lred.p_min", "%"),
    ("Fig14 SFQ+LRED700", "Pmax", "fig14", f"{_SEARCH}.law.lred.p_max", "%"),
)

#: Hash collisions: case and metric, the tables (groups, queues in each), the sessions, what the printed value says, slack, why.
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
    **{
        (case, metric): Parameter(functools.partial(read_back, series, path, unit))
        for case, metric, series, path, unit in READ_BACK
    },
    ("baseline", "points (buffer sizes) per series"): Parameter(_points),
    ("Fig2 DropTail", "uncongested RTT"): Parameter(_rtt),
    # ------------------------------------------------------------------------------------------------------- computed
    **{
        (case, metric): Theory(functools.partial(_chance, metric, shape, sessions), why, slack)
        for case, metric, shape, sessions, slack, why in COLLISIONS
    },
    ("500 kB buffer @ 2 Mbps", "full-buffer drain time"): Theory(lambda: theory.drain_s(500, 2), "8 x 500 kB / 2 Mbit/s"),
    ("overview analogy", "queue wait 120 people x 1 min"): Theory(
        lambda: theory.queue_wait(120, 1.0), "an analogy: who stands behind 120 in a FIFO that serves one a minute"),
    ("two sessions RTT 100 vs 10 ms", "ratio of ideal buffers"): Theory(
        lambda: theory.peak_rate_mbit(1, 10) / theory.peak_rate_mbit(1, 100), "BDP is proportional to RTT"),
    ("Fig2 vs Fig3", "buffer bytes ratio at equal ms"): Theory(
        lambda: _buffer_kb(200, 5.0) / _buffer_kb(200, 1.0), "bytes = ms x Tmax / 8"),
    ("Fig6 SFQ 960 ms buffer", "physical buffer"): Theory(lambda: _buffer_kb(960, 5.0), "0.96 s x 5 Mbit/s / 8"),
    ("set-assoc 64x4", "sessions in one group before collision"): Theory(
        _before_collision, "one more than a group has queues in the scenario of Figure 14"),
    # ------------------------------------------------------------------------------------------------------------ run
    ("Fig2a DropTail", "gamer latency / FTP latency"): Result(ratio(("fig2", GAMER), ("fig2", FTP), TENTH, 0, worst=True)),
    ("Fig2a DropTail", "latency vs buffer"): Result(r_squared("fig2", FTP), "linear"),
    ("Fig2b DropTail", "total upstream rate vs buffer"): Result(
        point("fig2", BDP_MS, "rate_share", Band(0.97, 1.0), ""), "constant"),
    ("Fig2b DropTail", "knee of throughput curve"): Result(knee("fig2"), "same-knee"),
    ("Fig3b DropTail 1 Mbps,200 ms buffer", "data loss rate"): Result(point("fig3", 200, "loss_percent", Band(4.0, 14.0), "%")),
    ("Fig5 SFQ", "gamer latency"): Result(point("fig5", 960, GAMER, Band(40.0, 70.0)), "sfq-gamer"),
    ("Fig5b SFQ", "throughput and loss vs Fig 2b"): Result(
        ratio(("fig5", "rate_mbit"), ("fig2", "rate_mbit"), Band(0.97, 1.03), BDP_MS, worst=True), "sfq-rate"),
    ("recommendation", "buffer when SFQ is used"): Result(
        point("fig5", 200, "rate_share", Band(0.97, 1.0), "of Tmax"), "sfq-gamer"),
    ("Fig6 SFQ 960 ms buffer", "gamer latency range"): Result(point("fig5", 960, "gamer_p99_ms", GAMER_P99), "sfq-gamer"),
    ("Fig6 SFQ 960 ms buffer", "FTP latency range (most packets)"): Result(
        point("fig5", 960, "ftp_share_half_to_one_s", Band(0.5, 1.0), "of the packets between 0.5 and 1.0 s"), "sfq-ftp"),
    ("Fig7 SFQ forced collision gamer+1 FTP", "gamer latency vs baseline"): Result(
        ratio(("fig7", GAMER), ("fig2", GAMER), TENTH, BDP_MS, worst=False), "collision"),
    ("Fig7 SFQ forced collision", "drain rate of shared sub-queue"): Result(
        point("fig7", 960, "collided_share", Band(0.09, 0.11), "x Tmax")),
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
    ("low bandwidth SF", "Tmax regarded as low"): Result(
        Reading(_loss_ratio, Band(1.0, NEVER_MORE), "times the loss at 5 Mbit/s")),
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
