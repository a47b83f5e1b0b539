//! What an acknowledgement means.

use super::{Cx, Sender};
use crate::cc::control::AckSample;
use crate::feedback::{EcnUse, echoes};
use crate::params::{CwndValidation, Recovery, RttSource, TcpParams};
use crate::receiver::Receiver;
use crate::scoreboard::entry::Sent;
use crate::segment::{Event, Io, Segment, micros};
use crate::stats::State;
use packet::Flags;
use units::Time;

/// What an ACK has taken off the board.
#[derive(Clone, Copy, Debug, Default)]
struct Took {
    /// Bytes newly acknowledged cumulatively.
    acked: u64,
    /// Bytes newly delivered, cumulatively or by SACK; duplicate ACKs are believed to tell of a segment each.
    delivered: u64,
    /// Segments newly delivered.
    segments: u32,
    /// SACK told of something new.
    sacked: bool,
    /// Send times of what it newly acknowledges and was sent once, and whether it acknowledges anything that was sent twice.
    once: Option<Sent>,
    resent: bool,
    /// Some of what it acknowledges had been SACKed before.
    passed: bool,
    /// Send times of what it newly SACKs and was sent once.
    sacked_once: Option<Sent>,
}

impl Sender {
    /// The ACK part of a segment of an established connection: what it delivers, what that makes lost, what the controller and the state
    /// make of it, and when the timer runs out now.
    #[inline]
    pub(crate) fn on_ack<I: Io>(&mut self, cx: &mut Cx<'_, I>, segment: &Segment) {
        let (p, now) = (cx.p, cx.now);
        if segment.ack > self.next || segment.ack < self.una && !self.old_ack_tells(p, segment) {
            return;
        }
        let flight_before = self.in_flight();
        self.detection.begin(micros(now));
        self.begin_doubt();
        let mut took = self.take_cumulative(cx, segment);
        self.detection.cumulative_part_done();
        self.take_selective(cx, segment, &mut took);
        let rtt_us = self.measure(p, now, segment.ts_ecr, &took);
        let waits = self.detect(p, now, took.acked);
        self.judge_probe(p, segment, took.acked > 0 || took.delivered > 0);
        if self.doubt {
            self.judge(p, segment, took.acked, took.sacked);
        }
        if took.acked == 0 && took.delivered == 0 && !echoes(segment) {
            return self.restart_timer(p, now, took.acked);
        }
        let mut sample = self.sample(p, now, took, rtt_us, flight_before);
        if cx.rx.ecn != EcnUse::Off {
            self.count_marks(cx.rx, segment, took, &mut sample);
        }
        if segment.ts_val != 0 && segment.ts_ecr != 0 {
            sample.one_way_us = Some(segment.ts_val.wrapping_sub(segment.ts_ecr));
        }
        if sample.lost > 0 {
            self.report_losses(now);
        }
        let models = self.cc.owns_window();
        if !models {
            self.sample_rates(p, now, &mut sample);
        }
        self.advance(cx, &mut sample, took.acked, took.delivered);
        if models {
            self.consult(cx, &mut sample);
        }
        self.on_ece(cx, &sample);
        self.set_pace(p, rtt_us);
        if !waits {
            self.restart_timer(p, now, took.acked);
        }
    }

    /// An ACK that others have overtaken still tells what lies above the hole (Linux; RFC 9293 §3.10.7.4 lets it be ignored).
    #[cold]
    fn old_ack_tells(&self, p: &TcpParams, segment: &Segment) -> bool {
        p.detection.recovery == Recovery::Sack && segment.flags.has(Flags::SACK) && self.next > self.una
    }

    /// The cumulative part.
    #[inline]
    fn take_cumulative<I: Io>(&mut self, cx: &mut Cx<'_, I>, segment: &Segment) -> Took {
        let (p, now) = (cx.p, cx.now);
        let acked = segment.ack.saturating_sub(self.una);
        let mut took = Took { acked, delivered: acked, ..Took::default() };
        if acked == 0 {
            return took;
        }
        self.una = segment.ack;
        let (board, mut watch) = self.watched_board();
        let taken = board.ack(segment.ack, &mut watch);
        // an ACK that ends within a segment that was SACKed brings less than that segment
        took.delivered = acked.saturating_sub(taken.sacked);
        took.segments = taken.segments;
        if self.state == State::Recovery && p.detection.recovery != Recovery::Sack {
            // duplicate ACKs have told of all but the hole
            took.delivered =
                acked.saturating_sub(u64::from(self.board.dup_bytes)).max(acked.min(u64::from(p.wire.mss)));
        }
        (took.once, took.resent, took.passed) = (taken.once, taken.resent, taken.passed);
        if self.una == self.next && p.window.silence_from_ack() {
            self.last_active = now;
        }
        self.timeouts = 0;
        let bytes = acked - u64::from(self.fin_sent && self.una == self.next);
        if bytes > 0 {
            cx.io.event(Event::Acked { bytes });
        }
        took
    }

    /// SACK blocks, or the duplicate ACK that stands for them.
    #[inline]
    fn take_selective<I: Io>(&mut self, cx: &mut Cx<'_, I>, segment: &Segment, took: &mut Took) {
        let p = cx.p;
        if p.detection.recovery == Recovery::Sack {
            if segment.flags.has(Flags::SACK) {
                if p.receiver.dsack {
                    self.on_duplicate(p, segment, cx.stats.retransmits);
                }
                let (newly, segments, once) = self.take_blocks(p, segment);
                took.sacked_once = once;
                took.segments += segments;
                took.sacked = newly > 0;
                took.delivered += newly;
                self.dupacks += u32::from(took.acked == 0 && newly > 0);
            }
        } else if took.acked == 0 && segment.flags.has(Flags::PURE_ACK) && self.next > self.una {
            self.dupacks += 1;
            (took.delivered, took.segments) = (u64::from(p.wire.mss), 1);
        }
    }

    /// Bytes and segments that the blocks newly tell of, and when those left that were sent once.
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
        // a FIN alone has no bytes, and may be the last that a loss is told by
        if segments > 0 {
            self.detection.mark_lost(&mut self.board, p);
        }
        (newly, segments, once)
    }

    /// The round trip that an ACK measures, where the axis reads it. What the controller gets is that of the newest segment, without
    /// the time that the receiver held the ACK for it.
    #[inline]
    fn measure(&mut self, p: &TcpParams, now: Time, ts_ecr: u32, took: &Took) -> Option<u32> {
        let age = |sent: u32| micros(now).wrapping_sub(sent);
        let echo = (p.wire.timestamps && ts_ecr != 0).then(|| age(ts_ecr));
        let acked = took.once.filter(|_| !took.resent);
        let (oldest, newest) = match p.rto.rtt_source {
            RttSource::Echo if took.acked == 0 => {
                if let Some(us) = echo.filter(|_| p.quirks.rtt_from_every_ack) {
                    self.sample_rtt(p, us);
                }
                return None;
            }
            RttSource::Echo => {
                let newest = acked.filter(|_| !took.passed).map(|sent| age(sent.newest));
                (echo.or(newest), newest)
            }
            RttSource::SendTime => {
                let sacked = took.sacked_once;
                (acked.or(sacked).map(|sent| age(sent.oldest)), sacked.or(acked).map(|sent| age(sent.newest)))
            }
        };
        let echo = echo.filter(|_| took.acked > 0);
        let measured = oldest.or(echo).map(|us| (us, newest.unwrap_or(us)));
        if let Some((us, newest)) = measured {
            self.sample_rtt(p, us);
            if let Some(rack) = self.detection.rack() {
                rack.note_rtt(newest);
            }
        }
        if p.quirks.backoff_until_new_data && took.acked > 0 {
            self.rtt.acknowledged(self.una);
        }
        measured.map(|(_, newest)| newest)
    }

    /// A round trip of so many microseconds.
    #[inline]
    pub(crate) fn sample_rtt(&mut self, p: &TcpParams, us: u32) {
        self.rtt.sample(p, us);
        if let Some(rack) = self.detection.rack() {
            rack.note_rtt(us);
            rack.sampled = true;
        }
    }

    /// What the ACK tells of CE marks.
    #[inline(never)]
    fn count_marks(&mut self, rx: &mut Receiver, segment: &Segment, took: Took, s: &mut AckSample) {
        (s.ecn, s.segments) = (true, took.segments);
        if rx.ecn == EcnUse::Classic && echoes(segment) {
            s.marked = true;
            (s.ce_packets, s.ce_bytes) = (took.segments, took.delivered);
        } else if rx.ecn == EcnUse::Accurate && segment.flags.has(Flags::ACE) && segment.ack == self.una {
            // an ACK that others have overtaken tells an old count
            (s.ce_packets, s.ce_bytes) = rx.counts().newly(segment, took.segments, took.delivered);
            s.marked = s.ce_packets > 0;
        }
        self.ce_told += s.ce_packets;
    }

    #[inline]
    fn sample(
        &mut self,
        p: &TcpParams,
        now: Time,
        Took { acked, delivered, .. }: Took,
        rtt_us: Option<u32>,
        flight_before: u64,
    ) -> AckSample {
        let mss = f64::from(p.wire.mss);
        // nearly always one full segment: no division
        let segments = |bytes: u64| if bytes == u64::from(p.wire.mss) { 1.0 } else { bytes as f64 / mss };
        let news = segments(acked);
        let cwnd_limited = match p.window.cwnd_validation {
            CwndValidation::Off => true,
            CwndValidation::Round => {
                self.limited || self.window.slow_start() && self.window.cwnd * mss < 2.0 * f64::from(self.max_flight)
            }
            CwndValidation::Full => flight_before >= self.cwnd_bytes(p),
        };
        let in_flight = self.in_flight();
        // not behind what was sent when the last round ended
        let round_ended = (self.una as u32).wrapping_sub(self.round_end) as i32 >= 0;
        if round_ended {
            self.round_end = self.next as u32;
        }
        AckSample {
            now,
            acked: news,
            credit: if delivered == acked { news } else { segments(delivered) }.min(f64::from(p.window.abc_limit)),
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
            state: self.state,
            ..AckSample::default()
        }
    }

    /// RFC 6298 §5.2 and §5.3; RFC 6582's impatient variant restarts at the first partial ACK only.
    #[inline]
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
            if self.detection.as_rack().is_none() {
                self.rto_at = p.rto.expiry(now, self.rtt.rto(p.rto.max_rto));
            } else if !self.arm_probe(p, now, true) {
                self.rearm_rto(p, now);
            }
        }
    }
}
