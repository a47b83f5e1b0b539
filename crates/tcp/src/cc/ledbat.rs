//! LEDBAT: keeps the queueing delay that the flow causes at a target, and yields to all other traffic.
//!
//! Source: RFC 6817 §2.4.2 (the sender's algorithm), §2.5 (parameters), §3.4 (filters).
//!
//! ```text
//! delay          = TSval - TSecr of an ACK = receiver's time of the ACK - sender's time of the data
//!                  (it includes the offset of the two clocks)
//! base           = minimum delay of the last `base_history` minutes that had samples
//! queuing_delay  = min of the last `current_filter` delays - base
//! off_target     = (TARGET - queuing_delay) / TARGET
//! per ACK:         cwnd += GAIN * off_target * acked / cwnd
//!                  cwnd <= flight before the ACK + ALLOWED_INCREASE;  cwnd >= MIN_CWND
//! loss:            cwnd = max(cwnd / 2, MIN_CWND), at most once per round trip;  timeout: cwnd = 1
//! ```
//!
//! Below the target, the window grows by at most one segment per round trip, like Reno's. Above the target, it shrinks in
//! proportion to the excess. A flow cannot distinguish a queue built by other flows from its own, so it backs off in both
//! cases. A queue that exists before the first sample counts as propagation delay (the latecomer's advantage, RFC 6817 §4.2).
//!
//! Departs: the measured delay ends when the ACK is sent, not when the data arrives, so the wait of a delayed ACK counts as
//! queueing. If an ACK covers two segments, it echoes the time stamp of the first (RFC 7323 §4.3), and the wait is the time
//! between the two segments: 2.4 ms at 5 Mbit/s. ACKs that arrive during fast recovery do not enter the filters. With
//! `slow_start`, which the RFC leaves to the implementer, the window doubles until a loss, or until the queueing delay reaches
//! the target.

use super::control::{AckSample, Congestion, Control, Drive, Needs, Stack, Window};
use super::delay_filters::DelayFilters;
use crate::params::group::{Group, group, require};
use packet::Reading;
use units::{Duration, Problem};

/// MIN_CWND, segments.   Source: RFC 6817 §2.4.2.
const MIN_CWND: f64 = 2.0;
/// Default of `beta`: share of the window kept after congestion.
const BETA: f64 = 0.5;

/// Maximum `base_history`, minutes.
pub(super) const MAX_BASE_HISTORY: u32 = 60;
/// Maximum `current_filter`, samples: about the number of samples in one large window.
pub(super) const MAX_CURRENT_FILTER: u32 = 1024;

group! {
    /// The table `ledbat`, which holds LEDBAT's parameters.
    pub(crate) struct LedbatKeys {
        /// Parameters of LEDBAT, for `congestion_control = "ledbat"`.
        pub ledbat: LedbatParams = LedbatParams::default(),
    }

    fn validate(&self) -> Result<(), Problem> {
        Group::validate(&self.ledbat).map_err(|p| p.under("ledbat"))
    }
}

group! {
    /// Parameters of LEDBAT.
    #[derive(serde::Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub(crate) struct LedbatParams {
        /// TARGET: target queueing delay. RFC 6817 allows at most 100ms. Default 100ms.
        pub target: Duration = Duration::from_millis(100),
        /// GAIN: growth of the window in segments per round trip while the queue is empty; at most 1. Default 1.
        pub gain: f64 = 1.0,
        /// ALLOWED_INCREASE: number of segments by which the window may exceed the data in flight. Default 1.
        pub allowed_increase: f64 = 1.0,
        /// BASE_HISTORY: length of the history, in minutes. The base delay is the smallest delay in the history.
        /// Default 10.
        pub base_history: u32 = 10,
        /// CURRENT_FILTER: number of recent samples. The current delay is the smallest of these samples. Default 4.
        pub current_filter: u32 = 4,
        /// If true, the window grows by slow start at the beginning of a connection and after a timeout. Slow start
        /// ends at a loss or a mark, at ssthresh, or when the queueing delay reaches the target. Default false.
        pub slow_start: bool = false,
    }

    fn validate(&self) -> Result<(), Problem> {
        let Self { target, gain, allowed_increase: increase, base_history, current_filter, .. } = *self;
        let range = Duration::from_millis(1)..=Duration::from_secs(10);
        require("target", target, range.contains(&target), "1ms to 10s (RFC 6817: at most 100ms)")?;
        require("gain", gain, gain > 0.0 && gain <= 1.0, "more than 0, at most 1")?;
        let expected = "more than 0, at most 100 segments";
        require("allowed_increase", increase, increase > 0.0 && increase <= 100.0, expected)?;
        for (key, v, most) in [
            ("base_history", base_history, MAX_BASE_HISTORY),
            ("current_filter", current_filter, MAX_CURRENT_FILTER),
        ] {
            require(key, v, (1..=most).contains(&v), format!("1 to {most}"))?;
        }
        Ok(())
    }
}

/// The state of one flow.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ledbat {
    p: LedbatParams,
    /// Share of the window kept after a loss.
    beta: f64,
    mss: f64,
    filters: DelayFilters,
}

impl Ledbat {
    fn ssthresh(&self, base: f64) -> f64 {
        (base * self.beta).max(MIN_CWND)
    }
}

impl Control for Ledbat {
    type Params = LedbatKeys;

    const NEEDS: Needs = Needs { ack_time: true, beta: true, ..Needs::NONE };

    fn new(own: &LedbatKeys, stack: &Stack<'_>) -> Self {
        Self {
            p: own.ledbat.clone(),
            beta: stack.shared.beta.unwrap_or(BETA),
            mss: f64::from(stack.mss),
            filters: DelayFilters::new(own.ledbat.base_history, own.ledbat.current_filter),
        }
    }

    fn grow(&mut self, w: &mut Window, s: &AckSample) {
        let Some(delay) = s.one_way_us else { return };
        let queuing_delay = Duration::from_micros(u64::from(self.filters.queuing_delay(s.now, delay)));
        let l = &self.p;
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
        // the window may exceed the data in flight by ALLOWED_INCREASE. In slow start, the data in flight doubles per
        // round trip, so the window may exceed it by the segments that this ACK acknowledges, if that is more
        let slow = if l.slow_start && w.slow_start() { s.credit } else { 0.0 };
        let flight = s.flight_before as f64 / self.mss;
        w.cwnd = w.cwnd.min(flight + l.allowed_increase.max(slow)).max(MIN_CWND);
    }

    fn on_congestion(&mut self, w: Window, _: Congestion, base: f64) -> Drive {
        Window { ssthresh: self.ssthresh(base), ..w }.into()
    }

    fn probe(&self, out: &mut Reading<'_>) {
        self.filters.probe(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::{TcpParams, stack};
    use units::Time;

    fn sample(ms: u64, delay_ms: u32, flight_before: u64) -> AckSample {
        let one_way_us = Some(delay_ms * 1000);
        AckSample { now: Time(ms * 1_000_000), credit: 1.0, one_way_us, flight_before, ..AckSample::default() }
    }

    fn ledbat(slow_start: bool) -> Ledbat {
        let p = TcpParams::preset("ledbat").unwrap().with(|p| {
            p.wire.mss = 1000;
            p.control.ledbat.ledbat.slow_start = slow_start;
        });
        Ledbat::new(&p.control.ledbat, &stack(&p))
    }

    #[test]
    fn the_window_moves_by_gain_times_off_target_over_cwnd() {
        let mut l = ledbat(false);
        let mut w = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
        // the first delay is the base, so there is no queue: off_target is 1, and the window grows by 1/10
        l.grow(&mut w, &sample(0, 30, 10_000));
        assert_eq!(w.cwnd, 10.1);
        // four samples of 80 ms push the sample of 30 ms out of the current filter. The queueing delay is 80 - 30 = 50 ms, so
        // off_target is 1/2
        for i in 1..=3 {
            l.grow(&mut w, &sample(i, 80, 10_000));
        }
        let before = w.cwnd;
        l.grow(&mut w, &sample(4, 80, 10_000));
        assert_eq!(w.cwnd, before + 0.5 / before);
        // the queueing delay is 330 - 30 = 300 ms, so off_target is (100 - 300) / 100 = -2
        for i in 5..=7 {
            l.grow(&mut w, &sample(i, 330, 10_000));
        }
        let before = w.cwnd;
        l.grow(&mut w, &sample(8, 330, 10_000));
        assert_eq!(w.cwnd, before - 2.0 / before);
    }

    #[test]
    fn the_window_keeps_to_what_is_in_flight_and_above_two() {
        let (mut l, mut w) = (ledbat(false), Window { cwnd: 10.0, ssthresh: f64::INFINITY });
        // with 5 segments in flight, the window is at most 5 + ALLOWED_INCREASE = 6
        l.grow(&mut w, &sample(0, 30, 5000));
        assert_eq!(w.cwnd, 6.0);
        for i in 1..100 {
            l.grow(&mut w, &sample(i, 5030, 6000));
        }
        assert_eq!(w.cwnd, 2.0);
        assert_eq!((l.ssthresh(9.0), l.ssthresh(3.0)), (4.5, 2.0));
    }

    #[test]
    fn slow_start_doubles_until_the_target() {
        let (mut l, mut w) = (ledbat(true), Window { cwnd: 4.0, ssthresh: f64::INFINITY });
        // the whole window is in flight before each ACK, so each acknowledged segment grows the window by one segment
        for i in 0..4 {
            l.grow(&mut w, &sample(i, 30, 4000 + 1000 * i));
        }
        assert_eq!(w.cwnd, 8.0);
        for i in 4..8 {
            l.grow(&mut w, &sample(i, 130, 12_000));
        }
        assert!(!w.slow_start() && w.cwnd < 12.0, "{w:?}");
    }
}
