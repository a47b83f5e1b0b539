//! LRED: latency-based random early detection.
//!
//! ```text
//! at the head, x the sojourn time (or the depth):  drop with curve(x) and look at the next head, else send
//! 10a, 10b   0 below min_th; linear to p_max at max_th; 1 above
//! 10c        0 below min_th; p_min at min_th, linear to p_max at max_th; p_max above
//! integral   p_i <- [p_i + integral (x / min_th - 1) dt], 0 to p_max, dt <= 0.1 s;   p = min(curve(x) + p_i, p_max)
//! ```
//!
//! Source: document 000, Figure 10; SPEC 1.14. The published sets: (200ms, 400ms, 1 %, 5 %) in Figures 11 and 12,
//! (700ms, 1400ms, 1 %, 5 %) in Figures 14 and 15. ECN is not defined there.
//! Departs: the document leaves open how an average is taken; `weight` is an EWMA over the heads that are looked at, and 1 is the
//! document's own "real-time". `integral` is not the document's: a curve alone is a proportional controller, whose error grows
//! with the drops that are needed; an integral term takes it away and makes MINth the target (studies/scte2013/README.md).

use super::codel::Sojourn;
use super::early::{self, Measure};
use super::{Law, LawParams, Verdict, View};
use packet::PacketMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Limit, Prob, Problem, Rng, Time};

/// Largest gain of the integral term per second: from 0 to 1 in a second at twice the target.
const MAX_INTEGRAL: f64 = 1.0;
/// Longest step of the integral term: a line that was idle for longer says nothing about its queue.
const LONGEST_STEP: Duration = Duration(100_000_000);

/// The curves of Figure 10.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Curve {
    /// RED's ramp on the queue's depth: thresholds in packets or bytes; `p_min` is not used.
    #[serde(rename = "10a")]
    A10,
    /// RED's ramp on the sojourn time: thresholds as times; `p_min` is not used.
    #[serde(rename = "10b")]
    B10,
    /// A step to `p_min`, a ramp to `p_max`, and no more: on either. What the document's simulations use.
    #[default]
    #[serde(rename = "10c")]
    C10,
}

/// Parameters of LRED. The defaults are those of document 000, Figure 11.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LredParams {
    /// How much may wait, as in droptail; null: 1000p.
    pub limit: Option<Limit>,
    /// Shape of the probability.
    pub curve: Curve,
    /// MINth: nothing is dropped below. A time compares with the head's sojourn time, packets or bytes with the depth.
    pub min_th: Limit,
    /// MAXth: where the ramp ends. Of the same kind as `min_th`.
    pub max_th: Limit,
    /// Pmin, the probability at `min_th` (10c).
    pub p_min: Prob,
    /// Pmax (Pa of 10a and 10b), the probability at `max_th`.
    pub p_max: Prob,
    /// Weight of a head in the average that the curve sees; 1 is the head itself (instant).
    pub weight: f64,
    /// Gain of an integral term per second; 0, the document's LRED, is none. With it MINth is the target, not the onset.
    pub integral: f64,
    /// What the sojourn time is.
    pub sojourn: Sojourn,
}

impl Default for LredParams {
    fn default() -> Self {
        let p = |p| Prob::new(p).unwrap_or_default();
        Self {
            limit: None,
            curve: Curve::C10,
            min_th: Limit::Time(Duration::from_millis(200)),
            max_th: Limit::Time(Duration::from_millis(400)),
            p_min: p(0.01),
            p_max: p(0.05),
            weight: 1.0,
            integral: 0.0,
            sojourn: Sojourn::Queue,
        }
    }
}

/// A threshold in the curve's own unit: ns, packets or bytes.
fn number(limit: Limit) -> f64 {
    match limit {
        Limit::Packets(n) => f64::from(n),
        Limit::Bytes(b) => b.0 as f64,
        Limit::Time(d) => d.0 as f64,
    }
}

impl LawParams for LredParams {
    type Law = Lred;
    fn validate(&self) -> Result<(), Problem> {
        early::thresholds(("min_th", self.min_th), ("max_th", self.max_th))?;
        let time = matches!(self.min_th, Limit::Time(_));
        match self.curve {
            Curve::A10 if time => {
                let message = format!("{} is not valid for curve 10a; expected packets or bytes", self.min_th);
                return Err(Problem::new("min_th", message));
            }
            Curve::B10 if !time => {
                let message = format!("{} is not valid for curve 10b; expected a time", self.min_th);
                return Err(Problem::new("min_th", message));
            }
            _ => {}
        }
        if self.curve == Curve::C10 && self.p_min.get() > self.p_max.get() {
            let (low, high) = (self.p_min, self.p_max);
            let message = format!("{low} is not valid with p_max = {high}; expected at most {high}");
            return Err(Problem::new("p_min", message));
        }
        if !(self.integral.is_finite() && (0.0..=MAX_INTEGRAL).contains(&self.integral)) {
            let message = format!("{} is not valid; expected 0 to {MAX_INTEGRAL} per second", self.integral);
            return Err(Problem::new("integral", message));
        }
        if self.integral > 0.0 && number(self.min_th) == 0.0 {
            return Err(Problem::new("min_th", "0 is not valid with an integral term; expected a target above 0"));
        }
        early::weight("weight", self.weight)
    }
    fn law(&self) -> Lred {
        Lred {
            curve: self.curve,
            measure: Measure::of(self.min_th),
            thresholds: (number(self.min_th), number(self.max_th)),
            p: (self.p_min.get(), self.p_max.get()),
            weight: self.weight,
            integral: self.integral,
            sojourn: self.sojourn,
            average: None,
            p_i: 0.0,
            seen: None,
        }
    }
    fn limit(&self) -> Option<Limit> {
        self.limit
    }
}

/// LRED as the law of one queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Lred {
    curve: Curve,
    measure: Measure,
    /// MINth and MAXth: ns, packets or bytes.
    thresholds: (f64, f64),
    /// Pmin and Pmax.
    p: (f64, f64),
    weight: f64,
    integral: f64,
    sojourn: Sojourn,
    /// What the curve sees; `None` before the first head.
    average: Option<f64>,
    /// The integral term's part of the probability, and when it was last changed.
    p_i: f64,
    seen: Option<Time>,
}

impl Lred {
    /// The curve: probability at `x` (ns, packets or bytes).
    #[inline]
    pub fn probability(&self, x: f64) -> f64 {
        let ((min, max), (p_min, p_max)) = (self.thresholds, self.p);
        let slope = ((x - min) / (max - min)).min(1.0);
        match self.curve {
            _ if x < min => 0.0,
            Curve::A10 | Curve::B10 if x > max => 1.0,
            Curve::A10 | Curve::B10 => p_max * slope,
            Curve::C10 => p_min + (p_max - p_min) * slope,
        }
    }
}

impl Lred {
    /// The integral term after a head at `now` that the curve saw as `x`: a queue that was silent is no long queue.
    fn integrate(&mut self, x: f64, now: Time) {
        let dt = self.seen.map_or(Duration::ZERO, |seen| now.since(seen)).min(LONGEST_STEP);
        self.seen = Some(now);
        let error = x / self.thresholds.0 - 1.0;
        self.p_i = (self.p_i + self.integral * error * dt.secs()).clamp(0.0, self.p.1);
    }
}

impl Law for Lred {
    #[inline]
    fn head(&mut self, packet: &PacketMeta, view: &View<'_>, rng: &mut Rng) -> Verdict {
        let x = match (self.measure, self.sojourn) {
            // the depth counts the head itself
            (Measure::Packets, _) => f64::from(view.backlog.packets + 1),
            (Measure::Bytes, _) => (view.backlog.bytes + packet.bytes()) as f64,
            (Measure::Time, Sojourn::Queue) => view.sojourn.0 as f64,
            (Measure::Time, Sojourn::QueueAndTransmit) => (view.sojourn + view.link.downstream_delay).0 as f64,
        };
        let average = self.average.map_or(x, |avg| avg + self.weight * (x - avg));
        self.average = Some(average);
        let mut p = self.probability(average);
        if self.integral > 0.0 {
            self.integrate(average, view.now);
            p = (p + self.p_i).min(self.p.1);
        }
        if rng.chance(p) { Verdict::Drop } else { Verdict::Pass }
    }
}
