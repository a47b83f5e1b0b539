//! RED: random early detection.
//!
//! ```text
//! on arrival   avg <- (1 - w) avg + w q, or decayed by the idle time
//!              avg < min: keep;  min <= avg < max: drop with p_a(p_b(avg), count);  avg >= max: drop
//! ```
//!
//! The parts (average, ramp, spacing) are in [`super::early`]; this file has RED's parameters and its published versions.
//!
//! Source: Floyd & Jacobson, ToN 1(4) 1993; gentle: Floyd 2000; ns-2.35 queue/red.cc; ALTQ altq_red.c; tc-red(8); MMCN 1999.
//! Departs: with `spacing = "uniform"` the gap follows the paper's derivation (uniform on 1 ... 1/p_b), whose pseudo-code is one
//! short; ns-2 compares `min_queue` with bytes where the queue is in bytes; ALTQ resets the average after 60 s of idleness
//! (here 0.998^75000 of it remains), and uses its own weights below 300 packets/s; Linux decays an idle average by a table of
//! shifts, within a few per cent of the exponential, and keeps it in fixed point. tc requires `limit`; here it defaults to 1000p.

use super::early::{
    self, Average, ByteMode, Count, Early, IdleDecay, Measure, Ramp, Rules, Spacing, Weight, Zone, amount,
};
use super::{Law, LawParams, Verdict, View};
use packet::{Ecn, MarkReason, PacketMeta, Reading, Unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Duration, Limit, Prob, Problem, Rng, Time, math};

/// ns-2's automatic thresholds aim at this delay. Source: ns-default.tcl `targetdelay_`.
const NS2_TARGET_DELAY: Duration = Duration::from_millis(5);
/// The least automatic `min`. Source: ns-2.35 (5 packets).   Unit: packets.
const NS2_LEAST_MIN: f64 = 5.0;

/// A published version: presets for the parameters that are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RedVariant {
    /// Floyd & Jacobson 1993: thresholds 5 and 15 packets, w 0.002, probability 1/50, uniform gaps, packet mode.
    #[default]
    Floyd93,
    /// ns-2.35: gentle, wait, byte mode, thresholds and weight from the link's rate, probability 1/10, limit 50 packets.
    Ns2,
    /// ALTQ as in MMCN 1999: limit 60 packets, thresholds 15 and 30, w 0.002, probability 1/10, packet mode, not gentle.
    /// (ALTQ's own thresholds are 5 and 15.)
    Altq,
    /// Linux's: one draw per gap, idle times from when the link found the queue empty, marks above max, too. tc-red(8)'s names
    /// and defaults: max a quarter of the limit, min a third of max, burst (2 min + max) / (3 avpkt), probability 0.02.
    Linux,
}

/// How w is derived from the link's rate if `weight` is omitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AutoWeight {
    /// w = 1 - exp(-1 / c), c the link's rate in mean packets per second: a time constant of 1 s (ns-2 `q_weight_` 0).
    OneSecond,
    /// w = 1 - exp(-1 / (10 rtt c)), rtt = max(100 ms, 3 / c): ten round-trip times (ns-2 `q_weight_` -1, its default).
    TenRtts,
}

/// Parameters of RED. Those that default to null take the value of `variant`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RedParams {
    /// Published version that gives the parameters below.
    pub variant: RedVariant,
    /// How much may wait, as in droptail; null: 1000p (floyd93, linux), 50p (ns2), 60p (altq).
    pub limit: Option<Limit>,
    /// Threshold where early drops begin: packets, bytes or time at the link's rate. The average uses the unit of the thresholds.
    /// null: 5p (floyd93), 15p (altq), max(5 packets, half of 5 ms at the link's rate) in bytes (ns2), max / 3 (linux).
    pub min: Option<Limit>,
    /// Threshold where every packet is dropped (or where the gentle ramp begins); null: 15p (floyd93), 30p (altq), 3 min (ns2),
    /// 3 min or else limit / 4 (linux).
    pub max: Option<Limit>,
    /// max_p, the probability just below `max`; null: 0.02 (floyd93, linux), 0.1.
    pub probability: Option<Prob>,
    /// w, the weight of a sample in the average; null: from `burst` if given (linux: always), else 0.002, or
    /// from the link by `auto_weight` (ns2).
    pub weight: Option<f64>,
    /// Size in packets of a burst that passes an empty queue, as in tc: w is the largest power of 1/2 with
    /// burst + 1 - min/avpkt <= (1 - (1 - w)^burst) / w. null: none, (2 min + max) / (3 avpkt) (linux).
    pub burst: Option<u32>,
    /// How w is derived from the link's rate; null: not at all (floyd93, altq), ten_rtts (ns2).
    pub auto_weight: Option<AutoWeight>,
    /// Mean packet size, for idle times, `byte_mode` and computed thresholds; null: 1000 bytes, 500 (ns2).
    pub avpkt: Option<Bytes>,
    /// Time to send a typical packet, for idle times; null: `avpkt` at `bandwidth`, or at the link's rate; 800us
    /// (altq: 1000 bytes at 10 Mbit/s).
    pub packet_time: Option<Duration>,
    /// Rate used for idle times, as in tc (whose default is 10mbit); null: the link's.
    pub bandwidth: Option<BitRate>,
    /// From p_b to the gaps between drops; null: uniform (floyd93), wait (ns2), stretched (altq), one_draw (linux).
    pub spacing: Option<Spacing>,
    /// How packet size affects the probability; null: off (floyd93, altq, linux), counted (ns2).
    pub byte_mode: Option<ByteMode>,
    /// Effect of an idle period on the average; null: decay (floyd93), decay_once_asked (linux), decay_and_sample.
    pub idle: Option<IdleDecay>,
    /// Between max and 2 max, the probability grows from `probability` to 1 instead of being 1; null: no, yes (ns2).
    pub gentle: Option<bool>,
    /// No early drop while at most this many packets wait; null: 0 (floyd93, linux), 1.
    pub min_queue: Option<u32>,
    /// Keep the first packet after the average has reached `min`; null: no (floyd93), yes.
    pub first_passes: Option<bool>,
    /// Mark ECN-capable packets instead of dropping them early.
    pub ecn: bool,
    /// Above `max`, drop ECN-capable packets too; null: no (floyd93, linux), yes.
    pub harddrop: Option<bool>,
}

/// The source of a threshold or the weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Auto<T> {
    /// The parameter.
    Set(T),
    /// The link's rate.
    Link,
}

/// RED's constants, resolved except those that need the link's rate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RedConfig {
    pub(super) measure: Measure,
    pub(super) min: Auto<Limit>,
    pub(super) max: Auto<Limit>,
    pub(super) max_p: f64,
    pub(super) gentle: bool,
    pub(super) weight: Auto<f64>,
    pub(super) auto_weight: AutoWeight,
    pub(super) target_delay: Duration,
    pub(super) packet_time: Option<Duration>,
    pub(super) idle: IdleDecay,
    pub(super) rules: Rules,
    pub(super) ecn: bool,
    pub(super) harddrop: bool,
}

/// tc's w for a burst: the largest power of 1/2 with `burst + 1 - min <= (1 - (1 - w)^burst) / w`, `min` in packets.
fn weight_of_burst(burst: u32, min: f64) -> Option<f64> {
    let room = f64::from(burst) + 1.0 - min;
    let holds = |w: &f64| room >= 1.0 && room <= (1.0 - math::pow(1.0 - w, f64::from(burst))) / w;
    (1..=31).map(|log| 1.0 / f64::from(1u32 << log)).find(holds)
}

/// A part or a multiple of a limit.
fn share(limit: Limit, of: impl Fn(u64) -> u64) -> Limit {
    match limit {
        Limit::Packets(n) => Limit::Packets(u32::try_from(of(u64::from(n))).unwrap_or(u32::MAX)),
        Limit::Bytes(b) => Limit::Bytes(Bytes(of(b.0))),
        Limit::Time(d) => Limit::Time(Duration(of(d.0))),
    }
}

impl RedParams {
    /// A threshold in mean packets; `None` for a time, which needs the link's rate.
    fn packets(&self, threshold: Limit) -> Option<f64> {
        match threshold {
            Limit::Packets(n) => Some(f64::from(n)),
            Limit::Bytes(b) => Some(b.0 as f64 / self.avpkt().0 as f64),
            Limit::Time(_) => None,
        }
    }

    /// `burst`, or for Linux the value that tc-red(8) recommends and tc uses.
    fn burst(&self) -> Option<u32> {
        let recommended = || {
            let (min, max) = self.thresholds();
            let (min, max) = (self.packets(min?)?, self.packets(max?)?);
            Some(((2.0 * min + max) / 3.0) as u32)
        };
        self.burst.or_else(|| (self.variant == RedVariant::Linux).then(recommended).flatten())
    }

    fn avpkt(&self) -> Bytes {
        self.avpkt.unwrap_or(Bytes(if self.variant == RedVariant::Ns2 { 500 } else { 1000 }))
    }

    fn thresholds(&self) -> (Option<Limit>, Option<Limit>) {
        let third = |max| share(max, |n| n / 3);
        match (self.variant, self.min, self.max) {
            (RedVariant::Linux, None, None) => {
                let max = share(self.limit.unwrap_or(self.default_limit()), |n| n / 4);
                (Some(third(max)), Some(max))
            }
            (RedVariant::Linux, None, Some(max)) => (Some(third(max)), Some(max)),
            (RedVariant::Linux, Some(min), None) => (Some(min), Some(share(min, |n| n.saturating_mul(3)))),
            (RedVariant::Floyd93, None, None) => (Some(Limit::Packets(5)), Some(Limit::Packets(15))),
            (RedVariant::Altq, None, None) => (Some(Limit::Packets(15)), Some(Limit::Packets(30))),
            (_, min, max) => (min, max),
        }
    }

    /// The law's configuration, with the variant's values filled in.
    pub(crate) fn config(&self) -> RedConfig {
        use RedVariant::{Altq, Floyd93, Linux, Ns2};
        let v = self.variant;
        let (min, max) = self.thresholds();
        let avpkt = self.avpkt().0;
        let min_packets = min.and_then(|m| self.packets(m)).unwrap_or(NS2_LEAST_MIN);
        let weight = match (self.weight, self.burst()) {
            (Some(w), _) => Auto::Set(w),
            (None, Some(burst)) => Auto::Set(weight_of_burst(burst, min_packets).unwrap_or(1.0)),
            (None, None) if v == Ns2 || self.auto_weight.is_some() => Auto::Link,
            (None, None) => Auto::Set(0.002),
        };
        RedConfig {
            measure: min.or(max).map_or(Measure::Bytes, Measure::of),
            min: min.map_or(Auto::Link, Auto::Set),
            max: max.map_or(Auto::Link, Auto::Set),
            max_p: self.probability.map_or(if matches!(v, Floyd93 | Linux) { 0.02 } else { 0.1 }, Prob::get),
            gentle: self.gentle.unwrap_or(v == Ns2),
            weight,
            auto_weight: self.auto_weight.unwrap_or(AutoWeight::TenRtts),
            target_delay: NS2_TARGET_DELAY,
            packet_time: self
                .packet_time
                .or(self.bandwidth.map(|rate| rate.time_for(avpkt)))
                .or((v == Altq).then_some(Duration::from_micros(800))),
            idle: self.idle.unwrap_or(match v {
                Floyd93 => IdleDecay::Decay,
                Linux => IdleDecay::DecayOnceAsked,
                Ns2 | Altq => IdleDecay::DecayAndSample,
            }),
            rules: Rules {
                spacing: self.spacing.unwrap_or(match v {
                    Floyd93 => Spacing::Uniform,
                    Ns2 => Spacing::Wait,
                    Altq => Spacing::Stretched,
                    Linux => Spacing::OneDraw,
                }),
                byte_mode: self.byte_mode.unwrap_or(if v == Ns2 { ByteMode::Counted } else { ByteMode::Off }),
                avpkt,
                min_queue: self.min_queue.unwrap_or(u32::from(matches!(v, Ns2 | Altq))),
                first_passes: self.first_passes.unwrap_or(v != Floyd93),
            },
            ecn: self.ecn,
            harddrop: self.harddrop.unwrap_or(matches!(v, Ns2 | Altq)),
        }
    }
}

impl LawParams for RedParams {
    type Law = Red;
    fn validate(&self) -> Result<(), Problem> {
        let (min, max) = self.thresholds();
        match (min, max) {
            (Some(min), Some(max)) => early::thresholds(("min", min), ("max", max))?,
            (Some(given), None) if self.variant != RedVariant::Ns2 => {
                return Err(Problem::new(
                    "max",
                    format!("missing beside min = {given}; expected both thresholds or none"),
                ));
            }
            (None, Some(given)) => {
                return Err(Problem::new(
                    "min",
                    format!("missing beside max = {given}; expected both thresholds or none"),
                ));
            }
            _ => {}
        }
        self.weight.map_or(Ok(()), |w| early::weight("weight", w))?;
        if self.avpkt().0 == 0 {
            return Err(Problem::new("avpkt", "0B is not valid; expected a positive size"));
        }
        if self.packet_time.is_some_and(Duration::is_zero) {
            return Err(Problem::new("packet_time", "0s is not valid; expected a positive duration"));
        }
        if self.bandwidth == Some(BitRate(0)) {
            return Err(Problem::new("bandwidth", "0bit is not valid; expected a positive rate"));
        }
        if self.variant == RedVariant::Linux && self.weight.is_none() && self.burst().is_none() {
            return Err(Problem::new("weight", "needs min in packets or bytes to follow from; give weight"));
        }
        if let (None, Some(burst)) = (self.weight, self.burst()) {
            let Some(least) = min.and_then(|m| self.packets(m)) else {
                return Err(Problem::new("burst", "needs min in packets or bytes; give weight instead"));
            };
            if weight_of_burst(burst, least).is_none() {
                let why = format!("{burst} is not valid; expected at least min/avpkt = {least} packets");
                return Err(Problem::new("burst", why));
            }
        }
        Ok(())
    }
    fn law(&self) -> Red {
        Red::new(self.config())
    }
    fn limit(&self) -> Option<Limit> {
        self.limit
    }
    fn default_limit(&self) -> Limit {
        Limit::Packets(match self.variant {
            RedVariant::Floyd93 | RedVariant::Linux => 1000,
            RedVariant::Ns2 => 50,
            RedVariant::Altq => 60,
        })
    }
}

/// The values derived from the configuration at one link rate.
#[derive(Clone, Copy, Debug, PartialEq)]
struct AtRate {
    rate: BitRate,
    ramp: Ramp,
    weight: Weight,
    packet_time: Duration,
}

impl AtRate {
    fn new(cfg: &RedConfig, rate: BitRate) -> Self {
        // mean packets per second
        let c = rate.0 as f64 / (8.0 * cfg.rules.avpkt as f64);
        let unit = if cfg.measure == Measure::Packets { 1.0 } else { cfg.rules.avpkt as f64 };
        let min = match cfg.min {
            Auto::Set(limit) => amount(limit, rate),
            Auto::Link => NS2_LEAST_MIN.max(cfg.target_delay.secs() * c / 2.0) * unit,
        };
        let max = match cfg.max {
            Auto::Set(limit) => amount(limit, rate),
            Auto::Link => 3.0 * min,
        };
        let weight = match (cfg.weight, cfg.auto_weight) {
            (Auto::Set(w), _) => w,
            (Auto::Link, AutoWeight::OneSecond) => 1.0 - math::exp(-1.0 / c),
            // 10 rtt c = 10 max(0.1 s, 3 / c) c, in a form that is defined for a stopped link (c = 0)
            (Auto::Link, AutoWeight::TenRtts) => 1.0 - math::exp(-1.0 / c.max(30.0)),
        };
        Self {
            rate,
            ramp: Ramp { min, max, max_p: cfg.max_p, gentle: cfg.gentle },
            weight: Weight::new(weight),
            packet_time: cfg.packet_time.unwrap_or_else(|| rate.time_for(cfg.rules.avpkt)),
        }
    }
}

/// RED as the law of one queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Red {
    cfg: RedConfig,
    at: Option<AtRate>,
    average: Average,
    count: Count,
}

impl Red {
    /// A law in its initial state.
    pub(crate) fn new(cfg: RedConfig) -> Self {
        Self { cfg, at: None, average: Average::default(), count: Count::default() }
    }

    /// The average queue in the measure of the thresholds, for probes.
    pub fn average(&self) -> f64 {
        self.average.get()
    }

    /// The thresholds and max_p in force, for probes; `None` before the first arrival.
    pub fn ramp(&self) -> Option<Ramp> {
        self.at.map(|at| at.ramp)
    }

    /// The weight in force; `None` before the first arrival.
    pub fn weight(&self) -> Option<f64> {
        self.at.map(|at| at.weight.get())
    }

    /// Sets max_p (Adaptive RED).
    pub(super) fn set_max_p(&mut self, max_p: f64) {
        self.cfg.max_p = max_p;
        if let Some(at) = &mut self.at {
            at.ramp.max_p = max_p;
        }
    }

    /// Adds an arrival's sample to the average and returns the average's zone.
    #[inline]
    pub(super) fn sample(&mut self, view: &View<'_>) -> Zone {
        let at = match self.at {
            Some(at) if at.rate == view.link.rate => at,
            _ => *self.at.insert(AtRate::new(&self.cfg, view.link.rate)),
        };
        let queue = self.cfg.measure.queue(view);
        at.ramp.zone(self.average.sample(queue, view.now, at.weight, self.cfg.idle, at.packet_time))
    }

    /// Decides about an arrival after [`Red::sample`].
    #[inline]
    pub(super) fn decide(&mut self, zone: Zone, packet: &PacketMeta, view: &View<'_>, rng: &mut Rng) -> Verdict {
        let early = self.count.decide(&self.cfg.rules, zone, packet, view.backlog.packets, rng);
        verdict(early, packet, self.cfg.ecn, self.cfg.harddrop)
    }
}

/// Chooses between mark and drop.
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
        self.average.left(view.backlog.packets, view.now, self.cfg.idle);
    }
    #[inline]
    fn empty(&mut self, now: Time) {
        self.average.empty(now);
    }
    fn probe(&self, out: &mut Reading<'_>) {
        let (unit, avg) = (self.cfg.measure.unit(), self.average.get());
        let early = |ramp: Ramp| match ramp.zone(avg) {
            Zone::Low => 0.0,
            Zone::Early(p) => p,
            Zone::Forced => 1.0,
        };
        out.value("avg", unit, Some(avg));
        out.value("min", unit, self.at.map(|at| at.ramp.min));
        out.value("max", unit, self.at.map(|at| at.ramp.max));
        out.number("max_p", self.cfg.max_p);
        out.value("p_b", Unit::One, self.at.map(|at| early(at.ramp)));
        out.value("count", Unit::One, self.count.get());
    }
}
