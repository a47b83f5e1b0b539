"""The study's runs: who sends what, over which round trip, into which queue.

All of a flow's round trip is on its way back, so that a packet's delay is its wait in the queue and its own transmission:

    server 1 --+--> r ==bottleneck, rate==> home
    server 2 --+
    servers  <--delay-- r <---------------- home
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

#: Payload of a full packet, and of one an eighth as large.
MSS, SMALL = 1448, 136
#: Headers and time stamps of a segment, bytes.
HEADERS = 52

#: TCP stacks by the word of the L4S tests. `prague` has its own round trips, as measured in 2020; `prague7` version 0.7's law.
STACKS: Mapping[str, Mapping[str, Any]] = {
    "cubic": {"preset": "linux-6"},
    "cubic-ecn": {"preset": "linux-6", "ecn": True},
    "reno": {"preset": "linux-6", "congestion_control": "reno", "ack_every": 1},
    "prague": {"preset": "prague", "prague_rtt": "own"},
    # experiments: out of slow start at 100 segments; CUBIC that does not follow Reno
    "prague-early": {"preset": "prague", "prague_rtt": "own", "initial_ssthresh": 100},
    "cubic-alone": {"preset": "linux-6", "tcp_friendliness": False},
    "cubic-alone-ecn": {"preset": "linux-6", "tcp_friendliness": False, "ecn": True},
    "prague6": {"preset": "prague", "prague_rtt": "scaled-late"},
    "prague7": {"preset": "prague"},
}

#: Queues by the word of a case.
QUEUES: Mapping[str, Mapping[str, Any]] = {
    "dualpi2": {"dualpi2": {}},
    "rfc9332": {"dualpi2": {"variant": "rfc9332"}},
    "droptail": {"droptail": {"limit": "1000p"}},
    "fq_codel": {"fq_codel": {}},
    "one queue": {"fq_codel": {"flows": 1}},
    # no drops beyond p' = 1/k: the queues grow, and only the shares decide
    "linux, no drops": {"dualpi2": {"drop_overload": False, "limit": "1000p"}},
    "linux, deep": {"dualpi2": {"drop_overload": False, "limit": "100000p"}},
    "rfc9332, deep": {"dualpi2": {"variant": "rfc9332", "drop_overload": False, "limit": "100000p"}},
}


@dataclass(frozen=True, slots=True)
class Load:
    """One side of a case: `flows` TCP flows of a stack with a round trip in ms, or datagrams at `share` of the bottleneck."""

    stack: str
    rtt: float = 20.0
    flows: int = 1
    share: float = 0.0
    size: int = 1500

    @property
    def words(self) -> str:
        """As a case's name has it: "prague 10", "10 cubic 20", "not_ect 1.1C"."""
        if self.share:
            return f"{self.stack} {self.share:g}C"
        several = f"{self.flows} " if self.flows > 1 else ""
        return f"{several}{self.stack} {self.rtt:g}"


@dataclass(frozen=True, slots=True)
class Case:
    """A bottleneck of `rate` Mbit/s and who shares it; measured from `warm_up` to `seconds`."""

    group: str
    queue: str
    loads: tuple[Load, ...]
    rate: float = 50.0
    seconds: int = 60
    warm_up: int = 0
    mss: int = MSS

    @property
    def key(self) -> str:
        """Name in results."""
        rate = "" if self.group == "pairs" else f" at {self.rate:g}"
        small = "" if self.mss == MSS else f", segments of {self.mss}"
        late = f", from {self.warm_up} s on" if self.group == "pairs" and self.warm_up else ""
        return f"{self.queue}: {' / '.join(x.words for x in self.loads)}{rate}{small}{late}"

    def __str__(self) -> str:
        return self.key

    @property
    def packet_ms(self) -> float:
        """Time to send a full packet of its TCP flows."""
        return (self.mss + HEADERS) * 8e-3 / self.rate

    def instead(self, other: Mapping[str, str]) -> Case:
        """The same with other stacks in the place of some."""
        return replace(self, loads=tuple(replace(x, stack=other.get(x.stack, x.stack)) for x in self.loads))

    def of_flows(self, flows: int) -> Case:
        """The same with so many flows on each side."""
        return replace(self, loads=tuple(replace(x, flows=flows) for x in self.loads))

    def later(self) -> Case:
        """The same for three minutes after the first."""
        return replace(self, seconds=240, warm_up=60)

    def of_version(self, prague: str) -> Case:
        """The same with another Prague."""
        return self.instead({"prague": prague})


def _pair(queue: str, first: str, second: str) -> Case:
    return Case("pairs", queue, tuple(_load(words) for words in (first, second)))


def _load(words: str) -> Load:
    stack, rtt = words.split()
    return Load(stack, float(rtt))


#: The L4S tests' pairs of flows.
PAIRS: tuple[Case, ...] = (
    *(
        _pair("dualpi2", *both)
        for both in (
            ("cubic 10", "prague 10"), ("cubic 20", "prague 20"), ("cubic 80", "prague 80"), ("cubic 10", "cubic 10"),
            ("prague 80", "cubic 20"), ("prague 20", "prague 10"), ("prague 80", "prague 20"),
            ("prague 160", "prague 10"), ("cubic 160", "cubic 10"), ("cubic 80", "prague 20"),
        )
    ),
    _pair("droptail", "cubic 20", "prague 20"),
    _pair("droptail", "cubic 80", "prague 80"),
    _pair("fq_codel", "cubic 20", "prague 20"),
)  # fmt: skip

#: Both kinds in one queue that marks as RFC 3168 has it.
IMBALANCED = (_pair("one queue", "cubic-ecn 20", "prague 20"), _pair("one queue", "cubic 20", "prague 20"))

RATES = (4.0, 20.0, 50.0, 100.0, 200.0)
FLOWS = (1, 4, 10)
RTT, HALF, SHORT = 20.0, 10.0, 5.0


def beside(rate: float, flows: int, rtt: float = RTT, mss: int = MSS) -> Case:
    """So many Prague flows beside as many of CUBIC."""
    loads = (Load("prague7", rtt, flows), Load("cubic", rtt, flows))
    return Case("beside", "dualpi2", loads, rate, 40, 10, mss)


def alone(rate: float, flows: int, rtt: float = RTT, stack: str = "prague7", mss: int = MSS) -> Case:
    """Prague flows with nothing beside them: only the step marks."""
    return Case("alone", "dualpi2", (Load(stack, rtt, flows),), rate, 40, 10, mss)


BESIDE = tuple(beside(rate, n) for rate in RATES for n in FLOWS)
ALONE = tuple(alone(rate, n) for rate in RATES for n in FLOWS)

#: What is run to tell why a wait is longer: packets an eighth as large; a short round trip with and without the law of 25 ms.
SMALLER = tuple(beside(rate, n, mss=SMALL) for rate in (4.0, 20.0) for n in FLOWS)
SHORTER = tuple(alone(rate, n, SHORT, stack) for rate, n in ((50.0, 10), (20.0, 4)) for stack in ("prague7", "prague"))
ALONE_SMALLER = (
    *(alone(rate, n, mss=SMALL) for rate in (4.0, 20.0, 50.0) for n in FLOWS),
    alone(100.0, 10, mss=SMALL),
    *(alone(4.0, n, rtt, mss=SMALL) for n in FLOWS[1:] for rtt in (HALF, SHORT)),
)

#: And why a share is another: how Prague leaves slow start, and CUBIC that does not follow Reno.
EARLY = tuple(c.of_version("prague-early") for c in PAIRS if c.queue == "droptail")
OWN_CUBIC = tuple(c.instead({"cubic": "cubic-alone", "cubic-ecn": "cubic-alone-ecn"}) for c in IMBALANCED)

#: Coupling: one flow of each kind at the same round trip, whose rates have a closed form.
COUPLED_RTTS = (10.0, 20.0, 80.0)
COUPLED = tuple(
    Case("coupled", "dualpi2", (Load("reno", rtt), Load(stack, rtt)), seconds=80, warm_up=20)
    for stack in ("prague", "prague7")
    for rtt in COUPLED_RTTS
)

#: Several flows, whose windows do not all come down at once; pairs when the first minute is over.
SEVERAL = tuple(case.of_flows(4) for case in COUPLED if case.loads[0].rtt == COUPLED_RTTS[-1])
LATER = (PAIRS[2].later(),)

RENO_ALONE = Case("static", "dualpi2", (Load("reno", 20.0),), 20.0, 80, 20)
STEP_ALONE = Case("static", "dualpi2", (Load("prague", 20.0),), 100.0, 60, 20)

#: Datagrams that answer nothing, with a few of the other kind beside them that show its probability.
SPARSE = 0.002
NOT_ECT = tuple(
    Case("flood", "dualpi2", (Load("not_ect", share=a), Load("ect1", share=SPARSE, size=64)), seconds=70, warm_up=10)
    for a in (1.05, 1.1, 1.2)
)
ECT1 = tuple(Case("flood", "dualpi2", (Load("ect1", share=a),), seconds=70, warm_up=10) for a in (1.1, 1.5, 2.0))
NO_DROPS = Case("flood", "linux, no drops", (Load("ect1", share=1.5),), seconds=40, warm_up=10)

#: Both queues always full: the shares are the weights.
WEIGHTED = tuple(
    Case("shares", queue, (Load("ect1", share=1.2), Load("not_ect", share=0.5)), seconds=10, warm_up=2)
    for queue in ("rfc9332, deep", "linux, deep")
)

#: A classic packet now and then beside a flood of L4S packets: how long it waits for its turn.
TURN = tuple(
    Case("shares", queue, (Load("ect1", share=1.2), Load("not_ect", share=SPARSE)), seconds=10, warm_up=2)
    for queue in ("rfc9332, deep", "linux, deep")
)


def cases() -> list[Case]:
    """All of the study's."""
    return [
        *PAIRS, *(c.of_version(v) for v in ("prague6", "prague7") for c in PAIRS if c.of_version(v) != c), *IMBALANCED,
        *BESIDE, *ALONE, *SMALLER, *SHORTER, *ALONE_SMALLER, *EARLY, *OWN_CUBIC, *SEVERAL, *LATER, *COUPLED, RENO_ALONE, STEP_ALONE, *NOT_ECT, *ECT1, NO_DROPS,
        *WEIGHTED, *TURN,
    ]  # fmt: skip


def quick() -> list[Case]:
    """A slice of each group, for a look."""
    return [
        PAIRS[1], PAIRS[1].of_version("prague7"), PAIRS[5], PAIRS[5].of_version("prague7"), PAIRS[10], PAIRS[12], IMBALANCED[0],
        beside(20.0, 1), beside(50.0, 4), beside(20.0, 10), beside(20.0, 10, mss=SMALL), alone(100.0, 1),
        COUPLED[1], RENO_ALONE, NOT_ECT[1], ECT1[1], *WEIGHTED[:1],
    ]  # fmt: skip
