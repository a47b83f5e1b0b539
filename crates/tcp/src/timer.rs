//! Timer expiry: exactly when due, or delayed as by a timer wheel.
//!
//! ```text
//! level n holds what expires less than 63 * 8^n ticks away, in buckets of 8^n ticks;  a timer never expires early:
//! expires = now in whole ticks + wait rounded up to ticks;  fires = (expires / 8^n + 1) 8^n
//! ```
//!
//! With a tick of 1 ms, waits below 63 ms end up to 1 ms late, below 504 ms up to 8 ms, below 4 s up to 64 ms, below 32 s up to
//! 512 ms, and longer ones up to 4096 ms. All timers of a level share a grid, so flows that back off retransmit together.
//!
//! Source: LWN, "Reinventing the timer wheel" (2015); Linux since 4.8, HZ 1000.

use crate::params::RtoParams;
use units::{Duration, Time};

/// Purpose of the retransmission timer.   Source: RFC 8985 §8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// A retransmission timeout.
    Rto,
    /// A tail loss probe.
    Probe,
    /// The end of a reordering window.
    Reordering,
}

/// Reach of the lowest level in ticks. Each further level reaches eight times as far, in buckets eight times as wide.
const REACH: u64 = 63;
/// Number of levels of the wheel with HZ 1000.
const LEVELS: u32 = 9;

impl RtoParams {
    /// Expiry of a timer set now for `wait`.
    #[inline]
    pub(crate) fn expiry(&self, now: Time, wait: Duration) -> Time {
        if self.timer_tick.is_zero() { now + wait } else { on_wheel(self.timer_tick.0, now, wait) }
    }
}

fn on_wheel(tick: u64, now: Time, wait: Duration) -> Time {
    let ticks = wait.0.div_ceil(tick);
    let mut shift = 0;
    // bounded by the number of levels
    while ticks >= REACH << shift && shift < 3 * (LEVELS - 1) {
        shift += 3;
    }
    let bucket = ((now.0 / tick + ticks) >> shift) + 1;
    Time((bucket << shift).saturating_mul(tick))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_further_away_the_later() {
        let linux = RtoParams::default();
        let at = |now_us: u64, wait_us: u64| {
            linux.expiry(Time(now_us * 1000), Duration::from_micros(wait_us)).0 as f64 / 1e6
        };
        // 10.3 ms is within tick 10; 40 ms away is tick 50, over at 51. 39.2 ms are rounded up to 40
        assert_eq!((at(10_300, 40_000), at(10_300, 39_200)), (51.0, 51.0));
        // 62 ticks are level 0, 63 are level 1: 1000 + 63 = 1063 = 132 * 8 + 7, over at 133 * 8
        assert_eq!((at(1_000_000, 62_000), at(1_000_000, 63_000)), (1063.0, 1064.0));
        // 250 ms: 1250 = 156 * 8 + 2
        assert_eq!(at(1_000_000, 250_000), 1256.0);
        // 504 ms: level 2. 1504 = 23 * 64 + 32, over at 24 * 64 = 1536. A SYN's second: 2000 = 31 * 64 + 16, over at 2048
        assert_eq!(
            (at(1_000_000, 503_000), at(1_000_000, 504_000), at(1_000_000, 1_000_000)),
            (1504.0, 1536.0, 2048.0)
        );
        // four timers set within 500 ms for 4.1 s expire at two times: from 5100 to 5599 ms, multiples of 512: 9 * 512 = 4608,
        // 10, 11
        let together: Vec<f64> = (0..4).map(|i| at(1_000_000 + i * 100_000, 4_100_000)).collect();
        assert_eq!(together, [5120.0, 5632.0, 5632.0, 5632.0]);
        // 32 s ahead: multiples of 4096 ms
        assert_eq!(at(0, 32_300_000), 32_768.0);
        // an exact timer
        let exact = RtoParams { timer_tick: Duration::ZERO, ..linux.clone() };
        assert_eq!(exact.expiry(Time(10_300), Duration::from_micros(7)), Time(17_300));
    }
}
