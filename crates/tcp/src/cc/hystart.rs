//! HyStart: leaving slow start before the queue overflows.
//!
//! ```text
//! ACK train:  ACKs spaced at most 2 ms have lasted since the round's start for more than min_rtt / 2
//! delay:      min of the round's first 8 samples > min_rtt + clamp(min_rtt / 8, 4 ms, 16 ms)
//! either, at cwnd >= 16:  ssthresh = cwnd
//! ```
//!
//! Source: Ha & Rhee 2008; SPEC 2.2 (Linux' constants).

use super::{RateSample, Window};
use units::{Duration, Time};

/// Below this window, segments, a round has too few ACKs.
const LOW_WINDOW: f64 = 16.0;
/// Samples per round.
const MIN_SAMPLES: u8 = 8;
/// Closest ACKs of a train.
const ACK_DELTA: Duration = Duration::from_millis(2);
/// Bounds of the delay increase, microseconds.
const DELAY_MIN: u32 = 4_000;
const DELAY_MAX: u32 = 16_000;

/// One round of observation.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HyStart {
    round_start: Time,
    last_ack: Time,
    /// The round ends when this is acknowledged.
    end_seq: u64,
    /// Smallest sample of the round and of the connection, microseconds.
    curr_rtt: u32,
    min_rtt: u32,
    samples: u8,
}

impl HyStart {
    pub(super) fn new() -> Self {
        Self {
            round_start: Time::ZERO,
            last_ack: Time::ZERO,
            end_seq: 0,
            curr_rtt: u32::MAX,
            min_rtt: u32::MAX,
            samples: 0,
        }
    }

    /// Smallest round trip seen, microseconds; `u32::MAX` before the first.
    pub(super) fn on_ack(&mut self, w: &mut Window, s: &RateSample) {
        if let Some(rtt) = s.rtt_us {
            self.min_rtt = self.min_rtt.min(rtt.max(1));
        }
        if !w.slow_start() {
            return;
        }
        if s.una > self.end_seq {
            *self = Self {
                round_start: s.now,
                last_ack: s.now,
                end_seq: s.next,
                curr_rtt: u32::MAX,
                samples: 0,
                min_rtt: self.min_rtt,
            };
        }
        if w.cwnd >= LOW_WINDOW && self.min_rtt != u32::MAX && self.found(s) {
            w.ssthresh = w.cwnd;
        }
    }

    fn found(&mut self, s: &RateSample) -> bool {
        if s.now.since(self.last_ack) <= ACK_DELTA {
            self.last_ack = s.now;
            // min_rtt / 2 in ns
            if s.now.since(self.round_start).0 > u64::from(self.min_rtt) * 500 {
                return true;
            }
        }
        let Some(rtt) = s.rtt_us else { return false };
        if self.samples < MIN_SAMPLES {
            self.curr_rtt = self.curr_rtt.min(rtt);
            self.samples += 1;
        }
        let threshold = (self.min_rtt / 8).clamp(DELAY_MIN, DELAY_MAX);
        self.samples >= MIN_SAMPLES && self.curr_rtt > self.min_rtt.saturating_add(threshold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(ms: u64, rtt_ms: u32, una: u64, next: u64) -> RateSample {
        RateSample {
            now: Time(ms * 1_000_000),
            acked: 1.0,
            credit: 1.0,
            rtt_us: Some(rtt_ms * 1000),
            one_way_us: None,
            srtt: Duration::from_millis(u64::from(rtt_ms)),
            in_flight: 0,
            una,
            next,
            cwnd_limited: true,
            open: true,
        }
    }

    #[test]
    fn an_ack_train_longer_than_half_the_round_trip_ends_slow_start() {
        let mut h = HyStart::new();
        let mut w = Window { cwnd: 20.0, ssthresh: f64::INFINITY };
        // RTT 40 ms, one ACK per 2 ms: more than 20 ms have passed at the ACK of 22 ms
        for i in 0..=10 {
            h.on_ack(&mut w, &sample(100 + 2 * i, 40, 2 + i, 50));
            assert!(w.slow_start(), "{i}");
        }
        h.on_ack(&mut w, &sample(122, 40, 13, 50));
        assert_eq!(w.ssthresh, 20.0);
    }

    #[test]
    fn eight_late_samples_end_slow_start() {
        let mut h = HyStart::new();
        let mut w = Window { cwnd: 20.0, ssthresh: f64::INFINITY };
        h.on_ack(&mut w, &sample(100, 40, 2, 3));
        // 40 / 8 = 5 ms above 40; ACKs 10 ms apart are no train. 45 does not exceed it, 46 does.
        for (rtt, found) in [(45, false), (46, true)] {
            let (mut h, mut w) = (h.clone(), w);
            for i in 0..8 {
                assert!(w.slow_start());
                h.on_ack(&mut w, &sample(200 + 10 * i, rtt, 4 + i, 99));
            }
            assert_eq!(!w.slow_start(), found);
        }
    }
}
