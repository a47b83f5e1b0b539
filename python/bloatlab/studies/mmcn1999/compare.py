"""The study's own rules, fixed before any run: orderings are gated, levels are not.

    TCP under the blast    FIFO < RED;  RED at most half of FRED, of CBT and of CBQ      in every seed
    tagged drops           CBT and CBQ at most a fifth of FIFO's, and of RED's           in every seed

Everything else that the slides print is a parameter, a theory, an illustration, or a number read off a chart by a machine
(low confidence): shown beside ours, not judged. What SPEC 1.6 recalls of the paper is not gated either.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from bloatlab.studies.claims import Checked, Order, Runs, check_all, median_of, over_seeds, words
from bloatlab.studies.mmcn1999.build import LAW
from bloatlab.studies.published import Row, rows
from bloatlab.studies.scorecard import Cell, Scorecard, Verdict, share_of
from bloatlab.tables import spread

STUDY = "mmcn1999"


@dataclass(frozen=True, slots=True)
class Gate:
    """An ordering: `measure` of `low` is below `most` x that of `high`, in every seed."""

    low: str
    high: str
    measure: str
    most: float
    says: str

    def cell(self, runs: Runs) -> Cell:
        """The gate beside our runs: the ratio, its worst seed counts."""
        pairs = list(zip(runs[self.low], runs[self.high], strict=True))
        ratios = [_ratio(a[self.measure], b[self.measure]) for a, b in pairs]
        ours = spread(ratios)
        worst = max(ratios)
        holds = worst < self.most
        verdict = Verdict.WITHIN if holds else Verdict.OUTSIDE
        reason = f"worst of {len(ratios)} seeds: {worst:.3g}, below {self.most:g} wanted"
        return Cell(
            f"{self.low} over {self.high}", self.says, "ratio", (1,), (), f"< {self.most:g}", ours.median, ours.low,
            ours.high, None, verdict, reason if holds else f"{reason}; not explained", holds,
        )  # fmt: skip


def _ratio(a: float, b: float) -> float:
    return a / b if b else (0.0 if a == 0.0 else math.inf)


TCP = "TCP throughput under the blast"
DROPS = "drops of tagged datagrams"
GATES = (
    Gate("fifo", "red", "tcp_kbs", 1.0, TCP),
    *(Gate("red", other, "tcp_kbs", 0.5, TCP) for other in ("fred", "cbt", "cbq")),
    *(Gate(a, b, "mm_drop_percent", 0.2, DROPS) for a in ("cbt", "cbq") for b in ("red", "fifo")),
)

_PERIODS = {"0-20": "tcp_before_kbs", "20-60": "tcp_kbs", "60-100": "tcp_after_kbs", "during": "tcp_kbs"}


def scorecard(runs: Runs, *, proves_nothing: str = "") -> Scorecard:
    """The gates, then every row of the slides beside ours."""
    gates = [gate.cell(runs) for gate in GATES]
    cells = gates + [_row(row, runs) for row in rows(STUDY)]
    seeds = min(len(s) for s in runs.values())
    return Scorecard(STUDY, seeds, cells, (share_of("orderings", gates, 1.0),), proves_nothing)


def _row(row: Row, runs: Runs) -> Cell:
    """A row of the slides: not judged, with the reason."""
    measure = _measure(row)
    ours = over_seeds(runs, *measure) if measure else None
    number = re.search(r"\d+(\.\d+)?", row.value)
    if row.metric.startswith("RED 10->9"):
        reason = "illustration; held by the test of two flows (crates/qdisc/tests/class.rs)"
    elif row.note.startswith("theory"):
        reason = "theory; held by the test of CBQ's shares (crates/qdisc/tests/class.rs)"
    elif ours is not None:
        reason = "low confidence: read off a chart by a machine; its ordering is gated above"
    else:
        reason = "parameter: used as it stands" if "wrong" not in row.note else "axis label is wrong: kB/s"
    low, mid, high = (ours.low, ours.median, ours.high) if ours else (math.nan, math.nan, math.nan)
    published = (float(number[0]),) if number else ()
    return Cell(
        row.case, row.metric, row.unit, (2,), published, row.value, mid, low, high, None, Verdict.DERIVED, reason
    )


def _measure(row: Row) -> tuple[str, str] | None:
    """The case and measure that a row of a chart speaks of."""
    if not row.metric.startswith("TCP throughput"):
        return None
    period = next(key for key in _PERIODS if key in row.metric)
    return row.case.split(" ")[0].lower(), _PERIODS[period]


def findings(runs: Runs) -> list[Checked]:
    """What is reported and not gated, with its sensitivity."""
    return check_all(FINDINGS, runs)


def _latency(runs: Runs) -> tuple[str, bool] | None:
    ours = {key: median_of(runs, key, "mm_latency_ms") for key in ("fifo", "red", "cbt", "cbq")}
    if any(v is None for v in ours.values()):
        return None
    fifo, red, cbt, cbq = (float(v or 0.0) for v in ours.values())
    text = f"FIFO {fifo:.1f}, RED {red:.1f}, CBT {cbt:.1f}, CBQ {cbq:.1f} ms"
    return text, fifo > max(red, cbt) and min(red, cbt) > cbq and 0.67 < red / cbt < 1.5


def _fred_tagged(runs: Runs) -> tuple[str, bool] | None:
    fred, red = (over_seeds(runs, key, "mm_drop_percent") for key in ("fred", "red"))
    if fred is None or red is None:
        return None
    return f"FRED {words(fred, '%', 1)}, RED {words(red, '%', 1)}", fred.median > 0.5 * red.median


#: Bytes per second that the unresponsive traffic offers: the blast and six sessions, 11.26 Mbit/s; and the link's.
OFFERED_KBS, LINK_KBS = 1407.5, 1250.0


def _identity(key: str, queue: str) -> Order:
    """SPEC 5.9: with one drop rate p for all, TCP has C - U (1 - p). p is that of the unresponsive packets."""

    def judge(runs: Runs) -> tuple[str, bool] | None:
        if key not in runs:
            return None
        errors = [
            abs(s["tcp_kbs"] / (LINK_KBS - OFFERED_KBS * (1.0 - s["udp_drop_percent"] / 100.0)) - 1.0)
            for s in runs[key]
        ]
        return f"within {100 * max(errors):.1f} %", max(errors) < 0.05

    return Order(
        f"identity {key}", "SPEC 5.9", f"{queue}: TCP = C - U(1 - p), p the drop rate of all alike", "identity", judge
    )


def _allocation(runs: Runs) -> tuple[str, bool] | None:
    if "cbt" not in runs:
        return None
    errors = []
    for s in runs["cbt"]:
        total = s["tcp_kbs"] + s["mm_kbs"] + s["blast_kbs"]
        for name, share in (("tcp", "share_tcp_percent"), ("mm", "share_mm_percent"), ("blast", "share_udp_percent")):
            errors.append(abs(s[f"{name}_kbs"] / total - s[share] / 100.0))
    return f"within {100 * max(errors):.1f} percentage points", max(errors) < 0.05


FINDINGS = (
    Order("latency", "SPEC 7", "latency of tagged traffic: FIFO > RED ~ CBT > CBQ", "ordering, from memory", _latency),
    Order("fred-tagged", "SPEC 1.6", "FRED treats tagged traffic no better than RED", "FRED 35.7, RED 30.0 %, from memory", _fred_tagged),
    _identity(LAW, "FIFO, fifty sources and smooth sessions"),
    _identity("fifo", "FIFO, one paced blast and sessions in frames (drops are not alike: see README)"),
    _identity("red", "RED"),
    Order("allocation", "SPEC 1.6", "CBT: a class's share of the link is its share of the queued bytes", "identity", _allocation),
)  # fmt: skip


def medians(runs: Runs) -> Mapping[str, Mapping[str, float]]:
    """The median over seeds of every measure of every case."""
    return {
        key: {m: value for m in seeds[0] if (value := median_of(runs, key, m)) is not None}
        for key, seeds in runs.items()
    }
