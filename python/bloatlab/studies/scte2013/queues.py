"""The queue disciplines of SCTE 2013 and those beside them, by the names of this study.

A buffer is sized in milliseconds of Tmax and given in bytes: M = ms x Tmax / 8 (SCTE 2013, Simulation Baseline).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bloatlab.studies.scte2013.parameters import OURS, Free

#: A queue as a scenario has it.
Spec = dict[str, dict[str, Any]]

#: What the values of `Free.overflow` are called in a scenario.
OVERFLOW: Mapping[str, Any] = {"tail": "tail", "longest": {"longest": {"by": "bytes", "from": "tail"}}}

#: The code point that the gamer and one FTP session carry where a hash collision is forced.
COLLISION_DSCP = 46


def lred(min_th_ms: float, p_min: float = 0.01, p_max: float = 0.05, free: Free = OURS) -> dict[str, Any]:
    """LRED with the curve of Figure 10c and MAXth twice MINth, as in all the paper's sets."""
    return {
        "curve": "10c",
        "min_th": f"{min_th_ms:g}ms",
        "max_th": f"{2 * min_th_ms:g}ms",
        "p_min": p_min,
        "p_max": p_max,
        "weight": free.lred_weight,
    }


def _law(name: str, **params: Any) -> Callable[[str, Free], Spec]:
    return lambda limit, _: {name: {"limit": limit, **params}}


def _lred(min_th_ms: float) -> Callable[[str, Free], Spec]:
    return lambda limit, free: {"lred": {"limit": limit, **lred(min_th_ms, free=free)}}


def _fair(name: str, min_th_ms: float = 0, **params: Any) -> Callable[[str, Free], Spec]:
    """A queue for each session; with `min_th_ms` LRED in each."""

    def spec(limit: str, free: Free) -> Spec:
        law = {"law": {"lred": lred(min_th_ms, free=free)}} if min_th_ms else {}
        return {name: {"limit": limit, "overflow": OVERFLOW[free.overflow], **params, **law}}

    return spec


#: How a scenario has each discipline, given its limit and the free parameters.
DISCIPLINES: Mapping[str, Callable[[str, Free], Spec]] = {
    # Type C of the paper: one queue, saturated
    "droptail": _law("droptail"),
    "head_drop": _law("droptail", drop_head=True),
    # Type B: one queue that drops early
    "red": _law("red"),  # Floyd & Jacobson 1993: 5 and 15 packets, 2 %
    "ared": _law("ared"),  # Floyd, Gummadi & Shenker 2001, 5 ms
    "wred": _law("wred"),  # Cisco, one precedence
    "blue": _law("blue"),
    "fred": _law("fred"),
    "cbt": _law("cbt"),  # MMCN 1999: TCP under RED 15 and 30 packets
    "dcbt": _law("dcbt"),
    "codel": _law("codel"),
    "pie": _law("pie"),
    "docsis_pie": _law("docsis_pie"),
    "cobalt": _law("cobalt"),
    "lred100": _lred(100),
    "lred200": _lred(200),  # Figure 11
    "lred50": lambda limit, free: {
        "lred": {"limit": limit, **lred(50, p_max=free.fig13_p_max, free=free)}
    },  # Figure 13
    # Type A: a queue for each session, or class
    "cbq": lambda *_: {"cbq": {}},  # three classes of 60 packets each, whatever the limit
    "drr": _law("drr", queues=256, quantum="1500B"),
    "sfq": _fair("perfect"),  # a queue for each session, packet round robin (Figure 5)
    "sfq_collision": _fair("perfect", shared_dscp=[COLLISION_DSCP]),  # Figure 7
    "sfq_hss": _fair("sfq_hss"),  # hashing and serial search, 64 x 4
    "sfq_lred700": _fair("sfq_hss", 700),  # Figure 14
    "sfq_lred200": _fair("sfq_hss", 200),  # Figure 16
    "sfq_codel": _law("sfq_codel"),
    "fq_codel": _law("fq_codel", ecn=False),
    "fq_pie": _law("fq_pie"),
}


def spec_of(name: str, buffer_ms: float, tmax_mbit: float, free: Free) -> Spec:
    """The queue `name` with a buffer of `buffer_ms` of Tmax. Raises `KeyError` for an unknown name."""
    return DISCIPLINES[name](f"{buffer_bytes(buffer_ms, tmax_mbit)}B", free)


def buffer_bytes(buffer_ms: float, tmax_mbit: float) -> int:
    """Bytes that Tmax drains in `buffer_ms`; 960 ms of 5 Mbit/s are 600 kB."""
    return round(buffer_ms * tmax_mbit * 125.0)
