"""Sentences of SCTE 2013 that no figure of it shows, and what explains a difference, as experiments that always run.

Text        two round trips in one buffer; a forced collision with LRED or CoDel in the queues; curves 10a, 10b and 10c when
            Tmax falls; ACKs with a queue of their own; latency-based WRED; Table 1 by TCP runs
Why         what a difference depends on: who pays for a full memory, buffers below the smallest, Pmax, how sharp LRED is

Three seeds each. `explanations` says what the second kind has to show to explain anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import polars as pl

from bloatlab.scenario import Scenario, ScenarioDict, from_dict
from bloatlab.simulation import Result
from bloatlab.studies.scte2013.build import Case, describe
from bloatlab.studies.scte2013.considerations import ACKS, CONSIDERATIONS, SECONDS, acks, consider
from bloatlab.studies.scte2013.experiments import ALWAYS, PLAIN, SERIES, Experiment, key
from bloatlab.studies.scte2013.measure import Measures
from bloatlab.studies.scte2013.parameters import Free
from bloatlab.studies.scte2013.queues import COLLISION_DSCP, Spec, buffer_bytes, lred
from bloatlab.sweep import Grid


@dataclass(frozen=True, slots=True)
class Described(Experiment):
    """An experiment whose places are described as scenarios, not as cases."""

    describe: Callable[..., ScenarioDict | None] = lambda **_: None

    def grid(self, seeds: Sequence[int], seconds: int | None = None) -> Grid:
        """Every place with every seed."""

        def scenario(*, seed: int, **at: Any) -> Scenario:
            name = f"scte2013 {self.name} {key(at)}"
            described = self.describe(seed=seed, length=seconds or SECONDS, name=name, **at)
            return from_dict(described or describe(Case(), seed, name), source=name)

        def there(at: Mapping[str, Any]) -> bool:
            return self.describe(seed=1, length=SECONDS, name="x", **at) is not None

        return Grid(self.axes, scenario, seeds, keeps=there)


# ------------------------------------------------------------------------------------------------------------------ text

#: Buffers around the ideal ones of 10 and 100 ms.
TWO_RTTS_MS = (10, 100)
TWO_RTTS_BUFFERS_MS = (5, 10, 25, 50, 100, 200)


def _two_rtts(discipline: str, buffer_ms: int) -> Case:
    return Case(discipline, buffer_ms=buffer_ms, sessions=1, rtt_ms=(100, 10))


TWO_RTTS = Experiment(
    "two_rtts",
    "two sessions, round trips of 10 and 100 ms, share one buffer: whose ideal size serves both?",
    {"discipline": ("droptail", "codel", "sfq"), "buffer_ms": TWO_RTTS_BUFFERS_MS},
    _two_rtts,
    ("goodput_mbit_ftp10", "goodput_mbit_ftp100", "rate_share", "sojourn_mean_ms", "gamer_p99_ms", "loss_percent"),
)

#: Laws in the queues of a Type A discipline, by their names in this study.
INSIDE: Mapping[str, Mapping[str, Any] | None] = {
    "none": None,
    "lred200": {"lred": lred(200, 400, 0.01, 0.05, Free())},
    "lred700": {"lred": lred(700, 1400, 0.01, 0.05, Free())},
    "codel": {"codel": {}},
}


def _collision_law(law: str, buffer_ms: int) -> Case:
    queue: dict[str, Any] = {"limit": f"{buffer_bytes(buffer_ms, 5.0)}B", "shared_dscp": [COLLISION_DSCP]}
    if INSIDE[law] is not None:
        queue["law"] = INSIDE[law]
    return Case("sfq_collision", buffer_ms=buffer_ms, queue={"perfect": queue})


COLLISION_LAW = Experiment(
    "collision_law",
    "a forced collision of the gamer and one FTP session, with a law in each queue of SFQ",
    {"law": tuple(INSIDE), "buffer_ms": (200, 500, 960)},
    _collision_law,
    ("gamer_mean_ms", "gamer_p99_ms", "ftp_mean_ms", "goodput_mbit", "loss_percent", "gamer_drops_late"),
)

#: Tmax before and after it falls (half-time), for thresholds of 200 and 400 ms at the former.
FALLS_MBIT = (20.0, 5.0)


def _curve(curve: str, queue: str) -> Spec:
    """Figure 10's curves with the same thresholds: times, or the bytes that Tmax sends in them."""
    fixed = lred(200, 400, 0.01, 0.05, Free()) | {"curve": curve}
    if curve == "10a":
        fixed |= {th: f"{buffer_bytes(ms, FALLS_MBIT[0])}B" for th, ms in (("min_th", 200), ("max_th", 400))}
    limit = f"{buffer_bytes(960, FALLS_MBIT[0])}B"
    return (
        {"lred": {"limit": limit, **fixed}}
        if queue == "fifo"
        else {"perfect": {"limit": limit, "law": {"lred": fixed}}}
    )


def _effective_tmax(curve: str, queue: str, seed: int, length: int, name: str) -> ScenarioDict:
    case = Case(tmax_mbit=FALLS_MBIT[0], sessions=5, queue=_curve(curve, queue), seconds=length)
    described: dict[str, Any] = {**describe(case, seed, name)}
    described["link"]["up"]["changes"] = [{"at": f"{length // 2}s", "rate": f"{FALLS_MBIT[1]:g}mbit"}]
    return cast("ScenarioDict", described)


EFFECTIVE_TMAX = Described(
    "effective_tmax",
    "Tmax falls from 20 to 5 Mbit/s: thresholds in bytes (10a) and in time (10b, 10c), in one queue and in each of SFQ's",
    {"curve": ("10a", "10b", "10c"), "queue": ("fifo", "sfq")},
    lambda **_: None,
    ("ftp_before_ms", "ftp_after_ms", "fall_ratio", "gamer_mean_ms", "loss_percent"),
    _effective_tmax,
)

ACK_ACCELERATION = Described(
    "ack_acceleration",
    "four downloads beside an upload that fills 500 kB at 2 Mbit/s: ACKs behind it, and with a queue of their own",
    {"discipline": ("no upload", "droptail", "ack_class"), "buffer_ms": (2000,)},
    lambda **_: None,
    ("download_mbit", "upload_mbit", "gamer_p50_ms", "gamer_p99_ms", "rate_share"),
    acks,
)

#: What a latency-based WRED gives the gamer: nothing of its own, or thresholds that its packets hardly reach.
_FIRST = {"dscp": COLLISION_DSCP, "min_th": "400ms", "max_th": "800ms", "p_min": 0.01, "p_max": 0.05}


def _latency_wred(profile: str) -> Case:
    queue = {"limit": f"{buffer_bytes(960, 5.0)}B", **lred(200, 400, 0.01, 0.05, Free())}
    if profile == "gamer first":
        queue["profiles"] = [_FIRST]
    return Case("lred200", queue={"lred": queue}, gamer_dscp=COLLISION_DSCP)


LATENCY_WRED = Experiment(
    "latency_wred",
    "latency-based WRED: LRED 200 for all, and with thresholds twice as high for the gamer's packets",
    {"profile": ("all alike", "gamer first")},
    _latency_wred,
    ("gamer_mean_ms", "gamer_p99_ms", "gamer_drops", "gamer_message_ms", "ftp_mean_ms", "goodput_mbit", "loss_percent"),
)

TABLE_1_KB = (8, 16, 32, 64, 128, 256)
TABLE_1_RTT_MS = (20, 100, 200)


def table_1_mbit(buffer_kb: int, rtt_ms: int) -> float:
    """The rate that Table 1 prints for a buffer and a round trip; kB = 1000 bytes."""
    return 8.0 * buffer_kb / rtt_ms


def _table_1(limit: str, buffer_kb: int, rtt_ms: int, seed: int, length: int, name: str) -> ScenarioDict:
    """One session, segments of 1000 bytes: its window is the buffer's size, or the buffer stands before a link of that rate."""
    rate = table_1_mbit(buffer_kb, rtt_ms)
    queue = {"droptail": {"limit": f"{buffer_kb}KB" if limit == "buffer" else "10000p"}}
    case = Case(
        tmax_mbit=rate if limit == "buffer" else 1000.0, sessions=1, rtt_ms=(rtt_ms,), queue=queue, seconds=length
    )
    described: dict[str, Any] = {**describe(case, seed, name)}
    del described["app"]["gamer"]
    described["app"]["ftp"]["traffic"] = {"ftp": {}}
    described["tcp"]["study"] |= {"mss": 1000} | ({"receive_window": f"{buffer_kb}KB"} if limit == "window" else {})
    return cast("ScenarioDict", described)


TABLE_1 = Described(
    "table1",
    "Table 1 by TCP runs: a window of the buffer's size on a fast link, and that buffer before a link of the printed rate",
    {"limit": ("window", "buffer"), "buffer_kb": TABLE_1_KB, "rtt_ms": TABLE_1_RTT_MS},
    lambda **_: None,
    ("goodput_mbit", "rate_share", "loss_percent", "timeouts"),
    _table_1,
)


# ------------------------------------------------------------------------------------------------------------------- why


def _overflow(discipline: str, overflow: str, buffer_ms: int) -> Case | None:
    if discipline == "droptail" and overflow != "tail":
        return None
    return Case(discipline, buffer_ms=buffer_ms, free=Free().with_(overflow=overflow))


OVERFLOW = Experiment(
    "overflow",
    "who pays when the memory that the queues of SFQ share is full: the packet that arrives, or the longest queue",
    {"discipline": ("droptail", "sfq", "sfq_collision"), "overflow": ("tail", "longest"), "buffer_ms": (100, 960)},
    _overflow,
    ("gamer_mean_ms", "gamer_p99_ms", "gamer_drops", "ftp_mean_ms", "ftp_share_half_to_one_s", "loss_percent"),
)

KNEE_SESSIONS = (1, 5, 10, 50)
KNEE_MS = (4, 6, 8, 10, 15, 20, 30, 40, 50, 60, 1000)

KNEE = Experiment(
    "knee",
    "the knee of the throughput with buffers below the smallest of the figures",
    {"sessions": KNEE_SESSIONS, "buffer_ms": KNEE_MS},
    lambda sessions, buffer_ms: Case(sessions=sessions, buffer_ms=buffer_ms),
    ("rate_share", "loss_percent", "timeouts"),
)

P_MAXES = (0.05, 0.12, 0.2, 0.3, 0.5)
P_MAX_BUFFER_MS = 960

P_MAX = Experiment(
    "p_max",
    "Pmax of Figure 13, which is not stated",
    {"p_max": P_MAXES},
    lambda p_max: SERIES["fig13"].with_(buffer_ms=P_MAX_BUFFER_MS, free=Free().with_(fig13_p_max=p_max)),
    ("ftp_mean_ms", "gamer_mean_ms", "drop_percent", "rate_share"),
)

SHARPNESS = (0.01, 0.05, 0.2, 1.0)


def _sharpness(p: float) -> Case:
    return Case("lred200", queue={"lred": {"limit": "600000B", **lred(200, 400, p, p, Free())}})


SHARP = Experiment(
    "sharpness",
    "Figure 12's LRED with the same probability from MINth (200 ms) on: how sharp must it be to keep every packet below 210 ms?",
    {"p": SHARPNESS},
    _sharpness,
    ("ftp_p1_ms", "ftp_mean_ms", "ftp_p99_ms", "sojourn_p99_ms", "loss_percent", "rate_share"),
)

TEXT: tuple[Experiment, ...] = (
    TWO_RTTS, COLLISION_LAW, EFFECTIVE_TMAX, ACK_ACCELERATION, LATENCY_WRED, TABLE_1, OVERFLOW, KNEE, P_MAX, SHARP,
)  # fmt: skip


# -------------------------------------------------------------------------------------------------------------- measures


def tell(result: Result) -> Measures:
    """The considerations' measures, and the latency of the FTP sessions before and after Tmax falls."""
    if "gamer" not in result.summary["apps"]:
        return consider(result)
    return consider(result) | _phases(result)


def _phases(result: Result) -> Measures:
    """Mean FTP latency in the last 60 s (or half) before the first change of the link, and in the last 60 s of the run."""
    changes = result.scenario.data["link"]["up"].get("changes") or []
    if not changes:
        return {}
    length = float(result.summary["duration_s"])
    step = float(changes[0]["at"].removesuffix("s"))
    span = min(60.0, step / 2)
    frame = result.table("flow_series").filter(
        pl.col("app").str.starts_with("ftp") & (pl.col("direction") == "forward")
    )

    def mean(end: float) -> float:
        part = frame.filter((pl.col("t_s") >= end - span) & (pl.col("t_s") < end)).drop_nans("delay_ms_mean")
        return float(np.average(part["delay_ms_mean"].to_numpy(), weights=part["wire_bytes"].to_numpy() + 1.0))

    before, after = mean(step), mean(length)
    return {"ftp_before_ms": before, "ftp_after_ms": after, "fall_ratio": after / before}


#: Every experiment, and the names of those that one word asks for. Those of the text run without being asked.
ASKED: Mapping[str, Experiment] = {e.name: e for e in (*ALWAYS, *TEXT, *PLAIN, ACKS, *CONSIDERATIONS)}
EXPERIMENTS: dict[str, str] = {name: e.what for name, e in ASKED.items()}
