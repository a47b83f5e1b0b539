//! A link like LTE: grants, retransmitted blocks, a rate that varies, and handovers.
//!
//! ```text
//! each ms (TTI)      earned += rate / 8000, except in a handover; a new rate is drawn every `change_every`
//! at a grant         one block of all earned bytes is sent; it fails with probability `block_error`, and is then sent again
//!                    `harq` later, at most three times; each retransmission also uses up earned bytes
//! in order           RLC delivers blocks in sending order: blocks behind a failed block wait for it
//! handover           no service for a time drawn from `handover_min` to `handover_max`
//!
//! mean carried = rate / (1 + p + p^2 + p^3) x every / (every + mean gap)
//! ```
//!
//! Source: 3GPP TS 36.321 (TTI of 1 ms, 8 HARQ processes). Schedulers aim to retransmit about a tenth of the blocks
//! (Sauter, From GSM to LTE, on HARQ). The interval between grants and the speed and range of the rate's variation are
//! round numbers, not measurements.
//! Departs: no scheduling request, no other users, no bearer; the user's rate is drawn at random, not computed.

use super::opportunity::Opportunity;
use super::synthetic::{Accumulator, MS, OPPORTUNITY, Rates, between, rising, whole_ms, with_burst};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::within;
use units::{BitRate, Duration, Prob, Problem, Rng, Time};

/// Maximum number of retransmissions of a block. After the last retransmission, the block counts as delivered.
const AGAIN: u32 = 3;

/// Direction of the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// To the phone: by default, a grant every ms.
    #[default]
    Down,
    /// From the phone: by default, a grant every 5 to 20 ms.
    Up,
}

/// A link like LTE. At each grant, the link sends one block: as many bytes as its rate has allowed since the last
/// grant. A block whose transmission fails is retransmitted. The third retransmission of a block always succeeds. The
/// link's random numbers depend only on the scenario's seed and the link's name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LteParams {
    /// Direction of the data. It determines the defaults of `grant_min` and `grant_max`.
    pub way: Way,
    /// Mean rate without retransmissions and handovers. With them, the link delivers less.
    pub rate: BitRate,
    /// Ratio of the highest to the lowest rate; 1 gives a constant rate.
    pub swing: f64,
    /// Time after which a new rate is drawn.
    pub change_every: Duration,
    /// Shortest time between grants; null: 1ms if `way` is `down`, 5ms if it is `up`.
    pub grant_min: Option<Duration>,
    /// Longest time between grants; null: 1ms if `way` is `down`, 20ms if it is `up`.
    pub grant_max: Option<Duration>,
    /// Probability that a transmission of a block fails.
    pub block_error: Prob,
    /// Time from a failed transmission of a block to its retransmission.
    pub harq: Duration,
    /// Mean time from the end of a handover to the start of the next; 0s: no handovers. Each time is drawn uniformly from 0.5
    /// to 1.5 times the mean.
    pub handover_every: Duration,
    /// Shortest duration of a handover. The link sends nothing during a handover.
    pub handover_min: Duration,
    /// Longest duration of a handover.
    pub handover_max: Duration,
}

impl Default for LteParams {
    fn default() -> Self {
        Self {
            way: Way::default(),
            rate: BitRate(20_000_000),
            swing: 10.0,
            change_every: Duration::from_millis(500),
            grant_min: None,
            grant_max: None,
            block_error: Prob::new(0.1).unwrap_or_default(),
            harq: Duration::from_millis(8),
            handover_every: Duration::from_secs(30),
            handover_min: Duration::from_millis(50),
            handover_max: Duration::from_secs(1),
        }
    }
}

impl LteParams {
    fn grants(&self) -> (Duration, Duration) {
        let (least, most) = match self.way {
            Way::Down => (1, 1),
            Way::Up => (5, 20),
        };
        let (least, most) = (Duration::from_millis(least), Duration::from_millis(most));
        (self.grant_min.unwrap_or(least), self.grant_max.unwrap_or(most))
    }

    /// Checks the parameters. The error names the first invalid field.
    pub(crate) fn validate(&self) -> Result<(), Problem> {
        Rates::validate(self.rate, self.swing)?;
        let (ms, s) = (Duration::from_millis(1), Duration::from_secs(10));
        let grants = self.grants();
        for (name, time, most) in [
            ("change_every", self.change_every, s * 360),
            ("grant_min", grants.0, s),
            ("grant_max", grants.1, s),
            ("harq", self.harq, s),
            ("handover_min", self.handover_min, s),
            ("handover_max", self.handover_max, s),
        ] {
            whole_ms(name, time, ms, most)?;
        }
        if !self.handover_every.is_zero() {
            whole_ms("handover_every", self.handover_every, ms * 100, s * 360)?;
        }
        rising(("grant_min", grants.0), ("grant_max", grants.1))?;
        rising(("handover_min", self.handover_min), ("handover_max", self.handover_max))?;
        within("block_error", self.block_error.get(), 0.0, 0.9)
    }

    /// Returns the mean rate that the link can deliver: `rate`, reduced by retransmissions and handovers.
    pub(crate) fn mean_rate(&self) -> BitRate {
        let p = self.block_error.get();
        let sent = 1.0 + p + p * p + p * p * p;
        let gap = (self.handover_min.secs() + self.handover_max.secs()) / 2.0;
        let every = self.handover_every.secs();
        let served = if every > 0.0 { every / (every + gap) } else { 1.0 };
        BitRate((self.rate.0 as f64 * served / sent) as u64)
    }

    /// Returns an upper bound on the rates that the link draws.
    pub(crate) fn peak_rate(&self) -> BitRate {
        Rates::new(self.rate, self.swing).most()
    }

    /// Returns an upper bound on the mean rate over any `span`. The bytes that arrive in a span may include bytes that
    /// accumulated before the span: during up to `AGAIN` retransmissions, during one interval between grants, and while
    /// an opportunity was not yet full.
    pub(crate) fn max_rate_over(&self, span: Duration) -> BitRate {
        let peak = self.peak_rate();
        let waiting = self.harq * u64::from(AGAIN) + self.grants().1 + peak.time_for(OPPORTUNITY);
        with_burst(peak, waiting, span)
    }
}

/// Generates the opportunities of the link, one millisecond at a time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lte {
    p: LteParams,
    rates: Rates,
    rng: Rng,
    /// Number of the current TTI, which is also the time in ms, because a TTI lasts 1 ms. All times in this struct are
    /// in ms.
    now: u64,
    /// Rate until `drawn_until`.   Unit: bytes per ms.
    rate: f64,
    drawn_until: u64,
    /// Number of bytes that may be sent at the next grant. Outside handovers, it grows by `rate` every ms. Each
    /// retransmission reduces it by the size of the block, so it may be negative.
    earned: f64,
    grant_at: u64,
    handover_at: u64,
    /// Delivery time and bytes of each block not yet delivered. The times never decrease.
    blocks: VecDeque<(u64, f64)>,
    whole: Accumulator,
}

impl Lte {
    pub(crate) fn new(p: &LteParams, mut rng: Rng) -> Self {
        let handover_at =
            if p.handover_every.is_zero() { u64::MAX } else { between(&mut rng, Duration(MS), p.handover_every) };
        Self {
            p: p.clone(),
            rates: Rates::new(p.rate, p.swing),
            rng,
            now: 0,
            rate: 0.0,
            drawn_until: 0,
            earned: 0.0,
            grant_at: 1,
            handover_at,
            blocks: VecDeque::new(),
            whole: Accumulator::default(),
        }
    }

    /// Returns the next opportunity. Bound: one iteration for each ms. Even at the lowest valid rate, an opportunity
    /// fills up within a few thousand ms, unless there are retransmissions or long intervals between grants.
    pub(crate) fn next(&mut self) -> Opportunity {
        loop {
            self.now += 1;
            self.tti();
            let mut bytes = 0.0;
            while let Some((_, block)) = self.blocks.pop_front_if(|(at, _)| *at <= self.now) {
                bytes += block;
            }
            let bytes = self.whole.take(bytes);
            if bytes > 0 {
                return Opportunity {
                    at: Time(self.now.saturating_mul(MS)),
                    bytes,
                    packets: u64::MAX,
                    extra_delay: Duration::ZERO,
                };
            }
        }
    }

    fn tti(&mut self) {
        if self.now > self.drawn_until {
            self.rate = self.rates.draw(&mut self.rng) / 8000.0;
            self.drawn_until = self.now - 1 + self.p.change_every.0 / MS;
        }
        if self.now >= self.handover_at {
            let gap = between(&mut self.rng, self.p.handover_min, self.p.handover_max);
            let every = self.p.handover_every;
            let half = Duration(every.0 / 2);
            // `now` is the first ms without service, so `now` + `gap` is the first ms with service
            self.now += gap;
            self.handover_at = self.now + between(&mut self.rng, half, every + half);
            self.grant_at = self.grant_at.max(self.now);
        }
        self.earned += self.rate;
        if self.now < self.grant_at {
            return;
        }
        let (least, most) = self.p.grants();
        self.grant_at = self.now + between(&mut self.rng, least, most);
        if self.earned <= 0.0 {
            return;
        }
        let block = std::mem::take(&mut self.earned);
        let mut again = 0;
        while again < AGAIN && self.rng.chance(self.p.block_error.get()) {
            again += 1;
        }
        self.earned -= block * f64::from(again);
        let at = self.now + u64::from(again) * (self.p.harq.0 / MS);
        let at = self.blocks.back().map_or(at, |(before, _)| at.max(*before));
        self.blocks.push_back((at, block));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opportunities(p: &LteParams, ms: u64) -> Vec<(u64, u64)> {
        p.validate().unwrap();
        let mut link = Lte::new(p, Rng::named(1, "link.down.delivery"));
        let all = std::iter::from_fn(|| Some(link.next())).map(|o| (o.at.0 / MS, o.bytes));
        all.take_while(|(at, _)| *at <= ms).collect()
    }

    fn mean(p: &LteParams, ms: u64) -> f64 {
        opportunities(p, ms).iter().map(|o| o.1 as f64).sum::<f64>() * 8000.0 / ms as f64
    }

    fn steady() -> LteParams {
        let block_error = Prob::default();
        LteParams { swing: 1.0, block_error, handover_every: Duration::ZERO, ..LteParams::default() }
    }

    #[test]
    fn without_random_effects_it_is_a_constant_rate() {
        // 20 Mbit/s is 2500 B per ms, so the bytes earned after 1, 2, 3 and 4 ms are enough for 1.66, 3.32, 4.99 and
        // 6.65 opportunities of 1504 B
        let all = opportunities(&steady(), 1000);
        assert_eq!(all[..4], [(1, 1504), (2, 3008), (3, 1504), (4, 3008)]);
        assert_eq!(all.iter().map(|o| o.1).sum::<u64>(), 2_500_000 / 1504 * 1504);
        // upstream, the same number of bytes is sent in grants that are 5 to 20 ms apart
        let up = LteParams { way: Way::Up, ..steady() };
        let all = opportunities(&up, 10_000);
        let gaps: Vec<u64> = all.windows(2).map(|w| w[1].0 - w[0].0).collect();
        assert_eq!((gaps.iter().min(), gaps.iter().max()), (Some(&5), Some(&20)));
        assert!((mean(&up, 100_000) / 20e6 - 1.0).abs() < 0.001);
    }

    #[test]
    fn blocks_are_sent_again_8_ms_later_and_in_order() {
        let p = LteParams { block_error: Prob::new(0.1).unwrap(), ..steady() };
        let all = opportunities(&p, 100_000);
        let gaps: Vec<u64> = all.windows(2).map(|w| w[1].0 - w[0].0).collect();
        // a block that fails once arrives 8 ms late. It was sent 1 ms after the previous block, so it arrives 9 ms
        // after that block. The next blocks must wait for the late block, and arrive at the same time. A block that
        // fails three times arrives 3 x 8 + 1 = 25 ms after the previous block
        assert!(gaps.iter().filter(|g| **g == 9).count() > 1000, "{:?}", gaps.iter().max());
        assert_eq!(gaps.iter().max(), Some(&25));
        // a block is sent 1 + p + p^2 + p^3 = 1.111 times on average, so a link of 20 Mbit/s carries 18.0 Mbit/s
        assert!((mean(&p, 100_000) / (20e6 / 1.111) - 1.0).abs() < 0.01, "{}", mean(&p, 100_000));
    }

    #[test]
    fn no_span_carries_more_than_its_bound() {
        let block_error = Prob::new(0.3).unwrap();
        for way in [Way::Down, Way::Up] {
            let p = LteParams { way, block_error, ..steady() };
            let all = opportunities(&p, 20_000);
            // checks all spans of 1, 10 and 50 ms that begin with an opportunity
            for ms in [1, 10, 50] {
                let bound = p.max_rate_over(Duration::from_millis(ms)).bytes_in(Duration::from_millis(ms));
                let carried =
                    |i: usize| -> u64 { all[i..].iter().take_while(|o| o.0 - all[i].0 < ms).map(|o| o.1).sum() };
                let most = (0..all.len()).map(carried).max().unwrap();
                assert!(most <= bound, "{way:?}, {ms} ms: {most} of {bound} bytes");
            }
        }
    }

    #[test]
    fn its_mean_and_its_swing() {
        let p = LteParams { swing: 10.0, ..steady() };
        // there are 72 000 draws in 10 h. One draw has a standard deviation of 0.64 times the mean, so the average of all draws
        // has a standard deviation of 0.0024 times the mean
        assert!((mean(&p, 36_000_000) / 20e6 - 1.0).abs() < 0.008, "{}", mean(&p, 36_000_000));
        let mut by_draw = vec![0.0; 240];
        for (at, bytes) in opportunities(&p, 120_000) {
            by_draw[((at - 1) / 500) as usize] += bytes as f64;
        }
        let ratio = |w: &[f64]| (w[0] / w[1]).max(w[1] / w[0]);
        let steps: Vec<f64> = by_draw.windows(2).map(ratio).collect();
        assert!(steps.iter().all(|r| *r < 10.1), "no step beyond the swing");
        // the logarithm of the rate is uniformly distributed, and the highest rate is 10 times the lowest. So the rate
        // changes by more than a factor of 2 with probability (1 - lg 2)^2 = 0.489
        let share = steps.iter().filter(|r| **r > 2.0).count() as f64 / steps.len() as f64;
        assert!((share - 0.489).abs() < 0.1, "{share}");
    }

    #[test]
    fn handovers_leave_gaps() {
        let p = LteParams { handover_every: Duration::from_secs(10), ..steady() };
        let all = opportunities(&p, 1_000_000);
        let gaps: Vec<u64> = all.windows(2).map(|w| w[1].0 - w[0].0).filter(|g| *g > 40).collect();
        // a handover lasts 525 ms on average, and the next handover starts 10 s after its end on average. So there is a
        // gap every 10.525 s: 95 gaps in 1000 s. A gap ends with the first TTI after the handover
        assert!((80..=110).contains(&gaps.len()), "{}", gaps.len());
        assert!(gaps.iter().all(|g| (51..=1001).contains(g)), "{gaps:?}");
        assert!((mean(&p, 1_000_000) / p.mean_rate().0 as f64 - 1.0).abs() < 0.02);
        let whole = LteParams::default();
        assert!((mean(&whole, 10_000_000) / whole.mean_rate().0 as f64 - 1.0).abs() < 0.03);
    }

    #[test]
    fn values_out_of_range_are_refused() {
        let path = |p: LteParams| p.validate().unwrap_err().path;
        assert_eq!(path(LteParams { rate: BitRate(1), ..steady() }), "rate");
        assert_eq!(path(LteParams { swing: f64::NAN, ..steady() }), "swing");
        assert_eq!(path(LteParams { harq: Duration(1), ..steady() }), "harq");
        assert_eq!(
            path(LteParams { grant_min: Some(Duration::from_millis(30)), way: Way::Up, ..steady() }),
            "grant_min"
        );
        assert_eq!(path(LteParams { block_error: Prob::new(1.0).unwrap(), ..steady() }), "block_error");
        assert_eq!(path(LteParams { handover_every: Duration(u64::MAX), ..steady() }), "handover_every");
    }
}
