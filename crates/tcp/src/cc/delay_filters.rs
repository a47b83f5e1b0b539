//! The two filters from which LEDBAT and LEDBAT++ compute the queueing delay: a base delay and a current delay.
//!
//! ```text
//! base          = minimum delay of the last `base_history` minutes that had samples
//! queuing_delay = min of the last `current_filter` delays - base
//! ```
//!
//! Source: RFC 6817 §2.4.2, §3.4.

use packet::Reading;
use std::collections::VecDeque;
use units::Time;

const MINUTE: u64 = 60_000_000_000;

/// The filters of one flow. Delays are in microseconds modulo 2^32. One-way delays include the offset between the two
/// clocks, so only their differences are meaningful.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DelayFilters {
    /// BASE_HISTORY, minutes.
    base_history: u32,
    /// CURRENT_FILTER, samples.
    current_filter: u32,
    /// The minimum delay in each of the last `base_history` minutes that had samples, oldest first.
    base: VecDeque<u32>,
    /// Number of the newest minute in `base`, counted from time 0.
    minute: u64,
    /// The last `current_filter` delays, newest last.
    current: VecDeque<u32>,
}

/// Returns the smaller of two delays, compared modulo 2^32.
fn least(a: u32, b: u32) -> u32 {
    if (a.wrapping_sub(b) as i32) < 0 { a } else { b }
}

fn min(of: &VecDeque<u32>) -> Option<u32> {
    of.iter().copied().reduce(least)
}

impl DelayFilters {
    pub(super) fn new(base_history: u32, current_filter: u32) -> Self {
        Self { base_history, current_filter, base: VecDeque::new(), minute: 0, current: VecDeque::new() }
    }

    /// Adds a delay sample; returns the queueing delay in microseconds.
    pub(super) fn queuing_delay(&mut self, now: Time, delay: u32) -> u32 {
        let minute = now.0 / MINUTE;
        match self.base.back_mut() {
            Some(last) if minute == self.minute => *last = least(*last, delay),
            _ => {
                self.base.push_back(delay);
                self.minute = minute;
                if self.base.len() > self.base_history as usize {
                    self.base.pop_front();
                }
            }
        }
        self.current.push_back(delay);
        if self.current.len() > self.current_filter as usize {
            self.current.pop_front();
        }
        self.queuing().unwrap_or(0)
    }

    /// Returns the base delay, if there is a sample.
    pub(super) fn base(&self) -> Option<u32> {
        min(&self.base)
    }

    fn queuing(&self) -> Option<u32> {
        // the base covers only the last `base_history` minutes, but some of the current samples may be older. The base
        // may then exceed the current delay, and the queueing delay counts as 0
        let (base, current) = (min(&self.base)?, min(&self.current)?);
        Some((current.wrapping_sub(base) as i32).max(0) as u32)
    }

    pub(super) fn probe(&self, out: &mut Reading<'_>) {
        out.micros("base_delay", min(&self.base));
        out.micros("current_delay", min(&self.current));
        out.micros("queuing_delay", self.queuing());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_is_forgotten_after_its_minutes() {
        let mut l = DelayFilters::new(10, 4);
        // the delay is 30 ms in minute 0. Then the path changes, and the delay is 50 ms from minute 1 on. In minute 10,
        // the history of ten minutes no longer contains minute 0, so the base delay is 50 ms
        assert_eq!(l.queuing_delay(Time(0), 30_000), 0);
        for minute in 1..=9 {
            (0..4).for_each(|_| {
                l.queuing_delay(Time(minute * MINUTE), 50_000);
            });
            assert_eq!(l.queuing_delay(Time(minute * MINUTE), 50_000), 20_000);
        }
        assert_eq!(l.queuing_delay(Time(10 * MINUTE), 50_000), 0);
        assert_eq!(l.base.len(), 10);
    }

    #[test]
    fn clocks_may_differ_and_wrap() {
        let mut l = DelayFilters::new(10, 4);
        // the receiver's clock is 10 s behind, so TSval - TSecr is negative and wraps: delays of 30 ms and 40 ms appear
        // as 30 - 10 000 ms and 40 - 10 000 ms
        let at = |ms: i64| ((ms - 10_000) * 1000) as u32;
        assert_eq!(l.queuing_delay(Time(0), at(30)), 0);
        (0..3).for_each(|_| {
            l.queuing_delay(Time(0), at(40));
        });
        assert_eq!(l.queuing_delay(Time(0), at(40)), 10_000);
    }
}
