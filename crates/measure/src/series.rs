//! A quantity over time, in equal bins, whose number is fixed when the run is built.

use units::{Duration, Problem, Time};

/// Largest number of bins in one series.
const MAX_BINS: u64 = 1 << 22;

/// The rule that reduces the values of a bin to one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    /// The sum of the values: bytes, packets, drops. An empty bin is 0.
    Sum,
    /// The mean of the values, equally weighted: sojourn time, delay, RTT. An empty bin is NaN.
    Mean,
    /// The largest value. An empty bin is NaN.
    Max,
    /// The last value. An empty bin is NaN.
    Last,
    /// The mean over time, where each value holds until the next (0 before the first): queue length, window.
    TimeMean,
}

/// A quantity in bins of `width` from `start` on.
///
/// Values must come in the order of time, so that finding the bin takes one comparison. A value at or after the end counts in the
/// last bin; a value that is older than the current bin counts in the current bin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    channel: Channel,
    start: Time,
    width: Duration,
    end: Time,
    /// Sum, maximum, last value or area of each bin, depending on the channel.
    values: Vec<u64>,
    /// Number of values in each bin; empty for channels that do not need it.
    counts: Vec<u32>,
    /// For `TimeMean`: the high 64 bits of the areas in `values`.
    high: Vec<u64>,
    /// For `TimeMean`: the value that holds at the end of each bin.
    ends: Vec<u64>,
    /// The current bin.
    bin: usize,
    /// End of the current bin.
    bin_end: Time,
    /// For `TimeMean`: the current value.
    level: u64,
    /// For `TimeMean`: the time up to which `level` has been counted.
    since: Time,
}

impl Series {
    /// Returns a series with bins of `width` over `duration`; the last bin may be shorter.
    ///
    /// Errors: a zero width or duration, or more than 2^22 bins.
    pub(crate) fn new(channel: Channel, start: Time, width: Duration, duration: Duration) -> Result<Self, Problem> {
        if width.is_zero() || duration.is_zero() {
            return Err(Problem::new("", format!("{width} is not a valid bin width for a run of {duration}")));
        }
        let n = duration.0.div_ceil(width.0);
        if n > MAX_BINS {
            let least = Duration(duration.0.div_ceil(MAX_BINS));
            let message = format!("{width} is not valid: {n} bins; expected at least {least} for a run of {duration}");
            return Err(Problem::new("", message));
        }
        let n = n as usize;
        let counted = matches!(channel, Channel::Mean | Channel::Max | Channel::Last);
        Ok(Self {
            channel,
            start,
            width,
            end: start + duration,
            values: vec![0; n],
            counts: vec![0; if counted { n } else { 0 }],
            high: vec![0; if channel == Channel::TimeMean { n } else { 0 }],
            ends: vec![0; if channel == Channel::TimeMean { n } else { 0 }],
            bin: 0,
            bin_end: start + width,
            level: 0,
            since: start,
        })
    }

    /// Adds `value` at `now` for any channel. The functions for a single channel below need no match.
    #[inline]
    pub(crate) fn put(&mut self, now: Time, value: u64) {
        match self.channel {
            Channel::Sum => self.add(now, value),
            Channel::Mean => self.mean(now, value),
            Channel::Max => self.max(now, value),
            Channel::Last => self.last(now, value),
            Channel::TimeMean => self.hold(now, value),
        }
    }

    /// Adds a value to a [`Channel::Sum`].
    #[inline]
    pub(crate) fn add(&mut self, now: Time, value: u64) {
        debug_assert_eq!(self.channel, Channel::Sum);
        let i = self.at(now);
        let v = &mut self.values[i];
        *v = v.saturating_add(value);
    }

    /// Adds a value to a [`Channel::Mean`].
    #[inline]
    pub(crate) fn mean(&mut self, now: Time, value: u64) {
        debug_assert_eq!(self.channel, Channel::Mean);
        let v = self.counted(now);
        *v = v.saturating_add(value);
    }

    /// Adds a value to a [`Channel::Max`].
    #[inline]
    pub(crate) fn max(&mut self, now: Time, value: u64) {
        debug_assert_eq!(self.channel, Channel::Max);
        let v = self.counted(now);
        *v = (*v).max(value);
    }

    /// Adds a value to a [`Channel::Last`].
    #[inline]
    fn last(&mut self, now: Time, value: u64) {
        debug_assert_eq!(self.channel, Channel::Last);
        *self.counted(now) = value;
    }

    /// Sets the value of a [`Channel::TimeMean`] from `now` on.
    #[inline]
    pub(crate) fn hold(&mut self, now: Time, value: u64) {
        debug_assert_eq!(self.channel, Channel::TimeMean);
        self.advance(now);
        self.level = value;
    }

    /// Returns the bin of `now`.
    #[inline]
    fn at(&mut self, now: Time) -> usize {
        if now >= self.bin_end {
            self.seek(now);
        }
        self.bin
    }

    /// Counts one more value in the bin of `now`; returns the bin's value.
    #[inline]
    fn counted(&mut self, now: Time) -> &mut u64 {
        let i = self.at(now);
        self.counts[i] = self.counts[i].saturating_add(1);
        &mut self.values[i]
    }

    /// Makes the bin that contains `now` the current one.
    #[cold]
    fn seek(&mut self, now: Time) {
        let last = self.values.len() - 1;
        self.bin = ((now.since(self.start).0 / self.width.0) as usize).min(last);
        self.bin_end = if self.bin == last { Time::NEVER } else { self.start + self.width * (self.bin as u64 + 1) };
    }

    /// For `TimeMean`: extends the current value until `now`. Must be called at the end of the run. It has no effect on other
    /// channels.
    #[inline]
    pub(crate) fn advance(&mut self, now: Time) {
        if self.channel != Channel::TimeMean {
            return;
        }
        if now <= self.bin_end && now <= self.end {
            return self.count_level(now);
        }
        self.advance_far(now);
    }

    /// Counts the current value up to a time within the current bin.
    #[inline]
    fn count_level(&mut self, until: Time) {
        let (area, over) = {
            let more = u128::from(self.level) * u128::from(until.since(self.since).0);
            let area = more + u128::from(self.values[self.bin]);
            (area as u64, (area >> 64) as u64)
        };
        self.values[self.bin] = area;
        if over > 0 {
            self.high[self.bin] += over;
        }
        self.since = self.since.max(until);
    }

    /// Does the work of [`Self::advance`] if `now` is in a later bin or after the end of the series.
    #[cold]
    fn advance_far(&mut self, now: Time) {
        let now = now.min(self.end);
        // bounded: each iteration but the last moves to the next bin
        while self.since < now {
            let until = now.min(self.bin_end);
            self.count_level(until);
            if until < now {
                self.ends[self.bin] = self.level;
                self.bin += 1;
                self.bin_end += self.width;
            }
        }
    }

    /// Returns the number of bins.
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }
    /// Returns the time at which bin `i` begins.
    pub(crate) fn begin(&self, i: usize) -> Time {
        self.start + self.width * i as u64
    }
    /// Returns the width of bin `i`. The last bin may be shorter.
    fn span(&self, i: usize) -> Duration {
        self.begin(i + 1).min(self.end).since(self.begin(i))
    }

    /// Returns the value of bin `i` (see [`Channel`] for an empty bin).
    pub(crate) fn get(&self, i: usize) -> f64 {
        match self.channel {
            Channel::Sum => self.values[i] as f64,
            Channel::TimeMean => {
                (u128::from(self.high[i]) << 64 | u128::from(self.values[i])) as f64 / self.span(i).0 as f64
            }
            _ if self.counts[i] == 0 => f64::NAN,
            Channel::Mean => self.values[i] as f64 / f64::from(self.counts[i]),
            Channel::Max | Channel::Last => self.values[i] as f64,
        }
    }

    /// For `TimeMean`: returns the value at the end of bin `i` (for the last bin, at the end of the run). 0 for other channels.
    pub(crate) fn at_end(&self, i: usize) -> f64 {
        if i >= self.bin { self.level as f64 } else { self.ends.get(i).map_or(0.0, |v| *v as f64) }
    }

    /// Returns the number of values in bin `i`; 0 for channels that do not count them.
    pub(crate) fn count(&self, i: usize) -> u32 {
        self.counts.get(i).copied().unwrap_or(0)
    }

    /// Returns the values of all bins.
    #[cfg(test)]
    pub(crate) fn column(&self) -> Vec<f64> {
        (0..self.len()).map(|i| self.get(i)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    fn filled(channel: Channel) -> Vec<f64> {
        // the bins are [0, 1), [1, 2), [2, 3) and [3, 3.5) s
        let mut s = Series::new(channel, Time::ZERO, S, Duration::from_millis(3500)).unwrap();
        for (ms, v) in [(0, 4), (500, 8), (999, 0), (2000, 10), (2500, 6), (3500, 1), (9000, 3)] {
            s.put(Time(ms * 1_000_000), v);
        }
        s.advance(Time(9_000_000_000));
        s.column()
    }

    #[test]
    fn channels() {
        assert_eq!(filled(Channel::Sum), [12.0, 0.0, 16.0, 4.0]);
        assert_eq!(filled(Channel::Max)[..1], [8.0]);
        assert!(filled(Channel::Max)[1].is_nan());
        assert_eq!(filled(Channel::Max)[2..], [10.0, 3.0]);
        assert_eq!((filled(Channel::Mean)[0], filled(Channel::Mean)[2], filled(Channel::Mean)[3]), (4.0, 8.0, 2.0));
        assert!(filled(Channel::Mean)[1].is_nan());
        assert_eq!((filled(Channel::Last)[0], filled(Channel::Last)[2], filled(Channel::Last)[3]), (0.0, 6.0, 3.0));
        // the value is 4 for 0.5 s, 8 for 0.499 s, 0 until 2 s, 10 for 0.5 s, and 6 until the end
        let mean = filled(Channel::TimeMean);
        assert!((mean[0] - (4.0 * 0.5 + 8.0 * 0.499)).abs() < 1e-12);
        assert_eq!(mean[1..], [0.0, 8.0, 6.0]);
    }

    #[test]
    fn values_at_the_end_of_bins() {
        // bins of 1 s over 3.5 s. The value is 4 from 0 on, 8 from 0.5 s, 2 from 1.25 s, and 5 from 3 s
        let mut s = Series::new(Channel::TimeMean, Time::ZERO, S, Duration::from_millis(3500)).unwrap();
        for (ms, v) in [(0, 4), (500, 8), (1250, 2), (3000, 5)] {
            s.put(Time(ms * 1_000_000), v);
        }
        s.advance(Time(9_000_000_000));
        assert_eq!((0..4).map(|i| s.at_end(i)).collect::<Vec<_>>(), [8.0, 2.0, 5.0, 5.0]);
        // a mean counts its values; a sum does not
        let mut m = Series::new(Channel::Mean, Time::ZERO, S, S * 2).unwrap();
        m.put(Time(1), 7);
        m.put(Time(2), 9);
        assert_eq!((m.count(0), m.count(1)), (2, 0));
        assert_eq!(Series::new(Channel::Sum, Time::ZERO, S, S).unwrap().count(0), 0);
    }

    #[test]
    fn edges() {
        let mut s = Series::new(Channel::Sum, Time(S.0), S, Duration::from_millis(1500)).unwrap();
        s.put(Time(1_000_000_000), 1000);
        s.put(Time(2_499_999_999), 1000);
        assert_eq!(s.column(), [1000.0, 1000.0]);
        assert_eq!((s.begin(1), s.span(1)), (Time(2 * S.0), Duration::from_millis(500)));
    }

    #[test]
    fn large_levels_do_not_overflow() {
        // 2^40 bytes over 10^9 s: the area of 2^40 * 10^18 ns needs 100 bits
        let long = Duration::from_secs(1_000_000_000);
        let mut s = Series::new(Channel::TimeMean, Time::ZERO, long, long).unwrap();
        s.put(Time::ZERO, 1 << 40);
        s.advance(Time(long.0 / 2));
        s.put(Time(long.0 / 2), 0);
        s.advance(Time(long.0));
        assert_eq!(s.get(0), (1u64 << 39) as f64);
    }

    #[test]
    fn the_mean_over_time_agrees_with_a_sum_over_every_nanosecond() {
        let mut rng = units::Rng::named(5, "series");
        for _ in 0..50 {
            let (start, width, duration) = (rng.below(50), 1 + rng.below(40), 1 + rng.below(300));
            let mut s = Series::new(Channel::TimeMean, Time(start), Duration(width), Duration(duration)).unwrap();
            // level[t] is the value in [t, t + 1)
            let mut level = vec![0; duration as usize];
            let mut at = start;
            for _ in 0..30 {
                at += rng.below(25);
                let value = rng.below(1000);
                s.put(Time(at), value);
                level.iter_mut().skip((at - start) as usize).for_each(|l| *l = value);
            }
            s.advance(Time(start + 10_000));
            for (i, part) in level.chunks(width as usize).enumerate() {
                let mean = part.iter().sum::<u64>() as f64 / part.len() as f64;
                assert_eq!(s.get(i), mean);
            }
            assert_eq!(s.len(), level.chunks(width as usize).len());
        }
    }

    #[test]
    fn refusals_say_what_would_fit() {
        assert!(Series::new(Channel::Sum, Time::ZERO, Duration::ZERO, S).is_err());
        let e = Series::new(Channel::Sum, Time::ZERO, Duration(1), S).unwrap_err();
        // the smallest valid bin is 10^9 ns / 2^22 = 238.4 ns
        assert!(e.message.contains("at least 239ns"), "{e}");
        assert!(Series::new(Channel::Sum, Time::ZERO, Duration(239), S).is_ok());
    }
}
