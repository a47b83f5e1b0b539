//! Reno: additive increase, multiplicative decrease.
//!
//! ```text
//! slow start:            cwnd += 1 per segment acknowledged
//! congestion avoidance:  cwnd += 1/cwnd per segment acknowledged, or 1/floor(cwnd) with `whole_segments`
//! congestion:            ssthresh = max(beta * base, 2);  base = the window, or FlightSize with `reduce_from_flight`
//!                        beta = 1/2 by default;  beta_ecn, if set, replaces beta for marks outside slow start (`abe.rs`)
//! ```
//!
//! `hystart` may select HyStart++, SEARCH or Rapid Start for the first slow start (`first_start.rs`).
//!
//! Source: RFC 5681 §3.1; RFC 3465 for `abc_limit` above 1.

use super::abe::Backoff;
use super::control::{AckSample, Congestion, Control, Drive, Needs, Stack, Window};
use super::first_start::FirstStart;
use super::shared::NoParams;
use packet::Reading;
use units::Time;

/// A window that differs from a whole number by less than this is set to the whole number, so that five fifths of a
/// segment add up to one segment.
const ROUNDING: f64 = 1e-9;

/// Default of `beta`: share of the window kept after congestion.
const BETA: f64 = 0.5;

/// Reno: the parameters of one flow. The sender stores the window.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Reno {
    backoff: Backoff,
    whole_segments: bool,
}

impl Control for Reno {
    type Params = NoParams;

    fn new(_: &NoParams, stack: &Stack<'_>) -> Self {
        Self { backoff: Backoff::new(stack.shared, BETA), whole_segments: stack.whole_segments }
    }

    #[inline]
    fn on_ack(&mut self, mut w: Window, s: &AckSample) -> Drive {
        if s.rests || !s.cwnd_limited {
            return w.into();
        }
        let mut credit = s.credit;
        if w.slow_start() {
            credit = w.grow_in_slow_start(credit);
        }
        if credit > 0.0 {
            if self.whole_segments {
                // `as u32` rounds a positive number down, in one instruction; `floor` and `round` are calls
                w.cwnd += credit / f64::from(w.cwnd as u32);
                let whole = f64::from((w.cwnd + 0.5) as u32);
                if (w.cwnd - whole).abs() < ROUNDING {
                    w.cwnd = whole;
                }
            } else {
                w.cwnd += credit / w.cwnd;
            }
        }
        w.into()
    }

    fn on_congestion(&mut self, w: Window, kind: Congestion, base: f64) -> Drive {
        Window { ssthresh: (base * self.backoff.left(w, kind)).max(2.0), ..w }.into()
    }

    fn probe(&self, _: &mut Reading<'_>) {}
}

/// Reno, together with the algorithm that `hystart` selects for the first slow start.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RenoFlow {
    reno: Reno,
    start: FirstStart,
}

impl Control for RenoFlow {
    type Params = NoParams;

    const NEEDS: Needs = Needs { beta: true, beta_ecn: true, ..Needs::NONE };

    fn new(own: &NoParams, stack: &Stack<'_>) -> Self {
        Self { reno: Reno::new(own, stack), start: FirstStart::new(stack) }
    }

    fn on_handshake(&mut self, _: Window, now: Time, us: u32) -> Option<Drive> {
        self.start.on_handshake(now, us);
        None
    }

    #[inline]
    fn on_ack(&mut self, mut w: Window, s: &AckSample) -> Drive {
        if let Some(d) = self.start.on_any_ack(w, s) {
            return d;
        }
        if !s.rests && self.start.on_ack(&mut w, s) { w.into() } else { self.reno.on_ack(w, s) }
    }

    fn on_congestion(&mut self, w: Window, kind: Congestion, base: f64) -> Drive {
        let d = self.reno.on_congestion(w, kind, base);
        let beta = self.reno.backoff.left(w, kind);
        self.start.on_congestion(w, beta, d)
    }

    fn on_rto(&mut self, _: Window) {
        self.start.on_rto();
    }

    fn probe(&self, out: &mut Reading<'_>) {
        self.start.probe(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::{TcpParams, stack};

    #[test]
    fn linux_counts_to_the_window() {
        let p = TcpParams::preset("linux-6").unwrap();
        let s = AckSample { credit: 1.0, cwnd_limited: true, ..AckSample::default() };
        // with whole segments, a window of 5 becomes 10 after 5 + 6 + 7 + 8 + 9 = 35 segments. With fractions, each
        // segment adds 1/w to the window w, so w^2 grows by 2 + 1/w^2. The terms 1/w^2 sum to about ln(w / 5): after 35
        // segments, w^2 = 25 + 70 + 0.67 = 9.781^2. The 38th segment takes the window above 10
        for (whole_segments, at_35, segments) in [(true, 10.0, 35), (false, 9.781, 38)] {
            let p = p.clone().with(|p| p.quirks.whole_segments = whole_segments);
            let mut reno = Reno::new(&NoParams {}, &stack(&p));
            let mut w = Window { cwnd: 5.0, ssthresh: 5.0 };
            let mut n = 0;
            while w.cwnd < 10.0 {
                w.follow(&reno.on_ack(w, &s));
                n += 1;
                assert!(n != 35 || (w.cwnd - at_35).abs() < 0.001, "{}", w.cwnd);
            }
            assert_eq!(n, segments);
        }
    }
}
