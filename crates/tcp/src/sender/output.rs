//! Decides what may be sent now, and sends it.
//!
//! Source: RFC 6675 §4 NextSeg, RFC 3042, RFC 5681 §4.1, RFC 2861, RFC 7661, RFC 896 (Nagle).

use super::pacing::Burst;
use super::{Context, ENDLESS, Sender};
use crate::cc::control::Silence;
use crate::params::{IdleRestart, TcpParams};
use crate::scoreboard::entry::Piece;
use crate::segment::{Io, Segment, micros};
use crate::stats::State;
use packet::Flags;
use units::Time;

/// The result of `send_hole`: the segment that was sent, if any.
#[derive(PartialEq)]
enum Hole {
    None,
    /// A hole below the highest SACKed segment: NextSeg (3).
    Filled,
    /// A rescue retransmission: NextSeg (4).
    Rescued,
}

impl Sender {
    /// Returns true if the window has room for `size` payload bytes.
    #[inline]
    fn has_room(&self, p: &TcpParams, size: u64) -> bool {
        let (cwnd, in_flight) = (self.cwnd_bytes(p), self.in_flight());
        match self.state {
            State::Recovery | State::Cwr if self.reduction.is_begun() => {
                self.reduction.permits(p, size, cwnd, in_flight)
            }
            State::Open if self.dupacks > 0 && self.counts_outstanding => {
                // RFC 3042: beyond the window, up to two segments may be sent, one per duplicate ACK
                let extra = if p.detection.limited_transmit {
                    u64::from(self.dupacks.min(2)) * u64::from(p.wire.mss)
                } else {
                    0
                };
                self.next - self.una + size <= cwnd + extra
            }
            _ => in_flight + size <= cwnd,
        }
    }

    /// Returns the free room in the window, in bytes. During a reduction by PRR, returns the bytes that PRR still
    /// allows.
    pub(super) fn room(&self, p: &TcpParams) -> u64 {
        let prr = if self.is_reducing() { self.reduction.room(p) } else { None };
        prr.unwrap_or_else(|| self.cwnd_bytes(p).saturating_sub(self.in_flight()))
    }

    /// Returns the payload length of the next new segment, and whether the segment has the FIN flag. Returns `None` if
    /// there is nothing new to send, or if the peer's window or Nagle's algorithm does not allow the segment.
    #[inline]
    pub(super) fn next_new(&self, p: &TcpParams) -> Option<(u32, bool)> {
        if self.fin_sent {
            return None;
        }
        let left = self.end - self.next;
        let full = self.segment_bytes(p);
        let len = left.min(u64::from(full)) as u32;
        let outstanding = self.next - self.una;
        let last = if p.quirks.fin_after_data { left == 0 && outstanding == 0 } else { left <= u64::from(full) };
        let fin = self.closing && p.opening.handshake && last && self.end != ENDLESS;
        if len == 0 && !fin || outstanding + u64::from(len) > u64::from(self.peer_rwnd) {
            return None;
        }
        if p.window.nagle && len < full && !fin && outstanding > 0 {
            return None;
        }
        Some((len, fin))
    }

    /// Sends all that may be sent now.
    #[inline]
    pub(crate) fn output<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        if cx.p.pacing.tso {
            return self.output_runs(cx);
        }
        self.output_segments(cx);
    }

    /// Sends all that may be sent now, segment by segment.
    #[inline]
    pub(super) fn output_segments<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        let (p, now) = (cx.p, cx.now);
        if self.next == self.una {
            self.after_idle(p, now);
        }
        let next = self.next;
        self.send_full(cx);
        if let Some(limited) = self.send_permitted(cx, self.next != next) {
            self.note_usage(limited);
        }
        if self.next != next {
            self.arm_probe(p, now, false);
        }
    }

    /// Sends full segments of new data as long as the windows allow, in the usual case: a sender in the state Open
    /// whose segments are plain, without ECN, duplicate ACKs, pacing, bursts or rate estimates.
    /// [`Sender::send_permitted`] would send the same segments, with more comparisons for each segment. It sends what
    /// remains.
    #[inline]
    fn send_full<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        let (p, now) = (cx.p, cx.now);
        let open = self.state == State::Open && self.dupacks == 0 && self.board.dup_bytes == 0;
        if !open || self.pacing.is_some() || self.fin_sent || cx.rx.ecn.sends() || !cx.rx.sends_plain() {
            return;
        }
        let full = u64::from(p.wire.mss);
        let free = self.cwnd_bytes(p).saturating_sub(self.board.pipe);
        // the last segment of a stream that is closed may carry the FIN, so it is not sent here
        let end = self.end - u64::from(self.closing);
        let limit = end.min(self.una + u64::from(self.peer_rwnd)).min(self.next + free);
        if self.next + full > limit {
            return;
        }
        let mut plain = cx.rx.plain(p, now, self.next, p.wire.mss);
        cx.rx.acknowledged();
        // the loop is bounded: each iteration sends a segment, and `limit` does not change
        while plain.seq + full <= limit {
            self.board.push(plain.seq, plain.len, false, plain.ts_val);
            cx.io.send_plain(plain);
            plain.seq += full;
        }
        self.next = plain.seq;
        if self.rto_at == Time::NEVER {
            self.start_rto(p, now);
        }
        self.last_active = now;
    }

    /// Sends lost segments, then new segments, then the segments allowed by NextSeg (3) and (4). While F-RTO sends new
    /// data first, lost segments wait. `sent` is true if [`Sender::send_full`] has sent segments. Returns `None` if
    /// nothing was sent and no burst of new data is waiting for more room in the window. Otherwise, returns
    /// `Some(true)` if the window stopped the sender, and `Some(false)` if it did not. The loop ends because every
    /// iteration but the last sends a segment, and the window limits their number.
    /// Source: RFC 6675 §4 NextSeg.
    #[inline]
    fn send_permitted<I: Io>(&mut self, cx: &mut Context<'_, I>, mut sent: bool) -> Option<bool> {
        let (p, now) = (cx.p, cx.now);
        let mut allowance = self.allowance(now);
        let gathers = self.pacing.is_some();
        let (mut burst, mut waits) = ((0, 0), false);
        // the end of the segment, and the time of its previous transmission, if the last segment sent here was a
        // retransmission
        let mut repaired: Option<(u64, u32)> = None;
        let limited = loop {
            let repairing = self.state.repairs();
            let new_first = repairing && self.new_first();
            if repairing
                && !new_first
                && let Some(piece) = self.board.next_lost()
            {
                if !self.has_room(p, u64::from(piece.len)) {
                    break true;
                }
                if gathers && p.pacing.tsq && self.device_is_full(p, true) {
                    break false;
                }
                // a retransmission is a burst of its own, unless the previous retransmission ends where this one
                // begins, and both segments had last been sent at the same time
                let sent_at = self.board.sent_at(piece);
                if repaired.is_some_and(|last| last != (piece.seq, sent_at)) {
                    allowance = self.allowance(now);
                }
                if allowance == 0 {
                    self.wait_turn();
                    break false;
                }
                allowance -= 1;
                repaired = Some((piece.end(), sent_at));
                self.retransmit(cx, piece, false);
                sent = true;
            } else if let Some((len, fin)) = self.next_new(p) {
                if !self.has_room(p, u64::from(len)) {
                    break true;
                }
                if repaired.take().is_some() {
                    allowance = self.allowance(now);
                }
                if allowance == 0 {
                    self.wait_turn();
                    break false;
                }
                let mut flags = Flags::default();
                if gathers {
                    match self.next_of_burst(p, now, &mut burst, len) {
                        Burst::Leaves(psh) => flags = psh,
                        Burst::DeviceFull => break false,
                        Burst::Waits => {
                            waits = true;
                            break true;
                        }
                    }
                }
                allowance -= 1;
                self.send_new(cx, len, fin, flags);
                if gathers && burst.0 == 0 {
                    cx.io.burst_ends();
                }
                sent = true;
            } else if self.state == State::Recovery && self.detection.fills_holes(p) {
                let hole = self.send_hole(cx);
                sent |= hole != Hole::None;
                if hole != Hole::Filled {
                    break false;
                }
            } else {
                self.note_starved(p);
                break false;
            }
        };
        (sent || waits).then_some(limited)
    }

    /// Records whether the window stopped the sender in the current round, and the number of bytes outstanding. With
    /// `cwnd_validation = "round"`, both decide if the window may grow: a window that is not used must not grow.
    /// Source: RFC 7661 §4.2; Linux's cwnd_validate.
    #[inline]
    fn note_usage(&mut self, limited: bool) {
        let flight = self.next - self.una;
        let over = (self.una as u32).wrapping_sub(self.usage_until) as i32 >= 0;
        if limited || over || !self.limited && flight > u64::from(self.max_flight) {
            self.limited = limited;
            // `flight` fits into 32 bits: it is at most the peer's window plus a FIN
            self.max_flight = flight as u32;
            self.usage_until = self.next as u32;
        }
    }

    /// Sends the segment that rule (3) or (4) of NextSeg selects, if the window has room. Called when there is no lost
    /// data to send, and no new data that may be sent.
    fn send_hole<I: Io>(&mut self, cx: &mut Context<'_, I>) -> Hole {
        let p = cx.p;
        if !self.has_room(p, u64::from(p.wire.mss)) {
            return Hole::None;
        }
        if let Some(piece) = self.board.next_hole() {
            self.retransmit(cx, piece, false);
            return Hole::Filled;
        }
        if self.may_rescue()
            && let Some(piece) = self.board.last_hole()
        {
            self.rescue_rxt = self.recover as u32;
            cx.stats.rescues += 1;
            self.retransmit(cx, piece, true);
            return Hole::Rescued;
        }
        Hole::None
    }

    /// Returns true if HighACK is above RescueRxt, so that a rescue retransmission may be sent. This is the case after
    /// the cumulative ACK has moved past the first retransmission of the recovery, until a rescue is sent.
    /// Source: RFC 6675 §4.
    fn may_rescue(&self) -> bool {
        ((self.una as u32).wrapping_sub(self.rescue_rxt) as i32) > 0
    }

    /// Reports the end of an idle period to the controller. If the period was longer than the RTO, restarts the window
    /// as `idle_restart` says, unless the controller sets the window itself. If the application sends less than the
    /// window allows, but is never idle for so long, the unused part of the window is kept. Linux behaves in the same
    /// way: tcp_cwnd_application_limited reduces the window only after an RTO without an ACK of new data, because
    /// tcp_cong_avoid sets snd_cwnd_stamp.
    /// Source: RFC 5681 §4.1, RFC 2861.
    fn after_idle(&mut self, p: &TcpParams, now: Time) {
        if self.last_active == Time::ZERO || self.next_new(p).is_none() {
            return;
        }
        let idle = now.since(self.last_active);
        let app_limited = self.rates_mut().is_some_and(|rates| rates.is_app_limited());
        let mut reduction = true;
        if let Some(d) = self.cc.on_idle(self.window, Silence { now, idle, app_limited }) {
            self.follow(&d);
            reduction = d.reduction;
        }
        let rto = self.rtt.rto(p, p.rto.max_rto);
        if !reduction || idle <= rto {
            return;
        }
        let w = &mut self.window;
        let restart = p.initial_window_segments().min(w.cwnd);
        match p.window.idle_restart {
            IdleRestart::Off => {}
            IdleRestart::Restart => w.cwnd = restart,
            IdleRestart::InitialAfterAck => w.cwnd = p.initial_window_segments(),
            IdleRestart::OneAfterAck => w.cwnd = 1.0,
            IdleRestart::Decay => {
                w.ssthresh = if w.ssthresh.is_infinite() { w.ssthresh } else { w.ssthresh.max(0.75 * w.cwnd) };
                // twenty halvings divide the window by 2^20, which reduces any realistic window to the restart window
                for _ in 0..(idle.0 / rto.0.max(1)).min(20) {
                    w.cwnd = (w.cwnd * 0.5).max(restart);
                }
            }
        }
    }

    #[inline(always)]
    pub(super) fn send_new<I: Io>(&mut self, cx: &mut Context<'_, I>, len: u32, fin: bool, flags: Flags) {
        let mut s = Segment { seq: self.next, len, flags, ..Segment::default() };
        if cx.rx.ecn.sends() && len > 0 {
            s.ecn = cx.p.codepoint();
            if self.cwr_due {
                s.flags = s.flags.with(Flags::CWR);
                self.cwr_due = false;
            }
        }
        self.board.push(self.next, len, fin, micros(cx.now));
        self.next += u64::from(len) + u64::from(fin);
        self.fin_sent = fin;
        self.transmit(cx, &mut s, fin, None);
    }

    #[inline(never)]
    pub(super) fn retransmit<I: Io>(&mut self, cx: &mut Context<'_, I>, piece: Piece, rescue: bool) {
        if self.board.retransmitted(piece, micros(cx.now), rescue) {
            self.detection.note_resent(&mut self.board, piece);
        }
        self.note_resent(cx.p, cx.now);
        cx.stats.retransmits += 1;
        if piece.seq == self.una {
            self.on_head_resent(cx.p, cx.now);
        }
        let mut s = Segment { seq: piece.seq, len: piece.len, retransmission: true, ..Segment::default() };
        self.transmit(cx, &mut s, piece.fin, Some(piece.at));
    }

    #[inline(always)]
    fn transmit<I: Io>(&mut self, cx: &mut Context<'_, I>, s: &mut Segment, fin: bool, again: Option<u32>) {
        let (p, now) = (cx.p, cx.now);
        if fin {
            s.flags = s.flags.with(Flags::FIN);
        }
        cx.rx.stamp(p, now, s);
        if self.is_reducing() {
            self.reduction.on_send(p, u64::from(s.len), self.in_flight());
        }
        if self.pacing.is_some() {
            s.flags = s.flags.with(self.note_sent(p, now, *s, again));
        }
        if self.rto_at == Time::NEVER {
            self.start_rto(p, now);
        }
        self.last_active = now;
        cx.io.send(s);
    }
}
