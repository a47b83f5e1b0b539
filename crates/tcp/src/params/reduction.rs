//! Reduction of the window.

use super::group::{group, words};

group! {
    /// Reduction of the window.
    pub(crate) struct ReductionParams {
        /// How the window is reduced to ssthresh.
        pub reduction: Reduction = Reduction::Prr,
        /// Basis of ssthresh after a loss. True: a share of FlightSize, the data sent but not yet acknowledged, as in
        /// RFC 5681. False: a share of the window, as in Linux and ns-2.
        pub reduce_from_flight: bool = false,
    }
}

words! {
    /// How the window is reduced from its old size to ssthresh.
    pub(crate) enum Reduction {
        /// At once, to ssthresh.   Source: RFC 5681, RFC 6675.
        "instant" Instant,
        /// By one segment for every two ACKs, and never above the data in flight + 1 segment.   Source: Mathis, Semke & Mahdavi
        /// 1999; Linux 2.6.
        "rate-halving" RateHalving,
        /// The window becomes ssthresh at once, but the data in flight is reduced by one segment for every two ACKs until it
        /// fits into the window.   Source: ns-2's Agent/TCP/Linux.
        "held-rate-halving" HeldRateHalving,
        /// Proportional rate reduction: at first, the amount of data sent is (ssthresh / old window) times the amount
        /// delivered. Once less than ssthresh is in flight, an ACK releases as much data as it reports delivered, until
        /// ssthresh is in flight again. It releases one segment more if it acknowledges new data and reveals no further
        /// loss. Source: RFC 9937; Linux.
        "prr" Prr,
    }
}
