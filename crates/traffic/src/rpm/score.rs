//! From the times of probes to a number of round trips per minute, and whether it has settled.
//!
//! ```text
//!   TM(x)    mean of the samples up to their 95th percentile (nearest rank): the largest are cut off
//!   foreign  60000 / ((TM(tcp) + TM(tls) + TM(http_f)) / 3)      without TLS  60000 / ((TM(tcp) + TM(http_f)) / 2)
//!   loaded   60000 / TM(http_l)
//!   RPM      (foreign + loaded) / 2                              times in ms
//!   stable   the standard deviation of the last MAD values is below SDT of the newest
//! ```
//!
//! Source: draft-ietf-ippm-responsiveness §5.3.1, §5.4. The deviation is that of all values (over n); the draft does not say.

use std::collections::VecDeque;
use units::Duration;

/// The four times of probes, in the order of [`Window`]: TCP handshake, TLS handshake by round trip, HTTP on the new
/// connection, HTTP on a load-generating one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// SYN to SYN-ACK, seen by the client.
    Tcp,
    /// The handshake of TLS, divided by its round trips.
    Tls,
    /// GET to the last byte of its answer, on the probe's own connection.
    HttpForeign,
    /// The same on a load-generating connection.
    HttpLoaded,
}

/// Samples of one interval, by [`Step`].
type Interval = [Vec<Duration>; 4];

/// The samples of the last intervals, the newest last. Bound: MAD intervals of at most MPS x ID samples of each kind.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Window {
    intervals: VecDeque<Interval>,
    most: usize,
}

/// What a window comes to. NaN for what has no sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Score {
    /// Trimmed means, ms, by [`Step`].
    pub tm: [f64; 4],
    /// Round trips per minute on connections of their own.
    pub foreign: f64,
    /// Round trips per minute on loaded connections.
    pub loaded: f64,
    /// Their mean.
    pub rpm: f64,
}

impl Window {
    /// Of `most` intervals.
    pub(super) fn new(most: u32) -> Self {
        Self { intervals: VecDeque::from([Interval::default()]), most: most as usize }
    }

    /// A probe's step took `time`.
    pub(super) fn record(&mut self, step: Step, time: Duration) {
        if let Some(newest) = self.intervals.back_mut() {
            newest[step as usize].push(time);
        }
    }

    /// An interval is over.
    pub(super) fn next(&mut self) {
        self.intervals.push_back(Interval::default());
        if self.intervals.len() > self.most {
            self.intervals.pop_front();
        }
    }

    /// Samples of a step.
    pub(super) fn count(&self, step: Step) -> usize {
        self.intervals.iter().map(|i| i[step as usize].len()).sum()
    }

    /// The score of what the window holds.
    pub(super) fn score(&self, trim: f64, tls: bool) -> Score {
        let tm = [Step::Tcp, Step::Tls, Step::HttpForeign, Step::HttpLoaded].map(|step| {
            let mut samples: Vec<Duration> =
                self.intervals.iter().flat_map(|i| i[step as usize].iter().copied()).collect();
            trimmed_mean(&mut samples, trim)
        });
        Score::of(tm, tls)
    }
}

impl Score {
    /// Of trimmed means in ms.
    pub(super) fn of(tm: [f64; 4], tls: bool) -> Self {
        let [tcp, handshake, http, own] = tm;
        let foreign = if tls { 60_000.0 / ((tcp + handshake + http) / 3.0) } else { 60_000.0 / ((tcp + http) / 2.0) };
        let loaded = 60_000.0 / own;
        Self { tm, foreign, loaded, rpm: (foreign + loaded) / 2.0 }
    }
}

/// The mean, in ms, of the samples up to percentile `trim` (nearest rank); NaN for none.
pub(super) fn trimmed_mean(samples: &mut [Duration], trim: f64) -> f64 {
    samples.sort_unstable();
    let exact = trim * samples.len() as f64 / 100.0;
    // a rank that is whole up to rounding is whole
    let kept = ((exact - exact * 1e-12).ceil() as usize).clamp(1.min(samples.len()), samples.len());
    let sum: f64 = samples[..kept].iter().map(|d| d.millis()).sum();
    sum / kept as f64
}

/// The last `mad` of `values` are there and lie within `tolerance` (a fraction) of the newest.
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
        // 100, 100, 100 and 200 ms: 60000/100 = 600, 60000/200 = 300; their mean 450, not 60000/150 = 400
        let s = Score::of([100.0, 100.0, 100.0, 200.0], true);
        assert_eq!((s.foreign, s.loaded, s.rpm), (600.0, 300.0, 450.0));
        // unequal steps: (50 + 70 + 120)/3 = 80 -> 750; without TLS (50 + 120)/2 = 85 -> 705.88
        assert_eq!(Score::of([50.0, 70.0, 120.0, 80.0], true).rpm, 750.0);
        let plain = Score::of([50.0, f64::NAN, 120.0, 80.0], false);
        assert!((plain.foreign - 60_000.0 / 85.0).abs() < 1e-9);
        // base round trip 20 ms and 80 ms of queue for all
        assert_eq!(Score::of([100.0; 4], true).rpm, 600.0);
    }

    #[test]
    fn the_largest_samples_are_cut_off() {
        // 20 samples: the 95th percentile is the 19th, so one falls
        let mut twenty = ms(&[10; 19]);
        twenty.push(Duration::from_secs(9));
        assert_eq!(trimmed_mean(&mut twenty, 95.0), 10.0);
        // of ten the 95th percentile is the tenth: all stay
        assert_eq!(trimmed_mean(&mut ms(&[10, 10, 10, 10, 10, 10, 10, 10, 10, 110]), 95.0), 20.0);
        assert_eq!(trimmed_mean(&mut ms(&[30, 10, 20]), 100.0), 20.0);
        assert_eq!(trimmed_mean(&mut ms(&[30, 10, 20]), 34.0), 15.0);
        assert!(trimmed_mean(&mut [], 95.0).is_nan());
    }

    #[test]
    fn only_the_last_intervals_count() {
        let mut w = Window::new(2);
        for time in [900, 100, 100] {
            w.record(Step::HttpLoaded, Duration::from_millis(time));
            w.next();
        }
        // the third interval is over and the fourth begun: the window holds these two
        assert_eq!((w.count(Step::HttpLoaded), w.score(95.0, true).tm[3]), (1, 100.0));
        assert!(w.score(95.0, true).rpm.is_nan(), "no foreign probe has answered");
    }

    #[test]
    fn stable_is_a_small_deviation_of_the_last_values() {
        // 100, 100, 100, 104: mean 101, deviation sqrt((3 x 1 + 9)/4) = 1.73 < 5 % of 104 = 5.2
        assert!(is_stable(&[1.0, 100.0, 100.0, 100.0, 104.0], 4, 0.05));
        assert!(!is_stable(&[1.0, 100.0, 100.0, 104.0], 4, 0.05));
        assert!(!is_stable(&[100.0, 100.0, 100.0], 4, 0.05), "too few");
        assert!(!is_stable(&[f64::NAN, 100.0, 100.0, 100.0], 4, 0.05));
        assert!(!is_stable(&[0.0; 4], 4, 0.05), "nothing has arrived");
    }
}
