//! A log-linear histogram of durations.
//!
//! ```text
//!   below 1024 ns        64 bins of 16 ns
//!   [2^e, 2^(e+1)) ns    64 equal bins, for e = 10 .. 41        (width / lower edge <= 1/64)
//!   2^42 ns = 73 min     and more: counted in the last bin; the maximum stays exact
//! ```
//!
//! A percentile is the middle of its bin, never outside [min, max]: at most 0.8 % off (8 ns below 1 us). Count, minimum,
//! maximum and mean are exact. Source: HdrHistogram's idea, without its floats.

use units::Duration;

/// Bins per power of two, as a power of two.
const SUB: u32 = 6;
/// The finest bin is 2^4 = 16 ns.
const FLOOR: u32 = 4;
/// The exponent that is no longer told apart.
const TOP: u32 = 42;
/// 64 linear bins, then 64 for each exponent from 10 to 41.
const BINS: usize = (1 << SUB) * (1 + (TOP - FLOOR - SUB) as usize);

/// The bin of `ns`.
#[inline]
fn bin(ns: u64) -> usize {
    let v = ns >> FLOOR;
    if v < 1 << SUB {
        return v as usize;
    }
    let e = 63 - v.leading_zeros();
    let i = ((e - SUB + 1) as usize) << SUB | (v >> (e - SUB)) as usize & ((1 << SUB) - 1);
    i.min(BINS - 1)
}

/// The lower edge of a bin in nanoseconds; of the bin after the last one, too.
fn edge(bin: usize) -> u64 {
    let (group, part) = (bin >> SUB, (bin & ((1 << SUB) - 1)) as u64);
    if group == 0 { part << FLOOR } else { ((1 << SUB) + part) << (group - 1) << FLOOR }
}

/// Counts durations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    bins: Box<[u64; BINS]>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { bins: Box::new([0; BINS]), count: 0, sum: 0, min: u64::MAX, max: 0 }
    }
}

impl Histogram {
    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value: Duration) {
        let ns = value.0;
        self.bins[bin(ns)] += 1;
        self.count += 1;
        self.sum += u128::from(ns);
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
    }

    /// Adds what another histogram counted.
    pub fn merge(&mut self, other: &Self) {
        for (a, b) in self.bins.iter_mut().zip(other.bins.iter()) {
            *a += b;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }
    /// Smallest value, exact; `None` without values.
    pub fn min(&self) -> Option<Duration> {
        (self.count > 0).then_some(Duration(self.min))
    }
    /// Largest value, exact; `None` without values.
    pub fn max(&self) -> Option<Duration> {
        (self.count > 0).then_some(Duration(self.max))
    }
    /// Sum, ns, exact.
    pub(crate) fn sum(&self) -> u128 {
        self.sum
    }
    /// Mean, rounded to the nearest nanosecond; `None` without values.
    pub fn mean(&self) -> Option<Duration> {
        let n = u128::from(self.count);
        (n > 0).then(|| Duration(((self.sum + n / 2) / n) as u64))
    }

    /// Coefficient of variation: standard deviation (of all values: over n) over mean; `None` without a mean above 0.
    ///
    /// Every value counts as the middle of its bin, within [min, max], as a percentile does.
    pub fn variation(&self) -> Option<f64> {
        let n = self.count as f64;
        let mean = self.sum as f64 / n;
        let square = |(low, high, n): (Duration, Duration, u64)| {
            let middle = (low.0 + (high.0 - low.0) / 2).clamp(self.min, self.max);
            n as f64 * (middle as f64 - mean) * (middle as f64 - mean)
        };
        (self.sum > 0).then(|| (self.bins().map(square).sum::<f64>() / n).sqrt() / mean)
    }

    /// The value that `p` percent of all values do not exceed (nearest rank); `None` without values.
    ///
    /// `p` is clamped to [0, 100]; 0 gives the exact minimum, 100 the exact maximum.
    pub fn percentile(&self, p: f64) -> Option<Duration> {
        if self.count == 0 {
            return None;
        }
        let rank = crate::percentile::rank(p, self.count);
        // the ends are known exactly
        if p <= 0.0 || rank == self.count {
            return Some(Duration(if p <= 0.0 { self.min } else { self.max }));
        }
        let mut seen = 0;
        for (i, &n) in self.bins.iter().enumerate() {
            seen += n;
            if seen >= rank {
                let (low, high) = (edge(i), edge(i + 1));
                return Some(Duration((low + (high - low) / 2).clamp(self.min, self.max)));
            }
        }
        Some(Duration(self.max))
    }

    /// The value that is not exceeded for `p` percent of the time, if each value lasts as long as itself: probes one after the
    /// other, each of which begins when the last one is answered. `None` without values; every value counts as the middle of
    /// its bin.
    pub fn percentile_of_time(&self, p: f64) -> Option<Duration> {
        let middle = |low: Duration, high: Duration| (low.0 + (high.0 - low.0) / 2).clamp(self.min, self.max);
        let rank = self.sum as f64 * (p / 100.0).clamp(0.0, 1.0);
        let mut seen = 0.0;
        for (low, high, n) in self.bins() {
            seen += n as f64 * middle(low, high) as f64;
            if seen >= rank {
                return Some(Duration(middle(low, high)));
            }
        }
        self.max()
    }

    /// The mean over time in the same way: sum of squares over sum; `None` without a value above 0.
    pub fn mean_of_time(&self) -> Option<Duration> {
        let mean = self.mean()?.0 as f64;
        let cv = self.variation()?;
        Some(Duration((mean * (1.0 + cv * cv) + 0.5) as u64))
    }

    /// Share of values that are certainly at most `limit`: those in bins that end at or below it, or all if the maximum is.
    pub fn share_at_most(&self, limit: Duration) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        if limit.0 >= self.max {
            return 1.0;
        }
        let n: u64 = self.bins[..bin(limit.0.saturating_add(1))].iter().sum();
        n as f64 / self.count as f64
    }

    /// The bins that hold something: lower edge, upper edge (exclusive) and number of values, in rising order.
    pub fn bins(&self) -> impl Iterator<Item = (Duration, Duration, u64)> + '_ {
        self.bins
            .iter()
            .enumerate()
            .filter(|(_, n)| **n > 0)
            .map(|(i, &n)| (Duration(edge(i)), Duration(edge(i + 1)), n))
    }

    /// The distribution function as points: a value, and the share of values at most that large. The last point is
    /// (maximum, 1).
    pub fn cdf(&self) -> Vec<(Duration, f64)> {
        let mut seen = 0;
        self.bins()
            .map(|(_, high, n)| {
                seen += n;
                let at = if seen == self.count { self.max } else { high.0 - 1 };
                (Duration(at), seen as f64 / self.count as f64)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rng;

    #[test]
    fn bins_tile_the_axis() {
        assert_eq!(BINS, 64 * 33);
        assert_eq!((bin(0), bin(15), bin(16), bin(1023), bin(1024)), (0, 0, 1, 63, 64));
        for i in 0..BINS {
            let (low, high) = (edge(i), edge(i + 1));
            assert_eq!((bin(low), bin(high - 1)), (i, i), "bin {i}");
            if low >= 1024 {
                assert!((high - low) * 64 <= low, "bin {i} is wider than 1/64");
            }
        }
        assert_eq!(edge(BINS), 1 << TOP);
        assert_eq!((bin(1 << TOP), bin(u64::MAX)), (BINS - 1, BINS - 1));
    }

    #[test]
    fn percentiles_agree_with_sorting() {
        // log-uniform over six decades: every octave is met
        let mut rng = Rng::named(3, "histogram");
        let mut h = Histogram::default();
        let mut all: Vec<u64> = (0..100_000).map(|_| units::math::pow(10.0, 2.0 + 6.0 * rng.unit()) as u64).collect();
        all.iter().for_each(|&v| h.record(Duration(v)));
        all.sort_unstable();
        for p in [0.0, 1.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99, 100.0] {
            let exact = percentile_of(&all, p);
            let got = h.percentile(p).unwrap().0;
            assert!(got.abs_diff(exact) as f64 <= 8.0_f64.max(exact as f64 / 127.0), "p{p}: {got} is not {exact}");
        }
        assert_eq!(h.percentile(100.0).unwrap().0, *all.last().unwrap());
        let sum: u64 = all.iter().sum();
        assert_eq!(h.mean().unwrap().0, (sum + 50_000) / 100_000);
        assert_eq!((h.min().unwrap().0, h.max().unwrap().0), (all[0], all[99_999]));
        // of ln-uniform values in [a, b]: mean (b - a) / L, mean square (b^2 - a^2) / 2L, with L = ln(b / a), so that
        // cv^2 = L (b + a) / (2 (b - a)) - 1; here b / a = 10^6: L = 13.8155, cv = 2.4309
        assert!((h.variation().unwrap() / 2.4309 - 1.0).abs() < 0.02, "{:?}", h.variation());
        let share = h.share_at_most(Duration(1_000_000));
        let exact = all.partition_point(|&v| v <= 1_000_000) as f64 / 100_000.0;
        assert!(share <= exact && exact - share < 0.002);
        let cdf = h.cdf();
        assert!(cdf.is_sorted() && cdf.last() == Some(&(Duration(all[99_999]), 1.0)));
    }

    fn percentile_of(sorted: &[u64], p: f64) -> u64 {
        sorted[((p / 100.0 * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len()) - 1]
    }

    #[test]
    fn equal_values_have_that_percentile() {
        let mut h = Histogram::default();
        assert_eq!((h.percentile(50.0), h.mean(), h.min(), h.cdf().len()), (None, None, None, 0));
        assert_eq!(h.variation(), None);
        for _ in 0..3 {
            h.record(Duration(2_400_123));
        }
        for p in [0.0, 50.0, 99.9, 100.0] {
            assert_eq!(h.percentile(p), Some(Duration(2_400_123)));
        }
        assert_eq!(h.variation(), Some(0.0));
        assert_eq!((h.share_at_most(Duration(2_400_122)), h.share_at_most(Duration(2_400_123))), (0.0, 1.0));
    }

    #[test]
    fn merging_is_recording_in_one() {
        let mut rng = Rng::named(4, "merge");
        let (mut a, mut b, mut both) = (Histogram::default(), Histogram::default(), Histogram::default());
        for i in 0..1000 {
            let v = Duration(rng.below(1 << 45));
            if i % 3 == 0 {
                a.record(v)
            } else {
                b.record(v)
            }
            both.record(v);
        }
        a.merge(&b);
        assert_eq!(a, both);
    }

    #[test]
    fn over_time_long_values_count_longer() {
        // nine of 10 ms and one of 90 ms: half of the 180 ms pass in the long one
        let mut h = Histogram::default();
        (0..9).for_each(|_| h.record(Duration::from_millis(10)));
        h.record(Duration::from_millis(90));
        let near = |d: Option<Duration>, ms: f64| (d.unwrap().millis() / ms - 1.0).abs() < 0.01;
        assert!(near(h.percentile(90.0), 10.0) && near(h.percentile_of_time(49.0), 10.0));
        assert!(near(h.percentile_of_time(52.0), 90.0));
        // (9 x 100 + 8100) / 180 = 50; the mean of samples is 18
        assert!(near(h.mean_of_time(), 50.0) && near(h.mean(), 18.0));
        assert_eq!((Histogram::default().percentile_of_time(50.0), Histogram::default().mean_of_time()), (None, None));
    }
}
