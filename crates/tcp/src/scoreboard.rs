//! The scoreboard: the sender's record of every outstanding segment, that is, sent but not yet acknowledged
//! cumulatively.
//!
//! It is a ring of 16-byte entries, from the first unacknowledged segment to the last one sent, with running counters. An ACK
//! costs O(1) amortised, whatever the window and the number of holes, plus a binary search per SACK block if segments
//! are not full. The entries of a small window are stored in the scoreboard itself, next to the counters. This matters
//! with ten thousand connections of a few segments each.
//!
//! ```text
//! pipe     = sum over entries not SACKed of (bytes if not lost) + (bytes if retransmitted)   RFC 6675 SetPipe
//! IsLost   = more than (DupThresh - 1) MSS SACKed above, or DupThresh SACKed runs above      RFC 6675 IsLost
//! ```
//!
//! Three cursors mark positions in the ring. They move back to an earlier entry only when a retransmission is lost
//! (`rtx`), when marks are cleared, or after a timeout. All entries below `lost_to` are SACKed or marked lost. The
//! SACKed data from `lost_to` on is counted in `above` (bytes) and `runs`. Below `rtx`, all entries are SACKed or
//! retransmitted (RFC 6675's HighRxt). `high` is one past the highest SACKed entry. The first entry of a SACKed run
//! stores a lower bound on the run's length, so a repeated SACK block is skipped without visiting every entry.
//!
//! The algorithms in [`Detection`](crate::detection::Detection) decide when `lost_to` moves.
//!
//! Departs: whole segments are marked lost, not single octets. (A receiver acknowledges whole segments, and retransmissions keep the
//! segment boundaries.)

pub(crate) mod entry;
mod store;
#[cfg(test)]
pub(crate) mod tests;

use entry::{EVER, Entry, FIN, LOST, Piece, RETX, SACKED, Sent, Taken, Watch};
use std::collections::VecDeque;

/// Number of entries that fit into the scoreboard itself. If there are more entries, all of them are in the ring.
pub(super) const FEW: usize = 4;
/// Value of `held` if the entries are in the ring.
pub(super) const IN_RING: u8 = u8::MAX;

/// The scoreboard of one sender. The fields are in the order in which the processing of an ACK uses them, as in
/// [`crate::Endpoint`], so that an ACK touches few cache lines.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(crate) struct Scoreboard {
    /// Stream offset of the first entry or, if the scoreboard is empty, of the next segment.
    pub(crate) base: u64,
    /// Estimate of the bytes in the network.   Source: RFC 6675 §4.
    pub(crate) pipe: u64,
    /// Bytes SACKed at or above `lost_to`. A window has at most 2 GiB, so 32 bits suffice.
    pub(crate) above: u32,
    /// Number of SACKed runs at or above `lost_to`.
    pub(crate) runs: u32,
    pub(crate) lost_to: u32,
    pub(crate) rtx: u32,
    pub(crate) high: u32,
    /// Number of bytes that have left the network, judging by the duplicate ACKs. Used only without SACK.
    pub(crate) dup_bytes: u32,
    /// Number of the next transmission, modulo 2^32. See [`Entry::order`].
    sends: u32,
    /// Number of entries in `few`, or [`IN_RING`].
    pub(crate) held: u8,
    pub(crate) few: [Entry; FEW],
    pub(crate) ring: VecDeque<Entry>,
}

impl Scoreboard {
    pub(crate) fn new(base: u64) -> Self {
        Self { base, ..Self::default() }
    }

    /// Adds a new segment, which must follow the last segment without a gap.
    #[inline]
    pub(crate) fn push(&mut self, seq: u64, len: u32, fin: bool, now_us: u32) {
        if self.held == 0 {
            self.base = seq;
        }
        let flags = if fin { FIN } else { 0 };
        let e = Entry { start: seq as u32, sent: now_us, skip: self.sends, len: len as u16, flags };
        self.sends = self.sends.wrapping_add(1);
        self.pipe += e.bytes();
        self.push_back(e);
    }

    /// Removes all segments below `una`, which are acknowledged.
    #[inline(always)]
    pub(crate) fn ack(&mut self, una: u64, watch: &mut impl Watch) -> Taken {
        let mut taken = Taken::default();
        let mut removed = 0;
        while let Some(&e) = self.get(0) {
            let size = e.size();
            if self.base + size > una {
                break;
            }
            self.pop_front();
            self.base += size;
            watch.acknowledged(&e);
            if e.flags & !FIN == 0 {
                self.pipe -= e.bytes();
                Sent::add(&mut taken.once, e.sent);
                taken.segments += 1;
            } else {
                self.take_marked(&e, removed, &mut taken);
            }
            removed += 1;
        }
        self.lost_to = self.lost_to.saturating_sub(removed);
        self.rtx = self.rtx.saturating_sub(removed);
        self.high = self.high.saturating_sub(removed);
        if self.held == IN_RING {
            self.shrink();
        }
        taken
    }

    /// Accounts for an acknowledged segment that was marked lost, retransmitted or SACKed. The ACK has already removed
    /// `removed` segments below it.
    fn take_marked(&mut self, e: &Entry, removed: u32, taken: &mut Taken) {
        self.pipe -= e.in_pipe();
        taken.resent |= e.has(EVER);
        taken.passed |= e.has(SACKED);
        if e.flags & (SACKED | EVER) == 0 {
            Sent::add(&mut taken.once, e.sent);
        }
        if !e.has(SACKED) {
            taken.segments += 1;
            return;
        }
        taken.sacked += e.bytes();
        if self.lost_to <= removed {
            self.leave_count(e.bytes(), self.get(0).is_some_and(|next| next.has(SACKED)));
        }
    }

    /// Removes a SACKed entry of `size` bytes from the counters `above` and `runs`, because `lost_to` moves past the
    /// entry or the entry leaves the scoreboard. `run_goes_on` is true if the next entry belongs to the same run.
    #[inline]
    pub(crate) fn leave_count(&mut self, size: u64, run_goes_on: bool) {
        self.above -= size as u32;
        self.runs -= u32::from(!run_goes_on);
    }

    /// Returns the position of the first entry that starts at or after `seq`.
    #[inline]
    fn position(&self, seq: u64, mss: u32) -> usize {
        let rel = seq.saturating_sub(self.base) as u32;
        let base = self.base as u32;
        // this guess is usually right, because most segments are full
        let guess = (rel / mss) as usize;
        match self.get(guess) {
            Some(e) if e.start.wrapping_sub(base) == rel => guess,
            _ => self.search(rel),
        }
    }

    /// Returns the position of the first entry that starts at least `rel` above the base.
    pub(crate) fn search(&self, rel: u32) -> usize {
        let base = self.base as u32;
        if self.held == IN_RING {
            self.ring.partition_point(|e| e.start.wrapping_sub(base) < rel)
        } else {
            self.few[..usize::from(self.held)].partition_point(|e| e.start.wrapping_sub(base) < rel)
        }
    }

    /// Applies a SACK block. Returns the number of payload bytes newly SACKed.
    pub(crate) fn sack(&mut self, start: u64, end: u64, mss: u32, watch: &mut impl Watch) -> u64 {
        if end <= self.base || self.held == 0 {
            return 0;
        }
        let first = self.position(start, mss);
        let mut at = first;
        let mut new = 0;
        // the loop runs at most once per entry, because every iteration increases `at`
        while let Some(e) = self.get(at) {
            if e.has(SACKED) {
                at += e.skip.max(1) as usize;
                continue;
            }
            let seq = self.base + u64::from(e.start.wrapping_sub(self.base as u32));
            if seq + e.size() > end {
                break;
            }
            watch.sacked(at, self.entry(at));
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
        let (size, in_pipe) = (e.bytes(), e.in_pipe());
        let e = self.entry(at);
        e.flags |= SACKED;
        e.skip = 1;
        self.pipe -= in_pipe;
        if at >= self.lost_to as usize {
            let joins_left = at > self.lost_to as usize && self.entry(at - 1).has(SACKED);
            let joins_right = self.get(at + 1).is_some_and(|n| n.has(SACKED));
            self.above += size as u32;
            self.runs = self.runs + 1 - u32::from(joins_left) - u32::from(joins_right);
        }
        size
    }

    /// Marks as lost every entry to which IsLost applies, given the SACK information so far. Returns true if an entry is newly
    /// lost.
    ///
    /// Source: RFC 6675 §4; with `forward`, also FACK.
    pub(crate) fn mark_lost(&mut self, dupthresh: u8, mss: u32, forward: bool) -> bool {
        let mut found = false;
        let bytes = u64::from(dupthresh - 1) * u64::from(mss);
        while self.lost_to < self.high {
            let at = self.lost_to as usize;
            let e = *self.entry(at);
            if e.has(SACKED) {
                self.leave_count(e.bytes(), self.get(at + 1).is_some_and(|n| n.has(SACKED)));
            } else if u64::from(self.above) > bytes
                || self.runs >= u32::from(dupthresh)
                || forward && self.high - self.lost_to > u32::from(dupthresh)
            {
                found |= self.set_lost(at);
            } else {
                break;
            }
            self.lost_to += 1;
        }
        found
    }

    /// Marks a segment as lost. Returns false if it was marked before.
    pub(crate) fn set_lost(&mut self, at: usize) -> bool {
        let e = self.entry(at);
        if e.has(LOST) {
            return false;
        }
        e.flags |= LOST;
        let size = e.bytes();
        self.pipe -= size;
        true
    }

    /// Marks a retransmission as lost, so that the segment is retransmitted once more.
    pub(crate) fn lose_again(&mut self, at: usize) {
        let e = self.entry(at);
        e.flags &= !RETX;
        let bytes = e.bytes();
        self.pipe -= bytes;
        self.rtx = self.rtx.min(at as u32);
    }

    /// Returns true if the first outstanding segment is SACKed, although the receiver has not acknowledged it.
    pub(crate) fn head_sacked(&self) -> bool {
        self.get(0).is_some_and(|e| e.has(SACKED))
    }

    /// Returns the time of the latest transmission of the first outstanding segment, microseconds modulo 2^32.
    pub(crate) fn head_sent(&self) -> Option<u32> {
        self.get(0).map(|e| e.sent)
    }

    /// Returns true if the first outstanding segment is marked lost and waits for its retransmission.
    #[inline]
    pub(crate) fn head_lost(&self) -> bool {
        self.get(0).is_some_and(|e| e.flags & (LOST | SACKED | RETX) == LOST)
    }

    /// Marks the first outstanding segment as lost, after duplicate ACKs, a partial ACK or a timeout. Returns false if
    /// there is none, or if it was already SACKed or marked.
    pub(crate) fn mark_head_lost(&mut self) -> bool {
        if self.get(0).is_none_or(|e| e.has(SACKED)) {
            return false;
        }
        self.lost_to = self.lost_to.max(1);
        self.set_lost(0)
    }

    /// After a timeout, marks as lost all segments not SACKed, including retransmissions. If `keep_sack` is false, first
    /// clears all SACKED marks, so every segment is marked lost.
    pub(crate) fn mark_all_lost(&mut self, keep_sack: bool) {
        let mut high = 0;
        // a SACKed entry does not store the number of its last transmission, so it gets a number below those of all
        // outstanding segments
        let oldest = self.sends.wrapping_sub(1 << 30);
        for at in 0..self.len() {
            let e = self.entry(at);
            if !keep_sack && e.has(SACKED) {
                e.flags &= !SACKED;
                e.skip = oldest;
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
    }

    #[inline]
    fn piece(&mut self, at: u32) -> Piece {
        let e = *self.entry(at as usize);
        let seq = self.base + u64::from(e.start.wrapping_sub(self.base as u32));
        Piece { seq, len: u32::from(e.len), fin: e.has(FIN), at }
    }

    /// Returns the lowest lost segment not yet retransmitted.   Source: RFC 6675 NextSeg (1).
    #[inline]
    pub(crate) fn next_lost(&mut self) -> Option<Piece> {
        self.advance(self.lost_to)
    }

    /// Returns the time at which a segment was last sent, microseconds modulo 2^32.
    pub(crate) fn sent_at(&mut self, piece: Piece) -> u32 {
        self.entry(piece.at as usize).sent
    }

    /// Returns the lowest segment that lies below the highest SACKed segment and is neither SACKed nor retransmitted,
    /// whether it is lost or not.   Source: RFC 6675 NextSeg (3).
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

    /// Returns the highest segment not SACKed.   Source: RFC 6675 NextSeg (4).
    pub(crate) fn last_hole(&mut self) -> Option<Piece> {
        let at = self.iter().rposition(|e| !e.has(SACKED))?;
        Some(self.piece(at as u32))
    }

    /// Records a retransmission. If `rescue` is true, this is a rescue retransmission or a tail loss probe, which
    /// leaves pipe and HighRxt unchanged (RFC 6675 NextSeg (4)). Returns true if pipe has grown by the size of the
    /// retransmission.
    pub(crate) fn retransmitted(&mut self, piece: Piece, now_us: u32, rescue: bool) -> bool {
        let order = self.sends;
        self.sends = order.wrapping_add(1);
        let e = self.entry(piece.at as usize);
        (e.sent, e.skip) = (now_us, order);
        e.flags |= EVER;
        if rescue || e.has(RETX) {
            return false;
        }
        e.flags |= RETX;
        let size = e.bytes();
        self.pipe += size;
        true
    }

    /// Returns the number of retransmissions that pipe counts: not those of rescues and probes. Visits every entry.
    pub(crate) fn resent_in_flight(&self) -> u32 {
        self.iter().filter(|e| e.flags & (SACKED | RETX) == RETX).count() as u32
    }

    /// Returns the number of outstanding segments, and the time in microseconds at which the first of these segments
    /// was last sent (0 if there is none).
    #[inline]
    pub(crate) fn outstanding(&self) -> (usize, u32) {
        (self.len(), self.get(0).map_or(0, |e| e.sent))
    }

    /// Clears all LOST marks. Visits every entry.
    pub(crate) fn unmark_lost(&mut self) {
        (self.pipe, self.above, self.runs) = (0, 0, 0);
        let mut in_run = false;
        for at in 0..self.len() {
            let e = self.entry(at);
            e.flags &= !LOST;
            let e = *e;
            self.pipe += e.in_pipe();
            self.above += if e.has(SACKED) { e.bytes() as u32 } else { 0 };
            self.runs += u32::from(e.has(SACKED) && !in_run);
            in_run = e.has(SACKED);
        }
        (self.lost_to, self.rtx) = (0, 0);
    }

    /// Clears the marks SACKED, LOST and RETX, so that all outstanding segments count as in flight again. Visits every
    /// entry.
    pub(crate) fn forget_marks(&mut self) {
        self.pipe = 0;
        for at in 0..self.len() {
            let e = self.entry(at);
            e.flags &= !(SACKED | LOST | RETX);
            e.skip = 0;
            self.pipe += self.entry(at).bytes();
        }
        (self.above, self.runs, self.lost_to, self.rtx, self.high) = (0, 0, 0, 0, 0);
    }
}
