//! Reduction of the window.

use super::group::{group, words};

group! {
    /// Reduction of the window.
    pub(crate) struct ReductionParams {
        /// How the window is reduced to ssthresh.
        pub reduction: Reduction = Reduction::Prr,
        /// If true, ssthresh after a loss or a mark is a share of FlightSize (the data sent but not yet acknowledged),
        /// as in RFC 5681, or of the window if the window is smaller. If false, ssthresh is a share of the window, as
        /// in Linux and ns-2.
        pub reduce_from_flight: bool = false,
    }
}

words! {
    /// How the window is reduced from its old size to ssthresh.
    pub(crate) enum Reduction {
        /// The window becomes ssthresh at once.   Source: RFC 5681, RFC 6675.
        "instant" Instant,
        /// The window falls by one segment for every two ACKs. It is never more than the data in flight + 1 segment.
        /// Source: Mathis, Semke & Mahdavi 1999; Linux 2.6.
        "rate-halving" RateHalving,
        /// The window becomes ssthresh at once. The data in flight falls more slowly, by one segment for every two
        /// ACKs, until it fits into the window.   Source: ns-2's Agent/TCP/Linux.
        "held-rate-halving" HeldRateHalving,
        /// Proportional rate reduction: at first, the sender sends (ssthresh / old window) times the amount of data
        /// that is delivered. Once less than ssthresh is in flight, each ACK allows as much data as it reports
        /// delivered (or more, if less was sent than delivered so far), until ssthresh is in flight again. An ACK that
        /// acknowledges new data and reveals no further loss allows one segment more. Source: RFC 9937; Linux.
        "prr" Prr,
    }
}
