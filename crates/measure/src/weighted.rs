//! The distribution of a queue's length over time.

use units::Duration;

/// The time that a whole number (such as a queue's length) spends at each value.
///
/// There is one bin for each value up to the largest.
///
/// Needed for two results of CableLabs 2012: Figure 9 (distribution of the queue's length), and "98.5 % of the time at
/// most 5 free places".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeWeighted {
    /// Nanoseconds in each bin.
    bins: Vec<u64>,
    max: u32,
}

impl Default for TimeWeighted {
    fn default() -> Self {
        Self { bins: vec![0], max: 0 }
    }
}

impl TimeWeighted {
    /// Raises the maximum to `value` if `value` is larger. [`TimeWeighted::spend`] counts the time at a value.
    #[inline]
    pub(crate) fn reach(&mut self, value: u32) {
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

    /// Counts time spent at `value`, which must not exceed the largest value reached.
    #[inline]
    pub(crate) fn spend(&mut self, value: u32, time: Duration) {
        self.bins[value as usize] += time.0;
    }

    /// Discards everything recorded so far, at the end of a warm-up. The current value is `value`.
    pub(crate) fn restart(&mut self, value: u32) {
        self.bins.fill(0);
        self.max = value;
    }

    /// Returns the time covered.
    pub fn time(&self) -> Duration {
        Duration(self.bins.iter().sum())
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

    /// Returns each value at which time was spent, with that time, in ascending order of values.
    pub(crate) fn bins(&self) -> impl Iterator<Item = (u32, Duration)> + '_ {
        self.bins.iter().enumerate().filter(|(_, t)| **t > 0).map(|(i, &t)| (i as u32, Duration(t)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spends `time` at `value`.
    fn spend(w: &mut TimeWeighted, value: u32, time: Duration) {
        w.reach(value);
        w.spend(value, time);
    }

    #[test]
    fn shares_of_time() {
        // the length is 0 for 1 s, 20 for 3 s and 15 for 6 s
        let mut w = TimeWeighted::default();
        let s = Duration::from_secs;
        for (value, time) in [(0, 1), (20, 3), (15, 6)] {
            spend(&mut w, value, s(time));
        }
        assert_eq!(w.bins().collect::<Vec<_>>(), [(0, s(1)), (15, s(6)), (20, s(3))]);
        // the mean is (3 * 20 + 6 * 15) / 10
        assert_eq!((w.max(), w.mean(), w.time()), (20, 15.0, s(10)));
        w.restart(15);
        spend(&mut w, 15, s(1));
        assert_eq!((w.max(), w.mean(), w.bins().collect::<Vec<_>>()), (15, 15.0, vec![(15, s(1))]));
    }

    #[test]
    fn long_queues_are_exact() {
        let mut w = TimeWeighted::default();
        spend(&mut w, 999_999, Duration(10));
        spend(&mut w, 1_000_000, Duration(10));
        assert_eq!((w.max(), w.mean()), (1_000_000, 999_999.5));
        assert_eq!(w.bins().collect::<Vec<_>>(), [(999_999, Duration(10)), (1_000_000, Duration(10))]);
        // a restart resets the maximum. The value 1 000 002 is reached, but no time is spent at it
        w.restart(3);
        w.reach(1_000_002);
        spend(&mut w, 3, Duration(1));
        spend(&mut w, 1_000_001, Duration(2));
        assert_eq!(
            (w.max(), w.bins().collect::<Vec<_>>()),
            (1_000_002, vec![(3, Duration(1)), (1_000_001, Duration(2))])
        );
    }

    #[test]
    fn agrees_with_a_list_of_every_nanosecond() {
        let mut rng = units::Rng::named(6, "weighted");
        for limit in [0u32, 1, 30, 70_000] {
            let mut w = TimeWeighted::default();
            let mut list = Vec::new();
            for _ in 0..200 {
                let (value, time) = (rng.below(u64::from(limit) + 1) as u32, rng.below(9));
                list.extend(std::iter::repeat_n(value, time as usize));
                spend(&mut w, value, Duration(time));
            }
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
        let w = TimeWeighted::default();
        assert_eq!((w.mean(), w.bins().count()), (0.0, 0));
    }
}
