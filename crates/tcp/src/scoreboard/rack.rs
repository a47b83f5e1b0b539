//! RACK: what is lost, by when it was sent.
//!
//! ```text
//! on delivery   RACK.xmit_ts, RACK.end_seq = the segment sent last of all that were delivered;  RACK.rtt = now - its sending
//! lost          sent before that one, and  now >= sent + RACK.rtt + RACK.reo_wnd                  RFC 8985 §6.2 step 5
//! reo_wnd       0 while no reordering was seen and losses are being repaired or DupThresh segments are SACKed,
//!               else min(reo_wnd_mult * min RTT / 4, SRTT)                                        §6.2 step 4
//! reo_wnd_mult  1, and one more for every round with a D-SACK but a probe's, until 16 recoveries bring none
//! ```
//!
//! Sequence order is the order of first transmissions, and retransmissions have a queue in the order of theirs, so both are
//! looked at from the oldest until one was sent too late: an ACK costs O(1) amortised as long as `reo_wnd` is 0. Retransmissions
//! are segments like all others, and a lost one is found as soon as something sent later is delivered.
//!
//! Source: RFC 8985 §5 and §6.
//! Departs: min RTT is that of the whole connection. Whether a retransmission was delivered, or what it repeats, is told by min RTT alone and not by the echoed time
//! stamp: behind a hole the echo is older than anything that is SACKed.

use super::{EVER, Entry, LOST, RETX, Resent, SACKED, Scoreboard};
use crate::sender::undo::Episode;
use std::collections::VecDeque;

/// What the retransmission timer waits for.   Source: RFC 8985 §8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Timer {
    /// A timeout.
    #[default]
    Rto,
    /// Sending a loss probe.
    Probe,
    /// The end of a reordering window.
    Reordering,
}

/// A tail loss probe in flight.   Source: RFC 8985 §7.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Probe {
    /// TLP.end_seq: what was sent when it left.
    pub(crate) end: u64,
    /// TLP.is_retrans.
    pub(crate) is_retransmission: bool,
}

/// RACK's and TLP's variables. Moments are microseconds modulo 2^32, sequence numbers the low halves of offsets.
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    pub(crate) now_us: u32,
    /// Least round trip so far.
    pub(crate) min_rtt_us: u32,
    /// RACK.rtt.
    rtt_us: u32,
    /// RACK.xmit_ts and RACK.end_seq.
    newest: Option<(u32, u32)>,
    /// The same of what this ACK delivers.
    delivered: Option<(u32, u32)>,
    /// RACK.fack: the highest end of what was delivered.
    fack: u32,
    /// RACK.segs_sacked.
    pub(crate) sacked: u32,
    /// Segments taken for lost, whether sent again or not.
    pub(crate) lost: u32,
    /// RACK.reordering_seen.
    reordering_seen: bool,
    /// The last look found a retransmission lost.
    pub(crate) lost_again: bool,
    pub(crate) timer: Timer,
    /// When the RTO under way began.
    pub(crate) rto_began: u32,
    /// A round trip was measured since the last probe.
    pub(crate) sampled: bool,
    pub(crate) probe: Option<Probe>,
    /// Probes sent.
    pub(crate) probes: u32,
    /// RACK.dsack_round.
    pub(crate) dsack_round: Option<u64>,
    /// RACK.reo_wnd_mult.
    pub(crate) reo_wnd_mult: u32,
    /// RACK.reo_wnd_persist.
    pub(crate) reo_wnd_persist: u8,
    /// The last recovery.
    pub(crate) episode: Episode,
    /// This ACK delivers a segment that was sent only once and ends by `once_until`.
    pub(crate) once_delivered: bool,
    /// Low half of an offset.
    pub(crate) once_until: u32,
    resent: VecDeque<Resent>,
}

/// `a` was sent after `b`; each is when, and its end.   Source: RFC 8985 §5.2 RACK_sent_after.
#[inline]
fn sent_after(a: (u32, u32), b: (u32, u32)) -> bool {
    let later = |x: u32, y: u32| (x.wrapping_sub(y) as i32) > 0;
    later(a.0, b.0) || a.0 == b.0 && later(a.1, b.1)
}

impl Entry {
    /// What RACK orders segments by.
    #[inline]
    fn order(&self) -> (u32, u32) {
        (self.sent, self.start.wrapping_add(self.size() as u32))
    }
}

impl Rack {
    pub(crate) fn new() -> Self {
        Self {
            now_us: 0,
            min_rtt_us: u32::MAX,
            rtt_us: 0,
            newest: None,
            delivered: None,
            fack: 1,
            sacked: 0,
            lost: 0,
            reordering_seen: false,
            lost_again: false,
            timer: Timer::Rto,
            rto_began: 0,
            sampled: true,
            probe: None,
            probes: 0,
            dsack_round: None,
            reo_wnd_mult: 1,
            reo_wnd_persist: 0,
            episode: Episode::default(),
            once_delivered: false,
            once_until: 0,
            resent: VecDeque::new(),
        }
    }

    /// A segment has been delivered.   Source: RFC 8985 §6.2 steps 2 and 3.
    #[inline]
    pub(super) fn note_delivered(&mut self, e: &Entry) {
        let order = e.order();
        self.once_delivered |= !e.has(EVER) && (order.1.wrapping_sub(self.once_until) as i32) <= 0;
        if (order.1.wrapping_sub(self.fack) as i32) >= 0 {
            self.fack = order.1;
        } else if !e.has(EVER) {
            self.reordering_seen = true;
        }
        // a retransmission that seems faster than any round trip was not what arrived
        if e.has(EVER) && self.now_us.wrapping_sub(e.sent) < self.min_rtt_us {
            return;
        }
        if self.delivered.is_none_or(|newest| sent_after(order, newest)) {
            self.delivered = Some(order);
        }
    }

    /// All that an ACK delivers is known; true if it is news.   Source: RFC 8985 §6.2 step 2.
    #[inline]
    pub(crate) fn settle(&mut self) -> bool {
        let Some(order) = self.delivered.take() else { return false };
        self.rtt_us = self.now_us.wrapping_sub(order.0);
        if self.newest.is_none_or(|newest| sent_after(order, newest)) {
            self.newest = Some(order);
        }
        true
    }

    /// RACK.reo_wnd, microseconds.   Source: RFC 8985 §6.2 step 4.
    fn reo_wnd(&self, repairing: bool, dupthresh: u8, srtt_us: u32) -> u32 {
        if !self.reordering_seen && (repairing || self.sacked >= u32::from(dupthresh)) {
            return 0;
        }
        (self.min_rtt_us / 4).saturating_mul(self.reo_wnd_mult).min(srtt_us)
    }

    /// How long `sent` may still be on its way, not positive if it is late; microseconds.
    #[inline]
    fn remaining(&self, sent: u32, reo_wnd: u32) -> i32 {
        sent.wrapping_add(self.rtt_us).wrapping_add(reo_wnd).wrapping_sub(self.now_us) as i32
    }
}

impl Scoreboard {
    /// Marks as lost what RACK says; gives the time, microseconds, after which all that was sent before the newest segment
    /// delivered will be, if it has not arrived by then.   Source: RFC 8985 §6.2 step 5.
    pub(crate) fn detect_lost(&mut self, repairing: bool, dupthresh: u8, srtt_us: u32) -> Option<u32> {
        let rack = self.rack.as_mut()?;
        rack.lost_again = false;
        let newest = rack.newest?;
        let reo_wnd = rack.reo_wnd(repairing, dupthresh, srtt_us);
        self.resent_lost(Some(newest), reo_wnd).max(self.sent_lost(Some(newest), reo_wnd))
    }

    /// A timeout: the first segment is lost, and of the others those that are overdue.   Source: RFC 8985 §6.3.
    pub(crate) fn time_out(&mut self) {
        if self.get(0).is_some_and(|e| e.has(RETX)) {
            self.lose_again(0);
        }
        self.mark_head_lost();
        self.resent_lost(None, 0);
        self.sent_lost(None, 0);
        self.rtx = 0;
    }

    /// Among those sent again, those sent before `newest` (all, without one). Bound: what was sent again since the last look.
    fn resent_lost(&mut self, newest: Option<(u32, u32)>, reo_wnd: u32) -> Option<u32> {
        let mut at_front = true;
        let mut wait = None;
        let mut i = 0;
        loop {
            let Some(rack) = &self.rack else { return None };
            let Some(&resent) = rack.resent.get(i) else { return wait };
            let remaining = rack.remaining(resent.sent, reo_wnd);
            if let Some((at, order)) = self.resent_entry(resent) {
                if newest.is_some_and(|newest| !sent_after(newest, order)) {
                    return wait;
                }
                if remaining > 0 {
                    wait = wait.max(Some(remaining as u32));
                    at_front = false;
                } else {
                    self.lose_again(at);
                }
            }
            match &mut self.rack {
                Some(rack) if at_front => drop(rack.resent.pop_front()),
                _ => i += 1,
            }
        }
    }

    /// Where the segment is, if this is still its last transmission and it has not arrived.
    pub(super) fn resent_entry(&self, Resent { seq, sent }: Resent) -> Option<(usize, (u32, u32))> {
        if seq < self.base {
            return None;
        }
        let at = self.search(seq.wrapping_sub(self.base) as u32);
        let e = self.get(at)?;
        (e.start == seq as u32 && e.sent == sent && e.flags & (SACKED | RETX) == RETX).then(|| (at, e.order()))
    }

    /// A retransmission is lost: it is to be sent once more.
    pub(super) fn lose_again(&mut self, at: usize) {
        let e = self.entry(at);
        e.flags &= !RETX;
        let bytes = e.bytes();
        self.pipe -= bytes;
        self.rtx = self.rtx.min(at as u32);
        if let Some(rack) = &mut self.rack {
            rack.lost_again = true;
        }
    }

    /// Among those sent once, those sent before `newest`. They lie above `lost_to`, in the order of their sending.
    fn sent_lost(&mut self, newest: Option<(u32, u32)>, reo_wnd: u32) -> Option<u32> {
        let mut wait = None;
        let mut at = self.lost_to as usize;
        // bound: the ring; every turn moves `at` up
        while let Some(&e) = self.get(at) {
            if e.has(SACKED) {
                if at == self.lost_to as usize {
                    self.leave_count(e.bytes(), self.get(at + 1).is_some_and(|n| n.has(SACKED)));
                    self.lost_to += 1;
                    at += 1;
                } else {
                    at += e.skip.max(1) as usize;
                }
                continue;
            }
            let Some(rack) = &self.rack else { return None };
            if newest.is_some_and(|newest| !sent_after(newest, e.order())) {
                break;
            }
            let remaining = rack.remaining(e.sent, reo_wnd);
            if remaining > 0 || at > self.lost_to as usize {
                // those behind it were sent later still: only the longest wait is left to find
                wait = wait.max(Some(remaining.max(0) as u32));
                at += 1;
                continue;
            }
            self.set_lost(at);
            self.lost_to += 1;
            at += 1;
        }
        wait
    }

    /// All that is not SACKed is lost, and so are its retransmissions.
    pub(super) fn forget_resent(&mut self) {
        let sacked = self.iter().filter(|e| e.has(SACKED)).count() as u32;
        let lost = self.len() as u32 - sacked;
        if let Some(rack) = &mut self.rack {
            rack.resent.clear();
            (rack.lost, rack.sacked) = (lost, sacked);
        }
    }

    /// Retransmissions on their way. Bound: the board.
    pub(crate) fn resent_in_flight(&self) -> u32 {
        self.iter().filter(|e| e.flags & (SACKED | RETX) == RETX).count() as u32
    }

    /// Nothing is lost after all. Bound: the board.
    pub(crate) fn unmark_lost(&mut self) {
        (self.pipe, self.above, self.runs) = (0, 0, 0);
        let mut in_run = false;
        for at in 0..self.len() {
            let e = self.entry(at);
            e.flags &= !LOST;
            let e = *e;
            self.pipe += e.in_pipe();
            self.above += if e.has(SACKED) { e.bytes() } else { 0 };
            self.runs += u32::from(e.has(SACKED) && !in_run);
            in_run = e.has(SACKED);
        }
        (self.lost_to, self.rtx) = (0, 0);
        if let Some(rack) = &mut self.rack {
            rack.lost = 0;
        }
    }

    /// A retransmission of a lost segment has left.
    #[inline]
    pub(super) fn note_resent(&mut self, resent: Resent) {
        if let Some(rack) = &mut self.rack {
            rack.resent.push_back(resent);
        }
    }

    /// Segments in flight, and when the first of them was sent last, microseconds.
    #[inline]
    pub(crate) fn outstanding(&self) -> (usize, u32) {
        (self.len(), self.get(0).map_or(0, |e| e.sent))
    }

    /// Recounts RACK's counters.
    #[cfg(test)]
    pub(super) fn check_rack(&self) {
        let Some(rack) = &self.rack else { return };
        let count = |f: fn(&Entry) -> bool| self.iter().filter(|e| f(e)).count() as u32;
        assert_eq!(rack.sacked, count(|e| e.has(SACKED)), "sacked");
        assert_eq!(rack.lost, count(|e| e.flags & (SACKED | LOST) == LOST), "lost");
    }
}
