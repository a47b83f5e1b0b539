"""What doc 001 does not say, and what we take: one set for the whole study, argued for, and its sensitivity listed.

The values are chosen on the calibration cases D01, C01 and D02. Two of them concern only the bursty sender of cases 08
and 09, of which no calibration case knows anything; they are inferred from the row D08 with 417 packets, and that row is
therefore marked and not counted either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Free:
    """The free parameters. Quantities are text with units, as in a scenario."""

    map_clock: str = "from_first_packet"
    request_vector: str = "live"
    link_rate: str = "100mbit"
    lan_rate: str | None = None
    down_link_rate: str = "100mbit"
    down_limit: str = "2000p"
    ns2_droptail: bool = True
    codel_variant: str = "draft01"
    web_quota: str = "retrieved"
    web_open_order: str = "by_server"
    web_measure_from: str = "connected"
    web_persistent: bool = False
    web_initial_window: int = 4
    web_short_acks_wait: bool = False
    get_size: str = "100B"
    ack_every: int = 1
    bulk_initial_window: int = 2
    bulk_window: int | None = 672
    file_size: str = "10MB"
    file_pause: str = "300ms"
    file_pause_spread: str = "200ms"
    files_new_connection: bool = False
    bursty_schedule: bool = True
    bursty_window: int | None = 64
    cbr_size: str = "1000B"
    ftp_start: str = "0s"
    web_start: str = "1s"
    start_spread_ms: float = 100.0

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
        "map_clock",
        "whether MAPs come at all times or from the first packet on",
        '"Effectively delays the first packet transmission by 2 MAP intervals when the TxQ transitions from empty to '
        'occupied": with a timer that starts then, as a simulator would have it, the first packet waits just 4 ms. With a '
        "free-running clock every lone packet waits almost 6 ms (round trips lock to the clock), and D01's page takes 2.84 s.",
        ("free_running",),
    ),
    Unknown(
        "request_vector",
        "whether REQ(1) is what was unrequested at the MAP before, or what is unrequested now",
        '"REQ(1) tracks the occupancy of the queue". Recorded one MAP earlier, the transmit queue holds ACKs for 4 to 6 ms, '
        "overflows a dozen times per page and D01 takes 4.3 s; live, D01 gives the paper's 77 pages, MAD of a millisecond "
        "or two and 0.06 % of voice lost (0.10 %; a packet of the call behind 24 SYNs and the ACKs before them).",
        ("recorded",),
    ),
    Unknown(
        "link_rate",
        "rate of the upstream channel",
        '"0.8 x modulation x channels" without numbers. Anything well above the peak rate of 20 Mbit/s serialises a packet '
        "in a small part of a MAP interval; ns-2's public DOCSIS example uses 100 Mbit/s.",
        ("40mbit", "200mbit"),
    ),
    Unknown(
        "lan_rate",
        "rate of the home network",
        "None is stated, so none is modelled: what is sent in one moment meets the modem in one moment. That is how 24 "
        "SYNs overflow 21 packets in D01, where the queue is otherwise empty; with a gigabit they pass one by one.",
        ("1gbit", "100mbit"),
    ),
    Unknown(
        "down_limit",
        "downstream buffer",
        "Not stated. The downstream burst of 20 MB at 50 Mbit/s covers a page, so it never fills; large enough to say so.",
        ("417p",),
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
    Unknown(
        "web_quota",
        "what ends the fetching of objects",
        '"Initiate a subsequent GET to the same server, until 25 objects have been retrieved": a connection asks again '
        "while fewer than 25 are there, so five make up for a sixth that waits for its SYN. If each object were asked for "
        "once, every SYN lost would cost 3 s, and D02 with 21 packets would not load four pages.",
        ("asked",),
    ),
    Unknown(
        "web_open_order",
        "in which order the 24 connections open",
        "Not stated. Server by server: then the SYNs that D01 loses behind 21 packets are those of the 100 ms server, "
        "which costs the paper's 4.0 s and 67 pages; one to each server in turn, the others would make up for them.",
        ("interleaved",),
    ),
    Unknown(
        "web_measure_from",
        "where a page load begins",
        '"From initial HTTP GET": when the GET leaves, once its connection is there.',
        ("open",),
    ),
    Unknown(
        "web_persistent",
        "whether a connection is kept for the next object",
        'The text counts connections ("via separate TCP connections") and the page time fits new ones (SPEC 3.6).',
        (True,),
    ),
    Unknown(
        "web_initial_window",
        "initial window of the web connections",
        "The CoDel scripts of the time set 4. ns-2's FullTcp, as it comes, holds an object's last, short segment until all before "
        "it is acknowledged (Nagle), a round trip more: with that, 4 gives D01's 2.756 s, and ns-2's default of 2 gives 3.2 s.",
        (2, 3),
    ),
    Unknown(
        "web_short_acks_wait",
        "whether the ACK of an object's last, short segment waits 100 ms",
        "ns-2's FullTcp as it comes lets it wait (interval_ 0.1); scripts turn that off or on. D01 must lose 0.05 to 0.2 % of its "
        "voice with 417 packets: ACKs and FINs that leave at once overflow the transmit queue as often (0.05 to 0.1 %), spread over 100 ms "
        "they never do.",
        (True,),
    ),
    Unknown(
        "get_size",
        "bytes of a GET",
        "D02's transfer leaves about 138 kB upstream per page (SPEC 3.6); with the objects that are fetched beyond the "
        "quota, a GET of 100 bytes comes to that.",
        ("50B", "250B"),
    ),
    Unknown(
        "ack_every",
        "segments per acknowledgement",
        "The same 138 kB: with delayed acknowledgements it would need several hundred bytes more per object (SPEC 3.6). "
        "ns-2 acknowledges each segment by default.",
        (2,),
    ),
    Unknown(
        "bulk_initial_window",
        "initial window of the bulk transfers",
        "ns-2's default is 2; the CoDel scripts set 4. Only the first round trips of a transfer depend on it.",
        (4, 10),
    ),
    Unknown(
        "bulk_window",
        "largest window of the bulk transfers, in segments",
        "The same scripts set window_ to 16 bandwidth-delay products of 100 ms: 672 packets of 1500 bytes at 5 Mbit/s. It is "
        "also the first threshold. Without it, slow start overshoots so far that ns-2's CUBIC behind 417 packets stays in one "
        "recovery and loses every ninth packet to the end, voice too; D02 lost 0.69 %.",
        (None,),
    ),
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
        "The same scripts send the next file 0.3 s later, enough to slow-start (with file_pause_spread 200 ms).",
        ("0s", "2s"),
    ),
    Unknown(
        "files_new_connection",
        "whether each file has a new connection",
        "The same scripts send it over the same agent, which restarts after silence and keeps its threshold.",
        (True,),
    ),
    Unknown(
        "bursty_schedule",
        "whether a burst of scenario 5 starts every 30 s, or 16 s after the one before has ended",
        "5.3 s + 8.7 s + 16 s is a period of 30 s. With pauses of 16 s at most 47 % of the time has a queue; D08 has 86 % of "
        "its voice late. With a file every 30 s the 2.7 % of headers, the call and the pages make demand exceed supply, the "
        "pauses shrink, and 86 % come out. Inferred from D08 with 417 packets.",
        (False,),
    ),
    Unknown(
        "bursty_window",
        "largest window of the bursty sender, in segments",
        "D08's page takes 4.15 s longer than D01's over 32 round trips: a queue of 130 ms, not of 1 s. With the 23 ms of the "
        "path that is a window of (130 + 23) / 2.4 = 64 segments. Inferred from D08 with 417 packets.",
        (None, 44),
    ),
    Unknown(
        "cbr_size",
        "packet size of the 1 Mbit/s UDP flow",
        "ns-2's UDP agent cuts at 1000 bytes by default; the 18 bytes of Ethernet are not counted, as for TCP.",
        ("210B", "500B", "1500B"),
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
)


@dataclass(frozen=True, slots=True)
class Discipline:
    """A discipline in place of the paper's three: its scenario's `queue`, and why with these parameters."""

    label: str
    queue: Mapping[str, Mapping[str, Any]]
    why: str


#: Disciplines that the paper names as future work, or that came after it. All may hold 417 packets, as the paper's CoDel
#: may, so that what differs is the decision and not the buffer; every other value is the discipline's own default.
DISCIPLINES: tuple[Discipline, ...] = (
    Discipline(
        "PIE",
        {"pie": {"limit": "417p"}},
        "RFC 8033 as it stands: target 15 ms, updates every 15 ms, bursts of 150 ms, delay from time stamps.",
    ),
    Discipline(
        "DOCSIS-PIE",
        {"docsis_pie": {"limit": "417p"}},
        "RFC 8034: target 10 ms, delay predicted from the service flow's tokens. It begins when a third of the buffer is "
        "full: 139 packets.",
    ),
    Discipline(
        "DOCSIS-PIE, 100 ms",
        {"docsis_pie": {}},
        "The same with the Target Buffer that DOCSIS 3.1 gives it by default (100 ms at the sustained rate, SPEC 1.11), "
        "because the buffer decides when it begins.",
    ),
    Discipline(
        "LRED",
        {"lred": {"limit": "417p"}},
        "Document 000, curve 10c with the one set that it gives in full and recommends alone: 200 to 400 ms, 1 to 5 %.",
    ),
    Discipline(
        "SFQ, serial search",
        {"sfq_hss": {"limit": "417p"}},
        "Document 000: 64 groups of 4 queues, packet round robin, one shared buffer, whose overflow drops the arrival.",
    ),
    Discipline(
        "SFQ-CoDel",
        {"sfq_codel": {"limit": "417p"}},
        "ns-2's, by a contributor to the study: 1024 bins, packet round robin, CoDel of the draft, 5 and 100 ms.",
    ),
    Discipline(
        "fq_codel",
        {"fq_codel": {"limit": "417p"}},
        "RFC 8290: 1024 queues, deficit round robin with a quantum of 1514 bytes, CoDel at 5 and 100 ms. ECN is not "
        "negotiated by the stacks of the study.",
    ),
)


def differences(free: Free) -> dict[str, Any]:
    """Where `free` departs from the values of the study."""
    own = Free()
    return {f.name: getattr(free, f.name) for f in fields(Free) if getattr(free, f.name) != getattr(own, f.name)}
