//! Sender settings that an external program changes between two events.
//!
//! A setting replaces the current value. The controller continues from the new value, and may change it with the next ACK.

/// A new value for one of a sender's settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Steer {
    /// Congestion window in bytes. A value below one segment is raised to one segment.
    Cwnd(u64),
    /// Slow start threshold in bytes; `None` if the threshold is infinite.
    Ssthresh(Option<u64>),
    /// Pacing rate in payload bytes per second; `None` stops pacing. Ignored unless [`Steerable::pacing_rate`] is true.
    PacingRate(Option<f64>),
}

/// The properties of a sender on which [`Steer`] depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steerable {
    /// Largest payload of a segment in bytes.
    pub mss: u32,
    /// True if a pacing rate may be set, because neither the controller nor the stack sets one.
    pub pacing_rate: bool,
}
