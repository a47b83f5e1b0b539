//! The state of one class: its backlog, its average occupancy, and counts of its packets by fate.
//!
//! ```text
//!   RED   p_b = max_p (avg - min_th) / (max_th - min_th)     p_a = p_b / (1 - count p_b)
//!         drop with probability p_a;  avg >= max_th: drop all
//! ```
//!
//! Source: Floyd & Jacobson 1993 §4 (RED as of 1998: without gentle mode and without the spacing `wait` of ns-2).

use super::average::{Average, Sampling};
use crate::declared::params;
use packet::{Backlog, ClassCount, LinkView, PacketMeta};
use units::{Bytes, Duration, Limit, Prob, Problem, Rng, Time, ensure};

/// Weight of a sample in the average, as in MMCN 1999.
pub(crate) const WEIGHT: f64 = 0.002;

/// Returns [`WEIGHT`], the default that serde fills in.
pub(crate) fn weight() -> f64 {
    WEIGHT
}

params! {
    /// RED on the average length of one class's part of the queue. Both thresholds must have the same unit: packets
    /// ("15p") or bytes ("15KB"). The defaults are those of MMCN 1999.
    pub struct RedTest {
        /// The class's average queue length below which there is no early drop.
        min_th: Limit = Limit::Packets(15),
        /// The class's average queue length at and above which every arrival is dropped.
        max_th: Limit = Limit::Packets(30),
        /// Drop probability just below `max_th`.
        max_p: Prob = Prob::constant(0.1),
    }
}

/// The unit in which occupancy is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Packets,
    /// Bytes on the wire.
    Bytes,
}

impl Unit {
    #[inline]
    pub(crate) fn of(self, backlog: Backlog) -> f64 {
        match self {
            Self::Packets => f64::from(backlog.packets),
            Self::Bytes => backlog.bytes as f64,
        }
    }

    /// Returns this unit as the unit of a probe's value.
    pub(crate) fn of_probe(self) -> packet::Unit {
        match self {
            Self::Packets => packet::Unit::Packets,
            Self::Bytes => packet::Unit::Bytes,
        }
    }
}

/// Returns the value and the unit of a threshold.   Errors: the threshold is a time, is zero, or is more than `buffer`
/// holds.
pub(crate) fn threshold(path: &str, th: Limit, buffer: Limit) -> Result<(f64, Unit), Problem> {
    let (value, unit) = match th {
        Limit::Packets(n) => (f64::from(n), Unit::Packets),
        Limit::Bytes(b) => (b.0 as f64, Unit::Bytes),
        Limit::Time(_) => (f64::NAN, Unit::Packets),
    };
    ensure!(!value.is_nan(), path, "{th} is not valid; expected packets (\"10p\") or bytes (\"10KB\")");
    ensure!(value > 0.0, path, "{th} is not valid; expected more than nothing");
    let room = match (buffer, unit) {
        // an upper bound of the buffer's contents, in the unit of the threshold. A packet has at most 65 535 bytes, so a
        // buffer of n packets holds at most n x 65 535 bytes. A buffer of n bytes holds at most n packets
        (Limit::Packets(n), Unit::Bytes) => f64::from(n) * 65_535.0,
        (Limit::Packets(n), Unit::Packets) => f64::from(n),
        (Limit::Bytes(b), _) => b.0 as f64,
        (Limit::Time(_), _) => f64::INFINITY,
    };
    let fits = value <= room;
    ensure!(fits, path, "{th} is more than the buffer of {buffer} holds; expected at most {buffer}");
    Ok((value, unit))
}

pub(crate) fn check_weight(path: &str, w: f64) -> Result<(), Problem> {
    ensure!(w > 0.0 && w <= 1.0, path, "{w} is not valid; expected above 0 and at most 1");
    Ok(())
}

pub(crate) fn check_packet(packet: Bytes) -> Result<(), Problem> {
    ensure!((1..=65_535).contains(&packet.0), "packet", "{packet} is not valid; expected 1B to 65535B");
    Ok(())
}

impl RedTest {
    /// Checks that both thresholds are valid for the `buffer` (see [`threshold`]), that they have the same unit, and
    /// that `min_th` is below `max_th`.
    pub(crate) fn validate(&self, buffer: Limit) -> Result<(), Problem> {
        let (low, high) = (self.min_th, self.max_th);
        let (min, unit) = threshold("min_th", low, buffer)?;
        let (max, other) = threshold("max_th", high, buffer)?;
        ensure!(unit == other, "max_th", "{high} and min_th {low} are in two units; expected one");
        ensure!(min < max, "max_th", "{high} is not valid; expected more than min_th, {low}");
        Ok(())
    }

    pub(crate) fn unit(&self) -> Unit {
        if matches!(self.min_th, Limit::Bytes(_)) { Unit::Bytes } else { Unit::Packets }
    }
}

/// RED's thresholds, and its count of packets since the last drop. The caller computes the average.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Red {
    min: f64,
    max: f64,
    max_p: f64,
    /// Number of arrivals tested since the last drop by this test. After an arrival that found the average below
    /// `min_th`, the count is -1, so that it is 0 at the next arrival tested.
    count: i64,
}

impl Red {
    /// Creates RED's state from valid parameters.
    pub(crate) fn new(test: &RedTest) -> Self {
        let value = |th: Limit| threshold("", th, Limit::Time(Duration::ZERO)).map_or(0.0, |(v, _)| v);
        Self { min: value(test.min_th), max: value(test.max_th), max_p: test.max_p.get(), count: -1 }
    }

    /// Returns true if the average is at or above `min_th`.
    pub(crate) fn congested(&self, avg: f64) -> bool {
        avg >= self.min
    }

    /// Returns true if the average is at or above `max_th`, where RED drops every arrival.
    pub(crate) fn forced(&self, avg: f64) -> bool {
        avg >= self.max
    }

    /// Resets the count. Called when the average is below `min_th`.
    pub(crate) fn calm(&mut self) {
        self.count = -1;
    }

    /// Returns true if an arrival must be dropped. The average `avg` must be at or above `min_th`.
    pub(crate) fn drops(&mut self, avg: f64, rng: &mut Rng) -> bool {
        self.count += 1;
        let drop = self.forced(avg) || rng.chance(p_a(p_b(avg, self.min, self.max, self.max_p), self.count));
        if drop {
            self.count = 0;
        }
        drop
    }

    /// Returns true if an arrival must be dropped. Unlike [`Red::drops`], this function may be called with an average
    /// below `min_th`: it then resets the count and returns false.
    pub(crate) fn test(&mut self, avg: f64, rng: &mut Rng) -> bool {
        if !self.congested(avg) {
            self.calm();
            return false;
        }
        self.drops(avg, rng)
    }
}

/// Computes RED's base probability from the average.
fn p_b(avg: f64, min: f64, max: f64, max_p: f64) -> f64 {
    max_p * (avg - min) / (max - min)
}

/// Computes RED's final probability from `p_b` and the count. The gaps between drops are uniformly distributed while
/// `p_b` is constant.
fn p_a(p_b: f64, count: i64) -> f64 {
    let spread = count.max(0) as f64 * p_b;
    if spread >= 1.0 { 1.0 } else { (p_b / (1.0 - spread)).min(1.0) }
}

/// Backlog and average occupancy of one class.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Occupancy {
    unit: Unit,
    packet: u64,
    queued: Backlog,
    average: Average,
    counts: ClassCount,
}

impl Occupancy {
    /// Creates the state of a class without packets. Occupancy is measured in `unit`, each sample of the average has
    /// weight `w`, and a typical packet has `packet` bytes.
    pub(crate) fn new(unit: Unit, w: f64, sampling: Sampling, packet: u64) -> Self {
        let average = Average::new(w, sampling);
        Self { unit, packet, queued: Backlog::default(), average, counts: ClassCount::default() }
    }

    /// Counts an arrival of the class, updates the average occupancy, and returns the average.
    pub(crate) fn arrival(&mut self, p: &PacketMeta, now: Time, link: &LinkView) -> f64 {
        self.counts.offered.add(p);
        self.average.arrival(now, link, self.packet)
    }

    /// Records that the arrival was dropped.
    pub(crate) fn dropped(&mut self, p: &PacketMeta) {
        self.counts.dropped.add(p);
    }

    /// Records that the arrival joined the queue.
    pub(crate) fn joined(&mut self, p: &PacketMeta, now: Time, link: &LinkView) {
        self.queued.add(p.bytes());
        self.average.now_queued(self.unit.of(self.queued), now, link, self.packet);
    }

    /// Records that a packet has left the queue to be sent on the link.
    pub(crate) fn left(&mut self, p: &PacketMeta, now: Time, link: &LinkView) {
        self.counts.delivered.add(p);
        self.queued.remove(p.bytes());
        self.average.now_queued(self.unit.of(self.queued), now, link, self.packet);
    }

    pub(crate) fn queued(&self) -> Backlog {
        self.queued
    }

    pub(crate) fn unit(&self) -> Unit {
        self.unit
    }

    pub(crate) fn average(&self) -> f64 {
        self.average.get()
    }

    pub(crate) fn counts(&self) -> ClassCount {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gap_between_drops_is_uniform() {
        // p_b is constant at 1/20. At the first arrival after a drop the count is 1, so p_a = 0.05/0.95 = 1/19, then 1/18 and
        // so on. So the gap is uniform on 1 to 19, with mean 10 and variance (19^2 - 1)/12 = 30.
        let mut red = Red::new(&RedTest { max_p: Prob::new(0.1).unwrap(), ..RedTest::default() });
        let mut rng = Rng::named(3, "red");
        let avg = 22.5; // half way between min_th and max_th: p_b = max_p / 2 = 0.05
        red.count = 0;
        let (mut gaps, mut gap) = (vec![0u32; 21], 0);
        let n = 40_000;
        for _ in 0..n {
            loop {
                gap += 1;
                if red.drops(avg, &mut rng) {
                    break;
                }
            }
            gaps[gap as usize] += 1;
            gap = 0;
        }
        let mean = gaps.iter().enumerate().map(|(k, c)| k as f64 * f64::from(*c)).sum::<f64>() / f64::from(n);
        // the test allows the mean to differ from 10 by three standard errors
        assert!((mean - 10.0).abs() < 3.0 * (30.0_f64 / f64::from(n)).sqrt(), "{mean}");
        let expected = f64::from(n) / 19.0;
        let chi2: f64 =
            gaps[1..20].iter().map(|&c| (f64::from(c) - expected) * (f64::from(c) - expected) / expected).sum();
        // 42.3 is the 99.9th percentile of chi squared with 18 degrees of freedom
        assert!(chi2 < 42.3 && gaps[20] == 0, "{chi2}");
    }

    #[test]
    fn thresholds_must_fit() {
        let buffer = Limit::Packets(60);
        RedTest::default().validate(buffer).unwrap();
        let red = |min, max| RedTest { min_th: min, max_th: max, ..RedTest::default() }.validate(buffer).unwrap_err();
        assert!(red(Limit::Packets(15), Limit::Packets(61)).message.contains("at most 60p"));
        assert!(red(Limit::Packets(30), Limit::Packets(30)).message.contains("more than min_th"));
        assert!(red(Limit::Packets(15), Limit::Bytes(Bytes(30_000))).message.contains("two units"));
        assert_eq!(red(Limit::Packets(0), Limit::Packets(30)).path, "min_th");
        assert!(red(Limit::Time(Duration::from_millis(5)), Limit::Packets(30)).message.contains("packets"));
        assert!(check_weight("weight", 0.0).is_err() && check_weight("weight", 1.01).is_err());
        check_weight("weight", 1.0).unwrap();
    }
}
