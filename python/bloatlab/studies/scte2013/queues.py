"""The queue disciplines of SCTE 2013 and those beside them, by the names of this study.

A buffer is sized in milliseconds of Tmax and given in bytes: M = ms x Tmax / 8 (SCTE 2013, Simulation Baseline).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bloatlab.studies.scte2013.parameters import Free

#: A queue as a scenario has it.
Spec = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Discipline:
    """A discipline of the study: its type in the paper's taxonomy, what it is in words, how a scenario has it."""

    kind: str
    words: str
    spec: Callable[[str, Free], Spec]


def lred(min_th_ms: float, max_th_ms: float, p_min: float, p_max: float, free: Free) -> dict[str, Any]:
    """LRED with the curve of Figure 10c."""
    return {
        "curve": "10c",
        "min_th": f"{min_th_ms:g}ms",
        "max_th": f"{max_th_ms:g}ms",
        "p_min": p_min,
        "p_max": p_max,
        "weight": free.lred_weight,
    }


def _droptail(limit: str, free: Free) -> Spec:
    del free
    return {"droptail": {"limit": limit}}


def _law(name: str, **params: Any) -> Callable[[str, Free], Spec]:
    def spec(limit: str, free: Free) -> Spec:
        del free
        return {name: {"limit": limit, **params}}

    return spec


def _cbq(limit: str, free: Free) -> Spec:
    """CBQ with its three default classes of 60 packets each: every class has its own buffer, and nothing bounds them all."""
    del limit, free
    return {"cbq": {}}


def _lred(min_th_ms: float, max_th_ms: float, p_min: float, p_max: float | None) -> Callable[[str, Free], Spec]:
    """LRED alone; without `p_max`, that of Figure 13."""

    def spec(limit: str, free: Free) -> Spec:
        top = free.fig13_p_max if p_max is None else p_max
        return {"lred": {"limit": limit, **lred(min_th_ms, max_th_ms, p_min, top, free)}}

    return spec


def _fair(
    name: str, lred_set: tuple[float, float, float, float] | None = None, **params: Any
) -> Callable[[str, Free], Spec]:
    """A queue for each session; with `lred_set` (MINth and MAXth in ms, Pmin, Pmax) LRED in each."""

    def spec(limit: str, free: Free) -> Spec:
        queue = {"limit": limit, "overflow": OVERFLOW[free.overflow], **params}
        if lred_set is not None:
            queue["law"] = {"lred": lred(*lred_set, free)}
        return {name: queue}

    return spec


#: What the values of `Free.overflow` are called in a scenario.
OVERFLOW: Mapping[str, Any] = {"tail": "tail", "longest": {"longest": {"by": "bytes", "from": "tail"}}}

#: The code point that the gamer and one FTP session carry where a hash collision is forced.
COLLISION_DSCP = 46

DISCIPLINES: Mapping[str, Discipline] = {
    "droptail": Discipline("C", "saturated tail-dropping", _droptail),
    "head_drop": Discipline("C", "saturated head-dropping", _law("droptail", drop_head=True)),
    "red": Discipline("B", "RED (Floyd & Jacobson 1993: 5 and 15 packets, 2 %)", _law("red")),
    "ared": Discipline("B", "Adaptive RED (Floyd, Gummadi & Shenker 2001, 5 ms)", _law("ared")),
    "wred": Discipline("B", "WRED (Cisco, one precedence)", _law("wred")),
    "blue": Discipline("B", "BLUE", _law("blue")),
    "fred": Discipline("B", "FRED (an account for each flow)", _law("fred")),
    "cbt": Discipline("B", "CBT (MMCN 1999: TCP under RED 15 and 30 packets)", _law("cbt")),
    "dcbt": Discipline("B", "D-CBT", _law("dcbt")),
    "cbq": Discipline("A", "CBQ (a queue of 60 packets for each class)", _cbq),
    "drr": Discipline(
        "A", "DRR, 256 queues, a packet a turn; the longest pays", _law("drr", queues=256, quantum="1500B")
    ),
    "codel": Discipline("B", "CoDel (RFC 8289)", _law("codel")),
    "pie": Discipline("B", "PIE (RFC 8033)", _law("pie")),
    "docsis_pie": Discipline("B", "DOCSIS-PIE (RFC 8034)", _law("docsis_pie")),
    "cobalt": Discipline("B", "COBALT", _law("cobalt")),
    "lred100": Discipline("B", "LRED 100/200 ms, 1 to 5 %", _lred(100, 200, 0.01, 0.05)),
    "lred200": Discipline("B", "LRED 200/400 ms, 1 to 5 % (Figure 11)", _lred(200, 400, 0.01, 0.05)),
    "lred50": Discipline("B", "LRED 50/100 ms (Figure 13)", _lred(50, 100, 0.01, None)),
    "sfq": Discipline("A", "SFQ: a queue for each session, packet round robin (Figure 5)", _fair("perfect")),
    "sfq_collision": Discipline(
        "A", "SFQ with a forced collision (Figure 7)", _fair("perfect", shared_dscp=[COLLISION_DSCP])
    ),
    "sfq_hss": Discipline("A", "SFQ with hashing and serial search, 64 x 4", _fair("sfq_hss")),
    "sfq_lred700": Discipline("A", "the same and LRED 700/1400 (Figure 14)", _fair("sfq_hss", (700, 1400, 0.01, 0.05))),
    "sfq_lred200": Discipline("A", "the same and LRED 200/400 (Figure 16)", _fair("sfq_hss", (200, 400, 0.01, 0.05))),
    "sfq_codel": Discipline("A", "SFQ-CoDel", _law("sfq_codel")),
    "fq_codel": Discipline("A", "fq_codel (RFC 8290)", _law("fq_codel", ecn=False)),
    "fq_pie": Discipline("A", "fq_pie", _law("fq_pie")),
}


def spec_of(name: str, buffer_ms: float, tmax_mbit: float, free: Free) -> Spec:
    """The queue `name` with a buffer of so many milliseconds of Tmax. Raises `KeyError` for an unknown name."""
    return DISCIPLINES[name].spec(f"{buffer_bytes(buffer_ms, tmax_mbit)}B", free)


def buffer_bytes(buffer_ms: float, tmax_mbit: float) -> int:
    """Bytes that Tmax drains in `buffer_ms`; 960 ms of 5 Mbit/s are 600 kB."""
    return round(buffer_ms * tmax_mbit * 125.0)
