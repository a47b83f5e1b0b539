//! The response to losses, marks and timeouts: the states of [`Sender`] and their transitions.
//!
//! Source: RFC 5681 §3.1 and §3.2, RFC 6582 §3.2, RFC 6675 §5, RFC 3168 §6.1.2, RFC 6298 §5.

use super::{Context, Sender};
use crate::cc::control::{AckSample, Congestion, Responder, Turn};
use crate::feedback::EcnUse;
use crate::params::{Recovery, TcpParams};
use crate::reduction::ReductionState;
use crate::segment::{Io, micros};
use crate::stats::State;
use units::Time;

/// When the repair after a timeout ends in ns-2's Agent/TCP/Linux, the window is raised to at most the data in flight
/// plus this number of segments. This is `tcp_max_burst` of Linux 2.6.
const MAX_BURST: u64 = 3;

impl Sender {
    /// Advances the state machine for an ACK. Returns true if the window must not grow on this ACK.
    #[inline(always)]
    pub(super) fn advance<I: Io>(&mut self, cx: &mut Context<'_, I>, marked: bool, acked: u64, delivered: u64) -> bool {
        let p = cx.p;
        match self.state {
            State::Open if marked && self.mark_reduces_at_once(p) => {
                self.dupacks = if acked > 0 { 0 } else { self.dupacks };
                true
            }
            State::Cwr if p.quirks.marking_ack_reduces && self.una == self.recover => {
                self.dupacks = 0;
                true
            }
            State::Open | State::Loss if acked > 0 => {
                self.dupacks = 0;
                false
            }
            State::Recovery | State::Cwr if self.una >= self.recover => {
                self.end_reduction(p);
                !p.quirks.reduction_end_grows || marked && self.mark_reduces_at_once(p)
            }
            State::Recovery if acked > 0 => {
                self.on_partial_ack(cx, acked);
                true
            }
            State::Recovery if p.detection.recovery != Recovery::Sack => {
                self.add_duplicate(delivered);
                true
            }
            State::Cwr if acked > 0 => {
                self.dupacks = 0;
                true
            }
            State::Open | State::Loss => delivered == 0 || !self.detection.reorders(p),
            _ => true,
        }
    }

    /// Responds to the losses found by an ACK: ends the repair after a timeout if it is complete, and then begins a
    /// recovery or continues the current reduction. `lost` is the number of bytes newly marked lost.
    #[inline(always)]
    pub(super) fn repair<I: Io>(&mut self, cx: &mut Context<'_, I>, lost: u64, acked: u64, delivered: u64) {
        let p = cx.p;
        if self.state == State::Loss && acked > 0 && self.una >= self.recover {
            self.end_loss(p);
        }
        let fresh = self.una > self.recover || self.state == State::Cwr;
        if self.detection.has_new_loss(&self.board, p, self.state, self.dupacks, fresh) {
            self.enter_recovery(cx, delivered);
        } else {
            self.reduce_by_ack(p, delivered, acked > 0 && lost == 0);
        }
    }

    /// Returns true in a recovery or an ECN response, if the sender itself reduces the window by its reduction
    /// algorithm.
    #[inline]
    pub(super) fn is_reducing(&self) -> bool {
        matches!(self.state, State::Recovery | State::Cwr) && self.reduction.is_begun()
    }

    /// Applies an ACK that delivers `delivered` bytes to the current reduction. `safe` is RFC 9937's SafeACK.
    #[inline]
    fn reduce_by_ack(&mut self, p: &TcpParams, delivered: u64, safe: bool) {
        if self.is_reducing() {
            let pipe = self.in_flight();
            self.reduction.on_ack(p, &mut self.window, delivered, pipe, safe);
        }
    }

    /// Processes a duplicate ACK in fast recovery without SACK. The ACK shows that `bytes` more bytes have left the
    /// network.
    fn add_duplicate(&mut self, bytes: u64) {
        self.board.dup_bytes = self.board.dup_bytes.saturating_add(bytes.min(u32::MAX.into()) as u32);
    }

    fn reduction_base(&self, p: &TcpParams) -> f64 {
        let cwnd = self.window.cwnd.min(f64::from(p.window.window_clamp.unwrap_or(u32::MAX)));
        if p.reduction.reduce_from_flight {
            // FlightSize is capped at the window, because it must not include the segments sent by limited transmit
            // (RFC 5681 §3.2 step 2)
            cwnd.min((self.next - self.una) as f64 / f64::from(p.wire.mss))
        } else if p.quirks.whole_segments {
            cwnd.floor()
        } else {
            cwnd
        }
    }

    /// Reports a congestion event to the controller, which sets ssthresh or the window. Returns true if the sender must
    /// reduce the window to ssthresh.
    fn congested(&mut self, p: &TcpParams, now: Time, kind: Congestion, base: f64) -> bool {
        self.cc.at(now);
        let d = self.cc.on_congestion(self.window, kind, base);
        self.follow(&d);
        if p.quirks.whole_segments && d.reduction {
            self.window.ssthresh = self.window.ssthresh.floor();
        }
        d.reduction
    }

    /// Reports a congestion event to the controller, and begins a reduction if the sender must reduce the window.
    /// Returns true if a reduction has begun.
    pub(super) fn reduce(&mut self, p: &TcpParams, now: Time, kind: Congestion) -> bool {
        let base = self.reduction_base(p);
        self.reduction = ReductionState::default();
        let reduces = self.congested(p, now, kind, base);
        if reduces {
            self.reduction.begin(p, &mut self.window, base);
        }
        self.detection.forget_probe();
        reduces
    }

    pub(super) fn enter_recovery<I: Io>(&mut self, cx: &mut Context<'_, I>, delivered: u64) {
        let p = cx.p;
        self.begin_episode(p, self.state != State::Cwr);
        if self.state != State::Cwr {
            self.reduce(p, cx.now, Congestion::Loss);
        }
        self.recover = self.next;
        self.state = State::Recovery;
        self.partial_seen = false;
        self.rescue_rxt = (self.una as u32).wrapping_sub(1);
        cx.stats.fast_recoveries += 1;
        if p.detection.recovery != Recovery::Sack {
            self.board.dup_bytes = self.dupacks.saturating_mul(p.wire.mss);
        }
        let at_once = self.detection.enter_recovery(&mut self.board);
        self.reduce_by_ack(p, delivered, false);
        if at_once && let Some(piece) = self.board.next_lost() {
            // RFC 6675 §5 step 4.3: RescueRxt is the end of the segment that is resent here, so that no rescue
            // retransmission is sent before this segment has arrived
            self.rescue_rxt = piece.end() as u32;
            // a controller with `Turn::Repair` sets its window only after this step. So if its flow is paced, the
            // segment is resent later, when the window and the pacer allow it, as in Linux
            if self.turn == Turn::Growth || self.pacing_rate().is_none() {
                self.retransmit(cx, piece, false);
            }
        }
    }

    /// Processes a partial ACK, which acknowledges new data, but not all data that was outstanding when the recovery
    /// began.
    fn on_partial_ack<I: Io>(&mut self, cx: &mut Context<'_, I>, acked: u64) {
        let p = cx.p;
        match p.detection.recovery {
            Recovery::Sack => {}
            Recovery::Reno => self.end_reduction(p),
            Recovery::Newreno => {
                // RFC 6582 §3.2: a partial ACK deflates the window by the data that it acknowledges, adds back one
                // segment if it acknowledges at least one, and triggers a retransmission of the next hole
                let mss = u64::from(p.wire.mss);
                let left = u64::from(self.board.dup_bytes) + if acked < mss { 0 } else { mss };
                self.board.dup_bytes = left.saturating_sub(acked).min(u32::MAX.into()) as u32;
                self.board.mark_head_lost();
                if let Some(piece) = self.board.next_lost() {
                    self.retransmit(cx, piece, false);
                }
            }
        }
    }

    pub(super) fn end_reduction(&mut self, p: &TcpParams) {
        if self.reduction.is_begun() {
            self.reduction.end(p, &mut self.window);
        }
        self.state = State::Open;
        self.dupacks = 0;
        self.board.dup_bytes = 0;
        self.detection.end_repair(&mut self.board);
    }

    /// Ends the repair after a timeout, once all data outstanding at the timeout is acknowledged. ns-2's
    /// Agent/TCP/Linux then raises the window at once to ssthresh, but to no more than the data in flight plus
    /// [`MAX_BURST`] segments. The other stacks let the window grow to ssthresh in slow start.
    fn end_loss(&mut self, p: &TcpParams) {
        self.state = State::Open;
        if self.detection.end_repair(&mut self.board) {
            let w = &mut self.window;
            let most = (self.board.pipe / u64::from(p.wire.mss) + MAX_BURST) as f64;
            w.cwnd = w.cwnd.max(w.ssthresh.min(most));
        }
    }

    /// Responds to an ECN echo in the state Open, at most once per window, as the controller's [`Responder`] says:
    /// reduces the window and sends CWR, only sends CWR, or does nothing. With AccECN, there is no CWR.
    /// Source: RFC 3168 §6.1.2.
    #[inline(always)]
    pub(super) fn on_ece<I: Io>(&mut self, cx: &mut Context<'_, I>, sample: &AckSample) {
        if sample.marked && self.state == State::Open && self.una > self.recover {
            self.respond_to_ece(cx, sample);
        }
    }

    /// Begins the response to an ECN echo.
    #[inline(never)]
    fn respond_to_ece<I: Io>(&mut self, cx: &mut Context<'_, I>, sample: &AckSample) {
        let (p, responder) = (cx.p, cx.p.control.ecn().responder);
        if responder == Responder::None {
            return;
        }
        self.recover = self.next;
        self.cwr_due = cx.rx.ecn == EcnUse::Classic;
        if responder == Responder::Controller {
            return;
        }
        self.reduce(p, cx.now, Congestion::Ecn);
        self.state = State::Cwr;
        cx.stats.ecn_reductions += 1;
        if self.una >= self.recover {
            // nothing is outstanding, so no later ACK would complete the reduction
            self.end_reduction(p);
            self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
        } else if p.quirks.marking_ack_reduces {
            self.reduce_by_ack(p, sample.delivered, sample.acked > 0.0 && sample.lost == 0);
        }
    }

    /// Returns true if a mark reported now begins a reduction that includes the reporting ACK. That ACK must not grow
    /// the window.
    #[cold]
    fn mark_reduces_at_once(&self, p: &TcpParams) -> bool {
        p.quirks.marking_ack_reduces && self.una > self.recover && p.control.ecn().responder == Responder::Sender
    }

    /// Responds to the expiry of the retransmission timer while data is outstanding.
    pub(crate) fn on_rto<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        let (p, now) = (cx.p, cx.now);
        cx.stats.timeouts += 1;
        // RFC 5681 §3.1: there is no second reduction if the same data times out again. Nor is there one if a recovery
        // or an ECN echo has already reduced the window while this data was outstanding, except with
        // `reduce_from_flight`. In ns-2, every timeout reduces the window
        let reducing = self.state == State::Recovery || self.state == State::Cwr && self.una < self.recover;
        let reduced_already =
            !p.quirks.every_timeout_reduces && (self.timeouts > 0 || reducing && !p.reduction.reduce_from_flight);
        let base = (!reduced_already).then(|| self.reduction_base(p));
        let first = self.timeouts > 0 || !self.state.repairs();
        if !reduced_already {
            self.begin_episode(p, true);
        } else if self.state == State::Cwr {
            // an ECN echo has already reduced the window, and that reduction cannot be undone. Any stored undo state
            // belongs to an earlier reduction, which has ended
            self.forget_episode();
        }
        if let Some(base) = base {
            self.congested(p, now, Congestion::Loss, base);
        }
        self.cc.at(now);
        self.cc.on_rto(self.window);
        self.timeouts = self.timeouts.saturating_add(1);
        self.rtt.back_off(p, self.next);
        // RFC 2018 §8: a receiver that SACKed the first segment but does not acknowledge it has discarded the segment, and
        // perhaps others
        let keep_sack = p.detection.keep_sack_after_rto && !self.board.head_sacked();
        if self.state == State::Open {
            self.detection.forget_reordering(p.detection.dupthresh);
        }
        self.detection.time_out(&mut self.board, micros(now), keep_sack);
        // the controller still sees the window before the timeout, as in Linux
        self.report_losses(now);
        // segments that were not marked as lost, because they are not overdue yet, are still in flight. So the window
        // is one segment plus the segments still in flight
        self.window.cwnd = 1.0 + (self.board.pipe / u64::from(p.wire.mss)) as f64;
        self.state = State::Loss;
        self.recover = self.next;
        self.begin_frto(p, first);
        self.dupacks = 0;
        self.board.dup_bytes = 0;
        self.detection.forget_probe();
        self.start_rto(p, now);
        self.output(cx);
    }
}
