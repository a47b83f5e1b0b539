//! A packet, with the fields that queues read.

use crate::{FlowId, FlowTable, FlowTuple};
use units::Time;

/// The number of a host or router in the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u16);

/// The ECN field of the IP header.   Source: RFC 3168 §5, RFC 9331 §2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct = 0,
    /// ECN-capable transport ECT(1), which identifies L4S traffic.
    Ect1 = 1,
    /// ECN-capable transport, ECT(0), as used by classic ECN.
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// Returns the ECN field, the last two bits of the type of service `tos`.
    #[inline]
    pub const fn from_bits(tos: u8) -> Self {
        match tos & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }
}

/// Packet flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u16);

impl Flags {
    /// A pure ACK: a TCP segment that acknowledges, has no payload, and has none of the flags SYN, FIN and RST. The field
    /// [`PacketMeta::seq`] holds its cumulative ACK number.
    pub const PURE_ACK: Self = Self(1);
    /// SYN.
    pub const SYN: Self = Self(2);
    /// FIN.
    pub const FIN: Self = Self(4);
    /// The segment carries at least one SACK block.
    pub const SACK: Self = Self(8);
    /// ECN echo.   Source: RFC 3168 §6.1.
    pub const ECE: Self = Self(16);
    /// Congestion window reduced.   Source: RFC 3168 §6.1.
    pub const CWR: Self = Self(32);
    /// `body` holds a timestamp in microseconds (modulo 2^32) instead of an index into the host's arena.
    pub const INLINE: Self = Self(64);
    /// Set on packets from the flow's responder to its initiator.
    pub const REVERSE: Self = Self(128);
    /// Accurate ECN (AE), the third ECN bit of the TCP header, alongside CWR and ECE.   Source: RFC 9768 §3.
    pub const AE: Self = Self(256);
    /// AE, CWR and ECE form one 3-bit number ([`Flags::ace`]) instead of three signals, because both ends have negotiated AccECN.
    /// Not a bit on the wire.
    pub const ACE: Self = Self(512);
    /// The segment carries an AccECN option.   Source: RFC 9768 §3.2.3.
    pub const ACCECN_OPTION: Self = Self(1024);
    /// The SACK blocks cover all data that the receiver holds out of order. Set only if there are one or two blocks and
    /// none reports a duplicate (RFC 2883). Not a bit on the wire, but derived from the blocks.
    pub const SACK_WHOLE: Self = Self(2048);
    /// A datagram whose bytes are in the host's arena, at index `body`. The flag has the same bit as
    /// [`Flags::SACK_WHOLE`], which only ACKs use. Not a bit on the wire.
    pub const BYTES: Self = Self(2048);
    /// Push: the last segment of a burst of several segments, or of the data that the application has written.
    /// Source: RFC 9293 §3.9.1.2; Linux.
    pub const PSH: Self = Self(4096);
    /// The packet holds several segments, and may be split by a device (TSO) or a queue. Its size includes the headers of every
    /// segment. Source: Linux's SKB_GSO_TCPV4.
    pub const GSO: Self = Self(8192);
    /// The socket counts this packet while it is in the queue or the device of its own host (TCP small queues). Not a bit on the
    /// wire.
    pub const LOCAL: Self = Self(16_384);
    /// The segment announces the receive window, because it may change during the connection. This flag does not exist on
    /// the wire, where every TCP header has a window field.
    pub const WINDOW: Self = Self(32_768);
    /// The ECN bits of a TCP header.
    pub const ECN: Self = Self(Self::AE.0 | Self::CWR.0 | Self::ECE.0);

    /// Returns true if every bit of `other` is set.
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
    /// Returns true if at least one bit of `other` is set.
    #[inline]
    pub const fn any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
    /// Returns the flags that are set in `self`, in `other`, or in both.
    #[inline]
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// Returns the flags that are set in both `self` and `other`.
    #[inline]
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
    /// Returns the ECN bits as a number: AE counts 4, CWR 2, ECE 1.   Source: RFC 9768 §3.2.2.
    #[inline]
    pub const fn ace(self) -> u8 {
        // in `Flags`, ECE is bit 4, CWR bit 5 and AE bit 8
        (self.0 >> 4 & 3 | self.0 >> 6 & 4) as u8
    }
    /// Returns these flags with the ECN bits set to `number` modulo 8.
    #[inline]
    #[must_use]
    pub const fn with_ace(self, number: u8) -> Self {
        let n = number as u16;
        Self(self.0 & !Self::ECN.0 | (n & 3) << 4 | (n & 4) << 6)
    }
}

/// Size of the smallest UDP or ICMP packet: an IPv4 header (20 bytes, RFC 791) and a UDP or ICMP header (8 bytes,
/// RFC 768, RFC 792), without payload. The smallest TCP packet is 40 bytes. A queue with room for fewer than 28 bytes
/// could not hold any packet of these protocols. Unit: bytes.
pub const LEAST_BYTES: u64 = 28;

/// A packet, which is 32 bytes of plain data.
///
/// Its fields have the order of the integers in [`Packed`], so that packing and unpacking move whole integers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct PacketMeta {
    /// A time written by the component that holds the packet: the sending host writes the send time, a queue the
    /// enqueue time, and a link the time of arrival at its far end.
    pub stamp: Time,
    /// For data, the offset of the first payload byte in the stream; for a pure ACK, the cumulative ACK number; for a datagram,
    /// its number.
    pub seq: u64,
    /// The flow that the packet belongs to.
    pub flow: FlowId,
    /// Index into the host's arena, or a timestamp (see [`Flags::INLINE`]).
    pub body: u32,
    /// Bytes on the wire, including all headers. 16 bits are enough, as in the length field of an IP header.
    pub size: u16,
    /// Destination node.
    pub dst: NodeId,
    /// ECN in the lower two bits, DSCP in the upper six, as in the IP header.
    pub tos: u8,
    /// Class that a discipline gave the packet on arrival. Some disciplines do not use this field.
    pub class: u8,
    /// Flags.
    pub flags: Flags,
}

const _: () = assert!(size_of::<PacketMeta>() == 32);

/// A packet without its `stamp`, packed into three integers for speed.
///
/// If the fields of a packet have just been written one by one, the CPU cannot copy the packet until all the fields
/// have reached the cache. The three integers avoid this wait, because they stay in registers from the sender to the
/// slot in a link's ring, and from there to the receiver. Functions that are not inlined take the integers as three
/// parameters, because a struct of 24 bytes is passed in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packed {
    /// [`PacketMeta::seq`].
    pub seq: u64,
    /// Starting at bit 0: flow (32 bits), body (32 bits).
    pub flow_body: u64,
    /// Starting at bit 0: size (16 bits), dst (16), tos (8), class (8), flags (16).
    pub rest: u64,
}

impl Packed {
    /// Returns the packet's size on the wire, in bytes.
    #[inline(always)]
    pub fn size(self) -> u16 {
        self.rest as u16
    }

    /// Returns the packet's destination node.
    #[inline(always)]
    pub fn dst(self) -> NodeId {
        NodeId((self.rest >> 16) as u16)
    }

    /// Returns the flow that the packet belongs to.
    #[inline(always)]
    pub fn flow(self) -> FlowId {
        FlowId(self.flow_body as u32)
    }

    /// Returns the packet's flags.
    #[inline(always)]
    pub fn flags(self) -> Flags {
        Flags((self.rest >> 48) as u16)
    }

    /// Unpacks the packet, and sets its `stamp`.
    #[inline(always)]
    pub fn at(self, stamp: Time) -> PacketMeta {
        let Self { seq, flow_body, rest } = self;
        PacketMeta {
            stamp,
            seq,
            flow: self.flow(),
            body: (flow_body >> 32) as u32,
            size: rest as u16,
            dst: self.dst(),
            tos: (rest >> 32) as u8,
            class: (rest >> 40) as u8,
            flags: self.flags(),
        }
    }
}

impl PacketMeta {
    /// Packs all fields but the stamp.
    #[inline(always)]
    pub fn packed(&self) -> Packed {
        let Self { seq, flow, body, size, dst, tos, class, flags, .. } = *self;
        let bytes = u64::from(tos) | u64::from(class) << 8 | u64::from(flags.0) << 16;
        Packed {
            seq,
            flow_body: u64::from(flow.0) | u64::from(body) << 32,
            rest: u64::from(size) | u64::from(dst.0) << 16 | bytes << 32,
        }
    }

    /// Returns the packet's size on the wire, in bytes.
    #[inline]
    pub fn bytes(&self) -> u64 {
        u64::from(self.size)
    }

    /// Returns the 5-tuple of the packet's flow, in the direction of the packet.
    #[inline]
    pub fn tuple(&self, flows: &FlowTable) -> FlowTuple {
        let forward = flows.get(self.flow);
        if self.flags.has(Flags::REVERSE) { forward.reversed() } else { forward }
    }

    /// Returns the packet's flow and direction as one number.
    #[inline]
    pub fn directed_flow(&self) -> u64 {
        u64::from(self.flow.0) << 1 | u64::from(self.flags.has(Flags::REVERSE))
    }

    /// Returns the size of a full segment on the wire if the packet holds several segments ([`Flags::GSO`]) and `flows`
    /// has this size, otherwise the size of the packet.   Unit: bytes.
    #[inline]
    pub fn frame(&self, flows: &FlowTable) -> u16 {
        if self.flags.has(Flags::GSO) { self.frame_of_several(flows) } else { self.size }
    }

    #[cold]
    fn frame_of_several(&self, flows: &FlowTable) -> u16 {
        let both = flows.frames(self.flow).unwrap_or_default();
        let bytes = both[usize::from(self.flags.has(Flags::REVERSE))];
        if bytes == 0 { self.size } else { bytes.min(self.size) }
    }

    /// Returns the number of segments in the packet.
    #[inline]
    pub fn segments(&self, flows: &FlowTable) -> u32 {
        if self.flags.has(Flags::GSO) { u32::from(self.size.div_ceil(self.frame(flows).max(1))) } else { 1 }
    }

    /// Returns the ECN field.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.tos)
    }

    /// Overwrites the ECN field.
    #[inline]
    pub fn set_ecn(&mut self, ecn: Ecn) {
        self.tos = self.tos & !3 | ecn as u8;
    }

    /// If the packet is ECN-capable, marks it with CE and returns true. Otherwise leaves it unchanged and returns false.
    #[inline]
    pub fn mark_ce(&mut self) -> bool {
        let capable = self.tos & 3 != 0;
        if capable {
            self.tos |= 3;
        }
        capable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ecn_marks_only_capable_packets_and_keeps_the_dscp() {
        let mut p = PacketMeta { tos: 46 << 2, ..Default::default() };
        assert!(!p.mark_ce());
        p.set_ecn(Ecn::Ect0);
        assert!(p.mark_ce());
        assert_eq!((p.ecn(), p.tos >> 2), (Ecn::Ce, 46));
    }

    #[test]
    fn the_ecn_bits_are_a_number() {
        let others = Flags::PURE_ACK.with(Flags::SACK).with(Flags::ACE);
        for n in 0..8 {
            let f = others.with(Flags::ECN).with_ace(n);
            assert_eq!((f.ace(), f.and(others)), (n, others));
        }
        assert_eq!([Flags::AE, Flags::CWR, Flags::ECE].map(Flags::ace), [4, 2, 1]);
        assert_eq!(others.with_ace(8 + 3).ace(), 3);
    }

    #[test]
    fn packed_and_back() {
        let p = PacketMeta {
            stamp: Time(u64::MAX),
            seq: u64::MAX - 1,
            flow: FlowId(u32::MAX - 2),
            body: u32::MAX - 3,
            size: u16::MAX - 4,
            dst: NodeId(u16::MAX - 5),
            tos: 250,
            class: 249,
            flags: Flags(u16::MAX - 6),
        };
        assert_eq!(p.packed().at(p.stamp), p);
        assert_eq!((p.packed().size(), p.packed().dst()), (p.size, p.dst));
    }

    #[test]
    fn segments_are_counted_by_the_frames_of_their_flow() {
        let mut t = FlowTable::default();
        let flow = FlowId::new(2, 9);
        t.set_frames(flow, [1514, 600]);
        let packet = |flow, size, flags| PacketMeta { flow, size, flags, ..Default::default() };
        let counted = |p: PacketMeta| (p.segments(&t), p.frame(&t));
        // the first packet holds three full segments. The second holds three full segments and a fourth segment of 67
        // bytes: 66 bytes of headers and 1 byte of payload
        assert_eq!(counted(packet(flow, 3 * 1514, Flags::GSO)), (3, 1514));
        assert_eq!(counted(packet(flow, 3 * 1514 + 67, Flags::GSO)), (4, 1514));
        assert_eq!(counted(packet(flow, 1200, Flags::GSO.with(Flags::REVERSE))), (2, 600));
        assert_eq!(counted(packet(flow, 3000, Flags::default())), (1, 3000), "one large segment");
        // a packet counts as one segment if its flow has no frame size, or if a later flow has taken over the slot of
        // its flow in the table
        assert_eq!(counted(packet(FlowId::new(2, 8), 3000, Flags::GSO)), (1, 3000));
        assert_eq!(counted(packet(FlowId::new(5, 0), 3000, Flags::GSO)), (1, 3000));
    }
}
