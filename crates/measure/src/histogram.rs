//! A log-linear histogram of durations with three significant decimal digits.
//!
//! ```text
//!   below 2048 ns        a bin for each nanosecond
//!   [2^e, 2^(e+1)) ns    1024 equal bins, for e = 11 .. 41      (width / lower edge <= 1/1024)
//!   from 2^42 ns         (73 min) on: counted in the last bin; the maximum stays exact
//! ```
//!
//! A percentile is the middle of the bin that holds the value of nearest rank, limited to [min, max]. Below 2^42 ns,
//! its error is at most 1/2048 (0.05 %); percentiles below 2 us are exact. Count, minimum, maximum and mean are exact.
//!
//! Bins are stored in pages of 64, each allocated when a value falls into it. An empty histogram has no pages. If all values
//! lie in the same octave [2^e, 2^(e+1)), there are at most 16 pages (8 KB). With a value in every bin, the histogram takes
//! at most 279 KB.
//!
//! Source: HdrHistogram's layout for three digits (2048 sub-buckets; every octave above the first uses only the upper half).

use units::Duration;

/// log2 of the number of bins per octave.
const SUB: u32 = 10;
/// All values of 2^TOP ns or more are counted in the last bin.
const TOP: u32 = 42;
/// Number of bins: 1024 below 2^10, then 1024 for each exponent from 10 to 41.
const BINS: usize = (1 << SUB) * (1 + (TOP - SUB) as usize);
/// Number of bins per page.
const PAGE: usize = 64;

/// Returns the bin of `ns`. For 2^42 ns or more, the result is beyond the last bin.
#[inline]
fn bin(ns: u64) -> usize {
    let e = (ns | 1 << SUB).ilog2();
    ((u64::from(e - SUB) << SUB) + (ns >> (e - SUB))) as usize
}

/// Returns the lower edge of a bin in nanoseconds. `bin` may also be `BINS`, which gives the upper edge of the last
/// bin.
fn edge(bin: usize) -> u64 {
    let (octave, part) = (bin >> SUB, (bin & ((1 << SUB) - 1)) as u64);
    if octave == 0 { part } else { ((1 << SUB) + part) << (octave - 1) }
}

/// A histogram of durations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// Page `i` holds the counts of `PAGE` bins, beginning with bin `i * PAGE`. A page without values is `None`. The
    /// list ends with the last page that has values.
    pages: Vec<Option<Box<[u64; PAGE]>>>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { pages: Vec::new(), count: 0, sum: 0, min: u64::MAX, max: 0 }
    }
}

impl Histogram {
    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value: Duration) {
        self.record_all(value, 1);
    }

    /// Counts the same value `n` times. `n` must be at least 1.
    #[inline]
    pub(crate) fn record_all(&mut self, value: Duration, n: u64) {
        let ns = value.0;
        let i = bin(ns);
        match self.pages.get_mut(i / PAGE) {
            Some(Some(page)) => page[i % PAGE] += n,
            _ => self.first(i.min(BINS - 1), n),
        }
        self.count += n;
        self.sum += u128::from(ns) * u128::from(n);
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
    }

    /// Counts `n` values in a bin whose page might not be allocated yet.
    #[cold]
    fn first(&mut self, bin: usize, n: u64) {
        self.page(bin / PAGE)[bin % PAGE] += n;
    }

    /// Returns a page, allocating it if necessary.
    fn page(&mut self, number: usize) -> &mut [u64; PAGE] {
        if self.pages.len() <= number {
            self.pages.resize(number + 1, None);
        }
        self.pages[number].get_or_insert_with(|| Box::new([0; PAGE]))
    }

    /// Returns the bytes that the histogram uses on the heap.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        let made = self.pages.iter().flatten().count();
        self.pages.capacity() * size_of::<Option<Box<[u64; PAGE]>>>() + made * size_of::<[u64; PAGE]>()
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.count
    }
    /// Returns the minimum value, exact; `None` without values.
    pub fn min(&self) -> Option<Duration> {
        (self.count > 0).then_some(Duration(self.min))
    }
    /// Returns the maximum value, exact; `None` without values.
    pub(crate) fn max(&self) -> Option<Duration> {
        (self.count > 0).then_some(Duration(self.max))
    }
    /// Returns the mean, rounded to the nearest nanosecond; `None` without values.
    pub(crate) fn mean(&self) -> Option<Duration> {
        let n = u128::from(self.count);
        (n > 0).then(|| Duration(((self.sum + n / 2) / n) as u64))
    }

    /// Returns the coefficient of variation: the standard deviation (with divisor n) over the mean; `None` unless the
    /// mean is above 0.
    ///
    /// As in [`Histogram::percentile`], the middle of the bin, limited to [min, max], stands for every value in the
    /// bin. For values below 2^42 ns, this middle differs from a value by at most 1/2048 of the value. By the triangle
    /// inequality, the error of the standard deviation is at most the root mean square of these differences. So the
    /// result is off by at most sqrt(1 + cv^2) / 2048.
    pub(crate) fn variation(&self) -> Option<f64> {
        let n = self.count as f64;
        let mean = self.sum as f64 / n;
        let square = |(low, high, n): (Duration, Duration, u64)| {
            let off = self.middle(low, high).0 as f64 - mean;
            n as f64 * off * off
        };
        (self.sum > 0).then(|| (self.bins().map(square).sum::<f64>() / n).sqrt() / mean)
    }

    /// Returns percentile `p`, found by nearest rank: the middle of the bin that contains it, limited to [min, max].
    /// `None` without values.
    ///
    /// `p` is clamped to [0, 100]; 0 gives the exact minimum, 100 the exact maximum.
    pub fn percentile(&self, p: f64) -> Option<Duration> {
        if self.count == 0 {
            return None;
        }
        let rank = crate::percentile::rank(p, self.count);
        if p <= 0.0 || rank == self.count {
            return Some(Duration(if p <= 0.0 { self.min } else { self.max }));
        }
        let mut seen = 0;
        for (first, page) in self.filled() {
            let here: u64 = page.iter().sum();
            if seen + here < rank {
                seen += here;
                continue;
            }
            for (i, n) in page.iter().enumerate() {
                seen += n;
                if seen >= rank {
                    return Some(self.middle(Duration(edge(first + i)), Duration(edge(first + i + 1))));
                }
            }
        }
        Some(Duration(self.max))
    }

    /// Returns percentile `p` over time, in which each value has a weight equal to its own duration, but at most
    /// `timeout`. Every value counts as the middle of its bin. `None` without values.
    ///
    /// If each probe is sent as soon as the previous probe is answered, or after `timeout`, the weight of a round trip
    /// is the time from its probe to the next probe. So the weights add up to the time since the first probe, except for
    /// the time after each probe that was not answered.
    pub(crate) fn percentile_of_time(&self, p: f64, timeout: Duration) -> Option<Duration> {
        let all: f64 = self.weights(timeout).map(|(_, weight)| weight).sum();
        let rank = all * (p / 100.0).clamp(0.0, 1.0);
        let mut seen = 0.0;
        for (value, weight) in self.weights(timeout) {
            seen += weight;
            if seen >= rank {
                return Some(value);
            }
        }
        self.max()
    }

    /// Returns the mean over time, with the weights of [`Histogram::percentile_of_time`]. `None` without a value above 0.
    ///
    /// If no value exceeds `timeout`, this is the sum of the squares over the sum of the values, computed as
    /// mean (1 + cv^2). The mean does not depend on bins, so the result is more accurate than a sum over bins.
    pub(crate) fn mean_of_time(&self, timeout: Duration) -> Option<Duration> {
        if self.max <= timeout.0 {
            let mean = self.mean()?.0 as f64;
            let cv = self.variation()?;
            return Some(Duration((mean * (1.0 + cv * cv) + 0.5) as u64));
        }
        let (mut all, mut sum) = (0.0, 0.0);
        for (value, weight) in self.weights(timeout) {
            (all, sum) = (all + weight, sum + weight * value.0 as f64);
        }
        (all > 0.0).then(|| Duration((sum / all + 0.5) as u64))
    }

    /// Returns the middle of each non-empty bin, and the sum of the weights of its values.
    fn weights(&self, timeout: Duration) -> impl Iterator<Item = (Duration, f64)> + '_ {
        self.bins().map(move |(low, high, n)| {
            let middle = self.middle(low, high);
            (middle, n as f64 * middle.min(timeout).0 as f64)
        })
    }

    /// Returns a lower bound on the share of values that are at most `limit` (below 2^42 ns): the share of the values in
    /// bins that lie entirely at or below `limit`. Returns 1 if no value exceeds `limit`, and 0 without values.
    pub(crate) fn share_at_most(&self, limit: Duration) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        if limit.0 >= self.max {
            return 1.0;
        }
        let n: u64 = self.bins().take_while(|(_, high, _)| high.0 - 1 <= limit.0).map(|(.., n)| n).sum();
        n as f64 / self.count as f64
    }

    /// Returns the non-empty bins in ascending order: lower edge, upper edge (exclusive) and number of values.
    pub(crate) fn bins<'a>(&'a self) -> impl Iterator<Item = (Duration, Duration, u64)> + 'a {
        self.filled()
            .flat_map(|(first, page)| page.iter().enumerate().map(move |(i, &n)| (first + i, n)))
            .filter(|(_, n)| *n > 0)
            .map(|(i, n)| (Duration(edge(i)), Duration(edge(i + 1)), n))
    }

    /// Returns the pages that hold values, each with the number of its first bin.
    fn filled(&self) -> impl Iterator<Item = (usize, &[u64; PAGE])> {
        self.pages.iter().enumerate().filter_map(|(number, page)| Some((number * PAGE, page.as_deref()?)))
    }

    /// Returns the middle of a bin, limited to [min, max].
    fn middle(&self, low: Duration, high: Duration) -> Duration {
        Duration((low.0 + (high.0 - low.0) / 2).clamp(self.min, self.max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rng;

    #[test]
    fn bins_tile_the_axis() {
        assert_eq!((BINS, BINS % PAGE), (1024 * 33, 0));
        assert_eq!((bin(0), bin(1), bin(1023), bin(1024), bin(2047)), (0, 1, 1023, 1024, 2047));
        assert_eq!((bin(2048), bin(2049), bin(2050), bin(4096)), (2048, 2048, 2049, 3072));
        for i in 0..BINS {
            let (low, high) = (edge(i), edge(i + 1));
            assert_eq!((bin(low), bin(high - 1)), (i, i), "bin {i}");
            assert!((high - low) * 1024 <= low.max(1024), "bin {i} is wider than 1/1024");
        }
        assert_eq!(edge(BINS), 1 << TOP);
        let mut h = Histogram::default();
        [1 << TOP, u64::MAX].into_iter().for_each(|ns| h.record(Duration(ns)));
        assert_eq!(h.bins().collect::<Vec<_>>(), [(Duration(edge(BINS - 1)), Duration(1 << TOP), 2)]);
        assert_eq!(h.max(), Some(Duration::MAX));
    }

    #[test]
    fn percentiles_agree_with_sorting() {
        // log-uniform values from 1 us to 1000 s, which cover every octave that is plausible for a delay
        let mut rng = Rng::named(3, "histogram");
        let mut h = Histogram::default();
        let mut all: Vec<u64> = (0..200_000).map(|_| units::math::pow(10.0, 3.0 + 9.0 * rng.unit()) as u64).collect();
        all.iter().for_each(|&v| h.record(Duration(v)));
        all.sort_unstable();
        for p in (0..=100).map(f64::from).chain([99.5, 99.9, 99.95, 99.99, 99.995]) {
            let exact = percentile_of(&all, p);
            let got = h.percentile(p).unwrap().0;
            assert!(got.abs_diff(exact) as f64 <= exact as f64 * 0.0005, "p{p}: {got} is not {exact}");
        }
        assert_eq!(h.percentile(100.0).unwrap().0, *all.last().unwrap());
        let sum: u64 = all.iter().sum();
        assert_eq!(h.mean().unwrap().0, (sum + 100_000) / 200_000);
        assert_eq!((h.min().unwrap().0, h.max().unwrap().0), (all[0], all[199_999]));
        // the expected coefficient of variation is computed from the values themselves, without bins
        let mean = sum as f64 / 200_000.0;
        let squares: f64 = all.iter().map(|&v| (v as f64 - mean) * (v as f64 - mean)).sum();
        assert!((h.variation().unwrap() - (squares / 200_000.0).sqrt() / mean).abs() < 0.001, "{:?}", h.variation());
        let share = h.share_at_most(Duration(1_000_000));
        let exact = all.partition_point(|&v| v <= 1_000_000) as f64 / 200_000.0;
        assert!(share <= exact && exact - share < 0.0002);
        let bins: Vec<_> = h.bins().collect();
        assert!(bins.is_sorted() && bins.iter().map(|(_, _, n)| n).sum::<u64>() == 200_000);
    }

    /// The coefficient of variation is within its bound, also where it is large. Either all values are the smallest of
    /// their bin, or all are the largest, so that errors do not cancel out.
    #[test]
    fn variation_is_within_its_bound() {
        let mut rng = Rng::named(5, "variation");
        let mut largest = 0.0;
        for rare in [0, 1, 10, 100, 1000, 5000] {
            for upper in [false, true] {
                let mut h = Histogram::default();
                let mut all = Vec::new();
                for i in 0..100_000 {
                    // most values are near 1 ms, some near 1 s. All are just above a power of two, where bins are widest in
                    // proportion to the values
                    let ns = (1 << if i < rare { 30 } else { 20 }) + rng.below(10_000);
                    let at = bin(ns);
                    all.push(if upper { edge(at + 1) - 1 } else { edge(at) });
                }
                all.iter().for_each(|&ns| h.record(Duration(ns)));
                let n = all.len() as f64;
                let mean = all.iter().sum::<u64>() as f64 / n;
                let squares: f64 = all.iter().map(|&v| (v as f64 - mean) * (v as f64 - mean)).sum();
                let exact = (squares / n).sqrt() / mean;
                let error = (h.variation().unwrap() - exact).abs();
                assert!(error <= (1.0 + exact * exact).sqrt() / 2048.0, "cv {exact}: {error} off");
                largest = f64::max(largest, error);
            }
        }
        assert!(largest > 0.001, "{largest}");
    }

    /// Close percentiles stay distinct. The 1000 values from 500 to 600 ms lie 0.1 ms apart; with bins of 1.6 %, at
    /// least 80 of them would share a bin.
    #[test]
    fn close_percentiles_differ() {
        let mut h = Histogram::default();
        (0..1000).for_each(|i| h.record(Duration::from_micros(500_000 + 100 * i)));
        let ms = |p| h.percentile(p).unwrap().millis();
        for (p, exact) in [(50.0, 549.9), (90.0, 589.9), (95.0, 594.9), (99.0, 598.9), (99.9, 599.8)] {
            assert!((ms(p) - exact).abs() < 0.0005 * exact, "p{p}: {} is not {exact}", ms(p));
        }
        assert!(ms(95.0) < ms(99.0) && ms(99.0) < ms(99.9));
    }

    #[test]
    fn memory_follows_the_values() {
        let mut h = Histogram::default();
        assert_eq!(h.bytes(), 0);
        // the octave takes 16 pages of 512 bytes. The list of pages has 192 pointers of 8 bytes, from bin 0 to the end
        // of the octave, and its capacity is at most twice its length
        (1 << 20..1 << 21).step_by(1000).for_each(|ns| h.record(Duration(ns)));
        assert!(h.bytes() <= 16 * 512 + 2 * 8 * 192, "{}", h.bytes());
        (0..BINS).for_each(|i| h.record(Duration(edge(i))));
        assert!(h.bytes() <= 8 * BINS + 2 * 8 * BINS / PAGE, "{}", h.bytes());
    }

    fn percentile_of(sorted: &[u64], p: f64) -> u64 {
        sorted[((p / 100.0 * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len()) - 1]
    }

    #[test]
    fn equal_values_have_that_percentile() {
        let mut h = Histogram::default();
        assert_eq!((h.percentile(50.0), h.mean(), h.min(), h.bins().count()), (None, None, None, 0));
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
    fn over_time_long_values_count_longer() {
        // there are nine values of 10 ms and one of 90 ms, so the long value is half of the total of 180 ms
        let mut h = Histogram::default();
        (0..9).for_each(|_| h.record(Duration::from_millis(10)));
        h.record(Duration::from_millis(90));
        let near = |d: Option<Duration>, ms: f64| (d.unwrap().millis() / ms - 1.0).abs() < 0.01;
        assert!(near(h.percentile(90.0), 10.0) && near(h.percentile_of_time(49.0, Duration::MAX), 10.0));
        assert!(near(h.percentile_of_time(52.0, Duration::MAX), 90.0));
        // the mean over time is (9 x 100 + 8100) / 180 = 50 ms; the mean of the values is 18 ms
        assert!(near(h.mean_of_time(Duration::MAX), 50.0) && near(h.mean(), 18.0));
        // if the next probe leaves after 30 ms, the long value takes up 30 of 120 ms, and the mean is (900 + 30 x 90) / 120
        let timeout = Duration::from_millis(30);
        assert!(near(h.percentile_of_time(74.0, timeout), 10.0) && near(h.percentile_of_time(76.0, timeout), 90.0));
        assert!(near(h.mean_of_time(timeout), 30.0));
        // each value is the lower edge of a bin. If values counted as the middles of their bins, the mean over time would be
        // 0.03 % larger
        h = Histogram::default();
        let values: Vec<u128> = (0..1024).map(|k| (1 << 29) + (k << 19)).collect();
        values.iter().for_each(|v| h.record(Duration(*v as u64)));
        let exact = values.iter().map(|v| v * v).sum::<u128>() as f64 / values.iter().sum::<u128>() as f64;
        assert!((h.mean_of_time(Duration::MAX).unwrap().0 as f64 / exact - 1.0).abs() < 1e-6);
        h = Histogram::default();
        assert_eq!((h.percentile_of_time(50.0, timeout), h.mean_of_time(timeout)), (None, None));
    }
}
