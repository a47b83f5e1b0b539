//! What travels between two endpoints, and what an endpoint tells its host.

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
    count: u8,
}

impl SackBlocks {
    /// Most blocks that 40 bytes of TCP options hold (three beside a timestamp).
    pub const MAX: usize = 4;
    /// No blocks.
    pub const NONE: Self = Self { blocks: [SackBlock { start: 0, end: 0 }; Self::MAX], count: 0 };

    /// Appends a block; a fifth one is ignored.
    pub fn push(&mut self, block: SackBlock) {
        if let Some(slot) = self.blocks.get_mut(usize::from(self.count)) {
            *slot = block;
            self.count += 1;
        }
    }
    /// The blocks in order.
    #[inline]
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.count)]
    }
    /// How many blocks.
    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.count)
    }
    /// True without blocks.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// One TCP segment as its two ends see it; payload is a length, never bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Offset of the first payload byte (0 for a SYN; of the FIN if there is no payload).
    pub seq: u64,
    /// Cumulative ACK: the next byte expected. Valid with `has_ack`.
    pub ack: u64,
    /// Bytes of payload.
    pub len: u32,
    /// Moment of sending, microseconds modulo 2^32.   Source: RFC 7323 §3.
    pub ts_val: u32,
    /// Echo of a `ts_val` of the peer, or 0 for none.
    pub ts_ecr: u32,
    /// SYN, FIN, SACK, AE, ECE, CWR, PURE_ACK; ACE where the three in the middle are AccECN's counter.
    pub flags: Flags,
    /// `ack` is valid (all but the first SYN).
    pub has_ack: bool,
    /// ECN codepoint to send with, or that arrived.
    pub ecn: Ecn,
    /// Part of it was sent before. For instruments only.
    pub retransmission: bool,
    /// Selective acknowledgements.
    pub sack: SackBlocks,
}

/// What there is to a plain data segment: payload, no SYN or FIN, and an ACK of nothing but the peer's SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainData {
    /// Offset of the first payload byte in the stream.
    pub seq: u64,
    /// Bytes of payload, at least 1.
    pub len: u32,
    /// Moment of sending, microseconds modulo 2^32.
    pub ts_val: u32,
    /// ECN codepoint that arrived.
    pub ecn: Ecn,
    /// AccECN's counter, as [`Segment::flags`] has it; nothing without AccECN.
    pub ace: Flags,
}

impl Segment {
    /// Sequence numbers it occupies: payload, and one each for SYN and FIN.
    #[inline]
    pub fn seq_len(&self) -> u64 {
        u64::from(self.len) + u64::from(self.flags.has(Flags::SYN)) + u64::from(self.flags.has(Flags::FIN))
    }
}

/// What an endpoint tells its host.
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
    /// Retries of a SYN or of data are exhausted; `Closed` follows.
    Failed,
    /// Both directions are done, or the connection failed; without handshake (and FIN): all that this side wrote before it
    /// closed is acknowledged, and it can still receive. Keep the endpoint if a lost last ACK should be repeated.
    Closed,
}

/// Where an endpoint's segments and events go.
///
/// All are called from inside the endpoint, in the order in which things happen; the host answers an event (writes,
/// closes) after the call that raised it has returned.
pub trait Io {
    /// Puts a segment on the wire.
    fn send(&mut self, segment: &Segment);
    /// The same, of an ACK that waits until the application has been told what it acknowledges
    /// ([`TcpParams::ack_after_delivery`](crate::TcpParams::ack_after_delivery)), if this call delivers anything. A host that
    /// knows no applications sends it at once.
    fn send_after_delivery(&mut self, segment: &Segment) {
        self.send(segment);
    }
    /// Something happened.
    fn event(&mut self, event: Event);
}

/// A moment as the timestamp option carries it: microseconds modulo 2^32.
#[inline]
pub(crate) fn micros(now: Time) -> u32 {
    (now.0 / 1_000) as u32
}
