//! Records of a run, and the links and flows they belong to.

use packet::{DropReason, FlowId, FlowTuple, MarkReason, PacketMeta, Point, Reading};
use tcp::Segment;
use units::Duration;

/// Index of a link in the world's link table (in a live bench: 0 and 1, the two directions).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u16);

/// One record. Its time is passed separately.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Record {
    /// A packet entered a queue; the backlog includes it.
    Enqueued {
        /// Whose queue.
        link: LinkId,
        /// The packet's flow.
        flow: FlowId,
        /// It travels from the flow's responder to its initiator.
        reverse: bool,
        /// [`PacketMeta::seq`].
        seq: u64,
        /// The packet's bytes on the wire.
        size: u16,
        /// Packets in the queue.
        backlog_packets: u32,
        /// Bytes on the wire in the queue.
        backlog_bytes: u64,
    },
    /// A packet left a queue for transmission; the backlog no longer includes it.
    Dequeued {
        /// Whose queue.
        link: LinkId,
        /// The packet's flow.
        flow: FlowId,
        /// It travels from the flow's responder to its initiator.
        reverse: bool,
        /// [`PacketMeta::seq`].
        seq: u64,
        /// The packet's bytes on the wire.
        size: u16,
        /// Packets left in the queue.
        backlog_packets: u32,
        /// Time from the packet's enqueue to now.
        sojourn: Duration,
    },
    /// A packet was dropped.
    Dropped {
        /// Whose queue.
        link: LinkId,
        /// The packet's flow.
        flow: FlowId,
        /// It travels from the flow's responder to its initiator.
        reverse: bool,
        /// [`PacketMeta::seq`].
        seq: u64,
        /// The packet's bytes on the wire.
        size: u16,
        /// Why.
        reason: DropReason,
        /// On which side of the queue.
        point: Point,
        /// Time since its arrival at the queue.
        sojourn: Duration,
    },
    /// A packet was marked with CE.
    Marked {
        /// Whose queue.
        link: LinkId,
        /// The packet's flow.
        flow: FlowId,
        /// It travels from the flow's responder to its initiator.
        reverse: bool,
        /// [`PacketMeta::seq`].
        seq: u64,
        /// The packet's bytes on the wire.
        size: u16,
        /// Why.
        reason: MarkReason,
        /// On which side of the queue.
        point: Point,
    },
    /// A packet with payload reached its end host.
    Delivered {
        /// The packet's flow.
        flow: FlowId,
        /// [`PacketMeta::seq`].
        seq: u64,
        /// The packet's bytes on the wire.
        size: u16,
        /// It travelled from the flow's responder to its initiator.
        reverse: bool,
        /// One way, from the host that sent it (1 us resolution).
        delay: Duration,
    },
    /// The state of one end of a connection, as a sender, after anything that may have changed it.
    Sender {
        /// The sender's flow.
        flow: FlowId,
        /// It is the flow's responder: its data travel in the reverse direction.
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
    /// The bit of this record's kind.
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

/// Kinds of records as bits.
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
    /// These kinds except `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
    /// Both sets of kinds.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// An end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkEnd {
    /// Where packets arrive at its queue.
    Near,
    /// Where they come out.
    Far,
}

/// A packet at an end of a link, with its segment and its flow's addresses.
#[derive(Clone, Copy, Debug)]
pub struct Passing<'a> {
    /// Which link.
    pub link: LinkId,
    /// Which end.
    pub end: LinkEnd,
    /// The packet as queues see it, but for `body`.
    pub packet: &'a PacketMeta,
    /// Its flow's addresses and ports, in the flow's forward direction.
    pub tuple: FlowTuple,
    /// Its segment; none for a datagram.
    pub segment: Option<&'a Segment>,
}

/// The subject of a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A link: its queue, what serves it, and the law.
    Link(LinkId),
    /// One end of a connection as a sender.
    Sender {
        /// Its flow.
        flow: FlowId,
        /// It is the flow's responder.
        reverse: bool,
    },
}

/// The owner of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Whose {
    /// Number of the application, in the order of names.
    pub app: u16,
    /// Number of the flow within the application: all connections of a user are one.
    pub flow: u32,
    /// Number of the connection within the application, from 1.
    pub connection: u32,
}

/// Something whose state can be read.
pub trait Probed {
    /// Reads the state around it, such as the backlog of a law's queue.
    fn around(&self, _out: &mut Reading<'_>) {}
    /// Reads its own state, which decides whether it changed.
    fn own(&self, out: &mut Reading<'_>);
}

/// One record of each kind, in the order of their bits.
#[cfg(test)]
pub(crate) fn samples() -> [Record; 6] {
    let (link, flow, reverse, seq, size) = (LinkId(2), FlowId(3), false, 2896, 1500);
    let sojourn = Duration::from_millis(5);
    [
        Record::Enqueued { link, flow, reverse, seq, size, backlog_packets: 1, backlog_bytes: 1500 },
        Record::Dequeued { link, flow, reverse, seq, size, backlog_packets: 0, sojourn },
        Record::Dropped {
            link,
            flow,
            reverse,
            seq,
            size,
            reason: DropReason::EarlyHead,
            point: Point::Dequeue,
            sojourn,
        },
        Record::Marked { link, flow, reverse, seq, size, reason: MarkReason::Law, point: Point::Enqueue },
        Record::Delivered { flow, reverse, seq, size, delay: Duration::from_millis(30) },
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
