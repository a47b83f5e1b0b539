//! A link like Wi-Fi: a station competes with other stations for turns on the air, and each turn carries one aggregate.
//!
//! ```text
//! contention   every station with data waits AIFS, then counts down a random number of slots from 0 to CW; the first to reach
//!              0 sends; stations that reach 0 together collide, and double CW (EDCA, best effort: CWmin 15, CWmax 1023)
//! a turn       RTS, CTS, an aggregate of at most `mpdus` packets and at most `txop` of air time, block ACK
//! delivery     the whole aggregate arrives at the end of the turn, rounded up to a whole ms
//! ```
//!
//! The other stations always have data, and their aggregates take as long as the aggregates of this link. So air time
//! is shared equally.
//!
//! Source: IEEE 802.11-2016 §10.22 (EDCA), tables 9-137 and 17-21; 64 MPDUs are the window of a block ACK; 4 ms is the
//! longest aggregate of Linux's ath9k. Checked against Bianchi, Performance Analysis of the IEEE 802.11 DCF, JSAC 2000.
//! Departs: no bit errors and no rate control. The overhead of 36 bytes per packet is counted as if all packets had
//! 1504 bytes. So if `txop` limits an aggregate, it may carry more small packets than a real one. A packet that exceeds
//! the rest of a turn continues in the next turn, as on all links with opportunities. A turn has its full length even
//! if its aggregate is not full or is empty, so a link with little traffic uses more air time than in real Wi-Fi, where
//! the turn is shorter. A link is one station with one queue: other stations of the same access point are separate
//! links and do not compete for this link's turns.

use super::opportunity::Opportunity;
use super::synthetic::{MS, OPPORTUNITY, with_burst};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::math::pow;
use units::{BitRate, Duration, Problem, Rng, Time};
use units::{require, within};

/// The slot and the SIFS are those of OFDM at 5 GHz. The AIFS, SIFS + 3 slots, is that of the best-effort category.
/// Unit: ns.
const SLOT: u64 = 9_000;
const SIFS: u64 = 16_000;
const AIFS: u64 = SIFS + 3 * SLOT;
/// CWmin and CWmax of best effort.
const CW: (u64, u64) = (15, 1023);
/// Number of doublings of the contention window from CWmin to CWmax.
const STAGES: i32 = 6;
/// Durations of an RTS and, in `TURN`, of a turn without its data. An RTS (20 bytes) and a CTS (14 bytes) are sent at
/// 24 Mbit/s and take 28 us each: a preamble of 20 us, followed by symbols that carry 96 bits in 4 us each. A block ACK
/// (32 bytes) takes 32 us, and the preamble of an aggregate takes 40 us.   Unit: ns.
const RTS: u64 = 28_000;
const TURN: u64 = RTS + SIFS + 28_000 + SIFS + 40_000 + SIFS + 32_000;
/// Duration of a collision: two or more stations send an RTS at once, and wait for SIFS, a slot and 28 us for a CTS
/// that does not come.   Unit: ns.
const COLLISION: u64 = RTS + SIFS + SLOT + 28_000;
/// Size of a packet in an aggregate, with MAC header, checksum and delimiter.   Unit: bytes.
const MPDU: u64 = OPPORTUNITY + 36;

/// A link like Wi-Fi. It competes with other stations for turns on the air, and sends one aggregate of packets in each
/// turn. The link's random numbers depend only on the scenario's seed and the link's name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WifiParams {
    /// Rate on the air while an aggregate is sent. The link delivers less, because of the other stations and the
    /// overhead of each turn.
    pub rate: BitRate,
    /// Number of other stations. They always have data to send.
    pub stations: u32,
    /// Longest duration of an aggregate.
    pub txop: Duration,
    /// Largest number of packets in an aggregate.
    pub mpdus: u32,
}

impl Default for WifiParams {
    fn default() -> Self {
        Self { rate: BitRate(150_000_000), stations: 3, txop: Duration::from_millis(4), mpdus: 64 }
    }
}

impl WifiParams {
    /// Checks the parameters. The error names the first invalid field.
    pub(crate) fn validate(&self) -> Result<(), Problem> {
        within("rate", self.rate, BitRate(1_000_000), BitRate(10_000_000_000))?;
        within("stations", self.stations, 0, 100)?;
        within("mpdus", self.mpdus, 1, 1024)?;
        let one = self.rate.time_for(MPDU);
        let valid = (one..=Duration::from_secs(1)).contains(&self.txop);
        let message =
            format!("{} is not valid; expected {one}, a packet of 1504 bytes at {}, to 1s", self.txop, self.rate);
        require(valid, "txop", message)
    }

    /// Returns the number of packets in an aggregate, and the duration of a turn in ns.
    fn turn(&self) -> (u64, u64) {
        let fit = u128::from(self.rate.0) * u128::from(self.txop.0) / 8_000_000_000 / u128::from(MPDU);
        let count = u64::from(self.mpdus).min(u64::try_from(fit).unwrap_or(u64::MAX)).max(1);
        // this sum must not overflow, because it is also computed for an invalid rate, before `validate` refuses the
        // rate
        (count, self.rate.time_for(count * MPDU).0.saturating_add(TURN))
    }

    /// Returns the mean rate that the link carries, from Bianchi's fixed point p = 1 - (1 - tau)^(n - 1): p is the
    /// probability that a transmission collides, tau the probability that a station sends in a slot, and n the number
    /// of stations, including this link.
    pub(crate) fn mean_rate(&self) -> BitRate {
        let n = f64::from(self.stations) + 1.0;
        let w = CW.0 as f64 + 1.0;
        let tau = |p: f64| {
            let doubled: f64 = (0..STAGES).map(|i| pow(2.0 * p, f64::from(i))).sum();
            2.0 / (1.0 + w + p * w * doubled)
        };
        // tau falls as p rises, and p rises with tau, so the two curves meet at one point, which is found by bisection
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let p = (low + high) / 2.0;
            if 1.0 - pow(1.0 - tau(p), n - 1.0) > p { low = p } else { high = p }
        }
        let tau = tau(low);
        let idle = pow(1.0 - tau, n);
        let alone = n * tau * pow(1.0 - tau, n - 1.0);
        let (count, turn) = self.turn();
        let slot = idle * SLOT as f64
            + alone * turn.saturating_add(AIFS) as f64
            + (1.0 - idle - alone) * (COLLISION + AIFS) as f64;
        BitRate((alone / n * (count * OPPORTUNITY) as f64 * 8e9 / slot) as u64)
    }

    /// Returns the rate on the air, which bounds the rate of back-to-back aggregates.
    pub(crate) fn peak_rate(&self) -> BitRate {
        self.rate
    }

    /// Returns an upper bound on the mean rate over any `span`.
    pub(crate) fn max_rate_over(&self, span: Duration) -> BitRate {
        with_burst(self.rate, self.txop, span)
    }
}

/// A station's contention window, and the number of slots left to count down.
#[derive(Clone, Debug, PartialEq)]
struct Station {
    window: u64,
    count: u64,
}

/// Generates the opportunities of the link: one for each turn on the air that the link wins.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wifi {
    /// Number of packets of 1504 bytes that an aggregate carries.
    packets: u64,
    /// Largest number of packets in an aggregate, whatever their size.
    mpdus: u64,
    turn: u64,
    rng: Rng,
    /// All stations; this link is the first.
    stations: Vec<Station>,
    now: u64,
}

impl Wifi {
    pub(crate) fn new(p: &WifiParams, mut rng: Rng) -> Self {
        let (packets, turn) = p.turn();
        let stations = (0..=p.stations).map(|_| Station { window: CW.0, count: rng.below(CW.0 + 1) }).collect();
        Self { packets, mpdus: p.mpdus.into(), turn, rng, stations, now: 0 }
    }

    /// Returns the next opportunity. Bound: on average, one iteration for each station, plus one for each collision.
    pub(crate) fn next(&mut self) -> Opportunity {
        while !self.contend() {}
        let at = self.now.div_ceil(MS).saturating_mul(MS);
        Opportunity {
            at: Time(at),
            bytes: self.packets * OPPORTUNITY,
            packets: self.mpdus,
            extra_delay: Duration::ZERO,
        }
    }

    /// Advances to the end of the next turn or collision. Returns true after a turn of this link.
    fn contend(&mut self) -> bool {
        let least = self.stations.iter().map(|s| s.count).min().unwrap_or_default();
        let alone = self.stations.iter().filter(|s| s.count == least).count() == 1;
        let ours = alone && self.stations[0].count == least;
        for s in &mut self.stations {
            if s.count == least {
                s.window = if alone { CW.0 } else { (2 * s.window + 1).min(CW.1) };
                s.count = self.rng.below(s.window + 1);
            } else {
                // a station also counts down the slot in which another station begins to send
                s.count -= least + 1;
            }
        }
        self.now = self.now.saturating_add(AIFS + least * SLOT + if alone { self.turn } else { COLLISION });
        ours
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opportunities(p: &WifiParams, seconds: u64) -> Vec<(u64, u64)> {
        p.validate().unwrap();
        let mut link = Wifi::new(p, Rng::named(1, "link.down.delivery"));
        let all = std::iter::from_fn(|| Some(link.next())).map(|o| (o.at.0, o.bytes));
        all.take_while(|(at, _)| *at <= seconds * 1_000_000_000).collect()
    }

    #[test]
    fn aggregates_are_bounded_by_packets_and_by_time() {
        // 64 packets of 1540 B take 2.63 ms at 300 Mbit/s. At 50 Mbit/s, `txop` limits the aggregate: 4 ms is 25 000 B, or 16
        // packets
        let turn = |mbit: u64| WifiParams { rate: BitRate(mbit * 1_000_000), ..WifiParams::default() }.turn();
        assert_eq!(turn(300), (64, 176_000 + 2_628_267));
        assert_eq!(turn(50), (16, 176_000 + 3_942_400));
        assert_eq!(TURN, 176_000);
    }

    #[test]
    fn alone_it_waits_for_its_own_count_only() {
        // without other stations, a turn of 64 packets takes AIFS (43 us), 7.5 slots of 9 us on average, and 2.804 ms
        // for the frames and the gaps between them
        let p = WifiParams { rate: BitRate(300_000_000), stations: 0, ..WifiParams::default() };
        let all = opportunities(&p, 100);
        let cycle = 43e3 + 7.5 * 9e3 + 2_804_267.0;
        assert!((all.len() as f64 * cycle / 100e9 - 1.0).abs() < 0.005, "{}", all.len());
        assert!(all.iter().all(|(at, bytes)| at % MS == 0 && *bytes == 64 * 1504));
    }

    #[test]
    fn its_mean_is_bianchis() {
        for stations in [0, 1, 2, 5, 10, 30] {
            let p = WifiParams { stations, ..WifiParams::default() };
            let seconds = 400 * (u64::from(stations) + 1);
            let rate = opportunities(&p, seconds).iter().map(|o| o.1 as f64).sum::<f64>() * 8.0 / seconds as f64;
            let model = p.mean_rate().0 as f64;
            assert!((rate / model - 1.0).abs() < 0.03, "{stations}: {rate} {model}");
        }
    }

    #[test]
    fn more_stations_longer_gaps() {
        let longest = |stations| {
            let all = opportunities(&WifiParams { stations, ..WifiParams::default() }, 60);
            all.windows(2).map(|w| (w[1].0 - w[0].0) / MS).max().unwrap()
        };
        let gaps = [0, 1, 5, 20].map(longest);
        assert!(gaps.windows(2).all(|w| w[0] < w[1]), "{gaps:?}");
    }
}
