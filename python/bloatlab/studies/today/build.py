"""A case as a scenario: CableLabs 2012's home and loads, with a game beside them, and the line and the TCP of the case.

    home --lan-- modem ==up/down== cmts --- servers              of 2012, or of DOCSIS 3.1
    home --lan-- router --wan-- modem ==up/down== cmts           a router that shapes to 95 % of the sustained rates, both ways

The line is the paper's: 5 Mbit/s up (10 MB at 20), 20 Mbit/s down (20 MB at 50). With DOCSIS 3.1 the CMTS has the modem's disciplines
downstream; on all other lines it has the paper's drop-tail queue. The game sends 128 bytes each 33 ms and says that it does not build
queues (code point 45); the call says expedited forwarding (46). A modem of 2012 knows neither.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bloatlab.scenario import Scenario, from_dict
from bloatlab.studies.today import considerations
from bloatlab.studies.today.cases import TCP, Case, Line, Stack
from bloatlab.workloads.cable_home import DOWN, UP, Setup, describe

SECONDS, WARM_UP = 60, 10
GAME, NQB, EF = "game", 45, 46
WAN = {UP: "wan", DOWN: "wan_down"}

#: What the paper leaves open, fixed here: results do not follow the study of the paper when that reads it otherwise.
OPEN = Setup(link_rate="100mbit", bulk_initial_window=2, burst_file="18750000B", transmit_queue="back_pressure")

#: A grant each 2.025 ms of 253 bytes, which the largest packet of a call or a game fits: 218 bytes, 18 of Ethernet, 10 of DOCSIS.
GUARANTEED = "1mbit"

#: What a router leaves of the line, so that its own queue is where packets wait. Unit: Mbit/s.
SHARE = 0.95
MTU_MS = 1500 * 8e-3 / 5.0
SUSTAINED = {UP: 5.0, DOWN: 20.0}

#: Bytes that DOCSIS adds to an IP packet, and the least that it carries: tc-cake(8), `docsis`.
OVERHEAD, MPU = 18, 64


def build(case: Case, seed: int, seconds: int = SECONDS) -> Scenario:
    """The validated scenario of one run."""
    name = scenario_name(case)
    data: Any = {"name": name, **describe(case.home, seed, replace(OPEN, seconds=seconds))}
    data["record"] = {"warm_up": f"{min(WARM_UP, seconds // 4)}s"}
    data["app"]["voip"]["dscp"] = EF
    data["app"][GAME] = {
        "from": "home",
        "to": ["phone"],
        "start": "0s",
        "start_spread": "33ms",
        "dscp": NQB,
        "traffic": {"cbr": {"rate": f"{128 * 8 / 0.033:.0f}bit", "size": "128B", "randomize": 0.1}},
    }
    if case.stack is not Stack.OF_2012:
        data["tcp"] = {stack: dict(TCP[case.stack]) for stack in data["tcp"]}
    _line(data["link"], case.line)
    if case.what is not None:
        considerations.uploads(data["app"], case.what)
        considerations.rates(data["link"], case.what, SHARE, seconds)
    return from_dict(data, source=name)


def scenario_name(case: Case) -> str:
    """What a run of `case` is called."""
    return f"today {case.key}"


def _line(links: dict[str, Any], line: Line) -> None:
    """Puts the equipment in the place of the modem of 2012."""
    match line:
        case Line.MODEM_2012:
            return
        case Line.PIE:
            for way in (UP, DOWN):
                links[way] = _modem31(links[way]) | {"queue": {"docsis_pie": {}}}
        case Line.LLD:
            for way, low_latency in {UP: {"guaranteed_grant_rate": GUARANTEED}, DOWN: {}}.items():
                links[way] = _modem31(links[way]) | {"queue": {"docsis_lld": {"l_dscp": [NQB, EF]}}}
                links[way]["docsis31"]["low_latency"] = low_latency
        case Line.FQ_CODEL | Line.CAKE:
            links["lan"] |= {"to": "router"}
            for way, (start, end) in {UP: ("router", "modem"), DOWN: ("modem", "router")}.items():
                links[WAN[way]] = {"from": start, "to": end, "rate": "1gbit", **_shaped(line, SHARE * SUSTAINED[way])}


def _modem31(link: dict[str, Any]) -> dict[str, Any]:
    """One direction of DOCSIS 3.1 with the shaping of a 2012 link: its channel has a rate of its own."""
    of: dict[str, Any] = (
        {"flow": link["docsis"]["flow"]} if "docsis" in link else {"flow": link["shaper"], "downstream": {}}
    )
    return {"from": link["from"], "to": link["to"], "delay": link["delay"], "docsis31": of}


def _shaped(line: Line, mbit: float) -> dict[str, Any]:
    """A router's queue behind a rate of its own."""
    if line is Line.CAKE:
        return {"queue": {"cake": {"bandwidth": f"{mbit:g}mbit", "overhead": OVERHEAD, "mpu": MPU}}}
    return {"queue": {"fq_codel": {}}, "shaper": {"htb": {"rate": f"{mbit:g}mbit"}}}
