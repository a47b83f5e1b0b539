//! Congestion controllers: one file each, dispatched by a closed enum.
//!
//! A controller keeps the [`Window`] in segments with a fraction. The sender tells it what happened; how the window gets
//! down to ssthresh during a recovery is the sender's reduction, not the controller's.
//! BBR is the exception: it models the path, owns the window also in a recovery, and paces (`sender::paced`).

pub(crate) mod bbr;
mod cubic;
mod cubic_2_6_22;
mod cubic_linux;
mod hystart;
mod ledbat;
mod linux;
mod reno;

use crate::sender::paced::Paced;
use crate::{CongestionControl, CubicForm, TcpParams};
use units::{Duration, Time};

pub(crate) use bbr::Delivery;
use cubic::Cubic;
use cubic_2_6_22::Cubic2622;
use cubic_linux::CubicLinux;
use ledbat::Ledbat;
pub use ledbat::LedbatParams;

/// Congestion window and slow start threshold, segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Congestion window.
    pub cwnd: f64,
    /// Slow start threshold; infinite until the first congestion event unless given.
    pub ssthresh: f64,
}

impl Window {
    /// Below ssthresh the window grows by what is acknowledged.
    #[inline]
    pub fn slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Grows by `credit` segments up to ssthresh; returns what is left for congestion avoidance.
    #[inline]
    fn grow_in_slow_start(&mut self, credit: f64) -> f64 {
        let used = credit.min(self.ssthresh - self.cwnd);
        self.cwnd += used;
        credit - used
    }
}

/// What one ACK of new data tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSample {
    /// Moment of the ACK.
    pub now: Time,
    /// Segments newly acknowledged cumulatively (a fraction if they were not full).
    pub acked: f64,
    /// Segments that count for growth: what the ACK newly delivers, cumulatively or by SACK, bounded by `abc_limit`.
    pub credit: f64,
    /// Round trip measured by this ACK, microseconds.
    pub rtt_us: Option<u32>,
    /// One-way delay that this ACK tells of: its TSval less its TSecr, microseconds modulo 2^32, the offset of the two clocks
    /// included. Only if the host carries the ACK's time stamp ([`TcpParams::reads_ack_time`]).
    pub one_way_us: Option<u32>,
    /// Smoothed round trip.
    pub srtt: Duration,
    /// Bytes in flight before the ACK.
    pub in_flight: u64,
    /// Everything below is acknowledged.
    pub una: u64,
    /// Next new byte to send.
    pub next: u64,
    /// The window was what limited the sender; it may grow only then.
    pub cwnd_limited: bool,
    /// Neither a recovery nor a timeout is under way.
    pub open: bool,
}

/// What was taken for congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// A loss found by duplicate ACKs or SACK.
    Loss,
    /// An ECN echo.
    Ecn,
}

/// The state of one flow's controller; boxed, so that a flow does not pay for another's.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Controller {
    Reno,
    Cubic(Box<Cubic>),
    Cubic2622(Box<Cubic2622>),
    CubicLinux(Box<CubicLinux>),
    Ledbat(Box<Ledbat>),
    Bbr(Box<Paced>),
}

impl Controller {
    pub(crate) fn new(p: &TcpParams) -> Self {
        match p.congestion_control {
            CongestionControl::Reno => Self::Reno,
            CongestionControl::Cubic => match p.cubic_form {
                CubicForm::Rfc9438 => Self::Cubic(Box::new(Cubic::new())),
                CubicForm::Linux => Self::CubicLinux(Box::new(CubicLinux::new())),
            },
            CongestionControl::Cubic2622 => Self::Cubic2622(Box::new(Cubic2622::new())),
            CongestionControl::Ledbat => Self::Ledbat(Box::new(Ledbat::new())),
            CongestionControl::Bbr => Self::Bbr(Box::new(Paced::new(p))),
        }
    }

    /// The controller sets the window in a recovery, too, and answers no ECN echo.
    #[inline]
    pub(crate) fn owns_window(&self) -> bool {
        matches!(self, Self::Bbr(_))
    }

    /// New data was acknowledged, in open state or after a timeout.
    #[inline]
    pub(crate) fn on_ack(&mut self, p: &TcpParams, w: &mut Window, s: &RateSample) {
        match self {
            Self::Reno => reno::on_ack(p, w, s),
            Self::Cubic(c) => c.on_ack(p, w, s),
            Self::Cubic2622(c) => c.on_ack(p, w, s),
            Self::CubicLinux(c) => c.on_ack(p, w, s),
            Self::Ledbat(c) => c.on_ack(p, w, s),
            // it learns from every ACK, not only from those of new data: see `sender::paced`
            Self::Bbr(_) => {}
        }
    }

    /// Congestion: sets ssthresh from `base` (the window or the flight, segments).
    pub(crate) fn on_congestion(&mut self, p: &TcpParams, w: &mut Window, _kind: Congestion, base: f64) {
        w.ssthresh = match self {
            Self::Reno => reno::ssthresh(p, base),
            Self::Cubic(c) => c.on_congestion(p, base),
            Self::Cubic2622(c) => c.on_congestion(p, base),
            Self::CubicLinux(c) => c.on_congestion(p, base),
            Self::Ledbat(_) => Ledbat::ssthresh(p, base),
            Self::Bbr(m) => return m.bbr.on_congestion(w),
        };
    }

    /// A timeout. `base` is as for congestion, or absent if the same data timed out before or a recovery already took
    /// its share: then ssthresh stays.
    pub(crate) fn on_rto(&mut self, p: &TcpParams, w: &mut Window, base: Option<f64>) {
        if let Some(base) = base {
            self.on_congestion(p, w, Congestion::Loss, base);
        }
        match self {
            Self::Reno | Self::Ledbat(_) => {}
            Self::Cubic(c) => c.on_rto(),
            Self::Cubic2622(c) => c.reset(),
            Self::CubicLinux(c) => c.reset(),
            Self::Bbr(m) => m.bbr.on_rto(w),
        }
        w.cwnd = 1.0;
    }

    /// The application was silent for `idle` with nothing in flight.
    pub(crate) fn on_idle(&mut self, now: Time, idle: Duration) {
        match self {
            // 2.6.22 lets the epoch's clock run through silence
            Self::Reno | Self::Ledbat(_) | Self::Bbr(_) | Self::Cubic2622(_) => {}
            Self::Cubic(c) => c.on_idle(now, idle),
            Self::CubicLinux(c) => c.on_idle(now, idle),
        }
    }
}
