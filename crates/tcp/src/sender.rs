//! The sending half: processes acknowledgements, decides what may be sent, and handles timeouts.
//!
//! ```text
//!            a loss is detected                 ECN echo
//!   Recovery <------------------ Open ------------------> Cwr ---> Recovery (a loss; no second reduction)
//!      |  una >= recover          ^ ^                      | una >= recover (una > recover with `marking_ack_reduces`)
//!      +--------------------------+ +----------------------+
//!   Loss <--- timeout, from any state;  Loss ---> Open at una >= recover
//!   Loss ---> Recovery when RACK finds a lost retransmission, or FACK any loss
//!   Recovery, Loss ---> Open if they prove spurious;  with `recovery = "reno"`, any ACK of new data ends a recovery
//! ```
//!
//! The window is `floor(cwnd)` segments of MSS bytes, at least one. It limits the bytes in flight. (Some reductions set
//! another limit. For duplicate ACKs in the state Open, see [`Detection::counts_outstanding`].) With SACK, the bytes in
//! flight are RFC 6675's pipe. Without SACK, one MSS per duplicate ACK is subtracted from pipe during a recovery, which
//! is equivalent to RFC 5681's window inflation.
//!
//! Source: RFC 5681, RFC 6582, RFC 6675, RFC 3042, RFC 3168 §6.1.2, RFC 6298 §5.
//! Departs: with loss detection by DupThresh, the first outstanding segment is marked as lost when a recovery starts,
//! even if IsLost is false for it (RFC 6675 leaves this to IsLost). After duplicate ACKs for short segments, pipe is
//! therefore smaller than in the RFC by this segment. After a timeout, the lost segments are resent in order as the
//! window opens. If SACK is off, or its information was discarded, this is go-back-N.

mod ack;
mod output;
mod pacing;
mod rack;
mod rates;
mod recovery;
mod undo;

use crate::burst::Bursts;
use crate::cc::Controller;
use crate::cc::control::{Needs, Turn, Window};
use crate::delivery::Sampler;
use crate::detection::Detection;
use crate::pacer::Pacer;
use crate::params::TcpParams;
use crate::receiver::Receiver;
use crate::reduction::ReductionState;
use crate::rtt::Rtt;
use crate::scoreboard::Scoreboard;
use crate::segment::Segment;
use crate::stats::{Counters, State};
use crate::timer::Timer;
use crate::undo::Undo;
use units::{LINE, Time, prefetch};

/// The arguments shared by many of the sender's methods.
pub(crate) struct Context<'a, I> {
    pub(crate) p: &'a TcpParams,
    pub(crate) now: Time,
    pub(crate) rx: &'a mut Receiver,
    pub(crate) stats: &'a mut Counters,
    pub(crate) io: &'a mut I,
}

/// The state of the delivery-rate estimate, pacing and bursts. A flow has this state only if it uses at least one of
/// the three, if its controller has a timer, or if a program has set its pacing rate ([`crate::Steer`]).
#[derive(Clone, Debug)]
pub(crate) struct PacingAndRate {
    rates: Option<Sampler>,
    pacer: Pacer,
    /// Maximum payload of a new segment, if the controller sets one below the MSS; otherwise 0.
    max_payload: u16,
    bursts: Option<Bursts>,
}

impl PacingAndRate {
    fn new(p: &TcpParams, Needs { rates, timer, .. }: Needs) -> Option<Box<Self>> {
        let bursts =
            (p.pacing.paced || p.pacing.gso_max_segs > 1 || p.receiver.ack_pushed || p.pacing.tsq).then(Bursts::new);
        (rates || timer || bursts.is_some()).then(|| {
            let rates = rates.then(Sampler::default);
            Box::new(Self { rates, pacer: Pacer::new(p.pacing.pacing), max_payload: 0, bursts })
        })
    }
}

/// Value of `end` for an endless stream.
const ENDLESS: u64 = u64::MAX;

/// The sending half of an endpoint. If few segments are outstanding, the processing of an ACK uses five cache lines.
/// They hold the stream and its window, the RTT estimate, the pointers to controller and loss detection, the
/// scoreboard's counters, and its array of up to four entries. A sixth line holds the scoreboard's ring, which is used
/// if there are more entries. The fields that only a few ACKs need come last.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Sender {
    /// SND.UNA: the first unacknowledged byte.
    pub(crate) una: u64,
    /// SND.NXT: the next new byte.
    pub(crate) next: u64,
    /// End of the data written by the application.
    end: u64,
    /// Time at which the retransmission timer expires.
    pub(crate) rto_at: Time,
    pub(crate) window: Window,
    dupacks: u32,
    /// Number of consecutive timeouts without progress.
    pub(crate) timeouts: u16,
    /// True if the application has closed its side.
    closing: bool,
    fin_sent: bool,
    /// True if the next new segment must carry CWR.
    cwr_due: bool,
    pub(crate) state: State,
    /// True if an ACK has restarted the timer in this recovery, so that later ACKs do not (impatient NewReno).
    partial_seen: bool,
    /// True if the window stopped the sender in the current round, which ends when `usage_until` is acknowledged.
    limited: bool,
    /// RFC 6675's RescueRxt plus one, stored as the low 32 bits of the stream offset.   Source: RFC 6675 §2.
    rescue_rxt: u32,
    pub(crate) rtt: Rtt,
    /// End of the data outstanding when the last recovery, timeout, reduction or ECN response began. F-RTO raises it to
    /// the end of the data sent before its new data.
    recover: u64,
    /// Time of the last transmission. In stacks that measure idle time from ACKs, an ACK that leaves nothing
    /// outstanding also sets this field.
    last_active: Time,
    /// End of the current round of `limited` and `max_flight`, stored as the low 32 bits of the stream offset. The
    /// round ends when `una` reaches this offset.
    usage_until: u32,
    /// Bytes outstanding when the window last stopped the sender in the current round (see `usage_until`). If the
    /// window has not stopped the sender, the largest number of bytes outstanding in this round.
    max_flight: u32,
    peer_rwnd: u32,
    /// End of the round that controllers count: the low 32 bits of `next` when this round began.
    round_end: u32,
    /// Number of CE-marked packets reported by ACKs so far.
    pub(crate) ce_reported: u32,
    /// True if a reduction may still prove spurious. In this case, `undo` is present and describes the reduction.
    suspicious: bool,
    pub(crate) timer: Timer,
    /// True if, while duplicate ACKs arrive, the window limits all outstanding bytes and not just the bytes in flight.
    /// See [`Detection::counts_outstanding`].
    counts_outstanding: bool,
    /// The stage of ACK processing at which the controller runs.
    turn: Turn,
    pub(crate) cc: Controller,
    pacing: Option<Box<PacingAndRate>>,
    pub(crate) detection: Detection,
    pub(crate) board: Scoreboard,
    reduction: ReductionState,
    /// State for undoing reductions and for F-RTO. `None` until the first recovery, timeout or retransmission, and
    /// always `None` in stacks that neither undo reductions nor run F-RTO.
    undo: Option<Box<Undo>>,
}

impl Sender {
    pub(crate) fn new(p: &TcpParams, peer_rwnd: u64) -> Self {
        let ssthresh = p.opening.initial_ssthresh.unwrap_or(f64::INFINITY);
        let (cc, needs) = (Controller::new(p), p.control.needs());
        let mut sender = Self {
            una: 0,
            next: 0,
            end: 1,
            peer_rwnd: peer_rwnd.min(u32::MAX.into()) as u32,
            recover: 0,
            rto_at: Time::NEVER,
            last_active: Time::ZERO,
            max_flight: 0,
            usage_until: 0,
            round_end: 0,
            ce_reported: 0,
            timer: Timer::Rto,
            counts_outstanding: false,
            turn: needs.turn,
            window: Window { cwnd: p.initial_window_segments(), ssthresh },
            pacing: PacingAndRate::new(p, needs),
            cc,
            rtt: Rtt::new(p),
            detection: Detection::new(p),
            board: Scoreboard::new(1),
            reduction: ReductionState::default(),
            undo: None,
            suspicious: false,
            dupacks: 0,
            timeouts: 0,
            state: State::Open,
            cwr_due: false,
            closing: false,
            fin_sent: false,
            partial_seen: false,
            rescue_rxt: 0,
            limited: false,
        };
        let d = sender.cc.begin(sender.window);
        sender.counts_outstanding = d.reduction && sender.detection.counts_outstanding(p);
        sender.follow(&d);
        sender
    }

    /// Prefetches the six cache lines of this struct. Most ACKs need at least five of them.
    #[inline]
    pub(crate) fn prefetch(&self) {
        for line in 0..6 {
            prefetch(self, line * LINE);
        }
    }

    /// Prefetches the data on the heap: the controller and the scoreboard's entries. Outside the state Open, also
    /// prefetches the state of the reduction and the endpoint's counters, which lie next to it.
    #[inline]
    pub(crate) fn prefetch_more(&self) {
        self.cc.prefetch();
        self.board.prefetch();
        if self.state != State::Open {
            prefetch(&self.reduction, LINE / 2);
        }
    }

    /// Prepares the sender to send data. Called when the SYN has been acknowledged, or at the start of a connection
    /// without a handshake.
    pub(crate) fn open(&mut self) {
        self.una = 1;
        self.next = self.next.max(1);
        self.timeouts = 0;
        self.rto_at = Time::NEVER;
    }

    /// Updates the send window from a segment that announces one. The window's right edge never moves back.   Source: RFC 9293
    /// §3.8.6.
    #[cold]
    pub(crate) fn update_send_window(&mut self, segment: &Segment) {
        let Some(window) = segment.window().filter(|_| segment.ack <= self.next) else { return };
        let edge = (self.una + u64::from(self.peer_rwnd)).max(segment.ack + u64::from(window));
        let una = self.una.max(segment.ack.min(self.next));
        self.peer_rwnd = (edge - una).min(u32::MAX.into()) as u32;
    }

    /// Returns the peer's window in bytes, counted from `una`.
    pub(crate) fn peer_window(&self) -> u64 {
        self.peer_rwnd.into()
    }

    pub(crate) fn write(&mut self, bytes: u64) {
        if !self.closing {
            self.end = self.end.saturating_add(bytes);
        }
    }

    pub(crate) fn close(&mut self) {
        if self.end == ENDLESS {
            self.end = self.next.max(1);
        }
        self.closing = true;
    }

    pub(crate) fn has_written(&self) -> bool {
        self.end > 1
    }

    /// Returns true if nothing is outstanding, nothing waits to be sent, and the application has not closed its side.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        self.una == self.next && self.next == self.end && !self.closing
    }

    /// Returns true if the application has closed its side, and all data written is acknowledged, including the FIN if
    /// there is one.
    pub(crate) fn done(&self, p: &TcpParams) -> bool {
        self.closing && self.una == self.next && self.end <= self.next && (self.fin_sent || !p.opening.handshake)
    }

    /// Returns the number of payload bytes of a stream that the application has closed; `None` while it is open.
    pub(crate) fn written_in_all(&self) -> Option<u64> {
        self.closing.then(|| self.end.saturating_sub(1))
    }

    /// Returns the number of payload bytes sent at least once.
    pub(crate) fn sent(&self) -> u64 {
        self.next.saturating_sub(1 + u64::from(self.fin_sent))
    }

    /// Returns the number of payload bytes acknowledged.
    pub(crate) fn acked(&self) -> u64 {
        self.una.saturating_sub(1 + u64::from(self.fin_sent && self.una == self.next))
    }

    #[inline]
    pub(crate) fn cwnd_bytes(&self, p: &TcpParams) -> u64 {
        let cwnd = (self.window.cwnd as u32).min(p.window.window_clamp.unwrap_or(u32::MAX));
        u64::from(cwnd.max(1)) * u64::from(p.wire.mss)
    }

    /// Returns an estimate of the bytes in the network.
    #[inline]
    pub(crate) fn in_flight(&self) -> u64 {
        self.board.pipe.saturating_sub(u64::from(self.board.dup_bytes))
    }
}
