//! Packets whole, for runs that look at them ([`record::Sink::PACKETS`]).
//!
//! A packet leaves out what its receiver does not read or already knows (see `codec`). A capture wants it all: so in a run
//! that looks at packets every one carries, in `body`, the index of a tag that holds its segment and its own `body`. Where
//! it is delivered or dropped it gets that back.

use crate::arena::Arena;
use packet::{Flags, FlowId, PacketMeta};
use tcp::Segment;

/// The tag of a packet in flight.
#[derive(Clone, Copy, Debug)]
struct Tag {
    body: u32,
    /// None of a datagram.
    segment: Option<Segment>,
}

/// The packets in flight.
#[derive(Debug, Default)]
pub(crate) struct Tags {
    all: Arena<Tag>,
    /// By flow and direction: the next new byte. A pure ACK's `seq` is left out by its sender, who would have to look it up.
    next: Vec<(FlowId, u64)>,
}

impl Tags {
    /// `packet` sets out; `segment` is what its sender meant by it.
    pub(crate) fn put(&mut self, packet: &mut PacketMeta, segment: Option<&Segment>) {
        let segment = segment.map(|s| self.numbered(packet, *s));
        packet.body = self.all.put(Tag { body: packet.body, segment });
    }

    /// `packet` is at the end of its way.
    pub(crate) fn take(&mut self, packet: &mut PacketMeta) {
        packet.body = self.all.take(packet.body).body;
    }

    /// The segment of a packet under way.
    pub(crate) fn segment(&self, packet: &PacketMeta) -> Option<&Segment> {
        self.all.get(packet.body)?.segment.as_ref()
    }

    /// Packets under way.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// The segment with a sequence number, also if it is a pure ACK: that of the next new byte.
    fn numbered(&mut self, packet: &PacketMeta, mut segment: Segment) -> Segment {
        let direction = 2 * packet.flow.slot() + usize::from(packet.flags.has(Flags::REVERSE));
        if direction >= self.next.len() {
            self.next.resize(direction + 1, (packet.flow, 1));
        }
        let (flow, next) = &mut self.next[direction];
        if *flow != packet.flow {
            // the first byte behind the SYN; without a handshake it begins there, too
            (*flow, *next) = (packet.flow, 1);
        }
        if segment.flags.has(Flags::PURE_ACK) {
            segment.seq = *next;
        }
        *next = (*next).max(segment.seq + segment.seq_len());
        segment
    }
}
