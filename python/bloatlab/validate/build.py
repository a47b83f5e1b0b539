"""Builds a scenario with the same network and traffic as a run on the kernel.

    h1 --nic, 1 Gbit/s-- e0 --cut-- s0 ==up, the discipline under test, HTB at R== s1 --hop, 1.02 R--> h2
       <----------------------- back, 1 Gbit/s, the base round trip -----------------------

Sizes on the wire include IP and 14 bytes of Ethernet, as the kernel's disciplines count them: a full segment is 1514
bytes, a ping 98. The shaper (HTB) releases a packet at once if it has enough tokens; packets are serialised at the hop
behind it (METHOD.md). If the text of the discipline begins with ROOT, CAKE does the shaping, and the link `up` has
no HTB. If necessary (see `cuts`), the link `cut` splits bursts into segments; without it, h1 is connected to s0.
"""

import random
from collections.abc import Callable, Mapping
from typing import Any

from bloatlab.scenario import AppDict, LinkDict, Override, Scenario, ScenarioDict, from_dict
from bloatlab.validate.queues import NotSupportedError, queue_of, shapes
from bloatlab.validate.reference import Entry, Flows, Udp
from bloatlab.workloads.build import ns

UP, HOP, BACK, ACKS, CUT = "up", "hop", "back", "acks", "cut"
PAGE = "page"
#: Payload of a full segment with timestamps, and the headers without TCP options (Ethernet, IPv4, TCP), in bytes.
MSS, TCP_HEADER = 1448, 54
#: Size of AccECN's TCP option in bytes.
ACCECN_OPTION = 12
#: Size of a full segment on the wire in bytes, without the frame checksum.
FRAME = 1514
#: The headers of a datagram in bytes: Ethernet, IPv4 and UDP.
UDP_HEADER = 42
#: Size of a page in bytes.
PAGE_BYTES = 177_669
#: Size on the wire of a ping with 56 data bytes.
PING_BYTES = 98

#: Rate of the hop behind the shaper, relative to the shaper's rate. It is above 1, so the hop's queue stays short.
HOP_RATE = 1.02

#: Rate of the hosts' own links, in bit/s.
ACCESS_BPS = 1_000_000_000
#: Rate of the senders' links if the entry has `h1_qdisc`, and of the link `cut`: practically unlimited.
UNLIMITED_BPS = 100_000_000_000

#: Memory of the receive buffer in bytes: at first, and at most. The kernel's maximum is 6 MiB, but in the kernel, 1448
#: bytes of payload take 3776 bytes of memory (scaling_ratio 98/256). In bloatlab, they take 2896 bytes.
RMEM = {"default": 131_072, "max": 2 * 6_291_456 * 98 // 256}

#: The kernel's default limit on segments per burst.
GSO_MAX_SEGS = 65_535

#: Burst size of the kernel's HTB in bytes.
HTB_BURST = 1600

#: Bin width of the recorded series, in s. It equals the shortest interval at which values are sampled on the kernel.
BIN_S = 0.01

#: Gaps between datagrams are random. Each gap differs from the mean gap by at most this fraction of the mean.
GAP_SPREAD = 0.1

#: Time from the end of the pings to the end of the run, in s.
PINGS_END_S = 2.0

CONGESTION = ("reno", "cubic", "bbr", "dctcp")

#: Value of net.ipv4.tcp_ecn on a client that requests AccECN.
ACCECN = 3

#: `CE` is the value of the ECN field for congestion experienced. `DATAGRAM_ECN` maps each ECN value that datagrams may
#: carry to the name that scenarios use for this value.
CE = 3
DATAGRAM_ECN: Mapping[int, str] = {1: "ect1", 2: "ect0"}


def ping_name(index: int) -> str:
    """Returns the name of the application that sends a stream of pings."""
    return f"ping{index + 1}"


def flow_name(group: int, index: int) -> str:
    """Returns the name of a flow's application.

    If there are at most ten groups, of at most 10 000 flows each, sorting these names gives the order of the flows.
    """
    return f"flow{group}_{index:04}"


def udp_name(index: int) -> str:
    """Returns the name of the application that sends a stream of datagrams."""
    return f"udp{index}"


def of_law(metric: str) -> bool:
    """Returns whether a metric describes the internal state of the queue discipline. Only traces contain this state."""
    return metric.startswith("head_age_") or metric == "prob_mean"


#: Keys allowed in `Flows.rest`, each with a function that returns whether a value is valid.
_FLOW_KEYS: Mapping[str, Callable[[Any], bool]] = {
    "ecn": lambda value: value in (0, 1, 2, ACCECN),
    "ect1": lambda value: value in (0, 1),
    "tos": lambda value: isinstance(value, int) and 0 <= value < 256 and value % 4 == 0,
    "dir": lambda value: value in ("up", "down"),
    "src": lambda value: isinstance(value, str),
    "dst": lambda value: isinstance(value, str),
}


def check(entry: Entry) -> None:
    """Raises `NotSupportedError` for traffic or a network that bloatlab cannot build."""
    _check_hosts(entry)
    for flows in entry.flows:
        if flows.cc not in CONGESTION:
            raise NotSupportedError(f"bloatlab has no {flows.cc[:20]}")
        for key, value in flows.rest.items():
            if key not in _FLOW_KEYS or not _FLOW_KEYS[key](value):
                raise NotSupportedError(f"a flow's {key} {str(value)[:40]}")
    if any(tos % 4 == CE for tos in (*entry.pings, *(u.tos for u in entry.udp))):
        raise NotSupportedError("pings or datagrams that are sent with CE")


def _check_hosts(entry: Entry) -> None:
    """Checks the keys in `Entry.rest`."""
    for key, value in entry.rest.items():
        if key not in _UNDERSTOOD:
            raise NotSupportedError(f"{key} {str(value)[:40]}")
    sysctl = entry.rest.get("sysctl", {})
    if not isinstance(sysctl, Mapping):
        raise NotSupportedError(f"sysctl {str(sysctl)[:40]}")
    for key, value in sysctl.items():
        if key not in _SYSCTLS:
            raise NotSupportedError(f"sysctl {key[:40]} {str(value)[:40]}")
    bursts = _bursts(entry)
    if not isinstance(bursts, int) or not 1 <= bursts <= GSO_MAX_SEGS:
        raise NotSupportedError(f"gso_max_segs {str(bursts)[:40]}")
    if entry.rest.get("tso", 0) not in (0, 1):  # a tuple, because a value of a file may be unhashable
        raise NotSupportedError(f"tso {str(entry.rest['tso'])[:40]}")
    own = str(entry.rest.get("h1_qdisc", "fq"))
    if own != "fq" and (own.split()[:1] != ["pfifo"] or not queue_of(own, ACCESS_BPS)):
        raise NotSupportedError(f"h1_qdisc {str(entry.rest['h1_qdisc'])[:40]}")


#: Keys allowed in `Entry.rest`: optional keys that describe the hosts and the uplink.
_UNDERSTOOD = ("gso_max_segs", "h1_qdisc", "sysctl", "tso", "up_bps", "up_qdisc")
#: Keys allowed in `sysctl`. They have no effect here: flows state their own ECN, and the ECN fallback matters only for
#: lost SYNs.
_SYSCTLS = ("net.ipv4.tcp_ecn", "net.ipv4.tcp_ecn_fallback")


def build(entry: Entry, seed: int, sets: tuple[Override, ...] = ()) -> Scenario:
    """Returns the scenario of one run.

    Raises `NotSupportedError` if bloatlab cannot build the entry, and `ScenarioError` if `sets` are not valid.
    """
    check(entry)
    data: ScenarioDict = {
        "name": entry.name,
        "seed": seed,
        "duration": ns(entry.duration_s),
        "link": _links(entry),
        "start_spread": "0s",
        "app": _apps(entry, seed),
        "tcp": {f"kernel{g}": _stack(entry, flows) for g, flows in enumerate(entry.flows)},
        "record": {
            "interval": ns(BIN_S),
            "links": [UP],
            "apps": [*flow_names(entry), *(udp_name(i) for i in range(len(entry.udp)))],
            "warm_up": ns(entry.warmup_s),
        },
    }
    if any(of_law(metric) for metric in entry.metrics):
        data["trace"] = {"links": [UP], "interval": ns(BIN_S)}
    return from_dict(data, source=entry.name, sets=sets)


def _links(entry: Entry) -> dict[str, LinkDict]:
    htb = {"rate": f"{entry.rate_bps}bit", "burst": f"{HTB_BURST}B", "cburst": f"{HTB_BURST}B"}
    up: LinkDict = {"from": "s0", "to": "s1", "queue": queue_of(entry.qdisc, entry.rate_bps)}
    if not shapes(entry.qdisc):
        up["shaper"] = {"htb": htb}
    senders, receivers = _hosts(entry, "src"), _hosts(entry, "dst")
    several = len(senders) > 1 or len(receivers) > 1
    there, here = ("d0", "b0") if several else ("h2", "h1")
    links: dict[str, LinkDict] = {UP: up, HOP: _wire("s1", there, round(HOP_RATE * entry.rate_bps))}
    delay = ns(entry.rtt_ms * 1e-3)
    way_back = here if entry.up_bps is None else "s2"
    access = UNLIMITED_BPS if "h1_qdisc" in entry.rest else ACCESS_BPS
    entrance = "e0" if cuts(entry) else "s0"
    if cuts(entry):
        # this CAKE only splits bursts into segments; at this rate, its queue is practically empty
        links[CUT] = _wire(entrance, "s0", UNLIMITED_BPS) | {"queue": "cake besteffort flowblind"}
    for k, host in enumerate(senders.values()):
        links["nic" if k == 0 else f"nic{k}"] = _wire(host, entrance, access)
        if several:
            links[f"in{k}"] = _wire(here, host, ACCESS_BPS)
    for k, host in enumerate(receivers.values()):
        links[BACK if k == 0 else f"{BACK}{k}"] = _wire(host, way_back, ACCESS_BPS) | {"delay": delay}
        if several:
            links[f"out{k}"] = _wire(there, host, ACCESS_BPS)
    if entry.up_bps is not None:
        links |= _uplink(entry, entry.up_bps, here)
    return links


def _uplink(entry: Entry, rate: int, to: str) -> dict[str, LinkDict]:
    """Returns the two links that form the bottleneck on the path of the ACKs.

    The first link has a discipline that does its own shaping. The second link is the hop behind it.
    """
    qdisc = str(entry.rest.get("up_qdisc", ""))
    if not shapes(qdisc):
        raise NotSupportedError("an up_qdisc that does not shape on its own")
    return {
        ACKS: {"from": "s2", "to": "s3", "queue": queue_of(qdisc, rate)},
        f"{ACKS}_hop": _wire("s3", to, round(HOP_RATE * rate)),
    }


def _wire(source: str, to: str, rate: int) -> LinkDict:
    """Returns a link with a FIFO that never fills up."""
    return {"from": source, "to": to, "rate": f"{rate}bit", "queue": {"droptail": {"limit": "1000000p"}}}


def _hosts(entry: Entry, side: str) -> dict[str, str]:
    """Returns a mapping from the address of each host on one side ("src" or "dst") to its node, in flow order.

    An entry without addresses has one host on each side.
    """
    node = {"src": "h1", "dst": "h2"}[side]
    given = list(dict.fromkeys(str(flows.rest[side]) for flows in entry.flows if side in flows.rest))
    return {address: node if k == 0 else f"{node}_{k + 1}" for k, address in enumerate(given or [""])}


def _ends(entry: Entry, flows: Flows) -> tuple[str, str]:
    """Returns the node that sends the data of a group of flows, and the node that receives the data."""
    nodes = [
        _hosts(entry, side).get(str(flows.rest.get(side, "")), home) for side, home in (("src", "h1"), ("dst", "h2"))
    ]
    if flows.rest.get("dir") == "up":
        nodes.reverse()
    return nodes[0], nodes[1]


def _stack(entry: Entry, flows: Flows) -> dict[str, Any]:
    """Returns TCP settings for a group of flows, with which bloatlab imitates the kernel's TCP.

    If the group has `ect1`, the packets measured on the kernel were changed to ECT(1) by a filter. In bloatlab, the
    sender itself sends ECT(1).
    """
    asked = flows.rest.get("ecn")
    accurate = asked == ACCECN
    stack: dict[str, Any] = {"preset": "linux-6", "congestion_control": flows.cc, "header_bytes": TCP_HEADER}
    stack |= {
        "gso_max_segs": int(_bursts(entry)),
        # h1 paces if its qdisc is fq; a pfifo there never holds packets, because h1's link is practically unlimited
        "paced": entry.rest.get("h1_qdisc") == "fq",
        "ack_pushed": True,
        "receive_window": "auto",
        "rmem": RMEM,
        "tso": offloads(entry) or cuts(entry),
    }
    stack["ecn"] = asked in {1, ACCECN} or flows.cc == "dctcp"
    if accurate:
        stack |= {"ecn_feedback": "accecn", "accecn_option": True}
    elif flows.cc == "dctcp":
        stack["ecn_feedback"] = "dctcp"
    if flows.rest.get("ect1"):
        stack["ect"] = "ect1"
    return stack


def cuts(entry: Entry) -> bool:
    """Returns whether a burst crosses the link of its sender as one packet, and is split into segments before s0.

    The segments of a burst then arrive together.
    """
    return not entry.rest.get("tso") and _bursts(entry) != 1


def offloads(entry: Entry) -> bool:
    """Returns whether packets of several segments reach the disciplines."""
    return bool(entry.rest.get("tso")) and _bursts(entry) != 1


def _bursts(entry: Entry) -> Any:
    """Returns the maximum number of segments per burst."""
    return entry.rest.get("gso_max_segs", GSO_MAX_SEGS)


def mss(flows: Flows) -> int:
    """Returns the payload of a full segment in bytes, for a group of flows.

    With AccECN, the payload is 12 bytes smaller, because the TCP option takes this space.
    """
    return MSS - ACCECN_OPTION if flows.rest.get("ecn") == ACCECN else MSS


def _apps(entry: Entry, seed: int) -> dict[str, AppDict]:
    apps: dict[str, AppDict] = {}
    for g, flows in enumerate(entry.flows):
        source, to = _ends(entry, flows)
        for i in range(flows.n):
            name = flow_name(g, i)
            apps[name] = {
                "from": source,
                "to": [to],
                "tcp": f"kernel{g}",
                "start": ns(start_s(entry, seed, name)),
                "dscp": int(flows.rest.get("tos", 0)) >> 2,
                "traffic": {"ftp": {}},
            }
    for i, tos in enumerate(entry.pings):
        name = ping_name(i)
        apps[name] = {
            "from": "h1",
            "to": ["h2"],
            "start": ns(0.1 * start_s(entry, seed, name)),
            "stop": ns(entry.duration_s - PINGS_END_S),
            "traffic": {"ping": {"interval": "100ms", "size": f"{PING_BYTES}B"}},
            **_marked(tos),
        }
    for i, udp in enumerate(entry.udp):
        apps[udp_name(i)] = _datagrams(udp)
    if entry.group == "a":
        page = {"direction": "down", "size": f"{PAGE_BYTES}B", "interval": "2s"}
        apps[PAGE] = {"from": "h2", "to": ["h1"], "tcp": "kernel0", "start": "2s", "traffic": {"ftp": page}}
    return apps


def _datagrams(udp: Udp) -> AppDict:
    size = udp.payload + UDP_HEADER
    rate = f"{round(udp.bps * size / udp.payload)}bit"
    cbr = {"rate": rate, "size": f"{size}B", "arrivals": "random_walk", "randomize": GAP_SPREAD}
    return {
        "from": "h1",
        "to": ["h2"],
        "start": ns(udp.start_s),
        "stop": ns(udp.stop_s),
        "traffic": {"cbr": cbr},
        **_marked(udp.tos),
    }


def _marked(tos: int) -> AppDict:
    """Returns the DSCP and the ECN field of datagrams, from the header byte that the kernel calls TOS."""
    ecn = DATAGRAM_ECN.get(tos % 4)
    return {"dscp": tos >> 2} if ecn is None else {"dscp": tos >> 2, "datagram_ecn": ecn}


def flow_names(entry: Entry) -> list[str]:
    """Returns the names of the applications of all flows, group by group."""
    return [flow_name(g, i) for g, flows in enumerate(entry.flows) for i in range(flows.n)]


def start_s(entry: Entry, seed: int, name: str) -> float:
    """Returns a random time for an application, in [0, 1) s. A flow starts at this time, pings at a tenth of it.

    Seeds also change the random numbers of the simulation, and which samples of a queue are measured.
    """
    return random.Random(f"validate/{entry.name}/{seed}/{name}").random()  # noqa: S311
