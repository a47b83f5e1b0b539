"""Controllers for the tests of `bloatlab judge`.

`Sound` (AIMD) and `SmallBbr` keep the rules. The others are derived from these two, and break a rule on purpose.
"""

from typing import ClassVar

from bloatlab.controllers import Drive


class Sound:
    """AIMD as in RFC 5681, but with CUBIC's decrease factor."""

    increase = 1.0
    kept = 0.7

    def on_ack(self, sample):
        """Doubles the window every round trip in slow start; then adds `increase` segments per round trip."""
        if sample.rests or not sample.cwnd_limited:
            return None
        slow_start = sample.cwnd < sample.ssthresh
        return sample.cwnd + sample.acked * (1 if slow_start else self.increase / sample.cwnd)

    def on_congestion(self, moment, kind, base):
        """Returns the slow-start threshold after congestion."""
        return max(self.kept * base, 2)


class NoBackoff(Sound):
    """Keeps its window after a loss or an ECN mark."""

    kept = 1.0


class DeafToMarks(Sound):
    """Responds to losses, but not to ECN marks."""

    def on_congestion(self, moment, kind, base):
        """Returns the slow-start threshold after congestion."""
        return base if kind == "ecn" else super().on_congestion(moment, kind, base)


class Starving(Sound):
    """Adds 20 segments to the window per round trip, and keeps 95 % of the window after a loss or an ECN mark."""

    increase = 20.0
    kept = 0.95


class SmallBbr:
    """BBR version 3 with only its phases and bounds: ignores aggregation and idle times, never undoes a reduction."""

    needs = ("rates",)
    #: Gain of the pacing rate and of the window in each phase.
    gains: ClassVar = {
        "startup": (2.77, 2.0),
        "drain": (0.5, 2.0),
        "probe_bw_down": (0.9, 2.0),
        "probe_bw_cruise": (1.0, 2.0),
        "probe_bw_refill": (1.0, 2.0),
        "probe_bw_up": (1.25, 2.25),
        "probe_rtt": (1.0, 0.5),
    }
    #: A round that loses more than the fraction `loss_threshold` of its bytes sets a bound. In startup and probe_bw_up,
    #: this is the bound on bytes in flight: `beta` times the bytes in flight, but at least the bandwidth-delay product.
    #: In other phases, it is the bound on the rate: `beta` times the estimated bandwidth, but at least `latest_bw`.
    beta, loss_threshold = 0.7, 0.02

    def __init__(self):
        self.phase, self.since_ns, self.rounds, self.first_round = "startup", 0, 0, 0
        self.max_bw = [0.0, 0.0]  # in the last cycle and in the present cycle, bit/s
        self.latest_bw = 0.0  # the round's largest sample, but at least half the value of the round before, bit/s
        self.min_rtt_us, self.min_rtt_ns = 0, 0  # smallest round trip (0: unknown); its time, or the end of probe_rtt
        self.full_bw, self.flat_rounds, self.full_bw_reached = 0.0, 0, False
        self.delivered = self.lost = 0  # in the present round, bytes
        self.bw_shortterm = self.inflight_longterm = float("inf")  # the bounds, in bit/s and in bytes

    def begin(self, start):
        """Starts a connection."""
        self.mss = start.mss

    @property
    def bw(self):
        """The estimated bandwidth in bit/s."""
        return min(max(self.max_bw), self.bw_shortterm)

    @property
    def bdp(self):
        """The bandwidth-delay product in bytes."""
        return self.bw * self.min_rtt_us / 8e6

    def enter(self, phase, now_ns):
        """Begins a phase."""
        if self.phase == "probe_bw_up":
            self.max_bw = [self.max_bw[1], 0.0]
        self.phase, self.since_ns, self.first_round = phase, now_ns, self.rounds
        self.full_bw, self.flat_rounds = 0.0, 0
        if phase in ("probe_bw_refill", "startup"):
            self.bw_shortterm = float("inf")

    def on_ack(self, sample):
        """Updates the model and the phase, and sets window and pacing rate."""
        rate, now_ns = sample.rate, sample.now_ns
        if sample.rtt_us is not None and (not self.min_rtt_us or sample.rtt_us < self.min_rtt_us):
            self.min_rtt_us, self.min_rtt_ns = sample.rtt_us, now_ns
        if rate is not None and rate.interval_ns:
            bw = rate.bytes * 8e9 / rate.interval_ns
            self.latest_bw = max(self.latest_bw, bw)
            if bw > max(self.max_bw) or not rate.app_limited:
                self.max_bw[1] = max(self.max_bw[1], bw)
        if not self.min_rtt_us or not self.latest_bw:
            return None
        self.delivered += sample.delivered
        self.lost += sample.lost
        high_loss = sample.round_ended and self.end_round(sample, rate is not None and rate.app_limited)
        self.update_phase(sample.in_flight, now_ns, full=high_loss or self.flat_rounds >= 3)
        pacing_gain, cwnd_gain = self.gains[self.phase]
        window = max(min(cwnd_gain * self.bdp, self.inflight_longterm), 4 * self.mss)
        return Drive(window / self.mss, pacing_rate=pacing_gain * 0.99 * self.bw, reduction=False)

    def end_round(self, sample, app_limited):
        """Ends a round: updates the bounds and the search for the full bandwidth. Returns true if the loss was high."""
        high_loss = self.lost > self.loss_threshold * (self.delivered + self.lost)
        probing = self.phase in ("startup", "probe_bw_up")
        if high_loss and probing:
            self.inflight_longterm = max(self.beta * sample.flight_before, self.bdp)
        elif high_loss:
            self.bw_shortterm = max(self.latest_bw, self.beta * self.bw)
        elif self.phase == "probe_bw_up":
            self.inflight_longterm *= 1.25
        if max(self.max_bw) >= 1.25 * self.full_bw:
            self.full_bw, self.flat_rounds = max(self.max_bw), 0
        elif not app_limited:
            self.flat_rounds += 1
        self.rounds += 1
        self.delivered, self.lost, self.latest_bw = 0, 0, self.latest_bw / 2
        return high_loss

    def update_phase(self, in_flight, now_ns, full):
        """Begins the next phase if it is due."""
        passed_ns, rounds = now_ns - self.since_ns, self.rounds - self.first_round
        if self.phase != "probe_rtt" and now_ns - self.min_rtt_ns > 5_000_000_000:
            self.enter("probe_rtt", now_ns)
        elif self.phase == "probe_rtt" and passed_ns > 200_000_000 and rounds >= 1:
            self.min_rtt_ns = now_ns
            self.enter("probe_bw_down" if self.full_bw_reached else "startup", now_ns)
        elif self.phase == "startup" and full:
            self.full_bw_reached = True
            self.enter("drain", now_ns)
        elif self.phase == "drain" and (in_flight <= self.bdp or rounds >= 3):
            self.enter("probe_bw_down", now_ns)
        elif self.phase in ("probe_bw_down", "probe_bw_cruise") and passed_ns > 2_500_000_000:
            self.enter("probe_bw_refill", now_ns)
        elif self.phase == "probe_bw_down" and in_flight <= min(self.bdp, 0.85 * self.inflight_longterm):
            self.enter("probe_bw_cruise", now_ns)
            self.since_ns = now_ns - passed_ns  # the wait until the next probe counts from the start of probe_bw_down
        elif self.phase == "probe_bw_refill" and rounds >= 1:
            self.enter("probe_bw_up", now_ns)
        elif self.phase == "probe_bw_up" and full:
            self.enter("probe_bw_down", now_ns)

    def on_congestion(self, moment, kind, base):
        """Leaves the slow-start threshold as it is."""
        return moment.ssthresh

    def probe(self):
        """Reports the state, mostly under the names of the BBR draft."""
        pacing_gain, cwnd_gain = self.gains[self.phase]
        return {
            "phase": self.phase,
            "max_bw_mbit": max(self.max_bw) / 1e6 or None,
            "min_rtt_ms": self.min_rtt_us / 1000 or None,
            "pacing_gain": pacing_gain,
            "cwnd_gain": cwnd_gain,
            "rounds": self.rounds,
            "full_bw_reached": self.full_bw_reached,
        }


class StarvingBbr(SmallBbr):
    """Fills the queue and keeps it full: no phase has a pacing gain below 1, and losses lower no bound."""

    gains: ClassVar = SmallBbr.gains | {"drain": (1.25, 4.0), "probe_bw_down": (1.25, 4.0), "probe_rtt": (1.25, 4.0)}
    loss_threshold = 1.0
