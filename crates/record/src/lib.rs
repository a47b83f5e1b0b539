//! The vocabulary of facts, and the sinks that take them.
//!
//! A run speaks in [`Record`]s: small values, made only if a sink's mask asks for their kind, handed over in simulated
//! order. Measures are sinks that reduce; a trace is a sink that keeps. Sinks are generic in the loop, never `dyn`, so a
//! sink that wants nothing costs nothing.

use packet::{DropReason, FlowId, MarkReason, Point};
use units::{Duration, Time};

/// Index of a link in the world's link table (in a live bench: 0 and 1, the two directions).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u16);

/// One fact. The moment is given beside it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Record {
    /// A packet entered a queue; the backlog includes it.
    Enqueued { link: LinkId, flow: FlowId, size: u16, backlog_packets: u32, backlog_bytes: u64 },
    /// A packet left a queue for transmission; the backlog no longer includes it.
    Dequeued { link: LinkId, flow: FlowId, size: u16, backlog_packets: u32, sojourn: Duration },
    /// A packet was dropped.
    Dropped { link: LinkId, flow: FlowId, size: u16, reason: DropReason, point: Point },
    /// A packet was marked with CE.
    Marked { link: LinkId, flow: FlowId, reason: MarkReason, point: Point },
    /// A packet reached its end host. `delay` is one way, from the host that sent it (1 us resolution).
    Delivered { flow: FlowId, size: u16, reverse: bool, delay: Duration },
    /// A sender's state after an ACK, a loss or a time-out; the window in bytes.
    Sender { flow: FlowId, cwnd: u32, ssthresh: u32, srtt_us: u32 },
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

/// Takes records.
pub trait Sink {
    /// The kinds this sink wants. Tested before a record is built.
    fn mask(&self) -> Mask;
    /// One record of a wanted kind, at `now`.
    fn put(&mut self, now: Time, record: Record);
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

/// Feeds two sinks.
impl<A: Sink, B: Sink> Sink for (A, B) {
    #[inline]
    fn mask(&self) -> Mask {
        self.0.mask().with(self.1.mask())
    }
    #[inline]
    fn put(&mut self, now: Time, record: Record) {
        self.0.put(now, record);
        self.1.put(now, record);
    }
}
