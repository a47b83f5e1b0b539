//! Page load times.

use crate::percentile::{median, median_absolute_deviation, percentile, variation};
use units::{Duration, Time};

/// Most page loads that are stored one by one.
const KEPT: usize = 65_536;

/// One loaded page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageLoad {
    /// Time of the request.
    pub started: Time,
    /// How long it took.
    pub took: Duration,
}

/// The page loads of one user.
///
/// The first 65 536 are stored (at the 5 s pause of CableLabs 2012, 91 hours); later ones are only counted, and the median and
/// the deviation are those of the stored loads. Statistics cover the loads that ended after the warm-up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageLoads {
    warm_up: Time,
    kept: Vec<PageLoad>,
    count: u64,
    abandoned: u64,
}

/// Statistics of page loads; all `None` if no page was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct PageSummary {
    /// Pages loaded.
    pub count: u64,
    /// Pages abandoned with objects missing; not included in any other number.
    pub abandoned: u64,
    /// Median load time (of an even number: the mean of the middle two).
    pub median: Option<Duration>,
    /// Median absolute deviation from the median, unscaled, as CableLabs 2012 prints it.
    pub mad: Option<Duration>,
    /// Mean load time.
    pub mean: Option<Duration>,
    /// 95th percentile (nearest rank).
    pub p95: Option<Duration>,
    /// 99th percentile (nearest rank).
    pub p99: Option<Duration>,
    /// 99.9th percentile (nearest rank).
    pub p99_9: Option<Duration>,
    /// Coefficient of variation.
    pub cv: Option<f64>,
    /// Shortest.
    pub min: Option<Duration>,
    /// Longest.
    pub max: Option<Duration>,
}

impl PageLoads {
    /// Starts empty; statistics begin at `warm_up`.
    pub(crate) fn new(warm_up: Time) -> Self {
        Self { warm_up, ..Self::default() }
    }

    /// Records a page requested at `started` and complete at `ended`.
    pub(crate) fn loaded(&mut self, started: Time, ended: Time) {
        self.count += u64::from(ended >= self.warm_up);
        if self.kept.len() < KEPT {
            self.kept.push(PageLoad { started, took: ended.since(started) });
        }
    }

    /// Counts a page abandoned with objects missing.
    pub(crate) fn abandoned(&mut self, now: Time) {
        self.abandoned += u64::from(now >= self.warm_up);
    }

    /// The stored loads, in order.
    pub(crate) fn kept(&self) -> &[PageLoad] {
        &self.kept
    }

    /// The statistics.
    pub(crate) fn summary(&self) -> PageSummary {
        let mut ns: Vec<u64> =
            self.kept.iter().filter(|p| p.started + p.took >= self.warm_up).map(|p| p.took.0).collect();
        ns.sort_unstable();
        let n = ns.len() as u128;
        let sum: u128 = ns.iter().map(|&v| u128::from(v)).sum();
        PageSummary {
            count: self.count,
            abandoned: self.abandoned,
            median: median(&ns).map(Duration),
            mad: median_absolute_deviation(&ns).map(Duration),
            mean: (n > 0).then(|| Duration((sum / n.max(1)) as u64)),
            p95: percentile(&ns, 95.0).map(Duration),
            p99: percentile(&ns, 99.0).map(Duration),
            p99_9: percentile(&ns, 99.9).map(Duration),
            cv: variation(&ns),
            min: ns.first().copied().map(Duration),
            max: ns.last().copied().map(Duration),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_of_five_pages() {
        let mut p = PageLoads::default();
        assert_eq!(p.summary(), PageSummary::default());
        for (i, ms) in [2756, 2754, 9000, 2758, 2760].into_iter().enumerate() {
            let start = Time(i as u64 * 10_000_000_000);
            p.loaded(start, start + Duration::from_millis(ms));
        }
        p.abandoned(Time(1));
        let ms = |d: Option<Duration>| d.unwrap().0 / 1_000_000;
        let s = p.summary();
        // sorted 2754 2756 2758 2760 9000; distances 4 2 0 2 6242, sorted 0 2 2 4 6242
        assert_eq!((s.count, s.abandoned, ms(s.median), ms(s.mad), ms(s.min), ms(s.max)), (5, 1, 2758, 2, 2754, 9000));
        assert_eq!((ms(s.mean), ms(s.p95), ms(s.p99), ms(s.p99_9)), (4005, 9000, 9000, 9000));
        assert_eq!(p.kept()[2], PageLoad { started: Time(20_000_000_000), took: Duration::from_secs(9) });
    }

    #[test]
    fn memory_is_bounded() {
        let mut p = PageLoads::default();
        (0..70_000).for_each(|i| p.loaded(Time(i), Time(i + 5)));
        assert_eq!((p.summary().count, p.kept().len()), (70_000, KEPT));
    }
}
