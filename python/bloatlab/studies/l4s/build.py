"""A case as a scenario."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bloatlab.scenario import Scenario, from_dict
from bloatlab.studies.l4s.cases import HEADERS, MSS, QUEUES, STACKS, Case, Load

NECK = "bottleneck"
#: Applications in the order of a case's loads.
SIDES = ("first", "second")


def build(case: Case, seed: int, seconds: int | None = None) -> Scenario:
    """The validated scenario of one run; `seconds` shortens it, and a third of it warms up."""
    name = f"l4s {case.key}"
    if seconds is not None and seconds < case.seconds:
        case = replace(case, seconds=seconds, warm_up=seconds // 3)
    data: Any = {
        "name": name,
        "seed": seed,
        "duration": f"{case.seconds}s",
        "record": {"warm_up": f"{case.warm_up}s"},
        "link": _links(case),
        "tcp": {x.stack: _stack(x, case.mss) for x in case.loads if not x.share},
        "app": {side: _app(x, n, case) for n, (side, x) in enumerate(zip(SIDES, case.loads, strict=False))},
    }
    return from_dict(data, source=name)


def _links(case: Case) -> dict[str, Any]:
    links: dict[str, Any] = {
        NECK: {"from": "r", "to": "home", "rate": f"{case.rate:g}mbit", "queue": QUEUES[case.queue]},
        "acks": {"from": "home", "to": "r"},
    }
    for n, load in enumerate(case.loads):
        links[f"in{n}"] = {"from": f"s{n}", "to": "r"}
        links[f"out{n}"] = {"from": "r", "to": f"s{n}", "delay": f"{load.rtt:g}ms"}
    return links


def _stack(load: Load, mss: int) -> dict[str, Any]:
    return {**STACKS[load.stack], **({} if mss == MSS else {"mss": mss})}


def _app(load: Load, place: int, case: Case) -> dict[str, Any]:
    where: dict[str, Any] = {"from": f"s{place}", "to": ["home"]}
    if not load.share:
        return where | {"tcp": load.stack, "traffic": {"ftp": {"flows": load.flows}}}
    cbr = {"rate": f"{load.share * case.rate * 1e3:g}kbit", "size": f"{load.size}B"}
    return where | {"datagram_ecn": load.stack, "traffic": {"cbr": cbr}}


def packet_ms(load: Load, case: Case) -> float:
    """Time to send a packet of a load."""
    return (load.size if load.share else case.mss + HEADERS) * 8e-3 / case.rate
