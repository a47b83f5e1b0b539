"""A controller that keeps the delay of the queue low: it lowers the window as soon as round trips grow."""

from bloatlab.controllers import Drive


class Gentle:
    """Like Reno, but lowers the window to the share `kept` if the queue delays packets by more than `target_ms`."""

    def __init__(self, target_ms=10.0, kept=0.9):
        self.target_us, self.kept = 1000 * target_ms, kept
        self.least_us = self.last_us = float("inf")

    def on_ack(self, sample):
        if sample.rtt_us is not None:
            self.last_us = sample.rtt_us
            self.least_us = min(self.least_us, self.last_us)
        if sample.rests:
            return None
        if sample.round_ended and self.last_us > self.least_us + self.target_us:
            lower = max(self.kept * sample.cwnd, 2)
            return Drive(lower, lower)  # slow start would resume if ssthresh stayed above the window
        if not sample.cwnd_limited:
            return None
        slow_start = sample.cwnd < sample.ssthresh
        return sample.cwnd + sample.acked * (1 if slow_start else 1 / sample.cwnd)

    def on_congestion(self, moment, kind, base):
        return max(base / 2, 2)
