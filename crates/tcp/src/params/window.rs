//! Limits on sending, and growth of the window.

use super::group::{group, require, words};
use units::Problem;

group! {
    /// Limits on sending, and growth of the window.
    pub struct WindowParams {
        /// Largest window used in segments (ns-2's `window_`); absent: the receiver's.
        pub window_clamp: Option<u32> = None,
        /// Most segments that one ACK counts for when the window grows: 1 is RFC 5681, 2 is RFC 3465.
        // Linux counts every segment that an ACK covers
        pub abc_limit: u32 = 1 << 16,
        /// Growth of the window only if it is used.
        pub cwnd_validation: CwndValidation = CwndValidation::Round,
        /// Window after an idle period.
        pub idle_restart: IdleRestart = IdleRestart::Decay,
        /// Small segments wait while anything is unacknowledged.   Source: RFC 896.
        pub nagle: bool = false,
    }

    fn validate(&self) -> Result<(), Problem> {
        require("window_clamp", 0, self.window_clamp != Some(0), "at least 1 segment, or nothing")?;
        require("abc_limit", 0, self.abc_limit > 0, "at least 1")
    }
}

impl WindowParams {
    /// Returns true if an idle period begins with an ACK, not with the last segment sent.
    #[inline]
    pub(crate) fn silence_from_ack(&self) -> bool {
        matches!(self.idle_restart, IdleRestart::InitialAfterAck | IdleRestart::OneAfterAck)
    }
}

words! {
    /// When the window has been used enough to grow.
    pub enum CwndValidation {
        /// Always.   Source: ns-2's one-way agents and FullTcp.
        "off" Off,
        /// In rounds that it limited; in slow start half of it is enough.   Source: RFC 7661; Linux.
        "round" Round,
        /// When what was in flight before the ACK filled it.   Source: Linux 2.6 without offloads; ns-2's Agent/TCP/Linux.
        "full" Full,
    }

    /// Window after an idle period longer than one RTO.
    pub enum IdleRestart {
        /// Unchanged.
        "off" Off,
        /// cwnd = min(initial window, cwnd).   Source: RFC 5681 §4.1; ns-2 `slow_start_restart_`.
        "restart" Restart,
        /// Halved for every RTO of idle time, not below the initial window; ssthresh keeps 3/4 of it.   Source: RFC 2861; Linux.
        "decay" Decay,
        /// cwnd = initial window, when an RTO has passed since the ACK that left nothing outstanding, not since the last
        /// segment sent.   Source: ns-2's Agent/TCP/Linux, whose timer keeps running when idle.
        "initial-after-ack" InitialAfterAck,
        /// cwnd = 1 segment, by the same clock.   Source: ns-2's other one-way agents (`restart_bugfix_`).
        "one-after-ack" OneAfterAck,
    }
}
