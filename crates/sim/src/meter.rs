//! What a link counts, and what it measures if it is recorded.

use measure::{LinkCounts, LinkMeterParams};
use packet::{Count, DropReason};
use record::{Record, Sink};
use units::{Duration, Problem, Time};

/// Counters of every link; series and distributions of a recorded one.
#[derive(Clone, Debug)]
pub(crate) struct LinkMeter {
    /// Arrivals at the queue.
    pub offered: Count,
    /// Arrivals at the far end.
    pub delivered: Count,
    /// Drops, whatever the reason.
    pub dropped: Count,
    /// Dropped packets by reason, in the order of [`DropReason::ALL`].
    pub drops: [u64; DropReason::ALL.len()],
    /// Packets marked with CE.
    pub marked: u64,
    /// What had been counted when the warm-up ended.
    pub before: Option<Box<LinkCounts>>,
    /// The rest.
    pub full: Option<Box<measure::LinkMeter>>,
}

impl LinkMeter {
    /// Counters, and the rest if `recorded`.
    pub(crate) fn new(recorded: Option<LinkMeterParams>) -> Result<Self, Problem> {
        let full = recorded.map(measure::LinkMeter::new).transpose()?.map(Box::new);
        Ok(Self {
            offered: Count::default(),
            delivered: Count::default(),
            dropped: Count::default(),
            drops: [0; DropReason::ALL.len()],
            marked: 0,
            before: None,
            full,
        })
    }

    #[inline]
    pub(crate) fn offered(&mut self, size: u16) {
        self.offered.add_size(size);
    }

    #[inline]
    pub(crate) fn delivered(&mut self, size: u16) {
        self.delivered.add_size(size);
    }

    /// More than counters is wanted.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.full.is_some()
    }

    #[inline]
    pub(crate) fn enqueued(&mut self, now: Time, backlog_packets: u32) {
        if let Some(full) = &mut self.full {
            full.enqueued(now, backlog_packets);
        }
    }

    #[inline]
    pub(crate) fn dequeued(&mut self, now: Time, size: u16, backlog_packets: u32, sojourn: Duration) {
        if let Some(full) = &mut self.full {
            full.dequeued(now, size, backlog_packets, sojourn);
        }
    }

    /// A record of a port.
    // the kind of record is known where it is made: there the match is no question
    #[inline(always)]
    pub(crate) fn put(&mut self, now: Time, record: Record) {
        match record {
            Record::Dropped { size, reason, .. } => {
                self.dropped.add_size(size);
                self.drops[reason as usize] += 1;
            }
            Record::Marked { .. } => self.marked += 1,
            _ => {}
        }
        if let Some(full) = &mut self.full {
            full.put(now, record);
        }
    }

    /// The run is over.
    pub(crate) fn finish(&mut self, now: Time) {
        if let Some(full) = &mut self.full {
            full.finish(now);
        }
    }
}
