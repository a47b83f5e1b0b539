//! Times of files.

use crate::Histogram;
use crate::percentile::{median, percentile, variation};
use units::{Duration, Time};

/// Most files of one application that are stored one by one.
const KEPT: usize = 65_536;

/// A complete file (or message).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileDone {
    /// Its start.
    pub started: Time,
    /// Time it took.
    pub took: Duration,
    /// Its payload.
    pub bytes: u64,
}

/// The files of one application.
///
/// The first 65 536 of the run are stored. Statistics cover those that ended after the warm-up: exact while all of them are
/// stored, and from a [`Histogram`] once there are more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    warm_up: Time,
    kept: Vec<FileDone>,
    /// Times of all files that ended after the warm-up, in ns.
    all: Histogram,
}

/// Statistics of file times; all `None` if no file ended.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct FileSummary {
    /// Files that ended.
    pub count: u64,
    /// Median and percentiles are exact; otherwise they are accurate to a bin of the histogram.
    pub exact: bool,
    /// Mean time, exact.
    pub mean: Option<Duration>,
    /// Median (of an even number: the mean of the middle two).
    pub median: Option<Duration>,
    /// 95th percentile (nearest rank).
    pub p95: Option<Duration>,
    /// 99th percentile (nearest rank).
    pub p99: Option<Duration>,
    /// 99.9th percentile (nearest rank).
    pub p99_9: Option<Duration>,
    /// Longest, exact.
    pub max: Option<Duration>,
    /// Coefficient of variation.
    pub cv: Option<f64>,
}

impl Files {
    /// Starts empty; statistics begin at `warm_up`.
    pub(crate) fn new(warm_up: Time) -> Self {
        Self { warm_up, ..Self::default() }
    }

    /// Records a complete file.
    pub(crate) fn done(&mut self, file: FileDone) {
        if self.counts(&file) {
            self.all.record(file.took);
        }
        if self.kept.len() < KEPT {
            self.kept.push(file);
        }
    }

    fn counts(&self, file: &FileDone) -> bool {
        file.started + file.took >= self.warm_up
    }

    /// The stored files, in the order in which they ended.
    pub(crate) fn kept(&self) -> &[FileDone] {
        &self.kept
    }

    /// The statistics.
    pub(crate) fn summary(&self) -> FileSummary {
        let mut ns: Vec<u64> = self.kept.iter().filter(|f| self.counts(f)).map(|f| f.took.0).collect();
        ns.sort_unstable();
        let exact = ns.len() as u64 == self.all.count();
        let at = |p| if exact { percentile(&ns, p).map(Duration) } else { self.all.percentile(p) };
        FileSummary {
            count: self.all.count(),
            exact,
            mean: self.all.mean(),
            median: if exact { median(&ns).map(Duration) } else { self.all.percentile(50.0) },
            p95: at(95.0),
            p99: at(99.0),
            p99_9: at(99.9),
            max: self.all.max(),
            cv: if exact { variation(&ns) } else { self.all.variation() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(ended_ms: u64, took_ms: u64) -> FileDone {
        FileDone { started: Time((ended_ms - took_ms) * 1_000_000), took: Duration::from_millis(took_ms), bytes: 1 }
    }

    #[test]
    fn percentiles_are_those_of_the_values() {
        let mut files = Files::default();
        // 1001, 1003, ... 1199 ms: each bin of the histogram is 16 ms wide there and holds eight
        (0..100).for_each(|i| files.done(file(2000 + i, 1001 + 2 * i)));
        let s = files.summary();
        let ms = |d: Option<Duration>| d.unwrap().millis();
        assert_eq!((s.count, s.exact, ms(s.mean), ms(s.median)), (100, true, 1100.0, 1100.0));
        assert_eq!((ms(s.p95), ms(s.p99), ms(s.p99_9), ms(s.max)), (1189.0, 1197.0, 1199.0, 1199.0));
        // of n values a step d apart the variance is d^2 (n^2 - 1) / 12: 3333 ms^2
        assert!((s.cv.unwrap() - 3333.0_f64.sqrt() / 1100.0).abs() < 1e-12);
        assert_eq!(Files::default().summary(), FileSummary { exact: true, ..FileSummary::default() });
    }

    #[test]
    fn the_warm_up_leaves_out_what_ended_in_it() {
        let mut files = Files::new(Time(1_000_000_000));
        [(999, 5), (1000, 900), (1001, 1)].into_iter().for_each(|(ended, took)| files.done(file(ended, took)));
        let s = files.summary();
        assert_eq!((s.count, s.max, files.kept().len()), (2, Some(Duration::from_millis(900)), 3));
    }

    #[test]
    fn memory_is_bounded() {
        let mut files = Files::default();
        (0..70_000).for_each(|i| files.done(file(1000 + i, 1 + i / 1000)));
        let s = files.summary();
        assert_eq!((s.count, s.exact, files.kept().len()), (70_000, false, KEPT));
        // 35.5 ms, within half a bin of 1/64
        assert!(s.median.unwrap().0.abs_diff(35_500_000) < 800_000, "{:?}", s.median);
    }
}
