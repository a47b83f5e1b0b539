"""Sentences of SCTE 2013 that no figure of it shows, and what explains a difference, as experiments that always run.

Text        two round trips in one buffer; a forced collision with LRED or CoDel in the queues; curves 10a, 10b and 10c when
            Tmax falls; ACKs with a queue of their own; latency-based WRED; Table 1 by TCP runs
Why         what a difference depends on: who pays for a full memory, buffers below the smallest, Pmax, how sharp LRED is

Three seeds each. `explanations` says what the second kind has to show to explain anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bloatlab.studies.scte2013.build import Case
from bloatlab.studies.scte2013.considerations import ACKS, CONSIDERATIONS, acks
from bloatlab.studies.scte2013.experiments import ALWAYS, PLAIN, SERIES, Experiment
from bloatlab.studies.scte2013.parameters import OURS
from bloatlab.studies.scte2013.queues import COLLISION_DSCP, buffer_bytes, lred
from bloatlab.studies.scte2013.theory import peak_rate_mbit

# ------------------------------------------------------------------------------------------------------------------ text

#: Buffers around the ideal ones of 10 and 100 ms.
TWO_RTTS_MS = (10, 100)
TWO_RTTS_BUFFERS_MS = (5, 10, 25, 50, 100, 200)

#: Laws in the queues of a Type A discipline, by their names in this study.
INSIDE: Mapping[str, Mapping[str, Any]] = {
    "none": {},
    "lred200": {"law": {"lred": lred(200)}},
    "lred700": {"law": {"lred": lred(700)}},
    "codel": {"law": {"codel": {}}},
}


def _collision_law(law: str, buffer_ms: int) -> Case:
    queue = {"limit": f"{buffer_bytes(buffer_ms, 5.0)}B", "shared_dscp": [COLLISION_DSCP], **INSIDE[law]}
    return Case("sfq_collision", buffer_ms, queue={"perfect": queue})


#: Tmax before and after it falls (half-time), for thresholds of 200 and 400 ms at the former.
FALLS_MBIT = (20.0, 5.0)


def _effective_tmax(curve: str, queue: str) -> Case:
    """Figure 10's curves with the same thresholds: times, or the bytes that Tmax sends in them."""
    before, after = FALLS_MBIT
    law = lred(200) | {"curve": curve}
    if curve == "10a":
        law |= {th: f"{buffer_bytes(ms, before)}B" for th, ms in (("min_th", 200), ("max_th", 400))}
    limit = f"{buffer_bytes(960, before)}B"
    spec = {"lred": {"limit": limit, **law}} if queue == "fifo" else {"perfect": {"limit": limit, "law": {"lred": law}}}
    return Case(tmax_mbit=before, sessions=5, queue=spec, steps=lambda length: [(length // 2, after)])


#: What a latency-based WRED gives the gamer: nothing of its own, or thresholds that its packets hardly reach.
WRED_PROFILES: Mapping[str, Mapping[str, Any]] = {
    "all alike": {},
    "gamer first": {
        "profiles": [{"dscp": COLLISION_DSCP, "min_th": "400ms", "max_th": "800ms", "p_min": 0.01, "p_max": 0.05}]
    },
}


def _latency_wred(profile: str) -> Case:
    queue = {"limit": f"{buffer_bytes(960, 5.0)}B", **lred(200), **WRED_PROFILES[profile]}
    return Case("lred200", queue={"lred": queue}, gamer_dscp=COLLISION_DSCP)


TABLE_1_KB = (8, 16, 32, 64, 128, 256)
TABLE_1_RTT_MS = (20, 100, 200)


def _table_1(limit: str, buffer_kb: int, rtt_ms: int) -> Case:
    """One session, segments of 1000 bytes: its window is the buffer's size, or the buffer stands before a link of that rate."""
    by_window = limit == "window"
    window = {"tcp.study.receive_window": f"{buffer_kb}KB"} if by_window else {}
    return Case(
        tmax_mbit=1000.0 if by_window else peak_rate_mbit(buffer_kb, rtt_ms),
        sessions=1,
        rtt_ms=(rtt_ms,),
        queue={"droptail": {"limit": "10000p" if by_window else f"{buffer_kb}KB"}},
        gamer=False,
        sets={"app.ftp.traffic": {"ftp": {}}, "tcp.study.mss": 1000, **window},
    )


# ------------------------------------------------------------------------------------------------------------------- why


def _overflow(discipline: str, overflow: str, buffer_ms: int) -> Case | None:
    if discipline == "droptail" and overflow != "tail":
        return None
    return Case(discipline, buffer_ms, free=replace(OURS, overflow=overflow))


KNEE_SESSIONS = (1, 5, 10, 50)
KNEE_MS = (4, 6, 8, 10, 15, 20, 30, 40, 50, 60, 1000)

P_MAXES = (0.05, 0.12, 0.2, 0.3, 0.5)
P_MAX_BUFFER_MS = 960

SHARPNESS = (0.01, 0.05, 0.2, 1.0)


TEXT: tuple[Experiment, ...] = (
    Experiment(
        "two_rtts",
        "two sessions, round trips of 10 and 100 ms, share one buffer: whose ideal size serves both?",
        {"discipline": ("droptail", "codel", "sfq"), "buffer_ms": TWO_RTTS_BUFFERS_MS},
        ("goodput_mbit_ftp10", "goodput_mbit_ftp100", "rate_share", "sojourn_mean_ms", "gamer_p99_ms", "loss_percent"),
        lambda discipline, buffer_ms: Case(discipline, buffer_ms, sessions=1, rtt_ms=TWO_RTTS_MS[::-1]),
    ),
    Experiment(
        "collision_law",
        "a forced collision of the gamer and one FTP session, with a law in each queue of SFQ",
        {"law": tuple(INSIDE), "buffer_ms": (200, 500, 960)},
        ("gamer_mean_ms", "gamer_p99_ms", "ftp_mean_ms", "goodput_mbit", "loss_percent", "gamer_drops_late"),
        _collision_law,
    ),
    Experiment(
        "effective_tmax",
        "Tmax falls from 20 to 5 Mbit/s: thresholds in bytes (10a) and in time (10b, 10c), in one queue and in each of SFQ's",
        {"curve": ("10a", "10b", "10c"), "queue": ("fifo", "sfq")},
        ("ftp_before_ms", "ftp_after_ms", "fall_ratio", "gamer_mean_ms", "loss_percent"),
        _effective_tmax,
        named=True,
    ),
    Experiment(
        "ack_acceleration",
        "four downloads beside an upload that fills 500 kB at 2 Mbit/s: ACKs behind it, and with a queue of their own",
        {"discipline": ("no upload", "droptail", "ack_class"), "buffer_ms": (2000,)},
        ("download_mbit", "upload_mbit", "gamer_p50_ms", "gamer_p99_ms", "rate_share"),
        acks,
        named=True,
    ),
    Experiment(
        "latency_wred",
        "latency-based WRED: LRED 200 for all, and with thresholds twice as high for the gamer's packets",
        {"profile": tuple(WRED_PROFILES)},
        (
            "gamer_mean_ms",
            "gamer_p99_ms",
            "gamer_drops",
            "gamer_message_ms",
            "ftp_mean_ms",
            "goodput_mbit",
            "loss_percent",
        ),
        _latency_wred,
    ),
    Experiment(
        "table1",
        "Table 1 by TCP runs: a window of the buffer's size on a fast link, and that buffer before a link of the printed rate",
        {"limit": ("window", "buffer"), "buffer_kb": TABLE_1_KB, "rtt_ms": TABLE_1_RTT_MS},
        ("goodput_mbit", "rate_share", "loss_percent", "timeouts"),
        _table_1,
        named=True,
    ),
    Experiment(
        "overflow",
        "who pays when the memory that the queues of SFQ share is full: the packet that arrives, or the longest queue",
        {"discipline": ("droptail", "sfq", "sfq_collision"), "overflow": ("tail", "longest"), "buffer_ms": (100, 960)},
        ("gamer_mean_ms", "gamer_p99_ms", "gamer_drops", "ftp_mean_ms", "ftp_share_half_to_one_s", "loss_percent"),
        _overflow,
    ),
    Experiment(
        "knee",
        "the knee of the throughput with buffers below the smallest of the figures",
        {"sessions": KNEE_SESSIONS, "buffer_ms": KNEE_MS},
        ("rate_share", "loss_percent", "timeouts"),
    ),
    Experiment(
        "p_max",
        "Pmax of Figure 13, which is not stated",
        {"p_max": P_MAXES},
        ("ftp_mean_ms", "gamer_mean_ms", "drop_percent", "rate_share"),
        lambda p_max: replace(SERIES["fig13"], buffer_ms=P_MAX_BUFFER_MS, free=replace(OURS, fig13_p_max=p_max)),
    ),
    Experiment(
        "sharpness",
        "Figure 12's LRED with the same probability from MINth (200 ms) on: how sharp must it be to keep every packet below 210 ms?",
        {"p": SHARPNESS},
        ("ftp_p1_ms", "ftp_mean_ms", "ftp_p99_ms", "sojourn_p99_ms", "loss_percent", "rate_share"),
        lambda p: Case("lred200", queue={"lred": {"limit": "600000B", **lred(200, p, p)}}),
    ),
)

#: Every experiment by its name; those of the text run without being asked for.
ASKED: Mapping[str, Experiment] = {e.name: e for e in (*ALWAYS, *TEXT, *PLAIN, ACKS, *CONSIDERATIONS)}
