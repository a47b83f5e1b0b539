"""What SCTE 2013 does not say, and what we take: one set for the whole study, argued for, and its sensitivity listed.

The set was fixed before the first run of the study and comes from the standards in force when the paper was written, not from its figures.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any


def _open(ours: Any, what: str, why: str, *others: Any) -> Any:
    """A field for a thing that the paper leaves open: our value and its argument, and the values that sensitivity runs try."""
    return field(default=ours, metadata={"what": what, "why": why, "others": others})


@dataclass(frozen=True, slots=True)
class Free:
    """The free parameters. Quantities are text with units, as in a scenario."""

    ack_every: int = _open(
        2,
        "segments per acknowledgement",
        "RFC 5681 §4.2: a receiver should acknowledge every second full segment; all stacks of 2013 did. Delay 200 ms, as "
        "BSD and Windows had it (the RFC allows 500).",
        1,
    )
    min_rto: str = _open(
        "1s",
        "smallest retransmission timeout",
        "RFC 6298 (2011): at least 1 s. A simulator of TCP 'modeled in detail' would have the standard's; Linux has 200 ms. "
        "Where windows are two segments (1 Mbit/s) most losses end in a timeout, so it matters there.",
        "200ms",
    )
    initial_window: int = _open(
        2,
        "first window of a connection and after silence, segments",
        "RFC 5681 allows 3 of 1460 bytes, RFC 3390 4380 bytes; BSD and Windows of the time took 2. It decides how much of a "
        "gamer's message of 7 segments enters the queue at once.",
        3, 4, 10,
    )  # fmt: skip
    idle_restart: str = _open(
        "restart",
        "what silence does to the window",
        "RFC 5681 §4.1: it restarts. The gamer is silent for almost 2 s after each message.",
        "off", "decay",
    )  # fmt: skip
    recovery: str = _open(
        "sack",
        "loss recovery",
        "SACK (RFC 6675) over Reno: what Windows and Linux did by default. The paper says TCP and no more.",
        "newreno", "reno",
    )  # fmt: skip
    overflow: str = _open(
        "tail",
        "which packet goes when the memory that the queues of SFQ share is full",
        '"These drops ... do not discriminate between FTP and gamer sessions": the one that arrives. McKenney\'s SFQ takes '
        "from the longest queue.",
        "longest",
    )
    lred_weight: float = _open(
        1.0,
        "whether LRED looks at the sojourn time of the packet at hand (1) or at a moving average",
        '"We compare the length of time that the packet has remained in the queue": the packet at hand. RED\'s weight of '
        "0.002 is the other choice that the paper leaves open.",
        0.1, 0.002,
    )  # fmt: skip
    fig13_p_max: float = _open(
        0.12,
        "Pmax of Figure 13",
        'MINth is 50 ms. MAXth twice that, and Pmin 1 %, as in the sets that are stated. "Packet drop rate was allowed to grow '
        'to over 10 % before LRED gave up": where it gives up is Pmax, so a little over 10 %; 5 % as in Figure 11 could not.',
        0.05, 0.2, 0.5,
    )  # fmt: skip
    start_spread_s: float = _open(
        1.0,
        "how far apart the sessions start, in s",
        "Seeds must differ in something: the sessions start over about this time, the gamer anywhere within its 2 s.",
        0.1, 10.0,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Unknown:
    """A thing that the paper leaves open: our value, its argument, and the values that sensitivity runs try."""

    field: str
    ours: Any
    what: str
    why: str
    others: tuple[Any, ...]


#: The set of this study, and what each of its values is.
OURS = Free()
UNKNOWNS = tuple(Unknown(f.name, f.default, **f.metadata) for f in fields(Free))
