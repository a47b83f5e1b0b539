"""The lab's network as a scenario: the CSC458 report's set-up, and what its report recommends against bufferbloat.

    h1 --nic, 1 Gbit/s-- s0 ==up, 10 Mbit/s==> h2        1 ms per link and direction: RTT 4 ms
                            <=down, 10 Mbit/s=

Q is the room of both queues of s0 - h2, as Mininet's `max_queue_size` sets it for both interfaces of a link. A flow from h1
to h2 that never ends, a ping each 0.1 s, and a page of 177 669 bytes that h2 fetches from h1 each 2 s.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from bloatlab.scenario import AppDict, LinkDict, Scenario, from_dict

UP = "up"
LONG, PING, PAGE = "long", "ping", "page"

#: index.html of the course's kit, bytes.
PAGE_BYTES = 177_669
MTU = 1500
SECONDS = 60

#: Key of the run behind equation (1): a network card's 1000 packets at 100 Mbit/s.
NIC = "nic"

QUEUES = (5, 20, 100)
CONGESTION = ("reno", "cubic", "bbr")
TODAY = ("codel", "fq_codel", "pie")

#: Losses found by duplicate ACKs alone (RFC 6675), as Linux did before RACK.
DUPTHRESH = "dupthresh"

#: Segments of a packet in the kit's queues: Linux makes super-segments of at least two at this rate.
SUPER = 2


@dataclass(frozen=True, slots=True)
class Lab:
    """The lab's own parameters, as its command line has them: rates in Mbit/s, delay in ms per link and direction."""

    bw_host: float = 1000.0
    bw_net: float = 10.0
    delay: float = 1.0
    seconds: int = SECONDS

    @property
    def rtt_ms(self) -> float:
        """Round trip of propagation: two links, there and back."""
        return 4.0 * self.delay

    def packet_ms(self, size: int = MTU) -> float:
        """Time to send a packet of `size` bytes through the bottleneck."""
        return size * 8.0 / (self.bw_net * 1000.0)

    def eq2_ms(self, packets: float) -> float:
        """The CSC458 report, equation (2): the round-trip time behind so many packets of MTU size."""
        return packets * self.packet_ms() + self.rtt_ms


@dataclass(frozen=True, slots=True)
class Case:
    """One configuration: who controls the window, and the queue of the bottleneck.

    `segments` is how many segments count as one packet of a drop-tail limit. A `queue` by name stands at its defaults.
    `detection` is how TCP finds losses where that is not the preset's (linux-6: RACK-TLP). `jitter_us` is what the links into
    the hosts add to a packet's delay at most, each draw uniform.
    """

    congestion: str
    limit: int | None = None
    segments: int = 1
    queue: str = "droptail"
    detection: str = ""
    jitter_us: int = 0

    @property
    def key(self) -> str:
        """Name in results."""
        queue = self.queue if self.limit is None else f"Q={self.limit}"
        several = f" x{self.segments}" if self.segments > 1 else ""
        detection = f" {self.detection}" if self.detection else ""
        return f"{queue} {self.congestion}{several}{detection}" + (f" {self.jitter_us}us" if self.jitter_us else "")

    def __str__(self) -> str:
        return self.key

    @property
    def discipline(self) -> Mapping[str, Any]:
        """The queue as a scenario has it."""
        if self.limit is None:
            return {self.queue: {}}
        return {"droptail": {"limit": f"{self.limit}p", "super_segment": self.segments}}


def kit() -> list[Case]:
    """What Mininet runs: super-segments in the queue. The published tables are of Reno."""
    return [Case(cc, q, SUPER) for cc in CONGESTION for q in QUEUES]


def second_reading() -> list[Case]:
    """The kit's cases with losses found by duplicate ACKs alone: a kernel before RACK (README, "Two readings")."""
    return [
        replace(case, detection=DUPTHRESH)
        for case in kit()
        if case.congestion == "reno" or case == Case("bbr", 100, SUPER)
    ]


def plain() -> list[Case]:
    """The same where a packet is a packet: what equation (2) says, and what the live bench does."""
    return [Case(cc, q) for cc in CONGESTION for q in QUEUES]


def today() -> list[Case]:
    """Queue management of today at its defaults, under Reno."""
    return [Case("reno", queue=name) for name in TODAY]


#: What is asked for by name.
EXPERIMENTS: dict[str, str] = {
    "jitter": "BBR behind 100 packets, with jitter of the links into the hosts: what the kernel's lateness does to its estimate",
}
JITTER_US = (0, 20, 50, 100, 200)
JITTER_SECONDS = 180


def experiment_cases(name: str) -> list[Case]:
    """The cases of an experiment. Raises `KeyError` for an unknown one."""
    return {"jitter": [Case("bbr", 100, jitter_us=us) for us in JITTER_US]}[name]


def cases() -> list[Case]:
    """All of the study's."""
    return [*kit(), *second_reading(), *plain(), *today()]


def live_cases() -> list[Case]:
    """Those that run on kernels, too: packets there are not larger than the MTU."""
    return [*plain(), *today()]


@dataclass(frozen=True, slots=True)
class _Starts:
    """When the applications begin: what tells one seed from another. Each has its own stream.

    The long flow within the first second, the pings within their interval, the pages within theirs after 5 s: long enough
    for the first slow start to be over, as in the lab, where the first fetch comes after the set-up of the others.
    """

    seed: int
    spread_s: Mapping[str, tuple[float, float]] = field(
        default_factory=lambda: {LONG: (0.0, 1.0), PING: (0.0, 0.1), PAGE: (5.0, 2.0)}
    )

    def of(self, name: str) -> str:
        base, spread = self.spread_s[name]
        share = random.Random(f"csc458/{self.seed}/{name}").random()  # noqa: S311
        return f"{round((base + share * spread) * 1e9)}ns"


def build(case: Case, seed: int, lab: Lab | None = None) -> Scenario:
    """The validated scenario of one run."""
    lab = lab or Lab()
    return from_dict(
        {
            "name": f"csc458 {case.key}",
            "seed": seed,
            "duration": f"{lab.seconds}s",
            "link": _links(case, lab),
            "start_spread": "0s",  # the study has its own
            "app": _apps(seed),
            "tcp": {"lab": _stack(case)},
            "record": {"interval": "10ms", "links": [UP], "apps": [LONG]},
        },
        source=f"csc458 {case.key}",
    )


def network_card(seed: int) -> Scenario:
    """Equation (1): 1000 packets of 1500 bytes behind a link of 100 Mbit/s, filled by datagrams at twice that."""
    link = {"from": "h1", "to": "net", "rate": "100mbit", "queue": {"droptail": {"limit": "1000p"}}}
    flood = {"from": "h1", "to": ["net"], "traffic": {"cbr": {"rate": "200mbit", "size": "1500B"}}}
    back = {"from": "net", "to": "h1"}
    data: Any = {
        "name": NIC,
        "seed": seed,
        "duration": "1s",
        "link": {NIC: link, "back": back},
        "start_spread": "0s",  # the study has its own
        "app": {"flood": flood},
    }
    return from_dict(data, source=NIC)


def _stack(case: Case) -> dict[str, Any]:
    stack = {"preset": "linux-6", "congestion_control": case.congestion}
    # what takes a reduction back needs RACK
    other = {"loss_detection": case.detection, "undo": "none", "frto": False}
    return stack | (other if case.detection else {})


def _links(case: Case, lab: Lab) -> dict[str, LinkDict]:
    def link(start: str, end: str, mbit: float, queue: Mapping[str, Any]) -> LinkDict:
        made: LinkDict = {
            "from": start,
            "to": end,
            "rate": f"{mbit:g}mbit",
            "delay": f"{lab.delay:g}ms",
            "queue": queue,
        }
        return made | {"jitter": f"{case.jitter_us}us"} if case.jitter_us and end.startswith("h") else made

    wide = {"droptail": {"limit": "1000p"}}
    return {
        "nic": link("h1", "s0", lab.bw_host, wide),
        "back": link("s0", "h1", lab.bw_host, wide),
        UP: link("s0", "h2", lab.bw_net, case.discipline),
        "down": link("h2", "s0", lab.bw_net, case.discipline),
    }


def _apps(seed: int) -> dict[str, AppDict]:
    starts = _Starts(seed)
    page = {"direction": "down", "size": f"{PAGE_BYTES}B", "interval": "2s"}
    return {
        LONG: {"from": "h1", "to": ["h2"], "tcp": "lab", "start": starts.of(LONG), "traffic": {"ftp": {}}},
        PING: {"from": "h1", "to": ["h2"], "start": starts.of(PING), "traffic": {"ping": {"interval": "100ms"}}},
        PAGE: {"from": "h2", "to": ["h1"], "tcp": "lab", "start": starts.of(PAGE), "traffic": {"ftp": page}},
    }
