//! The sending half: what an acknowledgement means, what may be sent, and what a timeout does.
//!
//! ```text
//!            dupthresh / IsLost                 ECN echo
//!   Recovery <------------------ Open ------------------> Cwr ---> Recovery (loss; no second reduction)
//!      |  una >= recover          ^ ^                      | una >= recover
//!      +--------------------------+ +----------------------+
//!   Loss <--- timeout, from any state; left to Open at una >= recover
//! ```
//!
//! The window is `floor(cwnd)` segments of MSS bytes against the bytes in flight: RFC 6675's pipe with SACK, otherwise
//! what is outstanding less one MSS per duplicate ACK, which is RFC 5681's inflation seen from the other side.
//!
//! Source: RFC 5681, RFC 6582, RFC 6675, RFC 3042, RFC 3168 §6.1.2, RFC 6298 §5.
//! Departs: entering recovery always marks the first segment lost (RFC 6675 leaves that to IsLost), so pipe is one MSS
//! smaller when DupThresh was reached by short segments; after a timeout the lost segments are resent in order as the
//! window opens, which is go-back-N when SACK is off or forgotten.

mod ack;
mod output;
mod pacing;
mod rack;
mod rates;
mod recovery;
mod undo;

use crate::burst::Bursts;
use crate::cc::Controller;
use crate::cc::control::Window;
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

/// What a call of the sending half works with.
pub(crate) struct Context<'a, I> {
    pub(crate) p: &'a TcpParams,
    pub(crate) now: Time,
    pub(crate) rx: &'a mut Receiver,
    pub(crate) stats: &'a mut Counters,
    pub(crate) io: &'a mut I,
}

/// Delivery rates, pace and bursts, of flows that have any of them.
#[derive(Clone, Debug)]
pub(crate) struct PacingAndRate {
    rates: Option<Sampler>,
    pacer: Pacer,
    /// Most payload of a new segment, where the controller wants less than the MSS; else 0.
    max_payload: u16,
    bursts: Option<Bursts>,
}

impl PacingAndRate {
    fn new(p: &TcpParams, rates: bool) -> Option<Box<Self>> {
        let bursts =
            (p.pacing.paced || p.pacing.gso_max_segs > 1 || p.receiver.ack_pushed || p.pacing.tsq).then(Bursts::new);
        (rates || bursts.is_some()).then(|| {
            let rates = rates.then(Sampler::default);
            Box::new(Self { rates, pacer: Pacer::new(p.pacing.pacing), max_payload: 0, bursts })
        })
    }
}

/// The end of a stream that has none.
const ENDLESS: u64 = u64::MAX;

/// The sending half of an endpoint. Three cache lines for every ACK (the stream and its window, the clock, the
/// controller with the head of the board), a fourth with the board's entries, and what few ACKs need behind them.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Sender {
    /// First byte not acknowledged.
    pub(crate) una: u64,
    /// Next new byte.
    pub(crate) next: u64,
    /// End of what the application wrote.
    end: u64,
    /// When the retransmission timer expires.
    pub(crate) rto_at: Time,
    pub(crate) window: Window,
    dupacks: u32,
    /// Timeouts in a row without progress.
    pub(crate) timeouts: u16,
    /// The application closed.
    closing: bool,
    fin_sent: bool,
    /// The next new segment carries CWR.
    cwr_due: bool,
    pub(crate) state: State,
    /// A partial ACK has already restarted the timer (impatient NewReno).
    partial_seen: bool,
    /// In the round that ends when `usage_until` is acknowledged, the window stopped the sender.
    limited: bool,
    /// RescueRxt, one past it; low half of the offset.   Source: RFC 6675 §2.
    rescue_rxt: u32,
    pub(crate) rtt: Rtt,
    /// Recovery, reduction and ECN: what was outstanding when the last one began.
    recover: u64,
    /// Last transmission of data, or the ACK that left nothing outstanding if silence counts from there.
    last_active: Time,
    /// Low half of an offset.
    usage_until: u32,
    /// Most bytes outstanding after sending, in that round.
    max_flight: u32,
    peer_rwnd: u32,
    /// Low half of where the round under way ends: what was sent next when it began.
    round_end: u32,
    /// CE-marked packets that ACKs have reported.
    pub(crate) ce_reported: u32,
    /// A reduction may prove spurious: `undo` is open.
    suspicious: bool,
    pub(crate) timer: Timer,
    /// While duplicate ACKs arrive, what is outstanding counts against the window, not what is in flight.
    counts_outstanding: bool,
    pub(crate) cc: Controller,
    /// Only where the controller needs rates, or segments leave in bursts or paced.
    pacing: Option<Box<PacingAndRate>>,
    pub(crate) detection: Detection,
    pub(crate) board: Scoreboard,
    reduction: ReductionState,
    /// Only in stacks that undo, and not before something was sent again.
    undo: Option<Box<Undo>>,
}

impl Sender {
    pub(crate) fn new(p: &TcpParams, peer_rwnd: u64) -> Self {
        let ssthresh = p.opening.initial_ssthresh.unwrap_or(f64::INFINITY);
        let cc = Controller::new(p);
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
            window: Window { cwnd: p.initial_window_segments(), ssthresh },
            pacing: PacingAndRate::new(p, cc.needs().rates),
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

    /// Prefetches what every ACK needs.
    #[inline]
    pub(crate) fn prefetch(&self) {
        for line in 0..5 {
            prefetch(self, line * LINE);
        }
    }

    /// Prefetches what it needs besides: entries on the heap; the state of a reduction, and the counters beside it.
    #[inline]
    pub(crate) fn prefetch_more(&self) {
        self.board.prefetch();
        if self.state != State::Open {
            prefetch(&self.reduction, LINE / 2);
        }
    }

    /// The SYN was acknowledged (or there is none).
    pub(crate) fn open(&mut self, p: &TcpParams) {
        self.una = 1;
        self.next = self.next.max(1);
        if self.timeouts > 0 && p.opening.syn_loss_restricts {
            self.window.cwnd = 1.0;
        }
        self.rtt.after_syn(self.timeouts > 0);
        self.timeouts = 0;
        self.rto_at = Time::NEVER;
    }

    /// Updates the send window from a segment that announces one. Its right edge never moves back.   Source: RFC 9293 §3.8.6.
    #[cold]
    pub(crate) fn update_send_window(&mut self, segment: &Segment) {
        let Some(window) = segment.window().filter(|_| segment.ack <= self.next) else { return };
        let edge = (self.una + u64::from(self.peer_rwnd)).max(segment.ack + u64::from(window));
        let una = self.una.max(segment.ack.min(self.next));
        self.peer_rwnd = (edge - una).min(u32::MAX.into()) as u32;
    }

    /// The peer's window, bytes from the first one not acknowledged on.
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

    /// There were bytes to send, or are.
    pub(crate) fn has_written(&self) -> bool {
        self.end > 1
    }

    /// Nothing is outstanding and nothing waits to be sent.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        self.una == self.next && self.next == self.end && !self.closing
    }

    /// Everything written is acknowledged, and so is the FIN if there is one.
    pub(crate) fn done(&self, p: &TcpParams) -> bool {
        self.closing && self.una == self.next && self.end <= self.next && (self.fin_sent || !p.opening.handshake)
    }

    /// Payload bytes that have left at least once.
    pub(crate) fn sent(&self) -> u64 {
        self.next.saturating_sub(1 + u64::from(self.fin_sent))
    }

    /// Payload bytes acknowledged.
    pub(crate) fn acked(&self) -> u64 {
        self.una.saturating_sub(1 + u64::from(self.fin_sent && self.una == self.next))
    }

    #[inline]
    pub(crate) fn cwnd_bytes(&self, p: &TcpParams) -> u64 {
        let cwnd = self.window.cwnd as u64;
        cwnd.min(u64::from(p.window.window_clamp.unwrap_or(u32::MAX))).max(1) * u64::from(p.wire.mss)
    }

    /// Bytes believed to be in the network.
    #[inline]
    pub(crate) fn in_flight(&self) -> u64 {
        self.board.pipe().saturating_sub(u64::from(self.board.dup_bytes))
    }
}
