"""What every reproduction of a study has: a verdict, a report, data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bloatlab.studies.claims import Checked, count
from bloatlab.studies.scorecard import Origin, Scorecard


@dataclass(frozen=True, kw_only=True)
class Reproduced:
    """A study reproduced: what it says, where it is, how many runs it took (`found` of them in the store), how long."""

    scorecard: Scorecard
    claims: Sequence[Checked]
    folder: Path
    runs: int
    found: int
    seconds: float

    @property
    def met(self) -> bool | None:
        """Whether the stated shares are reached; None for a quick look."""
        return self.scorecard.met

    @property
    def report(self) -> Path:
        """The HTML report."""
        return self.folder / "report.html"

    def as_data(self) -> dict[str, Any]:
        """The scorecard as JSON: `cells`, `claims` and a `summary`."""
        data = self.scorecard.as_data()
        data["summary"]["claims"] = {str(origin): count(self.claims, origin).as_data() for origin in Origin}
        return data | {"claims": [claim.as_data() for claim in self.claims]}
