"""The home of CableLabs 2012, Figure 1, as plain values of a scenario, for studies.

    home --lan-- modem ==up/down== cmts --+-- ftp      9 or 49 ms each way
                                          +-- phone    0 ms
                                          +-- cbr      0 ms
                                          +-- web1..4  9, 14, 24, 49 ms each way

Five round trips (`round_trip_step_ms`) have further servers, ftp2 to ftp5.

The DOCSIS link adds 1 ms each way, so round trips are 20 or 100 ms (FTP) and 20, 30, 50, 100 ms (web). The rate shaping
queue, its token bucket, the transmit queue and the request/grant loop all belong to the link `up`.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bloatlab.workloads.build import Data
from bloatlab.workloads.cable_loads import Bulk, Case, Queue

SECONDS = 600
UP, DOWN = "up", "down"
DOCSIS_DELAY_MS = 1.0
WEB_RTT_MS = (20, 30, 50, 100)

#: The page of CableLabs 2012 §3.2.3: 100 kB of HTML, then 25 objects of 25 kB from each server.
PAGE: Mapping[str, Any] = {"uniform": {"html": "100KB", "per_server": 25, "size": "25KB"}}


@dataclass(frozen=True, slots=True)
class Setup:
    """The things that the paper leaves open, and those that experiments change. Quantities are text with units.

    The defaults are those of study cablelabs2012; its `parameters.toml` argues for each open value.
    """

    map_clock: str = "from_first_packet"
    request_vector: str = "recorded"
    link_rate: str = "49152kbit"
    lan_rate: str | None = None
    down_link_rate: str = "100mbit"
    down_limit: str = "2000p"
    ns2_droptail: bool = True
    codel_variant: str = "draft01"
    web_quota: str = "retrieved"
    web_open_order: str = "by_server"
    web_measure_from: str = "connected"
    web_html_server: int = 1
    web_persistent: bool = False
    web_initial_window: int = 4
    web_nagle: bool = True
    web_short_acks_wait: bool = False
    get_size: str = "100B"
    ack_every: int = 1
    bulk_initial_window: int = 4
    bulk_window: int | None = 672
    file_size: str = "10MB"
    file_pause: str = "300ms"
    file_pause_spread: str = "200ms"
    files_new_connection: bool = False
    burst_file: str = "18250000B"
    bursty_schedule: bool = True
    cbr_size: str = "1000B"
    ftp_start: str = "0s"
    web_start: str = "1s"
    start_spread_ms: float = 100.0

    # ------------------------------------------------------------------ stated by the paper, and changed by experiments
    #: The rule of the rate shaping queue before a full transmit queue (§2.2.3): "drop" or "back_pressure".
    transmit_queue: str = "drop"
    #: CoDel measures the sojourn in both queues.
    sojourn_both: bool = False
    #: Replaces the paper's page.
    page: str | Mapping[str, Any] | None = None
    #: Replaces the limit of the case's queue.
    limit: str | None = None
    #: CoDel's target.
    target: str = "5ms"
    #: Replaces the case's queue, as a scenario's `queue`.
    queue: Mapping[str, Mapping[str, Any]] | None = None
    #: Step between the round trips of five transfers; 0 for the paper's one round trip.
    round_trip_step_ms: float = 0.0
    #: Window of the bursty sender in segments, if not `bulk_window`.
    bursty_window: int | None = None
    #: Segments per acknowledgement of the bulk transfers, if not `ack_every`.
    bulk_ack_every: int | None = None
    seconds: int = SECONDS


def describe(case: Case, seed: int, setup: Setup) -> Data:
    """The scenario of one run, without a name."""
    apps = _apps(case, seed, setup)
    return {
        "seed": seed,
        "duration": f"{setup.seconds}s",
        "link": _links(case, setup),
        "start_spread": "0s",  # `_start` has its own
        "app": apps,
        "tcp": _stacks(setup),
        "record": {"interval": "100ms", "links": [UP], "apps": [name for name in apps if name == "ftp"]},
    }


# -------------------------------------------------------------------------------------------------------------- links


def _links(case: Case, setup: Setup) -> dict[str, Data]:
    lan = _wire("home", "modem", 0.0)
    links = {
        "lan": lan if setup.lan_rate is None else lan | {"rate": setup.lan_rate},
        UP: _up(case, setup),
        DOWN: _down(setup),
        "ftp": _server("ftp", case.rtt_ms),
        "phone": _server("phone", 2.0 * DOCSIS_DELAY_MS),
        "cbr": _server("cbr", 2.0 * DOCSIS_DELAY_MS),
    }
    for n in range(1, _transfers(case, setup)):
        links[f"ftp{n + 1}"] = _server(f"ftp{n + 1}", case.rtt_ms + n * setup.round_trip_step_ms)
    return links | {f"web{n}": _server(f"web{n}", rtt) for n, rtt in enumerate(WEB_RTT_MS, start=1)}


def _up(case: Case, setup: Setup) -> Data:
    """Upstream: 5 Mbit/s sustained, 10 MB burst, 20 Mbit/s peak (CableLabs 2012 §3.1.1), MAP every 2 ms (§2.2.2)."""
    docsis: Data = {
        "flow": _shaping("5mbit", "10MB", "20mbit"),
        "map_interval": "2ms",
        "map_clock": setup.map_clock,
        "request_vector": setup.request_vector,
        # ns-2's DropTail of 32 stores 31
        "transmit_limit": "31p" if setup.ns2_droptail else "32p",
        "transmit_queue": setup.transmit_queue,
    }
    if case.congested:  # borderline: mean grant = MSR x MAP interval, give or take 20 % (CableLabs 2012 §3.1.3)
        docsis |= {"max_grant": "1250B", "grant_variation": "20%"}
    return _cable("modem", "cmts", setup.link_rate) | {"queue": _queue(case, setup), "docsis": docsis}


def _queue(case: Case, setup: Setup) -> Data:
    if setup.queue is not None:
        return {name: dict(values) for name, values in setup.queue.items()}
    limit = setup.limit or f"{case.queue.limit}p"
    if case.queue is not Queue.CODEL:
        return {"droptail": {"limit": limit, "ns2_off_by_one": setup.ns2_droptail and limit.endswith("p")}}
    return {
        "codel": {
            "limit": limit,
            "target": setup.target,
            "interval": "100ms",
            "variant": setup.codel_variant,
            "sojourn": "queue_and_transmit" if setup.sojourn_both else "queue",
        }
    }


def _down(setup: Setup) -> Data:
    """Downstream: 20 Mbit/s sustained, 20 MB burst, 50 Mbit/s peak."""
    shaped: Data = {"queue": {"droptail": {"limit": setup.down_limit}}, "shaper": _shaping("20mbit", "20MB", "50mbit")}
    return _cable("cmts", "modem", setup.down_link_rate) | shaped


def _cable(start: str, end: str, rate: str) -> Data:
    return {"from": start, "to": end, "rate": rate, "delay": f"{DOCSIS_DELAY_MS:g}ms"}


def _shaping(sustained: str, burst: str, peak: str) -> Data:
    rates = {"max_sustained_rate": sustained, "max_traffic_burst": burst, "peak_traffic_rate": peak}
    return rates | {"peak_burst": "1522B"}


def _server(name: str, rtt_ms: float) -> Data:
    """A gigabit link to a server whose round trip, DOCSIS link included, is `rtt_ms`."""
    return _wire("cmts", name, rtt_ms / 2.0 - DOCSIS_DELAY_MS) | {"rate": "1gbit"}


def _wire(start: str, end: str, delay_ms: float) -> Data:
    wire: Data = {"from": start, "to": end, "both_ways": True, "delay": f"{delay_ms:g}ms"}
    return wire | {"queue": {"droptail": {"limit": "10000p"}}}


# ------------------------------------------------------------------------------------------------------- applications


def _apps(case: Case, seed: int, setup: Setup) -> dict[str, Data]:
    def app(name: str, start: str, traffic: Data, **more: Any) -> Data:
        begin = _start(name, start, seed, setup.start_spread_ms)
        return {"from": "home", "to": [name], "start": begin, **more, "traffic": traffic}

    servers = [f"web{n}" for n in range(1, len(WEB_RTT_MS) + 1)]
    apps = {
        "voip": app("voip", "0s", {"voip": {}}) | {"to": ["phone"]},
        "web": app("web", setup.web_start, {"web": _browsing(setup)}, tcp="web") | {"to": servers},
    }
    if (traffic := _bulk(case, setup)) is not None:
        apps["ftp"] = app("ftp", setup.ftp_start, traffic, tcp="bursty" if case.bulk is Bulk.BURSTY else "bulk")
    for n in range(1, _transfers(case, setup)):
        apps[f"ftp{n + 1}"] = apps["ftp"] | {"to": [f"ftp{n + 1}"]}
    if case.bulk is Bulk.MULTIPLE_AND_UDP:
        apps["cbr"] = app("cbr", setup.ftp_start, {"cbr": {"rate": "1mbit", "size": setup.cbr_size}})
    return apps


def _transfers(case: Case, setup: Setup) -> int:
    """The number of applications that carry the transfers: five if each has its own round trip."""
    multiple = case.bulk in (Bulk.MULTIPLE, Bulk.MULTIPLE_AND_UDP)
    return 5 if multiple and setup.round_trip_step_ms else 1


def _bulk(case: Case, setup: Setup) -> Data | None:
    match case.bulk:
        case Bulk.NONE:
            return None
        case Bulk.SINGLE:
            return {"ftp": {"flows": 1}}
        case Bulk.BURSTY if setup.bursty_schedule:  # a file every 30 s on one connection: `messages`, of larger files
            return {"messages": {"message": setup.burst_file, "interval": "30s"}}
        case Bulk.BURSTY:
            files: Data = {"size": setup.burst_file, "pause": "16s"}
        case Bulk.MULTIPLE | Bulk.MULTIPLE_AND_UDP:
            files = {
                "flows": 5 // _transfers(case, setup),
                "size": setup.file_size,
                "pause": setup.file_pause,
                "pause_spread": setup.file_pause_spread,
            }
    return {"ftp": files | {"new_connection": setup.files_new_connection}}


def _browsing(setup: Setup) -> Data:
    """CableLabs 2012 §3.2.3: after the HTML 6 connections to each of 4 servers; 5 s between pages."""
    return {
        "page": setup.page or PAGE,
        "servers": len(WEB_RTT_MS),
        "html_server": setup.web_html_server,
        "connections_per_server": 6,
        "request": setup.get_size,
        "think": "5s",
        "think_spread": "0s",
        "persistent": setup.web_persistent,
        "quota": setup.web_quota,
        "open_order": setup.web_open_order,
        "measure_from": setup.web_measure_from,
    }


def _start(name: str, base: str, seed: int, spread_ms: float) -> str:
    """`base` moved by up to the spread, so that seeds differ. Each application has its own stream."""
    base_ns = round(float(base.removesuffix("s")) * 1e9)
    shift_ns = round(random.Random(f"cablelabs2012/{seed}/{name}").random() * spread_ms * 1e6)  # noqa: S311
    return f"{base_ns + shift_ns}ns"


# ---------------------------------------------------------------------------------------------------------------- TCP


def _stacks(setup: Setup) -> dict[str, Data]:
    """CableLabs 2012, Table 1: Linux CUBIC, Reno, BSD with SACK, in their ns-2 versions."""

    def stack(preset: str, initial_window: int, **more: Any) -> Data:
        window = {"segments": initial_window}
        return {"preset": preset, "initial_window": window, "ack_every": setup.ack_every, **more}

    def window(most: int | None) -> Data:
        """ns-2's window_, which is also the first slow start threshold."""
        return {} if most is None else {"window_clamp": most, "initial_ssthresh": float(most)}

    acks = {"ack_every": setup.bulk_ack_every or setup.ack_every}
    waits = {"short_segments_wait": setup.web_short_acks_wait, "nagle": setup.web_nagle}
    return {
        "bulk": stack("ns2-cubic-2.6.22", setup.bulk_initial_window) | acks | window(setup.bulk_window),
        "bursty": stack("ns2-reno", setup.bulk_initial_window) | window(setup.bursty_window or setup.bulk_window),
        "web": stack("ns2-fulltcp-sack", setup.web_initial_window) | waits,
    }
