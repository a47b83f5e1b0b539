"""The loads of CableLabs 2012, Table 2, and the three queues used with each (CableLabs 2012 §3.1.2)."""

from dataclasses import dataclass
from enum import Enum


class Queue(Enum):
    """How the rate shaping queue is managed."""

    DROPTAIL_417 = "DropTail, 417 packets"
    DROPTAIL_21 = "DropTail, 21 packets"
    CODEL = "CoDel, 417 packets"

    @property
    def limit(self) -> int:
        """Number of 1500-byte packets that the queue may hold: 1 s or 50 ms at 5 Mbit/s."""
        return 21 if self is Queue.DROPTAIL_21 else 417


class Bulk(Enum):
    """The bulk traffic scenarios 1 to 5 (CableLabs 2012 §3.2.1)."""

    NONE = "no bulk traffic"
    SINGLE = "1 TCP"
    MULTIPLE = "5 TCP"
    MULTIPLE_AND_UDP = "5 TCP and 1 Mbit/s UDP"
    BURSTY = "1 TCP in bursts"


#: The rows of Table 2: bulk traffic, and its round-trip time in ms, including the DOCSIS link's fixed latency.
_ROWS = {
    1: (Bulk.NONE, 20),
    2: (Bulk.SINGLE, 20),
    3: (Bulk.SINGLE, 100),
    4: (Bulk.MULTIPLE, 20),
    5: (Bulk.MULTIPLE, 100),
    6: (Bulk.MULTIPLE_AND_UDP, 20),
    7: (Bulk.MULTIPLE_AND_UDP, 100),
    8: (Bulk.BURSTY, 20),
    9: (Bulk.BURSTY, 100),
}

NUMBERS = tuple(_ROWS)

#: The rows with bulk traffic.
LOADED = NUMBERS[1:]


@dataclass(frozen=True, slots=True)
class Case:
    """One row of Table 2 with one queue. `number` is 1 to 9 without RF congestion, 11 to 19 with it; there is no 10.

    Raises `KeyError` for any other number.
    """

    number: int
    queue: Queue

    def __post_init__(self) -> None:
        if self.number % 10 not in _ROWS or not 0 < self.number < 20:
            raise KeyError(self.number)

    @property
    def congested(self) -> bool:
        """Whether the CMTS grants no more than the sustained rate on average (borderline congestion)."""
        return self.number > 10

    @property
    def bulk(self) -> Bulk:
        """The bulk traffic."""
        return _ROWS[self.number % 10][0]

    @property
    def rtt_ms(self) -> int:
        """Round-trip time of the bulk traffic in ms; 20 if there is none."""
        return _ROWS[self.number % 10][1]

    @property
    def name(self) -> str:
        """The name in the paper: D04, C17."""
        return f"{'C' if self.queue is Queue.CODEL else 'D'}{self.number:02d}"

    @property
    def key(self) -> str:
        """The name in results: the name in the paper, and for DropTail also the buffer ("D04/21")."""
        return self.name if self.queue is Queue.CODEL else f"{self.name}/{self.queue.limit}"

    @property
    def load(self) -> str:
        """The load in words."""
        words = self.bulk.value
        return words if self.bulk is Bulk.NONE else f"{words}, {self.rtt_ms} ms"


def grid(*, congested: bool = False) -> list[Case]:
    """Returns the nine loads, each with the three queues: the 27 runs of Tables 3 to 8.

    With `congested`, returns the same 27 runs with RF congestion.
    """
    return [Case(number + (10 if congested else 0), queue) for queue in Queue for number in NUMBERS]
