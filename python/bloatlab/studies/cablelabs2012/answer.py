"""Is CoDel better than a 50 ms buffer, and for whom? Answered from the runs.

A queue is better for somebody in a load where it is better by what one would notice (`NOTICED`), and the same where it is not.
Loads are the eight with bulk traffic; a number that stands for all of them is their median.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bloatlab.plots import Panel, Series, style
from bloatlab.report import Answer, Drawn, Point, figure_block
from bloatlab.studies.cablelabs2012.published import FTP, MEDIAN, MOS, by_key
from bloatlab.studies.claims import Runs, median_of, over_seeds
from bloatlab.studies.scorecard import Tolerance
from bloatlab.tables import Tone, counted, number, spread
from bloatlab.workloads.cable_loads import LOADED, NUMBERS, Bulk, Case, Queue

QUESTION = "Is CoDel better than a 50 ms buffer, and for whom?"
LARGE, SMALL, CODEL = Queue.DROPTAIL_417, Queue.DROPTAIL_21, Queue.CODEL

#: What a caller, a reader of pages and an upload would notice.
NOTICED: Mapping[str, Tolerance] = {
    MOS: Tolerance(least=0.2),
    MEDIAN: Tolerance(share=0.10),
    FTP: Tolerance(share=0.05),
}

COLOURS = {LARGE: style.COLOURS[1], SMALL: style.COLOURS[2], CODEL: style.COLOURS[0]}
NAMES = {LARGE: "DropTail, 417 packets (1 s)", SMALL: "DropTail, 21 packets (50 ms)", CODEL: "CoDel"}


@dataclass(frozen=True, slots=True)
class Beside:
    """CoDel beside another queue, for one measure: in how many loads better, worse, the same; and the medians over loads."""

    better: int
    worse: int
    same: int
    codel: float
    other: float

    @property
    def verdict(self) -> str:
        """The verdict of most loads, in a word or two."""
        most = max(self.better, self.worse, self.same)
        if 2 * most <= len(LOADED):
            return "it depends on the load"
        return "no difference" if most == self.same else "CoDel is better" if most == self.better else "CoDel is worse"

    @property
    def loads(self) -> str:
        """In how many loads."""
        parts = [("better", self.better), ("the same", self.same), ("worse", self.worse)]
        return ", ".join(f"{words} in {n}" for words, n in parts if n) + f" of {len(LOADED)} loads"


def beside(runs: Runs, metric: str, other: Queue, *, high_is_good: bool) -> Beside | None:
    """CoDel beside `other`; None where a run is missing."""
    pairs: list[tuple[float, float]] = []
    for n in LOADED:
        ours, theirs = (median_of(runs, Case(n, queue).key, metric) for queue in (CODEL, other))
        if theirs is None and metric == MEDIAN:
            theirs = math.inf  # no page completed
        if ours is None or theirs is None:
            return None
        pairs.append((ours, theirs))
    better = worse = 0
    for ours, theirs in pairs:
        slack = 0.0 if math.isinf(theirs) else NOTICED[metric].slack(theirs)
        gain = (ours - theirs) if high_is_good else (theirs - ours)
        better += gain > slack
        worse += gain < -slack
    codel, others = (spread(values).median for values in zip(*pairs, strict=True))
    return Beside(better, worse, len(pairs) - better - worse, codel, others)


def answer(runs: Runs, seeds: int) -> Answer:
    """The answer, and the figure that shows it."""
    found = {
        (metric, other): beside(runs, metric, other, high_is_good=metric != MEDIAN)
        for metric in (MOS, MEDIAN, FTP)
        for other in (SMALL, LARGE)
    }
    basis = (
        f"Medians of {counted(seeds, 'seed')}, then over the {len(LOADED)} loads. Better is by {NOTICED[MEDIAN].words()} of a page's "
        f"time, {NOTICED[MOS].words()} MOS or {NOTICED[FTP].words()} of an upload. Hollow points are the paper's."
    )
    figure = figure_block(draw(runs))
    kept = {key: value for key, value in found.items() if value is not None}
    if len(kept) < len(found):
        return Answer(
            QUESTION, "A quick look skips runs that this question needs; run it without --quick.", (), figure, basis
        )
    return Answer(QUESTION, _sentence(kept), _points(kept), figure, basis)


def _sentence(of: Mapping[tuple[str, Queue], Beside]) -> str:
    groups: dict[str, list[str]] = {}
    for metric, who in ((MEDIAN, "web pages"), (MOS, "calls"), (FTP, "uploads")):
        groups.setdefault(of[metric, SMALL].verdict, []).append(who)
    better = groups.pop("CoDel is better", [])
    begin = f"Yes, for {' and '.join(better)}" if better else "No"
    rest = [f"{verdict} for {' and '.join(who)}" for verdict, who in groups.items()]
    large, pages = of[MOS, LARGE], of[MEDIAN, SMALL]
    return (
        f"{'; '.join([begin, *rest])}. The median page takes {number(pages.codel, 1)} s behind CoDel and "
        f"{_load(pages.other)} behind 50 ms of buffer. Behind one second of buffer (417 packets) a call is worth "
        f"{number(large.other, 1)}; behind CoDel {number(large.codel, 1)}, {_uploads(of[FTP, LARGE])}."
    )


def _load(seconds: float) -> str:
    return "more than 600 s" if math.isinf(seconds) else f"{number(seconds, 1)} s"


def _uploads(of: Beside) -> str:
    change = 100.0 * (of.codel / of.other - 1.0) if of.other else 0.0
    if abs(change) < 0.5:
        return "at the same upload rate"
    return f"with {number(abs(change), 1)} % {'more' if change > 0 else 'less'} of the uploads"


def _points(of: Mapping[tuple[str, Queue], Beside]) -> list[Point]:
    points: list[Point] = []
    for metric, who, unit, digits, scale in _WHO:
        small, large = of[metric, SMALL], of[metric, LARGE]
        codel, other, most = (
            f"{number(v * scale, digits)} {unit}".strip() for v in (small.codel, small.other, large.other)
        )
        tone: Tone = "good" if small.better > len(LOADED) / 2 else "bad" if small.worse > len(LOADED) / 2 else "plain"
        text = f"{codel} behind CoDel, {other} behind 50 ms, {most} behind one second ({small.loads})."
        points.append(Point(who, f"{small.verdict}:", text, tone))
    return points


#: Whom each metric concerns, its unit and digits, and what it is multiplied by.
_WHO = ((MEDIAN, "For pages", "s", 1, 1.0), (MOS, "For calls", "MOS", 2, 1.0), (FTP, "For uploads", "MB", 0, 1e-3))

_LOADS = {Bulk.NONE: "none", Bulk.SINGLE: "1", Bulk.MULTIPLE: "5", Bulk.MULTIPLE_AND_UDP: "5+UDP", Bulk.BURSTY: "burst"}
_APART = 0.2


def draw(runs: Runs) -> Drawn:
    """What a caller and a reader of pages get in each load: ours with its interval, and the paper's."""
    ticks: list[tuple[float, str]] = []
    for n in NUMBERS:
        load = Case(n, CODEL)
        ticks.append((float(n), _LOADS[load.bulk] if load.bulk is Bulk.NONE else f"{_LOADS[load.bulk]}\n{load.rtt_ms}"))
    voice = Panel(
        "A call: how good it sounds (MOS)", "uploads, round trip (ms)", "MOS, 1 bad to 4.4 good",
        _lines(runs, MOS), (0.5, 9.5), (0.9, 4.6), x_ticks=ticks,
    )  # fmt: skip
    web = Panel(
        "A web page: median time to load", "uploads, round trip (ms)", "page load time (s)",
        _lines(runs, MEDIAN), (0.5, 9.5), (0.8, 100.0), x_ticks=ticks, log_y=True,
    )  # fmt: skip
    caption = (
        "Three queues under the paper's nine loads. Filled: ours, the median over seeds with the central 80 %; hollow: the "
        "paper's. Where no page completed in 600 s there is no point."
    )
    return Drawn("", "answer", caption, [voice, web], 1, size=(7.0, 2.6))


def _lines(runs: Runs, metric: str) -> list[Series]:
    lines: list[Series] = []
    for place, queue in enumerate((LARGE, SMALL, CODEL)):
        spreads = [over_seeds(runs, Case(n, queue).key, metric) for n in NUMBERS]
        values = np.array([[s.median, s.low, s.high] if s else [np.nan] * 3 for s in spreads])
        values[~np.isfinite(values)] = np.nan
        x = np.array(NUMBERS, dtype=float) + _APART * (place - 1)
        band = (values[:, 1], values[:, 2])
        lines.append(Series(NAMES[queue], x, values[:, 0], "points", COLOURS[queue], band))
        cells = [by_key().get((Case(n, queue).key, metric)) for n in NUMBERS]
        printed = [c.values[0] if c and c.values and math.isfinite(c.values[0]) else math.nan for c in cells]
        lines.append(
            Series(f"{_SHORT[queue]}, the paper", x, printed, "points", COLOURS[queue], hollow=True, quiet=True)
        )
    return lines


_SHORT = {LARGE: "417 packets", SMALL: "21 packets", CODEL: "CoDel"}
