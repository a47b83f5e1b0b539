//! An online game over UDP: a player's updates to the server, and the server's snapshots to the player.
//!
//! ```text
//!   gap between packets, payload of a packet = location - scale ln(-ln u),  u uniform in (0, 1)
//!   (largest extreme value distribution: mode = location, mean = location + 0.5772 scale)
//!
//!             gap, ms         payload, bytes    on the wire, mean          (gap and payload: location, scale)
//!   up        15, 5.7         38, 3.7           18.3 ms, 86 bytes: 38 kbit/s
//!   down      13, 3.7         50, 11            15.1 ms, 102 bytes: 54 kbit/s
//! ```
//!
//! On the wire, a packet is 46 bytes longer: UDP 8, IPv4 20, Ethernet 18. A gap is at least 1 ms and a payload at least 1 byte.
//!
//! A packet is late if its delay exceeds the minimum delay by more than [`GameParams::late_after`]. The minimum delay is
//! measured in the same direction, after the warm-up. A round trip of 100 ms impairs the players of a shooter (M.
//! Claypool, K. Claypool, Latency and player actions in online games, CACM 2006). By default, half of this time is
//! allowed in each direction.
//!
//! Source: IEEE 802.11-18/2009r6, Real Time Applications TIG Report, §4.1.4 (mobile gaming, status synchronisation).
//! Departs: the source's other packet sizes at the beginning and the end of a game are left out.

use crate::demand::times;
use crate::{Application, Demand, Host, Params, Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::within;
use units::{Duration, Problem, Time, math};

/// Length of a packet's headers on the wire, bytes.
const HEADERS: f64 = 46.0;
/// Minimum gap in ms. It bounds the packet rate.
const LEAST_GAP: f64 = 1.0;
/// Upper bound on the payloads, which no draw reaches: u is at most 1 - 2^-53, so a payload is at most 50 + 11 x 53 ln 2 = 454.1
/// bytes.
const MOST_PAYLOAD: f64 = 455.0;

/// Upper bound on the size of a game's packets on the wire, bytes.
pub const LARGEST_GAME_PACKET: u64 = (MOST_PAYLOAD + HEADERS) as u64;

/// A largest extreme value distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Extreme {
    location: f64,
    scale: f64,
}

impl Extreme {
    fn draw<H: Host>(self, host: &mut H) -> f64 {
        // u must be above 0, because ln 0 is not finite
        let u = host.rng().unit().max(1e-12);
        self.location - self.scale * math::ln(-math::ln(u))
    }

    fn mean(self) -> f64 {
        self.location + 0.577_215_664_9 * self.scale
    }
}

/// Distribution of the gaps between packets in ms, for the client and the server.
const GAPS: [Extreme; 2] = [Extreme { location: 15.0, scale: 5.7 }, Extreme { location: 13.0, scale: 3.7 }];
/// Distribution of the payloads in bytes, for the client and the server.
const PAYLOADS: [Extreme; 2] = [Extreme { location: 38.0, scale: 3.7 }, Extreme { location: 50.0, scale: 11.0 }];

/// A player and a server that exchange UDP datagrams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GameParams {
    /// Mean packet rate of the player, per second; omitted: 54.7, as in IEEE 802.11-18/2009r6 §4.1.4.
    pub updates_per_s: Option<f64>,
    /// Mean packet rate of the server, per second; omitted: 66.1, as in IEEE 802.11-18/2009r6 §4.1.4.
    pub snapshots_per_s: Option<f64>,
    /// A packet is late if its delay exceeds the minimum delay by more than this time. The minimum delay is measured in
    /// the same direction, after the warm-up (`record.warm_up`). Default 50ms.
    pub late_after: Duration,
}

impl Default for GameParams {
    fn default() -> Self {
        Self { updates_per_s: None, snapshots_per_s: None, late_after: Duration::from_millis(50) }
    }
}

impl GameParams {
    /// Returns the factors for the gaps of the client and of the server. A factor stretches the gap distribution of
    /// IEEE 802.11-18/2009r6 to the mean gap of the requested packet rate. ([`LEAST_GAP`] makes the rate a little lower
    /// if hundreds of packets per second are requested.)
    fn stretch(&self) -> [f64; 2] {
        let rates = [self.updates_per_s, self.snapshots_per_s];
        [0, 1].map(|i: usize| rates[i].map_or(1.0, |rate| 1000.0 / rate / GAPS[i].mean()))
    }
}

impl Params for GameParams {
    type App = Game;

    fn validate(&self) -> Result<(), Problem> {
        for (field, rate) in [("updates_per_s", self.updates_per_s), ("snapshots_per_s", self.snapshots_per_s)] {
            rate.map_or(Ok(()), |rate| within(field, rate, 0.1, 500.0))?;
        }
        Ok(())
    }

    fn demand(&self, span: Duration, _: Duration) -> Demand {
        let gap = |i: usize| Duration((GAPS[i].mean() * self.stretch()[i] * 1e6) as u64);
        Demand::datagrams(times(span, gap(0), None) + times(span, gap(1), None))
    }

    fn start_spread(&self) -> Duration {
        Duration::ZERO // gaps are random, so the start needs no random shift
    }

    fn build(&self) -> Game {
        Game { stretch: self.stretch(), sent: [0; 2] }
    }
}

/// Sending sides, indexed by timer token.
const ROLES: [Role; 2] = [Role::Client, Role::Server];

/// The application with [`GameParams`].
#[derive(Clone, Debug, PartialEq)]
pub struct Game {
    stretch: [f64; 2],
    /// Number of packets sent by the client and by the server.
    sent: [u64; 2],
}

impl Game {
    fn wait<H: Host>(&self, i: usize, host: &mut H) {
        let gap = (GAPS[i].draw(host) * self.stretch[i]).max(LEAST_GAP);
        let at: Time = host.now() + Duration((gap * 1e6) as u64);
        host.timer(at, i as u64);
    }
}

impl Application for Game {
    fn start<H: Host>(&mut self, host: &mut H) {
        [0, 1].into_iter().for_each(|i| self.wait(i, host));
    }

    fn timer<H: Host>(&mut self, token: u64, host: &mut H) {
        let i = usize::from(token != 0);
        let payload = PAYLOADS[i].draw(host).clamp(1.0, MOST_PAYLOAD);
        host.datagram(0, ROLES[i], (payload + HEADERS + 0.5) as u16, self.sent[i]);
        self.sent[i] += 1;
        self.wait(i, host);
    }

    fn counts(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fake::Fake;

    /// Runs both sides for 1000 s. The mean gaps must be 18.29 and 15.14 ms. The mean packet lengths must be 86.1 bytes (38 +
    /// 2.14 + 46) and 102.3 bytes (50 + 6.35 + 46).
    #[test]
    fn both_sides_match_the_source() {
        let mut fake = Fake::new(&[0]);
        fake.run(&mut GameParams::default().build(), Time(Duration::from_secs(1000).0));
        for (role, rate, size, deviation) in [(Role::Client, 54.7, 86.1, 4.75), (Role::Server, 66.1, 102.3, 14.1)] {
            let mine: Vec<f64> = fake.datagrams.iter().filter(|d| d.1 == role).map(|d| f64::from(d.2)).collect();
            let n = mine.len() as f64;
            assert!((n / 1000.0 / rate - 1.0).abs() < 0.01, "{role:?}: {n} in 1000 s");
            let mean = mine.iter().sum::<f64>() / n;
            assert!((mean / size - 1.0).abs() < 0.01, "{role:?}: {mean} bytes");
            // the standard deviation of the distribution is pi / sqrt(6) times its scale
            let sd = (mine.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>() / n).sqrt();
            assert!((sd / deviation - 1.0).abs() < 0.03, "{role:?}: {sd}");
            let numbers = fake.datagrams.iter().filter(|d| d.1 == role).map(|d| d.3);
            assert!(numbers.enumerate().all(|(i, number)| i as u64 == number));
        }
    }

    #[test]
    fn no_payload_exceeds_the_bound() {
        // the largest u is the largest number below 1; the smallest u is 1e-12 (see `draw`)
        for u in [1.0 - f64::EPSILON / 2.0, 1e-12] {
            for p in PAYLOADS {
                let payload = p.location - p.scale * math::ln(-math::ln(u));
                assert!((1.0..MOST_PAYLOAD).contains(&payload), "{payload}");
            }
        }
        assert_eq!(LARGEST_GAME_PACKET, 501);
    }

    #[test]
    fn rates_can_be_set() {
        let p = GameParams { updates_per_s: Some(128.0), snapshots_per_s: Some(20.0), ..Default::default() };
        let mut fake = Fake::new(&[0]);
        fake.run(&mut p.build(), Time(Duration::from_secs(100).0));
        let of = |role| fake.datagrams.iter().filter(|d| d.1 == role).count();
        assert!((of(Role::Client) as f64 / 12_800.0 - 1.0).abs() < 0.03, "{}", of(Role::Client));
        assert!((of(Role::Server) as f64 / 2_000.0 - 1.0).abs() < 0.03, "{}", of(Role::Server));
        let bad = |p: GameParams| p.validate().unwrap_err().path;
        assert_eq!(bad(GameParams { updates_per_s: Some(0.0), ..Default::default() }), "updates_per_s");
        assert_eq!(bad(GameParams { snapshots_per_s: Some(f64::NAN), ..Default::default() }), "snapshots_per_s");
    }
}
