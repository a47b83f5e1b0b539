//! How long a queue was how long.

use units::{Duration, Time};

/// Most bins; longer queues share bins of 2, 4, 8 ... lengths.
const BINS: u32 = 65_536;

/// The share of time that a whole number (a queue's length) spent at each value.
///
/// One bin for each length 0..=limit while that is at most 65 535; above, bins of the smallest power of two of lengths that
/// fits. Values above the limit count in the last bin. Mean and maximum are exact.
///
/// For CableLabs 2012 Figure 9 (distribution of the queue's length) and "98.5 % of the time at most 5 free places".
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
    /// Sum of value * nanoseconds.
    area: u128,
}

impl TimeWeighted {
    /// Starts at `start` with value 0. `limit` is the greatest value to tell apart.
    pub fn new(start: Time, limit: u32) -> Self {
        // bounded: at most 16 turns
        let mut shift = 0;
        while limit >> shift >= BINS {
            shift += 1;
        }
        let bins = vec![0; (limit >> shift) as usize + 1];
        Self { bins, limit, shift, last: start, start, value: 0, max: 0, area: 0 }
    }

    /// The value is `value` from `now` on. Times before the last call count as the last call's.
    #[inline]
    pub fn set(&mut self, now: Time, value: u32) {
        self.advance(now);
        self.value = value;
        self.max = self.max.max(value);
    }

    /// The value stayed what it was until `now`: call it once at the end of the run.
    #[inline]
    pub fn advance(&mut self, now: Time) {
        let span = now.since(self.last).0;
        let bin = (self.value.min(self.limit) >> self.shift) as usize;
        self.bins[bin] += span;
        self.area += u128::from(self.value) * u128::from(span);
        self.last = self.last.max(now);
    }

    /// Forgets what was seen before `now` and keeps the value: the end of a warm-up. Times before the last call count as
    /// the last call's.
    pub fn restart(&mut self, now: Time) {
        let now = now.max(self.last);
        self.bins.fill(0);
        (self.area, self.max, self.start, self.last) = (0, self.value, now, now);
    }

    /// Time seen.
    pub fn time(&self) -> Duration {
        self.last.since(self.start)
    }
    /// Largest value, exact.
    pub fn max(&self) -> u32 {
        self.max
    }
    /// Mean over time, exact up to one rounding; 0 before any time has passed.
    pub fn mean(&self) -> f64 {
        let t = self.time().0;
        if t == 0 { 0.0 } else { self.area as f64 / t as f64 }
    }
    /// Lengths that share one bin: 1 unless the limit is above 65 535.
    pub fn resolution(&self) -> u32 {
        1 << self.shift
    }

    /// Nanoseconds at `value` or below, rounded down to whole bins.
    fn at_most(&self, value: u32) -> u64 {
        if value >= self.max {
            return self.time().0;
        }
        // bins that end at or below the value; the last one has no upper end
        let end = ((u64::from(value) + 1) >> self.shift).min(self.bins.len() as u64 - 1) as usize;
        self.bins[..end].iter().sum()
    }

    /// Share of time at `value` or below (rounded down to whole bins); 0 before any time has passed.
    pub fn share_at_most(&self, value: u32) -> f64 {
        self.share(self.at_most(value))
    }

    /// Share of time at `value` or above; 0 before any time has passed.
    pub fn share_at_least(&self, value: u32) -> f64 {
        self.share(self.time().0 - value.checked_sub(1).map_or(0, |v| self.at_most(v)))
    }

    /// The value that is not exceeded for `p` percent of the time (the upper end of its bin, at most the maximum); `None`
    /// before any time has passed.
    pub fn percentile(&self, p: f64) -> Option<u32> {
        let total = self.time().0;
        if total == 0 {
            return None;
        }
        let rank = crate::percentile::rank(p, total);
        let mut seen = 0;
        for (i, &t) in self.bins.iter().enumerate() {
            seen += t;
            if seen >= rank && i + 1 < self.bins.len() {
                return Some((((i as u32 + 1) << self.shift) - 1).min(self.max));
            }
        }
        Some(self.max)
    }

    /// The bins in which time was spent: lowest length of the bin and time, in rising order.
    pub fn bins(&self) -> impl Iterator<Item = (u32, Duration)> + '_ {
        self.bins.iter().enumerate().filter(|(_, t)| **t > 0).map(|(i, &t)| ((i as u32) << self.shift, Duration(t)))
    }

    /// The distribution function as points: lowest length of a bin, and the share of time in this bin or below.
    pub fn cdf(&self) -> Vec<(u32, f64)> {
        let mut seen = 0;
        self.bins()
            .map(|(v, t)| {
                seen += t.0;
                (v, self.share(seen))
            })
            .collect()
    }

    fn share(&self, ns: u64) -> f64 {
        let t = self.time().0;
        if t == 0 { 0.0 } else { ns as f64 / t as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_time() {
        // 1 s at 0, 3 s at 20, 6 s at 15, of a queue that holds 20
        let mut w = TimeWeighted::new(Time::ZERO, 20);
        w.set(Time(1_000_000_000), 20);
        w.set(Time(4_000_000_000), 15);
        w.advance(Time(10_000_000_000));
        assert_eq!((w.share_at_least(15), w.share_at_most(14), w.share_at_least(16)), (0.9, 0.1, 0.3));
        assert_eq!((w.share_at_least(0), w.share_at_most(20), w.max()), (1.0, 1.0, 20));
        // (3*20 + 6*15) / 10
        assert_eq!(w.mean(), 15.0);
        assert_eq!(w.cdf(), [(0, 0.1), (15, 0.7), (20, 1.0)]);
        assert_eq!((w.percentile(10.0), w.percentile(50.0), w.percentile(99.0)), (Some(0), Some(15), Some(20)));
        w.restart(Time(10_000_000_000));
        w.advance(Time(11_000_000_000));
        assert_eq!((w.mean(), w.share_at_most(14)), (15.0, 0.0));
    }

    #[test]
    fn long_queues_share_bins() {
        let mut w = TimeWeighted::new(Time::ZERO, 1_000_000);
        // 1 000 000 / 16 = 62 500
        assert_eq!((w.resolution(), w.bins.len()), (16, 62_501));
        w.set(Time(0), 999_999);
        w.set(Time(10), 5_000_000);
        w.advance(Time(20));
        assert_eq!((w.max(), w.mean()), (5_000_000, 2_999_999.5));
        assert_eq!(w.share_at_least(999_984), 1.0);
        assert_eq!(w.share_at_least(1_000_000), 0.5);
        assert_eq!(TimeWeighted::new(Time::ZERO, 65_535).resolution(), 1);
        assert_eq!(TimeWeighted::new(Time::ZERO, 65_536).resolution(), 2);
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
            // whole bins only: with a limit of 70 000 two lengths share one
            let k = w.resolution();
            for v in (0..20).map(|i| limit / 20 * i / k * k) {
                let at_least = list.iter().filter(|&&x| x >= v).count() as f64 / n;
                assert!((w.share_at_least(v) - at_least).abs() < 1e-12, "{v} of {limit}");
            }
            let mut sorted = list.clone();
            sorted.sort_unstable();
            for p in [0.0, 10.0, 50.0, 98.5, 100.0] {
                let exact = crate::percentile(&sorted, p).unwrap();
                let got = w.percentile(p).unwrap();
                assert!((exact..exact + k).contains(&got), "p{p}: {got} is not {exact}");
            }
        }
    }

    #[test]
    fn nothing_yet() {
        let w = TimeWeighted::new(Time(5), 10);
        assert_eq!((w.mean(), w.share_at_most(10), w.share_at_least(0), w.percentile(50.0)), (0.0, 0.0, 0.0, None));
    }
}
