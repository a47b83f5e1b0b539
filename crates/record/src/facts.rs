//! Facts, and the trait of what takes them.

use packet::{DropReason, FlowId, FlowTuple, MarkReason, PacketMeta, Point, Reading};
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
        /// How long ago it had come to the queue.
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

    /// True when every kind of `other` is asked for.
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
    /// These kinds but `other`.
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

    /// Whether it reads the state of links and senders (the methods below). Known when a run is compiled, as [`Sink::PACKETS`].
    const PROBES: bool = false;
    /// When it next wants to read everything that it [`wants`](Sink::wants); the run reads just before the events of that moment.
    fn next_look(&self) -> Time {
        Time::NEVER
    }
    /// Everything has been read for [`Sink::next_look`], which moves on.
    fn looked(&mut self) {}
    /// Whether it wants this state read: at its moments, or else after everything that may have `changed` it.
    fn wants(&self, _of: Subject, _changed: bool) -> bool {
        false
    }
    /// The state of `of` at `now`.
    fn read(&mut self, _now: Time, _of: Subject, _changed: bool, _state: &dyn Probed) {}
    /// A flow begins under this number.
    fn opened(&mut self, _flow: FlowId, _whose: Whose) {}
}

/// Whose state a reading tells.
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

/// Whose a flow is.
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
    /// What surrounds it: what waits in a law's queue, say.
    fn around(&self, _out: &mut Reading<'_>) {}
    /// Its own state: what counts as a change.
    fn own(&self, out: &mut Reading<'_>);
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
    const PROBES: bool = A::PROBES || B::PROBES;
    fn next_look(&self) -> Time {
        self.0.next_look().min(self.1.next_look())
    }
    fn looked(&mut self) {
        let now = self.next_look();
        if self.0.next_look() == now {
            self.0.looked();
        }
        if self.1.next_look() == now {
            self.1.looked();
        }
    }
    fn wants(&self, of: Subject, changed: bool) -> bool {
        self.0.wants(of, changed) || self.1.wants(of, changed)
    }
    fn read(&mut self, now: Time, of: Subject, changed: bool, state: &dyn Probed) {
        if self.0.wants(of, changed) {
            self.0.read(now, of, changed, state);
        }
        if self.1.wants(of, changed) {
            self.1.read(now, of, changed, state);
        }
    }
    fn opened(&mut self, flow: FlowId, whose: Whose) {
        self.0.opened(flow, whose);
        self.1.opened(flow, whose);
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
    const PROBES: bool = S::PROBES;
    fn next_look(&self) -> Time {
        (**self).next_look()
    }
    fn looked(&mut self) {
        (**self).looked();
    }
    fn wants(&self, of: Subject, changed: bool) -> bool {
        (**self).wants(of, changed)
    }
    fn read(&mut self, now: Time, of: Subject, changed: bool, state: &dyn Probed) {
        (**self).read(now, of, changed, state);
    }
    fn opened(&mut self, flow: FlowId, whose: Whose) {
        (**self).opened(flow, whose);
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
