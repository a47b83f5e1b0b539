//! The immediate AQM of a Low Latency service flow: a ramp that turns the queue's delay into a marking probability.
//!
//! ```text
//! qdelay  = 8 x bytes / MAX_RATE          the bytes include the arriving packet
//! FLOOR   = 8 x 2 x 2000 B / MAX_RATE     at most 65.535 ms
//! MINTH   = max(MAXTH - RANGE, FLOOR)     RANGE = 2^LG_RANGE ns
//! MAXTH   = MINTH + RANGE
//! p_native = (qdelay - MINTH) / RANGE, bounded to [0, 1]
//! ```
//!
//! On a slow link, a single large packet causes a long delay. So FLOOR raises the ramp to the delay of two 2000-byte
//! packets, but to 65.535 ms at most.
//!
//! Source: MULPIv3.1 Annexes M to O by way of docsis-ns3 and RFC 9957 §4.   Units: ns; bytes with the MAC header.
//! Departs: docsis-ns3 also limits the raised MAXTH to 65.535 ms.

use units::{BitRate, Duration};

/// MAX_FRAME_SIZE, bytes.
pub(crate) const MAX_FRAME: u64 = 2000;
/// Upper bound of FLOOR.
const MOST_FLOOR: Duration = Duration(65_535_000);

/// The ramp from a queuing delay to a marking probability, for one value of MAX_RATE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ramp {
    rate: BitRate,
    min_th: Duration,
    range: Duration,
}

impl Ramp {
    /// Creates the ramp from the configured MAXTH and LG_RANGE, and from MAX_RATE (`rate`), which must be positive.
    pub(crate) fn new(max_th: Duration, lg_range: u8, rate: BitRate) -> Self {
        let range = Duration(1 << lg_range.min(62));
        let floor = rate.time_for(2 * MAX_FRAME).min(MOST_FLOOR);
        Self { rate, min_th: max_th.saturating_sub(range).max(floor), range }
    }

    pub(crate) fn min_th(&self) -> Duration {
        self.min_th
    }

    /// Returns the effective MAXTH.
    pub(crate) fn max_th(&self) -> Duration {
        self.min_th + self.range
    }

    /// Computes the time that `bytes` take at MAX_RATE.
    #[inline]
    pub(crate) fn qdelay(&self, bytes: u64) -> Duration {
        self.rate.time_for(bytes)
    }

    /// Computes p_native.
    #[inline]
    pub(crate) fn p(&self, qdelay: Duration) -> f64 {
        let above = qdelay.saturating_sub(self.min_th);
        if above >= self.range { 1.0 } else { above.0 as f64 / self.range.0 as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(mbit: u64) -> Ramp {
        Ramp::new(Duration::from_micros(1000), 19, BitRate(mbit * 1_000_000))
    }

    #[test]
    fn floor_lifts_the_ramp_of_a_slow_link() {
        // at 50 Mbit/s, FLOOR = 32 000 bit / 50 Mbit/s = 640 us, and MAXTH = 640 us + 2^19 ns = 1164.288 us
        let slow = at(50);
        assert_eq!((slow.min_th(), slow.max_th()), (Duration(640_000), Duration(1_164_288)));
        // MAXTH - RANGE = 1000 - 524.288 = 475.712 us. At 67.27 Mbit/s, FLOOR is equally long. At higher rates, FLOOR
        // is shorter, so MINTH is 475.712 us.
        assert_eq!((at(68).min_th(), at(68).max_th()), (Duration(475_712), Duration(1_000_000)));
        assert_eq!(at(10_000), Ramp { rate: BitRate(10_000_000_000), ..at(68) });
        assert!(at(67).min_th() > Duration(475_712));
        // at 100 kbit/s, FLOOR would be 320 ms and is limited to 65.535 ms
        assert_eq!(Ramp::new(Duration::from_micros(1000), 19, BitRate(100_000)).min_th(), Duration(65_535_000));
    }

    #[test]
    fn the_ramp_is_linear_in_the_delay() {
        let ramp = at(50);
        // the middle of the ramp is at 640 + 262.144 us
        let p = |ns| ramp.p(Duration(ns));
        assert_eq!([p(0), p(640_000), p(902_144), p(1_164_288), p(9_000_000)], [0.0, 0.0, 0.5, 1.0, 1.0]);
        // three frames of 1528 B take 733.44 us at 50 Mbit/s: p = (733.44 - 640) / 524.288
        assert!((ramp.p(ramp.qdelay(3 * 1528)) - 0.178_223).abs() < 1e-6);
    }
}
