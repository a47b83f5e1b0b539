//! The draft's variables, grouped by the parts of the algorithm that they belong to.
//!
//! Source: draft-ietf-ccwg-bbr-06 §2.

use super::excess::Excess;
use super::marks::Marks;
use super::phase::{AckPhase, Undo};
use units::{Duration, Time};

/// The estimate of the path.
#[allow(clippy::struct_excessive_bools, reason = "the draft's variables")]
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    pub(super) round_count: u64,
    pub(super) next_round_delivered: u64,
    pub(super) round_start: bool,
    /// Maximum delivery rates of the current and the previous ProbeBW cycle.
    pub(super) max_bw_filter: [f64; 2],
    /// Minimum RTT of the last 10 s, microseconds.
    pub(super) min_rtt: Option<u32>,
    pub(super) min_rtt_stamp: Time,
    pub(super) probe_rtt_min_delay: Option<u32>,
    pub(super) probe_rtt_min_stamp: Time,
    pub(super) probe_rtt_expired: bool,
    pub(super) bw: f64,
    pub(super) excess: Excess,
    pub(super) full_bw: f64,
    pub(super) full_bw_count: u32,
    pub(super) full_bw_now: bool,
    pub(super) full_bw_reached: bool,
}

/// The bounds on the data in flight and on the rate, and the losses and marks that set these bounds.
#[allow(clippy::struct_excessive_bools, reason = "the draft's variables")]
#[derive(Clone, Debug, Default)]
pub(super) struct Bounds {
    /// Maximum delivery rate in the current loss round, bytes per second.
    pub(super) bw_latest: f64,
    /// Maximum number of bytes delivered in one rate sample of the current loss round.
    pub(super) inflight_latest: f64,
    pub(super) loss_round_delivered: u64,
    pub(super) loss_round_start: bool,
    pub(super) is_loss_in_round: bool,
    /// Number of separate runs of lost segments in the current loss round.
    pub(super) lost_ranges: u32,
    pub(super) bw_shortterm: f64,
    pub(super) inflight_shortterm: f64,
    pub(super) inflight_longterm: f64,
    pub(super) is_bw_probe_sample: bool,
    pub(super) prev_probe_too_high: bool,
    pub(super) prev_probe_precautionary: bool,
    pub(super) bw_probe_up_rounds: u32,
    pub(super) bw_probe_up_acked: f64,
    pub(super) probe_up_acked_per_inc: f64,
    pub(super) undo: Undo,
    pub(super) marks: Marks,
}

impl Bounds {
    /// Returns the initial bounds, which are infinite.
    pub(super) fn new() -> Self {
        let none = f64::INFINITY;
        Self {
            bw_shortterm: none,
            inflight_shortterm: none,
            inflight_longterm: none,
            probe_up_acked_per_inc: none,
            ..Self::default()
        }
    }
}

/// Variables that control the transitions between states.
#[derive(Clone, Debug, Default)]
pub(super) struct Cycle {
    pub(super) ack_phase: AckPhase,
    pub(super) cycle_stamp: Time,
    pub(super) bw_probe_wait: Duration,
    pub(super) rounds_since_probe_up: u32,
    pub(super) drain_start_round: u64,
    pub(super) probe_rtt_done_stamp: Option<Time>,
    pub(super) probe_rtt_round_done: bool,
    pub(super) idle_restart: bool,
}
