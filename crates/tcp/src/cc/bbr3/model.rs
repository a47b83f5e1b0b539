//! BBR's model of the path: rounds, max_bw, min_rtt, and the detection of a full pipe; and the pacing rate.
//!
//! Source: draft-ietf-ccwg-bbr-06 §5.3.1.2, §5.3.4.3, §5.5 and §5.6.2.

use super::{Bbr3, Phase};
use crate::cc::control::{AckSample, RateSample};
use units::Duration;

/// BBR.MinRTTFilterLen: the time for which min_rtt is valid.
const MIN_RTT_FILTER_LEN: Duration = Duration::from_secs(10);
/// BBR.ProbeRTTInterval: the time without a lower RTT after which ProbeRTT begins.
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
/// If a delivery rate is at least this factor times full_bw, the pipe is not full yet, and full_bw is set to that rate.
const FULL_BW_GROWTH: f64 = 1.25;
/// Number of consecutive rounds with less growth than [`FULL_BW_GROWTH`] after which the pipe counts as full.
const FULL_BW_COUNT: u32 = 3;

/// Returns RS.delivery_rate, bytes per second.
pub(super) fn delivery_rate(rs: &RateSample) -> f64 {
    rs.bytes as f64 / rs.interval.secs()
}

impl Bbr3 {
    /// Returns BBR.max_bw, bytes per second.
    pub(super) fn max_bw(&self) -> f64 {
        self.path.max_bw_filter[0].max(self.path.max_bw_filter[1])
    }

    /// StartRound(): begins a round. The round ends when the first of the data sent from now on is delivered.
    pub(super) fn start_round(&mut self) {
        self.path.next_round_delivered = self.delivered;
    }

    /// UpdateRound(): counts rounds, and sets `round_start` if this ACK starts a round.
    fn update_round(&mut self, rs: &RateSample) {
        self.path.round_start = rs.prior_delivered >= self.path.next_round_delivered;
        if self.path.round_start {
            self.start_round();
            self.path.round_count += 1;
            self.cycle.rounds_since_probe_up = self.cycle.rounds_since_probe_up.saturating_add(1);
            self.path.excess.on_round(self.form, self.path.full_bw_reached);
            self.bounds.marks.end_round();
        }
    }

    /// UpdateMaxBw(): counts the round if this ACK starts one, and updates max_bw from the rate sample.
    pub(super) fn update_max_bw(&mut self, rs: &RateSample) {
        self.update_round(rs);
        let rate = delivery_rate(rs);
        if rate >= self.max_bw() || !rs.app_limited {
            self.path.max_bw_filter[0] = self.path.max_bw_filter[0].max(rate);
        }
    }

    /// AdvanceMaxBwFilter(): starts a new ProbeBW cycle in the max_bw filter. If the current cycle has no sample, the filter does not
    /// change.
    pub(super) fn advance_max_bw_filter(&mut self) {
        if self.path.max_bw_filter[0] > 0.0 {
            self.path.max_bw_filter = [0.0, self.path.max_bw_filter[0]];
        }
    }

    /// UpdateACKAggregation(): updates extra_acked, the data acknowledged beyond what a path of bandwidth bw would
    /// deliver in the same time.
    pub(super) fn update_ack_aggregation(&mut self, cwnd: f64, s: &AckSample) {
        self.path.excess.on_ack(s.now, s.delivered as f64, self.path.bw, cwnd);
    }

    /// ResetFullBW(): restarts the detection of a full pipe.
    pub(super) fn reset_full_bw(&mut self) {
        (self.path.full_bw, self.path.full_bw_count, self.path.full_bw_now) = (0.0, 0, false);
    }

    /// CheckFullBWReached(): decides that the pipe is full after three rounds without 25 % growth.
    pub(super) fn check_full_bw_reached(&mut self, rs: &RateSample) {
        if self.path.full_bw_now || !self.path.round_start || rs.app_limited {
            return;
        }
        let rate = delivery_rate(rs);
        if rate >= self.path.full_bw * FULL_BW_GROWTH {
            self.reset_full_bw();
            self.path.full_bw = rate;
            return;
        }
        self.path.full_bw_count += 1;
        self.path.full_bw_now = self.path.full_bw_count >= FULL_BW_COUNT;
        self.path.full_bw_reached |= self.path.full_bw_now;
    }

    /// UpdateMinRTT(): updates the RTT minima of the last 5 s and the last 10 s.
    pub(super) fn update_min_rtt(&mut self, s: &AckSample, rs: &RateSample) {
        let now = s.now;
        self.path.probe_rtt_expired = now > self.path.probe_rtt_min_stamp + PROBE_RTT_INTERVAL;
        if let Some(us) = rs.rtt_us
            && (self.path.probe_rtt_expired || self.path.probe_rtt_min_delay.is_none_or(|least| us < least))
        {
            (self.path.probe_rtt_min_delay, self.path.probe_rtt_min_stamp) = (Some(us), now);
        }
        let expired = now > self.path.min_rtt_stamp + MIN_RTT_FILTER_LEN;
        if let Some(us) = self.path.probe_rtt_min_delay
            && (expired || self.path.min_rtt.is_none_or(|least| us < least))
        {
            (self.path.min_rtt, self.path.min_rtt_stamp) = (Some(us), self.path.probe_rtt_min_stamp);
        }
    }

    /// InitPacingRate(): sets the first pacing rate, from the window and an RTT of `us` microseconds.
    pub(super) fn init_pacing_rate(&mut self, cwnd: f64, us: u32) {
        self.seen_rtt = true;
        self.pacing_rate = super::STARTUP_PACING_GAIN * super::PACING_MARGIN * cwnd / (f64::from(us.max(1)) * 1e-6);
    }

    /// SetPacingRateWithGain(): sets the pacing rate from bw. Before the pipe is first full, the rate may only rise.
    pub(super) fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.path.bw * super::PACING_MARGIN;
        if rate > 0.0 && (self.path.full_bw_reached || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    pub(super) fn is_in_probe_rtt(&self) -> bool {
        self.phase == Phase::ProbeRtt
    }
}
