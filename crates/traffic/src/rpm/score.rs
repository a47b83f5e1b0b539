//! Round trips per minute computed from the times of probes, and the test for stability.
//!
//! ```text
//!   TM(x)    mean of the samples up to percentile `trim` (nearest rank; 95 by default); larger samples are discarded
//!   foreign  60000 / ((TM(tcp) + TM(tls) + TM(http_f)) / 3)      without TLS  60000 / ((TM(tcp) + TM(http_f)) / 2)
//!   loaded   60000 / TM(http_l)
//!   RPM      (foreign + loaded) / 2                              times in ms
//!   stable   the standard deviation of the last MAD values is below SDT times the newest value
//! ```
//!
//! Source: draft-ietf-ippm-responsiveness §5.3.1, §5.4. The standard deviation divides by n (population); the draft does not
//! specify the divisor.

use std::collections::VecDeque;
use units::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sample {
    /// TCP handshake: from the SYN to the SYN-ACK, at the client.
    Tcp,
    /// TLS handshake, which takes one round trip.
    Tls,
    /// From the GET to the last byte of its response, on the probe's connection.
    HttpForeign,
    /// From the GET to the last byte of its response, on a load-generating connection.
    HttpLoaded,
}

/// Samples of one interval, indexed by [`Sample`].
type Interval = [Vec<Duration>; 4];

/// The samples of the last `most` intervals, newest interval last.   Bound: `most` is `moving_average` (MAD). An
/// interval holds at most `probes_per_second` x `interval` (MPS x ID) samples of each kind, plus those of earlier
/// probes that are answered in this interval.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RecentSamples {
    intervals: VecDeque<Interval>,
    most: usize,
}

/// The score computed from recent samples. A value is NaN if there are no samples for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Score {
    /// Trimmed means in ms, indexed by [`Sample`].
    pub tm: [f64; 4],
    /// Round trips per minute on new connections.
    pub foreign: f64,
    /// Round trips per minute on load-generating connections.
    pub loaded: f64,
    /// Mean of `foreign` and `loaded`.
    pub rpm: f64,
}

impl RecentSamples {
    /// Returns an empty list, which keeps the samples of the last `most` intervals and drops older ones.
    pub(super) fn new(most: u32) -> Self {
        Self { intervals: VecDeque::from([Interval::default()]), most: most as usize }
    }

    /// Records the duration of a probe's step.
    pub(super) fn record(&mut self, kind: Sample, time: Duration) {
        if let Some(newest) = self.intervals.back_mut() {
            newest[kind as usize].push(time);
        }
    }

    /// Begins the next interval.
    pub(super) fn next(&mut self) {
        self.intervals.push_back(Interval::default());
        if self.intervals.len() > self.most {
            self.intervals.pop_front();
        }
    }

    /// Returns the number of samples of one kind.
    pub(super) fn count(&self, kind: Sample) -> usize {
        self.intervals.iter().map(|i| i[kind as usize].len()).sum()
    }

    /// Returns the score of all recent samples.
    pub(super) fn score(&self, trim: f64, tls: bool) -> Score {
        let tm = [Sample::Tcp, Sample::Tls, Sample::HttpForeign, Sample::HttpLoaded].map(|kind| {
            let mut samples: Vec<Duration> =
                self.intervals.iter().flat_map(|i| i[kind as usize].iter().copied()).collect();
            trimmed_mean(&mut samples, trim)
        });
        Score::of(tm, tls)
    }
}

impl Score {
    /// Computes the score from trimmed means in ms.
    pub(super) fn of(tm: [f64; 4], tls: bool) -> Self {
        let [tcp, handshake, http, own] = tm;
        let foreign = if tls { 60_000.0 / ((tcp + handshake + http) / 3.0) } else { 60_000.0 / ((tcp + http) / 2.0) };
        let loaded = 60_000.0 / own;
        Self { tm, foreign, loaded, rpm: (foreign + loaded) / 2.0 }
    }
}

/// Returns the mean in ms of the samples up to percentile `trim` (nearest rank), or NaN if there are no samples.
pub(super) fn trimmed_mean(samples: &mut [Duration], trim: f64) -> f64 {
    samples.sort_unstable();
    let exact = trim * samples.len() as f64 / 100.0;
    // if `exact` should be a whole number, a rounding error may have made it slightly too large, and `ceil` would give
    // the next whole number. The small reduction prevents this
    let kept = ((exact - exact * 1e-12).ceil() as usize).clamp(1.min(samples.len()), samples.len());
    let sum: f64 = samples[..kept].iter().map(|d| d.millis()).sum();
    sum / kept as f64
}

/// Returns true if there are at least `mad` values (the draft's MAD, a number of intervals), and the standard deviation
/// of the last `mad` values is below `tolerance` times the newest value.
pub(super) fn is_stable(values: &[f64], mad: u32, tolerance: f64) -> bool {
    let Some(last) = values.len().checked_sub(mad as usize).map(|from| &values[from..]) else { return false };
    let n = last.len() as f64;
    let mean = last.iter().sum::<f64>() / n;
    let variance = last.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
    last.last().is_some_and(|newest| variance.sqrt() < tolerance * newest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(values: &[u64]) -> Vec<Duration> {
        values.iter().map(|v| Duration::from_millis(*v)).collect()
    }

    #[test]
    fn the_mean_is_of_rates_not_of_delays() {
        // steps of 100, 100, 100 and 200 ms give 60000/100 = 600 and 60000/200 = 300 round trips per minute. RPM is the
        // mean of these two rates, 450, not the rate for the mean of 100 and 200 ms, which is 60000/150 = 400
        let s = Score::of([100.0, 100.0, 100.0, 200.0], true);
        assert_eq!((s.foreign, s.loaded, s.rpm), (600.0, 300.0, 450.0));
        // unequal steps: (50 + 70 + 120)/3 = 80 ms gives 750 per minute. Without TLS, (50 + 120)/2 = 85 ms gives 705.88 per minute
        assert_eq!(Score::of([50.0, 70.0, 120.0, 80.0], true).rpm, 750.0);
        let plain = Score::of([50.0, f64::NAN, 120.0, 80.0], false);
        assert!((plain.foreign - 60_000.0 / 85.0).abs() < 1e-9);
        // every step takes 100 ms: a base round trip of 20 ms and 80 ms of queueing delay
        assert_eq!(Score::of([100.0; 4], true).rpm, 600.0);
    }

    #[test]
    fn the_largest_samples_are_cut_off() {
        // the 95th percentile of 20 samples is the 19th sample, so one sample is discarded
        let mut twenty = ms(&[10; 19]);
        twenty.push(Duration::from_secs(9));
        assert_eq!(trimmed_mean(&mut twenty, 95.0), 10.0);
        // the 95th percentile of ten samples is the tenth sample, so all are kept
        assert_eq!(trimmed_mean(&mut ms(&[10, 10, 10, 10, 10, 10, 10, 10, 10, 110]), 95.0), 20.0);
        assert_eq!(trimmed_mean(&mut ms(&[30, 10, 20]), 100.0), 20.0);
        assert_eq!(trimmed_mean(&mut ms(&[30, 10, 20]), 34.0), 15.0);
        assert!(trimmed_mean(&mut [], 95.0).is_nan());
    }

    #[test]
    fn only_the_last_intervals_count() {
        let mut w = RecentSamples::new(2);
        for time in [900, 100, 100] {
            w.record(Sample::HttpLoaded, Duration::from_millis(time));
            w.next();
        }
        // three intervals have ended and the fourth has begun; the samples of the third and the fourth are kept
        assert_eq!((w.count(Sample::HttpLoaded), w.score(95.0, true).tm[3]), (1, 100.0));
        assert!(w.score(95.0, true).rpm.is_nan(), "no foreign probe has answered");
    }

    #[test]
    fn stable_is_a_small_deviation_of_the_last_values() {
        // 100, 100, 100, 104 have a mean of 101 and a deviation of sqrt((3 x 1 + 9)/4) = 1.73, less than 5 % of 104 = 5.2
        assert!(is_stable(&[1.0, 100.0, 100.0, 100.0, 104.0], 4, 0.05));
        assert!(!is_stable(&[1.0, 100.0, 100.0, 104.0], 4, 0.05));
        assert!(!is_stable(&[100.0, 100.0, 100.0], 4, 0.05), "too few");
        assert!(!is_stable(&[f64::NAN, 100.0, 100.0, 100.0], 4, 0.05));
        assert!(!is_stable(&[0.0; 4], 4, 0.05), "nothing has arrived");
    }
}
