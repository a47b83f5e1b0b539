//! ACK policy of the receiver, and size of its window.

use super::group::{group, no, require, words};
use super::receive_window::{MOST, ReceiveWindow, Rmem};
use units::{Bytes, Duration, Problem};

group! {
    /// ACK policy of the receiver, and size of its window.
    pub struct ReceiverParams {
        /// Number n of data segments per ACK: every n-th segment is acknowledged at once. A segment that fills a hole
        /// is also acknowledged at once. So is a segment that arrives out of order, unless `sack_compression` delays
        /// its ACK.
        pub ack_every: u32 = 2,
        /// Largest delay of an ACK that waits for more segments. `timer_tick` rounds this delay up. ACKs wait if
        /// `ack_every` is above 1. In the preset `ns2-fulltcp-sack`, where `ack_every` is 1, the ACK of a segment shorter
        /// than the MSS also waits: until the bytes received since the last ACK fill `ack_every` segments of full size.
        pub delayed_ack: Duration = Duration::from_millis(40),
        /// Number of ACKs at the start of a connection that are not delayed (Linux's quickack).
        pub quick_acks: u32 = 16,
        /// If true, a segment with the flag PSH is acknowledged at once. Linux has done this since version 6.6 if the
        /// application reads at once. Senders set PSH on the last segment of a burst of several segments. A sender
        /// whose own `ack_pushed` is true also sets PSH on the last segment of the data that its application has
        /// written.
        pub ack_pushed: bool = false,
        /// Delay of the ACKs for segments that arrive out of order (Linux's SACK compression). The first three segments
        /// above a hole are acknowledged at once. From the fourth on, one ACK covers all segments that arrive during
        /// the delay. This ACK leaves early in two cases: with the 45th packet, or when a segment begins or extends the
        /// third SACK block or a later one. After a segment in order, the next three segments above a hole are again
        /// acknowledged at once.
        pub sack_compression: SackCompression = SackCompression::Linux619,
        /// If true, the receiver reports duplicate segments in the first SACK block (D-SACK).   Source: RFC 2883.
        pub dsack: bool = true,
        /// The receive window. If it is a number of bytes, the window is constant, as if applications read immediately.
        /// With `auto`, the receive buffer is small at first. It grows with the number of bytes that the application
        /// reads per round trip, and packets carry the current window. Source: Linux's tcp_moderate_rcvbuf.
        // the default is the maximum in Linux's default tcp_rmem, 6 MiB
        pub receive_window: ReceiveWindow = ReceiveWindow::fixed(Bytes(6_291_456)),
        /// Size of the receive buffer with `receive_window = "auto"`. Default: initially 131072 bytes, at most 6291456.
        /// Source: Linux's tcp_rmem.
        pub rmem: Option<Rmem> = None,
    }

    fn validate(&self) -> Result<(), Problem> {
        require("ack_every", 0, self.ack_every > 0, "at least 1")?;
        for (key, v) in [("ack_every", self.ack_every), ("quick_acks", self.quick_acks)] {
            require(key, v, v <= 255, "at most 255")?;
        }
        if self.ack_every > 1 && self.delayed_ack.is_zero() {
            return no("delayed_ack", "0s is not valid with ack_every above 1; expected a wait such as 40ms");
        }
        Ok(())
    }
}

words! {
    /// How long the ACKs of segments out of order wait.
    pub enum SackCompression {
        /// No delay: each segment out of order is acknowledged at once, as RFC 5681 recommends.
        "off" Off,
        /// 5 % of the round-trip time, but at most 1 ms, plus the timer's slack of 0.1 ms. Source: Linux 4.20 to early
        /// releases of 6.18, tcp_comp_sack_delay_ns and (since 5.8) tcp_comp_sack_slack_ns.
        "linux-4.20" Linux420,
        /// 33 % of the round-trip time, but at most 1 ms, plus the timer's slack of 0.01 ms. Source: Linux 6.19 and
        /// later releases of 6.18, tcp_comp_sack_rtt_percent.
        "linux-6.19" Linux619,
    }
}

impl SackCompression {
    /// Returns the delay of an ACK, or `None` if ACKs leave at once. `srtt` is the receiver's own estimate, which comes
    /// from the handshake alone if the receiver sends no data.
    pub(crate) fn delay(self, srtt: Duration) -> Option<Duration> {
        let (percent, slack) = match self {
            Self::Off => return None,
            Self::Linux420 => (5, Duration::from_micros(100)),
            Self::Linux619 => (33, Duration::from_micros(10)),
        };
        Some((srtt * percent / 100).min(Duration::from_millis(1)) + slack)
    }
}

impl ReceiverParams {
    /// Refuses a receive window, or with `auto` an `rmem`, that is too large or has no room for two segments. Also
    /// refuses an `rmem` with a constant window. A segment has `mss` bytes of payload and, with `auto`, a time stamp
    /// option of `stamp_bytes` bytes.
    pub(super) fn validate_window(&self, mss: u32, stamp_bytes: u16) -> Result<(), Problem> {
        // two segments must fit, so that a connection does not stall if only every second segment is acknowledged
        let segment = u64::from(mss);
        if !self.receive_window.is_auto() {
            let window = Bytes(self.receive_window.bound());
            let valid = (2 * segment..=MOST).contains(&window.0);
            require("receive_window", window, valid, "two segments to 2GiB")?;
            if self.rmem.is_some() {
                let message = "not valid with a constant receive_window; expected receive_window = \"auto\"";
                return no("rmem", message);
            }
            return Ok(());
        }
        // the memory must hold four segments with their options, because the first window must hold two, and only half
        // of the memory is for payload
        let Rmem { default, max } = self.memory();
        let least = 4 * (segment + u64::from(stamp_bytes));
        if least > 2 * 0xffff {
            return no("receive_window", "\"auto\" is not valid with such an mss: two segments exceed 65535");
        }
        let four = format!("{least}B (four segments) to 2GiB");
        require("rmem.default", default, (least..=MOST).contains(&default.0), four)?;
        let more = format!("{default} (rmem.default) to 2GiB");
        require("rmem.max", max, (default..=Bytes(MOST)).contains(&max), more)
    }

    /// Returns the initial and the maximum memory of a receive buffer that grows on demand.
    pub(crate) fn memory(&self) -> Rmem {
        self.rmem.unwrap_or_default()
    }

    /// Returns the maximum receive window in bytes, before it is rounded to a multiple of 2^scale.
    pub fn most_window(&self) -> u64 {
        let window = self.receive_window;
        if window.is_auto() { Rmem::payload(self.memory().max.0) } else { window.bound() }
    }

    /// Returns the window scale, at most 14: the number of bits by which the window field is shifted (RFC 7323 §2.3).
    /// As in Linux, an `auto` window has a scale that fits the maximum memory. A constant window has a scale that fits
    /// the window.
    pub fn window_scale(&self) -> u32 {
        let window = self.receive_window;
        let most = if window.is_auto() { self.memory().max.0 } else { window.bound() };
        (0..14).find(|scale| most >> scale <= 0xffff).unwrap_or(14)
    }
}
