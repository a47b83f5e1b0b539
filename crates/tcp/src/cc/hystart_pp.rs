//! HyStart++: slows the window's growth when round trips grow, and resumes slow start after a false alarm.
//!
//! ```text
//! round:       ends when all data sent before its start is acknowledged;  N = segments newly acknowledged by an ACK
//! slow start:  cwnd += min(N, L),  L = 8, but infinite for a sender that paces
//!              after 8 samples of a round, if its minimum RTT >= that of the previous round + RttThresh
//!              --> conservative slow start (CSS), baseline = the minimum RTT of this round
//! CSS:         cwnd += min(N, L) / 4
//!              after 8 samples of a round, if its minimum RTT < baseline  --> slow start
//!              after 5 rounds, including the round in which CSS began  --> ssthresh = cwnd
//! RttThresh = clamp(minimum RTT of the previous round / 8, 4 ms, 16 ms)
//! ```
//!
//! HyStart++ applies only to the first slow start, while ssthresh is infinite. A loss or an ECN echo also ends the first slow
//! start.
//!
//! Source: RFC 9406 §4.2 and §4.3.   Departs: none known.

use super::control::{AckSample, Window};
use packet::Reading;

/// MIN_RTT_THRESH and MAX_RTT_THRESH, microseconds.
const RTT_THRESH: (u32, u32) = (4_000, 16_000);
/// MIN_RTT_DIVISOR: RttThresh is the minimum RTT of the last round divided by this number, before it is clamped.
const MIN_RTT_DIVISOR: u32 = 8;
/// N_RTT_SAMPLE: number of RTT samples that a round needs before its minimum RTT is tested.
const N_RTT_SAMPLE: u8 = 8;
/// CSS_GROWTH_DIVISOR: divisor of the growth in CSS.
const CSS_GROWTH_DIVISOR: f64 = 4.0;
/// CSS_ROUNDS: number of rounds in CSS after which slow start ends.
const CSS_ROUNDS: u8 = 5;
/// L: maximum number of segments by which one ACK grows the window, for a sender that does not pace.
const L: f64 = 8.0;

/// The state of conservative slow start.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Css {
    /// cssBaselineMinRtt, microseconds.
    baseline: u32,
    /// Number of rounds that have ended in CSS, including the round in which CSS began.
    rounds: u8,
}

/// The first slow start of one flow.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HyStartPp {
    /// windowEnd: the round ends once all data below this sequence number is acknowledged; 0 before the first round.
    window_end: u64,
    /// lastRoundMinRTT, microseconds; `u32::MAX` is infinite.
    last_round: u32,
    /// currentRoundMinRTT, microseconds; `u32::MAX` is infinite.
    current_round: u32,
    /// rttSampleCount: number of RTT samples in the current round, counted up to [`N_RTT_SAMPLE`].
    samples: u8,
    css: Option<Css>,
    /// L, the maximum growth per ACK in segments; infinite for a sender that paces.
    limit: f64,
}

/// Returns RttThresh in microseconds.   Source: RFC 9406 §4.2.
fn rtt_thresh(last_round: u32) -> u32 {
    (last_round / MIN_RTT_DIVISOR).clamp(RTT_THRESH.0, RTT_THRESH.1)
}

impl HyStartPp {
    pub(super) fn new(paced: bool) -> Self {
        let limit = if paced { f64::INFINITY } else { L };
        Self { limit, window_end: 0, last_round: u32::MAX, current_round: u32::MAX, samples: 0, css: None }
    }

    /// Processes an ACK of the first slow start. `credit` is the number of segments that count for growth.
    pub(super) fn on_ack(&mut self, w: &mut Window, s: &AckSample, credit: f64) {
        if self.window_end == 0 {
            self.window_end = s.next;
        }
        if s.cwnd_limited {
            let divisor = if self.css.is_some() { CSS_GROWTH_DIVISOR } else { 1.0 };
            w.cwnd += credit.min(self.limit) / divisor;
        }
        if let Some(rtt) = s.rtt_us {
            self.current_round = self.current_round.min(rtt);
            self.samples = (self.samples + 1).min(N_RTT_SAMPLE);
            self.update_phase();
        }
        if s.una >= self.window_end {
            self.begin_round(w, s);
        }
    }

    fn begin_round(&mut self, w: &mut Window, s: &AckSample) {
        self.window_end = s.next;
        (self.last_round, self.current_round, self.samples) = (self.current_round, u32::MAX, 0);
        if let Some(css) = &mut self.css {
            css.rounds += 1;
            if css.rounds >= CSS_ROUNDS {
                w.ssthresh = w.cwnd;
            }
        }
    }

    fn update_phase(&mut self) {
        if self.samples < N_RTT_SAMPLE {
            return;
        }
        self.css = match self.css {
            None if self.last_round != u32::MAX
                && self.current_round >= self.last_round.saturating_add(rtt_thresh(self.last_round)) =>
            {
                Some(Css { baseline: self.current_round, rounds: 0 })
            }
            Some(css) if self.current_round < css.baseline => None,
            phase => phase,
        };
    }

    pub(super) fn probe(&self, out: &mut Reading<'_>) {
        let known = |us: u32| Some(us).filter(|us| *us != u32::MAX);
        out.flag("css", self.css.is_some());
        out.number("css_rounds", self.css.map_or(0.0, |css| f64::from(css.rounds)));
        out.micros("css_baseline_min_rtt", self.css.map(|css| css.baseline));
        out.micros("last_round_min_rtt", known(self.last_round));
        out.micros("current_round_min_rtt", known(self.current_round));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: f64 = f64::INFINITY;

    /// Simulates a round of `n` ACKs of one segment each, with a round-trip time of `rtt_ms`. During the round, the
    /// sender sends `sent` segments, which are acknowledged in the next round.
    fn round(h: &mut HyStartPp, w: &mut Window, una: &mut u64, (n, sent): (u64, u64), rtt_ms: f64) {
        let end = *una + n;
        for _ in 0..n {
            *una += 1;
            let next = if *una == end { end + sent } else { end };
            let rtt_us = Some((rtt_ms * 1000.0) as u32);
            let s = AckSample { una: *una, next, rtt_us, cwnd_limited: true, ..AckSample::default() };
            h.on_ack(w, &s, 1.0);
        }
    }

    #[test]
    fn the_threshold_is_an_eighth_between_four_and_sixteen() {
        assert_eq!([20_000, 100_000, 200_000].map(rtt_thresh), [4_000, 12_500, 16_000]);
    }

    #[test]
    fn round_trips_that_grow_by_the_threshold_slow_the_growth_to_a_quarter() {
        // after a round at 100 ms, RttThresh is 12.5 ms, so a round at 112.5 ms enters CSS, but a round at 112.4 ms does not
        for (rtt, enters) in [(112.4, false), (112.5, true)] {
            let (mut h, mut w, mut una) = (HyStartPp::new(false), Window { cwnd: 10.0, ssthresh: NONE }, 1);
            round(&mut h, &mut w, &mut una, (10, 20), 100.0);
            assert_eq!(w.cwnd, 20.0);
            round(&mut h, &mut w, &mut una, (20, 20), rtt);
            // the first eight ACKs of the round grow the window by 1 each, and the eighth then enters CSS. The other
            // 12 ACKs grow the window by 1/4 each: 20 + 8 + 12 / 4 = 31
            assert_eq!(w.cwnd, if enters { 31.0 } else { 40.0 });
            assert_eq!(h.css.is_some(), enters);
        }
    }

    #[test]
    fn css_that_was_entered_for_nothing_is_left_for_slow_start() {
        let (mut h, mut w, mut una) = (HyStartPp::new(false), Window { cwnd: 10.0, ssthresh: NONE }, 1);
        round(&mut h, &mut w, &mut una, (10, 20), 40.0);
        round(&mut h, &mut w, &mut una, (20, 12), 46.0);
        // the round in which CSS was entered counts as the first round of CSS
        assert_eq!(h.css, Some(Css { baseline: 46_000, rounds: 1 }));
        assert_eq!(w.cwnd, 31.0);
        // a round whose minimum RTT equals the baseline stays in CSS and grows the window by 12 / 4. In a round with
        // a minimum RTT below the baseline, the eighth ACK ends CSS: eight ACKs grow the window by 1/4 each, and the
        // other four by 1
        round(&mut h, &mut w, &mut una, (12, 12), 46.0);
        assert_eq!((w.cwnd, h.css.map(|css| css.rounds)), (34.0, Some(2)));
        round(&mut h, &mut w, &mut una, (12, 8), 45.9);
        assert_eq!((w.cwnd, h.css), (34.0 + 8.0 / 4.0 + 4.0, None));
        // CSS begins again if the minimum RTT of a round is at least 45.9 ms + RttThresh = 45.9 + 45.9 / 8 = 51.64 ms
        round(&mut h, &mut w, &mut una, (8, 8), 51.7);
        assert_eq!(h.css, Some(Css { baseline: 51_700, rounds: 1 }));
        assert!(w.ssthresh.is_infinite());
    }

    #[test]
    fn the_fifth_round_of_css_sets_the_threshold() {
        let (mut h, mut w, mut una) = (HyStartPp::new(false), Window { cwnd: 10.0, ssthresh: NONE }, 1);
        round(&mut h, &mut w, &mut una, (10, 20), 40.0);
        // CSS is entered in the middle of this round, which counts as the first round of CSS
        round(&mut h, &mut w, &mut una, (20, 12), 46.0);
        for _ in 2..=5 {
            assert!(w.ssthresh.is_infinite());
            round(&mut h, &mut w, &mut una, (12, 12), 46.0);
        }
        // the first round of CSS ends with a window of 20 + 8 + 12 / 4 = 31; four more rounds add 12 / 4 each
        assert_eq!((w.cwnd, w.ssthresh), (43.0, 43.0));
    }

    #[test]
    fn a_sender_that_paces_counts_every_segment() {
        let (mut h, mut w) = (HyStartPp::new(true), Window { cwnd: 10.0, ssthresh: NONE });
        h.on_ack(&mut w, &AckSample { una: 20, next: 40, cwnd_limited: true, ..AckSample::default() }, 20.0);
        assert_eq!(w.cwnd, 30.0);
    }

    #[test]
    fn one_ack_counts_for_eight_segments_at_most() {
        let (mut h, mut w) = (HyStartPp::new(false), Window { cwnd: 10.0, ssthresh: NONE });
        let s = AckSample { una: 20, next: 40, cwnd_limited: true, ..AckSample::default() };
        h.on_ack(&mut w, &s, 20.0);
        assert_eq!(w.cwnd, 18.0);
        h.on_ack(&mut w, &AckSample { cwnd_limited: false, ..s }, 20.0);
        assert_eq!(w.cwnd, 18.0);
    }
}
