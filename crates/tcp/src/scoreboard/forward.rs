//! Forward acknowledgement: retransmissions that something sent later has overtaken are lost, too.
//!
//! ```text
//! on delivery   newest = the moment at which the segment sent last, of all that were delivered, had been sent
//! lost again    retransmitted, below HighRxt, not SACKed, and sent before `newest`
//! ```
//!
//! Retransmissions wait in a queue in the order of their sending, so those that are overtaken are at its front: each is
//! looked at once, and O(log n) finds its entry. One above HighRxt waits until that has come past it.
//!
//! Source: Mathis & Mahdavi 1996 (FACK) for the idea.
//! Departs: see `loss_detection` in the scenario's reference.

use super::{Resent, Scoreboard};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// What forward acknowledgement keeps. Moments are microseconds modulo 2^32.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forward {
    newest: Option<u32>,
    /// Retransmissions that nothing has overtaken, in the order of their sending; what has become of them is not known here.
    resent: VecDeque<Resent>,
    /// Those that were overtaken while they lay above HighRxt: sequence number, and when they were sent.
    above: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Forward {
    /// A segment sent then was delivered.
    #[inline]
    pub(super) fn note_delivered(&mut self, sent: u32) {
        if self.newest.is_none_or(|newest| (sent.wrapping_sub(newest) as i32) > 0) {
            self.newest = Some(sent);
        }
    }

    /// A segment was sent again.
    #[inline]
    pub(super) fn note_resent(&mut self, resent: Resent) {
        self.resent.push_back(resent);
    }

    /// No retransmission is in flight.
    pub(super) fn forget_resent(&mut self) {
        self.resent.clear();
        self.above.clear();
    }

    /// Takes out the first retransmission, if it has been overtaken.
    #[inline]
    fn next_overtaken(&mut self) -> Option<Resent> {
        let newest = self.newest?;
        self.resent.pop_front_if(|first| (newest.wrapping_sub(first.sent) as i32) > 0)
    }

    /// Takes out the lowest of those that were overtaken above HighRxt, if it starts below `seq`.
    #[inline]
    fn next_passed(&mut self, seq: u64) -> Option<Resent> {
        let Reverse((first, sent)) = *self.above.peek()?;
        if first >= seq {
            return None;
        }
        self.above.pop();
        Some(Resent { seq: first, sent })
    }
}

impl Scoreboard {
    /// With forward acknowledgement: retransmissions that something sent later has overtaken are lost, too.
    #[inline]
    pub(crate) fn mark_overtaken(&mut self) {
        if self.forward.is_some() {
            self.take_overtaken();
        }
    }

    /// Bound: each retransmission is taken out of each queue once.
    fn take_overtaken(&mut self) {
        let rtx = self.rtx as usize;
        let high_rxt = match self.get(rtx) {
            Some(e) => self.base + u64::from(e.start.wrapping_sub(self.base as u32)),
            None => u64::MAX,
        };
        while let Some(resent) = self.forward.as_mut().and_then(|f| f.next_passed(high_rxt)) {
            if let Some((at, _)) = self.resent_entry(resent) {
                self.lose_again(at);
            }
        }
        while let Some(resent) = self.forward.as_mut().and_then(|f| f.next_overtaken()) {
            match (self.resent_entry(resent), &mut self.forward) {
                (Some((at, _)), _) if at < rtx => self.lose_again(at),
                (Some(_), Some(forward)) => forward.above.push(Reverse((resent.seq, resent.sent))),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{RETX, SACKED};
    use super::*;
    use proptest::prelude::*;

    const MSS: u32 = 1000;

    /// Sequence numbers of what is lost again by its definition, looked for in all of the board.
    fn overtaken(b: &Scoreboard) -> Vec<u32> {
        let Some(newest) = b.forward.as_ref().and_then(|f| f.newest) else { return vec![] };
        let below = b.iter().take(b.rtx as usize);
        below.filter(|e| e.flags & (SACKED | RETX) == RETX && e.sent < newest).map(|e| e.start).collect()
    }
    fn on_the_way(b: &Scoreboard) -> Vec<u32> {
        b.iter().filter(|e| e.has(RETX)).map(|e| e.start).collect()
    }

    proptest! {
        #[test]
        fn what_is_overtaken_is_what_a_look_at_all_finds(script in prop::collection::vec((0..9u8, 0..40u64, 1..5u64), 1..300)) {
            let mut b = Scoreboard::new(1, false).with_forward_ack(true);
            let mut next = 1;
            for (now, (what, from, count)) in script.into_iter().enumerate() {
                // several things happen in the same microsecond
                let now = now as u32 / 3;
                match what {
                    0 | 1 => for _ in 0..count {
                        b.push(next, MSS, false, now);
                        next += u64::from(MSS);
                    },
                    2 | 3 => {
                        let start = b.base + from * u64::from(MSS);
                        b.sack(start, (start + count * u64::from(MSS)).min(next), MSS);
                        b.mark_lost(4, MSS, true);
                    }
                    4 => drop(b.ack((b.base + (count - 1) * u64::from(MSS)).min(next))),
                    5 | 6 => for _ in 0..count {
                        let Some(piece) = b.next_lost() else { break };
                        b.retransmitted(piece, now, false);
                    },
                    7 if from == 0 => b.mark_all_lost(count > 1),
                    7 => if let Some(piece) = b.next_hole() {
                        b.retransmitted(piece, now, false);
                    },
                    _ => if let Some(piece) = b.last_hole() {
                        b.retransmitted(piece, now, true);
                    },
                }
                let (expected, before) = (overtaken(&b), on_the_way(&b));
                b.mark_overtaken();
                let after = on_the_way(&b);
                prop_assert_eq!(before.into_iter().filter(|s| !after.contains(s)).collect::<Vec<_>>(), expected);
            }
        }
    }
}
