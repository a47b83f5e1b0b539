"""The line between home and provider, and the scenario of a run on it.

    home --lan-- modem ==up/down== isp --+-- near       the shortest round trip given, or the run's if shorter
                                         +-- far        the round trip of this run
                                         +-- rtt30ms    a round trip that the load names itself

A modem has a dual token bucket, requests and grants about every 2 ms, and 1 ms of propagation delay in the cable plant
each way. A DOCSIS 3.0 modem ("modem") is the two-queue model of CableLabs 2012. A DOCSIS 3.1 modem ("modem31") has no
transmit queue, and its CMTS has the model of a DOCSIS 3.1 downstream. On a plain line ("line"), a router shapes to the
line's rate; if the router's queue is CAKE with a `bandwidth`, CAKE shapes instead. The downstream queue depends on the
device: a CMTS has its own queue, and a router that shapes both directions has the chosen discipline in both.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bloatlab.advice.catalogue import AdviceError, Device, Load
from bloatlab.scenario import LinkDict, Scenario, ScenarioDict, ScenarioError, from_dict, problems
from bloatlab.scenario import amount as quantity
from bloatlab.sweep.quantities import Amount
from bloatlab.workloads.build import bps, ns

#: Names of the upstream and the downstream link in the scenario.
UP, DOWN = "up", "down"

#: One-way propagation delay through a modem's cable plant, in s (CableLabs 2012, Figure 1: 1 ms).
PLANT_S = 0.001

#: Default limit of the transmit queue behind a modem's shaper: the larger of `TRANSMIT_BYTES`, which is 32 full packets
#: as in CableLabs 2012, and the number of bytes sent in `TRANSMIT_S` seconds at the line's highest rate. If the CMTS
#: sends a MAP every 2 ms, a packet may wait 6 ms for its grant; `TRANSMIT_S` is twice this time. The limit is in bytes,
#: not in packets, because modems request bytes and the CMTS grants bytes: 32 ACKs would be less than 4 % of 48 kB.
TRANSMIT_BYTES, TRANSMIT_S = 48_000, 0.012

#: Channels of a DOCSIS 3.1 modem. Upstream: `MINISLOTS` minislots of 48 bytes in each frame of 135 us, which is 668
#: Mbit/s. Downstream: `CHANNEL` bit/s. Both are the defaults of `docsis31`. A channel with less than `ROOM` times
#: the line's highest rate is widened to this, as if channels were bonded, so that the channel is not the bottleneck.
MINISLOTS, MINISLOT_BPS, CHANNEL, ROOM = 235, 48 * 8 / 135e-6, 1.7e9, 2.0

#: Bytes of IP packets that a DOCSIS 3.1 link carries for each byte of its rate, in packets of 1500 bytes: upstream and
#: downstream. The rates count Ethernet frames, which are 18 bytes longer. Upstream, the CMTS multiplies the rate by
#: 210/200 and counts 10 bytes of MAC header per packet (docs/low-latency-docsis.md, "Rates").
CARRIED31 = (210 / 200 * 1500 / 1528, 1500 / 1518)

#: Minimum and maximum valid round trip, in s.
LEAST_RTT_S, MOST_RTT_S = 0.004, 5.0

#: A scenario into which a flag's value is inserted, so that the core parses it exactly like a value in a file.
_PROBE: ScenarioDict = {
    "duration": "1s",
    "link": {"x": {"from": "a", "to": "b", "rate": "1mbit", "shaper": {"max_sustained_rate": "1mbit"}}},
}
#: The unit of a number that is given without a unit.
_BARE = {"a rate": "bit", "a size": "B"}
_PATHS = {"a rate": "link.x.rate", "a duration": "link.x.delay", "a size": "link.x.shaper.max_traffic_burst"}


def amount(flag: str, text: str, kind: str) -> float:
    """Parses a rate to bit/s, a duration to s or a size to bytes. Raises `AdviceError`."""
    path = _PATHS[kind]
    try:
        found: Any = from_dict(_PROBE, sets=[(path, text.strip())]).data
    except ScenarioError as error:
        given = text.strip()
        outside = quantity(f"{given}{_BARE.get(kind, '')}" if given[-1:].isdigit() else given)
        if kind in _BARE and outside is not None and outside[0] == kind.removeprefix("a "):
            return float(outside[1])  # outside the core's range; the caller checks its own range
        line = problems(error)[0]
        raise AdviceError(f"{flag} {line.partition(f'{path}: ')[2] or line}") from None
    for part in path.split("."):
        found = found[part]
    made = Amount.of(found)
    if made is None or made.kind != kind:
        raise AdviceError(f"{flag} {text}: is not {kind}")
    return made.value


def rtts(text: str) -> list[float]:
    """Parses a round-trip time, a range or a list; returns the round-trip times in s, in ascending order.

    A range gives its two ends and, if they are far apart, also their geometric mean.
    """
    given = [amount("--rtt", part, "a duration") for part in text.replace("..", ",").split(",")]
    ranged = ".." in text
    if ranged and len(given) != 2:
        raise AdviceError(f"--rtt {text}: expected a round trip (50ms), a range (20ms..200ms) or a list (20ms,100ms)")
    for value in given:
        if not LEAST_RTT_S <= value <= MOST_RTT_S:
            within = f"{LEAST_RTT_S * 1e3:g} ms and {MOST_RTT_S:g} s"
            raise AdviceError(f"--rtt {text}: {value * 1e3:g} ms is not between {within}")
    if ranged and given[0] >= given[1]:
        raise AdviceError(f"--rtt {text}: a range begins with the shorter round trip")
    if ranged and given[1] > 2.0 * given[0]:
        given.insert(1, round((given[0] * given[1]) ** 0.5, 3))
    return sorted(set(given))


@dataclass(frozen=True, slots=True)
class Line:
    """A line: rates in bit/s, burst in bytes, round trips in s, ascending. A line without a peak rate has no burst.

    `carried` is the number of bytes of full IP packets that the line carries, upstream and downstream, for each byte of
    its rate.
    """

    up: float
    down: float
    rtts: Sequence[float]
    peak: float | None = None
    burst: float | None = None
    carried: tuple[float, float] = (1.0, 1.0)

    def bdp(self, rtt: float) -> float:
        """Returns the upstream bandwidth-delay product in bytes, for a round trip of `rtt` s."""
        return self.up * rtt / 8.0

    def could_carry(self, begin: float, end: float, direction: str = UP) -> float:
        """Returns the bytes that the line carries in a direction from `begin` to `end` (in s).

        The queue is assumed never to be empty from the start of the run, and all packets to be full.
        """

        def carried_by(t: float) -> float:
            if direction == DOWN:
                return self.down * t / 8.0
            if self.peak is None or self.burst is None:
                return self.up * t / 8.0
            return min(self.peak * t / 8.0, self.burst + self.up * t / 8.0)

        return (carried_by(end) - carried_by(begin)) * self.carried[direction == DOWN]


def line(up: str, rtt: str, down: str | None = None, peak: str | None = None, burst: str | None = None) -> Line:
    """Makes a line from the values of the options --up, --rtt, --down, --peak and --burst. Raises `AdviceError`."""
    texts: dict[str, Any] = {"up": up, "rtt": rtt, "down": down, "peak": peak, "burst": burst}
    for flag, text in texts.items():
        if not isinstance(text, str) and (text is not None or flag in {"up", "rtt"}):
            valid = {"rtt": "20ms,100ms", "burst": "10MB"}.get(flag, "10mbit")
            raise AdviceError(f'--{flag} {str(text)[:80]}: is not a string, such as "{valid}"')
    up_bps = amount("--up", up, "a rate")
    if not 64e3 <= up_bps <= 10e9:
        raise AdviceError(f"--up {up}: is not between 64kbit and 10gbit")
    down_bps = 5.0 * up_bps if down is None else amount("--down", down, "a rate")
    if not 64e3 <= down_bps <= 100e9:
        raise AdviceError(f"--down {down}: is not between 64kbit and 100gbit")
    if (peak is None) != (burst is None):
        raise AdviceError("--peak and --burst: a burst has a rate and a size; give both or none")
    peak_bps = None if peak is None else amount("--peak", peak, "a rate")
    burst_bytes = None if burst is None else amount("--burst", burst, "a size")
    if peak_bps is not None and not up_bps < peak_bps <= 10e9:
        raise AdviceError(f"--peak {peak}: is not above --up {up} (and at most 10gbit)")
    if burst_bytes is not None and not 1522 <= burst_bytes <= 1e9:
        raise AdviceError(f"--burst {burst}: is not between 1522B and 1GB")
    return Line(up_bps, down_bps, rtts(rtt), peak_bps, burst_bytes)


@dataclass(frozen=True, slots=True)
class Queues:
    """The queues of the upstream and the downstream link, in the form of a scenario's `queue` table."""

    up: Mapping[str, Any]
    down: Mapping[str, Any]


def build(
    of: Line, device: Device, load: Load, queues: Queues, *, rtt: float, seed: int, name: str = "recommend"
) -> Scenario:
    """Returns the scenario of one run. Raises `ScenarioError`."""
    box, plant = ("router", 0.0) if device.link == "line" else ("modem", PLANT_S)
    round_trips = {"far": rtt, "near": min(of.rtts[0], rtt)}
    links: dict[str, LinkDict] = {
        "lan": {"from": "home", "to": box, "both_ways": True},
        UP: {"from": box, "to": "isp", "queue": queues.up, **_up(of, device, queues.up)},
        DOWN: {"from": "isp", "to": box, "delay": ns(plant), "queue": queues.down, **_down(of, device, queues.down)},
    }
    apps: dict[str, Any] = {}
    for app, given in load.apps.items():
        servers = [str(server) for server in given["to"]]
        apps[app] = {**given, "from": "home", "to": [_node(server) for server in servers]}
        for server in servers:
            there = round_trips.get(server) or amount("to:", server, "a duration")
            delay = ns(max(0.0, there / 2.0 - plant))
            links[_node(server)] = {"from": "isp", "to": _node(server), "both_ways": True, "delay": delay}
    data: ScenarioDict = {
        "name": name,
        "seed": seed,
        "duration": ns(load.seconds),
        "link": links,
        "app": apps,
        "record": {"links": [UP], "apps": [], "warm_up": ns(load.warm_up), "interval": "1s"},
    }
    return from_dict({**data, "tcp": load.tcp} if load.tcp else data, source=name)


def _up(of: Line, device: Device, queue: Mapping[str, Any]) -> LinkDict:
    """Returns the keys of the upstream link's table that set its rate.

    On a modem's link, the keys describe the modem's service flow and also set the delay. On a plain line, the key is
    `shaper` if the line has a peak rate, otherwise `rate`. If the queue of a plain line shapes the traffic itself, the
    result is empty.
    """
    flow = {"max_sustained_rate": bps(of.up)}
    if of.peak is not None and of.burst is not None:
        flow |= {
            "max_traffic_burst": f"{round(of.burst)}B",
            "peak_traffic_rate": bps(of.peak),
            "peak_burst": "1522B",
        }
    peak = of.peak or of.up
    if device.link == "modem31":
        minislots = math.ceil(ROOM * peak * CARRIED31[0] * 1528 / 1500 / MINISLOT_BPS)
        wider = {"minislots": minislots} if minislots > MINISLOTS else {}
        return {"delay": ns(PLANT_S), "docsis31": {"flow": flow, **wider}}
    if device.link == "modem":
        transmit = max(TRANSMIT_BYTES, math.ceil(peak * TRANSMIT_S / 8.0))
        docsis = {"flow": flow, "transmit_limit": device.transmit or f"{transmit}B"}
        return {"rate": bps(max(100e6, 2.0 * peak)), "delay": ns(PLANT_S), "docsis": docsis}
    if _shapes(queue):
        return {}
    return {"rate": bps(of.up)} if of.peak is None else {"shaper": flow}


def _down(of: Line, device: Device, queue: Mapping[str, Any]) -> LinkDict:
    """Returns the keys of the downstream link's table that set its rate."""
    if device.link == "modem31":
        channel = ROOM * of.down
        wider = {"channel": bps(channel)} if channel > CHANNEL else {}
        return {"docsis31": {"flow": {"max_sustained_rate": bps(of.down)}, "downstream": wider}}
    return {} if _shapes(queue) else {"rate": bps(of.down)}


def _shapes(queue: Mapping[str, Any]) -> bool:
    """Returns whether a queue shapes to a rate, like CAKE with a bandwidth."""
    return bool(queue.get("cake", {}).get("bandwidth"))


def _node(server: str) -> str:
    return server if server in {"near", "far"} else f"rtt{server}"
