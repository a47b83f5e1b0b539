"""The network of METHOD.md in network namespaces, and its queue disciplines.

h1 --(1 Gbit/s)-- s0 --[rate R, discipline under test]-- s1 ==1.02 R, unlimited FIFO== h2
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shlex
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

LIBC = ctypes.CDLL("libc.so.6", use_errno=True)
CLONE_NEWNET = 0x40000000
HOSTS = ("h1", "s0", "s1", "h2")
#: The value of net.ipv4.tcp_ecn that requests AccECN.
ACCECN = 3
#: Handles of the discipline under test (10:) and of its parent, a class of HTB (1:1).
HANDLE, CLASS = 0x00100000, 0x00010001
#: A queue that never fills up, in packets.
UNLIMITED = 1_000_000


def shell(line: str) -> None:
    """Runs a command. Exits with its message if it fails."""
    done = subprocess.run(shlex.split(line), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{line}: {done.stderr.strip()}")


def inside(host: str, line: str) -> None:
    """Runs a command in a host's network namespace."""
    shell(f"ip netns exec {host} {line}")


@contextlib.contextmanager
def namespace(host: str) -> Generator[None]:
    """Enters a host's network namespace. Sockets stay in the namespace in which they were made."""
    before, there = os.open("/proc/self/ns/net", os.O_RDONLY), os.open(f"/run/netns/{host}", os.O_RDONLY)
    try:
        if LIBC.setns(there, CLONE_NEWNET):
            sys.exit(f"setns {host}: {os.strerror(ctypes.get_errno())}")
        yield
    finally:
        LIBC.setns(before, CLONE_NEWNET)
        os.close(there)
        os.close(before)


def sysctl(host: str, key: str, value: object) -> None:
    """Sets a sysctl in a host's namespace. Exits with a message if the kernel refuses the value."""
    with namespace(host):
        try:
            Path("/proc/sys", *key.split(".")).write_text(str(value))
        except OSError as error:
            sys.exit(f"{key} = {value}: {error.strerror}")


def build(spec: dict[str, Any]) -> None:
    """Makes the hosts, the links and the queues of a scenario."""
    for host in HOSTS:
        shell(f"ip netns add {host}")
        inside(host, "ip link set lo up")
        sysctl(host, "net.ipv4.ip_forward", 1)
        sysctl(host, "net.ipv4.tcp_no_metrics_save", 1)
    sources = sorted({"10.0.1.1"} | {flows["src"] for flows in spec["flows"] if "src" in flows})
    targets = sorted({"10.0.2.1"} | {flows["dst"] for flows in spec["flows"] if "dst" in flows})
    _link(spec, 1, ("h1", sources), ("s0", ["10.0.1.254"]))
    _link(spec, 0, ("s0", ["10.0.0.1"]), ("s1", ["10.0.0.2"]))
    _link(spec, 2, ("s1", ["10.0.2.254"]), ("h2", targets))
    inside("h1", "ip route add default via 10.0.1.254")
    inside("s0", "ip route add 10.0.2.0/24 via 10.0.0.2")
    inside("s1", "ip route add 10.0.1.0/24 via 10.0.0.1")
    inside("h2", "ip route add default via 10.0.2.254")
    _queues(spec)
    for host in ("h1", "h2"):
        for key, value in spec.get("sysctl", {}).items():
            sysctl(host, key, value)
        if any(flows.get("ecn") == ACCECN for flows in spec["flows"]):
            for key, value in (("tcp_ecn", ACCECN), ("tcp_ecn_option", 2), ("tcp_ecn_option_beacon", 3)):
                sysctl(host, f"net.ipv4.{key}", value)


def _link(spec: dict[str, Any], net: int, one: tuple[str, Sequence[str]], two: tuple[str, Sequence[str]]) -> None:
    """Joins two hosts by a link. Neighbour entries are permanent, so there is no ARP."""
    (a, at_a), (b, at_b) = one, two
    macs = {a: f"02:00:00:00:{net:02}:01", b: f"02:00:00:00:{net:02}:02"}
    shell(f"ip link add {a}-{b} netns {a} type veth peer name {b}-{a} netns {b}")
    offload = "on" if spec.get("tso") else "off"
    for host, other, own, far in ((a, b, at_a, at_b), (b, a, at_b, at_a)):
        device = f"{host}-{other}"
        inside(host, f"ip link set {device} address {macs[host]} up")
        for address in own:
            inside(host, f"ip addr add {address}/24 dev {device}")
        for address in far:
            inside(host, f"ip neigh replace {address} lladdr {macs[other]} nud permanent dev {device}")
        inside(host, f"ethtool -K {device} tx {offload} tso {offload} gso {offload} gro off")
        if "gso_max_segs" in spec:
            inside(host, f"ip link set {device} gso_max_segs {spec['gso_max_segs']}")


def _queues(spec: dict[str, Any]) -> None:
    rate, hop = spec["rate_bps"], round(1.02 * spec["rate_bps"])
    inside("h1", f"tc qdisc add dev h1-s0 root {spec.get('h1_qdisc') or f'netem rate 1gbit limit {UNLIMITED}'}")
    inside("h2", f"tc qdisc add dev h2-s1 root netem delay {spec['rtt_ms']}ms limit {UNLIMITED}")
    inside("s1", f"tc qdisc add dev s1-h2 root netem rate {hop}bit limit {UNLIMITED}")
    back = "1gbit"
    if spec.get("up_bps"):
        back = f"{round(1.02 * spec['up_bps'])}bit"
        inside("s1", f"tc qdisc add dev s1-s0 root handle 10: {spec['up_qdisc'].removeprefix('ROOT ')}")
    inside("s0", f"tc qdisc add dev s0-h1 root netem rate {back} limit {UNLIMITED}")
    text = spec["qdisc"]
    if text.startswith("ROOT "):
        inside("s0", f"tc qdisc add dev s0-s1 root handle 10: {text.removeprefix('ROOT ')}")
        return
    inside("s0", "tc qdisc add dev s0-s1 root handle 1: htb default 1")
    inside(
        "s0",
        f"tc class add dev s0-s1 parent 1: classid 1:1 htb rate {rate}bit ceil {rate}bit burst 1600 cburst 1600 "
        "quantum 1514",
    )
    if text.split()[0] == "dualpi2":
        _add_dualpi2(text.split()[1:])
    else:
        inside("s0", f"tc qdisc add dev s0-s1 parent 1:1 handle 10: {text}")


def rewrite_ect(ports: Sequence[int]) -> None:
    """Changes ECT(0) to ECT(1) in front of s0's queue, in packets to these ports."""
    if ports:
        inside("s0", "tc qdisc add dev s0-h1 ingress")
    for port in ports:
        inside(
            "s0",
            f"tc filter add dev s0-h1 ingress protocol ip u32 match ip tos 2 0x03 match ip dport {port} 0xffff "
            "action pedit munge ip tos set 1 retain 0x03 pipe csum ip",
        )


# --- Netlink. tc of Debian 12 has no dualpi2, and starting tc for each sample of a queue would take too long.

RTM_NEWQDISC, RTM_GETQDISC = 36, 38
#: Flags of requests. READ is NLM_F_REQUEST and NLM_F_ECHO; without NLM_F_ECHO, the kernel does not answer. CREATE is
#: NLM_F_REQUEST, NLM_F_ACK, NLM_F_EXCL and NLM_F_CREATE.
READ, CREATE = 0x9, 0x605
NLMSG_ERROR = 2


def _micros(text: str) -> int:
    scale = {"us": 1, "ms": 1000, "s": 1_000_000}
    found = re.fullmatch(r"([\d.]+)(us|ms|s)", text)
    if found is None:
        sys.exit(f"dualpi2: {text}: expected a time, such as 1ms")
    return round(float(found[1]) * scale[found[2]])


def _scaled(text: str) -> int:
    """Returns a gain in units of 1/256 Hz, rounded down as by tc."""
    return int(float(text) * 256)


#: dualpi2's attributes (TCA_DUALPI2_*), by tc's keywords. `_U32`: the number of an attribute, and the function that
#: reads its value. `_U8`: the number of an attribute of one byte. `_FLAGS`: the number and value of a keyword.
_U32: dict[str, tuple[int, Callable[[str], int]]] = {
    "limit": (1, int),
    "memory_limit": (2, int),
    "target": (3, _micros),
    "tupdate": (4, _micros),
    "alpha": (5, _scaled),
    "beta": (6, _scaled),
    "step_thresh": (8, _micros),
    "min_qlen_step": (9, int),
}
_U8: dict[str, int] = {"coupling_factor": 10, "c_protection": 13}
_FLAGS: dict[str, tuple[int, int]] = {
    "drop_on_overload": (11, 1),
    "overflow": (11, 0),
    "drop_enqueue": (12, 1),
    "drop_dequeue": (12, 0),
    "l4s_ect": (14, 1),
    "any_ect": (14, 3),
    "split_gso": (15, 1),
    "no_split_gso": (15, 0),
}


def _dualpi2_options(words: Sequence[str]) -> bytes:
    found, left = b"", list(words)
    while left:
        word = left.pop(0)
        if word in _FLAGS:
            number, value = _FLAGS[word]
            found += _attribute(number, struct.pack("=B", value))
        elif word in _U8 and left:
            found += _attribute(_U8[word], struct.pack("=B", int(left.pop(0))))
        elif word in _U32 and left:
            number, read = _U32[word]
            found += _attribute(number, struct.pack("=I", read(left.pop(0))))
        else:
            sys.exit(f"dualpi2: unknown word or missing value: {word}")
    return found


def _add_dualpi2(words: Sequence[str]) -> None:
    with namespace("s0"), _netlink() as link:
        message = struct.pack("=BxxxiIII", 0, socket.if_nametoindex("s0-s1"), HANDLE, CLASS, 0)
        message += _attribute(1, b"dualpi2\0") + _attribute(0x8002, _dualpi2_options(words))
        code, data = _ask(link, RTM_NEWQDISC, CREATE, message)
    (number,) = struct.unpack_from("=i", data)
    if code != NLMSG_ERROR or number:
        sys.exit(f"dualpi2: the kernel refuses it: {os.strerror(-number)}")


def _attribute(kind: int, data: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def _attributes(data: bytes) -> dict[int, bytes]:
    found, at = dict[int, bytes](), 0
    while at + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, at)
        found[kind & 0x3FFF] = data[at + 4 : at + length]
        at += max(length, 4) + -length % 4
    return found


def _netlink() -> socket.socket:
    link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    link.bind((0, 0))
    return link


def _ask(link: socket.socket, kind: int, flags: int, body: bytes) -> tuple[int, bytes]:
    """Sends a request. Returns the type and the body of the first message of the answer."""
    link.send(struct.pack("=IHHII", 16 + len(body), kind, flags, 1, 0) + body)
    data = link.recv(1 << 18)
    length, code = struct.unpack_from("=IH", data)
    return code, data[16:length]


Counters = dict[str, float]


class Qdisc:
    """The counters of the discipline that has the handle `10:` on a device."""

    def __init__(self, host: str, device: str) -> None:
        with namespace(host):
            self._link = _netlink()
            self._body = struct.pack("=BxxxiIII", 0, socket.if_nametoindex(device), HANDLE, 0, 0)

    def read(self) -> Counters:
        """Reads packets sent and dropped, the length of the queue, and the counters of this kind of discipline."""
        code, data = _ask(self._link, RTM_GETQDISC, READ, self._body)
        if code != RTM_NEWQDISC:
            sys.exit("the discipline cannot be read")
        found = _attributes(data[20:])
        kind, stats = found[1].rstrip(b"\0").decode(), _attributes(found[7])
        (packets,) = struct.unpack_from("=Q", stats[8]) if 8 in stats else struct.unpack_from("=8xI", stats[1])
        qlen, _, drops = struct.unpack_from("=III", stats[3])
        return {"packets": packets, "qlen": qlen, "drops": drops} | _own(kind, stats.get(4, b""))


#: Offsets of the counters of CE marks in each kind's own statistics, in bytes (linux/pkt_sched.h).
_MARKS = {
    "codel": (24, 32),
    "fq_codel": (12, 28),
    "pie": (36,),
    "fq_pie": (16,),
    "red": (12,),
    "choke": (12,),
    "sfb": (20,),
}
_DUALPI2 = ("prob", "delay_c", "delay_l", "in_c", "in_l", "maxq", "marks", "step")
#: Numbers of attributes in CAKE's statistics: the tins; and within a tin, the CE marks and the ACKs that the ACK filter
#: dropped.
_TINS, _TIN_MARKS, _TIN_ACKS = 10, 8, 6


def _own(kind: str, data: bytes) -> Counters:
    if not data:
        return {}
    if kind in _MARKS:
        found: Counters = {"marks": sum(struct.unpack_from("=I", data, at)[0] for at in _MARKS[kind])}
        return found | ({"prob": struct.unpack_from("=Q", data)[0] / 2**64} if kind == "pie" else {})
    if kind == "dualpi2":
        found = dict(zip(_DUALPI2, map(float, struct.unpack_from("=8I", data)), strict=True))
        return found | {"prob": found["prob"] / 2**32}
    if kind == "cake":
        tins = [_attributes(tin) for tin in _attributes(_attributes(data).get(_TINS, b"")).values()]
        count: Callable[[int], float] = lambda key: sum(struct.unpack("=I", tin[key])[0] for tin in tins if key in tin)  # noqa: E731
        return {"marks": count(_TIN_MARKS), "ack_drops": count(_TIN_ACKS)}
    return {}
