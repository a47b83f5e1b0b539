//! DCTCP: reduces the window in proportion to the share of packets marked, instead of by a fixed factor for any mark.
//!
//! ```text
//! at the end of a window:   alpha <- (1 - g) alpha + g M,   g = 1/16,  alpha 1 at first
//!                           M = marked share of the data acknowledged in that window
//! if it has marks:          cwnd <- cwnd (1 - alpha / 2)
//! growth, and the response to a loss, are Reno's
//!
//! rfc8257:  a window ends when SND.UNA exceeds the SND.NXT of its start;  M counts bytes;  the cut is at the end and uses the
//!           new alpha
//! linux:    a window ends with the ACK of the last byte sent before it began;  the cut begins at the first mark and uses the
//!           old alpha;  alpha is in units of 1/1024, M counts segments:
//!             alpha <- alpha - (alpha >> 4) + 64 marked / segments,  but alpha below 16 counts as 0
//!             ssthresh = cwnd - (cwnd alpha >> 11),  in whole segments, so there is no cut if alpha / 1024 < 2 / cwnd
//!           the sender's `reduction` lowers cwnd to ssthresh within a round;  cwnd does not grow in this round
//! ```
//!
//! If every round has marks, the window settles at 2/alpha segments. A queue that marks every packet while it is longer
//! than a threshold tends instead to mark all packets of a round or none.
//!
//! Source: RFC 8257 §3.3; Linux 7.3 as lab traces show it.
//! Departs: in Linux, a loss in the round after a mark also halves the window; here only the cut for the mark applies.

use super::control::{AckSample, Congestion, Control, Drive, EcnNeeds, Feedback, Needs, Responder, Stack, Window};
use super::reno::Reno;
use super::shared::NoParams;
use crate::params::EctOn;
use crate::params::group::{group, words};
use crate::stats::State;
use packet::Reading;

/// g, the weight of the newest round in alpha. Source: RFC 8257 §4.2.
const GAIN: f64 = 1.0 / 16.0;
/// The integer that represents alpha = 1 in Linux's form.
const ONE: u32 = 1024;
/// g in Linux's form: 1/16, expressed as a right shift.
const SHIFT: u32 = 4;
/// Minimum window, segments.
const LEAST: f64 = 2.0;

group! {
    /// Parameters of DCTCP.
    pub(crate) struct DctcpParams {
        /// Form of `congestion_control = "dctcp"`.
        pub dctcp_form: DctcpForm = DctcpForm::Linux,
    }
}

words! {
    /// Form of DCTCP.
    pub(crate) enum DctcpForm {
        /// As in the RFC. The share of marks is counted in bytes. The congestion window is cut at the end of each round
        /// trip that had marks. Between two cuts it grows, even while marks arrive. Source: RFC 8257 §3.3.
        "rfc8257" Rfc8257,
        /// As in Linux. The moving average of the share of marks (alpha) is a multiple of 1/1024. Marks and cuts are
        /// counted in whole segments. The window does not grow in the round after a mark.
        "linux" Linux,
    }
}

/// The state of one flow.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Dctcp {
    reno: Reno,
    form: DctcpForm,
    /// DCTCP.Alpha; in Linux's form, a multiple of 1/1024.
    alpha: f64,
    /// Data delivered in the current round: in bytes, or in segments in Linux's form.
    delivered: u64,
    /// Marked part of `delivered`.
    marked: u64,
    /// RFC 8257's DCTCP.WindowEnd.
    window_end: u64,
}

impl Dctcp {
    /// Ends the round and updates alpha.
    fn update(&mut self) {
        self.alpha = match self.form {
            DctcpForm::Rfc8257 if self.delivered == 0 => self.alpha,
            DctcpForm::Rfc8257 => (1.0 - GAIN) * self.alpha + GAIN * self.marked as f64 / self.delivered as f64,
            DctcpForm::Linux => self.update_whole() / f64::from(ONE),
        };
        (self.delivered, self.marked) = (0, 0);
    }

    /// Counts the marks reported by an ACK. In RFC 8257's form, returns true if cwnd must now be cut, because the ACK
    /// ends a round that had marks.
    fn count(&mut self, s: &AckSample) -> bool {
        if self.form == DctcpForm::Linux {
            self.delivered += u64::from(s.segments);
            self.marked += u64::from(s.ce_packets);
            if s.round_ended {
                self.update();
            }
            return false;
        }
        self.delivered += s.delivered;
        self.marked += s.ce_bytes;
        let ended = s.una > self.window_end;
        // in every state other than Open, a loss has already reduced the window
        let due = ended && self.marked > 0 && s.state == State::Open;
        if ended {
            self.window_end = s.next;
            self.update();
        }
        due
    }

    fn update_whole(&self) -> f64 {
        let alpha = (self.alpha * f64::from(ONE)) as u64;
        let left = if alpha >> SHIFT == 0 { 0 } else { alpha - (alpha >> SHIFT) };
        let new = (self.marked * u64::from(ONE >> SHIFT)) / self.delivered.max(1);
        (left + new).min(u64::from(ONE)) as f64
    }

    /// Returns the window to which marks reduce a window of `cwnd` segments.
    fn reduced(&self, cwnd: f64) -> f64 {
        let to = match self.form {
            DctcpForm::Rfc8257 => cwnd * (1.0 - self.alpha / 2.0),
            DctcpForm::Linux => {
                let whole = cwnd as u64;
                (whole - ((whole * (self.alpha * f64::from(ONE)) as u64) >> 11)) as f64
            }
        };
        to.max(LEAST)
    }
}

impl Control for Dctcp {
    type Params = DctcpParams;

    const NEEDS: Needs = Needs {
        beta: true,
        ecn: EcnNeeds { feedback: Feedback::Counted, ect_on: Some(EctOn::All), ack_changes: true, ..EcnNeeds::USUAL },
        ..Needs::NONE
    };

    /// Returns DCTCP's requirements on ECN. In RFC 8257's form, the controller itself cuts the window, and the window keeps
    /// growing between cuts, even while marks arrive.
    fn ecn(own: &DctcpParams) -> EcnNeeds {
        match own.dctcp_form {
            DctcpForm::Rfc8257 => EcnNeeds { responder: Responder::Controller, ..Self::NEEDS.ecn },
            DctcpForm::Linux => Self::NEEDS.ecn,
        }
    }

    fn new(own: &DctcpParams, stack: &Stack<'_>) -> Self {
        let reno = Reno::new(&NoParams {}, stack);
        Self { reno, form: own.dctcp_form, alpha: 1.0, delivered: 0, marked: 0, window_end: 1 }
    }

    fn on_ack(&mut self, w: Window, s: &AckSample) -> Drive {
        if !self.count(s) {
            return self.reno.on_ack(w, s);
        }
        let cwnd = self.reduced(w.cwnd);
        Window { cwnd, ssthresh: cwnd }.into()
    }

    fn on_congestion(&mut self, w: Window, kind: Congestion, base: f64) -> Drive {
        match kind {
            Congestion::Loss => self.reno.on_congestion(w, kind, base),
            Congestion::Ecn => Window { ssthresh: self.reduced(base), ..w }.into(),
        }
    }

    fn probe(&self, out: &mut Reading<'_>) {
        out.number("alpha", self.alpha);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::{TcpParams, stack};
    use units::Rng;

    fn dctcp(form: DctcpForm) -> Dctcp {
        let p = TcpParams::preset("dctcp").unwrap().with(|p| {
            p.control.dctcp.dctcp_form = form;
            p.wire.mss = 1000;
            p.quirks.whole_segments = false;
        });
        Dctcp::new(&p.control.dctcp, &stack(&p))
    }

    /// Simulates a round of `segments` segments, `marked` of them with CE, all reported by a single ACK.
    fn round(c: &mut Dctcp, segments: u32, marked: u32) {
        let bytes = |n: u32| u64::from(n) * 1000;
        let (delivered, ce_bytes) = (bytes(segments), bytes(marked));
        let una = c.window_end + 1;
        let s = AckSample { segments, ce_packets: marked, delivered, ce_bytes, una, next: una, ..AckSample::default() };
        c.count(&AckSample { round_ended: true, ..s });
    }

    #[test]
    fn alpha_decays_and_rises_by_sixteenths() {
        for form in [DctcpForm::Rfc8257, DctcpForm::Linux] {
            let mut c = dctcp(form);
            // without marks, alpha is (15/16)^n after n rounds: 0.1045 after 35, 0.0979 after 36. Linux rounds down the sixteenth
            // that it subtracts, so its alpha may decay a little more slowly
            let mut n = 0;
            while c.alpha >= 0.1 {
                round(&mut c, 10, 0);
                n += 1;
            }
            assert!(n == 36 || form == DctcpForm::Linux && (36..38).contains(&n), "{form:?} {n}");
            // if all segments are marked, alpha rises from 0 to 1 - (15/16)^10 = 0.4755 in ten rounds
            c.alpha = 0.0;
            (0..10).for_each(|_| round(&mut c, 10, 10));
            assert!((c.alpha - 0.4755).abs() < if form == DctcpForm::Linux { 0.005 } else { 1e-4 }, "{}", c.alpha);
            // if 4 of 40 segments are marked, alpha converges to 0.1. In Linux's form, 64 * 4 / 40 = 6.4 is truncated to 6 per
            // round, so alpha stays where alpha >> 4 is 6, between 96 and 111
            (0..200).for_each(|_| round(&mut c, 40, 4));
            match form {
                DctcpForm::Rfc8257 => assert!((c.alpha - 0.1).abs() < 1e-4),
                DctcpForm::Linux => assert_eq!((c.alpha * 1024.0) as u32, 111),
            }
        }
    }

    #[test]
    fn linux_cuts_whole_segments() {
        let mut c = dctcp(DctcpForm::Linux);
        let mut cut = |alpha: f64, cwnd: f64| {
            c.alpha = alpha / 1024.0;
            c.on_congestion(Window { cwnd, ssthresh: 2.0 }, Congestion::Ecn, cwnd).ssthresh
        };
        // the cut is cwnd * alpha >> 11: 40 * 1024 >> 11 = 20;  40 * 100 >> 11 = 1 (1.95 truncated);  40 * 51 >> 11 = 0, because
        // alpha, 51/1024, is below 2/40;  3 * 1024 >> 11 = 1
        assert_eq!([cut(1024.0, 40.0), cut(100.0, 40.0), cut(51.0, 40.0), cut(1024.0, 3.0)], [20.0, 39.0, 40.0, 2.0]);
        // a round without marks reduces alpha by a sixteenth, or to 0 if alpha is below 16/1024
        for (from, to) in [(15.0, 0), (16.0, 15), (33.0, 31)] {
            c.alpha = from / 1024.0;
            round(&mut c, 10, 0);
            assert_eq!((c.alpha * 1024.0) as u32, to);
        }
        // a loss halves the window
        assert_eq!(c.on_congestion(Window { cwnd: 40.0, ssthresh: 2.0 }, Congestion::Loss, 40.0).ssthresh, 20.0);
    }

    /// Applies the rules of RFC 8257 §3.3 to windows of ten segments of 1000 bytes, acknowledged one by one.
    #[test]
    fn a_window_is_cut_at_its_end_by_the_new_alpha() {
        let mut c = dctcp(DctcpForm::Rfc8257);
        let mut w = Window { cwnd: 10.0, ssthresh: 2.0 };
        (c.alpha, c.window_end) = (0.5, 10_001);
        let mut cuts = vec![];
        for n in 1..=33 {
            // the third, fourth and twelfth segments are marked
            let marked = matches!(n, 3 | 4 | 12);
            let una = 1 + n * 1000;
            let s = AckSample {
                una,
                next: una + 10_000,
                credit: 1.0,
                delivered: 1000,
                ce_bytes: 1000 * u64::from(marked),
                marked,
                cwnd_limited: true,
                ..AckSample::default()
            };
            let before = w.cwnd;
            w.follow(&c.on_ack(w, &s));
            if w.cwnd < before {
                cuts.push((n, w.cwnd / before));
            }
        }
        // Alpha is 1/2 at first. The first window ends with the 11th ACK, the first one above sequence number 10 001.
        // Two of its 11 segments are marked (M = 2/11), so alpha = 15/16 * 1/2 + 1/16 * 2/11 = 0.480114. The second
        // window ends with the 22nd ACK, the first one above 21 001. Here M = 1/11, so alpha = 0.455788. The third
        // window has no marks
        assert_eq!(cuts.iter().map(|cut| cut.0).collect::<Vec<_>>(), [11, 22]);
        for ((_, left), alpha) in cuts.iter().zip([0.480_114, 0.455_788]) {
            assert!((left - (1.0 - alpha / 2.0)).abs() < 1e-6, "{left} {alpha}");
        }
    }

    #[test]
    fn a_window_that_lost_something_is_not_cut_for_its_marks_too() {
        let mut c = dctcp(DctcpForm::Rfc8257);
        for (state, cut) in [(State::Open, true), (State::Recovery, false), (State::Loss, false)] {
            let una = c.window_end + 1;
            let s = AckSample { state, una, next: una, delivered: 1000, ce_bytes: 1000, ..AckSample::default() };
            let w = Window { cwnd: 10.0, ssthresh: 2.0 };
            assert_eq!(c.on_ack(w, &s).cwnd < 10.0, cut, "{state:?}");
        }
    }

    /// Returns the mean window over 4000 round trips. `marks` is called for each segment, and returns true if it is marked.
    fn mean_window(mut marks: impl FnMut() -> bool) -> f64 {
        let mut c = dctcp(DctcpForm::Rfc8257);
        let mut w = Window { cwnd: 20.0, ssthresh: 2.0 };
        let (mut sum, mut una, rounds) = (0.0, 1, 4000);
        for n in 0..rounds + 500 {
            let next_round = una + 1000 * w.cwnd as u64;
            sum += if n < 500 { 0.0 } else { w.cwnd };
            while una < next_round {
                una += 1000;
                let marked = marks();
                let s = AckSample {
                    una,
                    // SND.NXT is one window above `una`: the sender fills the window again after each ACK
                    next: una + 1000 * w.cwnd as u64,
                    credit: 1.0,
                    segments: 1,
                    ce_packets: u32::from(marked),
                    delivered: 1000,
                    ce_bytes: 1000 * u64::from(marked),
                    marked,
                    cwnd_limited: true,
                    round_ended: una >= next_round,
                    ..AckSample::default()
                };
                w.follow(&c.on_ack(w, &s));
            }
        }
        sum / f64::from(rounds)
    }

    #[test]
    fn the_window_is_two_over_the_share_of_marks() {
        for p in [0.1, 0.02] {
            // with evenly spaced marks, every round has a mark, so every round has a cut. The window is steady when a
            // cut removes the one segment by which the window grows per round. The cut is a fraction alpha / 2 = p / 2
            // of the window, so the steady window is 2/p
            let mut sum = 0.0;
            let even = mean_window(|| {
                sum += p;
                let hit = sum >= 1.0;
                sum -= if hit { 1.0 } else { 0.0 };
                hit
            });
            // the tolerance is p + 0.05, for two reasons. The ACK that cuts the window does not also grow the window.
            // And each round has a whole number of segments, so a fraction of a segment in the window is not used. This
            // matters most for p = 0.1, because the window is then only about 20 segments
            assert!((even * p / 2.0 - 1.0).abs() < 0.05 + p, "{p}: {even}");
            // with random marks, a round without a mark has no cut. In a round with a mark, the cut is still p/2 of the
            // window. If x/p is the mean window, then x (1 - (1 - p)^(x/p)) = 2, so x = 2.21 for p = 0.1 and 2.23 for p
            // = 0.02
            let mut rng = Rng::named(7, "marks");
            let random = mean_window(|| rng.chance(p));
            let x = if p == 0.1 { 2.21 } else { 2.23 };
            assert!((random * p / x - 1.0).abs() < 0.05 + p, "{p}: {random}");
        }
    }
}
