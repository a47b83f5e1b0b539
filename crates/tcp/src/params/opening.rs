//! How a connection opens: handshake, SYN and first window.

use super::group::{group, require, words};
use units::{Duration, Problem};

group! {
    /// How a connection opens.
    pub struct OpeningParams {
        /// If true, connections have a three-way handshake and FINs. If false, as in ns-2's one-way agents, both ends
        /// are established at once and send no FIN.
        pub handshake: bool = true,
        /// Longest wait before a SYN or SYN-ACK is sent again.
        pub max_syn_rto: Duration = Duration::from_secs(120),
        /// Number n of SYN timeouts without backoff. The first n timeouts of the client's SYN do not double the wait,
        /// and do not count towards `syn_retries`. In Linux since version 6.5, n is 4.
        pub syn_linear_timeouts: u32 = 4,
        /// Number of retransmissions of a SYN or SYN-ACK before the connection fails, not counting the first
        /// `syn_linear_timeouts` of a SYN; null (in a JSON file): unlimited.
        pub syn_retries: Option<u32> = Some(6),
        /// If true, the first window is one segment if the sender's SYN or SYN-ACK was lost. The sender assumes such a
        /// loss if it has sent the packet at least three times, as in Linux (with `rfc` and the ns-2 presets: at least
        /// twice), unless an echoed time stamp shows that the first copy arrived. Source: RFC 5681 §3.1; Linux,
        /// tcp_init_transfer.
        pub syn_loss_restricts: bool = true,
        /// Initial congestion window.
        pub initial_window: InitialWindow = InitialWindow::Segments(10),
        /// Initial slow start threshold, in segments. Absent: infinite.
        pub initial_ssthresh: Option<f64> = None,
    }

    fn validate(&self) -> Result<(), Problem> {
        if let InitialWindow::Segments(n) = self.initial_window {
            require("initial_window", n, (1..=1_000_000).contains(&n), "1 to 1000000 segments")?;
        }
        let Some(s) = self.initial_ssthresh else { return Ok(()) };
        let expected = "at least 2 segments, or nothing for infinite";
        require("initial_ssthresh", s, s >= 2.0 && s.is_finite(), expected)
    }
}

impl OpeningParams {
    /// Returns the initial window in whole segments of `mss` bytes.
    pub(crate) fn window(&self, mss: u32) -> f64 {
        let by_bytes = |most: u32, bytes: u32| (most * mss).min((2 * mss).max(bytes)) / mss;
        let segments = match self.initial_window {
            InitialWindow::Segments(n) => n,
            InitialWindow::Rfc5681 if mss <= 1095 => 4,
            InitialWindow::Rfc5681 if mss <= 2190 => 3,
            InitialWindow::Rfc5681 => 2,
            InitialWindow::Rfc3390 => by_bytes(4, 4380),
            InitialWindow::Rfc6928 => by_bytes(10, 14_600),
        };
        f64::from(segments)
    }
}

words! {
    /// The first window.
    pub enum InitialWindow {
        /// A number of segments.
        "segments" Segments(u32),
        /// 4 segments if MSS <= 1095, 3 if MSS <= 2190, otherwise 2.   Source: RFC 5681 §3.1.
        "rfc5681" Rfc5681,
        /// min(4 MSS, max(2 MSS, 4380 bytes)).   Source: RFC 3390.
        "rfc3390" Rfc3390,
        /// min(10 MSS, max(2 MSS, 14600 bytes)).   Source: RFC 6928.
        "rfc6928" Rfc6928,
    }
}
