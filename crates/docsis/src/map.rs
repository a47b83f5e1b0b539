//! The clock of MAPs, and the maximum size of a MAP's grant. Both models of DOCSIS 3.0 use them. The CMTS of DOCSIS 3.1
//! uses [`MaxGrant`] to draw the free capacity of a MAP.

use units::{Bytes, Duration, Prob, Rng, Time};

/// The times of MAPs, `offset + k x interval`. They are computed when needed, so an idle modem has no events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Boundaries {
    pub(crate) interval: Duration,
    offset: Duration,
}

impl Boundaries {
    pub(crate) fn new(interval: Duration, offset: Duration) -> Self {
        Self { interval, offset }
    }

    /// Returns the first boundary at or after `now`.
    pub(crate) fn boundary(&self, now: Time) -> Time {
        let since = now.0.saturating_sub(self.offset.0);
        Time(self.offset.0 + since.div_ceil(self.interval.0) * self.interval.0)
    }
}

/// The maximum size of a MAP's grant, drawn uniformly from mean +- width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MaxGrant {
    mean: Option<u64>,
    variation_ppb: u64,
    /// 1 if the drawn size can be mean + width (2012 model: "uniform mean +- range"), 0 if it is always less (2013
    /// model: U{-w..w-1}).
    upper: u64,
}

impl MaxGrant {
    pub(crate) fn new(mean: Option<Bytes>, variation: Prob, upper: u64) -> Self {
        Self { mean: mean.map(|b| b.0), variation_ppb: (variation.get() * 1e9 + 0.5) as u64, upper }
    }

    pub(crate) fn mean(&self) -> Option<u64> {
        self.mean
    }

    pub(crate) fn set_mean(&mut self, mean: Bytes) {
        self.mean = Some(mean.0);
    }

    /// Draws the maximum grant size of one MAP. If the size does not vary, no random number is drawn.
    pub(crate) fn draw(&self, rng: &mut Rng) -> u64 {
        let Some(mean) = self.mean else { return u64::MAX };
        let width = (u128::from(mean) * u128::from(self.variation_ppb) / 1_000_000_000) as u64;
        if width == 0 { mean } else { mean - width + rng.below(2 * width + self.upper) }
    }
}
