//! RACK-TLP in the sender: a timer with three purposes, and the tail loss probe.
//!
//! ```text
//! PTO = 2 SRTT + 2 ms,  or 2 SRTT + 200 ms if one segment is in flight (its ACK may be delayed);  at most the RTO
//! the PTO timer starts when new data is sent or acknowledged, unless a repair is in progress or data is SACKed or lost
//!   PTO expires -------> the probe: new data if there is any, otherwise the last segment again;  then the RTO starts
//!   an ACK above TLP.end_seq shows that a retransmitted probe has repaired a loss -> the window is reduced
//! if segments remain within the reordering window after an ACK, the timer waits for the end of that window
//! ```
//!
//! Source: RFC 8985 §6.2 to §8. Three rules follow Linux. The extra 2 ms keep a probe from leaving just when the last
//! ACK of a flight is due. After a probe or a reordering window, the RTO counts from the latest transmission of the
//! first outstanding segment (with `min_rto_bounds = "variation"`). If a retransmission is lost after a timeout, a fast
//! recovery begins.
//!
//! Without D-SACK, a pure duplicate ACK shows that the probe was not necessary. If the duplicate ACK is lost, the window is reduced
//! although no segment was lost.

use super::{Context, Sender};
use crate::cc::control::Congestion;
use crate::detection::rack::Probe;
use crate::params::{MinRto, TcpParams};
use crate::segment::{Io, micros};
use crate::stats::State;
use crate::timer::Timer;
use packet::Flags;
use units::{Duration, Time};

/// Maximum time for which the receiver may delay an ACK.   Source: RFC 8985 §7.2; Linux's minimum RTO.
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);
/// Time added to a PTO if more than one segment is in flight, and to every reordering window.   Source: Linux
/// TCP_TIMEOUT_MIN.
const LEAST_WAIT: Duration = Duration::from_millis(2);
/// PTO before the first RTT sample.   Source: RFC 8985 §7.2.
const FIRST_PTO: Duration = Duration::from_secs(1);

impl Sender {
    /// Returns true if the timer waits for a probe or a reordering window, not for a timeout.
    #[inline]
    pub(crate) fn timer_is_rack(&self) -> bool {
        self.timer != Timer::Rto
    }

    /// Marks segments as lost. Called after an ACK's cumulative part and SACK blocks have been applied to the
    /// scoreboard. Returns true if the timer now waits for a reordering window.
    #[inline(always)]
    pub(super) fn detect(&mut self, p: &TcpParams, now: Time, acked: u64) -> bool {
        let wait = self.detection.detect(&mut self.board, p, acked, self.state, self.rtt.srtt);
        wait.is_some_and(|us| self.await_reordering(p, now, us))
    }

    /// Sets the timer for the end of the reordering window, `us` microseconds from now, plus [`LEAST_WAIT`], but for no
    /// longer than an RTO. When the timer expires, more segments may be declared lost. Always returns true.
    fn await_reordering(&mut self, p: &TcpParams, now: Time, us: u32) -> bool {
        let wait = Duration::from_micros(u64::from(us)) + LEAST_WAIT;
        self.set_timer(Timer::Reordering, p.rto.expiry(now, wait.min(self.rtt.rto(p, p.rto.max_rto))));
        true
    }

    /// Reduces the window because a tail loss probe has repaired a loss.   Source: RFC 8985 §7.4.2.
    #[cold]
    pub(super) fn reduce_for_probe(&mut self, p: &TcpParams, now: Time) {
        if self.reduce(p, now, Congestion::Loss) {
            self.recover = self.next;
            self.end_reduction(p);
        }
    }

    fn set_timer(&mut self, timer: Timer, at: Time) {
        (self.timer, self.rto_at) = (timer, at);
    }

    /// Returns the remaining time of the current RTO. The RTO began at the last ACK of new data (RFC 6298 §5.3), or
    /// when [`Sender::start_rto`] was last called, whichever is later. In stacks with `min_rto_bounds = "variation"`,
    /// it began instead at the latest transmission of the first outstanding segment (Linux).
    fn rto_left(&self, p: &TcpParams, now: Time) -> Duration {
        let began = match p.rto.min_rto_bounds {
            MinRto::Total => self.detection.rto_began(),
            MinRto::Variation => None,
        };
        let began = began.unwrap_or_else(|| self.board.outstanding().1);
        let since = micros(now).wrapping_sub(began);
        let left = self.rtt.rto(p, p.rto.max_rto).saturating_sub(Duration::from_micros(u64::from(since)));
        left.max(Duration::from_micros(1))
    }

    /// Arms the timer for a timeout: a full RTO, or the rest of the current RTO if the timer was set for a probe or a reordering
    /// window.
    #[inline(always)]
    pub(super) fn rearm_rto(&mut self, p: &TcpParams, now: Time) {
        let wait = if self.timer_is_rack() { self.rto_left(p, now) } else { self.rtt.rto(p, p.rto.max_rto) };
        self.set_timer(Timer::Rto, p.rto.expiry(now, wait));
    }

    /// Arms the timer for a full RTO.
    pub(super) fn start_rto(&mut self, p: &TcpParams, now: Time) {
        self.detection.begin_rto(micros(now));
        self.set_timer(Timer::Rto, p.rto.expiry(now, self.rtt.rto(p, p.rto.max_rto)));
    }

    /// Restarts the RTO after a retransmission of the first segment, if RACK is in use and the timer does not wait for
    /// a reordering window.
    #[inline]
    pub(super) fn on_head_resent(&mut self, p: &TcpParams, now: Time) {
        if self.timer != Timer::Reordering && self.detection.rto_began().is_some() {
            self.start_rto(p, now);
        }
    }

    /// Arms the timer for a tail loss probe, if a probe is allowed. Returns true if the timer is armed. Called when new
    /// data is sent (`acked` is false) or acknowledged (`acked` is true).
    ///
    /// Source: RFC 8985 §7.2.
    #[inline]
    pub(super) fn arm_probe(&mut self, p: &TcpParams, now: Time, acked: bool) -> bool {
        if self.state.repairs() || !self.detection.may_probe() {
            return false;
        }
        let pto = match (self.rtt.srtt, self.board.outstanding().0) {
            (Duration::ZERO, _) => FIRST_PTO,
            (srtt, 1) => srtt * 2 + MAX_ACK_DELAY,
            (srtt, _) => srtt * 2 + LEAST_WAIT,
        };
        let rto = if acked { self.rtt.rto(p, p.rto.max_rto) } else { self.rto_left(p, now) };
        self.set_timer(Timer::Probe, p.rto.expiry(now, pto.min(rto)));
        true
    }

    /// Handles the expiry of the probe or reordering-window timer.
    #[cold]
    pub(crate) fn on_rack_timer<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        let (p, now) = (cx.p, cx.now);
        if self.timer == Timer::Probe {
            return self.send_probe(cx);
        }
        let pipe = self.board.pipe;
        let wait = self.detection.on_timer(&mut self.board, p, micros(now), self.state, self.rtt.srtt);
        let waits = wait.is_some_and(|us| self.await_reordering(p, now, us));
        let lost = pipe - self.board.pipe;
        self.report_losses(now);
        if lost > 0 && self.state != State::Recovery {
            // as in Linux, the recovery begins as if the loss had been reported by an ACK that delivers one segment
            self.enter_recovery(cx, u64::from(p.wire.mss));
        } else if lost > 0 && self.is_reducing() {
            self.reduction.on_timer(p, lost);
        }
        if !waits {
            self.rearm_rto(p, now);
        }
        self.output(cx);
    }

    /// Sends a tail loss probe.   Source: RFC 8985 §7.3.
    fn send_probe<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        let (p, now) = (cx.p, cx.now);
        if !self.detection.probe_due() {
            return self.rearm_rto(p, now);
        }
        let is_retransmission = match self.next_new(p) {
            Some((len, fin)) => {
                // a probe of new data may exceed the congestion window, but not the pacing rate
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
        self.detection.on_probe(Probe { end: self.next, is_retransmission });
        self.start_rto(p, now);
    }
}
