//! The algorithm that replaces the growth of the first slow start, if `hystart` selects one.

use super::control::{AckSample, Drive, Stack, Window};
use super::hystart_pp::HyStartPp;
use super::rapid_start::RapidStart;
use super::search::Search;
use super::shared::HyStart as Axis;
use packet::Reading;
use units::Time;

/// The state of the first slow start of one flow. Boxed, because few flows have it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum FirstStart {
    /// The controller's own growth.
    #[default]
    Off,
    HyStartPp(Box<HyStartPp>),
    Search(Box<Search>),
    RapidStart(Box<RapidStart>),
}

impl FirstStart {
    /// Creates the state of a new connection.
    pub(super) fn new(stack: &Stack<'_>) -> Self {
        match stack.shared.hystart {
            Axis::Off | Axis::Hystart => Self::Off,
            Axis::Rfc9406 => Self::HyStartPp(Box::new(HyStartPp::new(stack.paced))),
            Axis::Search => Self::Search(Box::new(Search::new(stack))),
            Axis::RapidStart => Self::RapidStart(Box::new(RapidStart::new(stack))),
        }
    }

    /// Returns true during the first slow start, which ends when the algorithm, a loss or an ECN echo sets ssthresh.
    /// Always returns false with `initial_ssthresh`.
    #[inline]
    fn applies(w: &Window) -> bool {
        w.ssthresh.is_infinite()
    }

    /// Processes the round-trip time of the handshake, `us` microseconds.
    pub(super) fn on_handshake(&mut self, now: Time, us: u32) {
        if let Self::Search(search) = self {
            search.begin(now, us);
        }
    }

    /// Processes an ACK of the first slow start. Returns false if no algorithm replaces the growth of the window, or if
    /// the first slow start has ended. In these cases, the controller itself grows the window.
    #[inline]
    pub(super) fn on_ack(&mut self, w: &mut Window, s: &AckSample) -> bool {
        let applies = Self::applies(w);
        match self {
            Self::HyStartPp(start) if applies => start.on_ack(w, s, s.credit),
            Self::Search(search) if applies => search.on_ack(w, s, s.credit),
            Self::RapidStart(start) if applies => start.on_ack(w, s, s.credit),
            _ => return false,
        }
        true
    }

    /// Processes an ACK before the controller does. Called for every ACK, even if the window must not grow. If the
    /// algorithm also controls the first recovery (as Rapid Start does), returns the output for each ACK of that
    /// recovery.
    #[inline]
    pub(super) fn on_any_ack(&mut self, w: Window, s: &AckSample) -> Option<Drive> {
        let Self::RapidStart(start) = self else { return None };
        if start.recovers()
            && let Some(d) = start.on_recovery_ack(w, s)
        {
            return Some(d);
        }
        start.note(s);
        None
    }

    /// Returns the response to a congestion event: the algorithm's own response if it has one, and otherwise `d`, the
    /// usual response of the controller. The usual response multiplies the window by `beta`.
    pub(super) fn on_congestion(&mut self, w: Window, beta: f64, d: Drive) -> Drive {
        match self {
            Self::RapidStart(start) if Self::applies(&w) => {
                start.on_congestion(Window { cwnd: w.cwnd, ssthresh: d.ssthresh }, beta)
            }
            _ => d,
        }
    }

    pub(super) fn on_rto(&mut self) {
        if let Self::RapidStart(start) = self {
            start.on_rto();
        }
    }

    pub(super) fn probe(&self, out: &mut Reading<'_>) {
        match self {
            Self::Off => {}
            Self::HyStartPp(start) => start.probe(out),
            Self::Search(search) => search.probe(out),
            Self::RapidStart(start) => start.probe(out),
        }
    }
}
