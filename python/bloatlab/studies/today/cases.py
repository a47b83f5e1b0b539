"""The study's cases: the home and the loads of CableLabs 2012, and a game, with old and new equipment and TCPs.

    home --lan-- modem ==up/down== cmts --- servers              the modem of 2012, or a DOCSIS 3.1 modem
    home --lan-- router --wan-- modem ==up/down== cmts           router shapes both ways to 95 % of the sustained rates

`rules.md` describes the line and the considerations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from bloatlab.scenario import Scenario, from_dict
from bloatlab.studies.published import toml
from bloatlab.workloads import cable_loads
from bloatlab.workloads.build import ns, pareto_mean
from bloatlab.workloads.cable_home import DOWN, UP, Setup, describe
from bloatlab.workloads.cable_loads import NUMBERS, Queue

SECONDS, WARM_UP = 60, 10
GAME, NQB, EF = "game", 45, 46
BACKGROUND, SHORT = "background", "short"
MTU_MS = 1500 * 8e-3 / 5.0


class Equipment(StrEnum):
    """The equipment between the home and the network: a modem, or a modem and a router."""

    MODEM_2012 = "2012 modem"
    PIE = "DOCSIS 3.1, DOCSIS-PIE"
    LLD = "DOCSIS 3.1, Low Latency"
    FQ_CODEL = "2012 modem, router with fq_codel"
    CAKE = "2012 modem, router with CAKE"


class Stack(StrEnum):
    """The TCP of all hosts."""

    OF_2012 = "TCP of 2012"
    CUBIC = "CUBIC, HyStart++"
    BBR3 = "BBRv3"
    PRAGUE = "Prague"


class Consideration(StrEnum):
    """A situation named in ARRIS 2013 under "Considerations"."""

    LEDBAT = "LEDBAT"
    SESSIONS = "50 sessions"
    LOW_RATE = "1 Mbit/s"
    BURSTS = "bursts"
    SHORT = "short flows"
    RATE = "rate changes"


#: The TCP parameters of today's stacks. The stack of 2012 is the paper's.
TCP: Mapping[Stack, Mapping[str, Any]] = {
    Stack.CUBIC: {"preset": "linux-6", "hystart": "rfc9406"},
    Stack.BBR3: {"preset": "bbr3"},
    Stack.PRAGUE: {"preset": "prague"},
}


@dataclass(frozen=True, slots=True)
class Case:
    """A load of CableLabs 2012, given by its number, on one kind of equipment with one TCP.

    If `what` is given, this situation from ARRIS 2013 is added to the load.
    """

    line: Equipment
    stack: Stack
    number: int
    what: Consideration | None = None

    @property
    def key(self) -> str:
        """The case's name in results."""
        return f"{self.line} / {self.stack} / {self.what or self.number}"

    def __str__(self) -> str:
        return self.key

    @property
    def home(self) -> cable_loads.Case:
        """The CableLabs 2012 case with the same load, on the 2012 modem."""
        return cable_loads.Case(self.number, Queue.DROPTAIL_417)


def considered(line: Equipment, stack: Stack, what: Consideration) -> Case:
    """Returns the case for load 2 with the consideration `what` added."""
    return Case(line, stack, 2, what)


def cases() -> list[Case]:
    """Returns every load, and load 2 with every consideration, on all equipment with every TCP."""
    return _of(list(Stack), NUMBERS, list(Consideration))


def quick() -> list[Case]:
    """Returns the cases for a quick look: two TCPs with three loads and two considerations.

    The bulk traffic is none, one TCP upload, or five TCP uploads beside 1 Mbit/s of UDP.
    """
    return _of([Stack.OF_2012, Stack.PRAGUE], (1, 2, 6), [Consideration.LEDBAT, Consideration.RATE])


def _of(stacks: list[Stack], numbers: tuple[int, ...], whats: list[Consideration]) -> list[Case]:
    loads = [Case(line, stack, n) for line in Equipment for stack in stacks for n in numbers]
    return loads + [considered(line, stack, what) for line in Equipment for stack in stacks for what in whats]


# ---------------------------------------------------------------------------------------------------------- scenarios

#: Parameters that the paper leaves open, and what happens when the transmit queue is full. They are fixed here, so that
#: the results of this study do not change if the study that reproduces the paper (`cablelabs2012`) chooses other
#: values.
OPEN = Setup(link_rate="100mbit", bulk_initial_window=2, burst_file="18750000B", transmit_queue="back_pressure")

#: The rate of a 253-byte grant every 2.025 ms. A grant is large enough for the largest packet of a call or game:
#: 218 + 18 (Ethernet) + 10 (DOCSIS) = 246 bytes.
GUARANTEED = "1mbit"

#: `SUSTAINED`: the line's sustained rates in Mbit/s. `SHARE`: a router shapes traffic to this fraction of the sustained
#: rate, so that packets wait in the router's queue.
SHARE, SUSTAINED = 0.95, {UP: 5.0, DOWN: 20.0}

#: Bytes that DOCSIS adds to an IP packet, and the minimum size of a frame: tc-cake(8), `docsis`.
OVERHEAD, MPU = 18, 64

LOW_MBIT, SLOW_MBIT = 1.0, 1.25

#: The short transfers (`considerations.toml`): minimum and maximum size in bytes, shape of the Pareto distribution, and
#: the offered load as a share of 5 Mbit/s.
LEAST, LARGEST, SHAPE, OFFERED = 3e3, 1e6, 1.2, 0.5


def build(case: Case, seed: int, seconds: int = SECONDS) -> Scenario:
    """Returns the validated scenario of one run."""
    name = f"today {case}"
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
    _set_line(data["link"], case.line)
    if case.what is not None:
        _add_uploads(data["app"], case.what)
        _set_rates(data["link"], case.what, seconds)
    return from_dict(data, source=name)


def _set_line(links: dict[str, Any], line: Equipment) -> None:
    """Replaces the 2012 modem, or puts a router in front of it, if `line` is not the 2012 modem alone."""
    match line:
        case Equipment.MODEM_2012:
            return
        case Equipment.PIE:
            for way in (UP, DOWN):
                links[way] = _modem31(links[way]) | {"queue": {"docsis_pie": {}}}
        case Equipment.LLD:
            for way, low_latency in {UP: {"guaranteed_grant_rate": GUARANTEED}, DOWN: {}}.items():
                links[way] = _modem31(links[way]) | {"queue": {"docsis_lld": {"l_dscp": [NQB, EF]}}}
                links[way]["docsis31"]["low_latency"] = low_latency
        case Equipment.FQ_CODEL | Equipment.CAKE:
            links["lan"] |= {"to": "router"}
            for name, way, start, end in (("wan", UP, "router", "modem"), ("wan_down", DOWN, "modem", "router")):
                shaped = _shaped(line, SHARE * SUSTAINED[way])
                links[name] = {"from": start, "to": end, "rate": "1gbit", **shaped}


def _modem31(link: dict[str, Any]) -> dict[str, Any]:
    """Returns one direction of a DOCSIS 3.1 link that shapes traffic like `link`, the 2012 link.

    The channel has the DOCSIS 3.1 rate.
    """
    of: dict[str, Any] = (
        {"flow": link["docsis"]["flow"]} if "docsis" in link else {"flow": link["shaper"], "downstream": {}}
    )
    return {"from": link["from"], "to": link["to"], "delay": link["delay"], "docsis31": of}


def _shaped(line: Equipment, mbit: float) -> dict[str, Any]:
    """Returns the settings that shape a router's link to `mbit`: a CAKE queue, or fq_codel with an HTB shaper."""
    if line is Equipment.CAKE:
        return {"queue": {"cake": {"bandwidth": f"{mbit:g}mbit", "overhead": OVERHEAD, "mpu": MPU}}}
    return {"queue": {"fq_codel": {}}, "shaper": {"htb": {"rate": f"{mbit:g}mbit"}}}


def _add_uploads(apps: dict[str, Any], what: Consideration) -> None:
    """Adds the applications of `what`, or changes keys of existing ones, such as the number of uploads."""
    for name, app in toml("today", "considerations.toml")[what.name].items():
        apps[name] = apps.get(name, {}) | app
    if what is Consideration.SHORT:
        apps[SHORT]["traffic"]["short"]["interval"] = ns(pareto_mean(SHAPE, LEAST, LARGEST) * 8 / (OFFERED * 5e6))


def _set_rates(links: dict[str, Any], what: Consideration, seconds: int) -> None:
    """Sets the upstream rate if the consideration `what` concerns the rate; otherwise does nothing.

    The rate is either lower throughout, or changes every 10 s.
    """
    modem = links[UP].get("docsis31") or links[UP]["docsis"]
    if what in (Consideration.LOW_RATE, Consideration.RATE):
        modem["flow"] |= {"max_traffic_burst": "16KB"}
    if what is Consideration.LOW_RATE:
        modem["flow"] |= {"max_sustained_rate": f"{LOW_MBIT:g}mbit"}
        if "low_latency" in modem:
            modem["low_latency"] |= {"guaranteed_grant_rate": "250kbit", "guaranteed_grant_interval": "8.1ms"}
        if (router := links.get("wan")) is not None:
            shaper, key = (
                (router["shaper"]["htb"], "rate") if "shaper" in router else (router["queue"]["cake"], "bandwidth")
            )
            shaper[key] = f"{SHARE * LOW_MBIT * 1e3:g}kbit"
    elif what is Consideration.RATE:
        rates = enumerate(range(10, seconds, 10))
        links[UP]["changes"] = [
            {"at": f"{t}s", "max_sustained_rate": "5mbit" if n % 2 else "1250kbit"} for n, t in rates
        ]
