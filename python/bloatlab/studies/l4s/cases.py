"""The study's runs: who sends what, over which round trip, into which queue. The L4S tests' own are in `heist`.

All of a flow's round trip is on its way back, so that a packet's delay is its wait in the queue and its own transmission; in the
L4S tests half of it is in front of the bottleneck:

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

_ACCECN = {"preset": "linux-6", "ecn": True, "ecn_feedback": "accecn"}
_NO_ECN = {"preset": "linux-6"}
_RENO = {"congestion_control": "reno"}
_ALONE = {"tcp_friendliness": False}

#: TCP stacks by the word of the L4S tests. Their hosts all ask for AccECN (tcp_ecn = 3), so CUBIC is marked, too; `noecn` is
#: CUBIC whose ECN field is cleared on the way. Their `prague` is version 0.5: round trips of its own, cuts at marks.
STACKS: Mapping[str, Mapping[str, Any]] = {
    "cubic": _ACCECN,
    "cubic-ecn": _ACCECN,
    "cubic-noecn": _NO_ECN,
    "reno-ecn": _ACCECN | _RENO,
    "reno-noecn": _NO_ECN | _RENO,
    "prague": {"preset": "prague", "prague_rtt": "own", "prague_cut": "marks"},
    # ours: Reno that hears of each segment, Prague as of today
    "reno": _NO_ECN | _RENO | {"ack_every": 1},
    "prague7": {"preset": "prague"},
    # experiments: cuts in alpha's rounds; 500 rounds before short round trips are scaled; CUBIC that does not follow Reno
    "prague-rounds": {"preset": "prague", "prague_rtt": "own"},
    "prague6": {"preset": "prague", "prague_rtt": "scaled-late"},
    "alone-ecn": _ACCECN | _ALONE,
    "alone-noecn": _NO_ECN | _ALONE,
}

#: Queues by the word of a case, which is the L4S tests' where it is theirs.
QUEUES: Mapping[str, Mapping[str, Any] | str] = {
    "dualpi2": {"dualpi2": {}},
    "rfc9332": {"dualpi2": {"variant": "rfc9332"}},
    # no drops beyond p' = 1/k: the queues grow, and only the shares decide
    "linux, no drops": {"dualpi2": {"drop_overload": False, "limit": "1000p"}},
    "linux, deep": {"dualpi2": {"drop_overload": False, "limit": "100000p"}},
    "rfc9332, deep": {"dualpi2": {"variant": "rfc9332", "drop_overload": False, "limit": "100000p"}},
    # experiments: the step spares a packet that found L empty; evenly spaced marks and drops
    "dualpi2, step behind one": {"dualpi2": {"min_qlen_step": 1}},
    "dualpi2, even": {"dualpi2": {"draws": "recur"}},
    # RFC 9332's scheduler of choice: by arrival, with L's packets taken for 50 ms older
    "rfc9332, by arrival": {"dualpi2": {"variant": "rfc9332", "time_shift": "50ms"}},
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
    """A bottleneck of `rate` Mbit/s and who shares it; measured from `warm_up` to `seconds`.

    `bench`: as the L4S tests have it, with half of each delay in front, HTB and Ethernet's headers. There, halfway through the run the
    rate may become `then`, a radio link in front may let packets go in `bursts`, and arrivals may be `jittered` by up to a packet's time.
    """

    group: str
    queue: str
    loads: tuple[Load, ...]
    rate: float = 50.0
    seconds: int = 60
    warm_up: int = 0
    mss: int = MSS
    bench: bool = False
    then: float = 0.0
    bursts: bool = False
    jittered: bool = False

    @property
    def key(self) -> str:
        """Name in results."""
        then = f" to {self.then:g}" if self.then else ""
        small = "" if self.mss == MSS else f", segments of {self.mss}"
        more = (", bursts" if self.bursts else "") + (", jittered" if self.jittered else "")
        return f"{self.queue}: {' / '.join(x.words for x in self.loads)} at {self.rate:g}{then}{small}{more}"

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

    def of_version(self, prague: str) -> Case:
        """The same with another Prague."""
        return self.instead({"prague": prague})

    def through(self, queue: str) -> Case:
        """The same with another queue."""
        return replace(self, queue=queue)

    @property
    def alike(self) -> bool:
        """Both flows are the same, so that neither is first."""
        return len({(x.stack, x.rtt) for x in self.loads}) == 1


RATES = (4.0, 20.0, 50.0, 100.0, 200.0)
FLOWS = (1, 4, 10)
RTT, HALF, SHORT = 20.0, 10.0, 5.0


def beside(rate: float, flows: int, rtt: float = RTT, mss: int = MSS) -> Case:
    """So many Prague flows beside as many of CUBIC."""
    loads = (Load("prague7", rtt, flows), Load("cubic-noecn", rtt, flows))
    return Case("beside", "dualpi2", loads, rate, 40, 10, mss)


def alone(rate: float, flows: int, rtt: float = RTT, stack: str = "prague7", mss: int = MSS) -> Case:
    """Prague flows with nothing beside them: only the step marks."""
    return Case("alone", "dualpi2", (Load(stack, rtt, flows),), rate, 40, 10, mss)


BESIDE = tuple(beside(rate, n) for rate in RATES for n in FLOWS)
ALONE = tuple(alone(rate, n) for rate in RATES for n in FLOWS)

#: What is run to tell why a wait is longer: packets an eighth as large; a short round trip with and without the law of 25 ms.
SMALLER = tuple(beside(rate, n, mss=SMALL) for rate in (4.0, 20.0) for n in FLOWS)
SHORTER = tuple(
    alone(rate, n, SHORT, stack) for rate, n in ((50.0, 10), (20.0, 4)) for stack in ("prague7", "prague-rounds")
)
ALONE_SMALLER = (
    *(alone(rate, n, mss=SMALL) for rate in (4.0, 20.0, 50.0) for n in FLOWS),
    alone(100.0, 10, mss=SMALL),
    *(alone(4.0, n, rtt, mss=SMALL) for n in FLOWS[1:] for rtt in (HALF, SHORT)),
)

#: And why C's waits and shares are others at 4 Mbit/s: by the step of a packet alone, and by random draws.
SLOWEST = tuple(beside(RATES[0], n) for n in FLOWS)
STEP_BEHIND = tuple(x.through("dualpi2, step behind one") for x in SLOWEST)
OF_THE_RFC = tuple(x.through(queue) for queue in ("rfc9332", "rfc9332, by arrival") for x in SLOWEST)
EVEN = tuple(beside(rate, n).through("dualpi2, even") for rate in (4.0, 20.0) for n in FLOWS)

#: Coupling: one flow of each kind at the same round trip, whose rates have a closed form.
COUPLED_RTTS = (10.0, 20.0, 80.0)
COUPLED = tuple(
    Case("coupled", "dualpi2", (Load("reno", rtt), Load(stack, rtt)), seconds=80, warm_up=20)
    for stack in ("prague-rounds", "prague7")
    for rtt in COUPLED_RTTS
)

#: Several flows, whose windows do not all come down at once.
SEVERAL = tuple(case.of_flows(4) for case in COUPLED if case.loads[0].rtt == COUPLED_RTTS[-1])

RENO_ALONE = Case("static", "dualpi2", (Load("reno", 20.0),), 20.0, 80, 20)
STEP_ALONE = Case("static", "dualpi2", (Load("prague-rounds", 20.0),), 100.0, 60, 20)

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


OWN: tuple[Case, ...] = (
    *BESIDE, *ALONE, *SMALLER, *SHORTER, *ALONE_SMALLER, *STEP_BEHIND, *OF_THE_RFC, *EVEN, *COUPLED, *SEVERAL, RENO_ALONE, STEP_ALONE, *NOT_ECT,
    *ECT1, NO_DROPS, *WEIGHTED, *TURN,
)  # fmt: skip

#: A slice of each group, for a look.
OWN_QUICK = (
    beside(20.0, 1), beside(50.0, 4), beside(20.0, 10), beside(20.0, 10, mss=SMALL), alone(100.0, 1), COUPLED[1], RENO_ALONE,
    NOT_ECT[1], ECT1[1], *WEIGHTED[:1],
)  # fmt: skip
