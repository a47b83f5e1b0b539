"""What stands at the end of a home's line, which TCP it has, and what runs.

What runs: the nine loads of CableLabs 2012, and the considerations of SCTE 2013.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from bloatlab.studies.today.considerations import Consideration
from bloatlab.workloads import cable_loads
from bloatlab.workloads.cable_loads import NUMBERS, Queue


class Line(StrEnum):
    """The equipment."""

    MODEM_2012 = "2012 modem"
    PIE = "DOCSIS 3.1, DOCSIS-PIE"
    LLD = "DOCSIS 3.1, Low Latency"
    FQ_CODEL = "2012 modem, router with fq_codel"
    CAKE = "2012 modem, router with CAKE"


class Stack(StrEnum):
    """Whose TCP."""

    OF_2012 = "TCP of 2012"
    CUBIC = "CUBIC, HyStart++"
    BBR3 = "BBRv3"
    PRAGUE = "Prague"


#: Stacks of today as a scenario has them; that of 2012 is the paper's own.
TCP: Mapping[Stack, Mapping[str, Any]] = {
    Stack.CUBIC: {"preset": "linux-6", "hystart": "rfc9406"},
    Stack.BBR3: {"preset": "bbr3"},
    Stack.PRAGUE: {"preset": "prague"},
}


@dataclass(frozen=True, slots=True)
class Case:
    """One load of CableLabs 2012 (its number), on one line, with one TCP; or a consideration, beside load 2."""

    line: Line
    stack: Stack
    number: int
    what: Consideration | None = None

    @property
    def key(self) -> str:
        """Name in results."""
        return f"{self.line} / {self.stack} / {self.what or self.number}"

    def __str__(self) -> str:
        return self.key

    @property
    def home(self) -> cable_loads.Case:
        """The load, on the modem of 2012."""
        return cable_loads.Case(self.number, Queue.DROPTAIL_417)

    @property
    def load(self) -> str:
        """The load in words."""
        return self.home.load


def considered(line: Line, stack: Stack, what: Consideration) -> Case:
    """A consideration: one upload, and what is asked."""
    return Case(line, stack, 2, what)


def cases() -> list[Case]:
    """All of them."""
    loads = [Case(line, stack, n) for line in Line for stack in Stack for n in NUMBERS]
    return loads + [considered(line, stack, what) for line in Line for stack in Stack for what in Consideration]


#: Loads of a quick look: none, one transfer, five and a stream; and two considerations.
QUICK = (1, 2, 6)
QUICK_CONSIDERED = (Consideration.LEDBAT, Consideration.RATE)


def quick() -> list[Case]:
    """Two kinds of TCP, three loads, two considerations."""
    stacks = (Stack.OF_2012, Stack.PRAGUE)
    loads = [Case(line, stack, n) for line in Line for stack in stacks for n in QUICK]
    return loads + [considered(line, stack, what) for line in Line for stack in stacks for what in QUICK_CONSIDERED]
