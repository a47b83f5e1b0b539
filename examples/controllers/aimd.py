"""The shortest controller: additive increase, multiplicative decrease."""


class Aimd:
    """After slow start, adds `increase` segments per round trip; congestion leaves the share `kept` of the window."""

    def __init__(self, increase=1.0, kept=0.5):
        self.increase, self.kept = increase, kept

    def on_ack(self, sample):
        if sample.rests or not sample.cwnd_limited:
            return None
        slow_start = sample.cwnd < sample.ssthresh
        return sample.cwnd + sample.acked * (1 if slow_start else self.increase / sample.cwnd)

    def on_congestion(self, moment, kind, base):
        return max(self.kept * base, 2)
