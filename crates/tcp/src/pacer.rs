//! Pacing: decides when the segments of a paced flow may leave.
//!
//! ```text
//! next_at = time at which the next burst may leave;  each segment sent adds  bytes / rate
//! linux-internal:  if a burst leaves late, the wait after it,  bytes / rate,  is shortened by its delay,
//!                  but by no more than half;  the first ten segments are not paced
//! ```
//!
//! A burst has as many segments as a host with offload would send in one packet: the controller's quantum, or the
//! number computed in `burst.rs`. A retransmission is a burst of its own, but adjacent segments that were sent in one burst
//! before leave together again (`output.rs`).
//!
//! Source: draft-cardwell-iccrg-bbr-congestion-control-00 §4.2.1; Linux's internal pacing (see [`Pacing`]).
//! Departs: with `gso_max_segs = 1`, the controller alone sets the burst size. The bursts of BBR version 1 hold what
//! the pacing rate sends in 1/1024 s, but at least one or two segments. Linux uses larger bursts on paths with an RTT
//! far below 4 ms (tcp_tso_rtt_log).

use crate::cc::control::Drive;
use crate::params::Pacing;
use units::{Duration, Time};

/// Number of unpaced segments at the start of a connection in Linux.
const UNPACED: u32 = 10;

/// The pacing state of one flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Pacer {
    /// Pacing rate, payload bytes per second; `None` without pacing.
    pub(crate) rate: Option<f64>,
    /// Number of segments in a burst.
    pub(crate) quantum: u32,
    /// Time at which the next burst may leave.
    next_at: Time,
    /// Time at which the waiting segment may leave; [`Time::NEVER`] if none waits.
    pub(crate) wake_at: Time,
    /// How late the current burst left after `next_at`, minus the time by which later waits have been shortened.
    credit: Duration,
    /// Number of segments that may still leave unpaced.
    unpaced: u32,
    forgiving: bool,
}

impl Pacer {
    pub(crate) fn new(pacing: Pacing) -> Self {
        let forgiving = pacing == Pacing::LinuxInternal;
        let unpaced = if forgiving { UNPACED } else { 0 };
        Self { quantum: u32::MAX, wake_at: Time::NEVER, unpaced, forgiving, ..Self::default() }
    }

    pub(crate) fn follow(&mut self, d: &Drive) {
        (self.rate, self.quantum) = (d.pacing_rate, d.quantum);
    }

    /// Sets the pacing rate and the number of segments in a burst. Used if the controller sets no pacing rate.
    pub(crate) fn set(&mut self, rate: Option<f64>, burst: u32) {
        (self.rate, self.quantum) = (rate, burst);
    }

    /// Replaces the pacing rate, when a program sets it (`steer.rs`). If the next burst must wait, the rest of its wait
    /// is scaled by the old rate divided by the new rate. If the program stops pacing, the wait ends.
    pub(crate) fn change(&mut self, now: Time, rate: Option<f64>) {
        let left = self.held_back(now);
        match (self.rate, rate) {
            _ if left.is_zero() => {}
            (Some(old), Some(new)) if old.total_cmp(&new).is_ne() => {
                self.next_at = now + Duration::from_secs_f64(left.secs() * (old / new));
            }
            (Some(_), Some(_)) => {}
            _ => self.next_at = now,
        }
        self.set(rate, if rate.is_some() { 1 } else { u32::MAX });
    }

    /// Raises the burst size to at least `burst` segments.
    pub(crate) fn widen(&mut self, burst: u32) {
        self.quantum = self.quantum.max(burst);
    }

    /// Records that a segment with `bytes` bytes of payload leaves now, and postpones the next burst accordingly.
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

    /// Returns the number of segments that may leave now.
    pub(crate) fn allowance(&mut self, now: Time) -> u32 {
        self.wake_at = Time::NEVER;
        if now >= self.next_at { self.quantum.max(self.unpaced) } else { 0 }
    }

    /// Records that a segment waits until `next_at`.
    pub(crate) fn wait(&mut self) {
        self.wake_at = self.next_at;
    }

    /// Returns how much longer pacing will hold back the next segment.
    pub(crate) fn held_back(&self, now: Time) -> Duration {
        if self.next_at > now { self.next_at.since(now) } else { Duration::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::control::Window;

    const MS: u64 = 1_000_000;

    /// Returns a pacer with a rate of 1 MB/s and bursts of two segments.
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
        // at one byte per microsecond, the 2000 bytes sent take 2 ms
        assert_eq!((p.allowance(Time(2 * MS)), p.held_back(Time(2 * MS))), (0, Duration(MS)));
        p.wait();
        assert_eq!(p.wake_at, Time(3 * MS));
        assert_eq!((p.allowance(Time(3 * MS)), p.wake_at), (2, Time::NEVER));
    }

    #[test]
    fn a_changed_rate_applies_to_a_wait_in_progress() {
        // 1000 bytes at 1 kB/s: the next burst may leave 1 s later. After 200 ms, 800 of these bytes are left
        let waiting = || {
            let mut p = pacer(Pacing::Exact);
            p.change(Time(0), Some(1e3));
            p.spend(Time(0), 1000);
            assert_eq!(p.held_back(Time(200 * MS)), Duration(800 * MS));
            p
        };
        for (rate, wait) in [(Some(1e6), 800_000), (Some(1e3), 800 * MS), (Some(500.0), 1600 * MS), (None, 0)] {
            let mut p = waiting();
            p.change(Time(200 * MS), rate);
            assert_eq!(p.held_back(Time(200 * MS)), Duration(wait), "{rate:?}");
        }
        // without pacing, segments leave at once
        let mut p = waiting();
        p.change(Time(200 * MS), None);
        assert_eq!(p.allowance(Time(200 * MS)), u32::MAX);
    }

    #[test]
    fn internal_pacing_begins_after_ten_segments_and_forgives_half() {
        let mut p = pacer(Pacing::LinuxInternal);
        (0..10).for_each(|_| p.spend(Time(MS), 1000));
        assert_eq!(p.allowance(Time(MS)), 2);
        p.spend(Time(MS), 1000);
        assert_eq!(p.held_back(Time(MS)), Duration(MS));
        // the next segment leaves 0.1 ms late, so the wait after it is 0.9 ms instead of 1 ms. The segment after that
        // leaves 10 ms late, but a wait is shortened at most by half, to 0.5 ms
        p.spend(Time(2 * MS + 100_000), 1000);
        assert_eq!(p.held_back(Time(2 * MS + 100_000)), Duration(900_000));
        p.spend(Time(13 * MS), 1000);
        assert_eq!(p.held_back(Time(13 * MS)), Duration(MS / 2));
    }
}
