//! One side of a connection: its handshake, sending and receiving half, timers and closing.
//!
//! ```text
//! Listen --SYN--> SynReceived --ACK--> Established --both sides done--> Closed
//!   \--connect--> SynSent --SYN-ACK--------^
//! without a handshake: Listen --connect or listen--> Established
//! retransmitted too often: SynSent, SynReceived or Established --> Closed
//! ```
//!
//! Source: RFC 9293 §3.5 to 3.6; RFC 3168 §6.1.1 (negotiation of ECN).

use crate::params::TcpParams;
mod opening;
mod steer;

use crate::cc::control::Origin;
use crate::feedback::EcnUse;
use crate::receiver::{Phase, Receiver};
use crate::segment::{Event, Io, PlainData, Segment};
use crate::sender::{Context, Sender};
use crate::stats::Counters;
use crate::stats::{Probe, Stats};
use packet::{Flags, Reading, Unit};
use units::{Duration, Time};

/// One side of a TCP connection, with a sending and a receiving half.
///
/// The host calls a method when a segment arrives, the application writes or a timer expires. It receives events, and segments to
/// send, through an [`Io`]. Most calls take the stack's parameters, which thousands of endpoints share. The parameters
/// must be valid, and the same in every call. Time must not go backwards.
///
/// The fields are in the order in which a packet needs them, because cache misses dominate when ten thousand connections share a
/// cache. If 32 bytes of the host's own data precede the endpoint in memory, an endpoint that only receives uses the first
/// cache line, and the second while there are holes. An endpoint that only sends uses the first line and the third to
/// the seventh; while more than a few segments are outstanding, it also uses the eighth.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Endpoint {
    rx: Receiver,
    tx: Sender,
    stats: Counters,
}

impl Endpoint {
    /// Creates a passive endpoint, which responds to a SYN. [`Endpoint::connect`] makes it active. Without a handshake,
    /// an endpoint sends and receives only after `connect` or [`Endpoint::listen`].
    ///
    /// `peer_rwnd` is the peer's first receive window in bytes ([`TcpParams::first_window`]). The window stays constant unless
    /// the peer's segments announce another.
    pub fn new(p: &TcpParams, peer_rwnd: u64) -> Self {
        Self { rx: Receiver::new(p), tx: Sender::new(p, peer_rwnd), stats: Counters::default() }
    }

    /// Gives the congestion controller its own random stream and the name of this end of the connection, if the
    /// controller uses them. Must be called before the connection opens.
    pub fn introduce(&mut self, origin: &Origin<'_>) {
        self.tx.cc.introduce(origin);
    }

    /// Opens the connection actively. Without a handshake, the connection is established at once. Has no effect if the
    /// connection was opened before.
    pub fn connect(&mut self, p: &TcpParams, now: Time, io: &mut impl Io) {
        if self.rx.phase != Phase::Listen {
            return;
        }
        if p.opening.handshake {
            self.rx.phase = Phase::SynSent;
            self.send_syn(p, now, io);
        } else {
            self.establish_at_once(p, now, io);
            self.output(p, now, io);
        }
        self.finish(p, now, io);
    }

    /// Opens the connection passively; must be called when the peer connects. Without a handshake, the connection is
    /// established at once. With a handshake, it waits for the peer's SYN.
    pub fn listen(&mut self, p: &TcpParams, now: Time, io: &mut impl Io) {
        if self.rx.phase == Phase::Listen && !p.opening.handshake {
            self.establish_at_once(p, now, io);
            self.proceed(p, now, io);
        }
    }

    /// Sets the round-trip estimate of an endpoint without a handshake, as if a handshake had taken `rtt`. Must be called
    /// before `connect` or `listen`.
    pub fn assume_round_trip(&mut self, p: &TcpParams, now: Time, rtt: Duration) {
        let us = (rtt.0 / 1_000).clamp(1, u64::from(u32::MAX)) as u32;
        self.tx.sample_rtt(p, us);
        self.tx.on_handshake(p, now, us);
    }

    /// Queues `bytes` more of the application's data; `u64::MAX` stands for an endless stream. Data is sent as the windows allow,
    /// once the connection is established. Has no effect after [`Endpoint::close`].
    pub fn write(&mut self, p: &TcpParams, now: Time, bytes: u64, io: &mut impl Io) {
        self.tx.write(bytes);
        self.rx.quiet = false;
        if self.rx.phase == Phase::Established {
            self.proceed(p, now, io);
        }
    }

    /// Ends the stream: a FIN follows the data written, unless the stack has no handshake. If the last data segment has
    /// not been sent yet, it carries the FIN, unless `fin_after_data` is set. An endless stream ends after the data
    /// already sent.
    pub fn close(&mut self, p: &TcpParams, now: Time, io: &mut impl Io) {
        self.tx.close();
        self.rx.quiet = false;
        if self.rx.phase == Phase::Established {
            self.proceed(p, now, io);
        }
    }

    /// Processes a segment that has arrived.
    pub fn on_segment(&mut self, p: &TcpParams, now: Time, segment: &Segment, io: &mut impl Io) {
        if self.rx.phase != Phase::Established && !self.on_early_segment(p, now, segment, io) {
            return;
        }
        if segment.flags.has(Flags::SYN) {
            // usually a repeated SYN-ACK: our ACK of the first SYN-ACK was lost or is late, or we had repeated our SYN.
            // It acknowledges nothing new, and its ECN bits are part of the negotiation (RFC 3168 §6.1.1)
            if !p.quirks.first_syn_echoed {
                self.rx.on_repeated_syn(segment.ts_val);
            }
            self.rx.set_ack_now();
            return self.proceed(p, now, io);
        }
        if self.rx.ecn == EcnUse::Accurate && segment.seq_len() == 0 {
            self.rx.on_control_segment(segment.ecn);
        }
        if segment.flags.has(Flags::WINDOW) {
            self.tx.update_send_window(segment);
            self.rx.on_window_field(p, segment);
        }
        if segment.has_ack {
            self.on_any_ack(p, now, segment, io);
        }
        if segment.seq_len() > 0 {
            self.note_pause(p, segment.seq, segment.ts_val);
            self.rx.await_run(segment);
            if self.rx.has_space() {
                self.rx.grow_window(p, segment);
            }
            self.on_any_data(p, now, segment, io);
            if self.rx.has_space() {
                self.rx.right_size(p, now, segment);
            }
            if segment.flags.has(Flags::PSH) {
                self.on_push(p);
            }
        }
        self.proceed(p, now, io);
    }

    /// Processes the ACK of any segment. Not inlined: the copy of [`Sender::on_ack`] in [`Endpoint::on_plain_ack`] is
    /// compiled for plain ACKs only.
    #[inline(never)]
    fn on_any_ack(&mut self, p: &TcpParams, now: Time, segment: &Segment, io: &mut impl Io) {
        self.tx.on_ack(&mut Context { p, now, rx: &mut self.rx, stats: &mut self.stats, io }, segment);
    }

    /// Processes the payload of any segment. Not inlined, for the same reason as [`Endpoint::on_any_ack`].
    #[inline(never)]
    fn on_any_data(&mut self, p: &TcpParams, now: Time, segment: &Segment, io: &mut impl Io) {
        self.rx.on_data(p, now, segment, &self.tx.rtt, &mut self.stats, io);
    }

    /// Processes a pure ACK that has neither SACK blocks nor ECE, AccECN's counter or a window: it contains only an ACK
    /// number and an echoed time stamp.
    #[inline]
    pub fn on_plain_ack(&mut self, p: &TcpParams, now: Time, ack: u64, ts_ecr: u32, io: &mut impl Io) {
        let segment = Segment { ack, ts_ecr, flags: Flags::PURE_ACK, has_ack: true, ..Segment::default() };
        if self.rx.phase != Phase::Established {
            return self.on_segment(p, now, &segment, io);
        }
        self.tx.on_ack(&mut Context { p, now, rx: &mut self.rx, stats: &mut self.stats, io }, &segment);
        self.proceed(p, now, io);
    }

    /// Processes a segment with payload that acknowledges nothing beyond the SYN, and contains nothing but the fields
    /// of `data`.
    #[inline]
    pub fn on_plain_data(&mut self, p: &TcpParams, now: Time, data: PlainData, io: &mut impl Io) {
        let PlainData { seq, len, ts_val, ecn, flags } = data;
        let segment = Segment { seq, len, ts_val, ecn, ack: 1, has_ack: true, ..Segment::default() };
        if self.rx.phase != Phase::Established {
            return self.on_segment(p, now, &Segment { flags, ..segment }, io);
        }
        // the ACK number covers only the SYN, so an established endpoint has no use for it
        self.note_pause(p, seq, ts_val);
        self.rx.on_data(p, now, &segment, &self.tx.rtt, &mut self.stats, io);
        if flags.has(Flags::PSH) {
            self.on_push(p);
        }
        if self.rx.quiet {
            // the sending half is idle, and the connection cannot end before the application closes this side
            if self.rx.ack_now() {
                self.send_ack(p, now, io);
            }
            return;
        }
        self.proceed(p, now, io);
    }

    /// Requests an immediate ACK after a segment with PSH, if `ack_pushed` is set.
    #[cold]
    fn on_push(&mut self, p: &TcpParams) {
        if p.receiver.ack_pushed {
            self.rx.set_ack_now();
        }
    }

    /// With `quick_acks_return`, resumes quick ACKs if the peer paused for longer than this end's RTO before it sent
    /// the segment at `seq` with the time stamp `ts_val`. The pause is the difference between `ts_val` and the stored
    /// time stamp of an earlier segment. While a hole remains, the stored time stamp stays, so segments above the hole
    /// do not count.
    /// Source: Linux, tcp_event_data_recv.
    #[inline]
    fn note_pause(&mut self, p: &TcpParams, seq: u64, ts_val: u32) {
        if p.quirks.quick_acks_return
            && let Some(us) = self.rx.pause_us(ts_val)
            && seq <= self.rx.next
            && Duration::from_micros(u64::from(us)) > self.tx.rtt.rto(p, p.rto.max_rto)
        {
            self.rx.quicken(p.receiver.quick_acks);
        }
    }

    /// Records that segments with [`Flags::LOCAL`] have left the host's device, or were dropped there. `bytes` is their total size
    /// on the wire.
    #[cold]
    pub fn on_left(&mut self, p: &TcpParams, now: Time, bytes: u64, io: &mut impl Io) {
        if self.tx.on_left(bytes) && self.rx.phase == Phase::Established {
            self.proceed(p, now, io);
        }
    }

    /// Runs the timers that are due. Must be called at or after [`Endpoint::deadline`]; an earlier call has no effect.
    pub fn on_timer(&mut self, p: &TcpParams, now: Time, io: &mut impl Io) {
        if now < self.deadline() {
            return;
        }
        if now >= self.rx.ack_at {
            self.rx.set_ack_now();
        }
        if now >= self.tx.rto_at {
            match self.rx.phase {
                Phase::SynSent | Phase::SynReceived => self.on_syn_timeout(p, now, io),
                Phase::Established if self.tx.timer_is_rack() => {
                    self.tx.on_rack_timer(&mut Context { p, now, rx: &mut self.rx, stats: &mut self.stats, io });
                }
                Phase::Established if p.rto.retries.is_some_and(|most| u32::from(self.tx.timeouts) >= most) => {
                    self.fail(io);
                    return;
                }
                Phase::Established => {
                    self.tx.on_rto(&mut Context { p, now, rx: &mut self.rx, stats: &mut self.stats, io })
                }
                Phase::Listen | Phase::Closed => self.tx.rto_at = Time::NEVER,
            }
        }
        // while the sending half is quiet, its controller's timer does not run, even if the timer of an ACK expires
        if !self.rx.quiet && now >= self.tx.pace_at() {
            self.tx.run_controller_timer(now);
            if self.rx.phase == Phase::Established {
                self.output(p, now, io);
            }
        }
        self.finish(p, now, io);
    }

    /// Returns the time of the earliest timer; [`Time::NEVER`] if no timer runs.
    #[inline]
    pub fn deadline(&self) -> Time {
        if self.rx.quiet { self.rx.ack_at } else { self.rx.ack_at.min(self.tx.rto_at).min(self.tx.pace_at()) }
    }

    /// Returns the state that a trace records.
    pub fn probe(&self, p: &TcpParams) -> Probe {
        let bytes = |segments: f64| (segments * f64::from(p.wire.mss)) as u64;
        Probe {
            // if windows are whole segments, the fraction is only credit towards the next segment, so it is not
            // reported
            cwnd_bytes: bytes(if p.quirks.whole_segments { self.tx.window.cwnd.floor() } else { self.tx.window.cwnd }),
            ssthresh_bytes: bytes(self.tx.window.ssthresh),
            srtt: self.tx.rtt.srtt,
            rto: match self.rx.phase {
                Phase::SynSent | Phase::SynReceived => self.syn_wait(p),
                _ => self.tx.rtt.rto(p, p.rto.max_rto),
            },
            in_flight: self.tx.in_flight(),
            state: self.tx.state,
        }
    }

    /// Returns true if the application has written any data.
    pub fn has_written(&self) -> bool {
        self.tx.has_written()
    }

    /// Reports the sender's state, then the controller's. The names are modelled on the output of `ss -i`.
    pub fn read(&self, p: &TcpParams, out: &mut Reading<'_>) {
        let probe = self.probe(p);
        out.word("state", probe.state.word());
        out.bytes("cwnd", probe.cwnd_bytes);
        out.value(
            "ssthresh",
            Unit::Bytes,
            Some(probe.ssthresh_bytes as f64).filter(|_| probe.ssthresh_bytes != u64::MAX),
        );
        out.bytes("in_flight", probe.in_flight);
        out.bytes("unacked", self.tx.next - self.tx.una);
        out.duration("srtt", Some(probe.srtt).filter(|srtt| !srtt.is_zero()));
        out.duration("rttvar", Some(self.tx.rtt.rttvar).filter(|_| !probe.srtt.is_zero()));
        out.duration("rto", probe.rto);
        out.rate("pacing_rate", self.tx.pacing_rate().map(|rate| 8.0 * rate));
        out.bytes("acked", self.acked());
        if self.rx.has_space() {
            out.bytes("snd_wnd", self.tx.peer_window());
        }
        out.number("retransmits", self.stats.retransmits);
        out.number("timeouts", self.stats.timeouts);
        self.tx.cc.probe(out);
    }

    /// Reports only the controller's state.
    pub fn read_controller(&self, out: &mut Reading<'_>) {
        self.tx.cc.probe(out);
    }

    /// Prefetches the cache lines for a segment that will arrive soon, either a pure ACK (`ack` is true) or a segment
    /// with payload. Called with `steps` = 2, and again with `steps` = 1 nearer to the arrival, because the cache lines
    /// of the second step are often reached through pointers that the first step has fetched. Changes no state.
    #[inline]
    pub fn prefetch(&self, ack: bool, steps: u32) {
        match (steps, ack) {
            (2, true) => self.tx.prefetch(),
            (1, true) => self.tx.prefetch_more(),
            (2, false) => self.rx.prefetch(),
            (1, false) => self.rx.prefetch_ranges(),
            _ => {}
        }
    }

    /// Returns the number of segments that were declared lost and have been neither acknowledged nor SACKed, whether
    /// they were retransmitted or not. Visits every outstanding segment.
    pub fn lost_segments(&self) -> u32 {
        self.tx.board.lost_segments()
    }

    /// Returns the counters.
    #[inline]
    pub fn stats(&self) -> Stats {
        let c = &self.stats;
        Stats {
            bytes_received: self.rx.received(),
            retransmits: c.retransmits,
            timeouts: c.timeouts,
            fast_recoveries: c.fast_recoveries,
            ecn_reductions: c.ecn_reductions,
            ce_reported: self.tx.ce_reported,
            duplicates_received: c.duplicates_received,
            rescues: c.rescues,
            probes: self.tx.detection.probes(),
            undone: self.tx.undone(),
        }
    }

    /// Returns the number of this endpoint's outstanding segments, and the number of heap bytes that its scoreboard
    /// and its receiving half use. The receiving half allocates memory for AccECN, for D-SACK, for a variable receive
    /// window, and for ranges above holes if there are too many to be stored inline.
    pub fn footprint(&self) -> (usize, usize) {
        let (segments, bytes) = self.tx.board.footprint();
        (segments, bytes + self.rx.heap_bytes())
    }

    /// Returns the number of bytes of this endpoint's stream that have been sent at least once.
    pub fn sent(&self) -> u64 {
        self.tx.sent()
    }

    /// Returns true if this end has closed its stream and `peer`, the other end, has received all of it.
    pub fn all_received_by(&self, peer: &Self) -> bool {
        self.tx.written_in_all().is_some_and(|bytes| peer.rx.received() >= bytes)
    }

    /// Returns the number of payload bytes that the peer has SACKed and not yet acknowledged cumulatively.
    pub fn sacked(&self) -> u64 {
        self.tx.board.sacked_bytes()
    }

    /// Returns the number of payload bytes that the peer has acknowledged.
    #[inline]
    pub fn acked(&self) -> u64 {
        self.tx.acked()
    }

    #[inline]
    fn output(&mut self, p: &TcpParams, now: Time, io: &mut impl Io) {
        if self.tx.is_quiet() {
            return;
        }
        self.tx.output(&mut Context { p, now, rx: &mut self.rx, stats: &mut self.stats, io });
    }

    // ------------------------------------------------- end of the connection

    fn fail(&mut self, io: &mut impl Io) {
        self.shut(io, Some(Event::Failed));
    }

    fn shut(&mut self, io: &mut impl Io, first: Option<Event>) {
        self.rx.phase = Phase::Closed;
        self.rx.set_closed();
        self.tx.rto_at = Time::NEVER;
        self.tx.stop_pacing();
        self.rx.ack_at = Time::NEVER;
        self.rx.quiet = false;
        if let Some(event) = first {
            io.event(event);
        }
        io.event(Event::Closed);
    }

    /// Sends a pure ACK. Leaves `seq` unset: no receiver reads it, and a receive-only endpoint would need another cache
    /// line to set it.
    fn send_ack(&mut self, p: &TcpParams, now: Time, io: &mut impl Io) {
        if self.rx.sends_plain() && !p.quirks.ack_after_delivery {
            let ack = self.rx.plain(p, now, 0, 0);
            self.rx.acknowledged();
            return io.send_plain(ack);
        }
        self.send_any_ack(p, now, io);
    }

    /// Sends a pure ACK that may have more fields than [`Plain`](crate::Plain).
    #[inline(never)]
    fn send_any_ack(&mut self, p: &TcpParams, now: Time, io: &mut impl Io) {
        let mut s = Segment { flags: Flags::PURE_ACK, ..Segment::default() };
        self.rx.stamp(p, now, &mut s);
        if p.quirks.ack_after_delivery && !s.flags.any(Flags::SACK.with(Flags::ECE)) {
            io.send_after_delivery(&s);
        } else {
            io.send(&s);
        }
    }

    /// Sends the segments that may leave now, and then any ACK that is still due. Closes the connection if both sides
    /// are done.
    #[inline(always)]
    fn proceed(&mut self, p: &TcpParams, now: Time, io: &mut impl Io) {
        self.output(p, now, io);
        self.finish(p, now, io);
    }

    /// Ends a call into the endpoint: sends an ACK if one is still due, and closes the connection if both sides are
    /// done. Without a handshake, reports `Closed` as soon as this side is done.
    #[inline]
    fn finish(&mut self, p: &TcpParams, now: Time, io: &mut impl Io) {
        if self.rx.ack_now() {
            self.send_ack(p, now, io);
        }
        if self.rx.phase != Phase::Established {
            return;
        }
        self.rx.quiet = self.tx.is_quiet() && self.tx.rto_at == Time::NEVER;
        if self.tx.done(p) && !self.rx.is_closed() {
            if !p.opening.handshake {
                // without FINs, the end of the peer's stream is unknown, so this side can still receive
                self.rx.set_closed();
                io.event(Event::Closed);
            } else if self.rx.finished() {
                self.shut(io, None);
            }
        }
    }

    /// Returns true after [`Event::Closed`].
    #[cfg(test)]
    pub(crate) fn is_closed(&self) -> bool {
        self.rx.is_closed()
    }

    #[cfg(test)]
    pub(crate) fn ecn(&self) -> EcnUse {
        self.rx.ecn
    }

    /// Recounts the segments, and asserts that the running counters are correct.
    #[cfg(test)]
    pub(crate) fn check(&self, p: &TcpParams) {
        self.tx.detection.check(&self.tx.board, p);
        // while the sender is quiet, the timer of an external controller does not run
        let waits = self.rx.quiet && self.tx.cc.timer_at() != Time::NEVER;
        let pace_at = if waits { Time::NEVER } else { self.tx.pace_at() };
        assert_eq!(self.deadline(), self.tx.rto_at.min(self.rx.ack_at).min(pace_at));
        assert!(!self.rx.ack_now(), "no call ends with an ACK due");
        assert!(
            self.rx.phase != Phase::Established || (self.tx.rto_at == Time::NEVER) == (self.tx.una == self.tx.next)
        );
    }
}
