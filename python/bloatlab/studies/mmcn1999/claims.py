"""What the slides say and our runs can bear out, and what is reported beside it, each with its origin.

The ranges of the slides' sentences are their words made a number before the runs of each were looked at: "dominated" is more
than half, "equal" within a quarter, "no drops" below 1 %. Without numbers in the slides, none of them can be closer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bloatlab.studies.claims import Claim, Measures, Runs, each, median_of, over_seeds, words
from bloatlab.studies.mmcn1999.build import LAW, PROPAGATION_MS
from bloatlab.studies.mmcn1999.small import TWO_FTP_LIMITS, TWO_FTP_MIN_TH
from bloatlab.studies.scorecard import Origin

#: RED's settings of two FTPs: its mean queue, and the queue that drop-tail needs for the same throughput.
Settings = Sequence[tuple[float, float]]


def _power(runs: Runs) -> Settings | None:
    """At each of RED's throughputs, the queue that drop-tail needs for it (between its buffers, linear)."""
    keys = [*(f"two ftp, red {n}" for n in TWO_FTP_MIN_TH), *(f"two ftp, droptail {n}" for n in TWO_FTP_LIMITS)]
    points = [(median_of(runs, key, "rate_share"), median_of(runs, key, "queue_mean_packets")) for key in keys]
    known = [(share, queue) for share, queue in points if share is not None and queue is not None]
    if len(known) < len(points):
        return None
    red, tail = sorted(known[: len(TWO_FTP_MIN_TH)]), sorted(known[len(TWO_FTP_MIN_TH) :])
    share, queue = zip(*tail, strict=True)
    return [(q, float(np.interp(s, share, queue))) for s, q in red if share[0] <= s <= share[-1]]


def _shorter(settings: Settings) -> int:
    return sum(red < tail for red, tail in settings)


def _queues(settings: Settings) -> str:
    listed = ", ".join(f"{red:.0f} for {tail:.0f}" for red, tail in settings)
    return f"shorter in {_shorter(settings)} of {len(settings)} settings: {listed} packets at the same throughput"


def _latency_order(fifo: float, red: float, cbt: float, cbq: float) -> bool:
    return fifo > max(red, cbt) and min(red, cbt) > cbq and 0.67 < red / cbt < 1.5


#: Bytes per second that the unresponsive traffic offers: the blast and six sessions, 11.26 Mbit/s; and the link's.
OFFERED_KBS, LINK_KBS = 1407.5, 1250.0


def _identity(key: str, queue: str) -> Claim:
    """With one drop rate p for all, TCP has C - U (1 - p). p is that of the unresponsive packets."""

    def error(seed: Measures) -> float:
        return abs(seed["tcp_kbs"] / (LINK_KBS - OFFERED_KBS * (1.0 - seed["udp_drop_percent"] / 100.0)) - 1.0)

    return Claim(
        f"identity {key}", "arithmetic", f"{queue}: TCP = C - U(1 - p), p the drop rate of all alike", "identity",
        [lambda runs: max(map(error, runs[key])) if key in runs else None], lambda worst: worst < 0.05,
        lambda worst: f"within {100 * worst:.1f} %", Origin.TEXTBOOK,
    )  # fmt: skip


_CLASSES = (("tcp_kbs", "share_tcp_percent"), ("mm_kbs", "share_mm_percent"), ("blast_kbs", "share_udp_percent"))


def _allocation(runs: Runs) -> float | None:
    """The largest difference between a class's share of the link and of the queued bytes, over classes and seeds."""
    differences = [
        abs(seed[rate] / sum(seed[name] for name, _ in _CLASSES) - seed[share] / 100.0)
        for seed in runs.get("cbt", ())
        for rate, share in _CLASSES
    ]
    return max(differences, default=None)


_TAIL, _RED = "case against drop-tail L55", "RED L78"
_THIRTY = ("thirty ftp, droptail", "thirty ftp, red")
_EARLY = ("cbt", "cbt, early drop to the threshold", "cbt, early drop to twice it")

CLAIMS: tuple[Claim, ...] = (
    Claim("tail-latency", _TAIL, "latency is dominated by the length of queues", "qualitative",
          each(["fifo"], "tcp_before_wait_ms"), lambda wait: wait > PROPAGATION_MS,
          lambda wait: f"{wait:.0f} ms waiting, {PROPAGATION_MS:g} ms propagation"),
    Claim("tail-starves", _TAIL, "fast connections starve slow ones (they lose at least twice as much)", "qualitative",
          each(["fifo"], "mm_drop_percent", "blast_drop_percent"), lambda slow, fast: slow >= 2.0 * fast,
          "sessions of 210 kbit/s lose {:.0f} %, the blast of 10 Mbit/s {:.0f} %"),
    Claim("tail-sync", _TAIL, "connections respond to congestion in step", "qualitative",
          each(_THIRTY, "sync"), lambda tail, red: tail > max(0.1, red),
          "mean correlation of two windows {:.2f} behind drop-tail, {:.2f} behind RED"),
    Claim("tail-bursts", _TAIL, "and become bursty: drops come in clusters", "qualitative",
          each(_THIRTY, "drop_dispersion"), lambda tail, red: tail > red,
          "drops per 100 ms, variance over mean: {:.1f} behind drop-tail, {:.1f} behind RED"),
    Claim("red-latency", _RED, "RED's average latency is lower", "qualitative",
          each(["red", "fifo"], "tcp_before_wait_ms"), lambda red, tail: red < tail,
          "before the blast: RED {:.1f} ms, drop-tail {:.1f} ms waiting"),
    Claim("red-goodput", _RED, "and its goodput is higher", "qualitative",
          each(["red", "fifo"], "tcp_before_goodput_kbs"), lambda red, tail: red > tail,
          "before the blast: RED {:.0f} kB/s, drop-tail {:.0f} kB/s"),
    Claim("red-sessions", "Queue management L203", "RED reduces packet drops (of the sessions, before the blast)", "qualitative",
          each(["red", "fifo"], "mm_before_drop_percent"), lambda red, tail: red < tail,
          "sessions lose {:.1f} % under RED, {:.1f} % under drop-tail"),
    Claim("red-proportional", "RED L78, L125", "the drop rate is equal for all flows (within a quarter)", "qualitative",
          each(["two flows, red"], "fast_drop_percent", "slow_drop_percent"), lambda fast, slow: 0.75 <= slow / fast <= 1.25,
          "10 Mbit/s lose {:.1f} %, 1 Mbit/s {:.1f} %"),
    Claim("red-bursty", "RED L79", "no bias against bursty sources (within a quarter)", "qualitative",
          each(["red", "fifo"], "mm_drop_percent", "blast_drop_percent"), lambda mm, _, blast, __: 0.75 <= mm / blast <= 1.25,
          lambda red_mm, tail_mm, red_blast, tail_blast:
          f"frames lose {red_mm / red_blast:.2f} times what the paced blast loses under RED, {tail_mm / tail_blast:.1f} under drop-tail"),
    Claim("red-queue", "RED summary L123", "RED controls the average queue size: thirty FTPs", "qualitative",
          each(["thirty ftp, red"], "queue_mean_packets"), lambda mean: 15 <= mean <= 30,
          "{:.1f} packets on average; thresholds 15 and 30"),
    Claim("red-queue-two", "RED performance L117", "and that of Floyd and Jacobson's two FTPs", "a picture",
          each(["two ftp, red 5"], "queue_mean_packets"), lambda mean: 5 <= mean <= 15,
          "{:.1f} packets on average; thresholds 5 and 15"),
    Claim("red-power", "RED performance L117", "two FTPs are as fast with a shorter queue", "a picture",
          [_power], lambda settings: 2 * _shorter(settings) > len(settings), _queues),
    Claim("red-unresponsive", "RED summary L126", "unresponsive traffic does not slow down: TCP does (to less than half)", "~300 for ~1000 kB/s",
          each(["red"], "tcp_before_kbs", "tcp_kbs"), lambda before, under: under < 0.5 * before,
          "TCP falls from {:.0f} to {:.0f} kB/s under RED"),
    Claim("fred-light", "FRED L180", "light flows have no drops, heavy flows many", "qualitative",
          each(["two flows, fred"], "slow_drop_percent", "fast_drop_percent"), lambda slow, fast: slow < 1.0 < fast,
          "1 Mbit/s loses {:.1f} %, 10 Mbit/s {:.1f} %"),
    Claim("cbt-tcp", "CBT L250", "CBT isolates TCP from unresponsive traffic (90 % of its throughput)", "~1000 kB/s",
          each(["cbt"], "tcp_kbs", "tcp_before_kbs"), lambda under, before: under >= 0.9 * before,
          "TCP has {:.0f} kB/s under the blast, {:.0f} before"),
    Claim("punished", "Conclusion", "RED and FIFO punish low-bandwidth unresponsive traffic (over 10 % lost)", "qualitative",
          each(["red", "fifo"], "mm_drop_percent"), lambda red, fifo: min(red, fifo) > 10.0,
          "RED drops {:.0f} %, FIFO {:.0f} % of the sessions"),
    Claim("cbt-tagged", "Conclusion", "CBT isolates it from aggressive traffic (below 5 %, the blast over half)", "qualitative",
          each(["cbt"], "mm_drop_percent", "blast_drop_percent"), lambda mm, blast: mm < 5.0 and blast > 50.0,
          "sessions lose {:.1f} %, the blast {:.0f} %"),
    # the blast's part of the link grows with its threshold, and nothing else was changed
    Claim("cbt-ratios", "CBT L253 (-e thresholds)", "thresholds determine the ratios between classes", "qualitative",
          each([f"mm-th 10, udp-th {n}" for n in (1, 2, 5, 10)], "blast_kbs"),
          lambda *v: list(v) == sorted(v) and v[-1] > 2.0 * v[0],
          "blast {:.0f}, {:.0f}, {:.0f}, {:.0f} kB/s for udp-th 1, 2, 5, 10"),
    Claim("early-drop", "Future work (-e early_drop)", "early drop inside the UDP classes costs the sessions less than a fixed threshold", "not in the slides",
          each(_EARLY, "mm_drop_percent", "blast_kbs"), lambda fixed, once, twice, *_: min(once, twice) < fixed,
          "sessions lose {:.1f} % with thresholds, {:.1f} and {:.1f} % with early drop; blast {:.0f}, {:.0f}, {:.0f} kB/s", Origin.OURS),
    Claim("latency", "from memory", "latency of tagged traffic: FIFO > RED ~ CBT > CBQ", "ordering, from memory",
          each(["fifo", "red", "cbt", "cbq"], "mm_latency_ms"), _latency_order,
          "FIFO {:.1f}, RED {:.1f}, CBT {:.1f}, CBQ {:.1f} ms", Origin.OURS),
    Claim("fred-tagged", "from memory", "FRED treats tagged traffic no better than RED", "FRED 35.7, RED 30.0 %, from memory",
          [lambda runs: over_seeds(runs, "fred", "mm_drop_percent"), lambda runs: over_seeds(runs, "red", "mm_drop_percent")],
          lambda fred, red: fred.median > 0.5 * red.median,
          lambda fred, red: f"FRED {words(fred, '%', 1)}, RED {words(red, '%', 1)}", Origin.OURS),
    _identity(LAW, "FIFO, fifty sources and smooth sessions"),
    _identity("fifo", "FIFO, one paced blast and sessions in frames (drops are not alike: see README)"),
    _identity("red", "RED"),
    Claim("allocation", "arithmetic", "CBT: a class's share of the link is its share of the queued bytes", "identity",
          [_allocation], lambda worst: worst < 0.05, lambda worst: f"within {100 * worst:.1f} percentage points", Origin.TEXTBOOK),
)  # fmt: skip
