//! Stores the whole segment of each packet in flight, for sinks that capture packets ([`record::Sink::packets`]).
//!
//! A packet omits the fields that its receiver does not need (see `codec`), but a capture needs all of them. In a run with
//! captures, the `body` of every packet is the index of a tag. The tag holds the whole segment and the original `body`.
//! The original `body` is restored when the packet is delivered, dropped or split into segments.

use crate::arena::Arena;
use packet::{Flags, FlowId, PacketMeta};
use tcp::Segment;

/// The tag of a packet in flight.
#[derive(Clone, Copy, Debug)]
struct Tag {
    body: u32,
    /// `None` for a datagram.
    segment: Option<Segment>,
}

/// The tags of the packets in flight.
#[derive(Clone, Debug, Default)]
pub(crate) struct SegmentTags {
    all: Arena<Tag>,
    /// For each flow and direction, the sequence number of the next new byte. The index is `2 * slot + direction`, and
    /// the id shows which flow uses the slot. Captures need this number for pure ACKs, because TCP does not set
    /// [`Segment::seq`] in a pure ACK.
    next: Vec<(FlowId, u64)>,
}

impl SegmentTags {
    /// Tags a packet with its segment, which is `None` for a datagram.
    pub(crate) fn put(&mut self, packet: &mut PacketMeta, segment: Option<&Segment>) {
        let segment = segment.map(|s| self.numbered(packet, *s));
        packet.body = self.all.put(Tag { body: packet.body, segment });
    }

    /// Removes the tag of a packet that is delivered, dropped or split into segments.
    pub(crate) fn take(&mut self, packet: &mut PacketMeta) {
        packet.body = self.all.take(packet.body).body;
    }

    /// Tags `copy`, a copy of the tagged packet `original`.
    pub(crate) fn put_copy(&mut self, original: &PacketMeta, copy: &mut PacketMeta) {
        let segment = self.segment(original).copied();
        copy.body = self.all.put(Tag { body: copy.body, segment });
    }

    /// Returns the segment of a packet in flight.
    pub(crate) fn segment(&self, packet: &PacketMeta) -> Option<&Segment> {
        self.all.get(packet.body)?.segment.as_ref()
    }

    /// Returns the original `body` of a packet in flight.
    pub(crate) fn body(&self, packet: &PacketMeta) -> Option<u32> {
        Some(self.all.get(packet.body)?.body)
    }

    /// Returns the number of tagged packets.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the segment with its sequence number. A pure ACK gets the number of the next new byte in its direction.
    fn numbered(&mut self, packet: &PacketMeta, mut segment: Segment) -> Segment {
        let direction = 2 * packet.flow.slot() + usize::from(packet.flags.has(Flags::REVERSE));
        if direction >= self.next.len() {
            self.next.resize(direction + 1, (packet.flow, 1));
        }
        let (flow, next) = &mut self.next[direction];
        if *flow != packet.flow {
            // the first payload byte has the sequence number 1, because the SYN takes 0. A flow without a handshake
            // also starts at 1
            (*flow, *next) = (packet.flow, 1);
        }
        if segment.flags.has(Flags::PURE_ACK) {
            segment.seq = *next;
        }
        *next = (*next).max(segment.seq + segment.seq_len());
        segment
    }
}
