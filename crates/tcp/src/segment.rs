//! Segments, and the events that an endpoint reports to its host.

use packet::{Ecn, Flags};
use units::Time;

/// The bytes `[start, end)`: a run of received bytes above the cumulative ACK, or, in a D-SACK, bytes received twice.
/// Source: RFC 2018 §3, RFC 2883 §3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// First byte of the run.
    pub start: u64,
    /// One past the last byte of the run.
    pub end: u64,
}

/// Up to four SACK blocks, most recent first.   Source: RFC 2018 §4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [SackBlock; Self::MAX],
    count: u32,
    /// The segment's receive window, bytes. Stored here because this space would otherwise be padding.
    window: u32,
}

impl SackBlocks {
    /// Maximum number of blocks that fit into the 40 bytes of TCP options. If there is a time stamp option too, only
    /// three fit.
    pub const MAX: usize = 4;
    /// The empty list.
    pub const NONE: Self = Self { blocks: [SackBlock { start: 0, end: 0 }; Self::MAX], count: 0, window: 0 };

    /// Appends a block; a fifth block is ignored.
    pub fn push(&mut self, block: SackBlock) {
        if let Some(slot) = self.blocks.get_mut(self.count as usize) {
            *slot = block;
            self.count += 1;
        }
    }
    /// Returns the blocks in order.
    #[inline]
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..self.count as usize]
    }
    /// Returns the number of blocks.
    #[inline]
    pub fn len(&self) -> usize {
        self.count as usize
    }
    /// Returns true if there are no blocks.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Stores an AccECN option in place of the fourth block. The 40 bytes of TCP options have no room for both.
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
    /// True if the ECT(1) counter comes first (kind 174), false if the ECT(0) counter does (kind 172). The CE counter is always
    /// second.
    pub ect1_first: bool,
    /// One more than the payload bytes received with ECT(0), modulo 2^24.
    pub e0b: u32,
    /// Payload bytes received with CE, modulo 2^24.
    pub ceb: u32,
    /// One more than the payload bytes received with ECT(1), modulo 2^24.
    pub e1b: u32,
}

impl AccEcnOption {
    /// Returns the length of the option in bytes, padded to a multiple of four.
    #[inline]
    pub fn wire_bytes(&self) -> u16 {
        if self.fields == 0 { 0 } else { (2 + 3 * u16::from(self.fields)).next_multiple_of(4) }
    }

    /// Returns the number of counters that fit into `room` bytes.
    pub(crate) fn fitting(room: usize) -> u8 {
        (1..=3).rev().find(|n| (2 + 3 * usize::from(*n)).next_multiple_of(4) <= room).unwrap_or(0)
    }

    /// Returns the CE counter, if the option includes it.
    pub(crate) fn ceb_counter(&self) -> Option<u32> {
        (self.fields > 1).then_some(self.ceb)
    }
}

/// A TCP segment. Its payload is represented only by a length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Offset of the first payload byte, or of the FIN if there is no payload; 0 for a SYN. Not used in a pure ACK.
    pub seq: u64,
    /// Cumulative ACK: the next byte expected. Valid if `has_ack` is true.
    pub ack: u64,
    /// Payload bytes.
    pub len: u32,
    /// In a packet with [`Flags::GSO`], the number of payload bytes in each segment that the packet contains; the last
    /// segment may have fewer. In all other packets, 0.
    pub gso_size: u16,
    /// Send time ([`micros`]). On the wire, only packets with time stamps carry it (RFC 7323 §3). Here, every segment
    /// that an endpoint sends carries it, so that a receiver can measure the pauses between segments.
    pub ts_val: u32,
    /// Echo of the peer's `ts_val`, or 0 for none.
    pub ts_ecr: u32,
    /// A combination of SYN, FIN, PSH, SACK, AE, ECE, CWR, PURE_ACK, GSO, LOCAL, WINDOW, ACE and ACCECN_OPTION. If the
    /// flag ACE is set, the bits AE, CWR and ECE together hold AccECN's three-bit counter.
    pub flags: Flags,
    /// True if `ack` is valid, as in every segment except the client's SYN.
    pub has_ack: bool,
    /// ECN codepoint, as sent or as received.
    pub ecn: Ecn,
    /// True in a retransmission. Read only for measurements and by segmentation offload (`offload.rs`).
    pub retransmission: bool,
    /// Selective acknowledgements.
    pub sack: SackBlocks,
}

/// A plain data segment: it has payload and neither SYN nor FIN, and it acknowledges only the peer's SYN, no data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainData {
    /// Offset of the first payload byte in the stream.
    pub seq: u64,
    /// Bytes of payload, at least 1.
    pub len: u32,
    /// Send time, microseconds modulo 2^32.
    pub ts_val: u32,
    /// ECN codepoint received.
    pub ecn: Ecn,
    /// PSH, and the bits of AccECN's counter (see [`Segment::flags`]). No other flags may be set.
    pub flags: Flags,
}

/// An outgoing segment without special fields: payload without flags, or a pure ACK whose only option is the time stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plain {
    /// Offset of the first payload byte in the stream. 0 in a pure ACK, because no receiver reads it there.
    pub seq: u64,
    /// Bytes of payload; 0 in a pure ACK.
    pub len: u32,
    /// Cumulative ACK.
    pub ack: u64,
    /// Send time, microseconds modulo 2^32.
    pub ts_val: u32,
    /// Echo of the peer's `ts_val`, or 0 for none.
    pub ts_ecr: u32,
}

impl Plain {
    /// Returns true for a pure ACK.
    #[inline(always)]
    pub fn is_ack(&self) -> bool {
        self.len == 0
    }

    /// Converts this into a [`Segment`].
    #[inline(always)]
    pub fn segment(self) -> Segment {
        let flags = if self.is_ack() { Flags::PURE_ACK } else { Flags::default() };
        let Self { seq, len, ack, ts_val, ts_ecr } = self;
        Segment { seq, len, ack, ts_val, ts_ecr, flags, has_ack: true, ..Segment::default() }
    }
}

impl Segment {
    /// Returns the segment's AccECN option, or an option without counters if there is none.
    #[inline]
    pub fn accecn(&self) -> AccEcnOption {
        if self.flags.has(Flags::ACCECN_OPTION) { self.sack.kept() } else { AccEcnOption::default() }
    }

    /// Returns the receive window, in bytes counted from `ack`, if the segment has [`Flags::WINDOW`].
    pub fn window(&self) -> Option<u32> {
        self.flags.has(Flags::WINDOW).then_some(self.sack.window)
    }

    pub(crate) fn set_window(&mut self, bytes: u32) {
        self.sack.window = bytes;
        self.flags = self.flags.with(Flags::WINDOW);
    }

    pub(crate) fn set_accecn(&mut self, option: AccEcnOption) {
        self.sack.keep(option);
        self.flags = self.flags.with(Flags::ACCECN_OPTION);
    }

    /// Returns the number of segments that this packet contains.
    #[inline]
    pub fn segments(&self) -> u32 {
        if self.gso_size == 0 { 1 } else { self.len.div_ceil(u32::from(self.gso_size)).max(1) }
    }

    /// Splits a GSO packet into its segments, in order. Only the last segment keeps PSH and FIN. Only the first segment
    /// keeps CWR (RFC 3168); with [`Flags::ACE`], CWR is a bit of AccECN's counter, and all segments keep it.
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

    /// Returns the number of sequence numbers that the segment occupies: its payload bytes, and one each for SYN and FIN.
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
    /// Payload has arrived in order.
    Received {
        /// Number of bytes newly in order. Every byte of the stream is reported exactly once.
        bytes: u64,
    },
    /// The peer's FIN has arrived in order, so nothing more will be received.
    PeerFinished,
    /// Payload sent by this side has been acknowledged cumulatively.
    Acked {
        /// Number of bytes newly acknowledged.
        bytes: u64,
    },
    /// The endpoint has given up, because a SYN, SYN-ACK, FIN or data segment was retransmitted the maximum number of
    /// times without an answer. The event `Closed` follows.
    Failed,
    /// Both directions are finished, or the connection has failed. As long as the host keeps the endpoint, the endpoint
    /// can repeat the final ACK if it is lost. A connection without a handshake has no FINs. Unless it has failed, this
    /// event then means only that the application has closed this side and that all its data is acknowledged; this side
    /// can still receive.
    Closed,
}

/// Receives the segments and events of an endpoint.
///
/// The endpoint calls these methods while it processes a call of the host, in the order of events. A host that responds
/// to an event with a write or a close must wait until its own call into the endpoint has returned.
pub trait Io {
    /// Sends a segment.
    fn send(&mut self, segment: &Segment);
    /// Sends a plain segment. The default is `send(&plain.segment())`; a host may have a faster way.
    #[inline]
    fn send_plain(&mut self, plain: Plain) {
        self.send(&plain.segment());
    }
    /// Sends an ACK. If the current call into the endpoint delivers data to the application, a host with applications
    /// must not send the ACK before the application has received the data
    /// ([`Quirks::ack_after_delivery`](crate::params::Quirks::ack_after_delivery)). The default is for hosts without
    /// applications: it sends the ACK at once.
    fn send_after_delivery(&mut self, segment: &Segment) {
        self.send(segment);
    }
    /// Marks the end of a burst of new data, for a host that passes all segments of a burst to its device together. A
    /// burst consists of the new segments sent since the host called into the endpoint, or since the previous call of
    /// this method, whichever is later.
    fn burst_ends(&mut self) {}
    /// Reports an event.
    fn event(&mut self, event: Event);
}

/// Returns the time as carried in the time stamp option: microseconds modulo 2^32. The clock starts at 1, because a
/// time stamp of 0 means that there is none.
#[inline]
pub fn micros(now: Time) -> u32 {
    (now.0 / 1_000 + 1) as u32
}
