//! A telephone call: G.711 with 20 ms of speech per packet.
//!
//! Source: CableLabs 2012 §3.2.2. A frame is 160 B of speech + 12 RTP + 8 UDP + 20 IP + 18 Ethernet = 218 B on the wire, and 50
//! frames per second make 87.2 kbit/s; the 600 s of CableLabs 2012 contain 30 000 frames. The call sends without silence
//! suppression, in one direction or both.
//!
//! `measure::VoipMeter` computes loss, lateness and the E-model. Its parameters are [`VoipParams::late_after`],
//! [`VoipParams::network_delay`], [`VoipParams::ie`] and [`VoipParams::bpl`].

use crate::cbr::Spacing;
use crate::demand::times;
use crate::{Cbr, Demand, Params, Role, cbr};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Problem};
use units::{positive, positive_or_none, within};

/// Direction of the speech, as seen from the application's `from`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Speech {
    /// From the client (`from`) to the server (`to`).
    #[default]
    Up,
    /// From the server (`to`) to the client (`from`).
    Down,
    /// Both directions: each direction has its own stream and its own measures.
    Both,
}

impl Speech {
    /// Returns whether the client speaks, and whether the server speaks.
    pub const fn speakers(self) -> [bool; 2] {
        [!matches!(self, Self::Down), !matches!(self, Self::Up)]
    }
}

/// A G.711 call. The ratings `r` and `r_g107` of its quality come from two versions of the E-model (docs/results.md).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VoipParams {
    /// Size of a frame in bytes on the wire, including headers. Default 218.
    pub size: Bytes,
    /// Time between frames. Default 20ms.
    pub interval: Duration,
    /// Number of frames; omitted: until the end of the run.
    pub count: Option<u64>,
    /// A frame is late if its delay exceeds the minimum delay by more than this time. The minimum delay is measured in
    /// the same direction, after the warm-up (`record.warm_up`). Default 60ms.
    pub late_after: Duration,
    /// One-way delay of those parts of the network that the scenario does not contain. It is added to the measured
    /// delay only for the ratings `r` and `r_g107`, and thus for the MOS computed from them. Default 20ms.
    pub network_delay: Duration,
    /// Direction of the speech: `up`, `down` or `both`. Default `up`.
    pub direction: Speech,
    /// Equipment impairment factor Ie of the codec, used only for the rating `r_g107` and its MOS. G.113 Appendix I
    /// gives 0 for G.711, 11 for G.729A, 15 for G.723.1 at 6.3 kbit/s, 5 for GSM-EFR. Default 0.
    pub ie: f64,
    /// Packet-loss robustness factor Bpl of the codec, used only for the rating `r_g107` and its MOS. G.113 Appendix I
    /// gives 4.3 for G.711 (25.1 if losses are concealed), 19 for G.729A, 16.1 for G.723.1, 10 for GSM-EFR. Default
    /// 4.3.
    pub bpl: f64,
}

impl Default for VoipParams {
    fn default() -> Self {
        Self {
            size: Bytes(218),
            interval: Duration::from_millis(20),
            count: None,
            late_after: Duration::from_millis(60),
            network_delay: Duration::from_millis(20),
            direction: Speech::Up,
            ie: 0.0,
            bpl: 4.3,
        }
    }
}

impl Params for VoipParams {
    type App = Voip;

    fn validate(&self) -> Result<(), Problem> {
        within("size", self.size, Bytes(1), cbr::MAX_SIZE)?;
        positive("interval", self.interval)?;
        within("ie", self.ie, 0.0, 95.0)?;
        within("bpl", self.bpl, 0.1, 100.0)?;
        positive_or_none("count", self.count)
    }

    fn demand(&self, span: Duration, _: Duration) -> Demand {
        let streams = self.direction.speakers().iter().filter(|speaks| **speaks).count();
        Demand::datagrams(streams as f64 * times(span, self.interval, self.count))
    }

    fn start_spread(&self) -> Duration {
        self.interval
    }

    fn datagram_sizes(&self) -> Vec<(&'static str, Bytes)> {
        vec![("size", self.size)]
    }

    fn build(&self) -> Voip {
        // a `Spacing` is `bits / rate` seconds. If `rate` is 1e9, this is exactly `bits` nanoseconds
        let spacing = Spacing { bits: self.interval.0, rate: 1_000_000_000 };
        let role = if self.direction == Speech::Down { Role::Server } else { Role::Client };
        let mut call = Cbr::new(role, self.size, spacing, self.count);
        call.both = self.direction == Speech::Both;
        call
    }
}

/// The application with [`VoipParams`]: a constant bit rate source.
type Voip = Cbr;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fake::Fake;
    use units::Time;

    #[test]
    fn ten_minutes_of_g711() {
        // in 600 s there are 30 000 frames of 218 B, or 6.54 MB
        let mut fake = Fake::new(&[0]);
        let mut app = VoipParams::default().build();
        fake.run(&mut app, Time(Duration::from_secs(600).0));
        assert_eq!(fake.datagrams.len(), 30_000);
        assert_eq!(fake.datagrams.iter().map(|d| u64::from(d.2)).sum::<u64>(), 6_540_000);
        assert!(fake.datagrams.iter().enumerate().all(|(k, d)| d.0.0 == k as u64 * 20_000_000 && d.3 == k as u64));
    }

    #[test]
    fn a_conversation_has_a_stream_each_way() {
        let frames = |direction: Speech| {
            let mut fake = Fake::new(&[0]);
            fake.run(&mut VoipParams { direction, ..Default::default() }.build(), Time(Duration::from_secs(10).0));
            [Role::Client, Role::Server].map(|role| fake.datagrams.iter().filter(|d| d.1 == role).count())
        };
        assert_eq!([Speech::Up, Speech::Down, Speech::Both].map(frames), [[500, 0], [0, 500], [500, 500]]);
        // frames are numbered separately in each direction
        let mut fake = Fake::new(&[0]);
        fake.run(
            &mut VoipParams { direction: Speech::Both, ..Default::default() }.build(),
            Time(Duration::from_secs(1).0),
        );
        assert!(fake.datagrams.iter().enumerate().all(|(i, d)| d.3 == i as u64 / 2));
    }

    #[test]
    fn the_frame_is_the_sum_of_its_parts() {
        let p = VoipParams::default();
        assert_eq!(p.size.0, 160 + 12 + 8 + 20 + 18);
        assert_eq!(p.size.0 * 8 * 50, 87_200);
        assert_eq!(VoipParams { interval: Duration::ZERO, ..p.clone() }.validate().unwrap_err().path, "interval");
        for bad in [-1.0, 96.0, f64::NAN] {
            assert_eq!(VoipParams { ie: bad, ..p.clone() }.validate().unwrap_err().path, "ie");
        }
        assert_eq!(VoipParams { bpl: 0.0, ..p }.validate().unwrap_err().path, "bpl");
    }
}
