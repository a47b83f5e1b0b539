//! The series of a link: what happened in each bin, in one row per bin.

use packet::Count;
use units::{Duration, Problem, Time};

/// One bin. All of its fields share one cache line, because a packet changes most of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(align(64))]
struct Bin {
    /// Integral of the queue length over time, packets x ns.
    area: u128,
    /// Sum of the sojourn times of the packets that left, ns.
    sojourn: u64,
    /// Maximum sojourn time of the packets that left, ns.
    longest: u64,
    /// Bytes that left, as counted on the wire.
    bytes: u64,
    /// Packets dropped.
    dropped: u64,
    /// Packets marked with CE.
    marked: u64,
    /// Packets that left.
    sent: u32,
    /// Queue length at the end of the bin, before any event at that very time.
    end: u32,
}

/// A link's series, in bins of equal width from the start of the run to its end.
///
/// Records must come in time order. A record at or after the end counts in the last bin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LinkSeries {
    start: Time,
    width: Duration,
    end: Time,
    bins: Vec<Bin>,
    /// The current bin.
    bin: usize,
    /// End of the current bin. When the end of the last bin is reached, this field becomes [`Time::NEVER`], so that the
    /// last bin stays the current bin.
    bin_end: Time,
    /// Current queue length, packets.
    level: u32,
    /// Time up to which the queue length has been added to the areas of the bins.
    since: Time,
}

impl LinkSeries {
    /// Returns an empty series that covers `duration` with bins of `width`; the last bin may be shorter.
    ///
    /// Errors: see [`bins`](crate::series::bins).
    pub(crate) fn new(start: Time, width: Duration, duration: Duration) -> Result<Self, Problem> {
        Ok(Self {
            start,
            width,
            end: start + duration,
            bins: vec![Bin::default(); crate::series::bins(width, duration)?],
            bin: 0,
            bin_end: start + width,
            level: 0,
            since: start,
        })
    }

    /// Records that the queue holds `packets` packets from `now` on. Returns the previous length of the queue.
    #[inline]
    pub(crate) fn hold(&mut self, now: Time, packets: u32) -> u32 {
        self.advance(now);
        std::mem::replace(&mut self.level, packets)
    }

    /// Returns the current length of the queue, in packets.
    pub(crate) fn level(&self) -> u32 {
        self.level
    }

    /// Counts packets that left in the bin that contains `now`. Each spent the time `sojourn` in the queue.
    #[inline]
    pub(crate) fn sent(&mut self, now: Time, of: Count, sojourn: Duration) {
        let bin = self.at(now);
        bin.sent = bin.sent.saturating_add(of.packets.try_into().unwrap_or(u32::MAX));
        bin.bytes += of.bytes;
        bin.sojourn = bin.sojourn.saturating_add(sojourn.0.saturating_mul(of.packets));
        bin.longest = bin.longest.max(sojourn.0);
    }

    #[inline]
    pub(crate) fn dropped(&mut self, now: Time) {
        self.at(now).dropped += 1;
    }

    /// Counts a packet that was marked with CE.
    #[inline]
    pub(crate) fn marked(&mut self, now: Time) {
        self.at(now).marked += 1;
    }

    /// Adds the queue length from `since` to `now` to the areas of the bins. Must be called at the end of the run.
    #[inline]
    pub(crate) fn advance(&mut self, now: Time) {
        self.at(now);
        self.count_level(now.min(self.end));
    }

    /// Returns the end of the bin that contains `now`; [`Time::NEVER`] at and after the end of the last bin.
    #[inline]
    pub(crate) fn bin_end(&mut self, now: Time) -> Time {
        self.at(now);
        self.bin_end
    }

    /// Returns the bin that contains `now`.
    #[inline]
    fn at(&mut self, now: Time) -> &mut Bin {
        if now >= self.bin_end {
            self.seek(now);
        }
        &mut self.bins[self.bin]
    }

    /// Multiplies the current queue length by the time from `since` to `until`, and adds the product to the area of the
    /// current bin. `until` must not be later than the end of this bin.
    #[inline]
    fn count_level(&mut self, until: Time) {
        self.bins[self.bin].area += u128::from(self.level) * u128::from(until.since(self.since).0);
        self.since = self.since.max(until);
    }

    /// Makes the bin that contains `now` the current bin.
    #[cold]
    fn seek(&mut self, now: Time) {
        let last = self.bins.len() - 1;
        // bounded: each iteration moves to the next bin
        while now >= self.bin_end {
            if self.bin == last {
                return self.bin_end = Time::NEVER;
            }
            self.count_level(self.bin_end);
            self.bins[self.bin].end = self.level;
            self.bin += 1;
            self.bin_end += self.width;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.bins.len()
    }
    pub(crate) fn begin(&self, i: usize) -> Time {
        self.start + self.width * i as u64
    }
    /// Returns the mean queue length in bin `i`, weighted by time, in packets.
    pub(crate) fn queue_mean(&self, i: usize) -> f64 {
        let span = self.begin(i + 1).min(self.end).since(self.begin(i));
        self.bins[i].area as f64 / span.0 as f64
    }
    /// Returns the queue length in packets at the end of bin `i`, before any event at that very time. For the last bin,
    /// returns the length at the end of the run.
    pub(crate) fn queue_end(&self, i: usize) -> f64 {
        f64::from(if i >= self.bin { self.level } else { self.bins[i].end })
    }
    /// Returns the mean sojourn time of the packets that left, ns; NaN without packets.
    pub(crate) fn sojourn_mean(&self, i: usize) -> f64 {
        self.bins[i].sojourn as f64 / self.sent_packets(i)
    }
    /// Returns the maximum sojourn time of the packets that left, ns; NaN without packets.
    pub(crate) fn sojourn_max(&self, i: usize) -> f64 {
        if self.bins[i].sent == 0 { f64::NAN } else { self.bins[i].longest as f64 }
    }
    pub(crate) fn sent_packets(&self, i: usize) -> f64 {
        f64::from(self.bins[i].sent)
    }
    /// Returns the number of bytes that left, as counted on the wire.
    pub(crate) fn sent_bytes(&self, i: usize) -> f64 {
        self.bins[i].bytes as f64
    }
    pub(crate) fn dropped_packets(&self, i: usize) -> f64 {
        self.bins[i].dropped as f64
    }
    pub(crate) fn marked_packets(&self, i: usize) -> f64 {
        self.bins[i].marked as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds records at random times, many of them at the boundary between two bins. The expected queue lengths come
    /// from a list with one entry per nanosecond. The expected values of all other columns come from a sum or a list
    /// that the test keeps for each bin.
    #[test]
    fn every_column_agrees_with_a_sum_over_every_nanosecond() {
        let mut rng = units::Rng::named(7, "link series");
        for _ in 0..400 {
            let (start, width) = (rng.below(3) * 10, 10 * (1 + rng.below(4)));
            let length = 10 * (1 + rng.below(40));
            let mut series = LinkSeries::new(Time(start), Duration(width), Duration(length)).unwrap();
            let n = length.div_ceil(width) as usize;
            // level[t] is the queue's length in [t, t + 1); the last entry is its length at the end of the run
            let mut level = vec![0u64; length as usize + 1];
            let mut sojourns = vec![Vec::new(); n];
            let (mut bytes, mut dropped, mut marked) = (vec![0u64; n], vec![0u64; n], vec![0u64; n]);
            let mut now = 0;
            for _ in 0..rng.below(120) {
                now = (now + [0, 0, 10, 10, 30, rng.below(25)][rng.below(6) as usize]).min(length);
                let (at, bin) = (Time(start + now), ((now / width) as usize).min(n - 1));
                match rng.below(4) {
                    0 => {
                        let packets = rng.below(50);
                        series.hold(at, packets as u32);
                        level[now as usize..].fill(packets);
                    }
                    1 => {
                        let (size, sojourn) = (rng.below(1500), rng.below(1000));
                        series.sent(at, Count { packets: 1, bytes: size }, Duration(sojourn));
                        sojourns[bin].push(sojourn);
                        bytes[bin] += size;
                    }
                    2 => {
                        series.dropped(at);
                        dropped[bin] += 1;
                    }
                    _ => {
                        series.marked(at);
                        marked[bin] += 1;
                    }
                }
            }
            series.advance(Time(start + length));
            assert_eq!(series.len(), n);
            for i in 0..n {
                let (from, to) = (i as u64 * width, ((i as u64 + 1) * width).min(length));
                let mean = |values: &[u64]| values.iter().sum::<u64>() as f64 / values.len() as f64;
                assert_eq!(series.begin(i), Time(start + from));
                assert_eq!(series.queue_mean(i), mean(&level[from as usize..to as usize]));
                // a change at the end of a bin belongs to the next bin. After the last bin, there is no next bin
                let end = if i + 1 == n { to } else { to - 1 };
                assert_eq!(series.queue_end(i), level[end as usize] as f64);
                assert_eq!(series.sent_packets(i), sojourns[i].len() as f64);
                if let Some(&longest) = sojourns[i].iter().max() {
                    assert_eq!((series.sojourn_mean(i), series.sojourn_max(i)), (mean(&sojourns[i]), longest as f64));
                } else {
                    assert!(series.sojourn_mean(i).is_nan() && series.sojourn_max(i).is_nan());
                }
                let counts = (series.sent_bytes(i), series.dropped_packets(i), series.marked_packets(i));
                assert_eq!(counts, (bytes[i] as f64, dropped[i] as f64, marked[i] as f64));
            }
        }
    }

    #[test]
    fn values_at_the_end_of_bins() {
        // bins of 1 s over 3.5 s. The queue holds 4 packets from 0 on, 8 from 0.5 s, 2 from 1.25 s, and 5 from 3 s
        let s = Duration::from_secs(1);
        let mut series = LinkSeries::new(Time::ZERO, s, Duration::from_millis(3500)).unwrap();
        for (ms, packets) in [(0, 4), (500, 8), (1250, 2), (3000, 5)] {
            series.hold(Time(ms * 1_000_000), packets);
        }
        series.advance(Time(9_000_000_000));
        assert_eq!([0, 1, 2, 3].map(|i| series.queue_end(i)), [8.0, 2.0, 2.0, 5.0]);
        assert_eq!([0, 1, 2, 3].map(|i| series.queue_mean(i)), [6.0, 3.5, 2.0, 5.0]);
    }

    #[test]
    fn a_long_queue_over_a_long_time_does_not_overflow() {
        // 2^31 packets for half of 10^10 s: an area of 2^31 * 5 * 10^18 packets x ns needs 94 bits
        let long = Duration::from_secs(10_000_000_000);
        let mut series = LinkSeries::new(Time::ZERO, long, long).unwrap();
        series.hold(Time::ZERO, 1 << 31);
        series.hold(Time(long.0 / 2), 0);
        series.advance(Time(long.0));
        assert_eq!(series.queue_mean(0), (1u64 << 30) as f64);
    }
}
