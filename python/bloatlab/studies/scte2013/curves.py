"""Measures the drop probability curves of Figure 10: the share of packets that our code drops at the head of the queue.

10a, 10b   the probability is 0 below MINth, rises from 0 to Pa between MINth and MAXth, and is 1 above
10c        the probability is 0 below MINth, jumps to Pmin there, rises to Pmax at MAXth, and stays Pmax above

The figure has no numbers. The thresholds here are Figure 11's, 200 and 400 ms (in 10a, the bytes that a 5 Mbit/s link
carries in these times). Pa is 40 %, large enough to be seen. Pmin and Pmax are the published 1 and 5 %.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bloatlab import machines
from bloatlab.plots import Panel, Series
from bloatlab.report import Drawn
from bloatlab.studies.scte2013.build import buffer_bytes

PACKET = 1500
TMAX_MBIT = 5.0
MIN_MS, MAX_MS = 200, 400
PA, P_MIN, P_MAX = 0.4, 0.01, 0.05

#: `AT_MS` contains the waiting times in ms at which the curves are tested; 10a is tested at the queue depths that drain
#: in these times. `HEADS` is the number of packets dequeued at each point. For 10a this is `DEEP_HEADS`, which is
#: smaller because the queue is refilled after every packet.
AT_MS = (0, 50, 100, 150, 195, 205, 250, 300, 350, 395, 405, 450, 500, 600)
HEADS = 8000
DEEP_HEADS = 500


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve of Figure 10: LRED's parameters, the figure's probabilities, and the upper end of the y axis."""

    name: str
    title: str
    params: Mapping[str, Any]
    probability: tuple[float, float, float]  # the probabilities at MINth, at MAXth and above MAXth
    top_percent: float = 105.0

    @property
    def by_depth(self) -> bool:
        """Whether the curve's thresholds are queue depths in bytes, not times."""
        return self.name == "10a"

    @property
    def heads(self) -> int:
        """The number of packets dequeued at each point."""
        return DEEP_HEADS if self.by_depth else HEADS

    def says(self, ms: float) -> float:
        """Returns the figure's drop probability for a queue of `ms` milliseconds."""
        low, high, above = self.probability
        if ms < MIN_MS:
            return 0.0
        return above if ms > MAX_MS else low + (high - low) * (ms - MIN_MS) / (MAX_MS - MIN_MS)

    def x(self, ms: float) -> float:
        """Converts `ms` to the unit of the curve's x axis: kB in the queue for 10a, ms for the other curves."""
        return buffer_bytes(ms, TMAX_MBIT) / 1000 if self.by_depth else ms


_TIMES = {"min_th": f"{MIN_MS}ms", "max_th": f"{MAX_MS}ms"}
_DEPTHS = {"min_th": f"{buffer_bytes(MIN_MS, TMAX_MBIT)}B", "max_th": f"{buffer_bytes(MAX_MS, TMAX_MBIT)}B"}

CURVES = (
    Curve("10a", "by queue depth", {"p_max": PA, **_DEPTHS}, (0.0, PA, 1.0)),
    Curve("10b", "by sojourn time", {"p_max": PA, **_TIMES}, (0.0, PA, 1.0)),
    Curve("10c", "modified (LRED)", {"p_min": P_MIN, "p_max": P_MAX, **_TIMES}, (P_MIN, P_MAX, P_MAX), 8.0),
)


@functools.cache
def dropped(name: str) -> tuple[tuple[float, float], ...]:
    """Runs packets through a curve's discipline; returns each point as (ms, share of packets dropped)."""
    curve = next(c for c in CURVES if c.name == name)
    feed = _by_depth if curve.by_depth else _by_time
    return tuple(feed(curve, ms, seed) for seed, ms in enumerate(AT_MS, start=1))


def _by_time(curve: Curve, ms: float, seed: int) -> tuple[float, float]:
    """Passes packets singly through the queue, where each waits `ms`; returns (ms, share of packets dropped)."""
    queue = machines.discipline("lred", seed=seed, limit="10p", curve=curve.name, **curve.params)
    now, lost = 0, 0
    for _ in range(HEADS):
        queue.enqueue(now, PACKET)
        now += round(ms * 1e6)
        packet, _ = queue.dequeue(now)
        lost += packet is None
    return float(ms), lost / HEADS


def _by_depth(curve: Curve, ms: float, seed: int) -> tuple[float, float]:
    """Dequeues packets from a queue that is refilled to a fixed depth before every dequeue.

    Returns the time in ms in which a queue of this depth drains, and the share of dequeues that drop the head packet.
    """
    packets = max(1, round(ms * TMAX_MBIT * 1e3 / 8 / PACKET))
    queue = machines.discipline("lred", seed=seed, limit="10000p", curve=curve.name, **curve.params)
    lost = 0
    for _ in range(DEEP_HEADS):
        while queue.packets < packets:
            queue.enqueue(0, PACKET)
        _, fates = queue.dequeue(0)
        lost += bool(fates)  # the only possible fate is a drop of the head
    return packets * PACKET * 8e-3 / TMAX_MBIT, lost / DEEP_HEADS


def check() -> tuple[str, bool]:
    """Compares every measured curve with the figure; returns a sentence about the comparison, and whether they agree.

    A point agrees if it is within four standard errors of the figure's probability. Where this probability is 0 or 1,
    the measured share must equal it exactly.
    """
    worst = 0.0
    for curve in CURVES:
        for ms, share in dropped(curve.name):
            p = curve.says(ms)
            if p in (0.0, 1.0) and share != p:
                return f"{curve.name} drops {share:.1%} at {ms:g} ms; the figure has {p:.0%}", False
            worst = max(worst, abs(share - p) / math.sqrt(p * (1 - p) / curve.heads) if 0 < p < 1 else 0.0)
    return f"{len(CURVES) * len(AT_MS)} points, the farthest {worst:.1f} standard errors off", worst <= 4.0


def draw() -> Drawn:
    """Draws Figure 10: points for the share of packets dropped by our code, lines for the figure's probabilities."""
    caption = (
        "Drop probability curves of RED and LRED (thresholds of Figure 11, Pa 40 %): the figure's lines, and the share "
        f"that the law drops of {HEADS} packets ({DEEP_HEADS} in a) at the head of the queue."
    )
    return Drawn("10", "fig10_curves", caption, [_panel(curve) for curve in CURVES], 3)


def _panel(curve: Curve) -> Panel:
    grid = sorted({*range(0, 601, 5), MIN_MS - 1e-6, MAX_MS + 1e-6})
    x = [curve.x(ms) for ms in grid]
    seen = dropped(curve.name)
    lines = [
        Series("Figure 10", x, [100 * curve.says(ms) for ms in grid]),
        Series("dropped", [curve.x(ms) for ms, _ in seen], [100 * share for _, share in seen], "points"),
    ]
    label = "queue depth (kB)" if curve.by_depth else "sojourn time (ms)"
    title = f"{curve.name[-1]}) {curve.title}"
    return Panel(title, label, "drop probability (%)", lines, (0.0, x[-1]), (0.0, curve.top_percent))
