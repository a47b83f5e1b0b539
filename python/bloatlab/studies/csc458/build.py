"""The cases of the study and their scenarios: the lab of the CSC458 report, its remedies, and today's disciplines.

    h1 --nic, 1 Gbit/s-- s0 ==up, 10 Mbit/s==> h2        1 ms per link and direction: RTT 4 ms
                            <=down, 10 Mbit/s=

Q is the size of both queues of the link s0 - h2: Mininet's `max_queue_size` sets it for both interfaces of a link.
Traffic: a flow from h1 to h2 that never ends, a ping every 0.1 s, and a page of 177 669 bytes that h2 fetches from h1
every 2 s.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bloatlab.scenario import Scenario, from_dict
from bloatlab.studies.declared import Declared
from bloatlab.studies.published import toml
from bloatlab.workloads.build import ns

DECLARED = Declared("csc458")

UP = "up"
LONG, PING, PAGE = "long", "ping", "page"

MTU = 1500
SECONDS = 60

#: Key of the run for equation (1): a network card that queues 1000 packets at 100 Mbit/s.
NIC = "nic"

QUEUES = (5, 20, 100)
CONGESTION = ("reno", "cubic", "bbr")
TODAY = ("codel", "fq_codel", "pie")

#: The scenario's name for loss detection by duplicate ACKs alone (RFC 6675).
DUPTHRESH = "dupthresh"

#: Segments per packet in the queues of the lab's kit (the course's programs in Mininet). At the lab's rate, a
#: super-segment of Linux has two segments.
SUPER = 2


@dataclass(frozen=True, slots=True)
class Lab:
    """The parameters of the lab's command line: rates in Mbit/s, delay in ms per link and direction."""

    bw_host: float = 1000.0
    bw_net: float = 10.0
    delay: float = 1.0
    seconds: int = SECONDS

    @property
    def rtt_ms(self) -> float:
        """The round-trip propagation delay: two links in both directions, in ms."""
        return 4.0 * self.delay

    def packet_ms(self, size: int = MTU) -> float:
        """Returns the time in ms for the bottleneck to send a packet of `size` bytes."""
        return size * 8.0 / (self.bw_net * 1000.0)

    def eq2_ms(self, packets: float) -> float:
        """Returns the round-trip time behind `packets` MTU-sized packets by equation (2) of the CSC458 report."""
        return packets * self.packet_ms() + self.rtt_ms


@dataclass(frozen=True, slots=True)
class Case:
    """A configuration: the congestion control, and the bottleneck's queue.

    With a `limit`, the queue is drop-tail and holds up to `limit` packets, where `segments` segments count as one
    packet. Without a limit, `queue` names a queue discipline, which has its default parameters. `detection` replaces
    the loss detection of the TCP preset linux-6, which is RACK-TLP. Each link into a host adds a random delay to every
    packet, distributed uniformly from 0 to `jitter_us`.
    """

    congestion: str
    limit: int | None = None
    segments: int = 1
    queue: str = "droptail"
    detection: str = ""
    jitter_us: int = 0

    def __str__(self) -> str:
        queue = self.queue if self.limit is None else f"Q={self.limit}"
        several = f" x{self.segments}" if self.segments > 1 else ""
        detection = f" {self.detection}" if self.detection else ""
        return f"{queue} {self.congestion}{several}{detection}" + (f" {self.jitter_us}us" if self.jitter_us else "")

    @property
    def discipline(self) -> Mapping[str, Any]:
        """The table that describes the queue in a scenario."""
        if self.limit is None:
            return {self.queue: {}}
        return {"droptail": {"limit": f"{self.limit}p", "super_segment": self.segments}}


def kit() -> list[Case]:
    """Returns the cases as Mininet runs them, with super-segments in the queue. The report has values only for Reno."""
    return [Case(cc, q, SUPER) for cc in CONGESTION for q in QUEUES]


def second_reading() -> list[Case]:
    """Returns the kit's cases of Reno, and that of BBR with Q = 100, with loss detection by duplicate ACKs alone.

    Kernels before RACK relied on duplicate ACKs (README, "Published and ours").
    """
    chosen = [case for case in kit() if case.congestion == "reno" or case == Case("bbr", 100, SUPER)]
    return [replace(case, detection=DUPTHRESH) for case in chosen]


def plain() -> list[Case]:
    """Returns the kit's cases with ordinary packets instead of super-segments, as in equation (2) and in live runs."""
    return [Case(cc, q) for cc in CONGESTION for q in QUEUES]


def today() -> list[Case]:
    """Returns the cases for today's queue disciplines with their defaults, under Reno."""
    return [Case("reno", queue=name) for name in TODAY]


def cases() -> list[Case]:
    """Returns all cases in the lab's network, except those of experiments."""
    return [*kit(), *second_reading(), *plain(), *today()]


def live_cases() -> list[Case]:
    """Returns the cases that can also run on kernels: those whose packets are no larger than the MTU."""
    return [*plain(), *today()]


EXPERIMENTS = DECLARED.experiments
#: Length of a run in the experiment `jitter`, in s.
JITTER_SECONDS = 180


def experiment_cases(name: str) -> list[Case]:
    """Returns the cases of an experiment. Raises `KeyError` for an unknown experiment."""
    return {"jitter": [Case("bbr", 100, jitter_us=us) for us in (0, 20, 50, 100, 200)]}[name]


#: An application starts at the first number plus a random fraction of the second number, in s. Pages start after the
#: first slow start, as in the lab, where the first fetch follows the start of the other programs.
_STARTS: Mapping[str, tuple[float, float]] = {LONG: (0.0, 1.0), PING: (0.0, 0.1), PAGE: (5.0, 2.0)}


def _start(name: str, seed: int) -> str:
    """Returns the start of an application, which differs from seed to seed."""
    base, spread = _STARTS[name]
    share = random.Random(f"csc458/{seed}/{name}").random()  # noqa: S311
    return ns(base + share * spread)


def build(case: Case, seed: int, lab: Lab | None = None) -> Scenario:
    """Returns the validated scenario of one run."""
    lab, name, network = lab or Lab(), f"csc458 {case}", toml("csc458", "network.toml")
    for way, link in network["link"].items():
        narrow = way in (UP, "down")
        link.update(rate=f"{lab.bw_net if narrow else lab.bw_host:g}mbit", delay=f"{lab.delay:g}ms")
        if narrow:
            link["queue"] = case.discipline
        if case.jitter_us and link["to"].startswith("h"):
            link["jitter"] = f"{case.jitter_us}us"
    for app, given in network["app"].items():
        given["start"] = _start(app, seed)
    # the preset undoes spurious window reductions and uses F-RTO; without RACK, the simulator supports neither of them.
    # Kernels before RACK had no SACK compression
    old = {"undo": "none", "frto": False, "sack_compression": "off"}
    other = {"loss_detection": case.detection, **old} if case.detection else {}
    network["tcp"]["lab"] |= {"congestion_control": case.congestion, **other}
    network |= {"name": name, "seed": seed, "duration": f"{lab.seconds}s"}
    return from_dict(network, source=name)


def network_card(seed: int) -> Scenario:
    """Returns the scenario for equation (1)."""
    return from_dict(toml("csc458", "card.toml") | {"seed": seed}, source=NIC)
