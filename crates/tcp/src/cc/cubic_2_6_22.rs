//! CUBIC 2.1 of Linux 2.6.22, as ns-2's Agent/TCP/Linux runs it. CableLabs 2012 used it.
//!
//! ```text
//! bic_target = C (t - K)^3 + W_max,  t = now + min_rtt - epoch_start,  K = cbrt((W_max - cwnd) / C)
//! cnt        = cwnd / (bic_target - cwnd) if bic_target > cwnd, otherwise 100 cwnd      cwnd grows by 1 per cnt ACKs
//! bounds:      at most 16 segments per 100 ms after K (max_increment); 1 per 50 ACKs before the first loss;
//!              at least Reno's estimate, W_tcp, which grows by 1 per cwnd (1 + beta) / (3 (1 - beta)) ACKs
//! cnt is divided by the number of segments per ACK (EWMA with gain 1/16, initially 2), and computed at most once per HZ/32
//! while cwnd does not change
//! congestion:  W_max = cwnd, or cwnd (1 + beta) / 2 if cwnd < W_max;  ssthresh = max(beta cwnd, 2), beta = 819/1024
//! timeout:     ssthresh as above, then all state is reset
//! ```
//!
//! Source: Ha, Rhee & Xu 2008. Windows are whole segments.
//! Departs: the cube root is exact before it is truncated to 1024ths of a second, whereas the kernel's is 0.2 % off. HZ is 1000,
//! as in ns-2.

use super::control::{AckSample, Congestion, Control, Drive, Needs, Stack, Window};
use super::cubic_rfc::Law;
use super::linux::{Curve, Growth, JIFFY, RECOMPUTE, SETTLE, jiffies};
use super::shared::NoParams;
use crate::stats::State;
use packet::{Reading, Unit};
use units::Time;

/// Maximum growth after the plateau, segments per 100 ms.
const MAX_INCREMENT: f64 = 16.0;
/// While `loss_cwnd` is 0, the window grows by one segment per this number of segments acknowledged, or faster to keep
/// up with Reno's estimate.
const CNT_BEFORE_LOSS: u32 = 50;
/// RTT sample in jiffies that replaces a sample of 0 jiffies.
const SMALLEST_DELAY: f64 = 0.125;
/// Default of `beta`, the fraction of the window that is kept after congestion.
const BETA: f64 = 819.0 / 1024.0;

/// The state of one flow.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cubic2622 {
    growth: Growth,
    /// Minimum RTT since the start of the connection or the last timeout, jiffies; 0 if there is no sample yet.
    delay_min: f64,
    /// Window at the last loss or mark; 0 before the first one, and from a timeout until the next one.
    loss_cwnd: u32,
    /// Average number of segments per ACK, times 16.
    delayed_ack: u32,
}

impl Cubic2622 {
    fn fresh(law: Law) -> Self {
        Self { growth: Growth::new(law), delay_min: 0.0, loss_cwnd: 0, delayed_ack: 2 << 4 }
    }

    fn measure(&mut self, s: &AckSample) {
        if s.state != State::Open {
            return;
        }
        let acked = (s.acked + 0.5) as u32;
        if acked > 0 {
            self.delayed_ack = self.delayed_ack - (self.delayed_ack >> 4) + acked.min(1 << 16);
        }
        let Some(rtt) = s.rtt_us else { return };
        // while no epoch is in progress, time 0 takes the place of `epoch_start`
        let epoch = if self.growth.epoch_start == Time::NEVER { Time::ZERO } else { self.growth.epoch_start };
        if jiffies(s.now) - jiffies(epoch) < SETTLE {
            return;
        }
        // the time at which the echoed segment was sent is rounded to the nearest jiffy, but the current time is
        // truncated to whole jiffies
        let sent = (s.now.0.saturating_sub(u64::from(rtt) * 1000) + JIFFY / 2) / JIFFY;
        let delay = jiffies(s.now).saturating_sub(sent) as f64;
        let delay = delay.max(SMALLEST_DELAY);
        if self.delay_min == 0.0 || delay < self.delay_min {
            self.delay_min = delay;
        }
    }

    /// Computes `cnt`, the number of ACKs after which the window grows by one segment.
    fn update(&mut self, cwnd: f64, now: Time) {
        self.growth.reno.acked += 1;
        if self.growth.last_cwnd == cwnd as u32 && jiffies(now) - jiffies(self.growth.last_time) <= RECOMPUTE {
            return;
        }
        self.growth.last_cwnd = cwnd as u32;
        self.growth.last_time = now;
        self.growth.begin_epoch(cwnd, now, 1);
        let t = Curve::seconds(jiffies(now) - jiffies(self.growth.epoch_start) + self.delay_min as u64);
        let target = self.growth.curve.at(self.growth.law.c, t);
        let mut cnt = if target > cwnd { (cwnd / (target - cwnd)).trunc() } else { 100.0 * cwnd };
        if self.delay_min > 0.0 && t >= self.growth.curve.k {
            // growth is cwnd / cnt segments per RTT; it must be at most 16 * RTT / 100 ms
            cnt = cnt.max((cwnd * 100.0 / (MAX_INCREMENT * self.delay_min)).trunc());
        }
        let mut cnt = cnt as u32;
        if self.loss_cwnd == 0 {
            cnt = CNT_BEFORE_LOSS;
        }
        if self.growth.law.tcp_friendliness {
            cnt = cnt.min(self.growth.reno.keep_up(self.growth.law.backoff.beta, cwnd as u32));
        }
        self.growth.cnt = ((u64::from(cnt) * 16 / u64::from(self.delayed_ack.max(1))) as u32).max(1);
    }

    /// Responds to congestion that occurred at a window of `base` segments. Returns the new ssthresh.
    fn ssthresh(&mut self, base: f64) -> f64 {
        self.loss_cwnd = base as u32;
        self.growth.reduce(self.growth.law.backoff.beta, base)
    }
}

impl Control for Cubic2622 {
    type Params = NoParams;

    const NEEDS: Needs = Needs { beta: true, ..Needs::NONE };

    fn new(_: &NoParams, stack: &Stack<'_>) -> Self {
        Self::fresh(Law::new(stack.shared, BETA))
    }

    #[inline]
    fn grow(&mut self, w: &mut Window, s: &AckSample) {
        self.measure(s);
        if !s.cwnd_limited {
            return;
        }
        // at cwnd = ssthresh the kernel is still in slow start, which therefore ends one segment above ssthresh
        if w.cwnd <= w.ssthresh {
            w.cwnd += s.credit;
            return;
        }
        // in congestion avoidance, the window is a whole number of segments. If slow start or the sender has left a
        // fraction of a segment in the window, the fraction is cut off
        w.cwnd = w.cwnd.floor().max(1.0);
        self.update(w.cwnd, s.now);
        if self.growth.cwnd_cnt >= self.growth.cnt {
            w.cwnd += 1.0;
            self.growth.cwnd_cnt = 0;
        } else {
            self.growth.cwnd_cnt += 1;
        }
    }

    fn on_congestion(&mut self, w: Window, _: Congestion, base: f64) -> Drive {
        Window { ssthresh: self.ssthresh(base), ..w }.into()
    }

    /// Resets all state. An idle period, by contrast, resets nothing, and the epoch continues.
    fn on_rto(&mut self, _: Window) {
        *self = Self::fresh(self.growth.law);
    }

    fn probe(&self, out: &mut Reading<'_>) {
        self.growth.probe(out);
        out.value("delay_min", Unit::Milliseconds, Some(self.delay_min).filter(|jiffies| *jiffies > 0.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::{TcpParams, stack};

    fn params() -> TcpParams {
        TcpParams::preset("ns2-cubic-2.6.22").unwrap()
    }
    fn sample(t: f64, rtt: f64) -> AckSample {
        let (now, rtt_us) = (Time((t * 1e9) as u64), Some((rtt * 1e6) as u32));
        AckSample { now, acked: 1.0, credit: 1.0, rtt_us, cwnd_limited: true, ..AckSample::default() }
    }
    fn run(c: &mut Cubic2622, w: &mut Window, rtt: f64, from: f64, to: f64) {
        let mut t = from;
        while t < to {
            t += rtt / w.cwnd;
            c.grow(w, &sample(t, rtt));
        }
    }

    #[test]
    fn eight_tenths_and_fast_convergence() {
        let p = params();
        let mut c = Cubic2622::new(&NoParams {}, &stack(&p));
        // ssthresh = beta cwnd = 819 / 1024 * 167 = 133.57, truncated to 133
        assert_eq!(c.ssthresh(167.0), 133.0);
        assert_eq!((c.growth.last_max, c.loss_cwnd), (167.0, 167));
        // 133 is below W_max = 167, so W_max becomes cwnd (1 + beta) / 2 = 133 * 1843 / 2048 = 119.7, truncated to 119
        assert_eq!(c.ssthresh(133.0), 106.0);
        assert_eq!(c.growth.last_max, 119.0);
    }

    #[test]
    fn the_plateau_of_document_001_is_reached_after_k() {
        let p = params();
        let mut c = Cubic2622::new(&NoParams {}, &stack(&p));
        let mut w = Window { cwnd: 167.0, ssthresh: 0.0 };
        w.ssthresh = c.ssthresh(167.0);
        w.cwnd = w.ssthresh;
        // At the first ACK, the window equals ssthresh and grows to 134. K = cbrt((W_max - cwnd) / C) = cbrt((167 - 134) * 1024 /
        // 410) = cbrt(82.42) = 4.352 s. At about K / 2, 2.2 s before the plateau, the window is 167 - 0.4 * 2.2^3 = 162.7
        run(&mut c, &mut w, 0.05, 10.0, 10.0 + 2.2);
        assert!((c.growth.curve.k - 4.352).abs() < 1e-3);
        assert!((w.cwnd - 162.7).abs() < 3.0, "{}", w.cwnd);
        run(&mut c, &mut w, 0.05, 12.2, 14.4);
        assert!((165.0..=168.0).contains(&w.cwnd), "{}", w.cwnd);
        // at 7.4 s, 3 s after the plateau, the curve is at 167 + 0.4 * (7.4 - 4.4)^3 = 177.8. Reno's estimate grows by
        // one segment per 23/8 = 2.875 rounds of 50 ms: after 148 rounds (7.4 s), it is 134 + 148 / 2.875 = 185
        run(&mut c, &mut w, 0.05, 14.4, 17.4);
        assert!((176.0..=187.0).contains(&w.cwnd), "{}", w.cwnd);
    }

    #[test]
    fn before_the_first_loss_one_segment_per_fifty_acks() {
        let p = params().with(|p| p.control.shared.tcp_friendliness = false);
        let mut c = Cubic2622::new(&NoParams {}, &stack(&p));
        let mut w = Window { cwnd: 200.0, ssthresh: 200.0 };
        c.delayed_ack = 16;
        let mut t = 1.0;
        for _ in 0..5100 {
            t += 0.05 / 200.0;
            c.grow(&mut w, &sample(t, 0.05));
        }
        // at the first ACK, the window equals ssthresh, so it grows to 201. After that, the condition `cwnd_cnt >= cnt`
        // holds at every 51st ACK, so the other 5099 ACKs grow the window by floor(5099 / 51) = 99 segments
        assert_eq!(w.cwnd, 300.0);
    }

    #[test]
    fn growth_past_the_plateau_is_sixteen_per_tenth_of_a_second() {
        let p = params().with(|p| p.control.shared.tcp_friendliness = false);
        let mut c = Cubic2622::new(&NoParams {}, &stack(&p));
        let mut w = Window { cwnd: 1000.0, ssthresh: 1000.0 };
        c.loss_cwnd = 1;
        c.delayed_ack = 16;
        // long after K, the cubic curve grows by more than 16 segments per 100 ms
        c.growth.epoch_start = Time(0);
        c.growth.curve.origin = 1000.0;
        let (mut t, rtt) = (30.0, 0.05);
        let mut at = [0.0; 2];
        for end in [31.0, 32.0] {
            while t < end {
                t += rtt / w.cwnd;
                c.grow(&mut w, &sample(t, rtt));
            }
            at[(end - 31.0) as usize] = w.cwnd;
        }
        // the limit is 160 segments per second. The accepted range is wide, because cnt is a whole number, and because
        // the window grows at every (cnt + 1)-th ACK rather than at every cnt-th
        let grown = at[1] - at[0];
        assert!((110.0..=165.0).contains(&grown), "{grown}");
    }

    #[test]
    fn a_timeout_forgets() {
        let p = params();
        let mut c = Cubic2622::new(&NoParams {}, &stack(&p));
        c.ssthresh(100.0);
        c.on_rto(Window { cwnd: 100.0, ssthresh: 81.0 });
        assert_eq!(c, Cubic2622::new(&NoParams {}, &stack(&p)));
    }
}
