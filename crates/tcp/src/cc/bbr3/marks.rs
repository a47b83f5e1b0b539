//! The response of the Linux form to CE marks. It applies while the minimum round-trip time is at most 5 ms.
//!
//! ```text
//! once a round:  ratio = marked bytes / delivered bytes;  alpha += (ratio - alpha) / 16,  alpha is 1 at first
//! not probing:   after a round with a mark, inflight_shortterm *= 1 - alpha / 3;  bw_shortterm stays as it is
//! probing:       ratio > 1/2 ends the probe, like a loss of more than 2 %;  two rounds with ratio >= 1/2 end Startup
//! always:        inflight_longterm does not rise while ratio > 1/2
//! ```
//!
//! A round in which no ACK counts (no data delivered, or a minimum RTT above 5 ms) has no ratio. Such a round changes
//! neither alpha nor the count of consecutive rounds with ratio >= 1/2, as in google/bbr (bbr_update_ecn_alpha).
//!
//! Source: google/bbr v3 (ecn_alpha_gain, ecn_factor, ecn_thresh, full_ecn_cnt, ecn_max_rtt). google/bbr enables this response by a
//! route flag (ECN_LOW); here, `ecn_feedback = "dctcp"` or `"accecn"` enables it.

use crate::cc::control::AckSample;

const ALPHA_GAIN: f64 = 1.0 / 16.0;
/// After a round with marks, inflight_shortterm is multiplied by 1 - alpha * FACTOR.
const FACTOR: f64 = 1.0 / 3.0;
/// Share of marked bytes in a round above which a probe ends.
const THRESH: f64 = 0.5;
/// Startup ends after this number of consecutive rounds in which the share of marks is at least [`THRESH`]. A round is
/// skipped if none of its ACKs counts, for example because the minimum RTT is above [`MAX_RTT`].
const FULL_ROUNDS: u32 = 2;
/// Marks count only while the minimum RTT is at most this value, microseconds.
const MAX_RTT: u32 = 5_000;

/// The marks counted in the current round, and the state derived from the marks of earlier rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Marks {
    /// The share of marked bytes, smoothed.
    pub(super) alpha: f64,
    marked: u64,
    delivered: u64,
    ratio: f64,
    /// Number of consecutive rounds in which the share of marks was at least [`THRESH`]. A round in which no ACK counts
    /// leaves this number unchanged.
    high_rounds: u32,
}

impl Default for Marks {
    fn default() -> Self {
        Self { alpha: 1.0, marked: 0, delivered: 0, ratio: 0.0, high_rounds: 0 }
    }
}

impl Marks {
    /// Counts the delivered and the marked bytes that an ACK reports, if ECN is in use and the minimum RTT is at most
    /// [`MAX_RTT`].
    pub(super) fn on_ack(&mut self, s: &AckSample, min_rtt: Option<u32>) {
        if s.ecn && min_rtt.is_some_and(|us| us <= MAX_RTT) {
            self.marked += s.ce_bytes;
            self.delivered += s.delivered;
        }
    }

    pub(super) fn end_round(&mut self) {
        if self.delivered == 0 {
            self.ratio = 0.0;
            return;
        }
        self.ratio = self.marked as f64 / self.delivered as f64;
        self.alpha += ALPHA_GAIN * (self.ratio - self.alpha);
        self.high_rounds = if self.ratio >= THRESH { self.high_rounds + 1 } else { 0 };
        (self.marked, self.delivered) = (0, 0);
    }

    /// Returns true if the last round had a mark.
    pub(super) fn in_round(&self) -> bool {
        self.ratio > 0.0
    }

    /// Returns true if the share of marks in the last round was above [`THRESH`], which ends a probe.
    pub(super) fn too_high(&self) -> bool {
        self.ratio > THRESH
    }

    /// Returns true if marks show that Startup has filled the pipe.
    pub(super) fn full(&self) -> bool {
        self.high_rounds >= FULL_ROUNDS
    }

    /// Returns the factor by which inflight_shortterm is multiplied after a round with marks.
    pub(super) fn cut(&self) -> f64 {
        1.0 - self.alpha * FACTOR
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alpha_follows_the_share_of_marks_by_a_sixteenth_a_round() {
        let mut m = Marks::default();
        let s = AckSample { ecn: true, delivered: 1000, ..AckSample::default() };
        // after n rounds without marks, alpha is (15/16)^n
        for _ in 0..16 {
            m.on_ack(&s, Some(5_000));
            m.end_round();
        }
        let want: f64 = [15.0 / 16.0; 16].iter().product();
        assert!((m.alpha - want).abs() < 1e-12 && !m.in_round());
        // three quarters of the bytes in a round are marked, which is more than THRESH. A second such round ends
        // Startup
        for n in 1..=2 {
            m.on_ack(&AckSample { ce_bytes: 750, ..s }, Some(5_000));
            m.end_round();
            assert_eq!((m.too_high(), m.full()), (true, n == 2));
        }
        // a share of exactly one half is within a probe's limit, but two consecutive rounds with this share end Startup
        let mut half = Marks::default();
        for n in 1..=2 {
            half.on_ack(&AckSample { ce_bytes: 500, ..s }, Some(5_000));
            half.end_round();
            assert_eq!((half.too_high(), half.full()), (false, n == 2));
        }
        // marks do not count if the minimum RTT is above 5 ms
        m.on_ack(&AckSample { ce_bytes: 750, ..s }, Some(5_001));
        m.end_round();
        assert!(!m.in_round());
    }
}
