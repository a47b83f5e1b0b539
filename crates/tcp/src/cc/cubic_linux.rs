//! CUBIC as in Linux 6: `cubic_form = "linux"`.
//!
//! ```text
//! target = W_max -+ trunc(C |t + min RTT - K|^3),  K = cbrt((W_max - cwnd) / C)
//! cnt    = cwnd / (target - cwnd) if target > cwnd, otherwise 100 cwnd     cwnd grows by 1 per cnt segments acknowledged
//! bounds:      cnt is at most 20 before W_max is known, small enough to keep up with Reno's estimate, and at least 2
//! cnt is computed at most once per millisecond, and once per HZ/32 = 31 ms while cwnd does not change
//! congestion:  W_max = cwnd, or cwnd (1 + beta) / 2 if cwnd < W_max;  ssthresh = max(beta cwnd, 2), beta = 717/1024
//! timeout:     ssthresh as above, then all state is reset, including W_max and the minimum RTT
//! ```
//!
//! All divisions are integer divisions. There are five other differences from RFC 9438. The estimate of Reno's window
//! keeps its slope: alpha is never raised to 1 (§4.3). The curve is evaluated one minimum RTT ahead, not one smoothed
//! RTT (§4.2). After a timeout, W_max is unknown until the next loss or mark (in §4.8, it becomes the window with which
//! congestion avoidance begins). While W_max is unknown, the window grows by at least 5 % per round trip (§4.10 has no
//! such rule). Only idle periods are excluded from t, each from the last transmission before it to the first one after
//! it (CA_EVENT_TX_START). Time in which the application sends less than the window counts, so the window may jump
//! afterwards (§4.2 and §5.8 exclude this time too).
//!
//! Source: Ha, Rhee & Xu 2008; RFC 9438 §4; measurements of a kernel, which `bloatlab validate` compares with this model.
//! Departs: the cube root is exact before it is truncated to 1024ths of a second, whereas the kernel's is 0.2 % off. C is 0.4,
//! whereas the kernel's is 410/1024.

use super::control::{AckSample, Congestion, Control, Drive, Silence, Stack, Window};
use super::cubic_rfc::Law;
use super::first_start::FirstStart;
use super::hystart::HyStart;
use super::linux::{Curve, Growth, RECOMPUTE, SETTLE, jiffies};
use super::shared::NoParams;
use packet::Reading;
use units::Time;

/// Upper limit of `cnt` while W_max is unknown: the window grows by at least one segment per 20 segments acknowledged.
const MOST_BEFORE_LOSS: u32 = 20;
/// Lower limit of `cnt`: the window grows by at most one segment per 2 segments acknowledged, or 50 % per round trip.
const LEAST: u32 = 2;
/// Fraction of a segment that is ignored in a count of segments, because sums of fractions are inexact.
const ROUNDING: f64 = 1e-6;
/// Default of `beta`, the fraction of the window that is kept after congestion.
const BETA: f64 = 717.0 / 1024.0;

/// The state of one flow.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CubicLinux {
    growth: Growth,
    hystart: HyStart,
    /// The state of the first slow start.
    start: FirstStart,
}

impl CubicLinux {
    /// Grows the window by one segment per `cnt` segments acknowledged, and carries the remainder over. If `cnt` has
    /// fallen to this remainder or below it, the whole remainder yields only one segment.
    fn add(&mut self, w: &mut Window, acked: u32) {
        if self.growth.cwnd_cnt >= self.growth.cnt {
            self.growth.cwnd_cnt = 0;
            w.cwnd += 1.0;
        }
        self.growth.cwnd_cnt += acked;
        if self.growth.cwnd_cnt >= self.growth.cnt {
            w.cwnd += f64::from(self.growth.cwnd_cnt / self.growth.cnt);
            self.growth.cwnd_cnt %= self.growth.cnt;
        }
    }

    /// Computes `cnt`, the number of acknowledged segments after which the window grows by one segment.
    fn update(&mut self, cwnd: f64, now: Time, acked: u32) {
        self.growth.reno.acked = self.growth.reno.acked.saturating_add(acked);
        let least_rtt = u64::from(self.hystart.min_rtt_us().unwrap_or(0)).div_ceil(1000);
        let since = jiffies(now) - jiffies(self.growth.last_time);
        if self.growth.last_cwnd == cwnd as u32 && since <= RECOMPUTE {
            return;
        }
        if self.growth.epoch_start == Time::NEVER || since > 0 {
            self.follow_curve(cwnd, now, acked, least_rtt);
        }
        if self.growth.law.tcp_friendliness {
            self.growth.cnt = self.growth.cnt.min(self.growth.reno.keep_up(self.growth.law.backoff.beta, cwnd as u32));
        }
        self.growth.cnt = self.growth.cnt.max(LEAST);
    }

    fn follow_curve(&mut self, cwnd: f64, now: Time, acked: u32, least_rtt: u64) {
        (self.growth.last_cwnd, self.growth.last_time) = (cwnd as u32, now);
        self.growth.begin_epoch(cwnd, now, acked);
        let t = jiffies(now) - jiffies(self.growth.epoch_start) + least_rtt;
        let target = self.growth.curve.at(self.growth.law.c, Curve::seconds(t));
        self.growth.cnt = if target > cwnd { cwnd / (target - cwnd) } else { 100.0 * cwnd } as u32;
        if self.growth.last_max == 0.0 {
            self.growth.cnt = self.growth.cnt.min(MOST_BEFORE_LOSS);
        }
    }
}

impl Control for CubicLinux {
    type Params = NoParams;

    fn new(_: &NoParams, stack: &Stack<'_>) -> Self {
        let growth = Growth::new(Law::new(stack.shared, BETA));
        Self { growth, hystart: HyStart::new(stack), start: FirstStart::new(stack) }
    }

    fn on_handshake(&mut self, _: Window, now: Time, us: u32) -> Option<Drive> {
        self.start.on_handshake(now, us);
        None
    }

    #[inline]
    fn on_ack(&mut self, mut w: Window, s: &AckSample) -> Drive {
        if let Some(d) = self.start.on_any_ack(w, s) {
            return d;
        }
        if !s.rests {
            self.grow(&mut w, s);
        }
        w.into()
    }

    #[inline]
    fn grow(&mut self, w: &mut Window, s: &AckSample) {
        let settled =
            self.growth.epoch_start == Time::NEVER || jiffies(s.now) >= jiffies(self.growth.epoch_start) + SETTLE;
        if settled {
            self.hystart.on_ack(w, s);
        }
        if self.start.on_ack(w, s) || !s.cwnd_limited {
            return;
        }
        // Linux counts segments of any size, so a partly filled segment counts as a full segment
        let mut acked = (s.credit - ROUNDING).ceil().max(0.0);
        if w.slow_start() {
            acked = w.grow_in_slow_start(acked);
        }
        if acked > 0.0 {
            w.cwnd = w.cwnd.floor().max(1.0);
            self.update(w.cwnd, s.now, acked as u32);
            self.add(w, acked as u32);
        }
    }

    fn on_congestion(&mut self, w: Window, kind: Congestion, base: f64) -> Drive {
        let beta = self.growth.law.backoff.left(w, kind);
        let d = Window { ssthresh: self.growth.reduce(beta, base), ..w }.into();
        self.start.on_congestion(w, beta, d)
    }

    /// Resets CUBIC and HyStart. The other algorithms for the first slow start keep their state, except Rapid Start's
    /// recovery, because the state is needed again if the timeout proves spurious.
    fn on_rto(&mut self, _: Window) {
        self.hystart.restart();
        self.start.on_rto();
        self.growth = Growth::new(self.growth.law);
    }

    /// Moves the start of the epoch forward by the length of the idle period, so that the cubic curve does not advance
    /// during that period.
    fn on_idle(&mut self, _: Window, silence: Silence) -> Option<Drive> {
        if self.growth.epoch_start != Time::NEVER {
            self.growth.epoch_start = (self.growth.epoch_start + silence.idle).min(silence.now);
        }
        None
    }

    fn probe(&self, out: &mut Reading<'_>) {
        self.growth.probe(out);
        self.hystart.probe(out);
        self.start.probe(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::shared::HyStart as HyStartAxis;
    use crate::cc::{TcpParams, stack};
    use units::Duration;

    fn params() -> TcpParams {
        TcpParams::preset("linux-6").unwrap().with(|p| p.control.shared.hystart = HyStartAxis::Off)
    }

    fn sample(now: Time, rtt_us: u32) -> AckSample {
        let srtt = Duration::from_micros(u64::from(rtt_us));
        AckSample { now, credit: 1.0, rtt_us: Some(rtt_us), srtt, cwnd_limited: true, ..AckSample::default() }
    }

    /// Runs `rounds` round trips of `ms` milliseconds, the first starting at 100 s. Each round trip acknowledges one window, with
    /// one ACK per segment.
    fn rounds(c: &mut CubicLinux, w: &mut Window, ms: u64, rounds: u64) {
        for round in 0..rounds {
            let (start, n) = (100_000_000_000 + round * ms * 1_000_000, w.cwnd as u64);
            for i in 0..n {
                c.grow(w, &sample(Time(start + i * ms * 1_000_000 / n), (ms * 1000) as u32));
            }
        }
    }

    #[test]
    fn reductions_are_of_whole_segments() {
        let p = params();
        let mut c = CubicLinux::new(&NoParams {}, &stack(&p));
        // ssthresh = beta cwnd = 717 / 1024 * 90 = 63.02, truncated to 63
        assert_eq!(c.growth.reduce(BETA, 90.0), 63.0);
        assert_eq!(c.growth.last_max, 90.0);
        // 63 is below W_max = 90, so W_max becomes cwnd (1 + beta) / 2 = 63 * 1741 / 2048 = 53.55. ssthresh = 63 * 717 / 1024 =
        // 44.1
        assert_eq!(c.growth.reduce(BETA, 63.0), 44.0);
        assert_eq!(c.growth.last_max, 53.0);
        // ssthresh is never below 2
        assert_eq!(c.growth.reduce(BETA, 2.0), 2.0);
    }

    #[test]
    fn reno_s_slope_is_never_raised_to_one() {
        let p = params();
        let mut c = CubicLinux::new(&NoParams {}, &stack(&p));
        // a window of 20 is cut to 14; the round trip is 10 ms. K = cbrt(6 / 0.4) = 2.47 s, so after 50 round trips,
        // half a second, the curve is only at 20 - 0.4 * 1.97^3 = 17
        let mut w = Window { cwnd: 14.0, ssthresh: c.growth.reduce(BETA, 20.0) };
        assert_eq!(w.ssthresh, 14.0);
        rounds(&mut c, &mut w, 10, 50);
        // in Linux's form, W_est grows by one per trunc(15 W / 8) segments, or 8/15 per round trip, below and above
        // W_max = 20. In 50 round trips it grows by 26, from 14 to 40. In RFC 9438's form, growth is 1 per round trip
        // above 20: the window takes 11 round trips from 14 to 20, and grows by 39 segments in the other 39 round trips
        assert!((38.0..=41.0).contains(&w.cwnd), "{}", w.cwnd);
        let rfc = p.with(|p| p.control.cubic.cubic_form = crate::cc::cubic::CubicForm::Rfc9438);
        let mut c = super::super::cubic_rfc::Cubic::new(&NoParams {}, &stack(&rfc));
        let mut w = Window { cwnd: 14.0, ssthresh: c.ssthresh(0.7, 20.0) };
        for i in 0..50 {
            for _ in 0..w.cwnd as u64 {
                c.grow(&mut w, &sample(Time(100_000_000_000 + i * 10_000_000), 10_000));
            }
        }
        assert!((56.0..=60.0).contains(&w.cwnd), "{}", w.cwnd);
    }

    #[test]
    fn the_rate_of_growth_changes_at_most_every_31_ms() {
        // A trace of Linux 6.18 (tools/kernel), sampled every 0.5 ms: one flow behind a buffer of 5 packets at
        // 10 Mbit/s, with RTTs of 4 to 11 ms. A reduction from 10 to 7 ended at 8086 ms. In the trace, some ACKs are
        // for two segments; here, each ACK is for one. So the times of the steps may differ by two segments, or 2.4 ms
        let p = params();
        let mut c = CubicLinux::new(&NoParams {}, &stack(&p));
        let mut w = Window { cwnd: 7.0, ssthresh: c.growth.reduce(BETA, 10.0) };
        let mut steps = vec![];
        for segment in 0..75_u64 {
            let (before, now) = (w.cwnd, Time(8_086_000_000 + segment * 1_211_200));
            c.grow(&mut w, &sample(now, 4_000));
            if w.cwnd > before {
                steps.push(now.0 as f64 / 1e6);
            }
        }
        let kernel = [8093.0, 8128.5, 8162.5, 8172.0];
        assert_eq!(steps.len(), kernel.len(), "{steps:?}");
        for (ours, theirs) in steps.iter().zip(kernel) {
            assert!((ours - theirs).abs() < 2.4, "{steps:?}");
        }
    }

    #[test]
    fn the_window_steps_where_the_curve_does() {
        let p = params().with(|p| p.control.shared.tcp_friendliness = false);
        let mut c = CubicLinux::new(&NoParams {}, &stack(&p));
        let mut w = Window { cwnd: 70.0, ssthresh: c.growth.reduce(BETA, 100.0) };
        assert_eq!(w.ssthresh, 70.0);
        // K = cbrt(30 / 0.4) = 4.217 s. The target at 1 s is the value of the curve a minimum RTT (100 ms) later, 3.117 s
        // before K: 100 - trunc(0.4 * 3.117^3 = 12.11) = 88
        let mut t = 0;
        while t < 1_000 {
            c.grow(&mut w, &sample(Time(100_000_000_000 + t * 1_000_000), 100_000));
            t += 1;
        }
        let target = c.growth.curve.at(p.control.shared.cubic_c, 1.1);
        assert_eq!(target, 88.0);
        // with one ACK per millisecond, 100 segments are acknowledged per round trip. That is more than the window, so
        // the window keeps up with the target
        assert!((85.0..=88.0).contains(&w.cwnd), "{}", w.cwnd);
    }

    #[test]
    fn a_timeout_forgets_the_plateau() {
        let p = params();
        let mut c = CubicLinux::new(&NoParams {}, &stack(&p));
        c.growth.reduce(BETA, 100.0);
        c.on_rto(Window { cwnd: 100.0, ssthresh: 70.0 });
        // while W_max is unknown, the window grows by one segment for every 20 acknowledged, or 5 % per round trip.
        // Starting at 50, it is 50 * 1.05^20 = 132.7 after 20 round trips
        let mut w = Window { cwnd: 50.0, ssthresh: 50.0 };
        rounds(&mut c, &mut w, 50, 20);
        assert!((120.0..=136.0).contains(&w.cwnd), "{}", w.cwnd);
    }
}
