"""The line that is asked about, and its scenario: a home, a modem or router, servers at round trips.

    home --lan-- modem ==up/down== isp --+-- near       the shortest round trip that was asked for
                                         +-- far        that of the run
                                         +-- rtt30ms    round trips that a load names itself

A modem requests and is granted every 2 ms behind a dual token bucket, with 1 ms of plant each way. On a plain line a
router that shapes to its rate stands there; CAKE with a bandwidth is its own shaper. The downstream is the device's: a
CMTS has a queue of its own, a router that shapes both ways has the option's there, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bloatlab.advice.catalogue import AdviceError, Device, Load
from bloatlab.scenario import AppDict, LinkDict, Scenario, ScenarioDict, ScenarioError, from_dict, problems
from bloatlab.sweep.quantities import Amount

#: The link that is asked about, and the one towards the home.
UP, DOWN = "up", "down"

#: One way through the plant of a modem, s (CableLabs 2012, Figure 1: 1 ms).
PLANT_S = 0.001

#: Bytes in the transmit queue behind a modem's shaper: CableLabs 2012's 32 packets at their full size, or this much of
#: the peak rate, s, where that is more: a packet waits up to 6 ms for its grant (MAPs every 2 ms), and this is twice
#: that. Requests and grants are in bytes, and so is the limit: 32 ACKs are less than 4 % of 48 kB.
TRANSMIT_BYTES, TRANSMIT_S = 48_000, 0.012

#: Round trips that may be asked for, s.
LEAST_RTT_S, MOST_RTT_S = 0.004, 5.0

#: A probe of the core's own reader: what it makes of a text is what a scenario would.
_PROBE: ScenarioDict = {
    "duration": "1s",
    "link": {"x": {"from": "a", "to": "b", "rate": "1mbit", "shaper": {"max_sustained_rate": "1mbit"}}},
}
_PATHS = {"a rate": "link.x.rate", "a duration": "link.x.delay", "a size": "link.x.shaper.max_traffic_burst"}


def amount(flag: str, text: str, kind: str) -> float:
    """A rate in bit/s, a duration in s or a size in bytes, as a scenario reads it. Raises `AdviceError`."""
    path = _PATHS[kind]
    try:
        resolved = from_dict(_PROBE, sets=[(path, text.strip())]).data["link"]["x"]
    except ScenarioError as error:
        line = problems(error)[0]
        raise AdviceError(f"{flag} {line.partition(f'{path}: ')[2] or line}") from None
    found: Any = resolved
    for part in path.split(".")[2:]:
        found = found[part]
    made = Amount.of(found)
    if made is None or made.kind != kind:
        raise AdviceError(f"{flag} {text}: is not {kind}")
    return made.value


def rtts(text: str) -> list[float]:
    """Round trips in s, ascending: of "20ms..200ms" both ends and, if they are far apart, the one between."""
    given = [amount("--rtt", part, "a duration") for part in text.replace("..", ",").split(",")]
    if ".." in text and len(given) != 2:
        raise AdviceError(f"--rtt {text}: a round trip (50ms), a range (20ms..200ms) or a list (20ms,100ms)")
    for value in given:
        if not LEAST_RTT_S <= value <= MOST_RTT_S:
            raise AdviceError(
                f"--rtt {text}: {value * 1e3:g} ms is not within {LEAST_RTT_S * 1e3:g} ms and {MOST_RTT_S:g} s"
            )
    if ".." in text and given[0] >= given[1]:
        raise AdviceError(f"--rtt {text}: begins with the shorter one")
    if ".." in text and given[1] > 2.0 * given[0]:
        given.insert(1, round((given[0] * given[1]) ** 0.5, 3))
    return sorted(set(given))


@dataclass(frozen=True, slots=True)
class Line:
    """Rates in bit/s, burst in bytes, round trips in s, ascending. Without a peak there is no burst."""

    up: float
    down: float
    rtts: Sequence[float]
    peak: float | None = None
    burst: float | None = None

    def bdp(self, rtt: float) -> float:
        """Bandwidth-delay product in bytes."""
        return self.up * rtt / 8.0

    def could_carry(self, begin: float, end: float, direction: str = UP) -> float:
        """Bytes that a sender which never rests gets through in a direction between two moments, in s."""

        def carried_by(t: float) -> float:
            if direction == DOWN:
                return self.down * t / 8.0
            if self.peak is None or self.burst is None:
                return self.up * t / 8.0
            return min(self.peak * t / 8.0, self.burst + self.up * t / 8.0)

        return carried_by(end) - carried_by(begin)


def line(up: str, rtt: str, down: str | None = None, peak: str | None = None, burst: str | None = None) -> Line:
    """What was asked, in numbers. Raises `AdviceError`."""
    up_bps = amount("--up", up, "a rate")
    if not 64e3 <= up_bps <= 10e9:
        raise AdviceError(f"--up {up}: is not within 64kbit and 10gbit")
    down_bps = 5.0 * up_bps if down is None else amount("--down", down, "a rate")
    if not 64e3 <= down_bps <= 100e9:
        raise AdviceError(f"--down {down}: is not within 64kbit and 100gbit")
    if (peak is None) != (burst is None):
        raise AdviceError("--peak and --burst: a burst has a rate and a size; give both or none")
    peak_bps = None if peak is None else amount("--peak", peak, "a rate")
    burst_bytes = None if burst is None else amount("--burst", burst, "a size")
    if peak_bps is not None and not up_bps < peak_bps <= 10e9:
        raise AdviceError(f"--peak {peak}: is not above --up {up} (and at most 10gbit)")
    if burst_bytes is not None and not 1522 <= burst_bytes <= 1e9:
        raise AdviceError(f"--burst {burst}: is not within 1522B and 1GB")
    return Line(up_bps, down_bps, rtts(rtt), peak_bps, burst_bytes)


@dataclass(frozen=True, slots=True)
class Queues:
    """The queue of each direction, as a scenario has it."""

    up: Mapping[str, Any]
    down: Mapping[str, Any]


def build(
    of: Line, device: Device, load: Load, queues: Queues, *, rtt: float, seed: int, name: str = "recommend"
) -> Scenario:
    """The scenario of one run. Raises `ScenarioError`."""
    servers = dict.fromkeys(str(to) for app in load.apps.values() for to in app["to"])
    links: dict[str, LinkDict] = {
        "lan": {"from": "home", "to": _box(device), "both_ways": True},
        UP: _up(of, device, queues.up),
        DOWN: _down(of, device, queues.down),
    }
    for server in servers:
        links[_node(server)] = {
            "from": "isp",
            "to": _node(server),
            "both_ways": True,
            "delay": _time(max(0.0, _round_trip(of, server, rtt) / 2.0 - _plant(device))),
        }
    data: ScenarioDict = {
        "name": name,
        "seed": seed,
        "duration": _time(load.seconds),
        "link": links,
        "app": {n: _app(a) for n, a in load.apps.items()},
        "record": {"links": [UP], "apps": [], "warm_up": _time(load.warm_up), "interval": "1s"},
    }
    if load.tcp:
        data["tcp"] = load.tcp
    return from_dict(data, source=name)


def _app(of: Mapping[str, Any]) -> AppDict:
    app: Any = {**of, "from": "home", "to": [_node(str(server)) for server in of["to"]]}
    return app


def checked(of: Line, device: Device, load: Load, queues: Queues) -> None:
    """Whether a load and a queue can be built, in one line of their own. Raises `AdviceError`."""
    try:
        build(of, device, load, queues, rtt=of.rtts[0], seed=1, name=load.name)
    except ScenarioError as error:
        raise AdviceError(problems(error)[0]) from None


def _up(of: Line, device: Device, queue: Mapping[str, Any]) -> LinkDict:
    up: LinkDict = {"from": _box(device), "to": "isp", "queue": queue}
    flow = {"max_sustained_rate": _rate(of.up)}
    if of.peak is not None and of.burst is not None:
        flow |= {"max_traffic_burst": f"{round(of.burst)}B", "peak_traffic_rate": _rate(of.peak), "peak_burst": "1522B"}
    if device.link == "modem":
        channel = max(100e6, 2.0 * (of.peak or of.up))
        transmit = max(TRANSMIT_BYTES, math.ceil((of.peak or of.up) * TRANSMIT_S / 8.0))
        docsis = {"flow": flow, "transmit_limit": device.transmit or f"{transmit}B"}
        return up | {"rate": _rate(channel), "delay": _time(PLANT_S), "docsis": docsis}
    if _shapes(queue):
        return up
    return up | {"rate": _rate(of.up)} if of.peak is None else up | {"shaper": flow}


def _down(of: Line, device: Device, queue: Mapping[str, Any]) -> LinkDict:
    down: LinkDict = {"from": "isp", "to": _box(device), "delay": _time(_plant(device)), "queue": queue}
    return down if _shapes(queue) else down | {"rate": _rate(of.down)}


def _shapes(queue: Mapping[str, Any]) -> bool:
    """Whether a queue has a rate of its own, as CAKE with a bandwidth."""
    return bool(queue.get("cake", {}).get("bandwidth"))


def _box(device: Device) -> str:
    return "modem" if device.link == "modem" else "router"


def _plant(device: Device) -> float:
    return PLANT_S if device.link == "modem" else 0.0


def _round_trip(of: Line, server: str, rtt: float) -> float:
    match server:
        case "far":
            return rtt
        case "near":
            return min(of.rtts[0], rtt)
        case _:
            return amount("to:", server, "a duration")


def _node(server: str) -> str:
    return server if server in {"near", "far"} else f"rtt{server}"


def _rate(bps: float) -> str:
    return f"{round(bps)}bit"


def _time(seconds: float) -> str:
    return f"{round(seconds * 1e9)}ns"
