//! Behaviour of particular kernels that no standard specifies.

use super::group::group;

group! {
    /// Behaviour of particular kernels; the defaults are those of Linux 6. A preset sets all these keys, so a scenario seldom
    /// needs one. The keys are read and written like all others, but are left out of the schema and its documentation.
    #[allow(clippy::struct_excessive_bools, reason = "each is a key of its own")]
    pub(crate) struct Quirks {
        /// The window is a whole number of segments (Linux). A reduction drops the fractions of the window and of ssthresh, and
        /// Reno grows by one segment per window of acknowledged segments.
        pub whole_segments: bool = true,
        /// The ACK that ends a reduction also grows the window, by all segments that it newly delivers, as far as
        /// `abc_limit` allows (Linux).
        pub reduction_end_grows: bool = true,
        /// An ACK whose mark begins a reduction does not also grow the window. The reduction lasts until data sent after
        /// its beginning is acknowledged, and this ACK may begin another (Linux). If false, the reduction lasts only
        /// until all data sent before its beginning is acknowledged.
        pub marking_ack_reduces: bool = true,
        /// Every timeout lowers ssthresh, even if the timeout follows another timeout or interrupts a recovery (ns-2).
        /// If false, a timeout does not lower ssthresh if the same data has timed out before (RFC 5681 §3.1) or, unless
        /// `reduce_from_flight` is set, if a recovery or the reduction for a mark is in progress.
        pub every_timeout_reduces: bool = false,
        /// Measured round-trip times are rounded to multiples of the clock granularity G, but to at least one G (ns-2).
        pub quantise_rtt: bool = false,
        /// Every ACK gives a round-trip sample, even a duplicate. The receiver echoes the newest time stamp received,
        /// even that of a segment out of order (ns-2's sinks), instead of the time stamp that RFC 7323 §4.3 selects.
        /// Needs `timestamps` and `rtt_source = "echo"`.
        pub rtt_from_every_ack: bool = false,
        /// A round trip below SRTT raises RTTVAR by only an eighth of the amount by which a round trip above SRTT raises it.
        /// Source: Linux's estimator, which ns-2's Agent/TCP/Linux also uses.
        pub damped_rttvar: bool = true,
        /// A doubled RTO stays doubled until data that was first sent after the timeout is acknowledged (Karn & Partridge 1987;
        /// ns-2), instead of until the next round-trip sample.
        pub backoff_until_new_data: bool = false,
        /// Every ACK restarts the retransmission timer, even a duplicate (ns-2's Agent/TCP/Linux), instead of only ACKs of new
        /// data (RFC 6298 §5.3).
        pub any_ack_restarts_timer: bool = false,
        /// Quick ACKs resume, as in Linux: `quick_acks` ACKs leave at once after a duplicate segment, and after the
        /// peer has paused for longer than the RTO. (The pause is the time between the sending of two segments. It is
        /// known even without `timestamps`.) After a CE mark that begins an echo, two ACKs leave at once. While the
        /// receive window grows, each segment is acknowledged at once.
        pub quick_acks_return: bool = true,
        /// A segment with CWR is acknowledged at once, because its sender's window may be one segment (Linux since 4.19).
        pub ack_cwr: bool = true,
        /// An ACK is due after the bytes of `ack_every` full segments, instead of after `ack_every` segments of any
        /// size. So the ACK of a single short segment waits for `delayed_ack` (ns-2's FullTcp).
        pub short_segments_wait: bool = false,
        /// A segment's payload is delivered to the application before its ACK is sent, as in ns-2's FullTcp. So the
        /// application's response leaves before the ACK. ACKs with SACK blocks or ECE do not wait. Has no effect on
        /// hosts without applications.
        pub ack_after_delivery: bool = false,
        /// A SYN-ACK echoes the time stamp of the first SYN that arrived, even if the client has repeated the SYN
        /// (Linux: tcp_check_req). So if a SYN-ACK is lost, the client's first RTT sample includes the wait before it
        /// repeats the SYN. If false, a SYN-ACK echoes the newest SYN, and the ACK of a repeated SYN-ACK echoes the
        /// newest SYN-ACK (RFC 7323 §4.3).
        pub first_syn_echoed: bool = true,
        /// The first window becomes one segment only if the SYN or SYN-ACK was sent at least three times, at least once
        /// because of a timeout (Linux: tcp_init_transfer). If false, sending it twice is enough (RFC 5681 §3.1).
        pub one_syn_repeat_allowed: bool = true,
        /// The client's ACK of the SYN-ACK leaves as a separate segment, before queued data, as in ns-2's FullTcp, and
        /// on hosts whose applications write only once they are connected. If false, queued data carries this ACK.
        pub bare_handshake_ack: bool = false,
        /// The FIN leaves as a separate segment when all data is acknowledged, as in ns-2's FullTcp. If false, the last
        /// data segment carries the FIN, unless it has already left.
        pub fin_after_data: bool = false,
    }
}

impl Quirks {
    /// The behaviour of the standards, without any of these quirks.
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
        first_syn_echoed: false,
        one_syn_repeat_allowed: false,
        bare_handshake_ack: false,
        fin_after_data: false,
    };

    /// The behaviour common to all ns-2 agents.
    const NS2: Self = Self { every_timeout_reduces: true, quantise_rtt: true, ..Self::NONE };

    /// The behaviour of ns-2's Agent/TCP/Linux and of its sinks.
    pub(crate) const NS2_LINUX: Self =
        Self { rtt_from_every_ack: true, damped_rttvar: true, any_ack_restarts_timer: true, ..Self::NS2 };

    /// The behaviour of ns-2's Agent/TCP/Reno.
    pub(crate) const NS2_RENO: Self = Self { backoff_until_new_data: true, ..Self::NS2 };

    /// The behaviour of ns-2's Agent/TCP/FullTcp.
    pub(crate) const NS2_FULLTCP: Self = Self {
        short_segments_wait: true,
        ack_after_delivery: true,
        bare_handshake_ack: true,
        fin_after_data: true,
        ..Self::NS2
    };
}
