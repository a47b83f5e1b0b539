//! The picture that the receiver of a video call sees: frames of several datagrams each, and freezes.
//!
//! A frame is whole when its last datagram has arrived; a frame that arrives after a later frame is not shown. The picture
//! freezes if no whole frame arrives for more than max(3 T, T + 150 ms), where T is the time between frames.
//!
//! ```text
//!   shown   = min(arrival, stop) - pauses of the sender before the capture
//!   gap     = shown - shown of the previous whole frame
//! ```
//!
//! So neither the sender's pauses nor the time after its stop belong to a gap, and a constant delay makes no gap.
//!
//! Source: W3C webrtc-stats, freezeCount. Departs: T is the sender's interval instead of a running mean of arrivals.

use std::collections::VecDeque;
use units::{Duration, Time};

/// Maximum number of frames tracked at once; arrivals of older frames are not counted.
const TRACKED: usize = 1024;

/// A frame in flight.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Frame {
    /// The frame's datagrams are numbered from `numbers[0]` up to, but not including, `numbers[1]`.
    numbers: [u64; 2],
    /// Number of datagrams that have not yet arrived.
    missing: u64,
    captured: Time,
    /// Total time of the sender's pauses before `captured`.
    paused: Duration,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Picture {
    /// Frames in flight, oldest first.
    frames: VecDeque<Frame>,
    pub(crate) sent: u64,
    pub(crate) whole: u64,
    /// Time at which the last whole frame was shown, without the pauses before it.
    last: Option<Time>,
    pub(crate) freezes: u64,
    /// Total time of the freezes.
    pub(crate) frozen: Duration,
}

impl Picture {
    /// Adds a frame captured at `captured`, after pauses that lasted `paused` in total. Its datagrams are numbered from
    /// `numbers[0]` up to, but not including, `numbers[1]`.
    pub(crate) fn sent(&mut self, numbers: [u64; 2], captured: Time, paused: Duration) {
        if self.frames.len() == TRACKED {
            self.frames.pop_front();
        }
        self.frames.push_back(Frame { numbers, missing: numbers[1] - numbers[0], captured, paused });
        self.sent += 1;
    }

    /// Handles the arrival of a datagram from a sender that stops at `stop`. If the datagram completes a frame, returns
    /// the time since the capture of the frame.
    pub(crate) fn arrived(&mut self, number: u64, now: Time, stop: Time, interval: Duration) -> Option<Duration> {
        let i = self.frames.iter().position(|f| (f.numbers[0]..f.numbers[1]).contains(&number))?;
        self.frames[i].missing -= 1;
        if self.frames[i].missing > 0 {
            return None;
        }
        let Frame { captured, paused, .. } = self.frames[i];
        // earlier frames are discarded, because a frame that arrives after a later frame is not shown
        self.frames.drain(..=i);
        self.whole += 1;
        self.last = Some(self.gap(now.min(stop), paused, interval));
        Some(now.since(captured))
    }

    /// If the time from the last whole frame to `now`, without the sender's pauses, is long enough, counts this time as a
    /// freeze. `paused` is the total time of the pauses so far. Returns `now` without these pauses.
    pub(crate) fn gap(&mut self, now: Time, paused: Duration, interval: Duration) -> Time {
        let shown = Time(now.0 - paused.0);
        let gap = self.last.map_or(Duration::ZERO, |last| shown.since(last));
        if gap > (interval * 3).max(interval + Duration::from_millis(150)) {
            self.freezes += 1;
            self.frozen += gap;
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame is sent every 100 ms. The picture freezes if the next whole frame arrives after more than 300 ms.
    #[test]
    fn a_picture_freezes_when_frames_are_missing() {
        let ms = |n| Time(n * 1_000_000);
        let mut p = Picture::default();
        (0..20).for_each(|frame| p.sent([4 * frame, 4 * frame + 4], ms(100 * frame), Duration::ZERO));
        let whole = |p: &mut Picture, frame: u64, at: u64| {
            let delays =
                (4 * frame..4 * frame + 4).map(|n| p.arrived(n, ms(at), Time::NEVER, Duration::from_millis(100)));
            assert_eq!(delays.last().unwrap(), Some(Duration::from_millis(at - 100 * frame)));
        };
        whole(&mut p, 0, 50);
        // a datagram of frame 1 is missing: 200 ms between whole frames is not a freeze
        assert!((4..7).all(|n| p.arrived(n, ms(150), Time::NEVER, Duration::from_millis(100)).is_none()));
        whole(&mut p, 2, 250);
        assert_eq!((p.whole, p.freezes, p.frozen), (2, 0, Duration::ZERO));
        // the last datagram of frame 1 arrives too late for the frame to be shown
        p.arrived(7, ms(260), Time::NEVER, Duration::from_millis(100));
        assert_eq!(p.whole, 2);
        // a gap of exactly 300 ms is not a freeze, because the limit must be exceeded; a gap of 301 ms is a freeze
        whole(&mut p, 5, 550);
        whole(&mut p, 8, 851);
        assert_eq!((p.whole, p.freezes, p.frozen), (4, 1, Duration::from_millis(301)));
        // at the end, the 1000 ms since the last whole frame are a freeze, but not if the sender has paused for 700 of them
        let mut paused = p.clone();
        p.gap(ms(1851), Duration::ZERO, Duration::from_millis(100));
        assert_eq!((p.sent, p.whole, p.freezes, p.frozen), (20, 4, 2, Duration::from_millis(1301)));
        paused.gap(ms(1851), Duration::from_millis(700), Duration::from_millis(100));
        assert_eq!(paused.freezes, 1);
        // frame 9 arrives 1000 ms after frame 8, but the sender stops after 300 ms
        p = paused;
        assert!((36..40).any(|n| p.arrived(n, ms(1851), ms(1151), Duration::from_millis(100)).is_some()));
        assert_eq!((p.whole, p.freezes), (5, 1));
    }
}
