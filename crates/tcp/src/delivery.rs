//! How fast the network delivers: one estimate per ACK, for controllers that model the path.
//!
//! ```text
//! a segment leaves   it remembers how much had been delivered (D) and when (T), and when that flight's first left (F)
//! it is delivered    bytes = delivered - D;  interval = max(sent - F, now - T);  rate = bytes / interval
//! ```
//!
//! The longer of the two intervals bounds the rate by what was sent, so that ACKs that were compressed do not inflate it. Of
//! the segments that one ACK delivers, the one sent last speaks.
//!
//! Source: draft-cheng-iccrg-delivery-rate-estimation-00.
//! Cost: one entry of 56 bytes per segment outstanding; an ACK visits the entries that it covers.

use crate::cc::control::RateSample;
use crate::segment::SackBlock;
use std::collections::VecDeque;
use units::{Duration, Time};

/// A segment outstanding.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sent {
    start: u64,
    end: u64,
    at: Time,
    delivered: u64,
    delivered_at: Time,
    first_at: Time,
    app_limited: bool,
    /// Sent more than once.
    again: bool,
    /// Delivered: the receiver has it, though something before it may be missing.
    done: bool,
}

/// What a sender must remember to estimate its delivery rate.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sampler {
    /// Bytes delivered since the connection began.
    delivered: u64,
    delivered_at: Time,
    /// When the first segment of the flight being measured left.
    first_at: Time,
    /// Samples are application-limited until this much is delivered; 0 for not.
    limited_until: u64,
    /// Least round trip so far, microseconds.
    min_rtt_us: Option<u32>,
    sent: VecDeque<Sent>,
}

impl Sampler {
    /// Bytes delivered since the connection began.
    pub(crate) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// The handshake took `us` microseconds, the least round trip so far.
    pub(crate) fn on_handshake(&mut self, us: u32) {
        self.min_rtt_us = Some(us);
    }

    /// A segment leaves, for the first time or again; `in_flight` is what was in the network before it.
    pub(crate) fn on_send(&mut self, now: Time, start: u64, end: u64, in_flight: u64) {
        if in_flight == 0 {
            (self.first_at, self.delivered_at) = (now, now);
        }
        let fresh = Sent {
            start,
            end,
            at: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_at: self.first_at,
            app_limited: self.limited_until > 0,
            again: false,
            done: false,
        };
        if self.sent.back().is_none_or(|last| last.end <= start) {
            return self.sent.push_back(fresh);
        }
        // a retransmission may cover several segments, or a part of one
        let from = self.sent.partition_point(|s| s.end <= start);
        for s in self.sent.range_mut(from..).take_while(|s| s.start < end).filter(|s| !s.done) {
            *s = Sent { start: s.start, end: s.end, again: true, ..fresh };
        }
    }

    /// Samples are limited by the application now.
    pub(crate) fn is_app_limited(&self) -> bool {
        self.limited_until > 0
    }

    /// The application had nothing to send although the window had room.
    pub(crate) fn on_app_limited(&mut self, in_flight: u64) {
        self.limited_until = (self.delivered + in_flight).max(1);
    }

    /// Everything below `una` and in `blocks` is delivered. Gives the bytes that are so newly, and their sample.
    pub(crate) fn on_ack(&mut self, now: Time, una: u64, blocks: &[SackBlock]) -> (u64, Option<RateSample>) {
        let before = self.delivered;
        let mut newest: Option<Sent> = None;
        let mut take = |s: &Sent| {
            if newest.is_none_or(|n| (s.delivered, s.at) >= (n.delivered, n.at)) {
                newest = Some(*s);
            }
        };
        while let Some(s) = self.sent.pop_front_if(|s| s.end <= una) {
            if !s.done {
                self.delivered += s.end - s.start;
                take(&s);
            }
        }
        for b in blocks {
            let from = self.sent.partition_point(|s| s.start < b.start);
            for s in self.sent.range_mut(from..).take_while(|s| s.end <= b.end).filter(|s| !s.done) {
                s.done = true;
                self.delivered += s.end - s.start;
                take(s);
            }
        }
        let newly = self.delivered - before;
        let Some(s) = newest else { return (0, None) };
        self.delivered_at = now;
        self.first_at = s.at;
        if self.limited_until > 0 && self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        let interval = s.at.since(s.first_at).max(now.since(s.delivered_at));
        let rtt_us = (!s.again).then(|| (now.since(s.at).0 / 1000).min(u32::MAX.into()) as u32);
        self.min_rtt_us = self.min_rtt_us.into_iter().chain(rtt_us).min();
        let least = Duration::from_micros(u64::from(self.min_rtt_us.unwrap_or(0)));
        let sample = RateSample {
            bytes: self.delivered - s.delivered,
            interval,
            prior_delivered: s.delivered,
            app_limited: s.app_limited,
            rtt_us,
            compressed: interval.is_zero() || interval < least,
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
        // ten segments at once, delivered one per millisecond after 10 ms, each replaced at once
        for k in 0..10 {
            s.on_send(Time(MS), k * 1000, (k + 1) * 1000, k * 1000);
        }
        let mut last = None;
        for k in 0..40 {
            let now = Time((11 + k) * MS);
            let (newly, sample) = s.on_ack(now, (k + 1) * 1000, &[]);
            assert_eq!(newly, 1000);
            s.on_send(now, (k + 10) * 1000, (k + 11) * 1000, 9000);
            last = sample;
        }
        // a segment's flight: ten segments in 10 ms
        let d = last.unwrap();
        assert_eq!((d.bytes, d.interval, d.app_limited), (10_000, Duration::from_millis(10), false));
        assert_eq!(s.delivered(), 40_000);
    }

    #[test]
    fn sacked_bytes_count_once_and_compressed_acks_do_not_inflate() {
        let mut s = Sampler::default();
        // five segments, one per 2 ms
        for k in 0..5u64 {
            s.on_send(Time(2 * k * MS), k * 1000, (k + 1) * 1000, k * 1000);
        }
        let (newly, _) = s.on_ack(Time(20 * MS), 0, &[SackBlock { start: 1000, end: 3000 }]);
        assert_eq!(newly, 2000);
        let (newly, sample) = s.on_ack(Time(20 * MS), 0, &[SackBlock { start: 1000, end: 5000 }]);
        assert_eq!(newly, 2000);
        // sent last: at 8 ms in a flight that began at 0; nothing had been delivered then: 4000 bytes over 20 ms
        assert_eq!(
            sample.unwrap(),
            RateSample {
                bytes: 4000,
                interval: Duration::from_millis(20),
                prior_delivered: 0,
                app_limited: false,
                rtt_us: Some(12_000),
                compressed: false,
            }
        );
        s.on_send(Time(21 * MS), 0, 1000, 1000);
        let (newly, sample) = s.on_ack(Time(31 * MS), 5000, &[]);
        assert_eq!((newly, s.delivered()), (1000, 5000));
        // sent once, since the hole was never sent before; the first segment's 20 ms are the least but for it
        assert_eq!(sample.unwrap().prior_delivered, 4000);
    }

    #[test]
    fn an_application_that_pauses_marks_its_samples() {
        let mut s = Sampler::default();
        s.on_send(Time(0), 0, 1000, 0);
        s.on_app_limited(1000);
        s.on_send(Time(MS), 1000, 2000, 1000);
        assert!(!s.on_ack(Time(10 * MS), 1000, &[]).1.unwrap().app_limited);
        assert!(s.on_ack(Time(11 * MS), 2000, &[]).1.unwrap().app_limited);
        s.on_send(Time(12 * MS), 2000, 3000, 0);
        assert!(!s.on_ack(Time(22 * MS), 3000, &[]).1.unwrap().app_limited);
    }
}
