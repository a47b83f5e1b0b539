//! The bounds set by losses: a long-term bound on the data in flight, and short-term bounds on the data in flight and on the
//! rate.
//!
//! ```text
//! probing:      more than 2 % of the flight lost:  inflight_longterm = max(inflight at 2 % lost, 0.7 min(bdp, cwnd))
//! UP, at the bound:  inflight_longterm += 1 segment per max(cwnd / 2^n, 1 segment) acknowledged;  n = 0 at first, +1 per round
//! not probing:  after a round with a loss:  bw_shortterm = max(bw_latest, 0.7 bw_shortterm), inflight_shortterm likewise
//! cap of cwnd:  inflight_longterm (not in Startup), 15 % less in CRUISE and ProbeRTT;  also inflight_shortterm;
//!               at least 4 segments
//! ```
//!
//! Source: draft-ietf-ccwg-bbr-06 §5.3.3.9, §5.5.10 and §5.6.4.7.

use super::model::delivery_rate;
use super::phase::{AckPhase, Undo};
use super::{Bbr3, MIN_PIPE_CWND, Phase};
use crate::cc::control::{AckSample, LostSegment, RateSample};
use units::Time;

/// BBR.LossThresh: the maximum share of lost data that a probe tolerates.
pub(super) const LOSS_THRESH: f64 = 0.02;
/// BBR.Beta: the share of a bound kept after a loss.
const BETA: f64 = 0.7;
/// BBR.Headroom: the share of inflight_longterm that BBR leaves free in CRUISE and ProbeRTT.
const HEADROOM: f64 = 0.15;
/// Maximum number of times that the slope of inflight_longterm is doubled.
const MOST_DOUBLINGS: u32 = 30;

/// IsInflightTooHigh(), for losses: returns true if more than 2 % of the bytes in flight were lost.
pub(super) fn is_inflight_too_high(lost: u64, tx_in_flight: u64) -> bool {
    lost as f64 > tx_in_flight as f64 * LOSS_THRESH
}

/// InflightAtLoss(): estimates the bytes in flight at the point within this segment where the loss rate crossed 2 %.
pub(super) fn inflight_at_loss(s: &LostSegment) -> f64 {
    let inflight_prev = s.tx_in_flight as f64 - s.bytes as f64;
    let lost_prev = s.lost as f64 - s.bytes as f64;
    let lost_prefix = (LOSS_THRESH * inflight_prev - lost_prev) / (1.0 - LOSS_THRESH);
    inflight_prev + lost_prefix
}

impl Bbr3 {
    /// UpdateLatestDeliverySignals(): updates bw_latest and inflight_latest: the maximum delivery rate in this loss round,
    /// and the maximum volume of one sample. Sets `loss_round_start` if this ACK starts a loss round.
    pub(super) fn update_latest_delivery_signals(&mut self, s: &AckSample, rs: &RateSample) {
        self.bounds.bw_latest = self.bounds.bw_latest.max(delivery_rate(rs));
        self.bounds.inflight_latest = self.bounds.inflight_latest.max(rs.bytes as f64);
        self.bounds.loss_round_start = rs.prior_delivered >= self.bounds.loss_round_delivered;
        if self.bounds.loss_round_start {
            self.bounds.loss_round_delivered = s.total_delivered;
        }
    }

    /// AdvanceLatestDeliverySignals(): at the start of a loss round, restarts the maxima bw_latest and inflight_latest
    /// with the values of this ACK.
    pub(super) fn advance_latest_delivery_signals(&mut self, rs: &RateSample) {
        if self.bounds.loss_round_start {
            (self.bounds.bw_latest, self.bounds.inflight_latest) = (delivery_rate(rs), rs.bytes as f64);
            self.bounds.lost_ranges = 0;
        }
    }

    /// ResetCongestionSignals(): clears `is_loss_in_round`, and sets bw_latest and inflight_latest to 0.
    pub(super) fn reset_congestion_signals(&mut self) {
        self.bounds.is_loss_in_round = false;
        (self.bounds.bw_latest, self.bounds.inflight_latest) = (0.0, 0.0);
    }

    /// UpdateCongestionSignals(): updates max_bw. Unless BBR is probing, lowers the short-term bounds after a round with
    /// losses or marks.
    pub(super) fn update_congestion_signals(&mut self, cwnd: f64, rs: &RateSample) {
        self.update_max_bw(rs);
        if self.path.round_start && self.bounds.marks.in_round() && !self.is_probing_bw() {
            self.init_inflight_shortterm(cwnd);
            self.bounds.inflight_shortterm *= self.bounds.marks.cut();
        }
        if !self.bounds.loss_round_start {
            return;
        }
        self.adapt_lower_bounds_from_congestion(cwnd);
        self.bounds.is_loss_in_round = false;
    }

    /// AdaptLowerBoundsFromCongestion(): lowers the short-term bounds after a round with a loss, unless BBR is probing.
    fn adapt_lower_bounds_from_congestion(&mut self, cwnd: f64) {
        if self.is_probing_bw() || !self.bounds.is_loss_in_round {
            return;
        }
        self.init_lower_bounds(cwnd);
        self.bounds.bw_shortterm = self.bounds.bw_latest.max(BETA * self.bounds.bw_shortterm);
        self.bounds.inflight_shortterm = self.bounds.inflight_latest.max(BETA * self.bounds.inflight_shortterm);
    }

    /// InitLowerBounds(): gives each short-term bound that is still infinite a finite value: max_bw for the rate, and
    /// the window for the data in flight.
    fn init_lower_bounds(&mut self, cwnd: f64) {
        if self.bounds.bw_shortterm.is_infinite() {
            self.bounds.bw_shortterm = self.max_bw();
        }
        self.init_inflight_shortterm(cwnd);
    }

    fn init_inflight_shortterm(&mut self, cwnd: f64) {
        if self.bounds.inflight_shortterm.is_infinite() {
            self.bounds.inflight_shortterm = cwnd;
        }
    }

    /// ResetShortTermModel(): removes the short-term bounds.
    pub(super) fn reset_short_term_model(&mut self) {
        (self.bounds.bw_shortterm, self.bounds.inflight_shortterm) = (f64::INFINITY, f64::INFINITY);
    }

    /// BoundBWForModel(): sets bw to the smaller of max_bw and bw_shortterm.
    pub(super) fn bound_bw_for_model(&mut self) {
        self.path.bw = self.max_bw().min(self.bounds.bw_shortterm);
    }

    /// NoteLoss(): records a loss (in the draft's form, also a mark) in this round. The first in a round saves the state for
    /// an undo.
    pub(super) fn note_loss(&mut self, cwnd: f64) {
        if !self.bounds.is_loss_in_round {
            self.bounds.loss_round_delivered = self.delivered;
            self.save_state_upon_loss(cwnd);
        }
        self.bounds.is_loss_in_round = true;
    }

    /// HandleLostPacket(): processes a lost segment. Calls HandleInflightTooHigh() if a probe has lost more than 2 % of the
    /// data in flight.
    pub(super) fn handle_lost_packet(&mut self, cwnd: f64, now: Time, s: &LostSegment) {
        self.note_loss(cwnd);
        self.bounds.lost_ranges += u32::from(!s.adjoins);
        if self.bounds.is_bw_probe_sample && is_inflight_too_high(s.lost, s.tx_in_flight) {
            self.handle_inflight_too_high(cwnd, now, inflight_at_loss(s), s.app_limited);
        }
    }

    /// HandleInflightTooHigh(): sets inflight_longterm, unless the application limited the rate. Ends
    /// ProbeBW_UP, unless it has already ended. Called at most once per probe.
    pub(super) fn handle_inflight_too_high(&mut self, cwnd: f64, now: Time, inflight: f64, app_limited: bool) {
        self.bounds.prev_probe_too_high = true;
        self.bounds.is_bw_probe_sample = false;
        if !app_limited {
            self.bounds.inflight_longterm = inflight.max(BETA * self.target_inflight(cwnd));
        }
        if self.phase == Phase::ProbeBwUp {
            self.bounds.undo.phase = Some(Phase::ProbeBwUp);
            self.start_probe_bw_down(now);
        }
    }

    /// SaveStateUponLoss(): saves the window and the bounds, in case the loss proves spurious.
    fn save_state_upon_loss(&mut self, cwnd: f64) {
        self.save_cwnd(cwnd);
        self.bounds.undo = Undo {
            phase: None,
            bw_shortterm: self.bounds.bw_shortterm,
            inflight_shortterm: self.bounds.inflight_shortterm,
            inflight_longterm: self.bounds.inflight_longterm,
        };
    }

    /// HandleSpuriousLossDetection(): restores the bounds. If the loss ended Startup, returns to Startup; if it ended a
    /// probe, begins a new one with REFILL. ProbeRTT continues. The caller restores the window.
    pub(super) fn handle_spurious_loss_detection(&mut self) {
        self.bounds.is_loss_in_round = false;
        self.reset_full_bw();
        self.bounds.bw_shortterm = self.bounds.bw_shortterm.max(self.bounds.undo.bw_shortterm);
        self.bounds.inflight_shortterm = self.bounds.inflight_shortterm.max(self.bounds.undo.inflight_shortterm);
        self.bounds.inflight_longterm = self.bounds.inflight_longterm.max(self.bounds.undo.inflight_longterm);
        match self.bounds.undo.phase.take() {
            Some(Phase::Startup) if self.phase != Phase::Startup => {
                self.path.full_bw_reached = false;
                if !self.is_in_probe_rtt() {
                    self.phase = Phase::Startup;
                }
            }
            Some(Phase::ProbeBwUp) if self.phase != Phase::ProbeBwUp && !self.is_in_probe_rtt() => {
                self.start_probe_bw_refill();
            }
            _ => {}
        }
    }

    /// InflightWithHeadroom(): returns inflight_longterm less the headroom.
    pub(super) fn inflight_with_headroom(&self) -> f64 {
        if self.bounds.inflight_longterm.is_infinite() {
            return f64::INFINITY;
        }
        let headroom = (HEADROOM * self.bounds.inflight_longterm).max(self.mss);
        (self.bounds.inflight_longterm - headroom).max(MIN_PIPE_CWND * self.mss)
    }

    /// RaiseInflightLongtermSlope(): sets the number of segments by which inflight_longterm grows per round: 1 at the
    /// first call in a probe, and twice as many at each further call.
    pub(super) fn raise_inflight_longterm_slope(&mut self, cwnd: f64) {
        let growth_this_round = f64::from(1u32 << self.bounds.bw_probe_up_rounds);
        self.bounds.bw_probe_up_rounds = (self.bounds.bw_probe_up_rounds + 1).min(MOST_DOUBLINGS);
        self.bounds.probe_up_acked_per_inc = (cwnd / growth_this_round).max(self.mss);
    }

    /// ProbeInflightLongtermUpward(): raises inflight_longterm as data is acknowledged, but only if the sender has
    /// filled the window in this round trip and the window has reached inflight_longterm.
    fn probe_inflight_longterm_upward(&mut self, cwnd: f64, s: &AckSample) {
        if !s.window_filled || cwnd < self.bounds.inflight_longterm {
            return;
        }
        self.bounds.bw_probe_up_acked += s.delivered as f64;
        let delta = (self.bounds.bw_probe_up_acked / self.bounds.probe_up_acked_per_inc).floor();
        if delta >= 1.0 {
            self.bounds.bw_probe_up_acked -= delta * self.bounds.probe_up_acked_per_inc;
            self.bounds.inflight_longterm += delta * self.mss;
        }
        if self.path.round_start {
            self.raise_inflight_longterm_slope(cwnd);
        }
    }

    /// AdaptLongTermModel(): updates inflight_longterm and `ack_phase`. Returns true if this has started ProbeBW_REFILL
    /// or ended a probe.
    pub(super) fn adapt_long_term_model(&mut self, cwnd: f64, s: &AckSample, rs: &RateSample) -> bool {
        if self.cycle.ack_phase == AckPhase::ProbeStarting && self.path.round_start {
            self.cycle.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.cycle.ack_phase == AckPhase::ProbeStopping && self.path.round_start {
            self.bounds.is_bw_probe_sample = false;
            self.cycle.ack_phase = AckPhase::Init;
            let in_probe_bw = self.is_in_a_probe_bw_state();
            if in_probe_bw && !rs.app_limited {
                self.advance_max_bw_filter();
            }
            if in_probe_bw && self.bounds.prev_probe_precautionary && !self.bounds.prev_probe_too_high {
                self.start_probe_bw_refill();
                return true;
            }
        }
        let marked = self.bounds.marks.too_high();
        if marked && self.bounds.is_bw_probe_sample {
            self.handle_inflight_too_high(cwnd, s.now, rs.tx_in_flight as f64, rs.app_limited);
            return true;
        }
        if marked || is_inflight_too_high(rs.lost, rs.tx_in_flight) || self.bounds.inflight_longterm.is_infinite() {
            return false;
        }
        self.bounds.inflight_longterm = self.bounds.inflight_longterm.max(rs.tx_in_flight as f64);
        if self.phase == Phase::ProbeBwUp {
            self.probe_inflight_longterm_upward(cwnd, s);
        }
        false
    }

    /// BoundCwndForModel(): returns the cap on the window.
    pub(super) fn cwnd_cap(&self) -> f64 {
        let cap = match self.phase {
            Phase::Startup => f64::INFINITY,
            Phase::ProbeBwCruise | Phase::ProbeRtt => self.inflight_with_headroom(),
            _ => self.bounds.inflight_longterm,
        };
        cap.min(self.bounds.inflight_shortterm).max(MIN_PIPE_CWND * self.mss)
    }
}
