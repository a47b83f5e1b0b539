"""Every published value of the lab's report compared with ours, by rules fixed before the runs.

The report has one run of each queue. Other students ran the same kit; the range of their runs is accepted. For Q = 5 only the
report's run exists, and a factor of two is accepted.

Equations (1) and (2) are theory: a packet in transmission, and the ping's own, add to the queue.

Ours is the median over seeds. Means and deviations are of super-segments of 2, as Mininet queues them; equation (2) is of
ordinary packets.

The report's printed values are counted: six fetch times and equation (1). The round trips that we compute from its equation
(2) are ours, shown and not counted. Fetches appear twice: with losses found as in linux-6 (RACK-TLP), which is counted, and by
duplicate ACKs alone, which was chosen because it brings these very cells closer, and so is not.

The report gives orders without numbers; a claim holds only by a margin (`MARGIN`, `MOSTLY`), so that 8.91 beside 8.92
Mbit/s is not "lower". The margins are of 23 November 2026, set when the values of all these claims were known.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from bloatlab.studies.claims import Claim, Published, Quantity, Runs, each
from bloatlab.studies.csc458.build import DUPTHRESH, NIC, QUEUES, TODAY, Case, Lab
from bloatlab.studies.published import rows
from bloatlab.studies.scorecard import Band, Origin, Tolerance

MEAN, SD, LARGEST = "web fetch time mean", "web fetch time std dev", "largest RTT by equation (2)"
WAITS = "max wait at 100 Mb/s"

#: For values of which only the report's own run exists; and for the longest waits by equations (1), in s, and (2), in ms.
ALONE = Tolerance(factor=2.0)
WAIT, ROUND_TRIP = Tolerance(share=0.05, least=0.002, unit="s"), Tolerance(share=0.05, least=2.0, unit="ms")

#: The accepted values by queue and metric.
BANDS: Mapping[tuple[int, str], Band] = {
    (5, MEAN): ALONE.band(1.0151),
    (20, MEAN): Band(0.5, 0.85),
    (100, MEAN): Band(1.1, 2.2),
    (5, SD): ALONE.band(0.549),
    (20, SD): Band(0.07, 0.39),
    (100, SD): Band(0.43, 1.1),
}

#: The fetch times of the report, in s, by queue and metric.
PRINTED: Mapping[tuple[int, str], float] = {
    (int(row.case.removeprefix("Q=")), row.metric): float(row.value)
    for row in rows("csc458")
    if row.metric in (MEAN, SD)
}

_KEYS = {MEAN: "fetch_mean_s", SD: "fetch_sd_s"}
_KIT = {q: str(Case("reno", q, 2)) for q in QUEUES}
_PLAIN = {q: str(Case("reno", q)) for q in QUEUES}


def _fetch(q: int, metric: str, detection: str, why: str) -> Published:
    value, name = PRINTED[q, metric], f"Q={q} {detection}".strip()
    run = str(Case("reno", q, 2, detection=detection))
    return Published(
        name, metric, "s", value, f"{value:.3f}", run, _KEYS[metric], BANDS[q, metric], tables=(1,), calibration=why
    )


def _round_trip(q: int) -> Published:
    ms = Lab().eq2_ms(q)
    return Published(f"Q={q}", LARGEST, "ms", ms, f"{ms:g}", _PLAIN[q], "rtt_max_ms", ROUND_TRIP.band(ms), Origin.OURS)


_WAIT = next(row.value for row in rows("csc458") if row.metric == WAITS)
_CHOSEN = "duplicate ACKs were chosen on these cells"

#: The report's results and theory that are numbers.
PUBLISHED: Sequence[Published] = [
    *(_fetch(*of, detection, why) for of in PRINTED for detection, why in (("", ""), (DUPTHRESH, _CHOSEN))),
    Published("NIC", WAITS, "s", float(_WAIT), _WAIT, NIC, "wait_max_s", WAIT.band(float(_WAIT))),
    *map(_round_trip, QUEUES),
]

#: Every tolerance in words, for a reader.
RULES: Sequence[tuple[str, str]] = [
    ("fetch times, Q = 5", ALONE.words()),
    *(
        (f"{metric}, Q = {q}", f"{band.words()} s, the range of other runs of the kit")
        for (q, metric), band in BANDS.items()
        if q != 5
    ),
    ("equation (1)", WAIT.words()),
    ("equation (2)", ROUND_TRIP.words()),
]


def in_second_reading(runs: Runs) -> Runs:
    """The runs, with those of the kit replaced by those that find losses by duplicate ACKs."""
    return {**runs, **{key.removesuffix(f" {DUPTHRESH}"): seeds for key, seeds in runs.items() if DUPTHRESH in key}}


# -------------------------------------------------------------------------------------------------------------- claims

#: The margin of an order: the smaller value is smaller by at least this share of the larger one.
MARGIN = 0.05

#: "Mostly", or "most of the time", is at least this share, and its opposite at most the rest.
MOSTLY = 0.6


def _below(*values: float) -> bool:
    """Returns true if each value is below the next one by the margin."""
    return all(a <= (1.0 - MARGIN) * b for a, b in itertools.pairwise(values))


def _mostly(share: float) -> bool:
    return share >= MOSTLY


def _rtt(
    ident: str, key: str, published: str, says: str, low: float, high: float, measure: str = "rtt_max_ms"
) -> Quantity:
    """A largest round trip that we compute from equation (2), or another statistic of other students' runs of the kit."""
    where, origin = ("equation (2)", Origin.OURS) if measure == "rtt_max_ms" else ("other runs", Origin.OTHERS)
    return Quantity(ident, where, says, published, key, measure, Band(low, high), "ms", 0, origin=origin)


#: The report's sentences and pictures, other runs of the kit, and what follows from both.
CLAIMS: tuple[Quantity | Claim, ...] = (
    Claim("order", "Table 1 L65", "fetches are slowest at Q = 100 and fastest at Q = 20", "1.02, 0.84, 2.17 s",
          each(_KIT.values(), "fetch_mean_s"), lambda q5, q20, q100: _below(q20, q5, q100),
          "{:.2f}, {:.2f}, {:.2f} s at Q = 5, 20, 100"),
    Claim("ratio", "other runs", "mean fetch of Q = 100 over that of Q = 20", "2.0 to 2.6",
          each([_KIT[20], _KIT[100]], "fetch_mean_s"), lambda q20, q100: 2.0 <= q100 / q20 <= 2.6,
          lambda q20, q100: f"{q100 / q20:.2f}", Origin.OTHERS),
    _rtt("rtt20x2", _KIT[20], "52 ms", "largest RTT with super-segments of two, Q = 20", 49.0, 55.5),
    _rtt("rtt100x2", _KIT[100], "246 ms", "largest RTT with super-segments of two, Q = 100", 233.0, 259.0),
    _rtt("rtt20", _PLAIN[20], "28 ms", "largest RTT with ordinary packets, Q = 20", 26.0, 30.0),
    _rtt("rtt100", _PLAIN[100], "124 ms", "largest RTT with ordinary packets, Q = 100", 117.0, 131.0),
    _rtt("median20", _KIT[20], "35 to 38 ms", "median RTT, Q = 20", 35.0, 38.0, "rtt_median_ms"),
    _rtt("median100", _KIT[100], "149 to 179 ms", "median RTT, Q = 100", 149.0, 179.0, "rtt_median_ms"),
    _rtt("p95_20", _KIT[20], "47 to 50 ms", "95th percentile of it, Q = 20", 47.0, 50.0, "rtt_p95_ms"),
    _rtt("p95_100", _KIT[100], "217 to 229 ms", "95th percentile of it, Q = 100", 217.0, 229.0, "rtt_p95_ms"),
    # each ping beside the queue that it met; Q = 5 too, whose queue is empty half of the time
    Claim("follows", "Figs 8-10", "the RTT follows the queue, as in equation (2), at Q = 5, 20, 100", "qualitative",
          each(_KIT.values(), "eq2_correlation", "eq2_off_median_ms"),
          lambda *v: min(v[:3]) >= 0.95 and max(v[3:]) <= Lab().packet_ms(),
          "r = {:.3f}, {:.3f}, {:.3f}; off by {:.1f}, {:.1f}, {:.1f} ms (median)"),
    Claim("swings", "Fig 1", "the queue of 5 swings between empty and full", "qualitative",
          each([_KIT[5]], "empty_share", "full_share"), lambda empty, full: empty >= 0.05 and full >= 0.05,
          "empty {:.0%}, full {:.0%} of the time"),
    Claim("cuts", "Figs 2, 4, 6", "the window is cut often at Q = 5, regularly at 20, seldom at 100", "qualitative",
          each(_KIT.values(), "cuts"), lambda q5, q20, q100: _below(q100, q20, q5), "{:.0f}, {:.0f}, {:.0f} cuts a run"),
    Claim("pinned", "Fig 3", "the queue of 20 is not full most of the time", "qualitative",
          each([_KIT[20]], "full_share"), lambda full: full <= 1.0 - MOSTLY, "full {:.0%} of the time"),
    Claim("climb", "Fig 5", "the queue of 100 oscillates, but mostly climbs", "qualitative",
          each([_KIT[100]], "queue_climb_share"), _mostly, "climbs {:.0%} of the time"),
    Claim("rising", "Fig 6", "the window of Q = 100 mostly grows", "qualitative",
          each([_KIT[100]], "cwnd_up_share"), _mostly, "{:.0%} of its moves are up"),
    Claim("loss", "Table 1 text", "Q = 5 hurts by loss", "qualitative",
          each([_KIT[5], _KIT[20]], "dropped_percent", "retransmits"), lambda q5, q20, *_: _below(q20, q5),
          "{0:.1f} % lost, {2:.0f} retransmissions of the flow; at Q = 20 {1:.1f} %, {3:.0f}"),
    Claim("throughput", "Table 1 text", "Q = 5 gives the long flow a lower throughput than Q = 20", "qualitative",
          each([_KIT[5], _KIT[20]], "throughput_mbit"), _below, "{:.2f} Mbit/s beside {:.2f}"),
    Claim("bbr", "Remedies", "BBR's queue is a fraction of Reno's at Q = 100", "qualitative",
          each([_KIT[100], Case("bbr", 100, 2)], "queue_mean_packets"), lambda reno, bbr: bbr <= 0.5 * reno,
          lambda reno, bbr: f"{bbr:.1f} packets beside {reno:.1f}: {bbr / reno:.0%}"),
    Claim("today", "ours", "CoDel, fq_codel and PIE halve the median RTT of Q = 100", "not in the report",
          each([_PLAIN[100], *(Case("reno", queue=q) for q in TODAY)], "rtt_median_ms"),
          lambda full, *others: max(others) <= 0.5 * full, "{1:.0f}, {2:.0f}, {3:.0f} ms beside {0:.0f}", Origin.OURS),
)  # fmt: skip
