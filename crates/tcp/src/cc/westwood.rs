//! Westwood+: Reno that, instead of halving the window, reduces it to the measured bandwidth times the minimum round-trip time.
//!
//! ```text
//! once a round trip:  b = bytes acknowledged in it / its duration;  BWE = 7/8 BWE + 1/8 b
//! congestion:         ssthresh = max(BWE * RTTmin, 2 segments)
//! growth:             Reno's
//! ```
//!
//! BWE * RTTmin is the amount of data that the path holds while its queue is empty. A loss that was not caused by a queue, for
//! example on a radio link, hardly lowers the window. A loss at a full queue lowers the window by the data that the queue holds.
//!
//! Source: Grieco & Mascolo 2004, "Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP congestion
//! control"; the filter and its period are theirs.
//! Departs: bytes count when they are acknowledged cumulatively. No sample ends during a recovery. A sample that began before the
//! recovery ends after it, and gives the mean rate from its beginning to its end. After an idle period, a new sample begins.
//! Before the first sample, a loss halves the window.

use super::control::{AckSample, Congestion, Control, Drive, Silence, Stack, Window};
use super::reno::Reno;
use super::shared::NoParams;
use packet::Reading;
use units::Time;

/// Weight of the old BWE in the filter.
const KEPT: f64 = 7.0 / 8.0;
/// Smallest ssthresh, segments.
const LEAST: f64 = 2.0;

/// The state of one flow.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Westwood {
    reno: Reno,
    mss: f64,
    /// BWE, bytes per second; 0 before the first sample.
    bwe: f64,
    /// Minimum RTT, microseconds.
    rtt_min_us: u32,
    /// Start of the current sample; `NEVER` if there is none.
    since: Time,
    /// SND.UNA at the start of the current sample.
    una: u64,
}

impl Westwood {
    fn measure(&mut self, s: &AckSample) {
        if let Some(us) = s.rtt_us {
            self.rtt_min_us = self.rtt_min_us.min(us);
        }
        if self.since == Time::NEVER {
            (self.since, self.una) = (s.now, s.una);
            return;
        }
        let time = s.now.since(self.since);
        if time.is_zero() || time < s.srtt {
            return;
        }
        let b = (s.una - self.una) as f64 / time.secs();
        self.bwe = if self.bwe == 0.0 { b } else { KEPT * self.bwe + (1.0 - KEPT) * b };
        (self.since, self.una) = (s.now, s.una);
    }
}

impl Control for Westwood {
    type Params = NoParams;

    fn new(own: &NoParams, stack: &Stack<'_>) -> Self {
        let (reno, mss) = (Reno::new(own, stack), f64::from(stack.mss));
        Self { reno, mss, bwe: 0.0, rtt_min_us: u32::MAX, since: Time::NEVER, una: 0 }
    }

    fn on_ack(&mut self, w: Window, s: &AckSample) -> Drive {
        if !s.rests {
            self.measure(s);
        }
        self.reno.on_ack(w, s)
    }

    fn on_congestion(&mut self, w: Window, _: Congestion, base: f64) -> Drive {
        let fits = self.bwe * f64::from(self.rtt_min_us) * 1e-6 / self.mss;
        let ssthresh = if self.bwe == 0.0 { 0.5 * base } else { fits };
        Window { ssthresh: ssthresh.max(LEAST), ..w }.into()
    }

    fn on_idle(&mut self, _: Window, _: Silence) -> Option<Drive> {
        self.since = Time::NEVER;
        None
    }

    fn probe(&self, out: &mut Reading<'_>) {
        out.rate("bwe", Some(8.0 * self.bwe).filter(|bwe| *bwe > 0.0));
        out.micros("rtt_min", Some(self.rtt_min_us).filter(|us| *us < u32::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::{TcpParams, stack};
    use units::Duration;

    fn westwood() -> Westwood {
        Westwood::new(&NoParams {}, &stack(&TcpParams::preset("reno").unwrap().with(|p| p.wire.mss = 1000)))
    }

    /// Acknowledges one segment every `gap_ms` from `from_ms` to `to_ms`, at an RTT of 100 ms.
    fn acks(c: &mut Westwood, una: &mut u64, from_ms: u64, to_ms: u64, gap_ms: u64) {
        for ms in (from_ms..=to_ms).step_by(gap_ms as usize) {
            *una += 1000;
            let (now, srtt) = (Time(ms * 1_000_000), Duration::from_millis(100));
            c.measure(&AckSample { now, srtt, una: *una, rtt_us: Some(100_000), ..AckSample::default() });
        }
    }

    fn ssthresh(c: &mut Westwood, base: f64) -> f64 {
        c.on_congestion(Window { cwnd: base, ssthresh: base }, Congestion::Loss, base).ssthresh
    }

    #[test]
    fn the_window_comes_down_to_what_the_path_carries() {
        let mut c = westwood();
        // before the first sample, the window is halved
        assert_eq!(ssthresh(&mut c, 40.0), 20.0);
        // One segment every 10 ms is 100 kB/s, or 10 segments in the RTT of 100 ms. So ssthresh is 10, regardless of the window
        // before the loss.
        let mut una = 1;
        acks(&mut c, &mut una, 1000, 3000, 10);
        assert!((ssthresh(&mut c, 40.0) - 10.0).abs() < 1e-9);
        // (Reno would reduce 40 to 20, and 12 to 6.)
        assert!((ssthresh(&mut c, 12.0) - 10.0).abs() < 1e-9);
    }

    #[test]
    fn the_estimate_follows_a_step_by_an_eighth_a_round_trip() {
        let mut c = westwood();
        let mut una = 1;
        acks(&mut c, &mut una, 1000, 3000, 10);
        // the rate doubles at 3000 ms. n round trips later, BWE is 200 - 100 (7/8)^n kB/s; (7/8)^5 is 16807 / 32768
        acks(&mut c, &mut una, 3005, 3500, 5);
        let want = 200e3 - 100e3 * 16807.0 / 32768.0;
        assert!((c.bwe - want).abs() < 1.0, "{} {want}", c.bwe);
    }

    #[test]
    fn silence_is_not_a_slow_path() {
        let mut c = westwood();
        let mut una = 1;
        acks(&mut c, &mut una, 1000, 3000, 10);
        let now = Time(60_000_000_000);
        c.on_idle(
            Window { cwnd: 10.0, ssthresh: 10.0 },
            Silence { now, idle: Duration::from_secs(57), app_limited: false },
        );
        acks(&mut c, &mut una, 60_100, 60_400, 10);
        assert!((c.bwe - 100e3).abs() < 1e-6, "{}", c.bwe);
    }
}
