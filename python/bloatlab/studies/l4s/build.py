"""A case as a scenario."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bloatlab.scenario import Scenario, from_dict
from bloatlab.studies.l4s import heist
from bloatlab.studies.l4s.cases import HEADERS, MSS, QUEUES, STACKS, Case, Load

NECK = "bottleneck"
#: Applications in the order of a case's loads.
SIDES = ("first", "second")
#: How often ss was asked in the L4S tests.
SAMPLED = "50ms"


def build(case: Case, seed: int, seconds: int | None = None) -> Scenario:
    """The validated scenario of one run; `seconds` shortens it, and a third of it warms up."""
    name = f"l4s {case.key}"
    if seconds is not None and seconds < case.seconds:
        case = replace(case, seconds=seconds, warm_up=0 if case.then else seconds // 3)
    data: Any = {
        "name": name,
        "seed": seed,
        "duration": f"{case.seconds}s",
        "record": {"warm_up": f"{case.warm_up}s"} | ({"interval": SAMPLED} if case.then else {}),
        "link": _links(case, seed),
        "tcp": {x.stack: _stack(x, case.mss) for x in case.loads if not x.share},
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
    if case.bursts:
        _slot(links, "in0", "slots", seed, case)
        _slot(links, "out0", "slots back", seed, case)
    return links


def _neck(case: Case) -> dict[str, Any]:
    where = {"from": "r", "to": "home"}
    if not case.bench:
        return where | {"rate": f"{case.rate:g}mbit", "queue": QUEUES[case.queue]}
    neck: dict[str, Any] = where | {"rate": _framed(case.rate), "shaper": "htb", "queue": heist.QUEUES[case.queue]}
    if case.then:
        neck["changes"] = [{"at": f"{case.seconds * heist.STEP_AT:g}s", "rate": _framed(case.then)}]
    return neck


def _framed(rate: float) -> str:
    """A rate of Ethernet frames, in IP packets."""
    return f"{rate / heist.FRAME * 1e3:.0f}kbit"


def _after(delay: float) -> dict[str, Any]:
    return {"delay": f"{delay:g}ms"} if delay else {}


def _slot(links: dict[str, Any], delayed: str, name: str, seed: int, case: Case) -> None:
    """Behind a delay, a link that lets packets go in slots."""
    first, between = links[delayed], f"{name}'s begin"
    source = heist.slots(name, seed, case.seconds)
    links[name] = {
        "from": between,
        "to": first["to"],
        "queue": {"droptail": {"limit": "10000p"}},
        "delivery": {"trace": {"source": source}},
    }
    links[delayed] = first | {"to": between}


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
