//! The picture that the receiver of a video call sees: frames of several datagrams each, and freezes.
//!
//! A frame is whole when its last datagram has arrived; a frame that arrives after a later frame is not shown. The picture
//! freezes if no whole frame arrives for more than max(3 T, T + 150 ms), where T is the time between frames.
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
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Picture {
    /// Frames in flight, oldest first.
    frames: VecDeque<Frame>,
    pub(crate) sent: u64,
    pub(crate) whole: u64,
    /// Arrival time of the last whole frame.
    last: Option<Time>,
    pub(crate) freezes: u64,
    /// Total time of the freezes.
    pub(crate) frozen: Duration,
}

impl Picture {
    /// Adds a frame captured at `captured`. Its datagrams are numbered from `numbers[0]` up to, but not including,
    /// `numbers[1]`.
    pub(crate) fn sent(&mut self, numbers: [u64; 2], captured: Time) {
        if self.frames.len() == TRACKED {
            self.frames.pop_front();
        }
        self.frames.push_back(Frame { numbers, missing: numbers[1] - numbers[0], captured });
        self.sent += 1;
    }

    /// Handles the arrival of a datagram. If the datagram completes a frame, returns the time since the capture of the
    /// frame.
    pub(crate) fn arrived(&mut self, number: u64, now: Time, interval: Duration) -> Option<Duration> {
        let i = self.frames.iter().position(|f| (f.numbers[0]..f.numbers[1]).contains(&number))?;
        self.frames[i].missing -= 1;
        if self.frames[i].missing > 0 {
            return None;
        }
        let delay = now.since(self.frames[i].captured);
        // earlier frames are discarded, because a frame that arrives after a later frame is not shown
        self.frames.drain(..=i);
        self.whole += 1;
        self.gap(now, interval);
        self.last = Some(now);
        Some(delay)
    }

    /// If the time since the last whole frame is long enough, counts this time as a freeze.
    pub(crate) fn gap(&mut self, now: Time, interval: Duration) {
        let gap = self.last.map_or(Duration::ZERO, |last| now.since(last));
        if gap > (interval * 3).max(interval + Duration::from_millis(150)) {
            self.freezes += 1;
            self.frozen += gap;
        }
    }

    /// Ends a pause of the sender: the time without frames does not count as a freeze.
    pub(crate) fn resume(&mut self) {
        self.last = None;
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
        (0..20).for_each(|frame| p.sent([4 * frame, 4 * frame + 4], ms(100 * frame)));
        let whole = |p: &mut Picture, frame: u64, at: u64| {
            let delays = (4 * frame..4 * frame + 4).map(|n| p.arrived(n, ms(at), Duration::from_millis(100)));
            assert_eq!(delays.last().unwrap(), Some(Duration::from_millis(at - 100 * frame)));
        };
        whole(&mut p, 0, 50);
        // a datagram of frame 1 is missing: 200 ms between whole frames is not a freeze
        assert!((4..7).all(|n| p.arrived(n, ms(150), Duration::from_millis(100)).is_none()));
        whole(&mut p, 2, 250);
        assert_eq!((p.whole, p.freezes, p.frozen), (2, 0, Duration::ZERO));
        // the last datagram of frame 1 arrives too late for the frame to be shown
        p.arrived(7, ms(260), Duration::from_millis(100));
        assert_eq!(p.whole, 2);
        // a gap of exactly 300 ms is not a freeze, because the limit must be exceeded; a gap of 301 ms is a freeze
        whole(&mut p, 5, 550);
        whole(&mut p, 8, 851);
        assert_eq!((p.whole, p.freezes, p.frozen), (4, 1, Duration::from_millis(301)));
        // at the end, the 1000 ms since the last whole frame are a freeze, but not if the sender has paused in this
        // time
        let mut paused = p.clone();
        p.gap(ms(1851), Duration::from_millis(100));
        assert_eq!((p.sent, p.whole, p.freezes, p.frozen), (20, 4, 2, Duration::from_millis(1301)));
        paused.resume();
        paused.gap(ms(1851), Duration::from_millis(100));
        assert_eq!(paused.freezes, 1);
    }
}
