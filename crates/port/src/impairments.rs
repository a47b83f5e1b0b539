//! Impairments of the wire: a policer, losses in bursts, retransmissions below IP, reordering, arrivals in batches, and
//! duplicates.
//!
//! ```text
//!   leaves the server -> policer -> loss, lose -> burst_loss -> retransmission -> delay, jitter, lateness -> reordering -> batches
//!   -> duplicates
//! ```
//!
//! Source: E. N. Gilbert, "Capacity of a Burst-Noise Channel", 1960, and E. O. Elliott, "Estimates of Error Rates for Codes on
//! Burst-Noise Channels", 1963, for `burst_loss`; RFC 2475 §2.3.3.4 for `policer`; RFC 3366 §2 for `retransmission`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Duration, Prob, Problem, Rng, Time, positive, positive_or_none, require};

/// Faults of the wire, in addition to `loss` and `jitter`. With `both_ways`, each direction has its own state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Impairments {
    /// Drops the packets that exceed a rate, instead of queueing them. The result counts these drops as `link_loss`.
    pub policer: Option<Policer>,
    /// Losses in bursts (Gilbert-Elliott).
    pub burst_loss: Option<BurstLoss>,
    /// Repeats failed transmissions, as radio links do. Each failure delays the packet.
    pub retransmission: Option<Retransmission>,
    /// Holds some packets back, so that later packets overtake them.
    pub reordering: Option<Reordering>,
    /// Packets arrive in batches, only at whole multiples of this time. ACK aggregation and the frames of a radio link
    /// have this effect. Null: each packet arrives at its own time.
    pub batches: Option<Duration>,
    /// Probability that a packet arrives twice, at the same time. The link's counters do not include the copy.
    pub duplicates: Prob,
}

/// A token bucket without a queue. Each byte of a packet uses one token. A packet that finds too few tokens is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Policer {
    /// Rate at which tokens arrive. It limits the rate of IP packets, headers included.
    pub rate: BitRate,
    /// Size of the bucket. The bucket is full at the start.
    pub burst: Bytes,
}

/// The Gilbert-Elliott model: the wire is in a good or a bad state. It starts in the good state. Before each packet, it
/// may change to the bad state with the probability `p`, or back with the probability `r`. So the bad state lasts 1/`r`
/// packets on average. In the long run, the share of lost packets is (`r` × `good_loss` + `p` × `bad_loss`) / (`p` +
/// `r`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BurstLoss {
    /// If the state is good: probability that it changes to bad before the next packet.
    pub p: Prob,
    /// If the state is bad: probability that it changes to good before the next packet; above 0.
    pub r: Prob,
    /// Probability of a loss in the bad state.
    #[serde(default = "always")]
    pub bad_loss: Prob,
    /// Probability of a loss in the good state.
    #[serde(default)]
    pub good_loss: Prob,
}

fn always() -> Prob {
    Prob::constant(1.0)
}

/// Transmits each packet until a transmission succeeds, at most `attempts` times. Later packets wait while a packet is
/// being retransmitted, unless the link's `reorder` is true.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Retransmission {
    /// Probability that a transmission fails.
    pub failure: Prob,
    /// Time between a failed transmission and the next attempt.
    pub delay: Duration,
    /// Largest number of transmissions of a packet. If all of them fail, the packet is lost.
    #[serde(default = "attempts")]
    pub attempts: u32,
}

fn attempts() -> u32 {
    8
}

/// Holds single packets back while other packets pass. All other packets keep their order, unless the link's `reorder`
/// is true.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reordering {
    /// Probability that a packet is held back.
    pub chance: Prob,
    /// Time for which a packet is held back.
    pub by: Duration,
}

impl Impairments {
    /// Checks the parameters. The error names the first invalid field.
    pub(crate) fn validate(&self) -> Result<(), Problem> {
        if let Some(policer) = &self.policer {
            let checked = positive("rate", policer.rate).and_then(|()| positive("burst", policer.burst));
            checked.map_err(|p| p.under("policer"))?;
        }
        if let Some(loss) = &self.burst_loss {
            let message = "0 is not valid; expected more than 0: with 0, the wire would never leave the bad state";
            require(loss.r.get() > 0.0, "burst_loss.r", message)?;
        }
        if let Some(arq) = &self.retransmission {
            positive("retransmission.attempts", arq.attempts)?;
        }
        if let Some(reordering) = &self.reordering {
            positive("reordering.by", reordering.by)?;
        }
        positive_or_none("batches", self.batches)
    }
}

/// The effect of the policer, of burst losses and of retransmissions on one packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Late {
    pub lost: bool,
    /// Time that retransmissions take, whether or not the last one succeeds.
    pub by: Duration,
}

/// The impairments of a running wire. Each kind that needs random numbers has its own random streams, so switching one
/// kind on does not change the random numbers of the other kinds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Impaired {
    spec: Impairments,
    /// Time at which the policer's bucket is full again.
    full_at: Time,
    /// True in the bad state of `burst_loss`.
    bad: bool,
    state_rng: Rng,
    loss_rng: Rng,
    retransmission_rng: Rng,
    reordering_rng: Rng,
    duplicates_rng: Rng,
}

impl Impaired {
    pub(crate) fn new(spec: &Impairments, stream: impl Fn(&str) -> Rng) -> Self {
        Self {
            spec: spec.clone(),
            full_at: Time::ZERO,
            bad: false,
            state_rng: stream("burst_state"),
            loss_rng: stream("burst_loss"),
            retransmission_rng: stream("retransmission"),
            reordering_rng: stream("reordering"),
            duplicates_rng: stream("duplicates"),
        }
    }

    /// Returns the effect of the policer, of burst losses and of retransmissions on a packet of `size` bytes that leaves at `at`.
    #[cold]
    pub(crate) fn late(&mut self, size: u64, at: Time) -> Late {
        if self.exceeds_rate(size, at) || self.lost_in_burst() {
            return Late { lost: true, by: Duration::ZERO };
        }
        self.retransmitted()
    }

    /// Returns true if the policer drops a packet of `size` bytes that leaves at `at`. Otherwise, takes its tokens.
    fn exceeds_rate(&mut self, size: u64, at: Time) -> bool {
        let Some(policer) = &self.spec.policer else { return false };
        // at time `at`, the bucket has burst - rate * (full_at - at) tokens; it is full if `full_at` has passed
        let full_at = self.full_at.max(at) + policer.rate.time_for(size);
        let exceeds = full_at.since(at) > policer.rate.time_for(policer.burst.0);
        if !exceeds {
            self.full_at = full_at;
        }
        exceeds
    }

    fn lost_in_burst(&mut self) -> bool {
        let Some(burst) = &self.spec.burst_loss else { return false };
        let change = if self.bad { burst.r } else { burst.p };
        self.bad ^= self.state_rng.chance(change.get());
        let loss = if self.bad { burst.bad_loss } else { burst.good_loss };
        self.loss_rng.chance(loss.get())
    }

    /// Returns the delay that a packet's failed transmissions add. If every attempt fails, the packet is lost, and the link has
    /// been busy with it until its last attempt.
    ///
    /// Bound: `attempts` iterations.
    fn retransmitted(&mut self) -> Late {
        let Some(link) = &self.spec.retransmission else { return Late::default() };
        let failed =
            (0..link.attempts).take_while(|_| self.retransmission_rng.chance(link.failure.get())).count() as u64;
        let attempts = u64::from(link.attempts);
        let again = failed.min(attempts - 1);
        Late { lost: failed == attempts, by: Duration(link.delay.0.saturating_mul(again)) }
    }

    /// Returns the time for which the next packet is held back; `None` if it is not held back.
    pub(crate) fn held_back(&mut self) -> Option<Duration> {
        let reordering = self.spec.reordering.as_ref()?;
        self.reordering_rng.chance(reordering.chance.get()).then_some(reordering.by)
    }

    /// Returns the time at which a packet arrives together with its batch. `arrival` is the time at which the packet
    /// would arrive if packets were not delivered in batches.
    pub(crate) fn batch(&self, arrival: Time) -> Time {
        self.spec
            .batches
            .map_or(arrival, |every| Time(arrival.0.checked_next_multiple_of(every.0).unwrap_or(arrival.0)))
    }

    /// Returns true if packets may arrive twice.
    pub(crate) fn may_duplicate(&self) -> bool {
        self.spec.duplicates.get() > 0.0
    }

    /// Draws at random whether the packet that has just arrived is duplicated.
    pub(crate) fn duplicates(&mut self) -> bool {
        self.duplicates_rng.chance(self.spec.duplicates.get())
    }

    /// Returns true if single packets may be held back, so that later packets overtake them.
    pub(crate) fn reorders(&self) -> bool {
        self.spec.reordering.is_some()
    }
}
