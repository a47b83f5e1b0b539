//! Behaviour of particular kernels that no standard specifies.

use super::group::group;

group! {
    /// Behaviour of particular kernels; by default that of Linux 6. A preset sets them all, so a scenario seldom needs one:
    /// they are read and written like all other keys, but are left out of the schema and its documentation.
    #[allow(clippy::struct_excessive_bools, reason = "each is a key of its own")]
    pub(crate) struct Quirks {
        /// The window is a whole number of segments (Linux): a reduction drops its fraction and that of ssthresh, and Reno counts
        /// acknowledged segments up to it.
        pub whole_segments: bool = true,
        /// The ACK that ends a reduction also grows the window, by the segments it newly delivers (Linux).
        pub reduction_end_grows: bool = true,
        /// An ACK that reports a mark counts for the reduction that it begins, instead of growing the window first. That
        /// reduction ends, and the next may begin, with an ACK of data sent after it began, instead of with one of all data sent
        /// before (Linux).
        pub marking_ack_reduces: bool = true,
        /// Every timeout lowers ssthresh, even one that follows another or interrupts a recovery (ns-2), instead of one for
        /// each loss (RFC 5681 §3.1).
        pub every_timeout_reduces: bool = false,
        /// Measured round trips are whole numbers of G, at least one (ns-2).
        pub quantise_rtt: bool = false,
        /// Every ACK gives a round-trip sample, even a duplicate: the receiver echoes the newest timestamp received, out of order
        /// or not (ns-2's sinks), instead of that of the segment it acknowledges (RFC 7323 §4.3). Needs `timestamps`.
        pub rtt_from_every_ack: bool = false,
        /// A round trip below SRTT raises RTTVAR by an eighth of what one above it would.   Source: Linux' estimator, which
        /// ns-2's Agent/TCP/Linux has.
        pub damped_rttvar: bool = true,
        /// A doubled RTO stays doubled until data is acknowledged that was first sent after the timeout (Karn & Partridge 1987;
        /// ns-2), instead of until the next round-trip sample.
        pub backoff_until_new_data: bool = false,
        /// Every ACK restarts the retransmission timer, even a duplicate (ns-2's Agent/TCP/Linux), instead of ACKs of new data
        /// only (RFC 6298 §5.3).
        pub any_ack_restarts_timer: bool = false,
        /// ACKs leave at once again: `quick_acks` of them after a segment that had been received before, and after a pause
        /// longer than the RTO (detected by timestamps); two after a CE mark that begins an echo (Linux).
        pub quick_acks_return: bool = true,
        /// A segment with CWR is acknowledged at once: its sender's window may be one segment (Linux since 4.19).
        pub ack_cwr: bool = true,
        /// `ack_every` counts full segments' worth of bytes, so that a short segment alone waits for `delayed_ack` (ns-2's
        /// FullTcp), instead of segments of any size.
        pub short_segments_wait: bool = false,
        /// A segment's payload is delivered to the application before its ACK is sent, as in ns-2's FullTcp: the application's
        /// response leaves first. Ignored by hosts without applications.
        pub ack_after_delivery: bool = false,
        /// The client's ACK of the SYN-ACK leaves on its own, before any queued data, as in ns-2's FullTcp and over sockets;
        /// otherwise the data carries it.
        pub bare_handshake_ack: bool = false,
        /// The FIN leaves on its own when all data is acknowledged, as ns-2's FullTcp sends it, instead of with the last data.
        pub fin_after_data: bool = false,
    }
}

impl Quirks {
    /// None: the standards alone.
    pub(crate) const NONE: Self = Self {
        whole_segments: false,
        reduction_end_grows: false,
        marking_ack_reduces: false,
        every_timeout_reduces: false,
        quantise_rtt: false,
        rtt_from_every_ack: false,
        damped_rttvar: false,
        backoff_until_new_data: false,
        any_ack_restarts_timer: false,
        quick_acks_return: false,
        ack_cwr: false,
        short_segments_wait: false,
        ack_after_delivery: false,
        bare_handshake_ack: false,
        fin_after_data: false,
    };

    /// All agents of ns-2.
    const NS2: Self = Self { every_timeout_reduces: true, quantise_rtt: true, ..Self::NONE };

    /// ns-2's Agent/TCP/Linux, and the sinks that serve it.
    pub(crate) const NS2_LINUX: Self =
        Self { rtt_from_every_ack: true, damped_rttvar: true, any_ack_restarts_timer: true, ..Self::NS2 };

    /// ns-2's Agent/TCP/Reno.
    pub(crate) const NS2_RENO: Self = Self { backoff_until_new_data: true, ..Self::NS2 };

    /// ns-2's Agent/TCP/FullTcp.
    pub(crate) const NS2_FULLTCP: Self = Self {
        short_segments_wait: true,
        ack_after_delivery: true,
        bare_handshake_ack: true,
        fin_after_data: true,
        ..Self::NS2
    };
}
