"""Figure 10's curves by the program's own law: heads shown to it one by one, and how many of them it drops.

10a, 10b   0 below MINth, a ramp to Pa at MAXth, 1 above
10c        0 below MINth, a step to Pmin, a ramp to Pmax at MAXth, Pmax above

The figure has no numbers: thresholds are those of Figure 11, 200 and 400 ms (in 10a what 5 Mbit/s send in them), Pa is 40 % so
that it can be seen, Pmin and Pmax are the published 1 and 5 %.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bloatlab import parts
from bloatlab.plots import Panel, Series
from bloatlab.report import Drawn
from bloatlab.studies.scte2013.queues import buffer_bytes

PACKET = 1500
TMAX_MBIT = 5.0
MIN_MS, MAX_MS = 200, 400
PA, P_MIN, P_MAX = 0.4, 0.01, 0.05

#: Where the curves are looked at, in ms (or the depth that drains in them), and how many heads are shown at each (10a: whole queues).
AT_MS = (0, 50, 100, 150, 195, 205, 250, 300, 350, 395, 405, 450, 500, 600)
HEADS = 8000
DEEP_HEADS = 500


@dataclass(frozen=True, slots=True)
class Curve:
    """One of Figure 10's: its parameters, and what the figure says of it at a time or depth."""

    name: str
    params: Mapping[str, Any]
    probability: tuple[float, float, float]  # at MINth, at MAXth, above

    def says(self, ms: float) -> float:
        """The figure's probability."""
        low, high, above = self.probability
        if ms < MIN_MS:
            return 0.0
        return above if ms > MAX_MS else low + (high - low) * (ms - MIN_MS) / (MAX_MS - MIN_MS)


def _th(unit: str) -> dict[str, str]:
    if unit == "ms":
        return {"min_th": f"{MIN_MS}ms", "max_th": f"{MAX_MS}ms"}
    return {name: f"{buffer_bytes(ms, TMAX_MBIT)}B" for name, ms in (("min_th", MIN_MS), ("max_th", MAX_MS))}


CURVES = (
    Curve("10a", {"curve": "10a", "p_max": PA, **_th("bytes")}, (0.0, PA, 1.0)),
    Curve("10b", {"curve": "10b", "p_max": PA, **_th("ms")}, (0.0, PA, 1.0)),
    Curve("10c", {"curve": "10c", "p_min": P_MIN, "p_max": P_MAX, **_th("ms")}, (P_MIN, P_MAX, P_MAX)),
)


def depth_ms(packets: int) -> float:
    """How long Tmax takes for so many packets."""
    return packets * PACKET * 8e-3 / TMAX_MBIT


@functools.cache
def dropped(name: str) -> tuple[tuple[float, float], ...]:
    """(ms, share of heads dropped) of a curve, by feeding the discipline."""
    curve = next(c for c in CURVES if c.name == name)
    feed = _by_depth if name == "10a" else _by_time
    return tuple(feed(curve, ms, seed) for seed, ms in enumerate(AT_MS, start=1))


def _by_time(curve: Curve, ms: float, seed: int) -> tuple[float, float]:
    """One packet at a time waits `ms` and is asked for."""
    queue = parts.discipline("lred", seed=seed, limit="10p", **curve.params)
    now, lost = 0, 0
    for _ in range(HEADS):
        queue.enqueue(now, PACKET)
        now += round(ms * 1e6)
        packet, _ = queue.dequeue(now)
        lost += packet is None
    return float(ms), lost / HEADS


def _by_depth(curve: Curve, ms: float, seed: int) -> tuple[float, float]:
    """The head of a queue of a fixed depth is asked for; what left is replaced."""
    packets = max(1, round(ms * TMAX_MBIT * 1e3 / 8 / PACKET))
    queue = parts.discipline("lred", seed=seed, limit="10000p", **curve.params)
    lost = 0
    for _ in range(DEEP_HEADS):
        while queue.packets < packets:
            queue.enqueue(0, PACKET)
        _, fates = queue.dequeue(0)
        lost += bool(fates)  # the first one looked at was dropped
    return depth_ms(packets), lost / (DEEP_HEADS)


def check() -> tuple[str, bool]:
    """Every curve against the figure, within four standard errors (and certain where the figure is)."""
    worst = 0.0
    for curve in CURVES:
        heads = DEEP_HEADS if curve.name == "10a" else HEADS
        for ms, share in dropped(curve.name):
            p = curve.says(ms)
            if p in (0.0, 1.0) and share != p:
                return f"{curve.name} drops {share:.1%} at {ms:g} ms, where the figure has {p:.0%}", False
            worst = max(worst, abs(share - p) / math.sqrt(p * (1 - p) / heads) if 0 < p < 1 else 0.0)
    return f"{len(CURVES) * len(AT_MS)} points, the farthest {worst:.1f} standard errors off", worst <= 4.0


def draw() -> Drawn:
    """Figure 10: what the law drops (points) over what the figure says (lines)."""
    panels: list[Panel] = []
    grid = sorted({*range(0, 601, 5), MIN_MS - 1e-6, MAX_MS + 1e-6})
    for curve in CURVES:
        x = [buffer_bytes(ms, TMAX_MBIT) / 1000 if curve.name == "10a" else ms for ms in grid]
        seen = [
            (buffer_bytes(ms, TMAX_MBIT) / 1000 if curve.name == "10a" else ms, 100 * p)
            for ms, p in dropped(curve.name)
        ]
        lines = [
            Series("Figure 10", x, [100 * curve.says(ms) for ms in grid]),
            Series("dropped", [a for a, _ in seen], [b for _, b in seen], "points"),
        ]
        label = "queue depth (kB)" if curve.name == "10a" else "sojourn time (ms)"
        top = 105.0 if curve.name != "10c" else 8.0
        panels.append(
            Panel(
                f"{curve.name[-1]}) {_TITLES[curve.name]}",
                label,
                "drop probability (%)",
                lines,
                (0.0, x[-1]),
                (0.0, top),
            )
        )
    caption = (
        "Drop probability curves of RED and LRED (thresholds of Figure 11, Pa 40 %): what the figure says, and what the law drops of "
        f"{HEADS} heads ({DEEP_HEADS} in a)."
    )
    return Drawn("10", "fig10_curves", caption, panels, 3)


_TITLES = {"10a": "by queue depth", "10b": "by sojourn time", "10c": "modified (LRED)"}
