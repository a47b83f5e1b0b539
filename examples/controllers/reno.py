"""Reno by RFC 5681 §3.1, with the same arithmetic as the core's `reno`, so both send the same packets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bloatlab.controllers import Moment, Sample, Start

#: A window this close to a whole number is rounded to that number, so that adding a fifth of a segment five times gives
#: exactly one segment.
ROUNDING = 1e-9


class Reno:
    """Doubles the window every round trip in slow start, then adds a segment every round trip.

    A loss or an ECN mark reduces the window to `beta` of its size.
    """

    def __init__(self, beta: float = 0.5) -> None:
        self.beta = beta
        self.whole_segments = False

    def begin(self, start: Start) -> None:
        """Starts a connection."""
        self.whole_segments = start.whole_segments

    def on_ack(self, sample: Sample) -> float | None:
        """Grows the window, except on duplicate ACKs, while the sender reduces it, or if the sender did not fill it."""
        if sample.rests or not sample.cwnd_limited:
            return None
        cwnd, credit = sample.cwnd, sample.credit
        ssthresh = sample.ssthresh
        if cwnd < ssthresh:
            used = min(credit, ssthresh - cwnd)
            cwnd, credit = cwnd + used, credit - used
        if credit > 0:
            cwnd += credit / (math.floor(cwnd) if self.whole_segments else cwnd)
            whole = round(cwnd)
            if self.whole_segments and abs(cwnd - whole) < ROUNDING:
                cwnd = whole
        return cwnd

    def on_congestion(self, moment: Moment, kind: str, base: float) -> float:
        """Returns the new threshold, to which the sender reduces the window."""
        return max(base * self.beta, 2)
