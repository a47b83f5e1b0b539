"""The study's own rules: the source of each number, and how it is judged.

The orders of the slides' chart are tested in every seed: TCP under the blast, FIFO below RED, and RED at most half of FRED, CBT
and CBQ. They were fixed before any run; the factor of one half is ours.

The band of the numbers read off the chart was fixed when ours were known: one curve is read as 1000 on one slide and as 1100 on
another, so it cannot be narrower. Illustration and theory are run; parameters are read back from the resolved scenarios.

Drops of tagged datagrams have no number in the slides: their four orders are ours, from memory of the paper, and not counted.

The ranges of the slides' sentences turn their words into numbers; they were fixed before the runs: "dominated" is more
than half, "equal" within a quarter, "no drops" below 1 %. Without numbers in the slides, none of them can be closer.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bloatlab.studies.claims import NOT_EXPLAINED, Claim, Measures, Runs, each, median_of, over_seeds, words
from bloatlab.studies.mmcn1999.build import LAW, PROPAGATION_MS, SCHEMES, Case, build, limited_transmit
from bloatlab.studies.mmcn1999.small import TWO_FTP_LIMITS, TWO_FTP_MIN_TH
from bloatlab.studies.published import NOTHING, Place, Row, at_path, parameter_cell, places, quantity, row_cell, rows
from bloatlab.studies.scorecard import Band, Cell, Goal, Origin, Tolerance, Verdict
from bloatlab.tables import spread

#: The numbers of our tables, in `Cell.tables`: the orders, and the rows of the slides.
ORDERS, SLIDES = (1,), (2,)


@dataclass(frozen=True, slots=True)
class Gate:
    """An order: `measure` of `low` is below `most` x that of `high`, in every seed.

    `chosen` names a change made after looking at it, in which case it is not judged.
    """

    low: str
    high: str
    measure: str
    most: float
    says: str
    origin: Origin = Origin.PAPER
    chosen: str = ""

    def cell(self, runs: Runs) -> Cell:
        """The ratio of our runs; its worst seed counts."""
        pairs = zip(runs[self.low], runs[self.high], strict=True)
        ratios = [_ratio(a[self.measure], b[self.measure]) for a, b in pairs]
        ours, worst = spread(ratios), max(ratios)
        holds = worst < self.most
        reason = f"worst of {len(ratios)} seeds: {worst:.3g}, below {self.most:g} wanted"
        if self.chosen:
            verdict, reason = Verdict.CALIBRATION, f"{reason}; {self.chosen}"
        else:
            verdict = Verdict.WITHIN if holds else Verdict.OUTSIDE
            reason = reason if holds else f"{reason}; {NOT_EXPLAINED}"
        return Cell(
            f"{self.low} over {self.high}", self.says, "ratio", ORDERS, (), f"< {self.most:g}", ours.median, ours.low,
            ours.high, (Band(-math.inf, self.most),), verdict, reason, holds, origin=self.origin,
        )  # fmt: skip


def _ratio(a: float, b: float) -> float:
    return a / b if b else (0.0 if a == 0.0 else math.inf)


TCP = "TCP throughput under the blast"
DROPS = "drops of tagged datagrams"
_RESCUED = (
    "limited transmit was taken out of the senders after this order had failed with it (the argument, that it is younger than "
    "the slides, stands without it)"
)
_PAIRS = [(a, b) for a in ("cbt", "cbq") for b in ("red", "fifo")]
GATES = (
    Gate("fifo", "red", "tcp_kbs", 1.0, TCP),
    *(Gate("red", other, "tcp_kbs", 0.5, TCP) for other in ("fred", "cbt", "cbq")),
    *(
        Gate(a, b, "mm_drop_percent", 0.2, DROPS, Origin.OURS, _RESCUED if (a, b) == ("cbt", "red") else "")
        for a, b in _PAIRS
    ),
    *(Gate(limited_transmit(a), limited_transmit(b), "mm_drop_percent", 0.2, DROPS, Origin.OURS) for a, b in _PAIRS),
)

#: The accepted difference from a number read off the chart: half of the space between two grid lines of its axis (0 to 1400).
CHART = Tolerance(least=100.0, unit="kB/s")

#: A share of equal classes from a third; and two flows on one link, to the printed digit.
EQUAL_SHARE = Tolerance(least=0.02)
FAST_MBIT, SLOW_MBIT = Tolerance(least=0.5, unit="Mbit/s"), Tolerance(least=0.05, unit="Mbit/s")

#: Every tolerance in words, for a reader.
RULES: Sequence[tuple[str, str]] = [
    *dict.fromkeys((f"{g.says}: {g.low} over {g.high}", f"below {g.most:g}, in every seed") for g in GATES),
    ("a number read off the chart", CHART.words()),
    ("the share of three equal classes", EQUAL_SHARE.words()),
    ("10 and 1 Mbit/s on a link of 10", f"{FAST_MBIT.words()} and {SLOW_MBIT.words()}"),
]


def cells(runs: Runs) -> list[Cell]:
    """The orders, then every row of the slides."""
    return [gate.cell(runs) for gate in GATES] + [_row(row, runs) for row in rows("mmcn1999")]


def _of_chart(cell: Cell) -> bool:
    return cell.tables == SLIDES and cell.metric.startswith("TCP throughput")


GOALS = (
    Goal("orders of the chart", 1.0, lambda cell: cell.tables == ORDERS),
    Goal("numbers read off the chart (low confidence)", None, _of_chart),
    Goal("illustration and theory", None, lambda cell: cell.tables == SLIDES and not _of_chart(cell)),
)

_PERIODS = {"0-20": "tcp_before_kbs", "20-60": "tcp_kbs", "60-100": "tcp_after_kbs", "during": "tcp_kbs"}


def _row(row: Row, runs: Runs) -> Cell:
    """A row of the slides as a cell."""
    printed = [float(n[0]) for n in re.finditer(r"\d+(\.\d+)?", row.value)][:1]
    if row.metric.startswith("TCP throughput"):
        period = next(key for key in _PERIODS if key in row.metric)
        run = (row.case.split(" ")[0].lower(), _PERIODS[period])
        return _result(row, runs, run, printed[0], CHART.band(printed[0]), "read off a chart")
    if row.metric.startswith("RED 10->9"):
        return _two_flows(row, runs)
    if row.note.startswith("theory"):  # three classes that want more than a third each, in CBQ with equal shares
        third, text = 1 / 3, "the smallest of three classes that all want more"
        return _result(row, runs, ("equal classes", "least_share"), third, EQUAL_SHARE.band(third), text)
    read = PARAMETERS.get((row.case, row.metric))
    if read is None:
        return row_cell(row, printed, NOTHING, Verdict.UNTESTED, UNTESTED[row.case, row.metric], (), SLIDES)
    return parameter_cell(row, printed[0], read(), SLIDES)


def _two_flows(row: Row, runs: Runs) -> Cell:
    """10 and 1 Mbit/s on a link of 10 under RED: "10 -> 9 and 1 -> 0.9", each to the printed digit."""
    fast = _result(row, runs, ("two flows, red", "fast_mbit"), 9.0, FAST_MBIT.band(9.0), "run with two flows")
    slow = median_of(runs, "two flows, red", "slow_mbit")
    if slow is None:
        return fast
    both = fast.agrees is True and SLOW_MBIT.band(0.9).holds(slow)
    reason = f"{fast.reason}; and 1 becomes {slow:.2f}, accepted: 0.85 to 0.95" + ("" if both else f"; {NOT_EXPLAINED}")
    return replace(fast, verdict=Verdict.WITHIN if both else Verdict.OUTSIDE, reason=reason, agrees=both)


def _result(row: Row, runs: Runs, run: tuple[str, str], value: float, band: Band, how: str) -> Cell:
    ours = over_seeds(runs, *run)
    if ours is None:
        return row_cell(row, [value], NOTHING, Verdict.UNTESTED, "not run", (), SLIDES)
    agrees = band.holds(ours.median)
    reason = f"{how}, accepted: {band.words()}" + ("" if agrees else f"; {explain(row, runs)}")
    return row_cell(row, [value], ours, Verdict.WITHIN if agrees else Verdict.OUTSIDE, reason, [band], SLIDES)


def explain(row: Row, runs: Runs) -> str:
    """The experiment that explains a differing number of the chart, with its value; or `NOT_EXPLAINED`."""
    smooth = median_of(runs, LAW, "tcp_kbs")
    if row.case.startswith("FIFO") and smooth is not None and "0-20" not in row.metric and "60-100" not in row.metric:
        printed = float(re.findall(r"\d+", row.value)[0])
        if abs(smooth - printed) <= CHART.least:
            return (
                "one paced blast at the link's rate takes the room that each departure makes; where arrivals hardly depend on "
                f"each other TCP has the chart's value (-e sensitivity: {LAW}: {smooth:.0f} kB/s)"
            )
    return NOT_EXPLAINED


# ----------------------------------------------------------------------------------------------------------- read back


@functools.cache
def _resolved(key: str) -> Mapping[str, Any]:
    """The scenario of one of the slides' queues as it runs."""
    (queue,) = [s.queue for s in SCHEMES if s.key == key]
    return build(Case(key, queue), 1).data


def _read(place: Place) -> float:
    return place.read(_resolved(place.scenario))


def _session_kbps() -> float:
    """The rate of one session: its audio packets and its video frames."""
    traffic = at_path(_resolved("red"), "app.mm_blast_0.traffic.proshare")
    streams = (("audio_size", "audio_interval"), ("frame_size", "frame_interval"))
    return sum(quantity(traffic[size], "B") * 8e-3 / quantity(traffic[every], "s") for size, every in streams)


PARAMETERS: Mapping[tuple[str, str], Callable[[], float]] = {
    **{(p.case, p.metric): functools.partial(_read, p) for p in places("mmcn1999")},
    ("setup", "ProShare flows"): lambda: float(sum(name.startswith("mm_blast_") for name in _resolved("red")["app"])),
    ("setup", "ProShare rate"): _session_kbps,
    ("CBT", "traffic classes"): lambda: float(len(at_path(_resolved("cbt"), "link.bottleneck.queue.cbt.classes"))),
}

UNTESTED: Mapping[tuple[str, str], str] = {
    ("CBT evaluation slide", "chart y axis"): "the axis of a chart; its label (kbps) is wrong: 10 Mbit/s are 1250 kB/s",
    ("CBT evaluation slide", "chart x axis"): "the axis of a chart: our runs last 100 s",
    ("RED", "parameters"): "a list of names, not a number to reproduce: all five are read back above",
}


# -------------------------------------------------------------------------------------------------------------- claims

#: RED's settings of two FTPs: its mean queue, and the queue that drop-tail needs for the same throughput.
Settings = Sequence[tuple[float, float]]


def _power(runs: Runs) -> Settings | None:
    """At each of RED's throughputs, the queue that drop-tail needs for it (between its buffers, linear)."""
    keys = [*(f"two ftp, red {n}" for n in TWO_FTP_MIN_TH), *(f"two ftp, droptail {n}" for n in TWO_FTP_LIMITS)]
    points = [(median_of(runs, key, "rate_share"), median_of(runs, key, "queue_mean_packets")) for key in keys]
    known = [(share, queue) for share, queue in points if share is not None and queue is not None]
    if len(known) < len(points):
        return None
    red, tail = sorted(known[: len(TWO_FTP_MIN_TH)]), sorted(known[len(TWO_FTP_MIN_TH) :])
    share, queue = zip(*tail, strict=True)
    return [(q, float(np.interp(s, share, queue))) for s, q in red if share[0] <= s <= share[-1]]


def _shorter(settings: Settings) -> int:
    return sum(red < tail for red, tail in settings)


def _queues(settings: Settings) -> str:
    listed = ", ".join(f"{red:.0f} for {tail:.0f}" for red, tail in settings)
    return f"shorter in {_shorter(settings)} of {len(settings)} settings: {listed} packets at the same throughput"


#: Bytes per second that the unresponsive traffic offers: the blast and six sessions, 11.26 Mbit/s; and the link's.
OFFERED_KBS, LINK_KBS = 1407.5, 1250.0


def _identity(key: str, queue: str) -> Claim:
    """With one drop rate p for all, TCP has C - U (1 - p). p is that of the unresponsive packets."""

    def error(seed: Measures) -> float:
        return abs(seed["tcp_kbs"] / (LINK_KBS - OFFERED_KBS * (1.0 - seed["udp_drop_percent"] / 100.0)) - 1.0)

    return Claim(
        f"identity {key}", "arithmetic", f"{queue}: TCP = C - U(1 - p), p the drop rate of all alike", "identity",
        [lambda runs: max(map(error, runs[key])) if key in runs else None], lambda worst: worst < 0.05,
        lambda worst: f"within {100 * worst:.1f} %", Origin.TEXTBOOK,
    )  # fmt: skip


_CLASSES = (("tcp_kbs", "share_tcp_percent"), ("mm_kbs", "share_mm_percent"), ("blast_kbs", "share_udp_percent"))


def _allocation(runs: Runs) -> float | None:
    """The largest difference between a class's share of the link and of the queued bytes, over classes and seeds."""
    differences = [
        abs(seed[rate] / sum(seed[name] for name, _ in _CLASSES) - seed[share] / 100.0)
        for seed in runs.get("cbt", ())
        for rate, share in _CLASSES
    ]
    return max(differences, default=None)


_TAIL, _L78 = "case against drop-tail L55", "RED L78"
_THIRTY = ("thirty ftp, droptail", "thirty ftp, red")
_EARLY = ("cbt", "cbt, early drop to the threshold", "cbt, early drop to twice it")

#: The sentences of the slides that our runs can test, and further ones of other sources.
CLAIMS: tuple[Claim, ...] = (
    Claim("tail-latency", _TAIL, "latency is dominated by the length of queues", "qualitative",
          each(["fifo"], "tcp_before_wait_ms"), lambda wait: wait > PROPAGATION_MS,
          lambda wait: f"{wait:.0f} ms waiting, {PROPAGATION_MS:g} ms propagation"),
    Claim("tail-starves", _TAIL, "fast connections starve slow ones (they lose at least twice as much)", "qualitative",
          each(["fifo"], "mm_drop_percent", "blast_drop_percent"), lambda slow, fast: slow >= 2.0 * fast,
          "sessions of 210 kbit/s lose {:.0f} %, the blast of 10 Mbit/s {:.0f} %"),
    Claim("tail-sync", _TAIL, "connections respond to congestion in step", "qualitative",
          each(_THIRTY, "sync"), lambda tail, red: tail > max(0.1, red),
          "mean correlation of two windows {:.2f} behind drop-tail, {:.2f} behind RED"),
    Claim("tail-bursts", _TAIL, "and become bursty: drops come in clusters", "qualitative",
          each(_THIRTY, "drop_dispersion"), lambda tail, red: tail > red,
          "drops per 100 ms, variance over mean: {:.1f} behind drop-tail, {:.1f} behind RED"),
    Claim("red-latency", _L78, "RED's average latency is lower", "qualitative",
          each(["red", "fifo"], "tcp_before_wait_ms"), lambda red, tail: red < tail,
          "before the blast: RED {:.1f} ms, drop-tail {:.1f} ms waiting"),
    Claim("red-goodput", _L78, "and its goodput is higher", "qualitative",
          each(["red", "fifo"], "tcp_before_goodput_kbs"), lambda red, tail: red > tail,
          "before the blast: RED {:.0f} kB/s, drop-tail {:.0f} kB/s"),
    Claim("red-sessions", "Queue management L203", "RED reduces packet drops (of the sessions, before the blast)", "qualitative",
          each(["red", "fifo"], "mm_before_drop_percent"), lambda red, tail: red < tail,
          "sessions lose {:.1f} % under RED, {:.1f} % under drop-tail"),
    Claim("red-proportional", "RED L78, L125", "the drop rate is equal for all flows (within a quarter)", "qualitative",
          each(["two flows, red"], "fast_drop_percent", "slow_drop_percent"), lambda fast, slow: 0.75 <= slow / fast <= 1.25,
          "10 Mbit/s lose {:.1f} %, 1 Mbit/s {:.1f} %"),
    Claim("red-bursty", "RED L79", "no bias against bursty sources (within a quarter)", "qualitative",
          each(["red", "fifo"], "mm_drop_percent", "blast_drop_percent"), lambda mm, _, blast, __: 0.75 <= mm / blast <= 1.25,
          lambda red_mm, tail_mm, red_blast, tail_blast:
          f"frames lose {red_mm / red_blast:.2f} times what the paced blast loses under RED, {tail_mm / tail_blast:.1f} under drop-tail"),
    Claim("red-queue", "RED summary L123", "RED controls the average queue size: thirty FTPs", "qualitative",
          each(["thirty ftp, red"], "queue_mean_packets"), lambda mean: 15 <= mean <= 30,
          "{:.1f} packets on average; thresholds 15 and 30"),
    Claim("red-queue-two", "RED performance L117", "and that of Floyd and Jacobson's two FTPs", "a picture",
          each(["two ftp, red 5"], "queue_mean_packets"), lambda mean: 5 <= mean <= 15,
          "{:.1f} packets on average; thresholds 5 and 15"),
    Claim("red-power", "RED performance L117", "two FTPs are as fast with a shorter queue", "a picture",
          [_power], lambda settings: 2 * _shorter(settings) > len(settings), _queues),
    Claim("red-unresponsive", "RED summary L126", "unresponsive traffic does not slow down: TCP does (to less than half)", "~300 for ~1000 kB/s",
          each(["red"], "tcp_before_kbs", "tcp_kbs"), lambda before, under: under < 0.5 * before,
          "TCP falls from {:.0f} to {:.0f} kB/s under RED"),
    Claim("fred-light", "FRED L180", "light flows have no drops, heavy flows many", "qualitative",
          each(["two flows, fred"], "slow_drop_percent", "fast_drop_percent"), lambda slow, fast: slow < 1.0 < fast,
          "1 Mbit/s loses {:.1f} %, 10 Mbit/s {:.1f} %"),
    Claim("cbt-tcp", "CBT L250", "CBT isolates TCP from unresponsive traffic (90 % of its throughput)", "~1000 kB/s",
          each(["cbt"], "tcp_kbs", "tcp_before_kbs"), lambda under, before: under >= 0.9 * before,
          "TCP has {:.0f} kB/s under the blast, {:.0f} before"),
    Claim("punished", "Conclusion", "RED and FIFO punish low-bandwidth unresponsive traffic (over 10 % lost)", "qualitative",
          each(["red", "fifo"], "mm_drop_percent"), lambda red, fifo: min(red, fifo) > 10.0,
          "RED drops {:.0f} %, FIFO {:.0f} % of the sessions"),
    Claim("cbt-tagged", "Conclusion", "CBT isolates it from aggressive traffic (below 5 %, the blast over half)", "qualitative",
          each(["cbt"], "mm_drop_percent", "blast_drop_percent"), lambda mm, blast: mm < 5.0 and blast > 50.0,
          "sessions lose {:.1f} %, the blast {:.0f} %"),
    # the blast's part of the link grows with its threshold, and nothing else was changed
    Claim("cbt-ratios", "CBT L253 (-e thresholds)", "thresholds determine the ratios between classes", "qualitative",
          each([f"mm-th 10, udp-th {n}" for n in (1, 2, 5, 10)], "blast_kbs"),
          lambda *v: list(v) == sorted(v) and v[-1] > 2.0 * v[0],
          "blast {:.0f}, {:.0f}, {:.0f}, {:.0f} kB/s for udp-th 1, 2, 5, 10"),
    Claim("early-drop", "Future work (-e early_drop)", "early drop inside the UDP classes costs the sessions less than a fixed threshold", "not in the slides",
          each(_EARLY, "mm_drop_percent", "blast_kbs"), lambda fixed, once, twice, *_: min(once, twice) < fixed,
          "sessions lose {:.1f} % with thresholds, {:.1f} and {:.1f} % with early drop; blast {:.0f}, {:.0f}, {:.0f} kB/s", Origin.OURS),
    Claim("latency", "from memory", "latency of tagged traffic: FIFO > RED ~ CBT > CBQ", "ordering, from memory",
          each(["fifo", "red", "cbt", "cbq"], "mm_latency_ms"),
          lambda fifo, red, cbt, cbq: fifo > max(red, cbt) and min(red, cbt) > cbq and 0.67 < red / cbt < 1.5,
          "FIFO {:.1f}, RED {:.1f}, CBT {:.1f}, CBQ {:.1f} ms", Origin.OURS),
    Claim("fred-tagged", "from memory", "FRED treats tagged traffic no better than RED", "FRED 35.7, RED 30.0 %, from memory",
          [lambda runs: over_seeds(runs, "fred", "mm_drop_percent"), lambda runs: over_seeds(runs, "red", "mm_drop_percent")],
          lambda fred, red: fred.median > 0.5 * red.median,
          lambda fred, red: f"FRED {words(fred, '%', 1)}, RED {words(red, '%', 1)}", Origin.OURS),
    _identity(LAW, "FIFO, fifty sources and smooth sessions"),
    _identity("fifo", "FIFO, one paced blast and sessions in frames (drops are not alike: see README)"),
    _identity("red", "RED"),
    Claim("allocation", "arithmetic", "CBT: a class's share of the link is its share of the queued bytes", "identity",
          [_allocation], lambda worst: worst < 0.05, lambda worst: f"within {100 * worst:.1f} percentage points", Origin.TEXTBOOK),
)  # fmt: skip
