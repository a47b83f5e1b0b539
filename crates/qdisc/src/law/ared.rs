//! Adaptive RED: RED whose max_p follows the load.
//!
//! ```text
//! floyd2001   every 0.5 s: avg above the band and max_p <= top:      max_p <- max_p + min(0.01, max_p / 4)
//!                          avg below the band and max_p >= bottom:   max_p <- 0.9 max_p
//!             band = [min + 0.4 (max - min), min + 0.6 (max - min)]
//! feng1999    avg comes below min: max_p <- max_p / 3;  avg comes above max: max_p <- 2 max_p
//! ```
//!
//! Source: Floyd, Gummadi & Shenker 2001; Feng, Kandlur, Saha & Shin, INFOCOM 1999.
//! Departs: Floyd's rule uses the average of the last arrival when nothing arrives (ns-2 adapts on arrivals only); here too the
//! adaptation is done at the first arrival after each half second, once. Feng's rule is also kept within `bottom` and `top`.

use super::early::{ByteMode, IdleDecay, Spacing, Zone};
use super::red::{AutoWeight, Red, RedParams, RedVariant};
use super::{Law, LawParams, Verdict, View};
use packet::{PacketMeta, Reading};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Limit, Prob, Problem, Rng, Time};

/// Largest additive step of max_p, and the share of max_p that it may not exceed (alpha).
const ALPHA: (f64, f64) = (0.01, 0.25);
/// The lower and upper end of the target band of the average, as shares of [min, max].
const BAND: (f64, f64) = (0.4, 0.6);

/// The rule that adapts max_p.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Adaptation {
    /// Floyd, Gummadi & Shenker 2001: slowly towards a band in the middle of the thresholds.
    #[default]
    Floyd2001,
    /// Feng, Kandlur, Saha & Shin 1999: by factors, when the average crosses a threshold.
    Feng1999,
}

/// Parameters of Adaptive RED: gentle RED as in ns-2, and the adaptation of max_p.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AredParams {
    /// The rule that adapts max_p.
    pub adaptation: Adaptation,
    /// How much may wait; null: 1000p.
    pub limit: Option<Limit>,
    /// Threshold where early drops begin; null: max(5 packets, half of `target` at the link's rate) in bytes.
    pub min: Option<Limit>,
    /// Threshold where the gentle ramp begins; null: 3 min.
    pub max: Option<Limit>,
    /// Delay that automatic thresholds aim at.
    pub target: Duration,
    /// max_p at the start.
    pub probability: Prob,
    /// w; null: from the link's rate by `auto_weight`.
    pub weight: Option<f64>,
    /// How w is derived from the link's rate.
    pub auto_weight: AutoWeight,
    /// Mean packet size.
    pub avpkt: Bytes,
    /// From p_b to the gaps between drops.
    pub spacing: Spacing,
    /// How packet size affects the probability.
    pub byte_mode: ByteMode,
    /// Time between adaptations (floyd2001).
    pub interval: Duration,
    /// Upper bound of max_p.
    pub top: Prob,
    /// Lower bound of max_p.
    pub bottom: Prob,
    /// max_p is multiplied by this when the average is low (floyd2001).
    pub beta: Prob,
    /// Mark ECN-capable packets instead of dropping them early.
    pub ecn: bool,
    /// In the forced region, drop ECN-capable packets too.
    pub harddrop: bool,
}

impl Default for AredParams {
    /// ns-2's values where the paper leaves them to RED.
    fn default() -> Self {
        let p = |p| Prob::new(p).unwrap_or_default();
        Self {
            adaptation: Adaptation::default(),
            limit: None,
            min: None,
            max: None,
            target: Duration::from_millis(5),
            probability: p(0.1),
            weight: None,
            auto_weight: AutoWeight::OneSecond,
            avpkt: Bytes(500),
            spacing: Spacing::Wait,
            byte_mode: ByteMode::Counted,
            interval: Duration::from_millis(500),
            top: p(0.5),
            bottom: p(0.01),
            beta: p(0.9),
            ecn: false,
            harddrop: true,
        }
    }
}

impl AredParams {
    /// The parameters of the RED inside.
    fn red(&self) -> RedParams {
        RedParams {
            variant: RedVariant::Ns2,
            min: self.min,
            max: self.max,
            probability: Some(self.probability),
            weight: self.weight,
            auto_weight: Some(self.auto_weight),
            avpkt: Some(self.avpkt),
            spacing: Some(self.spacing),
            byte_mode: Some(self.byte_mode),
            idle: Some(IdleDecay::DecayAndSample),
            ecn: self.ecn,
            harddrop: Some(self.harddrop),
            ..RedParams::default()
        }
    }
}

impl LawParams for AredParams {
    type Law = AdaptiveRed;
    fn validate(&self) -> Result<(), Problem> {
        LawParams::validate(&self.red())?;
        for (name, d) in [("target", self.target), ("interval", self.interval)] {
            if d.is_zero() {
                return Err(Problem::new(name, format!("{d} is not valid; expected a positive duration")));
            }
        }
        if self.bottom.get() > self.top.get() {
            let (b, t) = (self.bottom, self.top);
            return Err(Problem::new("bottom", format!("{b} is not valid with top = {t}; expected at most {t}")));
        }
        Ok(())
    }
    fn law(&self) -> AdaptiveRed {
        let mut cfg = self.red().config();
        cfg.target_delay = self.target;
        AdaptiveRed {
            adaptation: self.adaptation,
            interval: self.interval,
            bounds: (self.bottom.get(), self.top.get()),
            beta: self.beta.get(),
            max_p: cfg.max_p,
            red: Red::new(cfg),
            next: Time(0) + self.interval,
            side: Side::Below,
        }
    }
    fn limit(&self) -> Option<Limit> {
        self.limit
    }
}

/// Position of the average relative to the thresholds, for Feng's rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Below,
    Between,
    Above,
}

/// Adaptive RED as the law of one queue.
#[derive(Clone, Debug, PartialEq)]
pub struct AdaptiveRed {
    adaptation: Adaptation,
    interval: Duration,
    /// Lower and upper bound of max_p.
    bounds: (f64, f64),
    beta: f64,
    max_p: f64,
    red: Red,
    next: Time,
    side: Side,
}

impl AdaptiveRed {
    /// The current max_p, for probes.
    pub fn max_p(&self) -> f64 {
        self.max_p
    }

    /// The RED inside, for probes.
    pub fn red(&self) -> &Red {
        &self.red
    }

    fn set(&mut self, max_p: f64) {
        self.max_p = max_p;
        self.red.set_max_p(max_p);
    }

    /// Floyd's rule: moves max_p by one step if the average is outside the band.
    fn floyd(&mut self) {
        let Some(ramp) = self.red.ramp() else { return };
        let (avg, span) = (self.red.average(), ramp.max - ramp.min);
        let (bottom, top) = self.bounds;
        if avg < ramp.min + BAND.0 * span && self.max_p > bottom {
            self.set((self.max_p * self.beta).max(bottom));
        } else if avg > ramp.min + BAND.1 * span && self.max_p < top {
            self.set((self.max_p + ALPHA.0.min(ALPHA.1 * self.max_p)).min(top));
        }
    }

    /// Feng's rule: scales max_p when the average leaves the range between the thresholds.
    fn feng(&mut self) {
        let Some(ramp) = self.red.ramp() else { return };
        let avg = self.red.average();
        let (bottom, top) = self.bounds;
        let side = if avg < ramp.min {
            Side::Below
        } else if avg > ramp.max {
            Side::Above
        } else {
            Side::Between
        };
        match side {
            Side::Between => {}
            Side::Below if self.side != Side::Below => self.set((self.max_p / 3.0).max(bottom)),
            Side::Above if self.side != Side::Above => self.set((self.max_p * 2.0).min(top)),
            _ => {}
        }
        self.side = side;
    }
}

impl Law for AdaptiveRed {
    #[inline]
    fn arrive(&mut self, packet: &PacketMeta, view: &View<'_>, rng: &mut Rng) -> Verdict {
        let mut zone: Zone = self.red.sample(view);
        let due = match self.adaptation {
            Adaptation::Floyd2001 => view.now >= self.next,
            Adaptation::Feng1999 => true,
        };
        if due {
            match self.adaptation {
                Adaptation::Floyd2001 => {
                    self.floyd();
                    self.next = view.now + self.interval;
                }
                Adaptation::Feng1999 => self.feng(),
            }
            if let Some(ramp) = self.red.ramp() {
                zone = ramp.zone(self.red.average());
            }
        }
        self.red.decide(zone, packet, view, rng)
    }
    #[inline]
    fn left(&mut self, packet: &PacketMeta, view: &View<'_>) {
        self.red.left(packet, view);
    }
    #[inline]
    fn empty(&mut self, now: Time) {
        self.red.empty(now);
    }
    fn probe(&self, out: &mut Reading<'_>) {
        self.red.probe(out);
    }
}
