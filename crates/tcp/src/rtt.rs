//! Round-trip time and the retransmission timeout.
//!
//! Source: RFC 6298; with an initial RTO of 3 s, its predecessor RFC 2988. V below: Linux, tcp_rtt_estimator.
//!
//! ```text
//! first sample R:  SRTT = R, RTTVAR = R/2
//! later:           RTTVAR = 3/4 RTTVAR + 1/4 |SRTT - R|,  SRTT = 7/8 SRTT + 1/8 R
//! damped_rttvar:   if R < SRTT - RTTVAR:  RTTVAR += (SRTT - R - RTTVAR) / 32  instead
//! RTO = SRTT + max(G, 4 RTTVAR), bounded by min_rto and max_rto, doubled at each timeout until the next sample
//!
//! min_rto_bounds = "variation" (Linux):  RTO = SRTT + V
//! first sample:     V = max(4 RTTVAR, min_rto)
//! later:            M = max(min_rto, largest 4 RTTVAR since the last round ended);  V = max(V, M)
//! end of a round:   if M < V:  V -= (V - M) / 4        (once data that was first sent in this round is acknowledged)
//! ```
//!
//! A window gives many samples. After a spike of the RTT, RTTVAR therefore returns to its old value within a fraction
//! of a round trip. V stays high for several round trips.
//!
//! With time stamps, every ACK of new data gives a sample. The gains stay the same; RFC 7323 §G suggests smaller gains for
//! frequent samples.

use crate::params::{MinRto, TcpParams};
use units::Duration;

/// The RTT estimate of one connection, and the backoff of its retransmission timer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rtt {
    pub(crate) srtt: Duration,
    /// Variation of the round-trip time; zero before the first sample.
    pub(crate) rttvar: Duration,
    /// Before the first sample, the RTO in microseconds. Afterwards, with `min_rto_bounds = "variation"`, V in microseconds.
    var: u32,
    /// M in microseconds. Used only with `min_rto_bounds = "variation"`.
    max_var: u32,
    /// SND.NXT when the current round of M began, stored as the low 32 bits of the stream offset.
    round_end: u32,
    /// Number of times that the RTO is doubled: the number of timeouts since the last RTT sample, but at most
    /// `backoff_doublings`. With `backoff_until_new_data`, the backoff ends with an ACK of data that was first sent
    /// after the last timeout, instead of with an RTT sample.
    backoff: u8,
    /// End of the data sent before the last timeout (SND.NXT at that time), stored as the low 32 bits of the stream
    /// offset. Used only with `backoff_until_new_data`.
    sent_to: u32,
}

/// Returns `d` in microseconds, at most [`u32::MAX`].
#[inline]
fn narrow(d: Duration) -> u32 {
    (d.0 / 1_000).min(u32::MAX.into()) as u32
}

impl Rtt {
    pub(crate) fn new(p: &TcpParams) -> Self {
        Self {
            srtt: Duration::ZERO,
            rttvar: Duration::ZERO,
            var: narrow(p.rto.initial_rto),
            max_var: 0,
            round_end: 0,
            sent_to: 0,
            backoff: 0,
        }
    }

    /// Adds an RTT sample of `us` microseconds. `una` and `next` are SND.UNA and SND.NXT.
    #[inline(always)]
    pub(crate) fn sample(&mut self, p: &TcpParams, us: u32, una: u64, next: u64) {
        let mut r = u64::from(us) * 1_000;
        if p.quirks.quantise_rtt {
            let g = p.rto.clock_granularity.0;
            r = ((r + g / 2) / g).max(1) * g;
        }
        let first = self.srtt.is_zero();
        if first {
            // at least 1, because an SRTT of 0 means that there is no sample yet
            self.srtt = Duration(r.max(1));
            self.rttvar = Duration(r / 2);
        } else {
            let off = self.srtt.0.abs_diff(r);
            self.rttvar = if p.quirks.damped_rttvar && r < self.srtt.0 && off > self.rttvar.0 {
                Duration(self.rttvar.0 + (off - self.rttvar.0) / 32)
            } else {
                Duration((3 * self.rttvar.0 + off) / 4)
            };
            self.srtt = Duration((7 * self.srtt.0 + r) / 8).max(Duration(1));
        }
        if p.rto.min_rto_bounds == MinRto::Variation {
            self.update_variation(p, first, una as u32, next as u32);
        }
        if !p.quirks.backoff_until_new_data {
            self.backoff = 0;
        }
    }

    /// Updates V and M after RTTVAR has changed.
    #[inline]
    fn update_variation(&mut self, p: &TcpParams, first: bool, una: u32, next: u32) {
        if first {
            self.var = narrow(self.rttvar * 4).max(narrow(p.rto.min_rto));
            (self.max_var, self.round_end) = (self.var, next);
            return;
        }
        // usually, 4 RTTVAR does not exceed M. The comparison is in nanoseconds, because that needs no division
        if self.rttvar * 4 > Duration::from_micros(self.max_var.into()) {
            self.max_var = narrow(self.rttvar * 4);
            self.var = self.var.max(self.max_var);
        }
        if (una.wrapping_sub(self.round_end) as i32) > 0 {
            self.var -= self.var.saturating_sub(self.max_var) / 4;
            (self.max_var, self.round_end) = (narrow(p.rto.min_rto), next);
        }
    }

    /// With `backoff_until_new_data`, ends the backoff if data sent after the last timeout is acknowledged. `una` is
    /// SND.UNA.
    #[inline]
    pub(crate) fn acknowledged(&mut self, una: u64) {
        if self.backoff > 0 && ((una as u32).wrapping_sub(self.sent_to) as i32) > 0 {
            self.backoff = 0;
        }
    }

    /// Returns the retransmission timeout, including backoff, which raises it to at most `max`.
    #[inline]
    pub(crate) fn rto(&self, p: &TcpParams, max: Duration) -> Duration {
        let base = self.srtt + Duration::from_micros(self.var.into());
        if self.backoff == 0 && p.rto.min_rto_bounds == MinRto::Variation && base <= p.rto.max_rto {
            return base;
        }
        self.any_rto(p, max)
    }

    /// Computes [`Rtt::rto`] in all cases. `rto` itself handles only the most frequent one.
    fn any_rto(&self, p: &TcpParams, max: Duration) -> Duration {
        let variation = Duration::from_micros(self.var.into());
        let total = || (self.srtt + (self.rttvar * 4).max(p.rto.clock_granularity)).max(p.rto.min_rto);
        let base = match p.rto.min_rto_bounds {
            _ if self.srtt.is_zero() => variation,
            MinRto::Total => total().min(p.rto.max_rto),
            MinRto::Variation => (self.srtt + variation).min(p.rto.max_rto),
        };
        if self.backoff == 0 { base } else { (base * (1 << self.backoff)).min(max) }
    }

    /// Doubles the timeout after the timer has expired. All data below `next` has been sent.   Source: RFC 6298 §5.5.
    pub(crate) fn back_off(&mut self, p: &TcpParams, next: u64) {
        self.sent_to = next as u32;
        self.backoff = (self.backoff + 1).min(p.rto.backoff_doublings);
    }

    /// Ends the SYN's backoff. If the SYN or SYN-ACK was repeated and the handshake yielded no sample, raises the RTO
    /// to at least 3 s.
    ///
    /// Source: RFC 6298 §5.7.
    pub(crate) fn after_syn(&mut self, repeated: bool) {
        if self.srtt.is_zero() && repeated {
            self.var = self.var.max(3_000_000);
        }
        self.backoff = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_6298_by_hand() {
        let mut p = TcpParams::preset("rfc").unwrap();
        p.rto.clock_granularity = Duration::from_millis(1);
        let mut r = Rtt::new(&p);
        assert_eq!(r.rto(&p, p.rto.max_rto), Duration::from_secs(1));
        // first sample R = 400 ms: SRTT = 400, RTTVAR = 400/2 = 200, RTO = 400 + 4 * 200 = 1200 ms
        r.sample(&p, 400_000, 1, 1);
        assert_eq!((r.srtt, r.rto(&p, p.rto.max_rto)), (Duration::from_millis(400), Duration::from_millis(1200)));
        // R = 480 ms: RTTVAR = 3/4 * 200 + 80/4 = 170, SRTT = 7/8 * 400 + 480/8 = 410, RTO = 410 + 4 * 170 = 1090 ms
        r.sample(&p, 480_000, 1, 1);
        assert_eq!((r.srtt, r.rto(&p, p.rto.max_rto)), (Duration::from_millis(410), Duration::from_millis(1090)));
        r.back_off(&p, 1);
        assert_eq!(r.rto(&p, p.rto.max_rto), Duration::from_millis(2180));
        for _ in 0..9 {
            r.back_off(&p, 1);
        }
        assert_eq!(r.rto(&p, p.rto.max_rto), Duration::from_secs(60));
        // A sample ends the backoff. With R = 410 ms, RTTVAR = 3/4 * 170 = 127.5 and RTO = 410 + 4 * 127.5 = 920 ms, raised to
        // the minimum of 1 s
        r.sample(&p, 410_000, 1, 1);
        assert_eq!(r.rto(&p, p.rto.max_rto), Duration::from_secs(1));
    }

    #[test]
    fn a_backed_off_timeout_waits_for_new_data() {
        let p = TcpParams::preset("rfc").unwrap().with(|p| p.quirks.backoff_until_new_data = true);
        let mut r = Rtt::new(&p);
        r.sample(&p, 400_000, 1, 1);
        // at the timeout, all data below 5000 has been sent
        r.back_off(&p, 5000);
        r.sample(&p, 400_000, 1, 1);
        r.acknowledged(5000);
        // SRTT is 400 ms and RTTVAR 150 ms, so RTO = 400 + 600 ms = 1 s. It stays doubled, because no data from 5000 on is
        // acknowledged
        assert_eq!(r.rto(&p, p.rto.max_rto), Duration::from_secs(2));
        r.acknowledged(5001);
        assert_eq!(r.rto(&p, p.rto.max_rto), Duration::from_secs(1));
    }

    #[test]
    fn a_falling_round_trip_moves_a_damped_variation_by_an_eighth() {
        let p = TcpParams::preset("rfc").unwrap().with(|p| p.quirks.damped_rttvar = true);
        let of = |second: u32| {
            let mut r = Rtt::new(&p);
            r.sample(&p, 800_000, 1, 1);
            r.sample(&p, second, 1, 1);
            r.rttvar
        };
        // after the first sample, SRTT is 800 ms and RTTVAR 400 ms. If the second sample is 1600 ms above SRTT, RTTVAR = 3/4 x
        // 400 + 1600/4 = 700 ms. If it is 600 ms below SRTT, which is more than RTTVAR, the change is damped: 400 + (600 - 400) /
        // 32 = 406.25 ms. If it is 200 ms below, RTTVAR = 3/4 x 400 + 200/4 = 350 ms
        assert_eq!(of(2_400_000), Duration::from_millis(700));
        assert_eq!(of(200_000), Duration::from_micros(406_250));
        assert_eq!(of(600_000), Duration::from_millis(350));
    }

    #[test]
    fn linux_bounds_the_variation_and_ns2_counts_ticks() {
        let p = TcpParams::preset("linux-6").unwrap();
        let mut r = Rtt::new(&p);
        // after a sample of 20 ms, 4 RTTVAR = 40 ms. Linux raises 4 RTTVAR to 200 ms, so RTO = 20 + 200 ms
        r.sample(&p, 20_000, 1, 1);
        assert_eq!(r.rto(&p, p.rto.max_rto), Duration::from_millis(220));

        let p = TcpParams::preset("ns2-reno").unwrap();
        let mut r = Rtt::new(&p);
        // 54 ms is rounded to 5 ticks of 10 ms. RTO = SRTT + 4 RTTVAR = 50 + 100 = 150 ms, raised to the minimum of 200 ms
        r.sample(&p, 54_000, 1, 1);
        assert_eq!((r.srtt, r.rto(&p, p.rto.max_rto)), (Duration::from_millis(50), Duration::from_millis(200)));
        let mut r = Rtt::new(&p);
        // a round trip shorter than a tick counts as one tick
        r.sample(&p, 100, 1, 1);
        assert_eq!(r.srtt, Duration::from_millis(10));
    }

    #[test]
    fn linux_keeps_a_spike_for_several_round_trips() {
        let p = TcpParams::preset("linux-6").unwrap();
        let ms = Duration::from_millis;
        let mut r = Rtt::new(&p);
        // first sample 100 ms: 4 RTTVAR = 200 ms. Data up to 5000 is in flight
        r.sample(&p, 100_000, 1, 5000);
        assert_eq!(r.rto(&p, p.rto.max_rto), ms(300));
        // a sample of 500 ms: SRTT = 7/8 x 100 + 500/8 = 150 ms, RTTVAR = 3/4 x 50 + 400/4 = 137.5 ms, 4 RTTVAR = 550 ms
        r.sample(&p, 500_000, 1000, 9000);
        assert_eq!(r.rto(&p, p.rto.max_rto), ms(150 + 550));
        // a hundred samples of 100 ms in the same round: SRTT falls to 100 ms and RTTVAR to 0, but V stays. The round
        // began when data up to 5000 had been sent, so it ends only with an ACK of later data
        (0..100).for_each(|_| r.sample(&p, 100_000, 5000, 12_000));
        let variation = |r: &Rtt| (r.rto(&p, p.rto.max_rto) - ms(100)).0 / 100_000;
        assert!(r.rttvar < ms(1) && variation(&r) == 5500, "{:?} {}", r.rttvar, variation(&r));
        // in the round of the spike, M equals V, so V does not fall. Each later round takes a quarter of what exceeds
        // 200 ms: 550 - 350/4 = 462.5 ms, 462.5 - 262.5/4 = 396.875 ms, ...
        r.sample(&p, 100_000, 5001, 12_000);
        assert_eq!(variation(&r), 5500);
        r.sample(&p, 100_000, 12_000, 20_000);
        assert_eq!(variation(&r), 5500);
        r.sample(&p, 100_000, 12_001, 20_000);
        assert_eq!(variation(&r), 4625);
        r.sample(&p, 100_000, 20_001, 30_000);
        assert_eq!(variation(&r), 3968);
        for k in 0..100 {
            r.sample(&p, 100_000, 30_001 + k, 30_001 + k);
        }
        assert_eq!(variation(&r), 2000);
    }

    #[test]
    fn a_lost_syn_leaves_three_seconds() {
        let p = TcpParams::preset("rfc").unwrap();
        let mut r = Rtt::new(&p);
        r.back_off(&p, 1);
        r.after_syn(true);
        assert_eq!(r.rto(&p, p.rto.max_rto), Duration::from_secs(3));
    }
}
