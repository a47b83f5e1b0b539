//! CoDel's parameters, the published versions that give them, and the constants that they resolve to.

use crate::law::Selector;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Limit};

/// A published version of the algorithm: presets for the parameters that are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// RFC 8289 (2018): count resumes at the drops of the last cycle, within 16 intervals.
    #[default]
    Rfc8289,
    /// As RFC 8289, 1/sqrt by one Newton step on 16 bits, entered strictly after the interval.
    Linux,
    /// draft-nichols-tsvwg-codel-01 (February 2013) and ns-2's sfqcodel: count - 2 within 8 intervals, maxpacket learned.
    Draft01,
    /// ns-2's codel.cc, "kmn" revision (2012-2013): as draft01, with a partial parole.
    Kmn,
    /// ACM Queue, May 2012: count - 2 within one interval; enters after a second interval above, maxpacket 512.
    AcmQueue,
}

/// Count on entering the dropping state soon after having left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reentry {
    /// count - lastcount, the drops of the last cycle after its first, if above 1; else 1 (RFC 8289, Linux).
    Delta,
    /// count - 2 if count exceeds 2; else 1 (draft-01, ACM Queue).
    MinusTwo,
    /// As `minus_two`; where that exceeds 126, 0.9844 count (ns-2 kmn).
    MinusTwoOrScaled,
}

/// When count grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CountStep {
    /// With every drop, before the next head is examined (RFC 8289, Linux, ACM Queue).
    WithDrop,
    /// Only if the next head is still above (draft-01, kmn).
    IfStillAbove,
}

/// The condition for entering the dropping state, besides being above for an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// Nothing: at the first head at or after the interval's end (RFC 8289, draft-01, kmn).
    AtInterval,
    /// The head must come strictly after the interval's end (Linux).
    AfterInterval,
    /// A second interval above, unless the last cycle was less than an interval ago (ACM Queue).
    AtSecondInterval,
}

/// How 1/sqrt(count) is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InverseSqrt {
    /// Correctly rounded.
    Exact,
    /// One Newton step per change of count, x <- x (3 - count x^2) / 2, kept in 16 bits (Linux).
    Newton16,
}

/// The delay that CoDel compares with its target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sojourn {
    /// Time in this queue.
    #[default]
    Queue,
    /// Time in this queue, and the expected wait in the modem's transmit queue behind it (CableLabs 2012 §2.2.3 a).
    QueueAndTransmit,
}

/// Parameters of CoDel. Those that default to null take the value of `variant`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CodelParams {
    /// How much may wait, as in droptail: arrivals beyond it are dropped at the tail. Null: 1000p on its own; under a fair
    /// discipline only the limit that all queues share.
    pub limit: Option<Limit>,
    /// Acceptable standing delay.
    pub target: Duration,
    /// How long the delay must stay above `target` before the first drop; of the order of a round-trip time.
    pub interval: Duration,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Mark every ECN-capable packet whose sojourn time exceeds this; null is off.
    pub ce_threshold: Option<Duration>,
    /// The packets that `ce_threshold` applies to: a value and a mask of DSCP and ECN ("0x1/0x3": ECT(1)); null: all.
    pub ce_threshold_selector: Option<Selector>,
    /// The delay compared with `target`.
    pub sojourn: Sojourn,
    /// A packet dropped at a limit increments count, too (Linux fq_codel).
    pub overflow_counts: bool,
    /// Published version that gives the parameters below.
    pub variant: Variant,
    /// No drop while at most this many bytes wait behind the head; null: 1514, or 511 for acm_queue, or the largest packet
    /// seen so far (from 256 up) for draft01 and kmn.
    pub max_packet: Option<Bytes>,
    /// Count on re-entry; null: delta, minus_two (draft01, acm_queue), minus_two_or_scaled (kmn).
    pub reentry: Option<Reentry>,
    /// Number of intervals after `drop_next` within which a re-entry counts as soon; null: 16, 8 (draft01, kmn), 1
    /// (acm_queue).
    pub window: Option<u32>,
    /// When count grows; null: with_drop, if_still_above (draft01, kmn).
    pub count_step: Option<CountStep>,
    /// Condition for entering the dropping state; null: at_interval, after_interval (linux), at_second_interval
    /// (acm_queue).
    pub entry: Option<Entry>,
    /// Going above again within `window`: wait interval / sqrt(count) instead of a whole interval; null: no, yes (kmn).
    pub partial_parole: Option<bool>,
    /// How 1/sqrt(count) is computed; null: exact, newton16 (linux).
    pub inverse_sqrt: Option<InverseSqrt>,
}

impl Default for CodelParams {
    /// tc-codel(8).
    fn default() -> Self {
        Self {
            limit: None,
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            ecn: false,
            ce_threshold: None,
            ce_threshold_selector: None,
            sojourn: Sojourn::default(),
            overflow_counts: false,
            variant: Variant::default(),
            max_packet: None,
            reentry: None,
            window: None,
            count_step: None,
            entry: None,
            partial_parole: None,
            inverse_sqrt: None,
        }
    }
}

impl CodelParams {
    /// The law's configuration, with the variant's values filled in.
    pub fn config(&self) -> CodelConfig {
        use {CountStep::*, Entry::*, InverseSqrt::*, Reentry::*};
        let (reentry, window, count_step, entry, parole, sqrt, max_packet) = match self.variant {
            Variant::Rfc8289 => (Delta, 16, WithDrop, AtInterval, false, Exact, Some(1514)),
            Variant::Linux => (Delta, 16, WithDrop, AfterInterval, false, Newton16, Some(1514)),
            Variant::Draft01 => (MinusTwo, 8, IfStillAbove, AtInterval, false, Exact, None),
            Variant::Kmn => (MinusTwoOrScaled, 8, IfStillAbove, AtInterval, true, Exact, None),
            // its test is bytes < 512
            Variant::AcmQueue => (MinusTwo, 1, WithDrop, AtSecondInterval, false, Exact, Some(511)),
        };
        CodelConfig {
            target: self.target,
            interval: self.interval,
            ecn: self.ecn,
            ce_threshold: self.ce_threshold,
            ce_threshold_selector: self.ce_threshold_selector,
            sojourn: self.sojourn,
            overflow_counts: self.overflow_counts,
            max_packet: self.max_packet.map(|b| b.0).or(max_packet),
            reentry: self.reentry.unwrap_or(reentry),
            window: self.interval * u64::from(self.window.unwrap_or(window)),
            count_step: self.count_step.unwrap_or(count_step),
            entry: self.entry.unwrap_or(entry),
            partial_parole: self.partial_parole.unwrap_or(parole),
            inverse_sqrt: self.inverse_sqrt.unwrap_or(sqrt),
        }
    }
}

/// CoDel's constants, resolved; a host of many queues shares them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CodelConfig {
    /// Acceptable standing delay.
    pub target: Duration,
    /// Sliding window of the minimum.
    pub interval: Duration,
    /// Mark instead of drop.
    pub ecn: bool,
    /// Mark above this sojourn time.
    pub ce_threshold: Option<Duration>,
    /// The packets that `ce_threshold` applies to; `None`: all.
    pub ce_threshold_selector: Option<Selector>,
    /// The delay compared with the target.
    pub sojourn: Sojourn,
    /// Increment count for a drop at a limit.
    pub overflow_counts: bool,
    /// No drop at or below this many bytes behind the head; `None`: the largest packet seen.
    pub max_packet: Option<u64>,
    /// Count on re-entry.
    pub reentry: Reentry,
    /// Time after `drop_next` within which a re-entry counts as soon.
    pub window: Duration,
    /// When count grows.
    pub count_step: CountStep,
    /// Condition for entering the dropping state.
    pub entry: Entry,
    /// Shortened wait when going above soon again.
    pub partial_parole: bool,
    /// How 1/sqrt(count) is computed.
    pub inverse_sqrt: InverseSqrt,
}
