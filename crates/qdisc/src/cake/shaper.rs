//! CAKE's shaper: a clock instead of a token bucket.
//!
//! ```text
//! send      when now >= next, or now >= failsafe
//! sent      next += n / rate          failsafe += 1.5 n / rate
//! dropped   next += n / rate          (ingress mode: packets dropped here have already used the bottleneck)
//! arrival   if all tins are empty and next is in the past: next and failsafe become now
//! ```
//!
//! The clock saves no credit while all tins are empty, so no burst follows an idle time. While packets wait, only their
//! bytes advance the clock, so a late timer loses no capacity. The failsafe clock lets packets leave at two thirds of
//! the rate or more, however many packets are dropped.
//!
//! Source: tc-cake(8); Linux's sch_cake.c (facts only).   Units: ns with 32 fractional bits, so that rounding
//! errors do not accumulate.

use units::{BitRate, Duration, Time};

/// Nanoseconds per byte, times 2^32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pace(u64);

impl Pace {
    /// Returns the time per byte at `rate`. Rates of 0 and 1 bit/s count as 1.86 bit/s, because no longer time per byte
    /// fits into 64 bits.
    pub(crate) fn new(rate: BitRate) -> Self {
        let ns = (8_000_000_000u128 << 32) / u128::from(rate.0.max(1));
        Self(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// Computes the time that sending `bytes` takes, in ns times 2^32.
    #[inline]
    fn exact(self, bytes: u64) -> u128 {
        u128::from(self.0) * u128::from(bytes)
    }

    #[inline]
    pub(crate) fn time(self, bytes: u64) -> Duration {
        Duration((self.exact(bytes) >> 32) as u64)
    }
}

/// A time in ns with 32 fractional bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Fine {
    ns: Time,
    rest: u32,
}

impl Fine {
    #[inline]
    fn add(&mut self, span: u128) {
        let sum = span + u128::from(self.rest);
        self.ns += Duration((sum >> 32) as u64);
        self.rest = sum as u32;
    }
}

/// CAKE's shaper, which all tins share. A packet may be sent as soon as the time `next` or the time `failsafe` has been
/// reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shaper {
    pace: Pace,
    next: Fine,
    failsafe: Fine,
}

impl Shaper {
    pub(crate) fn new(rate: BitRate) -> Self {
        Self { pace: Pace::new(rate), next: Fine::default(), failsafe: Fine::default() }
    }

    /// Sets the rate for the bytes that are sent or dropped after this call.
    pub(crate) fn set_rate(&mut self, rate: BitRate) {
        self.pace = Pace::new(rate);
    }

    /// Returns the time from which a packet may be sent.
    #[inline]
    pub(crate) fn due(&self) -> Time {
        self.next.ns.min(self.failsafe.ns)
    }

    /// Sets `next` and `failsafe` to `now` if `next` is in the past, so that idle time gives no credit. Called when a
    /// packet arrives while all tins are empty.
    #[inline]
    pub(crate) fn fresh(&mut self, now: Time) {
        if self.next.ns < now {
            (self.next, self.failsafe) = (Fine { ns: now, rest: 0 }, Fine { ns: now, rest: 0 });
        }
    }

    /// Charges `bytes` that were sent.
    #[inline]
    pub(crate) fn sent(&mut self, bytes: u64) {
        let span = self.pace.exact(bytes);
        self.next.add(span);
        self.failsafe.add(span + span / 2);
    }

    /// Charges the shaper for `bytes` that were dropped in ingress mode. These bytes advance `next`, but not
    /// `failsafe`.
    #[inline]
    pub(crate) fn dropped(&mut self, bytes: u64) {
        self.next.add(self.pace.exact(bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_spaced_by_their_bytes_exactly() {
        // 1514 B take 4037.3333 us at 3 Mbit/s, so a thousand packets take 4.037333333 s. If each time were rounded down to
        // whole ns, the sum would be 333 ns too short.
        let mut clock = Shaper::new(BitRate(3_000_000));
        clock.fresh(Time(7));
        (0..1000).for_each(|_| clock.sent(1514));
        assert_eq!(clock.due(), Time(7 + 4_037_333_333));
    }

    #[test]
    fn nothing_is_saved_while_nothing_waits_and_nothing_lost_to_a_late_look() {
        let mut clock = Shaper::new(BitRate(8_000_000));
        clock.fresh(Time(0));
        clock.sent(1000);
        // the second packet was due at 1 ms; the third is due at 2 ms, no matter when the second was actually sent
        clock.sent(1000);
        assert_eq!(clock.due(), Time(2_000_000));
        clock.fresh(Time(1_500_000));
        assert_eq!(clock.due(), Time(2_000_000), "a packet that comes too early waits");
        clock.fresh(Time(9_000_000));
        clock.sent(1000);
        assert_eq!(clock.due(), Time(10_000_000), "no credit of the 7 ms");
    }

    #[test]
    fn what_was_dropped_delays_by_half_of_the_rate_at_most() {
        let mut clock = Shaper::new(BitRate(8_000_000));
        clock.fresh(Time(0));
        clock.sent(1000);
        (0..50).for_each(|_| clock.dropped(1000));
        // the drops advanced `next` to 51 ms. They do not advance the failsafe clock, which is still at 1.5 ms, so a
        // packet may be sent at 1.5 ms
        assert_eq!(clock.due(), Time(1_500_000));
    }
}
