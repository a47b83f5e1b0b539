//! Records of a run, and the ids of the links and flows they belong to.

use packet::{DropReason, Flags, FlowId, FlowTuple, MarkReason, PacketMeta, Point, Reading};
use tcp::Segment;
use units::Duration;

/// Number of a one-way link: its index among all one-way links, in name order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u16);

/// The properties of a packet that a record contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketId {
    /// The packet's [`PacketMeta::seq`].
    pub seq: u64,
    /// The packet's flow.
    pub flow: FlowId,
    /// Bytes on the wire.
    pub size: u16,
    /// True if the packet travels from the flow's responder to its initiator.
    pub reverse: bool,
}

impl From<&PacketMeta> for PacketId {
    #[inline]
    fn from(p: &PacketMeta) -> Self {
        Self { seq: p.seq, flow: p.flow, size: p.size, reverse: p.flags.has(Flags::REVERSE) }
    }
}

/// An event of a run. Its time is passed separately.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Record {
    /// A packet entered a queue; the backlog includes it.
    Enqueued {
        /// The link whose queue the packet entered.
        link: LinkId,
        /// The packet.
        packet: PacketId,
        /// Packets in the queue.
        backlog_packets: u32,
        /// Bytes in the queue: the sum of the packets' sizes on the wire.
        backlog_bytes: u64,
    },
    /// A packet left a queue for transmission; the backlog no longer includes it.
    Dequeued {
        /// The link whose queue the packet left.
        link: LinkId,
        /// The packet.
        packet: PacketId,
        /// Packets left in the queue.
        backlog_packets: u32,
        /// Time since the packet was enqueued.
        sojourn: Duration,
    },
    /// A packet was dropped.
    Dropped {
        /// The link that dropped the packet; number 65535 if the end host dropped it ([`DropReason::FlowGone`]).
        link: LinkId,
        /// The packet.
        packet: PacketId,
        /// The reason.
        reason: DropReason,
        /// The event at which the packet was dropped: an arrival, or the packet's departure (also for a loss after it).
        point: Point,
        /// Time since the packet's arrival at the queue; zero if the end host dropped it.
        sojourn: Duration,
    },
    /// A packet was marked with CE.
    Marked {
        /// The link whose queue marked the packet.
        link: LinkId,
        /// The packet.
        packet: PacketId,
        /// The reason.
        reason: MarkReason,
        /// When the decision was made: on arrival, or on departure from the head of the queue.
        point: Point,
    },
    /// A packet with payload reached its end host.
    Delivered {
        /// The packet.
        packet: PacketId,
        /// One-way delay from the sending host, with a resolution of 1 us.
        delay: Duration,
    },
    /// The state of the sender at one end of a TCP connection, after an event that may have changed this state.
    Sender {
        /// The sender's flow.
        flow: FlowId,
        /// True for the flow's responder, whose data travels in the reverse direction.
        reverse: bool,
        /// Congestion window in bytes.
        cwnd: u32,
        /// Slow start threshold in bytes; `u32::MAX` while it is infinite.
        ssthresh: u32,
        /// Smoothed round trip time in microseconds, rounded up; 0 before the first sample.
        srtt_us: u32,
    },
}

impl Record {
    /// Returns the kind of this record.
    #[inline]
    pub const fn kind(&self) -> Mask {
        match self {
            Self::Enqueued { .. } => Mask::ENQUEUED,
            Self::Dequeued { .. } => Mask::DEQUEUED,
            Self::Dropped { .. } => Mask::DROPPED,
            Self::Marked { .. } => Mask::MARKED,
            Self::Delivered { .. } => Mask::DELIVERED,
            Self::Sender { .. } => Mask::SENDER,
        }
    }
}

const _: () = assert!(size_of::<Record>() <= 32);

/// A set of kinds of records, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mask(pub u8);

impl Mask {
    /// No record.
    pub const NONE: Self = Self(0);
    /// [`Record::Enqueued`].
    pub const ENQUEUED: Self = Self(1);
    /// [`Record::Dequeued`].
    pub const DEQUEUED: Self = Self(2);
    /// [`Record::Dropped`].
    pub const DROPPED: Self = Self(4);
    /// [`Record::Marked`].
    pub const MARKED: Self = Self(8);
    /// [`Record::Delivered`].
    pub const DELIVERED: Self = Self(16);
    /// [`Record::Sender`].
    pub const SENDER: Self = Self(32);
    /// Every record.
    pub const ALL: Self = Self(63);

    /// Returns true if every kind of `other` is included.
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
    /// Returns these kinds minus those in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
    /// Returns the union of the two sets.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// An end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkEnd {
    /// The sending end, where the link's queue is.
    Near,
    /// The receiving end.
    Far,
}

/// A packet at an end of a link, with its segment and its flow's addresses.
#[derive(Clone, Copy, Debug)]
pub struct CapturedPacket<'a> {
    /// The link.
    pub link: LinkId,
    /// The end of the link.
    pub end: LinkEnd,
    /// The packet in the form in which queues handle it. Its field `body` is a number that identifies the packet until
    /// the packet is delivered or dropped.
    pub packet: &'a PacketMeta,
    /// The addresses and ports of the packet's flow, in the forward direction.
    pub tuple: FlowTuple,
    /// The packet's segment; `None` for a datagram.
    pub segment: Option<&'a Segment>,
    /// Bytes of a datagram from a user-supplied endpoint; `None` for all other packets.
    pub bytes: Option<&'a [u8]>,
}

/// The subject of a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A link, with its queue discipline and its transmitter.
    Link(LinkId),
    /// The sender at one end of a flow: the end of a TCP connection, or the rate controller of an application that
    /// sends datagrams.
    Sender {
        /// The sender's flow.
        flow: FlowId,
        /// True for the flow's responder.
        reverse: bool,
    },
}

/// The application and connection that a flow belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowOwner {
    /// Number of the application, counted in name order.
    pub app: u16,
    /// Number of the flow within the application, from 0. Only `ftp` has several flows; the connections of any other
    /// application count as one flow.
    pub flow: u32,
    /// Number of the connection within the application, from 1.
    pub connection: u32,
}

/// A link or sender whose state can be read.
pub trait Probed {
    /// Reads values that are recorded with the state but are not part of it, such as the link's backlog and rate. If
    /// only these values differ, the state counts as unchanged.
    fn around(&self, _out: &mut Reading<'_>) {}
    /// Reads the variables of the link's queue discipline, or of the sender. A sink that reports changes compares only
    /// these values.
    fn own(&self, out: &mut Reading<'_>);
}

/// Returns one record of each kind, in the order of the bits in [`Mask`].
#[cfg(test)]
pub(crate) fn samples() -> [Record; 6] {
    let (link, flow) = (LinkId(2), FlowId(3));
    let packet = PacketId { seq: 2896, flow, size: 1500, reverse: false };
    let sojourn = Duration::from_millis(5);
    let (reason, point) = (DropReason::EarlyHead, Point::Dequeue);
    [
        Record::Enqueued { link, packet, backlog_packets: 1, backlog_bytes: 1500 },
        Record::Dequeued { link, packet, backlog_packets: 0, sojourn },
        Record::Dropped { link, packet, reason, point, sojourn },
        Record::Marked { link, packet, reason: MarkReason::Law, point: Point::Enqueue },
        Record::Delivered { packet, delay: Duration::from_millis(30) },
        Record::Sender { flow, reverse: true, cwnd: 14_600, ssthresh: u32::MAX, srtt_us: 50_000 },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_bit() {
        let bits: Vec<u8> = samples().iter().map(|r| r.kind().0).collect();
        assert_eq!(bits, [1, 2, 4, 8, 16, 32]);
        assert_eq!(bits.iter().fold(0, |a, b| a | b), Mask::ALL.0);
        assert!(Mask::ALL.has(Mask::SENDER) && !Mask::NONE.has(Mask::SENDER));
    }
}
