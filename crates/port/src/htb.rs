//! HTB: a shaper that sends first and charges afterwards, as Linux's hierarchical token bucket does with one class.
//!
//! ```text
//! tokens  <- min(burst,  tokens  + dt x rate / 8)       both buckets start full
//! ctokens <- min(cburst, ctokens + dt x ceil / 8)
//! the head may go while tokens >= 0 and ctokens >= 0, whatever its size; then both -= size
//! ```
//!
//! So an idle link lets a frame go at once, and a busy one waits until what was sent is paid for. A [`TokenBucket`] waits
//! until the tokens for the next packet are there, and holds it: HTB leaves it in the queue, where it can still be dropped.
//! It does not ask an empty queue for a packet, so a discipline is not told that the link is idle (RED's average stays).
//! While the buckets are in debt, every departure is the size of the packet *before* it away from the last one.
//!
//! Source: tc-htb(8); M. Devera, "HTB theory" (2002): a class is green while its rate is below the assured one.
//! Units: tokens are 1e-9 bit (see [`Bucket`]).
//! Departs: one class without a parent, so nothing is borrowed; `overhead`, `mpu` and `linklayer` are not there.
//!
//! [`TokenBucket`]: docsis::TokenBucket

use docsis::{Bucket, MAX_BURST};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Duration, Problem, Time};

/// The class of a link that HTB shapes, with tc's names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HtbParams {
    /// What the class is given; null: the link's own `rate`, and what HTB lets go leaves in no time. With a rate here, the
    /// link's is that of the interface behind the shaper, which takes a packet when it has sent the one before.
    pub rate: Option<BitRate>,
    /// Highest rate while `burst` lasts; null: the same as the rate.
    pub ceil: Option<BitRate>,
    /// Bytes that may go at `ceil` in excess of the rate. tc's default for a rate below 8 Gbit/s and an MTU of 1500.
    pub burst: Bytes,
    /// Bytes that may go at the speed of the interface in excess of `ceil`.
    pub cburst: Bytes,
}

impl Default for HtbParams {
    fn default() -> Self {
        Self { rate: None, ceil: None, burst: Bytes(1600), cburst: Bytes(1600) }
    }
}

impl HtbParams {
    /// The rate of the class on a link of rate `link`.
    pub fn rate_on(&self, link: Option<BitRate>) -> Option<BitRate> {
        self.rate.or(link)
    }

    /// The first thing that is wrong, by field name, on a link of rate `link`.
    pub(crate) fn validate(&self, link: Option<BitRate>) -> Result<(), Problem> {
        let Some(rate) = self.rate_on(link) else {
            return Err(Problem::new("rate", "there is none, and the link has none, either; expected a positive rate"));
        };
        if self.rate == Some(BitRate(0)) {
            return Err(Problem::new("rate", "0bit is not valid; expected a positive rate"));
        }
        if let Some(ceil) = self.ceil.filter(|c| *c < rate) {
            let message = format!("{ceil} is not valid; expected at least the rate, {rate}, or null for the same");
            return Err(Problem::new("ceil", message));
        }
        for (path, bytes) in [("burst", self.burst), ("cburst", self.cburst)] {
            if !(1..=MAX_BURST).contains(&bytes.0) {
                return Err(Problem::new(path, format!("{bytes} is not valid; expected 1B to 1GB")));
            }
        }
        Ok(())
    }
}

/// The buckets at work.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Htb {
    tokens: Bucket,
    ctokens: Bucket,
    at: Time,
    /// Whether the class has the link's rate.
    rate_of_link: bool,
    /// Whether `ceil` is the rate, whatever that is.
    ceil_is_rate: bool,
}

impl Htb {
    /// Both buckets full at time 0. The parameters are valid on a link of rate `link`.
    pub(crate) fn new(p: &HtbParams, link: Option<BitRate>) -> Self {
        let rate = p.rate_on(link).unwrap_or(BitRate(u64::MAX));
        Self {
            tokens: Bucket::full(rate, p.burst),
            ctokens: Bucket::full(p.ceil.unwrap_or(rate), p.cburst),
            at: Time::ZERO,
            rate_of_link: p.rate.is_none(),
            ceil_is_rate: p.ceil.is_none(),
        }
    }

    fn refill(&mut self, now: Time) {
        let dt = now.since(self.at);
        self.tokens.fill(dt);
        self.ctokens.fill(dt);
        self.at = now;
    }

    /// Charges a packet of `bytes` that goes at `now`, and returns how long the next one waits: zero while neither bucket is in
    /// debt.
    #[inline]
    pub(crate) fn charge(&mut self, now: Time, bytes: u64) -> Duration {
        self.refill(now);
        self.tokens.charge(bytes);
        self.ctokens.charge(bytes);
        self.wait()
    }

    /// How long after the last call until neither bucket is in debt.
    fn wait(&self) -> Duration {
        let none = Duration::ZERO;
        self.tokens.wait(0).unwrap_or(none).max(self.ctokens.wait(0).unwrap_or(none))
    }

    /// How long a packet of `bytes` takes on an interface of rate `link`.
    #[inline]
    pub(crate) fn serialize(&self, link: Option<BitRate>, bytes: u64) -> Duration {
        link.filter(|_| !self.rate_of_link).map_or(Duration::ZERO, |r| r.time_for(bytes))
    }

    /// From `now` on, other rates (positive); `None` keeps one. The buckets keep what they hold, debts included. Returns when
    /// the next packet may go.
    pub(crate) fn set_rates(&mut self, now: Time, rate: Option<BitRate>, ceil: Option<BitRate>) -> Time {
        self.refill(now);
        rate.into_iter().for_each(|r| self.tokens.set_rate(r));
        if let Some(ceil) = ceil.or(rate.filter(|_| self.ceil_is_rate)) {
            self.ctokens.set_rate(ceil);
        }
        now + self.wait()
    }

    /// Whether a change of the link's rate is one of the class.
    pub(crate) fn follows_link(&self) -> bool {
        self.rate_of_link
    }

    /// The class's rate.
    #[inline]
    pub(crate) fn rate(&self) -> BitRate {
        self.tokens.rate()
    }

    /// The class's ceil.
    #[inline]
    pub(crate) fn ceil(&self) -> BitRate {
        self.ctokens.rate()
    }

    /// Whole bytes that may leave at `ceil`.
    #[inline]
    pub(crate) fn tokens(&self, now: Time) -> Bytes {
        self.tokens.bytes_after(now.since(self.at))
    }
}
