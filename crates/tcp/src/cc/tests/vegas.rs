//! Vegas: keeps a given number of segments in the queue.
//!
//! ```text
//! once a round trip:  diff = cwnd (RTT - base) / RTT,   RTT = minimum RTT of the round, base = minimum RTT so far
//!                     cwnd += 1 if diff < vegas_alpha;  cwnd -= 1 if diff > vegas_beta
//! congestion, slow start:  as Reno
//! ```
//!
//! Source: Brakmo & Peterson 1995.
//! Departs: slow start doubles the window every round trip instead of every second one. It ends at a loss, at a mark, or once
//! diff exceeds vegas_beta.

use super::control::{AckSample, Congestion, Control, Drive, Stack, Window};
use super::reno::Reno;
use super::shared::NoParams;
use crate::params::group::{group, require};
use packet::Reading;
use units::Problem;

group! {
    /// Parameters of Vegas.
    pub(crate) struct VegasParams {
        /// Smallest number of segments that Vegas keeps in the queue.
        pub vegas_alpha: f64 = 2.0,
        /// Largest number of segments that Vegas keeps in the queue.
        pub vegas_beta: f64 = 4.0,
    }

    fn validate(&self) -> Result<(), Problem> {
        let (least, most) = (self.vegas_alpha, self.vegas_beta);
        let valid = least > 0.0 && least <= most && most.is_finite();
        require("vegas_alpha", least, valid, format!("more than 0, at most vegas_beta ({most})"))
    }
}

/// The state of one flow.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Vegas {
    p: VegasParams,
    reno: Reno,
    /// Minimum RTT of the connection, microseconds.
    base: u32,
    /// Minimum RTT of the current round, microseconds.
    round: u32,
}

impl Control for Vegas {
    type Params = VegasParams;

    fn new(own: &VegasParams, stack: &Stack<'_>) -> Self {
        Self { p: own.clone(), reno: Reno::new(&NoParams {}, stack), base: u32::MAX, round: u32::MAX }
    }

    fn on_ack(&mut self, mut w: Window, s: &AckSample) -> Drive {
        self.round = self.round.min(s.rtt_us.unwrap_or(u32::MAX));
        self.base = self.base.min(self.round);
        if s.round_ended && self.round < u32::MAX {
            let rtt = f64::from(std::mem::replace(&mut self.round, u32::MAX));
            let diff = w.cwnd * (rtt - f64::from(self.base)) / rtt;
            if diff > self.p.vegas_beta {
                w.ssthresh = w.ssthresh.min(w.cwnd);
                w.cwnd = (w.cwnd - 1.0).max(2.0);
            } else if diff < self.p.vegas_alpha && !w.slow_start() {
                w.cwnd += 1.0;
            }
        }
        if w.slow_start() { self.reno.on_ack(w, s) } else { w.into() }
    }

    fn on_congestion(&mut self, w: Window, kind: Congestion, base: f64) -> Drive {
        self.reno.on_congestion(w, kind, base)
    }

    fn probe(&self, out: &mut Reading<'_>) {
        out.micros("base_rtt", Some(self.base).filter(|us| *us < u32::MAX));
    }
}
