//! BBR's state machine.
//!
//! Source: draft-ietf-ccwg-bbr-06 §5.3.

use super::bounds::is_inflight_too_high;
use super::model::delivery_rate;
use super::phase::AckPhase;
use super::{Bbr3, Phase};
use crate::cc::control::{AckSample, RateSample};
use crate::stats::State;
use units::{Duration, Time};

/// BBRStartupFullLossCnt: losses end Startup only if a round has at least this number of separate runs of lost
/// segments.
const STARTUP_FULL_LOSS_COUNT: u32 = 6;
/// Drain ends after more than this number of rounds, even if too much data is still in flight.
const DRAIN_ROUNDS: u64 = 3;
/// Wait between two probes, in seconds: the fixed part, and the maximum of the random part. The wait ends earlier if
/// IsRenoCoexistenceProbeTime() is true.
const PROBE_WAIT: (f64, f64) = (2.0, 1.0);
/// Maximum number of rounds from one probe to the next, for coexistence with Reno.
const MOST_RENO_ROUNDS: f64 = 63.0;
/// BBR.ProbeRTTDuration: minimum time for which ProbeRTT keeps the window small.
const PROBE_RTT_DURATION: Duration = Duration::from_millis(200);

impl Bbr3 {
    // ---------------------------------------------------------------- Startup and Drain

    /// CheckStartupDone(): leaves Startup for Drain if the pipe is full or losses are too high.
    pub(super) fn check_startup_done(&mut self, s: &AckSample, rs: &RateSample) {
        if self.phase != Phase::Startup {
            return;
        }
        self.check_startup_high_loss(s, rs);
        if self.path.full_bw_reached {
            self.phase = Phase::Drain;
            self.cycle.drain_start_round = self.path.round_count;
        }
    }

    /// CheckStartupHighLoss(): decides at the end of a round that the pipe is full, if the sender is in fast recovery
    /// and the round had too many losses. In the Linux form, two consecutive rounds with too many marks have the same
    /// effect.
    fn check_startup_high_loss(&mut self, s: &AckSample, rs: &RateSample) {
        let losses = self.bounds.loss_round_start
            && s.state == State::Recovery
            && self.bounds.lost_ranges >= STARTUP_FULL_LOSS_COUNT
            && is_inflight_too_high(rs.lost, rs.tx_in_flight);
        if losses || self.bounds.marks.full() {
            self.bounds.undo.phase = Some(Phase::Startup);
            self.path.full_bw_reached = true;
            self.bounds.inflight_longterm = self.bdp_multiple(self.path.bw, 1.0).max(self.bounds.inflight_latest);
        }
    }

    /// CheckDrainDone(): leaves Drain once the data in flight fits into the BDP, or after more than three rounds.
    pub(super) fn check_drain_done(&mut self, s: &AckSample) {
        if self.phase == Phase::Drain
            && (s.in_flight as f64 <= self.inflight(self.path.bw, 1.0)
                || self.path.round_count > self.cycle.drain_start_round + DRAIN_ROUNDS)
        {
            self.start_probe_bw_down(s.now);
        }
    }

    // ---------------------------------------------------------------- ProbeBW

    /// PickProbeWait(): draws the wait until the next probe, and sets the count of rounds since the last probe to 0 or
    /// 1 at random.
    fn pick_probe_wait(&mut self) {
        self.cycle.rounds_since_probe_up = self.rng.below(2) as u32;
        self.cycle.bw_probe_wait = Duration::from_secs_f64(PROBE_WAIT.0 + PROBE_WAIT.1 * self.rng.unit());
    }

    /// IsRenoCoexistenceProbeTime(): returns true once the number of rounds since the last probe reaches the target
    /// window in segments, but after 63 rounds at the latest. BBR therefore probes about as often as Reno would.
    pub(super) fn is_reno_coexistence_probe_time(&self, cwnd: f64) -> bool {
        let reno_rounds = (self.target_inflight(cwnd) / self.mss).floor();
        f64::from(self.cycle.rounds_since_probe_up) >= reno_rounds.min(MOST_RENO_ROUNDS)
    }

    /// StartProbeBW_DOWN(): starts a new ProbeBW cycle, in the state DOWN, which drains the queue.
    pub(super) fn start_probe_bw_down(&mut self, now: Time) {
        self.reset_congestion_signals();
        self.bounds.probe_up_acked_per_inc = f64::INFINITY;
        self.pick_probe_wait();
        self.cycle.cycle_stamp = now;
        self.cycle.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.phase = Phase::ProbeBwDown;
    }

    /// StartProbeBW_REFILL(): removes the short-term bounds, to fill the pipe before a probe.
    pub(super) fn start_probe_bw_refill(&mut self) {
        self.reset_short_term_model();
        self.bounds.bw_probe_up_rounds = 0;
        self.bounds.bw_probe_up_acked = 0.0;
        self.bounds.prev_probe_precautionary = false;
        self.cycle.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.phase = Phase::ProbeBwRefill;
    }

    /// StartProbeBW_UP(): begins to probe for bandwidth.
    fn start_probe_bw_up(&mut self, cwnd: f64, rs: &RateSample) {
        self.cycle.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.reset_full_bw();
        self.path.full_bw = delivery_rate(rs);
        self.phase = Phase::ProbeBwUp;
        self.raise_inflight_longterm_slope(cwnd);
    }

    /// UpdateProbeBWCyclePhase(): moves through the states of ProbeBW.
    pub(super) fn update_probe_bw_cycle_phase(&mut self, cwnd: f64, s: &AckSample, rs: &RateSample) {
        if !self.path.full_bw_reached || self.adapt_long_term_model(cwnd, s, rs) {
            return;
        }
        let phase = self.phase;
        match phase {
            Phase::ProbeBwDown | Phase::ProbeBwCruise if self.is_time_to_probe_bw(cwnd, s.now) => {
                self.start_probe_bw_refill();
            }
            Phase::ProbeBwDown if self.is_time_to_cruise(s) => self.phase = Phase::ProbeBwCruise,
            Phase::ProbeBwRefill if self.path.round_start => {
                self.bounds.is_bw_probe_sample = true;
                self.start_probe_bw_up(cwnd, rs);
            }
            Phase::ProbeBwUp if self.is_time_to_go_down(cwnd, s, rs) => {
                self.bounds.prev_probe_too_high = false;
                self.start_probe_bw_down(s.now);
            }
            _ => {}
        }
    }

    /// IsTimeToProbeBW(): returns true if the wait since the last probe is over, or if
    /// IsRenoCoexistenceProbeTime() is true.
    fn is_time_to_probe_bw(&self, cwnd: f64, now: Time) -> bool {
        now > self.cycle.cycle_stamp + self.cycle.bw_probe_wait || self.is_reno_coexistence_probe_time(cwnd)
    }

    /// IsTimeToCruise(): returns true if the queue built by the last probe has drained.
    fn is_time_to_cruise(&self, s: &AckSample) -> bool {
        let in_flight = s.in_flight as f64;
        in_flight <= self.inflight_with_headroom() && in_flight <= self.inflight(self.max_bw(), 1.0)
    }

    /// IsTimeToGoDown(): returns true if a probe should end, because the pipe is full or because the data in flight has
    /// reached the bound that the last probe set.
    fn is_time_to_go_down(&mut self, cwnd: f64, s: &AckSample, rs: &RateSample) -> bool {
        if self.bounds.prev_probe_too_high && s.in_flight as f64 >= self.bounds.inflight_longterm {
            self.bounds.prev_probe_precautionary = true;
            return true;
        }
        if s.window_filled && cwnd >= self.bounds.inflight_longterm {
            // inflight_longterm limits the rate here, so the pipe may not be full even if the rate does not grow
            self.reset_full_bw();
            self.path.full_bw = delivery_rate(rs);
            return false;
        }
        self.path.full_bw_now
    }

    // ---------------------------------------------------------------- ProbeRTT

    /// CheckProbeRTT(): enters, continues and ends ProbeRTT. When ProbeRTT ends, `cwnd` is restored.
    pub(super) fn check_probe_rtt(&mut self, cwnd: &mut f64, s: &AckSample) {
        if !self.is_in_probe_rtt() && self.path.probe_rtt_expired && !self.cycle.idle_restart {
            self.save_cwnd(*cwnd);
            self.phase = Phase::ProbeRtt;
            self.cycle.probe_rtt_done_stamp = None;
            self.cycle.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        if self.is_in_probe_rtt() {
            self.handle_probe_rtt(cwnd, s);
        }
        if s.delivered > 0 {
            self.cycle.idle_restart = false;
        }
    }

    /// ProbeRTTCwnd(): returns the window in ProbeRTT, bytes.
    pub(super) fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp_multiple(self.path.bw, super::PROBE_RTT_CWND_GAIN).max(super::MIN_PIPE_CWND * self.mss)
    }

    /// HandleProbeRTT(): waits until the data in flight fits into the window of ProbeRTT, and then for at least 200 ms and
    /// one round.
    fn handle_probe_rtt(&mut self, cwnd: &mut f64, s: &AckSample) {
        if self.cycle.probe_rtt_done_stamp.is_none() {
            if s.in_flight as f64 <= self.probe_rtt_cwnd() {
                self.cycle.probe_rtt_done_stamp = Some(s.now + PROBE_RTT_DURATION);
                self.cycle.probe_rtt_round_done = false;
                self.start_round();
            }
            return;
        }
        self.cycle.probe_rtt_round_done |= self.path.round_start;
        if self.cycle.probe_rtt_round_done {
            self.check_probe_rtt_done(cwnd, s.now);
        }
    }

    /// CheckProbeRTTDone() and ExitProbeRTT(): ends ProbeRTT if its time is up, and restores the window.
    pub(super) fn check_probe_rtt_done(&mut self, cwnd: &mut f64, now: Time) {
        if self.cycle.probe_rtt_done_stamp.is_none_or(|done| now <= done) {
            return;
        }
        self.path.probe_rtt_min_stamp = now;
        *cwnd = cwnd.max(self.prior_cwnd);
        self.reset_short_term_model();
        if self.path.full_bw_reached {
            self.start_probe_bw_down(now);
            self.phase = Phase::ProbeBwCruise;
        } else {
            self.phase = Phase::Startup;
        }
    }
}
