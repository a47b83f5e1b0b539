//! Reno's window.
//!
//! ```text
//! slow start:            cwnd += 1 per segment acknowledged
//! congestion avoidance:  cwnd += 1/cwnd per segment acknowledged
//! congestion:            ssthresh = max(beta * base, 2), beta = 1/2
//! ```
//!
//! Source: RFC 5681 §3.1; RFC 3465 for `abc_limit` above 1. It has no state beyond the window.

use super::{RateSample, Window};
use crate::TcpParams;

#[inline]
pub(super) fn on_ack(w: &mut Window, s: &RateSample) {
    if !s.cwnd_limited {
        return;
    }
    let mut credit = s.credit;
    if w.slow_start() {
        credit = w.grow_in_slow_start(credit);
    }
    if credit > 0.0 {
        w.cwnd += credit / w.cwnd;
    }
}

pub(super) fn ssthresh(p: &TcpParams, base: f64) -> f64 {
    (base * p.beta()).max(2.0)
}
