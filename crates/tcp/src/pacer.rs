//! When segments may leave that are paced.
//!
//! ```text
//! next_at = when the next burst may leave;  a segment moves it on by  bytes / rate
//! internal:  a burst that leaves late gets its lateness back, up to half of what it costs;  the first ten segments are not paced
//! ```
//!
//! A burst is what an offloading host would send as one: its controller's quantum, or what `burst.rs` says.
//!
//! Source: draft-cardwell-iccrg-bbr-congestion-control-00 §4.2.1; Linux' internal pacing (see [`Pacing`]).
//! Departs: bursts are what the controller says, with BBR of 1/1024 s of the pacing rate, at least one or two segments; Linux makes
//! them larger on paths with a round trip far below 4 ms (tcp_tso_rtt_log).

use crate::cc::control::Drive;
use crate::params::Pacing;
use units::{Duration, Time};

/// Segments at the start of a connection that Linux does not pace.
const UNPACED: u32 = 10;

/// The clock of one paced flow.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pacer {
    /// Payload bytes per second; none: at once.
    rate: Option<f64>,
    /// Segments of a burst.
    quantum: u32,
    /// When the next burst may leave.
    next_at: Time,
    /// When to try, if something waits for that.
    wake_at: Time,
    /// How late the burst is that leaves now, as far as that has not shortened the wait of the next.
    credit: Duration,
    /// How many segments more are not paced.
    unpaced: u32,
    forgiving: bool,
}

impl Pacer {
    pub(crate) fn new(pacing: Pacing) -> Self {
        let forgiving = pacing == Pacing::LinuxInternal;
        Self {
            rate: None,
            quantum: u32::MAX,
            next_at: Time::ZERO,
            wake_at: Time::NEVER,
            credit: Duration::ZERO,
            unpaced: if forgiving { UNPACED } else { 0 },
            forgiving,
        }
    }

    /// The controller has a new rate.
    pub(crate) fn follow(&mut self, d: &Drive) {
        (self.rate, self.quantum) = (d.pacing_rate, d.quantum);
    }

    /// The same of a sender that paces by itself: `burst` segments at a time.
    pub(crate) fn set(&mut self, rate: Option<f64>, burst: u32) {
        (self.rate, self.quantum) = (rate, burst);
    }

    /// A burst has so many segments at least.
    pub(crate) fn widen(&mut self, burst: u32) {
        self.quantum = self.quantum.max(burst);
    }

    /// Payload bytes per second.
    pub(crate) fn rate(&self) -> Option<f64> {
        self.rate
    }

    /// `bytes` of payload leave.
    pub(crate) fn spend(&mut self, now: Time, bytes: u64) {
        if self.next_at <= now {
            self.credit = now.since(self.next_at);
            self.next_at = now;
        }
        if self.unpaced > 0 {
            self.unpaced -= 1;
            return;
        }
        let Some(rate) = self.rate else { return };
        let mut gap = Duration::from_secs_f64(bytes as f64 / rate);
        if self.forgiving {
            let forgiven = self.credit.min(gap / 2);
            self.credit = self.credit.saturating_sub(forgiven);
            gap = gap.saturating_sub(forgiven);
        }
        self.next_at += gap;
    }

    /// How many segments may leave now.
    pub(crate) fn allowance(&mut self, now: Time) -> u32 {
        self.wake_at = Time::NEVER;
        if now >= self.next_at { self.quantum.max(self.unpaced) } else { 0 }
    }

    /// Something waits for its turn.
    pub(crate) fn wait(&mut self) {
        self.wake_at = self.next_at;
    }

    /// When what waits may leave; [`Time::NEVER`] if nothing does.
    pub(crate) fn wake_at(&self) -> Time {
        self.wake_at
    }

    /// How long what leaves next is held back.
    pub(crate) fn held_back(&self, now: Time) -> Duration {
        if self.next_at > now { self.next_at.since(now) } else { Duration::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::control::Window;

    const MS: u64 = 1_000_000;

    /// A megabyte per second, two segments at a time.
    fn pacer(pacing: Pacing) -> Pacer {
        let mut pacer = Pacer::new(pacing);
        let w = Window { cwnd: 10.0, ssthresh: 10.0 };
        pacer.follow(&Drive { pacing_rate: Some(1e6), quantum: 2, ..w.into() });
        pacer
    }

    #[test]
    fn a_burst_waits_for_what_the_one_before_it_cost() {
        let mut p = pacer(Pacing::Exact);
        assert_eq!(p.allowance(Time(MS)), 2);
        p.spend(Time(MS), 1000);
        p.spend(Time(MS), 1000);
        // 2000 bytes at a byte per microsecond
        assert_eq!((p.allowance(Time(2 * MS)), p.held_back(Time(2 * MS))), (0, Duration(MS)));
        p.wait();
        assert_eq!(p.wake_at(), Time(3 * MS));
        assert_eq!((p.allowance(Time(3 * MS)), p.wake_at()), (2, Time::NEVER));
    }

    #[test]
    fn internal_pacing_begins_after_ten_segments_and_forgives_half() {
        let mut p = pacer(Pacing::LinuxInternal);
        (0..10).for_each(|_| p.spend(Time(MS), 1000));
        assert_eq!(p.allowance(Time(MS)), 2);
        p.spend(Time(MS), 1000);
        assert_eq!(p.held_back(Time(MS)), Duration(MS));
        // the next leaves 0.1 ms late: it costs 0.9 ms, not 1; one that is 10 ms late half of what it would
        p.spend(Time(2 * MS + 100_000), 1000);
        assert_eq!(p.held_back(Time(2 * MS + 100_000)), Duration(900_000));
        p.spend(Time(13 * MS), 1000);
        assert_eq!(p.held_back(Time(13 * MS)), Duration(MS / 2));
    }
}
