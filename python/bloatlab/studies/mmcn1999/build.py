"""The workload of the slides, the compared queues, and their scenarios.

    ftp, mm, udp --100 Mbit/s--> r1 --10 Mbit/s, the queue, 20 ms--> r2 --100 Mbit/s--> sink

The traffic consists of 30 unlimited FTPs, six ProShare sessions of 210 kbit/s (code point AF41), and a blast of
10 Mbit/s in 1000-byte packets from 20 to 60 s. The slides leave some points open, for which we chose the following:

- The round trip without queueing is 40.4 ms, and TCP is Reno with 1500-byte packets.
- The datagrams of the blast jitter by up to their spacing, because evenly spaced datagrams would synchronise with the
  departures of a drop-tail queue.
- There are separate sessions before, during and after the blast, so that delays and drops can be measured separately.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bloatlab.scenario import Scenario, from_dict
from bloatlab.studies.declared import Declared
from bloatlab.studies.published import toml

SECONDS = 100
BLAST_S = (20, 60)
#: One-way delay without queueing: 20 ms, and 0.1 ms on each of the two access links.
PROPAGATION_MS = 20.2
LINK = "bottleneck"
SESSIONS = 6
#: The senders' TCP: ns-2's Reno without limited transmit (RFC 3042, 2001), which was published after the slides.
RENO = {"preset": "ns2-reno", "limited_transmit": False}
#: The senders' TCP in the cases of `second_reading`, with the limited transmit of ns-2 2.35 (README, "One change was
#: made after seeing results").
RENO_2001 = {"preset": "ns2-reno", "limited_transmit": True}

DECLARED = Declared("mmcn1999")
EXPERIMENTS = DECLARED.experiments

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Scheme:
    """A queue to compare, with a description of the state that the queue holds in addition to packets."""

    key: str
    name: str
    queue: Json
    state: str


_FILE = toml("mmcn1999", "cases.toml")

#: `PAPER` names the queues in the slides; `SCHEMES` contains all compared queues.
PAPER = ("fifo", "red", "fred", "cbt", "cbq")
SCHEMES = tuple(
    Scheme(key, **_FILE["schemes"][key])
    for key in ("fifo", "red", "fred", "cbt", "dcbt", "cbq", "fq_codel", "pie", "sfq_codel")
)
QUEUES = {scheme.key: scheme.queue for scheme in SCHEMES}
RED: Json = QUEUES["red"]["red"]

#: The key of the case in which a FIFO drops the same share of all kinds of datagrams, because their arrivals are almost
#: independent of each other.
LAW = "fifo, blast of fifty flows, smooth sessions"


@dataclass(frozen=True, slots=True)
class Case:
    """A queue and its workload. The default values of the fields are the workload of the slides."""

    key: str
    queue: Json
    ftps: int = 30
    session: str = "proshare"
    calls: int = 0
    blasts: int = 1
    limited_transmit: bool = False

    def __str__(self) -> str:
        return self.key


def main_cases() -> list[Case]:
    """Returns the nine queues under the slides' workload."""
    return [Case(s.key, s.queue) for s in SCHEMES]


def limited_transmit(key: str) -> str:
    """Returns the key of the case in which the senders behind the queue `key` use limited transmit."""
    return f"{key}, limited transmit"


def second_reading() -> list[Case]:
    """Returns the cases with limited transmit: one for each of the four queues ranked by drops of tagged datagrams."""
    return [Case(limited_transmit(k), QUEUES[k], limited_transmit=True) for k in ("fifo", "red", "cbt", "cbq")]


def experiment_cases(name: str) -> list[Case]:
    """Returns the cases of an experiment. Raises `KeyError` for an unknown experiment."""
    if name == "thresholds":
        pairs = itertools.product((2, 5, 10, 20), (1, 2, 5, 10))
        return [Case(f"mm-th {mm}, udp-th {udp}", cbt(mm=mm, udp=udp)) for mm, udp in pairs]
    found: list[Case] = []
    for key, table in _FILE["experiments"][name].items():
        changes = {field: value for field, value in table.items() if field not in ("of", "cbt")}
        if "of" in table:
            found += [Case(key.format(queue), QUEUES[queue], **changes) for queue in table["of"]]
        else:
            found.append(Case(key, **({"queue": cbt(**table["cbt"])} if "cbt" in table else {}), **changes))
    return found


def cbt(
    mm: int = 10,
    udp: int = 2,
    weight: float = 0.002,
    sampling: str = "arrivals",
    *,
    apart: bool = False,
    early: float = 0.0,
) -> Json:
    """Returns CBT with a threshold of `mm` packets for tagged datagrams and one of `udp` packets for other datagrams.

    `weight` is the EWMA weight of the datagram classes; the RED of the TCP class has its own weight. With `apart`,
    voice (10 packets) and video (`mm` packets) are separate classes. With `early`, the datagram classes use RED instead
    of a threshold: drops begin at half the threshold, and every packet is dropped if the average is at least `early`
    times the threshold.
    """

    def threshold(name: str, packets: int, match: Json) -> Json:
        test: Json = {"threshold": f"{packets}p"}
        if early:
            low, high = max(1, packets // 2), round(early * packets)
            test = {"red": {"min_th": f"{low}p", "max_th": f"{high}p", "max_p": 0.1}}
        return {"name": name, "match": match, "test": test, "weight": weight, "sampling": sampling}

    def marked(*dscp: int) -> Json:
        return {"protocol": ["udp", "icmp"], "dscp": list(dscp)}

    red = {"min_th": "15p", "max_th": "30p", "max_p": 0.1}
    tagged = (
        [threshold("voice", 10, marked(46)), threshold("video", mm, marked(34))]
        if apart
        else [threshold("tagged", mm, marked(34, 46))]
    )
    tcp = {"name": "tcp", "match": {"protocol": ["tcp"]}, "test": {"red": red}, "sampling": sampling}
    return {"cbt": {"classes": [tcp, *tagged, threshold("other", udp, {})]}}


def build(case: Case, seed: int, seconds: int = SECONDS) -> Scenario:
    """Returns the scenario of one case."""
    network = toml("mmcn1999", "network.toml")
    network["link"][LINK]["queue"] = dict(case.queue)
    network["tcp"] = {"reno": RENO_2001 if case.limited_transmit else RENO}
    network["app"] = _ftps(case) | _sessions(case, seconds) | _blast(case)
    return from_dict(network | {"name": f"mmcn1999 {case}", "seed": seed, "duration": f"{seconds}s"})


def _ftps(case: Case) -> dict[str, Any]:
    # groups of 30 flows, because series are kept only for applications with at most 32 flows
    groups = range(case.ftps // 30)
    one = {"from": "ftp", "to": ["sink"], "tcp": "reno", "traffic": {"ftp": {"flows": 30}}}
    return {f"ftp{g}": one | {"start": f"{g * 10}ms"} for g in groups}


def _sessions(case: Case, seconds: int) -> dict[str, Any]:
    traffic = (
        {"proshare": {}} if case.session == "proshare" else {"cbr": {"rate": "210kbit", "size": 700, "randomize": 1.0}}
    )
    parts = (("before", 0, BLAST_S[0]), ("blast", *BLAST_S), ("after", BLAST_S[1], seconds))
    kinds = (("mm", SESSIONS, 34, traffic), ("voice", case.calls, 46, {"voip": {}}))
    return {
        f"{kind}_{part}_{i}": {
            "from": "mm", "to": ["sink"], "dscp": dscp, "start": f"{a}s", "stop": f"{b}s", "traffic": sent,
        }
        for kind, number, dscp, sent in kinds
        for part, a, b in parts
        for i in range(number)
    }  # fmt: skip


def _blast(case: Case) -> dict[str, Any]:
    a, b = BLAST_S
    traffic = {"cbr": {"rate": f"{10_000 // case.blasts}kbit", "size": 1000, "randomize": 1.0}}
    one = {"from": "udp", "to": ["sink"], "start": f"{a}s", "stop": f"{b}s", "traffic": traffic}
    return {f"blast{i}": one for i in range(case.blasts)}
