"""The cases of the study and their scenarios: senders, round trips, queues.

In our own cases, the whole propagation delay of a flow is on the reverse path, so a packet's delay is its wait in
the queue and its own transmission. In the L4S tests, half of the propagation delay is in front of the bottleneck:

    server 1 --+--> r ==bottleneck, rate==> home
    server 2 --+
    servers  <--delay-- r <---------------- home

The L4S tests are by P. Heist and J. Morton (2020). Our copies of their runs follow their batch file and scripts; each
row "rates" of `published.csv` names one of these runs. Two hosts and a middlebox run in network namespaces, without
offloads (no super-packets). netem delays incoming packets by half the round trip. HTB shapes the output of the queue to
50 or 10 Mbit/s of Ethernet frames. All TCP connections negotiate AccECN (tcp_ecn = 3). ACKs pass through a queue of the
same kind, which is never full and is left out here.

    scenario 1   two uploads at once, 180 s; measured 118 to 178 s    DualPI2, pfifo, fq_codel
    scenario 2   one upload, 60 s; after 30 s the rate steps down     fq_codel, DualPI2
    scenario 6   two uploads, 60 s; measured 18 to 58 s               AQMs of RFC 3168, one queue

In the tests, bursts affect only a single flow. `BURSTY` applies them to two flows, CUBIC and Prague, as issue 1 of the
tests proposes.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bloatlab.scenario import Scenario, from_dict
from bloatlab.studies.declared import Declared
from bloatlab.studies.published import rows, toml

DECLARED = Declared("l4s")

#: Payload, in bytes, of a full packet (1500 bytes) and of a small packet (188 bytes, one eighth of the size).
MSS, SMALL = 1448, 136
#: Headers and timestamps of a segment, in bytes.
HEADERS = 52
#: The size of a full packet as HTB counts it (an Ethernet frame), divided by its size as an IP packet.
FRAME = 1514 / 1500
#: The time at which the rate steps down in scenario 2, as a share of the run.
STEP_AT = 0.5
#: netem's slots, which send packets in bursts: each begins 0.8 to 5 ms after the previous slot, and releases up to 16
#: packets at once.
SLOT_MS, SLOT_PACKETS = (0.8, 5.0), 16

#: The TCP stacks, the queues in our own cases, and the queues in the L4S tests, each by name.
STACKS, OWN_QUEUES, TEST_QUEUES = (toml("l4s", "parts.toml")[name] for name in ("stacks", "own", "tests"))

#: Names of the Prague versions compared with the version used in the tests.
FORMS = {"prague-rounds": "cuts in rounds", "prague6": "version 0.6", "prague7": "version 0.7"}


@dataclass(frozen=True, slots=True)
class Load:
    """The traffic from one of a case's senders: `flows` TCP flows, which use `stack` and have a round trip of `rtt` ms.

    If `share` is not 0, the traffic consists of unresponsive datagrams instead, sent at `share` of the link's rate;
    `stack` is then the datagrams' ECN code point.
    """

    stack: str
    rtt: float = 20.0
    flows: int = 1
    share: float = 0.0
    size: int = 1500

    def __str__(self) -> str:
        if self.share:
            return f"{self.stack} {self.share:g}C"
        several = f"{self.flows} " if self.flows > 1 else ""
        return f"{several}{self.stack} {self.rtt:g}"


@dataclass(frozen=True, slots=True)
class Case:
    """A bottleneck of `rate` Mbit/s and its loads. A run lasts `seconds`, and is measured from `warm_up` on.

    With `bench`, the network is that of the L4S tests: half of each round-trip delay is in front of the bottleneck, HTB
    shapes the bottleneck's output, and `rate` is the rate of Ethernet frames including their headers. In this network,
    the rate may change to `then` halfway through the run, radio links in both directions may release packets in
    `bursts`, and arrivals may be `jittered` by up to one packet's transmission time.
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

    def __str__(self) -> str:
        then = f" to {self.then:g}" if self.then else ""
        small = "" if self.mss == MSS else f", segments of {self.mss}"
        more = (", bursts" if self.bursts else "") + (", jittered" if self.jittered else "")
        return f"{self.queue}: {self.senders} at {self.rate:g}{then}{small}{more}"

    @property
    def senders(self) -> str:
        """The loads of the case as a string: "prague 10 / 10 cubic 20"."""
        return " / ".join(map(str, self.loads))

    @property
    def rtt(self) -> float:
        """The round trip of the first load, in ms."""
        return self.loads[0].rtt

    @property
    def flows(self) -> int:
        """The number of flows of the first load."""
        return self.loads[0].flows

    @property
    def packet_ms(self) -> float:
        """The transmission time of a full-size packet of the case's TCP flows, in ms."""
        return (self.mss + HEADERS) * 8e-3 / self.rate

    def instead(self, stacks: Mapping[str, str]) -> Case:
        """Returns the case with some stacks replaced. `stacks` maps the name of each such stack to the new name."""
        return replace(self, loads=tuple(replace(x, stack=stacks.get(x.stack, x.stack)) for x in self.loads))

    def of_version(self, prague: str) -> Case:
        """Returns the case with another Prague version."""
        return self.instead({"prague": prague})

    def loaded(self, **changes: Any) -> Case:
        """Returns the case with these changes to every load."""
        return replace(self, loads=tuple(replace(x, **changes) for x in self.loads))


# ----------------------------------------------------------------------------------------------------------- L4S tests


def _row(key: str) -> Case:
    """Returns the case for a row such as "dualpi2: cubic 10 / prague 10 at 50"."""
    queue, rest = key.split(": ")
    flows, rate = rest.split(" at ")
    loads = tuple(Load(stack, float(rtt)) for stack, rtt in (load.split() for load in flows.split(" / ")))
    return Case("pairs", queue, loads, float(rate), 178, 118, bench=True)


def _rows(where: str) -> tuple[Case, ...]:
    return tuple(_row(r.case) for r in rows("l4s") if r.metric == "rates" and where in r.where)


#: Scenario 1: for each pair of round-trip times, all four combinations of Prague and CUBIC.
PAIRS = _rows("s1_table")
#: Scenario 6: Prague beside a classic flow, which uses ECN in some cases and no ECN in the others.
SHARED = tuple(replace(case, group="shared", seconds=58, warm_up=18) for case in _rows("s6_steady"))


def of_queue(name: str) -> tuple[Case, ...]:
    """Returns the cases of scenario 1 with the queue `name` ("dualpi2", "pfifo" or "fq_codel")."""
    return tuple(case for case in PAIRS if case.queue.startswith(name))


#: Experiments that explain why some ratios differ. `OTHER_FORMS` uses other Prague versions, `JITTERED` has arrivals
#: that jitter by up to one packet's transmission time, and `OWN_CUBIC` uses CUBIC without its Reno region.
_PRAGUE = tuple(case for case in of_queue("dualpi2") if any(x.stack == "prague" for x in case.loads))
OTHER_FORMS = tuple(case.of_version(form) for form in FORMS for case in _PRAGUE)
JITTERED = tuple(replace(case, jittered=True) for case in of_queue("pfifo"))
UNFRIENDLY = {"cubic-ecn": "alone-ecn", "cubic-noecn": "alone-noecn"}
OWN_CUBIC = tuple(case.instead(UNFRIENDLY) for case in SHARED if case.loads[1].stack in UNFRIENDLY)

STEPS_TO = (25.0, 10.0, 5.0, 1.0)


def step(stack: str, rtt: float, queue: str, then: float, *, bursts: bool = False) -> Case:
    """Returns the case with one upload over a link whose rate steps down from 50 to `then` Mbit/s."""
    return Case("steps", queue, (Load(stack, rtt),), 50.0, 60, bench=True, then=then, bursts=bursts)


#: Scenario 2. Bursts are combined only with the smallest step, as in the published tests.
STEPS = tuple(
    step(stack, rtt, queue, then, bursts=bursts)
    for bursts in (False, True)
    for queue in ("fq_codel", "dualpi2")
    for stack in ("prague", "cubic")
    for rtt in (20.0, 80.0)
    for then in STEPS_TO[: 1 if bursts else None]
)


#: `SMOOTH`: CUBIC beside the tests' Prague and beside Prague 0.7, at equal round trips. `BURSTY` adds the bursts of
#: scenario 2; the tests have such bursts only with a single flow. `DEEPER` is an experiment with a marking threshold of
#: 5 ms. At 50 Mbit/s, a burst that finds the queue empty then passes unmarked: it is sent in 16 x 0.24 ms = 3.84 ms.
SMOOTH = tuple(
    case.of_version(form)
    for form in ("prague", "prague7")
    for case in of_queue("dualpi2")
    if [x.stack for x in case.loads] == ["cubic", "prague"] and case.rtt == case.loads[1].rtt
)
BURSTY = tuple(replace(case, group="bursty", bursts=True) for case in SMOOTH)
DEEPER = tuple(replace(case, queue="dualpi2, step of 5 ms") for case in BURSTY)


# --------------------------------------------------------------------------------------------------- cases of our own

RATES = (4.0, 20.0, 50.0, 100.0, 200.0)
FLOWS = (1, 4, 10)
RTT, HALF, SHORT = 20.0, 10.0, 5.0


def beside(rate: float, flows: int, rtt: float = RTT, mss: int = MSS) -> Case:
    """Returns the case with Prague flows beside the same number of CUBIC flows."""
    loads = (Load("prague7", rtt, flows), Load("cubic-noecn", rtt, flows))
    return Case("beside", "dualpi2", loads, rate, 40, 10, mss)


def alone(rate: float, flows: int, rtt: float = RTT, stack: str = "prague7", mss: int = MSS) -> Case:
    """Returns the case with Prague flows alone, in which only the step of the low-latency queue marks packets."""
    return Case("alone", "dualpi2", (Load(stack, rtt, flows),), rate, 40, 10, mss)


BESIDE = tuple(beside(rate, n) for rate in RATES for n in FLOWS)
ALONE = tuple(alone(rate, n) for rate in RATES for n in FLOWS)

#: Experiments that explain why some waits are longer than promised. `SMALLER` and `ALONE_SMALLER` use packets one
#: eighth the size; `SHORTER` has a short round trip, with and without Prague's minimum virtual round trip of 25 ms.
SMALLER = tuple(beside(rate, n, mss=SMALL) for rate in (4.0, 20.0) for n in FLOWS)
SHORTER = tuple(
    alone(rate, n, SHORT, stack) for rate, n in ((50.0, 10), (20.0, 4)) for stack in ("prague7", "prague-rounds")
)
ALONE_SMALLER = (
    *(alone(rate, n, mss=SMALL) for rate in (4.0, 20.0, 50.0) for n in FLOWS),
    alone(100.0, 10, mss=SMALL),
    *(alone(4.0, n, rtt, mss=SMALL) for n in FLOWS[1:] for rtt in (HALF, SHORT)),
)

#: `SLOWEST` contains the cases of `BESIDE` at 4 Mbit/s. The other three are experiments that explain, in these cases,
#: how long packets wait in the classic queue and how the flows share the link. In `STEP_BEHIND`, the step never marks a
#: packet that found the low-latency queue empty. `OF_THE_RFC` uses DualPI2 as in RFC 9332, and `EVEN` uses evenly
#: spaced marks and drops (also at 20 Mbit/s).
SLOWEST = tuple(beside(RATES[0], n) for n in FLOWS)
STEP_BEHIND = tuple(replace(x, queue="dualpi2, step behind one") for x in SLOWEST)
OF_THE_RFC = tuple(replace(x, queue=queue) for queue in ("rfc9332", "rfc9332, by arrival") for x in SLOWEST)
EVEN = tuple(replace(beside(rate, n), queue="dualpi2, even") for rate in (4.0, 20.0) for n in FLOWS)

#: One Reno flow beside one Prague flow with the same round trip. The coupling of the two queues determines the ratio of
#: the flows' rates, for which there is a closed form.
COUPLED = tuple(
    Case("coupled", "dualpi2", (Load("reno", rtt), Load(stack, rtt)), seconds=80, warm_up=20)
    for stack in ("prague-rounds", "prague7")
    for rtt in (10.0, 20.0, 80.0)
)
#: The cases of `COUPLED` with a round trip of 80 ms, but with four flows of each kind. A single Reno flow empties the
#: classic queue when it halves its window; four windows rarely decrease at the same time.
SEVERAL = tuple(case.loaded(flows=4) for case in COUPLED if case.rtt == 80.0)

RENO_ALONE = Case("static", "dualpi2", (Load("reno", 20.0),), 20.0, 80, 20)
STEP_ALONE = Case("static", "dualpi2", (Load("prague-rounds", 20.0),), 100.0, 60, 20)

#: Floods of unresponsive datagrams. `NOT_ECT` and `ECT1` are named after the datagrams' ECN code point; in `NO_DROPS`,
#: ECT(1) datagrams pass through a queue that never drops packets before it is full. `NOT_ECT` also has a few L4S
#: packets, sent at `SPARSE` times the link's rate. The share of marked packets among these L4S packets measures the
#: coupled probability.
SPARSE = 0.002
NOT_ECT = tuple(
    Case("flood", "dualpi2", (Load("not_ect", share=a), Load("ect1", share=SPARSE, size=64)), seconds=70, warm_up=10)
    for a in (1.05, 1.1, 1.2)
)
ECT1 = tuple(Case("flood", "dualpi2", (Load("ect1", share=a),), seconds=70, warm_up=10) for a in (1.1, 1.5, 2.0))
NO_DROPS = Case("flood", "linux, no drops", (Load("ect1", share=1.5),), seconds=40, warm_up=10)


def _full(beside: float) -> tuple[Case, ...]:
    loads = (Load("ect1", share=1.2), Load("not_ect", share=beside))
    return tuple(Case("shares", queue, loads, seconds=10, warm_up=2) for queue in ("rfc9332, deep", "linux, deep"))


#: `WEIGHTED`: both queues always hold packets, so the scheduler's weights determine their shares of the link.
#: `TURN`: L4S packets flood the link, and a classic packet arrives only now and then; we measure how long it waits for
#: its turn.
WEIGHTED, TURN = _full(0.5), _full(SPARSE)


def cases() -> list[Case]:
    """Returns all cases of the study."""
    return [
        *PAIRS, *SHARED, *STEPS, *OTHER_FORMS, *JITTERED, *OWN_CUBIC, *BURSTY, *DEEPER, *BESIDE, *ALONE, *SMALLER, *SHORTER, *ALONE_SMALLER, *STEP_BEHIND,
        *OF_THE_RFC, *EVEN, *COUPLED, *SEVERAL, RENO_ALONE, STEP_ALONE, *NOT_ECT, *ECT1, NO_DROPS, *WEIGHTED, *TURN,
    ]  # fmt: skip


_PICKED = (
    "dualpi2: cubic 20 / prague 20 at 50",
    "dualpi2: prague 20 / prague 10 at 50",
    "dualpi2: cubic 10 / prague 10 at 10",
    "pfifo(1000): cubic 20 / prague 20 at 50",
    "fq_codel: cubic 20 / prague 20 at 50",
)


def quick() -> list[Case]:
    """Returns at least one case of each group, for a quick look."""
    picked = [case for case in PAIRS if str(case) in _PICKED]
    return [
        *picked, picked[1].of_version("prague7"), SHARED[0], SHARED[5], step("prague", 80.0, "fq_codel", 25.0),
        step("prague", 20.0, "dualpi2", 25.0, bursts=True), BURSTY[1], beside(20.0, 1), beside(50.0, 4), beside(20.0, 10),
        beside(20.0, 10, mss=SMALL), alone(100.0, 1), COUPLED[1], RENO_ALONE, NOT_ECT[1], ECT1[1], *WEIGHTED[:1],
    ]  # fmt: skip


# ---------------------------------------------------------------------------------------------------------- scenarios

NECK = "bottleneck"
#: Names of the applications, in the order of a case's loads.
SIDES = ("first", "second")


def build(case: Case, seed: int, seconds: int | None = None) -> Scenario:
    """Returns the validated scenario of one run.

    `seconds` can shorten the run. The warm-up is then a third of `seconds`, or 0 in a case with a rate step.
    """
    name = f"l4s {case}"
    if seconds is not None and seconds < case.seconds:
        case = replace(case, seconds=seconds, warm_up=0 if case.then else seconds // 3)
    data: Any = {
        "name": name,
        "seed": seed,
        "duration": f"{case.seconds}s",
        # in runs with a rate step, the state is sampled every 50 ms, as in the L4S tests, which use `ss` for this
        "record": {"warm_up": f"{case.warm_up}s"} | ({"interval": "50ms"} if case.then else {}),
        "link": _links(case, seed),
        "tcp": {
            x.stack: {**STACKS[x.stack], **({} if case.mss == MSS else {"mss": case.mss})}
            for x in case.loads
            if not x.share
        },
        "app": {side: _app(x, n, case) for n, (side, x) in enumerate(zip(SIDES, case.loads, strict=False))},
    }
    return from_dict(data, source=name)


def _links(case: Case, seed: int) -> dict[str, Any]:
    links: dict[str, Any] = {NECK: _neck(case), "acks": {"from": "home", "to": "r"}}
    for n, load in enumerate(case.loads):
        before = load.rtt / 2.0 if case.bench else 0.0
        links[f"in{n}"] = {"from": f"s{n}", "to": "r"} | _after(before)
        links[f"out{n}"] = {"from": "r", "to": f"s{n}"} | _after(load.rtt - before)
        if case.jittered:
            links[f"in{n}"]["jitter"] = f"{case.packet_ms:g}ms"
    if case.bursts and len(case.loads) > 1:
        return links | _shared_slots(links, case, seed)
    for delayed, name in (("in0", "slots"), ("out0", "slots back")) if case.bursts else ():
        first, between = links[delayed], f"{name}'s begin"
        links[name] = _radio(name, (between, first["to"]), seed, case)
        links[delayed] = first | {"to": between}
    return links


def _shared_slots(links: Mapping[str, Any], case: Case, seed: int) -> dict[str, Any]:
    """Returns the links to add or replace if all loads share one radio link in each direction.

    The radio links release the packets of all loads in bursts.
    """
    near, far = "slots' begin", "slots back's end"
    moved = {f"in{n}": links[f"in{n}"] | {"to": near} for n in range(len(case.loads))}
    moved |= {f"out{n}": links[f"out{n}"] | {"from": far} for n in range(len(case.loads))}
    ends = {"slots": (near, "r"), "slots back": ("r", far)}
    return moved | {name: _radio(name, between, seed, case) for name, between in ends.items()}


def _radio(name: str, ends: tuple[str, str], seed: int, case: Case) -> dict[str, Any]:
    return {
        "from": ends[0],
        "to": ends[1],
        "queue": {"droptail": {"limit": "10000p"}},
        "delivery": {"trace": {"source": _slots(name, seed, case.seconds)}},
    }


def _neck(case: Case) -> dict[str, Any]:
    ends = {"from": "r", "to": "home"}
    if not case.bench:
        return ends | {"rate": f"{case.rate:g}mbit", "queue": OWN_QUEUES[case.queue]}
    neck: dict[str, Any] = ends | {"rate": _framed(case.rate), "shaper": "htb", "queue": TEST_QUEUES[case.queue]}
    if case.then:
        neck["changes"] = [{"at": f"{case.seconds * STEP_AT:g}s", "rate": _framed(case.then)}]
    return neck


def _framed(rate: float) -> str:
    """Converts a rate of Ethernet frames in Mbit/s to the rate of the IP packets in them."""
    return f"{rate / FRAME * 1e3:.0f}kbit"


def _after(delay: float) -> dict[str, Any]:
    return {"delay": f"{delay:g}ms"} if delay else {}


def _slots(name: str, seed: int, seconds: int) -> str:
    """Draws netem's slots at random, and returns them as a delivery trace with times in whole ms."""
    draw = random.Random(f"{name} {seed}")  # noqa: S311  not security-sensitive
    now, last, found = 0.0, 0, list[str]()
    while last < 1000 * (seconds + 1):
        now += draw.uniform(*SLOT_MS)
        at = int(now) + 1
        found.append(f"+{at - last}x{SLOT_PACKETS}")
        last = at
    return " ".join(found)


def _app(load: Load, place: int, case: Case) -> dict[str, Any]:
    ends: dict[str, Any] = {"from": f"s{place}", "to": ["home"]}
    if not load.share:
        return ends | {"tcp": load.stack, "traffic": {"ftp": {"flows": load.flows}}}
    cbr = {"rate": f"{load.share * case.rate * 1e3:g}kbit", "size": f"{load.size}B"}
    return ends | {"datagram_ecn": load.stack, "traffic": {"cbr": cbr}}


def packet_ms(load: Load, case: Case) -> float:
    """Returns the transmission time of one of the load's packets, in ms."""
    return (load.size if load.share else case.mss + HEADERS) * 8e-3 / case.rate
