//! Measures of one link, computed from its records.

use crate::{Histogram, LinkSeries, TimeWeighted};
use packet::Count;
use record::{LinkId, Mask, Record, Sink};
use units::{Duration, Problem, Time};

/// Parameters of a [`LinkMeter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkMeterParams {
    /// The measured link; records of other links are ignored.
    pub link: LinkId,
    /// Start of the run.
    pub start: Time,
    /// Length of the run.
    pub duration: Duration,
    /// Bin width of the series.
    pub bin: Duration,
    /// End of the warm-up, at which the distributions begin. Packets that leave earlier are not in the distribution of
    /// sojourn times.
    pub warm_up: Time,
}

/// Queue length, sojourn times, departures, drops and marks of one link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkMeter {
    link: LinkId,
    warm_up: Time,
    /// Distribution of the queue's length over time: how long the queue spent at each length in packets.
    pub queue: TimeWeighted,
    /// End of the time that `queue` covers so far.
    held: Time,
    /// Sojourn times of the packets that left after the warm-up.
    pub sojourn: Histogram,
    /// Queue length, sojourn times, departures, drops and marks in each bin.
    pub(crate) series: LinkSeries,
}

impl LinkMeter {
    /// Returns a meter with no records.   Errors: an invalid bin width.
    pub fn new(p: LinkMeterParams) -> Result<Self, Problem> {
        Ok(Self {
            link: p.link,
            warm_up: p.warm_up,
            queue: TimeWeighted::default(),
            held: p.start,
            sojourn: Histogram::default(),
            series: LinkSeries::new(p.start, p.bin, p.duration).map_err(|e| e.under("bin"))?,
        })
    }

    /// Extends the distribution of the queue's length and the series to `now`, the end of the run. Must be called once,
    /// after the last record.
    pub fn finish(&mut self, now: Time) {
        self.hold(now, self.series.level());
    }

    /// Ends the warm-up: restarts the distribution of the queue's length. Must be called after the last record of the
    /// warm-up.
    pub fn begin(&mut self) {
        self.held = self.held.max(self.warm_up);
        self.queue.restart(self.series.level());
    }

    /// Records that a packet was enqueued; the queue then holds `packets`.
    #[inline]
    pub fn enqueued(&mut self, now: Time, packets: u32) {
        self.hold(now, packets);
        self.queue.reach(packets);
    }

    /// Counts the time since `held` at the queue's current length, then sets the length to `packets`.
    #[inline]
    fn hold(&mut self, now: Time, packets: u32) {
        let length = self.series.hold(now, packets);
        self.queue.spend(length, now.since(self.held));
        self.held = self.held.max(now);
    }

    /// Records a dequeued packet, after which the queue holds `packets`.
    #[inline(always)]
    pub fn dequeued(&mut self, now: Time, size: u16, packets: u32, sojourn: Duration) {
        self.enqueued(now, packets);
        self.left(now, Count { packets: 1, bytes: u64::from(size) }, sojourn);
    }

    /// Returns the end of the bin that contains `now` ([`Time::NEVER`] after the last bin) or, during the warm-up, the end
    /// of the warm-up if that is earlier. One call of [`Self::passed`] may record all packets that pass before this time.
    /// Advances the series to `now`.
    #[inline]
    pub fn together_until(&mut self, now: Time) -> Time {
        let bin_end = self.series.bin_end(now);
        if now < self.warm_up { bin_end.min(self.warm_up) } else { bin_end }
    }

    /// Records packets that each find an empty queue and an idle link, so each is enqueued and dequeued at once. `now`
    /// is the time of one of them; all pass before the time that [`Self::together_until`] returns.
    #[inline]
    pub fn passed(&mut self, now: Time, passed: Count) {
        // the queue is empty before and after, so only its maximum length may change now. The time at length 0 is
        // counted when the length changes
        self.queue.reach(1);
        self.left(now, passed, Duration::ZERO);
    }

    #[inline]
    fn left(&mut self, now: Time, packets: Count, sojourn: Duration) {
        if now >= self.warm_up {
            self.sojourn.record_all(sojourn, packets.packets);
        }
        self.series.sent(now, packets, sojourn);
    }

    /// Records a dropped packet.
    #[inline]
    pub fn dropped(&mut self, now: Time) {
        self.series.dropped(now);
    }
}

impl Sink for LinkMeter {
    #[inline]
    fn mask(&self) -> Mask {
        Mask::ENQUEUED.with(Mask::DEQUEUED).with(Mask::DROPPED).with(Mask::MARKED)
    }

    // inlined, so that the compiler can remove the match if the caller's kind of record is known
    #[inline(always)]
    fn put(&mut self, now: Time, record: Record) {
        match record {
            Record::Enqueued { link, backlog_packets, .. } if link == self.link => self.enqueued(now, backlog_packets),
            Record::Dequeued { link, packet, backlog_packets, sojourn } if link == self.link => {
                self.dequeued(now, packet.size, backlog_packets, sojourn);
            }
            Record::Dropped { link, .. } if link == self.link => self.dropped(now),
            Record::Marked { link, .. } if link == self.link => self.series.marked(now),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::{DropReason, FlowId, MarkReason, Point};
    use record::PacketId;

    #[test]
    fn records_of_other_links_are_ignored() {
        let s = Duration::from_secs(1);
        let p = LinkMeterParams { link: LinkId(1), start: Time::ZERO, duration: s * 2, bin: s, warm_up: Time(1) };
        let mut m = LinkMeter::new(p).unwrap();
        let (sojourn, packet) = (s, PacketId { seq: 0, flow: FlowId(0), size: 1500, reverse: false });
        let (reason, point) = (DropReason::TailFull, Point::Enqueue);
        let at = |ms: u64| Time(ms * 1_000_000);
        // a packet that leaves before the end of the warm-up is in the series but not in the distribution
        m.dequeued(Time::ZERO, 0, 0, s * 7);
        let enqueued = |link, n| Record::Enqueued { link: LinkId(link), packet, backlog_packets: n, backlog_bytes: 0 };
        let marked =
            |link| Record::Marked { link: LinkId(link), packet, reason: MarkReason::Law, point: Point::Dequeue };
        m.put(at(400), marked(1));
        m.put(at(500), enqueued(1, 1));
        m.put(at(600), enqueued(2, 7));
        m.put(at(1000), enqueued(1, 2));
        m.put(at(1500), Record::Dequeued { link: LinkId(1), packet, backlog_packets: 1, sojourn });
        m.put(at(1600), Record::Dropped { link: LinkId(1), packet, reason, point, sojourn });
        m.put(at(1700), marked(2));
        m.finish(at(2000));
        // the queue's length is 0, 1, 2 and 1 packets, each for 0.5 s
        let times: Vec<_> = m.queue.bins().map(|(length, time)| (length, time.millis())).collect();
        assert_eq!(times, [(0, 500.0), (1, 1000.0), (2, 500.0)]);
        let s = &m.series;
        let column = |value: fn(&LinkSeries, usize) -> f64| [0, 1].map(|i| value(s, i));
        assert_eq!(column(LinkSeries::queue_mean), [0.5, 1.5]);
        assert_eq!(column(LinkSeries::sent_bytes), [0.0, 1500.0]);
        assert_eq!(column(LinkSeries::dropped_packets), [0.0, 1.0]);
        assert_eq!(column(LinkSeries::marked_packets), [1.0, 0.0]);
        assert_eq!(m.sojourn.max(), Some(sojourn));
        assert_eq!(LinkMeter::new(LinkMeterParams { bin: Duration::ZERO, ..p }).unwrap_err().path, "bin");
    }
}
