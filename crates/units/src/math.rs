//! Elementary functions and distributions that give the same bits on every machine.
//!
//! Rust's `f64::ln` and similar functions call the platform's libm, whose last digit differs between systems. The crate `libm`,
//! written in Rust, gives the same result everywhere. IEEE 754 determines every bit of `sqrt` and of the four operations.

use crate::Rng;
pub use libm::{cbrt, exp, log as ln, log10, pow};

/// Draws from the exponential distribution with this mean.
pub fn exponential(rng: &mut Rng, mean: f64) -> f64 {
    // 1 - u lies in (0, 1], so the logarithm is finite
    -mean * ln(1.0 - rng.unit())
}

/// Draws from the normal distribution using Marsaglia's polar method, which needs no sine.
pub fn normal(rng: &mut Rng, mean: f64, sd: f64) -> f64 {
    // Each try succeeds with probability pi/4; 200 failures in a row have probability 2e-134.
    for _ in 0..200 {
        let u = 2.0 * rng.unit() - 1.0;
        let v = 2.0 * rng.unit() - 1.0;
        let s = u * u + v * v;
        if s > 0.0 && s < 1.0 {
            return mean + sd * u * (-2.0 * ln(s) / s).sqrt();
        }
    }
    mean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_the_distributions() {
        let mut rng = Rng::named(1, "math");
        let n = 200_000;
        let (mut e, mut s, mut q) = (0.0, 0.0, 0.0);
        for _ in 0..n {
            e += exponential(&mut rng, 3.0);
            let x = normal(&mut rng, 2.0, 0.5);
            s += x;
            q += x * x;
        }
        let n = f64::from(n);
        let mean = s / n;
        // the tolerance of each mean is five standard errors: 5 x 3/sqrt(n) = 0.034 for the exponential distribution and 5 x
        // 0.5/sqrt(n) = 0.006 for the normal one
        assert!((e / n - 3.0).abs() < 0.034);
        assert!((mean - 2.0).abs() < 0.006);
        assert!((q / n - mean * mean - 0.25).abs() < 0.005);
    }
}
