//! The frame source: an encoder that follows a target rate.
//!
//! ```text
//!   mean size of a frame   B = rate / (8 frame_rate),   rate = the controller's target `encoder_lag` ago
//!   n frames from one key frame to the next (`key_interval`):   key frame  k B,   others  B (n - k) / (n - 1),   k = `key_size`
//!   the first frame and the first frame after a pause are key frames;   without `key_interval`, all others have size B
//!   spread: each size is multiplied by normal(1, `size_spread`), cut off at three standard deviations and at 0.1 and 1.9
//! ```
//!
//! So with a constant target, the mean rate over a whole number of key intervals is the target, apart from the spread.
//! Source: none; RFC 8593 names these properties of an encoder (lag, key frames, deviation of sizes). Departs from RFC
//! 8593: sizes are normal, not Laplacian; the frame rate is constant.

use std::collections::VecDeque;
use units::{Duration, Rng, Time, math};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct FrameSource {
    /// Frames per second.
    pub(super) frame_rate: f64,
    /// Number of frames from one key frame to the next; `None` if only the first frame and the first after each pause
    /// are key frames.
    pub(super) key_frames: Option<u64>,
    pub(super) key_size: f64,
    pub(super) spread: f64,
    pub(super) lag: Duration,
    /// Targets not yet in effect, oldest first.
    targets: VecDeque<(Time, f64)>,
    /// Rate in effect, bit/s.
    rate: f64,
    /// Frames captured since the last key frame, including this key frame; 0 if the next frame is a key frame.
    since_key: u64,
}

impl FrameSource {
    /// Returns an encoder that begins at `rate` bit/s.
    pub(super) fn new(frame_rate: f64, rate: f64) -> Self {
        Self {
            frame_rate,
            key_frames: None,
            key_size: 1.0,
            spread: 0.0,
            lag: Duration::ZERO,
            targets: VecDeque::new(),
            rate,
            since_key: 0,
        }
    }

    /// Makes the next frame a key frame.
    pub(super) fn restart(&mut self) {
        self.since_key = 0;
    }

    /// Returns the size in bytes, at least 1, of the frame captured at `now`, when the controller's target is `target`.
    pub(super) fn frame(&mut self, now: Time, target: f64, rng: &mut Rng) -> u64 {
        self.targets.push_back((now, target));
        // bound: each iteration removes a target
        while let Some((_, rate)) = self.targets.pop_front_if(|(since, _)| *since + self.lag <= now) {
            self.rate = rate;
        }
        let factor = match (self.since_key, self.key_frames) {
            (0, _) => self.key_size,
            (_, Some(n)) => (n as f64 - self.key_size) / (n as f64 - 1.0),
            (_, None) => 1.0,
        };
        self.since_key += 1;
        if self.key_frames.is_some_and(|n| self.since_key >= n) {
            self.since_key = 0;
        }
        let cut = (3.0 * self.spread).min(0.9);
        let deviation = if self.spread > 0.0 { math::normal(rng, 0.0, self.spread).clamp(-cut, cut) } else { 0.0 };
        let bytes = self.rate / (8.0 * self.frame_rate) * factor * (1.0 + deviation);
        (bytes as u64).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: u64 = 40_000_000; // 25 frames per second

    fn sizes(source: &mut FrameSource, frames: u64, target: impl Fn(u64) -> f64) -> Vec<u64> {
        let mut rng = Rng::named(1, "frames");
        (0..frames).map(|k| source.frame(Time(k * FRAME), target(k), &mut rng)).collect()
    }

    #[test]
    fn a_key_interval_carries_the_target() {
        // 1 Mbit/s at 25 frames per second is 5000 B per frame. With a key frame of 4 x 5000 B every 25 frames, the other frames
        // are 5000 (25 - 4) / 24 = 4375 B long. This makes 20 000 + 24 x 4375 = 125 000 B per second
        let mut source = FrameSource { key_frames: Some(25), key_size: 4.0, ..FrameSource::new(25.0, 1e6) };
        let sizes = sizes(&mut source, 75, |_| 1e6);
        for second in sizes.chunks(25) {
            assert_eq!((second[0], second[1], second.iter().sum::<u64>()), (20_000, 4375, 125_000));
        }
    }

    #[test]
    fn without_an_interval_only_the_first_frame_and_one_after_a_pause_are_large() {
        let mut source = FrameSource { key_size: 3.0, ..FrameSource::new(25.0, 1e6) };
        let first = sizes(&mut source, 100, |_| 1e6);
        assert!(first[0] == 15_000 && first[1..].iter().all(|size| *size == 5000));
        source.restart();
        assert_eq!(sizes(&mut source, 2, |_| 1e6), [15_000, 5000]);
    }

    #[test]
    fn the_encoder_follows_after_its_lag() {
        // the target doubles at frame 10 (400 ms). The lag is 100 ms, so the frame at 520 ms is the first of twice the
        // size
        let lag = Duration::from_millis(100);
        let mut source = FrameSource { lag, ..FrameSource::new(25.0, 1e6) };
        let sizes = sizes(&mut source, 20, |k| if k < 10 { 1e6 } else { 2e6 });
        assert_eq!(sizes.iter().position(|size| *size == 10_000), Some(13));
        assert!(sizes[..13].iter().all(|size| *size == 5000));
    }

    #[test]
    fn sizes_deviate_around_the_mean() {
        let mut source = FrameSource { spread: 0.2, ..FrameSource::new(25.0, 1e6) };
        let sizes: Vec<f64> = sizes(&mut source, 10_000, |_| 1e6).into_iter().map(|size| size as f64).collect();
        let mean = sizes.iter().sum::<f64>() / 10_000.0;
        let sd = (sizes.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>() / 10_000.0).sqrt();
        // the standard error is 1000 / sqrt(10 000) = 10 for the mean, and 7 for the deviation. Sizes that differ from
        // the mean by more than three standard deviations are set to this limit, which reduces the deviation by 0.25 %
        assert!((mean - 5000.0).abs() < 50.0 && (sd - 987.0).abs() < 35.0, "{mean} {sd}");
    }
}
