//! PI2: the controller of DualPI2, and the draws that turn its probability into marks.
//!
//! ```text
//! every tupdate   p' <- p' + alpha (qdelay - target) + beta (qdelay - qdelay_old), bounded to [0, 1], or to [0, 1/k]
//!                 without drop_overload
//! classic         p_C  = p'^2          scalable   p_CL = k p'          overload   k p' > 1 (RFC 9332: k p' >= 1)
//! recur(p)        count <- count + p;  if count > 1: count <- count - 1, and the draw is a hit
//! ```
//!
//! [`Base::Integer`] is Linux's arithmetic: p' in units of 2^-32, and gains in these units per 64 ns of delay. Divisions
//! discard the remainder.
//!
//! Source: RFC 9332 §2 and Appendix A; De Schepper et al., CoNEXT 2016 (PI2); Linux sch_dualpi2 6.17.
//! Departs: Linux's draw hits with probability (p' + 1) / 2^32, with p' in units of 2^-32, so it may hit even if p'
//! is 0. Our draw never hits if p' is 0.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Rng};

/// Unit of the delays that Linux multiplies by its gains, ns.
const GAIN_UNIT: u64 = 64;
/// Linux's gains are integers in units of 1/256 Hz, so a gain in 1/s is multiplied by this factor.
const GAIN_SCALE: f32 = 256.0;

/// How marks and drops are drawn with a given probability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Draws {
    /// Independently for each packet (Linux).
    Independent,
    /// Evenly spaced. The probabilities of successive packets are added up. Whenever a packet makes the sum exceed 1,
    /// this packet is marked or dropped, and 1 is subtracted from the sum (RFC 9332, `recur`).
    Recur,
}

/// p' and its gains.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Base {
    /// RFC 9332's arithmetic: p' is a real number, and the gains are in 1/s.
    Real {
        p: f64,
        /// Weight of the distance from the target, 1/s.
        alpha: f64,
        /// Weight of the change since the last update, 1/s.
        beta: f64,
    },
    /// Linux's arithmetic: p' is an integer in units of 2^-32.
    Integer {
        /// p' x 2^32.
        p: u32,
        /// Increase of `p` at an update, in units of 2^-32, for every 64 ns by which the delay exceeds the target.
        alpha: u64,
        /// Increase of `p` at an update, in units of 2^-32, for every 64 ns by which the delay grew since the last one.
        beta: u64,
    },
}

impl Base {
    /// Creates Linux's arithmetic from gains in 1/s, which are rounded down as in Linux (see [`linux_gain`]).
    pub(crate) fn integer(alpha: f64, beta: f64) -> Self {
        Self::Integer { p: 0, alpha: linux_gain(alpha), beta: linux_gain(beta) }
    }

    #[inline]
    fn p(&self) -> f64 {
        match self {
            Self::Real { p, .. } => *p,
            Self::Integer { p, .. } => f64::from(*p) * (1.0 / 4_294_967_296.0),
        }
    }
}

/// Converts a gain in 1/s to Linux's unit, 1/256 Hz, rounded down. Like tc, it first rounds the gain to an f32. So a
/// gain that is slightly below a multiple of 1/256 only because of a rounding error of f64 counts as that multiple.
///
/// Source: iproute2 tc/q_dualpi2.c (facts).
fn kernel_units(per_second: f64) -> u32 {
    (per_second as f32 * GAIN_SCALE) as u32
}

/// Returns the gain that the kernel uses if tc is given `per_second`: a multiple of 1/256, rounded down.   Unit: 1/s.
pub(super) fn kernel_gain(per_second: f64) -> f64 {
    f64::from(kernel_units(per_second)) / f64::from(GAIN_SCALE)
}

/// Converts a gain in 1/s to the unit of [`Base::Integer`], which is 2^-32 per 64 ns. As in Linux, the result is rounded
/// down.
fn linux_gain(per_second: f64) -> u64 {
    ((u64::from(kernel_units(per_second)) * u64::from(u32::MAX)) >> 2) / 1_000_000_000
}

/// The running sum of RFC 9332's `recur`. Classic and scalable signals have separate sums.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Recur {
    count: f64,
}

impl Recur {
    /// Adds `p` to the sum. If the sum exceeds one, subtracts one and returns true.   Source: RFC 9332 Appendix A.
    #[inline]
    pub(crate) fn hit(&mut self, p: f64) -> bool {
        self.count += p;
        let hit = self.count > 1.0;
        if hit {
            self.count -= 1.0;
        }
        hit
    }
}

/// The controller.
#[derive(Clone, Debug, PartialEq)]
pub struct Pi2 {
    base: Base,
    /// The coupling factor k.
    coupling: f64,
    target: Duration,
    /// Drops packets on overload; if false, p' is limited to 1/k instead.
    drop_overload: bool,
    draws: Draws,
    qdelay_old: Duration,
}

impl Pi2 {
    /// Creates a controller at rest.
    pub(crate) fn new(base: Base, coupling: f64, target: Duration, drop_overload: bool, draws: Draws) -> Self {
        Self { base, coupling, target, drop_overload, draws, qdelay_old: Duration::ZERO }
    }

    /// Returns p', for probes and tests.
    pub fn p(&self) -> f64 {
        self.base.p()
    }

    /// Returns p_CL, at most 1.
    #[inline]
    pub fn coupled(&self) -> f64 {
        (self.coupling * self.p()).min(1.0)
    }

    /// Returns true if p' and the last delay are 0, so that an update at a delay of 0 changes nothing.
    pub(crate) fn at_rest(&self) -> bool {
        self.p() == 0.0 && self.qdelay_old.is_zero()
    }

    /// Updates p' from the current delay, `qdelay`.   Source: RFC 9332 Appendix A `dualpi2_update`; for
    /// [`Base::Integer`], Linux's arithmetic.
    pub(crate) fn update(&mut self, qdelay: Duration) {
        let old = std::mem::replace(&mut self.qdelay_old, qdelay);
        match &mut self.base {
            Base::Real { p, alpha, beta } => {
                let step = *alpha * (qdelay.secs() - self.target.secs()) + *beta * (qdelay.secs() - old.secs());
                let most = if self.drop_overload { 1.0 } else { (1.0 / self.coupling).min(1.0) };
                *p = (*p + step).clamp(0.0, most);
            }
            Base::Integer { p, alpha, beta } => {
                let apart = |from: Duration| i128::from(qdelay.0) - i128::from(from.0);
                // the division rounds towards zero
                let step =
                    (apart(self.target) * i128::from(*alpha) + apart(old) * i128::from(*beta)) / i128::from(GAIN_UNIT);
                let most = if self.drop_overload { u32::MAX } else { u32::MAX / (self.coupling as u32).max(1) };
                *p = (i128::from(*p) + step).clamp(0, i128::from(most)) as u32;
            }
        }
    }

    /// Returns true on overload, when every scalable packet would already be marked and a stronger signal needs drops:
    /// k p' >= 1 (RFC 9332) or k p' > 1 (Linux). Without `drop_overload`, always returns false.
    #[inline]
    pub(crate) fn overload(&self) -> bool {
        self.drop_overload
            && match self.base {
                Base::Real { p, .. } => self.coupling * p >= 1.0,
                Base::Integer { p, .. } => u64::from(p) * self.coupling as u64 > u64::from(u32::MAX),
            }
    }

    /// Decides whether a packet gets the classic congestion signal, which has probability p'^2.
    #[inline]
    pub(crate) fn classic(&self, recur: &mut Recur, rng: &mut Rng) -> bool {
        match (&self.base, self.draws) {
            (Base::Integer { p, .. }, Draws::Independent) => *p > 0 && draw(rng) <= *p && draw(rng) <= *p,
            (base, _) => self.hit(base.p() * base.p(), recur, rng),
        }
    }

    /// Decides whether a packet gets the scalable congestion signal. Its probability is `native` or k p', whichever is
    /// larger.
    #[inline]
    pub(crate) fn scalable(&self, native: f64, recur: &mut Recur, rng: &mut Rng) -> bool {
        match (&self.base, self.draws) {
            (Base::Integer { p, .. }, Draws::Independent) if native == 0.0 => {
                *p > 0 && u64::from(draw(rng)) <= u64::from(*p) * self.coupling as u64
            }
            _ => self.hit(self.coupled().max(native), recur, rng),
        }
    }

    #[inline]
    fn hit(&self, p: f64, recur: &mut Recur, rng: &mut Rng) -> bool {
        match self.draws {
            Draws::Recur => recur.hit(p),
            Draws::Independent => rng.chance(p),
        }
    }
}

/// Draws 32 uniform bits.
#[inline]
fn draw(rng: &mut Rng) -> u32 {
    (rng.bits() >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn pi2(base: Base, drop_overload: bool) -> Pi2 {
        Pi2::new(base, 2.0, Duration::from_millis(15), drop_overload, Draws::Independent)
    }

    #[test]
    fn linux_gains_and_one_update_in_integers() {
        // In units of 1/256 Hz, the kernel's default gains are 41 and 819. Then 41 (2^32 - 1) / 4 / 10^9 = 44.02, and 819 (2^32 - 1)
        // / 4 / 10^9 = 879.4, both rounded down.
        let base = Base::integer(41.0 / 256.0, 819.0 / 256.0);
        assert_eq!(base, Base::Integer { p: 0, alpha: 44, beta: 879 });
        // tc truncates gains: 0.16 = 40.96/256 becomes 40/256, and 40 (2^32 - 1) / 4 / 10^9 = 42.95; 9.6 = 2457.6/256
        // becomes 2457/256, and 2457 (2^32 - 1) / 4 / 10^9 = 2638.2
        assert_eq!(Base::integer(0.16, 9.6), Base::Integer { p: 0, alpha: 42, beta: 2638 });
        // A gain that misses a multiple of 1/256 by a rounding error of f64 counts as that multiple. Here, both gains
        // count as 10 = 2560/256, and 2560 (2^32 - 1) / 4 / 10^9 = 2748.8.
        assert_eq!(Base::integer(10.0 - 1e-14, 0.3 / 0.03), Base::Integer { p: 0, alpha: 2748, beta: 2748 });
        // The delay rises from 18 to 20 ms, 5 ms above the target of 15 ms, so (5e6 x 44 + 2e6 x 879) / 64 = 30 906 250 is added to
        // p' = 0.1.
        let tenth = 429_496_730;
        let mut pi = pi2(Base::Integer { p: tenth, alpha: 44, beta: 879 }, true);
        pi.qdelay_old = Duration(18 * MS);
        pi.update(Duration(20 * MS));
        assert_eq!(pi.base, Base::Integer { p: tenth + 30_906_250, alpha: 44, beta: 879 });
        // p' = 0.10720, so p_C = p'^2 = 1.149 % and p_CL = 2 p' = 21.44 %
        assert!((pi.p() * pi.p() - 0.01149).abs() < 5e-6 && (pi.coupled() - 0.2144).abs() < 5e-5, "{}", pi.p());
        // the delay falls from 20 ms to 0, 15 ms below the target, so (15e6 x 44 + 20e6 x 879) / 64 = 285 000 000 is subtracted
        pi.update(Duration::ZERO);
        assert_eq!(pi.base, Base::Integer { p: tenth + 30_906_250 - 285_000_000, alpha: 44, beta: 879 });
        // If the delay stays 1 ns above the target of 15 ms, the step is 44 / 64; if it stays 1 ns below, the step is
        // -44 / 64. Both steps are rounded towards zero, so p' does not change.
        let mut pi = pi2(Base::Integer { p: 1000, alpha: 44, beta: 879 }, true);
        for ns in [15 * MS + 1, 15 * MS - 1] {
            pi.qdelay_old = Duration(ns);
            pi.update(Duration(ns));
            assert_eq!(pi.base, Base::Integer { p: 1000, alpha: 44, beta: 879 });
        }
        // p' neither exceeds its maximum nor falls below 0
        pi.qdelay_old = Duration::ZERO;
        pi.update(Duration::from_secs(10));
        assert_eq!(pi.base, Base::Integer { p: u32::MAX, alpha: 44, beta: 879 });
        pi.update(Duration::ZERO);
        assert_eq!(pi.base, Base::Integer { p: 0, alpha: 44, beta: 879 });
    }

    #[test]
    fn one_update_of_rfc_9332() {
        // p' is 0.1, and the delay rises from 18 to 20 ms, 5 ms above the target of 15 ms. So p' becomes 0.1 + 0.15 x 0.005 + 3 x
        // 0.002 = 0.10675
        let mut pi = pi2(Base::Real { p: 0.1, alpha: 0.15, beta: 3.0 }, true);
        pi.qdelay_old = Duration(18 * MS);
        pi.update(Duration(20 * MS));
        assert!((pi.p() - 0.10675).abs() < 1e-15, "{}", pi.p());
        // The delay falls from 20 ms to 0, so the step is -0.15 x 0.015 - 3 x 0.020 = -0.06225. Then the delay stays at 0, so the
        // next step is -0.15 x 0.015 = -0.00225.
        pi.update(Duration::ZERO);
        assert!((pi.p() - 0.0445).abs() < 1e-15, "{}", pi.p());
        pi.update(Duration::ZERO);
        assert!((pi.p() - 0.04225).abs() < 1e-15, "{}", pi.p());
    }

    #[test]
    fn overload_begins_at_one_over_k() {
        let real = |p, drop| pi2(Base::Real { p, alpha: 0.15, beta: 3.0 }, drop);
        assert!(!real(0.4999, true).overload() && real(0.5, true).overload());
        let integer = |p, drop| pi2(Base::Integer { p, alpha: 44, beta: 879 }, drop);
        // With p' in units of 2^-32, overload begins when k p' exceeds 2^32 - 1. Here k = 2: p' = 2^31 - 1 gives 2^32 -
        // 2, which is not overload, and p' = 2^31 gives 2^32, which is.
        assert!(!integer((1 << 31) - 1, true).overload() && integer(1 << 31, true).overload());
        // with `drop_overload` off, p' is at most 1/k and there is no overload
        for mut pi in [real(0.4, false), integer(1 << 30, false)] {
            pi.update(Duration::from_secs(100));
            assert!((pi.p() - 0.5).abs() < 1e-9 && !pi.overload(), "{}", pi.p());
        }
    }

    #[test]
    fn recur_hits_on_packets_3_5_7() {
        let mut recur = Recur::default();
        let hits: Vec<usize> = (1..=8).filter(|_| recur.hit(0.5)).collect();
        // The sum is 0.5 after the first draw, 1.0 after the second, which does not exceed 1, and 1.5 after the third.
        // So the third draw is a hit, and the sum is 0.5 again. From then on, every second draw raises the sum to 1.5
        // and is a hit.
        assert_eq!(hits, [3, 5, 7]);
        let mut recur = Recur::default();
        // the probabilities of 10 000 packets add up to 10 000 / 32 = 312.5, so there are 312 hits
        assert_eq!((0..10_000).filter(|_| recur.hit(1.0 / 32.0)).count(), 312);
    }

    #[test]
    fn linux_draws_hit_as_often_as_p_says() {
        let (mut rng, mut recur) = (Rng::named(1, "draws"), Recur::default());
        let pi = pi2(Base::Integer { p: 1 << 30, alpha: 44, beta: 879 }, true);
        // p' = 1/4, so p_C = 1/16 and p_CL = 1/2. In 100 000 draws, the standard deviation of the number of hits is 77
        // for classic signals and 158 for scalable signals.
        let classic = (0..100_000).filter(|_| pi.classic(&mut recur, &mut rng)).count();
        let scalable = (0..100_000).filter(|_| pi.scalable(0.0, &mut recur, &mut rng)).count();
        assert!(classic.abs_diff(6250) < 310 && scalable.abs_diff(50_000) < 640, "{classic} {scalable}");
    }
}
