//! Code that the synthetic links share: random draws, the division of bytes into whole opportunities, and checks of
//! parameters.

use units::math::{ln, pow};
use units::{BitRate, Duration, Problem, Rng};
use units::{require, within};

/// Number of bytes in one opportunity in mahimahi. An opportunity of a synthetic link carries a multiple of this
/// number, so every synthetic link can be written in mahimahi's format.
pub(super) const OPPORTUNITY: u64 = 1504;
/// A millisecond.   Unit: ns.
pub(super) const MS: u64 = 1_000_000;

/// Lowest and highest valid mean of [`Rates`].   Unit: bit/s.
const RATES: (BitRate, BitRate) = (BitRate(100_000), BitRate(10_000_000_000));

/// Draws rates whose logarithm is uniformly distributed. The mean rate is `mean`, and the highest rate is `swing` times the
/// lowest.
///
/// ```text
/// rate(u) = mean x k x swing^(u - 1/2), u in [0, 1);   k = ln swing / (swing^(1/2) - swing^(-1/2)), so that the mean is right
/// ```
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rates {
    mean: f64,
    swing: f64,
    k: f64,
}

impl Rates {
    pub(crate) fn new(mean: BitRate, swing: f64) -> Self {
        let root = pow(swing, 0.5);
        let k = if swing > 1.0 { ln(swing) / (root - 1.0 / root) } else { 1.0 };
        Self { mean: mean.0 as f64, swing, k }
    }

    fn at(&self, u: f64) -> f64 {
        self.mean * self.k * pow(self.swing, u - 0.5)
    }

    pub(crate) fn draw(&self, rng: &mut Rng) -> f64 {
        self.at(rng.unit())
    }

    /// Returns an upper bound on the rates that [`Self::draw`] returns.
    pub(crate) fn most(&self) -> BitRate {
        BitRate((self.at(1.0) as u64).saturating_add(1))
    }

    /// Checks that a mean rate and a swing are in range. The error names the first value that is out of range.
    pub(crate) fn validate(mean: BitRate, swing: f64) -> Result<(), Problem> {
        within("rate", mean, RATES.0, RATES.1)?;
        within("swing", swing, 1.0, 100.0)
    }
}

/// Returns the mean rate over `span` of a link that sends at `rate` during the whole span, and also sends a burst at its
/// start. The burst is the amount of data that the link sends in the time `extra` at `rate`.
pub(super) fn with_burst(rate: BitRate, extra: Duration, span: Duration) -> BitRate {
    if span.is_zero() {
        return rate;
    }
    BitRate((rate.0 as f64 * (1.0 + extra.0 as f64 / span.0 as f64)) as u64)
}

/// Bytes that do not yet fill a whole opportunity.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Accumulator(f64);

impl Accumulator {
    /// Adds `bytes`, then removes the bytes that fill whole opportunities, and returns the number of bytes removed.
    pub(crate) fn take(&mut self, bytes: f64) -> u64 {
        self.0 += bytes;
        let count = (self.0 / OPPORTUNITY as f64) as u64;
        self.0 -= (count * OPPORTUNITY) as f64;
        count * OPPORTUNITY
    }
}

/// Draws a whole number of ms from `least` to `most`, including both ends.
pub(super) fn between(rng: &mut Rng, least: Duration, most: Duration) -> u64 {
    let (least, most) = (least.0 / MS, most.0 / MS);
    least + rng.below(most.saturating_sub(least) + 1)
}

/// Checks that `time` is in the range from `least` to `most` and is a whole number of ms.
pub(super) fn whole_ms(name: &str, time: Duration, least: Duration, most: Duration) -> Result<(), Problem> {
    let valid = (least..=most).contains(&time) && time.0.is_multiple_of(MS);
    require(valid, name, format!("{time} is not valid; expected {least} to {most}, in whole ms"))
}

/// Checks that the lower end of a range of times (`least`) does not exceed the upper end (`most`). Each parameter is
/// the name of a field and its value. The error names the field of the lower end.
pub(super) fn rising(least: (&str, Duration), most: (&str, Duration)) -> Result<(), Problem> {
    require(least.1 <= most.1, least.0, format!("{} is not valid; expected at most {}, {}", least.1, most.0, most.1))
}
