//! One packet as queues see it.

use crate::FlowId;
use units::Time;

/// A host or router of the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u16);

/// The ECN field of the IP header.   Source: RFC 3168 §5, RFC 9331 §2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct = 0,
    /// ECN-capable, L4S identifier.
    Ect1 = 1,
    /// ECN-capable, classic.
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

/// What kind of packet this is, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// A TCP segment without payload, SYN or FIN: [`PacketMeta::seq`] is its cumulative ACK number.
    pub const PURE_ACK: Self = Self(1);
    /// SYN.
    pub const SYN: Self = Self(2);
    /// FIN.
    pub const FIN: Self = Self(4);
    /// Carries at least one SACK block.
    pub const SACK: Self = Self(8);
    /// ECN echo.
    pub const ECE: Self = Self(16);
    /// Congestion window reduced.
    pub const CWR: Self = Self(32);
    /// `body` holds a time stamp in microseconds (modulo 2^32) instead of an index into the host's arena.
    pub const INLINE: Self = Self(64);
    /// Travels from the flow's responder to its initiator.
    pub const REVERSE: Self = Self(128);

    /// True when every bit of `other` is set.
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
    /// True when at least one bit of `other` is set.
    #[inline]
    pub const fn any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
    /// Both sets of bits.
    #[inline]
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The smallest IP packet: an IPv4 header (20, RFC 791) and a UDP or ICMP header (8, RFC 768, 792), nothing in it. TCP's
/// smallest is 40. A queue with room for less could hold no packet.   Unit: bytes.
pub const LEAST_BYTES: u64 = 28;

/// A packet: 32 bytes, plain data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketMeta {
    /// Owned by whoever holds the packet: the moment of enqueue inside a queue, the moment of arrival on a link.
    pub stamp: Time,
    /// Data: offset of the first payload byte in the stream. Pure ACK: the cumulative ACK. Datagram: its number.
    pub seq: u64,
    /// The flow it belongs to.
    pub flow: FlowId,
    /// Index into the host's arena, or a time stamp (see [`Flags::INLINE`]).
    pub body: u32,
    /// Bytes on the wire, every header included (an IP packet's length is 16 bits, too).
    pub size: u16,
    /// Where it is going.
    pub dst: NodeId,
    /// ECN in the lower two bits, DSCP in the upper six, as in the IP header.
    pub tos: u8,
    /// Traffic class, written once by a port's ingress classifier.
    pub class: u8,
    /// Kind.
    pub flags: Flags,
    /// Segments it stands for (super-segments of offload); 1 for an ordinary packet.
    pub segs: u8,
}

const _: () = assert!(size_of::<PacketMeta>() == 32);

/// What a packet is without its stamp, as three integers.
///
/// A packet whose fields were just written one by one waits, when it is copied as a whole, until all of them have reached
/// the cache. Integers stay in registers, from the sender to the place in a link's ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packed {
    /// [`PacketMeta::seq`].
    pub seq: u64,
    /// From bit 0 on: flow (32 bits), body (32).
    pub whose: u64,
    /// From bit 0 on: size (16 bits), dst (16), tos, class, flags, segs (8 each).
    pub what: u64,
}

impl Packed {
    /// Bytes on the wire.
    #[inline(always)]
    pub fn size(self) -> u16 {
        self.what as u16
    }

    /// The packet, with this stamp.
    #[inline(always)]
    pub fn at(self, stamp: Time) -> PacketMeta {
        let Self { seq, whose, what } = self;
        PacketMeta {
            stamp,
            seq,
            flow: FlowId(whose as u32),
            body: (whose >> 32) as u32,
            size: what as u16,
            dst: NodeId((what >> 16) as u16),
            tos: (what >> 32) as u8,
            class: (what >> 40) as u8,
            flags: Flags((what >> 48) as u8),
            segs: (what >> 56) as u8,
        }
    }
}

impl PacketMeta {
    /// All but the stamp.
    #[inline(always)]
    pub fn packed(&self) -> Packed {
        let Self { seq, flow, body, size, dst, tos, class, flags, segs, .. } = *self;
        let bytes = u64::from(tos) | u64::from(class) << 8 | u64::from(flags.0) << 16 | u64::from(segs) << 24;
        Packed {
            seq,
            whose: u64::from(flow.0) | u64::from(body) << 32,
            what: u64::from(size) | u64::from(dst.0) << 16 | bytes << 32,
        }
    }

    /// Bytes on the wire.
    #[inline]
    pub fn bytes(&self) -> u64 {
        u64::from(self.size)
    }

    /// The ECN field.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        match self.tos & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// Overwrites the ECN field.
    #[inline]
    pub fn set_ecn(&mut self, ecn: Ecn) {
        self.tos = self.tos & !3 | ecn as u8;
    }

    /// Marks an ECN-capable packet with CE; false if it is not ECN-capable.
    #[inline]
    pub fn mark_ce(&mut self) -> bool {
        let capable = self.tos & 3 != 0;
        if capable {
            self.tos |= 3;
        }
        capable
    }

    /// The cumulative ACK number, if this is a pure ACK.
    #[inline]
    pub fn ack_number(&self) -> Option<u64> {
        self.flags.has(Flags::PURE_ACK).then_some(self.seq)
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
            flags: Flags(248),
            segs: 247,
        };
        assert_eq!(p.packed().at(p.stamp), p);
        assert_eq!(p.packed().size(), p.size);
    }

    #[test]
    fn only_a_pure_ack_has_an_ack_number() {
        let mut p = PacketMeta { seq: 2921, ..Default::default() };
        assert_eq!(p.ack_number(), None);
        p.flags = Flags::PURE_ACK;
        assert_eq!(p.ack_number(), Some(2921));
    }
}
