//! The identity of flows, and the header fields that classifiers hash.

/// A flow's slot (20 bits) and generation (12 bits).
///
/// When a connection has ended and none of its packets is in the network, another connection may use its slot. The generation
/// distinguishes the two connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

impl FlowId {
    /// Number of slots.
    pub const SLOTS: usize = 1 << 20;

    /// Combines a slot, which must be below 2^20, and a generation, of which only the value modulo 2^12 is kept.
    #[inline]
    pub const fn new(slot: u32, generation: u32) -> Self {
        Self(slot | generation << 20)
    }
    /// Returns the index into the flow table.
    #[inline]
    pub const fn slot(self) -> usize {
        (self.0 & 0xf_ffff) as usize
    }
    /// Returns the number of flows that used the slot before this flow, modulo 2^12.
    #[inline]
    pub const fn generation(self) -> u32 {
        self.0 >> 20
    }
}

/// Transport protocol: its number in the IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Protocol(pub u8);

impl Protocol {
    /// ICMP, and in [`crate::header`] also ICMPv6.
    pub const ICMP: Self = Self(1);
    /// TCP.
    pub const TCP: Self = Self(6);
    /// UDP.
    pub const UDP: Self = Self(17);
    /// DCCP.
    pub const DCCP: Self = Self(33);
    /// SCTP.
    pub const SCTP: Self = Self(132);
    /// UDP-Lite.
    pub const UDP_LITE: Self = Self(136);
}

impl Default for Protocol {
    fn default() -> Self {
        Self::TCP
    }
}

/// The 5-tuple of a flow in its forward direction, and its DSCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FlowTuple {
    /// Address of the initiator.
    pub src: u32,
    /// Address of the responder.
    pub dst: u32,
    /// Port of the initiator.
    pub sport: u16,
    /// Port of the responder.
    pub dport: u16,
    /// Protocol.
    pub protocol: Protocol,
    /// Differentiated services code point.
    pub dscp: u8,
}

impl FlowTuple {
    /// Returns the tuple of packets in the reverse direction.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { src: self.dst, dst: self.src, sport: self.dport, dport: self.sport, ..self }
    }
}

/// The 5-tuples of flows, by slot. The host writes the table, and classifiers read it. The tuple of a flow must stay while
/// packets of the flow exist, even if the flow has ended.
#[derive(Clone, Debug, Default)]
pub struct FlowTable {
    tuples: Vec<FlowTuple>,
    /// For each flow with segmentation offload, the size of a full segment on the wire in the forward and in the
    /// reverse direction. The index is the flow's slot.
    frames: Vec<(FlowId, [u16; 2])>,
}

impl FlowTable {
    /// Sets the tuple of `flow`, growing the table as needed.
    pub fn set(&mut self, flow: FlowId, tuple: FlowTuple) {
        let slot = flow.slot();
        if slot >= self.tuples.len() {
            self.tuples.resize(slot + 1, FlowTuple::default());
        }
        self.tuples[slot] = tuple;
    }

    /// Returns the tuple of `flow` in its forward direction, or the default tuple if none was set. Only the slot
    /// counts, not the generation.
    #[inline]
    pub fn get(&self, flow: FlowId) -> FlowTuple {
        self.tuples.get(flow.slot()).copied().unwrap_or_default()
    }

    /// Stores the size of a full segment of `flow` on the wire, in bytes, for the forward and for the reverse
    /// direction. Without these sizes, [`PacketMeta::segments`](crate::PacketMeta::segments) counts any packet as one
    /// segment.
    pub fn set_frames(&mut self, flow: FlowId, bytes: [u16; 2]) {
        let slot = flow.slot();
        if slot >= self.frames.len() {
            self.frames.resize(slot + 1, (FlowId::default(), [0; 2]));
        }
        self.frames[slot] = (flow, bytes);
    }

    /// Returns the sizes that [`FlowTable::set_frames`] set for this flow; `None` or zeros if the slot has no sizes,
    /// and `None` if the sizes belong to another flow that used the slot.
    #[inline]
    pub(crate) fn frames(&self, flow: FlowId) -> Option<[u16; 2]> {
        self.frames.get(flow.slot()).filter(|(of, _)| *of == flow).map(|(_, bytes)| *bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slot_and_generation_pack() {
        let f = FlowId::new(0xf_ffff, 0xfff);
        assert_eq!((f.slot(), f.generation()), (0xf_ffff, 0xfff));
        assert_eq!(FlowId::new(3, 0x1001).generation(), 1);
    }

    #[test]
    fn unknown_flows_have_the_default_tuple() {
        let mut t = FlowTable::default();
        t.set(FlowId::new(2, 9), FlowTuple { dport: 80, ..Default::default() });
        assert_eq!(t.get(FlowId::new(2, 9)).reversed().sport, 80);
        assert_eq!(t.get(FlowId::new(7, 0)), FlowTuple::default());
    }
}
