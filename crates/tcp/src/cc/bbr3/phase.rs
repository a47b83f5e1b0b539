//! The states of BBR's state machine, and the values restored after a spurious loss.
//!
//! Source: draft-ietf-ccwg-bbr-06 §5.3 and §5.5.11.

/// The states, named as in the draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Startup,
    Drain,
    ProbeBwDown,
    ProbeBwCruise,
    ProbeBwRefill,
    ProbeBwUp,
    ProbeRtt,
}

impl Phase {
    /// Returns the name of this state in a trace.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Drain => "drain",
            Self::ProbeBwDown => "probe_bw_down",
            Self::ProbeBwCruise => "probe_bw_cruise",
            Self::ProbeBwRefill => "probe_bw_refill",
            Self::ProbeBwUp => "probe_bw_up",
            Self::ProbeRtt => "probe_rtt",
        }
    }
}

/// The part of a bandwidth probe that the arriving ACKs reflect. ACKs reflect a probe from one round trip after the
/// probe begins until one round trip after the probe ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    #[default]
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// Values that BBR restores if losses prove spurious.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Undo {
    pub(super) phase: Option<Phase>,
    pub(super) bw_shortterm: f64,
    pub(super) inflight_shortterm: f64,
    pub(super) inflight_longterm: f64,
}
