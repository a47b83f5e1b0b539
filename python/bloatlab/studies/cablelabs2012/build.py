"""The system of doc 001, Figure 1, as a scenario: the one place that knows both the paper and the scenario's words.

    home --lan-- modem ==up/down== cmts --+-- ftp      9 or 49 ms each way
                                          +-- phone    0 ms
                                          +-- cbr      0 ms
                                          +-- web1..4  9, 14, 24, 49 ms each way

The DOCSIS link adds 1 ms each way, so round trips are 20 or 100 ms (FTP) and 20, 30, 50, 100 ms (web). The rate shaping
queue, its token bucket, the transmit queue and the request/grant loop all stand on the link `up`.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from bloatlab.scenario import Scenario, ScenarioDict, from_dict
from bloatlab.studies.cablelabs2012.cases import Bulk, Case, Queue
from bloatlab.studies.cablelabs2012.parameters import Free
from bloatlab.studies.cablelabs2012.published import appendix_a

SECONDS = 600
UP = "up"
DOWN = "down"
DOCSIS_DELAY_MS = 1.0
WEB_RTT_MS = (20, 30, 50, 100)


class Between(Enum):
    """What happens between the rate shaping queue and a full transmit queue (doc 001 §2.2.3)."""

    DROP = "drop"
    BACK_PRESSURE = "back_pressure"


class PageModel(Enum):
    """Which page is loaded: 100 objects of 25 kB, the sizes listed in Appendix A, or fresh draws from its law."""

    FIXED = "fixed"
    LISTED = "listed"
    LOGNORMAL = "lognormal"


@dataclass(frozen=True, slots=True)
class Setup:
    """What an experiment changes in a case; the defaults are the paper's own set-up."""

    free: Free = Free()
    between: Between = Between.DROP
    sojourn_both: bool = False
    page: PageModel = PageModel.FIXED
    limit: str | None = None
    target: str | None = None
    seconds: int = SECONDS

    def with_(self, **changes: Any) -> Setup:
        """This set-up with some things changed."""
        return replace(self, **changes)


def build(case: Case, seed: int, setup: Setup | None = None) -> Scenario:
    """The validated scenario of one run."""
    return from_dict(describe(case, seed, setup or Setup()), source=f"cablelabs2012 {case.key}")


def describe(case: Case, seed: int, setup: Setup) -> ScenarioDict:
    """The scenario of one run as plain values."""
    return {
        "name": f"cablelabs2012 {case.key}",
        "seed": seed,
        "duration": f"{setup.seconds}s",
        "link": _links(case, setup),
        "app": _apps(case, seed, setup),
        "tcp": _stacks(setup.free),
        "record": {"interval": "100ms"},
    }


# -------------------------------------------------------------------------------------------------------------- links


def _links(case: Case, setup: Setup) -> dict[str, Any]:
    free = setup.free
    links: dict[str, Any] = {
        "lan_up": _wire("home", "modem", free.lan_rate, 0.0),
        "lan_down": _wire("modem", "home", free.lan_rate, 0.0),
        UP: _up(case, setup),
        DOWN: _down(free),
    }
    links |= _pair("ftp", case.rtt_ms / 2.0 - DOCSIS_DELAY_MS)
    links |= _pair("phone", 0.0)
    links |= _pair("cbr", 0.0)
    for server, rtt in enumerate(WEB_RTT_MS, start=1):
        links |= _pair(f"web{server}", rtt / 2.0 - DOCSIS_DELAY_MS)
    return links


def _up(case: Case, setup: Setup) -> dict[str, Any]:
    """Upstream: 5 Mbit/s sustained, 10 MB burst, 20 Mbit/s peak (doc 001 §3.1.1), MAP every 2 ms (§2.2.2)."""
    docsis: dict[str, Any] = {
        "msr": "5mbit",
        "burst": "10MB",
        "peak": "20mbit",
        "peak_burst": "1522B",
        "map_interval": "2ms",
        "transmit_queue": "32p",
    }
    if case.congested:  # borderline: mean grant = MSR x MAP interval, give or take 20 % (doc 001 §3.1.3)
        docsis |= {"max_grant": "1250B", "grant_variation": "20%"}
    if setup.between is not Between.DROP:
        docsis["full"] = setup.between.value
    if setup.sojourn_both:
        docsis["sojourn"] = "both"
    return {
        "from": "modem",
        "to": "cmts",
        "rate": setup.free.link_rate,
        "delay": f"{DOCSIS_DELAY_MS:g}ms",
        "queue": _queue(case, setup),
        "docsis": docsis,
    }


def _queue(case: Case, setup: Setup) -> dict[str, Any]:
    limit = setup.limit or f"{case.queue.limit}p"
    if case.queue is Queue.CODEL:
        target = setup.target or "5ms"
        return {"codel": {"limit": limit, "target": target, "interval": "100ms", "variant": setup.free.codel_variant}}
    droptail: dict[str, Any] = {"limit": limit}
    if setup.free.ns2_droptail and limit.endswith("p"):
        droptail["ns2_off_by_one"] = True
    return {"droptail": droptail}


def _down(free: Free) -> dict[str, Any]:
    """Downstream: 20 Mbit/s sustained, 20 MB burst, 50 Mbit/s peak."""
    return {
        "from": "cmts",
        "to": "modem",
        "rate": free.down_link_rate,
        "delay": f"{DOCSIS_DELAY_MS:g}ms",
        "queue": {"droptail": {"limit": free.down_limit}},
        "shaper": {"rate": "20mbit", "burst": "20MB", "peak": "50mbit", "peak_burst": "1522B"},
    }


def _pair(server: str, delay_ms: float) -> dict[str, Any]:
    return {
        f"{server}_up": _wire("cmts", server, "1gbit", delay_ms),
        f"{server}_down": _wire(server, "cmts", "1gbit", delay_ms),
    }


def _wire(start: str, end: str, rate: str, delay_ms: float) -> dict[str, Any]:
    return {
        "from": start,
        "to": end,
        "rate": rate,
        "delay": f"{delay_ms:g}ms",
        "queue": {"droptail": {"limit": "100000p"}},
    }


# ------------------------------------------------------------------------------------------------------- applications


def _apps(case: Case, seed: int, setup: Setup) -> dict[str, Any]:
    free = setup.free
    apps: dict[str, Any] = {
        "voip": {"from": "home", "to": ["phone"], "start": "0s", "traffic": {"voip": {}}},
        "web": {
            "from": "home",
            "to": [f"web{n}" for n in range(1, 5)],
            "start": free.web_start,
            "tcp": "web",
            "traffic": {"web": _page(setup)},
        },
    }
    if (traffic := _bulk(case.bulk, free)) is not None:
        stack = "bursty" if case.bulk is Bulk.BURSTY else "bulk"
        apps["ftp"] = {"from": "home", "to": ["ftp"], "start": free.ftp_start, "tcp": stack, "traffic": {"ftp": traffic}}
    if case.bulk is Bulk.MULTIPLE_AND_UDP:
        cbr = {"rate": "1mbit", "size": free.cbr_size}
        apps["cbr"] = {"from": "home", "to": ["cbr"], "start": free.ftp_start, "traffic": {"cbr": cbr}}
    return {name: app | {"start": _shaken(name, app["start"], seed, free)} for name, app in apps.items()}


def _bulk(bulk: Bulk, free: Free) -> dict[str, Any] | None:
    match bulk:
        case Bulk.NONE:
            return None
        case Bulk.SINGLE:
            return {"flows": 1}
        case Bulk.BURSTY:
            return {"flows": 1, "size": "18750000B", "pause": "16s", "new_connection": False}
        case Bulk.MULTIPLE | Bulk.MULTIPLE_AND_UDP:
            pause, spread = free.file_pause, free.file_pause_spread
            return {"flows": 5, "size": free.file_size, "pause": pause, "pause_spread": spread}


def _page(setup: Setup) -> dict[str, Any]:
    """Doc 001 §3.2.3: 100 kB of HTML, then 6 connections to each of 4 servers, 25 objects each; 5 s between pages."""
    page: dict[str, Any] = {
        "html": "100KB",
        "connections": 6,
        "get": setup.free.get_size,
        "pause": "5s",
        "new_connection": setup.free.web_new_connection,
    }
    match setup.page:
        case PageModel.FIXED:
            page["objects"] = {"fixed": {"size": "25KB", "per_server": 25}}
        case PageModel.LISTED:
            page["html"] = "102400B"
            page["objects"] = {"listed": {"sizes": [list(sizes) for sizes in appendix_a()]}}
        case PageModel.LOGNORMAL:
            page["html"] = "102400B"
            page["objects"] = {
                "lognormal": {"log10_mean": 3.34, "log10_sd": 0.84, "total": "614400B", "per_server": 25}
            }
    return page


def _shaken(name: str, start: str, seed: int, free: Free) -> str:
    """`start` moved by up to the spread: what tells one seed from another. Each application has its own stream."""
    base_ns = round(float(start.removesuffix("s")) * 1e9)
    shift_ns = round(random.Random(f"cablelabs2012/{seed}/{name}").random() * free.start_spread_ms * 1e6)  # noqa: S311
    return f"{base_ns + shift_ns}ns"


# ---------------------------------------------------------------------------------------------------------------- TCP


def _stacks(free: Free) -> Mapping[str, Mapping[str, Any]]:
    """Doc 001, Table 1: Linux CUBIC, Reno, BSD with SACK, as ns-2 had them."""
    ack = {"ack_every": free.ack_every} if free.ack_every != 1 else {}
    return {
        "bulk": {"preset": "ns2-cubic-2.6.22", "initial_window": free.bulk_initial_window} | ack,
        "bursty": {"preset": "ns2-reno", "initial_window": free.bulk_initial_window} | ack,
        "web": {"preset": "ns2-fulltcp-sack", "initial_window": free.web_initial_window} | ack,
    }
