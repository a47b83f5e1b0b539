"""Controllers that break a rule on purpose, for the tests of `bloatlab judge`. Each is AIMD with one defect."""


class Sound:
    """AIMD as in RFC 5681, with CUBIC's factor after a loss."""

    increase = 1.0
    kept = 0.7

    def on_ack(self, sample):
        """Doubles the window per round trip in slow start, and adds `increase` segments per round trip later."""
        if sample.rests or not sample.cwnd_limited:
            return None
        slow_start = sample.cwnd < sample.ssthresh
        return sample.cwnd + sample.acked * (1 if slow_start else self.increase / sample.cwnd)

    def on_congestion(self, moment, kind, base):
        """Returns the window after congestion."""
        return max(self.kept * base, 2)


class NoBackoff(Sound):
    """Keeps its window after a loss."""

    kept = 1.0


class DeafToMarks(Sound):
    """Keeps its window after an ECN mark, and responds to losses."""

    def on_congestion(self, moment, kind, base):
        """Returns the window after congestion."""
        return base if kind == "ecn" else super().on_congestion(moment, kind, base)


class Starving(Sound):
    """Grows by 20 segments per round trip and keeps 95 % after a loss."""

    increase = 20.0
    kept = 0.95
