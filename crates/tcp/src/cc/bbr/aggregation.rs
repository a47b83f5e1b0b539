//! The window's allowance for ACKs that arrive in bursts: the data acknowledged in excess of BtlBw.
//!
//! ```text
//! an epoch begins with an ACK;  expected = floor(BtlBw * time since then);  extra = acked since then - expected
//! an epoch ends when an ACK arrives and the data acknowledged before this ACK is at most `expected`
//! allowance = max of extra over the last 5 to 10 rounds
//! ```
//!
//! Delayed ACKs of two segments each, at a rate slightly below BtlBw, have an excess of two segments. If such an ACK
//! arrives slightly early, `expected` is rounded down from almost two segments to one, and the excess is three.
//!
//! Source: draft-cardwell-iccrg-bbr-congestion-control-02 §4.5.5; the arithmetic follows Linux (since 5.1).

use crate::cc::control::AckSample;
use units::Time;

/// Number of rounds in one half of the filter.
const ROUNDS: u32 = 5;
/// Linux stores a bandwidth as segments per microsecond times this number, truncated.
const BW_UNIT: f64 = (1u64 << 24) as f64;
/// Limit on the number of segments acknowledged in an epoch. The ACK that would reach this limit begins a new epoch.
const LONGEST: f64 = (1u64 << 20) as f64;

/// The current epoch, and the largest excess of the last rounds. The excess is the data acknowledged since the epoch
/// began, minus the data that the bottleneck delivers in this time at the rate BtlBw.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Aggregation {
    epoch: Time,
    /// Segments acknowledged since the epoch began.
    acked: f64,
    /// Maximum excess in the current and the previous half of the filter, segments.
    extra: [f64; 2],
    /// Number of rounds in the current half.
    rounds: u32,
}

impl Aggregation {
    /// Starts an epoch in which nothing is acknowledged yet. Called for a new connection, when an ACK ends the previous
    /// epoch, and after an idle period.
    pub(super) fn restart(&mut self, now: Time) {
        self.epoch = now;
        self.acked = 0.0;
    }

    /// Returns the allowance in segments.
    pub(super) fn extra(&self) -> f64 {
        self.extra[0].max(self.extra[1])
    }

    /// Processes an ACK of `acked` segments. `bw` is the estimated bandwidth in segments per second, and `cwnd` the window in
    /// segments.
    pub(super) fn on_ack(&mut self, a: &AckSample, acked: f64, bw: f64, cwnd: f64, round_start: bool) {
        if a.rate.is_none_or(|d| d.compressed) {
            return;
        }
        if round_start {
            self.rounds += 1;
            if self.rounds >= ROUNDS {
                self.extra = [0.0, self.extra[0]];
                self.rounds = 0;
            }
        }
        let us = a.now.0 / 1000 - self.epoch.0 / 1000;
        let mut expected = (((bw * BW_UNIT * 1e-6) as u64).saturating_mul(us) / BW_UNIT as u64) as f64;
        if self.acked <= expected || self.acked + acked >= LONGEST {
            self.restart(a.now);
            expected = 0.0;
        }
        self.acked += acked;
        self.extra[0] = self.extra[0].max((self.acked - expected).clamp(0.0, cwnd));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::control::RateSample;
    use units::Duration;

    fn ack(us: u64) -> AckSample {
        let rate = RateSample {
            bytes: 20_000,
            interval: Duration::from_millis(20),
            prior_delivered: 0,
            app_limited: false,
            rtt_us: Some(20_000),
            compressed: false,
            tx_in_flight: 0,
            lost: 0,
        };
        AckSample {
            now: Time(us * 1000),
            delivered: 2000,
            total_delivered: 100_000,
            rate: Some(rate),
            ..AckSample::default()
        }
    }

    /// Returns the allowance after a series of ACKs that arrive at the times `moments`, in microseconds. Each ACK
    /// acknowledges two segments. The bandwidth is one segment per millisecond, and the window is 20 segments.
    fn after(moments: &[u64]) -> f64 {
        let mut g = Aggregation::default();
        for &us in moments {
            g.on_ack(&ack(us), 2.0, 1000.0, 20.0, false);
        }
        g.extra()
    }

    #[test]
    fn delayed_acks_are_two_extra_and_three_where_one_comes_early() {
        // one ACK arrives every 2.1 ms. In this time 2.1 segments are expected, rounded down to two. Before an ACK
        // arrives, only two segments have been acknowledged in the epoch, no more than expected, so each ACK begins a
        // new epoch
        assert_eq!(after(&[10_000, 12_100, 14_200]), 2.0);
        // the second ACK comes after 1.95 ms: 1.95 segments are expected, rounded down to one. Two segments had been
        // acknowledged before, and four now, so the excess is three
        assert_eq!(after(&[10_000, 11_950]), 3.0);
        // after an idle period, the first of five simultaneous ACKs begins an epoch, in which no segment is expected
        // yet, so all ten segments acknowledged are excess. 15 simultaneous ACKs acknowledge 30 segments, but the
        // excess is limited to the window of 20 segments
        assert_eq!(after(&[10_000, 30_000, 30_000, 30_000, 30_000, 30_000]), 10.0);
        assert_eq!(after(&[10_000; 15]), 20.0);
    }

    #[test]
    fn the_filter_forgets_within_ten_rounds() {
        let mut g = Aggregation::default();
        for us in [10_000, 10_000, 10_000] {
            g.on_ack(&ack(us), 2.0, 1000.0, 20.0, false);
        }
        assert_eq!(g.extra(), 6.0);
        // from now on, one ACK arrives per round, every 3 ms. The first four ACKs have an excess of 6, 5, 4 and 3
        // segments: `expected` is 2, 5, 8 and 11, because the bandwidth is truncated. From round 5 on, each ACK begins
        // an epoch with an excess of two. New halves of the filter begin in rounds 5 and 10
        for round in 1..=10 {
            g.on_ack(&ack(10_000 + 3_000 * round), 2.0, 1000.0, 20.0, true);
            assert_eq!(g.extra(), if round < 10 { 6.0 } else { 2.0 }, "round {round}");
        }
    }
}
