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

use super::{RateSample, Window};
use crate::TcpParams;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::{Duration, Problem, Time};

/// MIN_CWND, segments.   Source: RFC 6817 §2.4.2.
const MIN_CWND: f64 = 2.0;
const MINUTE: u64 = 60_000_000_000;
/// Longest histories: an hour of minutes; samples of a large window.
const MAX_BASE_HISTORY: u32 = 60;
const MAX_CURRENT_FILTER: u32 = 1024;

/// What LEDBAT can be told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LedbatParams {
    /// TARGET: queueing delay that it aims at. RFC 6817 allows at most 100ms. Default 100ms.
    pub target: Duration,
    /// GAIN: growth in segments per round trip with an empty queue; at most 1. Default 1.
    pub gain: f64,
    /// ALLOWED_INCREASE: segments that the window may exceed what is in flight. Default 1.
    pub allowed_increase: f64,
    /// BASE_HISTORY: minutes whose minima make the base delay. Default 10.
    pub base_history: u32,
    /// CURRENT_FILTER: samples whose minimum is the current delay. Default 4.
    pub current_filter: u32,
    /// Slow start until a loss or until the queueing delay reaches the target. Default false.
    pub slow_start: bool,
}

impl Default for LedbatParams {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(100),
            gain: 1.0,
            allowed_increase: 1.0,
            base_history: 10,
            current_filter: 4,
            slow_start: false,
        }
    }
}

impl LedbatParams {
    /// Refuses what cannot run.   Errors: the first field out of range, by name.
    pub(crate) fn validate(&self) -> Result<(), Problem> {
        let no = |path: &str, message: String| Err(Problem::new(path, message));
        if self.target < Duration::from_millis(1) || self.target > Duration::from_secs(10) {
            return no(
                "target",
                format!("{} is not valid; expected 1ms to 10s (RFC 6817: at most 100ms)", self.target),
            );
        }
        if !(self.gain > 0.0 && self.gain <= 1.0) {
            return no("gain", format!("{} is not valid; expected more than 0, at most 1", self.gain));
        }
        if !(self.allowed_increase > 0.0 && self.allowed_increase <= 100.0) {
            let message = format!("{} is not valid; expected more than 0, at most 100 segments", self.allowed_increase);
            return no("allowed_increase", message);
        }
        for (name, v, most) in [
            ("base_history", self.base_history, MAX_BASE_HISTORY),
            ("current_filter", self.current_filter, MAX_CURRENT_FILTER),
        ] {
            if v == 0 || v > most {
                return no(name, format!("{v} is not valid; expected 1 to {most}"));
            }
        }
        Ok(())
    }
}

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
    pub(super) fn new() -> Self {
        Self::default()
    }

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

    pub(super) fn on_ack(&mut self, p: &TcpParams, w: &mut Window, s: &RateSample) {
        let Some(delay) = s.one_way_us else { return };
        let l = &p.ledbat;
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
        let flight = s.in_flight as f64 / f64::from(p.mss);
        w.cwnd = w.cwnd.min(flight + l.allowed_increase.max(slow)).max(MIN_CWND);
    }

    pub(super) fn ssthresh(p: &TcpParams, base: f64) -> f64 {
        (base * p.beta()).max(MIN_CWND)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(ms: u64, delay_ms: u32, in_flight: u64) -> RateSample {
        RateSample {
            now: Time(ms * 1_000_000),
            acked: 1.0,
            credit: 1.0,
            rtt_us: None,
            one_way_us: Some(delay_ms * 1000),
            srtt: Duration::from_millis(50),
            in_flight,
            una: 1,
            next: 1,
            cwnd_limited: true,
            open: true,
        }
    }

    fn params() -> TcpParams {
        TcpParams { mss: 1000, ..TcpParams::preset("ledbat").unwrap() }
    }

    #[test]
    fn the_window_moves_by_gain_times_off_target_over_cwnd() {
        let p = params();
        let mut l = Ledbat::new();
        let mut w = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
        // the first delay is the base: no queue, off_target 1, + 1/10
        l.on_ack(&p, &mut w, &sample(0, 30, 10_000));
        assert_eq!(w.cwnd, 10.1);
        // four samples of 80 ms push the 30 out of the filter: queue 50 ms, off_target 1/2
        for i in 1..=3 {
            l.on_ack(&p, &mut w, &sample(i, 80, 10_000));
        }
        let before = w.cwnd;
        l.on_ack(&p, &mut w, &sample(4, 80, 10_000));
        assert_eq!(w.cwnd, before + 0.5 / before);
        // queue 300 ms: off_target -2
        for i in 5..=7 {
            l.on_ack(&p, &mut w, &sample(i, 330, 10_000));
        }
        let before = w.cwnd;
        l.on_ack(&p, &mut w, &sample(8, 330, 10_000));
        assert_eq!(w.cwnd, before - 2.0 / before);
    }

    #[test]
    fn the_window_keeps_to_what_is_in_flight_and_above_two() {
        let p = params();
        let (mut l, mut w) = (Ledbat::new(), Window { cwnd: 10.0, ssthresh: f64::INFINITY });
        // 5 segments in flight: at most 6
        l.on_ack(&p, &mut w, &sample(0, 30, 5000));
        assert_eq!(w.cwnd, 6.0);
        for i in 1..100 {
            l.on_ack(&p, &mut w, &sample(i, 5030, 6000));
        }
        assert_eq!(w.cwnd, 2.0);
        assert_eq!((Ledbat::ssthresh(&p, 9.0), Ledbat::ssthresh(&p, 3.0)), (4.5, 2.0));
    }

    #[test]
    fn the_base_is_forgotten_after_its_minutes() {
        let p = params();
        let mut l = Ledbat::new();
        // 30 ms in minute 0, 50 ms from then on (the path has changed): ten minutes later 50 is the base
        assert_eq!(l.queuing_delay(&p.ledbat, Time(0), 30_000), 0);
        for minute in 1..=9 {
            (0..4).for_each(|_| {
                l.queuing_delay(&p.ledbat, Time(minute * MINUTE), 50_000);
            });
            assert_eq!(l.queuing_delay(&p.ledbat, Time(minute * MINUTE), 50_000), 20_000);
        }
        assert_eq!(l.queuing_delay(&p.ledbat, Time(10 * MINUTE), 50_000), 0);
        assert_eq!(l.base.len(), 10);
    }

    #[test]
    fn clocks_may_differ_and_wrap() {
        let p = params();
        let mut l = Ledbat::new();
        // the receiver's clock is 10 s behind: delays of 30 and 40 ms are "negative"
        let at = |ms: i64| ((ms - 10_000) * 1000) as u32;
        assert_eq!(l.queuing_delay(&p.ledbat, Time(0), at(30)), 0);
        (0..3).for_each(|_| {
            l.queuing_delay(&p.ledbat, Time(0), at(40));
        });
        assert_eq!(l.queuing_delay(&p.ledbat, Time(0), at(40)), 10_000);
    }

    #[test]
    fn slow_start_doubles_until_the_target() {
        let mut p = params();
        p.ledbat.slow_start = true;
        let (mut l, mut w) = (Ledbat::new(), Window { cwnd: 4.0, ssthresh: f64::INFINITY });
        // the flight before the ACK is the whole window: one more segment for each acknowledged
        for i in 0..4 {
            l.on_ack(&p, &mut w, &sample(i, 30, 4000 + 1000 * i));
        }
        assert_eq!(w.cwnd, 8.0);
        for i in 4..8 {
            l.on_ack(&p, &mut w, &sample(i, 130, 12_000));
        }
        assert!(!w.slow_start() && w.cwnd < 12.0, "{w:?}");
    }
}
