//! BBR version 3: a model of the path as in version 1, with bounds set by losses.
//!
//! ```text
//! max_bw  = maximum delivery rate of the last two ProbeBW cycles       min_rtt = minimum RTT of the last 10 s
//! bw      = min(max_bw, bw_shortterm)                                  bdp     = bw * min_rtt
//! pacing  = pacing gain * bw * 0.99
//! cwnd    = max(cwnd gain * bdp + extra_acked, 3 send quanta, 4 segments), not above the bounds
//!
//!                 pacing cwnd   ends when
//! Startup          2.77  2      the rate grew less than 25 % in three rounds, or a round lost more than 2 %, in six ranges or more
//! Drain            0.5   2      inflight <= bdp, or more than three rounds have passed
//! ProbeBW  DOWN    0.90  2      inflight <= 0.85 inflight_longterm and <= bdp
//!          CRUISE  1     2      2 to 3 s have passed since DOWN began, or as many rounds as Reno would need (at most 63)
//!          REFILL  1     2      a round has passed
//!          UP      1.25  2.25   the rate grew less than 25 % in three rounds, or more than 2 % is lost
//! ProbeRTT         1     0.5    inflight was <= bdp / 2 for 200 ms and a round;  it begins after 5 s without a lower round trip
//! ```
//!
//! [`model`] estimates the path, [`bounds`] sets limits after losses, [`states`] is the state machine, and [`responses`]
//! computes the output to the sender. Functions are named after the draft's.
//!
//! Source: draft-ietf-ccwg-bbr-06. For `bbr3_form = "linux"`: google/bbr, branch v3, which differs as follows: Drain has a gain
//! of 0.347 and DOWN of 0.91, `extra_acked` covers the last 5 to 10 rounds, bursts are one segment below 1.2 Mbit/s, and there
//! is a response to ECN ([`marks`]).
//! Departs: the draft leaves the response to a CE mark open. Here, in the draft's form, a mark counts as a loss in its
//! round, but never ends a probe. The first pacing rate has the margin of 1 %, as in Linux; InitPacingRate() of the
//! draft has no margin. In Drain, inflight_longterm caps the window, as in the draft's table of states (§5.6.1);
//! BoundCwndForModel() has no such cap. The Linux form has no correction of the data in flight for the pacing timer, no
//! fast path and no PLB.

mod bounds;
mod excess;
mod marks;
mod model;
mod params;
mod phase;
mod responses;
mod states;
#[cfg(test)]
mod tests;
mod vars;

use crate::stats::State;
pub(crate) use params::{Bbr3Form, Bbr3Params};
use phase::Phase;
use units::{Duration, Rng};
use vars::{Bounds, Cycle, Path};

/// BBR.StartupPacingGain: 4 ln 2.
const STARTUP_PACING_GAIN: f64 = 2.77;
/// BBR.DefaultCwndGain: the window gain of all states except ProbeBW_UP and ProbeRTT.
const DEFAULT_CWND_GAIN: f64 = 2.0;
/// Pacing gain of ProbeBW_UP.
const UP_PACING_GAIN: f64 = 1.25;
/// Window gain of ProbeBW_UP.
const UP_CWND_GAIN: f64 = 2.25;
/// BBR.ProbeRTTCwndGain: the window gain of ProbeRTT.
const PROBE_RTT_CWND_GAIN: f64 = 0.5;
/// BBR.PacingMarginPercent, as a factor: pacing is 1 % below the estimated bandwidth.
const PACING_MARGIN: f64 = 0.99;
/// BBR.MinPipeCwnd: the minimum window, segments.
const MIN_PIPE_CWND: f64 = 4.0;
/// Round-trip time assumed for the first pacing rate if the handshake gave no sample.
const FIRST_RTT: Duration = Duration::from_millis(1);

/// The state of one connection. Volumes are payload bytes, and rates payload bytes per second; unknown bounds are infinite.
#[derive(Clone, Debug)]
pub(crate) struct Bbr3 {
    form: Bbr3Form,
    /// True with `ecn_feedback = "dctcp"` or `"accecn"`.
    counts_marks: bool,
    mss: f64,
    initial_cwnd: f64,
    phase: Phase,
    /// C.delivered: bytes delivered since the connection began.
    delivered: u64,
    path: Path,
    bounds: Bounds,
    cycle: Cycle,
    pacing_rate: f64,
    seen_rtt: bool,
    /// Window saved by `save_cwnd`. Restored once losses are repaired or prove spurious, and after ProbeRTT.
    prior_cwnd: f64,
    previous: State,
    /// Random source for the times of probes.
    rng: Rng,
}

impl Bbr3 {
    /// Returns BBR.pacing_gain and BBR.cwnd_gain.
    fn gains(&self) -> (f64, f64) {
        let (drain, down) = match self.form {
            Bbr3Form::Draft => (0.5, 0.9),
            // Linux's pacing gain in Drain is 1 / 2.885 = 0.347
            Bbr3Form::Linux => (0.347, 0.91),
        };
        match self.phase {
            Phase::Startup => (STARTUP_PACING_GAIN, DEFAULT_CWND_GAIN),
            Phase::Drain => (drain, DEFAULT_CWND_GAIN),
            Phase::ProbeBwDown => (down, DEFAULT_CWND_GAIN),
            Phase::ProbeBwCruise | Phase::ProbeBwRefill => (1.0, DEFAULT_CWND_GAIN),
            Phase::ProbeBwUp => (UP_PACING_GAIN, UP_CWND_GAIN),
            Phase::ProbeRtt => (1.0, PROBE_RTT_CWND_GAIN),
        }
    }

    /// Returns C.send_quantum, the maximum burst in bytes.
    fn send_quantum(&self) -> f64 {
        match self.form {
            Bbr3Form::Draft => (self.pacing_rate * 1e-3).min(65_536.0).max(2.0 * self.mss),
            Bbr3Form::Linux => {
                let least = if self.pacing_rate < 150_000.0 { 1.0 } else { 2.0 };
                (self.pacing_rate / 1024.0).clamp(least * self.mss, 65_536.0_f64.max(least * self.mss))
            }
        }
    }

    /// BDPMultiple(): returns `gain` times the BDP in bytes, or the initial window before the first RTT sample.
    fn bdp_multiple(&self, bw: f64, gain: f64) -> f64 {
        self.path.min_rtt.map_or(self.initial_cwnd, |us| gain * bw * f64::from(us) * 1e-6)
    }

    /// QuantizationBudget(): returns a limit on the data in flight: the largest of `inflight_cap`, three bursts and
    /// four segments. In ProbeBW_UP, two segments are added to the limit.
    fn quantization_budget(&self, inflight_cap: f64) -> f64 {
        let cap = inflight_cap.max(3.0 * self.send_quantum()).max(MIN_PIPE_CWND * self.mss);
        if self.phase == Phase::ProbeBwUp { cap + 2.0 * self.mss } else { cap }
    }

    /// Inflight(): returns a limit on the data in flight, in bytes: `gain` times the BDP at bandwidth `bw`, adjusted by
    /// `quantization_budget`.
    fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.quantization_budget(self.bdp_multiple(bw, gain))
    }

    /// TargetInflight(): returns the BDP in bytes, or the window if the window is smaller.
    fn target_inflight(&self, cwnd: f64) -> f64 {
        self.bdp_multiple(self.path.bw, 1.0).min(cwnd)
    }

    /// IsInAProbeBWState(): returns true in one of the four ProbeBW states.
    fn is_in_a_probe_bw_state(&self) -> bool {
        use Phase::{ProbeBwCruise, ProbeBwDown, ProbeBwRefill, ProbeBwUp};
        matches!(self.phase, ProbeBwDown | ProbeBwCruise | ProbeBwRefill | ProbeBwUp)
    }

    /// IsProbingBW(): returns true in a state that probes for bandwidth.
    fn is_probing_bw(&self) -> bool {
        matches!(self.phase, Phase::Startup | Phase::ProbeBwRefill | Phase::ProbeBwUp)
    }
}
