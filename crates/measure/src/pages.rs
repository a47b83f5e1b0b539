//! Page load times.

use crate::percentile::Sorted;
use units::{Duration, Time};

/// Maximum number of page loads stored one by one.
const KEPT: usize = 65_536;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageLoad {
    /// Start of the page load (see `WebParams::measure_from`).
    pub started: Time,
    /// The page's load time.
    pub took: Duration,
}

/// The page loads of one user.
///
/// The first 65 536 loads are stored, enough for 91 hours with the 5 s pauses of CableLabs 2012. Later loads are only
/// counted, so statistics of load times do not include them. Counts and statistics cover the loads that ended after the
/// warm-up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageLoads {
    warm_up: Time,
    kept: Vec<PageLoad>,
    count: u64,
    abandoned: u64,
}

impl PageLoads {
    /// Creates an empty list, whose statistics begin at `warm_up`.
    pub(crate) fn new(warm_up: Time) -> Self {
        Self { warm_up, ..Self::default() }
    }

    /// Records a page load that began at `started` and was complete at `ended`.
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

    /// Returns the stored page loads, in the order in which they were recorded.
    pub(crate) fn kept(&self) -> &[PageLoad] {
        &self.kept
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the number of pages that were abandoned before all their objects arrived. The other counts and
    /// statistics do not include these pages.
    pub(crate) fn abandoned_count(&self) -> u64 {
        self.abandoned
    }

    /// Returns the stored load times of pages loaded after the warm-up.
    pub(crate) fn times(&self) -> Sorted {
        Sorted::new(self.kept.iter().filter(|p| p.started + p.took >= self.warm_up).map(|p| p.took))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_of_five_pages() {
        let mut p = PageLoads::default();
        assert_eq!((p.times().median(), p.times().mean(), p.times().percentile(100.0)), (None, None, None));
        for (i, ms) in [2756, 2754, 9000, 2758, 2760].into_iter().enumerate() {
            let start = Time(i as u64 * 10_000_000_000);
            p.loaded(start, start + Duration::from_millis(ms));
        }
        p.abandoned(Time(1));
        let ms = |d: Option<Duration>| d.unwrap().0 / 1_000_000;
        let times = p.times();
        // the sorted times are 2754, 2756, 2758, 2760 and 9000, and their median is 2758. The distances from the median are 4,
        // 2, 0, 2 and 6242, so the median distance is 2
        assert_eq!((p.count(), p.abandoned_count(), ms(times.median()), ms(times.mad())), (5, 1, 2758, 2));
        assert_eq!([0.0, 95.0, 99.0, 99.9, 100.0].map(|p| ms(times.percentile(p))), [2754, 9000, 9000, 9000, 9000]);
        assert_eq!(ms(times.mean()), 4005);
        assert_eq!(p.kept()[2], PageLoad { started: Time(20_000_000_000), took: Duration::from_secs(9) });
    }

    #[test]
    fn memory_is_bounded() {
        let mut p = PageLoads::default();
        (0..70_000).for_each(|i| p.loaded(Time(i), Time(i + 5)));
        assert_eq!((p.count(), p.kept().len()), (70_000, KEPT));
    }
}
