//! Computes when timers expire: exactly when they are due, or later because of a timer wheel.
//!
//! ```text
//! level n holds the timers that expire in less than 63 * 8^n ticks, in buckets of 8^n ticks;  a timer never expires early:
//! expires = now in whole ticks + wait rounded up to ticks;  fires = (floor(expires / 8^n) + 1) 8^n
//! ```
//!
//! With a tick of 1 ms, timers of less than 63 ms expire up to 1 ms late, those of less than 504 ms up to 8 ms, of less than 4 s
//! up to 64 ms, of less than 32 s up to 512 ms, and of less than 258 s up to 4096 ms. Rounding the wait up to whole
//! ticks adds less than 1 ms. All timers of a level expire at multiples of its bucket size, so flows that back off
//! retransmit together.
//!
//! Source: LWN, "Reinventing the timer wheel" (2015); Linux since 4.8, HZ 1000.

use crate::params::RtoParams;
use units::{Duration, Time};

/// The purpose for which the retransmission timer is set.   Source: RFC 8985 §8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// A retransmission timeout.
    Rto,
    /// A tail loss probe.
    Probe,
    /// The end of a reordering window.
    Reordering,
}

/// Waits of fewer than `REACH` ticks are on the lowest level of the timer wheel. On each higher level, waits and
/// buckets are eight times as long.
const REACH: u64 = 63;
/// Number of levels of Linux's timer wheel with HZ 1000.
const LEVELS: u32 = 9;

impl RtoParams {
    /// Returns the time at which a timer expires if it is set at `now` and waits for `wait`.
    #[inline]
    pub(crate) fn expiry(&self, now: Time, wait: Duration) -> Time {
        if self.timer_tick.is_zero() { now + wait } else { on_wheel(self.timer_tick.0, now, wait) }
    }
}

fn on_wheel(tick: u64, now: Time, wait: Duration) -> Time {
    let ticks = wait.0.div_ceil(tick);
    let mut shift = 0;
    // the shift grows by 3 per level, so the loop ends after at most LEVELS - 1 iterations
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
        // the time 10.3 ms is within tick 10. A timer of 40 ms expires in tick 50, which ends at 51 ms. A wait of 39.2 ms is
        // rounded up to 40 ticks
        assert_eq!((at(10_300, 40_000), at(10_300, 39_200)), (51.0, 51.0));
        // These timers are set at 1000 ms. A wait of 62 ticks is on level 0, and expires at 1000 + 62 + 1 = 1063. A wait of 63
        // ticks is on level 1: its due time is 1063 = 132 * 8 + 7, and its bucket ends at 133 * 8 = 1064.
        assert_eq!((at(1_000_000, 62_000), at(1_000_000, 63_000)), (1063.0, 1064.0));
        // a wait of 250 ms is due at 1250 = 156 * 8 + 2, and its bucket ends at 157 * 8 = 1256
        assert_eq!(at(1_000_000, 250_000), 1256.0);
        // a wait of 503 ms is on level 1. A wait of 504 ms is on level 2: it is due at 1504 = 23 * 64 + 32, and its bucket ends
        // at 24 * 64 = 1536. A SYN's wait of a second is due at 2000 = 31 * 64 + 16, and its bucket ends at 32 * 64 = 2048
        assert_eq!(
            (at(1_000_000, 503_000), at(1_000_000, 504_000), at(1_000_000, 1_000_000)),
            (1504.0, 1536.0, 2048.0)
        );
        // four timers of 4.1 s, set 100 ms apart, are due at 5100, 5200, 5300 and 5400 ms. Timers of this level expire
        // only at multiples of 512 ms: the first expires at 10 * 512 = 5120, and the other three together at 11 * 512 =
        // 5632
        let together: Vec<f64> = (0..4).map(|i| at(1_000_000 + i * 100_000, 4_100_000)).collect();
        assert_eq!(together, [5120.0, 5632.0, 5632.0, 5632.0]);
        // a wait of 32.3 s is on level 4, whose timers expire at multiples of 4096 ms: 8 * 4096 = 32768
        assert_eq!(at(0, 32_300_000), 32_768.0);
        // with a tick of 0, timers are exact
        let exact = RtoParams { timer_tick: Duration::ZERO, ..linux.clone() };
        assert_eq!(exact.expiry(Time(10_300), Duration::from_micros(7)), Time(17_300));
    }
}
