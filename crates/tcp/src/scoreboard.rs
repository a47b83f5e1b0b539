//! What the sender knows of every segment in flight.
//!
//! A ring of 16-byte entries from the first unacknowledged segment to the last one sent, and running counters, so that
//! an ACK costs O(1) amortised whatever the window and the number of holes. The ring of a small window lies in the board
//! itself: of ten thousand connections, each finds its few segments in the cache line beside its counters.
//!
//! ```text
//! pipe     = sum over unSACKed entries of bytes * [not lost] + bytes * [retransmitted]         RFC 6675 SetPipe
//! IsLost   = more than (DupThresh - 1) MSS SACKed above, or DupThresh SACKed runs above      RFC 6675 IsLost
//! ```
//!
//! Three cursors (positions in the ring) only move up while entries stay: `lost_to` (IsLost has been decided below it;
//! what is SACKed above it is counted in bytes and runs), `rtx` (all below is SACKed or retransmitted: RFC 6675's
//! HighRxt) and `high` (one past the highest SACKed entry). The first entry of a SACKed run remembers how far the run
//! reaches, so repeated blocks are skipped, not walked.
//!
//! With RACK-TLP the same cursors stand, and what moves `lost_to` is time: see [`rack`].
//!
//! Departs: losses are counted per segment, not per octet (a receiver acknowledges whole segments, and retransmissions
//! keep the boundaries).

pub(crate) mod fack;
pub(crate) mod rack;

use fack::Fack;
use rack::Rack;
use std::collections::VecDeque;
use units::prefetch;

const SACKED: u8 = 1;
const LOST: u8 = 2;
/// Retransmitted in this recovery: counts in pipe.
const RETX: u8 = 4;
/// Sent more than once in its life: no RTT sample (Karn).
const EVER: u8 = 8;
const FIN: u8 = 16;

/// One segment in flight.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Low half of its offset.
    start: u32,
    /// Moment of the last transmission, microseconds modulo 2^32.
    sent: u32,
    /// In the first entry of a SACKed run: how many entries from here are SACKed at least.
    skip: u32,
    /// Payload.
    len: u16,
    flags: u8,
}

const _: () = assert!(size_of::<Entry>() == 16);

/// Entries that the board holds itself; with more, all are in the ring.
const FEW: usize = 4;
/// Entries at which those in the ring come back: less than [`FEW`], or a window of that size would move all the time.
const BACK: usize = 2;
/// Room of the ring that is not given back. A larger ring of which a quarter is in use gives back half: what a window once was
/// is no reason to walk through so many cache lines.
const LEAST_ROOM: usize = 8;
/// `held` when the entries are in the ring.
const IN_RING: u8 = u8::MAX;
const NONE: Entry = Entry { start: 0, sent: 0, skip: 0, len: 0, flags: 0 };

impl Entry {
    /// Sequence numbers it occupies.
    #[inline]
    fn size(&self) -> u64 {
        u64::from(self.len) + u64::from(self.flags & FIN != 0)
    }
    /// Payload: what pipe and the windows count. A FIN alone takes no window.
    #[inline]
    fn bytes(&self) -> u64 {
        u64::from(self.len)
    }
    /// Its share of pipe.
    #[inline]
    fn in_pipe(&self) -> u64 {
        if self.flags & SACKED != 0 {
            return 0;
        }
        self.bytes() * (u64::from(self.flags & LOST == 0) + u64::from(self.flags & RETX != 0))
    }
    #[inline]
    fn has(&self, bit: u8) -> bool {
        self.flags & bit != 0
    }
}

/// A retransmission on its way.
#[derive(Clone, Copy, Debug)]
struct Resent {
    seq: u64,
    sent: u32,
}

/// A segment to send again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) seq: u64,
    pub(crate) len: u32,
    pub(crate) fin: bool,
    at: u32,
}

impl Piece {
    /// One past its last sequence number.
    pub(crate) fn end(&self) -> u64 {
        self.seq + u64::from(self.len) + u64::from(self.fin)
    }
}

/// What a cumulative ACK took off the board.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    /// Send time of the newest one, if none of them was SACKed before or sent twice (Karn).
    pub(crate) sent: Option<u32>,
    /// Bytes of them that had been SACKed before.
    pub(crate) sacked: u64,
}

/// See the module. The fields lie in the order in which an ACK needs them, as in [`crate::Endpoint`].
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Scoreboard {
    /// Offset of the first entry, or of the next segment if the board is empty.
    base: u64,
    pipe: u64,
    /// Bytes SACKed at or above `lost_to`.
    above: u64,
    /// SACKed runs at or above `lost_to`.
    runs: u32,
    lost_to: u32,
    rtx: u32,
    high: u32,
    /// Without SACK: bytes that duplicate ACKs say have left the network.
    pub(crate) dup_bytes: u32,
    /// How many entries `few` holds, or [`IN_RING`].
    held: u8,
    /// Only where losses are found by forward acknowledgement.
    pub(crate) fack: Option<Box<Fack>>,
    /// Only where losses are found by time.
    pub(crate) rack: Option<Box<Rack>>,
    few: [Entry; FEW],
    ring: VecDeque<Entry>,
}

impl Scoreboard {
    /// An empty board from `base` on; `rack` for one whose losses are found by time.
    pub(crate) fn new(base: u64, rack: bool) -> Self {
        Self {
            base,
            pipe: 0,
            above: 0,
            runs: 0,
            lost_to: 0,
            rtx: 0,
            high: 0,
            dup_bytes: 0,
            held: 0,
            fack: None,
            rack: rack.then(|| Box::new(Rack::new())),
            few: [NONE; FEW],
            ring: VecDeque::new(),
        }
    }

    /// The same with losses found by forward acknowledgement, or without.
    pub(crate) fn with_forward_ack(mut self, forward: bool) -> Self {
        self.fack = forward.then(Box::default);
        self
    }

    // ---------------------------------------------------------------- entries

    /// Asks for the entries that an ACK will need, if they are in the ring: the oldest, and those that SACK blocks tell of.
    #[inline]
    pub(crate) fn expect(&self) {
        if self.held == IN_RING {
            self.ring.front().into_iter().chain(self.ring.back()).for_each(|e| prefetch(e, 0));
        }
    }

    /// Segments in flight, and bytes of the ring.
    pub(crate) fn footprint(&self) -> (usize, usize) {
        (self.len(), self.ring.capacity() * size_of::<Entry>())
    }

    /// Segments taken for lost that are not SACKed.
    pub(crate) fn lost_segments(&self) -> u32 {
        self.iter().filter(|e| e.flags & (SACKED | LOST) == LOST).count() as u32
    }

    #[inline]
    fn len(&self) -> usize {
        if self.held == IN_RING { self.ring.len() } else { usize::from(self.held) }
    }

    /// The entry at position `at`, if there is one.
    #[inline]
    fn get(&self, at: usize) -> Option<&Entry> {
        if self.held == IN_RING {
            self.ring.get(at)
        } else if at < usize::from(self.held) {
            self.few.get(at)
        } else {
            None
        }
    }

    /// The entry at a position below `len`.
    #[inline]
    fn entry(&mut self, at: usize) -> &mut Entry {
        if self.held == IN_RING { &mut self.ring[at] } else { &mut self.few[at] }
    }

    fn iter(&self) -> impl DoubleEndedIterator<Item = &Entry> + ExactSizeIterator {
        (0..self.len()).map(|at| self.get(at).expect("below len"))
    }

    #[inline]
    fn push_back(&mut self, e: Entry) {
        if self.held == IN_RING {
            return self.ring.push_back(e);
        }
        match self.few.get_mut(usize::from(self.held)) {
            Some(slot) => {
                *slot = e;
                self.held += 1;
            }
            None => {
                self.ring.extend(self.few);
                self.ring.push_back(e);
                self.held = IN_RING;
            }
        }
    }

    /// Removes the first entry; the board is not empty.
    #[inline]
    fn pop_front(&mut self) {
        if self.held != IN_RING {
            self.few.copy_within(1.., 0);
            self.held -= 1;
            return;
        }
        self.ring.pop_front();
        let (len, room) = (self.ring.len(), self.ring.capacity());
        if len == BACK {
            for (slot, e) in self.few.iter_mut().zip(self.ring.drain(..)) {
                *slot = e;
            }
            self.held = BACK as u8;
        }
        if room > LEAST_ROOM && len <= room / 4 {
            self.give_back(room / 2);
        }
    }

    #[cold]
    fn give_back(&mut self, room: usize) {
        self.ring.shrink_to(room.max(LEAST_ROOM));
    }

    // ---------------------------------------------------------------- sending and acknowledgements

    /// Bytes believed to be in the network.   Source: RFC 6675 §4.
    #[inline]
    pub(crate) fn pipe(&self) -> u64 {
        self.pipe
    }

    /// A new segment was sent; segments are contiguous.
    #[inline]
    pub(crate) fn push(&mut self, seq: u64, len: u32, fin: bool, now_us: u32) {
        if self.held == 0 {
            self.base = seq;
        }
        let flags = if fin { FIN } else { 0 };
        let e = Entry { start: seq as u32, sent: now_us, skip: 0, len: len as u16, flags };
        self.pipe += e.bytes();
        self.push_back(e);
    }

    /// Everything below `una` is acknowledged.
    #[inline]
    pub(crate) fn ack(&mut self, una: u64) -> Taken {
        let mut taken = Taken::default();
        let mut clean = true;
        while let Some(&e) = self.get(0) {
            let size = e.size();
            if self.base + size > una {
                break;
            }
            self.pop_front();
            self.base += size;
            self.pipe -= e.in_pipe();
            clean &= e.flags & (SACKED | EVER) == 0;
            if let Some(rack) = &mut self.rack {
                if e.has(SACKED) {
                    rack.sacked -= 1;
                } else {
                    rack.lost -= u32::from(e.has(LOST));
                    rack.note_delivered(&e);
                }
            } else if let Some(fack) = &mut self.fack
                && !e.has(SACKED)
            {
                fack.note_delivered(&e);
            }
            taken.sent = Some(e.sent);
            if e.has(SACKED) {
                taken.sacked += e.bytes();
                if self.lost_to == 0 {
                    self.leave_count(e.bytes(), self.get(0).is_some_and(|next| next.has(SACKED)));
                }
            }
            self.lost_to = self.lost_to.saturating_sub(1);
            self.rtx = self.rtx.saturating_sub(1);
            self.high = self.high.saturating_sub(1);
        }
        if !clean {
            taken.sent = None;
        }
        taken
    }

    /// A SACKed entry leaves what is counted above `lost_to`; its run goes on or ends with it.
    #[inline]
    fn leave_count(&mut self, size: u64, run_goes_on: bool) {
        self.above -= size;
        self.runs -= u32::from(!run_goes_on);
    }

    /// Position of the first entry that starts at or after `seq`.
    #[inline]
    fn position(&self, seq: u64, mss: u32) -> usize {
        let rel = seq.saturating_sub(self.base) as u32;
        let base = self.base as u32;
        // all segments but a message's last are full, so the guess nearly always hits
        let guess = (rel / mss) as usize;
        match self.get(guess) {
            Some(e) if e.start.wrapping_sub(base) == rel => guess,
            _ => self.search(rel),
        }
    }

    /// Position of the first entry that starts at or more than `rel` above the base.
    fn search(&self, rel: u32) -> usize {
        let base = self.base as u32;
        if self.held == IN_RING {
            self.ring.partition_point(|e| e.start.wrapping_sub(base) < rel)
        } else {
            self.few[..usize::from(self.held)].partition_point(|e| e.start.wrapping_sub(base) < rel)
        }
    }

    /// A SACK block arrived; returns the bytes that it newly covers.
    pub(crate) fn sack(&mut self, start: u64, end: u64, mss: u32) -> u64 {
        if end <= self.base || self.held == 0 {
            return 0;
        }
        let first = self.position(start, mss);
        let mut at = first;
        let mut new = 0;
        // Bounded by the ring: every turn moves `at` up.
        while let Some(e) = self.get(at) {
            if e.has(SACKED) {
                at += e.skip.max(1) as usize;
                continue;
            }
            let seq = self.base + u64::from(e.start.wrapping_sub(self.base as u32));
            if seq + e.size() > end {
                break;
            }
            new += self.mark_sacked(at);
            at += 1;
        }
        if at > first {
            self.entry(first).skip = (at - first) as u32;
            self.high = self.high.max(at as u32);
        }
        new
    }

    fn mark_sacked(&mut self, at: usize) -> u64 {
        let e = *self.entry(at);
        if let Some(rack) = &mut self.rack {
            rack.sacked += 1;
            rack.lost -= u32::from(e.has(LOST));
            rack.note_delivered(&e);
        } else if let Some(fack) = &mut self.fack {
            fack.note_delivered(&e);
        }
        let (size, in_pipe) = (e.bytes(), e.in_pipe());
        let e = self.entry(at);
        e.flags |= SACKED;
        e.skip = 1;
        self.pipe -= in_pipe;
        if at >= self.lost_to as usize {
            let joins_left = at > self.lost_to as usize && self.entry(at - 1).has(SACKED);
            let joins_right = self.get(at + 1).is_some_and(|n| n.has(SACKED));
            self.above += size;
            self.runs = self.runs + 1 - u32::from(joins_left) - u32::from(joins_right);
        }
        size
    }

    /// Decides IsLost for every entry that what is SACKed by now decides.   Source: RFC 6675 §4; FACK with `forward`.
    pub(crate) fn mark_lost(&mut self, dupthresh: u8, mss: u32, forward: bool) {
        let bytes = u64::from(dupthresh - 1) * u64::from(mss);
        while self.lost_to < self.high {
            let at = self.lost_to as usize;
            let e = *self.entry(at);
            if e.has(SACKED) {
                self.leave_count(e.bytes(), self.get(at + 1).is_some_and(|n| n.has(SACKED)));
            } else if self.above > bytes
                || self.runs >= u32::from(dupthresh)
                || forward && self.high - self.lost_to > u32::from(dupthresh)
            {
                self.set_lost(at);
            } else {
                break;
            }
            self.lost_to += 1;
        }
    }

    fn set_lost(&mut self, at: usize) {
        let e = self.entry(at);
        if !e.has(LOST) {
            e.flags |= LOST;
            let size = e.bytes();
            self.pipe -= size;
            if let Some(rack) = &mut self.rack {
                rack.lost += 1;
            }
            if let Some(fack) = &mut self.fack {
                fack.found = true;
            }
        }
    }

    /// The first segment outstanding is SACKed: its receiver had it, and has not acknowledged it.
    pub(crate) fn head_sacked(&self) -> bool {
        self.get(0).is_some_and(|e| e.has(SACKED))
    }

    /// The first segment in flight is believed lost.
    #[inline]
    pub(crate) fn head_lost(&self) -> bool {
        self.get(0).is_some_and(|e| e.flags & (LOST | SACKED | RETX) == LOST)
    }

    /// Believes the first segment in flight lost (duplicate ACKs, partial ACK).
    pub(crate) fn mark_head_lost(&mut self) {
        if self.get(0).is_some_and(|e| !e.has(SACKED)) {
            self.set_lost(0);
            self.lost_to = self.lost_to.max(1);
        }
    }

    /// Timeout: all that is not SACKed is lost, and so are its retransmissions.
    pub(crate) fn mark_all_lost(&mut self, keep_sack: bool) {
        let mut high = 0;
        for at in 0..self.len() {
            let e = self.entry(at);
            if !keep_sack {
                e.flags &= !SACKED;
            }
            if e.has(SACKED) {
                high = at as u32 + 1;
            } else {
                e.flags = e.flags & !RETX | LOST;
            }
        }
        self.pipe = 0;
        self.lost_to = self.len() as u32;
        self.high = high;
        self.rtx = 0;
        self.above = 0;
        self.runs = 0;
        if let Some(fack) = &mut self.fack {
            fack.forget();
        }
        if self.rack.is_some() {
            self.forget_resent();
        }
    }

    #[inline]
    fn piece(&mut self, at: u32) -> Piece {
        let e = *self.entry(at as usize);
        let seq = self.base + u64::from(e.start.wrapping_sub(self.base as u32));
        Piece { seq, len: u32::from(e.len), fin: e.has(FIN), at }
    }

    /// The lowest lost segment that was not retransmitted.   Source: RFC 6675 NextSeg (1).
    #[inline]
    pub(crate) fn next_lost(&mut self) -> Option<Piece> {
        self.advance(self.lost_to)
    }

    /// The lowest segment below the highest SACKed one, lost or not.   Source: RFC 6675 NextSeg (3).
    pub(crate) fn next_hole(&mut self) -> Option<Piece> {
        self.advance(self.high)
    }

    #[inline]
    fn advance(&mut self, limit: u32) -> Option<Piece> {
        while self.rtx < limit {
            let e = self.entry(self.rtx as usize);
            if e.flags & (SACKED | RETX) == 0 {
                return Some(self.piece(self.rtx));
            }
            self.rtx += 1;
        }
        None
    }

    /// The highest segment that is not SACKED.   Source: RFC 6675 NextSeg (4).
    pub(crate) fn last_hole(&mut self) -> Option<Piece> {
        let at = self.iter().rposition(|e| !e.has(SACKED))?;
        Some(self.piece(at as u32))
    }

    /// A piece was sent again; `rescue` leaves pipe and HighRxt as they are (RFC 6675 NextSeg (4)).
    pub(crate) fn retransmitted(&mut self, piece: Piece, now_us: u32, rescue: bool) {
        let e = self.entry(piece.at as usize);
        e.sent = now_us;
        e.flags |= EVER;
        if !rescue && !e.has(RETX) {
            e.flags |= RETX;
            let size = e.bytes();
            self.pipe += size;
            self.note_resent(Resent { seq: piece.seq, sent: now_us });
            self.number_resent(piece);
        }
    }

    /// Recounts everything from the entries: what the running counters must equal.
    #[cfg(test)]
    pub(crate) fn check(&self, dupthresh: u8, mss: u32) {
        let mut seq = self.base as u32;
        assert!(self.held == IN_RING || usize::from(self.held) <= FEW && self.ring.is_empty(), "held");
        let all: Vec<Entry> = self.iter().copied().collect();
        for e in &all {
            assert_eq!(e.start, seq);
            seq = seq.wrapping_add(e.size() as u32);
        }
        assert_eq!(self.pipe, all.iter().map(Entry::in_pipe).sum::<u64>(), "pipe");
        let sacked = |e: &&Entry| e.has(SACKED);
        let high = all.iter().rposition(|e| e.has(SACKED)).map_or(0, |i| i + 1);
        assert_eq!(self.high as usize, high, "high");
        let lost_to = self.lost_to as usize;
        assert_eq!(self.above, all.iter().skip(lost_to).filter(sacked).map(Entry::bytes).sum::<u64>(), "above");
        let mut runs = 0;
        for i in lost_to..all.len() {
            runs += u32::from(all[i].has(SACKED) && (i == lost_to || !all[i - 1].has(SACKED)));
        }
        assert_eq!(self.runs, runs, "runs");
        for (i, e) in all.iter().enumerate() {
            // IsLost by its definition
            let bytes: u64 = all.iter().skip(i + 1).filter(sacked).map(Entry::bytes).sum();
            let above = (i + 1..all.len()).filter(|&j| all[j].has(SACKED) && !all[j - 1].has(SACKED)).count();
            let is_lost = bytes > u64::from(dupthresh - 1) * u64::from(mss) || above >= usize::from(dupthresh);
            if !e.has(SACKED) {
                assert_eq!(i < lost_to, e.has(LOST), "entry {i}: cursor {lost_to}");
                assert!(!is_lost || e.has(LOST) || self.rack.is_some(), "entry {i} must be lost");
                assert!(i >= self.rtx as usize || e.has(RETX), "entry {i} was passed by rtx");
            }
        }
        self.check_rack();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;

    /// Ten segments of 1000 from offset 1.
    fn ten() -> Scoreboard {
        let mut b = Scoreboard::new(1, false);
        for i in 0..10 {
            b.push(1 + i * 1000, MSS, false, i as u32);
        }
        b
    }
    fn seg(b: &mut Scoreboard, from: u64, to: u64) -> u64 {
        let new = b.sack(1 + from * 1000, 1 + to * 1000, MSS);
        b.mark_lost(3, MSS, false);
        b.check(3, MSS);
        new
    }

    #[test]
    fn forward_ack_counts_the_distance_and_not_what_was_sacked() {
        let mut b = ten();
        b.sack(4001, 5001, MSS);
        b.mark_lost(3, MSS, false);
        // one segment SACKed: nothing is lost by RFC 6675
        assert_eq!((b.head_lost(), b.pipe()), (false, 9000));
        b.mark_lost(3, MSS, true);
        b.check(3, MSS);
        // segments 0 and 1 lie four and three below segment 4; 2 and 3 may be reordered
        assert_eq!((b.head_lost(), b.pipe()), (true, 7000));
    }

    #[test]
    fn three_contiguous_segments_are_more_than_two_mss() {
        let mut b = ten();
        assert_eq!(b.pipe(), 10_000);
        // RFC 6675 IsLost: more than (3 - 1) * SMSS SACKed above
        assert_eq!(seg(&mut b, 1, 2), 1000);
        assert_eq!(seg(&mut b, 1, 3), 1000);
        assert!(!b.head_lost());
        assert_eq!(b.pipe(), 8000);
        assert_eq!(seg(&mut b, 1, 4), 1000);
        assert!(b.head_lost());
        // 10 - 3 SACKed - 1 lost
        assert_eq!(b.pipe(), 6000);
        let piece = b.next_lost().unwrap();
        assert_eq!((piece.seq, piece.len), (1, 1000));
        b.retransmitted(piece, 99, false);
        assert_eq!(b.pipe(), 7000);
        assert_eq!(b.next_lost(), None);
        assert_eq!(b.next_hole(), None);
        // SACKed segments give no sample, nor do retransmitted ones
        assert_eq!(b.ack(4001), Taken { sent: None, sacked: 3000 });
        assert_eq!(b.pipe(), 6000);
        assert_eq!(b.ack(6001), Taken { sent: Some(5), sacked: 0 });
        b.check(3, MSS);
    }

    #[test]
    fn three_runs_and_the_order_of_next_seg() {
        let mut b = Scoreboard::new(1, false);
        // small segments: 100 bytes each, so that bytes alone never decide
        for i in 0..10 {
            b.push(1 + i * 100, 100, false, 0);
        }
        let s = |b: &mut Scoreboard, i: u64| {
            b.sack(1 + i * 100, 101 + i * 100, MSS);
            b.mark_lost(3, MSS, false);
            b.check(3, MSS);
        };
        s(&mut b, 2);
        s(&mut b, 4);
        assert!(!b.head_lost());
        s(&mut b, 6);
        // segments 0 and 1 have three runs above; 3 has two
        assert_eq!(b.pipe(), 500);
        for want in [1, 101] {
            let piece = b.next_lost().unwrap();
            assert_eq!(piece.seq, want);
            b.retransmitted(piece, 1, false);
        }
        assert_eq!(b.next_lost(), None);
        // NextSeg (3): 3 and 5, below the highest SACKed, not lost: they count twice
        let piece = b.next_hole().unwrap();
        assert_eq!(piece.seq, 301);
        b.retransmitted(piece, 1, false);
        assert_eq!(b.pipe(), 800);
        assert_eq!(b.next_hole().unwrap().seq, 501);
        // NextSeg (4): the highest one that is not SACKed
        assert_eq!(b.last_hole().unwrap().seq, 901);
        // two runs joined by the segment between them are one
        s(&mut b, 5);
        b.mark_lost(3, MSS, false);
        b.check(3, MSS);
    }

    #[test]
    fn timeout_with_and_without_memory() {
        for keep in [true, false] {
            let mut b = ten();
            seg(&mut b, 3, 6);
            b.mark_all_lost(keep);
            b.check(3, MSS);
            assert_eq!(b.pipe(), 0);
            let mut sent = vec![];
            while let Some(piece) = b.next_lost() {
                sent.push((piece.seq - 1) / 1000);
                b.retransmitted(piece, 0, false);
            }
            assert_eq!(sent, if keep { vec![0, 1, 2, 6, 7, 8, 9] } else { (0..10).collect() });
        }
    }
}
