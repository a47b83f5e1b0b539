//! Changes settings of a sender while it runs (see [`Steer`]).

use super::Endpoint;
use crate::params::TcpParams;
use crate::receiver::Phase;
use crate::segment::Io;
use crate::steer::{Steer, Steerable};
use units::Time;

impl Endpoint {
    /// Returns the pacing rate, payload bytes per second; `None` if the sender does not pace.
    pub fn pacing_rate(&self) -> Option<f64> {
        self.tx.pacing_rate()
    }

    /// Returns the MSS, and whether [`Endpoint::steer`] can set the pacing rate.
    pub fn steerable(&self, p: &TcpParams) -> Steerable {
        Steerable { mss: p.wire.mss, pacing_rate: self.tx.can_pace(p) }
    }

    /// Applies one setting, and sends the segments that the new value allows.
    pub fn steer(&mut self, p: &TcpParams, now: Time, set: Steer, io: &mut impl Io) {
        let segments = |bytes: u64| bytes as f64 / f64::from(p.wire.mss);
        match set {
            Steer::Cwnd(bytes) => self.tx.window.cwnd = segments(bytes).max(1.0),
            Steer::Ssthresh(bytes) => self.tx.window.ssthresh = bytes.map_or(f64::INFINITY, segments),
            Steer::PacingRate(rate) if self.tx.can_pace(p) => self.tx.set_pacing_rate(now, rate),
            Steer::PacingRate(_) => {}
        }
        if self.rx.phase == Phase::Established && !self.rx.quiet {
            self.proceed(p, now, io);
        }
    }
}
