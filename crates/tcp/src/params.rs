//! The axes of a TCP stack.

use crate::Segment;
use crate::cc::LedbatParams;
use packet::Flags;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Problem};

/// Which congestion controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CongestionControl {
    /// Additive increase, multiplicative decrease.   Source: RFC 5681 §3.1.
    #[serde(rename = "reno")]
    Reno,
    /// CUBIC, in the form that `cubic_form` names.   Source: RFC 9438; Linux 6.
    #[serde(rename = "cubic")]
    Cubic,
    /// CUBIC 2.1 of Linux 2.6.22, as ns-2's Agent/TCP/Linux runs it.
    #[serde(rename = "cubic-2.6.22")]
    Cubic2622,
    /// Low extra delay background transport: yields to other traffic, by one-way delay. Needs `timestamps`.   Source: RFC 6817.
    #[serde(rename = "ledbat")]
    Ledbat,
    /// BBR version 1: a model of the path, paced.   Source: draft-cardwell-iccrg-bbr-congestion-control-00.
    #[serde(rename = "bbr")]
    Bbr,
}

/// Whose CUBIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CubicForm {
    /// As standardised.   Source: RFC 9438 §4.
    Rfc9438,
    /// As Linux 6 runs it: in whole segments, aimed by the least RTT, never above Reno's slope of 3 (1 - beta) / (1 + beta) in
    /// Reno's region, W_max forgotten at a timeout.   Source: Ha, Rhee & Xu 2008.
    Linux,
}

/// How slow start ends before a loss. Only CUBIC asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HyStart {
    /// By loss or at ssthresh only.
    Off,
    /// Linux' HyStart: ACK trains and delay increase.   Source: Ha & Rhee 2008.
    Hystart,
}

/// How losses are found and repaired after duplicate ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// Fast retransmit, fast recovery left at the first new ACK.   Source: RFC 5681 §3.2; guard against repeated fast
    /// retransmits in one window as ns-2's `bugFix_`.
    Reno,
    /// Partial ACKs retransmit the next hole; the impatient variant of the timer.   Source: RFC 6582.
    Newreno,
    /// Scoreboard: pipe, IsLost, NextSeg (1)-(4), rescue retransmission.   Source: RFC 6675.
    Sack,
}

/// What tells a lost segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossDetection {
    /// DupThresh duplicate ACKs, or as much SACKed above it. A retransmission that is lost, too, waits for the timeout.
    /// Source: RFC 5681 §3.2, RFC 6675 §4.
    Dupthresh,
    /// As ns-2's Agent/TCP/Linux, with DupThresh 4. A segment is lost when the highest one SACKed lies DupThresh above it, holes
    /// counted (FACK). A retransmission is lost when something is SACKed that was new after it, or when one more than DupThresh
    /// retransmissions later has been delivered. What is SACKed makes room at once, without limit. A loss found after a timeout
    /// reduces again; the end of a recovery forgets what was SACKed above it, that of a timeout's repair takes the window to
    /// ssthresh, but not above in flight + 3. Needs recovery by SACK.   Source: Mathis & Mahdavi 1996; traces of ns-2 2.35.
    ForwardAck,
    /// Time: something that was sent later has been delivered, and a reordering window has passed. A flight whose end is lost
    /// is probed after two round trips. Needs recovery by SACK.   Source: RFC 8985.
    RackTlp,
}

/// How a sender that paces keeps its rate. Only BBR paces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pacing {
    /// What leaves costs its payload at the pacing rate, from the moment when it leaves.   Source:
    /// draft-cardwell-iccrg-bbr-congestion-control-00 §4.2.1.
    Exact,
    /// Linux' own, without the queue discipline fq: a burst that leaves late, for want of window or of an ACK, gets its lateness
    /// back, up to half its cost. The first ten segments are not paced.   Source: Linux tcp_output.c.
    LinuxInternal,
}

/// How the window gets from its old size to ssthresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reduction {
    /// At once.   Source: RFC 5681, RFC 6675.
    Instant,
    /// One segment for every two ACKs, never above in flight + 1.   Source: Mathis, Semke & Mahdavi 1999; Linux 2.6.
    RateHalving,
    /// The window is ssthresh at once, but what is in flight may only fall by one segment for every two ACKs until it
    /// gets there.   Source: ns-2's Agent/TCP/Linux.
    HeldRateHalving,
    /// Proportional rate reduction: conserves packets once what is in flight is below ssthresh, and slow starts back to it on
    /// ACKs of progress.   Source: RFC 9937; Linux.
    Prr,
}

/// What becomes of a reduction that proves to have been for nothing. Needs `loss_detection = "rack-tlp"`, as `frto` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Undo {
    /// It stands.
    None,
    /// The window and ssthresh are again what they were, once D-SACK has told of everything that was sent again, or a time
    /// stamp says that the first original arrived.   Source: RFC 2883, RFC 3522, RFC 4015 as in Linux.
    Linux,
}

/// The first window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InitialWindow {
    /// This many segments.
    Segments(u32),
    /// MSS <= 1095: 4 segments, <= 2190: 3, else 2.   Source: RFC 5681 §3.1.
    Rfc5681,
    /// min(4 MSS, max(2 MSS, 4380 bytes)).   Source: RFC 3390.
    Rfc3390,
    /// min(10 MSS, max(2 MSS, 14600 bytes)).   Source: RFC 6928.
    Rfc6928,
}

/// When the window has been used enough to grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CwndValidation {
    /// Always.   Source: ns-2's one-way agents and FullTcp.
    Off,
    /// In rounds that it limited; in slow start half of it is enough.   Source: RFC 7661; Linux.
    Round,
    /// When what was in flight before the ACK filled it.   Source: Linux 2.6 without offloads; ns-2's Agent/TCP/Linux.
    Full,
}

/// What the minimum RTO bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MinRto {
    /// The whole: RTO = max(min, SRTT + max(G, 4 RTTVAR)). It counts from the last ACK of new data, also after a probe's or a
    /// reordering window's timer.   Source: RFC 6298 §2 and §5.3.
    Total,
    /// The variation: RTO = SRTT + max(min, 4 RTTVAR). With `rack-tlp`, what another purpose has left of it counts from when the
    /// first segment was sent last.   Source: Linux.
    Variation,
}

/// What happens to the window after silence longer than one RTO.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IdleRestart {
    /// Nothing.
    Off,
    /// cwnd = min(initial window, cwnd).   Source: RFC 5681 §4.1; ns-2 `slow_start_restart_`.
    Restart,
    /// Halved for every RTO of silence, not below the initial window; ssthresh remembers 3/4 of it.   Source: RFC 2861; Linux.
    Decay,
    /// cwnd = initial window, when an RTO has passed since the ACK that left nothing outstanding, not since the last
    /// segment sent.   Source: ns-2's Agent/TCP/Linux, whose timer goes on running in silence.
    InitialAfterAck,
    /// cwnd = 1 segment, by the same clock.   Source: ns-2's other one-way agents (`restart_bugfix_`).
    OneAfterAck,
}

/// A whole TCP stack: shared by all endpoints that use it, never copied per flow.
///
/// Defaults are those of the preset `linux-6`; see [`TcpParams::preset`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TcpParams {
    /// Most payload in a segment, bytes.
    pub mss: u32,
    /// IP and TCP header without options, bytes. 40 for IPv4.
    pub header_bytes: u16,
    /// Bytes that the timestamp option adds to every segment when `timestamps` is on: 12 in reality, 10 in ns-2.
    pub timestamp_bytes: u16,
    /// Bytes of all options of a SYN or SYN-ACK: 20 in Linux, 10 in ns-2 with timestamps.
    pub syn_option_bytes: u16,
    /// SACK blocks take room on the wire: 4 + 8 n bytes.
    pub sack_on_wire: bool,
    /// Round trips are measured with timestamps instead of one send time per segment and Karn's rule.   Source: RFC 7323.
    pub timestamps: bool,
    /// Three-way handshake and FIN. Off as in ns-2's one-way agents: both ends are established at once, no FIN is sent,
    /// and a closed side is done when all it wrote is acknowledged.
    pub handshake: bool,

    /// First window.
    pub initial_window: InitialWindow,
    /// First slow start threshold in segments; absent: infinite.
    pub initial_ssthresh: Option<f64>,
    /// Largest window used in segments (ns-2's `window_`); absent: the receiver's.
    pub window_clamp: Option<u32>,
    /// Most segments that one ACK counts for when the window grows: 1 is RFC 5681, 2 is RFC 3465.
    pub abc_limit: u32,
    /// Whether the window grows only if it is used.
    pub cwnd_validation: CwndValidation,
    /// Congestion controller.
    pub congestion_control: CongestionControl,
    /// Whose CUBIC `congestion_control = "cubic"` is.
    pub cubic_form: CubicForm,
    /// Multiplicative decrease: what is left of the window. Absent: 0.5 for reno and ledbat, 0.7 for cubic (717/1024 in Linux' form),
    /// 819/1024 for cubic-2.6.22.
    pub beta: Option<f64>,
    /// CUBIC's C, segments/s^3.   Source: RFC 9438 §4.1: 0.4.
    pub cubic_c: f64,
    /// CUBIC's fast convergence.   Source: RFC 9438 §4.7.
    pub fast_convergence: bool,
    /// CUBIC never grows slower than Reno would.   Source: RFC 9438 §4.3.
    pub tcp_friendliness: bool,
    /// Slow start exit.
    pub hystart: HyStart,
    /// How BBR keeps its rate.
    pub pacing: Pacing,
    /// Parameters of LEDBAT, for `congestion_control = "ledbat"`.
    pub ledbat: LedbatParams,
    /// ssthresh is a share of FlightSize (RFC 5681) instead of the window (Linux, ns-2).
    pub reduce_from_flight: bool,
    /// The window is whole segments (Linux): a reduction drops its fraction and that of ssthresh, and Reno counts acknowledged
    /// segments up to it.
    pub whole_segments: bool,
    /// The ACK that ends a reduction lets the window grow, too, by what it newly delivers (Linux).
    pub reduction_end_grows: bool,

    /// Loss recovery.
    pub recovery: Recovery,
    /// Window reduction.
    pub reduction: Reduction,
    /// Duplicate ACKs (or discontiguous SACKed runs) that mean a loss. 3.
    pub dupthresh: u8,
    /// What tells a lost segment.
    pub loss_detection: LossDetection,
    /// The first two duplicate ACKs let one new segment out each.   Source: RFC 3042.
    pub limited_transmit: bool,
    /// A timeout keeps what was SACKed (RFC 6675 §5.1 allows both; Linux keeps).
    pub keep_sack_after_rto: bool,
    /// The receiver tells in the first SACK block what it has received twice.   Source: RFC 2883.
    pub dsack: bool,
    /// What becomes of a reduction that proves spurious, with `rack-tlp`.
    pub undo: Undo,
    /// After a timeout, new data finds out whether it was spurious, with `rack-tlp`.   Source: RFC 5682 §3.1.
    pub frto: bool,
    /// What happens after silence.
    pub idle_restart: IdleRestart,
    /// Small segments wait while anything is unacknowledged.   Source: RFC 896.
    pub nagle: bool,
    /// The FIN leaves on its own when all data is acknowledged, as ns-2's FullTcp sends it, instead of with the last data.
    pub fin_after_data: bool,
    /// The client's ACK of the SYN-ACK leaves on its own, before the data that waits, as in ns-2's FullTcp and over sockets;
    /// otherwise the data carries it.
    pub bare_handshake_ack: bool,
    /// ECN.   Source: RFC 3168.
    pub ecn: bool,

    /// Clock granularity G.   ns-2: `tcpTick_` 10 ms.
    pub clock_granularity: Duration,
    /// Tick of the wheel that the stack's timers hang on, which makes them late by up to an eighth: 1 ms is Linux at HZ 1000. 0s: exact.
    /// Source: LWN, "Reinventing the timer wheel".
    pub timer_tick: Duration,
    /// Measured round trips are whole numbers of G, at least one (ns-2).
    pub quantise_rtt: bool,
    /// Smallest RTO.
    pub min_rto: Duration,
    /// What `min_rto` bounds.
    pub min_rto_bounds: MinRto,
    /// Largest RTO of data, backoff included.
    pub max_rto: Duration,
    /// Most doublings of the RTO: 6 in ns-2 and BSD (64 times); elsewhere only `max_rto` ends them (16).
    pub backoff_doublings: u8,
    /// Every ACK gives a round trip, duplicates too: the receiver echoes the newest time stamp it got, out of order or not (ns-2's
    /// sinks), instead of that of the segment which it acknowledges (RFC 7323 §4.3). Needs `timestamps`.
    pub rtt_from_every_ack: bool,
    /// A round trip below SRTT raises RTTVAR by an eighth of what one above it would.   Source: Linux' estimator, which ns-2's
    /// Agent/TCP/Linux has.
    pub damped_rttvar: bool,
    /// A doubled RTO stays doubled until data is acknowledged that was first sent after the timeout (Karn & Partridge 1987;
    /// ns-2), instead of until the next round-trip sample.
    pub backoff_until_new_data: bool,
    /// Every ACK restarts the retransmission timer, duplicates too (ns-2's Agent/TCP/Linux), instead of those of new data
    /// (RFC 6298 §5.3).
    pub any_ack_restarts_timer: bool,
    /// Every timeout lowers ssthresh anew, also one that follows another or interrupts a recovery (ns-2), instead of one for
    /// each loss (RFC 5681 §3.1).
    pub every_timeout_reduces: bool,
    /// RTO before the first sample; also the first wait of a SYN.
    pub initial_rto: Duration,
    /// Largest wait between two SYNs.
    pub max_syn_rto: Duration,
    /// The first n timeouts of the active side's SYN do not double the wait, nor count as retries (Linux since 6.5: 4).
    pub syn_linear_timeouts: u32,
    /// SYNs sent again before giving up; absent: never gives up.
    pub syn_retries: Option<u32>,
    /// Timeouts in a row of the same data before giving up; absent: never gives up.
    pub retries: Option<u32>,
    /// A lost SYN makes the first window one segment.   Source: RFC 5681 §3.1.
    pub syn_loss_restricts: bool,

    /// Every n-th data segment is acknowledged at once; 1: all. Out-of-order and hole-filling ones always are.
    pub ack_every: u32,
    /// `ack_every` counts full segments' worth of bytes, so that a short segment alone waits for `delayed_ack` (ns-2's
    /// FullTcp), instead of segments of any size.
    pub short_segments_wait: bool,
    /// Longest wait of an ACK when `ack_every` > 1, or of a short segment's.
    pub delayed_ack: Duration,
    /// The first n ACKs of data leave at once (Linux quickack).
    pub quick_acks: u32,
    /// They do so again: `quick_acks` of them after a segment that had been received before, and after a pause longer than the RTO
    /// (told by time stamps); two after a CE mark that begins an echo (Linux).
    pub quick_acks_return: bool,
    /// A segment's payload is handed to the application before its ACK is sent, as ns-2's FullTcp does: what the
    /// application sends in answer leaves first. Hosts that know no applications ignore it.
    pub ack_after_delivery: bool,
    /// The receiver's window; constant, since applications read at once.
    pub receive_window: Bytes,
}

impl Default for TcpParams {
    fn default() -> Self {
        crate::presets::linux_6()
    }
}

impl TcpParams {
    /// Bytes of this segment on the wire: headers, options and payload.
    #[inline]
    pub fn wire_size(&self, segment: &Segment) -> u16 {
        let options = if segment.flags.has(Flags::SYN) {
            self.syn_option_bytes
        } else {
            let stamp = if self.timestamps { self.timestamp_bytes } else { 0 };
            let sack =
                if self.sack_on_wire && !segment.sack.is_empty() { 4 + 8 * segment.sack.len() as u16 } else { 0 };
            stamp + sack
        };
        self.header_bytes + options + segment.len as u16
    }

    /// The first window in whole segments.
    pub fn initial_window_segments(&self) -> f64 {
        let mss = self.mss;
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

    /// The share of the window that a congestion event leaves.
    #[inline]
    pub fn beta(&self) -> f64 {
        self.beta.unwrap_or(match self.congestion_control {
            CongestionControl::Reno | CongestionControl::Ledbat => 0.5,
            CongestionControl::Cubic => match self.cubic_form {
                CubicForm::Rfc9438 => 0.7,
                CubicForm::Linux => 717.0 / 1024.0,
            },
            CongestionControl::Cubic2622 => 819.0 / 1024.0,
            // not asked: the model sets the window
            CongestionControl::Bbr => 1.0,
        })
    }

    /// Whether the controller reads the time stamps of the ACKs that it gets: then a host must carry them.
    pub fn reads_ack_time(&self) -> bool {
        self.congestion_control == CongestionControl::Ledbat
    }

    /// Silence begins with an ACK, not with the last segment sent.
    #[inline]
    pub(crate) fn silence_from_ack(&self) -> bool {
        matches!(self.idle_restart, IdleRestart::InitialAfterAck | IdleRestart::OneAfterAck)
    }

    /// Losses are found by forward acknowledgement.
    #[inline]
    pub(crate) fn forward_ack(&self) -> bool {
        self.loss_detection == LossDetection::ForwardAck
    }

    /// Losses are found by time.
    #[inline]
    pub(crate) fn rack(&self) -> bool {
        self.loss_detection == LossDetection::RackTlp
    }

    /// Most SACK blocks in a segment: three beside a timestamp, four without.   Source: RFC 2018 §3.
    #[inline]
    pub(crate) fn sack_blocks(&self) -> usize {
        match (self.recovery, self.timestamps) {
            (Recovery::Sack, true) => 3,
            (Recovery::Sack, false) => 4,
            _ => 0,
        }
    }

    /// Refuses what no connection could run with.
    ///
    /// Errors: the first field out of range, with its name and what would be valid.
    pub fn validate(&self) -> Result<(), Problem> {
        let no = |path: &str, message: String| Err(Problem::new(path, message));
        // 40 bytes of options and 20 + 20 of headers must fit beside the payload into 65535
        if !(1..=65_000).contains(&self.mss) {
            return no("mss", format!("{} is not valid; expected 1 to 65000 bytes", self.mss));
        }
        for (name, v) in [
            ("header_bytes", self.header_bytes),
            ("timestamp_bytes", self.timestamp_bytes),
            ("syn_option_bytes", self.syn_option_bytes),
        ] {
            if v > 200 {
                return no(name, format!("{v} is not valid; expected at most 200 bytes"));
            }
        }
        if u32::from(self.header_bytes) + u32::from(self.timestamp_bytes) + 36 + self.mss > 65_535 {
            return no("mss", format!("{} plus headers is more than an IP packet's 65535 bytes", self.mss));
        }
        if let InitialWindow::Segments(n) = self.initial_window
            && !(1..=1_000_000).contains(&n)
        {
            return no("initial_window", format!("{n} is not valid; expected 1 to 1000000 segments"));
        }
        if let Some(s) = self.initial_ssthresh
            && !(s >= 2.0 && s.is_finite())
        {
            return no(
                "initial_ssthresh",
                format!("{s} is not valid; expected at least 2 segments, or nothing for infinite"),
            );
        }
        if self.window_clamp == Some(0) {
            return no("window_clamp", "0 is not valid; expected at least 1 segment, or nothing".into());
        }
        for (name, v) in
            [("abc_limit", self.abc_limit), ("dupthresh", self.dupthresh.into()), ("ack_every", self.ack_every)]
        {
            if v == 0 {
                return no(name, "0 is not valid; expected at least 1".into());
            }
        }
        for (name, v) in [("ack_every", self.ack_every), ("quick_acks", self.quick_acks)] {
            if v > 255 {
                return no(name, format!("{v} is not valid; expected at most 255"));
            }
        }
        if let Some(b) = self.beta
            && !(0.05..=0.99).contains(&b)
        {
            return no("beta", format!("{b} is not valid; expected 0.05 to 0.99"));
        }
        if !(self.cubic_c > 0.0 && self.cubic_c <= 100.0) {
            return no("cubic_c", format!("{} is not valid; expected more than 0, at most 100", self.cubic_c));
        }
        self.ledbat.validate().map_err(|p| p.under("ledbat"))?;
        if self.reads_ack_time() && !self.timestamps {
            return no("timestamps", "false is not valid with ledbat: it measures delay with time stamps".into());
        }
        if self.congestion_control == CongestionControl::Bbr && self.recovery != Recovery::Sack {
            return no("recovery", "bbr models the path from SACK; expected recovery = \"sack\"".into());
        }
        if self.forward_ack() && self.recovery != Recovery::Sack {
            return no("loss_detection", "forward-ack is not valid without SACK; expected recovery = \"sack\"".into());
        }
        if self.rack() && self.recovery != Recovery::Sack {
            return no("loss_detection", "rack-tlp is not valid without SACK; expected recovery = \"sack\"".into());
        }
        self.validate_timers()
    }

    fn validate_timers(&self) -> Result<(), Problem> {
        let no = |path: &str, message: String| Err(Problem::new(path, message));
        let ms = Duration::from_millis(1);
        for (name, v) in [("min_rto", self.min_rto), ("initial_rto", self.initial_rto)] {
            if v < ms || v > Duration::from_secs(3600) {
                return no(name, format!("{v} is not valid; expected 1ms to 1h"));
            }
        }
        for (name, v, least) in
            [("max_rto", self.max_rto, self.min_rto), ("max_syn_rto", self.max_syn_rto, self.initial_rto)]
        {
            if v < least || v > Duration::from_secs(86_400) {
                return no(name, format!("{v} is not valid; expected {least} to 24h"));
            }
        }
        if self.backoff_doublings > 16 {
            return no("backoff_doublings", format!("{} is not valid; expected at most 16", self.backoff_doublings));
        }
        if self.timer_tick > Duration::from_millis(100) {
            return no(
                "timer_tick",
                format!("{} is not valid; expected at most 100ms, or 0s for exact timers", self.timer_tick),
            );
        }
        if self.clock_granularity > Duration::from_secs(10) {
            return no("clock_granularity", format!("{} is not valid; expected at most 10s", self.clock_granularity));
        }
        if self.quantise_rtt && self.clock_granularity.is_zero() {
            return no("clock_granularity", "0s is not valid with quantise_rtt; expected a tick such as 10ms".into());
        }
        if (self.ack_every > 1 || self.short_segments_wait) && self.delayed_ack.is_zero() {
            let with = if self.ack_every > 1 { "ack_every above 1" } else { "short_segments_wait" };
            return no("delayed_ack", format!("0s is not valid with {with}; expected a wait such as 40ms"));
        }
        // Two segments in flight keep a connection going with every second one acknowledged.
        if self.receive_window.0 < 2 * u64::from(self.mss) || self.receive_window.0 > 1 << 31 {
            return no(
                "receive_window",
                format!("{} is not valid; expected two segments to 2GiB", self.receive_window),
            );
        }
        Ok(())
    }
}
