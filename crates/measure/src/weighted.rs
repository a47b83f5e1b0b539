//! The distribution of a queue's length over time.

use units::{Duration, Time};

/// The fraction of time that a whole number (such as a queue's length) spends at each value.
///
/// There is one bin for each value up to the largest.
///
/// Needed for two results of CableLabs 2012: Figure 9 (distribution of the queue's length), and "98.5 % of the time at
/// most 5 free places".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeWeighted {
    /// Nanoseconds in each bin.
    bins: Vec<u64>,
    last: Time,
    start: Time,
    value: u32,
    max: u32,
}

impl TimeWeighted {
    /// Creates a distribution that begins at `start` with the value 0.
    pub(crate) fn new(start: Time) -> Self {
        Self { bins: vec![0], last: start, start, value: 0, max: 0 }
    }

    /// Sets the value from `now` on. If `now` is earlier than the last recorded time, that time is used instead.
    #[inline]
    pub(crate) fn set(&mut self, now: Time, value: u32) {
        self.advance(now);
        self.value = value;
        if value > self.max {
            self.rise(value);
        }
    }

    /// Records that the value rises to `value` for an instant and then returns to the current value. Only the maximum
    /// can change, because no time passes.
    #[inline]
    pub(crate) fn peak(&mut self, value: u32) {
        debug_assert!(self.value < value);
        if value > self.max {
            self.rise(value);
        }
    }

    /// Sets the maximum to `value`, and adds the bins up to it that do not exist yet.
    #[cold]
    fn rise(&mut self, value: u32) {
        self.max = value;
        if self.bins.len() <= value as usize {
            self.bins.resize(value as usize + 1, 0);
        }
    }

    /// Counts the time from the last recorded time to `now` as time spent at the current value. Must be called at the
    /// end of the run.
    #[inline]
    pub(crate) fn advance(&mut self, now: Time) {
        self.bins[self.value as usize] += now.since(self.last).0;
        self.last = self.last.max(now);
    }

    /// Discards everything recorded before `now`, at the end of a warm-up, but keeps the current value. If `now` is
    /// earlier than the last recorded time, that time is used instead.
    pub(crate) fn restart(&mut self, now: Time) {
        let now = now.max(self.last);
        self.bins.fill(0);
        (self.max, self.start, self.last) = (self.value, now, now);
    }

    /// Returns the time covered.
    pub fn time(&self) -> Duration {
        self.last.since(self.start)
    }
    /// Returns the maximum value, exact.
    pub fn max(&self) -> u32 {
        self.max
    }
    /// Returns the mean over time; 0 before any time has passed. The sums are exact integers, so rounding occurs only
    /// when they are converted to `f64` and divided.
    pub fn mean(&self) -> f64 {
        let t = self.time().0;
        let area: u128 = self.bins().map(|(value, time)| u128::from(value) * u128::from(time.0)).sum();
        if t == 0 { 0.0 } else { area as f64 / t as f64 }
    }

    /// Returns each value at which time was spent, in ascending order, and this time.
    pub(crate) fn bins(&self) -> impl Iterator<Item = (u32, Duration)> + '_ {
        self.bins.iter().enumerate().filter(|(_, t)| **t > 0).map(|(i, &t)| (i as u32, Duration(t)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_time() {
        // the length is 0 for 1 s, 20 for 3 s and 15 for 6 s
        let mut w = TimeWeighted::new(Time::ZERO);
        w.set(Time(1_000_000_000), 20);
        w.set(Time(4_000_000_000), 15);
        w.advance(Time(10_000_000_000));
        let s = Duration::from_secs;
        assert_eq!(w.bins().collect::<Vec<_>>(), [(0, s(1)), (15, s(6)), (20, s(3))]);
        // the mean is (3 * 20 + 6 * 15) / 10
        assert_eq!((w.max(), w.mean()), (20, 15.0));
        w.restart(Time(10_000_000_000));
        w.advance(Time(11_000_000_000));
        assert_eq!((w.mean(), w.bins().collect::<Vec<_>>()), (15.0, vec![(15, s(1))]));
    }

    #[test]
    fn long_queues_are_exact() {
        let mut w = TimeWeighted::new(Time::ZERO);
        w.set(Time(0), 999_999);
        w.set(Time(10), 1_000_000);
        w.advance(Time(20));
        assert_eq!((w.max(), w.mean()), (1_000_000, 999_999.5));
        assert_eq!(w.bins().collect::<Vec<_>>(), [(999_999, Duration(10)), (1_000_000, Duration(10))]);
        // a peak has no time; after a restart, the maximum begins again
        w.set(Time(20), 3);
        w.restart(Time(25));
        w.peak(1_000_002);
        w.set(Time(26), 1_000_001);
        w.advance(Time(28));
        assert_eq!(
            (w.max(), w.bins().collect::<Vec<_>>()),
            (1_000_002, vec![(3, Duration(1)), (1_000_001, Duration(2))])
        );
    }

    #[test]
    fn agrees_with_a_list_of_every_nanosecond() {
        let mut rng = units::Rng::named(6, "weighted");
        for limit in [0u32, 1, 30, 70_000] {
            let mut w = TimeWeighted::new(Time(100));
            let (mut list, mut value, mut at) = (Vec::new(), 0, 100);
            for _ in 0..200 {
                let span = rng.below(9);
                list.extend(std::iter::repeat_n(value, span as usize));
                at += span;
                value = rng.below(u64::from(limit) + 1) as u32;
                w.set(Time(at), value);
            }
            list.push(value);
            w.advance(Time(at + 1));
            let n = list.len() as f64;
            assert_eq!(w.time().0, list.len() as u64);
            assert_eq!(w.mean(), list.iter().map(|&v| u64::from(v)).sum::<u64>() as f64 / n);
            let mut times = std::collections::BTreeMap::new();
            list.iter().for_each(|&v| *times.entry(v).or_insert(0) += 1);
            let times: Vec<_> = times.into_iter().map(|(value, ns)| (value, Duration(ns))).collect();
            assert_eq!(w.bins().collect::<Vec<_>>(), times, "{limit}");
        }
    }

    #[test]
    fn nothing_yet() {
        let w = TimeWeighted::new(Time(5));
        assert_eq!((w.mean(), w.bins().count()), (0.0, 0));
    }
}
