"""Published values and claims, and their comparison with our runs.

Our value is the median over seeds, with the interval that contains the central 80 % of the seeds. A published value has
a range of accepted values (a band). A claim holds if our median lies in a band, or if an expression over several values
is true. Published values and claims contain none of our results. The functions that check published values and claims
receive our results as the argument `runs`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bloatlab.judgement import finite
from bloatlab.studies.scorecard import NOT_EXPLAINED, Band, Cell, Origin, Tolerance, Verdict, judge
from bloatlab.tables import Spread, counted, number, spread

#: The measures of one run, by name.
Measures = Mapping[str, float]

#: For each run key, the measures of the runs with this key, one entry per seed.
Runs = Mapping[str, Sequence[Measures]]


#: The text in place of our values if a claim needs runs that were not made.
NOT_RUN = "not run"

#: The beginning of the text in place of our values if the runs of a claim were made but have no value.
NO_VALUE = "no value"


@dataclass(frozen=True, slots=True)
class Published:
    """A published value and the range of our values that agree with it.

    `case` and `metric` are the publication's words. `run` is the key of our case, and `measure` the name of our
    measure, whose values are multiplied by `scale`. `printed` is the value as published. `calibration` is the reason
    why the value is shown but not counted. Our value agrees if its median is in `band`.
    """

    case: str
    metric: str
    unit: str
    value: float
    printed: str
    run: str
    measure: str
    band: Band
    origin: Origin = Origin.PAPER
    where: str = ""
    scale: float = 1.0
    tables: tuple[int, ...] = ()
    calibration: str = ""

    def cell(self, runs: Runs, explain: Callable[[Published, Spread], str] | None = None) -> Cell | None:
        """Compares the published value with ours. Returns None if the case was not run.

        If it was run but no seed has a value, the value is not tested. `explain` returns the reason for a difference,
        or "".
        """
        if not runs.get(self.run):
            return None
        spread, seeds = over_seeds(runs, self.run, self.measure), of_seeds(runs, self.run, self.measure)
        if spread is None:
            return Cell(
                self.case, self.metric, self.unit, self.tables, (self.value,), self.printed, math.nan, math.nan, math.nan,
                (self.band,), Verdict.UNTESTED, seeds, None, self.where, self.origin,
            )  # fmt: skip
        ours = Spread(*(value * self.scale for value in (spread.median, spread.low, spread.high)))
        finding = judge([self.value], [self.band], ours, interval_rule=False)
        verdict = Verdict.WITHIN if finding.agrees else Verdict.OUTSIDE
        reason = finding.why
        if self.calibration:
            verdict, reason = Verdict.CALIBRATION, f"{self.calibration}; {reason}"
        elif not finding.agrees:
            reason = (explain and explain(self, ours)) or f"{reason}: {NOT_EXPLAINED}"
        reason = "; ".join(filter(None, (reason, seeds)))
        return Cell(
            self.case, self.metric, self.unit, self.tables, (self.value,), self.printed, ours.median, ours.low, ours.high,
            (self.band,), verdict, reason, finding.agrees, self.where, self.origin,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Checked:
    """A claim and our values.

    `holds` is None if the claim was not judged. Either a value is missing (`ours` is then `NOT_RUN`, or begins with
    `NO_VALUE`), or the runs prove nothing.

    `why` is the result of an experiment on a claim that does not hold; empty if there is none.
    """

    ident: str
    where: str
    says: str
    published: str
    ours: str
    holds: bool | None
    origin: Origin = Origin.PAPER
    why: str = ""

    def unjudged(self) -> Checked:
        """Returns the claim without its verdict, for runs that prove nothing."""
        return replace(self, holds=None, why="")

    def as_data(self) -> dict[str, Any]:
        """Returns the check as plain data for JSON."""
        return {
            "claim": self.ident,
            "where": self.where,
            "says": self.says,
            "published": self.published,
            "ours": self.ours,
            "holds": self.holds,
            "why": self.why,
            "origin": str(self.origin),
        }


@dataclass(frozen=True, slots=True)
class Quantity:
    """A claim about one measure of one case. It holds if our median lies in `band`."""

    ident: str
    where: str
    says: str
    published: str
    case: str
    measure: str
    band: Band
    unit: str = "s"
    digits: int = 2
    scale: float = 1.0
    origin: Origin = Origin.PAPER

    def check(self, runs: Runs) -> Checked:
        """Checks the claim against our median."""
        ours, seeds, holds = over_seeds(runs, self.case, self.measure), of_seeds(runs, self.case, self.measure), None
        text = seeds or NOT_RUN
        if ours is not None:
            median = ours.median * self.scale
            text = words(ours, self.unit, telling(median, self.band, self.digits), self.scale)
            text = "; ".join(filter(None, (text, seeds)))
            holds = self.band.holds(median)
        return Checked(self.ident, self.where, self.says, self.published, text, holds, self.origin)


#: A value in a claim: the median of (case, measure), or the result of a function of the runs.
Value = tuple[str, str] | Callable[[Runs], Any]


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim about several values: `holds` is an expression over the values, `ours` a sentence that states them.

    `holds` and `ours` are called with the results of `values`, in the same order. If `ours` is a string, `str.format`
    inserts the results. The claim is not checked if one of the results is None, because a case was not run or has no
    value.
    """

    ident: str
    where: str
    says: str
    published: str
    values: Sequence[Value]
    holds: Callable[..., bool]
    ours: str | Callable[..., str]
    origin: Origin = Origin.PAPER

    def check(self, runs: Runs) -> Checked:
        """Checks the claim against our values."""
        ours, holds = judged(runs, self.values, self.holds, self.ours) or (self._missing(runs), None)
        return Checked(self.ident, self.where, self.says, self.published, ours, holds, self.origin)

    def _missing(self, runs: Runs) -> str:
        """Returns why a value is missing: the first case without a value, or `NOT_RUN`.

        The text is `NOT_RUN` if a case was not run, or if only functions of the runs have no result.
        """
        pairs = [value for value in self.values if isinstance(value, tuple)]
        if not pairs or not all(runs.get(case) for case, _ in pairs):
            return NOT_RUN
        empty = (f"{of_seeds(runs, *pair)} of {pair[0]}" for pair in pairs if over_seeds(runs, *pair) is None)
        return next(empty, NOT_RUN)


def judged(
    runs: Runs, values: Sequence[Value], holds: Callable[..., bool], ours: str | Callable[..., str]
) -> tuple[str, bool] | None:
    """Returns the sentence that states the values, and the result of the claim's expression.

    Returns None if one of the values is missing, because its case was not run or has no value.
    """
    found = [median_of(runs, *value) if isinstance(value, tuple) else value(runs) for value in values]
    if any(value is None for value in found):
        return None
    return ours.format(*found) if isinstance(ours, str) else ours(*found), bool(holds(*found))


def each(cases: Iterable[object], *measures: str) -> list[Value]:
    """Returns a pair (case, measure) for each measure of each case, for use as the values of a claim.

    In a pair, the case is a string: the key of its runs.
    """
    return [(str(case), measure) for measure in measures for case in cases]


def check_all(claims: Sequence[Quantity | Claim], runs: Runs) -> list[Checked]:
    """Checks every claim, in the given order."""
    return [claim.check(runs) for claim in claims]


@dataclass(frozen=True, slots=True)
class Count:
    """The claims from one origin: how many hold, how many were checked, and how many there are."""

    hold: int
    checked: int
    claims: int

    def as_data(self) -> dict[str, int]:
        """Returns the count as plain data for JSON."""
        return {"claims": self.claims, "checked": self.checked, "hold": self.hold}


def count(claims: Sequence[Checked], origin: Origin = Origin.PAPER) -> Count:
    """Counts the claims of one origin."""
    own = [c.holds for c in claims if c.origin is origin]
    return Count(own.count(True), len(own) - own.count(None), len(own))


def tally(claims: Sequence[Checked]) -> str:
    """Formats how many claims hold, the paper's claims first: "15 of 24 claims of the paper hold; of ours 3 of 4"."""
    paper, *others = [(origin, count(claims, origin)) for origin in Origin]
    names = {Origin.TEXTBOOK: "textbooks", Origin.OTHERS: "others", Origin.OURS: "ours"}
    more = [f"of {names[origin]} {c.hold} of {c.checked}" for origin, c in others if c.checked]
    return "; ".join([f"{paper[1].hold} of {paper[1].checked} claims of the paper hold", *more])


def near(value: float, share: float = 0.35, least: float = 1.0) -> Band:
    """Returns the band `value` ± max(`share` * |`value`|, `least`)."""
    return Tolerance(share, least).band(value)


def over_seeds(runs: Runs, key: str, measure: str) -> Spread | None:
    """Returns the spread of a measure over the seeds that have a value; None if no seed has one."""
    values = [s[measure] for s in runs.get(key, ()) if measure in s and not math.isnan(s[measure])]
    return spread(values) if values else None


def of_seeds(runs: Runs, key: str, measure: str) -> str:
    """Formats how many seeds of a case have a value: "a value in 1 of 10 seeds", "no value in 10 seeds".

    The result is "" if every seed has a value, or if the case was not run.
    """
    seeds = runs.get(key, ())
    known = sum(measure in s and not math.isnan(s[measure]) for s in seeds)
    if known == len(seeds):
        return ""
    of = counted(len(seeds), "seed")
    return f"a value in {known} of {of}" if known else f"{NO_VALUE} in {of}"


def median_of(runs: Runs, key: str, measure: str) -> float | None:
    """Returns the median of a measure over seeds; None if no seed has a value."""
    ours = over_seeds(runs, key, measure)
    return None if ours is None else ours.median


def medians(runs: Runs) -> dict[str, dict[str, float | None]]:
    """Returns the median over seeds of every measure of every case, for JSON.

    A measure without a value in any seed is left out.
    """
    return {
        key: {name: finite(median) for name in seeds[0] if (median := median_of(runs, key, name)) is not None}
        for key, seeds in runs.items()
    }


def telling(value: float, band: Band, digits: int) -> int:
    """Returns the smallest number of digits that shows on which side of a limit the value lies.

    The result is at least `digits`, and at most 6 more.
    """
    if not math.isfinite(value):
        return digits
    holds = band.holds(value)
    return next((d for d in range(digits, digits + 6) if band.holds(round(value, d)) == holds), digits + 6)


def words(ours: Spread, unit: str = "", digits: int = 2, scale: float = 1.0) -> str:
    """Formats a median with its unit, and with its interval in brackets if there is one."""
    low, mid, high = (number(v * scale, digits) for v in (ours.low, ours.median, ours.high))
    unit = f" {unit}" if unit and math.isfinite(ours.median) else ""
    return f"{mid}{unit}" if low == high else f"{mid}{unit} ({low} to {high})"
