"""Claims of a paper's prose as checks: each a sentence, a range fixed beforehand, and what our runs say.

A quantity is the median over seeds with its central 80 %. Claims are data until they are checked; what they need is the
measures of every seed, by the key of the run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bloatlab.judgement import finite
from bloatlab.studies.scorecard import Band, Origin
from bloatlab.studies.tolerance import Tolerance
from bloatlab.tables import Spread, number, spread

#: What one run was reduced to, by name.
Measures = Mapping[str, float]

#: Measures of every seed, by the key of the run.
Runs = Mapping[str, Sequence[Measures]]


@dataclass(frozen=True, slots=True)
class Checked:
    """A claim beside our runs. `holds` is None when the runs that it needs were not made.

    `why` is what an experiment says of a claim that differs; nothing where none was made for it.
    """

    ident: str
    where: str
    says: str
    published: str
    ours: str
    holds: bool | None
    origin: Origin = Origin.PAPER
    why: str = ""

    def as_data(self) -> dict[str, Any]:
        """The check as JSON."""
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
    """A claim about one measure of one case: it holds when our median lies in `band`."""

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
        """Our median beside the claim."""
        ours = over_seeds(runs, self.case, self.measure)
        if ours is None:
            return Checked(self.ident, self.where, self.says, self.published, "not run", None, self.origin)
        holds = self.band.holds(ours.median * self.scale)
        text = words(ours, self.unit, telling(ours.median * self.scale, self.band, self.digits), self.scale)
        return Checked(self.ident, self.where, self.says, self.published, text, holds, self.origin)


#: A value that a claim is about: the median of (case, measure), or what a function of the runs gives.
Value = tuple[str, str] | Callable[[Runs], Any]


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim about several values: `holds` is the expression over them, `ours` the sentence that gives them.

    Both take the values in order; a text is filled in by `str.format`. A value that is None was not run.
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
        """Our values beside the claim."""
        ours, holds = judged(runs, self.values, self.holds, self.ours) or ("not run", None)
        return Checked(self.ident, self.where, self.says, self.published, ours, holds, self.origin)


def judged(
    runs: Runs, values: Sequence[Value], holds: Callable[..., bool], ours: str | Callable[..., str]
) -> tuple[str, bool] | None:
    """The sentence that gives the values, and whether the expression over them holds; None if a value was not run."""
    found = [median_of(runs, *value) if isinstance(value, tuple) else value(runs) for value in values]
    if any(value is None for value in found):
        return None
    return ours.format(*found) if isinstance(ours, str) else ours(*found), bool(holds(*found))


def each(cases: Iterable[object], *measures: str) -> list[Value]:
    """Values of a claim: each measure of each case, by the case's `str`."""
    return [(str(case), measure) for measure in measures for case in cases]


def check_all(claims: Sequence[Quantity | Claim], runs: Runs) -> list[Checked]:
    """Every claim, in the given order."""
    return [claim.check(runs) for claim in claims]


@dataclass(frozen=True, slots=True)
class Count:
    """How many claims of an origin hold, of those that were checked and of all."""

    hold: int
    checked: int
    claims: int

    def as_data(self) -> dict[str, int]:
        """The count as JSON."""
        return {"claims": self.claims, "checked": self.checked, "hold": self.hold}


def count(claims: Sequence[Checked], origin: Origin = Origin.PAPER) -> Count:
    """The count of one origin."""
    own = [c.holds for c in claims if c.origin is origin]
    return Count(own.count(True), len(own) - own.count(None), len(own))


def tally(claims: Sequence[Checked]) -> str:
    """The paper's claims first, then those that are not its: "15 of 24 claims of the paper hold; of ours 3 of 4"."""
    paper, *others = [(origin, count(claims, origin)) for origin in Origin]
    more = [f"of {_WHOSE[origin]} {c.hold} of {c.checked}" for origin, c in others if c.checked]
    return "; ".join([f"{paper[1].hold} of {paper[1].checked} claims of the paper hold", *more])


_WHOSE = {Origin.TEXTBOOK: "textbooks", Origin.OTHERS: "others", Origin.OURS: "ours"}


def near(value: float, share: float = 0.35, least: float = 1.0) -> Band:
    """Within a share of `value`, or `least`, whichever is larger."""
    return Tolerance(share, least).band(value)


def over_seeds(runs: Runs, key: str, measure: str) -> Spread | None:
    """A measure over the seeds of a run that have it; None when none has."""
    values = [s[measure] for s in runs.get(key, ()) if measure in s and not math.isnan(s[measure])]
    return spread(values) if values else None


def median_of(runs: Runs, key: str, measure: str) -> float | None:
    """The median over seeds; None when no seed has the measure."""
    ours = over_seeds(runs, key, measure)
    return None if ours is None else ours.median


def medians(runs: Runs) -> dict[str, dict[str, float | None]]:
    """The median over seeds of every measure of every case, as JSON; a measure that no seed has is left out."""
    return {
        key: {name: finite(median) for name in seeds[0] if (median := median_of(runs, key, name)) is not None}
        for key, seeds in runs.items()
    }


def telling(value: float, band: Band, digits: int) -> int:
    """As many digits, from `digits` on, as it takes to see on which side of a limit the value is."""
    if not math.isfinite(value):
        return digits
    holds = band.holds(value)
    return next((d for d in range(digits, digits + 6) if band.holds(round(value, d)) == holds), digits + 6)


def words(ours: Spread, unit: str = "", digits: int = 2, scale: float = 1.0) -> str:
    """A median with its unit, and its interval in brackets where it has one."""
    low, mid, high = (number(v * scale, digits) for v in (ours.low, ours.median, ours.high))
    unit = f" {unit}" if unit and math.isfinite(ours.median) else ""
    between = "" if low == high else f" ({low} to {high})"
    return f"{mid}{unit}{between}"
