//! Losses as ns-2's Agent/TCP/Linux finds them: forward acknowledgement, for what was sent again, too.
//!
//! ```text
//! lost, sent once:   fack - seq >= DupThresh segments, fack the highest segment SACKed
//! lost, sent again:  fack >= what was the next new segment at that moment
//!                    or: its number among the retransmissions + DupThresh < that of one delivered by an earlier ACK's SACK
//!                        blocks or this one's cumulative part
//! ```
//!
//! Both are true of a prefix of the retransmissions in the order in which they were sent, so that those whose fate is open
//! are a queue: amortised O(1) for each of them.
//!
//! Source: Mathis & Mahdavi 1996; ns-2.35's behaviour, by traces (`benches/peers/compare_ns2.py`).
//! Departs: ns-2 compares with the last one that a SACK block delivered, this with the newest.

use super::{Entry, LOST, Piece, RETX, SACKED, Scoreboard};
use std::collections::VecDeque;

/// A retransmission.
#[derive(Clone, Copy, Debug)]
struct Again {
    /// Low half of its offset.
    start: u32,
    /// Low half of the offset of the next new segment when it left.
    next: u32,
}

/// What is known of a recovery's retransmissions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fack {
    /// In the order in which they left; the first has the number `first`. Entries on the board carry their number in `skip`.
    resent: VecDeque<Again>,
    first: u32,
    /// One more than the number of the newest one delivered; 0 for none.
    delivered: u32,
    /// The same without what this ACK's SACK blocks told.
    delivered_before: u32,
    /// This ACK made a segment lost.
    pub(crate) found: bool,
}

impl Fack {
    /// An ACK begins.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.found = false;
    }

    /// A segment is delivered.
    #[inline]
    pub(super) fn note_delivered(&mut self, e: &Entry) {
        if e.has(RETX) {
            self.delivered = self.delivered.max(e.skip + 1);
        }
    }

    /// A segment leaves again while `next` is the next new one; its number.
    fn note_resent(&mut self, start: u32, next: u32) -> u32 {
        self.resent.push_back(Again { start, next });
        self.first + self.resent.len() as u32 - 1
    }

    /// The numbers begin again.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

impl Scoreboard {
    /// A piece was sent again.
    #[inline]
    pub(super) fn number_resent(&mut self, piece: Piece) {
        let next = match self.len().checked_sub(1).and_then(|last| self.get(last)) {
            Some(last) => last.start.wrapping_add(last.size() as u32),
            None => return,
        };
        if let Some(fack) = &mut self.fack {
            let number = fack.note_resent(piece.seq as u32, next);
            self.entry(piece.at as usize).skip = number;
        }
    }

    /// The cumulative part of an ACK is done, and its SACK blocks follow.
    #[inline]
    pub(crate) fn cumulative_part_done(&mut self) {
        if let Some(fack) = &mut self.fack {
            fack.delivered_before = fack.delivered;
        }
    }

    /// Retransmissions that are lost, too. Bound: those whose fate was open.
    pub(crate) fn mark_overtaken(&mut self, dupthresh: u8) {
        let Some(highest) = self.high.checked_sub(1).and_then(|at| self.get(at as usize)) else {
            return self.overtaken(None, dupthresh);
        };
        let end = highest.start.wrapping_add(highest.size() as u32);
        self.overtaken(Some(end), dupthresh);
    }

    fn overtaken(&mut self, sacked_to: Option<u32>, dupthresh: u8) {
        let base = self.base as u32;
        while let Some(fack) = &mut self.fack
            && let Some(&Again { start, next }) = fack.resent.front()
        {
            let number = fack.first;
            let gone = (start.wrapping_sub(base) as i32) < 0;
            let by_new = sacked_to.is_some_and(|end| (end.wrapping_sub(next) as i32) > 0);
            let by_resent = fack.delivered_before > number + 1 + u32::from(dupthresh);
            if !gone && !by_new && !by_resent {
                return;
            }
            fack.resent.pop_front();
            fack.first += 1;
            if !gone {
                self.lose_resent(start.wrapping_sub(base), number);
            }
        }
    }

    /// The retransmission of this number is lost, unless it was SACKed.
    fn lose_resent(&mut self, rel: u32, number: u32) {
        let at = self.search(rel);
        if self.get(at).is_none_or(|e| e.flags & (SACKED | RETX) != RETX || e.skip != number) {
            return;
        }
        let e = self.entry(at);
        e.flags &= !RETX;
        e.skip = 0;
        self.pipe -= self.entry(at).bytes();
        self.rtx = self.rtx.min(at as u32);
        if let Some(fack) = &mut self.fack {
            fack.found = true;
        }
    }

    /// A recovery is over: everything outstanding counts as in flight again, whatever was SACKed or lost.
    pub(crate) fn forget_marks(&mut self) {
        self.pipe = 0;
        for at in 0..self.len() {
            let e = self.entry(at);
            e.flags &= !(SACKED | LOST | RETX);
            e.skip = 0;
            self.pipe += self.entry(at).bytes();
        }
        (self.above, self.runs, self.lost_to, self.rtx, self.high) = (0, 0, 0, 0, 0);
        if let Some(fack) = &mut self.fack {
            fack.forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;

    /// Twenty segments of 1000 from offset 1.
    fn twenty() -> Scoreboard {
        let mut b = Scoreboard::new(1, false).with_forward_ack(true);
        for i in 0..20 {
            b.push(1 + i * 1000, MSS, false, i as u32);
        }
        b
    }

    /// An ACK below segment `una` with one SACK block of the segments `from..to`; segments start at 0.
    fn ack(b: &mut Scoreboard, una: u64, from: u64, to: u64) {
        b.fack.as_mut().unwrap().begin();
        b.ack(1 + una * 1000);
        b.cumulative_part_done();
        b.sack(1 + from * 1000, 1 + to * 1000, MSS);
        b.mark_lost(4, MSS, true);
        b.mark_overtaken(4);
    }

    fn resend(b: &mut Scoreboard) -> u64 {
        let piece = b.next_lost().unwrap();
        b.retransmitted(piece, 99, false);
        (piece.seq - 1) / 1000
    }

    fn found(b: &Scoreboard) -> bool {
        b.fack.as_ref().unwrap().found
    }

    #[test]
    fn a_new_segment_overtakes_what_left_before_it() {
        let mut b = twenty();
        // segments 1 to 4 arrived: 0 lies four below the highest
        ack(&mut b, 0, 1, 5);
        assert!(found(&b));
        assert_eq!(resend(&mut b), 0);
        b.push(20_001, MSS, false, 100);
        // 20 in flight, 19 of them sent before: no evidence
        ack(&mut b, 0, 5, 16);
        assert_eq!((found(&b), b.next_lost(), b.pipe()), (false, None, 6000));
        ack(&mut b, 0, 20, 21);
        b.check(4, MSS);
        assert!(found(&b));
        // 16 is lost by its distance of four, 0 once more; 17, 18 and 19 are in flight
        assert_eq!((resend(&mut b), resend(&mut b), b.pipe()), (0, 16, 5000));
    }

    #[test]
    fn five_later_retransmissions_overtake_at_the_next_ack() {
        let mut b = twenty();
        // only segment 19 arrived: 0 to 15 are lost
        ack(&mut b, 0, 19, 20);
        let sent: Vec<u64> = (0..8).map(|_| resend(&mut b)).collect();
        assert_eq!(sent, [0, 1, 2, 3, 4, 5, 6, 7]);
        // number 4 arrived, 0 + 4 is not below 4; number 5 did, but by this ACK
        ack(&mut b, 0, 4, 5);
        ack(&mut b, 0, 5, 6);
        assert_eq!((found(&b), b.next_lost().map(|piece| piece.seq)), (false, Some(8001)));
        ack(&mut b, 0, 6, 7);
        b.check(4, MSS);
        // 0 + 4 < 5, and not 1 + 4
        assert!(found(&b));
        assert_eq!((resend(&mut b), resend(&mut b)), (0, 8));
        // the newest retransmission of 0 has number 8: number 7, delivered, says nothing of it
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
        assert_eq!(b.pipe(), 8000);
        b.forget_marks();
        b.check(4, MSS);
        assert_eq!((b.pipe(), b.next_lost(), found(&b)), (10_000, None, false));
    }
}
