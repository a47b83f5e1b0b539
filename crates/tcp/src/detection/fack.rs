//! Loss detection by forward acknowledgement as in ns-2's Agent/TCP/Linux, which also detects lost retransmissions.
//!
//! ```text
//! lost, if sent once:      fack - seq >= DupThresh segments,  fack = the highest SACKed segment
//! lost, if retransmitted:  fack >= the first segment that was still unsent when this segment was retransmitted,
//!                          or  n + DupThresh < m.  Retransmissions are numbered in sending order:  n is the number of this
//!                          retransmission,  m the largest number delivered (the SACK blocks of the current ACK raise m
//!                          only for the next ACK)
//! ```
//!
//! If a condition holds for a retransmission, it also holds for all earlier ones. The undecided retransmissions therefore
//! form a queue, and each costs at most one binary search.
//!
//! Source: Mathis & Mahdavi 1996; ns-2.35's behaviour, taken from traces (`benches/peers/compare_ns2.py`).
//! Departs: ns-2 takes m from the last retransmission that a SACK block delivered; here it is the largest number delivered.

use crate::scoreboard::Scoreboard;
use crate::scoreboard::entry::{Entry, Piece, RETX, SACKED, Watch};
use std::collections::VecDeque;

/// A retransmission not yet known to be delivered or lost.
#[derive(Clone, Copy, Debug)]
struct Again {
    /// First sequence number: the low 32 bits of the stream offset.
    start: u32,
    /// Next new sequence number at the time of the retransmission: the low 32 bits of the stream offset.
    next: u32,
}

/// FACK's state, mainly a queue of the retransmissions that are not yet known to be delivered or lost.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fack {
    /// Retransmissions that the rule at the top of this file has not decided yet, in sending order. The first one has
    /// the number `first`. The scoreboard entry of a retransmitted segment stores the number of the retransmission in
    /// `skip`.
    resent: VecDeque<Again>,
    first: u32,
    /// One more than the highest number of any delivered retransmission; 0 if none was delivered.
    delivered: u32,
    /// The value of `delivered` before the SACK blocks of this ACK were processed.
    delivered_before: u32,
    /// True if this ACK caused a segment to be marked lost.
    pub(crate) found: bool,
}

impl Fack {
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.found = false;
    }

    /// Records that the cumulative part of an ACK has been processed. Its SACK blocks follow.
    #[inline]
    pub(crate) fn cumulative_part_done(&mut self) {
        self.delivered_before = self.delivered;
    }

    fn note_delivered(&mut self, e: &Entry) {
        if e.has(RETX) {
            self.delivered = self.delivered.max(e.skip + 1);
        }
    }

    /// Assigns the next number to a retransmission and adds it to the queue. The scoreboard counts the retransmission
    /// in `pipe`, the number of bytes in flight.
    pub(crate) fn note_resent(&mut self, board: &mut Scoreboard, piece: Piece) {
        let Some(last) = board.len().checked_sub(1).and_then(|last| board.get(last)) else { return };
        let next = last.start.wrapping_add(last.size() as u32);
        self.resent.push_back(Again { start: piece.seq as u32, next });
        board.entry(piece.at as usize).skip = self.first + self.resent.len() as u32 - 1;
    }

    /// Resets the state, so the next retransmission gets the number 0.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Ends a recovery: counts all outstanding data as in flight again, even if it was SACKed or marked lost.
    pub(crate) fn end_recovery(&mut self, board: &mut Scoreboard) {
        board.forget_marks();
        self.forget();
    }

    /// Marks as lost the segments that lie at least DupThresh segments below the highest SACKed segment.
    pub(crate) fn mark_lost(&mut self, board: &mut Scoreboard, dupthresh: u8, mss: u32) {
        self.found |= board.mark_lost(dupthresh, mss, true);
    }

    /// Marks as lost every retransmission that later transmissions have overtaken, by the rule at the top of this file.
    /// Bound: each pass of the loop removes one retransmission from the queue.
    pub(crate) fn mark_overtaken(&mut self, board: &mut Scoreboard, dupthresh: u8) {
        let highest = board.high.checked_sub(1).and_then(|at| board.get(at as usize));
        let sacked_to = highest.map(|e| e.start.wrapping_add(e.size() as u32));
        let base = board.base as u32;
        while let Some(&Again { start, next }) = self.resent.front() {
            let number = self.first;
            let gone = (start.wrapping_sub(base) as i32) < 0;
            let by_new = sacked_to.is_some_and(|end| (end.wrapping_sub(next) as i32) > 0);
            let by_resent = self.delivered_before > number + 1 + u32::from(dupthresh);
            if !gone && !by_new && !by_resent {
                return;
            }
            self.resent.pop_front();
            self.first += 1;
            if !gone {
                self.lose_resent(board, start.wrapping_sub(base), number);
            }
        }
    }

    /// Marks the retransmission with this number as lost, unless its segment was SACKed or sent again in the meantime.
    fn lose_resent(&mut self, board: &mut Scoreboard, rel: u32, number: u32) {
        let at = board.search(rel);
        if board.get(at).is_none_or(|e| e.flags & (SACKED | RETX) != RETX || e.skip != number) {
            return;
        }
        board.lose_again(at);
        board.entry(at).skip = 0;
        self.found = true;
    }
}

impl Watch for Fack {
    #[inline]
    fn acknowledged(&mut self, e: &Entry) {
        if !e.has(SACKED) {
            self.note_delivered(e);
        }
    }

    #[inline]
    fn sacked(&mut self, _: usize, e: &Entry) {
        self.note_delivered(e);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;

    type Both = (Scoreboard, Fack);

    /// Returns a scoreboard with twenty segments of 1000 bytes, from offset 1 on.
    fn twenty() -> Both {
        let mut b = Scoreboard::new(1);
        for i in 0..20 {
            b.push(1 + i * 1000, MSS, false, i as u32);
        }
        (b, Fack::default())
    }

    /// Processes an ACK of all segments below `una`, with one SACK block for the segments `from..to`. Segments are numbered from
    /// 0; DupThresh is 4.
    fn ack((b, f): &mut Both, una: u64, from: u64, to: u64) {
        f.begin();
        b.ack(1 + una * 1000, f);
        f.cumulative_part_done();
        if b.sack(1 + from * 1000, 1 + to * 1000, MSS, f) > 0 {
            f.mark_lost(b, 4, MSS);
        }
        f.mark_overtaken(b, 4);
    }

    fn resend((b, f): &mut Both) -> u64 {
        let piece = b.next_lost().unwrap();
        assert!(b.retransmitted(piece, 99, false));
        f.note_resent(b, piece);
        (piece.seq - 1) / 1000
    }

    fn found(b: &Both) -> bool {
        b.1.found
    }

    #[test]
    fn a_new_segment_overtakes_what_left_before_it() {
        let mut b = twenty();
        // segments 1 to 4 have arrived. Segment 0 lies four below the highest, so it is lost
        ack(&mut b, 0, 1, 5);
        assert!(found(&b));
        assert_eq!(resend(&mut b), 0);
        b.0.push(20_001, MSS, false, 100);
        // segments up to 19 had been sent before the retransmission, so the arrival of segments 5 to 15 does not show
        // that the retransmission is lost
        ack(&mut b, 0, 5, 16);
        assert_eq!((found(&b), b.0.next_lost(), b.0.pipe), (false, None, 6000));
        ack(&mut b, 0, 20, 21);
        b.0.check(4, MSS, false);
        assert!(found(&b));
        // segment 20 was sent after the retransmission of 0, so 0 is lost again. 16 is lost because the highest SACKed segment
        // lies four above it. 17, 18 and 19 are in flight
        assert_eq!((resend(&mut b), resend(&mut b), b.0.pipe), (0, 16, 5000));
    }

    #[test]
    fn five_later_retransmissions_overtake_at_the_next_ack() {
        let mut b = twenty();
        // only segment 19 has arrived, so 0 to 15 are lost
        ack(&mut b, 0, 19, 20);
        let sent: Vec<u64> = (0..8).map(|_| resend(&mut b)).collect();
        assert_eq!(sent, [0, 1, 2, 3, 4, 5, 6, 7]);
        // retransmission n is lost if n + 4 < m. DupThresh is 4, and m is the largest number delivered. Retransmission
        // 4 arrives: 0 + 4 < 4 is false, so retransmission 0 is not lost. The second ACK reports retransmission 5 in a
        // SACK block, which raises m only for the next ACK
        ack(&mut b, 0, 4, 5);
        ack(&mut b, 0, 5, 6);
        assert_eq!((found(&b), b.0.next_lost().map(|piece| piece.seq)), (false, Some(8001)));
        ack(&mut b, 0, 6, 7);
        b.0.check(4, MSS, false);
        // at the next ACK, m is 5. Retransmission 0 is lost, because 0 + 4 < 5 is true. Retransmission 1 is not lost,
        // because 1 + 4 < 5 is false
        assert!(found(&b));
        assert_eq!((resend(&mut b), resend(&mut b)), (0, 8));
        // segment 0 was sent again as retransmission 8. The arrival of retransmission 7 does not show that retransmission 8 is lost
        ack(&mut b, 0, 7, 8);
        ack(&mut b, 0, 7, 8);
        assert_eq!(resend(&mut b), 1);
        assert_eq!(resend(&mut b), 2);
        assert_eq!(resend(&mut b), 9);
    }

    #[test]
    fn the_end_of_a_recovery_forgets_what_was_sacked() {
        let mut b = twenty();
        ack(&mut b, 0, 1, 5);
        resend(&mut b);
        ack(&mut b, 10, 12, 14);
        assert_eq!(b.0.pipe, 8000);
        let (board, fack) = &mut b;
        fack.end_recovery(board);
        b.0.check(4, MSS, false);
        assert_eq!((b.0.pipe, b.0.next_lost(), found(&b)), (10_000, None, false));
    }
}
