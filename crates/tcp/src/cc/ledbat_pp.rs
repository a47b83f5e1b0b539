//! LEDBAT++: LEDBAT that measures round trips, grows no faster than Reno, reduces its window in proportion to its size,
//! and empties its queue periodically to measure the path.
//!
//! ```text
//! queuing_delay, base:  as in LEDBAT (`delay_filters.rs`), but computed from round-trip times
//! GAIN          = 1 / min(16, ceil(2 TARGET / base))                              §4.2
//! slow start:     cwnd += GAIN * acked                                            §4.1
//!                 the first slow start ends once queuing_delay > 3/4 TARGET
//! round trip:     cwnd += GAIN                                                    §4.3, if queuing_delay <= TARGET
//!                 cwnd += max(GAIN - Constant cwnd (queuing_delay / TARGET - 1), -cwnd / 2)   otherwise
//!                 each ACK applies the share acked / cwnd of this change
//! slowdown:       ssthresh = cwnd, and cwnd = 2 segments for 2 round trips; then slow start up to ssthresh    §4.4
//!                 the first slowdown begins 2 round trips after the first slow start
//!                 if a slowdown, including its slow start, takes time T, the next slowdown begins 9 T after its end
//! loss:           as in LEDBAT
//! ```
//!
//! The constant growth and the proportional reduction make competing flows converge to equal windows. During slowdowns,
//! a flow can see the empty path, which a latecomer never sees with LEDBAT. Slowdowns cost at most a tenth of the link's
//! capacity.
//!
//! Source: draft-irtf-iccrg-ledbat-plus-plus-01 §4.1 to §4.5, as public implementations quote it. The draft itself was not
//! available, and version 06 (January 2026) was not compared.
//! Departs: none known from the quotations, which leave four points open. This model decides them as follows. The two round trips
//! at the minimum window last twice the SRTT at the beginning of the slowdown. The slow start after a slowdown is that of §4.1, so
//! GAIN applies. The window grows only if it limited the sender (the stack's `cwnd_validation`), in place of LEDBAT's
//! ALLOWED_INCREASE. ACKs that arrive during fast recovery do not enter the filters.

use super::control::{AckSample, Congestion, Control, Drive, Needs, Stack, Window};
use super::delay_filters::DelayFilters;
use super::ledbat::{MAX_BASE_HISTORY, MAX_CURRENT_FILTER};
use crate::params::group::{Group, group, require};
use packet::Reading;
use units::{Duration, Problem, Time};

/// Minimum window in segments, which is also the window during a slowdown.
const MIN_CWND: f64 = 2.0;
/// Maximum of the divisor in GAIN = 1 / divisor.
const MOST_SLOWER: u64 = 16;
/// The first slow start ends when the queueing delay exceeds this share of TARGET.
const EXIT_SHARE: f64 = 0.75;
/// Maximum reduction of the window in a round trip, as a share of the window.
const LARGEST_DECREASE: f64 = 0.5;
/// Number of round trips between the end of the first slow start and the first slowdown. It is also the number of round
/// trips that each slowdown spends at the minimum window.
const SLOWDOWN_RTTS: u64 = 2;
/// Time from the end of a slowdown to the beginning of the next, as a multiple of the duration of the slowdown that ended.
const SLOWDOWN_INTERVAL: u64 = 9;
/// Default of `beta`: share of the window kept after congestion.
const BETA: f64 = 0.5;

group! {
    /// The table `ledbat_pp`, which holds the parameters of LEDBAT++.
    pub(crate) struct LedbatPpKeys {
        /// Parameters of LEDBAT++, for `congestion_control = "ledbat++"`.
        pub ledbat_pp: LedbatPpParams = LedbatPpParams::default(),
    }

    fn validate(&self) -> Result<(), Problem> {
        Group::validate(&self.ledbat_pp).map_err(|p| p.under("ledbat_pp"))
    }
}

group! {
    /// Parameters of LEDBAT++.
    #[derive(serde::Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub(crate) struct LedbatPpParams {
        /// TARGET: target queueing delay. Default 60ms.
        pub target: Duration = Duration::from_millis(60),
        /// Constant: strength of the reduction. While the queueing delay exceeds the target, the window changes in each
        /// round trip by its usual growth minus Constant × window × (delay / target - 1). It falls by at most half.
        /// Default 1.
        pub constant: f64 = 1.0,
        /// BASE_HISTORY: length of the history, in minutes. The base round trip is the smallest round-trip time in the
        /// history. Default 10.
        pub base_history: u32 = 10,
        /// CURRENT_FILTER: number of recent samples. The current round trip is the smallest of these samples. Default
        /// 4.
        pub current_filter: u32 = 4,
    }

    fn validate(&self) -> Result<(), Problem> {
        let Self { target, constant, base_history, current_filter } = *self;
        let range = Duration::from_millis(1)..=Duration::from_secs(10);
        require("target", target, range.contains(&target), "1ms to 10s")?;
        require("constant", constant, constant > 0.0 && constant <= 100.0, "more than 0, at most 100")?;
        for (key, v, most) in [
            ("base_history", base_history, MAX_BASE_HISTORY),
            ("current_filter", current_filter, MAX_CURRENT_FILTER),
        ] {
            require(key, v, (1..=most).contains(&v), format!("1 to {most}"))?;
        }
        Ok(())
    }
}

/// A slowdown. It includes the slow start that follows the time at the minimum window.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Slowdown {
    since: Time,
    /// Time until which the window stays at its minimum.
    until: Time,
}

/// The state of one flow.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LedbatPp {
    p: LedbatPpParams,
    /// Share of the window kept after a loss.
    beta: f64,
    filters: DelayFilters,
    slowdown: Option<Slowdown>,
    /// Earliest time at which the next slowdown may begin; `NEVER` during a slowdown and during the first slow start.
    next: Time,
    /// Number of slowdowns that have begun.
    slowdowns: u32,
}

/// Returns GAIN for a path whose base round-trip time is `base` microseconds.   Source:
/// draft-irtf-iccrg-ledbat-plus-plus-01 §4.2.
fn gain(target: Duration, base: u32) -> f64 {
    let divisor = (2 * target.0).div_ceil(1000 * u64::from(base.max(1)));
    1.0 / divisor.clamp(1, MOST_SLOWER) as f64
}

/// Returns the change of the window per round trip, in segments; `delay` is the queueing delay.   Source:
/// draft-irtf-iccrg-ledbat-plus-plus-01 §4.3.
fn change(p: &LedbatPpParams, gain: f64, cwnd: f64, delay: Duration) -> f64 {
    if delay <= p.target {
        return gain;
    }
    let excess = delay.0 as f64 / p.target.0 as f64 - 1.0;
    (gain - p.constant * cwnd * excess).max(-LARGEST_DECREASE * cwnd)
}

impl LedbatPp {
    /// Begins and ends slowdowns. Returns true while the window must stay at its minimum.
    fn slow_down(&mut self, w: &mut Window, s: &AckSample) -> bool {
        match self.slowdown {
            Some(slowdown) if s.now < slowdown.until => return true,
            Some(slowdown) if !w.slow_start() => {
                self.next = s.now + s.now.since(slowdown.since) * SLOWDOWN_INTERVAL;
                self.slowdown = None;
            }
            Some(_) => {}
            None if w.slow_start() => {}
            None if self.slowdowns == 0 && self.next == Time::NEVER => self.next = s.now + s.srtt * SLOWDOWN_RTTS,
            None if s.now >= self.next => {
                *w = Window { cwnd: MIN_CWND, ssthresh: w.cwnd };
                self.slowdown = Some(Slowdown { since: s.now, until: s.now + s.srtt * SLOWDOWN_RTTS });
                self.next = Time::NEVER;
                self.slowdowns += 1;
                return true;
            }
            None => {}
        }
        false
    }
}

impl Control for LedbatPp {
    type Params = LedbatPpKeys;

    const NEEDS: Needs = Needs { beta: true, ..Needs::NONE };

    fn new(own: &LedbatPpKeys, stack: &Stack<'_>) -> Self {
        let p = own.ledbat_pp.clone();
        Self {
            beta: stack.shared.beta.unwrap_or(BETA),
            filters: DelayFilters::new(p.base_history, p.current_filter),
            p,
            slowdown: None,
            next: Time::NEVER,
            slowdowns: 0,
        }
    }

    fn grow(&mut self, w: &mut Window, s: &AckSample) {
        let Some(rtt) = s.rtt_us else { return };
        let delay = Duration::from_micros(u64::from(self.filters.queuing_delay(s.now, rtt)));
        if self.slow_down(w, s) {
            return;
        }
        let gain = gain(self.p.target, self.filters.base().unwrap_or(rtt));
        if w.ssthresh.is_infinite() && delay.0 as f64 > EXIT_SHARE * self.p.target.0 as f64 {
            w.ssthresh = w.cwnd;
        }
        if w.slow_start() {
            if s.cwnd_limited {
                w.grow_in_slow_start(gain * s.credit);
            }
            return;
        }
        let change = change(&self.p, gain, w.cwnd, delay);
        if change < 0.0 || s.cwnd_limited {
            w.cwnd = (w.cwnd + change * s.credit / w.cwnd).max(MIN_CWND);
            // a window that the delay has reduced does not return to slow start
            w.ssthresh = w.ssthresh.min(w.cwnd);
        }
    }

    fn on_congestion(&mut self, w: Window, _: Congestion, base: f64) -> Drive {
        Window { ssthresh: (base * self.beta).max(MIN_CWND), ..w }.into()
    }

    fn probe(&self, out: &mut Reading<'_>) {
        self.filters.probe(out);
        out.value("gain", packet::Unit::One, self.filters.base().map(|base| gain(self.p.target, base)));
        out.flag("slowdown", self.slowdown.is_some());
        out.number("slowdowns", self.slowdowns);
        out.moment("next_slowdown", self.next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::{TcpParams, stack};

    const BASE_MS: u64 = 40;

    fn flow() -> LedbatPp {
        let p = TcpParams::preset("ledbat++").unwrap();
        LedbatPp::new(&p.control.ledbat_pp, &stack(&p))
    }

    fn sample(ms: u64, rtt_ms: u64) -> AckSample {
        let (now, rtt_us, srtt) = (Time(ms * 1_000_000), Some(rtt_ms as u32 * 1000), Duration::from_millis(rtt_ms));
        AckSample { now, credit: 1.0, rtt_us, srtt, cwnd_limited: true, ..AckSample::default() }
    }

    /// Passes `n` ACKs to the controller at time `ms`. Each ACK has a round-trip time of `rtt_ms`.
    fn acks(l: &mut LedbatPp, w: &mut Window, n: u64, ms: u64, rtt_ms: u64) {
        (0..n).for_each(|_| l.grow(w, &sample(ms, rtt_ms)));
    }

    #[test]
    fn the_gain_is_one_at_twice_the_target_and_a_sixteenth_on_short_paths() {
        // GAIN is 1 / ceil(2 TARGET / base), where 2 TARGET is 120 ms: 120 / 120 = 1, 120 / 119 rounds up to 2, 120 / 40 = 3,
        // 120 / 9 = 13.3 rounds up to 14. 120 / 7 = 17.1 exceeds the maximum of 16
        let of = |ms: u32| 1.0 / gain(Duration::from_millis(60), 1000 * ms);
        assert_eq!([600, 120, 119, 40, 9, 7, 0].map(of), [1.0, 1.0, 2.0, 3.0, 14.0, 16.0, 16.0]);
    }

    #[test]
    fn a_round_trip_changes_the_window_as_the_draft_s_examples() {
        let p = LedbatPpParams::default();
        let at = |cwnd: f64, ms: u64| change(&p, 0.25, cwnd, Duration::from_millis(ms));
        // up to the target, the window grows by GAIN whatever the delay
        assert_eq!([0, 30, 60].map(|ms| at(80.0, ms)), [0.25; 3]);
        // if the delay is 66 ms, 10 % above the target, a window of 80 segments grows by GAIN and shrinks by 8
        // segments. At 90 ms, 50 % above the target, it grows by GAIN and shrinks by 40. Far above the target, it is
        // halved
        assert!((at(80.0, 66) + 7.75).abs() < 1e-9);
        assert_eq!([at(80.0, 90), at(80.0, 600)], [-39.75, -40.0]);
        // at 66 ms, two windows of 20 and 80 lose 1.75 and 7.75, so their difference shrinks by a tenth
        assert!(((at(80.0, 66) - at(20.0, 66)) / 60.0 + 0.1).abs() < 1e-9);
    }

    #[test]
    fn slow_start_grows_by_the_gain_and_ends_above_three_quarters_of_the_target() {
        // with a base round trip of 40 ms, GAIN is 1/3, so six acknowledged segments grow the window by two segments
        let (mut l, mut w) = (flow(), Window { cwnd: 2.0, ssthresh: f64::INFINITY });
        acks(&mut l, &mut w, 6, 0, BASE_MS);
        assert!((w.cwnd - 4.0).abs() < 1e-9);
        // an RTT of 85 ms means 45 ms of queue, exactly three quarters of the target, so slow start continues. At 86 ms it ends
        // with the fourth ACK, because the current delay is the minimum of four samples
        acks(&mut l, &mut w, 6, 100, 85);
        assert!((w.cwnd - 6.0).abs() < 1e-9 && w.slow_start());
        acks(&mut l, &mut w, 3, 200, 86);
        assert!(w.slow_start());
        acks(&mut l, &mut w, 1, 200, 86);
        assert!(!w.slow_start());
        // congestion avoidance: one round trip adds GAIN
        let before = w.cwnd;
        acks(&mut l, &mut w, before as u64, 210, 86);
        assert!((w.cwnd - before - 1.0 / 3.0).abs() < 0.02, "{before} {}", w.cwnd);
    }

    #[test]
    fn a_window_that_does_not_limit_the_sender_does_not_grow() {
        let (mut l, mut w) = (flow(), Window { cwnd: 10.0, ssthresh: 5.0 });
        l.grow(&mut w, &AckSample { cwnd_limited: false, ..sample(0, BASE_MS) });
        assert_eq!(w.cwnd, 10.0);
        // such a window may still shrink: from the fourth sample on, the current delay shows 200 ms of queue. This is
        // more than twice the target, so the fourth ACK reduces the window by half a segment
        for _ in 0..4 {
            l.grow(&mut w, &AckSample { cwnd_limited: false, ..sample(10, BASE_MS + 200) });
        }
        assert!((w.cwnd - 9.5).abs() < 1e-9, "{}", w.cwnd);
        acks(&mut l, &mut w, 1000, 20, BASE_MS + 200);
        assert_eq!(w.cwnd, 2.0);
    }

    #[test]
    fn slowdowns_take_a_tenth_of_the_time() {
        let (mut l, mut w) = (flow(), Window { cwnd: 32.0, ssthresh: f64::INFINITY });
        // at 1 s, a queueing delay of 50 ms ends slow start. The first slowdown begins two round trips of 90 ms after
        // the ACK at 1001 ms
        acks(&mut l, &mut w, 1, 900, BASE_MS);
        acks(&mut l, &mut w, 4, 1000, BASE_MS + 50);
        acks(&mut l, &mut w, 1, 1001, BASE_MS + 50);
        assert_eq!(l.next, Time(1_181_000_000));
        acks(&mut l, &mut w, 1, 1180, BASE_MS + 50);
        assert_eq!(l.slowdowns, 0);
        let held = w.cwnd;
        acks(&mut l, &mut w, 1, 1181, BASE_MS + 50);
        assert_eq!((w.cwnd, w.ssthresh, l.slowdowns), (2.0, held, 1));
        // the window stays at 2 for two round trips. Then each round trip of 40 ms multiplies it by 4/3, so growth from
        // 2 to 33.4 takes ln(16.7) / ln(4/3) = 9.8, that is, 10 round trips
        acks(&mut l, &mut w, 5, 1360, BASE_MS);
        assert_eq!(w.cwnd, 2.0);
        let mut ms = 1361;
        while w.slow_start() {
            let n = w.cwnd.round() as u64;
            acks(&mut l, &mut w, n, ms, BASE_MS);
            ms += BASE_MS;
        }
        let trips = (ms - 1361) / BASE_MS;
        assert!((9..=11).contains(&trips), "{trips}");
        acks(&mut l, &mut w, 1, ms, BASE_MS);
        // the slowdown lasted from 1181 ms to the last round trip of the loop above. The next slowdown begins after
        // nine times this duration
        let end = ms - BASE_MS;
        let next = end + 9 * (end - 1181);
        assert_eq!((l.next, l.slowdown), (Time(next * 1_000_000), None));
        acks(&mut l, &mut w, 1, next - 1, BASE_MS);
        assert_eq!(l.slowdowns, 1);
        acks(&mut l, &mut w, 1, next, BASE_MS);
        assert_eq!((l.slowdowns, w.cwnd), (2, 2.0));
    }

    #[test]
    fn a_loss_ends_the_first_slow_start_too() {
        let (mut l, mut w) = (flow(), Window { cwnd: 10.0, ssthresh: f64::INFINITY });
        acks(&mut l, &mut w, 1, 0, BASE_MS);
        w.follow(&l.on_congestion(w, Congestion::Loss, 20.0));
        assert_eq!(w.ssthresh, 10.0);
        w.cwnd = w.ssthresh;
        acks(&mut l, &mut w, 1, 100, BASE_MS);
        assert_eq!(l.next, Time(180_000_000));
        assert_eq!(l.on_congestion(w, Congestion::Loss, 3.0).ssthresh, 2.0);
    }
}
