//! Reduction of the window.

use super::group::{group, words};

group! {
    /// Reduction of the window.
    pub(crate) struct ReductionParams {
        /// Window reduction.
        pub reduction: Reduction = Reduction::Prr,
        /// ssthresh is a share of FlightSize (RFC 5681) instead of the window (Linux, ns-2).
        pub reduce_from_flight: bool = false,
    }
}

words! {
    /// How the window gets from its old size to ssthresh.
    pub(crate) enum Reduction {
        /// At once.   Source: RFC 5681, RFC 6675.
        "instant" Instant,
        /// One segment for every two ACKs, never above in flight + 1.   Source: Mathis, Semke & Mahdavi 1999; Linux 2.6.
        "rate-halving" RateHalving,
        /// The window is ssthresh at once, but what is in flight may only fall by one segment for every two ACKs until it
        /// gets there.   Source: ns-2's Agent/TCP/Linux.
        "held-rate-halving" HeldRateHalving,
        /// Proportional rate reduction: conserves packets once what is in flight is below ssthresh, and slow starts back to it on
        /// ACKs of progress.   Source: RFC 9937; Linux.
        "prr" Prr,
    }
}
