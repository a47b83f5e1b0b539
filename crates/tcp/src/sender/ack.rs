//! The processing of an acknowledgement.

use super::{Context, Sender};
use crate::cc::control::{AckSample, Turn};
use crate::feedback::{EcnUse, echoes};
use crate::params::{CwndValidation, Recovery, RttSource, TcpParams};
use crate::receiver::Receiver;
use crate::scoreboard::entry::{Sent, Taken};
use crate::segment::{Event, Io, Segment, micros};
use crate::stats::State;
use packet::Flags;
use units::Time;

/// The data that one ACK acknowledges.
#[derive(Clone, Copy, Debug, Default)]
struct Acked {
    /// Bytes newly acknowledged by the cumulative ACK. A FIN counts as one byte.
    bytes: u64,
    /// Bytes newly delivered, cumulatively or by SACK. Without SACK, a duplicate ACK counts as one segment.
    delivered: u64,
    /// The segments that the cumulative ACK removed from the scoreboard. In addition, `taken.segments` counts the
    /// segments that this ACK newly SACKs or, without SACK, one segment for a duplicate ACK.
    taken: Taken,
    /// True if the SACK blocks report new data.
    sacked: bool,
    /// Earliest and latest send time of the newly SACKed segments that were sent only once.
    sacked_once: Option<Sent>,
}

impl Sender {
    /// Processes the ACK of a segment of an established connection: updates the scoreboard, detects losses, runs the state
    /// machine and the controller, and restarts the timer.
    #[inline(always)]
    pub(crate) fn on_ack<I: Io>(&mut self, cx: &mut Context<'_, I>, segment: &Segment) {
        let (p, now) = (cx.p, cx.now);
        if segment.ack > self.next || segment.ack < self.una && !self.may_sack(p, segment.flags) {
            return;
        }
        let flight_before = self.in_flight();
        self.detection.begin(micros(now));
        self.reset_new_first();
        let mut acked = self.take_cumulative(cx, segment);
        self.detection.cumulative_part_done();
        self.take_selective(cx, segment, &mut acked);
        let rtt_us = self.measure(p, now, segment.ts_ecr, &acked);
        if self.suspicious {
            self.note_late_original(p, segment.ts_ecr, acked.bytes);
        }
        let waits = self.detect(p, now, acked.bytes);
        let news = acked.bytes > 0 || acked.delivered > 0;
        if self.detection.probe_repaired(segment.ack, !news && segment.flags.has(Flags::PURE_ACK)) {
            self.reduce_for_probe(p, now);
        }
        if self.suspicious {
            self.cc.at(now);
            self.check_spurious(p, segment.ts_ecr, acked.bytes, acked.sacked);
        }
        if !news && !echoes(segment) {
            return self.restart_timer(p, now, acked.bytes);
        }
        let mut sample = self.sample(p, now, acked, rtt_us, flight_before);
        if cx.rx.ecn.sends() {
            self.count_marks(cx.rx, segment, acked, &mut sample);
        }
        if segment.ts_val != 0 && segment.ts_ecr != 0 && p.reads_ack_time() {
            sample.one_way_us = Some(segment.ts_val.wrapping_sub(segment.ts_ecr));
        }
        if sample.lost > 0 {
            self.report_losses(now);
        }
        sample.rests = self.advance(cx, sample.marked, acked.bytes, acked.delivered);
        if self.turn == Turn::Growth {
            self.run_controller(p, now, &mut sample);
        }
        self.repair(cx, sample.lost, acked.bytes, acked.delivered);
        if self.turn == Turn::Repair {
            (sample.state, sample.in_flight, sample.rests) = (self.state, self.in_flight(), false);
            self.run_controller(p, now, &mut sample);
        }
        self.on_ece(cx, &sample);
        self.update_pacing_rate(p, rtt_us);
        if !waits {
            self.restart_timer(p, now, acked.bytes);
        }
    }

    /// Returns true if the SACK blocks of a segment with these flags may be used although a later ACK has already
    /// arrived, as in Linux. (RFC 9293 §3.10.7.4 allows a sender to ignore such an old ACK.)
    #[cold]
    fn may_sack(&self, p: &TcpParams, flags: Flags) -> bool {
        p.detection.recovery == Recovery::Sack && flags.has(Flags::SACK) && self.next > self.una
    }

    #[inline(always)]
    fn take_cumulative<I: Io>(&mut self, cx: &mut Context<'_, I>, segment: &Segment) -> Acked {
        let (p, now) = (cx.p, cx.now);
        let bytes = segment.ack.saturating_sub(self.una);
        if bytes == 0 {
            return Acked::default();
        }
        self.una = segment.ack;
        let (board, mut watch) = self.watched_board();
        let taken = board.ack(segment.ack, &mut watch);
        let delivered = if self.state == State::Recovery && p.detection.recovery != Recovery::Sack {
            // the bytes that duplicate ACKs stood for were counted as delivered when these ACKs arrived. At least the
            // segment that was missing is newly delivered
            bytes.saturating_sub(u64::from(self.board.dup_bytes)).max(bytes.min(u64::from(p.wire.mss)))
        } else {
            // saturates, because an earlier ACK may have ended within a SACKed segment. `bytes` then includes only the
            // rest of this segment, whereas `taken.sacked` includes its whole size
            bytes.saturating_sub(taken.sacked)
        };
        if self.una == self.next && p.window.silence_from_ack() {
            self.last_active = now;
        }
        self.timeouts = 0;
        let payload = bytes - u64::from(self.fin_sent && self.una == self.next);
        if payload > 0 {
            cx.io.event(Event::Acked { bytes: payload });
        }
        Acked { bytes, delivered, taken, ..Acked::default() }
    }

    /// Processes the SACK blocks or, without SACK, a duplicate ACK.
    #[inline(always)]
    fn take_selective<I: Io>(&mut self, cx: &mut Context<'_, I>, segment: &Segment, acked: &mut Acked) {
        let p = cx.p;
        if p.detection.recovery == Recovery::Sack {
            if segment.flags.has(Flags::SACK) {
                if p.receiver.dsack {
                    self.on_dsack(p, segment, cx.stats.retransmits);
                }
                let (newly, segments, once) = self.take_blocks(p, segment);
                acked.sacked_once = once;
                acked.taken.segments += segments;
                acked.sacked = newly > 0;
                acked.delivered += newly;
                self.dupacks += u32::from(acked.bytes == 0 && newly > 0);
            }
        } else if acked.bytes == 0 && segment.flags.has(Flags::PURE_ACK) && self.next > self.una {
            self.dupacks += 1;
            (acked.delivered, acked.taken.segments) = (u64::from(p.wire.mss), 1);
        }
    }

    /// Applies the SACK blocks. Returns the number of bytes and the number of segments that are newly SACKed, and the
    /// send times of those segments that were sent only once.
    fn take_blocks(&mut self, p: &TcpParams, segment: &Segment) -> (u64, u32, Option<Sent>) {
        let (una, next) = (self.una, self.next);
        let (board, mut watch) = self.watched_board();
        let mut newly = 0;
        for b in segment.sack.as_slice() {
            if b.end > una && b.end <= next && b.start < b.end {
                newly += board.sack(b.start, b.end, p.wire.mss, &mut watch);
            }
        }
        let (segments, once) = (watch.sacked, watch.once);
        // if a FIN without data is SACKed, `newly` is 0, but this SACK may be the last one that is needed to declare a
        // segment lost
        if segments > 0 {
            self.detection.mark_lost(&mut self.board, p);
        }
        (newly, segments, once)
    }

    /// Takes an RTT sample from an ACK, by the method that the stack's `rtt_source` selects, and adds it to the RTT
    /// estimate. Returns the sample for the controller: the round-trip time of the newest segment that the ACK
    /// delivers, because this segment waited least for a delayed ACK. If this round-trip time is unknown, returns the
    /// sample that was added to the RTT estimate. With `rtt_source = "echo"`, an ACK of no new data gives the
    /// controller no sample.
    #[inline(always)]
    fn measure(&mut self, p: &TcpParams, now: Time, ts_ecr: u32, acked: &Acked) -> Option<u32> {
        let age = |sent: u32| micros(now).wrapping_sub(sent);
        let echo = (p.wire.timestamps && ts_ecr != 0).then(|| age(ts_ecr));
        let once = acked.taken.once.filter(|_| !acked.taken.resent);
        let (oldest, newest) = match p.rto.rtt_source {
            RttSource::Echo if acked.bytes == 0 => {
                if let Some(us) = echo.filter(|_| p.quirks.rtt_from_every_ack) {
                    self.sample_rtt(p, us);
                }
                return None;
            }
            RttSource::Echo => {
                let newest = once.filter(|_| !acked.taken.passed).map(|sent| age(sent.newest));
                (echo.or(newest), newest)
            }
            RttSource::SendTime => {
                let sacked = acked.sacked_once;
                (once.or(sacked).map(|sent| age(sent.oldest)), sacked.or(once).map(|sent| age(sent.newest)))
            }
        };
        let echo = echo.filter(|_| acked.bytes > 0);
        let measured = oldest.or(echo).map(|us| (us, newest.unwrap_or(us)));
        if let Some((us, newest)) = measured {
            self.sample_rtt(p, us);
            self.detection.on_rtt(newest);
        }
        if p.quirks.backoff_until_new_data && acked.bytes > 0 {
            self.rtt.acknowledged(self.una);
        }
        measured.map(|(_, newest)| newest)
    }

    #[inline]
    pub(crate) fn sample_rtt(&mut self, p: &TcpParams, us: u32) {
        self.rtt.sample(p, us, self.una, self.next);
        self.detection.on_rtt(us);
    }

    #[inline(never)]
    fn count_marks(&mut self, rx: &mut Receiver, segment: &Segment, acked: Acked, s: &mut AckSample) {
        (s.ecn, s.segments) = (true, acked.taken.segments);
        if rx.ecn == EcnUse::Classic && echoes(segment) {
            s.marked = true;
            (s.ce_packets, s.ce_bytes) = (s.segments, acked.delivered);
        } else if rx.ecn == EcnUse::Accurate && segment.flags.has(Flags::ACE) && segment.ack == self.una {
            // only ACKs with the highest ACK number are used, because an ACK that arrives out of order carries an old counter
            (s.ce_packets, s.ce_bytes) = rx.counts().newly(segment, s.segments, acked.delivered);
            s.marked = s.ce_packets > 0;
        }
        self.ce_reported += s.ce_packets;
    }

    #[inline(always)]
    fn sample(
        &mut self,
        p: &TcpParams,
        now: Time,
        Acked { bytes, delivered, .. }: Acked,
        rtt_us: Option<u32>,
        flight_before: u64,
    ) -> AckSample {
        let mss = f64::from(p.wire.mss);
        // `bytes` is often one full segment, and then no division is needed
        let segments = |bytes: u64| if bytes == u64::from(p.wire.mss) { 1.0 } else { bytes as f64 / mss };
        let news = segments(bytes);
        let cwnd_limited = match p.window.cwnd_validation {
            CwndValidation::Off => true,
            CwndValidation::Round => {
                self.limited || self.window.slow_start() && self.window.cwnd * mss < 2.0 * f64::from(self.max_flight)
            }
            CwndValidation::Full => flight_before >= self.cwnd_bytes(p),
        };
        let in_flight = self.in_flight();
        // the round ends when `una` reaches the value that `next` had when the round began
        let round_ended = (self.una as u32).wrapping_sub(self.round_end) as i32 >= 0;
        if round_ended {
            self.round_end = self.next as u32;
        }
        AckSample {
            now,
            acked: news,
            credit: if delivered == bytes { news } else { segments(delivered) }.min(f64::from(p.window.abc_limit)),
            delivered,
            lost: flight_before.saturating_sub(delivered).saturating_sub(in_flight),
            rtt_us,
            srtt: self.rtt.srtt,
            flight_before,
            in_flight,
            una: self.una,
            next: self.next,
            round_ended,
            cwnd_limited,
            window_filled: self.limited,
            state: self.state,
            ..AckSample::default()
        }
    }

    /// After an ACK of new data, restarts the retransmission timer, or arms it for a tail loss probe. Stops the timer
    /// if nothing is outstanding (RFC 6298 §5.2 and §5.3). In a fast recovery with NewReno, only the first partial ACK
    /// restarts the timer; RFC 6582 calls this the Impatient variant. With `any_ack_restarts_timer`, a duplicate ACK
    /// has the same effect as an ACK of new data.
    #[inline(always)]
    fn restart_timer(&mut self, p: &TcpParams, now: Time, acked: u64) {
        if self.una == self.next {
            self.rto_at = Time::NEVER;
        } else if acked > 0 || p.quirks.any_ack_restarts_timer {
            if self.state == State::Recovery && p.detection.recovery == Recovery::Newreno {
                if self.partial_seen {
                    return;
                }
                self.partial_seen = true;
            }
            if !self.arm_probe(p, now, true) {
                self.rearm_rto(p, now);
            }
        }
    }
}
