//! LRED: latency-based random early detection.
//!
//! ```text
//! head       x = its sojourn time (or the depth): with probability curve(x), drop it and examine the next; otherwise, send it
//! 10a, 10b   curve = 0 below min_th, then linear from 0 to p_max at max_th, and 1 above
//! 10c        curve = 0 below min_th, then linear from p_min to p_max at max_th, and p_max above
//! profiles   a packet has the MINth, MAXth, Pmin and Pmax of the profile for its DSCP or precedence (latency-based WRED)
//! integral   p_i <- p_i + integral (x / min_th - 1) dt, bounded to [0, p_max], dt <= 0.1 s;   p = min(curve(x) + p_i, p_max)
//! ```
//!
//! Source: ARRIS 2013 Figure 10. Its values of (MINth, MAXth, Pmin, Pmax) are (200ms, 400ms, 1 %, 5 %) in Figures 11 and 12, and
//! (700ms, 1400ms, 1 %, 5 %) in Figures 14 and 15. It does not define ECN. Its conclusion recommends "Latency-based WRED", which is
//! LRED with packet priorities; `profiles` provides this, but ARRIS 2013 gives no values for it.
//! Departs: ARRIS 2013 does not define its average. Here it is an EWMA over the heads examined, with the weight `weight`; with a
//! weight of 1 there is no averaging, which ARRIS 2013 calls "real-time". `integral` is not in ARRIS 2013. A curve alone is a
//! proportional controller: the more drops are needed, the farther the delay is above MINth. An integral term removes this error
//! and makes MINth the target (studies/scte2013/README.md).

use super::codel::Sojourn;
use super::early::{self, Measure};
use super::{Law, LawParams, Verdict, View};
use crate::declared::params;
use packet::{PacketMeta, Reading, Unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use units::{Duration, Limit, Prob, Problem, Rng, Time, ensure, within};

/// Maximum gain of the integral term, 1/s. At this gain and a delay of twice the target, the term grows at a rate of 1 per
/// second, up to its bound Pmax.
const MAX_INTEGRAL: f64 = 1.0;
/// Maximum time step of the integral term. The step is limited because an idle period carries no information about the queue.
const LONGEST_STEP: Duration = Duration(100_000_000);

/// The curves of ARRIS 2013 Figure 10.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Curve {
    /// RED's ramp over the queue length: the probability is 0 below `min_th`, rises linearly to `p_max` at `max_th`,
    /// and is 1 above. The thresholds are in packets or bytes.
    #[serde(rename = "10a")]
    A10,
    /// RED's ramp over the sojourn time: the probability is 0 below `min_th`, rises linearly to `p_max` at `max_th`,
    /// and is 1 above. The thresholds are times.
    #[serde(rename = "10b")]
    B10,
    /// A step and a ramp: the probability is 0 below `min_th`, jumps to `p_min` there, rises linearly to `p_max` at
    /// `max_th`, and stays at `p_max` above. The thresholds are packets, bytes or times. The simulations of ARRIS 2013
    /// use this curve.
    #[serde(rename = "10c")]
    C10,
}

/// Thresholds and probabilities for the packets of one DSCP or precedence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LredProfile {
    /// Code point (DSCP) of the packets, 0 to 63. A profile has either `dscp` or `precedence`. If a packet matches one
    /// profile with `dscp` and another with `precedence`, the profile with `dscp` applies.
    #[serde(default)]
    pub dscp: Option<u8>,
    /// IP precedence of the packets (the upper three bits of the DSCP), 0 to 7.
    #[serde(default)]
    pub precedence: Option<u8>,
    /// MINth: delay or queue length below which the drop probability is 0. It must have the same unit (time, packets or
    /// bytes) as the key `min_th` of `lred`.
    pub min_th: Limit,
    /// MAXth: delay or queue length at which the drop probability reaches `p_max`. It must have the same unit as
    /// `min_th`.
    pub max_th: Limit,
    /// Pmin, the drop probability at `min_th`. It has an effect only if `curve` of `lred` is 10c.
    pub p_min: Prob,
    /// Pmax, the drop probability at `max_th`.
    pub p_max: Prob,
}

params! {
    /// Parameters of LRED. It drops packets from the head of the queue, with a probability that depends on the delay or
    /// on the queue length. The defaults of `curve`, the thresholds and the probabilities are those of ARRIS 2013
    /// Figure 11.
    pub struct LredParams {
        /// Maximum length of the queue; an arrival that does not fit is dropped. Null: 1000p; in a fair discipline
        /// none, because its queues share one limit.
        limit: Option<Limit> = None,
        /// The drop probability as a function of the sojourn time or the queue length. The three curves are those of
        /// ARRIS 2013 Figure 10.
        curve: Curve = Curve::C10,
        /// MINth: delay or queue length below which the curve's probability is 0. A time is a threshold for the sojourn
        /// time of the packet at the head. Packets or bytes are a threshold for the queue length.
        min_th: Limit = Limit::Time(Duration::from_millis(200)),
        /// MAXth: delay or queue length at which the curve's probability reaches `p_max`. It has the same unit as
        /// `min_th`.
        max_th: Limit = Limit::Time(Duration::from_millis(400)),
        /// Pmin, the drop probability at `min_th`. It has an effect only if `curve` is 10c.
        p_min: Prob = Prob::constant(0.01),
        /// Pmax, the drop probability at `max_th`.
        p_max: Prob = Prob::constant(0.05),
        /// Weight of the newest sample in a moving average of the delay or queue length. Each packet at the head gives
        /// a sample, and the curve is applied to the average. With 1, there is no averaging.
        weight: f64 = 1.0,
        /// Gain in 1/s, from 0 to 1, of an integral term that is added to the curve's probability; the sum is at most
        /// `p_max`. With a gain above 0, `min_th` is also a target: the term grows while the delay or queue length is
        /// above `min_th`, and shrinks while it is below. With 0, as in ARRIS 2013, there is no such term.
        integral: f64 = 0.0,
        /// The delay that is compared with `min_th` and `max_th`, if these are times.
        sojourn: Sojourn = Sojourn::Queue,
        /// Latency-based WRED: thresholds and probabilities for packets with a given DSCP or precedence. Not valid if
        /// `integral` is above 0.
        profiles: Vec<LredProfile> = Vec::new(),
    }
}

impl LredProfile {
    /// Checks this profile against `of`, the parameters of its law.   Errors: the first invalid parameter.
    fn validate(&self, of: &LredParams) -> Result<(), Problem> {
        let one = self.dscp.is_some() != self.precedence.is_some();
        ensure!(one, "", "expected either dscp or precedence, to say whose thresholds these are");
        within("dscp", self.dscp.unwrap_or(0), 0, 63)?;
        within("precedence", self.precedence.unwrap_or(0), 0, 7)?;
        let (min, own) = (self.min_th, of.min_th);
        let same = Measure::of(min) == Measure::of(own);
        ensure!(same, "min_th", "{min} is not valid with min_th = {own}; expected a threshold of the same kind");
        early::thresholds(("min_th", self.min_th), ("max_th", self.max_th))?;
        rising(of.curve, self.p_min, self.p_max)
    }

    /// Returns true if this profile matches packets with this DSCP.
    fn takes(&self, dscp: u8) -> bool {
        self.dscp.map_or_else(|| self.precedence == Some(dscp / 8), |own| own == dscp)
    }
}

/// Refuses a Pmin (`low`) above Pmax (`high`), but only for curve 10c, the only curve that uses both.
fn rising(curve: Curve, low: Prob, high: Prob) -> Result<(), Problem> {
    let fits = curve != Curve::C10 || low <= high;
    ensure!(fits, "p_min", "{low} is not valid with p_max = {high}; expected at most {high}");
    Ok(())
}

/// Returns the number of nanoseconds, packets or bytes of a threshold.
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
        let (min_th, time) = (self.min_th, matches!(self.min_th, Limit::Time(_)));
        let (a, b) = (self.curve == Curve::A10, self.curve == Curve::B10);
        ensure!(!(a && time), "min_th", "{min_th} is not valid for curve 10a; expected packets or bytes");
        ensure!(!b || time, "min_th", "{min_th} is not valid for curve 10b; expected a time");
        rising(self.curve, self.p_min, self.p_max)?;
        let gain = self.integral;
        let fits = gain.is_finite() && (0.0..=MAX_INTEGRAL).contains(&gain);
        ensure!(fits, "integral", "{gain} is not valid; expected 0 to {MAX_INTEGRAL} per second");
        if gain > 0.0 {
            let target = number(min_th) > 0.0;
            ensure!(target, "min_th", "0 is not valid with an integral term; expected a target above 0");
            ensure!(self.profiles.is_empty(), "integral", "is not valid with profiles; expected 0");
        }
        for (n, profile) in self.profiles.iter().enumerate() {
            profile.validate(self).map_err(|p| p.under(&format!("profiles.{n}")))?;
        }
        early::weight("weight", self.weight)
    }
    fn law(&self) -> Lred {
        Lred {
            curve: self.curve,
            measure: Measure::of(self.min_th),
            own: Set {
                thresholds: (number(self.min_th), number(self.max_th)),
                p: (self.p_min.get(), self.p_max.get()),
            },
            by_dscp: self.by_dscp(),
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

impl LredParams {
    /// Returns the thresholds and probabilities for each DSCP; `None` without profiles.
    fn by_dscp(&self) -> Option<Arc<[Set; 64]>> {
        if self.profiles.is_empty() {
            return None;
        }
        let set = |min_th, max_th, p_min: Prob, p_max: Prob| Set {
            thresholds: (number(min_th), number(max_th)),
            p: (p_min.get(), p_max.get()),
        };
        let of = |dscp: u8| {
            // a DSCP's profile overrides its precedence's profile
            let own = self.profiles.iter().rfind(|p| p.dscp.is_some() && p.takes(dscp));
            own.or_else(|| self.profiles.iter().rfind(|p| p.takes(dscp))).map_or_else(
                || set(self.min_th, self.max_th, self.p_min, self.p_max),
                |p| set(p.min_th, p.max_th, p.p_min, p.p_max),
            )
        };
        Some(Arc::new(std::array::from_fn(|dscp| of(dscp as u8))))
    }
}

/// A curve's thresholds (MINth, MAXth), in ns, packets or bytes, and its probabilities (Pmin, Pmax).
#[derive(Clone, Copy, Debug, PartialEq)]
struct Set {
    thresholds: (f64, f64),
    p: (f64, f64),
}

/// LRED as the law of one queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Lred {
    curve: Curve,
    measure: Measure,
    own: Set,
    by_dscp: Option<Arc<[Set; 64]>>,
    weight: f64,
    integral: f64,
    sojourn: Sojourn,
    /// Average to which the curve is applied; `None` until the first packet reaches the head.
    average: Option<f64>,
    /// The integral term, which is added to the curve's probability.
    p_i: f64,
    /// Time of the integral term's last update.
    seen: Option<Time>,
}

impl Lred {
    /// Returns the curve's probability at `x` (ns, packets or bytes) for a packet without a profile.
    #[inline]
    pub fn probability(&self, x: f64) -> f64 {
        self.curve_of(self.own, x)
    }

    #[inline]
    fn curve_of(&self, set: Set, x: f64) -> f64 {
        let ((min, max), (p_min, p_max)) = (set.thresholds, set.p);
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
    /// Returns the curve's probability `p` plus the integral term, if there is one. The sum is at most Pmax.
    #[inline]
    fn with_integral(&self, p: f64) -> f64 {
        if self.integral > 0.0 { (p + self.p_i).min(self.own.p.1) } else { p }
    }

    /// Updates the integral term for the head at `now`; `x` is the curve's input for this head. The time step is at
    /// most [`LONGEST_STEP`].
    fn integrate(&mut self, x: f64, now: Time) {
        let dt = self.seen.map_or(Duration::ZERO, |seen| now.since(seen)).min(LONGEST_STEP);
        self.seen = Some(now);
        let error = x / self.own.thresholds.0 - 1.0;
        self.p_i = (self.p_i + self.integral * error * dt.secs()).clamp(0.0, self.own.p.1);
    }
}

impl Law for Lred {
    #[inline]
    fn head(&mut self, packet: &PacketMeta, view: &View<'_>, rng: &mut Rng) -> Verdict {
        let x = match (self.measure, self.sojourn) {
            // the queue length includes the head itself
            (Measure::Packets, _) => f64::from(view.backlog.packets + 1),
            (Measure::Bytes, _) => (view.backlog.bytes + packet.bytes()) as f64,
            (Measure::Time, Sojourn::Queue) => view.sojourn.0 as f64,
            (Measure::Time, Sojourn::QueueAndTransmit) => (view.sojourn + view.link.downstream_delay).0 as f64,
        };
        let average = self.average.map_or(x, |avg| avg + self.weight * (x - avg));
        self.average = Some(average);
        let set = self.by_dscp.as_ref().map_or(self.own, |sets| sets[usize::from(packet.tos >> 2)]);
        let p = self.curve_of(set, average);
        if self.integral > 0.0 {
            self.integrate(average, view.now);
        }
        if rng.chance(self.with_integral(p)) { Verdict::Drop } else { Verdict::Pass }
    }

    fn probe(&self, out: &mut Reading<'_>) {
        let (unit, scale) = match self.measure {
            Measure::Time => (Unit::Milliseconds, 1e-6),
            other => (other.unit(), 1.0),
        };
        let (min_th, max_th) = self.own.thresholds;
        out.value("latency", unit, self.average.map(|x| x * scale));
        out.value("min_th", unit, Some(min_th * scale));
        out.value("max_th", unit, Some(max_th * scale));
        out.value("p", Unit::One, self.average.map(|x| self.with_integral(self.probability(x))));
        out.number("p_i", self.p_i);
    }
}
