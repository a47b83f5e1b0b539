"""What the report says in words and pictures, what other runs of the kit show, and what follows from both.

The report gives orders without numbers; ours bears one out only by a margin (`MARGIN`, `MOSTLY`), so that 8.91 beside 8.92
Mbit/s is not "lower". The margins are of 23 November 2026, set when the values of all these claims were known.
"""

from __future__ import annotations

import itertools

from bloatlab.studies.claims import Claim, Quantity, each
from bloatlab.studies.csc458.build import QUEUES, TODAY, Case, Lab
from bloatlab.studies.scorecard import Band, Origin

_KIT = {q: Case("reno", q, 2).key for q in QUEUES}
_PLAIN = {q: Case("reno", q).key for q in QUEUES}

#: An order needs a margin: the smaller value is smaller by at least this share of the larger one.
MARGIN = 0.05

#: "Mostly", or "most of the time", is at least this share, and its opposite at most the rest.
MOSTLY = 0.6


def _below(*values: float) -> bool:
    """Whether each value is below the next one by the margin."""
    return all(a <= (1.0 - MARGIN) * b for a, b in itertools.pairwise(values))


def _mostly(share: float) -> bool:
    return share >= MOSTLY


def _computed(ident: str, key: str, published: str, says: str, band: Band) -> Quantity:
    """A largest round trip that we compute from the report's equation (2)."""
    return Quantity(ident, "equation (2)", says, published, key, "rtt_max_ms", band, "ms", 0, origin=Origin.OURS)


def _elsewhere(ident: str, key: str, published: str, says: str, band: Band, measure: str) -> Quantity:
    """What other students' runs of the same kit show."""
    return Quantity(ident, "other runs", says, published, key, measure, band, "ms", 0, origin=Origin.OTHERS)


_SAYS_2 = "largest RTT, a packet being a super-segment of two"
_SAYS_1 = "largest RTT, a packet being a packet"

CLAIMS: tuple[Quantity | Claim, ...] = (
    Claim("order", "Table 1 L65", "fetches are slowest at Q = 100 and fastest at Q = 20", "1.02, 0.84, 2.17 s",
          each(_KIT.values(), "fetch_mean_s"), lambda q5, q20, q100: _below(q20, q5, q100),
          "{:.2f}, {:.2f}, {:.2f} s at Q = 5, 20, 100"),
    Claim("ratio", "other runs", "mean fetch of Q = 100 over that of Q = 20", "2.0 to 2.6",
          each([_KIT[20], _KIT[100]], "fetch_mean_s"), lambda q20, q100: 2.0 <= q100 / q20 <= 2.6,
          lambda q20, q100: f"{q100 / q20:.2f}", Origin.OTHERS),
    _computed("rtt20x2", _KIT[20], "52 ms", f"{_SAYS_2}, Q = 20", Band(49.0, 55.5)),
    _computed("rtt100x2", _KIT[100], "246 ms", f"{_SAYS_2}, Q = 100", Band(233.0, 259.0)),
    _computed("rtt20", _PLAIN[20], "28 ms", f"{_SAYS_1}, Q = 20", Band(26.0, 30.0)),
    _computed("rtt100", _PLAIN[100], "124 ms", f"{_SAYS_1}, Q = 100", Band(117.0, 131.0)),
    _elsewhere("median20", _KIT[20], "35 to 38 ms", "median RTT, Q = 20", Band(35.0, 38.0), "rtt_median_ms"),
    _elsewhere("median100", _KIT[100], "149 to 179 ms", "median RTT, Q = 100", Band(149.0, 179.0), "rtt_median_ms"),
    _elsewhere("p95_20", _KIT[20], "47 to 50 ms", "95th percentile of it, Q = 20", Band(47.0, 50.0), "rtt_p95_ms"),
    _elsewhere("p95_100", _KIT[100], "217 to 229 ms", "95th percentile of it, Q = 100", Band(217.0, 229.0), "rtt_p95_ms"),
    # each ping beside the queue that it met; Q = 5 too, whose queue is empty half of the time
    Claim("follows", "Figs 8-10", "the RTT follows the queue, as equation (2) says, at Q = 5, 20, 100", "qualitative",
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
