//! The parts common to PIE and DOCSIS-PIE: the controller, its tuning table, the safeguards and the de-randomisation of
//! drops.
//!
//! ```text
//! every T_UPDATE   p = alpha (qdelay - target) + beta (qdelay - qdelay_old), times the tuning table's factor for drop_prob
//!                  if drop_prob >= 0.1: p = min(p, 0.02)
//!                  drop_prob <- drop_prob + p
//! ```
//!
//! Source: RFC 8033 §4.2, §5.5; RFC 8034 §A.   Units: delays in seconds, alpha and beta in 1/s.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Problem, Rng, ensure};

/// Upper bound on the step of the controller, which is added to drop_prob at an update. The bound applies only while
/// drop_prob is at least [`STEP_FROM`]. Source: RFC 8033 §5.5.
const STEP_CAP: f64 = 0.02;
/// The drop_prob at and above which [`STEP_CAP`] applies.
const STEP_FROM: f64 = 0.1;
/// Accumulated probability below which nothing is dropped. Source: RFC 8033 §5.4, RFC 8034 PROB_LOW.
pub(crate) const PROB_LOW: f64 = 0.85;
/// Accumulated probability at and above which a packet is dropped for certain. Source: RFC 8033 §5.4, RFC 8034 PROB_HIGH.
const PROB_HIGH: f64 = 8.5;
/// Value at which drop_prob and accu_prob overflow in Linux, which holds both in 64 bits, in units of 2^-56.
pub(super) const LINUX_OVERFLOW: f64 = 256.0;
/// drop_prob below which no packet is dropped while the delay is low. Source: RFC 8033 §4.1.
const SAFE_PROB: f64 = 0.2;

/// The table of factors by which a step is multiplied. The factor depends on the drop probability, so that steps are small
/// while the probability is small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tuning {
    /// The factor is always 1.
    None,
    /// The factor is 1/8 while the probability is below 0.01, 1/2 below 0.1, and 1 from there on (draft-pan-aqm-pie-00,
    /// 2013).
    Coarse,
    /// The factor is 1/2048 while the probability is below 1e-6, 1/512 below 1e-5, 1/128 below 1e-4, 1/32 below 0.001,
    /// 1/8 below 0.01, 1/2 below 0.1, and 1 from there on (RFC 8033).
    Rfc8033,
    /// Like `rfc8033` below 0.1. From there on, the factor is 2 while the probability is below 1, 8 below 10, and
    /// otherwise 32 (RFC 8034, where the probability is for a packet of 1024 bytes, and may exceed 1).
    Rfc8034,
}

impl Tuning {
    /// Returns the factor by which a step of the controller is multiplied when the drop probability is `drop_prob`.
    pub fn factor(self, drop_prob: f64) -> f64 {
        const FINE: [(f64, f64); 4] = [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0)];
        const COARSE: [(f64, f64); 2] = [(0.01, 8.0), (0.1, 2.0)];
        const ABOVE: [(f64, f64); 3] = [(1.0, 0.5), (10.0, 0.125), (f64::INFINITY, 0.03125)];
        let table: [&[(f64, f64)]; 3] = match self {
            Self::None => [&[], &[], &[]],
            Self::Coarse => [&[], &COARSE, &[]],
            Self::Rfc8033 => [&FINE, &COARSE, &[]],
            Self::Rfc8034 => [&FINE, &COARSE, &ABOVE],
        };
        table.iter().flat_map(|part| part.iter()).find(|(below, _)| drop_prob < *below).map_or(1.0, |(_, by)| 1.0 / by)
    }
}

pub(super) fn gain(name: &str, gain: f64) -> Result<(), Problem> {
    ensure!(gain > 0.0 && gain.is_finite(), name, "{gain} is not valid; expected a positive number (1/s)");
    Ok(())
}

/// The controller's gains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gains {
    /// Weight of the distance from the target, 1/s.
    pub alpha: f64,
    /// Weight of the change since the last update, 1/s.
    pub beta: f64,
    /// Target delay.
    pub target: Duration,
    /// Scaling of the steps.
    pub tuning: Tuning,
}

impl Gains {
    /// Returns the sum of drop_prob and one step of the controller. The caller then bounds the sum, and applies the
    /// other rules of an update, such as the decay.
    pub fn step(&self, drop_prob: f64, qdelay: Duration, qdelay_old: Duration) -> f64 {
        let (now, old) = (qdelay.secs(), qdelay_old.secs());
        let p = (self.alpha * (now - self.target.secs()) + self.beta * (now - old)) * self.tuning.factor(drop_prob);
        drop_prob + if drop_prob >= STEP_FROM { p.min(STEP_CAP) } else { p }
    }

    /// Returns true if both delays are below half the target.
    pub(crate) fn low(&self, qdelay: Duration, qdelay_old: Duration) -> bool {
        qdelay.max(qdelay_old) * 2 < self.target
    }

    /// Returns true if nothing may be dropped early: either the delay is below half the target while drop_prob is below
    /// `SAFE_PROB`, or at most `spared` bytes are queued.   Source: RFC 8033 §4.1.
    #[inline]
    pub(crate) fn work_conserving(&self, drop_prob: f64, qdelay: Duration, backlog_bytes: u64, spared: u64) -> bool {
        (qdelay * 2 < self.target && drop_prob < SAFE_PROB) || backlog_bytes <= spared
    }
}

/// The state of the de-randomisation, which avoids drops in quick succession and long stretches without a drop.
///
/// accu_prob is the sum of the drop probabilities since its last reset, usually at a drop or mark. While it is below
/// 0.85, nothing is dropped; at 8.5 or above, the packet is dropped for certain.   Source: RFC 8033 §5.4.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dice {
    /// The sum accu_prob.
    pub accu_prob: f64,
}

impl Dice {
    /// Adds the drop probability `p` of a packet to accu_prob.
    #[inline]
    pub fn add(&mut self, p: f64) {
        self.accu_prob += p;
    }

    /// Decides whether to drop a packet with the drop probability `p`. If the decision is to drop, accu_prob is reset.
    /// The caller must already have added `p` to accu_prob with [`Self::add`].
    #[inline]
    pub fn roll(&mut self, p: f64, rng: &mut Rng) -> bool {
        let drop = self.certain() || self.chance(p, rng);
        if drop {
            self.accu_prob = 0.0;
        }
        drop
    }

    /// Decides like [`Self::roll`], but leaves accu_prob unchanged if the packet is chosen for certain. Also wraps
    /// accu_prob at 256, where the 64-bit sum of Linux overflows.
    #[inline]
    pub(super) fn roll_linux(&mut self, p: f64, rng: &mut Rng) -> bool {
        if self.accu_prob >= LINUX_OVERFLOW {
            self.accu_prob -= LINUX_OVERFLOW;
        }
        self.certain() || self.chance(p, rng)
    }

    #[inline]
    fn certain(self) -> bool {
        self.accu_prob >= PROB_HIGH
    }

    /// Returns true with probability `p`, but never while accu_prob is below [`PROB_LOW`]. If the result is true, resets
    /// accu_prob.
    #[inline]
    fn chance(&mut self, p: f64, rng: &mut Rng) -> bool {
        let chosen = self.accu_prob >= PROB_LOW && rng.chance(p);
        if chosen {
            self.accu_prob = 0.0;
        }
        chosen
    }
}
