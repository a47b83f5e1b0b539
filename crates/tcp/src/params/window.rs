//! Limits on sending, and growth of the window.

use super::group::{group, require, words};
use units::Problem;

group! {
    /// Limits on sending, and growth of the window.
    pub struct WindowParams {
        /// Largest congestion window, in segments (ns-2's `window_`). Absent: no limit.
        pub window_clamp: Option<u32> = None,
        /// Largest number of segments per ACK that count for the growth of the window: 1 in RFC 5681, 2 in RFC 3465.
        /// The default is practically no limit: as in Linux, every segment that an ACK covers counts.
        pub abc_limit: u32 = 1 << 16,
        /// Condition for the growth of the window: how much of the window must be in use.
        pub cwnd_validation: CwndValidation = CwndValidation::Round,
        /// How the window changes after an idle period that is longer than the RTO.
        pub idle_restart: IdleRestart = IdleRestart::Decay,
        /// Nagle's algorithm: while any data is unacknowledged, small segments wait.   Source: RFC 896.
        pub nagle: bool = false,
    }

    fn validate(&self) -> Result<(), Problem> {
        require("window_clamp", 0, self.window_clamp != Some(0), "at least 1 segment, or nothing")?;
        require("abc_limit", 0, self.abc_limit > 0, "at least 1")
    }
}

impl WindowParams {
    /// Returns true if an idle period begins when the last data is acknowledged, instead of when the last segment is
    /// sent.
    #[inline]
    pub(crate) fn silence_from_ack(&self) -> bool {
        matches!(self.idle_restart, IdleRestart::InitialAfterAck | IdleRestart::OneAfterAck)
    }
}

words! {
    /// Condition for the growth of the window: how much of the window must be in use.
    pub enum CwndValidation {
        /// The window grows even if it is not full.   Source: ns-2's one-way agents and FullTcp.
        "off" Off,
        /// The window grows only in rounds in which it has limited the sender. In slow start, it also grows if more
        /// than half of it was in use. Source: RFC 7661; Linux.
        "round" Round,
        /// An ACK lets the window grow only if the data in flight before this ACK filled the window. Source: Linux 2.6
        /// without offloads; ns-2's Agent/TCP/Linux.
        "full" Full,
    }

    /// Window after an idle period longer than one RTO.
    pub enum IdleRestart {
        /// The window stays unchanged.
        "off" Off,
        /// cwnd = min(initial window, cwnd).   Source: RFC 5681 §4.1; ns-2 `slow_start_restart_`.
        "restart" Restart,
        /// For every RTO of idle time, the window is halved, but not below the initial window. ssthresh is raised to
        /// 3/4 of the old window if it was lower.   Source: RFC 2861; Linux.
        "decay" Decay,
        /// cwnd = initial window. The idle period begins when all data is acknowledged. (With `restart` and `decay`, it
        /// begins when the last segment is sent.) Source: ns-2's Agent/TCP/Linux, whose timer keeps running when idle.
        "initial-after-ack" InitialAfterAck,
        /// cwnd = 1 segment. The idle period begins as with `initial-after-ack`. Source: ns-2's other one-way agents
        /// (`restart_bugfix_`).
        "one-after-ack" OneAfterAck,
    }
}
