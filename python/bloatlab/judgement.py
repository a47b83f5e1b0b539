"""How everything is judged: a cell is within what was accepted or outside, a share says how many are within.

Published values (`studies`), kernels (`validate`, `simulated_and_live`) and what a file expects (`expectations`) each
say what is accepted. True is within, False outside, None not judged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bloatlab.tables import TextCell, Tone

#: Slack for comparisons of decimal numbers in binary: far below the last digit of any paper.
SLACK = 1e-9

#: How a verdict looks.
TONES: Mapping[bool | None, Tone] = {True: "good", False: "bad", None: "muted"}


@dataclass(frozen=True, slots=True)
class Share:
    """How many of the counted cells of a kind are within, and how large a part was asked for."""

    name: str
    within: int
    cells: int
    wanted: float | None = None

    @property
    def share(self) -> float:
        """The part that is within, in [0, 1]; 1 for no cells."""
        return self.within / self.cells if self.cells else 1.0

    @property
    def met(self) -> bool | None:
        """Whether the wanted share is reached; None where none was asked for."""
        return None if self.wanted is None else self.share >= self.wanted - SLACK

    @property
    def tone(self) -> Tone:
        """How it looks beside what was asked for."""
        return "plain" if self.met is None else TONES[self.met]

    @property
    def asked(self) -> str:
        """What was asked for, in words; nothing where nothing was."""
        return "" if self.wanted is None else f"{self.wanted:.0%}"

    def as_data(self) -> dict[str, Any]:
        """The share as JSON."""
        data: dict[str, Any] = {"cells": self.cells, "within": self.within, "share": round(self.share, 4)}
        return data if self.wanted is None else data | {"wanted": self.wanted, "met": self.met}


def share(name: str, verdicts: Iterable[bool | None], wanted: float | None = None) -> Share:
    """The share of verdicts that are within, of those that were judged."""
    judged = [within for within in verdicts if within is not None]
    return Share(name, sum(judged), len(judged), wanted)


def within_cell(within: bool | None, good: str, bad: str, unjudged: str = "") -> TextCell:
    """A verdict in a table, in the words of its kind."""
    return TextCell({True: good, False: bad, None: unjudged}[within], TONES[within])


def finite(value: float) -> float | None:
    """A number as JSON has it: null for infinities and for what is none."""
    return value if math.isfinite(value) else None
