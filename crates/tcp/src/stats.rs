//! Counters and the moment's picture of an endpoint.

use units::{BitRate, Duration};

/// The sender's congestion state (names after Linux).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// Nothing is wrong: slow start or congestion avoidance.
    #[default]
    Open,
    /// The window is being reduced after an ECN echo.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout, until all that was outstanding is acknowledged.
    Loss,
}

impl State {
    /// Losses are being repaired.
    #[inline]
    pub(crate) const fn repairs(self) -> bool {
        matches!(self, Self::Recovery | Self::Loss)
    }

    /// Its name in a trace.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Cwr => "cwr",
            Self::Recovery => "recovery",
            Self::Loss => "loss",
        }
    }
}

/// What a controller that models the path believes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Phase of BBR: 0 startup, 1 drain, 2 probe-bandwidth, 3 probe-RTT.
    pub mode: u8,
    /// Payload bits per second at which segments leave.
    pub pacing_rate: BitRate,
    /// Estimated bandwidth of the bottleneck, payload bits per second.
    pub btl_bw: BitRate,
    /// Estimated round-trip propagation; zero before the first sample.
    pub rt_prop: Duration,
}

/// What a trace sees of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probe {
    /// Congestion window, bytes: whole segments in a stack that counts in them, otherwise with a fraction of one.
    pub cwnd_bytes: u64,
    /// Slow start threshold, bytes; `u64::MAX` is infinite.
    pub ssthresh_bytes: u64,
    /// Smoothed RTT; zero before the first sample.
    pub srtt: Duration,
    /// Retransmission timeout, backoff included.
    pub rto: Duration,
    /// Bytes believed to be in the network (RFC 6675 pipe).
    pub in_flight: u64,
    /// Congestion state.
    pub state: State,
    /// What BBR believes; none for the others.
    pub model: Option<Model>,
}

/// Counters since the start of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Payload bytes delivered in order to the application.
    pub bytes_received: u64,
    /// Segments sent again.
    pub retransmits: u32,
    /// Retransmission timeouts, SYN's included.
    pub timeouts: u32,
    /// Times that fast recovery was entered.
    pub fast_recoveries: u32,
    /// Window reductions that answered an ECN echo.
    pub ecn_reductions: u32,
    /// CE-marked packets that ACKs have reported (see [`crate::cc::control::AckSample::ce_packets`]).
    pub ce_reported: u32,
    /// Segments that arrived without anything new in them.
    pub duplicates_received: u32,
    /// RFC 6675 rescue retransmissions.
    pub rescues: u32,
    /// Tail loss probes of RFC 8985.
    pub probes: u32,
    /// Window reductions that proved spurious and were undone.
    pub undone: u32,
}

/// What of [`Stats`] an endpoint counts, all of it rare: the rest follows from its state.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    pub(crate) retransmits: u32,
    pub(crate) timeouts: u32,
    pub(crate) fast_recoveries: u32,
    pub(crate) ecn_reductions: u32,
    pub(crate) duplicates_received: u32,
    pub(crate) rescues: u32,
}
