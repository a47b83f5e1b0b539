"""Compares every row of published.csv with our value, which comes from runs or arithmetic.

Some rows are not judged, because our scenarios use the value as an input, or because it cannot be tested.

Each row has a rule: in `readback.csv` for most parameters, below for peak rates, otherwise in `statements.toml`:

result, claim   judged by a range fixed before the first run; counted
theory          computed; counted
parameter       an input of our scenario; our value is read back from that scenario; counted only if it differs
not tested      no run or computation tested it; not counted

The explanations for statements that differ were written after the runs. Each explanation names a cause and the
experiment that must support it. If the runs of the experiment support the cause, the cause is printed with the value;
if they do not, or were not made, the statement is "not explained".
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
from bloatlab.studies.claims import Runs, Value, each, judged, median_of
from bloatlab.studies.declared import evaluate, judgement
from bloatlab.studies.published import (
    NOTHING,
    Row,
    at_path,
    parameter_cell,
    places,
    quantity,
    row_cell,
    rows,
    toml,
)
from bloatlab.studies.scorecard import NOT_EXPLAINED, Band, Cell, Goal, Verdict, symmetric
from bloatlab.studies.scte2013 import theory
from bloatlab.studies.scte2013.build import buffer_bytes, build
from bloatlab.studies.scte2013.claims import CLAIMS, NAMES, drops_ratio
from bloatlab.studies.scte2013.experiments import ASKED, SERIES
from bloatlab.studies.scte2013.readings import Reading, knee_ms, point
from bloatlab.tables import Spread, spread

#: The shares of statements that should be within tolerance: `THEORY_SHARE` for the statements that arithmetic decides,
#: `RESULT_SHARE` for the statements that runs decide. Two statements that arithmetic decides are outside tolerance;
#: the paper read their values off a plot.
THEORY_SHARE, RESULT_SHARE = 1.0, 0.8


#: How to judge a row. A rule is either a table of `statements.toml` or a mapping made in this module. Rules for
#: parameters that are listed in `readback.csv` contain the key `place`.
Rule = Mapping[str, Any]


def cells(runs: Runs) -> list[Cell]:
    """Judges all 80 statements."""
    return [_cell(row, runs) for row in rows("scte2013")]


def _cell(row: Row, runs: Runs) -> Cell:
    number = published_number(row.value)
    published = [] if number is None else [number]
    match rule_of(row):
        case {"place": place}:
            return parameter_cell(row, published[0], place.read(_resolved(place.scenario)))
        case {"parameter": value}:
            return parameter_cell(row, published[0], evaluate(value, _NAMES))
        case {"untested": why}:
            return row_cell(row, published, NOTHING, Verdict.UNTESTED, why)
        case {"theory": value, "why": why, **more}:
            exact, printed, slack = evaluate(value, _NAMES), more.get("meant", published[0]), more.get("slack", 1e-9)
            at_least = row.value.startswith(">")
            agrees = exact > printed if at_least else math.isclose(exact, printed, rel_tol=slack)
            band = Band(printed, math.inf) if at_least else symmetric(printed, slack * printed)
            published = [printed]
            found, reason = Spread(exact, exact, exact), why if agrees else f"{why}: {exact:.6g}"
        case rule:
            reading: Reading = evaluate(rule["reading"], _NAMES)
            ours, band = reading.value(runs), reading.band
            if ours is None:
                return row_cell(row, published, NOTHING, Verdict.UNTESTED, "not run")
            claim = next((c.check(runs) for c in CLAIMS if c.ident == rule.get("claim")), None)
            agrees = band.holds(ours.median) and (claim is None or claim.holds is True)
            more = f"; {claim.says}: {claim.ours}" if claim is not None else ""
            found, reason = ours, f"accepted: {band.words()} {reading.unit}".strip() + more
    if not agrees:
        reason = f"{reason}; {explain(row.case, row.metric, runs)}"
    return row_cell(row, published, found, Verdict.WITHIN if agrees else Verdict.OUTSIDE, reason, [band])


def published_number(text: str) -> float | None:
    """Returns the number in a printed value, if there is one.

    Examples are "~50", ">500 (marginally)", "<=1" and "200+"; None for "0.5..1.0".
    """
    match = re.match(r"^[~<>=≥≤]*\s*(-?\d+(?:\.\d+)?)(?!\.\.)", text)
    return float(match[1]) if match and ".." not in text else None


# ------------------------------------------------------------------------------------------------ the rules, row by row


def rule_of(row: Row | Cell) -> Rule:
    """Returns the rule for a row, or for a row's cell. Raises `KeyError` if the row has no rule."""
    if match := re.fullmatch(r"buffer=(\d+)kB,RTT=(\d+)ms", row.case):
        return {"theory": f"peak_rate_mbit({match[1]}, {match[2]})", "why": "8 x buffer / RTT, kB = 1000 bytes"}
    return RULES[row.case, row.metric]


GOALS = (
    Goal("statements that arithmetic decides", THEORY_SHARE, lambda cell: "theory" in rule_of(cell)),
    Goal("statements that runs decide", RESULT_SHARE, lambda cell: "theory" not in rule_of(cell)),
)


@functools.cache
def _resolved(series: str) -> Mapping[str, Any]:
    """Returns the resolved scenario of a series: 960 ms buffer, seed 1."""
    return build(replace(SERIES[series], buffer_ms=960), 1).data


def read_back(series: str, path: str, unit: str = "") -> float:
    """Returns the value at `path` ("app.ftp.traffic.ftp.size") of a series' resolved scenario, in `unit`."""
    return quantity(at_path(_resolved(series), path), unit)


_SEARCH = "link.up.queue.sfq_hss"


def _before_collision() -> float:
    """Returns the smallest number of sessions in a group of queues with which two sessions have to share a queue."""
    ways = round(read_back("fig14", f"{_SEARCH}.ways"))
    return float(next(n for n, p in enumerate(collision(1, ways, 2 * ways)) if p > 0))


def _times(runs: Runs) -> Spread | None:
    """Returns LRED's drops per second with fifty sessions divided by those with one session: the spread over seeds."""
    one, fifty = (runs.get(f"bloat lred200 {n}", ()) for n in (1, 50))
    pairs = [(a["drops_per_s"], b["drops_per_s"]) for a, b in zip(one, fifty, strict=False)]
    ratios = [b / a for a, b in pairs if a]
    return spread(ratios) if ratios else None


def _loss_ratio(runs: Runs) -> Spread | None:
    """Returns the loss at 1 Mbit/s divided by the loss at 5 Mbit/s, with a 200 ms buffer.

    Each loss is expressed as a share of the Tmax with which it was measured.
    """
    slow, fast = (point(s, 200, "loss_percent", Band(0, 1)).value(runs) for s in ("fig3", "fig2"))
    if slow is None or fast is None:
        return None
    return Spread(slow.median / fast.median, slow.low / fast.high, slow.high / fast.low)


def _recommended(runs: Runs) -> Spread | None:
    """Returns the share of Tmax that is used with a 250 ms buffer, at the round trip that makes this share smallest.

    This buffer is 1.25 times the BDP of the longest round trip.
    """
    points = [runs.get(f"rtt droptail 250 {rtt}", ()) for rtt in ASKED["rtt"].axes["rtt_ms"]]
    worst = [min(run["rate_share"] for run in seed) for seed in zip(*points, strict=False)]
    return spread(worst) if worst else None


def _buffer_kb(ms: float, mbit: float) -> float:
    return buffer_bytes(ms, mbit) / 1000


def _chance(metric: str, shape: tuple[int, int], sessions: int) -> float:
    """Returns the probability of a collision, or of no collision, in percent."""
    some = collision(*shape, sessions)[sessions]
    return 100 * float(1 - some if metric == "P(no collision)" else some)


def _buffer_sizes() -> float:
    """Returns the number of buffer sizes in a series."""
    return float(sum(at["series"] == "fig2" for at in ASKED["figures"].grid((1,)).places()))


#: The names used by the expressions in `statements.toml`.
_NAMES: Mapping[str, Any] = {
    **NAMES, "before_collision": _before_collision, "buffer_kb": _buffer_kb, "buffer_sizes": _buffer_sizes, "chance": _chance,
    "drain_s": theory.drain_s, "loss_ratio": _loss_ratio, "peak_rate_mbit": theory.peak_rate_mbit, "queue_wait": theory.queue_wait,
    "read_back": read_back, "recommended": _recommended, "times": _times,
}  # fmt: skip


RULES: Mapping[tuple[str, str], Rule] = {
    **{(p.case, p.metric): {"place": p} for p in places("scte2013")},
    **{(t["case"], t["metric"]): t for t in toml("scte2013", "statements.toml")["statements"]},
}


# -------------------------------------------------------------------------------------------------------- explanations


@dataclass(frozen=True, slots=True)
class Explanation:
    """A cause, and the statements that it explains; `case` and `metric` are shell patterns that select the statements.

    The cause counts as an explanation only if `values` support it. Most of them are measured by `experiment`. As in a
    claim, `holds` decides this from the values, and `ours` formats them.
    """

    case: str
    metric: str
    why: str
    experiment: str
    values: Sequence[Value]
    holds: Callable[..., bool]
    ours: Callable[..., str]

    def words(self, runs: Runs) -> str:
        """Returns the cause, and what the experiment shows.

        If the experiment was not run or does not support the cause, the text begins with `NOT_EXPLAINED` instead.
        """
        found = judged(runs, self.values, self.holds, self.ours)
        if found is None:
            return f"{NOT_EXPLAINED}: -e {self.experiment} was not run"
        text, holds = found
        if not holds:
            return f"{NOT_EXPLAINED}: -e {self.experiment} shows {text}"
        return f"{self.why} (-e {self.experiment}: {text})"


def explain(case: str, metric: str, runs: Runs) -> str:
    """Returns the text of the first explanation that matches the statement; `NOT_EXPLAINED` if there is none."""
    for entry in EXPLANATIONS:
        if fnmatchcase(case, entry.case) and fnmatchcase(metric, entry.metric):
            return entry.words(runs)
    return NOT_EXPLAINED


KNEE_SESSIONS, KNEE_MS = ASKED["knee"].axes.values()
(P_MAXES,), (SHARPNESS,) = (ASKED[name].axes.values() for name in ("p_max", "sharpness"))


def _knees(runs: Runs) -> list[float] | None:
    """Returns the buffer size in ms at the knee of the rate, for each number of sessions.

    The size is interpolated between those that were run. Returns None if a run is missing.
    """
    found: list[float] = []
    for sessions in KNEE_SESSIONS:
        rate = [
            share for ms in KNEE_MS if (share := median_of(runs, f"knee {sessions} {ms}", "rate_share")) is not None
        ]
        if len(rate) < len(KNEE_MS):
            return None
        found.append(knee_ms(np.array(rate), KNEE_MS))
    return found


#: BDP / sqrt(n) in ms, for each number n of sessions.
_THEORY = [50.0 / math.sqrt(n) for n in KNEE_SESSIONS]


def _knees_beside_theory(knees: Sequence[float]) -> str:
    ours, theory = (", ".join(f"{ms:.0f}" for ms in of) for of in (knees, _THEORY))
    return f"{ours} ms for {', '.join(map(str, KNEE_SESSIONS))} sessions, by theory {theory}"


def _by_sharpness(p99: Sequence[float]) -> str:
    return ", ".join(f"p99 {ms:.0f} ms with {p:.0%}" for p, ms in zip(SHARPNESS, p99, strict=True))


def _by_p_max(latencies: Sequence[float], drops: Sequence[float]) -> str:
    rows = zip(P_MAXES, latencies, drops, strict=True)
    return "; ".join(f"Pmax {p:.0%} {ms:.0f} ms, {dropped:.1f} % dropped" for p, ms, dropped in rows)


#: The names used by the expressions in `explanations.toml`.
_CAUSES: Mapping[str, Any] = {
    "knees": _knees, "THEORY": _THEORY, "beside_theory": _knees_beside_theory, "each": each, "drops_ratio": drops_ratio,
    "sharpness": [f"sharpness {p}" for p in SHARPNESS], "by_sharpness": _by_sharpness,
    "p_max": [f"p_max {p}" for p in P_MAXES], "by_p_max": _by_p_max,
}  # fmt: skip

EXPLANATIONS = tuple(
    Explanation(t["case"], t["metric"], t["why"], t["experiment"], *judgement(t, _CAUSES))
    for t in toml("scte2013", "explanations.toml")["explanations"]
)
