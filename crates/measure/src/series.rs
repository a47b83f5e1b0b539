//! A quantity over time, in bins of equal width. The number of bins is fixed when the series is created.

use units::{Duration, Problem, Time};

/// Maximum number of bins in one series.
const MAX_BINS: u64 = 1 << 22;

/// The rule that reduces the values of a bin to one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    /// The sum of the values, for example of bytes or drops. An empty bin is 0.
    Sum,
    /// The mean of the values, for example of delays. All values have the same weight. An empty bin is NaN.
    Mean,
    /// The largest value. An empty bin is NaN.
    Max,
    /// The last value. An empty bin is NaN.
    Last,
}

/// Returns the number of bins of `width` that `duration` needs. The last bin may be shorter.
///
/// Errors: a zero width or duration, or more than 2^22 bins.
pub(crate) fn bins(width: Duration, duration: Duration) -> Result<usize, Problem> {
    if width.is_zero() || duration.is_zero() {
        return Err(Problem::new("", format!("{width} is not a valid bin width for a run of {duration}")));
    }
    let n = duration.0.div_ceil(width.0);
    if n > MAX_BINS {
        let least = Duration(duration.0.div_ceil(MAX_BINS));
        let message = format!("{width} is not valid: {n} bins; expected at least {least} for a run of {duration}");
        return Err(Problem::new("", message));
    }
    Ok(n as usize)
}

/// A quantity over time, in bins of the length `width`, the first of which begins at `start`.
///
/// Values must come in time order, so that one comparison usually finds the bin. A value at or after the end counts in
/// the last bin. A value from before the current bin counts in the current bin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    channel: Channel,
    start: Time,
    width: Duration,
    /// Sum, maximum or last value of each bin, depending on the channel.
    values: Vec<u64>,
    /// Number of values in each bin; empty for channels that do not need it.
    counts: Vec<u32>,
    /// The current bin.
    bin: usize,
    /// End of the current bin.
    bin_end: Time,
}

impl Series {
    /// Returns a series with bins of `width` over `duration`; the last bin may be shorter.
    ///
    /// Errors: see [`bins`].
    pub(crate) fn new(channel: Channel, start: Time, width: Duration, duration: Duration) -> Result<Self, Problem> {
        let n = bins(width, duration)?;
        let counted = matches!(channel, Channel::Mean | Channel::Max | Channel::Last);
        Ok(Self {
            channel,
            start,
            width,
            values: vec![0; n],
            counts: vec![0; if counted { n } else { 0 }],
            bin: 0,
            bin_end: start + width,
        })
    }

    /// Adds `value` at `now`, whatever the channel. Each of the functions below serves one channel, and so avoids the
    /// `match`.
    #[inline]
    pub(crate) fn put(&mut self, now: Time, value: u64) {
        match self.channel {
            Channel::Sum => self.add(now, value),
            Channel::Mean => self.mean(now, value),
            Channel::Max => self.max(now, value),
            Channel::Last => self.last(now, value),
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, now: Time, value: u64) {
        debug_assert_eq!(self.channel, Channel::Sum);
        let i = self.at(now);
        let v = &mut self.values[i];
        *v = v.saturating_add(value);
    }

    #[inline]
    pub(crate) fn mean(&mut self, now: Time, value: u64) {
        debug_assert_eq!(self.channel, Channel::Mean);
        let v = self.counted(now);
        *v = v.saturating_add(value);
    }

    #[inline]
    pub(crate) fn max(&mut self, now: Time, value: u64) {
        debug_assert_eq!(self.channel, Channel::Max);
        let v = self.counted(now);
        *v = (*v).max(value);
    }

    #[inline]
    fn last(&mut self, now: Time, value: u64) {
        debug_assert_eq!(self.channel, Channel::Last);
        *self.counted(now) = value;
    }

    /// Returns the bin of `now`.
    #[inline]
    fn at(&mut self, now: Time) -> usize {
        if now >= self.bin_end {
            self.seek(now);
        }
        self.bin
    }

    /// Counts one more value in the bin of `now`, and returns a reference to the bin's value, which the caller updates.
    #[inline]
    fn counted(&mut self, now: Time) -> &mut u64 {
        let i = self.at(now);
        self.counts[i] = self.counts[i].saturating_add(1);
        &mut self.values[i]
    }

    /// Makes the bin that contains `now` the current bin.
    #[cold]
    fn seek(&mut self, now: Time) {
        let last = self.values.len() - 1;
        self.bin = ((now.since(self.start).0 / self.width.0) as usize).min(last);
        self.bin_end = if self.bin == last { Time::NEVER } else { self.start + self.width * (self.bin as u64 + 1) };
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }
    pub(crate) fn begin(&self, i: usize) -> Time {
        self.start + self.width * i as u64
    }
    /// Returns the value of bin `i` (see [`Channel`] for an empty bin).
    pub(crate) fn get(&self, i: usize) -> f64 {
        match self.channel {
            Channel::Sum => self.values[i] as f64,
            _ if self.counts[i] == 0 => f64::NAN,
            Channel::Mean => self.values[i] as f64 / f64::from(self.counts[i]),
            Channel::Max | Channel::Last => self.values[i] as f64,
        }
    }

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
    }

    #[test]
    fn edges() {
        let mut s = Series::new(Channel::Sum, Time(S.0), S, Duration::from_millis(1500)).unwrap();
        s.put(Time(1_000_000_000), 1000);
        s.put(Time(2_499_999_999), 1000);
        assert_eq!(s.column(), [1000.0, 1000.0]);
        assert_eq!(s.begin(1), Time(2 * S.0));
    }

    #[test]
    fn refusals_say_what_would_fit() {
        assert!(Series::new(Channel::Sum, Time::ZERO, Duration::ZERO, S).is_err());
        let e = Series::new(Channel::Sum, Time::ZERO, Duration(1), S).unwrap_err();
        // the smallest valid bin width is 10^9 ns / 2^22 = 238.4 ns
        assert!(e.message.contains("at least 239ns"), "{e}");
        assert!(Series::new(Channel::Sum, Time::ZERO, Duration(239), S).is_ok());
    }
}
