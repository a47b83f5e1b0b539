//! HTB: Linux's hierarchical token bucket with one class, a shaper that sends first and charges afterwards.
//!
//! ```text
//! tokens  <- min(burst,  tokens  + dt x rate / 8)       both buckets start full
//! ctokens <- min(cburst, ctokens + dt x ceil / 8)
//! a packet is sent if tokens >= 0 and ctokens >= 0, whatever its size; then both buckets lose its size
//! ```
//!
//! If no debt is left, an idle link sends a frame at once; otherwise the frame waits until the debt is paid. A
//! [`TokenBucket`] takes a packet from the queue and holds it until there are enough tokens; HTB leaves the packet in
//! the queue, where it can still be dropped. HTB does not poll an empty queue, so the discipline cannot detect that the
//! link is idle. For example, RED's average does not decay. While packets wait and the burst is used up, the time
//! between two departures is the time that the *first* of the two packets takes at the shaped rate.
//!
//! Source: tc-htb(8); M. Devera, "HTB theory" (2002): a class is green while its rate is below the assured rate.
//! Units: tokens are 1e-9 bit (see [`Bucket`]).
//! Departs: one class without a parent, so nothing is borrowed; `overhead`, `mpu` and `linklayer` are missing.
//!
//! [`TokenBucket`]: docsis::TokenBucket

use docsis::{Bucket, MAX_BURST};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Duration, Problem, Time};
use units::{require, within};

/// HTB, Linux's hierarchical token bucket, with a single class. The keys have the names of the options in tc.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HtbParams {
    /// Assured rate of the class; null: the link's `rate`. If this key is set, the link's `rate` is the speed of the
    /// interface behind the shaper. If this key is not set, transmission on the interface takes no time.
    pub rate: Option<BitRate>,
    /// Highest rate, used while `burst` lasts; null: the same as `rate`.
    pub ceil: Option<BitRate>,
    /// Depth of the bucket for `rate`: the bytes that may leave at `ceil` in addition to those that `rate` allows. The
    /// default is the value that tc computes for a rate below 8 Gbit/s.
    pub burst: Bytes,
    /// Depth of the bucket for `ceil`: the bytes that may leave at the interface's speed in addition to those that
    /// `ceil` allows.
    pub cburst: Bytes,
}

impl Default for HtbParams {
    fn default() -> Self {
        Self { rate: None, ceil: None, burst: Bytes(1600), cburst: Bytes(1600) }
    }
}

impl HtbParams {
    /// Returns the assured rate of the class on a link whose rate is `link`.
    pub fn rate_on(&self, link: Option<BitRate>) -> Option<BitRate> {
        self.rate.or(link)
    }

    /// Checks the parameters for a link whose rate is `link`. The error names the first invalid field.
    pub(crate) fn validate(&self, link: Option<BitRate>) -> Result<(), Problem> {
        let Some(rate) = self.rate_on(link) else {
            return Err(Problem::new("rate", "neither the class nor the link has a rate; expected a positive rate"));
        };
        require(self.rate != Some(BitRate(0)), "rate", "0bit is not valid; expected a positive rate")?;
        let ceil = self.ceil.unwrap_or(rate);
        let message = format!("{ceil} is not valid; expected at least the rate, {rate}, or null for the same");
        require(ceil >= rate, "ceil", message)?;
        within("burst", self.burst, Bytes(1), Bytes(MAX_BURST))?;
        within("cburst", self.cburst, Bytes(1), Bytes(MAX_BURST))
    }
}

/// State of the two buckets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Htb {
    tokens: Bucket,
    ctokens: Bucket,
    at: Time,
    /// True if the class has no rate of its own and uses the link's rate.
    rate_of_link: bool,
    /// True if no `ceil` was set, so that `ceil` is always equal to the class's rate.
    ceil_is_rate: bool,
}

impl Htb {
    /// Builds two buckets that are full at time 0. The parameters must be valid for a link whose rate is `link`.
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

    /// Charges both buckets for a packet of `bytes` bytes that is sent at `now`. Returns how long the next packet must
    /// wait; the wait is zero if neither bucket is in debt.
    #[inline]
    pub(crate) fn charge(&mut self, now: Time, bytes: u64) -> Duration {
        self.refill(now);
        self.tokens.charge(bytes);
        self.ctokens.charge(bytes);
        self.wait()
    }

    /// Returns how long after the last refill both buckets will be out of debt.
    fn wait(&self) -> Duration {
        let none = Duration::ZERO;
        self.tokens.wait(0).unwrap_or(none).max(self.ctokens.wait(0).unwrap_or(none))
    }

    /// Returns the transmission time of `bytes` bytes on the interface behind the shaper. `link` is the interface's
    /// rate. The time is zero if the class has no rate of its own, or if `link` is `None`.
    #[inline]
    pub(crate) fn serialize(&self, link: Option<BitRate>, bytes: u64) -> Duration {
        link.filter(|_| !self.rate_of_link).map_or(Duration::ZERO, |r| r.time_for(bytes))
    }

    /// Changes the rates at time `now`. New rates must be positive; a rate that is `None` is not changed, except that
    /// `ceil` changes with `rate` if no `ceil` was set. The buckets keep their contents, including debts. Returns the
    /// time at which the next packet may leave.
    pub(crate) fn set_rates(&mut self, now: Time, rate: Option<BitRate>, ceil: Option<BitRate>) -> Time {
        self.refill(now);
        rate.into_iter().for_each(|r| self.tokens.set_rate(r));
        if let Some(ceil) = ceil.or(rate.filter(|_| self.ceil_is_rate)) {
            self.ctokens.set_rate(ceil);
        }
        now + self.wait()
    }

    pub(crate) fn follows_link(&self) -> bool {
        self.rate_of_link
    }

    #[inline]
    pub(crate) fn rate(&self) -> BitRate {
        self.tokens.rate()
    }

    #[inline]
    pub(crate) fn ceil(&self) -> BitRate {
        self.ctokens.rate()
    }

    /// Returns the tokens at `now` in the bucket that fills at `rate`, in whole bytes; 0 if the bucket is in debt.
    #[inline]
    pub(crate) fn tokens(&self, now: Time) -> Bytes {
        self.tokens.bytes_after(now.since(self.at))
    }
}
