//! Handles packets that are dropped by a link or that leave a host's device.

use crate::codec::Bodies;
use crate::event::{Events, Target};
use crate::segment_tags::SegmentTags;
use crate::tsq::Tsq;
use packet::{DropReason, FateSink, Flags, MarkReason, PacketMeta, Point};
use units::Time;

/// Counts dropped packets and frees their resources. If a packet counts for TCP small queues, schedules the event of
/// its departure from its host's device.
pub(crate) struct Release<'a> {
    pub bodies: &'a mut Bodies,
    /// Present if the sink captures packets.
    pub tags: Option<&'a mut SegmentTags>,
    pub flow_drops: &'a mut [u64],
    pub tsq: &'a mut Tsq,
    pub events: &'a mut Events,
}

impl FateSink for Release<'_> {
    #[inline]
    fn dropped(&mut self, packet: &PacketMeta, _: DropReason, _: Point) {
        self.flow_drops[direction_index(packet)] += 1;
        if packet.flags.has(Flags::LOCAL) {
            self.left(packet, self.events.now());
        }
        match &mut self.tags {
            None => self.bodies.free(packet),
            Some(tags) => {
                let mut packet = *packet;
                tags.take(&mut packet);
                self.bodies.free(&packet);
            }
        }
    }
    fn marked(&mut self, _: &PacketMeta, _: MarkReason, _: Point) {}
    #[cold]
    fn left(&mut self, packet: &PacketMeta, at: Time) {
        self.tsq.put(packet, at);
        self.events.push(at.max(self.events.now()), Target::Left);
    }
}

/// Returns the index of a packet's flow and direction in `Net::flow_drops`.
#[inline]
pub(crate) fn direction_index(packet: &PacketMeta) -> usize {
    2 * packet.flow.slot() + usize::from(packet.flags.has(Flags::REVERSE))
}
