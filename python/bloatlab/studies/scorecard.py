"""The scorecard of a study: published values and ours, judged by the study's rules.

    band       the values accepted by a rule for one published value
    within     a value of ours is within tolerance if it lies in the band of a published value or between the published
               values of one table cell; with the interval rule, also if a published value lies in the interval of our
               results and this interval is narrower than the band
    origin     the source: the paper, a textbook, others who repeated the measurement, or this project

A study defines its published values, their bands and any further conditions; this module judges and counts. Only values
and claims from the paper itself are counted. But a study without goals has a share of all judged values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from bloatlab.judgement import SLACK, Share, finite, share
from bloatlab.tables import Spread, number

#: The reason printed for a differing value if no experiment explains it.
NOT_EXPLAINED = "not explained"


class Origin(StrEnum):
    """The source of a value or claim."""

    #: Printed or stated in the paper.
    PAPER = "paper"
    #: Theory not stated in the paper: an identity, a closed form, a standard.
    TEXTBOOK = "textbook"
    #: Measured by others who ran the same laboratory kit as the paper's authors.
    OTHERS = "others"
    #: Computed, expected or chosen by this project.
    OURS = "ours"


class Verdict(StrEnum):
    """The verdict on a published value. Only values with one of the first two verdicts are counted."""

    WITHIN = "within"
    OUTSIDE = "outside"
    #: The value was used to choose a free parameter, or the study was changed after the result was known.
    CALIBRATION = "calibration"
    #: The value repeats or combines other values, or nothing was published.
    DERIVED = "derived"
    #: The value is one of the paper's inputs, used in our scenarios.
    PARAMETER = "parameter"
    #: No run or computation tested the value; the reason says why.
    UNTESTED = "not tested"
    #: The runs prove nothing, because they are a quick look or have changed values.
    UNJUDGED = "not judged"


@dataclass(frozen=True, slots=True)
class Band:
    """The values accepted by a rule, from `low` to `high` inclusive."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if self.low > self.high:  # false for NaN, the lower limit around a published infinity ("never happened")
            raise ValueError(f"a band from {self.low:g} to {self.high:g}: expected the smaller limit first")

    @property
    def width(self) -> float:
        """The difference between the highest and the lowest accepted value."""
        return self.high - self.low

    def holds(self, value: float) -> bool:
        """Returns whether `value` is accepted. The limits belong to the accepted range."""
        return self.low - SLACK <= value <= self.high + SLACK

    def outside(self, value: float) -> float:
        """Returns the distance from a value to the nearest accepted value; 0 if the value is accepted."""
        return 0.0 if self.holds(value) else max(self.low - value, value - self.high)

    def words(self, digits: int | None = None) -> str:
        """Formats the band: "0.5 to 0.85", "at most 230".

        The numbers have `digits` decimals or, if it is None, up to six significant digits.
        """

        def text(value: float) -> str:
            return f"{value:.6g}" if digits is None else number(value, digits)

        if math.isinf(self.low):
            return "any" if math.isinf(self.high) else f"at most {text(self.high)}"
        if math.isinf(self.high):
            return f"at least {text(self.low)}"
        low, high = text(self.low), text(self.high)
        return low if low == high else f"{low} to {high}"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """The accepted difference from a published value.

    It is a `share` of the published value. With a `factor` instead of a share, the values from published / `factor` to
    published x `factor` are accepted. A factor is at least 1. In both cases, a difference of up to `least` (in `unit`)
    is accepted.
    """

    share: float = 0.0
    least: float = 0.0
    unit: str = ""
    factor: float = 0.0

    def __post_init__(self) -> None:
        if self.share and self.factor:
            raise ValueError("a tolerance has a share or a factor, not both")
        for name, value in (("share", self.share), ("least", self.least)):
            if not 0.0 <= value < math.inf:
                raise ValueError(f"{name} of a tolerance: {value:g} is not valid; expected a number from 0 on")
        if self.factor and not 1.0 <= self.factor < math.inf:
            raise ValueError(f"factor of a tolerance: {self.factor:g} is not valid; expected a number from 1 on")

    def slack(self, published: float) -> float:
        """Returns the accepted difference from a published value, for a tolerance without a factor."""
        return max(self.share * abs(published), self.least)

    def band(self, published: float) -> Band:
        """Returns the accepted values for a published value."""
        if not self.factor:
            return symmetric(published, self.slack(published))
        low, high = sorted((published / self.factor, published * self.factor))
        return Band(min(low, published - self.least), max(high, published + self.least))

    def words(self) -> str:
        """Formats the tolerance: "35 % or 0.5 percentage points, whichever is larger"."""
        parts = [f"a factor of {self.factor:g}"] if self.factor else []
        parts += [f"{100 * self.share:g} %"] if self.share else []
        parts += [f"{self.least:,g} {self.unit}".strip().replace(",", "\u202f")] if self.least else []
        return f"{' or '.join(parts)}{', whichever is larger' if len(parts) > 1 else ''}"


@dataclass(frozen=True, slots=True)
class Finding:
    """The verdict on a value: whether it agrees with the published value, and a short reason."""

    agrees: bool
    why: str


@dataclass(frozen=True, slots=True)
class Cell:
    """A published table cell and our value.

    `published` contains one value, or the values of two runs; it is empty if the cell contains no published number.
    `bands` contains the accepted values: usually one band for each published value; it may be empty if no rule judges
    the cell. `agrees` is the result of the rule, also for calibration cells, which are not counted. It is None for
    cells that no rule judges (derived, parameter, not tested) and for runs that prove nothing.
    """

    case: str
    metric: str
    unit: str
    tables: tuple[int, ...]
    published: tuple[float, ...]
    printed: str
    ours: float
    low: float
    high: float
    bands: tuple[Band, ...]
    verdict: Verdict
    reason: str
    agrees: bool | None = None
    where: str = ""
    origin: Origin = Origin.PAPER

    @property
    def counted(self) -> bool:
        """Whether this is a judged value from the paper; goals, and shares by table and metric, count only these."""
        return self.origin is Origin.PAPER and self.within is not None

    @property
    def within(self) -> bool | None:
        """True for the verdict within, False for outside, None for all others."""
        return {Verdict.WITHIN: True, Verdict.OUTSIDE: False}.get(self.verdict)

    def unjudged(self) -> Cell:
        """Returns the cell without the result of its rule, for runs that prove nothing."""
        if self.within is None and self.agrees is None:
            return self
        verdict = self.verdict if self.within is None else Verdict.UNJUDGED
        return replace(self, verdict=verdict, reason="", agrees=None)

    def accepted(self, digits: int | None = None) -> str:
        """Formats the accepted values; empty if there are no bands."""
        return " or ".join(band.words(digits) for band in joined(self.bands))

    def as_data(self) -> dict[str, Any]:
        """Returns the values as plain data for JSON.

        Infinite and missing results and limits become null. Several published values become a list; a cell without a
        finite published value has the printed text instead.
        """
        several = len(self.published) > 1
        number = len(self.published) == 1 and math.isfinite(self.published[0])
        published = list(self.published) if several else self.published[0] if number else self.printed
        return {
            "case": self.case,
            "metric": self.metric,
            "unit": self.unit,
            "tables": list(self.tables),
            "published": published,
            "ours": finite(self.ours),
            "low": finite(self.low),
            "high": finite(self.high),
            "accepted": [[finite(band.low), finite(band.high)] for band in self.bands],
            "origin": str(self.origin),
            "verdict": str(self.verdict),
            "agrees": self.agrees,
            "reason": self.reason,
            **({"where": self.where} if self.where else {}),
        }


@dataclass(frozen=True, slots=True)
class Scorecard:
    """All published values of a study, and its goals."""

    study: str
    seeds: int
    cells: Sequence[Cell]
    shares: Sequence[Share]
    proves_nothing: str = ""

    @property
    def of_judged(self) -> Share:
        """The share of judged values within tolerance, for a study without goals. Its target is 100 %.

        If no value was judged, `met` is None. But if a value was not tested, the target is missed, unless the runs
        prove nothing.
        """
        found = share("judged values", (cell.within for cell in self.cells), 1.0)
        untested = any(cell.verdict is Verdict.UNTESTED for cell in self.cells)
        return replace(found, unjudged=False) if untested and not self.proves_nothing else found

    @property
    def goals(self) -> Sequence[Share]:
        """The shares that the study sets as goals. If it sets none, the only goal is the share of all judged values."""
        return self.shares or [self.of_judged]

    @property
    def met(self) -> bool | None:
        """Whether no goal is missed; None if the runs prove nothing."""
        return None if self.proves_nothing else all(share.met is not False for share in self.goals)

    def as_data(self) -> dict[str, Any]:
        """Returns the scorecard as plain data for JSON: `cells` and a `summary`."""
        counted = [c for c in self.cells if c.counted]
        summary: dict[str, Any] = {
            "study": self.study,
            "seeds": self.seeds,
            "cells": len(counted),
            "within": sum(c.verdict is Verdict.WITHIN for c in counted),
            "calibration": sum(c.verdict is Verdict.CALIBRATION for c in self.cells),
            "derived": sum(c.verdict is Verdict.DERIVED for c in self.cells),
            "parameters": sum(c.verdict is Verdict.PARAMETER for c in self.cells),
            "not_tested": sum(c.verdict is Verdict.UNTESTED for c in self.cells),
            "not_explained": sum(c.verdict is Verdict.OUTSIDE and NOT_EXPLAINED in c.reason for c in counted),
            "by_origin": {str(origin): _tally(self.cells, origin) for origin in Origin},
            "shares": {share.name: share.as_data() for share in self.goals},
            "by_table": {name: share.as_data() for name, share in by_table(self.cells).items()},
            "by_metric": {name: share.as_data() for name, share in by_metric(self.cells).items()},
            "met": self.met,
        }
        if self.proves_nothing:
            summary["note"] = self.proves_nothing
        return {"summary": summary, "cells": [cell.as_data() for cell in self.cells]}


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal of a study: its values, and the share that must be within tolerance (None: only reported)."""

    name: str
    wanted: float | None = None
    of: Callable[[Cell], bool] = lambda _: True

    def __post_init__(self) -> None:
        if self.wanted is not None and not 0.0 <= self.wanted <= 1.0:
            raise ValueError(f"goal {self.name!r}: wanted is {self.wanted:g}; expected a share from 0 to 1")

    def share(self, cells: Sequence[Cell]) -> Share:
        """Returns the share of this goal's values in `cells` that are within tolerance."""
        return share_of(self.name, [cell for cell in cells if self.of(cell)], self.wanted)


def symmetric(published: float, tolerance: float) -> Band:
    """Makes a band with the same slack below and above a published value."""
    return Band(published - tolerance, published + tolerance)


def judge(published: Sequence[float], bands: Sequence[Band], ours: Spread, *, interval_rule: bool = True) -> Finding:
    """Judges whether `ours` agrees with at least one published value; there is one band per value.

    Several published values are results of the same configuration, so they show the spread of the paper's own results.
    Our value also agrees if it lies between them. With `interval_rule`, it also agrees if a published value lies inside
    our interval, provided that the interval is narrower than the band.
    """
    if any(band.holds(ours.median) for band in bands):
        return Finding(agrees=True, why="within tolerance")
    if len(published) > 1 and min(published) <= ours.median <= max(published):
        return Finding(agrees=True, why="between the two published runs")
    for value, band in zip(published, bands, strict=True) if interval_rule else ():
        narrow = ours.high - ours.low < band.width
        if narrow and Band(ours.low, ours.high).holds(value):
            return Finding(agrees=True, why="published value inside our interval")
    return Finding(agrees=False, why=_how_far(published, ours.median))


def share_of(name: str, cells: Sequence[Cell], wanted: float | None = None) -> Share:
    """Returns the share of the counted values in `cells` that are within tolerance."""
    return share(name, (c.within for c in cells if c.counted), wanted)


def by_table(cells: Sequence[Cell]) -> Mapping[str, Share]:
    """Returns the share of values within tolerance for each of the paper's tables.

    A value printed in two tables counts in both.
    """
    numbers = sorted({n for cell in cells for n in cell.tables})
    return {str(n): share_of(str(n), [c for c in cells if n in c.tables]) for n in numbers}


def by_metric(cells: Sequence[Cell]) -> Mapping[str, Share]:
    """Returns the share of values within tolerance for each counted metric, in order of appearance."""
    uncounted = (Verdict.DERIVED, Verdict.PARAMETER, Verdict.UNTESTED)
    names = dict.fromkeys(c.metric for c in cells if c.verdict not in uncounted and c.origin is Origin.PAPER)
    return {name: share_of(name, [c for c in cells if c.metric == name]) for name in names}


def joined(bands: Sequence[Band]) -> list[Band]:
    """Merges overlapping bands and returns them in ascending order."""
    found: list[Band] = []
    for band in sorted(bands, key=lambda b: (b.low, b.high)):
        if found and band.low <= found[-1].high + SLACK:
            found[-1] = Band(found[-1].low, max(found[-1].high, band.high))
        else:
            found.append(band)
    return found


def _tally(cells: Sequence[Cell], origin: Origin) -> dict[str, int]:
    """Counts the judged values of one origin, and how many are within tolerance."""
    of = share("", (c.within for c in cells if c.origin is origin))
    return {"cells": of.cells, "within": of.within}


def _how_far(published: Sequence[float], ours: float) -> str:
    finite = [p for p in published if math.isfinite(p)]
    if not finite or not math.isfinite(ours):
        return "one of the two never happened"
    nearest = min(finite, key=lambda p: abs(p - ours))
    difference = ours - nearest
    percent = f" ({difference / nearest:+.0%})" if nearest else ""
    return f"off by {difference:+.4g}{percent}"
