//! DCTCP: the window is reduced by the share of packets marked, not by the presence of a mark.
//!
//! ```text
//! a window ends:  alpha <- (1 - g) alpha + g M,   M = share of what it acknowledged that was marked,  g = 1/16, alpha 1 at first
//! marks in it:    cwnd <- cwnd (1 - alpha / 2)                                  growth and the response to a loss are Reno's
//!
//! rfc8257:  a window ends when SND.UNA exceeds SND.NXT at its start; M in bytes; the cut follows, with the new alpha
//! linux:  a window ends with the last byte sent before it began;  the cut begins at the first mark, with the old alpha;
//!         alpha in 1/1024, M of segments:  alpha <- alpha - alpha >> 4 (all of it below 16) + (64 marked) / segments
//!         ssthresh = cwnd - (cwnd alpha) >> 11, whole segments: no cut below alpha = 2/cwnd;  the sender's `reduction` takes
//!         the window there in a round, in which it does not grow
//! ```
//!
//! In equilibrium a window has 2/alpha segments; a queue that marks by a step marks whole rounds.
//!
//! Source: RFC 8257 §3.3; Linux 7.3 as lab traces show it.
//! Departs: Linux halves the window for a loss also when it comes in the round after a mark; here only that round's cut applies.

use super::control::{AckSample, Congestion, Control, Drive, EcnNeeds, Feedback, Needs, Responder, Stack, Window};
use super::reno::Reno;
use super::shared::NoParams;
use crate::params::EctOn;
use crate::params::group::{group, words};
use crate::stats::State;
use packet::Reading;

/// g.   Source: RFC 8257 §4.2.
const GAIN: f64 = 1.0 / 16.0;
/// An alpha of 1 in Linux' form.
const ONE: u32 = 1024;
/// Linux' g, as a shift.
const SHIFT: u32 = 4;
/// Smallest window, segments.
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
        /// As described: shares of bytes, one cut at the end of each window that had marks, growth otherwise.   Source: RFC
        /// 8257 §3.3.
        "rfc8257" Rfc8257,
        /// As Linux runs it: alpha in 1024ths, shares and cuts of whole segments, no growth in the round after a mark.
        "linux" Linux,
    }
}

/// State of one flow.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Dctcp {
    reno: Reno,
    form: DctcpForm,
    /// DCTCP.Alpha; in Linux' form a whole number of 1024ths.
    alpha: f64,
    /// Data delivered in this round, and data marked: bytes, or segments in Linux' form.
    delivered: u64,
    marked: u64,
    /// RFC 8257's DCTCP.WindowEnd.
    window_end: u64,
}

impl Dctcp {
    /// Ends the round: updates alpha.
    fn update(&mut self) {
        self.alpha = match self.form {
            DctcpForm::Rfc8257 if self.delivered == 0 => self.alpha,
            DctcpForm::Rfc8257 => (1.0 - GAIN) * self.alpha + GAIN * self.marked as f64 / self.delivered as f64,
            DctcpForm::Linux => self.update_whole() / f64::from(ONE),
        };
        (self.delivered, self.marked) = (0, 0);
    }

    /// Counts the marks reported by an ACK. RFC 8257: returns true if the ACK ends a window with marks, and the window must be
    /// cut.
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
        // a loss in the same window has already reduced it
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

    /// Returns the window after a cut for marks.
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
        ecn: EcnNeeds { feedback: Feedback::Counted, ect_on: Some(EctOn::All), ack_changes: true, ..EcnNeeds::USUAL },
        ..Needs::NONE
    };

    /// In RFC 8257's form the window grows before and after the cut, which is made here.
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

    /// A round of `segments`, of which `marked` are marked, reported by one ACK.
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
            // (15/16)^36 = 0.0979, (15/16)^35 = 0.1045. Linux cuts off what is below 1/1024: a little faster
            let mut n = 0;
            while c.alpha >= 0.1 {
                round(&mut c, 10, 0);
                n += 1;
            }
            assert!(n == 36 || form == DctcpForm::Linux && (36..38).contains(&n), "{form:?} {n}");
            // all marked from 0: 1 - (15/16)^10 = 0.4755
            c.alpha = 0.0;
            (0..10).for_each(|_| round(&mut c, 10, 10));
            assert!((c.alpha - 0.4755).abs() < if form == DctcpForm::Linux { 0.005 } else { 1e-4 }, "{}", c.alpha);
            // every tenth of 40: exactly a tenth. Linux: 64 * 4 / 40 = 6.4, truncated to 6; alpha stays where alpha >> 4 is 6, 96 to
            // 111
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
        // 40 * 1024 >> 11 = 20;  40 * 100 >> 11 = 1 (1.95);  40 * 51 >> 11 = 0: alpha is below 2/40
        assert_eq!([cut(1024.0, 40.0), cut(100.0, 40.0), cut(51.0, 40.0), cut(1024.0, 3.0)], [20.0, 39.0, 40.0, 2.0]);
        // below 16 alpha is gone at once, else a sixteenth
        for (from, to) in [(15.0, 0), (16.0, 15), (33.0, 31)] {
            c.alpha = from / 1024.0;
            round(&mut c, 10, 0);
            assert_eq!((c.alpha * 1024.0) as u32, to);
        }
        // a loss halves
        assert_eq!(c.on_congestion(Window { cwnd: 40.0, ssthresh: 2.0 }, Congestion::Loss, 40.0).ssthresh, 20.0);
    }

    /// RFC 8257 §3.3 by hand: ten segments of 1000 bytes in each window, acknowledged one by one.
    #[test]
    fn a_window_is_cut_at_its_end_by_the_new_alpha() {
        let mut c = dctcp(DctcpForm::Rfc8257);
        let mut w = Window { cwnd: 10.0, ssthresh: 2.0 };
        (c.alpha, c.window_end) = (0.5, 10_001);
        let mut cuts = vec![];
        for n in 1..=33 {
            // the third, the fourth and the twelfth are marked
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
        // the first window ends with the ACK above 10 001, the eleventh:  M = 2/11,  alpha = 15/16 1/2 + 1/16 2/11 = 0.480114;
        // the second one, to 21 001, with the 22nd:  M = 1/11,  alpha = 0.455788;  the third had no marks
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

    /// The mean window of many round trips; `marks` returns true for each segment that is marked.
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
                    // a window beyond it: what an ACK lets out
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
            // evenly: every round has a mark and is cut by alpha / 2, as much as it grew
            let mut sum = 0.0;
            let even = mean_window(|| {
                sum += p;
                let hit = sum >= 1.0;
                sum -= if hit { 1.0 } else { 0.0 };
                hit
            });
            // one ACK of each window cuts instead of growing, and windows are whole: a segment in 20
            assert!((even * p / 2.0 - 1.0).abs() < 0.05 + p, "{p}: {even}");
            // at random, rounds without a mark escape: x (1 - (1 - p)^(x/p)) = 2 at x = 2.22 and 2.24
            let mut rng = Rng::named(7, "marks");
            let random = mean_window(|| rng.chance(p));
            let x = if p == 0.1 { 2.22 } else { 2.24 };
            assert!((random * p / x - 1.0).abs() < 0.05 + p, "{p}: {random}");
        }
    }
}
