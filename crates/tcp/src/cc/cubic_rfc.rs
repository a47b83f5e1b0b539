//! CUBIC as standardised: `cubic_form = "rfc9438"`.
//!
//! ```text
//! W_cubic(t) = C (t - K)^3 + W_max,   K = cbrt((W_max - cwnd_epoch) / C)
//! per ACK:     target = clamp(W_cubic(t + RTT), cwnd, 1.5 cwnd),  cwnd += (target - cwnd) / cwnd per segment
//!              W_est += alpha * acked / cwnd,  alpha = 3 (1 - beta) / (1 + beta), but 1 once W_est >= cwnd_prior
//!              if W_cubic(t) < W_est:  cwnd = W_est
//! congestion:  W_max = cwnd, or cwnd (1 + beta) / 2 if cwnd < W_max (fast convergence);  ssthresh = max(beta cwnd, 2)
//! ```
//!
//! t advances only while the window limits the sender. Idle periods are excluded, and so is the time in which the application
//! sends less than the window.
//!
//! Source: RFC 9438 §4. C in segments/s^3, t in seconds, windows in segments.
//! Departs: none known. `hystart` selects how slow start ends: by HyStart, by HyStart++ as RFC 9438 §4.10 recommends, by
//! SEARCH or by Rapid Start.

use super::abe::Backoff;
use super::control::{AckSample, Congestion, Control, Drive, Silence, Stack, Window};
use super::first_start::FirstStart;
use super::hystart::HyStart;
use super::shared::{NoParams, SharedParams};
use packet::{Reading, Unit};
use units::{Time, math};

/// Default of `beta`, the fraction of the window that is kept after congestion.   Source: RFC 9438 §4.6.
const BETA: f64 = 0.7;

/// The parameters common to all forms of CUBIC.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Law {
    /// C, segments/s^3.
    pub(super) c: f64,
    pub(super) fast_convergence: bool,
    pub(super) tcp_friendliness: bool,
    pub(super) backoff: Backoff,
}

impl Law {
    /// Takes the parameters from the shared parameters `p`. `beta` is the default fraction of the window that is kept
    /// after congestion.
    pub(super) fn new(p: &SharedParams, beta: f64) -> Self {
        Self {
            c: p.cubic_c,
            fast_convergence: p.fast_convergence,
            tcp_friendliness: p.tcp_friendliness,
            backoff: Backoff::new(p, beta),
        }
    }
}

/// The state of one flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Cubic {
    law: Law,
    w_max: f64,
    k: f64,
    w_est: f64,
    /// Window before the last reduction, or FlightSize if it was smaller and `reduce_from_flight` is set.
    cwnd_prior: f64,
    /// Start of the current stage of congestion avoidance, moved forward by the periods in which the application limited
    /// the sender; `NEVER` if there is no current stage.
    epoch_start: Time,
    /// Time up to which application-limited periods are already excluded from t: the time of the last ACK, or the end
    /// of the last idle period.
    seen: Time,
    /// True if the next stage of congestion avoidance follows a timeout. W_max then becomes the window at the start of
    /// that stage.
    after_rto: bool,
    hystart: HyStart,
    /// The state of the first slow start.
    start: FirstStart,
}

/// Returns K in seconds.   Source: RFC 9438 §4.2 figure 2.
pub(super) fn k(c: f64, w_max: f64, cwnd_epoch: f64) -> f64 {
    math::cbrt((w_max - cwnd_epoch).max(0.0) / c)
}

/// Returns the cubic function's value.   Source: RFC 9438 §4.2 figure 1.
#[inline]
fn w_cubic(c: f64, t: f64, k: f64, w_max: f64) -> f64 {
    let d = t - k;
    c * d * d * d + w_max
}

impl Cubic {
    fn avoid_congestion(&mut self, w: &mut Window, s: &AckSample, credit: f64) {
        if self.epoch_start == Time::NEVER {
            self.begin_epoch(w, s.now);
        }
        let beta = self.law.backoff.beta;
        let t = s.now.since(self.epoch_start).secs();
        let target = w_cubic(self.law.c, t + s.srtt.secs(), self.k, self.w_max).clamp(w.cwnd, 1.5 * w.cwnd);
        let cwnd = w.cwnd;
        w.cwnd += credit * (target - cwnd) / cwnd;
        if self.law.tcp_friendliness {
            let alpha = if self.w_est >= self.cwnd_prior { 1.0 } else { 3.0 * (1.0 - beta) / (1.0 + beta) };
            self.w_est += alpha * credit / cwnd;
            if w_cubic(self.law.c, t, self.k, self.w_max) < self.w_est {
                w.cwnd = w.cwnd.max(self.w_est);
            }
        }
    }

    /// Excludes the time since `seen` from t, because the application limited the sender.   Source: RFC 9438 §4.2, §5.8.
    fn pause(&mut self, now: Time) {
        if self.epoch_start != Time::NEVER {
            self.epoch_start = (self.epoch_start + now.since(self.seen)).min(now);
        }
        self.seen = now;
    }

    fn begin_epoch(&mut self, w: &Window, now: Time) {
        self.epoch_start = now;
        self.w_est = w.cwnd;
        if self.after_rto || w.cwnd >= self.w_max {
            // after a timeout (RFC 9438 §4.8), or if the window is not below W_max (§4.10), K is 0 and W_max becomes
            // the current window
            self.w_max = w.cwnd;
            self.k = 0.0;
            self.after_rto = false;
        } else {
            self.k = k(self.law.c, self.w_max, w.cwnd);
        }
    }

    /// Responds to congestion that occurred at a window of `base` segments. Returns the new ssthresh: `beta` times
    /// `base`, but at least 2.
    pub(super) fn ssthresh(&mut self, beta: f64, base: f64) -> f64 {
        self.epoch_start = Time::NEVER;
        self.cwnd_prior = base;
        self.w_max = if self.law.fast_convergence && base < self.w_max { base * (1.0 + beta) / 2.0 } else { base };
        (base * beta).max(2.0)
    }
}

impl Control for Cubic {
    type Params = NoParams;

    fn new(_: &NoParams, stack: &Stack<'_>) -> Self {
        Self {
            law: Law::new(stack.shared, BETA),
            epoch_start: Time::NEVER,
            hystart: HyStart::new(stack),
            start: FirstStart::new(stack),
            ..Self::default()
        }
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
        self.hystart.on_ack(w, s);
        if self.start.on_ack(w, s) {
            return;
        }
        if !s.cwnd_limited {
            return self.pause(s.now);
        }
        self.seen = s.now;
        let mut credit = s.credit;
        if w.slow_start() {
            credit = w.grow_in_slow_start(credit);
        }
        if credit > 0.0 {
            self.avoid_congestion(w, s, credit);
        }
    }

    fn on_congestion(&mut self, w: Window, kind: Congestion, base: f64) -> Drive {
        let beta = self.law.backoff.left(w, kind);
        let d = Window { ssthresh: self.ssthresh(beta, base), ..w }.into();
        self.start.on_congestion(w, beta, d)
    }

    fn on_rto(&mut self, _: Window) {
        self.epoch_start = Time::NEVER;
        self.after_rto = true;
        self.hystart.restart();
        self.start.on_rto();
    }

    /// Excludes the idle period, which began with the last ACK, from t.
    fn on_idle(&mut self, _: Window, silence: Silence) -> Option<Drive> {
        self.pause(silence.now);
        None
    }

    fn probe(&self, out: &mut Reading<'_>) {
        out.segments("w_max", self.w_max);
        out.value("k", Unit::Seconds, Some(self.k));
        out.moment("epoch_start", self.epoch_start);
        out.segments("w_est", self.w_est);
        out.segments("cwnd_prior", self.cwnd_prior);
        self.hystart.probe(out);
        self.start.probe(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::cubic::CubicForm;
    use crate::cc::shared::HyStart as HyStartAxis;
    use crate::cc::{TcpParams, stack};
    use units::Duration;

    fn params() -> TcpParams {
        TcpParams::preset("linux-6").unwrap().with(|p| p.control.cubic.cubic_form = CubicForm::Rfc9438)
    }

    #[test]
    fn k_of_the_sources() {
        // CableLabs 2012 has beta 0.8 and W_max 167: K = cbrt(W_max (1 - beta) / C) = cbrt(167 * 0.2 / 0.4) = 4.371 s
        assert!((k(0.4, 167.0, 0.8 * 167.0) - 4.371).abs() < 1e-3);
        // RFC 9438 has beta 0.7; with W_max 100, K = cbrt(100 * 0.3 / 0.4) = 4.217 s
        assert!((k(0.4, 100.0, 70.0) - 4.217).abs() < 1e-3);
    }

    /// Sends one ACK per segment, with a round trip of `rtt` seconds, for `secs` seconds.
    fn run(c: &mut Cubic, w: &mut Window, rtt: f64, secs: f64) {
        let mut t = 100.0;
        while t < 100.0 + secs {
            t += rtt / w.cwnd;
            let now = Time((t * 1e9) as u64);
            let srtt = Duration::from_secs_f64(rtt);
            let s = AckSample { now, credit: 1.0, srtt, cwnd_limited: true, ..AckSample::default() };
            c.grow(w, &s);
        }
    }

    #[test]
    fn the_window_follows_the_closed_form() {
        let mut p = params();
        p.control.shared.hystart = HyStartAxis::Off;
        p.control.shared.tcp_friendliness = false;
        let mut c = Cubic::new(&NoParams {}, &stack(&p));
        let mut w = Window { cwnd: 1000.0, ssthresh: 500.0 };
        w.ssthresh = c.ssthresh(BETA, w.cwnd);
        assert_eq!(w.ssthresh, 700.0);
        w.cwnd = 700.0;
        // K = cbrt(300 / 0.4) = 9.086 s. In each round trip, the window moves towards W_cubic(t + RTT), so at time t it is about
        // W_cubic(t)
        for (t, want) in [(3.0, 0.4 * (3.0f64 - 9.0856) * 37.0345 + 1000.0), (9.0856, 1000.0), (12.0, 1009.9)] {
            let (mut c, mut w) = (c.clone(), w);
            run(&mut c, &mut w, 0.05, t);
            assert!((w.cwnd - want).abs() < 2.0, "t {t}: {} for {want}", w.cwnd);
        }
    }

    #[test]
    fn time_limited_by_the_application_does_not_count() {
        /// Acknowledges one segment at a time for `ms` milliseconds, at an RTT of 50 ms.
        fn acks(c: &mut Cubic, w: &mut Window, now: &mut Time, ms: u64, cwnd_limited: bool) {
            let end = *now + Duration::from_millis(ms);
            while *now < end {
                *now += Duration::from_secs_f64(0.05 / w.cwnd);
                let srtt = Duration::from_millis(50);
                c.grow(w, &AckSample { now: *now, credit: 1.0, srtt, cwnd_limited, ..AckSample::default() });
            }
        }
        let mut p = params();
        p.control.shared.hystart = HyStartAxis::Off;
        p.control.shared.tcp_friendliness = false;
        for idle in [0, 30] {
            let mut c = Cubic::new(&NoParams {}, &stack(&p));
            let mut w = Window { cwnd: 700.0, ssthresh: c.ssthresh(BETA, 1000.0) };
            let mut now = Time(100_000_000_000);
            acks(&mut c, &mut w, &mut now, 3000, true);
            let before = w.cwnd;
            // for 30 s, the application sends less than the window. Then it pauses for `idle` seconds. Then it again
            // sends less than the window, for 50 ms
            acks(&mut c, &mut w, &mut now, 30_000, false);
            if idle > 0 {
                now += Duration::from_secs(idle);
                c.on_idle(w, Silence { now, idle: Duration::from_millis(1000 * idle + 50), app_limited: false });
            }
            acks(&mut c, &mut w, &mut now, 50, false);
            assert_eq!(w.cwnd, before);
            // K is 9.086 s, and t is still 3 s, so the window reaches the plateau, 1000, in 6.086 s. If t were 33 s, W_cubic would
            // be 0.4 (33 - 9.086)^3 + 1000 = 6470, and the window would grow by half in each round trip
            acks(&mut c, &mut w, &mut now, 3000, true);
            // 0.4 (6 - 9.086)^3 + 1000 = 988.25
            assert!((w.cwnd - 988.25).abs() < 2.0, "idle {idle} s: {}", w.cwnd);
            acks(&mut c, &mut w, &mut now, 3086, true);
            assert!((w.cwnd - 1000.0).abs() < 2.0, "idle {idle} s: {}", w.cwnd);
        }
    }

    #[test]
    fn fast_convergence_and_reno_region() {
        let p = params();
        let mut c = Cubic::new(&NoParams {}, &stack(&p));
        assert_eq!(c.ssthresh(BETA, 100.0), 70.0);
        // 70 is below W_max = 100, so W_max becomes cwnd (1 + beta) / 2 = 70 * 1.7 / 2 = 59.5
        assert_eq!(c.ssthresh(BETA, 70.0), 49.0);
        assert_eq!(c.w_max, 59.5);
        // With an RTT of 1 ms and a window of 10, the cubic term is negligible. Reno's estimate grows by alpha = 3 * 0.3 / 1.7 =
        // 0.529 segments per round up to the window before the loss, 10, then by 1. From 7 to 10 it takes 5.67 rounds, so after
        // 50 rounds it is 10 + 44.3 = 54.3.
        let mut c = Cubic::new(&NoParams {}, &stack(&p));
        let mut w = Window { cwnd: 7.0, ssthresh: c.ssthresh(BETA, 10.0) };
        run(&mut c, &mut w, 0.001, 0.05);
        assert!((w.cwnd - 54.3).abs() < 1.5, "{}", w.cwnd);
    }

    #[test]
    fn after_a_timeout_the_plateau_is_where_avoidance_begins() {
        let p = params();
        let mut c = Cubic::new(&NoParams {}, &stack(&p));
        c.ssthresh(BETA, 100.0);
        c.on_rto(Window { cwnd: 100.0, ssthresh: 70.0 });
        c.begin_epoch(&Window { cwnd: 70.0, ssthresh: 70.0 }, Time(1));
        assert_eq!((c.k, c.w_max), (0.0, 70.0));
    }
}
