"""Judges the slides' rankings of the queues and every number in the slides; see `rules.md`."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bloatlab.studies.claims import NO_VALUE, Measures, Runs, median_of, over_seeds, words
from bloatlab.studies.mmcn1999.build import DECLARED, LAW, PROPAGATION_MS, SCHEMES, Case, build, limited_transmit
from bloatlab.studies.mmcn1999.small import TWO_FTP_LIMITS, TWO_FTP_MIN_TH
from bloatlab.studies.published import NOTHING, Row, at_path, parameter_cell, parameters, quantity, row_cell, rows
from bloatlab.studies.scorecard import NOT_EXPLAINED, Band, Cell, Goal, Origin, Tolerance, Verdict
from bloatlab.tables import Spread, counted, spread

#: `Cell.tables` is `RANKED` for cells in the table of rankings, and `SLIDES` for cells in the table of the slides'
#: rows.
RANKED, SLIDES = (1,), (2,)


@dataclass(frozen=True, slots=True)
class Ranking:
    """A ranking of two queues: in every seed, `measure` of `low` is below `most` times `measure` of `high`.

    If a change to the study was made after the result of this ranking was known, `chosen` describes the change, and the
    ranking is not counted.
    """

    low: str
    high: str
    measure: str
    most: float
    says: str
    origin: Origin = Origin.PAPER
    chosen: str = ""

    def cell(self, runs: Runs) -> Cell:
        """Returns the cell with the ratio in our runs. The ranking holds if the highest is below `most`."""
        pairs = zip(runs[self.low], runs[self.high], strict=True)
        every = [_ratio(a[self.measure], b[self.measure]) for a, b in pairs]
        ratios = [ratio for ratio in every if not math.isnan(ratio)]
        ours, worst = spread(ratios) if ratios else NOTHING, max(ratios, default=math.nan)
        holds = worst < self.most if ratios else None
        reason = f"worst of {len(ratios)} seeds: {worst:.3g}, below {self.most:g} wanted"
        if holds is None:
            verdict, reason = Verdict.UNTESTED, f"{NO_VALUE} in {counted(len(every), 'seed')}"
        elif self.chosen:
            verdict, reason = Verdict.CALIBRATION, f"{reason}; {self.chosen}"
        else:
            verdict = Verdict.WITHIN if holds else Verdict.OUTSIDE
            reason = reason if holds else f"{reason}; {NOT_EXPLAINED}"
        return Cell(
            f"{self.low} over {self.high}", self.says, "ratio", RANKED, (), f"< {self.most:g}", ours.median, ours.low,
            ours.high, (Band(-math.inf, self.most),), verdict, reason, holds, origin=self.origin,
        )  # fmt: skip


def _ratio(a: float, b: float) -> float:
    return a / b if b else (0.0 if a == 0.0 else math.inf)


TCP = "TCP throughput under the blast"
DROPS = "drops of tagged datagrams"
_RESCUED = DECLARED.text("rescued")
_PAIRS = [(a, b) for a in ("cbt", "cbq") for b in ("red", "fifo")]
RANKINGS = (
    Ranking("fifo", "red", "tcp_kbs", 1.0, TCP),
    *(Ranking("red", other, "tcp_kbs", 0.5, TCP) for other in ("fred", "cbt", "cbq")),
    *(
        Ranking(a, b, "mm_drop_percent", 0.2, DROPS, Origin.OURS, _RESCUED if (a, b) == ("cbt", "red") else "")
        for a, b in _PAIRS
    ),
    *(Ranking(limited_transmit(a), limited_transmit(b), "mm_drop_percent", 0.2, DROPS, Origin.OURS) for a, b in _PAIRS),
)

#: The accepted difference from a number read from the chart: half the distance between two grid lines of the chart's
#: axis, which runs from 0 to 1400.
CHART = Tolerance(least=100.0, unit="kB/s")

#: `EQUAL_SHARE` is the tolerance for the share of one of three equal classes, which is 1/3. `FAST_MBIT` and `SLOW_MBIT`
#: are the tolerances for the rates of two flows on one link: half a unit of the last printed digit.
EQUAL_SHARE = Tolerance(least=0.02)
FAST_MBIT, SLOW_MBIT = Tolerance(least=0.5, unit="Mbit/s"), Tolerance(least=0.05, unit="Mbit/s")

#: Every tolerance in words, as printed on the page.
RULES: Sequence[tuple[str, str]] = [
    *dict.fromkeys((f"{g.says}: {g.low} over {g.high}", f"below {g.most:g}, in every seed") for g in RANKINGS),
    ("a number read off the chart", CHART.words()),
    ("the share of three equal classes", EQUAL_SHARE.words()),
    ("10 and 1 Mbit/s on a link of 10", f"{FAST_MBIT.words()} and {SLOW_MBIT.words()}"),
]


def cells(runs: Runs) -> list[Cell]:
    """Returns the cells for the rankings, then one cell for every row of the slides."""
    return [ranking.cell(runs) for ranking in RANKINGS] + [_row(row, runs) for row in rows("mmcn1999")]


def _of_chart(cell: Cell) -> bool:
    return cell.tables == SLIDES and cell.metric.startswith("TCP throughput")


GOALS = (
    Goal("rankings of the chart", 1.0, lambda cell: cell.tables == RANKED),
    Goal("numbers read off the chart (low confidence)", None, _of_chart),
    Goal("illustration and theory", None, lambda cell: cell.tables == SLIDES and not _of_chart(cell)),
)

_PERIODS = {"0-20": "tcp_before_kbs", "20-60": "tcp_kbs", "60-100": "tcp_after_kbs", "during": "tcp_kbs"}


def _row(row: Row, runs: Runs) -> Cell:
    printed = [float(n[0]) for n in re.finditer(r"\d+(\.\d+)?", row.value)][:1]
    if row.metric.startswith("TCP throughput"):
        period = next(key for key in _PERIODS if key in row.metric)
        run = (row.case.split(" ")[0].lower(), _PERIODS[period])
        return _result(row, runs, run, printed[0], CHART.band(printed[0]), "read off a chart")
    if row.metric.startswith("RED 10->9"):
        return _two_flows(row, runs)
    if row.note.startswith("theory"):  # CBQ theory: three classes that each want more than a third get equal shares
        third, text = 1 / 3, "the smallest of three classes that all want more"
        return _result(row, runs, ("equal classes", "least_share"), third, EQUAL_SHARE.band(third), text)
    read = PARAMETERS.get((row.case, row.metric))
    if read is None:
        return row_cell(row, printed, NOTHING, Verdict.UNTESTED, UNTESTED[row.case, row.metric], (), SLIDES)
    return parameter_cell(row, printed[0], read(), SLIDES)


def _two_flows(row: Row, runs: Runs) -> Cell:
    """Returns the cell for two flows of 10 and 1 Mbit/s through RED on 10 Mbit/s.

    The slides say "10 -> 9 and 1 -> 0.9". Our rates may differ from 9 and 0.9 Mbit/s by at most half a unit of
    the last printed digit (0.5 and 0.05 Mbit/s).
    """
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
    """Returns the experiment that explains why a number in the chart differs, with its value; or `NOT_EXPLAINED`."""
    smooth = median_of(runs, LAW, "tcp_kbs")
    if row.case.startswith("FIFO") and smooth is not None and "0-20" not in row.metric and "60-100" not in row.metric:
        printed = float(re.findall(r"\d+", row.value)[0])
        if abs(smooth - printed) <= CHART.least:
            return DECLARED.text("explained", LAW=LAW, smooth=smooth)
    return NOT_EXPLAINED


# --------------------------------------------------------------------------------------------- parameters of the paper


@functools.cache
def _resolved(key: str) -> Mapping[str, Any]:
    """Returns the scenario, with all defaults filled in, for the queue `key` of the slides."""
    (queue,) = [s.queue for s in SCHEMES if s.key == key]
    return build(Case(key, queue), 1).data


def _session_kbps() -> float:
    """Returns the rate of one ProShare session in kbit/s, which is the sum of its audio rate and its video rate."""
    traffic = at_path(_resolved("red"), "app.mm_blast_0.traffic.proshare")
    streams = (("audio_size", "audio_interval"), ("frame_size", "frame_interval"))
    return sum(quantity(traffic[size], "B") * 8e-3 / quantity(traffic[every], "s") for size, every in streams)


PARAMETERS: Mapping[tuple[str, str], Callable[[], float]] = {
    **parameters("mmcn1999", _resolved),
    ("setup", "ProShare flows"): lambda: float(sum(name.startswith("mm_blast_") for name in _resolved("red")["app"])),
    ("setup", "ProShare rate"): _session_kbps,
    ("CBT", "traffic classes"): lambda: float(len(at_path(_resolved("cbt"), "link.bottleneck.queue.cbt.classes"))),
}

UNTESTED: Mapping[tuple[str, str], str] = {
    ("CBT evaluation slide", "chart y axis"): "the axis of a chart; its label (kbps) is wrong: 10 Mbit/s is 1250 kB/s",
    ("CBT evaluation slide", "chart x axis"): "the axis of a chart: our runs last 100 s",
    ("RED", "parameters"): "a list of names, not a number to reproduce: all five are read back above",
}


# -------------------------------------------------------------------------------------------------------------- claims

#: For each RED setting in the network with two FTPs, the mean queue with RED and the mean queue that drop-tail needs
#: for the same throughput. Unit: packets.
Settings = Sequence[tuple[float, float]]


def _power(runs: Runs) -> Settings | None:
    """Returns RED's mean queue for each setting, and the queue that drop-tail needs for the same throughput.

    Drop-tail's queue is interpolated between buffer sizes. Settings with a throughput outside drop-tail's range are
    left out.
    """
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


#: `OFFERED_KBS` is the rate of the unresponsive traffic: the blast and six sessions send 11.26 Mbit/s. `LINK_KBS` is
#: the link's rate. Unit: kB/s.
OFFERED_KBS, LINK_KBS = 1407.5, 1250.0


def _identity(key: str) -> Callable[[Runs], float | None]:
    """Returns a function that computes the maximum relative error, over seeds, of TCP = C - U (1 - p).

    C is the link's rate, U the offered rate of unresponsive traffic, and p the drop rate, which the formula assumes to
    be the same for all traffic.
    """

    def error(seed: Measures) -> float:
        return abs(seed["tcp_kbs"] / (LINK_KBS - OFFERED_KBS * (1.0 - seed["udp_drop_percent"] / 100.0)) - 1.0)

    return lambda runs: max(map(error, runs[key])) if key in runs else None


_CLASSES = (("tcp_kbs", "share_tcp_percent"), ("mm_kbs", "share_mm_percent"), ("blast_kbs", "share_udp_percent"))


def _allocation(runs: Runs) -> float | None:
    """Returns the largest difference between a class's share of the link and its share of the queued bytes.

    CBT's three classes are compared in every seed. Returns None if CBT was not run.
    """
    differences = [
        abs(seed[rate] / sum(seed[name] for name, _ in _CLASSES) - seed[share] / 100.0)
        for seed in runs.get("cbt", ())
        for rate, share in _CLASSES
    ]
    return max(differences, default=None)


def _drops(queue: str) -> Callable[[Runs], Spread | None]:
    return lambda runs: over_seeds(runs, queue, "mm_drop_percent")


#: The sentences in the slides that our runs can test, and sentences from other sources.
CLAIMS = DECLARED.claims({
    "PROPAGATION_MS": PROPAGATION_MS, "power": _power, "shorter": _shorter, "queues": _queues, "words": words,
    "identity": _identity, "allocation": _allocation, "drops": _drops,
})  # fmt: skip
