//! Rapid Start: a first slow start that triples the window per round trip while no queue grows, and a first recovery that
//! sizes the window by the amount of data that arrives.
//!
//! ```text
//! each ACK:   queue_buildup_thresh = min(min_rtt + 4 ms, 1.1 min_rtt);  rtt_floor = minimum RTT of the round so far
//!             cwnd += 2 N if rtt_floor <= queue_buildup_thresh, otherwise N;   N = segments newly acknowledged
//! first loss or mark:  cwnd *= silence_factor
//! each ACK of the first recovery:  cwnd -= ack_factor * acked + loss_factor * lost, but cwnd >= beta / 3 * (cwnd before the recovery)
//! K = 2/3;  ack_factor = K (1 - beta);  silence_factor = loss_factor = beta + K (1 - beta)
//! ```
//!
//! If a queue overflow caused all losses, the part of the flight that arrived is the amount that the path and its buffer hold.
//! At the end of the recovery, the window is beta times this amount, if at most two thirds of the flight were lost.
//!
//! Source: draft-kazuho-ccwg-rapid-start-02 §3.2, §3.3.
//! Departs: segments are not paced over a full round trip (§3.1); with `paced`, the stack paces at two windows per
//! round trip. The initial window is the stack's. Bytes count as acknowledged or lost only up to the number in flight
//! when the recovery began. So retransmissions that arrive within the recovery do not reduce the window further; QUIC
//! would count such retransmissions in a later recovery period. After a timeout, Rapid Start ends, and the controller's
//! own ssthresh applies.

use super::control::{AckSample, Drive, Stack, Window};
use crate::stats::State;
use packet::Reading;

/// queue_buildup_thresh exceeds min_rtt by `TOLERANCE_US` microseconds or by `TOLERANCE_PERCENT` percent of min_rtt,
/// whichever is less.
const TOLERANCE_US: u32 = 4_000;
const TOLERANCE_PERCENT: u32 = 10;
/// Number of segments by which each acknowledged segment grows the window, as long as no queue grows.
const RAPID: f64 = 2.0;
/// K: the constant in the formulas of ack_factor, silence_factor and loss_factor.
const K: f64 = 2.0 / 3.0;
/// Maximum factor by which a round trip multiplies the window.
const MOST_GROWTH: f64 = 3.0;
/// Minimum window, segments.   Source: RFC 5681 §3.1.
const LEAST: f64 = 2.0;

/// The first recovery.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Recovery {
    beta: f64,
    /// Minimum window, segments.
    least: f64,
    /// Number of bytes that were in flight when the recovery began and that no ACK has reported as delivered or lost
    /// since then.
    left: u64,
}

/// The state of the first slow start and of the first recovery of one flow.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RapidStart {
    mss: f64,
    /// min_rtt, microseconds; `u32::MAX` is infinite.
    min_rtt: u32,
    /// rtt_floor, microseconds; `u32::MAX` is infinite.
    rtt_floor: u32,
    /// Bytes in flight before the newest ACK, and the bytes that this ACK newly reports as delivered and as lost.
    newest: (u64, u64, u64),
    recovery: Option<Recovery>,
}

/// Returns queue_buildup_thresh in microseconds.   Source: draft-kazuho-ccwg-rapid-start-02 §3.2.
fn queue_buildup_thresh(min_rtt: u32) -> u32 {
    min_rtt.saturating_add(TOLERANCE_US.min(min_rtt / (100 / TOLERANCE_PERCENT)))
}

/// Returns ack_factor and silence_factor; loss_factor is equal to silence_factor.   Source:
/// draft-kazuho-ccwg-rapid-start-02 §3.3.1.
fn factors(beta: f64) -> (f64, f64) {
    (K * (1.0 - beta), beta + K * (1.0 - beta))
}

impl RapidStart {
    pub(super) fn new(stack: &Stack<'_>) -> Self {
        let mss = f64::from(stack.mss);
        Self { mss, min_rtt: u32::MAX, rtt_floor: u32::MAX, newest: (0, 0, 0), recovery: None }
    }

    /// Returns true during the first recovery, which begins with the first loss or mark.
    #[inline]
    pub(super) fn recovers(&self) -> bool {
        self.recovery.is_some()
    }

    /// Stores the byte counts of an ACK, because a recovery may begin with this ACK.
    pub(super) fn note(&mut self, s: &AckSample) {
        self.newest = (s.flight_before, s.delivered, s.lost);
    }

    /// Processes an ACK of the first slow start. `credit` is the number of acknowledged segments that count towards
    /// growth.
    pub(super) fn on_ack(&mut self, w: &mut Window, s: &AckSample, credit: f64) {
        if let Some(rtt) = s.rtt_us {
            self.min_rtt = self.min_rtt.min(rtt);
            self.rtt_floor = self.rtt_floor.min(rtt);
        }
        if s.cwnd_limited {
            let rapid = self.rtt_floor <= queue_buildup_thresh(self.min_rtt) && self.rtt_floor != u32::MAX;
            w.cwnd += if rapid { RAPID * credit } else { credit };
        }
        if s.round_ended {
            self.rtt_floor = u32::MAX;
        }
    }

    /// Begins the first recovery. `beta` is the share of the window that the controller keeps by its own rule, and
    /// `w.ssthresh` is the threshold that the controller has computed.
    pub(super) fn on_congestion(&mut self, mut w: Window, beta: f64) -> Drive {
        let (left, delivered, lost) = self.newest;
        let least = (w.cwnd * beta / MOST_GROWTH).max(LEAST);
        self.recovery = Some(Recovery { beta, least, left });
        w.cwnd *= factors(beta).1;
        self.reduce(&mut w, delivered, lost);
        Drive { reduction: false, ..w.into() }
    }

    fn reduce(&mut self, w: &mut Window, delivered: u64, lost: u64) {
        let Some(r) = &mut self.recovery else { return };
        let lost = lost.min(r.left);
        let acked = delivered.min(r.left - lost);
        r.left -= acked + lost;
        let (ack_factor, loss_factor) = factors(r.beta);
        let less = (ack_factor * acked as f64 + loss_factor * lost as f64) / self.mss;
        w.cwnd = (w.cwnd - less).max(r.least);
    }

    /// Processes an ACK of the first recovery. Returns `None` if the recovery has ended before this ACK.
    pub(super) fn on_recovery_ack(&mut self, mut w: Window, s: &AckSample) -> Option<Drive> {
        if !matches!(s.state, State::Recovery | State::Cwr) {
            self.recovery = None;
            return None;
        }
        self.reduce(&mut w, s.delivered, s.lost);
        w.ssthresh = w.cwnd;
        Some(Drive { converges: true, ..w.into() })
    }

    /// Ends the recovery, after a timeout.
    pub(super) fn on_rto(&mut self) {
        self.recovery = None;
    }

    pub(super) fn probe(&self, out: &mut Reading<'_>) {
        out.micros("rtt_floor", Some(self.rtt_floor).filter(|us| *us != u32::MAX));
        out.flag("first_recovery", self.recovery.is_some());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::{TcpParams, stack};

    fn start() -> RapidStart {
        RapidStart::new(&stack(&TcpParams::preset("linux-6").unwrap().with(|p| p.wire.mss = 1000)))
    }

    fn sample(rtt_ms: f64) -> AckSample {
        AckSample { rtt_us: Some((rtt_ms * 1000.0) as u32), cwnd_limited: true, ..AckSample::default() }
    }

    #[test]
    fn the_factors_are_those_of_the_draft() {
        let near = |a: (f64, f64), b: (f64, f64)| (a.0 - b.0).abs() + (a.1 - b.1).abs() < 1e-12;
        assert!(near(factors(0.5), (1.0 / 3.0, 5.0 / 6.0)) && near(factors(0.7), (1.0 / 5.0, 9.0 / 10.0)));
        // if min_rtt is below 40 ms, a tenth of it is less than 4 ms, so the tolerance is a tenth of min_rtt
        assert_eq!([20_000, 40_000, 100_000].map(queue_buildup_thresh), [22_000, 44_000, 104_000]);
    }

    #[test]
    fn the_window_triples_until_round_trips_grow_by_a_tenth() {
        // two rounds with an RTT of 30 ms triple the window from 10 to 30 and then to 90 segments. In the third
        // round, an RTT of 33 ms is at the threshold but not above it, so the window still triples. An RTT of 33.1 ms
        // only doubles it
        for (rtt, factor) in [(33.0, 3.0), (33.1, 2.0)] {
            let (mut r, mut w) = (start(), Window { cwnd: 10.0, ssthresh: f64::INFINITY });
            for (n, rtt) in [(10, 30.0), (30, 30.0), (90, rtt)] {
                for i in 0..n {
                    r.on_ack(&mut w, &AckSample { round_ended: i + 1 == n, ..sample(rtt) }, 1.0);
                }
            }
            assert!((w.cwnd - 90.0 * factor).abs() < 1e-9, "{rtt}: {}", w.cwnd);
        }
        let (mut r, mut w) = (start(), Window { cwnd: 10.0, ssthresh: f64::INFINITY });
        r.on_ack(&mut w, &AckSample { cwnd_limited: false, ..sample(30.0) }, 1.0);
        assert_eq!(w.cwnd, 10.0);
    }

    /// Runs a recovery with 300 segments in flight, in which each ACK delivers `acked` segments and reports `lost` segments as
    /// lost. Returns the window at the end.
    fn recovered(beta: f64, acked: u64, lost: u64) -> f64 {
        let (mut r, w) = (start(), Window { cwnd: 300.0, ssthresh: f64::INFINITY });
        let ack = |n: u64| AckSample {
            state: State::Recovery,
            flight_before: 1000 * (300 - n * (acked + lost)),
            delivered: 1000 * acked,
            lost: 1000 * lost,
            ..AckSample::default()
        };
        r.note(&ack(0));
        let mut w = Window { ssthresh: 300.0 * beta, ..w };
        w.follow(&r.on_congestion(w, beta));
        for n in 1..300 / (acked + lost) {
            w.follow(&r.on_recovery_ack(w, &ack(n)).unwrap());
            assert_eq!(w.cwnd, w.ssthresh);
        }
        // retransmissions that arrive later do not reduce the window
        let last = w;
        w.follow(&r.on_recovery_ack(w, &AckSample { lost: 0, ..ack(0) }).unwrap());
        assert_eq!(w, last);
        assert_eq!(r.on_recovery_ack(w, &AckSample { state: State::Open, ..ack(0) }), None);
        assert!(!r.recovers());
        w.cwnd
    }

    #[test]
    fn the_window_ends_at_beta_times_what_arrived_however_much_was_lost() {
        // Appendix A of the draft: the segments of a flight that arrive fill the BDP, and the window ends at beta times
        // their number. In the four cases, 300, 200, 150 and 100 of 300 segments arrive.
        for beta in [0.5, 0.7] {
            for (acked, lost, arrived) in [(1, 0, 300.0), (2, 1, 200.0), (1, 1, 150.0), (1, 2, 100.0)] {
                let end = recovered(beta, acked, lost);
                assert!((end - beta * arrived).abs() < 1e-6, "{beta} {lost}: {end}");
            }
            // a window that triples per round trip may grow to three times what the path holds, so up to 2 of 3
            // segments may be lost. Even if 9 of 10 are lost, the window is reduced only to beta / 3 of its size
            assert!((recovered(beta, 1, 9) - 300.0 * beta / 3.0).abs() < 1e-6);
        }
    }
}
