"""The test cases of CableLabs 2012, Table 2, and the three queues that each runs with (CableLabs 2012 §3.1.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class Queue(Enum):
    """What manages the rate shaping queue."""

    DROPTAIL_417 = "DropTail, 417 packets"
    DROPTAIL_21 = "DropTail, 21 packets"
    CODEL = "CoDel, 417 packets"

    @property
    def limit(self) -> int:
        """Packets that the queue may hold: 1 s or 50 ms of 1500-byte packets at 5 Mbit/s."""
        return 21 if self is Queue.DROPTAIL_21 else 417


class Bulk(Enum):
    """The bulk traffic scenarios 1 to 5 (CableLabs 2012 §3.2.1)."""

    NONE = 1
    SINGLE = 2
    MULTIPLE = 3
    MULTIPLE_AND_UDP = 4
    BURSTY = 5


_BULK = {
    1: (Bulk.NONE, None),
    2: (Bulk.SINGLE, 20),
    3: (Bulk.SINGLE, 100),
    4: (Bulk.MULTIPLE, 20),
    5: (Bulk.MULTIPLE, 100),
    6: (Bulk.MULTIPLE_AND_UDP, 20),
    7: (Bulk.MULTIPLE_AND_UDP, 100),
    8: (Bulk.BURSTY, 20),
    9: (Bulk.BURSTY, 100),
}

NUMBERS = tuple(_BULK)


@dataclass(frozen=True, slots=True, order=True)
class Case:
    """One row of Table 2 with one queue. `number` is 1 to 9 without RF congestion, 11 to 19 with it; there is no 10."""

    number: int
    queue_name: str

    @property
    def queue(self) -> Queue:
        """The queue as a value."""
        return Queue[self.queue_name]

    @property
    def congested(self) -> bool:
        """Whether the CMTS grants no more than the sustained rate on average (borderline congestion)."""
        return self.number > 10

    @property
    def bulk(self) -> Bulk:
        """The bulk traffic."""
        return _BULK[self.number % 10][0]

    @property
    def rtt_ms(self) -> int:
        """Round-trip time of the bulk traffic, with the DOCSIS link's fixed latency; 20 where there is none."""
        return _BULK[self.number % 10][1] or 20

    @property
    def name(self) -> str:
        """The paper's own name: D04, C17."""
        return f"{'C' if self.queue is Queue.CODEL else 'D'}{self.number:02d}"

    @property
    def key(self) -> str:
        """Name in results: the paper's, and the buffer where that name alone does not say it ("D04/21")."""
        return self.name if self.queue is Queue.CODEL else f"{self.name}/{self.queue.limit}"

    @property
    def load(self) -> str:
        """The load in words."""
        words = {
            Bulk.NONE: "no bulk traffic",
            Bulk.SINGLE: "1 TCP",
            Bulk.MULTIPLE: "5 TCP",
            Bulk.MULTIPLE_AND_UDP: "5 TCP and 1 Mbit/s UDP",
            Bulk.BURSTY: "1 TCP in bursts",
        }[self.bulk]
        return words if self.bulk is Bulk.NONE else f"{words}, {self.rtt_ms} ms"

    @property
    def calibration(self) -> bool:
        """Whether a free parameter was chosen on this case, so that its cells prove nothing and are not counted.

        D01, C01 and D02, by the study's rules.
        """
        return self.number == 1 or self.name == "D02"

    def with_queue(self, queue: Queue) -> Case:
        """The same row with another queue."""
        return Case(self.number, queue.name)


def case(number: int, queue: Queue) -> Case:
    """One case. Raises `KeyError` for a number that Table 2 does not have."""
    if number % 10 not in _BULK or not 0 < number < 20:
        raise KeyError(number)
    return Case(number, queue.name)


def grid(*, congested: bool = False) -> list[Case]:
    """Nine rows with three queues: the 27 runs that Tables 3 to 8 tabulate, or their congested twins."""
    return [case(number + (10 if congested else 0), queue) for queue in Queue for number in NUMBERS]


def by_case_key() -> Mapping[str, Case]:
    """The 27 cases by their key in results."""
    return {c.key: c for c in grid()}
