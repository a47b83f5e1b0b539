//! Adaptive RED: RED with a max_p that follows the load.
//!
//! ```text
//! floyd2001   every 0.5 s: avg above the band and max_p <= top:      max_p <- max_p + min(0.01, max_p / 4)
//!                          avg below the band and max_p >= bottom:   max_p <- 0.9 max_p
//!             band = [min + 0.4 (max - min), min + 0.6 (max - min)]
//! feng1999    avg falls below min: max_p <- max_p / 3;  avg rises above max: max_p <- 2 max_p
//! ```
//!
//! Source: Floyd, Gummadi & Shenker 2001; Feng, Kandlur, Saha & Shin, INFOCOM 1999.
//! Departs: as in ns-2, Floyd's rule adapts only on arrivals, at the first arrival half a second or more after the last
//! adaptation. Feng's rule also keeps max_p between `bottom` and `top`.

use super::early::{ByteMode, IdleDecay, Spacing, Zone};
use super::red::{AutoWeight, Red, RedParams, RedVariant};
use super::{Law, LawParams, Verdict, View};
use crate::declared::params;
use packet::{PacketMeta, Reading};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Limit, Prob, Problem, Rng, Time, ensure, positive};

/// The two bounds of alpha, the amount by which Floyd's rule raises max_p in one step. Alpha is the smaller of the two:
/// the constant 0.01, or a quarter of max_p.
const ALPHA: (f64, f64) = (0.01, 0.25);
/// The lower and upper ends of the average's target band, as fractions of [min, max].
const BAND: (f64, f64) = (0.4, 0.6);

/// The rule that adapts max_p.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Adaptation {
    /// Floyd, Gummadi & Shenker 2001. The average has a target band, from 40 % to 60 % of the way from `min` to `max`.
    /// Above the band, each adaptation adds 0.01 or max_p / 4 to max_p, whichever is less. Below the band, it
    /// multiplies max_p by `beta`.
    Floyd2001,
    /// Feng, Kandlur, Saha & Shin 1999. Each time the average falls below `min`, max_p falls to a third. Each time the
    /// average rises above `max`, max_p doubles.
    Feng1999,
}

params! {
    /// Parameters of Adaptive RED. It is the gentle RED of ns-2 (see the discipline `red`), except that max_p, the drop
    /// probability at `max`, follows the load. Except for `limit`, the defaults are those of Floyd, Gummadi & Shenker
    /// 2001 or, where this paper gives none, ns-2's.
    pub struct AredParams {
        /// The rule that adapts max_p.
        adaptation: Adaptation = Adaptation::Floyd2001,
        /// Maximum length of the queue; an arrival that does not fit is dropped. Null: 1000p; in a fair discipline
        /// none, because its queues share one limit.
        limit: Option<Limit> = None,
        /// Average queue length at which early drops begin. Null: the larger of 5 × `avpkt` and what the link sends in
        /// half of `target`, in bytes.
        min: Option<Limit> = None,
        /// Average queue length at which the drop probability is max_p. From there, the probability rises to 1 at 2 ×
        /// `max`. Do not set `max` without `min`. Null: 3 × `min`.
        max: Option<Limit> = None,
        /// Target delay, from which the default of `min` is derived.
        target: Duration = Duration::from_millis(5),
        /// Initial max_p.
        probability: Prob = Prob::constant(0.1),
        /// w, the weight of a new sample in the average queue length. Null: derived from the link's rate by
        /// `auto_weight`.
        weight: Option<f64> = None,
        /// Rule that derives `weight` (w) from the link's rate.
        auto_weight: AutoWeight = AutoWeight::OneSecond,
        /// Mean packet size.
        avpkt: Bytes = Bytes(500),
        /// Spacing of drops: the formula for p_a, the probability with which a packet is dropped. The discipline `red`
        /// explains p and count.
        spacing: Spacing = Spacing::Wait,
        /// Effect of a packet's size on its drop probability.
        byte_mode: ByteMode = ByteMode::Counted,
        /// If `adaptation` is floyd2001: time between adaptations of max_p.
        interval: Duration = Duration::from_millis(500),
        /// Upper bound of max_p.
        top: Prob = Prob::constant(0.5),
        /// Lower bound of max_p.
        bottom: Prob = Prob::constant(0.01),
        /// If `adaptation` is floyd2001: factor by which each adaptation multiplies max_p while the average is below
        /// its target band (see `adaptation`).
        beta: Prob = Prob::constant(0.9),
        /// Marks ECN-capable packets instead of dropping them early.
        ecn: bool = false,
        /// Treatment of ECN-capable packets while the average is at or above 2 × `max`. If true, they are dropped even
        /// if `ecn` is true. If false, they are marked if `ecn` is true.
        harddrop: bool = true,
    }
}

impl AredParams {
    /// Returns the parameters of the RED law whose max_p this law adapts.
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
        positive("target", self.target)?;
        positive("interval", self.interval)?;
        let (bottom, top) = (self.bottom, self.top);
        ensure!(bottom <= top, "bottom", "{bottom} is not valid with top = {top}; expected at most {top}");
        Ok(())
    }
    fn law(&self) -> AdaptiveRed {
        AdaptiveRed {
            red: self.red().law_for(self.target),
            max_p: self.probability.get(),
            next: Time(0) + self.interval,
            side: Side::Below,
            params: self.clone(),
        }
    }
    fn limit(&self) -> Option<Limit> {
        self.limit
    }
}

/// The average's position relative to the thresholds, for Feng's rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Below,
    Between,
    Above,
}

/// Adaptive RED as the law of one queue.
#[derive(Clone, Debug, PartialEq)]
pub struct AdaptiveRed {
    params: AredParams,
    max_p: f64,
    red: Red,
    next: Time,
    side: Side,
}

impl AdaptiveRed {
    /// Returns the current max_p, for probes.
    pub fn max_p(&self) -> f64 {
        self.max_p
    }

    /// Returns the underlying RED law, whose max_p this law adapts. Probes read it.
    pub fn red(&self) -> &Red {
        &self.red
    }

    fn bounds(&self) -> (f64, f64) {
        (self.params.bottom.get(), self.params.top.get())
    }

    fn set(&mut self, max_p: f64) {
        self.max_p = max_p;
        self.red.set_max_p(max_p);
    }

    /// Applies Floyd's rule: moves max_p by one step if the average is outside the band.
    fn floyd(&mut self) {
        let Some(ramp) = self.red.ramp() else { return };
        let (avg, span) = (self.red.average(), ramp.max - ramp.min);
        let (bottom, top) = self.bounds();
        if avg < ramp.min + BAND.0 * span && self.max_p > bottom {
            self.set((self.max_p * self.params.beta.get()).max(bottom));
        } else if avg > ramp.min + BAND.1 * span && self.max_p < top {
            self.set((self.max_p + ALPHA.0.min(ALPHA.1 * self.max_p)).min(top));
        }
    }

    /// Applies Feng's rule: scales max_p each time the average falls below `min` or rises above `max`.
    fn feng(&mut self) {
        let Some(ramp) = self.red.ramp() else { return };
        let avg = self.red.average();
        let (bottom, top) = self.bounds();
        let side = match avg {
            _ if avg < ramp.min => Side::Below,
            _ if avg > ramp.max => Side::Above,
            _ => Side::Between,
        };
        match side {
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
        let due = self.params.adaptation == Adaptation::Feng1999 || view.now >= self.next;
        if due {
            match self.params.adaptation {
                Adaptation::Floyd2001 => {
                    self.floyd();
                    self.next = view.now + self.params.interval;
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
