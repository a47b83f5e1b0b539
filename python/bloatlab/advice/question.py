"""What is asked: of which line and device, under which load, wanting what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bloatlab.advice.catalogue import Device, Load, Objective, Wanted
from bloatlab.advice.line import Line
from bloatlab.advice.score import concerned

#: The most seeds of an option unless told otherwise, the most that may be asked for, and those of a quick look.
SEEDS, MOST_SEEDS, QUICK_SEEDS = 10, 1000, 1


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: of which line and device, under which load, wanting what.

    `seeds` is the most of one option, `runs` the most of the race. A `quick` look has one seed and gives no verdict.
    `first` is the first seed.
    """

    line: Line
    device: Device
    load: Load
    objective: Objective
    seeds: int = SEEDS
    runs: int = 0
    quick: bool = False
    first: int = 1

    @property
    def wanted(self) -> Sequence[Wanted]:
        """The measures that count here."""
        return concerned(self.objective, self.load)
