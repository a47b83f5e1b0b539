//! Datagrams at a constant rate, or at random times with the same mean rate.
//!
//! Source: CableLabs 2012 §3.2.1 (1 Mbit/s beside TCP), MMCN 1999 (the unresponsive blast).
//!
//! ```text
//!   datagram k leaves at  start + (k + randomize * u_k) * 8 * size / rate,   u_k uniform in [0, 1)
//! ```
//!
//! This is the rule for constant arrivals: each time is computed from k, not from the previous time, so the rate does
//! not drift. With Poisson arrivals, gaps are exponential with mean 8 * size / rate, and the first datagram leaves one
//! gap after the start. In a random walk, the first datagram leaves at the start, and each gap is (1 + `randomize` *
//! v_k) times the mean, v_k uniform in [-1, 1). The random parts of the gaps accumulate, as with ns-2's `random_`, so
//! that the source does not stay in phase with another periodic source. Datagrams always leave in the order of k.

use crate::demand::times;
use crate::{Application, Demand, Direction, Host, Params, Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Duration, Prob, Problem, Time, math};
use units::{positive, positive_or_none, require, within};

/// Maximum size of a datagram. The length field of an IP packet has 16 bits.
pub(crate) const MAX_SIZE: Bytes = Bytes(65_535);

fn default_size() -> Bytes {
    Bytes(1000)
}

/// Distribution of the times at which datagrams leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// At equal intervals.
    #[default]
    Constant,
    /// A Poisson process: the gaps have an exponential distribution.
    Poisson,
    /// A random walk: each gap is drawn uniformly from (1 - `randomize`) to (1 + `randomize`) times the mean gap. The
    /// deviations add up over time.
    RandomWalk,
}

/// UDP datagrams at a constant mean rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CbrParams {
    /// Rate on the wire in bit/s.
    pub rate: BitRate,
    /// Size of a datagram in bytes on the wire, including headers. Default 1000.
    #[serde(default = "default_size")]
    pub size: Bytes,
    /// Times at which datagrams leave: at equal intervals (`constant`), at random times (`poisson`), or with random gaps
    /// within the limits that `randomize` sets (`random_walk`). The mean rate is always `rate`. Default `constant`.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// With `constant`: largest random delay of a datagram, as a fraction of the interval. 0 means no delay, 1 a delay
    /// of up to a full interval. With `random_walk`: largest deviation of a gap from the mean gap, as a fraction of the
    /// mean gap. Not valid for `poisson`. Default 0.
    #[serde(default)]
    pub randomize: Prob,
    /// Number of datagrams; omitted: until the end of the run.
    #[serde(default)]
    pub count: Option<u64>,
    /// Direction of the datagrams. Default `up`.
    #[serde(default)]
    pub direction: Direction,
}

impl CbrParams {
    #[cfg(test)]
    fn new(rate: BitRate) -> Self {
        Self {
            rate,
            size: default_size(),
            arrivals: Arrivals::Constant,
            randomize: Prob::default(),
            count: None,
            direction: Direction::Up,
        }
    }
}

impl Params for CbrParams {
    type App = Cbr;

    fn validate(&self) -> Result<(), Problem> {
        positive("rate", self.rate)?;
        within("size", self.size, Bytes(1), MAX_SIZE)?;
        // random gaps are rounded down to whole nanoseconds, so if every gap were below 1 ns, time would not advance
        let message = format!("{} leaves less than 1 ns between datagrams", self.rate);
        require(self.size.0 * 8_000_000_000 >= self.rate.0, "rate", message)?;
        let message = "is for constant arrivals and random walks; expected none with arrivals = \"poisson\"";
        require(self.arrivals != Arrivals::Poisson || self.randomize.get() == 0.0, "randomize", message)?;
        positive_or_none("count", self.count)
    }

    fn demand(&self, span: Duration, _: Duration) -> Demand {
        Demand::datagrams(times(span, self.rate.time_for(self.size.0), self.count))
    }

    fn start_spread(&self) -> Duration {
        // Sources with equal gaps could stay in step, so each starts at a random time within one gap. Sources with random
        // gaps or delays do not stay in step. (A random walk counts as random here, even if `randomize` is 0.)
        if self.arrivals == Arrivals::Constant && self.randomize.get() == 0.0 {
            self.rate.time_for(self.size.0)
        } else {
            Duration::ZERO
        }
    }

    fn datagram_sizes(&self) -> Vec<(&'static str, Bytes)> {
        vec![("size", self.size)]
    }

    fn build(&self) -> Cbr {
        let spacing = Spacing { bits: self.size.0 * 8, rate: self.rate.0 };
        let (arrivals, randomize) = (self.arrivals, self.randomize.get());
        Cbr { arrivals, randomize, ..Cbr::new(self.direction.sender(), self.size, spacing, self.count) }
    }
}

/// The exact time from one datagram to the next: `bits / rate` seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spacing {
    pub(crate) bits: u64,
    pub(crate) rate: u64,
}

impl Spacing {
    fn mean_ns(self) -> f64 {
        self.bits as f64 * 1e9 / self.rate as f64
    }

    /// Returns the duration of `k` spacings plus a fraction `shift` of a spacing, in nanoseconds. Each of the two parts
    /// is rounded down.
    fn at(self, k: u64, shift: f64) -> u64 {
        // `part` is the shift in units of 2^-32, so that all later arithmetic uses integers
        let part = (shift * 4_294_967_296.0) as u128;
        let ns = (u128::from(k) * u128::from(self.bits) * 1_000_000_000) / u128::from(self.rate);
        let more = ((u128::from(self.bits) * 1_000_000_000 * part) >> 32) / u128::from(self.rate);
        u64::try_from(ns + more).unwrap_or(u64::MAX)
    }
}

/// The application with [`CbrParams`], also used for calls (`voip.rs`).
#[derive(Clone, Debug, PartialEq)]
pub struct Cbr {
    role: Role,
    /// True if the other side sends the same datagrams at the same times.
    pub(crate) both: bool,
    size: u16,
    spacing: Spacing,
    arrivals: Arrivals,
    randomize: f64,
    count: u64,
    /// Time at which the source starts. If the gaps are random, `start` moves on to the time of the latest scheduled
    /// datagram, from which the next gap is counted.
    start: Time,
    next: u64,
}

impl Cbr {
    /// Returns a source with constant arrivals that sends from `role`. The source stops after `count` datagrams, or
    /// never if `count` is `None`.
    pub(crate) fn new(role: Role, size: Bytes, spacing: Spacing, count: Option<u64>) -> Self {
        Self {
            role,
            both: false,
            size: size.0 as u16,
            spacing,
            arrivals: Arrivals::Constant,
            randomize: 0.0,
            count: count.unwrap_or(u64::MAX),
            start: Time::ZERO,
            next: 0,
        }
    }

    #[cfg(test)]
    fn sent(&self) -> u64 {
        self.next
    }

    fn arm<H: Host>(&mut self, host: &mut H) {
        if self.next >= self.count {
            return;
        }
        let gap = match self.arrivals {
            Arrivals::Poisson => math::exponential(host.rng(), self.spacing.mean_ns()),
            Arrivals::RandomWalk if self.next == 0 => 0.0,
            Arrivals::RandomWalk => self.spacing.mean_ns() * (1.0 + self.randomize * (2.0 * host.rng().unit() - 1.0)),
            Arrivals::Constant => {
                let shift = if self.randomize > 0.0 { self.randomize * host.rng().unit() } else { 0.0 };
                let at = Time(self.start.0.saturating_add(self.spacing.at(self.next, shift)));
                return host.timer(at.max(host.now()), self.next);
            }
        };
        self.start = Time(self.start.0.saturating_add(gap as u64));
        host.timer(self.start, self.next);
    }

    fn send<H: Host>(&mut self, host: &mut H) {
        host.datagram(0, self.role, self.size, self.next);
        if self.both {
            host.datagram(0, self.role.other(), self.size, self.next);
        }
        self.next += 1;
        self.arm(host);
    }
}

impl Application for Cbr {
    fn start<H: Host>(&mut self, host: &mut H) {
        self.start = host.now();
        let at_once = self.randomize == 0.0 && self.arrivals == Arrivals::Constant;
        if at_once { self.send(host) } else { self.arm(host) }
    }
    fn timer<H: Host>(&mut self, _: u64, host: &mut H) {
        self.send(host);
    }
    fn counts(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fake::Fake;
    use units::Duration;

    #[test]
    fn the_spacing_does_not_drift() {
        // At 3 Mbit/s, 1000 B are sent every 8/3 ms, which is not a whole number of nanoseconds. In 600 s, 600 * 375 = 225 000
        // datagrams are sent.
        let mut fake = Fake::new(&[0]);
        let mut app = CbrParams::new(BitRate(3_000_000)).build();
        fake.run(&mut app, Time(600_000_000_000));
        assert_eq!(app.sent(), 225_000);
        for (k, &(at, role, size, number)) in fake.datagrams.iter().enumerate() {
            assert_eq!((role, size, number), (Role::Client, 1000, k as u64));
            // datagram k leaves at k * 8/3 ms = k * 8 000 000 / 3 ns, rounded down
            assert_eq!(at.0, k as u64 * 8_000_000 / 3);
        }
    }

    #[test]
    fn shifted_datagrams_keep_their_rate_and_order() {
        let mut fake = Fake::new(&[0]);
        let params = CbrParams { randomize: Prob::new(1.0).unwrap(), ..CbrParams::new(BitRate(1_000_000)) };
        let mut app = params.build();
        fake.run(&mut app, Time(100_000_000_000));
        // datagrams are 8 ms apart, so 12 500 leave in 100 s; each is delayed by less than 8 ms
        assert_eq!(fake.datagrams.len(), 12_500);
        let mut sum = 0;
        for (k, d) in fake.datagrams.iter().enumerate() {
            let place = k as u64 * 8_000_000;
            assert!((place..place + 8_000_000).contains(&d.0.0));
            sum += d.0.0 - place;
        }
        // the mean shift is 4 ms, with a standard error of 8 / sqrt(12 * 12 500) = 0.021 ms
        assert!((sum as f64 / 12_500.0 * 1e-6 - 4.0).abs() < 0.1);
    }

    #[test]
    fn poisson_arrivals_have_exponential_gaps() {
        let poisson = CbrParams { arrivals: Arrivals::Poisson, ..CbrParams::new(BitRate(8_000_000)) };
        let mut fake = Fake::new(&[0]);
        fake.run(&mut poisson.build(), Time(100_000_000_000));
        // a mean gap of 1 ms gives 100 000 datagrams in 100 s, with a standard deviation of sqrt(100 000) = 316
        let n = fake.datagrams.len();
        assert!(n.abs_diff(100_000) < 4 * 316, "{n}");
        let at: Vec<u64> = std::iter::once(0).chain(fake.datagrams.iter().map(|d| d.0.0)).collect();
        let gaps: Vec<f64> = at.windows(2).map(|w| (w[1] - w[0]) as f64 * 1e-6).collect();
        // P(gap > x ms) = exp(-x); the standard error of a share is at most 0.0016
        for x in [0.1, 0.5, 1.0, 2.0, 4.0] {
            let share = gaps.iter().filter(|g| **g > x).count() as f64 / n as f64;
            assert!((share - math::exp(-x)).abs() < 0.006, "{x}: {share}");
        }
        // the number of datagrams in 100 ms has a mean and a variance of 100; the standard error of the variance of 1000 windows
        // is 4.5
        let mut counts = [0.0; 1000];
        at[1..].iter().for_each(|t| counts[(t / 100_000_000) as usize] += 1.0);
        let mean = n as f64 / 1000.0;
        let variance = counts.iter().map(|c| (c - mean) * (c - mean)).sum::<f64>() / 999.0;
        assert!((variance - 100.0).abs() < 18.0, "{variance}");
        let both = CbrParams { randomize: Prob::new(0.5).unwrap(), ..poisson };
        assert_eq!(both.validate().unwrap_err().path, "randomize");
    }

    #[test]
    fn a_random_walk_wanders_and_each_gap_stays_near_its_mean() {
        let spread = Prob::new(0.1).unwrap();
        let walk = CbrParams {
            arrivals: Arrivals::RandomWalk,
            randomize: spread,
            size: Bytes(1000),
            ..CbrParams::new(BitRate(8_000_000))
        };
        let ends: Vec<f64> = (0..200)
            .map(|seed| {
                let mut fake = Fake::new(&[0]);
                fake.rng = units::Rng::named(seed, "walk");
                fake.run(&mut CbrParams { count: Some(1201), ..walk.clone() }.build(), Time(2_000_000_000));
                let at: Vec<u64> = fake.datagrams.iter().map(|d| d.0.0).collect();
                assert_eq!(at[0], 0);
                assert!(at.windows(2).all(|w| (900_000..=1_100_000).contains(&(w[1] - w[0]))));
                at[1200] as f64 * 1e-6
            })
            .collect();
        // the last datagram leaves after 1200 gaps with a mean of 1 ms, so at 1200 ms on average. Each gap has a variance
        // of 0.2^2 / 12 ms^2, so the standard deviation of the sum is 2 ms
        let mean = ends.iter().sum::<f64>() / 200.0;
        let deviation = (ends.iter().map(|e| (e - mean) * (e - mean)).sum::<f64>() / 199.0).sqrt();
        assert!((mean - 1200.0).abs() < 4.0 * 2.0 / 200f64.sqrt(), "{mean}");
        assert!((1.6..2.4).contains(&deviation), "{deviation}");
    }

    #[test]
    fn counts_and_refusals() {
        let mut fake = Fake::new(&[0]);
        CbrParams { count: Some(7), ..CbrParams::new(BitRate(1_000_000)) }.validate().unwrap();
        let mut app = CbrParams { count: Some(7), ..CbrParams::new(BitRate(1_000_000)) }.build();
        fake.run(&mut app, Time(Duration::from_secs(10).0));
        assert_eq!(fake.datagrams.len(), 7);
        let mut fake = Fake::new(&[0]);
        let down = CbrParams { direction: Direction::Down, ..CbrParams::new(BitRate(1_000_000)) };
        fake.run(&mut down.build(), Time(16_000_000));
        assert_eq!(fake.datagrams, [(Time(0), Role::Server, 1000, 0), (Time(8_000_000), Role::Server, 1000, 1)]);
        let bad = |p: CbrParams| p.validate().unwrap_err().path;
        assert_eq!(bad(CbrParams::new(BitRate(0))), "rate");
        // 8000 bits in 1 ns is 8 Tbit/s, the highest valid rate
        CbrParams::new(BitRate(8_000_000_000_000)).validate().unwrap();
        assert_eq!(bad(CbrParams::new(BitRate(8_000_000_000_001))), "rate");
        assert_eq!(bad(CbrParams { size: Bytes(70_000), ..CbrParams::new(BitRate(1)) }), "size");
        assert!(serde_json::from_str::<CbrParams>("{}").unwrap_err().to_string().contains("rate"));
    }
}
