"""What SCTE 2013 asked of every scheme ("Considerations For All Bufferbloat Mitigation Schemes"), of the lines of today.

The paper names these as research to be done and gives no numbers. Each is one upload (or what is said) beside the call, the pages and
the game of CableLabs 2012, on the same line:

LEDBAT: five LEDBAT uploads (target 100 ms) beside one. A short queue hides them from their own measure; their share would be none
if they yielded, and five sixths if they were like any other.

50 sessions: so many uploads, as a swarm or a browser opens.

1 Mbit/s: five uploads on a service flow of 1 Mbit/s up and 16 kB of burst; a proactive grant each 8.1 ms is the same share of it.

bursts: 150 kB of UDP at once each 6 s, 240 ms of the line.

short flows: transfers of 3 kB to 1 MB (Pareto, 11 kB on average) that offer half of the line.

rate changes: 5 and 1.25 Mbit/s in turn, 10 s each, as from peak to sustained rate, with 16 kB of burst. The router shapes to 95 % of 5 Mbit/s throughout.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from bloatlab.workloads.cable_home import UP

LOW_MBIT = 1.0
SMALL_BURST = "16KB"
FAST, SLOW, HALF_PERIOD_S = "5mbit", "1250kbit", 10
SLOW_MBIT = 1.25
LEDBAT_FLOWS, SESSIONS, LOW_SESSIONS = 5, 50, 5
BACKGROUND, SHORT = "background", "short"

#: Transfers of the short flows: least and largest size in bytes, the law's shape, and the share of 5 Mbit/s that they offer.
LEAST, LARGEST, SHAPE, OFFERED = 3e3, 1e6, 1.2, 0.5


class Consideration(StrEnum):
    """What may go wrong."""

    LEDBAT = "LEDBAT"
    SESSIONS = "50 sessions"
    LOW_RATE = "1 Mbit/s"
    BURSTS = "bursts"
    SHORT = "short flows"
    RATE = "rate changes"


def uploads(apps: dict[str, Any], what: Consideration) -> None:
    """What runs in the home besides the call, the pages, the game and one upload; or how many uploads there are."""
    ftp: dict[str, Any] = {"from": "home", "to": ["ftp"], "start": "1s"}
    match what:
        case Consideration.LEDBAT:
            traffic = {"ftp": {"flows": LEDBAT_FLOWS, "stagger": "200ms"}}
            apps[BACKGROUND] = ftp | {"tcp": "ledbat", "traffic": traffic}
        case Consideration.SESSIONS:
            apps["ftp"]["traffic"] = {"ftp": {"flows": SESSIONS, "stagger": "20ms"}}
        case Consideration.LOW_RATE:
            apps["ftp"]["traffic"] = {"ftp": {"flows": LOW_SESSIONS, "stagger": "200ms"}}
        case Consideration.BURSTS:
            burst = {"bytes": "150KB", "transport": "udp", "interval": "6s"}
            apps["burst"] = ftp | {"traffic": {"burst": burst}}
        case Consideration.SHORT:
            size = {"pareto": {"min": f"{LEAST:.0f}B", "max": f"{LARGEST:.0f}B", "shape": SHAPE}}
            interval = f"{mean_size() * 8 / (OFFERED * 5e6) * 1e9:.0f}ns"
            short = {"interval": interval, "size": size, "direction": "up"}
            apps[SHORT] = ftp | {"tcp": "bulk", "traffic": {"short": short}}
        case Consideration.RATE:
            pass


def mean_size() -> float:
    """Mean of the truncated Pareto law, bytes."""
    a, low, high = SHAPE, LEAST, LARGEST
    return low**a / (1 - (low / high) ** a) * a / (a - 1) * (low ** (1 - a) - high ** (1 - a))


def rates(links: dict[str, Any], what: Consideration, share: float, seconds: int) -> None:
    """What becomes of the line: its modem, and where there is one the router before it."""
    modem = links[UP].get("docsis31") or links[UP]["docsis"]
    if what in (Consideration.LOW_RATE, Consideration.RATE):
        modem["flow"] |= {"max_traffic_burst": SMALL_BURST}
    if what is Consideration.LOW_RATE:
        modem["flow"] |= {"max_sustained_rate": f"{LOW_MBIT:g}mbit"}
        if "low_latency" in modem:
            modem["low_latency"] |= {"guaranteed_grant_rate": "250kbit", "guaranteed_grant_interval": "8.1ms"}
        if "wan" in links:
            rate = f"{share * LOW_MBIT * 1e3:g}kbit"
            router = links["wan"]
            if "shaper" in router:
                router["shaper"]["htb"]["rate"] = rate
            else:
                router["queue"]["cake"]["bandwidth"] = rate
    elif what is Consideration.RATE:
        times = range(HALF_PERIOD_S, seconds, HALF_PERIOD_S)
        links[UP]["changes"] = [
            {"at": f"{t}s", "max_sustained_rate": SLOW if n % 2 == 0 else FAST} for n, t in enumerate(times)
        ]
