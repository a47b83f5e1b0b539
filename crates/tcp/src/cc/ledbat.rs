//! LEDBAT: a window that keeps the queueing delay it causes at a target, and yields to everybody else.
//!
//! Source: RFC 6817 §2.4.2 (the sender's algorithm), §2.5 (parameters), §3.4 (filters).
//!
//! ```text
//! delay          = TSval - TSecr of an ACK: when the receiver sent it less when the data left; offset of the clocks included
//! base           = min over the last `base_history` minutes of each minute's least delay
//! queuing_delay  = min of the last `current_filter` delays - base
//! off_target     = (TARGET - queuing_delay) / TARGET
//! per ACK:         cwnd += GAIN * off_target * acked / cwnd
//!                  cwnd <= flight before the ACK + ALLOWED_INCREASE;  cwnd >= MIN_CWND
//! loss:            cwnd = max(cwnd / 2, MIN_CWND), once per round trip;  timeout: cwnd = 1
//! ```
//!
//! Below the target the window grows by at most one segment a round trip, as Reno's does; above it shrinks in proportion
//! to the excess. A queue that others fill looks like its own: it retreats. A queue that stood before the first sample is
//! taken for propagation (the late-comer's advantage, RFC 6817 §4.2).
//!
//! Departs: the delay is measured to the moment of the ACK, not of the data's arrival, so a delayed ACK's wait counts as
//! queueing (with an ACK for every second segment: the time between two segments, 2.4 ms at 5 Mbit/s); the echo is that of
//! the earliest segment acknowledged (RFC 7323 §4.3). ACKs that arrive during fast recovery feed neither filter. With
//! `slow_start` (which the RFC leaves to the implementer) the window doubles until a loss or until the queueing delay is
//! at the target.

use super::control::{AckSample, Congestion, Control, Drive, Needs, Window};
use crate::params::{LedbatParams, TcpParams};
use packet::Reading;
use std::collections::VecDeque;
use units::{Duration, Time};

/// MIN_CWND, segments.   Source: RFC 6817 §2.4.2.
const MIN_CWND: f64 = 2.0;
const MINUTE: u64 = 60_000_000_000;
/// What is left of the window, unless `beta` says otherwise.
const BETA: f64 = 0.5;

/// The two filters. Delays are microseconds modulo 2^32: only their differences mean anything.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ledbat {
    /// Least delay of each of the last minutes, newest last.
    base: VecDeque<u32>,
    /// Number of the newest minute.
    minute: u64,
    /// The last delays, newest last.
    current: VecDeque<u32>,
}

/// The lesser of two delays modulo 2^32.
fn least(a: u32, b: u32) -> u32 {
    if (a.wrapping_sub(b) as i32) < 0 { a } else { b }
}

impl Ledbat {
    /// A sample; returns the queueing delay, microseconds.
    fn queuing_delay(&mut self, p: &LedbatParams, now: Time, delay: u32) -> u32 {
        let minute = now.0 / MINUTE;
        match self.base.back_mut() {
            Some(last) if minute == self.minute => *last = least(*last, delay),
            _ => {
                self.base.push_back(delay);
                self.minute = minute;
                if self.base.len() > p.base_history as usize {
                    self.base.pop_front();
                }
            }
        }
        self.current.push_back(delay);
        if self.current.len() > p.current_filter as usize {
            self.current.pop_front();
        }
        let min = |of: &VecDeque<u32>| of.iter().copied().reduce(least).unwrap_or(delay);
        // a base younger than the current samples may lie above them
        (min(&self.current).wrapping_sub(min(&self.base)) as i32).max(0) as u32
    }

    fn grow(&mut self, p: &TcpParams, w: &mut Window, s: &AckSample) {
        let Some(delay) = s.one_way_us else { return };
        let l = &p.control.ledbat;
        let queuing_delay = Duration::from_micros(u64::from(self.queuing_delay(l, s.now, delay)));
        let mut credit = s.credit;
        if l.slow_start && w.slow_start() {
            if queuing_delay < l.target {
                credit = w.grow_in_slow_start(credit);
            } else {
                w.ssthresh = w.cwnd;
            }
        }
        let off_target = (l.target.0 as f64 - queuing_delay.0 as f64) / l.target.0 as f64;
        w.cwnd += l.gain * off_target * credit / w.cwnd;
        // a slow start doubles what is in flight within a round trip: each ACK may add what it acknowledges
        let slow = if l.slow_start && w.slow_start() { s.credit } else { 0.0 };
        let flight = s.flight_before as f64 / f64::from(p.wire.mss);
        w.cwnd = w.cwnd.min(flight + l.allowed_increase.max(slow)).max(MIN_CWND);
    }

    fn ssthresh(p: &TcpParams, base: f64) -> f64 {
        (base * p.control.beta.unwrap_or(BETA)).max(MIN_CWND)
    }
}

impl Control for Ledbat {
    const NEEDS: Needs = Needs { ack_time: true, ..Needs::NONE };

    fn new(_: &TcpParams) -> Self {
        Self::default()
    }

    #[inline]
    fn on_ack(&mut self, p: &TcpParams, mut w: Window, s: &AckSample) -> Drive {
        self.grow(p, &mut w, s);
        w.into()
    }

    fn on_congestion(&mut self, p: &TcpParams, w: Window, _: Congestion, base: f64) -> Drive {
        Window { ssthresh: Self::ssthresh(p, base), ..w }.into()
    }

    fn probe(&self, out: &mut Reading<'_>) {
        let min = |of: &VecDeque<u32>| of.iter().copied().reduce(least);
        let (base, current) = (min(&self.base), min(&self.current));
        let queuing = base.zip(current).map(|(base, current)| (current.wrapping_sub(base) as i32).max(0) as u32);
        out.micros("base_delay", base);
        out.micros("current_delay", current);
        out.micros("queuing_delay", queuing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(ms: u64, delay_ms: u32, flight_before: u64) -> AckSample {
        let one_way_us = Some(delay_ms * 1000);
        AckSample { now: Time(ms * 1_000_000), credit: 1.0, one_way_us, flight_before, ..AckSample::default() }
    }

    fn params() -> TcpParams {
        TcpParams::preset("ledbat").unwrap().with(|p| p.wire.mss = 1000)
    }

    #[test]
    fn the_window_moves_by_gain_times_off_target_over_cwnd() {
        let p = params();
        let mut l = Ledbat::default();
        let mut w = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
        // the first delay is the base: no queue, off_target 1, + 1/10
        l.grow(&p, &mut w, &sample(0, 30, 10_000));
        assert_eq!(w.cwnd, 10.1);
        // four samples of 80 ms push the 30 out of the filter: queue 50 ms, off_target 1/2
        for i in 1..=3 {
            l.grow(&p, &mut w, &sample(i, 80, 10_000));
        }
        let before = w.cwnd;
        l.grow(&p, &mut w, &sample(4, 80, 10_000));
        assert_eq!(w.cwnd, before + 0.5 / before);
        // queue 300 ms: off_target -2
        for i in 5..=7 {
            l.grow(&p, &mut w, &sample(i, 330, 10_000));
        }
        let before = w.cwnd;
        l.grow(&p, &mut w, &sample(8, 330, 10_000));
        assert_eq!(w.cwnd, before - 2.0 / before);
    }

    #[test]
    fn the_window_keeps_to_what_is_in_flight_and_above_two() {
        let p = params();
        let (mut l, mut w) = (Ledbat::default(), Window { cwnd: 10.0, ssthresh: f64::INFINITY });
        // 5 segments in flight: at most 6
        l.grow(&p, &mut w, &sample(0, 30, 5000));
        assert_eq!(w.cwnd, 6.0);
        for i in 1..100 {
            l.grow(&p, &mut w, &sample(i, 5030, 6000));
        }
        assert_eq!(w.cwnd, 2.0);
        assert_eq!((Ledbat::ssthresh(&p, 9.0), Ledbat::ssthresh(&p, 3.0)), (4.5, 2.0));
    }

    #[test]
    fn the_base_is_forgotten_after_its_minutes() {
        let p = params();
        let mut l = Ledbat::default();
        // 30 ms in minute 0, 50 ms from then on (the path has changed): ten minutes later 50 is the base
        assert_eq!(l.queuing_delay(&p.control.ledbat, Time(0), 30_000), 0);
        for minute in 1..=9 {
            (0..4).for_each(|_| {
                l.queuing_delay(&p.control.ledbat, Time(minute * MINUTE), 50_000);
            });
            assert_eq!(l.queuing_delay(&p.control.ledbat, Time(minute * MINUTE), 50_000), 20_000);
        }
        assert_eq!(l.queuing_delay(&p.control.ledbat, Time(10 * MINUTE), 50_000), 0);
        assert_eq!(l.base.len(), 10);
    }

    #[test]
    fn clocks_may_differ_and_wrap() {
        let p = params();
        let mut l = Ledbat::default();
        // the receiver's clock is 10 s behind: delays of 30 and 40 ms are "negative"
        let at = |ms: i64| ((ms - 10_000) * 1000) as u32;
        assert_eq!(l.queuing_delay(&p.control.ledbat, Time(0), at(30)), 0);
        (0..3).for_each(|_| {
            l.queuing_delay(&p.control.ledbat, Time(0), at(40));
        });
        assert_eq!(l.queuing_delay(&p.control.ledbat, Time(0), at(40)), 10_000);
    }

    #[test]
    fn slow_start_doubles_until_the_target() {
        let mut p = params();
        p.control.ledbat.slow_start = true;
        let (mut l, mut w) = (Ledbat::default(), Window { cwnd: 4.0, ssthresh: f64::INFINITY });
        // the flight before the ACK is the whole window: one more segment for each acknowledged
        for i in 0..4 {
            l.grow(&p, &mut w, &sample(i, 30, 4000 + 1000 * i));
        }
        assert_eq!(w.cwnd, 8.0);
        for i in 4..8 {
            l.grow(&p, &mut w, &sample(i, 130, 12_000));
        }
        assert!(!w.slow_start() && w.cwnd < 12.0, "{w:?}");
    }
}
