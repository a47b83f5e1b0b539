"""What the slides say and our runs can bear out, and what is reported beside it, each with its origin.

The ranges of the slides' sentences are their words made a number before the runs of each were looked at: "dominated" is more
than half, "equal" within a quarter, "no drops" below 1 %. Without numbers in the slides, none of them can be closer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bloatlab.studies.claims import Order, Runs, median_of, over_seeds, words
from bloatlab.studies.mmcn1999.build import LAW, PROPAGATION_MS
from bloatlab.studies.mmcn1999.small import TWO_FTP_LIMITS, TWO_FTP_MIN_TH
from bloatlab.studies.scorecard import Origin

Found = tuple[str, bool] | None


def _values(runs: Runs, *wanted: tuple[str, str]) -> list[float] | None:
    """Medians by case and measure; None when one is missing."""
    found = [median_of(runs, *w) for w in wanted]
    return None if any(v is None for v in found) else [v for v in found if v is not None]


# --------------------------------------------------------------------------------------------- the case against drop-tail


def _dominated(runs: Runs) -> Found:
    v = _values(runs, ("fifo", "tcp_before_wait_ms"))
    return None if v is None else (
        f"{v[0]:.0f} ms waiting, {PROPAGATION_MS:g} ms propagation", v[0] > PROPAGATION_MS
    )  # fmt: skip


def _starved(runs: Runs) -> Found:
    v = _values(runs, ("fifo", "mm_drop_percent"), ("fifo", "blast_drop_percent"))
    if v is None:
        return None
    return f"sessions of 210 kbit/s lose {v[0]:.0f} %, the blast of 10 Mbit/s {v[1]:.0f} %", v[0] >= 2.0 * v[1]


def _in_step(runs: Runs) -> Found:
    v = _values(runs, ("thirty ftp, droptail", "sync"), ("thirty ftp, red", "sync"))
    if v is None:
        return None
    return f"mean correlation of two windows {v[0]:.2f} behind drop-tail, {v[1]:.2f} behind RED", v[0] > max(0.1, v[1])


def _clusters(runs: Runs) -> Found:
    v = _values(runs, ("thirty ftp, droptail", "drop_dispersion"), ("thirty ftp, red", "drop_dispersion"))
    if v is None:
        return None
    return f"drops per 100 ms, variance over mean: {v[0]:.1f} behind drop-tail, {v[1]:.1f} behind RED", v[0] > v[1]


# ------------------------------------------------------------------------------------------------------------------- RED


def _red_latency(runs: Runs) -> Found:
    v = _values(runs, ("fifo", "tcp_before_wait_ms"), ("red", "tcp_before_wait_ms"))
    return None if v is None else (f"before the blast: RED {v[1]:.1f} ms, drop-tail {v[0]:.1f} ms waiting", v[1] < v[0])


def _red_goodput(runs: Runs) -> Found:
    v = _values(runs, ("fifo", "tcp_before_goodput_kbs"), ("red", "tcp_before_goodput_kbs"))
    return None if v is None else (f"before the blast: RED {v[1]:.0f} kB/s, drop-tail {v[0]:.0f} kB/s", v[1] > v[0])


def _red_before(runs: Runs) -> Found:
    """What the sessions suffer while nobody misbehaves."""
    v = _values(runs, *((q, "mm_before_drop_percent") for q in ("fifo", "red")))
    return None if v is None else (f"sessions lose {v[1]:.1f} % under RED, {v[0]:.1f} % under drop-tail", v[1] < v[0])


def _proportional(runs: Runs) -> Found:
    v = _values(runs, ("two flows, red", "fast_drop_percent"), ("two flows, red", "slow_drop_percent"))
    if v is None:
        return None
    return f"10 Mbit/s lose {v[0]:.1f} %, 1 Mbit/s {v[1]:.1f} %", 0.75 <= v[1] / v[0] <= 1.25


def _no_bias(runs: Runs) -> Found:
    v = _values(
        runs, ("red", "mm_drop_percent"), ("red", "blast_drop_percent"), ("fifo", "mm_drop_percent"), ("fifo", "blast_drop_percent")
    )  # fmt: skip
    if v is None:
        return None
    red, fifo = v[0] / v[1], v[2] / v[3]
    return (
        f"frames lose {red:.2f} times what the paced blast loses under RED, {fifo:.1f} under drop-tail",
        0.75 <= red <= 1.25,
    )


def _unresponsive(runs: Runs) -> Found:
    v = _values(runs, ("red", "tcp_kbs"), ("red", "tcp_before_kbs"))
    return None if v is None else (f"TCP falls from {v[1]:.0f} to {v[0]:.0f} kB/s under RED", v[0] < 0.5 * v[1])


def _controls(key: str, low: float, high: float) -> Callable[[Runs], Found]:
    def judge(runs: Runs) -> Found:
        v = _values(runs, (key, "queue_mean_packets"))
        return (
            None
            if v is None
            else (f"{v[0]:.1f} packets on average; thresholds {low:g} and {high:g}", low <= v[0] <= high)
        )

    return judge


def _power(runs: Runs) -> Found:
    """At each of RED's throughputs, the queue that drop-tail needs for it (between its buffers, linear)."""

    def curve(names: Sequence[str]) -> list[tuple[float, float]] | None:
        points = [
            _values(runs, (f"two ftp, {n}", "rate_share"), (f"two ftp, {n}", "queue_mean_packets")) for n in names
        ]
        return None if any(p is None for p in points) else sorted((p[0], p[1]) for p in points if p is not None)

    red, tail = curve([f"red {n}" for n in TWO_FTP_MIN_TH]), curve([f"droptail {n}" for n in TWO_FTP_LIMITS])
    if red is None or tail is None:
        return None
    share, queue = zip(*tail, strict=True)
    beside = [(q, float(np.interp(s, share, queue))) for s, q in red if share[0] <= s <= share[-1]]
    shorter = sum(q < other for q, other in beside)
    words = ", ".join(f"{q:.0f} for {other:.0f}" for q, other in beside)
    return f"shorter in {shorter} of {len(beside)} settings: {words} packets at the same throughput", 2 * shorter > len(
        beside
    )


# ------------------------------------------------------------------------------------------------------ FRED, CBT and CBQ


def _light_flows(runs: Runs) -> Found:
    v = _values(runs, ("two flows, fred", "slow_drop_percent"), ("two flows, fred", "fast_drop_percent"))
    return None if v is None else (f"1 Mbit/s loses {v[0]:.1f} %, 10 Mbit/s {v[1]:.1f} %", v[0] < 1.0 < v[1])


def _protects(runs: Runs) -> Found:
    v = _values(runs, ("cbt", "tcp_kbs"), ("cbt", "tcp_before_kbs"))
    return None if v is None else (f"TCP has {v[0]:.0f} kB/s under the blast, {v[1]:.0f} before", v[0] >= 0.9 * v[1])


def _punished(runs: Runs) -> Found:
    v = _values(runs, ("red", "mm_drop_percent"), ("fifo", "mm_drop_percent"))
    return None if v is None else (f"RED drops {v[0]:.0f} %, FIFO {v[1]:.0f} % of the sessions", min(v) > 10.0)


def _isolates(runs: Runs) -> Found:
    v = _values(runs, ("cbt", "mm_drop_percent"), ("cbt", "blast_drop_percent"))
    return None if v is None else (f"sessions lose {v[0]:.1f} %, the blast {v[1]:.0f} %", v[0] < 5.0 and v[1] > 50.0)


def _ratios(runs: Runs) -> Found:
    """The blast's part of the link grows with its threshold, and nothing else was changed."""
    v = _values(runs, *((f"mm-th 10, udp-th {n}", "blast_kbs") for n in (1, 2, 5, 10)))
    if v is None:
        return None
    return f"blast {', '.join(f'{x:.0f}' for x in v)} kB/s for udp-th 1, 2, 5, 10", v == sorted(v) and v[-1] > 2.0 * v[
        0
    ]


def _early_drop(runs: Runs) -> Found:
    """Early drop inside the classes of datagrams against their fixed thresholds."""
    keys = ("cbt", "cbt, early drop to the threshold", "cbt, early drop to twice it")
    v = _values(runs, *((k, m) for k in keys for m in ("mm_drop_percent", "blast_kbs")))
    if v is None:
        return None
    text = f"sessions lose {v[0]:.1f} % with thresholds, {v[2]:.1f} and {v[4]:.1f} % with early drop; blast {v[1]:.0f}, {v[3]:.0f}, {v[5]:.0f} kB/s"
    return text, min(v[2], v[4]) < v[0]


# -------------------------------------------------------------------------------- from memory, and by arithmetic: not counted


def _latency(runs: Runs) -> tuple[str, bool] | None:
    ours = {key: median_of(runs, key, "mm_latency_ms") for key in ("fifo", "red", "cbt", "cbq")}
    if any(v is None for v in ours.values()):
        return None
    fifo, red, cbt, cbq = (float(v or 0.0) for v in ours.values())
    text = f"FIFO {fifo:.1f}, RED {red:.1f}, CBT {cbt:.1f}, CBQ {cbq:.1f} ms"
    return text, fifo > max(red, cbt) and min(red, cbt) > cbq and 0.67 < red / cbt < 1.5


def _fred_tagged(runs: Runs) -> tuple[str, bool] | None:
    fred, red = (over_seeds(runs, key, "mm_drop_percent") for key in ("fred", "red"))
    if fred is None or red is None:
        return None
    return f"FRED {words(fred, '%', 1)}, RED {words(red, '%', 1)}", fred.median > 0.5 * red.median


#: Bytes per second that the unresponsive traffic offers: the blast and six sessions, 11.26 Mbit/s; and the link's.
OFFERED_KBS, LINK_KBS = 1407.5, 1250.0


def _identity(key: str, queue: str) -> Order:
    """With one drop rate p for all, TCP has C - U (1 - p). p is that of the unresponsive packets."""

    def judge(runs: Runs) -> tuple[str, bool] | None:
        if key not in runs:
            return None
        errors = [
            abs(s["tcp_kbs"] / (LINK_KBS - OFFERED_KBS * (1.0 - s["udp_drop_percent"] / 100.0)) - 1.0)
            for s in runs[key]
        ]
        return f"within {100 * max(errors):.1f} %", max(errors) < 0.05

    return Order(
        f"identity {key}",
        "arithmetic",
        f"{queue}: TCP = C - U(1 - p), p the drop rate of all alike",
        "identity",
        judge,
        Origin.TEXTBOOK,
    )


def _allocation(runs: Runs) -> tuple[str, bool] | None:
    if "cbt" not in runs:
        return None
    errors = []
    for s in runs["cbt"]:
        total = s["tcp_kbs"] + s["mm_kbs"] + s["blast_kbs"]
        for name, share in (("tcp", "share_tcp_percent"), ("mm", "share_mm_percent"), ("blast", "share_udp_percent")):
            errors.append(abs(s[f"{name}_kbs"] / total - s[share] / 100.0))
    return f"within {100 * max(errors):.1f} percentage points", max(errors) < 0.05


_TAIL, _RED = "case against drop-tail L55", "RED L78"

CLAIMS = (
    Order("tail-latency", _TAIL, "latency is dominated by the length of queues", "qualitative", _dominated),
    Order("tail-starves", _TAIL, "fast connections starve slow ones (they lose at least twice as much)", "qualitative", _starved),
    Order("tail-sync", _TAIL, "connections respond to congestion in step", "qualitative", _in_step),
    Order("tail-bursts", _TAIL, "and become bursty: drops come in clusters", "qualitative", _clusters),
    Order("red-latency", _RED, "RED's average latency is lower", "qualitative", _red_latency),
    Order("red-goodput", _RED, "and its goodput is higher", "qualitative", _red_goodput),
    Order("red-sessions", "Queue management L203", "RED reduces packet drops (of the sessions, before the blast)", "qualitative", _red_before),
    Order("red-proportional", "RED L78, L125", "the drop rate is equal for all flows (within a quarter)", "qualitative", _proportional),
    Order("red-bursty", "RED L79", "no bias against bursty sources (within a quarter)", "qualitative", _no_bias),
    Order("red-queue", "RED summary L123", "RED controls the average queue size: thirty FTPs", "qualitative", _controls("thirty ftp, red", 15, 30)),
    Order("red-queue-two", "RED performance L117", "and that of Floyd and Jacobson's two FTPs", "a picture", _controls("two ftp, red 5", 5, 15)),
    Order("red-power", "RED performance L117", "two FTPs are as fast with a shorter queue", "a picture", _power),
    Order("red-unresponsive", "RED summary L126", "unresponsive traffic does not slow down: TCP does (to less than half)", "~300 for ~1000 kB/s", _unresponsive),
    Order("fred-light", "FRED L180", "light flows have no drops, heavy flows many", "qualitative", _light_flows),
    Order("cbt-tcp", "CBT L250", "CBT isolates TCP from unresponsive traffic (90 % of its throughput)", "~1000 kB/s", _protects),
    Order("punished", "Conclusion", "RED and FIFO punish low-bandwidth unresponsive traffic (over 10 % lost)", "qualitative", _punished),
    Order("cbt-tagged", "Conclusion", "CBT isolates it from aggressive traffic (below 5 %, the blast over half)", "qualitative", _isolates),
    Order("cbt-ratios", "CBT L253 (-e thresholds)", "thresholds determine the ratios between classes", "qualitative", _ratios),
    Order("early-drop", "Future work (-e early_drop)", "early drop inside the UDP classes costs the sessions less than a fixed threshold", "not in the slides", _early_drop, Origin.OURS),
    Order("latency", "from memory", "latency of tagged traffic: FIFO > RED ~ CBT > CBQ", "ordering, from memory", _latency, Origin.OURS),
    Order("fred-tagged", "from memory", "FRED treats tagged traffic no better than RED", "FRED 35.7, RED 30.0 %, from memory", _fred_tagged, Origin.OURS),
    _identity(LAW, "FIFO, fifty sources and smooth sessions"),
    _identity("fifo", "FIFO, one paced blast and sessions in frames (drops are not alike: see README)"),
    _identity("red", "RED"),
    Order("allocation", "arithmetic", "CBT: a class's share of the link is its share of the queued bytes", "identity", _allocation, Origin.TEXTBOOK),
)  # fmt: skip
