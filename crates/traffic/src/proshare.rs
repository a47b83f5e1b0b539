//! A ProShare session: desktop video conferencing of the 1990s, in one direction.
//!
//! ```text
//!   audio   one datagram of `audio_size` every `audio_interval`
//!   video   one frame of `frame_size` every `frame_interval`, split into datagrams of at most `packet`, back to back
//!   rate  = 8 (audio_size / audio_interval + frame_size / frame_interval) = 16 + 194 = 210 kbit/s by default
//! ```
//!
//! `picture.rs` defines whole frames and freezes; its T, the time between frames, is `frame_interval`.
//!
//! Audio and video start at random times within their first interval, so that sessions are not synchronised.
//!
//! Source: MMCN 1999 (six sessions of 210 kbit/s each). The packet sizes are our choice: vary `packet`, or compare with a smooth
//! `cbr` of the same rate.

use crate::demand::times;
use crate::params::divided;
use crate::picture::Picture;
use crate::{Application, Demand, Direction, Host, Params, Role, cbr};
use packet::{Ecn, Kind, Measure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Problem, Time};
use units::{positive, within};

/// Maximum number of datagrams in a frame. It bounds the size of a burst.
const MAX_PACKETS: u64 = 1000;

/// Audio and video of a video conference, in one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProshareParams {
    /// Size of an audio datagram in bytes on the wire, including headers. Default 200.
    pub audio_size: Bytes,
    /// Time between audio datagrams. Default 100ms.
    pub audio_interval: Duration,
    /// Size of a video frame in bytes on the wire, including headers. Default 2425.
    pub frame_size: Bytes,
    /// Time between video frames. Default 100ms.
    pub frame_interval: Duration,
    /// Size of the largest video datagram in bytes on the wire, including headers. Default 700.
    pub packet: Bytes,
    /// Direction of the session. Default `up`.
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
        within("audio_size", self.audio_size, Bytes(1), cbr::MAX_SIZE)?;
        within("packet", self.packet, Bytes(1), cbr::MAX_SIZE)?;
        positive("audio_interval", self.audio_interval)?;
        positive("frame_interval", self.frame_interval)?;
        within("frame_size", self.frame_size, Bytes(1), Bytes(self.packet.0 * MAX_PACKETS))
    }

    fn demand(&self, span: Duration, _: Duration) -> Demand {
        let frame = self.frame_size.0.div_ceil(self.packet.0) as f64;
        Demand::datagrams(times(span, self.audio_interval, None) + frame * times(span, self.frame_interval, None))
    }

    fn start_spread(&self) -> Duration {
        Duration::ZERO // the application draws its phases itself
    }

    fn datagram_sizes(&self) -> Vec<(&'static str, Bytes)> {
        let audio = ("audio_size", self.audio_size);
        [vec![audio], divided("frame_size", self.frame_size, self.packet)].concat()
    }

    fn build(&self) -> Proshare {
        Proshare { params: self.clone(), next: [Time::ZERO; 2], number: 0, picture: Picture::default() }
    }
}

/// Timer tokens, and indices of [`Proshare::next`].
const AUDIO: usize = 0;
const VIDEO: usize = 1;

/// The application with [`ProshareParams`].
#[derive(Clone, Debug, PartialEq)]
pub struct Proshare {
    params: ProshareParams,
    /// Next send times of audio and video.
    next: [Time; 2],
    number: u64,
    picture: Picture,
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
            self.picture.sent([self.number, self.number + left.div_ceil(packet)], host.now());
            while left > 0 {
                self.send(left.min(packet), host);
                left -= left.min(packet);
            }
        }
        self.next[which] += self.interval(which);
        host.timer(self.next[which], token);
    }
    fn datagram_received<H: Host>(&mut self, _: Role, number: u64, _: Ecn, host: &mut H) {
        self.picture.arrived(number, host.now(), host.stop(), self.params.frame_interval, |_| Duration::ZERO);
    }

    const MEASURES: &'static [&'static [Measure]] = &[PICTURE];

    /// Returns the figures. A frame that was lost, or was still in flight at the end, counts in `frames_sent` but not
    /// in `frames_whole`.
    fn figures(&self, now: Time, stop: Time) -> Vec<(&'static str, f64)> {
        let mut p = self.picture.clone();
        p.end(now.min(stop), self.params.frame_interval, |_| Duration::ZERO);
        picture(&p).into()
    }
}

packet::measures! {
    /// The picture at the receiver.
    const PICTURE = fn picture(p: &Picture) -> f64 {
        "frames_sent": Kind::ONE, "frames sent",
            "Video frames sent. All keys of `proshare` cover the whole run." => p.sent as f64;
        "frames_whole": Kind::ONE, "frames whole",
            "Whole frames: all their datagrams arrived before any later frame was complete." => p.whole as f64;
        "freezes": Kind::ONE.less(), "freezes",
            "Number of freezes. A freeze is a time of more than max(3 T, T + 150 ms) without a whole frame, where T is \
             the time between frames (W3C webrtc-stats, `freezeCount`). The time before the first whole frame counts."
            => p.freezes as f64;
        "frozen_s": Kind::S.less(), "frozen", "Total duration of the freezes." => p.frozen.secs();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fake::Fake;

    #[test]
    fn a_session_is_210_kbit_per_second() {
        let mut fake = Fake::new(&[0]);
        fake.run(&mut ProshareParams::default().build(), Time(100_000_000_000));
        // in 100 s, 1000 audio datagrams of 200 B and 1000 frames of 700 + 700 + 700 + 325 B make 2.625 MB
        let sizes: Vec<u64> = fake.datagrams.iter().map(|d| u64::from(d.2)).collect();
        assert_eq!(sizes.iter().sum::<u64>() * 8, 210_000 * 100);
        let count = |size| sizes.iter().filter(|&&s| s == size).count();
        assert_eq!((count(200), count(700), count(325), sizes.len()), (1000, 3000, 1000, 5000));
        // the datagrams of a frame leave at once; frames and audio leave every 100 ms, starting at a random time in
        // their first interval
        for size in [200, 325] {
            let at: Vec<u64> = fake.datagrams.iter().filter(|d| d.2 == size).map(|d| d.0.0).collect();
            assert!(at[0] < 100_000_000 && at.windows(2).all(|w| w[1] - w[0] == 100_000_000), "{size}");
        }
        assert!(fake.datagrams.iter().enumerate().all(|(i, d)| d.3 == i as u64));
    }

    #[test]
    fn after_a_stop_nothing_freezes() {
        let mut fake = Fake::new(&[50_000_000]);
        fake.stop = Time(5_000_000_000);
        let mut app = ProshareParams::default().build();
        fake.run(&mut app, Time(20_000_000_000));
        let figures = |stop| app.figures(Time(20_000_000_000), stop);
        let frames = [("frames_sent", 50.0), ("frames_whole", 50.0)];
        assert_eq!(figures(fake.stop), [frames[0], frames[1], ("freezes", 0.0), ("frozen_s", 0.0)]);
        assert_eq!(figures(Time::NEVER)[2], ("freezes", 1.0), "the same without a stop");
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
