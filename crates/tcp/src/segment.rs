//! Segments, and the events that an endpoint reports to its host.

use packet::{Ecn, Flags};
use units::Time;

/// A run of received bytes above the cumulative ACK: `[start, end)`.   Source: RFC 2018 §3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// First byte of the run.
    pub start: u64,
    /// One past its last byte.
    pub end: u64,
}

/// Up to four SACK blocks, the most recent first.   Source: RFC 2018 §4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [SackBlock; Self::MAX],
    count: u32,
    /// The segment's window. Stored here, where it takes no extra space in a segment without one.
    window: u32,
}

impl SackBlocks {
    /// Most blocks that 40 bytes of TCP options hold (three beside a timestamp).
    pub const MAX: usize = 4;
    /// The empty list.
    pub const NONE: Self = Self { blocks: [SackBlock { start: 0, end: 0 }; Self::MAX], count: 0, window: 0 };

    /// Appends a block; a fifth one is ignored.
    pub fn push(&mut self, block: SackBlock) {
        if let Some(slot) = self.blocks.get_mut(self.count as usize) {
            *slot = block;
            self.count += 1;
        }
    }
    /// The blocks in order.
    #[inline]
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..self.count as usize]
    }
    /// Number of blocks.
    #[inline]
    pub fn len(&self) -> usize {
        self.count as usize
    }
    /// Returns true if there are no blocks.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Stores an AccECN option in place of the fourth block: 40 bytes of TCP options do not hold both.
    fn keep(&mut self, o: AccEcnOption) {
        let pair = |low: u64, high: u32| low | u64::from(high) << 32;
        let start = pair(u64::from(o.fields) | u64::from(o.ect1_first) << 8, o.e0b);
        self.blocks[Self::MAX - 1] = SackBlock { start, end: pair(o.ceb.into(), o.e1b) };
    }

    fn kept(&self) -> AccEcnOption {
        let SackBlock { start, end } = self.blocks[Self::MAX - 1];
        let (fields, ect1_first) = (start as u8, start >> 8 & 1 == 1);
        AccEcnOption { fields, ect1_first, e0b: (start >> 32) as u32, ceb: end as u32, e1b: (end >> 32) as u32 }
    }
}

/// The AccECN option.   Source: RFC 9768 §3.2.3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccEcnOption {
    /// Number of counters in the option, at most three; 0 for no option.
    pub fields: u8,
    /// ECT(1)'s counter comes first (kind 174), otherwise ECT(0)'s (kind 172). CE's counter is always second.
    pub ect1_first: bool,
    /// Bytes received with ECT(0), modulo 2^24.
    pub e0b: u32,
    /// Bytes received with CE, modulo 2^24.
    pub ceb: u32,
    /// Bytes received with ECT(1), modulo 2^24.
    pub e1b: u32,
}

impl AccEcnOption {
    /// Length of the option in bytes, padded to whole words.
    #[inline]
    pub fn wire_bytes(&self) -> u16 {
        if self.fields == 0 { 0 } else { (2 + 3 * u16::from(self.fields)).next_multiple_of(4) }
    }

    /// Number of counters that fit into `room` bytes.
    pub(crate) fn fitting(room: usize) -> u8 {
        (1..=3).rev().find(|n| (2 + 3 * usize::from(*n)).next_multiple_of(4) <= room).unwrap_or(0)
    }

    /// CE's counter, if the option has it.
    pub(crate) fn ceb_counter(&self) -> Option<u32> {
        (self.fields > 1).then_some(self.ceb)
    }
}

/// A TCP segment. Payload is only a length, never bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Offset of the first payload byte; 0 for a SYN; the FIN's offset if there is no payload.
    pub seq: u64,
    /// Cumulative ACK: the next byte expected. Valid with `has_ack`.
    pub ack: u64,
    /// Payload bytes.
    pub len: u32,
    /// With [`Flags::GSO`]: payload bytes of each of the segments that this one stands for; the last may have fewer. Otherwise 0.
    pub gso_size: u16,
    /// Time of sending, microseconds modulo 2^32.   Source: RFC 7323 §3.
    pub ts_val: u32,
    /// Echo of the peer's `ts_val`, or 0 for none.
    pub ts_ecr: u32,
    /// SYN, FIN, PSH, SACK, AE, ECE, CWR, PURE_ACK, GSO, WINDOW. With ACE set, AE, CWR and ECE form AccECN's counter.
    pub flags: Flags,
    /// `ack` is valid (in every segment except the first SYN).
    pub has_ack: bool,
    /// ECN codepoint, as sent or as received.
    pub ecn: Ecn,
    /// Part of the payload was sent before. For measurements only.
    pub retransmission: bool,
    /// Selective acknowledgements.
    pub sack: SackBlocks,
}

/// A plain data segment: it has payload and neither SYN nor FIN, and its ACK covers nothing beyond the peer's SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainData {
    /// Offset of the first payload byte in the stream.
    pub seq: u64,
    /// Bytes of payload, at least 1.
    pub len: u32,
    /// Time of sending, microseconds modulo 2^32.
    pub ts_val: u32,
    /// ECN codepoint received.
    pub ecn: Ecn,
    /// PSH and AccECN's counter, as in [`Segment::flags`]; nothing else.
    pub flags: Flags,
}

impl Segment {
    /// The segment's AccECN option; one without counters if it has none.
    #[inline]
    pub fn accecn(&self) -> AccEcnOption {
        if self.flags.has(Flags::ACCECN_OPTION) { self.sack.kept() } else { AccEcnOption::default() }
    }

    /// The receive window in bytes from `ack` on, if the segment has [`Flags::WINDOW`].
    pub fn window(&self) -> Option<u32> {
        self.flags.has(Flags::WINDOW).then_some(self.sack.window)
    }

    /// Sets the window.
    pub(crate) fn set_window(&mut self, bytes: u32) {
        self.sack.window = bytes;
        self.flags = self.flags.with(Flags::WINDOW);
    }

    /// Sets the AccECN option.
    pub(crate) fn set_accecn(&mut self, option: AccEcnOption) {
        self.sack.keep(option);
        self.flags = self.flags.with(Flags::ACCECN_OPTION);
    }

    /// Number of segments that this one stands for.
    #[inline]
    pub fn segments(&self) -> u32 {
        if self.gso_size == 0 { 1 } else { self.len.div_ceil(u32::from(self.gso_size)).max(1) }
    }

    /// Splits a GSO segment into its segments, in order. CWR goes to the first (RFC 3168), PSH and FIN to the last.
    pub fn cut(self) -> impl Iterator<Item = Self> {
        let (n, each) = (self.segments(), if self.gso_size == 0 { self.len } else { u32::from(self.gso_size) });
        (0..n).map(move |i| {
            let (first, last) = (i == 0, i + 1 == n);
            let without = |flags: Flags, bits: Flags, gone: bool| if gone { Flags(flags.0 & !bits.0) } else { flags };
            let flags = without(self.flags, Flags::GSO, true);
            let flags = without(flags, Flags::CWR, !first && !flags.has(Flags::ACE));
            let flags = without(flags, Flags::PSH.with(Flags::FIN), !last);
            let seq = self.seq + u64::from(i * each);
            Self { seq, len: (self.len - i * each).min(each), gso_size: 0, flags, ..self }
        })
    }

    /// Sequence numbers occupied: the payload, and one each for SYN and FIN.
    #[inline]
    pub fn seq_len(&self) -> u64 {
        u64::from(self.len) + u64::from(self.flags.has(Flags::SYN)) + u64::from(self.flags.has(Flags::FIN))
    }
}

/// An event that an endpoint reports to its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The connection is established on this side.
    Connected,
    /// Payload arrived in order.
    Received {
        /// Bytes newly in order; every byte of the stream is reported exactly once.
        bytes: u64,
    },
    /// The peer's FIN was consumed: nothing more will be received.
    PeerFinished,
    /// Payload of this side was acknowledged cumulatively.
    Acked {
        /// Bytes newly acknowledged.
        bytes: u64,
    },
    /// The retries of a SYN or of data are exhausted; `Closed` follows.
    Failed,
    /// Both directions are done, or the connection failed. Without handshake (and FIN): everything this side wrote before closing
    /// is acknowledged, and it can still receive. Keep the endpoint if a lost final ACK should be repeated.
    Closed,
}

/// Receives an endpoint's segments and events.
///
/// All methods are called from inside the endpoint, in the order in which things happen. The host responds to an event (writes,
/// closes) after the call that raised it has returned.
pub trait Io {
    /// Puts a segment on the wire.
    fn send(&mut self, segment: &Segment);
    /// As [`Io::send`], for an ACK that is sent only after the data it acknowledges has been delivered to the application
    /// ([`Quirks::ack_after_delivery`](crate::params::Quirks::ack_after_delivery)), if this call delivers any. A host without
    /// applications sends it at once.
    fn send_after_delivery(&mut self, segment: &Segment) {
        self.send(segment);
    }
    /// Marks the end of one burst of new data, which a host passes to its device in one piece. It began at the last call, or at
    /// the call into the endpoint.
    fn burst_ends(&mut self) {}
    /// Reports an event.
    fn event(&mut self, event: Event);
}

/// The time as carried in the timestamp option: microseconds modulo 2^32.
#[inline]
pub(crate) fn micros(now: Time) -> u32 {
    (now.0 / 1_000) as u32
}
