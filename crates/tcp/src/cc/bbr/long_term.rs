//! The long-term bandwidth of a path with a token-bucket policer, which drops the excess over its rate instead of delaying it.
//!
//! ```text
//! an interval begins with a loss;  after 4 to 16 rounds, it ends with a loss at which  lost >= 50/256 of delivered
//! rate of the interval = delivered / time
//! if two consecutive rates differ by at most 1/8, or 500 bytes/s:  send at their mean for 48 rounds, without probing
//! ```
//!
//! BBR does not treat loss as congestion. Without this rule it would keep probing above the policer's rate and lose the excess.
//! A queue too small for BBR's window has the same effect as a policer.
//!
//! Source: Linux tcp_bbr.c; draft-cardwell-iccrg-bbr-congestion-control-00 has no such rule. As in Linux, a timeout counts as a
//! round with a loss, and the length of an interval is in whole milliseconds.

use crate::cc::control::AckSample;
use units::Time;

/// Minimum and maximum number of rounds in an interval.
const ROUNDS: (u32, u32) = (4, 16);
/// Minimum ratio of lost to delivered bytes that indicates a policer.
const LOSS: f64 = 50.0 / 256.0;
/// Two rates count as equal if they differ by at most this share of the earlier rate, or by at most [`DIFFERENCE`]
/// bytes per second.
const RATIO: f64 = 0.125;
const DIFFERENCE: f64 = 500.0;
/// Number of rounds for which BBR keeps to the policer's rate.
const KEPT: u32 = 48;

/// The state of one connection's policer detection.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct LongTerm {
    /// True once a loss has begun the first interval, until the detection is reset.
    sampling: bool,
    /// True while BBR sends at the policer's rate.
    used: bool,
    /// Rounds since the interval began. While `used` is true, rounds in ProbeBw since BBR began to send at the
    /// policer's rate.
    rounds: u32,
    /// Rate of the last interval, bytes per second; 0 before the first interval ends. While `used` is true, the mean of
    /// the last two rates.
    bw: f64,
    /// Time of the last delivery before the interval.
    since: Time,
    /// Bytes delivered before the interval.
    delivered: u64,
    /// Bytes lost before the interval.
    lost: u64,
    /// Time of the last delivery, bytes delivered and bytes lost so far.
    latest: (Time, u64, u64),
}

impl LongTerm {
    /// Returns the policer's rate in bytes per second, if a policer was detected.
    pub(super) fn rate(&self) -> Option<f64> {
        self.used.then_some(self.bw)
    }

    /// Records that `bytes` were lost.
    pub(super) fn on_lost(&mut self, bytes: u64) {
        self.latest.2 += bytes;
    }

    /// Forgets the policer, and stops sampling until the next loss.
    pub(super) fn reset(&mut self) {
        *self = Self { latest: self.latest, ..Self::default() };
    }

    fn begin_interval(&mut self) {
        (self.since, self.delivered, self.lost) = self.latest;
        self.rounds = 0;
    }

    /// Processes an ACK. Returns true if BBR has now sent at the policer's rate for [`KEPT`] rounds, and must probe for
    /// bandwidth again.
    pub(super) fn on_ack(&mut self, a: &AckSample, round_start: bool, in_probe_bw: bool) -> bool {
        if a.delivered > 0 {
            (self.latest.0, self.latest.1) = (a.now, a.total_delivered);
        }
        let Some(d) = a.rate.filter(|d| !d.compressed) else { return false };
        if self.used {
            return self.keep(round_start && in_probe_bw);
        }
        self.search(a.lost > 0, d.app_limited, round_start);
        false
    }

    /// Processes a timeout, which counts as a round with a loss. The result means the same as that of [`Self::on_ack`].
    pub(super) fn on_rto(&mut self, in_probe_bw: bool) -> bool {
        if self.used {
            return self.keep(in_probe_bw);
        }
        self.search(true, false, true);
        false
    }

    /// Counts the rounds at the policer's rate. `round` is true if a round in ProbeBw has ended. Returns true after the
    /// last round.
    fn keep(&mut self, round: bool) -> bool {
        self.rounds += u32::from(round);
        let done = self.rounds >= KEPT;
        if done {
            self.reset();
        }
        done
    }

    /// Searches for a policer. `round_start` is true if a round has begun.
    fn search(&mut self, lost: bool, app_limited: bool, round_start: bool) {
        if !self.sampling {
            if !lost {
                return;
            }
            self.begin_interval();
            self.sampling = true;
        }
        if app_limited {
            return self.reset();
        }
        self.rounds += u32::from(round_start);
        if self.rounds > ROUNDS.1 {
            self.reset();
        } else if self.rounds >= ROUNDS.0 && lost {
            self.end_interval();
        }
    }

    fn end_interval(&mut self) {
        let (at, delivered, lost) = self.latest;
        let (delivered, lost) = ((delivered - self.delivered) as f64, (lost - self.lost) as f64);
        let ms = at.0 / 1_000_000 - self.since.0 / 1_000_000;
        if delivered == 0.0 || lost < LOSS * delivered || ms < 1 {
            return;
        }
        let bw = delivered / (ms as f64 * 1e-3);
        let difference = (bw - self.bw).abs();
        if self.bw > 0.0 && (difference <= RATIO * self.bw || difference <= DIFFERENCE) {
            self.bw = 0.5 * (self.bw + bw);
            self.used = true;
            self.rounds = 0;
        } else {
            self.bw = bw;
            self.begin_interval();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::control::RateSample;
    use units::Duration;

    /// Simulates round `k`: within 10 ms, ten segments of 1000 bytes are delivered and `lost` segments are lost.
    fn round(l: &mut LongTerm, k: u64, lost: u64) -> bool {
        let rate = RateSample {
            bytes: 10_000,
            interval: Duration::from_millis(10),
            prior_delivered: (k - 1) * 10_000,
            app_limited: false,
            rtt_us: Some(10_000),
            compressed: false,
            tx_in_flight: 0,
            lost: 0,
        };
        let a = AckSample {
            now: Time(k * 10_000_000),
            delivered: 10_000,
            total_delivered: k * 10_000,
            lost: lost * 1000,
            rate: Some(rate),
            ..AckSample::default()
        };
        l.on_lost(a.lost);
        l.on_ack(&a, true, true)
    }

    #[test]
    fn two_intervals_at_one_rate_are_a_policer_for_48_rounds() {
        let mut l = LongTerm::default();
        // in each round, ten segments are delivered and two are lost. The ratio, 2/10 = 51.2/256, is above the limit of
        // 50/256. The loss in round 1 begins the first interval, and round 1 counts as a round of this interval. The
        // loss in round 4 ends the first interval and begins the second
        for k in 1..=7 {
            round(&mut l, k, 2);
            assert_eq!(l.rate(), None, "round {k}");
        }
        round(&mut l, 8, 2);
        // the second interval ends with the same rate: ten segments of 1000 bytes in 10 ms
        assert_eq!(l.rate(), Some(1e6));
        for k in 9..=55 {
            assert!(!round(&mut l, k, 2));
        }
        assert!(round(&mut l, 56, 2));
        assert_eq!(l.rate(), None);
    }

    #[test]
    fn a_timeout_is_a_round_with_a_loss() {
        let mut l = LongTerm::default();
        round(&mut l, 1, 2);
        round(&mut l, 2, 2);
        round(&mut l, 3, 0);
        // the timeout is the fourth round of the interval. Since round 1, 20 segments were delivered and 2 + 5 lost
        l.on_lost(5000);
        assert!(!l.on_rto(true));
        assert_eq!((l.bw, l.rounds, l.rate()), (1e6, 0, None));
        // losses count even if no ACK reports them: in each round, 10 segments are delivered, and 5 are reported only
        // to `on_lost`. The second timeout ends the second interval, which has the same rate
        for k in 4..=6 {
            l.on_lost(5000);
            round(&mut l, k, 0);
        }
        assert!(!l.on_rto(true));
        assert_eq!(l.rate(), Some(1e6));
    }

    #[test]
    fn a_tenth_lost_is_no_policer() {
        let mut l = LongTerm::default();
        for k in 1..200 {
            round(&mut l, k, 1);
            assert_eq!(l.rate(), None);
        }
    }
}
