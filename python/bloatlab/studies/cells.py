"""Published values as rows: each with the run and measure that it is compared with, and its tolerance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bloatlab.studies.claims import Runs, over_seeds
from bloatlab.studies.scorecard import Band, Cell, Origin, Verdict, judge
from bloatlab.tables import Spread

NOT_EXPLAINED = "not explained"


@dataclass(frozen=True, slots=True)
class Published:
    """A published value and the values of ours that agree with it.

    `case` and `metric` are the publication's words; `run` is the key of our case, `measure` the name of our measure, which
    is multiplied by `scale`. `printed` is the value as published. `calibration` says why a value is shown and not counted.
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
    #: Whether a published value inside our interval agrees, too (`scorecard.judge`).
    interval_rule: bool = True

    def cell(self, runs: Runs, explain: Callable[[Published, Spread], str] | None = None) -> Cell | None:
        """The value beside ours; None if that case was not run. `explain` gives the reason of one that differs, or ""."""
        spread = over_seeds(runs, self.run, self.measure)
        if spread is None:
            return None
        ours = Spread(*(value * self.scale for value in (spread.median, spread.low, spread.high)))
        finding = judge([self.value], [self.band], ours, interval_rule=self.interval_rule)
        verdict = Verdict.WITHIN if finding.agrees else Verdict.OUTSIDE
        reason = finding.why
        if self.calibration:
            verdict, reason = Verdict.CALIBRATION, f"{self.calibration}; {reason}"
        elif not finding.agrees:
            reason = (explain and explain(self, ours)) or f"{reason}: {NOT_EXPLAINED}"
        return Cell(
            self.case, self.metric, self.unit, self.tables, (self.value,), self.printed, ours.median, ours.low, ours.high,
            (self.band,), verdict, reason, finding.agrees, self.where, self.origin,
        )  # fmt: skip
