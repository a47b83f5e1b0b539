"""What the report says in words and pictures, what other runs of the kit show, and what follows from both.

The report gives orders without numbers; ours bears one out only by a margin (`MARGIN`, `MOSTLY`), so that 8.91 beside 8.92
Mbit/s is not "lower". The margins are of 23 November 2026, set when the values of all these claims were known.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from bloatlab.studies.claims import Order, Quantity, Runs, median_of
from bloatlab.studies.csc458.build import QUEUES, TODAY, Case, Lab
from bloatlab.studies.scorecard import Band, Origin

_KIT = {q: Case("reno", q, 2).key for q in QUEUES}
_PLAIN = {q: Case("reno", q).key for q in QUEUES}

Judged = tuple[str, bool] | None

#: An order needs a margin: the smaller value is smaller by at least this share of the larger one.
MARGIN = 0.05

#: "Mostly", or "most of the time", is at least this share, and its opposite at most the rest.
MOSTLY = 0.6


def _below(*values: float) -> bool:
    """Whether each value is below the next one by the margin."""
    return all(a <= (1.0 - MARGIN) * b for a, b in itertools.pairwise(values))


def _mostly(words: str) -> Callable[[list[float]], tuple[str, bool]]:
    """Says a share in `words`, which has a place for it, and whether it is most."""
    return lambda v: (words.format(f"{v[0]:.0%}"), v[0] >= MOSTLY)


def _medians(runs: Runs, keys: Sequence[str], measure: str) -> list[float] | None:
    values = [median_of(runs, key, measure) for key in keys]
    found = [v for v in values if v is not None]
    return found if len(found) == len(values) else None


def _judge(
    keys: Sequence[str], measure: str, say: Callable[[list[float]], tuple[str, bool]]
) -> Callable[[Runs], Judged]:
    def judge(runs: Runs) -> Judged:
        values = _medians(runs, keys, measure)
        return None if values is None else say(values)

    return judge


def _fetch_order(v: list[float]) -> tuple[str, bool]:
    return f"{v[0]:.2f}, {v[1]:.2f}, {v[2]:.2f} s at Q = 5, 20, 100", _below(v[1], v[0], v[2])


def _ratio(v: list[float]) -> tuple[str, bool]:
    return f"{v[1] / v[0]:.2f}", 2.0 <= v[1] / v[0] <= 2.6


def _swings(runs: Runs) -> Judged:
    empty, full = (_medians(runs, [_KIT[5]], m) for m in ("empty_share", "full_share"))
    if empty is None or full is None:
        return None
    return f"empty {empty[0]:.0%}, full {full[0]:.0%} of the time", empty[0] >= 0.05 and full[0] >= 0.05


def _falling(v: list[float]) -> tuple[str, bool]:
    return f"{v[0]:.0f}, {v[1]:.0f}, {v[2]:.0f} cuts a run", _below(v[2], v[1], v[0])


def _fraction(v: list[float]) -> tuple[str, bool]:
    return f"{v[1]:.1f} packets beside {v[0]:.1f}: {v[1] / v[0]:.0%}", v[1] <= 0.5 * v[0]


def _lower(v: list[float]) -> tuple[str, bool]:
    return f"{v[0]:.2f} Mbit/s beside {v[1]:.2f}", _below(v[0], v[1])


def _all_below(v: list[float]) -> tuple[str, bool]:
    return ", ".join(f"{x:.0f}" for x in v[1:]) + f" ms beside {v[0]:.0f}", all(x <= 0.5 * v[0] for x in v[1:])


def _follows(runs: Runs) -> Judged:
    """Each ping beside the queue that it met; Q = 5 too, whose queue is empty half of the time."""
    of, off = (_medians(runs, list(_KIT.values()), m) for m in ("eq2_correlation", "eq2_off_median_ms"))
    if of is None or off is None:
        return None
    words = (
        "r = " + ", ".join(f"{x:.3f}" for x in of) + "; off by " + ", ".join(f"{x:.1f}" for x in off) + " ms (median)"
    )
    return words, min(of) >= 0.95 and max(off) <= Lab().packet_ms()


def _lost(runs: Runs) -> Judged:
    lost, again = (_medians(runs, [_KIT[5], _KIT[20]], m) for m in ("dropped_percent", "retransmits"))
    if lost is None or again is None:
        return None
    words = (
        f"{lost[0]:.1f} % lost, {again[0]:.0f} retransmissions of the flow; at Q = 20 {lost[1]:.1f} %, {again[1]:.0f}"
    )
    return words, _below(lost[1], lost[0])


def _computed(ident: str, key: str, published: str, says: str, band: Band) -> Quantity:
    """A largest round trip that we compute from the report's equation (2)."""
    return Quantity(ident, "equation (2)", says, published, key, "rtt_max_ms", band, "ms", 0, origin=Origin.OURS)


def _elsewhere(ident: str, key: str, published: str, says: str, band: Band, measure: str) -> Quantity:
    """What other students' runs of the same kit show."""
    return Quantity(ident, "other runs", says, published, key, measure, band, "ms", 0, origin=Origin.OTHERS)


_SAYS_2 = "largest RTT, a packet being a super-segment of two"
_SAYS_1 = "largest RTT, a packet being a packet"

CLAIMS: tuple[Quantity | Order, ...] = (
    Order("order", "Table 1 L65", "fetches are slowest at Q = 100 and fastest at Q = 20", "1.02, 0.84, 2.17 s",
          _judge(list(_KIT.values()), "fetch_mean_s", _fetch_order)),
    Order("ratio", "other runs", "mean fetch of Q = 100 over that of Q = 20", "2.0 to 2.6",
          _judge([_KIT[20], _KIT[100]], "fetch_mean_s", _ratio), Origin.OTHERS),
    _computed("rtt20x2", _KIT[20], "52 ms", f"{_SAYS_2}, Q = 20", Band(49.0, 55.5)),
    _computed("rtt100x2", _KIT[100], "246 ms", f"{_SAYS_2}, Q = 100", Band(233.0, 259.0)),
    _computed("rtt20", _PLAIN[20], "28 ms", f"{_SAYS_1}, Q = 20", Band(26.0, 30.0)),
    _computed("rtt100", _PLAIN[100], "124 ms", f"{_SAYS_1}, Q = 100", Band(117.0, 131.0)),
    _elsewhere("median20", _KIT[20], "35 to 38 ms", "median RTT, Q = 20", Band(35.0, 38.0), "rtt_median_ms"),
    _elsewhere("median100", _KIT[100], "149 to 179 ms", "median RTT, Q = 100", Band(149.0, 179.0), "rtt_median_ms"),
    _elsewhere("p95_20", _KIT[20], "47 to 50 ms", "95th percentile of it, Q = 20", Band(47.0, 50.0), "rtt_p95_ms"),
    _elsewhere("p95_100", _KIT[100], "217 to 229 ms", "95th percentile of it, Q = 100", Band(217.0, 229.0), "rtt_p95_ms"),
    Order("follows", "Figs 8-10", "the RTT follows the queue, as equation (2) says, at Q = 5, 20, 100", "qualitative",
          _follows),
    Order("swings", "Fig 1", "the queue of 5 swings between empty and full", "qualitative", _swings),
    Order("cuts", "Figs 2, 4, 6", "the window is cut often at Q = 5, regularly at 20, seldom at 100", "qualitative",
          _judge(list(_KIT.values()), "cuts", _falling)),
    Order("pinned", "Fig 3", "the queue of 20 is not full most of the time", "qualitative",
          _judge([_KIT[20]], "full_share", lambda v: (f"full {v[0]:.0%} of the time", v[0] <= 1.0 - MOSTLY))),
    Order("climb", "Fig 5", "the queue of 100 oscillates, but mostly climbs", "qualitative",
          _judge([_KIT[100]], "queue_climb_share", _mostly("climbs {} of the time"))),
    Order("rising", "Fig 6", "the window of Q = 100 mostly grows", "qualitative",
          _judge([_KIT[100]], "cwnd_up_share", _mostly("{} of its moves are up"))),
    Order("loss", "Table 1 text", "Q = 5 hurts by loss", "qualitative", _lost),
    Order("throughput", "Table 1 text", "Q = 5 gives the long flow a lower throughput than Q = 20", "qualitative",
          _judge([_KIT[5], _KIT[20]], "throughput_mbit", _lower)),
    Order("bbr", "Remedies", "BBR's queue is a fraction of Reno's at Q = 100", "qualitative",
          _judge([_KIT[100], Case("bbr", 100, 2).key], "queue_mean_packets", _fraction)),
    Order("today", "ours", "CoDel, fq_codel and PIE halve the median RTT of Q = 100", "not in the report",
          _judge([_PLAIN[100], *(Case("reno", queue=q).key for q in TODAY)], "rtt_median_ms", _all_below), Origin.OURS),
)  # fmt: skip
