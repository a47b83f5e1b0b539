//! The picture that the receiver of a video call sees: frames of several datagrams each, and freezes.
//!
//! A frame is whole if all its datagrams arrive before any later frame is whole; other frames are not shown. The
//! picture freezes if no frame becomes whole for more than max(3 T, T + 150 ms), where T is the time between frames.
//!
//! ```text
//!   shown   = min(arrival, stop)
//!   gap     = shown - shown of the previous whole frame - paused
//!   paused  = time between the two frames that lies within [from + delay, to + delay], for the sender's pauses [from, to]
//!   delay   = min(delay of the previous whole frame, delay of this frame)
//! ```
//!
//! So a gap contains neither the sender's pauses nor the time after its stop. A constant delay does not lengthen a gap,
//! and a queue that drains in a pause does not shorten one. For the gap at the end of the run, `delay` is that of the
//! last whole frame.
//!
//! The first gap begins when the first frame is due: at its capture plus the smallest delay of a whole frame, or at its capture
//! if no frame is whole.
//!
//! Source: W3C webrtc-stats, freezeCount. Departs: T is the sender's interval instead of a running mean of arrivals; the times
//! before the first whole frame and after the last one count too.

use std::collections::VecDeque;
use units::{Duration, Time};

/// A frame that has not completely arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Frame {
    /// The frame's datagrams are numbered from `numbers[0]` up to, but not including, `numbers[1]`.
    numbers: [u64; 2],
    /// Number of datagrams that have not yet arrived.
    missing: u64,
    captured: Time,
}

/// An arrival at the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Arrived {
    pub(crate) at: Time,
    /// Time since the capture of the frame, or since the departure of the packet.
    pub(crate) delay: Duration,
}

impl Arrived {
    /// Returns the time from this arrival to `next`, without the sender's pauses. At the receiver, a pause is later by
    /// the smaller of the two delays. `paused` returns the total time of the pauses before a time.
    pub(crate) fn gap(self, next: Self, paused: impl Fn(Time) -> Duration) -> Duration {
        let delay = self.delay.min(next.delay);
        let paused = paused(next.at - delay).saturating_sub(paused(self.at - delay));
        next.at.since(self.at).saturating_sub(paused)
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Picture {
    /// Frames later than the last whole frame, oldest first: all of them may still arrive.
    frames: VecDeque<Frame>,
    pub(crate) sent: u64,
    pub(crate) whole: u64,
    /// Time at which the first frame was captured.
    begin: Option<Time>,
    /// The first whole frame.
    first: Option<Arrived>,
    /// The last whole frame.
    last: Option<Arrived>,
    /// Smallest delay of a whole frame.
    min_delay: Option<Duration>,
    pub(crate) freezes: u64,
    /// Total time of the freezes.
    pub(crate) frozen: Duration,
}

impl Picture {
    /// Adds a frame captured at `captured`. Its datagrams are numbered from `numbers[0]` up to, but not including,
    /// `numbers[1]`.
    pub(crate) fn sent(&mut self, numbers: [u64; 2], captured: Time) {
        self.frames.push_back(Frame { numbers, missing: numbers[1] - numbers[0], captured });
        self.sent += 1;
        self.begin.get_or_insert(captured);
    }

    /// Handles the arrival of a datagram from a sender that stops at `stop`. If the datagram makes a frame whole,
    /// returns the time since the capture of the frame. `paused` returns the total time of the sender's pauses before a
    /// time.
    pub(crate) fn arrived(
        &mut self,
        number: u64,
        now: Time,
        stop: Time,
        interval: Duration,
        paused: impl Fn(Time) -> Duration,
    ) -> Option<Duration> {
        let i = self.frames.partition_point(|f| f.numbers[1] <= number);
        let frame = self.frames.get_mut(i).filter(|f| f.numbers[0] <= number)?;
        frame.missing -= 1;
        if frame.missing > 0 {
            return None;
        }
        let delay = now.since(frame.captured);
        // earlier frames are discarded, because a frame that arrives after a later frame is not shown
        self.frames.drain(..=i);
        self.whole += 1;
        let next = Arrived { at: now.min(stop), delay };
        if let Some(last) = self.last {
            self.gap(last, next, interval, paused);
        }
        self.first.get_or_insert(next);
        self.last = Some(next);
        self.min_delay = Some(self.min_delay.map_or(delay, |min| min.min(delay)));
        Some(delay)
    }

    /// Counts a freeze before the first whole frame, and a freeze after the last whole frame, if these times are long
    /// enough. `end` is the end of the run or of the flow.
    pub(crate) fn end(&mut self, end: Time, interval: Duration, paused: impl Fn(Time) -> Duration) {
        let Some(begin) = self.begin else { return };
        let end = Arrived { at: end, delay: Duration::MAX };
        let delay = self.min_delay.unwrap_or_default();
        self.gap(Arrived { at: begin + delay, delay }, self.first.unwrap_or(end), interval, &paused);
        if let Some(last) = self.last {
            self.gap(last, end, interval, paused);
        }
    }

    /// Counts the time from `last` to `next`, without the sender's pauses, as a freeze if it is long enough.
    fn gap(&mut self, last: Arrived, next: Arrived, interval: Duration, paused: impl Fn(Time) -> Duration) {
        let gap = last.gap(next, paused);
        if gap > (interval * 3).max(interval + Duration::from_millis(150)) {
            self.freezes += 1;
            self.frozen += gap;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_millis(100);

    fn never(_: Time) -> Duration {
        Duration::ZERO
    }

    /// A frame is sent every 100 ms. The picture freezes if the next whole frame arrives after more than 300 ms.
    #[test]
    fn a_picture_freezes_when_frames_are_missing() {
        let ms = |n| Time(n * 1_000_000);
        let mut p = Picture::default();
        (0..20).for_each(|frame| p.sent([4 * frame, 4 * frame + 4], ms(100 * frame)));
        let whole = |p: &mut Picture, frame: u64, at: u64| {
            let delays = (4 * frame..4 * frame + 4).map(|n| p.arrived(n, ms(at), Time::NEVER, INTERVAL, never));
            assert_eq!(delays.last().unwrap(), Some(Duration::from_millis(at - 100 * frame)));
        };
        whole(&mut p, 0, 50);
        // a datagram of frame 1 is missing: 200 ms between whole frames is not a freeze
        assert!((4..7).all(|n| p.arrived(n, ms(150), Time::NEVER, INTERVAL, never).is_none()));
        whole(&mut p, 2, 250);
        assert_eq!((p.whole, p.freezes, p.frozen), (2, 0, Duration::ZERO));
        // the last datagram of frame 1 arrives too late for the frame to be shown
        p.arrived(7, ms(260), Time::NEVER, INTERVAL, never);
        assert_eq!(p.whole, 2);
        // a gap of exactly 300 ms is not a freeze, because the limit must be exceeded; a gap of 301 ms is a freeze
        whole(&mut p, 5, 550);
        whole(&mut p, 8, 851);
        assert_eq!((p.whole, p.freezes, p.frozen), (4, 1, Duration::from_millis(301)));
        // at the end, the 1000 ms since the last whole frame are a freeze, but not if the sender has paused for 700 of them
        let mut paused = p.clone();
        p.end(ms(1851), INTERVAL, never);
        assert_eq!((p.sent, p.whole, p.freezes, p.frozen), (20, 4, 2, Duration::from_millis(1301)));
        paused.end(ms(1851), INTERVAL, |t| t.since(ms(900)).min(Duration::from_millis(700)));
        assert_eq!(paused.freezes, 1);
        // frame 9 arrives 1000 ms after frame 8, but the sender stops 300 ms after frame 8, so only 300 ms count
        p = paused;
        assert!((36..40).any(|n| p.arrived(n, ms(1851), ms(1151), INTERVAL, never).is_some()));
        assert_eq!((p.whole, p.freezes), (5, 1));
    }

    #[test]
    fn a_picture_that_comes_late_or_never_is_frozen_until_then() {
        let ms = |n| Time(n * 1_000_000);
        // 50 frames of one datagram, every 100 ms from 200 ms on
        let sent = || {
            let mut p = Picture::default();
            (0..50).for_each(|frame| p.sent([frame, frame + 1], ms(200 + 100 * frame)));
            p
        };
        let figures = |p: &Picture, end: u64, stop: u64| {
            let mut p = p.clone();
            p.end(ms(end.min(stop)), INTERVAL, never);
            (p.freezes, p.frozen.0 / 1_000_000)
        };
        // nothing arrives, until the end or the stop
        assert_eq!(figures(&sent(), 5200, u64::MAX), (1, 5000));
        assert_eq!(figures(&sent(), 9000, 4200), (1, 4000));
        // with a constant delay of 900 ms, the first frame is due at 1100 ms. In one run, frame 0 arrives then; in
        // another, frame 20 is the first to arrive
        let from = |first: u64| {
            let mut p = sent();
            for frame in first..50 {
                p.arrived(frame, ms(1100 + 100 * frame), Time::NEVER, INTERVAL, never);
            }
            p
        };
        assert_eq!(figures(&from(0), 6000, u64::MAX), (0, 0));
        assert_eq!(figures(&from(20), 6000, u64::MAX), (1, 2000));
        // an outage holds all frames back until 3 s, and then the delay is 10 ms: the first frame was due at 210 ms
        let mut p = sent();
        for frame in 0..50 {
            p.arrived(frame, ms((210 + 100 * frame).max(3000)), Time::NEVER, INTERVAL, never);
        }
        assert_eq!(figures(&p, 5200, u64::MAX), (1, 2790));
        // a sender without a frame has no picture
        assert_eq!(figures(&Picture::default(), 5200, u64::MAX), (0, 0));
    }

    #[test]
    fn all_frames_that_an_outage_holds_back_may_arrive() {
        // 3000 frames of two datagrams each are in flight when the first arrives; frame 1 is lost
        let mut p = Picture::default();
        (0..3000).for_each(|frame| p.sent([2 * frame, 2 * frame + 2], Time(frame)));
        let shown = (0..6000).filter(|n| ![2, 3].contains(n)).filter_map(|n| {
            let at = Time(10_000 + n);
            p.arrived(n, at, Time::NEVER, INTERVAL, never)
        });
        // datagram n = 2 f + 1, the last of frame f, arrives 10 000 + n - f ns after the frame's capture
        assert!(shown.eq((0..3000).filter(|f| *f != 1).map(|f| Duration(10_000 + f + 1))));
        assert_eq!((p.whole, p.frames.len()), (2999, 0));
    }
}
