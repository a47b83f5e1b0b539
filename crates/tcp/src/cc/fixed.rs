//! A constant window: no response to losses, delays or marks.
//!
//! ```text
//! begin:          ssthresh = initial window, unless the stack sets an initial ssthresh
//! cwnd < ssthresh:  cwnd += 1 per segment acknowledged, up to ssthresh (after a timeout, or at the start)
//! otherwise:      cwnd does not change
//! ```
//!
//! A program that drives the run may set the window and ssthresh from outside ([`crate::Steer`]). The program is then the
//! real controller, and `fixed` holds the window between two settings. Unsuitable for the Internet.
//!
//! Source: RFC 5681 §3.1 for slow start.
//! Departs: a loss lowers neither cwnd nor ssthresh. After a timeout, the window begins at one segment plus the data
//! still in flight, as with every controller.

use super::control::{AckSample, Congestion, Control, Drive, EcnNeeds, Needs, Responder, Silence, Stack, Window};
use super::shared::NoParams;
use packet::Reading;

/// The controller. It has no state besides the window.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Fixed;

/// Keeps the window. Replaces an infinite threshold with the current window.
fn hold(w: Window) -> Drive {
    let ssthresh = if w.ssthresh.is_infinite() { w.cwnd } else { w.ssthresh };
    Drive { reduction: false, ..Window { ssthresh, ..w }.into() }
}

impl Control for Fixed {
    type Params = NoParams;

    const NEEDS: Needs = Needs { ecn: EcnNeeds { responder: Responder::Controller, ..EcnNeeds::USUAL }, ..Needs::NONE };

    fn new(_: &NoParams, _: &Stack<'_>) -> Self {
        Self
    }

    fn begin(&mut self, w: Window) -> Drive {
        hold(w)
    }

    #[inline]
    fn on_ack(&mut self, mut w: Window, s: &AckSample) -> Drive {
        if !s.rests && w.slow_start() {
            w.grow_in_slow_start(s.credit);
        }
        Drive { reduction: false, ..w.into() }
    }

    fn on_congestion(&mut self, w: Window, _: Congestion, _: f64) -> Drive {
        hold(w)
    }

    fn on_undo(&mut self, w: Window, _: Option<Window>) -> Drive {
        hold(Window { cwnd: w.cwnd.max(w.ssthresh), ..w })
    }

    /// Leaves the window and the threshold as they are.
    fn on_idle(&mut self, w: Window, _: Silence) -> Option<Drive> {
        Some(Drive { reduction: false, ..w.into() })
    }

    fn probe(&self, _: &mut Reading<'_>) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Duration, Time};

    #[test]
    fn the_window_is_held_and_found_again_after_a_timeout() {
        let mut c = Fixed;
        let mut w = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
        w.follow(&c.begin(w));
        assert_eq!(w, Window { cwnd: 10.0, ssthresh: 10.0 });
        let s = AckSample { credit: 2.0, cwnd_limited: true, ..AckSample::default() };
        for kind in [Congestion::Loss, Congestion::Ecn] {
            let d = c.on_congestion(w, kind, w.cwnd);
            assert!(!d.reduction);
            w.follow(&d);
            w.follow(&c.on_ack(w, &s));
            assert_eq!(w, Window { cwnd: 10.0, ssthresh: 10.0 });
        }
        // an idle period does not restart the window
        let silence = Silence { now: Time(9_000_000_000), idle: Duration::from_secs(8), app_limited: false };
        assert_eq!(c.on_idle(w, silence), Some(hold(w)));
        assert!(!hold(w).reduction);
        // after a timeout the window is 1; ACKs of two segments make it 3, 5, 7, 9, and then 10
        c.on_rto(w);
        w.cwnd = 1.0;
        let seen = [(); 6].map(|()| {
            w.follow(&c.on_ack(w, &s));
            w.cwnd
        });
        assert_eq!(seen, [3.0, 5.0, 7.0, 9.0, 10.0, 10.0]);
        // after a spurious timeout, the window returns to the threshold, 10, not to its size before the timeout
        w.cwnd = 1.0;
        w.follow(&c.on_undo(w, Some(Window { cwnd: 40.0, ssthresh: 40.0 })));
        assert_eq!(w, Window { cwnd: 10.0, ssthresh: 10.0 });
    }
}
