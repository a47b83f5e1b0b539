//! The vocabulary of facts, and the sinks that take them.
//!
//! A run speaks in [`Record`]s: small values, made only if a sink's mask asks for their kind, handed over in simulated
//! order. Measures are sinks that reduce; a trace is a sink that keeps. Sinks are generic in the loop, never `dyn`, so a
//! sink that wants nothing costs nothing. [`pcap`] is the format of capture files.

pub mod pcap;
mod trace;

pub use trace::{CHUNK_ROWS, Chunk, Column, Data, Trace};

use packet::{DropReason, FlowId, FlowTuple, MarkReason, PacketMeta, Point};
use tcp::Segment;
use units::{Duration, Time};

/// Index of a link in the world's link table (in a live bench: 0 and 1, the two directions).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u16);

/// One fact. The moment is given beside it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Record {
    /// A packet entered a queue; the backlog includes it.
    Enqueued {
        /// Whose queue.
        link: LinkId,
        /// The packet's flow.
        flow: FlowId,
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
        /// The packet's bytes on the wire.
        size: u16,
        /// Why.
        reason: DropReason,
        /// On which side of the queue.
        point: Point,
    },
    /// A packet was marked with CE.
    Marked {
        /// Whose queue.
        link: LinkId,
        /// The packet's flow.
        flow: FlowId,
        /// Why.
        reason: MarkReason,
        /// On which side of the queue.
        point: Point,
    },
    /// A packet with payload reached its end host.
    Delivered {
        /// The packet's flow.
        flow: FlowId,
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

    /// True when every kind of `other` is asked for.
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
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

/// A packet at an end of a link, with what its segment says and its hosts keep.
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
    /// Its segment; none of a datagram.
    pub segment: Option<&'a Segment>,
}

/// Takes records.
pub trait Sink {
    /// Whether it wants packets ([`Sink::packet`]). Known when a run is compiled, so that others pay nothing for it.
    const PACKETS: bool = false;
    /// The kinds this sink wants. Tested before a record is built.
    fn mask(&self) -> Mask;
    /// One record of a wanted kind, at `now`.
    fn put(&mut self, now: Time, record: Record);
    /// A packet is at an end of a link, at `now`. Only for those with [`Sink::PACKETS`].
    fn packet(&mut self, _now: Time, _passing: &Passing<'_>) {}
}

/// Wants nothing.
impl Sink for () {
    #[inline]
    fn mask(&self) -> Mask {
        Mask::NONE
    }
    #[inline]
    fn put(&mut self, _: Time, _: Record) {}
}

/// Keeps everything: for tests and short traces.
#[derive(Clone, Debug, Default)]
pub struct Tape {
    /// Records in order, each with its moment.
    pub records: Vec<(Time, Record)>,
}

impl Sink for Tape {
    fn mask(&self) -> Mask {
        Mask::ALL
    }
    fn put(&mut self, now: Time, record: Record) {
        self.records.push((now, record));
    }
}

/// Feeds two sinks, each with the kinds that it wants.
impl<A: Sink, B: Sink> Sink for (A, B) {
    const PACKETS: bool = A::PACKETS || B::PACKETS;
    #[inline]
    fn mask(&self) -> Mask {
        self.0.mask().with(self.1.mask())
    }
    #[inline]
    fn put(&mut self, now: Time, record: Record) {
        let kind = record.kind();
        if self.0.mask().has(kind) {
            self.0.put(now, record);
        }
        if self.1.mask().has(kind) {
            self.1.put(now, record);
        }
    }
    fn packet(&mut self, now: Time, passing: &Passing<'_>) {
        self.0.packet(now, passing);
        self.1.packet(now, passing);
    }
}

/// Feeds what is borrowed: a caller that keeps its sink lends it to a run.
impl<S: Sink> Sink for &mut S {
    const PACKETS: bool = S::PACKETS;
    #[inline]
    fn mask(&self) -> Mask {
        (**self).mask()
    }
    #[inline]
    fn put(&mut self, now: Time, record: Record) {
        (**self).put(now, record);
    }
    fn packet(&mut self, now: Time, passing: &Passing<'_>) {
        (**self).packet(now, passing);
    }
}

/// Feeds many sinks of one type (a meter for each link), each with the kinds that it wants.
impl<S: Sink> Sink for Vec<S> {
    fn mask(&self) -> Mask {
        self.iter().fold(Mask::NONE, |m, s| m.with(s.mask()))
    }
    #[inline]
    fn put(&mut self, now: Time, record: Record) {
        let kind = record.kind();
        self.iter_mut().filter(|s| s.mask().has(kind)).for_each(|s| s.put(now, record));
    }
}

/// A sink that may be absent.
impl<S: Sink> Sink for Option<S> {
    #[inline]
    fn mask(&self) -> Mask {
        self.as_ref().map_or(Mask::NONE, Sink::mask)
    }
    #[inline]
    fn put(&mut self, now: Time, record: Record) {
        if let Some(s) = self {
            s.put(now, record);
        }
    }
}

/// One record of each kind, in the order of their bits.
#[cfg(test)]
pub(crate) fn samples() -> [Record; 6] {
    let (link, flow, size) = (LinkId(2), FlowId(3), 1500);
    [
        Record::Enqueued { link, flow, size, backlog_packets: 1, backlog_bytes: 1500 },
        Record::Dequeued { link, flow, size, backlog_packets: 0, sojourn: Duration::from_millis(5) },
        Record::Dropped { link, flow, size, reason: DropReason::EarlyHead, point: Point::Dequeue },
        Record::Marked { link, flow, reason: MarkReason::Law, point: Point::Enqueue },
        Record::Delivered { flow, size, reverse: false, delay: Duration::from_millis(30) },
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

    /// Wants some kinds and refuses to be given others.
    struct Picky(Mask, usize);
    impl Sink for Picky {
        fn mask(&self) -> Mask {
            self.0
        }
        fn put(&mut self, _: Time, record: Record) {
            assert!(self.0.has(record.kind()));
            self.1 += 1;
        }
    }

    #[test]
    fn compound_sinks_give_each_what_it_wants() {
        let picky = |m| Picky(m, 0);
        let mut sink = ((picky(Mask::DROPPED), Tape::default()), (vec![picky(Mask::SENDER), picky(Mask::DROPPED)], ()));
        for r in samples() {
            sink.put(Time::ZERO, r);
        }
        let ((a, tape), (many, ())) = sink;
        assert_eq!((a.1, tape.records.len(), many[0].1, many[1].1), (1, 6, 1, 1));
        let mut lent = Tape::default();
        let mut pair = (Some(&mut lent), None::<Tape>);
        assert_eq!((pair.mask(), None::<Tape>.mask()), (Mask::ALL, Mask::NONE));
        pair.put(Time(1), samples()[0]);
        assert_eq!(lent.records.len(), 1);
    }
}
