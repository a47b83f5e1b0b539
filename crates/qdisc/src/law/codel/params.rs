//! CoDel's parameters, and the published versions that give them.

use crate::declared::params;
use crate::law::Selector;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Limit};

/// A published version of the algorithm: presets for the parameters that are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// RFC 8289 (2018): count resumes at the drops of the last cycle, within 16 intervals.
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

/// Time at which count grows.
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

/// Arithmetic of 1/sqrt(count).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InverseSqrt {
    /// Correctly rounded.
    Exact,
    /// One Newton step per change of count, x <- x (3 - count x^2) / 2, kept in 16 bits (Linux).
    Newton16,
}

/// The delay that CoDel compares with its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sojourn {
    /// Time in this queue.
    Queue,
    /// Time in this queue, and the expected wait in the modem's transmit queue behind it (CableLabs 2012 §2.2.3 a).
    QueueAndTransmit,
}

params! {
    /// Parameters of CoDel. Those that default to null take the value of `variant`.
    #[derive(Copy)]
    pub struct CodelParams as p {
        /// Limit of the queue, as in droptail: arrivals beyond it are dropped at the tail. Null: 1000p on its own; under a fair
        /// discipline only the limit that all queues share.
        limit: Option<Limit> = None,
        /// Acceptable standing delay.
        target: Duration = Duration::from_millis(5),
        /// Time that the delay must stay above `target` before the first drop; of the order of a round-trip time.
        interval: Duration = Duration::from_millis(100),
        /// Marks ECN-capable packets instead of dropping them.
        ecn: bool = false,
        /// Sojourn time above which every ECN-capable packet is marked; null is off.
        ce_threshold: Option<Duration> = None,
        /// The packets that `ce_threshold` applies to: a value and a mask of DSCP and ECN ("0x1/0x3": ECT(1)); null: all.
        ce_threshold_selector: Option<Selector> = None,
        /// The delay compared with `target`.
        sojourn: Sojourn = Sojourn::Queue,
        /// Packets dropped at a limit also increment count (Linux fq_codel).
        overflow_counts: bool = false,
        /// Published version that gives the parameters below.
        variant: Variant = Variant::Rfc8289,
        /// No drop while at most this many bytes wait behind the head; null: 1514, or 511 for acm_queue, or the largest packet
        /// seen so far (from 256 up) for draft01 and kmn.
        max_packet: Option<Bytes> = None,
        /// Count on re-entry; null: delta, minus_two (draft01, acm_queue), minus_two_or_scaled (kmn).
        reentry: Option<Reentry> = None => match p.variant {
            Variant::Rfc8289 | Variant::Linux => Reentry::Delta,
            Variant::Draft01 | Variant::AcmQueue => Reentry::MinusTwo,
            Variant::Kmn => Reentry::MinusTwoOrScaled,
        },
        /// Number of intervals after `drop_next` within which a re-entry counts as soon; null: 16, 8 (draft01, kmn), 1 (acm_queue).
        window: Option<u32> = None => match p.variant {
            Variant::Rfc8289 | Variant::Linux => 16,
            Variant::Draft01 | Variant::Kmn => 8,
            Variant::AcmQueue => 1,
        },
        /// Time at which count grows; null: with_drop, if_still_above (draft01, kmn).
        count_step: Option<CountStep> = None => match p.variant {
            Variant::Draft01 | Variant::Kmn => CountStep::IfStillAbove,
            _ => CountStep::WithDrop,
        },
        /// Condition for entering the dropping state; null: at_interval, after_interval (linux), at_second_interval (acm_queue).
        entry: Option<Entry> = None => match p.variant {
            Variant::Linux => Entry::AfterInterval,
            Variant::AcmQueue => Entry::AtSecondInterval,
            _ => Entry::AtInterval,
        },
        /// Shorter wait, interval / sqrt(count), if the delay exceeds the target again within `window`; null: no, yes (kmn).
        partial_parole: Option<bool> = None => p.variant == Variant::Kmn,
        /// Arithmetic of 1/sqrt(count); null: exact, newton16 (linux).
        inverse_sqrt: Option<InverseSqrt> = None => match p.variant {
            Variant::Linux => InverseSqrt::Newton16,
            _ => InverseSqrt::Exact,
        },
    }
}

impl CodelParams {
    /// Bytes behind the head up to which nothing is dropped; `None`: the largest packet seen.
    pub(super) fn max_packet(&self) -> Option<Bytes> {
        self.max_packet.or(match self.variant {
            Variant::Rfc8289 | Variant::Linux => Some(Bytes(1514)),
            Variant::Draft01 | Variant::Kmn => None,
            // its test is bytes < 512
            Variant::AcmQueue => Some(Bytes(511)),
        })
    }

    /// Time after `drop_next` within which a re-entry counts as soon.
    #[inline]
    pub(super) fn soon(&self) -> Duration {
        self.interval * u64::from(self.window())
    }
}
