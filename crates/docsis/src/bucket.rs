//! Dual token bucket: sustained rate with a burst, and a peak rate.
//!
//! ```text
//! s: size of the packet in bytes;  dt: time since the buckets were last filled;  rates in bit/s
//! tokens <- min(burst, tokens + dt x rate / 8)          both buckets start full
//! peak   <- min(peak_burst, peak + dt x peak_rate / 8)
//! txtime  = (s - tokens) x 8 / rate        if tokens < s
//!           (s - peak) x 8 / peak_rate     else if peak < s;  otherwise 0
//! then both buckets -= s (and may become negative), and the next packet is accepted after txtime
//! ```
//!
//! Source: ns-2 DelayLinkTb; CableLabs 2012 §2.2.1. Departs: ns-2 keeps real numbers. Here a token is 1e-9 bit, so that rate x
//! time is an exact integer and no rounding accumulates in long runs. txtime is rounded up to a nanosecond; the tokens that
//! arrive in the added fraction stay in the bucket.

use crate::ShaperParams;
use units::{BitRate, Bytes, Duration, Time};

/// Tokens per byte: a token is 1e-9 bit, the amount that 1 bit/s carries in 1 ns.
const PER_BYTE: i64 = 8_000_000_000;

/// One bucket of tokens, which may be in debt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    rate: u64,
    depth: i64,
    tokens: i64,
}

impl Bucket {
    /// Returns a full bucket. `rate` must be positive, `depth` at most 1 GB.
    pub fn full(rate: BitRate, depth: Bytes) -> Self {
        let depth = depth.0 as i64 * PER_BYTE;
        Self { rate: rate.0, depth, tokens: depth }
    }

    /// Returns the tokens that the bucket holds after `dt`, at most its depth.
    #[inline]
    fn after(&self, dt: Duration) -> i64 {
        let room = (self.depth - self.tokens) as u64;
        let gain = u128::from(self.rate) * u128::from(dt.0);
        if gain >= u128::from(room) { self.depth } else { self.tokens + gain as i64 }
    }

    /// Adds the tokens that arrive in `dt`, up to the depth.
    #[inline]
    pub fn fill(&mut self, dt: Duration) {
        self.tokens = self.after(dt);
    }

    /// Removes the tokens for `bytes`; the bucket may go into debt.
    #[inline]
    pub fn charge(&mut self, bytes: u64) {
        self.tokens -= bytes as i64 * PER_BYTE;
    }

    /// Sets the rate (positive) and the depth. The bucket keeps its tokens, up to the new depth.
    pub(crate) fn reshape(&mut self, rate: BitRate, depth: Bytes) {
        let other = Self::full(rate, depth);
        *self = Self { tokens: self.tokens.min(other.tokens), ..other };
    }

    /// Puts the tokens for `bytes` back into the bucket, up to the depth.
    pub(crate) fn refund(&mut self, bytes: u64) {
        let back = i64::try_from(bytes).unwrap_or(i64::MAX).saturating_mul(PER_BYTE);
        self.tokens = self.tokens.saturating_add(back).min(self.depth);
    }

    /// Returns the time in which the tokens missing for `bytes` arrive; `None` if none are missing. `bytes` may exceed
    /// the depth.
    #[inline]
    pub fn wait(&self, bytes: u64) -> Option<Duration> {
        let need = bytes as i64 * PER_BYTE;
        (self.tokens < need).then(|| Duration(((need - self.tokens) as u64).div_ceil(self.rate)))
    }

    /// Returns the number of whole bytes for which the bucket has tokens at the time `dt` after the last fill; 0 if the
    /// bucket is still in debt at that time.
    #[inline]
    pub fn bytes_after(&self, dt: Duration) -> Bytes {
        Bytes((self.after(dt).max(0) / PER_BYTE) as u64)
    }

    /// Returns the token rate.
    pub fn rate(&self) -> BitRate {
        BitRate(self.rate)
    }

    /// Sets the rate, which must be positive. The bucket keeps its tokens.
    pub fn set_rate(&mut self, rate: BitRate) {
        debug_assert!(rate.0 > 0, "a shaper's rates are positive");
        self.rate = rate.0;
    }
}

/// The buckets of a service flow or an aggregate, with the time at which they were last filled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Buckets {
    pub sustained: Bucket,
    /// `None` if the peak rate is not limited.
    pub peak: Option<Bucket>,
    at: Time,
}

impl Buckets {
    /// Combines a sustained bucket and an optional peak bucket, both of which are full at time 0.
    pub(crate) fn full(sustained: Bucket, peak: Option<Bucket>) -> Self {
        Self { sustained, peak, at: Time::ZERO }
    }

    /// Returns buckets with the rates and depths of a service flow, full at time 0.
    pub(crate) fn of(p: &ShaperParams) -> Self {
        let peak = p.peak_traffic_rate.map(|rate| Bucket::full(rate, p.peak_burst));
        Self::full(Bucket::full(p.max_sustained_rate, p.max_traffic_burst), peak)
    }

    /// Returns the sustained bucket and, if there is one, the peak bucket.
    #[inline]
    fn each(&mut self) -> impl Iterator<Item = &mut Bucket> {
        std::iter::once(&mut self.sustained).chain(&mut self.peak)
    }

    /// Fills the buckets up to `now`.
    #[inline]
    pub(crate) fn fill(&mut self, now: Time) {
        let dt = now.since(self.at);
        self.each().for_each(|bucket| bucket.fill(dt));
        self.at = now;
    }

    #[inline]
    pub(crate) fn charge(&mut self, bytes: u64) {
        self.each().for_each(|bucket| bucket.charge(bytes));
    }

    pub(crate) fn refund(&mut self, bytes: u64) {
        self.each().for_each(|bucket| bucket.refund(bytes));
    }

    /// Returns the time until both buckets hold tokens for `bytes`, or are full if `bytes` exceeds their depth. Call
    /// [`Buckets::fill`] with the current time first.
    pub(crate) fn wait(&mut self, bytes: u64) -> Duration {
        let wait = |bucket: &mut Bucket| bucket.wait(bytes.min((bucket.depth / PER_BYTE) as u64));
        self.each().filter_map(wait).max().unwrap_or(Duration::ZERO)
    }

    /// Returns the number of whole bytes that the sustained bucket allows at `now`.
    #[inline]
    pub(crate) fn tokens(&self, now: Time) -> Bytes {
        self.sustained.bytes_after(now.since(self.at))
    }
}

/// A service flow's rate shaper.
///
/// Contract: after each call of [`TokenBucket::take`], the caller waits for the time that the call returned, and only then
/// calls `take` for the next packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenBucket(Buckets);

impl TokenBucket {
    /// Returns a shaper whose buckets are full at time 0. The parameters must be valid.
    pub fn new(p: &ShaperParams) -> Self {
        Self(Buckets::of(p))
    }

    /// Charges both buckets for a packet of `bytes`. Returns the time until the packet may pass, which is zero if both
    /// buckets hold enough tokens for the packet.
    #[inline]
    pub fn take(&mut self, now: Time, bytes: u64) -> Duration {
        self.0.fill(now);
        let Buckets { sustained, peak, .. } = &self.0;
        let wait = sustained.wait(bytes).or_else(|| peak.as_ref().and_then(|p| p.wait(bytes)));
        self.0.charge(bytes);
        wait.unwrap_or(Duration::ZERO)
    }

    /// Returns the number of whole bytes for which the sustained bucket has tokens at `now`. These bytes may leave at
    /// the peak rate.
    #[inline]
    pub fn tokens(&self, now: Time) -> Bytes {
        self.0.tokens(now)
    }

    /// Returns the Maximum Sustained Traffic Rate.
    pub fn rate(&self) -> BitRate {
        self.0.sustained.rate()
    }

    /// Returns the Peak Traffic Rate, if it is limited.
    pub fn peak_rate(&self) -> Option<BitRate> {
        self.0.peak.as_ref().map(Bucket::rate)
    }

    /// Changes the rates, which must be positive, from `now` on; `None` keeps the current rate. The buckets keep their
    /// tokens, and an unlimited peak rate stays unlimited. If the packet of the last `take` has not passed, returns the
    /// time that it must still wait at the new rates.
    pub fn set_rates(&mut self, now: Time, rate: Option<BitRate>, peak_rate: Option<BitRate>) -> Duration {
        self.0.fill(now);
        if let Some(rate) = rate {
            self.0.sustained.set_rate(rate);
        }
        if let (Some(peak), Some(rate)) = (&mut self.0.peak, peak_rate) {
            peak.set_rate(rate);
        }
        // the packet has been charged already, so the bucket that it waits for is in debt
        let Buckets { sustained, peak, .. } = &self.0;
        let wait = sustained.wait(0).or_else(|| peak.as_ref().and_then(|p| p.wait(0)));
        wait.unwrap_or(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the upstream shaper of CableLabs 2012: 5 Mbit/s, bursts of 10 MB, peak rate of 20 Mbit/s.
    fn upstream() -> TokenBucket {
        TokenBucket::new(&ShaperParams {
            max_sustained_rate: BitRate(5_000_000),
            max_traffic_burst: Bytes(10_000_000),
            peak_traffic_rate: Some(BitRate(20_000_000)),
            peak_burst: Bytes(1522),
        })
    }

    /// Sends packets of `size` bytes back to back from `now` on, and stops when the next packet would pass after `end`.
    /// Returns the number of bytes sent and the time at which the last packet passed.
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
        // in 600 s, the burst and the rate let 10 MB + 5e6/8 B/s x 600 s = 385.000 MB pass, which is 256 666 whole
        // packets of 1500 B and 1000 B more
        let (bytes, last) = saturate(&mut upstream(), Time::ZERO, Time(600_000_000_000), 1500);
        assert_eq!(bytes, 256_666 * 1500);
        assert!(385_000_000 - bytes < 1500);
        // the last packet passes when 384 999 000 B have been sent, at (384 999 000 - 10 000 000) x 8 / 5e6 = 599.9984 s
        assert_eq!(last, Time(599_998_400_000));
    }

    #[test]
    fn nothing_is_lost_over_a_day_at_an_awkward_rate() {
        // at 6 999 997 bit/s, 86 400 s x 6 999 997 / 8 + 10 MB are sent in a day, rounded down to whole packets of 999 B
        let mut b = upstream();
        b.set_rates(Time::ZERO, Some(BitRate(6_999_997)), None);
        let (bytes, _) = saturate(&mut b, Time::ZERO, Time(86_400_000_000_000), 999);
        let ceiling = 10_000_000 + 86_400u64 * 6_999_997 / 8;
        assert_eq!(bytes, ceiling / 999 * 999);
    }

    #[test]
    fn burst_phase() {
        // without the peak bucket, the burst would last 10 MB / ((20 - 5)/8 MB/s) = 5.333 s and carry 13.333 MB. The peak bucket
        // lets 1522 B pass at once, so the burst lasts (10 MB - 1522 B) / 1.875 MB/s = 5.332 521 s and carries 13.332 826 MB, to
        // within a packet
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
        // a bucket that was empty holds min(burst, rate x T / 8) after an idle time T
        let mut b = upstream();
        let (_, last) = saturate(&mut b, Time::ZERO, Time(30_000_000_000), 1500);
        let left = b.tokens(last).0;
        assert!(left < 1500);
        // `saturate` also charged the bucket for the packet that would have passed after `end`, so the bucket is in
        // debt by up to 1500 B
        let after = |s: u64| b.tokens(last + Duration::from_secs(s)).0;
        assert!((5_000_000 - 3000..=5_000_000).contains(&after(8)), "{}", after(8));
        assert_eq!(after(17), 10_000_000);
    }

    #[test]
    fn peak_bucket_passes_one_frame_at_once() {
        // the first packet takes 1500 of the 1522 B at once. The second packet lacks 1478 B and waits 1478 x 8 / 20e6 = 591.2
        // us. Each later packet waits for 1500 B, which takes 600 us
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
