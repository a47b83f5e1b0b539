//! A link like Starlink: every 15 s (by default) it changes to another satellite or beam, with a new rate and a new
//! delay, and sometimes after an outage.
//!
//! ```text
//! each frame (1/750 s)   rate / 8 / 750 bytes, delivered at the next whole ms
//! each `interval`        a new rate and added delay are drawn; with probability `outage`, the interval begins without service
//!                        (except the first)
//!
//! mean carried = rate x (1 - outage x mean outage / interval)
//! ```
//!
//! Source: links are reassigned every 15 s, worldwide at the same moments, and latency and throughput change in steps at
//! those moments (Mohan et al., A Multifaceted Look at Starlink Performance, WWW 2024, abstract). Frames of 1/750 s:
//! Humphreys et al., Signal Structure of the Starlink Ku-Band Downlink, 2023. The size of the steps, and the frequency and
//! length of outages, are round numbers of ours, not verified. Set them to your own measurements.
//! Departs: the seed determines the point within an interval at which the run starts; nothing changes within an interval; a user
//! gets a share of every frame.

use super::opportunity::Opportunity;
use super::synthetic::{Accumulator, MS, OPPORTUNITY, Rates, between, rising, whole_ms, with_burst};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Duration, Prob, Problem, Rng, Time};
use units::{require, within};

/// Frames per second.
const FRAMES: u64 = 750;

/// A link like Starlink. Rate and delay change after each `interval`. Some intervals, but never the first, begin with
/// an outage. The link's random numbers depend only on the scenario's seed and the link's name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StarlinkParams {
    /// Mean rate without outages. With them, the link delivers less.
    pub rate: BitRate,
    /// Ratio of the highest to the lowest rate; 1 gives a constant rate.
    pub swing: f64,
    /// Time for which rate and delay stay the same. The run starts at a random point of an interval.
    pub interval: Duration,
    /// Largest delay that is added to the link's `delay`. The added delay of each interval is drawn uniformly from zero
    /// to this value.
    pub delay_swing: Duration,
    /// Probability that an interval begins with an outage, a time in which the link sends nothing.
    pub outage: Prob,
    /// Shortest outage.
    pub outage_min: Duration,
    /// Longest outage.
    pub outage_max: Duration,
}

impl Default for StarlinkParams {
    fn default() -> Self {
        Self {
            rate: BitRate(100_000_000),
            swing: 4.0,
            interval: Duration::from_secs(15),
            delay_swing: Duration::from_millis(15),
            outage: Prob::new(0.1).unwrap_or_default(),
            outage_min: Duration::from_millis(50),
            outage_max: Duration::from_secs(1),
        }
    }
}

impl StarlinkParams {
    /// Checks the parameters. The error names the first invalid field.
    pub(crate) fn validate(&self) -> Result<(), Problem> {
        Rates::validate(self.rate, self.swing)?;
        let (ms, s) = (Duration::from_millis(1), Duration::from_secs(1));
        whole_ms("interval", self.interval, ms * 100, s * 3600)?;
        within("delay_swing", self.delay_swing, Duration::ZERO, s)?;
        for (name, time) in [("outage_min", self.outage_min), ("outage_max", self.outage_max)] {
            whole_ms(name, time, ms, s * 60)?;
        }
        rising(("outage_min", self.outage_min), ("outage_max", self.outage_max))?;
        let message = format!("{} is not valid; expected less than the interval, {}", self.outage_max, self.interval);
        require(self.outage_max < self.interval, "outage_max", message)
    }

    /// Returns the mean rate that the link carries, taking outages into account.
    pub(crate) fn mean_rate(&self) -> BitRate {
        let outage = (self.outage_min.secs() + self.outage_max.secs()) / 2.0;
        BitRate((self.rate.0 as f64 * (1.0 - self.outage.get() * outage / self.interval.secs())) as u64)
    }

    /// Returns an upper bound on the rate in any interval.
    pub(crate) fn peak_rate(&self) -> BitRate {
        Rates::new(self.rate, self.swing).most()
    }

    /// Returns an upper bound on the mean rate over any `span`. The bytes that arrive in a span may include bytes that
    /// accumulated before the span: in the frame that ends at its start, and while an opportunity was not yet full.
    pub(crate) fn max_rate_over(&self, span: Duration) -> BitRate {
        let peak = self.peak_rate();
        with_burst(peak, Duration::from_millis(2) + peak.time_for(OPPORTUNITY), span)
    }
}

/// Generates the link's transmission opportunities, frame by frame.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Starlink {
    p: StarlinkParams,
    rates: Rates,
    rng: Rng,
    frame: u64,
    /// End of the current interval, in ms.
    ends: u64,
    /// Time at which the link begins to send in the current interval, after an outage if there is one.   Unit: ms.
    serves: u64,
    /// Bytes per frame in the current interval.
    bytes: f64,
    /// Delay added in the current interval.
    extra_delay: Duration,
    whole: Accumulator,
}

impl Starlink {
    pub(crate) fn new(p: &StarlinkParams, mut rng: Rng) -> Self {
        // the run starts at a random point within an interval, so the end of the first interval is random. The first
        // interval has no outage
        let ends = between(&mut rng, Duration(MS), p.interval);
        let rates = Rates::new(p.rate, p.swing);
        let mut link = Self {
            p: p.clone(),
            rates,
            rng,
            frame: 0,
            ends,
            serves: 0,
            bytes: 0.0,
            extra_delay: Duration::ZERO,
            whole: Accumulator::default(),
        };
        link.draw();
        link
    }

    fn draw(&mut self) {
        self.bytes = self.rates.draw(&mut self.rng) / 8.0 / FRAMES as f64;
        self.extra_delay = Duration(self.rng.below(self.p.delay_swing.0.saturating_add(1)));
    }

    /// Returns the next opportunity. Bound: one iteration for each frame. Outside outages, an opportunity fills up within
    /// a few thousand frames, even at the lowest valid rate.
    pub(crate) fn next(&mut self) -> Opportunity {
        loop {
            self.frame += 1;
            // there are 750 frames per second, so frame k ends at 1000 k / 750 = 4 k / 3 ms
            let now = (self.frame * 4).div_ceil(3);
            if now > self.ends {
                let outage = if self.rng.chance(self.p.outage.get()) {
                    between(&mut self.rng, self.p.outage_min, self.p.outage_max)
                } else {
                    0
                };
                self.serves = self.ends + outage;
                self.ends += self.p.interval.0 / MS;
                self.draw();
            }
            if now <= self.serves {
                continue;
            }
            let bytes = self.whole.take(self.bytes);
            if bytes > 0 {
                return Opportunity {
                    at: Time(now.saturating_mul(MS)),
                    bytes,
                    packets: u64::MAX,
                    extra_delay: self.extra_delay,
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opportunities(p: &StarlinkParams, seconds: u64) -> Vec<Opportunity> {
        p.validate().unwrap();
        let mut link = Starlink::new(p, Rng::named(1, "link.down.delivery"));
        let all = std::iter::from_fn(|| Some(link.next()));
        all.take_while(|o| o.at.0 <= seconds * 1_000_000_000).collect()
    }

    #[test]
    fn rate_and_delay_step_every_15_s() {
        let p = StarlinkParams { outage: Prob::default(), ..StarlinkParams::default() };
        let all = opportunities(&p, 600);
        let steps: Vec<Time> =
            all.windows(2).filter(|w| w[0].extra_delay != w[1].extra_delay).map(|w| w[1].at).collect();
        assert_eq!(steps.len(), 40);
        // a change of the delay shows only at the next opportunity, at most 2 ms later (a frame of 4/3 ms, rounded up
        // to whole ms). The times between the changes themselves are multiples of 15 s
        let off = |t: &Time| (t.0 - steps[0].0 + 2 * MS) % (15_000 * MS);
        assert!(steps.iter().all(|t| off(t) <= 4 * MS), "{steps:?}");
        assert!(all.iter().all(|o| o.extra_delay <= p.delay_swing));
        // the rate is constant within an interval, so its first and tenth second carry about the same number of bytes
        let sent = |from: u64| -> u64 {
            let (from, to) = (Time(from), Time(from + 1_000_000_000));
            all.iter().filter(|o| o.at > from && o.at <= to).map(|o| o.bytes).sum()
        };
        for step in &steps[..39] {
            assert!(sent(step.0).abs_diff(sent(step.0 + 9_000_000_000)) <= 250_000, "{step}");
            assert!((sent(step.0) * 8) as f64 <= p.peak_rate().0 as f64 * 1.01);
        }
    }

    #[test]
    fn no_span_carries_more_than_its_bound() {
        for rate in [BitRate(1_000_000), StarlinkParams::default().rate] {
            let p = StarlinkParams { rate, ..StarlinkParams::default() };
            let all = opportunities(&p, 60);
            // checks all spans of 1, 10 and 50 ms that begin with an opportunity
            for span in [1, 10, 50].map(Duration::from_millis) {
                let bound = p.max_rate_over(span).bytes_in(span);
                let carried = |i: usize| -> u64 {
                    all[i..].iter().take_while(|o| o.at < all[i].at + span).map(|o| o.bytes).sum()
                };
                let most = (0..all.len()).map(carried).max().unwrap();
                assert!(most <= bound, "{rate}, {span}: {most} of {bound} bytes");
            }
        }
    }

    #[test]
    fn its_mean_and_its_outages() {
        let p = StarlinkParams { outage: Prob::new(0.5).unwrap(), ..StarlinkParams::default() };
        let all = opportunities(&p, 36_000);
        let gaps: Vec<u64> = all.windows(2).map(|w| (w[1].at.0 - w[0].at.0) / MS).filter(|g| *g > 10).collect();
        // on average, half of the 2400 intervals have an outage; the standard deviation is 24.5 intervals
        assert!((1100..=1300).contains(&gaps.len()), "{}", gaps.len());
        assert!(gaps.iter().all(|g| (50..=1004).contains(g)));
        let rate = all.iter().map(|o| o.bytes as f64).sum::<f64>() * 8.0 / 36_000.0;
        // the standard deviation of one draw is 0.39 times the mean, so the standard deviation of the average of 2400
        // draws is 0.8 % of the mean
        assert!((rate / p.mean_rate().0 as f64 - 1.0).abs() < 0.025, "{rate}");
    }
}
