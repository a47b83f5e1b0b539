//! The integer arithmetic shared by CUBIC in Linux 2.6 and in Linux 6.
//!
//! ```text
//! Reno's estimate:  W_tcp grows by 1 per  W (1 + beta) / (3 (1 - beta))  segments acknowledged, from W at the epoch's start
//! the curve:        W_max -+ trunc(C |t - K|^3), t and K in whole 1024ths of a second
//! ```
//!
//! Source: Ha, Rhee & Xu 2008, §3; RFC 9438 §4.2 and §4.3, except that alpha is never raised to 1.

use super::cubic_rfc::{Law, k};
use packet::{Reading, Unit};
use units::Time;

/// Length of a jiffy in nanoseconds, in a kernel with HZ = 1000.
pub(super) const JIFFY: u64 = 1_000_000;
/// HZ/32 in jiffies: while the window does not change, `cnt` is recomputed only after this time.
pub(super) const RECOMPUTE: u64 = 31;
/// Number of jiffies after the start of an epoch during which RTT samples are ignored.
pub(super) const SETTLE: u64 = 1000;

/// Returns the kernel's clock, in jiffies.
#[inline]
pub(super) fn jiffies(t: Time) -> u64 {
    t.0 / JIFFY
}

/// The estimate of Reno's window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct RenoEstimate {
    /// Number of acknowledged segments that have not made the estimate grow yet. In Linux 2.6, ACKs are counted instead.
    pub(super) acked: u32,
    pub(super) window: u32,
}

impl RenoEstimate {
    /// Updates the estimate. Returns the largest value of `cnt` (see [`Growth`]) with which `cwnd` keeps up with the
    /// estimate, or `u32::MAX` if the estimate is not above `cwnd`.
    pub(super) fn keep_up(&mut self, beta: f64, cwnd: u32) -> u32 {
        // the estimate grows by one segment per `scale / 8 * cwnd` segments acknowledged. As in the kernel, `scale` is
        // truncated to a whole number: 23 for beta 0.8 (819/1024), 15 for 0.7
        let scale = (8.0 * (1.0 + beta) / (3.0 * (1.0 - beta))) as u32;
        let delta = (cwnd.saturating_mul(scale) >> 3).max(1);
        // computes the result of the kernel's loop `while acked > delta` without iterating
        if self.acked > delta {
            let steps = (self.acked - 1) / delta;
            self.acked -= steps * delta;
            self.window = self.window.saturating_add(steps);
        }
        if self.window > cwnd { cwnd / (self.window - cwnd) } else { u32::MAX }
    }
}

/// The cubic curve of one epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Curve {
    /// Plateau, segments.
    pub(super) origin: f64,
    /// Time at which the curve reaches the plateau, in seconds after the start of the epoch.
    pub(super) k: f64,
}

impl Curve {
    /// Builds the curve that starts at `cwnd`. Its plateau is at `last_max`, or at `cwnd` if `last_max` is not above `cwnd`.
    pub(super) fn new(c: f64, last_max: f64, cwnd: f64) -> Self {
        if last_max <= cwnd {
            return Self { origin: cwnd, k: 0.0 };
        }
        Self { origin: last_max, k: (k(c, last_max, cwnd) * 1024.0).floor() / 1024.0 }
    }

    /// Converts jiffies (1 ms) to seconds, rounded down to a multiple of 1/1024 s.
    pub(super) fn seconds(jiffies: u64) -> f64 {
        (jiffies * 1024 / 1000) as f64 / 1024.0
    }

    /// Returns the target window. Its distance from the plateau is rounded towards zero, whether the window is above
    /// or below the plateau.
    pub(super) fn at(&self, c: f64, seconds: f64) -> f64 {
        let d = seconds - self.k;
        self.origin + (c * d * d * d).trunc()
    }
}

/// The state that determines how the window grows: CUBIC's curve, Reno's estimate, and the progress towards the next
/// segment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Growth {
    pub(super) law: Law,
    /// W_max; 0 while unknown.
    pub(super) last_max: f64,
    pub(super) curve: Curve,
    pub(super) epoch_start: Time,
    /// Time at which the target window was last computed.
    pub(super) last_time: Time,
    /// Window when the target window was last computed.
    pub(super) last_cwnd: u32,
    /// The window grows by one segment per `cnt` segments acknowledged. In Linux 2.6, ACKs are counted instead.
    pub(super) cnt: u32,
    /// Number of acknowledged segments that have not made the window grow yet. In Linux 2.6, ACKs are counted instead.
    pub(super) cwnd_cnt: u32,
    pub(super) reno: RenoEstimate,
}

impl Growth {
    pub(super) fn new(law: Law) -> Self {
        Self { law, epoch_start: Time::NEVER, ..Self::default() }
    }

    /// Begins an epoch if none is in progress.
    pub(super) fn begin_epoch(&mut self, cwnd: f64, now: Time, acked: u32) {
        if self.epoch_start == Time::NEVER {
            self.epoch_start = now;
            self.reno = RenoEstimate { acked, window: cwnd as u32 };
            self.curve = Curve::new(self.law.c, self.last_max, cwnd);
        }
    }

    /// Responds to congestion at a window of `base`, and returns ssthresh. The share `beta` of the window is kept.
    pub(super) fn reduce(&mut self, beta: f64, base: f64) -> f64 {
        let cwnd = base.floor();
        // congestion also clears `cwnd_cnt`, the progress towards the next segment of growth
        (self.epoch_start, self.cwnd_cnt) = (Time::NEVER, 0);
        let below = self.law.fast_convergence && cwnd < self.last_max;
        self.last_max = if below { (cwnd * (1.0 + beta) / 2.0).floor() } else { cwnd };
        (cwnd * beta).floor().max(2.0)
    }

    pub(super) fn probe(&self, out: &mut Reading<'_>) {
        out.segments("w_max", self.last_max);
        out.value("k", Unit::Seconds, Some(self.curve.k));
        out.moment("epoch_start", self.epoch_start);
        out.segments("w_est", self.reno.window.into());
        out.number("cnt", self.cnt);
    }
}
