//! Settings of a sender from outside, between two events.
//!
//! A setting replaces the present value. The controller continues from it, as after any other event: it may move the window with
//! the next ACK.

use super::Endpoint;
use crate::params::TcpParams;
use crate::receiver::Phase;
use crate::segment::Io;
use units::Time;

/// A new value for a sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Steer {
    /// Congestion window, bytes; at least one segment is used.
    Cwnd(u64),
    /// Slow start threshold, bytes; `None` for an infinite one.
    Ssthresh(Option<u64>),
    /// Pacing rate, payload bytes per second; `None` stops pacing. Ignored unless [`Steerable::pacing_rate`].
    PacingRate(Option<f64>),
}

/// The limits of the settings of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steerable {
    /// Largest payload of a segment, bytes.
    pub mss: u32,
    /// True if neither the controller nor the stack sets a pacing rate.
    pub pacing_rate: bool,
}

impl Endpoint {
    /// Returns the pacing rate, payload bytes per second; `None` if the sender does not pace.
    pub fn pacing_rate(&self) -> Option<f64> {
        self.tx.pacing_rate()
    }

    /// Returns the limits of [`Endpoint::steer`].
    pub fn steerable(&self, p: &TcpParams) -> Steerable {
        Steerable { mss: p.wire.mss, pacing_rate: self.tx.can_pace(p) }
    }

    /// Sets a value of the sender, and sends what it then may.
    pub fn steer(&mut self, p: &TcpParams, now: Time, set: Steer, io: &mut impl Io) {
        let segments = |bytes: u64| bytes as f64 / f64::from(p.wire.mss);
        match set {
            Steer::Cwnd(bytes) => self.tx.window.cwnd = segments(bytes).max(1.0),
            Steer::Ssthresh(bytes) => self.tx.window.ssthresh = bytes.map_or(f64::INFINITY, segments),
            Steer::PacingRate(rate) if self.tx.can_pace(p) => self.tx.set_pacing_rate(rate),
            Steer::PacingRate(_) => {}
        }
        if self.rx.phase == Phase::Established && !self.rx.quiet {
            self.proceed(p, now, io);
        }
    }
}
