"""Verdicts on values (within tolerance or outside), and the share within tolerance.

Each kind of comparison defines its own tolerances: with published values (`studies`), with kernels (`validate`,
`simulated_and_live`), and with expectations (`expectations`). A verdict is True for within, False for outside,
None for not judged.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bloatlab.tables import TextCell, Tone

#: Error allowed when a share is compared with its target, or a value with a published range: decimal fractions are
#: inexact in binary. It is far smaller than the last digit of any value in a paper.
SLACK = 1e-9

#: The tone for each verdict.
TONES: Mapping[bool | None, Tone] = {True: "good", False: "bad", None: "muted"}


@dataclass(frozen=True, slots=True)
class Share:
    """The number of values within tolerance, the number of judged values (`cells`), and the target share.

    `unjudged` is the verdict if there is a target but no value was judged.
    """

    name: str
    within: int
    cells: int
    wanted: float | None = None
    unjudged: bool | None = None

    @property
    def share(self) -> float:
        """The share of values within tolerance, in [0, 1]; 1 if there are no values."""
        return self.within / self.cells if self.cells else 1.0

    @property
    def met(self) -> bool | None:
        """Whether the share reaches its target; None if it has no target, `unjudged` if no value was judged."""
        if self.wanted is None:
            return None
        return self.share >= self.wanted - SLACK if self.cells else self.unjudged

    @property
    def tone(self) -> Tone:
        """The colour category of the share: good if it reaches its target, bad if not, plain if `met` is None."""
        return "plain" if self.met is None else TONES[self.met]

    @property
    def asked(self) -> str:
        """The target as text, or an empty string if there is no target."""
        return "" if self.wanted is None else f"{self.wanted:.0%}"

    def as_data(self) -> dict[str, Any]:
        """Returns the share as plain data for JSON; its `share` is null if no value was judged."""
        data: dict[str, Any] = {
            "cells": self.cells,
            "within": self.within,
            "share": round(self.share, 4) if self.cells else None,
        }
        return data if self.wanted is None else data | {"wanted": self.wanted, "met": self.met}


def share(name: str, verdicts: Iterable[bool | None], wanted: float | None = None) -> Share:
    """Counts the judged verdicts and those that are within tolerance. Verdicts of None are not counted."""
    judged = [within for within in verdicts if within is not None]
    return Share(name, sum(judged), len(judged), wanted)


def within_cell(within: bool | None, good: str, bad: str, unjudged: str = "") -> TextCell:
    """Makes a table cell for a verdict, with the given labels."""
    return TextCell({True: good, False: bad, None: unjudged}[within], TONES[within])


def finite(value: float) -> float | None:
    """Returns the number for JSON: None for infinity and NaN."""
    return value if math.isfinite(value) else None
