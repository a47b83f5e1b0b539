//! What the sender does by RACK-TLP: one timer for three purposes, and the tail loss probe.
//!
//! ```text
//! PTO = 2 SRTT + (one segment in flight: 200 ms, the longest that its ACK may be held; else 2 ms), not after the RTO
//! armed when new data leaves or is acknowledged, unless losses are being repaired or something is SACKed
//!   PTO expires -------> new data, or else the last segment again; from here on the RTO runs
//!   the probe, a retransmission, repaired a loss: its ACK goes beyond TLP.end_seq -> the window is reduced
//! after an ACK that leaves segments within the reordering window, the timer waits for the end of that window
//! ```
//!
//! Source: RFC 8985 §6.2 to §8; of Linux the 2 ms, which keep a probe off the tail of a flight whose last ACK is due, the RTO
//! after a probe or a reordering window (counted from when the first segment was sent last), and that a retransmission that
//! is lost after a timeout opens a fast recovery.
//! Without D-SACK, a probe that was not needed is told by the pure duplicate ACK that answers it; if it was an ACK that was
//! lost and not a segment, the window is then reduced all the same.

use super::{Cx, Sender};
use crate::cc::control::Congestion;
use crate::detection::Detection;
use crate::detection::rack::{Probe, Timer};
use crate::params::{MinRto, TcpParams};
use crate::segment::{Io, Segment, micros};
use crate::stats::State;
use packet::Flags;
use units::{Duration, Time};

/// Longest wait of an ACK at the receiver.   Source: RFC 8985 §7.2, Linux' minimum RTO.
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);
/// Added to every other PTO and reordering window.   Source: Linux TCP_TIMEOUT_MIN.
const LEAST_WAIT: Duration = Duration::from_millis(2);
/// PTO before the first round trip was measured.   Source: RFC 8985 §7.2.
const FIRST_PTO: Duration = Duration::from_secs(1);

impl Sender {
    /// The timer waits for something milder than a timeout.
    #[inline]
    pub(crate) fn timer_is_rack(&self) -> bool {
        self.detection.as_rack().is_some_and(|r| r.timer != Timer::Rto)
    }

    /// Tail loss probes sent.
    pub(crate) fn probes(&self) -> u32 {
        self.detection.as_rack().map_or(0, |r| r.probes)
    }

    /// An ACK's cumulative and selective parts are on the board: what is lost now? True if the timer waits for a reordering
    /// window.
    #[inline]
    pub(super) fn detect(&mut self, p: &TcpParams, now: Time, acked: u64) -> bool {
        let open = self.state == State::Open;
        match &mut self.detection {
            Detection::Dupack => false,
            Detection::Fack(fack) => {
                fack.mark_overtaken(&mut self.board, p.detection.dupthresh);
                false
            }
            Detection::Rack(rack) => rack.taken(acked, open) && self.detect_late(p, now),
        }
    }

    /// Marks what is late, and arms the timer if more may follow.
    fn detect_late(&mut self, p: &TcpParams, now: Time) -> bool {
        let repairing = matches!(self.state, State::Recovery | State::Loss);
        let srtt = (self.rtt.srtt.0 / 1000) as u32;
        let Some(rack) = self.detection.rack() else { return false };
        let wait = rack.detect(&mut self.board, repairing, p.detection.dupthresh, srtt);
        let Some(us) = wait else { return false };
        let wait = Duration::from_micros(u64::from(us)) + LEAST_WAIT;
        self.set_timer(Timer::Reordering, p.rto.expiry(now, wait.min(self.rtt.rto(p.rto.max_rto))));
        true
    }

    /// What an ACK says of the probe in flight.   Source: RFC 8985 §7.4.2.
    pub(super) fn judge_probe(&mut self, p: &TcpParams, segment: &Segment, news: bool) {
        let Some(rack) = self.detection.rack() else { return };
        let Some(Probe { end, is_retransmission }) = rack.probe else { return };
        if segment.ack < end {
            return;
        }
        if !is_retransmission {
            rack.probe = None;
        } else if segment.ack > end {
            // had the probe not been needed, a duplicate ACK would have come before this
            rack.probe = None;
            if !self.cc.owns_window() {
                self.reduce(p, Congestion::Loss);
                self.end_reduction(p);
            }
        } else if !news && segment.flags.has(Flags::PURE_ACK) {
            rack.probe = None;
        }
    }

    fn set_timer(&mut self, timer: Timer, at: Time) {
        self.rto_at = at;
        if let Some(rack) = self.detection.rack() {
            rack.timer = timer;
        }
    }

    /// What is left of the RTO under way: it began with the last ACK of new data (RFC 6298 §5.3), or, where its bound leaves room
    /// for that, when the first segment was sent last (Linux).
    fn rto_left(&self, p: &TcpParams, now: Time) -> Duration {
        let began = match (p.rto.min_rto_bounds, self.detection.as_rack()) {
            (MinRto::Total, Some(rack)) => rack.rto_began,
            _ => self.board.outstanding().1,
        };
        let since = micros(now).wrapping_sub(began);
        let left = self.rtt.rto(p.rto.max_rto).saturating_sub(Duration::from_micros(u64::from(since)));
        left.max(Duration::from_micros(1))
    }

    /// The timer waits for a timeout: a whole RTO, or what another purpose has left of the one under way.
    pub(super) fn rearm_rto(&mut self, p: &TcpParams, now: Time) {
        let wait = if self.timer_is_rack() { self.rto_left(p, now) } else { self.rtt.rto(p.rto.max_rto) };
        self.set_timer(Timer::Rto, p.rto.expiry(now, wait));
    }

    /// The timer starts a whole RTO anew.
    pub(super) fn start_rto(&mut self, p: &TcpParams, now: Time) {
        if let Some(rack) = self.detection.rack() {
            rack.rto_began = micros(now);
        }
        self.set_timer(Timer::Rto, p.rto.expiry(now, self.rtt.rto(p.rto.max_rto)));
    }

    /// The first segment was sent again.
    #[inline]
    pub(super) fn rack_head_resent(&mut self, p: &TcpParams, now: Time) {
        if self.detection.as_rack().is_some_and(|r| r.timer != Timer::Reordering) {
            self.start_rto(p, now);
        }
    }

    /// New data has left (`acked` false), or was acknowledged: arms the loss probe's timer if there is to be one.
    ///
    /// Source: RFC 8985 §7.2.
    #[inline]
    pub(super) fn arm_probe(&mut self, p: &TcpParams, now: Time, acked: bool) -> bool {
        let open = matches!(self.state, State::Open | State::Cwr);
        if !self.detection.as_rack().is_some_and(|r| open && r.may_probe()) {
            return false;
        }
        let pto = match (self.rtt.srtt, self.board.outstanding().0) {
            (Duration::ZERO, _) => FIRST_PTO,
            (srtt, 1) => srtt * 2 + MAX_ACK_DELAY,
            (srtt, _) => srtt * 2 + LEAST_WAIT,
        };
        let rto = if acked { self.rtt.rto(p.rto.max_rto) } else { self.rto_left(p, now) };
        self.set_timer(Timer::Probe, p.rto.expiry(now, pto.min(rto)));
        true
    }

    /// A reduction, a recovery or a timeout begins: the probe will not be judged.   Source: RFC 8985 §7.4.1.
    #[inline]
    pub(super) fn forget_probe(&mut self) {
        if let Some(rack) = self.detection.rack() {
            rack.probe = None;
        }
    }

    /// The timer expired for another purpose than a timeout.
    #[cold]
    pub(crate) fn on_rack_timer<I: Io>(&mut self, cx: &mut Cx<'_, I>) {
        let now = cx.now;
        let Some(rack) = self.detection.rack() else { return };
        rack.set_now(micros(now));
        if rack.timer == Timer::Probe {
            return self.send_probe(cx);
        }
        let pipe = self.board.pipe();
        let waits = self.detect_late(cx.p, now);
        let lost = pipe - self.board.pipe();
        self.report_losses(now);
        if lost > 0 && self.state != State::Recovery {
            // as if an ACK of one segment had told (Linux)
            self.enter_recovery(cx, u64::from(cx.p.wire.mss));
        } else if lost > 0 && self.shrinks() {
            let pipe = self.in_flight();
            self.shrink.on_timer(cx.p, &mut self.window, lost, pipe);
        }
        if !waits {
            self.rearm_rto(cx.p, now);
        }
        self.output(cx);
    }

    /// Source: RFC 8985 §7.3.
    fn send_probe<I: Io>(&mut self, cx: &mut Cx<'_, I>) {
        let (p, now) = (cx.p, cx.now);
        if !self.detection.rack().is_some_and(|r| r.probe.is_none() && r.sampled) {
            return self.rearm_rto(p, now);
        }
        let is_retransmission = match self.next_new(p) {
            Some((len, fin)) => {
                // beyond the window, but not ahead of the clock
                if self.allowance(now) == 0 {
                    self.wait_turn();
                    return self.rearm_rto(p, now);
                }
                self.send_new(cx, len, fin, Flags::default());
                false
            }
            None => {
                let Some(piece) = self.board.last_hole() else { return self.rearm_rto(p, now) };
                self.retransmit(cx, piece, true);
                true
            }
        };
        let probe = Probe { end: self.next, is_retransmission };
        if let Some(rack) = self.detection.rack() {
            (rack.probe, rack.sampled) = (Some(probe), false);
            rack.probes += 1;
        }
        self.start_rto(p, now);
    }
}
