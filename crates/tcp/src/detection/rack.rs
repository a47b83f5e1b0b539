//! RACK: detects losses by the times at which segments were sent.
//!
//! ```text
//! on delivery   newest = the delivered segment that was sent last
//!               RACK.rtt = now - send time of the last segment that the ACK number newly delivers, or else of the highest
//!                          newly SACKed segment
//! lost          if sent before newest, and  now >= sent + RACK.rtt + RACK.reo_wnd           RFC 8985 §6.2 step 5
//! reo_wnd       0 if no reordering was seen, and losses are being repaired or DupThresh segments are SACKed;
//!               otherwise min(reo_wnd_mult * min RTT / 4, SRTT)                                   §6.2 step 4
//! reo_wnd_mult  1 at first;  increased by 1 in every round with a D-SACK that is not for a probe;
//!               reset to 1 after 16 recoveries without a D-SACK
//! ```
//!
//! First transmissions are scanned in sequence order. Retransmissions are kept in a queue, in sending order. Both scans
//! end at the first segment that was not sent before `newest`. While `reo_wnd` is 0, nearly all segments that they
//! visit are overdue and are not visited again, so an ACK costs O(1) amortised, plus a binary search per
//! retransmission. A lost retransmission is detected like any other lost segment.
//!
//! Source: RFC 8985 §5 and §6.
//! Departs: "sent before" follows the order of sending. The RFC compares send times, and segments sent at the same time
//! by their sequence numbers (RACK.end_seq). Both orders are the same on a host, whose clock advances between two ACKs.
//! In a simulation, they can differ, because several ACKs may arrive at the same nanosecond. RACK.rtt is computed as in
//! Linux (tcp_rack_advance). If an ACK acknowledges a segment cumulatively and SACKs later ones, the RFC uses the RTT
//! of the latest SACKed segment. Linux uses the RTT of the acknowledged segment, which includes the delay of its ACK,
//! so Linux waits longer before it declares a loss. min RTT is the minimum of the whole connection. To decide whether
//! an ACK is for a retransmission or for the original, only min RTT is used. The echoed time stamp does not help: while
//! a hole remains, it is older than every SACKed segment.

use crate::scoreboard::Scoreboard;
use crate::scoreboard::entry::{EVER, Entry, LOST, Piece, RETX, SACKED, Watch};
use crate::segment::SackBlock;
use std::collections::VecDeque;

/// A tail loss probe in flight.   Source: RFC 8985 §7.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Probe {
    /// TLP.end_seq: `next` when the probe was sent.
    pub(crate) end: u64,
    /// TLP.is_retrans: true if the probe is a retransmission.
    pub(crate) is_retransmission: bool,
}

/// The state of tail loss probes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tlp {
    pub(crate) probe: Option<Probe>,
    /// True if there was an RTT sample since the last probe, or if there was no probe yet.
    pub(crate) sampled: bool,
    /// Number of probes sent.
    pub(crate) sent: u32,
}

/// A retransmission in flight.
#[derive(Clone, Copy, Debug)]
struct Resent {
    seq: u64,
    sent: u32,
    order: u32,
}

/// A summary, for RACK, of the segments that an ACK delivers.
#[derive(Clone, Copy, Debug)]
struct Delivered {
    /// The number of the delivered transmission that was sent last.
    newest: u32,
    /// Send time and end of the segment that gives RACK.rtt.
    sent: u32,
    end: u32,
    /// True if the ACK number covers this segment; false if only a SACK block does.
    acknowledged: bool,
}

/// RACK.reo_wnd_persist: number of recoveries without D-SACK after which the reordering window is reset.
/// Source: RFC 8985 §6.2.
const PERSIST: u8 = 16;
/// Upper limit of `reo_wnd_mult`, in quarters of the minimum RTT. In practice, SRTT is the tighter limit on the
/// reordering window.
const MOST_QUARTERS: u32 = 255;

/// RACK's and TLP's variables. Times are microseconds modulo 2^32. 32-bit sequence numbers are the low bits of
/// stream offsets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rack {
    now_us: u32,
    /// Minimum RTT of the connection so far.
    min_rtt_us: u32,
    /// RACK.rtt.
    rtt_us: u32,
    /// The number of the delivered transmission that was sent last.
    newest: Option<u32>,
    /// A summary of the segments that this ACK delivers; `None` if RACK may take an RTT from none of them.
    delivered: Option<Delivered>,
    /// RACK.fack: the highest sequence number at which a delivered segment ends.
    fack: u32,
    /// RACK.segs_sacked: number of segments SACKed.
    sacked: u32,
    /// Number of segments marked lost, retransmitted or not.
    lost: u32,
    /// RACK.reordering_seen: true if a segment was ever delivered after another segment that had been sent later. In the RFC, only
    /// segments sent once count. As in Linux, the original of a segment that was sent again counts too, if a time stamp identifies it.
    reordering_seen: bool,
    /// RACK.fack before the current ACK.
    fack_before: u32,
    /// End of the lowest segment that the current ACK delivers late, after a segment sent later. Only segments sent once
    /// count.
    late: Option<u32>,
    /// Maximum distance in bytes from the start of a late segment to the start of the highest SACKed segment or, if no segment
    /// is SACKed any more, to SND.UNA.   Source: Linux, tcp_check_sack_reordering.
    pub(crate) reordering: u32,
    /// True if the last detection found a lost retransmission.
    lost_again: bool,
    /// Start of the current RTO.
    pub(crate) rto_began: u32,
    pub(crate) tlp: Tlp,
    /// RACK.dsack_round: the round of the last D-SACK ends once all data below this sequence number is acknowledged.
    dsack_round: Option<u64>,
    /// RACK.reo_wnd_mult: length of the reordering window, in quarters of the minimum RTT.
    reo_wnd_mult: u32,
    /// RACK.reo_wnd_persist: number of further recoveries without a D-SACK after which `reo_wnd_mult` is reset.
    reo_wnd_persist: u8,
    /// Number of duplicate segments reported by D-SACK.
    duplicates: u32,
    /// For F-RTO: true if this ACK delivers a segment that was sent only once and that ends at or before `once_until`.
    pub(crate) once_delivered: bool,
    /// End of the data sent before the timeout: the low 32 bits of the stream offset.
    pub(crate) once_until: u32,
    resent: VecDeque<Resent>,
}

/// Returns true if transmission number `a` was sent after transmission number `b`.   Source: RFC 8985 §5.2
/// RACK_sent_after.
#[inline]
fn sent_after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

impl Rack {
    pub(crate) fn new() -> Self {
        Self {
            min_rtt_us: u32::MAX,
            fack: 1,
            tlp: Tlp { sampled: true, ..Tlp::default() },
            reo_wnd_mult: 1,
            ..Self::default()
        }
    }

    /// Processes a delivered segment.   Source: RFC 8985 §6.2 steps 2 and 3.
    #[inline]
    fn note_delivered(&mut self, e: &Entry, acknowledged: bool) {
        let end = e.start.wrapping_add(e.size() as u32);
        self.once_delivered |= !e.has(EVER) && (end.wrapping_sub(self.once_until) as i32) <= 0;
        if (end.wrapping_sub(self.fack) as i32) >= 0 {
            self.fack = end;
        } else if !e.has(EVER) && (end.wrapping_sub(self.fack_before) as i32) < 0 {
            // an ACK may list its blocks in any order. So a segment counts as late only if it lies below the value that
            // RACK.fack had before this ACK
            self.late = Some(self.late.filter(|late| (late.wrapping_sub(end) as i32) < 0).unwrap_or(end));
        }
        // if less than the minimum RTT has passed since the retransmission, the ACK was caused by the original
        if e.has(EVER) && self.now_us.wrapping_sub(e.sent) < self.min_rtt_us {
            return;
        }
        let this = Delivered { newest: e.order(), sent: e.sent, end, acknowledged };
        self.delivered = Some(match self.delivered {
            None => this,
            Some(old) => {
                let newest = if sent_after(this.newest, old.newest) { this.newest } else { old.newest };
                let times = acknowledged || !old.acknowledged && (end.wrapping_sub(old.end) as i32) > 0;
                Delivered { newest, ..if times { this } else { old } }
            }
        });
    }

    /// Records that the segment that ends at `end` was delivered late by the current ACK, which has been applied to the scoreboard.
    #[cold]
    pub(crate) fn note_reordering(&mut self, end: u32, mss: u32) {
        self.reordering_seen = true;
        // RACK.fack is the end of the highest SACKed segment, so the distance is taken from end to end. If no segment
        // is SACKed, RACK.fack is SND.UNA, so the distance is taken from the start of the late segment
        let from = if self.sacked > 0 { end } else { end.wrapping_sub(mss) };
        // segments may be smaller than the MSS, and then the difference may be negative
        self.reordering = self.reordering.max((self.fack.wrapping_sub(from) as i32).max(0) as u32);
    }

    /// Sets the current time when a timer expires.
    #[inline]
    pub(crate) fn set_now(&mut self, now_us: u32) {
        self.now_us = now_us;
    }

    /// Begins to process an ACK.
    #[inline]
    pub(crate) fn begin(&mut self, now_us: u32) {
        (self.now_us, self.fack_before) = (now_us, self.fack);
        self.once_delivered = false;
    }

    /// Updates the minimum RTT with a sample, and allows the next tail loss probe.
    #[inline]
    pub(crate) fn on_rtt(&mut self, us: u32) {
        self.min_rtt_us = self.min_rtt_us.min(us);
        self.tlp.sampled = true;
    }

    /// Updates RACK.rtt and the newest delivered transmission from the segments that an ACK delivers. Returns false if the ACK
    /// delivers no segment from which RACK may take an RTT.   Source: RFC 8985 §6.2 step 2.
    #[inline]
    fn settle(&mut self) -> bool {
        let Some(Delivered { newest, sent, .. }) = self.delivered.take() else { return false };
        self.rtt_us = self.now_us.wrapping_sub(sent);
        if self.newest.is_none_or(|before| sent_after(newest, before)) {
            self.newest = Some(newest);
        }
        true
    }

    /// Returns RACK.reo_wnd, microseconds.   Source: RFC 8985 §6.2 step 4.
    fn reo_wnd(&self, repairing: bool, dupthresh: u8, srtt_us: u32) -> u32 {
        if !self.reordering_seen && (repairing || self.sacked >= u32::from(dupthresh)) {
            return 0;
        }
        (self.min_rtt_us / 4).saturating_mul(self.reo_wnd_mult).min(srtt_us)
    }

    /// Returns the time in microseconds until a segment that was sent at `sent` is overdue. The result is zero or
    /// negative if the segment is already overdue.
    #[inline]
    fn remaining(&self, sent: u32, reo_wnd: u32) -> i32 {
        sent.wrapping_add(self.rtt_us).wrapping_add(reo_wnd).wrapping_sub(self.now_us) as i32
    }

    /// Processes the segments that an ACK delivers, after the ACK has been applied to the scoreboard. Returns true if a
    /// segment may be lost. `open` is true if the sender is in the state Open, in which no segment is marked as lost.
    /// If in addition no segment is SACKed, then all segments sent before the delivered ones are acknowledged, so none
    /// is lost.   Source: RFC 8985 §6.2.
    #[inline]
    pub(crate) fn take_delivered(&mut self, acked: u64, mss: u32, open: bool) -> bool {
        self.lost_again = false;
        if acked > 0 {
            self.rto_began = self.now_us;
        }
        if let Some(end) = self.late.take() {
            self.note_reordering(end, mss);
        }
        self.settle() && (!open || self.sacked > 0)
    }

    /// Checks the segments that were sent before the newest delivered segment, and marks the overdue ones as lost.
    /// Returns the time in microseconds until all others are overdue too, or `None` if there are no others.
    /// Source: RFC 8985 §6.2 step 5.
    pub(crate) fn detect(
        &mut self,
        board: &mut Scoreboard,
        repairing: bool,
        dupthresh: u8,
        srtt_us: u32,
    ) -> Option<u32> {
        self.lost_again = false;
        let newest = self.newest?;
        let reo_wnd = self.reo_wnd(repairing, dupthresh, srtt_us);
        self.resent_lost(board, Some(newest), reo_wnd).max(self.sent_lost(board, Some(newest), reo_wnd))
    }

    pub(crate) fn forget_reordering(&mut self, dupthresh: u8) {
        if self.sacked >= u32::from(dupthresh) {
            self.reordering = 0;
        }
    }

    /// Returns true if a segment is marked lost. After a timeout, only a retransmission counts, if the last detection
    /// found it lost.
    #[inline]
    pub(crate) fn has_lost(&self, after_timeout: bool) -> bool {
        if after_timeout { self.lost_again } else { self.lost > 0 }
    }

    /// Returns true if a probe may be scheduled: nothing is SACKed or lost.   Source: RFC 8985 §7.2.
    #[inline]
    pub(crate) fn may_probe(&self) -> bool {
        self.sacked == 0 && self.lost == 0
    }

    /// Processes a timeout: marks the first segment as lost, and every other segment that is overdue if the reordering
    /// window is taken as 0.   Source: RFC 8985 §6.3, which adds RACK.reo_wnd; Linux (tcp_timeout_mark_lost), which
    /// does not.
    pub(crate) fn time_out(&mut self, board: &mut Scoreboard) {
        if board.get(0).is_some_and(|e| e.has(RETX)) {
            self.lose_again(board, 0);
        }
        self.lost += u32::from(board.mark_head_lost());
        self.resent_lost(board, None, 0);
        self.sent_lost(board, None, 0);
        board.rtx = 0;
    }

    /// Recounts the segments and empties the queue of retransmissions. Before the call, the caller must mark all
    /// segments as lost except the SACKed ones.
    pub(crate) fn forget_resent(&mut self, board: &Scoreboard) {
        self.resent.clear();
        self.sacked = board.iter().filter(|e| e.has(SACKED)).count() as u32;
        self.lost = board.len() as u32 - self.sacked;
    }

    pub(crate) fn unmark_lost(&mut self, board: &mut Scoreboard) {
        board.unmark_lost();
        self.lost = 0;
    }

    /// Adds a retransmission to the queue. The scoreboard counts it in `pipe`, the number of bytes in flight.
    #[inline]
    pub(crate) fn note_resent(&mut self, board: &mut Scoreboard, piece: Piece) {
        let e = board.entry(piece.at as usize);
        self.resent.push_back(Resent { seq: piece.seq, sent: e.sent, order: e.order() });
    }

    /// Checks whether an ACK ends the tail loss probe in flight. `duplicate` is true for a pure ACK that reports no new
    /// data. Returns true if the probe was a retransmission that has repaired a loss.   Source: RFC 8985 §7.4.2.
    pub(crate) fn probe_repaired(&mut self, ack: u64, duplicate: bool) -> bool {
        let Some(Probe { end, is_retransmission }) = self.tlp.probe else { return false };
        // if the probe had been unnecessary, a duplicate ACK for it would have arrived before any ACK above `end`
        let beyond = is_retransmission && ack > end;
        if ack >= end && (!is_retransmission || beyond || duplicate) {
            self.tlp.probe = None;
        }
        beyond
    }

    /// Applies a D-SACK for `segments` duplicates. `resent` is the number of retransmissions so far. Returns false if there were
    /// more duplicates than retransmissions, which shows that the network duplicates packets.
    ///
    /// Source: RFC 8985 §6.2 step 4, §7.4.2.
    pub(crate) fn on_dsack(&mut self, dup: SackBlock, segments: u32, resent: u32, una: u64, next: u64) -> bool {
        self.duplicates = self.duplicates.saturating_add(segments);
        if self.duplicates > resent {
            return false;
        }
        if self.tlp.probe.is_some_and(|probe| probe.is_retransmission && probe.end == dup.end) {
            // the original segment had arrived, so the probe was unnecessary
            self.tlp.probe = None;
        } else if self.dsack_round.is_none_or(|round| una >= round) {
            self.dsack_round = Some(next);
            self.reo_wnd_mult = (self.reo_wnd_mult + 1).min(MOST_QUARTERS);
            self.reo_wnd_persist = PERSIST;
        }
        true
    }

    /// Ends a recovery that was not spurious.   Source: RFC 8985 §6.2 step 4.
    pub(crate) fn end_recovery(&mut self) {
        self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
        if self.reo_wnd_persist == 0 {
            self.reo_wnd_mult = 1;
        }
    }

    /// Checks the retransmissions that were sent before `newest`, or all retransmissions if `newest` is `None`, and
    /// marks the overdue ones as lost. Returns the time in microseconds until all others are overdue too, or `None` if
    /// there are no others. The queue is in sending order, so the loop ends at the first retransmission in flight that
    /// was not sent before `newest`.
    fn resent_lost(&mut self, board: &mut Scoreboard, newest: Option<u32>, reo_wnd: u32) -> Option<u32> {
        let mut at_front = true;
        let mut wait = None;
        let mut i = 0;
        while let Some(&resent) = self.resent.get(i) {
            let remaining = self.remaining(resent.sent, reo_wnd);
            if let Some(at) = resent_entry(board, resent) {
                if newest.is_some_and(|newest| !sent_after(newest, resent.order)) {
                    return wait;
                }
                if remaining > 0 {
                    wait = wait.max(Some(remaining as u32));
                    at_front = false;
                } else {
                    self.lose_again(board, at);
                }
            }
            if at_front {
                self.resent.pop_front();
            } else {
                i += 1;
            }
        }
        wait
    }

    fn lose_again(&mut self, board: &mut Scoreboard, at: usize) {
        board.lose_again(at);
        self.lost_again = true;
    }

    /// Checks the segments from `lost_to` on that were sent before `newest` (or all, if `newest` is `None`), and marks
    /// the overdue ones as lost. Returns the time in microseconds until all others are overdue too, or `None` if there
    /// are no others. These segments are in sending order, unless an undo has cleared the LOST marks of retransmitted
    /// segments.
    fn sent_lost(&mut self, board: &mut Scoreboard, newest: Option<u32>, reo_wnd: u32) -> Option<u32> {
        let mut wait = None;
        let mut at = board.lost_to as usize;
        // the loop runs at most once per entry of the scoreboard, because every iteration increases `at`
        while let Some(&e) = board.get(at) {
            let first = at == board.lost_to as usize;
            if e.has(SACKED) {
                if first {
                    board.leave_count(e.bytes(), board.get(at + 1).is_some_and(|n| n.has(SACKED)));
                    board.lost_to += 1;
                    at += 1;
                } else {
                    at += e.skip.max(1) as usize;
                }
                continue;
            }
            if newest.is_some_and(|newest| !sent_after(newest, e.order())) {
                break;
            }
            let remaining = self.remaining(e.sent, reo_wnd);
            if remaining > 0 || !first {
                // higher entries were sent even later (except after an undo), so they are not marked. The loop goes on
                // only to find the longest wait
                wait = wait.max(Some(remaining.max(0) as u32));
                at += 1;
                continue;
            }
            self.lost += u32::from(board.set_lost(at));
            board.lost_to += 1;
            at += 1;
        }
        wait
    }

    /// Recounts the segments, and asserts that RACK's counters are correct.
    #[cfg(test)]
    pub(crate) fn check(&self, board: &Scoreboard) {
        let count = |f: fn(&Entry) -> bool| board.iter().filter(|e| f(e)).count() as u32;
        assert_eq!(self.sacked, count(|e| e.has(SACKED)), "sacked");
        assert_eq!(self.lost, count(|e| e.flags & (SACKED | LOST) == LOST), "lost");
    }
}

/// Returns the position of a retransmitted segment; `None` if the segment has arrived or was sent again in the meantime.
fn resent_entry(board: &Scoreboard, Resent { seq, order, .. }: Resent) -> Option<usize> {
    if seq < board.base {
        return None;
    }
    let at = board.search(seq.wrapping_sub(board.base) as u32);
    let e = board.get(at)?;
    (e.start == seq as u32 && e.flags & (SACKED | RETX) == RETX && e.order() == order).then_some(at)
}

impl Watch for Rack {
    #[inline]
    fn acknowledged(&mut self, e: &Entry) {
        if e.has(SACKED) {
            self.sacked -= 1;
        } else {
            self.lost -= u32::from(e.has(LOST));
            self.note_delivered(e, true);
        }
    }

    #[inline]
    fn sacked(&mut self, _: usize, e: &Entry) {
        self.sacked += 1;
        self.lost -= u32::from(e.has(LOST));
        self.note_delivered(e, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acknowledged_segment_gives_the_round_trip_although_later_ones_are_sacked() {
        // From a trace of BBR behind CAKE on Linux 6.18 (tools/kernel), in microseconds. Segments 609 to 612 leave one
        // after the other, and 610 is lost. An ACK at 166507 acknowledges 609 and SACKs 611. Another ACK, at 190730,
        // SACKs 612. Only the second ACK makes Linux mark 610 as lost
        let segment = |number: u32, sent: u32| Entry { start: 1000 * number, sent, skip: number, len: 1000, flags: 0 };
        let (lost, min_rtt_us) = (91_615, 50_710);
        let mut rack = Rack::new();
        rack.on_rtt(min_rtt_us);
        rack.begin(166_507);
        rack.acknowledged(&segment(609, 72_357));
        rack.sacked(2, &segment(611, 110_872));
        assert!(rack.take_delivered(1000, 1000, false));
        assert_eq!((rack.newest, rack.rtt_us), (Some(611), 94_150));
        // 610 is overdue at 91615 + 94150 + 50710 / 4 = 198442, which is 31935 after the first ACK. With the RTT of
        // 611, it would have been overdue 6580 before the first ACK
        assert_eq!(rack.remaining(lost, rack.reo_wnd(false, 3, 88_000)), 31_935);
        rack.begin(190_730);
        rack.sacked(3, &segment(612, 130_130));
        assert!(rack.take_delivered(0, 1000, false));
        assert_eq!((rack.newest, rack.rtt_us), (Some(612), 60_600));
        assert!(rack.remaining(lost, rack.reo_wnd(false, 3, 88_000)) < 0);
        // if an ACK delivers segments only by SACK, RACK.rtt comes from the highest of them, in any order of the blocks
        rack.begin(200_000);
        rack.sacked(5, &segment(614, 150_000));
        rack.sacked(4, &segment(613, 140_000));
        assert!(rack.take_delivered(0, 1000, false));
        assert_eq!(rack.rtt_us, 50_000);
    }
}
