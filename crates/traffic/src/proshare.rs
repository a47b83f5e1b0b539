//! A ProShare session: desktop video conferencing of the 1990s, one way.
//!
//! ```text
//!   audio   one datagram of `audio_size` every `audio_interval`
//!   video   one frame of `frame_size` every `frame_interval`, cut into datagrams of at most `packet`, back to back
//!   rate  = 8 (audio_size / audio_interval + frame_size / frame_interval) = 16 + 194 = 210 kbit/s by default
//! ```
//!
//! A frame is whole when its last datagram has arrived; it cannot be shown without one of them. The picture freezes while no whole
//! frame comes for more than max(3 T, T + 150 ms), T = `frame_interval`: the rule of W3C webrtc-stats, freezeCount, with the interval
//! of the sender in the place of a running mean.
//!
//! Audio and video start at random moments of their first interval, so that sessions do not tick together.
//!
//! Source: MMCN 1999 (six sessions of 210 kbit/s each). The sizes of the packets are ours: vary `packet`, or
//! compare with a smooth `cbr` of the same rate.

use crate::demand::times;
use crate::{Application, ConnId, Demand, Direction, Host, Params, Side};
use packet::{Kind, Measure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::{Bytes, Duration, Problem, Time};

/// Most datagrams of a frame: a bound on what leaves at one moment.
const MAX_PACKETS: u64 = 1000;

/// Most frames that are under way at once; of older ones those that come are not counted.
const TRACKED: usize = 1024;

/// A video conference's audio and video in one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProshareParams {
    /// Size of an audio datagram in bytes on the wire, every header included. Default 200.
    pub audio_size: Bytes,
    /// Time between audio datagrams. Default 100ms.
    pub audio_interval: Duration,
    /// Bytes of a video frame on the wire, all headers included. Default 2425.
    pub frame_size: Bytes,
    /// Time between video frames. Default 100ms.
    pub frame_interval: Duration,
    /// Size of the largest video datagram in bytes on the wire, every header included. Default 700.
    pub packet: Bytes,
    /// Which way it goes. Default `up`.
    pub direction: Direction,
}

impl Default for ProshareParams {
    fn default() -> Self {
        Self {
            audio_size: Bytes(200),
            audio_interval: Duration::from_millis(100),
            frame_size: Bytes(2425),
            frame_interval: Duration::from_millis(100),
            packet: Bytes(700),
            direction: Direction::Up,
        }
    }
}

impl Params for ProshareParams {
    type App = Proshare;

    fn validate(&self) -> Result<(), Problem> {
        for (path, size) in [("audio_size", self.audio_size), ("packet", self.packet)] {
            if size.0 == 0 || size.0 > crate::cbr::MAX_SIZE {
                let most = crate::cbr::MAX_SIZE;
                return Err(Problem::new(path, format!("{size} is not valid; expected 1B to {most}B")));
            }
        }
        for (path, span) in [("audio_interval", self.audio_interval), ("frame_interval", self.frame_interval)] {
            if span.is_zero() {
                return Err(Problem::new(path, "0s is not valid; expected a positive duration"));
            }
        }
        let most = self.packet.0 * MAX_PACKETS;
        if self.frame_size.0 == 0 || self.frame_size.0 > most {
            let message = format!("{} is not valid; expected 1B to {most}B ({MAX_PACKETS} packets)", self.frame_size);
            return Err(Problem::new("frame_size", message));
        }
        Ok(())
    }

    fn demand(&self, span: Duration, _: Duration) -> Demand {
        let frame = self.frame_size.0.div_ceil(self.packet.0) as f64;
        Demand::datagrams(times(span, self.audio_interval, None) + frame * times(span, self.frame_interval, None))
    }

    fn start_spread(&self) -> Duration {
        Duration::ZERO // it draws its phases itself
    }

    fn build(&self) -> Proshare {
        Proshare { params: self.clone(), next: [Time::ZERO; 2], number: 0, picture: Picture::default() }
    }
}

/// Timer tokens, and indices of [`Proshare::next`].
const AUDIO: usize = 0;
const VIDEO: usize = 1;

/// The machine of [`ProshareParams`].
#[derive(Clone, Debug, PartialEq)]
pub struct Proshare {
    params: ProshareParams,
    /// When audio and video are due.
    next: [Time; 2],
    number: u64,
    picture: Picture,
}

/// A frame under way.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Frame {
    /// The numbers of its datagrams: from, and behind the last.
    numbers: [u64; 2],
    /// How many of them have not arrived.
    missing: u64,
}

/// What the other side sees.
#[derive(Clone, Debug, Default, PartialEq)]
struct Picture {
    /// Frames under way, oldest first.
    frames: VecDeque<Frame>,
    sent: u64,
    whole: u64,
    /// When the last whole frame came.
    last: Option<Time>,
    freezes: u64,
    /// How long the picture stood still in them.
    frozen: Duration,
}

impl Picture {
    fn sent(&mut self, numbers: [u64; 2]) {
        if self.frames.len() == TRACKED {
            self.frames.pop_front();
        }
        self.frames.push_back(Frame { numbers, missing: numbers[1] - numbers[0] });
        self.sent += 1;
    }

    fn arrived(&mut self, number: u64, now: Time, interval: Duration) {
        let Some(i) = self.frames.iter().position(|f| (f.numbers[0]..f.numbers[1]).contains(&number)) else { return };
        self.frames[i].missing -= 1;
        if self.frames[i].missing > 0 {
            return;
        }
        // a frame that comes after a later one is not shown any more
        self.frames.drain(..=i);
        self.whole += 1;
        self.gap(now, interval);
        self.last = Some(now);
    }

    /// Counts the time since the last whole frame if the picture froze in it.
    fn gap(&mut self, now: Time, interval: Duration) {
        let gap = self.last.map_or(Duration::ZERO, |last| now.since(last));
        if gap > (interval * 3).max(interval + Duration::from_millis(150)) {
            self.freezes += 1;
            self.frozen += gap;
        }
    }
}

impl Proshare {
    fn interval(&self, which: usize) -> Duration {
        if which == AUDIO { self.params.audio_interval } else { self.params.frame_interval }
    }

    fn send<H: Host>(&mut self, size: u64, host: &mut H) {
        host.datagram(0, self.params.direction.sender(), size as u16, self.number);
        self.number += 1;
    }
}

impl Application for Proshare {
    fn start<H: Host>(&mut self, host: &mut H) {
        for which in [AUDIO, VIDEO] {
            let shift = host.rng().below(self.interval(which).0);
            self.next[which] = host.now() + Duration(shift);
            host.timer(self.next[which], which as u64);
        }
    }
    fn timer<H: Host>(&mut self, token: u64, host: &mut H) {
        let which = if token == AUDIO as u64 { AUDIO } else { VIDEO };
        if which == AUDIO {
            self.send(self.params.audio_size.0, host);
        } else {
            // bound: MAX_PACKETS, as validated
            let (mut left, packet) = (self.params.frame_size.0, self.params.packet.0);
            self.picture.sent([self.number, self.number + left.div_ceil(packet)]);
            while left > 0 {
                self.send(left.min(packet), host);
                left -= left.min(packet);
            }
        }
        self.next[which] += self.interval(which);
        host.timer(self.next[which], token);
    }
    fn connected<H: Host>(&mut self, _: ConnId, _: Side, _: &mut H) {}
    fn received<H: Host>(&mut self, _: ConnId, _: Side, _: u64, _: &mut H) {}
    fn closed<H: Host>(&mut self, _: ConnId, _: &mut H) {}
    fn datagram_received<H: Host>(&mut self, _: Side, number: u64, host: &mut H) {
        self.picture.arrived(number, host.now(), self.params.frame_interval);
    }

    const MEASURES: &'static [&'static [Measure]] = &[PICTURE];

    /// Frames that are on their way, or lost, at the end are in `frames_sent` alone.
    fn figures(&self, now: Time) -> Vec<(&'static str, f64)> {
        let mut p = self.picture.clone();
        p.gap(now, self.params.frame_interval);
        picture(&p).into()
    }
}

packet::measures! {
    /// What its viewer saw.
    const PICTURE = fn picture(p: &Picture) -> f64 {
        "frames_sent": Kind::ONE, "frames sent",
            "Video frames that left. All keys of `proshare` are of the whole run." => p.sent as f64;
        "frames_whole": Kind::ONE, "frames whole",
            "Frames that arrived with every datagram and before a later frame." => p.whole as f64;
        "freezes": Kind::ONE.less(), "freezes",
            "Times without a whole frame for more than max(3 T, T + 150 ms), T the time between frames (W3C webrtc-stats, `freezeCount`)."
            => p.freezes as f64;
        "frozen_s": Kind::S.less(), "frozen", "Time in them." => p.frozen.secs();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;

    #[test]
    fn a_session_is_210_kbit_per_second() {
        let mut fake = Fake::new(&[0]);
        fake.run(&mut ProshareParams::default().build(), Time(100_000_000_000));
        // 1000 audio datagrams and 1000 frames of 700 + 700 + 700 + 325 B: 2.625 MB in 100 s
        let sizes: Vec<u64> = fake.datagrams.iter().map(|d| u64::from(d.2)).collect();
        assert_eq!(sizes.iter().sum::<u64>() * 8, 210_000 * 100);
        let count = |size| sizes.iter().filter(|&&s| s == size).count();
        assert_eq!((count(200), count(700), count(325), sizes.len()), (1000, 3000, 1000, 5000));
        // a frame leaves at once, frames and audio every 100 ms from a moment of their first interval
        for size in [200, 325] {
            let at: Vec<u64> = fake.datagrams.iter().filter(|d| d.2 == size).map(|d| d.0.0).collect();
            assert!(at[0] < 100_000_000 && at.windows(2).all(|w| w[1] - w[0] == 100_000_000), "{size}");
        }
        assert!(fake.datagrams.iter().enumerate().all(|(i, d)| d.3 == i as u64));
    }

    /// Frames each 100 ms: the picture freezes when the next comes after more than 300 ms.
    #[test]
    fn a_picture_freezes_when_frames_are_missing() {
        let ms = |n| Time(n * 1_000_000);
        let mut p = Picture::default();
        (0..20).for_each(|frame| p.sent([4 * frame, 4 * frame + 4]));
        let whole = |p: &mut Picture, frame: u64, at: u64| {
            (4 * frame..4 * frame + 4).for_each(|n| p.arrived(n, ms(at), Duration::from_millis(100)));
        };
        whole(&mut p, 0, 50);
        // frame 1 lacks a datagram: 200 ms between whole frames are no freeze
        (4..7).for_each(|n| p.arrived(n, ms(150), Duration::from_millis(100)));
        whole(&mut p, 2, 250);
        assert_eq!((p.whole, p.freezes, p.frozen), (2, 0, Duration::ZERO));
        // what is left of frame 1 comes too late to be shown
        p.arrived(7, ms(260), Duration::from_millis(100));
        assert_eq!(p.whole, 2);
        // 300 ms are not more than 300 ms; 301 ms are
        whole(&mut p, 5, 550);
        whole(&mut p, 8, 851);
        assert_eq!((p.whole, p.freezes, p.frozen), (4, 1, Duration::from_millis(301)));
        let app = Proshare { picture: p, ..ProshareParams::default().build() };
        // until the end, too: 1000 ms more
        let figures = app.figures(ms(1851)).into_iter().map(|(_, value)| value);
        let expected = [20.0, 4.0, 2.0, 1.301];
        assert!(figures.zip(expected).all(|(ours, value)| (ours - value).abs() < 1e-9));
    }

    #[test]
    fn bad_sessions() {
        let bad = |p: ProshareParams| p.validate().unwrap_err().path;
        let good = ProshareParams::default;
        good().validate().unwrap();
        assert_eq!(bad(ProshareParams { audio_size: Bytes(0), ..good() }), "audio_size");
        assert_eq!(bad(ProshareParams { packet: Bytes(70_000), ..good() }), "packet");
        assert_eq!(bad(ProshareParams { frame_interval: Duration::ZERO, ..good() }), "frame_interval");
        assert_eq!(bad(ProshareParams { packet: Bytes(2), frame_size: Bytes(2001), ..good() }), "frame_size");
    }
}
