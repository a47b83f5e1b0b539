"""What doc 001 does not say, and what we take: one set for the whole study, argued for, and its sensitivity listed.

The values are chosen on the calibration cases D01, C01 and D02 alone; every other case uses them as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Free:
    """The free parameters. Quantities are text with units, as in a scenario."""

    file_size: str = "10MB"
    file_pause: str = "300ms"
    file_pause_spread: str = "200ms"
    cbr_size: str = "1000B"
    bulk_initial_window: int = 2
    web_initial_window: int = 2
    web_persistent: bool = False
    web_quota: str = "retrieved"
    web_open_order: str = "by_server"
    web_measure_from: str = "connected"
    files_new_connection: bool = False
    bursty_schedule: bool = True
    bursty_window: int | None = 64
    web_server_order: tuple[int, ...] = (1, 2, 3, 4)
    get_size: str = "100B"
    ack_every: int = 1
    link_rate: str = "100mbit"
    map_clock: str = "from_first_packet"
    request_vector: str = "live"
    down_link_rate: str = "100mbit"
    down_limit: str = "2000p"
    lan_rate: str | None = None
    ftp_start: str = "0s"
    web_start: str = "1s"
    start_spread_ms: float = 100.0
    ns2_droptail: bool = True
    codel_variant: str = "draft01"

    def with_(self, **changes: Any) -> Free:
        """These parameters with some replaced."""
        return replace(self, **changes)


@dataclass(frozen=True, slots=True)
class Unknown:
    """One thing that the paper leaves open: our value's argument, and the values that sensitivity runs try."""

    field: str
    what: str
    why: str
    others: tuple[Any, ...]


UNKNOWNS: tuple[Unknown, ...] = (
    Unknown(
        "file_size",
        "size of the repeated files of scenarios 3 and 4",
        '"Moderately sized" is all that is said. The CoDel scripts of the time, by a contributor to the study, default to '
        "10 MB (SPEC 4.4).",
        ("1MB", "3MB", "30MB"),
    ),
    Unknown(
        "file_pause",
        "pause between a file's end and the next one's start",
        "The same scripts restart after 0.3 to 0.5 s, drawn anew each time (with file_pause_spread 200 ms).",
        ("0s", "2s"),
    ),
    Unknown(
        "cbr_size",
        "packet size of the 1 Mbit/s UDP flow",
        "ns-2's UDP agent cuts at 1000 bytes by default; the 18 bytes of Ethernet are not counted, as for TCP.",
        ("210B", "500B", "1500B"),
    ),
    Unknown(
        "bulk_initial_window",
        "initial window of the bulk transfers",
        "ns-2's default is 2; the CoDel scripts set 4. Only the first round trips of a transfer depend on it.",
        (4, 10),
    ),
    Unknown(
        "web_initial_window",
        "initial window of the web connections",
        "The unloaded page time, 2.756 s, fits 2 segments with a new connection per object; 4 gives less than 2.4 s "
        "(SPEC 3.6).",
        (3, 4),
    ),
    Unknown(
        "web_persistent",
        "whether a connection is kept for the next object",
        'The text counts connections ("via separate TCP connections") and the page time fits new ones (SPEC 3.6).',
        (True,),
    ),
    Unknown(
        "web_open_order",
        "in which order the 24 connections open",
        "Not stated. One to each server in turn: the servers are alike in the text. With 21 packets the last SYNs of the "
        "burst are dropped, so the order says whose.",
        ("by_server",),
    ),
    Unknown(
        "web_measure_from",
        "where a page load begins",
        '"From initial HTTP GET": taken as the moment when the user asks, with the handshake that it needs.',
        ("connected",),
    ),
    Unknown(
        "files_new_connection",
        "whether each burst of scenario 5 has a new connection",
        '"Single upstream FTP/TCP session": one, which slow-starts after its 16 s of silence.',
        (True,),
    ),
    Unknown(
        "get_size",
        "bytes of a GET",
        "A page costs 138 kB upstream: 1869 acknowledgements of 50 bytes and about 450 bytes per object for SYN, ACK, FIN "
        "and GET leave 200 to 250 bytes for the GET (SPEC 3.6).",
        ("150B", "350B", "500B"),
    ),
    Unknown(
        "ack_every",
        "segments per acknowledgement",
        "The same 138 kB: with delayed acknowledgements it would need 900 bytes per object (SPEC 3.6). ns-2 acknowledges "
        "each segment by default.",
        (2,),
    ),
    Unknown(
        "link_rate",
        "rate of the upstream channel",
        '"0.8 x modulation x channels" without numbers. Anything well above the peak rate of 20 Mbit/s serialises a packet '
        "in a small part of a MAP interval; ns-2's public DOCSIS example uses 100 Mbit/s.",
        ("40mbit", "200mbit"),
    ),
    Unknown(
        "down_limit",
        "downstream buffer",
        "Not stated. The downstream burst of 20 MB at 50 Mbit/s covers a page, so it never fills; large enough to say so.",
        ("417p",),
    ),
    Unknown(
        "web_start",
        "when the first page is asked for",
        "Connection attempts were seen at T = 1, 4, 10, ... s: the first one at 1 s.",
        ("0s", "5s"),
    ),
    Unknown(
        "start_spread_ms",
        "how far apart the applications start, in ms",
        "Seeds must differ in something, as the paper's two CoDel runs do: every start is moved by up to this much.",
        (0.0, 1000.0),
    ),
    Unknown(
        "ns2_droptail",
        "whether a DropTail of n packets stores n - 1",
        "ns-2 compares before it stores, and the study was run on ns-2 (SPEC 1.1).",
        (False,),
    ),
    Unknown(
        "codel_variant",
        "which CoDel",
        "November 2012, with K. Nichols contributing: before the draft was posted, so its rule, and the revision of the "
        "time as sensitivity (SPEC 1.9).",
        ("kmn", "rfc8289"),
    ),
)


def differences(free: Free) -> dict[str, Any]:
    """Where `free` departs from the values of the study."""
    own = Free()
    return {f.name: getattr(free, f.name) for f in fields(Free) if getattr(free, f.name) != getattr(own, f.name)}
