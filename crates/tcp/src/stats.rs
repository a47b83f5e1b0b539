//! Counters of an endpoint, and a snapshot of its state.

use units::Duration;

/// The sender's congestion state. The states have the same names as in Linux.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// No congestion: slow start or congestion avoidance.
    #[default]
    Open,
    /// The window is being reduced after an ECN echo.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout, until all data outstanding at that time is acknowledged. Ends earlier if the
    /// timeout proves spurious, or if a fast recovery begins.
    Loss,
}

impl State {
    /// Returns true while losses are being repaired.
    #[inline]
    pub(crate) const fn repairs(self) -> bool {
        matches!(self, Self::Recovery | Self::Loss)
    }

    /// Returns the state's name in a trace.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Cwr => "cwr",
            Self::Recovery => "recovery",
            Self::Loss => "loss",
        }
    }
}

/// A snapshot of an endpoint for a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probe {
    /// Congestion window in bytes. It is a whole number of segments in a stack with `whole_segments`.
    pub cwnd_bytes: u64,
    /// Slow start threshold, bytes; `u64::MAX` if it is infinite.
    pub ssthresh_bytes: u64,
    /// Smoothed RTT; zero before the first sample.
    pub srtt: Duration,
    /// Retransmission timeout, including backoff.
    pub rto: Duration,
    /// Estimate of the bytes in the network (RFC 6675 pipe).
    pub in_flight: u64,
    /// Congestion state.
    pub state: State,
}

/// Counters since the start of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Payload bytes delivered in order to the application.
    pub bytes_received: u64,
    /// Number of retransmissions, including those of the SYN.
    pub retransmits: u32,
    /// Number of retransmission timeouts, including those of the SYN.
    pub timeouts: u32,
    /// Number of fast recoveries.
    pub fast_recoveries: u32,
    /// Number of window reductions by the sender in response to an ECN echo. Not counted: responses of the controller.
    pub ecn_reductions: u32,
    /// Number of CE-marked packets reported by ACKs (see [`crate::cc::control::AckSample::ce_packets`]).
    pub ce_reported: u32,
    /// Number of segments received that contained nothing new or reached beyond the receive window.
    pub duplicates_received: u32,
    /// Number of rescue retransmissions (RFC 6675).
    pub rescues: u32,
    /// Number of tail loss probes (RFC 8985).
    pub probes: u32,
    /// Number of recoveries and timeouts that proved spurious, so that their window reductions were undone.
    pub undone: u32,
}

/// The counters of [`Stats`] that an endpoint increments. All of them count rare events; the other counters are derived from
/// the endpoint's state.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    pub(crate) retransmits: u32,
    pub(crate) timeouts: u32,
    pub(crate) fast_recoveries: u32,
    pub(crate) ecn_reductions: u32,
    pub(crate) duplicates_received: u32,
    pub(crate) rescues: u32,
}
