//! Behaviour of particular kernels that no standard specifies.

use super::group::group;

group! {
    /// Behaviour of particular kernels.
    pub struct Quirks {
        /// The window is a whole number of segments (Linux): a reduction drops its fraction and that of ssthresh, and Reno counts
        /// acknowledged segments up to it.
        pub whole_segments: bool = Self::LINUX.whole_segments,
        /// The ACK that ends a reduction also grows the window, by the segments it newly delivers (Linux).
        pub reduction_end_grows: bool = Self::LINUX.reduction_end_grows,
        /// An ACK that reports a mark counts for the reduction that it begins, instead of growing the window first. That
        /// reduction ends, and the next may begin, with an ACK of data sent after it began, instead of with one of all data sent
        /// before (Linux).
        pub marking_ack_reduces: bool = Self::LINUX.marking_ack_reduces,
        /// Every timeout lowers ssthresh, even one that follows another or interrupts a recovery (ns-2), instead of one for
        /// each loss (RFC 5681 §3.1).
        pub every_timeout_reduces: bool = Self::LINUX.every_timeout_reduces,
        /// Measured round trips are whole numbers of G, at least one (ns-2).
        pub quantise_rtt: bool = Self::LINUX.quantise_rtt,
        /// Every ACK gives a round-trip sample, even a duplicate: the receiver echoes the newest timestamp received, out of order
        /// or not (ns-2's sinks), instead of that of the segment it acknowledges (RFC 7323 §4.3). Needs `timestamps`.
        pub rtt_from_every_ack: bool = Self::LINUX.rtt_from_every_ack,
        /// A round trip below SRTT raises RTTVAR by an eighth of what one above it would.   Source: Linux' estimator, which ns-2's
        /// Agent/TCP/Linux has.
        pub damped_rttvar: bool = Self::LINUX.damped_rttvar,
        /// A doubled RTO stays doubled until data is acknowledged that was first sent after the timeout (Karn & Partridge 1987;
        /// ns-2), instead of until the next round-trip sample.
        pub backoff_until_new_data: bool = Self::LINUX.backoff_until_new_data,
        /// Every ACK restarts the retransmission timer, even a duplicate (ns-2's Agent/TCP/Linux), instead of ACKs of new data
        /// only (RFC 6298 §5.3).
        pub any_ack_restarts_timer: bool = Self::LINUX.any_ack_restarts_timer,
        /// ACKs leave at once again: `quick_acks` of them after a segment that had been received before, and after a pause longer than the
        /// RTO (detected by timestamps); two after a CE mark that begins an echo (Linux).
        pub quick_acks_return: bool = Self::LINUX.quick_acks_return,
        /// A segment with CWR is acknowledged at once: its sender's window may be one segment (Linux since 4.19).
        pub ack_cwr: bool = Self::LINUX.ack_cwr,
        /// `ack_every` counts full segments' worth of bytes, so that a short segment alone waits for `delayed_ack` (ns-2's
        /// FullTcp), instead of segments of any size.
        pub short_segments_wait: bool = Self::LINUX.short_segments_wait,
        /// A segment's payload is delivered to the application before its ACK is sent, as in ns-2's FullTcp: the application's
        /// response leaves first. Ignored by hosts without applications.
        pub ack_after_delivery: bool = Self::LINUX.ack_after_delivery,
        /// The client's ACK of the SYN-ACK leaves on its own, before any queued data, as in ns-2's FullTcp and over sockets;
        /// otherwise the data carries it.
        pub bare_handshake_ack: bool = Self::LINUX.bare_handshake_ack,
        /// The FIN leaves on its own when all data is acknowledged, as ns-2's FullTcp sends it, instead of with the last data.
        pub fin_after_data: bool = Self::LINUX.fin_after_data,
    }
}

impl Quirks {
    /// None: the standards alone.
    pub const NONE: Self = Self {
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

    /// Linux 6.
    pub const LINUX: Self = Self {
        whole_segments: true,
        reduction_end_grows: true,
        marking_ack_reduces: true,
        damped_rttvar: true,
        quick_acks_return: true,
        ack_cwr: true,
        ..Self::NONE
    };

    /// All agents of ns-2.
    const NS2: Self = Self { every_timeout_reduces: true, quantise_rtt: true, ..Self::NONE };

    /// ns-2's Agent/TCP/Linux, and the sinks that serve it.
    pub const NS2_LINUX: Self =
        Self { rtt_from_every_ack: true, damped_rttvar: true, any_ack_restarts_timer: true, ..Self::NS2 };

    /// ns-2's Agent/TCP/Reno.
    pub const NS2_RENO: Self = Self { backoff_until_new_data: true, ..Self::NS2 };

    /// ns-2's Agent/TCP/FullTcp.
    pub const NS2_FULLTCP: Self = Self {
        short_segments_wait: true,
        ack_after_delivery: true,
        bare_handshake_ack: true,
        fin_after_data: true,
        ..Self::NS2
    };
}
