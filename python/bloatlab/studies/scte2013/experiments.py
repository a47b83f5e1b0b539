"""The study as declared grids: axes with their values, and the network of each place.

`ALWAYS` holds the grids of figures and claims, with all seeds. `TEXT` always runs as well, with three seeds: sentences of the text that
no figure shows, and experiments that `rules.EXPLANATIONS` needs. `PLAIN` runs on request and has no published values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bloatlab.scenario import Scenario
from bloatlab.studies.scte2013.build import COLLISION_DSCP, OURS, UNKNOWNS, Case, buffer_bytes, build, lred
from bloatlab.studies.scte2013.theory import peak_rate_mbit
from bloatlab.sweep import Grid

#: The 20 buffer sizes of each series in ms of Tmax (SCTE 2013 varies "ONLY buffer size", 20 times; of the sizes it states
#: only 200 and 960).
BUFFERS_MS = (20, 30, 40, 50, 60, 80, 100, 130, 160, 200, 250, 300, 400, 500, 600, 700, 800, 900, 960, 1000)

#: The bandwidth-delay product of the baseline in ms of Tmax: its round trip.
BDP_MS = 50

#: The series of the figures, and the numbers of sessions that the text compares.
SERIES: Mapping[str, Case] = {
    "fig2": Case("droptail"),
    "fig2-n1": Case("droptail", sessions=1),
    "fig2-n5": Case("droptail", sessions=5),
    "fig2-n50": Case("droptail", sessions=50),
    "fig3": Case("droptail", tmax_mbit=1.0),
    "fig5": Case("sfq"),
    "fig7": Case("sfq_collision"),
    "fig11": Case("lred200"),
    "fig13": Case("lred50", tmax_mbit=1.0),
    "fig14": Case("sfq_lred700"),
    "fig16": Case("sfq_lred200"),
}

#: The series of drop-tail by the number of sessions.
SESSIONS = {1: "fig2-n1", 5: "fig2-n5", 10: "fig2", 50: "fig2-n50"}


@dataclass(frozen=True, slots=True)
class Experiment:
    """A grid: its name, its question, its axes, the measures of its table, and the network of a place.

    A place without a case is left out. The scenarios of a `named` one have its name.
    """

    name: str
    what: str
    axes: Mapping[str, Sequence[Any]]
    columns: Sequence[str]
    case: Callable[..., Case | None] = Case
    named: bool = False

    def grid(self, seeds: Sequence[int], seconds: int | None = None) -> Grid:
        """Every place with every seed; `seconds` shortens the runs."""

        def scenario(*, seed: int, **at: Any) -> Scenario:
            case = self.case(**at) or Case()  # a place without a case is left out by `keeps`
            name = f"scte2013 {self.name} {key(at)}" if self.named else f"scte2013 {key(at)}"
            return build(case if seconds is None else replace(case, seconds=seconds), seed, name)

        return Grid(self.axes, scenario, seeds, keeps=lambda at: self.case(**at) is not None)

    def places(self) -> list[tuple[Mapping[str, Any], str]]:
        """Its places, each with the key of its runs."""
        return [(at, f"{self.name} {key(at)}") for at in self.grid((1,)).places()]


def key(at: Mapping[str, Any]) -> str:
    """The name of a place in results: its values in the order of the axes."""
    return " ".join(str(value) for value in at.values())


#: The measures that most tables show.
COLUMNS = ("gamer_p50_ms", "gamer_p99_ms", "ftp_mean_ms", "rate_mbit", "loss_percent", "cov_session")


# ---------------------------------------------------------------------------------------------------- figures, claims


def _figures(series: str, buffer_ms: int) -> Case:
    return replace(SERIES[series], buffer_ms=buffer_ms)


#: LRED at 1 Mbit/s: targets, and the highest probability.
LOW_MIN_TH_MS = (10, 25, 50, 100)
LOW_P_MAX = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
LOW_P_MIN = ("1%", "p_max")


def _lred_low(min_th_ms: int, p_max: float, p_min: str) -> Case:
    low = 0.01 if p_min == "1%" else p_max
    return Case(tmax_mbit=1.0, queue={"lred": {"limit": "120000B", **lred(min_th_ms, low, p_max)}})


#: Round trips of the sessions with a buffer chosen for 50 ms.
RTTS_MS = (10, 50, 100, 200)

FIGURES = Experiment(
    "figures", "latency, throughput and loss against buffer size: Figures 2, 3, 5, 7, 11, 13, 14",
    {"series": tuple(SERIES), "buffer_ms": BUFFERS_MS}, COLUMNS, _figures,
)  # fmt: skip

ALWAYS: tuple[Experiment, ...] = (
    FIGURES,
    Experiment(
        "lred_low", "LRED at 1 Mbit/s, MAXth twice MINth: can it reach less than 80 ms with less than 5 % loss?",
        {"min_th_ms": LOW_MIN_TH_MS, "p_max": LOW_P_MAX, "p_min": LOW_P_MIN}, COLUMNS, _lred_low,
    ),
    Experiment(
        "bloat", "session bloat: drops that control 1 to 100 sessions",
        {"discipline": ("lred200", "codel", "pie"), "sessions": (1, 2, 5, 10, 20, 50, 100)},
        ("gamer_p50_ms", "gamer_p99_ms", "ftp_mean_ms", "rate_mbit", "drops_per_s", "loss_percent", "timeouts"),
    ),
    Experiment(
        "rtt", "a buffer chosen for 50 ms, sessions at another round trip",
        {"discipline": ("droptail",), "buffer_ms": (50, 100, 250), "rtt_ms": RTTS_MS},
        ("gamer_p50_ms", "gamer_p99_ms", "ftp_mean_ms", "rate_share", "loss_percent", "cov_total", "cov_session"),
        lambda discipline, buffer_ms, rtt_ms: Case(discipline, buffer_ms, rtt_ms=(rtt_ms,)),
    ),
)  # fmt: skip

#: The distributions of Figures 6, 12, 15, 16, and the baseline that is drawn with them.
CDF_BUFFER_MS = 960
CDF = Experiment(
    "cdf", f"latency of all packets with a buffer of {CDF_BUFFER_MS} ms",
    {"series": ("fig2", "fig5", "fig11", "fig14", "fig16"), "buffer_ms": (CDF_BUFFER_MS,)}, COLUMNS, _figures,
)  # fmt: skip


# ------------------------------------------------------------------------------------------------- the text, and reasons

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


#: The profiles of a latency-based WRED: the gamer like all, or with thresholds that its packets hardly reach.
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


def _overflow(discipline: str, overflow: str, buffer_ms: int) -> Case | None:
    if discipline == "droptail" and overflow != "tail":
        return None
    return Case(discipline, buffer_ms, free=replace(OURS, overflow=overflow))


#: The code point of downloads, whose ACKs carry it upstream.
ACK_DSCP = 46


def acks(discipline: str, buffer_ms: int) -> Case:
    """SCTE 2013, Background: 500 kB at 2 Mbit/s hold ACKs for 2 s. An upload fills it, a download at 20 Mbit/s waits for its ACKs.

    `ack_class` is ACK acceleration as priority: the downloads' ACKs have a queue of their own, and up to half of the link
    (cable modems also drop ACKs that a later one makes superfluous; not modelled).
    """
    traffic = {"ftp": {"flows": 4, "direction": "down", "stagger": "100ms"}}
    # two classes of equal weight that lend each other unused capacity: ACKs, and the rest behind the buffer
    first = {"name": "acks", "match": {"dscp": [ACK_DSCP]}, "share": 0.5, "borrow": True, "limit": "1000p"}
    rest = {"name": "rest", "match": {}, "share": 0.5, "borrow": True, "limit": f"{buffer_bytes(buffer_ms, 2.0)}B"}
    return Case(
        "droptail" if discipline in ("no upload", "ack_class") else discipline,
        buffer_ms,
        tmax_mbit=2.0,
        sessions=0 if discipline == "no upload" else 1,
        queue={"cbq": {"classes": [first, rest]}} if discipline == "ack_class" else None,
        more={
            "download": (0.0, {"from": "user", "to": ["net50"], "tcp": "study", "traffic": traffic, "dscp": ACK_DSCP})
        },
        sets={"link.down.rate": "20mbit", "link.down.queue": {"droptail": {"limit": "250ms"}}},
    )


KNEE_SESSIONS = (1, 5, 10, 50)
KNEE_MS = (4, 6, 8, 10, 15, 20, 30, 40, 50, 60, 1000)

P_MAXES = (0.05, 0.12, 0.2, 0.3, 0.5)
P_MAX_BUFFER_MS = 960

SHARPNESS = (0.01, 0.05, 0.2, 1.0)

TEXT: tuple[Experiment, ...] = (
    Experiment(
        "two_rtts", "two sessions, round trips of 10 and 100 ms, share one buffer: which size suits both?",
        {"discipline": ("droptail", "codel", "sfq"), "buffer_ms": TWO_RTTS_BUFFERS_MS},
        ("goodput_mbit_ftp10", "goodput_mbit_ftp100", "rate_share", "sojourn_mean_ms", "gamer_p99_ms", "loss_percent"),
        lambda discipline, buffer_ms: Case(discipline, buffer_ms, sessions=1, rtt_ms=TWO_RTTS_MS[::-1]),
    ),
    Experiment(
        "collision_law", "a forced collision of the gamer and one FTP session, with a law in each queue of SFQ",
        {"law": tuple(INSIDE), "buffer_ms": (200, 500, 960)},
        ("gamer_mean_ms", "gamer_p99_ms", "ftp_mean_ms", "goodput_mbit", "loss_percent", "gamer_drops_late"), _collision_law,
    ),
    Experiment(
        "effective_tmax", "Tmax falls from 20 to 5 Mbit/s: thresholds in bytes (10a) and in time (10b, 10c), in one queue and in each of SFQ's",
        {"curve": ("10a", "10b", "10c"), "queue": ("fifo", "sfq")},
        ("ftp_before_ms", "ftp_after_ms", "fall_ratio", "gamer_mean_ms", "loss_percent"), _effective_tmax, named=True,
    ),
    Experiment(
        "ack_acceleration", "four downloads beside an upload that fills 500 kB at 2 Mbit/s: ACKs behind it, and with a queue of their own",
        {"discipline": ("no upload", "droptail", "ack_class"), "buffer_ms": (2000,)},
        ("download_mbit", "upload_mbit", "gamer_p50_ms", "gamer_p99_ms", "rate_share"), acks, named=True,
    ),
    Experiment(
        "latency_wred", "latency-based WRED: LRED 200 for all, and with thresholds twice as high for the gamer's packets",
        {"profile": tuple(WRED_PROFILES)},
        ("gamer_mean_ms", "gamer_p99_ms", "gamer_drops", "gamer_message_ms", "ftp_mean_ms", "goodput_mbit", "loss_percent"), _latency_wred,
    ),
    Experiment(
        "table1", "Table 1 by TCP runs: a window of the buffer's size on a fast link, and that buffer before a link of the printed rate",
        {"limit": ("window", "buffer"), "buffer_kb": TABLE_1_KB, "rtt_ms": TABLE_1_RTT_MS},
        ("goodput_mbit", "rate_share", "loss_percent", "timeouts"), _table_1, named=True,
    ),
    Experiment(
        "overflow", "the victim when the memory that the queues of SFQ share is full: the arriving packet, or the longest queue",
        {"discipline": ("droptail", "sfq", "sfq_collision"), "overflow": ("tail", "longest"), "buffer_ms": (100, 960)},
        ("gamer_mean_ms", "gamer_p99_ms", "gamer_drops", "ftp_mean_ms", "ftp_share_half_to_one_s", "loss_percent"), _overflow,
    ),
    Experiment(
        "knee", "the knee of the throughput with buffers below the smallest of the figures",
        {"sessions": KNEE_SESSIONS, "buffer_ms": KNEE_MS}, ("rate_share", "loss_percent", "timeouts"),
    ),
    Experiment(
        "p_max", "Pmax of Figure 13, which is not stated",
        {"p_max": P_MAXES}, ("ftp_mean_ms", "gamer_mean_ms", "drop_percent", "rate_share"),
        lambda p_max: replace(SERIES["fig13"], buffer_ms=P_MAX_BUFFER_MS, free=replace(OURS, fig13_p_max=p_max)),
    ),
    Experiment(
        "sharpness", "Figure 12's LRED with the same probability from MINth (200 ms) on: how sharp must it be to keep every packet below 210 ms?",
        {"p": SHARPNESS}, ("ftp_p1_ms", "ftp_mean_ms", "ftp_p99_ms", "sojourn_p99_ms", "loss_percent", "rate_share"),
        lambda p: Case("lred200", queue={"lred": {"limit": "600000B", **lred(200, p, p)}}),
    ),
)  # fmt: skip


# ---------------------------------------------------------------------------------------------------------- on request

#: The series (and buffer in ms) that a parameter can change; the others are tried on `ELSEWHERE`.
RELEVANT: Mapping[str, Sequence[str]] = {
    "overflow": ("fig5 960", "fig7 960", "fig14 960", "fig16 960"),
    "lred_weight": ("fig11 960", "fig16 960"),
    "fig13_p_max": ("fig13 960",),
}
ELSEWHERE = ("fig2 960", "fig3 200", "fig5 960", "fig11 960", "fig14 960")

#: Every parameter that the paper leaves open with each of its values, ours first.
VALUES = {f"{u.field} {value}": (u.field, value) for u in UNKNOWNS for value in (u.ours, *u.others)}


def _sensitivity(parameter: str, point: str) -> Case | None:
    name, value = VALUES[parameter]
    if point not in RELEVANT.get(name, ELSEWHERE):
        return None
    series, _, buffer_ms = point.partition(" ")
    return replace(SERIES[series], buffer_ms=int(buffer_ms), free=replace(OURS, **{name: value}))


#: The axes of LRED's map: target, rate, sessions, round trip.
TARGETS_MS = (25, 50, 100, 200, 400)
RATES_MBIT = (1.0, 2.0, 5.0, 10.0, 20.0)
MAP_SESSIONS = (1, 5, 10, 50)
MAP_RTTS_MS = (20, 50, 100, 200)


def _sweet_spot(min_th_ms: int, tmax_mbit: float, sessions: int, rtt_ms: int) -> Case:
    queue: Any = {"lred": {"limit": "2s", **lred(min_th_ms)}}
    return Case(tmax_mbit=tmax_mbit, sessions=sessions, rtt_ms=(rtt_ms,), queue=queue)


#: The laws that are compared at a low delay, by a target in ms. The integral term of LRED has a gain per second and a highest
#: probability (README: "LRED below 100 ms").
LOW_DELAY: Mapping[str, Callable[[int], Mapping[str, Mapping[str, Any]]]] = {
    "lred": lambda ms: {"lred": lred(ms)},
    "lred_integral": lambda ms: {"lred": lred(ms, 0.0, 0.5) | {"max_th": f"{4 * ms}ms", "integral": 0.02}},
    "codel": lambda ms: {"codel": {"target": f"{ms}ms", "interval": f"{max(100, 2 * ms)}ms"}},
    "pie": lambda ms: {"pie": {"target": f"{ms}ms"}},
}


def _low_delay(law: str, target_ms: int, tmax_mbit: float, sessions: int) -> Case:
    ((name, params),) = LOW_DELAY[law](target_ms).items()
    return Case(tmax_mbit=tmax_mbit, sessions=sessions, queue={name: {"limit": "1s", **params}})


PLAIN: tuple[Experiment, ...] = (
    Experiment(
        "sensitivity", "the things that the paper leaves open, one value at a time (ours first)",
        {"parameter": tuple(VALUES), "point": ("fig2 960", "fig3 200", "fig5 960", "fig7 960", "fig11 960", "fig13 960", "fig14 960", "fig16 960")},
        ("gamer_mean_ms", "gamer_p99_ms", "ftp_mean_ms", "rate_mbit", "loss_percent", "drop_percent", "timeouts"), _sensitivity,
    ),
    Experiment(
        "downstream", "the same buffer in the CMTS: files and messages come from the net",
        {"discipline": ("droptail", "lred200", "sfq"), "direction": ("up", "down"), "buffer_ms": (50, 200, 960)}, COLUMNS,
    ),
    Experiment(
        "sweetspot", "LRED's sweet spot: latency achieved in the queue and loss, over target, Tmax, sessions and round trip (MAXth 2 MINth, 1 to 5 %)",
        {"min_th_ms": TARGETS_MS, "tmax_mbit": RATES_MBIT, "sessions": MAP_SESSIONS, "rtt_ms": MAP_RTTS_MS},
        ("sojourn_mean_ms", "sojourn_p99_ms", "drop_percent", "rate_share", "cov_session", "timeouts"), _sweet_spot,
    ),
    Experiment(
        "low_delay", "LRED below 100 ms: as published, with an integral term (ours), and beside CoDel and PIE with the same target",
        {"law": tuple(LOW_DELAY), "target_ms": (20, 50, 100), "tmax_mbit": (1.0, 5.0, 20.0), "sessions": (5, 10, 50)},
        ("sojourn_mean_ms", "sojourn_p99_ms", "gamer_p99_ms", "drop_percent", "rate_share", "timeouts"), _low_delay,
    ),
)  # fmt: skip
