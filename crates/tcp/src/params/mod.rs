//! The parameters of a TCP stack, grouped by the machine that reads them.

mod axes;
mod ecn;
mod ledbat;
mod window;

pub use axes::{
    Bbr3Form, CongestionControl, CubicForm, CwndValidation, HyStart, IdleRestart, InitialWindow, LossDetection, MinRto,
    Pacing, PragueCut, PragueRtt, Recovery, Reduction, RttSource, Undo,
};
pub use ecn::{DctcpForm, EcnFeedback, Ect, EctOn};
pub use ledbat::LedbatParams;
pub(crate) use window::MOST as MOST_WINDOW;
pub use window::{ReceiveWindow, Rmem};

use crate::segment::Segment;
use packet::{Ecn, Flags};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Duration;

/// Bytes of a whole AccECN option, padded.
const ACCECN_BYTES: u32 = 12;

/// A whole TCP stack: shared by all endpoints that use it, never copied per flow.
///
/// Defaults are those of the preset `linux-6`; see [`TcpParams::preset`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TcpParams {
    // ---- the wire: segments, capture files
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

    // ---- endpoint: opening and end
    /// Three-way handshake and FIN. Off as in ns-2's one-way agents: both ends are established at once, no FIN is sent,
    /// and a closed side is done when all it wrote is acknowledged.
    pub handshake: bool,
    /// The client's ACK of the SYN-ACK leaves on its own, before the data that waits, as in ns-2's FullTcp and over sockets;
    /// otherwise the data carries it.
    pub bare_handshake_ack: bool,
    /// The FIN leaves on its own when all data is acknowledged, as ns-2's FullTcp sends it, instead of with the last data.
    pub fin_after_data: bool,
    /// RTO before the first sample; also the first wait of a SYN.
    pub initial_rto: Duration,
    /// Largest wait between two SYNs.
    pub max_syn_rto: Duration,
    /// The first n timeouts of the active side's SYN do not double the wait, nor count as retries (Linux since 6.5: 4).
    pub syn_linear_timeouts: u32,
    /// SYNs sent again before giving up; absent: never gives up.
    pub syn_retries: Option<u32>,
    /// A lost SYN makes the first window one segment.   Source: RFC 5681 §3.1.
    pub syn_loss_restricts: bool,
    /// Timeouts in a row of the same data before giving up; absent: never gives up.
    pub retries: Option<u32>,

    // ---- sender: what may be sent, and when the window may grow
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
    /// What happens after silence.
    pub idle_restart: IdleRestart,
    /// Small segments wait while anything is unacknowledged.   Source: RFC 896.
    pub nagle: bool,
    /// Segments leave at a pace with every controller, by the queue discipline fq or by TCP itself: twice the window in a round trip
    /// below half of ssthresh, 1.2 times it from there on. Controllers with a rate of their own keep theirs.
    /// Source: Linux' tcp_pacing_ss_ratio, tcp_pacing_ca_ratio.
    pub paced: bool,
    /// How a pace is kept.
    pub pacing: Pacing,
    /// Most segments that a host hands to its device at once: what its offload engine would cut. Above 1 their number follows the
    /// pacing rate (TSO autosizing: 1/1024 s of it, at least two, at most 64 kB), and a sender waits for an ACK rather than send fewer.
    /// 1: single segments; Linux: 65535.   Source: ip-link(8), gso_max_segs.
    pub gso_max_segs: u32,
    /// Segmentation offload: a burst leaves as one packet, which queues see whole, until something cuts it. It counts the headers of
    /// each segment, and has at most 65535 bytes with them (43 segments of 1448; Linux: 45, which count one header). What is sent again
    /// leaves so, too, as far as it follows on. Receivers acknowledge it once (GRO). Needs `gso_max_segs` above 1.
    pub tso: bool,
    /// TCP small queues: the sender's host is the bottleneck, as where a queue discipline and the program run on one machine. Of each
    /// connection at most two bursts, or 1/1024 s of the pacing rate if that is more, are in the first link of its node (queue and
    /// transmission); twice that to repair losses. The rest waits in the socket. Off: as of a sender behind another host.
    /// Source: Linux' tcp_small_queue_check, tcp_limit_output_bytes (4 MB).
    pub tsq: bool,
    /// ECN: asked for by a client, accepted by a server.   Source: RFC 3168; RFC 9768 with `ecn_feedback = "accecn"`.
    pub ecn: bool,
    /// How ECN-capable packets say so. Absent: `ect1` for prague, else `ect0`.
    pub ect: Option<Ect>,
    /// Which packets are ECN-capable. Absent: `all` for dctcp and prague, `established` with `ecn_feedback = "accecn"` (Linux), else
    /// `data`.
    pub ect_on: Option<EctOn>,

    // ---- cc: the controller
    /// Congestion controller.
    pub congestion_control: CongestionControl,
    /// Whose CUBIC `congestion_control = "cubic"` is.
    pub cubic_form: CubicForm,
    /// Whose BBR `congestion_control = "bbr3"` is.
    pub bbr3_form: Bbr3Form,
    /// Multiplicative decrease: what is left of the window. Absent: 0.5 for reno and ledbat, 0.7 for cubic (717/1024 in Linux' form),
    /// 819/1024 for cubic-2.6.22.
    pub beta: Option<f64>,
    /// What a CE mark leaves of the window, with reno and cubic, outside slow start: 0.8 or 0.85 (alternative backoff). Absent: as a
    /// loss.   Source: RFC 8511 §3.
    pub beta_ecn: Option<f64>,
    /// Whose DCTCP `congestion_control = "dctcp"` is.
    pub dctcp_form: DctcpForm,
    /// When short round trips make Prague slower.   Source: L4STeam, tcp_prague.c.
    pub prague_rtt: PragueRtt,
    /// When Prague's window may be cut again.
    pub prague_cut: PragueCut,
    /// CUBIC's C, segments/s^3.   Source: RFC 9438 §4.1: 0.4.
    pub cubic_c: f64,
    /// CUBIC's fast convergence.   Source: RFC 9438 §4.7.
    pub fast_convergence: bool,
    /// CUBIC never grows slower than Reno would.   Source: RFC 9438 §4.3.
    pub tcp_friendliness: bool,
    /// Slow start exit.
    pub hystart: HyStart,
    /// Parameters of LEDBAT, for `congestion_control = "ledbat"`.
    pub ledbat: LedbatParams,
    /// The window is whole segments (Linux): a reduction drops its fraction and that of ssthresh, and Reno counts acknowledged
    /// segments up to it.
    pub whole_segments: bool,

    // ---- detection: what is lost
    /// Loss recovery.
    pub recovery: Recovery,
    /// What tells a lost segment.
    pub loss_detection: LossDetection,
    /// Duplicate ACKs (or discontiguous SACKed runs) that mean a loss. 3.
    pub dupthresh: u8,
    /// The first two duplicate ACKs let one new segment out each.   Source: RFC 3042.
    pub limited_transmit: bool,
    /// A timeout keeps what was SACKed (RFC 6675 §5.1 allows both; Linux keeps).
    pub keep_sack_after_rto: bool,

    // ---- reduction: how the window comes down
    /// Window reduction.
    pub reduction: Reduction,
    /// ssthresh is a share of FlightSize (RFC 5681) instead of the window (Linux, ns-2).
    pub reduce_from_flight: bool,
    /// The ACK that ends a reduction lets the window grow, too, by what it newly delivers (Linux).
    pub reduction_end_grows: bool,
    /// An ACK that tells of a mark counts for the reduction that it begins, instead of letting the window grow first; that reduction ends,
    /// and the next may begin, with an ACK of what was sent after it began, instead of with one of all that was sent before (Linux).
    pub marking_ack_reduces: bool,
    /// Every timeout lowers ssthresh anew, also one that follows another or interrupts a recovery (ns-2), instead of one for
    /// each loss (RFC 5681 §3.1).
    pub every_timeout_reduces: bool,

    // ---- undo: reductions that were for nothing
    /// What becomes of a reduction that proves spurious.
    pub undo: Undo,
    /// After a timeout, new data finds out whether it was spurious. Needs `loss_detection = "rack-tlp"`.   Source: RFC 5682 §3.1.
    pub frto: bool,

    // ---- rtt and timer: round trips, the retransmission timer, the clock they run on
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
    /// Where a round trip is read.
    pub rtt_source: RttSource,
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

    // ---- receiver: acknowledgements
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
    /// A segment with CWR is acknowledged at once: its sender's window may be one segment (Linux since 4.19).
    pub ack_cwr: bool,
    /// A segment with PSH is acknowledged at once (Linux since 6.6, for applications that read at once). Senders set PSH on what ends a
    /// burst of more than one segment, or all that was written.
    pub ack_pushed: bool,
    /// The receiver tells in the first SACK block what it has received twice.   Source: RFC 2883.
    pub dsack: bool,
    /// What its ACKs tell of CE marks.
    pub ecn_feedback: EcnFeedback,
    /// Segments carry AccECN's counters of bytes, too: 12 bytes of options, which the payload lacks (1436 bytes in 1500). They tell of
    /// marks where an ACK stands for more than seven segments. Needs `ecn_feedback = "accecn"`.   Source: RFC 9768 §3.2.3.
    pub accecn_option: bool,
    /// A segment's payload is handed to the application before its ACK is sent, as ns-2's FullTcp does: what the
    /// application sends in answer leaves first. Hosts that know no applications ignore it.
    pub ack_after_delivery: bool,
    /// The receiver's window: a size, which is constant, since applications read at once; or `auto`, a buffer that begins small and
    /// grows with what is read in a round trip. Packets of such connections carry their window.   Source: Linux' tcp_moderate_rcvbuf.
    pub receive_window: ReceiveWindow,
    /// Memory of a buffer with `receive_window = "auto"`. Absent: 131072 bytes, at most 6291456.   Source: Linux' tcp_rmem.
    pub rmem: Option<Rmem>,
}

impl TcpParams {
    /// Bytes of this segment on the wire: headers, options and payload. One that stands for several has the headers of each.
    pub fn wire_size(&self, segment: &Segment) -> u16 {
        if segment.gso_size == 0 {
            return self.segment_size(segment);
        }
        let header = self.segment_size(&Segment { len: 0, ..*segment });
        (u32::from(header) * segment.segments() + segment.len).min(u16::MAX.into()) as u16
    }

    /// The same of one that stands for itself only.
    #[inline]
    pub fn segment_size(&self, segment: &Segment) -> u16 {
        let options = if segment.flags.has(Flags::SYN) {
            self.syn_option_bytes
        } else {
            let stamp = if self.timestamps { self.timestamp_bytes } else { 0 };
            let sack =
                if self.sack_on_wire && !segment.sack.is_empty() { 4 + 8 * segment.sack.len() as u16 } else { 0 };
            stamp + sack
        };
        self.header_bytes + options + segment.accecn().wire_bytes() + segment.len as u16
    }

    /// Bytes on the wire of a full segment of data, with the options that all of them have.
    pub fn frame(&self) -> u16 {
        let option = if self.ecn && self.accecn_option { ACCECN_BYTES } else { 0 };
        (u32::from(self.segment_size(&Segment::default())) + option + self.mss).min(u16::MAX.into()) as u16
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

    /// The ECN field of packets that are ECN-capable.
    #[inline]
    pub(crate) fn codepoint(&self) -> Ecn {
        match (self.ect, self.congestion_control) {
            (Some(Ect::Ect1), _) | (None, CongestionControl::Prague) => Ecn::Ect1,
            _ => Ecn::Ect0,
        }
    }

    /// Which packets are ECN-capable.
    pub(crate) fn capable(&self) -> EctOn {
        self.ect_on.unwrap_or(match (self.congestion_control, self.ecn_feedback) {
            (CongestionControl::Dctcp | CongestionControl::Prague, _) => EctOn::All,
            (_, EcnFeedback::Accecn) => EctOn::Established,
            _ => EctOn::Data,
        })
    }

    /// The same stack, with the room that an AccECN option takes from every segment's payload.
    #[must_use]
    pub fn with_options(mut self) -> Self {
        if self.ecn && self.accecn_option {
            self.mss = self.mss.saturating_sub(ACCECN_BYTES).max(1);
        }
        self
    }

    /// Silence begins with an ACK, not with the last segment sent.
    #[inline]
    pub(crate) fn silence_from_ack(&self) -> bool {
        matches!(self.idle_restart, IdleRestart::InitialAfterAck | IdleRestart::OneAfterAck)
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

    /// The memory that the receiver's window is tuned in.
    pub fn receive_memory(&self) -> Rmem {
        self.rmem.unwrap_or_default()
    }

    /// The largest window that the receiver may ever announce, bytes.
    pub fn most_window(&self) -> u64 {
        let window = self.receive_window;
        if window.is_auto() { Rmem::payload(self.receive_memory().max.0) } else { window.bound() }
    }

    /// The window that a handshake announces, bytes: whole segments with their options, and not scaled.   Source: RFC 7323 §2.2.
    pub fn first_window(&self) -> u64 {
        if !self.receive_window.is_auto() {
            return self.receive_window.bound();
        }
        let stamp = if self.timestamps { u64::from(self.timestamp_bytes) } else { 0 };
        let (payload, segment) = (Rmem::payload(self.receive_memory().default.0), u64::from(self.mss) + stamp);
        (payload / segment * segment).min(0xffff)
    }

    /// How far a window is shifted in the header.   Source: RFC 7323 §2.3: at most 14; Linux, from the memory that it may grow to.
    pub fn window_scale(&self) -> u32 {
        let window = self.receive_window;
        let most = if window.is_auto() { self.receive_memory().max.0 } else { window.bound() };
        (0..14).find(|scale| most >> scale <= 0xffff).unwrap_or(14)
    }
}
