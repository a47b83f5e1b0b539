//! Tins: classes of traffic by code point. Each has a weight and a threshold, which is a share of the rate. The tin's
//! quantum, target and interval are computed from the threshold, which is called the tin's rate below.
//!
//! ```text
//! diffserv3     0 best effort 1, 1024     1 bulk 1/16, 64     2 voice 1/4, 256          (share of the rate, weight)
//! diffserv4     0 best effort 1, 1024     1 bulk 1/16, 64     2 video 1/2, 512     3 voice 1/4, 256
//! diffserv8     tin i: (7/8)^i, 256 (7/8)^i, by RFC 4594's classes         precedence: the same, by the upper three bits
//!
//! quantum   clamp(rate in B/s / 4096, 300, 1514) bytes     1514 without a rate
//! target    max(1.5 mtu_time, the parameter `target`)      mtu_time = time of 1514 bytes at the tin's rate
//! interval  max(rtt + (target - the parameter `target`), 2 target)
//! ```
//!
//! A share of the rate is a threshold, not a cap: tins that send less than their share go first, then the tin whose clock is
//! earliest.
//!
//! Source: tc-cake(8); Linux's sch_cake.c (facts only); RFC 4594, RFC 8622 (LE).

use super::params::{CakeParams, Diffserv};
use super::shaper::Pace;
use crate::law::cobalt::CobaltParams;
use units::{BitRate, Duration};

/// Size of a full Ethernet frame without its checksum, bytes; CAKE's MTU.
const FRAME: u64 = 1514;

/// A tin's constants.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plan {
    pub name: &'static str,
    /// Time per byte at the tin's threshold, which is its share of `bandwidth`; `None` if CAKE does not shape.
    pub pace: Option<Pace>,
    /// The tin's weight in bytes per turn. Used only if CAKE has no shaper.
    pub weight: i64,
    /// Bytes of credit that a flow of the tin gets per turn if its host load is 1.
    pub quantum: u32,
    pub law: CobaltParams,
    /// Time that a full frame takes at the tin's rate; zero if CAKE does not shape.
    pub mtu_time: Duration,
}

const EIGHT: [&str; 8] = ["tin0", "tin1", "tin2", "tin3", "tin4", "tin5", "tin6", "tin7"];

/// Returns the name, share of the rate (as a fraction) and weight of each tin.
fn shares(diffserv: Diffserv) -> Vec<(&'static str, (u64, u64), i64)> {
    let best_effort = ("best_effort", (1, 1), 1024);
    let bulk = ("bulk", (1, 16), 64);
    let voice = ("voice", (1, 4), 256);
    match diffserv {
        Diffserv::Besteffort => vec![("best_effort", (1, 1), 65_535)],
        Diffserv::Diffserv3 => vec![best_effort, bulk, voice],
        Diffserv::Diffserv4 => vec![best_effort, bulk, ("video", (1, 2), 512), voice],
        Diffserv::Diffserv8 | Diffserv::Precedence => {
            let mut weight = 256;
            EIGHT
                .iter()
                .zip(0..)
                .map(|(name, i)| {
                    let tin = (*name, (7u64.pow(i), 8u64.pow(i)), weight);
                    weight = weight * 7 / 8;
                    tin
                })
                .collect()
        }
    }
}

/// Computes the constants of each tin from valid parameters.
pub(crate) fn plans(p: &CakeParams) -> Vec<Plan> {
    let tin = |(name, (up, down), weight): (&'static str, (u64, u64), i64)| {
        let rate = p.bandwidth.map(|b| BitRate((u128::from(b.0) * u128::from(up) / u128::from(down)).max(1) as u64));
        let mtu_time = rate.map_or(Duration::ZERO, |r| Pace::new(r).time(FRAME));
        let given = p.target();
        let target = Duration((mtu_time.0.saturating_mul(3) / 2).max(given.0));
        let interval = Duration((p.rtt.0 + (target.0 - given.0)).max(target.0.saturating_mul(2)));
        let quantum = rate.map_or(FRAME, |r| (r.0 / 8 / 4096).clamp(300, FRAME)) as u32;
        let law = CobaltParams { target, interval, ecn: true, ..CobaltParams::default() };
        Plan { name, pace: rate.map(Pace::new), weight, quantum, law, mtu_time }
    };
    shares(p.diffserv).into_iter().map(tin).collect()
}

/// A map from code points to tins: first the tin for all code points that are not listed, then each of the other tins
/// with its code points.
///
/// Source: the classes of RFC 4594. The code points of `BULK` are LE (1) and CS1 (8).
type Points = (u8, &'static [(u8, &'static [usize])]);
const BULK: &[usize] = &[1, 8];
const DIFFSERV3: Points = (0, &[(1, BULK), (2, &[4, 44, 46, 48, 56])]);
const DIFFSERV4: Points =
    (0, &[(1, BULK), (2, &[4, 16, 18, 20, 22, 24, 26, 28, 30, 34, 36, 38]), (3, &[32, 40, 44, 46, 48, 56])]);
const DIFFSERV8: Points = (
    2,
    &[
        (0, &[1]),
        // high throughput: TOS2, CS1, AF1x
        (1, &[2, 8, 10, 12, 14]),
        // multimedia: CS3, AF3x, AF4x
        (3, &[24, 26, 28, 30, 34, 36, 38]),
        // low latency data: TOS4, AF2x
        (4, &[4, 18, 20, 22]),
        // administration: CS2
        (5, &[16]),
        // lowest latency: CS4, CS5, VA, EF
        (6, &[32, 40, 44, 46]),
        // network control: CS6, CS7
        (7, &[48, 56]),
    ],
);

/// Returns the tin of each code point.
pub(crate) fn map(diffserv: Diffserv) -> [u8; 64] {
    let (rest, points) = match diffserv {
        Diffserv::Besteffort => (0, &[][..]),
        Diffserv::Diffserv3 => DIFFSERV3,
        Diffserv::Diffserv4 => DIFFSERV4,
        Diffserv::Diffserv8 => DIFFSERV8,
        Diffserv::Precedence => return std::array::from_fn(|p| (p >> 3) as u8),
    };
    std::array::from_fn(|p| points.iter().find(|(_, own)| own.contains(&p)).map_or(rest, |(tin, _)| *tin))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(diffserv: Diffserv, rate: Option<u64>) -> Vec<Plan> {
        plans(&CakeParams { diffserv, bandwidth: rate.map(BitRate), ..CakeParams::default() })
    }

    #[test]
    fn quantum_target_and_interval_of_a_rate() {
        // 1514 B take 12.112 ms at 1 Mbit/s. Target = 1.5 x 12.112 = 18.168 ms; interval = 100 + 18.168 - 5 = 113.168 ms.
        let one = &of(Diffserv::Besteffort, Some(1_000_000))[0];
        assert_eq!(one.mtu_time, Duration::from_micros(12_112));
        assert_eq!((one.law.target, one.law.interval), (Duration::from_micros(18_168), Duration::from_micros(113_168)));
        // Quantum = rate in B/s / 4096: 1 Mbit/s gives 30 B, raised to the minimum of 300; 10 Mbit/s gives 305 B, 20 Mbit/s 610
        // B, and 49.611 Mbit/s or more 1514 B, the maximum.
        let quantum = |rate| of(Diffserv::Besteffort, rate)[0].quantum;
        let rates = [1_000_000, 10_000_000, 20_000_000, 49_611_000, 1_000_000_000];
        assert_eq!(rates.map(|r| quantum(Some(r))), [300, 305, 610, 1514, 1514]);
        assert_eq!(quantum(None), 1514);
        // at 1.5 x 1514 x 8 bit / 5 ms = 3.6336 Mbit/s and above, target and interval equal the parameters `target` and `rtt`
        let four = &of(Diffserv::Besteffort, Some(3_640_000))[0];
        assert_eq!((four.law.target, four.law.interval), (Duration::from_millis(5), Duration::from_millis(100)));
        let none = &of(Diffserv::Besteffort, None)[0];
        assert_eq!((none.law.target, none.mtu_time), (Duration::from_millis(5), Duration::ZERO));
    }

    #[test]
    fn tc_shows_the_same_quanta_and_targets() {
        // tc-cake(8) shows an example at 100 Mbit/s: the thresholds are 100, 6.25 and 25 Mbit/s, the quanta 1514, 300
        // and 762 B, and the targets 5 ms
        let tins = of(Diffserv::Diffserv3, Some(100_000_000));
        let seen: Vec<_> = tins.iter().map(|t| (t.name, t.quantum, t.law.target.0 / 1000)).collect();
        assert_eq!(seen, [("best_effort", 1514, 5000), ("bulk", 300, 5000), ("voice", 762, 5000)]);
        // at 10 Mbit/s, bulk has 625 kbit/s. A frame then takes 19.379 ms, and the target is the time of 1.5 frames, 29.069 ms
        let bulk = &of(Diffserv::Diffserv3, Some(10_000_000))[1];
        assert_eq!((bulk.mtu_time.0, bulk.law.target.0), (19_379_200, 29_068_800));
        assert_eq!(bulk.law.interval.0, 124_068_800);
    }

    #[test]
    fn thresholds_and_weights() {
        let weights = |d| of(d, None).iter().map(|t| t.weight).collect::<Vec<_>>();
        assert_eq!(weights(Diffserv::Diffserv3), [1024, 64, 256]);
        assert_eq!(weights(Diffserv::Diffserv4), [1024, 64, 512, 256]);
        // each weight is 7/8 of the previous weight, rounded down
        assert_eq!(weights(Diffserv::Diffserv8), [256, 224, 196, 171, 149, 130, 113, 98]);
        // the last tin has (7/8)^7 = 823 543 / 2 097 152 of 8 Mbit/s. A frame takes 3.855 ms at this rate, and 1.514 ms at the full
        // rate
        let last = of(Diffserv::Precedence, Some(8_000_000))[7].mtu_time;
        assert!((last.secs() * 1e3 - 1.514 * 2_097_152.0 / 823_543.0).abs() < 1e-5, "{last}");
    }

    #[test]
    fn code_points() {
        let three = map(Diffserv::Diffserv3);
        assert_eq!([0, 1, 8, 4, 44, 46, 48, 56, 10, 34].map(|p: usize| three[p]), [0, 1, 1, 2, 2, 2, 2, 2, 0, 0]);
        let four = map(Diffserv::Diffserv4);
        assert_eq!([0, 1, 8, 4, 18, 24, 38, 32, 40, 46, 10].map(|p: usize| four[p]), [0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 0]);
        assert_eq!(four.iter().filter(|t| **t == 2).count(), 12);
        let eight = map(Diffserv::Diffserv8);
        assert_eq!(
            [0, 1, 8, 10, 16, 18, 24, 34, 46, 48, 3].map(|p: usize| eight[p]),
            [2, 0, 1, 1, 5, 4, 3, 3, 6, 7, 2]
        );
        assert_eq!([0, 8, 46, 63].map(|p: usize| map(Diffserv::Precedence)[p]), [0, 1, 5, 7]);
    }
}
