"""What a Linux queue discipline is in bloatlab: tc's words and the kernel's defaults as a scenario's `queue`.

What is not named has the kernel's default, written out here where bloatlab's own differs. Source: the manual pages
(tc-pfifo(8), tc-codel(8), tc-fq_codel(8), tc-pie(8), tc-fq_pie(8), tc-sfq(8), tc-red(8), tc-cake(8)).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bloatlab.validate.tc import CORE, Qdisc

#: A full Ethernet frame without checksum: the kernel's "psched MTU", which quanta and laws take for a packet.
FRAME = 1514

#: Bytes that a size on the wire counts before its IP header.
ETHERNET = 14

#: What a drop-tail queue of tc holds without a limit: the interface's txqueuelen.
TXQUEUELEN = 1000


class NotSupportedError(ValueError):
    """There is nothing like it in bloatlab; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class _Link:
    """What some defaults depend on."""

    rate_bps: int


@dataclass(frozen=True, slots=True)
class Translated:
    """A scenario's queue, and what is to be said about it beside the results."""

    queue: Mapping[str, Any] | str
    remark: str = ""


def translate(qdisc: Qdisc, rate_bps: int) -> Translated:
    """`qdisc` on a link of `rate_bps`. Raises `NotSupportedError`."""
    if qdisc.root and qdisc.kind != "cake":
        raise NotSupportedError(f"{qdisc.kind} does not shape on its own")
    if qdisc.kind in CORE:
        return Translated(qdisc.text)
    build = _BUILD.get(qdisc.kind)
    if build is None:
        raise NotSupportedError(f"bloatlab has no {qdisc.kind}")
    return build(qdisc, _Link(rate_bps))


def _pfifo(q: Qdisc, _link: _Link) -> Translated:
    return Translated({"droptail": {"limit": f"{q.count('limit', TXQUEUELEN)}p"}})


def _bfifo(q: Qdisc, _link: _Link) -> Translated:
    return Translated({"droptail": {"limit": f"{q.count('limit', TXQUEUELEN * FRAME)}B"}})


def _codel(q: Qdisc, _link: _Link) -> Translated:
    law = _codel_law(q, ecn=False)
    return Translated({"codel": law | {"variant": "linux", "limit": f"{q.count('limit', 1000)}p"}})


def _fq_codel(q: Qdisc, _link: _Link) -> Translated:
    rest: dict[str, Any] = {"variant": "linux", "drop_batch": q.count("drop_batch", 64)}
    selector = q.text_of("ce_threshold_selector")
    # without a threshold it chooses among nothing, as in the kernel
    if selector is not None and q.has("ce_threshold"):
        rest["ce_threshold_selector"] = selector
    return Translated({"fq_codel": _codel_law(q, ecn=True) | _shared(q) | rest})


def _codel_law(q: Qdisc, *, ecn: bool) -> dict[str, Any]:
    law: dict[str, Any] = {
        "target": _time(q.number("target") or 5e-3),
        "interval": _time(q.number("interval") or 0.1),
        "ecn": _ecn(q, default=ecn),
    }
    threshold = q.number("ce_threshold")
    return law if threshold is None else law | {"ce_threshold": _time(threshold)}


def _shared(q: Qdisc) -> dict[str, Any]:
    """What fq_codel and fq_pie have in common."""
    return {
        "limit": f"{q.count('limit', 10_240)}p",
        "flows": q.count("flows", 1024),
        "quantum": f"{q.count('quantum', FRAME)}B",
        "memory_limit": f"{q.count('memory_limit', 32 << 20)}B",
    }


def _pie(q: Qdisc, _link: _Link) -> Translated:
    return Translated({"pie": _pie_law(q) | {"limit": f"{q.count('limit', 1000)}p"}})


def _fq_pie(q: Qdisc, _link: _Link) -> Translated:
    law = _pie_law(q) | {"mark_ecnth": (q.number("ecn_prob") or 10.0) / 100.0}
    return Translated({"fq_pie": _shared(q) | {"pie": law}})


def _pie_law(q: Qdisc) -> dict[str, Any]:
    # tc's alpha and beta are in sixteenths of 1/s
    return {
        "variant": "linux",
        "target": _time(q.number("target") or 15e-3),
        "tupdate": _time(q.number("tupdate") or 15e-3),
        "alpha": (2.0 if q.number("alpha") is None else float(q.options["alpha"])) / 16.0,
        "beta": (20.0 if q.number("beta") is None else float(q.options["beta"])) / 16.0,
        "ecn": _ecn(q, default=False),
        "bytemode": q.has("bytemode"),
        "delay": "departure_rate" if q.has("dq_rate_estimator") else "timestamp",
    }


def _sfq(q: Qdisc, _link: _Link) -> Translated:
    if q.has("flows"):
        raise NotSupportedError("bloatlab's sfq does not bound the number of flows")
    victim = "head" if q.has("headdrop") else "tail"
    perturb = q.number("perturb")
    given = {
        "variant": "linux",
        "limit": f"{q.count('limit', 127)}p",
        "queue_limit": f"{q.count('depth', 127)}p",
        "queues": q.count("divisor", 1024),
        "quantum": f"{q.count('quantum', FRAME)}B",
        "overflow": {"longest": {"by": "packets", "from": victim}},
    }
    return Translated({"sfq": given | ({"perturb": _time(perturb)} if perturb else {})})


def _red(q: Qdisc, _link: _Link) -> Translated:
    if q.has("adaptive") or q.has("nodrop"):
        raise NotSupportedError("red's adaptive and nodrop are not in bloatlab's red")
    limit = q.number("limit")
    if limit is None:
        raise NotSupportedError("red without a limit: tc refuses it, too")
    # tc-red(8): max defaults to limit / 4, min to max / 3, burst to (2 min + max) / (3 avpkt)
    maximum = q.number("max") or limit / 4
    minimum = q.number("min") or maximum / 3
    avpkt = q.number("avpkt") or 1000.0
    # "should be set to the bandwidth of the interface"; 10mbit by default, and only for idle times
    bandwidth = q.number("bandwidth") or 10e6
    return Translated(
        {
            "red": {
                "variant": "linux",
                "limit": f"{limit:.0f}B",
                "min": f"{minimum:.0f}B",
                "max": f"{maximum:.0f}B",
                "avpkt": f"{avpkt:.0f}B",
                "burst": q.count("burst", int((2 * minimum + maximum) / (3 * avpkt))),
                "probability": q.number("probability") or 0.02,
                "bandwidth": f"{bandwidth:.0f}bit",
                "ecn": q.has("ecn"),
                "harddrop": q.has("harddrop"),
            }
        }
    )


#: CAKE's words that take no value, and what they set.
_CAKE_WORDS: Mapping[str, Mapping[str, Any]] = {
    **{w: {"diffserv": w} for w in ("besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence")},
    **{w: {"isolation": w} for w in ("flowblind", "srchost", "dsthost", "hosts", "flows")},
    **{w: {"isolation": w.replace("-", "_")} for w in ("dual-srchost", "dual-dsthost", "triple-isolate")},
    "ack-filter": {"ack_filter": "normal"},
    "ack-filter-aggressive": {"ack_filter": "aggressive"},
    "no-ack-filter": {"ack_filter": "off"},
    "wash": {"wash": True},
    "nowash": {"wash": False},
    "ingress": {"ingress": True},
    "egress": {"ingress": False},
    "nonat": {},
    "split-gso": {"split_gso": True},
    "no-split-gso": {"split_gso": False},
    "unlimited": {},
    "raw": {},
    "noatm": {"framing": "none"},
    "atm": {"framing": "atm"},
    "ptm": {"framing": "ptm"},
    "docsis": {"overhead": 18, "mpu": 64},
    "ethernet": {"overhead": 38, "mpu": 84},
    "conservative": {"overhead": 48, "framing": "atm"},
    "pppoe-ptm": {"overhead": 30, "framing": "ptm"},
    "datacentre": {"rtt": "100us"},
    "lan": {"rtt": "1ms"},
    "metro": {"rtt": "10ms"},
    "regional": {"rtt": "30ms"},
    "internet": {"rtt": "100ms"},
    "oceanic": {"rtt": "300ms"},
    "satellite": {"rtt": "1s"},
}
#: What is not modelled.
_CAKE_ABSENT = ("autorate-ingress", "nat")


def _cake(q: Qdisc, link: _Link) -> Translated:
    for word in _CAKE_ABSENT:
        if q.has(word):
            raise NotSupportedError(f"bloatlab's cake has no {word}")
    bandwidth = q.number("bandwidth")
    if q.root and bandwidth is None:
        raise NotSupportedError("cake in the place of the shaper, and without a bandwidth")
    if bandwidth is not None and bandwidth > link.rate_bps:
        raise NotSupportedError(f"cake's own shaper above the link's {link.rate_bps} bit/s")
    # sizes on the wire count the Ethernet header, as the kernel's do
    given: dict[str, Any] = {"header": ETHERNET}
    for word, sets in _CAKE_WORDS.items():
        given |= sets if q.has(word) else {}
    if bandwidth is not None:
        given["bandwidth"] = f"{round(bandwidth)}bit"
    rtt = q.number("rtt")
    if rtt is not None:
        given["rtt"] = _time(rtt)
    given |= {name: q.count(name, 0) for name in ("overhead", "mpu") if q.number(name) is not None}
    if q.number("memlimit") is not None:
        given["memory_limit"] = f"{q.count('memlimit', 0)}B"
    return Translated({"cake": given})


_BUILD: Mapping[str, Callable[[Qdisc, _Link], Translated]] = {
    "pfifo": _pfifo,
    "bfifo": _bfifo,
    "codel": _codel,
    "fq_codel": _fq_codel,
    "pie": _pie,
    "fq_pie": _fq_pie,
    "sfq": _sfq,
    "red": _red,
    "cake": _cake,
}


def _ecn(q: Qdisc, *, default: bool) -> bool:
    return q.has("ecn") or (default and not q.has("noecn"))


def _time(seconds: float) -> str:
    return f"{round(seconds * 1e9)}ns"
