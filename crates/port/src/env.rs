//! The environment that a host provides to a port, and the port's counters.

use packet::{Count, DropReason, FateSink, FlowTable, MarkReason, PacketMeta, Point};
use qdisc::Counters;
use record::{LinkId, Mask, Record, Sink};
use units::Time;

/// The environment that a host provides to a port on every call.
pub struct Env<'a, S> {
    /// 5-tuples of the flows, for classifiers.
    pub flows: &'a FlowTable,
    /// Receives the fates of packets, so that the host can free the resources of dropped packets.
    pub fate: &'a mut dyn FateSink,
    /// Receives the records whose kind is in [`Sink::mask`].
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

/// Records drops and marks, and reports them to the host.
pub(crate) struct Recorder<'a, 'b, S> {
    pub now: Time,
    pub link: LinkId,
    pub env: &'a mut Env<'b, S>,
}

impl<S: Sink> FateSink for Recorder<'_, '_, S> {
    fn dropped(&mut self, p: &PacketMeta, reason: DropReason, point: Point) {
        let (link, now) = (self.link, self.now);
        let sojourn = now.since(p.stamp);
        self.env.put(now, Mask::DROPPED, || Record::Dropped { link, packet: p.into(), reason, point, sojourn });
        self.env.fate.dropped(p, reason, point);
    }
    fn marked(&mut self, p: &PacketMeta, reason: MarkReason, point: Point) {
        let link = self.link;
        self.env.put(self.now, Mask::MARKED, || Record::Marked { link, packet: p.into(), reason, point });
        self.env.fate.marked(p, reason, point);
    }
}

/// Counters of what happened to the packets that were offered to a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// The queue's own counters.
    pub queue: Counters,
    /// Packets dropped because the modem's transmit queue was full.
    pub transmit_dropped: Count,
    /// Packets lost by the link.
    pub lost: Count,
    /// Packets sent towards the far end and not lost by the link. A packet counts as soon as the end of its
    /// transmission is known: on a plain link when the transmission begins, behind a modem when the packet is granted.
    pub departed: Count,
    /// Packets that arrived at the far end.
    pub delivered: Count,
}

impl PortCounters {
    /// Returns all drops: by the queue, by a full transmit queue, and by the link.
    pub fn dropped(&self) -> Count {
        self.queue.dropped_total().plus(self.transmit_dropped).plus(self.lost)
    }

    /// Returns the number of packets that have left the queue but neither reached the far end nor been dropped.
    pub fn in_flight(&self) -> u64 {
        self.queue.delivered.packets - self.transmit_dropped.plus(self.lost).plus(self.delivered).packets
    }
}
