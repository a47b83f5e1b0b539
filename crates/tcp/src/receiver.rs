//! The receiving half of an endpoint: reassembly, acknowledgement policy, SACK blocks, time stamp echo, ECN echo.
//!
//! ```text
//! segments out of order, with sack_compression:
//!   the first three since a segment arrived in order, and all while quick ACKs remain:  ACK at once
//!   the others:  one ACK after min(33 % of SRTT, 1 ms) + 10 us (linux-6.19), or with the 45th packet
//!   a segment that extends the third SACK block or a later one, or begins a block while there are two or more:
//!   any waiting ACK leaves before this segment is processed
//! ```
//!
//! Source: RFC 5681 §4.2 (ACK policy), RFC 2018 §4 (order of blocks), RFC 7323 §4.3 (timestamp to echo), RFC 3168 §6.1.3 (ECE
//! until CWR), RFC 2883 (D-SACK; only for segments that are complete duplicates, as retransmissions usually are); Linux's ip-sysctl
//! (tcp_comp_sack_*).

mod ecn;
mod ranges;
mod space;
#[cfg(test)]
mod tests;
mod window;

use crate::accecn::Counts;
use crate::feedback::EcnUse;
use crate::params::TcpParams;
use crate::rtt::Rtt;
use crate::segment::{Event, Io, Plain, SackBlock, Segment, micros};
use crate::stats::Counters;
use packet::Flags;
use ranges::OutOfOrder;
use space::{LATE, Space};
use units::{LINE, Time, prefetch};

/// Number of ranges above holes that are stored inline. If there are more, all of them move to the heap, and the heap
/// is used until no hole is left.
const FEW: usize = 3;
/// Value of `held` if the ranges are on the heap.
const ON_HEAP: u8 = u8::MAX;
/// Value of `ack_at` if an ACK must leave before the current call into the endpoint returns. (No delayed ACK is due at time 0,
/// because no segment can have arrived before.)
const AT_ONCE: Time = Time::ZERO;

/// A gap between two segments counts as a pause by the sender only if it is longer than this, in microseconds. Only
/// pauses longer than the RTO matter, and usual RTOs are longer than this limit.
const PAUSE: u32 = 100_000;
/// Number of ACKs that leave at once after a CE mark that makes ACKs carry ECE.   Source: Linux.
const QUICK_AFTER_CE: u32 = 2;

/// Bit of `flags` that is set while ACKs carry ECE.
const ECHO: u8 = 1;
/// Bit of `flags` that is set if the next ACK must report a duplicate.
const DUPLICATE: u8 = 2;
/// Bit of `flags` that is set once the end of the connection has been reported to the host.
const CLOSED: u8 = 4;
/// Bit of `flags` that is set if every segment is sent as ECN-capable.
const CAPABLE: u8 = 8;
/// Bit of `flags` that is set if every segment sent carries AccECN's counter.
const COUNTS: u8 = 16;
/// Bit of `flags` that is set if every segment sent, except the client's SYN, carries the window.
const WINDOW: u8 = 32;
/// Bits of `flags` that count, up to three, the segments out of order since a segment arrived in order. Segments that
/// are acknowledged at once for another reason, such as a quick ACK, do not count.
const STRAYS: u8 = 0b1100_0000;
/// One segment in [`STRAYS`].
const STRAY: u8 = 0b0100_0000;
/// Maximum number of packets whose ACKs wait with SACK compression. The next packet is acknowledged at once, and its
/// ACK covers them too.   Source: Linux's tcp_comp_sack_nr.
const COMPRESSED: u8 = 44;
/// With SACK compression, a segment may extend one of the first `EXPECTED_BLOCKS` SACK blocks while an ACK waits.
/// Before a segment extends a later block, or begins a block while there are already this many, the waiting ACK leaves.
/// Source: Linux's TCP_SACK_BLOCKS_EXPECTED.
const EXPECTED_BLOCKS: usize = 2;
/// Maximum total size of a segment's TCP options, and size of the time stamp option, in bytes.
const OPTIONS: [usize; 2] = [40, 12];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    #[default]
    Listen,
    SynSent,
    SynReceived,
    Established,
    Closed,
}

/// The state of the peer's FIN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Fin {
    #[default]
    None,
    /// Received, perhaps above a hole.
    Seen,
    /// Received in order.
    Consumed,
}

/// The receiving half of an endpoint. As long as there are no holes, processing a plain segment uses only the first 32
/// bytes of this struct. They include the phase and the `quiet` flag, by which the endpoint sees that it can skip the
/// sending half.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(crate) struct Receiver {
    /// Next byte expected.
    pub(crate) next: u64,
    /// Time at which a delayed ACK is due; [`AT_ONCE`] if an ACK must leave before the current call returns.
    pub(crate) ack_at: Time,
    /// Bytes received in order since the last ACK was sent.
    since_ack: u32,
    ts_recent: u32,
    /// Number of data segments that wait for an ACK. Above holes, a GSO packet counts as one segment.
    unacked: u8,
    /// Number of further ACKs that leave at once (quick ACKs).
    quick: u8,
    /// Number of ranges in `few`, or [`ON_HEAP`].
    held: u8,
    /// Flags for ACKs and segments ([`ECHO`], [`DUPLICATE`], [`CAPABLE`], [`COUNTS`], [`WINDOW`]) and for the connection
    /// ([`CLOSED`]), and the counter [`STRAYS`].
    flags: u8,
    fin: Fin,
    pub(crate) ecn: EcnUse,
    pub(crate) phase: Phase,
    /// True if the connection is established, the application has not closed this side, and the sending half has nothing
    /// outstanding and nothing to send.
    pub(crate) quiet: bool,
    /// Ranges above holes. They are disjoint and not adjacent, and the most recently extended one comes first.
    few: [SackBlock; FEW],
    many: Option<Box<OutOfOrder>>,
    /// Low 32 bits of the sequence number of the peer's FIN, once seen. 32 bits are enough, because the FIN is within the
    /// window.
    fin_at: u32,
    /// Time at which this side first sent its SYN or SYN-ACK, microseconds. It gives an RTT sample if the answer echoes
    /// no time stamp and the packet was sent only once. If the answer echoes this time, the first copy arrived.
    pub(crate) syn_sent: u32,
    /// State for AccECN and for the window field of segments; `None` until one of the two is used.
    rare: Option<Box<Rare>>,
}

/// State that few connections need.
#[derive(Clone, Debug, Default)]
struct Rare {
    /// AccECN's counters; `None` without AccECN.
    counts: Option<Counts>,
    /// The receive buffer; `None` if segments carry no window ([`WINDOW`] is not set).
    space: Option<Space>,
}

impl Receiver {
    pub(crate) fn new(p: &TcpParams) -> Self {
        let tuned = p.receiver.receive_window.is_auto();
        Self {
            ack_at: Time::NEVER,
            quick: p.receiver.quick_acks as u8,
            flags: if tuned { WINDOW } else { 0 },
            rare: tuned.then(|| Box::new(Rare { counts: None, space: Some(Space::new(p)) })),
            ..Self::default()
        }
    }

    /// Prefetches the state that is needed to process a segment if the received data has holes.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch(&self.few, 0);
    }

    #[inline]
    pub(crate) fn prefetch_ranges(&self) {
        if self.held == ON_HEAP
            && let Some(many) = &self.many
        {
            prefetch(&**many, 0);
            prefetch(&**many, LINE);
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        let many = self.many.as_ref();
        many.map_or(0, |many| size_of::<OutOfOrder>() + many.ranges.capacity() * size_of::<SackBlock>())
            + self.rare.as_ref().map_or(0, |_| size_of::<Rare>())
    }

    /// Initialises the receive state. Called when the peer's SYN or SYN-ACK arrives, or at the start of a connection
    /// without a handshake.
    pub(crate) fn open(&mut self, ts_val: u32) {
        self.next = 1;
        self.since_ack = 0;
        self.ts_recent = ts_val;
    }

    /// Stores the time stamp of a repeated SYN or SYN-ACK, unless it is older than the stored one.   Source: RFC 7323 §4.3.
    pub(crate) fn on_repeated_syn(&mut self, ts_val: u32) {
        if (ts_val.wrapping_sub(self.ts_recent) as i32) > 0 {
            self.ts_recent = ts_val;
        }
    }

    /// Returns true if an ACK must leave before the current call into the endpoint returns.
    #[inline]
    pub(crate) fn ack_now(&self) -> bool {
        self.ack_at == AT_ONCE
    }

    /// Requests that an ACK be sent before the current call into the endpoint returns.
    #[inline]
    pub(crate) fn set_ack_now(&mut self) {
        self.ack_at = AT_ONCE;
    }

    /// Returns how long the peer paused before it sent the segment with the time stamp `ts_val`, in microseconds.
    /// Returns `None` if the pause was at most [`PAUSE`], or if no data has arrived in order yet. The time stamps wrap
    /// every 71.6 minutes, so a pause near a multiple of this time is missed: from [`LATE`] below it to [`PAUSE`] above
    /// it.
    #[inline]
    pub(crate) fn pause_us(&self, ts_val: u32) -> Option<u32> {
        let us = ts_val.wrapping_sub(self.ts_recent);
        (us > PAUSE && us < LATE.wrapping_neg() && self.next > 1).then_some(us)
    }

    /// Makes at least the next `acks` ACKs leave at once.
    #[cold]
    pub(crate) fn quicken(&mut self, acks: u32) {
        self.quick = self.quick.max(acks as u8);
    }

    /// Returns true if the peer's FIN was received in order.
    #[inline]
    pub(crate) fn finished(&self) -> bool {
        self.fin == Fin::Consumed
    }

    /// Returns true if `Closed` was reported.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.flags & CLOSED != 0
    }

    pub(crate) fn set_closed(&mut self) {
        self.flags |= CLOSED;
    }

    /// Returns the number of payload bytes received in order.
    pub(crate) fn received(&self) -> u64 {
        self.next.saturating_sub(1 + u64::from(self.finished()))
    }

    #[inline]
    fn has_holes(&self) -> bool {
        self.held != 0
    }

    /// Processes a segment that occupies sequence space.
    #[inline(always)]
    pub(crate) fn on_data(
        &mut self,
        p: &TcpParams,
        now: Time,
        segment: &Segment,
        rtt: &Rtt,
        stats: &mut Counters,
        io: &mut impl Io,
    ) {
        let (start, end) = (segment.seq, segment.seq + segment.seq_len());
        if self.ecn != EcnUse::Off {
            self.on_ecn_field(p, now, *segment, io);
        }
        if p.quirks.rtt_from_every_ack {
            self.ts_recent = segment.ts_val;
        }
        if end <= self.next || end > self.next + p.receiver.receive_window.bound() {
            stats.duplicates_received += 1;
            self.note_duplicate(p, start, end);
            if p.quirks.quick_acks_return {
                self.quicken(p.receiver.quick_acks);
            }
            self.set_ack_now();
            return;
        }
        // RFC 7323 §4.3: the time stamp to echo is updated if SEG.SEQ <= Last.ACK.sent
        if start + u64::from(self.since_ack) <= self.next {
            self.ts_recent = segment.ts_val;
        }
        if segment.flags.has(Flags::FIN) {
            self.fin_at = (end - 1) as u32;
            if self.fin == Fin::None {
                self.fin = Fin::Seen;
            }
            self.set_ack_now();
        }
        if start > self.next {
            return self.on_data_above_hole(p, now, *segment, rtt, stats, io);
        }
        let old = self.next;
        self.next = end;
        if self.has_holes() {
            self.next = self.take(end);
            self.flags &= !STRAYS;
            self.set_ack_now();
        }
        // the new bytes fit into 32 bits, because they lie within the receive window, which is at most 2 GiB
        self.since_ack += (self.next - old) as u32;
        self.deliver(old, io);
        self.schedule_ack(p, now, segment.len);
    }

    /// Processes a segment that lies above a hole. The segment is passed by value, as in [`Receiver::stamp_rest`].
    #[inline(never)]
    fn on_data_above_hole(
        &mut self,
        p: &TcpParams,
        now: Time,
        segment: Segment,
        rtt: &Rtt,
        stats: &mut Counters,
        io: &mut impl Io,
    ) {
        let (start, end) = (segment.seq, segment.seq + segment.seq_len());
        if self.flags & STRAYS == STRAYS && self.earlier_wait(&segment) && self.block_of(start, end) >= EXPECTED_BLOCKS
        {
            let due = self.ack_now();
            self.ack_earlier_segments(p, now, io);
            if due {
                self.set_ack_now();
            }
        }
        // This is an `if` instead of `+= u32::from(...)`, so that only a duplicate touches the cache line of the counters.
        // No other code on this path needs that line.
        if !self.insert(start, end) {
            stats.duplicates_received += 1;
            self.note_duplicate(p, start, end);
            return self.set_ack_now();
        }
        self.schedule_sack(p, now, rtt);
    }

    /// Returns true if segments received before `segment` wait for an ACK. If `segment` is a GSO packet,
    /// [`Receiver::await_run`] must have counted it.
    pub(super) fn earlier_wait(&self, segment: &Segment) -> bool {
        self.unacked > self.run_before_last(segment)
    }

    /// Adds all but one of a GSO packet's segments to the count of unacknowledged segments. [`Receiver::on_data`] adds
    /// the last one, so the packet is acknowledged once (GRO).
    #[inline]
    pub(crate) fn await_run(&mut self, segment: &Segment) {
        self.unacked = self.unacked.saturating_add(self.run_before_last(segment));
    }

    /// Returns the number of segments in a packet minus one, at most 255. The result is zero unless the packet is a GSO packet.
    /// It is also zero if the packet lies above a hole, because SACK compression counts packets.
    #[inline]
    fn run_before_last(&self, segment: &Segment) -> u8 {
        if segment.seq > self.next { 0 } else { (segment.segments() - 1).min(u8::MAX.into()) as u8 }
    }

    /// Returns the index of the SACK block that `[start, end)` touches, or the number of ranges if it touches none. The
    /// blocks are those in `few` or in [`OutOfOrder::recent_blocks`], even if an ACK has no room for all of them.
    fn block_of(&self, start: u64, end: u64) -> usize {
        let touches = |r: &SackBlock| r.start <= end && start <= r.end;
        match &self.many {
            Some(many) if self.held == ON_HEAP => {
                many.recent_blocks().position(|r| touches(&r)).unwrap_or(many.ranges.len())
            }
            _ => {
                let few = &self.few[..usize::from(self.held)];
                few.iter().position(touches).unwrap_or(few.len())
            }
        }
    }

    /// Adds the range `[start, end)`, which lies above a hole. Returns false if all of its data was received before.
    fn insert(&mut self, start: u64, end: u64) -> bool {
        if self.held == ON_HEAP {
            return self.many.get_or_insert_default().insert(start, end);
        }
        // the new range is merged with the ranges that it touches and moves to the front; the others keep their order
        let mut kept = [SackBlock::default(); FEW];
        let mut n = 0;
        let mut merged = SackBlock { start, end };
        let mut new = true;
        for &r in &self.few[..usize::from(self.held)] {
            if r.end < start || r.start > end {
                kept[n] = r;
                n += 1;
            } else {
                new &= start < r.start || end > r.end;
                merged = SackBlock { start: merged.start.min(r.start), end: merged.end.max(r.end) };
            }
        }
        if n == FEW {
            return self.move_to_heap(start, end);
        }
        self.few[0] = merged;
        self.few[1..].copy_from_slice(&kept[..FEW - 1]);
        self.held = n as u8 + 1;
        new
    }

    #[cold]
    fn move_to_heap(&mut self, start: u64, end: u64) -> bool {
        let many = self.many.get_or_insert_default();
        for r in self.few.iter().rev() {
            many.insert(r.start, r.end);
        }
        self.held = ON_HEAP;
        many.insert(start, end)
    }

    /// Removes the ranges that begin at or below `next`. All data below `next` has arrived, so the data in these ranges
    /// is now in order. Returns the next byte that is expected after them.
    fn take(&mut self, next: u64) -> u64 {
        if self.held == ON_HEAP {
            let many = self.many.get_or_insert_default();
            let next = many.take(next);
            if many.ranges.is_empty() {
                self.held = 0;
            }
            return next;
        }
        // a range that begins above `next` is kept: ranges do not touch each other, so there is a hole between this
        // range and the removed ranges
        let mut reached = next;
        let mut n = 0;
        for i in 0..usize::from(self.held) {
            let r = self.few[i];
            if r.start <= next {
                reached = reached.max(r.end);
            } else {
                self.few[n] = r;
                n += 1;
            }
        }
        self.held = n as u8;
        reached
    }

    #[inline(always)]
    fn deliver(&mut self, old: u64, io: &mut impl Io) {
        let fin = self.fin != Fin::None && (self.next as u32).wrapping_sub(self.fin_at) as i32 > 0;
        let bytes = self.next - old - u64::from(fin);
        if bytes > 0 {
            io.event(Event::Received { bytes });
        }
        if fin {
            self.fin = Fin::Consumed;
            io.event(Event::PeerFinished);
        }
    }

    #[inline(always)]
    fn schedule_ack(&mut self, p: &TcpParams, now: Time, len: u32) {
        self.unacked = self.unacked.saturating_add(1);
        let due = if p.quirks.short_segments_wait {
            // if the peer deliberately sends segments smaller than the MSS, they count as full segments
            let full = if p.control.ecn().small_segments { p.wire.mss.min(len) } else { p.wire.mss };
            u64::from(self.since_ack) >= u64::from(p.receiver.ack_every) * u64::from(full)
        } else {
            u32::from(self.unacked) >= p.receiver.ack_every
        };
        if due || self.quick > 0 {
            self.set_ack_now();
        } else if self.ack_at == Time::NEVER {
            self.ack_at = p.rto.expiry(now, p.receiver.delayed_ack);
        }
    }

    /// Schedules the ACK of a segment that is out of order, by the rules at the top of this file.
    fn schedule_sack(&mut self, p: &TcpParams, now: Time, rtt: &Rtt) {
        let at_once = self.ack_now() || self.quick > 0 || self.unacked >= COMPRESSED || p.sack_blocks() == 0;
        let delay = p.receiver.sack_compression.delay(rtt.srtt);
        let Some(delay) = delay.filter(|_| !at_once) else { return self.set_ack_now() };
        if self.flags & STRAYS != STRAYS {
            self.flags += STRAY;
            return self.set_ack_now();
        }
        self.unacked += 1;
        if self.ack_at == Time::NEVER {
            self.ack_at = now + delay;
        }
    }

    /// Sets the receiving half's fields in an outgoing segment: ACK number, time stamps, SACK blocks, ECN and window.
    /// Not called for the client's SYN. Cancels any ACK that is due, because this segment carries it.
    #[inline]
    pub(crate) fn stamp(&mut self, p: &TcpParams, now: Time, segment: &mut Segment) {
        let Plain { ack, ts_val, ts_ecr, .. } = self.plain(p, now, segment.seq, segment.len);
        (segment.has_ack, segment.ack, segment.ts_val, segment.ts_ecr) = (true, ack, ts_val, ts_ecr);
        if self.has_holes() || self.flags & DUPLICATE != 0 {
            *segment = self.stamp_sack(p, *segment);
        }
        if self.flags & (ECHO | CAPABLE | COUNTS | WINDOW) != 0 {
            *segment = self.stamp_rest(p, *segment);
        }
        self.acknowledged();
    }

    /// Returns true if the receiving half adds nothing to outgoing segments but the ACK number and the time stamps: no SACK,
    /// no ECN and no window field.
    #[inline]
    pub(crate) fn sends_plain(&self) -> bool {
        !self.has_holes() && self.flags & (DUPLICATE | ECHO | CAPABLE | COUNTS | WINDOW) == 0
    }

    /// Returns the plain segment that leaves now, with `len` bytes of payload from `seq` on. The caller must also call
    /// [`Receiver::acknowledged`].
    #[inline]
    pub(crate) fn plain(&self, p: &TcpParams, now: Time, seq: u64, len: u32) -> Plain {
        let ts_ecr = if p.wire.timestamps { self.ts_recent } else { 0 };
        Plain { seq, len, ack: self.next, ts_val: micros(now), ts_ecr }
    }

    /// Cancels any ACK that is due, because an outgoing segment carries it.
    #[inline]
    pub(crate) fn acknowledged(&mut self) {
        // if an ACK of data was due or waited, this segment uses up one quick ACK
        if self.quick > 0 && self.ack_at != Time::NEVER && self.next > 1 {
            self.quick -= 1;
        }
        (self.since_ack, self.unacked, self.ack_at) = (0, 0, Time::NEVER);
    }

    /// Sets the fields that only some connections use. The segment is passed by value: a reference would force the caller's
    /// segment into memory, even where this function is not called.
    #[inline(never)]
    fn stamp_rest(&mut self, p: &TcpParams, mut segment: Segment) -> Segment {
        self.stamp_ecn(p, &mut segment);
        if self.flags & WINDOW != 0 {
            self.stamp_window(p, &mut segment);
        }
        segment
    }

    /// Makes the next ACK report `[start, end)` as a duplicate, if the stack uses D-SACK. Does nothing if the range
    /// reaches above the window, because such data cannot have been received before.
    #[cold]
    fn note_duplicate(&mut self, p: &TcpParams, start: u64, end: u64) {
        let valid = start < end && end <= self.next + p.receiver.receive_window.bound();
        if valid && p.receiver.dsack && p.sack_blocks() > 0 {
            self.many.get_or_insert_default().duplicate = SackBlock { start, end };
            self.flags |= DUPLICATE;
        }
    }

    /// Sets the SACK blocks. The segment is passed by value, as in [`Receiver::stamp_rest`].
    #[inline(never)]
    fn stamp_sack(&mut self, p: &TcpParams, mut segment: Segment) -> Segment {
        let most = p.sack_blocks();
        if self.flags & DUPLICATE != 0 {
            self.flags &= !DUPLICATE;
            if let Some(many) = &self.many {
                segment.sack.push(many.duplicate);
            }
        }
        let room = most - segment.sack.len().min(most);
        if self.held != ON_HEAP {
            for &block in self.few[..usize::from(self.held)].iter().take(room) {
                segment.sack.push(block);
            }
        } else if let Some(holes) = &self.many {
            for block in holes.recent_blocks() {
                if segment.sack.len() < most {
                    segment.sack.push(block);
                }
            }
        }
        if !segment.sack.is_empty() {
            segment.flags = segment.flags.with(Flags::SACK);
        }
        segment
    }
}
