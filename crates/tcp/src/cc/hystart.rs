//! HyStart: leaves slow start before the queue overflows.
//!
//! ```text
//! ACK train:  all ACKs since the round's start are at most 2 ms apart, and the last one comes more than (min_rtt + 1 ms) / 2
//!             after that start, or more than min_rtt + 1 ms if the sender paces
//! delay:      after 8 samples of a round, its minimum RTT so far > min_rtt + clamp(min_rtt / 8, 4 ms, 16 ms)
//! If one of the tests succeeds, ssthresh = cwnd.   Below a window of 16, rounds begin but neither test runs.
//! ```
//!
//! Source: Ha & Rhee 2008 (Linux's constants).

use super::control::{AckSample, Stack, Window};
use super::shared::HyStart as Axis;
use packet::Reading;
use units::{Duration, Time};

/// Window in segments below which HyStart runs neither of its tests, because a round has too few ACKs.
const LOW_WINDOW: f64 = 16.0;
/// Number of RTT samples that a round must have before the delay test runs.
const MIN_SAMPLES: u8 = 8;
/// Maximum gap between two ACKs of a train.
const ACK_DELTA: Duration = Duration::from_millis(2);
/// Time added to the minimum RTT in the test of ACK trains, to allow for the sender's bursts. Linux adds less at rates
/// above 2 Gbit/s.
const ACK_DELAY: Duration = Duration::from_millis(1);
/// Minimum and maximum, in microseconds, of the delay test's threshold: the amount by which the RTT must exceed the
/// minimum RTT.
const DELAY_MIN: u32 = 4_000;
const DELAY_MAX: u32 = 16_000;

/// The state of one flow, with the measurements of its current round.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct HyStart {
    /// True if HyStart is enabled.
    on: bool,
    /// True if the sender paces.
    paced: bool,
    round_start: Time,
    last_ack: Time,
    /// The round ends with the ACK of this byte.
    end_seq: u64,
    /// Minimum RTT of the round, microseconds; `u32::MAX` if there is no sample yet.
    curr_rtt: u32,
    /// Minimum RTT since the start of the connection or the last timeout, microseconds; `u32::MAX` if there is no
    /// sample yet.
    min_rtt: u32,
    samples: u8,
    /// True if HyStart has ended slow start. HyStart then only updates the minimum RTT, until a timeout resets all
    /// measurements.
    found: bool,
}

impl HyStart {
    pub(super) fn new(stack: &Stack<'_>) -> Self {
        Self::fresh(stack.shared.hystart == Axis::Hystart, stack.paced)
    }

    /// Resets all measurements.
    pub(super) fn restart(&mut self) {
        *self = Self::fresh(self.on, self.paced);
    }

    fn fresh(on: bool, paced: bool) -> Self {
        Self { on, paced, curr_rtt: u32::MAX, min_rtt: u32::MAX, ..Self::default() }
    }

    /// Returns the minimum RTT so far, microseconds.
    pub(super) fn min_rtt_us(&self) -> Option<u32> {
        Some(self.min_rtt).filter(|&us| us != u32::MAX)
    }

    pub(super) fn probe(&self, out: &mut Reading<'_>) {
        out.micros("min_rtt", self.min_rtt_us());
        out.flag("hystart_found", self.found);
    }

    /// Processes an ACK. If HyStart is off or slow start has ended, only the minimum RTT is updated.
    #[inline]
    pub(super) fn on_ack(&mut self, w: &mut Window, s: &AckSample) {
        if let Some(rtt) = s.rtt_us {
            self.min_rtt = self.min_rtt.min(rtt.max(1));
        }
        if self.on && w.slow_start() && !self.found {
            self.watch(w, s);
        }
    }

    fn watch(&mut self, w: &mut Window, s: &AckSample) {
        if s.una > self.end_seq {
            *self = Self {
                round_start: s.now,
                last_ack: s.now,
                end_seq: s.next,
                min_rtt: self.min_rtt,
                ..Self::fresh(self.on, self.paced)
            };
        }
        if w.cwnd >= LOW_WINDOW && self.min_rtt != u32::MAX && self.late(s) {
            self.found = true;
            w.ssthresh = w.cwnd;
        }
    }

    fn late(&mut self, s: &AckSample) -> bool {
        if s.now.since(self.last_ack) <= ACK_DELTA {
            self.last_ack = s.now;
            let part = if self.paced { 1 } else { 2 };
            if s.now.since(self.round_start) * part > Duration::from_micros(u64::from(self.min_rtt)) + ACK_DELAY {
                return true;
            }
        }
        let Some(rtt) = s.rtt_us else { return false };
        self.curr_rtt = self.curr_rtt.min(rtt);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        let threshold = (self.min_rtt / 8).clamp(DELAY_MIN, DELAY_MAX);
        self.curr_rtt > self.min_rtt.saturating_add(threshold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::{TcpParams, stack};

    fn sample(ms: u64, rtt_ms: u32, una: u64, next: u64) -> AckSample {
        let (now, rtt_us) = (Time(ms * 1_000_000), Some(rtt_ms * 1000));
        AckSample { now, rtt_us, una, next, cwnd_limited: true, ..AckSample::default() }
    }

    #[test]
    fn an_ack_train_longer_than_half_the_round_trip_ends_slow_start() {
        let mut h = HyStart::new(&stack(&TcpParams::default()));
        let mut w = Window { cwnd: 20.0, ssthresh: f64::INFINITY };
        // the RTT is 40 ms, and an ACK arrives every 2 ms. Without pacing, a train must last longer than (40 + 1) / 2 =
        // 20.5 ms: half of the sum of the minimum RTT and 1 ms. At 22 ms, the train is long enough
        for i in 0..=10 {
            h.on_ack(&mut w, &sample(100 + 2 * i, 40, 2 + i, 50));
            assert!(w.slow_start(), "{i}");
        }
        h.on_ack(&mut w, &sample(122, 40, 13, 50));
        assert_eq!(w.ssthresh, 20.0);
    }

    #[test]
    fn a_train_of_a_paced_sender_lasts_the_whole_round_trip() {
        let p = TcpParams::default().with(|p| p.pacing.paced = true);
        let (mut h, mut w) = (HyStart::new(&stack(&p)), Window { cwnd: 20.0, ssthresh: f64::INFINITY });
        // with pacing, a train must last longer than the minimum RTT, 40 ms, plus 1 ms: 40 ms is too short, 42 ms is enough
        (0..=20).for_each(|i| h.on_ack(&mut w, &sample(100 + 2 * i, 40, 2 + i, 50)));
        assert!(w.slow_start());
        h.on_ack(&mut w, &sample(142, 40, 23, 50));
        assert_eq!(w.ssthresh, 20.0);
    }

    #[test]
    fn the_ninth_late_sample_of_a_round_ends_slow_start() {
        let mut h = HyStart::new(&stack(&TcpParams::default()));
        let mut w = Window { cwnd: 20.0, ssthresh: f64::INFINITY };
        h.on_ack(&mut w, &sample(100, 40, 2, 3));
        // ACKs that are 10 ms apart do not form a train, so only the delay test can end slow start. RTTs must exceed
        // the minimum RTT, 40 ms, by more than an eighth of it, 5 ms: RTTs of 45 ms do not, RTTs of 46 ms do
        for (rtt, found) in [(45, false), (46, true)] {
            let (mut h, mut w) = (h.clone(), w);
            for i in 0..9 {
                assert!(w.slow_start(), "{i}");
                h.on_ack(&mut w, &sample(200 + 10 * i, rtt, 4 + i, 99));
            }
            assert_eq!(!w.slow_start(), found);
        }
    }

    #[test]
    fn below_a_window_of_sixteen_rounds_begin_and_nothing_is_watched() {
        let mut h = HyStart::new(&stack(&TcpParams::default()));
        let mut w = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
        // a round of 12 segments, whose ACKs arrive every 2 ms from 100 ms on. The window is below 16 for the first six ACKs, but
        // not for the seventh
        for i in 0..12 {
            assert!(w.slow_start(), "{i}");
            h.on_ack(&mut w, &sample(100 + 2 * i, 40, 2 + i, 40));
            w.cwnd += 1.0;
        }
        // no test has run for the first six ACKs, so `last_ack` is still the start of the round. The seventh ACK
        // arrives 12 ms after `last_ack`, but the ACKs of a train are at most 2 ms apart. `last_ack` is therefore never
        // updated in this round, and none of the later ACKs can belong to a train
        (12..40).for_each(|i| h.on_ack(&mut w, &sample(100 + 2 * i, 40, 2 + i, 40)));
        assert!(w.slow_start());
    }

    #[test]
    fn a_round_trip_that_jumps_ends_slow_start_at_the_ninth_ack_of_its_round() {
        // the rounds have 10, 20 and 40 segments. ACKs are 3 ms apart, too far for a train. The RTT is 40 ms in the
        // first two rounds and 60 ms in the third. Eight ACKs of the third round grow the window from 40 to 48; the
        // ninth ends slow start
        let mut h = HyStart::new(&stack(&TcpParams::default()));
        let mut w = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
        let (mut una, mut next) = (0, 10);
        for (round, rtt) in [(0, 40), (1, 40), (2, 60)] {
            for i in 0..(10 << round) {
                una += 1;
                h.on_ack(&mut w, &sample(200 * (round + 1) + 3 * i, rtt, una, next));
                if w.slow_start() {
                    w.cwnd += 1.0;
                    next += 2;
                }
            }
            assert_eq!(w.slow_start(), round < 2);
        }
        assert_eq!(w.ssthresh, 48.0);
    }
}
