"""The system of CableLabs 2012, Figure 1, as a scenario: the one place that knows both the paper and the scenario's words.

    home --lan-- modem ==up/down== cmts --+-- ftp      9 or 49 ms each way
                                          +-- phone    0 ms
                                          +-- cbr      0 ms
                                          +-- web1..4  9, 14, 24, 49 ms each way

Where five round trips differ (`round_trip_step_ms`), ftp2 to ftp5 stand beside ftp.

The DOCSIS link adds 1 ms each way, so round trips are 20 or 100 ms (FTP) and 20, 30, 50, 100 ms (web). The rate shaping
queue, its token bucket, the transmit queue and the request/grant loop all stand on the link `up`.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from bloatlab.scenario import AppDict, LinkDict, Scenario, ScenarioDict, from_dict
from bloatlab.studies.cablelabs2012.cases import Bulk, Case, Queue
from bloatlab.studies.cablelabs2012.parameters import Discipline, Free

SECONDS = 600
UP = "up"
DOWN = "down"
DOCSIS_DELAY_MS = 1.0
WEB_RTT_MS = (20, 30, 50, 100)


class Between(Enum):
    """What happens between the rate shaping queue and a full transmit queue (CableLabs 2012 §2.2.3)."""

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

    free: Free = field(default_factory=Free)
    between: Between = Between.DROP
    sojourn_both: bool = False
    page: PageModel = PageModel.FIXED
    limit: str | None = None
    target: str | None = None
    discipline: Discipline | None = None
    #: How much longer each of five transfers' round trip is than that of the one before; 0 is the paper's one round trip.
    round_trip_step_ms: float = 0.0
    #: Another window of the bursty sender, in segments.
    bursty_window: int | None = None
    #: Another number of segments per acknowledgement of the bulk transfers.
    bulk_ack_every: int | None = None
    seconds: int = SECONDS

    def with_(self, **changes: Any) -> Setup:
        """This set-up with some things changed."""
        return replace(self, **changes)


def build(case: Case, seed: int, setup: Setup | None = None) -> Scenario:
    """The validated scenario of one run."""
    return from_dict(describe(case, seed, setup or Setup()), source=scenario_name(case))


def scenario_name(case: Case) -> str:
    """What a run of `case` is called, whatever is changed in it."""
    return f"cablelabs2012 {case.key}"


def describe(case: Case, seed: int, setup: Setup) -> ScenarioDict:
    """The scenario of one run as plain values."""
    apps = _apps(case, seed, setup)
    return {
        "name": scenario_name(case),
        "seed": seed,
        "duration": f"{setup.seconds}s",
        "link": _links(case, setup),
        "start_spread": "0s",  # the study has its own
        "app": apps,
        "tcp": _stacks(setup),
        "record": {"interval": "100ms", "links": [UP], "apps": [name for name in apps if name == "ftp"]},
    }


# -------------------------------------------------------------------------------------------------------------- links


def _links(case: Case, setup: Setup) -> dict[str, LinkDict]:
    links = {
        "lan": _wire("home", "modem", setup.free.lan_rate, 0.0),
        UP: _up(case, setup),
        DOWN: _down(setup.free),
        "ftp": _server("ftp", case.rtt_ms),
        "phone": _server("phone", 2.0 * DOCSIS_DELAY_MS),
        "cbr": _server("cbr", 2.0 * DOCSIS_DELAY_MS),
    }
    for n in range(1, _transfers(case, setup)):
        links[f"ftp{n + 1}"] = _server(f"ftp{n + 1}", case.rtt_ms + n * setup.round_trip_step_ms)
    return links | {f"web{n}": _server(f"web{n}", rtt) for n, rtt in enumerate(WEB_RTT_MS, start=1)}


def _up(case: Case, setup: Setup) -> LinkDict:
    """Upstream: 5 Mbit/s sustained, 10 MB burst, 20 Mbit/s peak (CableLabs 2012 §3.1.1), MAP every 2 ms (§2.2.2)."""
    docsis: dict[str, Any] = {
        "flow": _shaping("5mbit", "10MB", "20mbit"),
        "map_interval": "2ms",
        "map_clock": setup.free.map_clock,
        "request_vector": setup.free.request_vector,
        # ns-2's DropTail of 32 stores 31
        "transmit_limit": "31p" if setup.free.ns2_droptail else "32p",
        "transmit_queue": setup.between.value,
    }
    if case.congested:  # borderline: mean grant = MSR x MAP interval, give or take 20 % (CableLabs 2012 §3.1.3)
        docsis |= {"max_grant": "1250B", "grant_variation": "20%"}
    return {
        "from": "modem",
        "to": "cmts",
        "rate": setup.free.link_rate,
        "delay": f"{DOCSIS_DELAY_MS:g}ms",
        "queue": _queue(case, setup),
        "docsis": docsis,
    }


def _queue(case: Case, setup: Setup) -> dict[str, Any]:
    if setup.discipline is not None:
        return {name: dict(values) for name, values in setup.discipline.queue.items()}
    limit = setup.limit or f"{case.queue.limit}p"
    if case.queue is not Queue.CODEL:
        in_packets = limit.endswith("p")
        return {"droptail": {"limit": limit, "ns2_off_by_one": setup.free.ns2_droptail and in_packets}}
    return {
        "codel": {
            "limit": limit,
            "target": setup.target or "5ms",
            "interval": "100ms",
            "variant": setup.free.codel_variant,
            "sojourn": "queue_and_transmit" if setup.sojourn_both else "queue",
        }
    }


def _down(free: Free) -> LinkDict:
    """Downstream: 20 Mbit/s sustained, 20 MB burst, 50 Mbit/s peak."""
    return {
        "from": "cmts",
        "to": "modem",
        "rate": free.down_link_rate,
        "delay": f"{DOCSIS_DELAY_MS:g}ms",
        "queue": {"droptail": {"limit": free.down_limit}},
        "shaper": _shaping("20mbit", "20MB", "50mbit"),
    }


def _shaping(sustained: str, burst: str, peak: str) -> dict[str, str]:
    return {
        "max_sustained_rate": sustained,
        "max_traffic_burst": burst,
        "peak_traffic_rate": peak,
        "peak_burst": "1522B",
    }


def _server(name: str, rtt_ms: float) -> LinkDict:
    """A gigabit link to a server whose round trip, DOCSIS link included, is `rtt_ms`."""
    return _wire("cmts", name, "1gbit", rtt_ms / 2.0 - DOCSIS_DELAY_MS)


def _wire(start: str, end: str, rate: str | None, delay_ms: float) -> LinkDict:
    wire: LinkDict = {
        "from": start,
        "to": end,
        "both_ways": True,
        "delay": f"{delay_ms:g}ms",
        "queue": {"droptail": {"limit": "10000p"}},
    }
    return wire if rate is None else wire | {"rate": rate}


# ------------------------------------------------------------------------------------------------------- applications


def _apps(case: Case, seed: int, setup: Setup) -> dict[str, AppDict]:
    free = setup.free

    def start(name: str, base: str) -> str:
        return _shaken(name, base, seed, free)

    apps: dict[str, AppDict] = {
        "voip": {"from": "home", "to": ["phone"], "start": start("voip", "0s"), "traffic": {"voip": {}}},
        "web": {
            "from": "home",
            "to": [f"web{n}" for n in range(1, 5)],
            "start": start("web", free.web_start),
            "tcp": "web",
            "traffic": {"web": _browsing(setup)},
        },
    }
    if (traffic := _bulk(case, setup)) is not None:
        apps["ftp"] = {
            "from": "home",
            "to": ["ftp"],
            "start": start("ftp", free.ftp_start),
            "tcp": "bursty" if case.bulk is Bulk.BURSTY else "bulk",
            "traffic": traffic,
        }
    for n in range(1, _transfers(case, setup)):
        apps[f"ftp{n + 1}"] = apps["ftp"] | {"to": [f"ftp{n + 1}"]}
    if case.bulk is Bulk.MULTIPLE_AND_UDP:
        apps["cbr"] = {
            "from": "home",
            "to": ["cbr"],
            "start": start("cbr", free.ftp_start),
            "traffic": {"cbr": {"rate": "1mbit", "size": free.cbr_size}},
        }
    return apps


def _transfers(case: Case, setup: Setup) -> int:
    """How many applications carry the transfers: five where each has its own round trip."""
    multiple = case.bulk in (Bulk.MULTIPLE, Bulk.MULTIPLE_AND_UDP)
    return 5 if multiple and setup.round_trip_step_ms else 1


def _bulk(case: Case, setup: Setup) -> dict[str, Any] | None:
    free = setup.free
    match case.bulk:
        case Bulk.NONE:
            return None
        case Bulk.SINGLE:
            return {"ftp": {"flows": 1}}
        case Bulk.BURSTY:
            if free.bursty_schedule:  # a file every 30 s on one connection: `messages`, of larger files
                return {"messages": {"message": free.burst_file, "interval": "30s"}}
            return {"ftp": {"size": free.burst_file, "pause": "16s", "new_connection": free.files_new_connection}}
        case Bulk.MULTIPLE | Bulk.MULTIPLE_AND_UDP:
            pause, spread = free.file_pause, free.file_pause_spread
            files = {
                "flows": 5 // _transfers(case, setup),
                "size": free.file_size,
                "pause": pause,
                "pause_spread": spread,
            }
            return {"ftp": files | {"new_connection": free.files_new_connection}}


def _browsing(setup: Setup) -> dict[str, Any]:
    """CableLabs 2012 §3.2.3: 100 kB of HTML, then 6 connections to each of 4 servers, 25 objects each; 5 s between pages."""
    free = setup.free
    return {
        "page": _page(setup.page),
        "servers": 4,
        "html_server": free.web_html_server,
        "connections_per_server": 6,
        "request": free.get_size,
        "think": "5s",
        "think_spread": "0s",
        "persistent": free.web_persistent,
        "quota": free.web_quota,
        "open_order": free.web_open_order,
        "measure_from": free.web_measure_from,
    }


def _page(model: PageModel) -> str | dict[str, Any]:
    match model:
        case PageModel.FIXED:
            return {"uniform": {"html": "100KB", "per_server": 25, "size": "25KB"}}
        case PageModel.LISTED:
            return "listed"
        case PageModel.LOGNORMAL:
            return {"lognormal": {"draw": "each_page"}}


def _shaken(name: str, base: str, seed: int, free: Free) -> str:
    """`base` moved by up to the spread: what tells one seed from another. Each application has its own stream."""
    base_ns = round(float(base.removesuffix("s")) * 1e9)
    shift_ns = round(random.Random(f"cablelabs2012/{seed}/{name}").random() * free.start_spread_ms * 1e6)  # noqa: S311
    return f"{base_ns + shift_ns}ns"


# ---------------------------------------------------------------------------------------------------------------- TCP


def _stacks(setup: Setup) -> dict[str, dict[str, Any]]:
    """CableLabs 2012, Table 1: Linux CUBIC, Reno, BSD with SACK, as ns-2 had them."""
    free = setup.free

    def window(most: int | None) -> dict[str, Any]:
        """ns-2's window_, which is also the first slow start threshold."""
        return {} if most is None else {"window_clamp": most, "initial_ssthresh": float(most)}

    return {
        "bulk": _stack("ns2-cubic-2.6.22", free.bulk_initial_window, free)
        | {"ack_every": setup.bulk_ack_every or free.ack_every}
        | window(free.bulk_window),
        "bursty": _stack("ns2-reno", free.bulk_initial_window, free) | window(setup.bursty_window or free.bulk_window),
        "web": _stack("ns2-fulltcp-sack", free.web_initial_window, free)
        | {"short_segments_wait": free.web_short_acks_wait, "nagle": free.web_nagle},
    }


def _stack(preset: str, initial_window: int, free: Free) -> dict[str, Any]:
    return {"preset": preset, "initial_window": {"segments": initial_window}, "ack_every": free.ack_every}
