"""The study's own rules: whose each number is, and how it is judged.

The orders of the slides' chart are asked of every seed: TCP under the blast, FIFO below RED, and RED at most half of FRED, CBT
and CBQ. They were fixed before any run; their factor of one half is ours.

The band of the numbers read off the chart was fixed when ours were known: one curve is read as 1000 on one slide and as 1100 on
another, so it cannot be narrower. Illustration and theory are run; parameters are read back from the resolved scenarios.

Drops of tagged datagrams have no number in the slides: their four orders are ours, from what is recalled of the paper, and not
counted.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bloatlab.studies.claims import Runs, median_of, over_seeds
from bloatlab.studies.mmcn1999.build import LAW, SCHEMES, Case, build, limited_transmit
from bloatlab.studies.published import Row, rows
from bloatlab.studies.quantities import at_path, quantity
from bloatlab.studies.scorecard import Band, Cell, Goal, Origin, Verdict
from bloatlab.studies.tolerance import Tolerance
from bloatlab.tables import Spread, spread

#: The numbers of our tables, in `Cell.tables`: the orders, and the rows of the slides.
ORDERS, SLIDES = (1,), (2,)


@dataclass(frozen=True, slots=True)
class Gate:
    """An order: `measure` of `low` is below `most` x that of `high`, in every seed.

    `chosen` says what was changed after looking at it, in which case it is not judged.
    """

    low: str
    high: str
    measure: str
    most: float
    says: str
    origin: Origin = Origin.PAPER
    chosen: str = ""

    def cell(self, runs: Runs) -> Cell:
        """The gate beside our runs: the ratio, its worst seed counts."""
        pairs = list(zip(runs[self.low], runs[self.high], strict=True))
        ratios = [_ratio(a[self.measure], b[self.measure]) for a, b in pairs]
        ours = spread(ratios)
        worst = max(ratios)
        holds = worst < self.most
        reason = f"worst of {len(ratios)} seeds: {worst:.3g}, below {self.most:g} wanted"
        if self.chosen:
            verdict, reason = Verdict.CALIBRATION, f"{reason}; {self.chosen}"
        else:
            verdict = Verdict.WITHIN if holds else Verdict.OUTSIDE
            reason = reason if holds else f"{reason}; not explained"
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
GATES = (
    Gate("fifo", "red", "tcp_kbs", 1.0, TCP),
    *(Gate("red", other, "tcp_kbs", 0.5, TCP) for other in ("fred", "cbt", "cbq")),
    *(
        Gate(a, b, "mm_drop_percent", 0.2, DROPS, Origin.OURS, _RESCUED if (a, b) == ("cbt", "red") else "")
        for a in ("cbt", "cbq")
        for b in ("red", "fifo")
    ),
    *(
        Gate(limited_transmit(a), limited_transmit(b), "mm_drop_percent", 0.2, DROPS, Origin.OURS)
        for a in ("cbt", "cbq")
        for b in ("red", "fifo")
    ),
)

_PERIODS = {"0-20": "tcp_before_kbs", "20-60": "tcp_kbs", "60-100": "tcp_after_kbs", "during": "tcp_kbs"}

#: What a number read off the chart may be from ours: half of what its axis (0 to 1400) leaves between two lines of a grid.
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
    """The orders, then every row of the slides beside ours."""
    return [gate.cell(runs) for gate in GATES] + [_row(row, runs) for row in rows("mmcn1999")]


def _of_chart(cell: Cell) -> bool:
    return cell.tables == SLIDES and cell.metric.startswith("TCP throughput")


GOALS = (
    Goal("orders of the chart", 1.0, lambda cell: cell.tables == ORDERS),
    Goal("numbers read off the chart (low confidence)", None, _of_chart),
    Goal("illustration and theory", None, lambda cell: cell.tables == SLIDES and not _of_chart(cell)),
)


def _row(row: Row, runs: Runs) -> Cell:
    """A row of the slides beside ours."""
    if row.metric.startswith("TCP throughput"):
        return _chart(row, runs)
    if row.metric.startswith("RED 10->9"):
        return _two_flows(row, runs)
    if row.note.startswith("theory"):  # three classes that want more than a third each, in CBQ with equal shares
        third = 1 / 3
        return _result(row, runs, ("equal classes", "least_share"), third, EQUAL_SHARE.band(third),
                       "the smallest of three classes that all want more")  # fmt: skip
    return _parameter(row)


def _printed(row: Row) -> tuple[float, ...]:
    """The first number of a row; nothing for a row without one."""
    number = re.search(r"\d+(\.\d+)?", row.value)
    return (float(number[0]),) if number else ()


def _chart(row: Row, runs: Runs) -> Cell:
    (value,) = _printed(row)
    period = next(key for key in _PERIODS if key in row.metric)
    run = (row.case.split(" ")[0].lower(), _PERIODS[period])
    return _result(row, runs, run, value, CHART.band(value), "read off a chart")


def _two_flows(row: Row, runs: Runs) -> Cell:
    """10 and 1 Mbit/s on a link of 10 under RED: "10 -> 9 and 1 -> 0.9", each to the printed digit."""
    fast = _result(row, runs, ("two flows, red", "fast_mbit"), 9.0, FAST_MBIT.band(9.0), "run with two flows")
    slow = median_of(runs, "two flows, red", "slow_mbit")
    if slow is None:
        return fast
    both = fast.agrees is True and SLOW_MBIT.band(0.9).holds(slow)
    reason = f"{fast.reason}; and 1 becomes {slow:.2f}, asked: 0.85 to 0.95" + ("" if both else "; not explained")
    return replace(fast, verdict=Verdict.WITHIN if both else Verdict.OUTSIDE, reason=reason, agrees=both)


def _result(row: Row, runs: Runs, run: tuple[str, str], value: float, band: Band, how: str) -> Cell:
    ours = over_seeds(runs, *run)
    if ours is None:
        return _cell(row, (value,), _NOTHING, Verdict.UNTESTED, "not run")
    agrees = band.holds(ours.median)
    reason = f"{how}, asked: {band.words()}" + ("" if agrees else f"; {explain(row, runs)}")
    cell = _cell(row, (value,), ours, Verdict.WITHIN if agrees else Verdict.OUTSIDE, reason)
    return replace(cell, bands=(band,), agrees=agrees)


def explain(row: Row, runs: Runs) -> str:
    """The experiment that shows why a number of the chart is not ours, with its value; "not explained" otherwise."""
    smooth = median_of(runs, LAW, "tcp_kbs")
    if row.case.startswith("FIFO") and smooth is not None and "0-20" not in row.metric and "60-100" not in row.metric:
        printed = float(re.findall(r"\d+", row.value)[0])
        if abs(smooth - printed) <= CHART.least:
            return (
                "one paced blast at the link's rate takes the room that each departure makes; where arrivals hardly depend on "
                f"each other TCP has what the chart shows (-e sensitivity: {LAW}: {smooth:.0f} kB/s)"
            )
    return "not explained"


def _parameter(row: Row) -> Cell:
    """An input, read back; or what is no number to reproduce."""
    place, published = PARAMETERS.get((row.case, row.metric)), _printed(row)
    if place is None:
        return _cell(row, published, _NOTHING, Verdict.UNTESTED, UNTESTED[row.case, row.metric])
    ours = place()
    agrees = math.isclose(ours, published[0], rel_tol=1e-9)
    reason = "as in our scenarios" if agrees else "our scenarios have something else"
    return _cell(row, published, Spread(ours, ours, ours), Verdict.PARAMETER if agrees else Verdict.OUTSIDE, reason)


_NOTHING = Spread(math.nan, math.nan, math.nan)


def _cell(row: Row, published: tuple[float, ...], ours: Spread, verdict: Verdict, reason: str) -> Cell:
    return Cell(row.case, row.metric, row.unit, SLIDES, published, row.value, ours.median, ours.low, ours.high, (),
                verdict, reason, None, row.where)  # fmt: skip


# ------------------------------------------------------------------------------------------------------------- read back


@functools.cache
def _resolved(key: str) -> Mapping[str, Any]:
    """The scenario of one of the slides' queues as it runs."""
    (queue,) = [s.queue for s in SCHEMES if s.key == key]
    return build(Case(key, queue), 1).data


def _read(key: str, path: str, unit: str = "") -> Callable[[], float]:
    return lambda: quantity(at_path(_resolved(key), path), unit)


def _sessions() -> float:
    return float(sum(name.startswith("mm_blast_") for name in _resolved("red")["app"]))


def _session_kbps() -> float:
    """What one session offers: its audio packets and its video frames."""
    traffic = at_path(_resolved("red"), "app.mm_blast_0.traffic.proshare")
    streams = (("audio_size", "audio_interval"), ("frame_size", "frame_interval"))
    return sum(quantity(traffic[size], "B") * 8e-3 / quantity(traffic[every], "s") for size, every in streams)


_RED = "link.bottleneck.queue.red"
_CLASSES = "link.bottleneck.queue.cbt.classes"

PARAMETERS: Mapping[tuple[str, str], Callable[[], float]] = {
    ("setup", "ProShare flows"): _sessions,
    ("setup", "ProShare rate"): _session_kbps,
    ("setup", "FTP-TCP flows"): _read("red", "app.ftp0.traffic.ftp.flows"),
    ("setup", "UDP blast rate"): _read("red", "app.blast0.traffic.cbr.rate", "mbit"),
    ("setup", "UDP blast packet"): _read("red", "app.blast0.traffic.cbr.size", "KB"),
    ("RED settings", "qsize"): _read("red", f"{_RED}.limit", "p"),
    ("RED settings", "max-th"): _read("red", f"{_RED}.max", "p"),
    ("RED settings", "min-th"): _read("red", f"{_RED}.min", "p"),
    ("RED settings", "qweight"): _read("red", f"{_RED}.weight"),
    ("RED settings", "max-pro"): _read("red", f"{_RED}.probability"),
    ("CBT settings", "mm-th"): _read("cbt", f"{_CLASSES}.1.test.threshold", "p"),
    ("CBT settings", "udp-th"): _read("cbt", f"{_CLASSES}.2.test.threshold", "p"),
    ("RED 10 Mbps link", "UDP blast link rate"): _read("red", "link.bottleneck.rate", "mbit"),
    ("CBT", "traffic classes"): lambda: float(len(at_path(_resolved("cbt"), _CLASSES))),
}

UNTESTED: Mapping[tuple[str, str], str] = {
    ("CBT evaluation slide", "chart y axis"): "the axis of a chart; its label (kbps) is wrong: 10 Mbit/s are 1250 kB/s",
    ("CBT evaluation slide", "chart x axis"): "the axis of a chart: our runs last 100 s",
    ("RED", "parameters"): "a list of names, not a number to reproduce: all five are read back above",
}
