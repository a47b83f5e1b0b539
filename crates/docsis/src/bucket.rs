//! Dual token bucket: sustained rate with a burst, and a peak rate.
//!
//! ```text
//! tokens <- min(burst, tokens + dt x rate / 8)          both buckets start full
//! peak   <- min(peak_burst, peak + dt x peak_rate / 8)
//! txtime  = (s - tokens) x 8 / rate        if tokens < s
//!           (s - peak) x 8 / peak_rate     else if peak < s
//! then both buckets -= s (they may go negative), and the next packet may be asked for after txtime
//! ```
//!
//! Source: ns-2 DelayLinkTb; CableLabs 2012 §2.2.1.
//! Departs: ns-2 keeps reals; here a token is 1e-9 bit, so that rate x time is an exact integer and nothing is lost however
//! long a run is. txtime is rounded up to a nanosecond; what was gained by waiting longer stays in the bucket.

use crate::ShaperParams;
use units::{BitRate, Bytes, Duration, Time};

/// Tokens per byte: a token is 1e-9 bit, what 1 bit/s carries in 1 ns.
const PER_BYTE: i64 = 8_000_000_000;

/// One bucket of tokens, which may be in debt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    rate: u64,
    depth: i64,
    tokens: i64,
}

impl Bucket {
    /// Full. The rate is positive, the depth at most 1 GB.
    pub fn full(rate: BitRate, depth: Bytes) -> Self {
        let depth = depth.0 as i64 * PER_BYTE;
        Self { rate: rate.0, depth, tokens: depth }
    }

    #[inline]
    fn after(&self, dt: Duration) -> i64 {
        let room = (self.depth - self.tokens) as u64;
        let gain = u128::from(self.rate) * u128::from(dt.0);
        if gain >= u128::from(room) { self.depth } else { self.tokens + gain as i64 }
    }

    /// What `dt` brings, up to the depth.
    #[inline]
    pub fn fill(&mut self, dt: Duration) {
        self.tokens = self.after(dt);
    }

    /// Takes out `bytes`, whatever is there.
    #[inline]
    pub fn charge(&mut self, bytes: u64) {
        self.tokens -= bytes as i64 * PER_BYTE;
    }

    /// Another rate (positive) and depth from now on; the bucket keeps what it holds, up to that.
    pub(crate) fn reshape(&mut self, rate: BitRate, depth: Bytes) {
        let other = Self::full(rate, depth);
        *self = Self { tokens: self.tokens.min(other.tokens), ..other };
    }

    /// Puts `bytes` back, up to the depth.
    pub(crate) fn refund(&mut self, bytes: u64) {
        let back = i64::try_from(bytes).unwrap_or(i64::MAX).saturating_mul(PER_BYTE);
        self.tokens = self.tokens.saturating_add(back).min(self.depth);
    }

    /// How long until the bucket holds `bytes`; `None` if it does.
    #[inline]
    pub fn wait(&self, bytes: u64) -> Option<Duration> {
        let need = bytes as i64 * PER_BYTE;
        (self.tokens < need).then(|| Duration(((need - self.tokens) as u64).div_ceil(self.rate)))
    }

    /// Whole bytes in it `dt` from its last filling; none while in debt.
    #[inline]
    pub fn bytes_after(&self, dt: Duration) -> Bytes {
        Bytes((self.after(dt).max(0) / PER_BYTE) as u64)
    }

    /// How fast it fills.
    pub fn rate(&self) -> BitRate {
        BitRate(self.rate)
    }

    /// Another rate, positive, from now on; the bucket keeps what it holds.
    pub fn set_rate(&mut self, rate: BitRate) {
        debug_assert!(rate.0 > 0, "a shaper's rates are positive");
        self.rate = rate.0;
    }
}

/// The rate shaper of a service flow.
///
/// Contract: [`TokenBucket::take`] is called for one packet at a time, not before the wait it returned last has passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    sustained: Bucket,
    /// `None` when the peak rate is not limited.
    peak: Option<Bucket>,
    at: Time,
}

impl TokenBucket {
    /// Both buckets full at time 0. The parameters are valid.
    pub fn new(params: &ShaperParams) -> Self {
        Self {
            sustained: Bucket::full(params.max_sustained_rate, params.max_traffic_burst),
            peak: params.peak_traffic_rate.map(|rate| Bucket::full(rate, params.peak_burst)),
            at: Time::ZERO,
        }
    }

    #[inline]
    fn refill(&mut self, now: Time) {
        let dt = now.since(self.at);
        self.sustained.fill(dt);
        if let Some(peak) = &mut self.peak {
            peak.fill(dt);
        }
        self.at = now;
    }

    /// Charges a packet of `bytes` and returns how long it takes to pass: zero while both buckets hold enough.
    #[inline]
    pub fn take(&mut self, now: Time, bytes: u64) -> Duration {
        self.refill(now);
        let wait = self.sustained.wait(bytes).or_else(|| self.peak.as_ref().and_then(|p| p.wait(bytes)));
        self.sustained.charge(bytes);
        if let Some(peak) = &mut self.peak {
            peak.charge(bytes);
        }
        wait.unwrap_or(Duration::ZERO)
    }

    /// Whole bytes that may leave at the peak rate.
    #[inline]
    pub fn tokens(&self, now: Time) -> Bytes {
        self.sustained.bytes_after(now.since(self.at))
    }

    /// Maximum Sustained Traffic Rate.
    pub fn rate(&self) -> BitRate {
        self.sustained.rate()
    }

    /// Peak Traffic Rate, if limited.
    pub fn peak_rate(&self) -> Option<BitRate> {
        self.peak.as_ref().map(Bucket::rate)
    }

    /// From `now` on, other rates (positive); `None` keeps one. The buckets keep what they hold. A peak rate that was not
    /// limited stays so.
    pub fn set_rates(&mut self, now: Time, rate: Option<BitRate>, peak_rate: Option<BitRate>) {
        self.refill(now);
        if let Some(rate) = rate {
            self.sustained.set_rate(rate);
        }
        if let (Some(peak), Some(rate)) = (&mut self.peak, peak_rate) {
            peak.set_rate(rate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Upstream of CableLabs 2012: 5 Mbit/s, 10 MB, 20 Mbit/s.
    fn upstream() -> TokenBucket {
        TokenBucket::new(&ShaperParams {
            max_sustained_rate: BitRate(5_000_000),
            max_traffic_burst: Bytes(10_000_000),
            peak_traffic_rate: Some(BitRate(20_000_000)),
            peak_burst: Bytes(1522),
        })
    }

    /// Sends packets of `size` back to back from `now` until one would pass after `end`; (bytes, moment of the last).
    fn saturate(b: &mut TokenBucket, mut now: Time, end: Time, size: u64) -> (u64, Time) {
        let mut bytes = 0;
        loop {
            let next = now + b.take(now, size);
            if next > end {
                return (bytes, now);
            }
            bytes += size;
            now = next;
        }
    }

    #[test]
    fn ceiling_of_600_seconds() {
        // 10 MB + 5e6/8 x 600 = 385.000 MB, that is 256 666 whole packets of 1500 B and 1000 B of a next one
        let (bytes, last) = saturate(&mut upstream(), Time::ZERO, Time(600_000_000_000), 1500);
        assert_eq!(bytes, 256_666 * 1500);
        assert!(385_000_000 - bytes < 1500);
        // the 256 666th packet needs 384 999 000 B: (384 999 000 - 10 000 000) x 8 / 5e6 = 599.9984 s
        assert_eq!(last, Time(599_998_400_000));
    }

    #[test]
    fn nothing_is_lost_over_a_day_at_an_awkward_rate() {
        // 3 bit/s short of 7 Mbit/s: 86400 s x 6 999 997 / 8 + 10 MB in packets of 999 B, exactly
        let mut b = upstream();
        b.set_rates(Time::ZERO, Some(BitRate(6_999_997)), None);
        let (bytes, _) = saturate(&mut b, Time::ZERO, Time(86_400_000_000_000), 999);
        let ceiling = 10_000_000 + 86_400u64 * 6_999_997 / 8;
        assert_eq!(bytes, ceiling / 999 * 999);
    }

    #[test]
    fn burst_phase() {
        // 10 MB / ((20 - 5)/8 MB/s) = 5.333 s and 13.333 MB. The 1522 B that the peak bucket lets pass at once make
        // it (10 MB - 1522 B) / 1.875 MB/s = 5.332 521 s and 13.332 826 MB, to a packet
        let (mut b, mut now, mut bytes) = (upstream(), Time::ZERO, 0);
        loop {
            let wait = b.take(now, 1500);
            if wait > Duration::from_micros(600) {
                break;
            }
            bytes += 1500;
            now += wait;
        }
        assert!((now.secs() - 5.332_521).abs() < 0.0006, "{now}");
        assert!((f64::from(bytes) - 13_332_826.0).abs() < 1500.0, "{bytes}");
        assert_eq!(b.tokens(now), Bytes(0));
    }

    #[test]
    fn sixteen_idle_seconds_refill_ten_megabytes() {
        // the bucket holds min(B, r T) after an idle time T
        let mut b = upstream();
        let (_, last) = saturate(&mut b, Time::ZERO, Time(30_000_000_000), 1500);
        let left = b.tokens(last).0;
        assert!(left < 1500);
        // the packet that `saturate` charged but did not send counts, too: 1500 B of debt at most
        let after = |s: u64| b.tokens(last + Duration::from_secs(s)).0;
        assert!((5_000_000 - 3000..=5_000_000).contains(&after(8)), "{}", after(8));
        assert_eq!(after(17), 10_000_000);
    }

    #[test]
    fn peak_bucket_passes_one_frame_at_once() {
        // 1500 of 1522 B pass; the next lacks 1478 B: 1478 x 8 / 20e6 = 591.2 us; then 1500 B: 600 us
        let mut b = upstream();
        assert_eq!(b.take(Time::ZERO, 1500), Duration::ZERO);
        assert_eq!(b.take(Time::ZERO, 1500), Duration(591_200));
        assert_eq!(b.take(Time(591_200), 1500), Duration(600_000));
    }

    #[test]
    fn rates_change_from_now_on() {
        let mut b = upstream();
        let mut now = Time(0);
        for _ in 0..20_000 {
            now += b.take(now, 1500);
        }
        assert_eq!(b.take(now, 1500), Duration::from_micros(2400));
        now += Duration::from_micros(2400);
        b.set_rates(now, Some(BitRate(2_500_000)), None);
        assert_eq!(b.take(now, 1500), Duration::from_micros(4800));
    }
}
