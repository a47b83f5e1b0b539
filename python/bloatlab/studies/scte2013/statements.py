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
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bloatlab.collisions import collision
from bloatlab.studies.claims import Order, Runs
from bloatlab.studies.published import Row, rows
from bloatlab.studies.quantities import at_path, quantity
from bloatlab.studies.scorecard import Band, Cell, Scorecard, Verdict, share_of, symmetric
from bloatlab.studies.scte2013 import theory
from bloatlab.studies.scte2013.build import build
from bloatlab.studies.scte2013.claims import (
    ABOVE_200_MS,
    CLAIMS,
    FTP,
    GAMER,
    PLATEAU,
    Reading,
    extreme,
    knee,
    point,
    r_squared,
    ratio,
    recommended,
)
from bloatlab.studies.scte2013.experiments import BDP_MS, FIGURES, SERIES
from bloatlab.studies.scte2013.explanations import explain
from bloatlab.studies.scte2013.queues import buffer_bytes
from bloatlab.tables import Spread

#: Every statement that arithmetic decides must come out, and four in five of those that runs decide. (Two of the thirty do
#: not: they were read off a plot. That is the paper's, and it is missed all the same.)
THEORY_SHARE = 1.0
RESULT_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class Theory:
    """Computed: `value` beside the published one, to the digits that are printed (`slack`, relative)."""

    value: Callable[[], float]
    slack: float = 1e-9
    why: str = "computed"


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


def scorecard(runs: Runs, seeds: int, *, proves_nothing: str = "") -> Scorecard:
    """All 80 statements beside ours."""
    claims = {c.ident: c for c in CLAIMS}
    cells = [_cell(row, rule_of(row), runs, claims) for row in rows("scte2013")]
    by_rule = {True: [], False: []}
    for row, cell in zip(rows("scte2013"), cells, strict=True):
        by_rule[isinstance(rule_of(row), Theory)].append(cell)
    shares = (
        share_of("statements that arithmetic decides", by_rule[True], THEORY_SHARE),
        share_of("statements that runs decide", by_rule[False], RESULT_SHARE),
    )
    return Scorecard("scte2013", seeds, cells, shares, proves_nothing)


def _cell(row: Row, rule: Rule, runs: Runs, claims: Mapping[str, Order]) -> Cell:
    ours, bands, verdict, reason = _judge(row, rule, runs, claims)
    return Cell(
        case=row.case,
        metric=row.metric,
        unit=row.unit,
        tables=(),
        published=tuple(v for v in (published_number(row.value),) if v is not None),
        printed=row.value,
        ours=ours.median,
        low=ours.low,
        high=ours.high,
        bands=bands,
        verdict=verdict,
        reason=reason,
        agrees={Verdict.WITHIN: True, Verdict.OUTSIDE: False}.get(verdict),
        where=row.where,
    )


_Judged = tuple[Spread, tuple[Band, ...], Verdict, str]


def _judge(row: Row, rule: Rule, runs: Runs, claims: Mapping[str, Order]) -> _Judged:
    match rule:
        case Theory(value, slack, why):
            ours = value()
            published = published_number(row.value) or math.nan
            at_least = row.value.startswith(">")
            agrees = ours > published if at_least else math.isclose(ours, published, rel_tol=slack)
            band = Band(published, math.inf) if at_least else symmetric(published, slack * published)
            return _one(ours), (band,), _counted(agrees), why if agrees else _why(row, f"{why}: {ours:.6g}", runs)
        case Parameter(value):
            ours = value()
            agrees = math.isclose(ours, published_number(row.value) or math.nan, rel_tol=1e-9)
            verdict = Verdict.PARAMETER if agrees else Verdict.OUTSIDE
            return _one(ours), (), verdict, "as in our scenarios" if agrees else "our scenarios have something else"
        case Untested(why):
            return _one(math.nan), (), Verdict.UNTESTED, why
        case Result(reading, claim):
            spread = reading.value(runs)
            if spread is None:
                return _one(math.nan), (), Verdict.UNTESTED, "not run"
            asked = f"asked: {reading.band.words()} {reading.unit}".strip()
            checked = claims[claim].check(runs) if claim else None
            agrees = reading.band.holds(spread.median) and (checked is None or checked.holds is True)
            more = f"; {checked.says}: {checked.ours}" if checked is not None else ""
            reason = f"{asked}{more}"
            return spread, (reading.band,), _counted(agrees), reason if agrees else _why(row, reason, runs)


def _counted(agrees: bool) -> Verdict:
    return Verdict.WITHIN if agrees else Verdict.OUTSIDE


def _why(row: Row, reason: str, runs: Runs) -> str:
    return f"{reason}; {explain(row.case, row.metric, runs)}"


def _one(value: float) -> Spread:
    return Spread(value, value, value)


def published_number(text: str) -> float | None:
    """The number in a printed value, if there is one: "~50", ">500 (marginally)", "<=1", "200+"; None for "0.5..1.0"."""
    match = re.match(r"^[~<>=≥≤]*\s*(-?\d+(?:\.\d+)?)(?!\.\.)", text)
    return float(match[1]) if match and ".." not in text else None


# -------------------------------------------------------------------------------------------------- the rules, row by row


def rule_of(row: Row) -> Rule:
    """The rule of a row. Raises `KeyError` for one that nobody has thought of."""
    if match := re.fullmatch(r"buffer=(\d+)kB,RTT=(\d+)ms", row.case):
        kilobytes, rtt = float(match[1]), float(match[2])
        return Theory(lambda: theory.peak_rate_mbit(kilobytes, rtt), why="8 x buffer / RTT, kB = 1000 bytes")
    return RULES[row.case, row.metric]


@functools.cache
def _resolved(series: str) -> Mapping[str, Any]:
    """The scenario of a series as it runs, with every default in it: a buffer of 960 ms, seed 1."""
    return build(SERIES[series].with_(buffer_ms=960), 1).data


def read_back(series: str, path: str, unit: str = "") -> float:
    """The value at `path` ("app.ftp.traffic.ftp.size") of a series' resolved scenario, in `unit`."""
    return quantity(at_path(_resolved(series), path), unit)


def _read(series: str, path: str, unit: str = "") -> Parameter:
    return Parameter(lambda: read_back(series, path, unit))


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


def _between(series: str, measures: tuple[str, str], band: Band) -> Reading:
    """The first measure at 960 ms, judged; the statement is about both."""
    return Reading(lambda runs: point(series, 960, measures[0], band).value(runs), band, "ms", 0)


_NEVER_MORE, _NEVER_LESS = math.inf, -math.inf

_GUIDANCE = "guidance on what round trips there are, not a result"


def _times(runs: Runs, discipline: str, sessions: int) -> Spread | None:
    """Drops per second with `sessions` over those with one, seed by seed."""
    one, many = (runs.get(f"bloat {discipline} {n}", ()) for n in (1, sessions))
    pairs = [(a["drops_per_s"], b["drops_per_s"]) for a, b in zip(one, many, strict=False)]
    ratios = sorted(b / a for a, b in pairs if a)
    return Spread(ratios[len(ratios) // 2], ratios[0], ratios[-1]) if ratios else None


def _loss_ratio(runs: Runs) -> Spread | None:
    """Loss at 1 Mbit/s over that at 5 Mbit/s, both in parts of Tmax, with a buffer of 200 ms."""
    slow, fast = (point(s, 200, "loss_percent", Band(0, 1)).value(runs) for s in ("fig3", "fig2"))
    if slow is None or fast is None:
        return None
    return Spread(slow.median / fast.median, slow.low / fast.high, slow.high / fast.low)


RULES: Mapping[tuple[str, str], Rule] = {
    ("500 kB buffer @ 2 Mbps", "full-buffer drain time"): Theory(
        lambda: theory.drain_s(500, 2), why="8 x 500 kB / 2 Mbit/s"
    ),
    ("overview analogy", "queue wait 120 people x 1 min"): Theory(
        lambda: theory.queue_wait(120, 1.0), why="an analogy: who stands behind 120 in a FIFO that serves one a minute"
    ),
    ("two sessions RTT 100 vs 10 ms", "ratio of ideal buffers"): Theory(
        lambda: theory.peak_rate_mbit(1, 10) / theory.peak_rate_mbit(1, 100), why="BDP is proportional to RTT"
    ),
    ("same region", "typical RTT"): Untested(_GUIDANCE),
    ("same continent", "typical RTT"): Untested(_GUIDANCE),
    ("different continents", "typical RTT"): Untested(_GUIDANCE),
    ("baseline", "FTP object size"): _read("fig2", "app.ftp.traffic.ftp.size", "MB"),
    ("baseline", "spacing between FTP objects"): _read("fig2", "app.ftp.traffic.ftp.pause", "s"),
    ("baseline", "gamer message size"): _read("fig2", "app.gamer.traffic.messages.message", "KB"),
    ("baseline", "gamer message interval"): _read("fig2", "app.gamer.traffic.messages.interval", "s"),
    ("baseline", "points (buffer sizes) per series"): Parameter(_points),
    ("Fig2 DropTail", "number of FTP sessions"): _read("fig2", "app.ftp.traffic.ftp.flows"),
    ("Fig2 DropTail", "Tmax"): _read("fig2", "link.up.rate", "mbit"),
    ("Fig2 DropTail", "uncongested RTT"): Parameter(_rtt),
    ("Fig2a DropTail", "gamer latency / FTP latency"): Result(
        ratio(("fig2", GAMER), ("fig2", FTP), Band(0.9, 1.1), 0, worst=True)
    ),
    ("Fig2a DropTail", "latency vs buffer"): Result(r_squared("fig2", FTP), "linear"),
    ("Fig2b DropTail", "total upstream rate vs buffer"): Result(
        Reading(lambda runs: point("fig2", BDP_MS, "rate_share", Band(0.97, 1.0)).value(runs), Band(0.97, 1.0)),
        "constant",
    ),
    ("Fig2b DropTail", "knee of throughput curve"): Result(knee("fig2"), "same-knee"),
    ("Fig3 DropTail", "Tmax"): _read("fig3", "link.up.rate", "mbit"),
    ("Fig2 vs Fig3", "buffer bytes ratio at equal ms"): Theory(
        lambda: buffer_bytes(200, 5.0) / buffer_bytes(200, 1.0), why="bytes = ms x Tmax / 8"
    ),
    ("Fig3b DropTail 1 Mbps,200 ms buffer", "data loss rate"): Result(
        point("fig3", 200, "loss_percent", Band(4.0, 14.0), "%", 1)
    ),
    ("Fig5 SFQ", "gamer latency"): Result(point("fig5", 960, GAMER, Band(40.0, 70.0)), "sfq-gamer"),
    ("Fig5b SFQ", "throughput and loss vs Fig 2b"): Result(
        ratio(("fig5", "rate_mbit"), ("fig2", "rate_mbit"), Band(0.97, 1.03), BDP_MS, worst=True), "sfq-rate"
    ),
    ("recommendation", "buffer when SFQ is used"): Result(
        point("fig5", 200, "rate_share", Band(0.97, 1.0), "of Tmax", 3), "sfq-gamer"
    ),
    ("Fig6 SFQ 960 ms buffer", "physical buffer"): Theory(
        lambda: buffer_bytes(960, 5.0) / 1000, why="0.96 s x 5 Mbit/s / 8"
    ),
    ("Fig6 SFQ 960 ms buffer", "gamer latency range"): Result(
        point("fig5", 960, "gamer_p99_ms", Band(_NEVER_LESS, 110.0)), "sfq-gamer"
    ),
    ("Fig6 SFQ 960 ms buffer", "FTP latency range (most packets)"): Result(
        point("fig5", 960, "ftp_share_half_to_one_s", Band(0.5, 1.0), "of the packets between 0.5 and 1.0 s", 2),
        "sfq-ftp",
    ),
    ("Fig7 SFQ forced collision gamer+1 FTP", "gamer latency vs baseline"): Result(
        ratio(("fig7", GAMER), ("fig2", GAMER), Band(0.9, 1.1), BDP_MS, worst=False), "collision"
    ),
    ("Fig7 SFQ forced collision", "drain rate of shared sub-queue"): Result(
        point("fig7", 960, "collided_share", Band(0.09, 0.11), "x Tmax", 3)
    ),
    ("hash 256 queues, 2 sessions", "P(no collision)"): Theory(
        lambda: 100 * float(1 - collision(256, 1, 2)[2]), 5e-4, "exact, printed to a tenth"
    ),
    ("hash 256 queues, 3 sessions", "P(no collision)"): Theory(
        lambda: 100 * float(1 - collision(256, 1, 3)[3]), 5e-4, "exact, printed to a tenth"
    ),
    ("hash 256 queues, 10 sessions", "P(collision)"): Theory(
        lambda: 100 * float(collision(256, 1, 10)[10]), why="exact, more than 16 %"
    ),
    ("hash 256 queues, 20 sessions", "P(collision)"): Theory(
        lambda: 100 * float(collision(256, 1, 20)[20]),
        why="exact, more than 50 %; the sentence that says 16 % for 20 is a slip",
    ),
    ("set-assoc 64x4", "groups"): _read("fig14", f"{_SEARCH}.groups"),
    ("set-assoc 64x4", "queues per group"): _read("fig14", f"{_SEARCH}.ways"),
    ("set-assoc 64x4", "sessions in one group before collision"): Theory(
        _before_collision, why="one more than a group has queues in the scenario of Figure 14"
    ),
    ("set-assoc 64x4, 20 sessions", "P(collision)"): Theory(
        lambda: 100 * float(collision(64, 4, 20)[20]), 0.1, "exact"
    ),
    ("set-assoc 64x4, 35 sessions", "P(collision)"): Theory(
        lambda: 100 * float(collision(64, 4, 35)[35]), 0.1, "exact"
    ),
    ("BitTorrent observation", "peers"): Untested("an observation of the field, not a result"),
    ("BitTorrent observation", "concurrent active TCP sessions"): Untested("an observation of the field, not a result"),
    ("Fig11 LRED", "MINth"): _read("fig11", "link.up.queue.lred.min_th", "ms"),
    ("Fig11 LRED", "MAXth"): _read("fig11", "link.up.queue.lred.max_th", "ms"),
    ("Fig11 LRED", "Pmin"): _read("fig11", "link.up.queue.lred.p_min", "%"),
    ("Fig11 LRED", "Pmax"): _read("fig11", "link.up.queue.lred.p_max", "%"),
    ("Fig11 LRED", "latency plateau FTP and gamer"): Result(
        extreme("fig11", FTP, PLATEAU, least_ms=ABOVE_200_MS), "lred-plateau"
    ),
    ("Fig12 LRED 960 ms buffer", "latency range (all packets)"): Result(
        _between("fig11", ("ftp_p99_ms", "ftp_p1_ms"), Band(100.0, 210.0))
    ),
    ("Fig12 LRED 960 ms buffer", "average latency"): Result(point("fig11", 960, FTP, Band(200.0, 230.0))),
    ("Fig13 LRED 1 Mbps", "latency goal (MINth)"): _read("fig13", "link.up.queue.lred.min_th", "ms"),
    ("Fig13 LRED 1 Mbps", "average latency"): Result(point("fig13", 960, FTP, Band(80.0, 130.0))),
    ("Fig13 LRED 1 Mbps", "packet drop rate"): Result(
        point("fig13", 960, "drop_percent", Band(10.0, _NEVER_MORE), "%", 1)
    ),
    ("LRED stand-alone", "usable target latency"): Result(
        point("fig13", 960, "drop_percent", Band(5.0, _NEVER_MORE), "% dropped below 100 ms", 1), "lred-low"
    ),
    ("Fig14 SFQ+LRED700", "MINth"): _read("fig14", f"{_SEARCH}.law.lred.min_th", "ms"),
    ("Fig14 SFQ+LRED700", "MAXth"): _read("fig14", f"{_SEARCH}.law.lred.max_th", "ms"),
    ("Fig14 SFQ+LRED700", "Pmin"): _read("fig14", f"{_SEARCH}.law.lred.p_min", "%"),
    ("Fig14 SFQ+LRED700", "Pmax"): _read("fig14", f"{_SEARCH}.law.lred.p_max", "%"),
    ("Fig14 SFQ+LRED700", "FTP latency peak"): Result(point("fig14", 960, FTP, Band(450.0, 600.0))),
    ("Fig14 SFQ+LRED700", "gamer latency"): Result(point("fig14", 960, GAMER, Band(40.0, 70.0)), "both-gamer"),
    ("Fig15/16 SFQ+LRED 700 and 200", "gamer latency range"): Result(
        point("fig14", 960, "gamer_p99_ms", Band(_NEVER_LESS, 110.0)), "both-only-ftp"
    ),
    ("session bloat", "drops needed for 50 sessions vs 1"): Result(
        Reading(lambda runs: _times(runs, "lred200", 50), Band(25.0, 100.0), "times", 0)
    ),
    ("single drop", "fraction of streams affected"): Untested("1/N by definition: a packet belongs to one stream"),
    ("low bandwidth SF", "Tmax regarded as low"): Result(
        Reading(_loss_ratio, Band(1.0, _NEVER_MORE), "times the loss at 5 Mbit/s", 1)
    ),
    ("conclusion", "recommended drop-tail buffer"): Result(
        Reading(recommended, Band(0.97, 1.0), "of Tmax, least of all round trips with 1.25 x the longest", 3)
    ),
}
