//! What a port borrows from its host, and what it counts.

use packet::{Count, DropReason, FateSink, Flags, FlowTable, MarkReason, PacketMeta, Point};
use qdisc::Counters;
use record::{LinkId, Mask, Record, Sink};
use units::Time;

/// What a port borrows from its host on every call.
pub struct Env<'a, S> {
    /// 5-tuples, for classifiers.
    pub flows: &'a FlowTable,
    /// Frees what dropped packets owned.
    pub fate: &'a mut dyn FateSink,
    /// Takes the records that its mask asks for.
    pub sink: &'a mut S,
}

impl<S: Sink> Env<'_, S> {
    #[inline]
    pub(crate) fn put(&mut self, now: Time, kind: Mask, record: impl FnOnce() -> Record) {
        if self.sink.mask().has(kind) {
            self.sink.put(now, record());
        }
    }
}

/// Records drops and marks, and passes them on to the host.
pub(crate) struct Recorder<'a, 'b, S> {
    pub now: Time,
    pub link: LinkId,
    pub env: &'a mut Env<'b, S>,
}

impl<S: Sink> FateSink for Recorder<'_, '_, S> {
    fn dropped(&mut self, p: &PacketMeta, reason: DropReason, point: Point) {
        let (link, now) = (self.link, self.now);
        self.env.put(now, Mask::DROPPED, || Record::Dropped {
            link,
            flow: p.flow,
            reverse: p.flags.has(Flags::REVERSE),
            seq: p.seq,
            size: p.size,
            reason,
            point,
            sojourn: now.since(p.stamp),
        });
        self.env.fate.dropped(p, reason, point);
    }
    fn marked(&mut self, p: &PacketMeta, reason: MarkReason, point: Point) {
        let link = self.link;
        self.env.put(self.now, Mask::MARKED, || Record::Marked {
            link,
            flow: p.flow,
            reverse: p.flags.has(Flags::REVERSE),
            seq: p.seq,
            size: p.size,
            reason,
            point,
        });
        self.env.fate.marked(p, reason, point);
    }
}

/// What became of every packet offered to a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// The queue's own counters.
    pub queue: Counters,
    /// Dropped because the modem's transmit queue was full.
    pub transmit_dropped: Count,
    /// Lost by the link.
    pub lost: Count,
    /// Sent towards the far end (a modem counts a packet when it is granted).
    pub departed: Count,
    /// Arrived at the far end.
    pub delivered: Count,
}

impl PortCounters {
    /// Drops, whatever the reason: by the queue, for want of room behind it, by the link.
    pub fn dropped(&self) -> Count {
        self.queue.dropped_total().plus(self.transmit_dropped).plus(self.lost)
    }

    /// Packets that have left the queue and neither reached the far end nor been dropped.
    pub fn in_flight(&self) -> u64 {
        self.queue.delivered.packets - self.transmit_dropped.plus(self.lost).plus(self.delivered).packets
    }
}
