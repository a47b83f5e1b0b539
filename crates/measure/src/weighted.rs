//! The distribution of a queue's length over time.

use units::{Duration, Time};

/// Maximum number of bins. If there are more possible lengths than bins, each bin covers 2, 4, 8 ... lengths.
const BINS: u32 = 65_536;

/// The fraction of time that a whole number (such as a queue's length) spends at each value.
///
/// There is one bin for each length 0..=limit if the limit is at most 65 535. Otherwise, each bin covers 2, 4, 8 ...
/// lengths: the smallest power of two with which at most 65 536 bins cover all lengths up to the limit. Values above
/// the limit count in the last bin. The mean and the maximum do not depend on the bins, so they are exact for values
/// above the limit as well.
///
/// Needed for two results of CableLabs 2012: Figure 9 (distribution of the queue's length), and "98.5 % of the time at
/// most 5 free places".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeWeighted {
    /// Nanoseconds in each bin.
    bins: Vec<u64>,
    limit: u32,
    shift: u32,
    last: Time,
    start: Time,
    value: u32,
    max: u32,
    /// Sum of value x nanoseconds.
    area: u128,
}

impl TimeWeighted {
    /// Creates a distribution that begins at `start` with the value 0. The last bin also counts the time at values
    /// above `limit`.
    pub(crate) fn new(start: Time, limit: u32) -> Self {
        // bounded: at most 16 iterations
        let mut shift = 0;
        while limit >> shift >= BINS {
            shift += 1;
        }
        let bins = vec![0; (limit >> shift) as usize + 1];
        Self { bins, limit, shift, last: start, start, value: 0, max: 0, area: 0 }
    }

    /// Sets the value from `now` on. If `now` is earlier than the last recorded time, that time is used instead.
    #[inline]
    pub(crate) fn set(&mut self, now: Time, value: u32) {
        self.advance(now);
        self.value = value;
        self.max = self.max.max(value);
    }

    /// Records that the value rises to `value` for an instant and then returns to the current value. Only the maximum
    /// can change, because no time passes.
    #[inline]
    pub(crate) fn peak(&mut self, value: u32) {
        debug_assert!(self.value < value);
        self.max = self.max.max(value);
    }

    /// Counts the time from the last recorded time to `now` as time spent at the current value. Must be called at the
    /// end of the run.
    #[inline]
    pub(crate) fn advance(&mut self, now: Time) {
        let span = now.since(self.last).0;
        let bin = (self.value.min(self.limit) >> self.shift) as usize;
        self.bins[bin] += span;
        self.area += u128::from(self.value) * u128::from(span);
        self.last = self.last.max(now);
    }

    /// Discards everything recorded before `now`, at the end of a warm-up, but keeps the current value. If `now` is
    /// earlier than the last recorded time, that time is used instead.
    pub(crate) fn restart(&mut self, now: Time) {
        let now = now.max(self.last);
        self.bins.fill(0);
        (self.area, self.max, self.start, self.last) = (0, self.value, now, now);
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
        if t == 0 { 0.0 } else { self.area as f64 / t as f64 }
    }

    /// Returns each bin in which time was spent, in ascending order, as a pair: the lowest length that the bin covers,
    /// and the time spent in it.
    pub(crate) fn bins(&self) -> impl Iterator<Item = (u32, Duration)> + '_ {
        self.bins.iter().enumerate().filter(|(_, t)| **t > 0).map(|(i, &t)| ((i as u32) << self.shift, Duration(t)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_time() {
        // the length is 0 for 1 s, 20 for 3 s and 15 for 6 s, in a queue that holds 20
        let mut w = TimeWeighted::new(Time::ZERO, 20);
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
    fn long_queues_share_bins() {
        let mut w = TimeWeighted::new(Time::ZERO, 1_000_000);
        // with 16 lengths per bin, the lengths 0 to 999 999 need 62 500 bins, and the limit itself needs one more bin
        assert_eq!((1 << w.shift, w.bins.len()), (16, 62_501));
        w.set(Time(0), 999_999);
        w.set(Time(10), 5_000_000);
        w.advance(Time(20));
        assert_eq!((w.max(), w.mean()), (5_000_000, 2_999_999.5));
        assert_eq!(w.bins().collect::<Vec<_>>(), [(999_984, Duration(10)), (1_000_000, Duration(10))]);
        let shift = |limit| TimeWeighted::new(Time::ZERO, limit).shift;
        assert_eq!((shift(65_535), shift(65_536)), (0, 1));
        assert_eq!(TimeWeighted::new(Time::ZERO, u32::MAX).bins.len(), 65_536);
    }

    #[test]
    fn agrees_with_a_list_of_every_nanosecond() {
        let mut rng = units::Rng::named(6, "weighted");
        for limit in [0, 1, 30, 70_000] {
            let mut w = TimeWeighted::new(Time(100), limit);
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
            // with a limit of 70 000, two lengths share a bin
            let mut times = std::collections::BTreeMap::new();
            list.iter().for_each(|&v| *times.entry(v >> w.shift << w.shift).or_insert(0) += 1);
            let times: Vec<_> = times.into_iter().map(|(low, ns)| (low, Duration(ns))).collect();
            assert_eq!(w.bins().collect::<Vec<_>>(), times, "{limit}");
        }
    }

    #[test]
    fn nothing_yet() {
        let w = TimeWeighted::new(Time(5), 10);
        assert_eq!((w.mean(), w.bins().count()), (0.0, 0));
    }
}
