"""How far a value of ours may be from a published one: said once, judged by it, printed from it."""

from __future__ import annotations

from dataclasses import dataclass

from bloatlab.studies.scorecard import Band


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Accepted is a share of the published value or `least` (in `unit`), whichever is larger; or a `factor`, or `least`."""

    share: float = 0.0
    least: float = 0.0
    unit: str = ""
    factor: float = 0.0

    def slack(self, published: float) -> float:
        """What may be missing or too much, where no factor is asked."""
        return max(self.share * abs(published), self.least)

    def band(self, published: float) -> Band:
        """What is accepted for a published value."""
        if self.factor:
            return Band(
                min(published / self.factor, published - self.least),
                max(published * self.factor, published + self.least),
            )
        slack = self.slack(published)
        return Band(published - slack, published + slack)

    def words(self) -> str:
        """The tolerance for a reader: "35 % or 0.5 percentage points, whichever is larger"."""
        parts = [f"a factor of {self.factor:g}"] if self.factor else []
        parts += [f"{100 * self.share:g} %"] if self.share else []
        parts += [f"{self.least:,g} {self.unit}".strip().replace(",", "\u202f")] if self.least else []
        return f"{' or '.join(parts)}{', whichever is larger' if len(parts) > 1 else ''}"
