"""Westwood+ by Grieco & Mascolo 2004, with the arithmetic of the core's `westwood`, so both send the same packets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bloatlab.controllers import Moment, Sample, Start

#: Weight of the old bandwidth estimate in the filter.
KEPT = 7 / 8
#: A window this close to a whole number is rounded to that number.
ROUNDING = 1e-9


class Westwood:
    """Reno that, instead of halving the window, reduces it to the measured bandwidth times the minimum RTT."""

    def __init__(self) -> None:
        self.mss = 0
        self.whole_segments = False
        self.bwe = 0.0  # bytes per second; 0 before the first sample
        self.rtt_min_us = math.inf
        self.since_ns: int | None = None  # start of the current sample
        self.una = 0

    def begin(self, start: Start) -> None:
        """Starts a connection."""
        self.mss, self.whole_segments = start.mss, start.whole_segments

    def on_ack(self, sample: Sample) -> float | None:
        """Measures the bandwidth, and grows the window as Reno does."""
        if sample.rests:
            return None
        self.measure(sample)
        if not sample.cwnd_limited:
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

    def measure(self, sample: Sample) -> None:
        """Takes a sample of the bandwidth once per round trip."""
        now_ns, rtt_us = sample.now_ns, sample.rtt_us
        if rtt_us is not None and rtt_us < self.rtt_min_us:
            self.rtt_min_us = rtt_us
        if self.since_ns is None:
            self.since_ns, self.una = now_ns, sample.una
            return
        time_ns = now_ns - self.since_ns
        if time_ns == 0 or time_ns < sample.srtt_ns:
            return
        una = sample.una
        rate = (una - self.una) / (time_ns * 1e-9)
        self.bwe = rate if self.bwe == 0 else KEPT * self.bwe + (1 - KEPT) * rate
        self.since_ns, self.una = now_ns, una

    def on_congestion(self, moment: Moment, kind: str, base: float) -> float:
        """Returns the number of segments that fit into the path when its queue is empty.

        Before the first bandwidth sample, returns half of `base`.
        """
        fits = self.bwe * self.rtt_min_us * 1e-6 / self.mss if self.bwe else 0.5 * base
        return max(fits, 2)

    def on_idle(self, moment: Moment, idle_ns: int, app_limited: bool) -> None:
        """Begins a new sample, because an idle period does not mean that the path is slow."""
        self.since_ns = None

    def probe(self) -> dict[str, float | None]:
        """Reports the estimates."""
        known = self.rtt_min_us < math.inf
        return {"bwe_mbit": 8e-6 * self.bwe or None, "rtt_min_ms": self.rtt_min_us / 1000 if known else None}
