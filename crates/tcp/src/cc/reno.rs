//! Reno's window.
//!
//! ```text
//! slow start:            cwnd += 1 per segment acknowledged
//! congestion avoidance:  cwnd += 1/cwnd per segment acknowledged; with whole_segments, 1/floor(cwnd)
//! congestion:            ssthresh = max(beta * base, 2), beta = 1/2
//! ```
//!
//! Source: RFC 5681 §3.1; RFC 3465 for `abc_limit` above 1. It has no state beyond the window.

use super::{RateSample, Window};
use crate::TcpParams;

/// What sums of fractions may be off a whole number: five times a fifth are one.
const ROUNDING: f64 = 1e-9;

#[inline]
pub(super) fn on_ack(p: &TcpParams, w: &mut Window, s: &RateSample) {
    if !s.cwnd_limited {
        return;
    }
    let mut credit = s.credit;
    if w.slow_start() {
        credit = w.grow_in_slow_start(credit);
    }
    if credit > 0.0 {
        w.cwnd += credit / if p.whole_segments { w.cwnd.floor() } else { w.cwnd };
        let whole = w.cwnd.round();
        if p.whole_segments && (w.cwnd - whole).abs() < ROUNDING {
            w.cwnd = whole;
        }
    }
}

pub(super) fn ssthresh(p: &TcpParams, base: f64) -> f64 {
    (base * p.beta()).max(2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Duration, Time};

    #[test]
    fn linux_counts_to_the_window() {
        let p = TcpParams::preset("linux-6").unwrap();
        let s = RateSample {
            now: Time(0),
            acked: 1.0,
            credit: 1.0,
            rtt_us: None,
            one_way_us: None,
            srtt: Duration::ZERO,
            in_flight: 0,
            una: 0,
            next: 0,
            cwnd_limited: true,
            open: true,
        };
        // a window of 5 becomes 10 after 5 + 6 + 7 + 8 + 9 = 35 segments. Divided by a window with a fraction, w^2 grows by 2 + 1/w^2
        // for each, which sum to ln(w / 5): 25 + 70 + 0.67 = 9.781^2 after 35, and 10 after 38
        for (whole_segments, at_35, segments) in [(true, 10.0, 35), (false, 9.781, 38)] {
            let p = TcpParams { whole_segments, ..p.clone() };
            let mut w = Window { cwnd: 5.0, ssthresh: 5.0 };
            let mut n = 0;
            while w.cwnd < 10.0 {
                on_ack(&p, &mut w, &s);
                n += 1;
                assert!(n != 35 || (w.cwnd - at_35).abs() < 0.001, "{}", w.cwnd);
            }
            assert_eq!(n, segments);
        }
    }
}
