//! WRED: RED with one average, and thresholds for each precedence or DSCP. Also RIO, which has a separate average for "in"
//! packets.
//!
//! ```text
//! profile   A packet uses the profile for its DSCP or, if there is none, the profile for its IP precedence (DSCP / 8). If
//!           neither exists: min = (9 + precedence) / 18 of ladder_max, max = ladder_max, max_p = 1/10
//! decision  RED with that profile's ramp on avg, the average of the whole queue; each profile has its own count
//! RIO       in-packets: RED on the average of the queued in-packets; out-packets: RED on the average of all queued packets
//! ```
//!
//! Source: Cisco IOS documentation (exponential weight 9, mark probability denominator 10, minimum thresholds 20, 22, 24, 26,
//! 28, 31, 33, 35 of 40 packets), RIO: Clark & Fang, ToN 6(4) 1998.
//! Departs: Cisco publishes no pseudo-code, so average, spacing and idle times are Floyd & Jacobson's. RIO needs the number of
//! queued in-packets, but here this number is an estimate, limited to the queue length. The reason is that a fair discipline may
//! drop queued packets to make room for an arrival, and [`Law::overflow`] reports such a drop, but not which packet was dropped.

use super::early::{
    self, ANY_RATE, Average, ByteMode, Count, IdleDecay, Measure, Ramp, Rules, Spacing, Weight, amount,
};
use super::red::verdict;
use super::{Law, LawParams, Verdict, View};
use crate::declared::params;
use packet::{PacketMeta, Reading};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use units::{BitRate, Bytes, Limit, Prob, Problem, Rng, Time, ensure, positive, within};

/// Thresholds for the packets of one DSCP or precedence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Code point (DSCP) of the packets, 0 to 63. A profile has either `dscp` or `precedence`. If a packet matches one
    /// profile with `dscp` and another with `precedence`, the profile with `dscp` applies.
    #[serde(default)]
    pub dscp: Option<u8>,
    /// IP precedence of the packets (the upper three bits of the DSCP), 0 to 7.
    #[serde(default)]
    pub precedence: Option<u8>,
    /// Average queue length at which early drops begin.
    pub min: Limit,
    /// Average queue length at and above which every packet is dropped (or marked, see `harddrop`).
    pub max: Limit,
    /// max_p, the drop probability just below `max`.
    pub probability: Prob,
}

/// Parameters of RIO (RED with In and Out). Packets with a DSCP in `in_dscp` are "in"; all others are "out". In-packets
/// and out-packets have different ramps. A ramp gives the drop probability as a function of an average queue length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rio {
    /// DSCPs of the packets that are "in". These packets are within the rate that the sender has contracted for.
    pub in_dscp: Vec<u8>,
    /// Ramp for in-packets. Its average queue length includes only in-packets: their number if `min` is in packets, and
    /// otherwise their bytes.
    pub r#in: RampParams,
    /// Ramp for out-packets. Its average queue length includes all packets: their number if `min` is in packets, and
    /// otherwise their bytes.
    pub out: RampParams,
}

/// A ramp: the probability of a drop (or mark) rises linearly from 0 at `min` to `probability` just below `max`, and is 1
/// from `max` on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RampParams {
    /// Average queue length at which early drops begin.
    pub min: Limit,
    /// Average queue length at and above which every packet is dropped (or marked, see `harddrop`).
    pub max: Limit,
    /// max_p, the drop probability just below `max`.
    pub probability: Prob,
}

params! {
    /// Parameters of WRED, which is RED with different thresholds for different DSCPs or precedences. The precedence is
    /// the upper three bits of the DSCP. Without `rio`, all packets share one average queue length. The defaults of
    /// `ladder_max`, `probability` and `weight` are Cisco's.
    pub struct WredParams {
        /// Maximum length of the queue; an arrival that does not fit is dropped. Null: 1000p; in a fair discipline
        /// none, because its queues share one limit.
        limit: Option<Limit> = None,
        /// Upper threshold for packets without an entry in `profiles`: the average queue length at and above which all
        /// of these packets are dropped (or marked, see `harddrop`). Their early drops begin at `ladder_max` × (9 +
        /// precedence) / 18, rounded down. With the default, this is 20 packets for precedence 0 and 35 packets for
        /// precedence 7.
        ladder_max: Limit = Limit::Packets(40),
        /// max_p, the drop probability just below the upper threshold, for packets without an entry in `profiles`.
        /// Cisco writes this default as a mark probability denominator of 10.
        probability: Prob = Prob::constant(0.1),
        /// w, the weight of a new sample in the average queue length. Cisco's commands set an exponent n instead, for a
        /// weight of 2^-n; its default is 9.
        weight: f64 = 1.0 / 512.0,
        /// Thresholds for packets with a given DSCP or precedence. They replace the thresholds that follow from
        /// `ladder_max`. They must have the same unit as `ladder_max`: packets, bytes or time.
        profiles: Vec<Profile> = Vec::new(),
        /// RIO (RED with In and Out): one ramp for packets whose DSCP is listed in `in_dscp`, and one for all other
        /// packets. With RIO, `ladder_max` and `probability` are not used, and `profiles` is refused. Null: off.
        rio: Option<Rio> = None,
        /// Mean packet size. It is used for idle periods and for `byte_mode`.
        avpkt: Bytes = Bytes(1000),
        /// Spacing of drops: the formula for p_a, the probability with which a packet is dropped. The discipline `red`
        /// explains p and count.
        spacing: Spacing = Spacing::Uniform,
        /// Effect of a packet's size on its drop probability.
        byte_mode: ByteMode = ByteMode::Off,
        /// Marks ECN-capable packets instead of dropping them early.
        ecn: bool = false,
        /// Treatment of ECN-capable packets while the average is at or above their upper threshold. If true, they are
        /// dropped even if `ecn` is true. If false, they are marked if `ecn` is true.
        harddrop: bool = true,
    }
}

impl WredParams {
    /// Returns the ramps, and the index of the ramp for each DSCP.
    fn table(&self) -> (Vec<RampParams>, [u8; 64]) {
        let mut which = [0; 64];
        if let Some(rio) = &self.rio {
            for dscp in &rio.in_dscp {
                which[usize::from(*dscp) & 63] = 1;
            }
            return (vec![rio.out.clone(), rio.r#in.clone()], which);
        }
        let rung = |i: u8| self.ladder_max.map(|n| n * (9 + u64::from(i)) / 18);
        let ladder = |i: u8| RampParams { min: rung(i), max: self.ladder_max, probability: self.probability };
        let mut ramps: Vec<RampParams> = (0..8).map(ladder).collect();
        for (dscp, entry) in which.iter_mut().enumerate() {
            *entry = (dscp / 8) as u8;
        }
        // profiles by precedence come first, so that a profile by DSCP overrides them
        for p in
            self.profiles.iter().filter(|p| p.dscp.is_none()).chain(self.profiles.iter().filter(|p| p.dscp.is_some()))
        {
            let at = ramps.len() as u8;
            ramps.push(RampParams { min: p.min, max: p.max, probability: p.probability });
            for (dscp, entry) in which.iter_mut().enumerate() {
                let hit = match (p.dscp, p.precedence) {
                    (Some(own), _) => usize::from(own) == dscp,
                    (None, precedence) => precedence.map(usize::from) == Some(dscp / 8),
                };
                if hit {
                    *entry = at;
                }
            }
        }
        (ramps, which)
    }

    fn validate_profile(&self, p: &Profile) -> Result<(), Problem> {
        within("dscp", p.dscp.unwrap_or(0), 0, 63)?;
        within("precedence", p.precedence.unwrap_or(0), 0, 7)?;
        let one = p.dscp.is_some() != p.precedence.is_some();
        ensure!(one, "", "expected either dscp or precedence, to say whose thresholds these are");
        let (min, max) = (p.min, self.ladder_max);
        let same = Measure::of(min) == Measure::of(max);
        ensure!(same, "min", "{min} is not valid with ladder_max = {max}; expected the same kind");
        early::thresholds(("min", min), ("max", p.max))
    }
}

impl LawParams for WredParams {
    type Law = Wred;
    fn validate(&self) -> Result<(), Problem> {
        let max = self.ladder_max;
        ensure!(amount(max, ANY_RATE) > 0.0, "ladder_max", "{max} is not valid; expected a positive threshold");
        let n = self.profiles.len();
        ensure!(n <= 72, "profiles", "{n} profiles are too many; expected one per DSCP and precedence");
        for (i, p) in self.profiles.iter().enumerate() {
            self.validate_profile(p).map_err(|e| e.under(&format!("profiles.{i}")))?;
        }
        if let Some(rio) = &self.rio {
            ensure!(n == 0, "profiles", "is not valid beside rio, which has two ramps of its own");
            for dscp in &rio.in_dscp {
                ensure!(*dscp <= 63, "rio.in_dscp", "{dscp} is not valid; expected numbers from 0 to 63");
            }
            early::thresholds(("rio.in.min", rio.r#in.min), ("rio.in.max", rio.r#in.max))?;
            early::thresholds(("rio.out.min", rio.out.min), ("rio.out.max", rio.out.max))?;
            let (inside, out) = (rio.r#in.min, rio.out.min);
            let same = Measure::of(inside) == Measure::of(out);
            ensure!(same, "rio.out.min", "{out} is not valid with rio.in.min = {inside}; expected the same kind");
        }
        positive("avpkt", self.avpkt)?;
        early::weight("weight", self.weight)
    }
    fn law(&self) -> Wred {
        let (ramps, which) = self.table();
        let rules = Rules {
            spacing: self.spacing,
            byte_mode: self.byte_mode,
            avpkt: self.avpkt.0,
            min_queue: 0,
            first_passes: false,
        };
        let counts = vec![Count::default(); ramps.len()];
        let cfg = WredConfig {
            measure: Measure::of(ramps[0].min),
            ramps,
            which,
            rio: self.rio.is_some(),
            weight: Weight::new(self.weight),
            rules,
            ecn: self.ecn,
            harddrop: self.harddrop,
        };
        Wred {
            cfg: Arc::new(cfg),
            all: Average::default(),
            inside: Average::default(),
            inside_queue: InQueue::default(),
            counts,
        }
    }
    fn limit(&self) -> Option<Limit> {
        self.limit
    }
}

/// The values that WRED derives from its parameters and that do not change during a run.
#[derive(Debug, PartialEq)]
struct WredConfig {
    ramps: Vec<RampParams>,
    which: [u8; 64],
    rio: bool,
    measure: Measure,
    weight: Weight,
    rules: Rules,
    ecn: bool,
    harddrop: bool,
}

impl RampParams {
    fn at(&self, rate: BitRate) -> Ramp {
        let (min, max) = (amount(self.min, rate), amount(self.max, rate));
        Ramp { min, max, max_p: self.probability.get(), gentle: false }
    }
}

/// Estimate of the queued in-packets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct InQueue {
    packets: u32,
    bytes: u64,
    /// Size of the in-packet that the law has just accepted, or 0. If the limit then refuses the packet, `overflow`
    /// subtracts this size from `bytes` again.
    last: u64,
}

/// WRED as the law of one queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Wred {
    cfg: Arc<WredConfig>,
    all: Average,
    inside: Average,
    inside_queue: InQueue,
    counts: Vec<Count>,
}

impl Wred {
    /// Returns the average queue length of all packets and, with RIO, of in-packets, for probes. The unit is packets if
    /// the thresholds are given in packets, otherwise bytes.
    pub fn averages(&self) -> (f64, f64) {
        (self.all.get(), self.inside.get())
    }

    fn class(&self, packet: &PacketMeta) -> usize {
        usize::from(self.cfg.which[usize::from(packet.tos >> 2)])
    }

    fn is_in(&self, packet: &PacketMeta) -> bool {
        self.cfg.rio && self.class(packet) == 1
    }
}

impl Law for Wred {
    #[inline]
    fn arrive(&mut self, packet: &PacketMeta, view: &View<'_>, rng: &mut Rng) -> Verdict {
        let cfg = Arc::clone(&self.cfg);
        let (class, is_in) = (self.class(packet), self.is_in(packet));
        let packet_time = view.link.rate.time_for(cfg.rules.avpkt);
        let mut avg = self.all.sample(cfg.measure.queue(view), view.now, cfg.weight, IdleDecay::Decay, packet_time);
        let inside = &mut self.inside_queue;
        if inside.packets > view.backlog.packets || inside.bytes > view.backlog.bytes {
            (inside.packets, inside.bytes) = (view.backlog.packets, view.backlog.bytes);
        }
        if is_in {
            let queue = if cfg.measure == Measure::Packets { f64::from(inside.packets) } else { inside.bytes as f64 };
            avg = self.inside.sample(queue, view.now, cfg.weight, IdleDecay::Decay, packet_time);
        }
        let zone = cfg.ramps[class].at(view.link.rate).zone(avg);
        let early = self.counts[class].decide(&cfg.rules, zone, packet, view.backlog.packets, rng);
        let verdict = verdict(early, packet, cfg.ecn, cfg.harddrop);
        inside.last = 0;
        if is_in && verdict != Verdict::Drop {
            inside.last = packet.bytes();
            inside.packets += 1;
            inside.bytes += packet.bytes();
        }
        verdict
    }

    #[inline]
    fn overflow(&mut self, _now: Time) {
        let inside = &mut self.inside_queue;
        if inside.last > 0 {
            inside.packets = inside.packets.saturating_sub(1);
            inside.bytes = inside.bytes.saturating_sub(inside.last);
            inside.last = 0;
        }
    }

    #[inline]
    fn left(&mut self, packet: &PacketMeta, view: &View<'_>) {
        self.all.left(view.backlog.packets, view.now, IdleDecay::Decay);
        if self.is_in(packet) {
            let inside = &mut self.inside_queue;
            inside.last = 0;
            inside.packets = inside.packets.saturating_sub(1);
            inside.bytes = inside.bytes.saturating_sub(packet.bytes());
            self.inside.left(inside.packets, view.now, IdleDecay::Decay);
        }
    }

    #[inline]
    fn empty(&mut self, now: Time) {
        self.all.empty(now);
        self.inside.empty(now);
        self.inside_queue = InQueue::default();
    }

    fn probe(&self, out: &mut Reading<'_>) {
        let unit = self.cfg.measure.unit();
        out.value("avg", unit, Some(self.all.get()));
        out.value("avg_in", unit, Some(self.inside.get()).filter(|_| self.cfg.rio));
    }
}
