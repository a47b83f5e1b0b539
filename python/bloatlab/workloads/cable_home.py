"""The home of CableLabs 2012, Figure 1, as plain values of a scenario, for studies.

    home --lan-- modem ==up/down== cmts --+-- ftp      9 or 49 ms each way
                                          +-- phone    0 ms
                                          +-- cbr      0 ms
                                          +-- web1..4  9, 14, 24, 49 ms each way

If the five transfers have different round trips (`round_trip_step_ms`), there are additional servers, ftp2 to ftp5.

The DOCSIS link adds 1 ms each way, so round trips are 20 or 100 ms (FTP) and 20, 30, 50, 100 ms (web). The rate shaping
queue, its token bucket, the transmit queue and the request/grant loop all belong to the link `up`.
"""

import random
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from bloatlab.workloads.build import Data
from bloatlab.workloads.cable_loads import Bulk, Case, Queue

SECONDS = 600
UP, DOWN = "up", "down"


@dataclass(frozen=True, slots=True)
class Setup:
    """Values that the paper leaves open, and values changed by experiments.

    Quantities are strings with units, or numbers whose names contain the unit. Windows are numbers of segments.

    The defaults are the values of the study cablelabs2012; its `parameters.toml` gives the reason for each open value.
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
    #: Behaviour of the rate shaping queue when the transmit queue is full (§2.2.3): "drop" or "back_pressure".
    transmit_queue: str = "drop"
    #: Whether CoDel's sojourn time also includes the time in the transmit queue.
    sojourn_both: bool = False
    #: The page to use instead of the paper's; None: the paper's page.
    page: str | Mapping[str, Any] | None = None
    #: The queue's limit; None: the limit of the `Case`. Not used with `queue`.
    limit: str | None = None
    #: CoDel's target.
    target: str = "5ms"
    #: The queue, as in a scenario; None: the queue of the `Case`.
    queue: Mapping[str, Mapping[str, Any]] | None = None
    #: Difference between the round trips of successive transfers; 0 if all transfers have the paper's round trip.
    round_trip_step_ms: float = 0.0
    #: Maximum window of the bursty sender, in segments; None: same as `bulk_window`.
    bursty_window: int | None = None
    #: Segments per acknowledgement of the bulk transfers; None: same as `ack_every`.
    bulk_ack_every: int | None = None
    seconds: int = SECONDS


def describe(case: Case, seed: int, setup: Setup) -> Data:
    """Returns the scenario of one run, without a name."""
    home: Data = tomllib.loads(_template())
    links, apps, tcp = home["link"], home["app"], home["tcp"]

    def start(name: str, base: str) -> str:
        """Returns the start time of an application: `base` plus a random delay of at most `start_spread_ms`.

        The fraction of `start_spread_ms` that is added depends only on the application's name and the seed.
        """
        base_ns = round(float(base.removesuffix("s")) * 1e9)
        shift_ns = round(random.Random(f"cablelabs2012/{seed}/{name}").random() * setup.start_spread_ms * 1e6)  # noqa: S311
        return f"{base_ns + shift_ns}ns"

    _set_modem(links, case, setup)
    links["ftp"]["delay"] = _delay(case.rtt_ms)
    apps["voip"]["start"], apps["web"]["start"] = start("voip", "0s"), start("web", setup.web_start)
    _set_browsing(apps["web"]["traffic"]["web"], setup)
    if (traffic := _bulk(case, setup)) is not None:
        stack = "bursty" if case.bulk is Bulk.BURSTY else "bulk"
        apps["ftp"] = _upload("ftp", start("ftp", setup.ftp_start), traffic) | {"tcp": stack}
    for n in range(1, _transfers(case, setup)):
        name = f"ftp{n + 1}"
        links[name] = links["ftp"] | {"to": name, "delay": _delay(case.rtt_ms + n * setup.round_trip_step_ms)}
        apps[name] = apps["ftp"] | {"to": [name]}
    if case.bulk is Bulk.MULTIPLE_AND_UDP:
        cbr = {"cbr": {"rate": "1mbit", "size": setup.cbr_size}}
        apps["cbr"] = _upload("cbr", start("cbr", setup.ftp_start), cbr)
    _set_stacks(tcp, setup)
    home["record"]["apps"] = [name for name in apps if name == "ftp"]
    return {"seed": seed, "duration": f"{setup.seconds}s", **home}


@cache
def _template() -> str:
    return resources.files("bloatlab.workloads").joinpath("cable_home.toml").read_text(encoding="utf-8")


def _delay(rtt_ms: float) -> str:
    """Returns the delay of a server's link. The round trip includes the DOCSIS link's 1 ms in each direction."""
    return f"{rtt_ms / 2.0 - 1.0:g}ms"


def _upload(server: str, start: str, traffic: Data) -> Data:
    return {"from": "home", "to": [server], "start": start, "traffic": traffic}


def _set_modem(links: dict[str, Data], case: Case, setup: Setup) -> None:
    links["lan"] |= {} if setup.lan_rate is None else {"rate": setup.lan_rate}
    links[UP] |= {"rate": setup.link_rate, "queue": _queue(case, setup)}
    links[UP]["docsis"] |= {
        "map_clock": setup.map_clock,
        "request_vector": setup.request_vector,
        # an ns-2 DropTail queue with limit 32 holds 31 packets
        "transmit_limit": "31p" if setup.ns2_droptail else "32p",
        "transmit_queue": setup.transmit_queue,
    }
    # borderline congestion: the mean grant is the sustained rate x the MAP interval, varied by 20 % (CableLabs 2012
    # §3.1.3)
    if case.congested:
        links[UP]["docsis"] |= {"max_grant": "1250B", "grant_variation": "20%"}
    links[DOWN] |= {"rate": setup.down_link_rate, "queue": {"droptail": {"limit": setup.down_limit}}}


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


def _transfers(case: Case, setup: Setup) -> int:
    """Returns the number of applications that carry the bulk transfers.

    Five transfers with different round trips need one application each; otherwise, one application is enough.
    """
    multiple = case.bulk in (Bulk.MULTIPLE, Bulk.MULTIPLE_AND_UDP)
    return 5 if multiple and setup.round_trip_step_ms else 1


def _bulk(case: Case, setup: Setup) -> Data | None:
    match case.bulk:
        case Bulk.NONE:
            return None
        case Bulk.SINGLE:
            return {"ftp": {"flows": 1}}
        case Bulk.BURSTY if setup.bursty_schedule:  # one connection carries a file every 30 s
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


def _set_browsing(web: Data, setup: Setup) -> None:
    web |= {
        "page": setup.page or web["page"],
        "html_server": setup.web_html_server,
        "request": setup.get_size,
        "persistent": setup.web_persistent,
        "quota": setup.web_quota,
        "open_order": setup.web_open_order,
        "measure_from": setup.web_measure_from,
    }


def _set_stacks(tcp: dict[str, Data], setup: Setup) -> None:
    def window(segments: int, most: int | None = None) -> Data:
        """Returns the keys of a TCP stack that set its initial window, its acknowledgements and its maximum window.

        `most` is the value of ns-2's parameter window_. It limits the congestion window, and is also the initial slow
        start threshold.
        """
        clamp: Data = {} if most is None else {"window_clamp": most, "initial_ssthresh": float(most)}
        return {"initial_window": {"segments": segments}, "ack_every": setup.ack_every, **clamp}

    tcp["bulk"] |= window(setup.bulk_initial_window, setup.bulk_window)
    tcp["bulk"] |= {"ack_every": setup.bulk_ack_every or setup.ack_every}
    tcp["bursty"] |= window(setup.bulk_initial_window, setup.bursty_window or setup.bulk_window)
    tcp["web"] |= window(setup.web_initial_window)
    tcp["web"] |= {"short_segments_wait": setup.web_short_acks_wait, "nagle": setup.web_nagle}
