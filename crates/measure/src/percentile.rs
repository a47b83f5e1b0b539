//! Percentiles, medians and deviations of stored values.

use units::Duration;

/// Returns the nearest rank of percentile `p` among `n` values: the smallest r in 1..=n with r >= p/100 n.
///
/// If p/100 n exceeds a whole number only by a rounding error, it counts as this number. So the 99.9th percentile of
/// 1000 values is the 999th value, not the 1000th.
pub(crate) fn rank(p: f64, n: u64) -> u64 {
    let exact = p.clamp(0.0, 100.0) * n as f64 / 100.0;
    ((exact - exact * 1e-12).ceil() as u64).clamp(1, n.max(1))
}

/// Returns percentile `p` by the nearest-rank method: the smallest value of `sorted` such that at least `p` percent of
/// the values do not exceed it. Returns `None` if there are no values. `p` is clamped to [0, 100].
fn percentile<T: Copy>(sorted: &[T], p: f64) -> Option<T> {
    sorted.get(rank(p, sorted.len() as u64) as usize - 1).copied()
}

/// Returns the median: the middle value, or the mean of the two middle values, rounded down; `None` without values.
pub(crate) fn median(values: &[u64]) -> Option<u64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let n = sorted.len();
    match (n, n % 2) {
        (0, _) => None,
        (_, 1) => Some(sorted[n / 2]),
        _ => Some(sorted[n / 2 - 1].midpoint(sorted[n / 2])),
    }
}

/// Returns the median of the distances from the median, without scaling; `None` without values.
fn median_absolute_deviation(values: &[u64]) -> Option<u64> {
    let m = median(values)?;
    median(&values.iter().map(|v| v.abs_diff(m)).collect::<Vec<_>>())
}

/// Returns the coefficient of variation: the standard deviation (with divisor n) divided by the mean. Returns `None` if
/// there are no values or their mean is 0.
///
/// For the rates of n flows, this is equivalent to Jain's index J: J = 1 / (1 + cv^2).
pub(crate) fn variation(values: &[u64]) -> Option<f64> {
    let n = values.len() as f64;
    let mean = values.iter().map(|&v| u128::from(v)).sum::<u128>() as f64 / n;
    let squares: f64 = values.iter().map(|&v| (v as f64 - mean) * (v as f64 - mean)).sum();
    (mean > 0.0).then(|| (squares / n).sqrt() / mean)
}

/// Durations in ascending order. All statistics are `None` if there are no durations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sorted(Vec<u64>);

impl Sorted {
    pub(crate) fn new(durations: impl Iterator<Item = Duration>) -> Self {
        let mut ns: Vec<u64> = durations.map(|d| d.0).collect();
        ns.sort_unstable();
        Self(ns)
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// Returns the mean, rounded down.
    pub(crate) fn mean(&self) -> Option<Duration> {
        let sum: u128 = self.0.iter().map(|&v| u128::from(v)).sum();
        sum.checked_div(self.0.len() as u128).map(|mean| Duration(mean as u64))
    }

    /// Returns the median; for an even number of durations, the mean of the middle two.
    pub(crate) fn median(&self) -> Option<Duration> {
        median(&self.0).map(Duration)
    }

    /// Returns the median absolute deviation from the median, unscaled, as CableLabs 2012 prints it.
    pub(crate) fn mad(&self) -> Option<Duration> {
        median_absolute_deviation(&self.0).map(Duration)
    }

    /// Returns a percentile (nearest rank).
    pub(crate) fn percentile(&self, p: f64) -> Option<Duration> {
        percentile(&self.0, p).map(Duration)
    }

    pub(crate) fn variation(&self) -> Option<f64> {
        variation(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks() {
        let v: Vec<u32> = (1..=1000).collect();
        assert_eq!(percentile(&v, 50.0), Some(500));
        assert_eq!(percentile(&v, 99.9), Some(999));
        assert_eq!(percentile(&v, 99.91), Some(1000));
        assert_eq!(
            (percentile(&v, 0.0), percentile(&v, 100.0), percentile(&v, 250.0)),
            (Some(1), Some(1000), Some(1000))
        );
        assert_eq!(percentile::<u32>(&[], 50.0), None);
        assert_eq!(percentile(&[7], 99.0), Some(7));
    }

    #[test]
    fn variations() {
        // A textbook example: the mean is 5. The squared deviations 9, 1, 1, 1, 0, 0, 4 and 16 add up to 32, so the standard
        // deviation is sqrt(32 / 8) = 2.
        assert_eq!(variation(&[2, 4, 4, 4, 5, 5, 7, 9]), Some(0.4));
        assert_eq!((variation(&[3, 3]), variation(&[0, 0]), variation(&[])), (Some(0.0), None, None));
    }

    #[test]
    fn medians() {
        assert_eq!(
            (median(&[]), median(&[5]), median(&[9, 1, 5]), median(&[4, 1, 9, 6])),
            (None, Some(5), Some(5), Some(5))
        );
        assert_eq!(median(&[u64::MAX, u64::MAX]), Some(u64::MAX));
        // A textbook example: the values 1, 1, 2, 2, 4, 6 and 9 have a median of 2. Their distances from 2, which are
        // 1, 1, 0, 0, 2, 4 and 7, have a median of 1.
        assert_eq!(median_absolute_deviation(&[1, 1, 2, 2, 4, 6, 9]), Some(1));
        assert_eq!(median_absolute_deviation(&[]), None);
    }
}
