//! Limits on sending, and growth of the window.

use super::group::{group, require, words};
use units::Problem;

group! {
    /// Limits on sending, and growth of the window.
    pub struct WindowParams {
        /// Maximum congestion window, segments (ns-2's `window_`). Absent: only the receiver's window limits it.
        pub window_clamp: Option<u32> = None,
        /// Maximum number of acknowledged segments for which one ACK lets the window grow: 1 in RFC 5681, 2 in RFC
        /// 3465. The default is practically no limit: Linux counts every segment that an ACK covers.
        pub abc_limit: u32 = 1 << 16,
        /// How much of the window must be used for the window to grow.
        pub cwnd_validation: CwndValidation = CwndValidation::Round,
        /// Window after an idle period longer than the RTO.
        pub idle_restart: IdleRestart = IdleRestart::Decay,
        /// Nagle's algorithm: small segments wait while any data is unacknowledged.   Source: RFC 896.
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
    /// How much of the window must be used for the window to grow.
    pub enum CwndValidation {
        /// The window always grows.   Source: ns-2's one-way agents and FullTcp.
        "off" Off,
        /// The window grows only in rounds in which it limited the sender. In slow start, it also grows if more than
        /// half of it was used. Source: RFC 7661; Linux.
        "round" Round,
        /// The window grows only if the data in flight before the ACK filled it.
        /// Source: Linux 2.6 without offloads; ns-2's Agent/TCP/Linux.
        "full" Full,
    }

    /// Window after an idle period longer than one RTO.
    pub enum IdleRestart {
        /// The window stays unchanged.
        "off" Off,
        /// cwnd = min(initial window, cwnd).   Source: RFC 5681 §4.1; ns-2 `slow_start_restart_`.
        "restart" Restart,
        /// The window is halved for every RTO of idle time, but not below the initial window. ssthresh becomes at least 3/4 of
        /// the old window.   Source: RFC 2861; Linux.
        "decay" Decay,
        /// cwnd = initial window. The idle period begins when all data is acknowledged, not when the last segment is
        /// sent. Source: ns-2's Agent/TCP/Linux, whose timer keeps running when idle.
        "initial-after-ack" InitialAfterAck,
        /// cwnd = 1 segment. The idle period begins as with `initial-after-ack`. Source: ns-2's other one-way agents
        /// (`restart_bugfix_`).
        "one-after-ack" OneAfterAck,
    }
}
