//! Delivery rate estimation: takes one sample per ACK that delivers data, for controllers that use delivery rates.
//!
//! ```text
//! when a segment is sent:       store the bytes delivered so far (D), the time of the last delivery (T),
//!                               and the send time of the flight's first segment (F)
//! when it is delivered:         bytes = delivered - D;  interval = max(sent - F, now - T);  rate = bytes / interval
//! ```
//!
//! Taking the longer interval limits the sample to the sending rate, so compressed ACKs do not inflate it. If an ACK delivers
//! several segments, the sample is taken from the one sent last.
//!
//! Source: draft-cheng-iccrg-delivery-rate-estimation-00.
//! Cost: 56 bytes per outstanding segment, at the same position as its scoreboard entry. The scoreboard reports which segments
//! arrive.

use crate::cc::control::{LostSegment, RateSample};
use crate::scoreboard::Scoreboard;
use crate::scoreboard::entry::{LOST, RETX, SACKED};
use std::collections::VecDeque;
use units::{Duration, Time};

/// The estimator's record of a segment: the state of the estimator when the segment was last sent, and whether the segment
/// was delivered or lost since then.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sent {
    at: Time,
    delivered: u64,
    delivered_at: Time,
    first_at: Time,
    app_limited: bool,
    /// Bytes in flight when the segment was sent, including the segment.
    in_flight: u64,
    /// Bytes marked lost before the segment was sent.
    lost: u64,
    /// Number of the transmission, in the order of sending, modulo 2^32.
    order: u32,
    /// True if the segment was marked lost and its loss was already reported.
    gone: bool,
    /// True if the segment was SACKed.
    done: bool,
}

const _: () = assert!(size_of::<Sent>() == 56);

/// The data that the current ACK delivers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Arrived {
    bytes: u64,
    /// The delivered segment that was sent last. The flag is true if this segment was sent more than once.
    newest: Option<(Sent, bool)>,
}

/// The delivery rate estimator's state.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sampler {
    /// Bytes delivered since the connection began.
    pub(crate) delivered: u64,
    delivered_at: Time,
    /// Send time of the first segment of the flight being measured.
    first_at: Time,
    /// Segments sent now are application-limited. This ends when more than this number of bytes are delivered; 0 if they
    /// are not limited.
    limited_until: u64,
    /// Minimum RTT so far, microseconds.
    min_rtt_us: Option<u32>,
    /// Bytes marked lost since the connection began.
    lost: u64,
    /// Number of the next transmission.
    sends: u32,
    /// One element for each segment, at the same position as the segment's scoreboard entry.
    sent: VecDeque<Sent>,
    arrived: Arrived,
}

impl Arrived {
    /// Adds a segment to the data that the ACK delivers. If no other segment delivered by this ACK was sent later, the
    /// segment becomes `newest`. Segments may be added in any order, as in several SACK blocks. A FIN without data delivers nothing.
    fn take(&mut self, s: Sent, bytes: u64, again: bool) {
        if bytes == 0 {
            return;
        }
        self.bytes += bytes;
        if self.newest.is_none_or(|(n, _)| (s.order.wrapping_sub(n.order) as i32) > 0) {
            self.newest = Some((s, again));
        }
    }
}

impl Sampler {
    /// Takes the duration of the handshake, `us` microseconds, as the first RTT sample.
    pub(crate) fn on_handshake(&mut self, us: u32) {
        self.min_rtt_us = Some(us);
    }

    /// Records that a segment of `bytes` is sent. `in_flight` excludes this segment. For a retransmission, `again` is its
    /// position on the scoreboard. If no segment is outstanding, `first_at` and `delivered_at` become `now`. It is not
    /// enough that none is in flight: after a timeout, all outstanding segments may be marked lost, but a late ACK can
    /// still deliver them.
    pub(crate) fn on_send(&mut self, now: Time, again: Option<u32>, bytes: u32, in_flight: u64) {
        if bytes > 0 && self.sent.is_empty() {
            (self.first_at, self.delivered_at) = (now, now);
        }
        let fresh = Sent {
            at: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_at: self.first_at,
            app_limited: self.limited_until > 0,
            in_flight: in_flight + u64::from(bytes),
            lost: self.lost,
            order: self.sends,
            gone: false,
            done: false,
        };
        self.sends = self.sends.wrapping_add(1);
        match again {
            None => self.sent.push_back(fresh),
            Some(at) => {
                if let Some(s) = self.sent.get_mut(at as usize).filter(|s| !s.done) {
                    *s = fresh;
                }
            }
        }
    }

    /// Records that the segment of `bytes` at position `at` is newly SACKed. `again` is true if the segment was sent more
    /// than once.
    pub(crate) fn on_sacked(&mut self, at: usize, bytes: u64, again: bool) {
        if let Some(s) = self.sent.get_mut(at).filter(|s| !s.done) {
            s.done = true;
            let s = *s;
            self.arrived.take(s, bytes, again);
        }
    }

    /// Records that the first segment on the scoreboard is acknowledged, and so leaves the scoreboard.
    pub(crate) fn on_acknowledged(&mut self, bytes: u64, again: bool) {
        if let Some(s) = self.sent.pop_front().filter(|s| !s.done) {
            self.arrived.take(s, bytes, again);
        }
    }

    /// Reports newly lost segments in sequence order. Called only after an ACK that reports a loss, after a timeout, or
    /// at the end of a reordering window. Bound: a call visits each entry of the scoreboard once.
    pub(crate) fn report_losses(&mut self, board: &Scoreboard, mut report: impl FnMut(&LostSegment)) {
        let mut adjoins = false;
        for (s, e) in self.sent.iter_mut().zip(board.iter()) {
            let lost = e.has(LOST) && !e.has(RETX) && !e.has(SACKED);
            let newly = lost && !s.gone && e.bytes() > 0;
            s.gone = lost;
            if newly {
                self.lost += e.bytes();
                report(&LostSegment {
                    bytes: e.bytes(),
                    tx_in_flight: s.in_flight,
                    lost: self.lost - s.lost,
                    app_limited: s.app_limited,
                    total_delivered: self.delivered + self.arrived.bytes,
                    adjoins,
                });
            }
            adjoins = newly;
        }
    }

    /// Returns true if segments sent now are application-limited.
    pub(crate) fn is_app_limited(&self) -> bool {
        self.limited_until > 0
    }

    /// Records that the application had less than a full segment to send although the window had room, or that the
    /// controller keeps the window small on purpose.
    pub(crate) fn on_app_limited(&mut self, in_flight: u64) {
        self.limited_until = (self.delivered + in_flight).max(1);
    }

    /// Completes the processing of an ACK. Returns the bytes newly delivered, and the rate sample.
    pub(crate) fn on_ack(&mut self, now: Time) -> (u64, Option<RateSample>) {
        let Arrived { bytes: newly, newest } = std::mem::take(&mut self.arrived);
        self.delivered += newly;
        let Some((s, again)) = newest else { return (0, None) };
        self.delivered_at = now;
        self.first_at = s.at;
        if self.limited_until > 0 && self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        let interval = s.at.since(s.first_at).max(now.since(s.delivered_at));
        let rtt_us = (!again).then(|| (now.since(s.at).0 / 1000).min(u32::MAX.into()) as u32);
        self.min_rtt_us = self.min_rtt_us.into_iter().chain(rtt_us).min();
        let least = Duration::from_micros(u64::from(self.min_rtt_us.unwrap_or(0)));
        let sample = RateSample {
            bytes: self.delivered - s.delivered,
            interval,
            prior_delivered: s.delivered,
            app_limited: s.app_limited,
            rtt_us,
            compressed: interval.is_zero() || interval < least,
            tx_in_flight: s.in_flight,
            lost: self.lost - s.lost,
        };
        (newly, Some(sample))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_steady_flight_gives_the_rate_of_the_path() {
        let mut s = Sampler::default();
        // ten segments are sent at once. 10 ms later, deliveries begin: one segment per millisecond, each replaced by a new
        // segment
        for k in 0..10 {
            s.on_send(Time(MS), None, 1000, k * 1000);
        }
        let mut last = None;
        for k in 0..40 {
            let now = Time((11 + k) * MS);
            s.on_acknowledged(1000, false);
            let (newly, sample) = s.on_ack(now);
            assert_eq!(newly, 1000);
            s.on_send(now, None, 1000, 9000);
            last = sample;
        }
        // each segment is in flight for 10 ms, and ten segments are delivered in this time
        let d = last.unwrap();
        assert_eq!((d.bytes, d.interval, d.app_limited), (10_000, Duration::from_millis(10), false));
        assert_eq!(s.delivered, 40_000);
    }

    #[test]
    fn sacked_bytes_count_once_and_compressed_acks_do_not_inflate() {
        let mut s = Sampler::default();
        // five segments are sent, one every 2 ms
        for k in 0..5u64 {
            s.on_send(Time(2 * k * MS), None, 1000, k * 1000);
        }
        (1..3).for_each(|at| s.on_sacked(at, 1000, false));
        let (newly, _) = s.on_ack(Time(20 * MS));
        assert_eq!(newly, 2000);
        (1..5).for_each(|at| s.on_sacked(at, 1000, false));
        let (newly, sample) = s.on_ack(Time(20 * MS));
        assert_eq!(newly, 2000);
        // segments 1 to 4 (4000 bytes) are delivered. Segment 4 was sent at 8 ms, before anything was delivered, in a
        // flight that began at 0 ms. The sample therefore covers all 4000 bytes and the 20 ms since 0 ms
        assert_eq!(
            sample.unwrap(),
            RateSample {
                bytes: 4000,
                interval: Duration::from_millis(20),
                prior_delivered: 0,
                app_limited: false,
                rtt_us: Some(12_000),
                compressed: false,
                tx_in_flight: 5000,
                lost: 0,
            }
        );
        s.on_send(Time(21 * MS), Some(0), 1000, 1000);
        s.on_acknowledged(1000, true);
        (1..5).for_each(|_| s.on_acknowledged(1000, false));
        let (newly, sample) = s.on_ack(Time(31 * MS));
        assert_eq!((newly, s.delivered), (1000, 5000));
        // the sample comes from the retransmission that fills the hole, so it contains no RTT
        assert_eq!(sample.map(|s| (s.prior_delivered, s.rtt_us)), Some((4000, None)));
    }

    #[test]
    fn the_sample_is_that_of_the_segment_sent_last() {
        // five segments are sent at the same time, then the first again. An ACK delivers segments 1, 2 and 4. Its SACK
        // blocks report segment 4 before segments 1 and 2 (RFC 2018 §4: the block of the newest segment comes first)
        let mut s = Sampler::default();
        (0..5).for_each(|k| s.on_send(Time(MS), None, 1000, k * 1000));
        s.on_send(Time(MS), Some(0), 1000, 4000);
        [4, 1, 2].into_iter().for_each(|at| s.on_sacked(at, 1000, false));
        let sample = s.clone().on_ack(Time(21 * MS)).1.unwrap();
        // segment 4 was sent when 5000 bytes were in flight, including itself; segment 2 when 3000 were
        assert_eq!((sample.tx_in_flight, sample.rtt_us), (5000, Some(20_000)));
        // the second transmission of segment 0 left last. It is reported first, because the ACK number is applied
        // before the SACK blocks
        let mut s = Sampler::default();
        (0..5).for_each(|k| s.on_send(Time(MS), None, 1000, k * 1000));
        s.on_send(Time(MS), Some(0), 1000, 3000);
        s.on_acknowledged(1000, true);
        s.on_sacked(3, 1000, false);
        let sample = s.on_ack(Time(21 * MS)).1.unwrap();
        assert_eq!((sample.tx_in_flight, sample.rtt_us), (4000, None));
    }

    #[test]
    fn a_timeout_does_not_restart_the_intervals() {
        let mut s = Sampler::default();
        (0..10).for_each(|k| s.on_send(Time(MS), None, 1000, k * 1000));
        s.on_acknowledged(1000, false);
        s.on_ack(Time(41 * MS));
        // the ACKs of the other nine segments are lost. After a timeout, all nine are marked lost, so no byte is in flight when
        // the first of them is sent again. Its ACK also acknowledges the rest: 9000 bytes in the second since the last delivery
        s.on_send(Time(1001 * MS), Some(0), 1000, 0);
        s.on_acknowledged(1000, true);
        (0..8).for_each(|_| s.on_acknowledged(1000, false));
        let sample = s.on_ack(Time(1041 * MS)).1.unwrap();
        assert_eq!((sample.bytes, sample.interval), (9000, Duration::from_millis(1000)));
    }

    #[test]
    fn an_application_that_pauses_marks_its_samples() {
        let mut s = Sampler::default();
        s.on_send(Time(0), None, 1000, 0);
        s.on_app_limited(1000);
        s.on_send(Time(MS), None, 1000, 1000);
        let limited = |s: &mut Sampler, ms: u64| {
            s.on_acknowledged(1000, false);
            s.on_ack(Time(ms * MS)).1.unwrap().app_limited
        };
        assert!(!limited(&mut s, 10));
        assert!(limited(&mut s, 11));
        s.on_send(Time(12 * MS), None, 1000, 0);
        assert!(!limited(&mut s, 22));
        // a FIN has an entry on the scoreboard, but delivers no data
        s.on_send(Time(23 * MS), None, 0, 0);
        s.on_acknowledged(0, false);
        assert_eq!(s.on_ack(Time(33 * MS)), (0, None));
    }
}
