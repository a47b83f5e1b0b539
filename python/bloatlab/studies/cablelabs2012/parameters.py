"""What CableLabs 2012 does not say, and what we take: one set for the whole study, argued for, and its sensitivity listed.

The paper's words decide first, then what ns-2 and the scripts of the time do, then the calibration cases D01, C01 and D02:
`bloatlab reproduce cablelabs2012 -e parameters` runs these with every value that is named here and prints what they give.
No calibration case knows of files, of the UDP flow and of bursts; of those only words and scripts can speak, but for
`bursty_schedule`, which was inferred from a counted cell and says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Unknown:
    """A field of `Setup` that the paper leaves open: why it has its value, and the values that sensitivity runs try."""

    field: str
    what: str
    why: str
    others: tuple[Any, ...]
    #: Whether a calibration case (D01, C01, D02) depends on it.
    calibrated: bool = True


UNKNOWNS: tuple[Unknown, ...] = (
    Unknown(
        "map_clock",
        "whether MAPs come at all times or from the first packet on",
        '"Effectively delays the first packet transmission by 2 MAP intervals when the TxQ transitions from empty to '
        'occupied": with a timer that starts then, as a simulator would have it, the first packet waits just 4 ms and those '
        "behind it 4 to 6. With a free-running clock every lone packet waits almost 6 ms (round trips lock to the clock): "
        "D01's page is longer, and it loses no voice, where the paper has 0.10 %.",
        ("free_running",),
    ),
    Unknown(
        "request_vector",
        "whether REQ(1) is what was unrequested at the MAP before, or what is unrequested now",
        "The paper's words: a MAP moves REQ(1) into REQ(0), and only then \"calculate[s] number of unrequested bytes in TxQ and "
        'record[s] as REQ(1)", and the loop takes "2 MAP intervals (4-6 ms)". Live takes an interval off the wait. D01 and D02 do '
        "not decide: each reading is nearer in some of their cells. The shares of both readings were seen before this was "
        "chosen (`-e live` prints the other one's).",
        ("live",),
    ),
    Unknown(
        "link_rate",
        "rate of the upstream channel",
        '"Will model upstream channel bonding via appropriate configuration of link bandwidth (0.8*ModulationProfile*ChannelCount)": '
        "64-QAM at 6.4 MHz is 30.72 Mbit/s, so 24.576 for one channel, and 49.152 to 98.304 for two to four. Bonding is more than one. "
        "With two, 36 of the 40 calibration cells are within, with four 35: D02 with 21 packets has the paper's MAD and FTP and D01 with "
        "21 packets loses no voice, but D01 with 417 loses more than it must. 100 Mbit/s, of ns-2's public DOCSIS example, was taken "
        "before. Shares with one and with two channels were known when this was chosen (`-e channel_100`).",
        ("24576kbit", "73728kbit", "98304kbit", "100mbit"),
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
        "ns-2 compares before it stores, and the study was run on ns-2. The transmit queue is called a DropTail, too, so "
        "both hold one less: 20, 416 and 31. If neither did, D01 with 21 packets would lose two SYNs and take 3.7 s for 4.0.",
        (False,),
    ),
    Unknown(
        "codel_variant",
        "which CoDel",
        'The paper thanks K. Nichols for "portions of the simulation code"; her ns-2 code of 2011 to 2013 has both rules, the '
        "draft's (also in what she wrote for CableLabs, sfqcodel.cc) and a revision marked with her initials, kmn. The acknowledgement "
        'does not say which. What §4.1.3 says of one and five transfers ("after 2.5 seconds", "75% link utilization", "up to 370 ms") is '
        "what the draft's gives without pages, and kmn's does not stay at 75 %. Shares with kmn were known when this was kept "
        "(`-e kmn`).",
        ("kmn", "rfc8289"),
    ),
    Unknown(
        "web_quota",
        "what ends the fetching of objects",
        '"Initiate a subsequent GET to the same server, until 25 objects have been retrieved": a connection asks again '
        "while fewer than 25 are there, so five make up for a sixth that waits for its SYN. If each object were asked for "
        "once, every SYN lost would cost 3 s: in D02 with 21 packets, and in D01 with 417, whose page would not be steady.",
        ("asked",),
    ),
    Unknown(
        "web_open_order",
        "in which order the 24 connections open",
        "Not stated. Server by server: then the SYNs that D01 loses behind 21 packets are those of the 100 ms server, which costs "
        "more than a second; one to each server in turn, the others would make up for them and D01 with 21 packets would be as "
        "fast as with 417, which it is not.",
        ("interleaved",),
    ),
    Unknown(
        "web_measure_from",
        "where a page load begins",
        '"From initial HTTP GET": when the GET leaves, once its connection is there.',
        ("open",),
    ),
    Unknown(
        "web_html_server",
        "which server has the html",
        '"Server 1", and the round trips are listed as 20, 30, 50 and 100 ms; Figure 1 is lost. From the 100 ms server and without '
        "Nagle's rule the paper's D01 comes out to 0.02 s with either buffer, and D02 with 21 packets takes minutes (`-e page`).",
        (4,),
    ),
    Unknown(
        "web_persistent",
        "whether a connection is kept for the next object",
        'The text counts connections ("via separate TCP connections"), and D01 with connections that are kept takes 1.5 s.',
        (True,),
    ),
    Unknown(
        "web_initial_window",
        "initial window of the web connections",
        "The CoDel scripts of the time set 4 for every agent. With Nagle's round trip that gives D01's 2.8 s; ns-2's default of 2 "
        "and 3 give 3.3 s.",
        (2, 3),
    ),
    Unknown(
        "web_nagle",
        "whether an object's last, short segment waits until all before it is acknowledged",
        "ns-2's FullTcp as it comes (nodelay_ false). Without it a page takes a round trip less per object: 2.3 s in D01.",
        (False,),
    ),
    Unknown(
        "web_short_acks_wait",
        "whether the ACK of an object's last, short segment waits 100 ms",
        "ns-2's FullTcp as it comes lets it wait (interval_ 0.1); scripts turn that off or on. D01's page does "
        "not depend on it; with the wait its ACKs meet less often in the transmit queue, and D01 with 417 packets loses less than "
        "the 0.05 % of voice that it must.",
        (True,),
    ),
    Unknown(
        "get_size",
        "bytes of a GET",
        "D02's transfer leaves about 138 kB upstream per page. With the objects that are fetched beyond the quota no "
        "request is small enough: 147, 153 and 171 kB in D01 with 50, 100 and 250 bytes. A GET of 100 bytes is a short one.",
        ("50B", "250B"),
    ),
    Unknown(
        "ack_every",
        "segments per acknowledgement",
        "The same 138 kB: with delayed acknowledgements a page of D01 sends 98 kB and takes 3.3 s. The CoDel scripts set 1, "
        "ns-2's default.",
        (2,),
    ),
    Unknown(
        "bulk_initial_window",
        "initial window of the bulk transfers",
        'The CoDel scripts set 4 for every agent, as for the web\'s here, and one TCP "ramps up quickly (0.6 sec)": six round trips of '
        "100 ms from 4 segments, seven from ns-2's default of 2, which was taken before. Chosen before its shares were known "
        "(`-e initial_window_2`).",
        (2, 10),
    ),
    Unknown(
        "bulk_window",
        "largest window of the bulk and bursty transfers, in segments",
        "The same scripts set window_ of every agent to 16 bandwidth-delay products of 100 ms: 672 packets of 1500 bytes at 5 "
        "Mbit/s. It is also the first threshold. Without it, slow start overshoots so far that ns-2's CUBIC behind 417 packets stays in one "
        "recovery and loses every ninth packet to the end, voice too; D02 lost 0.69 %.",
        (None,),
    ),
    Unknown(
        "file_size",
        "size of the repeated files of scenarios 3 and 4",
        '"Moderately sized" is all that is said. The CoDel scripts of the time, by a contributor to the study, default to '
        "10 MB.",
        ("1MB", "3MB", "30MB"),
        calibrated=False,
    ),
    Unknown(
        "file_pause",
        "pause between a file's end and the next one's start",
        "The same scripts send the next file 0.3 s later, enough to slow-start (with file_pause_spread 200 ms).",
        ("0s", "2s"),
        calibrated=False,
    ),
    Unknown(
        "files_new_connection",
        "whether each file has a new connection",
        "The same scripts send it over the same agent, which restarts after silence and keeps its threshold.",
        (True,),
        calibrated=False,
    ),
    Unknown(
        "burst_file",
        "bytes of a burst of scenario 5 that the application hands to TCP",
        '"Transfers 18.75 MB file ... (results in 47% transmit duty cycle: 5.3 s @ 20 Mbps, 8.7 s @ 5 Mbps, 16 s idle)": at link rates '
        "these are 18.75 MB on the wire, 12 500 packets of 1500 bytes, as the tables count FTP kB. 18.75 MB of payload (taken before) "
        "are 19.26 MB on the wire, and need 9.5 s at 5 Mbit/s. Shares were known when this was chosen (`-e burst_payload`).",
        ("18750000B",),
        calibrated=False,
    ),
    Unknown(
        "bursty_schedule",
        "whether a burst of scenario 5 starts every 30 s, or 16 s after the one before has ended",
        '"Waits 16 seconds, then repeats (results in 47 % transmit duty cycle: 5.3 s, 8.7 s, 16 s idle)" is a period of 30 s either '
        "way. With pauses of 16 s at most half of the time has a queue, and D08 with 417 packets has 86 % of its voice late: so a "
        "file every 30 s, and pauses that shrink. Inferred from that cell, which is counted; no other value was. `-e pause` is "
        "the other reading.",
        (False,),
        calibrated=False,
    ),
    Unknown(
        "cbr_size",
        "packet size of the 1 Mbit/s UDP flow",
        "ns-2's UDP agent cuts at 1000 bytes by default; the 18 bytes of Ethernet are not counted, as for TCP.",
        ("210B", "500B", "1500B"),
        calibrated=False,
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
