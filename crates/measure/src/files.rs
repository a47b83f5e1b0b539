//! Transfer times of files.

use crate::Histogram;
use crate::percentile::Sorted;
use units::{Duration, Time};

/// Maximum number of files of one application that are stored individually.
const KEPT: usize = 65_536;

/// A complete file (or message).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileDone {
    /// Start of the transfer.
    pub started: Time,
    /// Duration of the transfer.
    pub took: Duration,
    /// Payload in bytes.
    pub bytes: u64,
}

/// The files of one application.
///
/// The first 65 536 files of the run are stored individually. Statistics cover the files that ended after the warm-up.
/// Mean and maximum are exact. The other statistics are exact if all of these files are stored; otherwise they are
/// computed from a [`Histogram`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    warm_up: Time,
    kept: Vec<FileDone>,
    /// Times of all files that ended after the warm-up.
    all: Histogram,
}

/// Transfer times, from which statistics are computed. All statistics are `None` if no file ended.
pub(crate) enum FileTimes<'a> {
    /// Every time is stored, so statistics are exact.
    Exact(Sorted),
    /// Times are counted in bins, so median and percentiles are accurate to a bin.
    Binned(&'a Histogram),
}

impl FileTimes<'_> {
    /// Returns true if median and percentiles are exact.
    pub(crate) fn exact(&self) -> bool {
        matches!(self, Self::Exact(_))
    }

    /// Returns the median. For an even number of exact times, this is the mean of the middle two.
    pub(crate) fn median(&self) -> Option<Duration> {
        match self {
            Self::Exact(times) => times.median(),
            Self::Binned(all) => all.percentile(50.0),
        }
    }

    /// Returns a percentile (nearest rank).
    pub(crate) fn percentile(&self, p: f64) -> Option<Duration> {
        match self {
            Self::Exact(times) => times.percentile(p),
            Self::Binned(all) => all.percentile(p),
        }
    }

    pub(crate) fn variation(&self) -> Option<f64> {
        match self {
            Self::Exact(times) => times.variation(),
            Self::Binned(all) => all.variation(),
        }
    }
}

impl Files {
    /// Creates an empty list. The statistics will exclude files that end before `warm_up`.
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

    /// Returns true if the file ended after the warm-up.
    fn counts(&self, file: &FileDone) -> bool {
        file.started + file.took >= self.warm_up
    }

    /// Returns the stored files, in the order in which they ended.
    pub(crate) fn kept(&self) -> &[FileDone] {
        &self.kept
    }

    /// Returns the histogram of the times of all files that ended after the warm-up.
    pub(crate) fn all(&self) -> &Histogram {
        &self.all
    }

    /// Returns the times of all files that ended after the warm-up. They are exact if all of these
    /// files are stored.
    pub(crate) fn times(&self) -> FileTimes<'_> {
        let kept = Sorted::new(self.kept.iter().filter(|f| self.counts(f)).map(|f| f.took));
        if kept.count() == self.all.count() { FileTimes::Exact(kept) } else { FileTimes::Binned(&self.all) }
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
        // The times are 1001, 1003, ... 1199 ms. All are stored, so percentiles are exact. A histogram would give the middle of
        // a bin instead, and its bins are 0.5 or 1 ms wide.
        (0..100).for_each(|i| files.done(file(2000 + i, 1001 + 2 * i)));
        let (all, times) = (files.all(), files.times());
        let ms = |d: Option<Duration>| d.unwrap().millis();
        assert_eq!((all.count(), times.exact(), ms(all.mean()), ms(times.median())), (100, true, 1100.0, 1100.0));
        assert_eq!([95.0, 99.0, 99.9].map(|p| ms(times.percentile(p))), [1189.0, 1197.0, 1199.0]);
        assert_eq!(ms(all.max()), 1199.0);
        // n values that are d apart have a variance of d^2 (n^2 - 1) / 12: 3333 ms^2 for n = 100 and d = 2 ms
        assert!((times.variation().unwrap() - 3333.0_f64.sqrt() / 1100.0).abs() < 1e-12);
        let empty = Files::default();
        assert_eq!((empty.times().exact(), empty.times().median(), empty.all().mean()), (true, None, None));
    }

    #[test]
    fn files_that_ended_in_the_warm_up_do_not_count() {
        let mut files = Files::new(Time(1_000_000_000));
        [(999, 5), (1000, 900), (1001, 1)].into_iter().for_each(|(ended, took)| files.done(file(ended, took)));
        let all = files.all();
        assert_eq!((all.count(), all.max(), files.kept().len()), (2, Some(Duration::from_millis(900)), 3));
    }

    #[test]
    fn memory_is_bounded() {
        let mut files = Files::default();
        (0..70_000).for_each(|i| files.done(file(1000 + i, 1 + i / 1000)));
        let times = files.times();
        assert_eq!((files.all().count(), times.exact(), files.kept().len()), (70_000, false, KEPT));
        // the two middle times are 35 and 36 ms. The histogram gives 35 ms, the time of the nearest rank, to within 0.05 %
        assert!(times.median().unwrap().0.abs_diff(35_500_000) < 800_000, "{:?}", times.median());
    }
}
