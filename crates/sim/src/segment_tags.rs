//! Whole segments beside their packets, for sinks that capture packets ([`record::Sink::PACKETS`]).
//!
//! A packet omits the fields that its receiver does not need (see `codec`), but a capture needs all of them. In such a run the `body`
//! of every packet is the index of a tag, which holds its segment and its own `body`. The latter is restored when the packet is
//! delivered or dropped.

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
#[derive(Debug, Default)]
pub(crate) struct SegmentTags {
    all: Arena<Tag>,
    /// By flow and direction: the next new byte, which is the `seq` of a pure ACK; a sender leaves it out.
    next: Vec<(FlowId, u64)>,
}

impl SegmentTags {
    /// Tags a packet that starts with its `segment`.
    pub(crate) fn put(&mut self, packet: &mut PacketMeta, segment: Option<&Segment>) {
        let segment = segment.map(|s| self.numbered(packet, *s));
        packet.body = self.all.put(Tag { body: packet.body, segment });
    }

    /// Removes the tag of a packet that was delivered or dropped.
    pub(crate) fn take(&mut self, packet: &mut PacketMeta) {
        packet.body = self.all.take(packet.body).body;
    }

    /// The segment of a packet in flight.
    pub(crate) fn segment(&self, packet: &PacketMeta) -> Option<&Segment> {
        self.all.get(packet.body)?.segment.as_ref()
    }

    /// Packets in flight.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Adds the sequence number of a pure ACK: that of the next new byte.
    fn numbered(&mut self, packet: &PacketMeta, mut segment: Segment) -> Segment {
        let direction = 2 * packet.flow.slot() + usize::from(packet.flags.has(Flags::REVERSE));
        if direction >= self.next.len() {
            self.next.resize(direction + 1, (packet.flow, 1));
        }
        let (flow, next) = &mut self.next[direction];
        if *flow != packet.flow {
            // the first byte after the SYN; without a handshake a flow starts there, too
            (*flow, *next) = (packet.flow, 1);
        }
        if segment.flags.has(Flags::PURE_ACK) {
            segment.seq = *next;
        }
        *next = (*next).max(segment.seq + segment.seq_len());
        segment
    }
}
