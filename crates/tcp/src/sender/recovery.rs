//! What the sender does about losses, marks and timeouts: the states of [`Sender`], and the way from one to the other.
//!
//! Source: RFC 5681 §3.1 and §3.2, RFC 6582 §3.2, RFC 6675 §5, RFC 3168 §6.1.2, RFC 6298 §5.

use super::{Cx, Sender};
use crate::cc::control::{AckSample, Answers, Congestion};
use crate::detection::Detection;
use crate::feedback::EcnUse;
use crate::params::{Recovery, TcpParams};
use crate::reduction::Shrink;
use crate::segment::{Io, micros};
use crate::stats::State;

/// What the end of a timeout's repair may add to what is in flight, segments: `tcp_max_burst` of Linux 2.6.
const MAX_BURST: u64 = 3;

impl Sender {
    /// The state machine, and the growth of the window.
    #[inline]
    pub(super) fn advance<I: Io>(&mut self, cx: &mut Cx<'_, I>, sample: &mut AckSample, acked: u64, delivered: u64) {
        let p = cx.p;
        // RFC 9937's SafeACK
        let safe = acked > 0 && sample.lost == 0;
        sample.rests = match self.state {
            State::Open if sample.marked && self.mark_reduces_at_once(p) => {
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
                !p.quirks.reduction_end_grows || sample.marked && self.mark_reduces_at_once(p)
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
            _ => true,
        };
        if !self.cc.owns_window() {
            let d = self.cc.on_ack(self.window, sample);
            if !sample.rests {
                self.follow(&d);
            }
        }
        if self.state == State::Loss && acked > 0 && self.una >= self.recover {
            self.end_loss(p);
        }
        if self.loss_found(p) {
            self.enter_recovery(cx, delivered);
        } else {
            self.shrink_by(p, delivered, safe);
        }
    }

    /// A reduction under way takes in that so much was delivered.
    #[inline]
    fn shrink_by(&mut self, p: &TcpParams, delivered: u64, safe: bool) {
        if self.shrinks() {
            let pipe = self.in_flight();
            self.shrink.on_ack(p, &mut self.window, delivered, pipe, safe);
        }
    }

    /// A loss that no recovery has answered: duplicate ACKs, the scoreboard or RACK's clock say so.
    #[inline]
    fn loss_found(&self, p: &TcpParams) -> bool {
        let open = matches!(self.state, State::Open | State::Cwr);
        match &self.detection {
            Detection::Rack(rack) => self.state != State::Recovery && rack.has_lost(!open),
            // after a timeout, too: every segment found lost by SACK begins a recovery
            Detection::Fack(fack) => fack.found && self.state != State::Recovery,
            Detection::Dupack if !open => false,
            Detection::Dupack if p.detection.recovery == Recovery::Sack => {
                self.next > self.una && (self.board.head_lost() || self.dupacks >= u32::from(p.detection.dupthresh))
            }
            // RFC 6582 §3.2 step 2: duplicates of what an earlier recovery or timeout resent are no sign of loss
            Detection::Dupack => {
                self.dupacks >= u32::from(p.detection.dupthresh)
                    && (self.una > self.recover || self.state == State::Cwr)
            }
        }
    }

    /// A duplicate ACK says that so many bytes more have left the network.
    fn add_duplicate(&mut self, bytes: u64) {
        self.board.dup_bytes = self.board.dup_bytes.saturating_add(bytes.min(u32::MAX.into()) as u32);
    }

    fn reduction_base(&self, p: &TcpParams) -> f64 {
        let cwnd = self.window.cwnd.min(f64::from(p.window.window_clamp.unwrap_or(u32::MAX)));
        if p.reduction.reduce_from_flight {
            // without what limited transmit added (RFC 3042 §2), hence not above the window
            cwnd.min((self.next - self.una) as f64 / f64::from(p.wire.mss))
        } else if p.quirks.whole_segments {
            cwnd.floor()
        } else {
            cwnd
        }
    }

    /// A congestion event sets ssthresh, or the window; true if the sender brings the window down.
    fn congested(&mut self, p: &TcpParams, kind: Congestion, base: f64) -> bool {
        let d = self.cc.on_congestion(self.window, kind, base);
        self.follow(&d);
        if p.quirks.whole_segments && d.reduction {
            self.window.ssthresh = self.window.ssthresh.floor();
        }
        d.reduction
    }

    pub(super) fn reduce(&mut self, p: &TcpParams, kind: Congestion) {
        let base = self.reduction_base(p);
        self.shrink = Shrink::default();
        if self.congested(p, kind, base) {
            self.shrink.begin(p, &mut self.window, base);
        }
        self.recover = self.next;
        self.forget_probe();
    }

    pub(super) fn enter_recovery<I: Io>(&mut self, cx: &mut Cx<'_, I>, delivered: u64) {
        let p = cx.p;
        self.begin_episode(p, self.state != State::Cwr);
        if self.state == State::Cwr {
            self.recover = self.next;
        } else {
            self.reduce(p, Congestion::Loss);
        }
        self.state = State::Recovery;
        self.partial_seen = false;
        self.rescue_rxt = (self.una as u32).wrapping_sub(1);
        cx.stats.fast_recoveries += 1;
        if p.detection.recovery != Recovery::Sack {
            self.board.dup_bytes = self.dupacks.saturating_mul(p.wire.mss);
        }
        match self.detection {
            // what is lost is known, and the window held lets it out
            Detection::Fack(_) => return self.shrink_by(p, delivered, false),
            Detection::Dupack => drop(self.board.mark_head_lost()),
            Detection::Rack(_) => {}
        }
        self.shrink_by(p, delivered, false);
        // The first retransmission does not ask the window (RFC 5681 §3.2 step 3, RFC 6675 §5 step 4.3).
        if let Some(piece) = self.board.next_lost() {
            // RescueRxt: what has just been sent again has not had time to arrive (RFC 6675 §5 step 4.3)
            self.rescue_rxt = piece.end() as u32;
            self.retransmit(cx, piece, false);
        }
    }

    /// New data is acknowledged, but not all that was outstanding when recovery began.
    fn on_partial_ack<I: Io>(&mut self, cx: &mut Cx<'_, I>, acked: u64) {
        let p = cx.p;
        match p.detection.recovery {
            Recovery::Sack => {}
            Recovery::Reno => self.end_reduction(p),
            Recovery::Newreno => {
                // RFC 6582 §3.2: deflate by what was acknowledged, give one segment back, resend the next hole
                let left = u64::from(self.board.dup_bytes) + u64::from(p.wire.mss);
                self.board.dup_bytes = left.saturating_sub(acked).min(u32::MAX.into()) as u32;
                self.board.mark_head_lost();
                if let Some(piece) = self.board.next_lost() {
                    self.retransmit(cx, piece, false);
                }
            }
        }
    }

    pub(super) fn end_reduction(&mut self, p: &TcpParams) {
        if self.shrink.is_begun() {
            self.shrink.end(p, &mut self.window);
        }
        self.state = State::Open;
        self.dupacks = 0;
        self.board.dup_bytes = 0;
        self.detection.end_repair(&mut self.board);
    }

    /// All that was outstanding at the timeout is acknowledged. ns-2's Agent/TCP/Linux does not wait for slow start to reach
    /// ssthresh: it takes the window there, but not above in flight + 3 segments.
    fn end_loss(&mut self, p: &TcpParams) {
        self.state = State::Open;
        if self.detection.end_repair(&mut self.board) {
            let w = &mut self.window;
            let most = (self.board.pipe() / u64::from(p.wire.mss) + MAX_BURST) as f64;
            w.cwnd = w.cwnd.max(w.ssthresh.min(most));
        }
    }

    /// ECN echo: one reduction per window, unless the controller answers by itself.   Source: RFC 3168 §6.1.2.
    #[inline]
    pub(super) fn on_ece<I: Io>(&mut self, cx: &mut Cx<'_, I>, sample: &AckSample) {
        let p = cx.p;
        if !sample.marked || self.state != State::Open || self.una <= self.recover {
            return;
        }
        match p.control.ecn().answers {
            Answers::Sender => {}
            Answers::Controller => {
                self.recover = self.next;
                self.cwr_due = cx.rx.ecn == EcnUse::Classic;
                return;
            }
            Answers::Nobody => return,
        }
        self.reduce(p, Congestion::Ecn);
        self.state = State::Cwr;
        self.cwr_due = cx.rx.ecn == EcnUse::Classic;
        cx.stats.ecn_reductions += 1;
        if self.una >= self.recover {
            // nothing outstanding: no ACK will come to shrink by
            self.end_reduction(p);
            self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
        } else if p.quirks.marking_ack_reduces {
            self.shrink_by(p, sample.delivered, sample.acked > 0.0 && sample.lost == 0);
        }
    }

    /// Whether an ACK that tells of a mark, and finds or leaves the window open, counts for the reduction that it begins.
    #[cold]
    fn mark_reduces_at_once(&self, p: &TcpParams) -> bool {
        p.quirks.marking_ack_reduces && self.una > self.recover && p.control.ecn().answers == Answers::Sender
    }

    /// The retransmission timer expired with data outstanding.
    pub(crate) fn on_rto<I: Io>(&mut self, cx: &mut Cx<'_, I>) {
        let (p, now) = (cx.p, cx.now);
        cx.stats.timeouts += 1;
        // RFC 5681 §3.1: the same data timing out again, or a recovery that has already paid, does not pay again
        let paid = !p.quirks.every_timeout_reduces
            && (self.timeouts > 0 || self.state == State::Recovery && !p.reduction.reduce_from_flight);
        let base = (!paid).then(|| self.reduction_base(p));
        let first = self.timeouts > 0 || matches!(self.state, State::Open | State::Cwr);
        if !paid {
            self.begin_episode(p, true);
        }
        if let Some(base) = base {
            self.congested(p, Congestion::Loss, base);
        }
        self.cc.on_rto(self.window);
        self.window.cwnd = 1.0;
        self.timeouts = self.timeouts.saturating_add(1);
        self.rtt.back_off(p, self.next);
        // RFC 2018 §8: a receiver that holds the head without acknowledging it has thrown it away, and perhaps the rest
        let keep_sack = p.detection.keep_sack_after_rto && !self.board.head_sacked();
        self.detection.time_out(&mut self.board, micros(now), keep_sack);
        self.report_losses(now);
        // what is not overdue is still in flight, and does not take the place of the one segment
        self.window.cwnd += (self.board.pipe() / u64::from(p.wire.mss)) as f64;
        self.state = State::Loss;
        self.recover = self.next;
        self.begin_frto(p, first);
        self.dupacks = 0;
        self.board.dup_bytes = 0;
        self.forget_probe();
        self.start_rto(p, now);
        self.output(cx);
    }
}
