//! The receiving half: reassembly, acknowledgement policy, SACK blocks, time stamp echo, ECN echo.
//!
//! Source: RFC 5681 §4.2 (ACK policy), RFC 2018 §4 (order of blocks), RFC 7323 §4.3 (which stamp is echoed), RFC 3168
//! §6.1.3 (ECE until CWR). D-SACK is not generated.

use crate::segment::micros;
use crate::{Event, Io, SackBlock, SackBlocks, Segment, Stats, TcpParams};
use packet::{Ecn, Flags};
use units::Time;

/// No FIN has been seen.
const NO_FIN: u64 = u64::MAX;
/// Blocks whose order of arrival is remembered.
const RECENT: usize = SackBlocks::MAX;

/// Data above a hole. Boxed and allocated at the first hole.
#[derive(Clone, Debug, Default)]
struct OutOfOrder {
    /// Sorted, disjoint, not touching.
    ranges: Vec<SackBlock>,
    /// A byte of each of the most recently extended ranges, newest first.
    recent: [u64; RECENT],
    count: u8,
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

/// The receiving half of an endpoint.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Receiver {
    /// Next byte expected.
    pub(crate) next: u64,
    /// What the last ACK said.
    last_ack_sent: u64,
    /// Position of the peer's FIN.
    fin_at: u64,
    /// When a delayed ACK is due.
    pub(crate) ack_at: Time,
    holes: Option<Box<OutOfOrder>>,
    ts_recent: u32,
    /// Data segments since the last ACK.
    unacked: u32,
    /// ACKs still to be sent at once.
    quick: u32,
    /// An ACK must leave before this call ends.
    pub(crate) ack_now: bool,
    /// CE arrived and CWR has not.
    echo: bool,
    /// The peer's FIN was consumed.
    pub(crate) finished: bool,
}

impl Receiver {
    pub(crate) fn new(p: &TcpParams) -> Self {
        Self {
            next: 0,
            last_ack_sent: 0,
            fin_at: NO_FIN,
            ack_at: Time::NEVER,
            holes: None,
            ts_recent: 0,
            unacked: 0,
            quick: p.quick_acks,
            ack_now: false,
            echo: false,
            finished: false,
        }
    }

    /// The peer's SYN (or, without handshake, the beginning of time).
    pub(crate) fn open(&mut self, ts_val: u32) {
        self.next = 1;
        self.last_ack_sent = 1;
        self.ts_recent = ts_val;
    }

    #[inline]
    fn has_holes(&self) -> bool {
        self.holes.as_ref().is_some_and(|h| !h.ranges.is_empty())
    }

    /// A segment that occupies sequence space.
    #[inline]
    pub(crate) fn on_data(
        &mut self,
        p: &TcpParams,
        now: Time,
        segment: &Segment,
        ecn: bool,
        stats: &mut Stats,
        io: &mut impl Io,
    ) {
        let (start, end) = (segment.seq, segment.seq + segment.seq_len());
        if ecn {
            if segment.flags.has(Flags::CWR) {
                self.echo = false;
            }
            self.echo |= segment.ecn == Ecn::Ce;
        }
        if end <= self.next || end > self.next + p.receive_window.0 {
            stats.duplicates_received += 1;
            self.ack_now = true;
            return;
        }
        if start <= self.last_ack_sent {
            self.ts_recent = segment.ts_val;
        }
        if segment.flags.has(Flags::FIN) {
            self.fin_at = end - 1;
            self.ack_now = true;
        }
        if start > self.next {
            stats.duplicates_received += u32::from(!self.holes.get_or_insert_default().insert(start, end));
            self.ack_now = true;
            return;
        }
        let old = self.next;
        self.next = end;
        if self.has_holes()
            && let Some(holes) = &mut self.holes
        {
            self.next = holes.take(end);
            self.ack_now = true;
        }
        self.deliver(old, stats, io);
        self.schedule_ack(p, now);
    }

    fn deliver(&mut self, old: u64, stats: &mut Stats, io: &mut impl Io) {
        let fin = self.next > self.fin_at;
        let bytes = self.next - old - u64::from(fin);
        if bytes > 0 {
            stats.bytes_received += bytes;
            io.event(Event::Received { bytes });
        }
        if fin {
            self.finished = true;
            io.event(Event::PeerFinished);
        }
    }

    #[inline]
    fn schedule_ack(&mut self, p: &TcpParams, now: Time) {
        self.unacked += 1;
        if self.unacked >= p.ack_every {
            self.ack_now = true;
        } else if self.quick > 0 {
            self.quick -= 1;
            self.ack_now = true;
        } else if self.ack_at == Time::NEVER {
            self.ack_at = now + p.delayed_ack;
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
        if self.echo {
            segment.flags = segment.flags.with(Flags::ECE);
        }
        if self.has_holes() {
            self.stamp_sack(p, segment);
        }
        self.last_ack_sent = self.next;
        self.unacked = 0;
        self.ack_now = false;
        self.ack_at = Time::NEVER;
    }

    fn stamp_sack(&self, p: &TcpParams, segment: &mut Segment) {
        let Some(holes) = &self.holes else { return };
        for &seq in &holes.recent[..usize::from(holes.count)] {
            if segment.sack.len() < p.sack_blocks()
                && let Some(block) = holes.find(seq)
            {
                segment.sack.push(block);
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
        let (mut r, mut io, mut st) = (Receiver::new(&p), Log::default(), Stats::default());
        r.open(0);
        // RFC 2018 §7 case 3 (every second segment is lost): the newest block first, then the ones before
        for i in [1, 3, 5, 7] {
            r.on_data(&p, Time(0), &data(i), false, &mut st, &mut io);
        }
        // at most three beside a timestamp
        assert_eq!(blocks(&mut r, &p), [(7, 8), (5, 6), (3, 4)]);
        // the fourth segment fills the hole between 3 and 5: one block of three, most recent
        r.on_data(&p, Time(0), &data(4), false, &mut st, &mut io);
        assert_eq!(blocks(&mut r, &p), [(3, 6), (7, 8), (1, 2)]);
        // a duplicate is reported first, too
        r.on_data(&p, Time(0), &data(7), false, &mut st, &mut io);
        assert_eq!(blocks(&mut r, &p), [(7, 8), (3, 6), (1, 2)]);
        assert_eq!(st.duplicates_received, 1);
        assert_eq!(io.0, []);
        r.on_data(&p, Time(0), &data(0), false, &mut st, &mut io);
        assert_eq!(io.0, [Event::Received { bytes: 1000 }]);
        assert_eq!(blocks(&mut r, &p), [(7, 8), (3, 6)]);
        for i in [2, 6] {
            r.on_data(&p, Time(0), &data(i), false, &mut st, &mut io);
        }
        assert_eq!(blocks(&mut r, &p), []);
        assert_eq!(st.bytes_received, 8 * 500);
        let p = TcpParams { timestamps: false, ..p };
        for i in [9, 11, 13, 15, 17] {
            r.on_data(&p, Time(0), &data(i), false, &mut st, &mut io);
        }
        assert_eq!(blocks(&mut r, &p), [(17, 18), (15, 16), (13, 14), (11, 12)]);
    }

    #[test]
    fn every_second_segment_or_the_timer_or_a_hole() {
        let p = TcpParams { quick_acks: 0, ..TcpParams::preset("linux-6").unwrap() };
        let (mut r, mut io, mut st) = (Receiver::new(&p), Log::default(), Stats::default());
        r.open(0);
        let now = Time(1_000_000);
        r.on_data(&p, now, &data(0), false, &mut st, &mut io);
        assert!(!r.ack_now);
        assert_eq!(r.ack_at, now + p.delayed_ack);
        r.on_data(&p, now, &data(1), false, &mut st, &mut io);
        assert!(r.ack_now);
        r.stamp(&p, now, &mut Segment::default());
        assert_eq!((r.ack_now, r.ack_at), (false, Time::NEVER));
        r.on_data(&p, now, &data(3), false, &mut st, &mut io);
        assert!(r.ack_now, "out of order");
        r.stamp(&p, now, &mut Segment::default());
        r.on_data(&p, now, &data(2), false, &mut st, &mut io);
        assert!(r.ack_now, "fills a hole");
    }

    #[test]
    fn the_echo_is_that_of_the_first_segment_not_acknowledged() {
        // RFC 7323 §4.3: with a delayed ACK, the stamp of the earlier segment; with a hole, the last one in order.
        let p = TcpParams { quick_acks: 0, ..TcpParams::preset("linux-6").unwrap() };
        let (mut r, mut io, mut st) = (Receiver::new(&p), Log::default(), Stats::default());
        r.open(7);
        let mut ecr = |r: &mut Receiver, list: &[(u64, u32)]| {
            for &(i, ts_val) in list {
                r.on_data(&p, Time(0), &Segment { ts_val, ..data(i) }, false, &mut st, &mut io);
            }
            let mut s = Segment::default();
            r.stamp(&p, Time(0), &mut s);
            s.ts_ecr
        };
        assert_eq!(ecr(&mut r, &[(0, 10), (1, 20)]), 10);
        assert_eq!(ecr(&mut r, &[(3, 40)]), 10);
        assert_eq!(ecr(&mut r, &[(2, 90)]), 90);
    }
}
