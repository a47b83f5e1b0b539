//! RED: random early detection.
//!
//! ```text
//! on arrival   avg <- (1 - w) avg + w q, or avg decays by the idle time
//!              avg < min: keep;  min <= avg < max: drop with probability p_a(p_b(avg), count);  avg >= max: drop
//! ```
//!
//! The parts (average, ramp, spacing) are in [`super::early`]; this file contains RED's parameters and its published versions.
//!
//! Source: Floyd & Jacobson, ToN 1(4) 1993; gentle: Floyd 2000; ns-2.35 queue/red.cc; ALTQ altq_red.c; tc-red(8); MMCN 1999.
//! Departs: with `spacing = "uniform"`, the gap is uniform on 1 ... 1/p_b as the paper derives; the paper's pseudo-code gives
//! 1 ... 1/p_b - 1. ns-2 compares `min_queue` with bytes if the queue is measured in bytes. ALTQ resets the average
//! after 60 s of idleness (here, 0.998^75000 of it remains), and uses its own weights below 300 packets/s. Linux keeps the average
//! in fixed point. tc requires `limit`; here it defaults to 1000p.

use super::early::{
    self, Average, ByteMode, Count, Early, IdleDecay, Measure, Ramp, Rules, Spacing, Weight, Zone, amount,
};
use super::{Law, LawParams, Verdict, View};
use crate::declared::params;
use RedVariant::{Altq, Floyd93, Linux, Ns2};
use packet::{Ecn, MarkReason, PacketMeta, Reading, Unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Duration, Limit, Prob, Problem, Rng, Time, ensure, math, positive_or_none};

/// Target delay of ns-2's automatic thresholds. Source: ns-default.tcl `targetdelay_`.
const NS2_TARGET_DELAY: Duration = Duration::from_millis(5);
/// Lower bound of the threshold `min` when `min` is derived from the link's rate.
///
/// Source: ns-2.35 (5 packets).   Unit: packets.
const NS2_LEAST_MIN: f64 = 5.0;

/// A published version. It determines the values of the parameters that are omitted (null).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RedVariant {
    /// Floyd & Jacobson 1993: thresholds of 5 and 15 packets, w 0.002, `probability` 1/50, `spacing` uniform, packet
    /// mode.
    Floyd93,
    /// ns-2.35: gentle, `spacing` wait, `byte_mode` counted, `probability` 1/10, `limit` 50 packets. The thresholds and
    /// the weight are derived from the link's rate.
    Ns2,
    /// ALTQ as in MMCN 1999: `limit` 60 packets, thresholds of 15 and 30 packets, w 0.002, `probability` 1/10, packet
    /// mode, not gentle. (ALTQ's own thresholds are 5 and 15 packets.)
    Altq,
    /// Linux: `spacing` one_draw, `idle` decay_once_asked. If `ecn` is true, ECN-capable packets are marked even above
    /// `max`. The defaults are those of tc-red(8): `max` is a quarter of `limit`, `min` a third of `max`, `burst` (2
    /// `min` + `max`) / 3 in packets, `probability` 0.02.
    Linux,
}

/// Derivation of w from the link's rate if `weight` is omitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AutoWeight {
    /// w = 1 - exp(-1 / c), where c is the link's rate in packets of `avpkt` bytes per second. The average then has a
    /// time constant of 1 s (ns-2 `q_weight_` 0).
    OneSecond,
    /// w = 1 - exp(-1 / (10 rtt c)), where c is as for `one_second` and rtt = max(100 ms, 3 / c). The average then has
    /// a time constant of ten round-trip times (ns-2 `q_weight_` -1, its default).
    TenRtts,
}

params! {
    /// Parameters of RED. Some defaults depend on `variant`. RED computes a moving average of the queue length. While
    /// this average is below `min`, RED drops nothing early, that is, before the queue is full. From `min` to `max`,
    /// the drop probability rises linearly from 0 to `probability`: this is the ramp. From `max` on, RED drops every
    /// packet, unless `gentle` is true. The link's rate, on which some defaults depend, is that of its shaper or modem
    /// if it has one.
    pub struct RedParams as p {
        /// Published version of the algorithm. The defaults of some parameters depend on it.
        variant: RedVariant = Floyd93,
        /// Maximum length of the queue; an arrival that does not fit is dropped. Null: 1000p (floyd93, linux), 50p
        /// (ns2), 60p (altq); in a fair discipline none, because its queues share one limit.
        limit: Option<Limit> = None,
        /// Average queue length at which early drops begin: packets, bytes or time at the link's rate. The average is
        /// in packets if the thresholds are in packets, otherwise in bytes. With floyd93 and altq, set both `min` and
        /// `max`, or neither. Null: 5p (floyd93); 15p (altq); the larger of 5 × `avpkt` and what the link sends in 2.5
        /// ms, in bytes (ns2); a third of `max` (linux).
        min: Option<Limit> = None,
        /// Average queue length at and above which every packet is dropped (or marked, see `harddrop`). With `gentle`,
        /// a second ramp begins here instead, and every packet is dropped from 2 × `max` on. With ns2, do not set `max`
        /// without `min`. Null: 15p (floyd93); 30p (altq); 3 × `min` (ns2, and linux if `min` is given); a quarter of
        /// `limit` (linux if `min` is not given).
        max: Option<Limit> = None,
        /// max_p, the drop probability just below `max`; null: 0.02 (floyd93, linux), 0.1 (ns2, altq).
        probability: Option<Prob> = None => Prob::constant(if matches!(p.variant, Floyd93 | Linux) { 0.02 } else { 0.1 }),
        /// w, the weight of a new sample in the average queue length. Null: computed from `burst`; without a `burst`,
        /// from the link's rate by the rule `auto_weight`; without both, 0.002.
        weight: Option<f64> = None,
        /// Number of packets in a burst that an empty queue accepts without early drops. If `weight` (w) is not given,
        /// w is computed from `burst` as in tc: w is the largest power of 1/2 with
        /// `burst + 1 - min <= (1 - (1 - w)^burst) / w`, where `min` is in packets of `avpkt` bytes. Null: none
        /// (floyd93, ns2, altq), (2 × `min` + `max`) / 3 in packets (linux).
        burst: Option<u32> = None,
        /// Rule that derives `weight` (w) from the link's rate. It has no effect if `weight` or `burst` is given, or
        /// with the variant linux. Null: none (floyd93, altq, linux), ten_rtts (ns2).
        auto_weight: Option<AutoWeight> = None => AutoWeight::TenRtts,
        /// Mean packet size. It is used for idle periods, for `byte_mode`, and to compute thresholds and `weight`.
        /// Null: 1000B, 500B (ns2).
        avpkt: Option<Bytes> = None => Bytes(if p.variant == Ns2 { 500 } else { 1000 }),
        /// Transmission time of a typical packet, the unit in which idle periods are measured. Null: the time of
        /// `avpkt` at `bandwidth`, or at the link's rate if `bandwidth` is not given; 800us, the time of 1000 bytes at
        /// 10 Mbit/s (altq, if `bandwidth` is not given).
        packet_time: Option<Duration> = None,
        /// Rate from which `packet_time` is computed, as in tc, where the default is 10mbit. Null: the link's rate,
        /// none (altq).
        bandwidth: Option<BitRate> = None,
        /// Spacing of drops: the formula for p_a, the probability with which a packet is dropped. In the formula, p is
        /// the ramp's probability at the current average, and count is the number of packets since the last drop. With
        /// every formula except uniform, count includes the arriving packet. Null: uniform (floyd93), wait (ns2),
        /// stretched (altq), one_draw (linux).
        spacing: Option<Spacing> = None => match p.variant {
            Floyd93 => Spacing::Uniform,
            Ns2 => Spacing::Wait,
            Altq => Spacing::Stretched,
            Linux => Spacing::OneDraw,
        },
        /// Effect of a packet's size on its drop probability; null: off (floyd93, altq, linux), counted (ns2).
        byte_mode: Option<ByteMode> = None => if p.variant == Ns2 { ByteMode::Counted } else { ByteMode::Off },
        /// How the average changes during an idle period, in which the queue is empty. Null: decay (floyd93),
        /// decay_once_asked (linux), decay_and_sample (ns2, altq).
        idle: Option<IdleDecay> = None => match p.variant {
            Floyd93 => IdleDecay::Decay,
            Linux => IdleDecay::DecayOnceAsked,
            Ns2 | Altq => IdleDecay::DecayAndSample,
        },
        /// If true, the drop probability rises from `probability` at `max` to 1 at 2 × `max`. If false, it is 1 from
        /// `max` on. Null: false, true (ns2).
        gentle: Option<bool> = None => p.variant == Ns2,
        /// RED does not drop an arrival that finds at most this many packets in the queue, whatever the average. 0
        /// turns this rule off, even for an empty queue. Null: 0 (floyd93, linux), 1 (ns2, altq).
        min_queue: Option<u32> = None => u32::from(matches!(p.variant, Ns2 | Altq)),
        /// If true, the first packet after the average has risen from below `min` onto the ramp is never dropped. Null:
        /// true, false (floyd93).
        first_passes: Option<bool> = None => p.variant != Floyd93,
        /// Marks ECN-capable packets instead of dropping them early.
        ecn: bool = false,
        /// Treatment of ECN-capable packets while the average is at or above `max` (with `gentle`: 2 × `max`). If true,
        /// they are dropped even if `ecn` is true. If false, they are marked if `ecn` is true. Null: false (floyd93,
        /// linux), true (ns2, altq).
        harddrop: Option<bool> = None => matches!(p.variant, Ns2 | Altq),
    }
}

/// Returns the weight w that tc computes from `burst`: the largest power of 1/2 with
/// `burst + 1 - min <= (1 - (1 - w)^burst) / w`, where `min` is in packets. Returns `None` if no power from 2^-1 to
/// 2^-31 meets this condition, or if `burst` is below `min`.
fn weight_of_burst(burst: u32, min: f64) -> Option<f64> {
    let room = f64::from(burst) + 1.0 - min;
    let holds = |w: &f64| room >= 1.0 && room <= (1.0 - math::pow(1.0 - w, f64::from(burst))) / w;
    (1..=31).map(|log| 1.0 / f64::from(1u32 << log)).find(holds)
}

impl RedParams {
    /// Converts a threshold to a number of packets of size `avpkt`. Returns `None` for a time, because its conversion
    /// needs the link's rate.
    fn packets(&self, threshold: Limit) -> Option<f64> {
        match threshold {
            Limit::Packets(n) => Some(f64::from(n)),
            Limit::Bytes(b) => Some(b.0 as f64 / self.avpkt().0 as f64),
            Limit::Time(_) => None,
        }
    }

    /// Returns `burst`. If `burst` is null and the variant is linux, returns the value that tc-red(8) recommends and tc
    /// uses.
    fn burst(&self) -> Option<u32> {
        let recommended = || {
            let (min, max) = self.thresholds();
            let (min, max) = (self.packets(min?)?, self.packets(max?)?);
            Some(((2.0 * min + max) / 3.0) as u32)
        };
        self.burst.or_else(|| (self.variant == Linux).then(recommended).flatten())
    }

    fn thresholds(&self) -> (Option<Limit>, Option<Limit>) {
        let third = |max: Limit| max.map(|n| n / 3);
        match (self.variant, self.min, self.max) {
            (Linux, None, None) => {
                let max = self.limit.unwrap_or(self.default_limit()).map(|n| n / 4);
                (Some(third(max)), Some(max))
            }
            (Linux, None, Some(max)) => (Some(third(max)), Some(max)),
            (Linux, Some(min), None) => (Some(min), Some(min.map(|n| n.saturating_mul(3)))),
            (Floyd93, None, None) => (Some(Limit::Packets(5)), Some(Limit::Packets(15))),
            (Altq, None, None) => (Some(Limit::Packets(15)), Some(Limit::Packets(30))),
            (_, min, max) => (min, max),
        }
    }

    /// Returns the weight w; `None` if w must be derived from the link's rate.
    fn weight(&self) -> Option<f64> {
        let min = self.thresholds().0.and_then(|m| self.packets(m)).unwrap_or(NS2_LEAST_MIN);
        let by_burst = self.burst().map(|burst| weight_of_burst(burst, min).unwrap_or(1.0));
        let fixed = (self.variant != Ns2 && self.auto_weight.is_none()).then_some(0.002);
        self.weight.or(by_burst).or(fixed)
    }

    /// Returns the transmission time of a typical packet; `None` if this time follows from the link's rate.
    fn packet_time(&self) -> Option<Duration> {
        let by_bandwidth = self.bandwidth.map(|rate| rate.time_for(self.avpkt().0));
        self.packet_time.or(by_bandwidth).or((self.variant == Altq).then_some(Duration::from_micros(800)))
    }

    /// Builds the law. Automatic thresholds are derived from the delay `target`.
    pub(super) fn law_for(&self, target: Duration) -> Red {
        let (min, max) = self.thresholds();
        let (weight, packet_time) = (self.weight(), self.packet_time());
        let rules = Rules {
            spacing: self.spacing(),
            byte_mode: self.byte_mode(),
            avpkt: self.avpkt().0,
            min_queue: self.min_queue(),
            first_passes: self.first_passes(),
        };
        Red {
            measure: min.or(max).map_or(Measure::Bytes, Measure::of),
            params: Self { min, max, weight, packet_time, ..self.resolved() },
            target,
            rules,
            at: None,
            average: Average::default(),
            count: Count::default(),
        }
    }
}

impl LawParams for RedParams {
    type Law = Red;
    fn validate(&self) -> Result<(), Problem> {
        let (min, max) = self.thresholds();
        match (min, max) {
            (Some(min), Some(max)) => early::thresholds(("min", min), ("max", max))?,
            (Some(min), None) => {
                ensure!(self.variant == Ns2, "max", "missing beside min = {min}; expected both thresholds or none");
            }
            (None, Some(max)) => ensure!(false, "min", "missing beside max = {max}; expected both thresholds or none"),
            (None, None) => {}
        }
        self.weight.map_or(Ok(()), |w| early::weight("weight", w))?;
        positive_or_none("avpkt", self.avpkt)?;
        positive_or_none("packet_time", self.packet_time)?;
        positive_or_none("bandwidth", self.bandwidth)?;
        let Some(burst) = self.burst().filter(|_| self.weight.is_none()) else {
            let found = self.variant != Linux || self.weight.is_some();
            ensure!(found, "weight", "is derived from min, which is not in packets or bytes; give weight");
            return Ok(());
        };
        let least = min.and_then(|m| self.packets(m));
        ensure!(least.is_some(), "burst", "needs min in packets or bytes; give weight instead");
        let least = least.unwrap_or_default();
        let found = weight_of_burst(burst, least).is_some();
        ensure!(found, "burst", "{burst} is not valid; expected at least min/avpkt = {least} packets");
        Ok(())
    }
    fn law(&self) -> Red {
        self.law_for(NS2_TARGET_DELAY)
    }
    fn limit(&self) -> Option<Limit> {
        self.limit
    }
    fn default_limit(&self) -> Limit {
        Limit::Packets(match self.variant {
            Floyd93 | Linux => 1000,
            Ns2 => 50,
            Altq => 60,
        })
    }
}

/// The values derived from the parameters at one link rate.
#[derive(Clone, Copy, Debug, PartialEq)]
struct AtRate {
    rate: BitRate,
    ramp: Ramp,
    weight: Weight,
    packet_time: Duration,
}

impl AtRate {
    fn new(red: &Red, rate: BitRate) -> Self {
        let (p, avpkt) = (&red.params, red.rules.avpkt);
        // the link's rate in packets per second, if all packets had the mean size
        let c = rate.0 as f64 / (8.0 * avpkt as f64);
        let unit = if red.measure == Measure::Packets { 1.0 } else { avpkt as f64 };
        let automatic = || NS2_LEAST_MIN.max(red.target.secs() * c / 2.0) * unit;
        let min = p.min.map_or_else(automatic, |limit| amount(limit, rate));
        let max = p.max.map_or(3.0 * min, |limit| amount(limit, rate));
        let weight = match (p.weight, p.auto_weight()) {
            (Some(w), _) => w,
            (None, AutoWeight::OneSecond) => 1.0 - math::exp(-1.0 / c),
            // the exponent is -1 / (10 rtt c), where rtt = max(0.1 s, 3 / c), so 10 rtt c = max(c, 30). The form
            // max(c, 30) is also defined for a stopped link (c = 0)
            (None, AutoWeight::TenRtts) => 1.0 - math::exp(-1.0 / c.max(30.0)),
        };
        Self {
            rate,
            ramp: Ramp { min, max, max_p: p.probability().get(), gentle: p.gentle() },
            weight: Weight::new(weight),
            packet_time: p.packet_time.unwrap_or_else(|| rate.time_for(avpkt)),
        }
    }
}

/// RED as the law of one queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Red {
    params: RedParams,
    /// The quantity in which the thresholds are given: packets, bytes or time. It determines the unit of the average.
    measure: Measure,
    /// Target delay from which automatic thresholds are derived.
    target: Duration,
    rules: Rules,
    at: Option<AtRate>,
    average: Average,
    count: Count,
}

impl Red {
    /// Returns the average length of the queue, for probes. The unit is packets if the thresholds are given in packets,
    /// otherwise bytes.
    pub fn average(&self) -> f64 {
        self.average.get()
    }

    /// Returns the current thresholds and max_p, for probes; `None` before the first arrival.
    pub fn ramp(&self) -> Option<Ramp> {
        self.at.map(|at| at.ramp)
    }

    /// Returns the current weight; `None` before the first arrival.
    pub fn weight(&self) -> Option<f64> {
        self.at.map(|at| at.weight.get())
    }

    /// Sets max_p (Adaptive RED).
    pub(super) fn set_max_p(&mut self, max_p: f64) {
        self.params.probability = Prob::new(max_p).ok();
        if let Some(at) = &mut self.at {
            at.ramp.max_p = max_p;
        }
    }

    /// Updates the average with the current queue length, at an arrival. Returns the position of the new average
    /// relative to the thresholds.
    #[inline]
    pub(super) fn sample(&mut self, view: &View<'_>) -> Zone {
        let at = match self.at {
            Some(at) if at.rate == view.link.rate => at,
            _ => {
                let at = AtRate::new(self, view.link.rate);
                *self.at.insert(at)
            }
        };
        let queue = self.measure.queue(view);
        at.ramp.zone(self.average.sample(queue, view.now, at.weight, self.params.idle(), at.packet_time))
    }

    /// Decides whether to pass, mark or drop an arrival. Called after [`Red::sample`].
    #[inline]
    pub(super) fn decide(&mut self, zone: Zone, packet: &PacketMeta, view: &View<'_>, rng: &mut Rng) -> Verdict {
        let early = self.count.decide(&self.rules, zone, packet, view.backlog.packets, rng);
        verdict(early, packet, self.params.ecn, self.params.harddrop())
    }
}

/// Converts RED's decision to a verdict: marks an ECN-capable packet if `ecn` is set, unless the drop is forced and `harddrop`
/// is set.
#[inline]
pub(super) fn verdict(early: Early, packet: &PacketMeta, ecn: bool, harddrop: bool) -> Verdict {
    let mark = ecn && packet.ecn() != Ecn::NotEct;
    match early {
        Early::Keep => Verdict::Pass,
        Early::Unforced if mark => Verdict::Mark(MarkReason::Law),
        Early::Forced if mark && !harddrop => Verdict::Mark(MarkReason::Law),
        Early::Unforced | Early::Forced => Verdict::Drop,
    }
}

impl Law for Red {
    #[inline]
    fn arrive(&mut self, packet: &PacketMeta, view: &View<'_>, rng: &mut Rng) -> Verdict {
        let zone = self.sample(view);
        self.decide(zone, packet, view, rng)
    }
    #[inline]
    fn left(&mut self, _packet: &PacketMeta, view: &View<'_>) {
        self.average.left(view.backlog.packets, view.now, self.params.idle());
    }
    #[inline]
    fn empty(&mut self, now: Time) {
        self.average.empty(now);
    }
    fn probe(&self, out: &mut Reading<'_>) {
        let (unit, avg) = (self.measure.unit(), self.average.get());
        let early = |ramp: Ramp| match ramp.zone(avg) {
            Zone::Low => 0.0,
            Zone::Early(p) => p,
            Zone::Forced => 1.0,
        };
        out.value("avg", unit, Some(avg));
        out.value("min", unit, self.at.map(|at| at.ramp.min));
        out.value("max", unit, self.at.map(|at| at.ramp.max));
        out.number("max_p", self.params.probability().get());
        out.value("p_b", Unit::One, self.at.map(|at| early(at.ramp)));
        out.value("count", Unit::One, self.count.get());
    }
}
