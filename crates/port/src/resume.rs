//! Lets a port take over a link in the middle of a run, from the host's own faster implementation of plain links.

use crate::Port;
use packet::{Count, DropReason, FateSink, FlowTable, MarkReason, PacketMeta, Point};
use qdisc::{Context, Counters};
use units::Time;

/// The packets and counts of a plain link whose work has been done up to `now`.
#[derive(Clone, Debug)]
pub struct PlainLink {
    /// Time up to which all work has been done.
    pub now: Time,
    /// End of the last transmission that has begun.
    pub free_at: Time,
    /// Packets in the queue, oldest first. Their `stamp` is the time of arrival at the queue.
    pub waiting: Vec<PacketMeta>,
    /// Packets in transmission and on the wire, in order of arrival. Their `stamp` is the time of arrival at the far end.
    pub in_flight: Vec<PacketMeta>,
    /// Packets that arrived at the queue.
    pub offered: Count,
    /// Packets dropped because the queue had no room.
    pub dropped: Count,
    /// Packets that arrived at the far end.
    pub delivered: Count,
}

/// The [`FateSink`] that is used when a port takes over packets that already were in another queue. All these packets
/// fit, so a drop is a defect.
struct Fits;

impl FateSink for Fits {
    fn dropped(&mut self, _: &PacketMeta, _: DropReason, _: Point) {
        debug_assert!(false, "a packet that was in the queue must fit into it");
    }
    fn marked(&mut self, _: &PacketMeta, _: MarkReason, _: Point) {}
}

impl Port {
    /// Takes over the packets and counts of `from`. The port must be newly built, and must be a plain link with a
    /// drop-tail queue.
    pub fn resume(&mut self, from: &PlainLink, flows: &FlowTable) {
        let view = self.link_view(from.now);
        let egress = &mut self.egress;
        let waits = from.waiting.iter().map(|p| u64::from(p.size)).sum();
        let waits = Count { packets: from.waiting.len() as u64, bytes: waits };
        let mut counters = Counters { offered: from.offered, ..Counters::default() };
        counters.dropped[DropReason::TailFull as usize][Point::Enqueue as usize] = from.dropped;
        counters.delivered = from.offered.since(from.dropped).since(waits);
        let cx = &mut Context { now: from.now, rng: &mut egress.queue_rng, link: &view, flows, fate: &mut Fits };
        egress.queue.refill(&from.waiting, counters, cx);
        egress.propagation.resume(&from.in_flight, from.delivered);
        egress.now = from.now;
        egress.free_at = from.free_at;
        // if the last transmission has already ended, the link found the queue empty at that moment, so the link is
        // idle
        egress.idle = from.free_at <= from.now;
        self.plan();
    }
}
