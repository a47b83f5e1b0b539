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

mod output;
mod paced;
mod rack;
pub(crate) mod undo;

use crate::cc::Controller;
use crate::cc::control::{AckSample, Congestion, Silence, Window};
use crate::delivery::Sampler;
use crate::pacer::Pacer;
use crate::params::{CwndValidation, Recovery, TcpParams};
use crate::receiver::Receiver;
use crate::reduction::Shrink;
use crate::rtt::Rtt;
use crate::scoreboard::Scoreboard;
use crate::segment::{Event, Io, Segment, micros};
use crate::stats::{Counters, State};
use packet::Flags;
use units::{LINE, Time, prefetch};

/// What the end of a timeout's repair may add to what is in flight, segments: `tcp_max_burst` of Linux 2.6.
const MAX_BURST: u64 = 3;

/// What a call of the sending half works with.
pub(crate) struct Cx<'a, I: Io> {
    pub(crate) p: &'a TcpParams,
    pub(crate) now: Time,
    pub(crate) rx: &'a mut Receiver,
    pub(crate) stats: &'a mut Counters,
    pub(crate) io: &'a mut I,
}

/// What a sender keeps for a controller that asks for delivery rates.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    rates: Sampler,
    pacer: Pacer,
}

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
    usage_until: u64,
    /// Last transmission of data, or the ACK that left nothing outstanding if silence counts from there.
    last_active: Time,
    /// Most bytes outstanding after sending, in that round.
    max_flight: u32,
    peer_rwnd: u32,
    pub(crate) cc: Controller,
    /// Only where the controller asks for it.
    path: Option<Box<Path>>,
    pub(crate) board: Scoreboard,
    shrink: Shrink,
}

impl Sender {
    pub(crate) fn new(p: &TcpParams, peer_rwnd: u64) -> Self {
        let ssthresh = p.initial_ssthresh.unwrap_or(f64::INFINITY);
        let path = || Box::new(Path { rates: Sampler::default(), pacer: Pacer::new(p.pacing) });
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
            window: Window { cwnd: p.initial_window_segments(), ssthresh },
            path: cc.needs().rates.then(path),
            cc,
            rtt: Rtt::new(p),
            board: Scoreboard::new(1, p.rack()).with_forward_ack(p.forward_ack()),
            shrink: Shrink::default(),
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
        sender.follow(&d);
        sender
    }

    /// Asks for what every ACK needs.
    #[inline]
    pub(crate) fn expect(&self) {
        for line in 0..5 {
            prefetch(self, line * LINE);
        }
    }

    /// Asks for what it needs besides: entries on the heap; the books of a reduction, and the counters beside them.
    #[inline]
    pub(crate) fn expect_more(&self) {
        self.board.expect();
        if self.state != State::Open {
            prefetch(&self.shrink, LINE / 2);
        }
    }

    /// The SYN was acknowledged (or there is none).
    pub(crate) fn open(&mut self, p: &TcpParams) {
        self.una = 1;
        self.next = self.next.max(1);
        if self.timeouts > 0 && p.syn_loss_restricts {
            self.window.cwnd = 1.0;
        }
        self.rtt.after_syn(self.timeouts > 0);
        self.timeouts = 0;
        self.rto_at = Time::NEVER;
    }

    pub(crate) fn write(&mut self, bytes: u64) {
        if !self.closing {
            self.end = self.end.saturating_add(bytes);
        }
    }

    pub(crate) fn close(&mut self) {
        self.closing = true;
    }

    /// Nothing is outstanding and nothing waits to be sent.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        self.una == self.next && self.next == self.end && !self.closing
    }

    /// Everything written is acknowledged, and so is the FIN if there is one.
    pub(crate) fn done(&self, p: &TcpParams) -> bool {
        self.closing && self.una == self.next && self.end <= self.next && (self.fin_sent || !p.handshake)
    }

    /// Payload bytes acknowledged.
    pub(crate) fn acked(&self) -> u64 {
        self.una.saturating_sub(1 + u64::from(self.fin_sent && self.una == self.next))
    }

    #[inline]
    pub(crate) fn cwnd_bytes(&self, p: &TcpParams) -> u64 {
        let cwnd = self.window.cwnd as u64;
        cwnd.min(u64::from(p.window_clamp.unwrap_or(u32::MAX))).max(1) * u64::from(p.mss)
    }

    /// Bytes believed to be in the network.
    #[inline]
    pub(crate) fn in_flight(&self) -> u64 {
        self.board.pipe().saturating_sub(u64::from(self.board.dup_bytes))
    }

    // ---------------------------------------------------------------- acknowledgements

    /// The ACK part of a segment of an established connection.
    #[inline]
    pub(crate) fn on_ack<I: Io>(&mut self, cx: &mut Cx<'_, I>, segment: &Segment) {
        let (p, now) = (cx.p, cx.now);
        if segment.ack > self.next || segment.ack < self.una && !self.old_ack_tells(p, segment) {
            return;
        }
        let flight_before = self.in_flight();
        self.rack_now(now);
        self.begin_ack();
        if let Some(fack) = &mut self.board.fack {
            fack.begin();
        }
        let acked = segment.ack.saturating_sub(self.una);
        let mut rtt_us = None;
        let mut delivered = acked;
        if acked > 0 {
            self.una = segment.ack;
            let taken = self.board.ack(segment.ack);
            // an ACK that ends within a segment that was SACKed brings less than that segment
            delivered = delivered.saturating_sub(taken.sacked);
            if self.state == State::Recovery && p.recovery != Recovery::Sack {
                // duplicate ACKs have told of all but the hole
                delivered = acked.saturating_sub(u64::from(self.board.dup_bytes)).max(acked.min(u64::from(p.mss)));
            }
            rtt_us = self.measure(p, now, segment.ts_ecr, taken.sent);
            if p.backoff_until_new_data {
                self.rtt.acknowledged(self.una);
            }
            if self.una == self.next && p.silence_from_ack() {
                self.last_active = now;
            }
            self.timeouts = 0;
            let fin = self.fin_sent && self.una == self.next;
            let bytes = acked - u64::from(fin);
            if bytes > 0 {
                cx.io.event(Event::Acked { bytes });
            }
        } else if p.rtt_from_every_ack && segment.ts_ecr != 0 {
            self.sample_rtt(p, micros(now).wrapping_sub(segment.ts_ecr));
        }
        let mut sacked = false;
        self.board.cumulative_part_done();
        if p.recovery == Recovery::Sack && segment.flags.has(Flags::SACK) {
            if p.dsack {
                self.on_duplicate(p, segment, cx.stats.retransmits);
            }
            let newly = self.on_sack(p, segment);
            sacked = newly > 0;
            delivered += newly;
            self.dupacks += u32::from(acked == 0 && newly > 0);
        } else if acked == 0
            && segment.flags.has(Flags::PURE_ACK)
            && self.next > self.una
            && p.recovery != Recovery::Sack
        {
            self.dupacks += 1;
            delivered = u64::from(p.mss);
        }
        if p.forward_ack() {
            self.board.mark_overtaken(p.dupthresh);
        }
        let waits = self.rack_ack(p, now, acked);
        self.rack_probe_ack(p, segment, acked > 0 || delivered > 0);
        self.judge(cx, segment, acked, sacked);
        if acked == 0 && delivered == 0 && !segment.flags.has(Flags::ECE) {
            return self.restart_timer(p, now, acked);
        }
        let mut sample = self.sample(p, now, (acked, delivered), rtt_us, flight_before);
        sample.marked = cx.rx.ecn && segment.flags.has(Flags::ECE);
        if segment.ts_val != 0 && segment.ts_ecr != 0 {
            sample.one_way_us = Some(segment.ts_val.wrapping_sub(segment.ts_ecr));
        }
        if self.cc.owns_window() {
            self.advance(cx, &sample, acked, delivered);
            self.consult(cx, segment, &sample);
        } else {
            self.sample_rates(now, segment, &mut sample);
            self.advance(cx, &sample, acked, delivered);
            self.on_ece(cx, &sample);
        }
        if !waits {
            self.restart_timer(p, now, acked);
        }
    }

    /// An ACK that others have overtaken still tells what lies above the hole (Linux; RFC 9293 §3.10.7.4 lets it be ignored).
    #[cold]
    fn old_ack_tells(&self, p: &TcpParams, segment: &Segment) -> bool {
        p.recovery == Recovery::Sack && segment.flags.has(Flags::SACK) && self.next > self.una
    }

    fn on_sack(&mut self, p: &TcpParams, segment: &Segment) -> u64 {
        let mut newly = 0;
        for b in segment.sack.as_slice() {
            if b.end > self.una && b.end <= self.next && b.start < b.end {
                newly += self.board.sack(b.start, b.end, p.mss);
            }
        }
        if newly > 0 && !p.rack() {
            self.board.mark_lost(p.dupthresh, p.mss, p.forward_ack());
        }
        newly
    }

    /// A round-trip sample: by echo, or by the newest segment's send time under Karn's rule. What the controller gets is the
    /// newest segment's if there is one, without the time that the receiver held the ACK for it (as Linux has it).
    #[inline]
    fn measure(&mut self, p: &TcpParams, now: Time, ts_ecr: u32, sent: Option<u32>) -> Option<u32> {
        let from = if p.timestamps && ts_ecr != 0 { Some(ts_ecr) } else { sent };
        let us = micros(now).wrapping_sub(from?);
        let newest = sent.map_or(us, |sent| micros(now).wrapping_sub(sent));
        self.sample_rtt(p, us);
        if let Some(rack) = &mut self.board.rack {
            rack.min_rtt_us = rack.min_rtt_us.min(newest);
        }
        Some(newest)
    }

    /// A round trip of so many microseconds.
    #[inline]
    pub(crate) fn sample_rtt(&mut self, p: &TcpParams, us: u32) {
        self.rtt.sample(p, us);
        if let Some(rack) = &mut self.board.rack {
            rack.min_rtt_us = rack.min_rtt_us.min(us);
            rack.sampled = true;
        }
    }

    #[inline]
    fn sample(
        &self,
        p: &TcpParams,
        now: Time,
        (acked, delivered): (u64, u64),
        rtt_us: Option<u32>,
        flight_before: u64,
    ) -> AckSample {
        let mss = f64::from(p.mss);
        // nearly always one full segment: no division
        let segments = |bytes: u64| if bytes == u64::from(p.mss) { 1.0 } else { bytes as f64 / mss };
        let news = segments(acked);
        let cwnd_limited = match p.cwnd_validation {
            CwndValidation::Off => true,
            CwndValidation::Round => {
                self.limited || self.window.slow_start() && self.window.cwnd * mss < 2.0 * f64::from(self.max_flight)
            }
            CwndValidation::Full => flight_before >= self.cwnd_bytes(p),
        };
        let in_flight = self.in_flight();
        AckSample {
            now,
            acked: news,
            credit: if delivered == acked { news } else { segments(delivered) }.min(f64::from(p.abc_limit)),
            delivered,
            lost: flight_before.saturating_sub(delivered).saturating_sub(in_flight),
            rtt_us,
            srtt: self.rtt.srtt,
            flight_before,
            in_flight,
            una: self.una,
            next: self.next,
            cwnd_limited,
            state: self.state,
            ..AckSample::default()
        }
    }

    /// The window may grow by what an ACK says.
    #[inline]
    fn grow(&mut self, p: &TcpParams, sample: &AckSample) {
        if !self.cc.owns_window() {
            let d = self.cc.on_ack(p, self.window, sample);
            self.follow(&d);
        }
    }

    /// The state machine.
    #[inline]
    fn advance<I: Io>(&mut self, cx: &mut Cx<'_, I>, sample: &AckSample, acked: u64, delivered: u64) {
        let p = cx.p;
        // RFC 9937's SafeACK
        let safe = acked > 0 && sample.lost == 0;
        match self.state {
            State::Open | State::Loss if acked > 0 => {
                self.dupacks = 0;
                self.grow(p, sample);
                if self.state == State::Loss && self.una >= self.recover {
                    self.end_loss(p);
                }
            }
            State::Recovery | State::Cwr if self.una >= self.recover => self.end_and_grow(p, sample),
            State::Recovery if acked > 0 => self.on_partial_ack(cx, acked),
            State::Recovery if p.recovery != Recovery::Sack => self.add_duplicate(delivered),
            State::Cwr if acked > 0 => self.dupacks = 0,
            _ => {}
        }
        if self.loss_found(p) {
            self.enter_recovery(cx, delivered);
        } else {
            self.shrink_by(p, delivered, safe);
        }
    }

    /// A reduction under way takes in that so much was delivered.
    #[inline]
    fn shrink_by(&mut self, p: &TcpParams, delivered: u64, safe: bool) {
        if self.shrinks() {
            let pipe = self.in_flight();
            self.shrink.on_ack(p, &mut self.window, delivered, pipe, safe);
        }
    }

    /// Duplicate ACKs or the scoreboard say that the first segment is lost, and no recovery is under way.
    #[inline]
    fn loss_found(&self, p: &TcpParams) -> bool {
        if p.rack() {
            return self.rack_loss_found();
        }
        if let Some(fack) = &self.board.fack {
            // after a timeout, too: every segment found lost by SACK begins a recovery
            return fack.found && self.state != State::Recovery;
        }
        if !matches!(self.state, State::Open | State::Cwr) {
            return false;
        }
        if p.recovery == Recovery::Sack {
            return self.next > self.una && (self.board.head_lost() || self.dupacks >= u32::from(p.dupthresh));
        }
        // RFC 6582 §3.2 step 2: duplicates of what an earlier recovery or timeout resent are no sign of loss
        self.dupacks >= u32::from(p.dupthresh) && (self.una > self.recover || self.state == State::Cwr)
    }

    /// A duplicate ACK says that so many bytes more have left the network.
    fn add_duplicate(&mut self, bytes: u64) {
        self.board.dup_bytes = self.board.dup_bytes.saturating_add(bytes.min(u32::MAX.into()) as u32);
    }

    fn reduction_base(&self, p: &TcpParams) -> f64 {
        let cwnd = self.window.cwnd.min(f64::from(p.window_clamp.unwrap_or(u32::MAX)));
        if p.reduce_from_flight {
            // without what limited transmit added (RFC 3042 §2), hence not above the window
            cwnd.min((self.next - self.una) as f64 / f64::from(p.mss))
        } else if p.whole_segments {
            cwnd.floor()
        } else {
            cwnd
        }
    }

    /// A congestion event sets ssthresh.
    fn congested(&mut self, p: &TcpParams, kind: Congestion, base: f64) {
        let d = self.cc.on_congestion(p, self.window, kind, base);
        self.follow(&d);
        if p.whole_segments && !self.cc.owns_window() {
            self.window.ssthresh = self.window.ssthresh.floor();
        }
    }

    fn reduce(&mut self, p: &TcpParams, kind: Congestion) {
        let base = self.reduction_base(p);
        self.congested(p, kind, base);
        if !self.cc.owns_window() {
            self.shrink.begin(p, &mut self.window, base);
        }
        self.recover = self.next;
        self.forget_probe();
    }

    fn enter_recovery<I: Io>(&mut self, cx: &mut Cx<'_, I>, delivered: u64) {
        let p = cx.p;
        self.begin_episode(p, self.state != State::Cwr);
        if self.state == State::Cwr {
            self.recover = self.next;
        } else {
            self.reduce(p, Congestion::Loss);
        }
        self.state = State::Recovery;
        self.partial_seen = false;
        self.rescue_rxt = (self.una as u32).wrapping_sub(1);
        cx.stats.fast_recoveries += 1;
        if p.recovery != Recovery::Sack {
            self.board.dup_bytes = self.dupacks.saturating_mul(p.mss);
        }
        if p.forward_ack() {
            // what is lost is known, and the window held lets it out
            return self.shrink_by(p, delivered, false);
        }
        if !p.rack() {
            self.board.mark_head_lost();
        }
        self.shrink_by(p, delivered, false);
        // The first retransmission does not ask the window (RFC 5681 §3.2 step 3, RFC 6675 §5 step 4.3).
        if let Some(piece) = self.board.next_lost() {
            // RescueRxt: what has just been sent again has not had time to arrive (RFC 6675 §5 step 4.3)
            self.rescue_rxt = piece.end() as u32;
            self.retransmit(cx, piece, false);
        }
    }

    /// New data is acknowledged, but not all that was outstanding when recovery began.
    fn on_partial_ack<I: Io>(&mut self, cx: &mut Cx<'_, I>, acked: u64) {
        let p = cx.p;
        match p.recovery {
            Recovery::Sack => {}
            Recovery::Reno => self.end_reduction(p),
            Recovery::Newreno => {
                // RFC 6582 §3.2: deflate by what was acknowledged, give one segment back, resend the next hole
                let left = u64::from(self.board.dup_bytes) + u64::from(p.mss);
                self.board.dup_bytes = left.saturating_sub(acked).min(u32::MAX.into()) as u32;
                self.board.mark_head_lost();
                if let Some(piece) = self.board.next_lost() {
                    self.retransmit(cx, piece, false);
                }
            }
        }
    }

    /// An ACK has ended the reduction.
    fn end_and_grow(&mut self, p: &TcpParams, sample: &AckSample) {
        self.end_reduction(p);
        if p.reduction_end_grows {
            self.grow(p, sample);
        }
    }

    fn end_reduction(&mut self, p: &TcpParams) {
        if !self.cc.owns_window() {
            self.shrink.end(p, &mut self.window);
        }
        self.state = State::Open;
        self.dupacks = 0;
        self.board.dup_bytes = 0;
        if p.forward_ack() {
            self.board.forget_marks();
        }
    }

    /// All that was outstanding at the timeout is acknowledged. ns-2's Agent/TCP/Linux does not wait for slow start to reach
    /// ssthresh: it takes the window there, but not above in flight + 3 segments.
    fn end_loss(&mut self, p: &TcpParams) {
        self.state = State::Open;
        if p.forward_ack() {
            self.board.forget_marks();
            let w = &mut self.window;
            let most = (self.board.pipe() / u64::from(p.mss) + MAX_BURST) as f64;
            w.cwnd = w.cwnd.max(w.ssthresh.min(most));
        }
    }

    /// ECN echo: one reduction per window.   Source: RFC 3168 §6.1.2.
    #[inline]
    fn on_ece<I: Io>(&mut self, cx: &mut Cx<'_, I>, sample: &AckSample) {
        let p = cx.p;
        if !sample.marked || self.state != State::Open || self.una <= self.recover {
            return;
        }
        self.reduce(p, Congestion::Ecn);
        self.state = State::Cwr;
        self.cwr_due = true;
        cx.stats.ecn_reductions += 1;
        if self.una >= self.recover {
            // nothing outstanding: no ACK will come to shrink by
            self.end_reduction(p);
            self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
        }
    }

    /// RFC 6298 §5.2 and §5.3; RFC 6582's impatient variant restarts at the first partial ACK only.
    #[inline]
    fn restart_timer(&mut self, p: &TcpParams, now: Time, acked: u64) {
        if self.una == self.next {
            self.rto_at = Time::NEVER;
        } else if acked > 0 || p.any_ack_restarts_timer {
            if self.state == State::Recovery && p.recovery == Recovery::Newreno {
                if self.partial_seen {
                    return;
                }
                self.partial_seen = true;
            }
            if p.rack() {
                if !self.arm_probe(p, now, true) {
                    self.rearm_rto(p, now);
                }
                return;
            }
            self.rto_at = p.expiry(now, self.rtt.rto(p.max_rto));
        }
    }

    // ---------------------------------------------------------------- timeout

    /// The retransmission timer expired with data outstanding.
    pub(crate) fn on_rto<I: Io>(&mut self, cx: &mut Cx<'_, I>) {
        let (p, now) = (cx.p, cx.now);
        cx.stats.timeouts += 1;
        // RFC 5681 §3.1: the same data timing out again, or a recovery that has already paid, does not pay again
        let paid =
            !p.every_timeout_reduces && (self.timeouts > 0 || self.state == State::Recovery && !p.reduce_from_flight);
        let base = (!paid).then(|| self.reduction_base(p));
        let first = self.timeouts > 0 || matches!(self.state, State::Open | State::Cwr);
        if !paid {
            self.begin_episode(p, true);
        }
        if let Some(base) = base {
            self.congested(p, Congestion::Loss, base);
        }
        self.cc.on_rto(self.window);
        self.window.cwnd = 1.0;
        self.timeouts = self.timeouts.saturating_add(1);
        self.rtt.back_off(p, self.next);
        // RFC 2018 §8: a receiver that holds the head without acknowledging it has thrown it away, and perhaps the rest
        let keep_sack = p.keep_sack_after_rto && !self.board.head_sacked();
        if p.rack() && keep_sack {
            self.rack_now(now);
            self.board.time_out();
            // what is not overdue is still in flight, and does not take the place of the one segment
            self.window.cwnd += (self.in_flight() / u64::from(p.mss)) as f64;
        } else {
            self.board.mark_all_lost(keep_sack);
        }
        self.state = State::Loss;
        self.recover = self.next;
        self.begin_frto(p, first);
        self.dupacks = 0;
        self.board.dup_bytes = 0;
        self.forget_probe();
        self.start_rto(p, now);
        self.output(cx);
    }
}
