//! The receiving half: reassembly, acknowledgement policy, SACK blocks, time stamp echo, ECN echo.
//!
//! Source: RFC 5681 §4.2 (ACK policy), RFC 2018 §4 (order of blocks), RFC 7323 §4.3 (which stamp is echoed), RFC 3168
//! §6.1.3 (ECE until CWR), RFC 2883 (D-SACK; of segments that are duplicates as a whole, as retransmissions are).

use crate::params::TcpParams;
use crate::segment::{Event, Io, SackBlock, SackBlocks, Segment, micros};
use crate::stats::Counters;
use packet::{Ecn, Flags};
use units::{LINE, Time, prefetch};

/// Blocks whose order of arrival is remembered.
const RECENT: usize = SackBlocks::MAX;
/// Ranges above holes that the receiver holds itself. More go to the heap, until no hole is left.
const FEW: usize = 3;
/// `held` when the ranges are on the heap.
const ON_HEAP: u8 = u8::MAX;
/// An ACK must leave before this call ends. (Nothing falls due at the start of time: no segment can have arrived.)
const AT_ONCE: Time = Time::ZERO;

/// Pauses that are looked at, microseconds; no usual RTO is shorter.
const PAUSE: u32 = 100_000;
/// ACKs at once after a CE mark that begins an echo.   Source: Linux.
const QUICK_AFTER_CE: u32 = 2;

/// In `tells`: CE arrived and CWR has not.
const ECHO: u8 = 1;
/// In `tells`: the next ACK reports a duplicate.
const DUPLICATE: u8 = 2;

/// Where the connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Listen,
    SynSent,
    SynReceived,
    Established,
    Closed,
}

/// The peer's FIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fin {
    None,
    /// Seen, perhaps above a hole.
    Seen,
    /// All before it was received, and it is consumed.
    Consumed,
}

/// Data above holes, if there are many.
#[derive(Clone, Debug, Default)]
struct OutOfOrder {
    /// Sorted, disjoint, not touching.
    ranges: Vec<SackBlock>,
    /// A byte of each of the most recently extended ranges, newest first.
    recent: [u64; RECENT],
    count: u8,
    /// What the next ACK reports as received twice.
    duplicate: SackBlock,
}

impl OutOfOrder {
    /// The range that holds `seq`.
    fn find(&self, seq: u64) -> Option<SackBlock> {
        let i = self.ranges.partition_point(|r| r.end <= seq);
        self.ranges.get(i).copied().filter(|r| r.start <= seq)
    }

    /// Adds `[start, end)`; false if it was there already.
    fn insert(&mut self, start: u64, end: u64) -> bool {
        // first range that touches or follows, and first that lies beyond
        let from = self.ranges.partition_point(|r| r.end < start);
        let to = from + self.ranges[from..].partition_point(|r| r.start <= end);
        let block = if from == to {
            self.ranges.insert(from, SackBlock { start, end });
            SackBlock { start, end }
        } else {
            let old = self.ranges[from];
            let merged = SackBlock { start: old.start.min(start), end: self.ranges[to - 1].end.max(end) };
            if to == from + 1 && merged == old {
                self.remember(start, old);
                return false;
            }
            self.ranges[from] = merged;
            self.ranges.drain(from + 1..to);
            merged
        };
        self.remember(start, block);
        true
    }

    /// Moves the block of `seq` to the front of the order.
    fn remember(&mut self, seq: u64, block: SackBlock) {
        let mut next = [seq; RECENT];
        let mut n = 1;
        for &old in &self.recent[..usize::from(self.count)] {
            if !(block.start..block.end).contains(&old) && n < RECENT {
                next[n] = old;
                n += 1;
            }
        }
        self.recent = next;
        self.count = n as u8;
    }

    /// Everything that continues `next`; returns the new next byte.
    fn take(&mut self, mut next: u64) -> u64 {
        let n = self.ranges.partition_point(|r| r.start <= next);
        if n > 0 {
            next = next.max(self.ranges[n - 1].end);
            self.ranges.drain(..n);
        }
        let mut kept = 0;
        for i in 0..usize::from(self.count) {
            if self.recent[i] >= next {
                self.recent[kept] = self.recent[i];
                kept += 1;
            }
        }
        self.count = kept as u8;
        next
    }
}

/// The receiving half of an endpoint. With nothing above a hole, all that a segment needs is in its first 32 bytes, among
/// them what the whole endpoint must know to leave the sending half alone: the phase, and whether that half is quiet.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Receiver {
    /// Next byte expected.
    pub(crate) next: u64,
    /// When a delayed ACK is due; [`AT_ONCE`] if before this call ends.
    pub(crate) ack_at: Time,
    /// Bytes received in order since the last ACK was sent.
    since_ack: u32,
    ts_recent: u32,
    /// Data segments since the last ACK.
    unacked: u8,
    /// ACKs still to be sent at once.
    quick: u8,
    /// How many ranges `few` holds, or [`ON_HEAP`].
    held: u8,
    /// What ACKs must tell besides: [`ECHO`], [`DUPLICATE`].
    tells: u8,
    fin: Fin,
    /// ECN is in use on this connection.
    pub(crate) ecn: bool,
    pub(crate) phase: Phase,
    /// Established, and the sending half neither waits for anything nor has anything to send.
    pub(crate) quiet: bool,
    /// Disjoint, not touching, the most recently extended one first.
    few: [SackBlock; FEW],
    many: Option<Box<OutOfOrder>>,
    /// Position of the peer's FIN, once it was seen.
    fin_at: u64,
}

impl Receiver {
    pub(crate) fn new(p: &TcpParams) -> Self {
        Self {
            next: 0,
            ack_at: Time::NEVER,
            since_ack: 0,
            ts_recent: 0,
            unacked: 0,
            quick: p.quick_acks as u8,
            held: 0,
            tells: 0,
            fin: Fin::None,
            ecn: false,
            phase: Phase::Listen,
            quiet: false,
            few: [SackBlock::default(); FEW],
            many: None,
            fin_at: 0,
        }
    }

    /// Asks for what a segment needs if there are holes.
    #[inline]
    pub(crate) fn expect(&self) {
        prefetch(&self.few, 0);
    }

    /// The same for ranges on the heap.
    #[inline]
    pub(crate) fn expect_ranges(&self) {
        if self.held == ON_HEAP
            && let Some(many) = &self.many
        {
            prefetch(&**many, 0);
            prefetch(&**many, LINE);
        }
    }

    /// Bytes of ranges on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.many.as_ref().map_or(0, |many| size_of::<OutOfOrder>() + many.ranges.capacity() * size_of::<SackBlock>())
    }

    /// The peer's SYN (or, without handshake, the beginning of time).
    pub(crate) fn open(&mut self, ts_val: u32) {
        self.next = 1;
        self.since_ack = 0;
        self.ts_recent = ts_val;
    }

    /// An ACK must leave before this call ends.
    #[inline]
    pub(crate) fn ack_now(&self) -> bool {
        self.ack_at == AT_ONCE
    }

    /// Asks for it.
    #[inline]
    pub(crate) fn set_ack_now(&mut self) {
        self.ack_at = AT_ONCE;
    }

    /// How long the sender paused before what left at `ts_val`, microseconds, if that is long and data came before.
    #[inline]
    pub(crate) fn pause_us(&self, ts_val: u32) -> Option<u32> {
        let us = ts_val.wrapping_sub(self.ts_recent);
        (us > PAUSE && us < 1 << 31 && self.next > 1).then_some(us)
    }

    /// The next `acks` ACKs leave at once.
    #[cold]
    pub(crate) fn quicken(&mut self, acks: u32) {
        self.quick = self.quick.max(acks as u8);
    }

    /// The peer's FIN was consumed.
    #[inline]
    pub(crate) fn finished(&self) -> bool {
        self.fin == Fin::Consumed
    }

    /// Payload bytes received in order.
    pub(crate) fn received(&self) -> u64 {
        self.next.saturating_sub(1 + u64::from(self.finished()))
    }

    #[inline]
    fn has_holes(&self) -> bool {
        self.held != 0
    }

    /// A segment that occupies sequence space.
    #[inline]
    pub(crate) fn on_data(
        &mut self,
        p: &TcpParams,
        now: Time,
        segment: &Segment,
        stats: &mut Counters,
        io: &mut impl Io,
    ) {
        let (start, end) = (segment.seq, segment.seq + segment.seq_len());
        if self.ecn {
            if segment.flags.has(Flags::CWR) {
                self.tells &= !ECHO;
            }
            if segment.ecn == Ecn::Ce && self.tells & ECHO == 0 {
                self.tells |= ECHO;
                if p.quick_acks_return {
                    self.quicken(QUICK_AFTER_CE);
                }
            }
        }
        if p.rtt_from_every_ack {
            self.ts_recent = segment.ts_val;
        }
        if end <= self.next || end > self.next + p.receive_window.0 {
            stats.duplicates_received += 1;
            self.note_duplicate(p, start, end);
            if p.quick_acks_return {
                self.quicken(p.quick_acks);
            }
            self.set_ack_now();
            return;
        }
        // not above what the last ACK said
        if start + u64::from(self.since_ack) <= self.next {
            self.ts_recent = segment.ts_val;
        }
        if segment.flags.has(Flags::FIN) {
            self.fin_at = end - 1;
            if self.fin == Fin::None {
                self.fin = Fin::Seen;
            }
            self.set_ack_now();
        }
        if start > self.next {
            // not `+= u32::from(...)`: the counters lie in a line that nothing else here needs
            if !self.insert(start, end) {
                stats.duplicates_received += 1;
                self.note_duplicate(p, start, end);
            }
            self.set_ack_now();
            return;
        }
        let old = self.next;
        self.next = end;
        if self.has_holes() {
            self.next = self.take(end);
            self.set_ack_now();
        }
        // at most the receive window, which is below 4 GiB
        self.since_ack += (self.next - old) as u32;
        self.deliver(old, io);
        self.schedule_ack(p, now);
    }

    /// Adds `[start, end)` above a hole; false if it was there already.
    fn insert(&mut self, start: u64, end: u64) -> bool {
        if self.held == ON_HEAP {
            return self.many.get_or_insert_default().insert(start, end);
        }
        // the ranges that it touches become one with it, in front of the others, which keep their order
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

    /// Takes everything that continues `next`; returns the new next byte.
    fn take(&mut self, next: u64) -> u64 {
        if self.held == ON_HEAP {
            let many = self.many.get_or_insert_default();
            let next = many.take(next);
            if many.ranges.is_empty() {
                self.held = 0;
            }
            return next;
        }
        // ranges do not touch one another: one that begins above `next` stays above all that is taken
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

    #[inline]
    fn deliver(&mut self, old: u64, io: &mut impl Io) {
        let fin = self.fin != Fin::None && self.next > self.fin_at;
        let bytes = self.next - old - u64::from(fin);
        if bytes > 0 {
            io.event(Event::Received { bytes });
        }
        if fin {
            self.fin = Fin::Consumed;
            io.event(Event::PeerFinished);
        }
    }

    #[inline]
    fn schedule_ack(&mut self, p: &TcpParams, now: Time) {
        self.unacked = self.unacked.saturating_add(1);
        let due = if p.short_segments_wait {
            u64::from(self.since_ack) >= u64::from(p.ack_every) * u64::from(p.mss)
        } else {
            u32::from(self.unacked) >= p.ack_every
        };
        if due || self.quick > 0 {
            self.set_ack_now();
        } else if self.ack_at == Time::NEVER {
            self.ack_at = p.expiry(now, p.delayed_ack);
        }
    }

    /// Fills in what every segment of an established connection carries; whatever ACK was due is hereby sent.
    #[inline]
    pub(crate) fn stamp(&mut self, p: &TcpParams, now: Time, segment: &mut Segment) {
        segment.has_ack = true;
        segment.ack = self.next;
        if p.timestamps {
            segment.ts_val = micros(now);
            segment.ts_ecr = self.ts_recent;
        }
        if self.tells & ECHO != 0 {
            segment.flags = segment.flags.with(Flags::ECE);
        }
        if self.has_holes() || self.tells & DUPLICATE != 0 {
            self.stamp_sack(p, segment);
        }
        // an ACK that was due, of data
        if self.quick > 0 && self.ack_at != Time::NEVER && self.next > 1 {
            self.quick -= 1;
        }
        self.since_ack = 0;
        self.unacked = 0;
        self.ack_at = Time::NEVER;
    }

    /// The next ACK reports that `[start, end)` came twice; what lies above the window did not come at all.
    #[cold]
    fn note_duplicate(&mut self, p: &TcpParams, start: u64, end: u64) {
        if p.dsack && p.sack_blocks() > 0 && start < end && end <= self.next + p.receive_window.0 {
            self.many.get_or_insert_default().duplicate = SackBlock { start, end };
            self.tells |= DUPLICATE;
        }
    }

    fn stamp_sack(&mut self, p: &TcpParams, segment: &mut Segment) {
        let most = p.sack_blocks();
        if self.tells & DUPLICATE != 0 {
            self.tells &= !DUPLICATE;
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
            for &seq in &holes.recent[..usize::from(holes.count)] {
                if segment.sack.len() < most
                    && let Some(block) = holes.find(seq)
                {
                    segment.sack.push(block);
                }
            }
        }
        if !segment.sack.is_empty() {
            segment.flags = segment.flags.with(Flags::SACK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Log(Vec<Event>);
    impl Io for Log {
        fn send(&mut self, _: &Segment) {}
        fn event(&mut self, event: Event) {
            self.0.push(event);
        }
    }

    fn data(i: u64) -> Segment {
        Segment { seq: 1 + i * 500, len: 500, ..Segment::default() }
    }
    fn blocks(r: &mut Receiver, p: &TcpParams) -> Vec<(u64, u64)> {
        let mut s = Segment::default();
        r.stamp(p, Time(0), &mut s);
        s.sack.as_slice().iter().map(|b| ((b.start - 1) / 500, (b.end - 1) / 500)).collect()
    }

    #[test]
    fn rfc_2018_order() {
        let p = TcpParams::preset("rfc").unwrap();
        let (mut r, mut io, mut st) = (Receiver::new(&p), Log::default(), Counters::default());
        r.open(0);
        // RFC 2018 §7 case 3 (every second segment is lost): the newest block first, then the ones before
        for i in [1, 3, 5, 7] {
            r.on_data(&p, Time(0), &data(i), &mut st, &mut io);
        }
        // at most three beside a timestamp
        assert_eq!(blocks(&mut r, &p), [(7, 8), (5, 6), (3, 4)]);
        // the fourth segment fills the hole between 3 and 5: one block of three, most recent
        r.on_data(&p, Time(0), &data(4), &mut st, &mut io);
        assert_eq!(blocks(&mut r, &p), [(3, 6), (7, 8), (1, 2)]);
        // a duplicate is reported first, too
        r.on_data(&p, Time(0), &data(7), &mut st, &mut io);
        assert_eq!(blocks(&mut r, &p), [(7, 8), (3, 6), (1, 2)]);
        assert_eq!(st.duplicates_received, 1);
        assert_eq!(io.0, []);
        r.on_data(&p, Time(0), &data(0), &mut st, &mut io);
        assert_eq!(io.0, [Event::Received { bytes: 1000 }]);
        assert_eq!(blocks(&mut r, &p), [(7, 8), (3, 6)]);
        for i in [2, 6] {
            r.on_data(&p, Time(0), &data(i), &mut st, &mut io);
        }
        assert_eq!(blocks(&mut r, &p), []);
        assert_eq!(r.received(), 8 * 500);
        let p = TcpParams { timestamps: false, ..p };
        for i in [9, 11, 13, 15, 17] {
            r.on_data(&p, Time(0), &data(i), &mut st, &mut io);
        }
        assert_eq!(blocks(&mut r, &p), [(17, 18), (15, 16), (13, 14), (11, 12)]);
    }

    #[test]
    fn rfc_2883_duplicates() {
        let p = TcpParams { dsack: true, ..TcpParams::preset("rfc").unwrap() };
        let (mut r, mut io, mut st) = (Receiver::new(&p), Log::default(), Counters::default());
        r.open(0);
        let mut arrive = |r: &mut Receiver, list: &[u64]| {
            for &i in list {
                r.on_data(&p, Time(0), &data(i), &mut st, &mut io);
            }
            blocks(r, &p)
        };
        // RFC 2883 §4.1.1: the ACK was lost, and the segment comes again; told once
        assert_eq!(arrive(&mut r, &[0, 1]), []);
        assert_eq!(arrive(&mut r, &[1]), [(1, 2)]);
        assert_eq!(arrive(&mut r, &[]), []);
        // §4.1.2: below the ACK, while 3 is held above a hole: the duplicate first
        assert_eq!(arrive(&mut r, &[3]), [(3, 4)]);
        assert_eq!(arrive(&mut r, &[0]), [(0, 1), (3, 4)]);
        // §4.2: inside the block above the ACK, which follows
        assert_eq!(arrive(&mut r, &[4, 5]), [(3, 6)]);
        assert_eq!(arrive(&mut r, &[4]), [(4, 5), (3, 6)]);
        // at most three beside a time stamp: the oldest block gives way
        assert_eq!(arrive(&mut r, &[7]), [(7, 8), (3, 6)]);
        assert_eq!(arrive(&mut r, &[9]), [(9, 10), (7, 8), (3, 6)]);
        assert_eq!(arrive(&mut r, &[7]), [(7, 8), (7, 8), (9, 10)]);
        // what lies beyond the window is no duplicate
        assert_eq!(arrive(&mut r, &[1 << 40]), [(7, 8), (9, 10), (3, 6)]);
    }

    #[test]
    fn every_second_segment_or_the_timer_or_a_hole() {
        let timer_tick = units::Duration::ZERO;
        let p = TcpParams { quick_acks: 0, timer_tick, ..TcpParams::preset("linux-6").unwrap() };
        let (mut r, mut io, mut st) = (Receiver::new(&p), Log::default(), Counters::default());
        r.open(0);
        let now = Time(1_000_000);
        r.on_data(&p, now, &data(0), &mut st, &mut io);
        assert!(!r.ack_now());
        assert_eq!(r.ack_at, now + p.delayed_ack);
        r.on_data(&p, now, &data(1), &mut st, &mut io);
        assert!(r.ack_now());
        r.stamp(&p, now, &mut Segment::default());
        assert_eq!((r.ack_now(), r.ack_at), (false, Time::NEVER));
        r.on_data(&p, now, &data(3), &mut st, &mut io);
        assert!(r.ack_now(), "out of order");
        r.stamp(&p, now, &mut Segment::default());
        r.on_data(&p, now, &data(2), &mut st, &mut io);
        assert!(r.ack_now(), "fills a hole");
    }

    #[test]
    fn the_echo_is_that_of_the_first_segment_not_acknowledged() {
        // RFC 7323 §4.3: with a delayed ACK, the stamp of the earlier segment; with a hole, the last one in order.
        let p = TcpParams { quick_acks: 0, ..TcpParams::preset("linux-6").unwrap() };
        let (mut r, mut io, mut st) = (Receiver::new(&p), Log::default(), Counters::default());
        r.open(7);
        let mut ecr = |r: &mut Receiver, list: &[(u64, u32)]| {
            for &(i, ts_val) in list {
                r.on_data(&p, Time(0), &Segment { ts_val, ..data(i) }, &mut st, &mut io);
            }
            let mut s = Segment::default();
            r.stamp(&p, Time(0), &mut s);
            s.ts_ecr
        };
        assert_eq!(ecr(&mut r, &[(0, 10), (1, 20)]), 10);
        assert_eq!(ecr(&mut r, &[(3, 40)]), 10);
        assert_eq!(ecr(&mut r, &[(2, 90)]), 90);
    }

    #[test]
    fn acks_at_once_return_after_a_mark_and_a_duplicate() {
        for (returns, want) in [(true, [0, 1, 3, 5, 6, 8, 0, 9, 11].as_slice()), (false, &[0, 1, 3, 5, 7, 0, 10])] {
            let p = TcpParams { quick_acks: 2, quick_acks_return: returns, ..TcpParams::preset("linux-6").unwrap() };
            let mut r = Receiver::new(&p);
            r.open(0);
            r.ecn = true;
            let mut acked = vec![];
            // 5 is marked; 0 comes again after 8: its ACK is the first of two at once
            for i in [0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 9, 10, 11] {
                let ecn = if i == 5 { Ecn::Ce } else { Ecn::Ect0 };
                r.on_data(&p, Time(1), &Segment { ecn, ..data(i) }, &mut Counters::default(), &mut Log::default());
                if r.ack_now() {
                    r.stamp(&p, Time(1), &mut Segment::default());
                    acked.push(i);
                }
            }
            assert_eq!(acked, want, "{returns}");
        }
    }
}
