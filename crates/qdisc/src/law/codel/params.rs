//! CoDel's parameters, and their values in the published versions.

use crate::declared::params;
use crate::law::Selector;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Limit};

/// A published version of the algorithm. It determines the values of the parameters that are omitted (null).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// RFC 8289 (2018). If a cycle begins within 16 intervals after the last one, count starts at the number of drops
    /// in the last cycle minus 1, but at least at 1.
    Rfc8289,
    /// Like `rfc8289`, with three differences. 1/sqrt(count) is approximated with 16 bits. The first drop comes after
    /// the end of `interval`, never at the exact end. A packet that is marked by CoDel and also because of
    /// `ce_threshold` counts as two marks.
    Linux,
    /// draft-nichols-tsvwg-codel-01 (February 2013) and ns-2's sfqcodel. If a cycle begins within 8 intervals after the
    /// last one, count starts at its last value minus 2, but at least at 1. Nothing is dropped while the bytes behind
    /// the head are at most the size of the largest packet so far.
    Draft01,
    /// The "kmn" revision of ns-2's codel.cc (2012-2013): like `draft01`, with two differences. If the delay exceeds
    /// `target` again within 8 intervals after a cycle, CoDel waits only `interval` / sqrt(count) before the first
    /// drop. If a cycle begins within the 8 intervals and the last value of count was above 128, count starts at 0.9844
    /// times that value.
    Kmn,
    /// ACM Queue, May 2012. If a cycle begins within one interval after the last one, count starts at its last value
    /// minus 2, but at least at 1. Otherwise, the delay must be above `target` for two intervals before the first drop.
    /// Nothing is dropped while fewer than 512 bytes are queued behind the head.
    AcmQueue,
}

/// The count with which CoDel resumes if it enters the dropping state soon after leaving it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reentry {
    /// count - lastcount, but at least 1 (RFC 8289, Linux). lastcount is the value of count at the first drop of the
    /// last cycle. So the difference is the number of drops and marks that followed in that cycle (with
    /// `overflow_counts`, plus drops at a limit).
    Delta,
    /// The last value of count minus 2, but at least 1 (draft-01, ACM Queue).
    MinusTwo,
    /// Like `minus_two`, but 0.9844 times count if count is above 128 (ns-2 kmn).
    MinusTwoOrScaled,
}

/// When count is incremented for a drop. The first drop of a cycle sets count instead, and each further mark increments
/// it at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CountStep {
    /// At every drop after the first of a cycle, before the next packet is examined (RFC 8289, Linux, ACM Queue).
    WithDrop,
    /// After a drop, but only if the delay of the next packet is still above `target` (draft-01, kmn).
    IfStillAbove,
}

/// The condition for entering the dropping state, once the delay has been above target for an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// At the first packet at or after the end of `interval` (RFC 8289, draft-01, kmn).
    AtInterval,
    /// At the first packet strictly after the end of `interval` (Linux).
    AfterInterval,
    /// When the delay has been above `target` for two intervals (ACM Queue). One interval is enough if less than one
    /// interval has passed since drop_next of the last cycle (see `window`).
    AtSecondInterval,
}

/// The way in which 1/sqrt(count) is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InverseSqrt {
    /// Computed exactly, then rounded.
    Exact,
    /// One Newton step per change of count, x <- x (3 - count x^2) / 2, where x is the approximation, stored in 16 bits
    /// (Linux).
    Newton16,
}

/// The delay that CoDel compares with its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sojourn {
    /// Time in this queue.
    Queue,
    /// Time in this queue plus the expected wait in the modem's transmit queue behind it (CableLabs 2012 §2.2.3 a).
    QueueAndTransmit,
}

params! {
    /// Parameters of CoDel. Some defaults depend on `variant`. CoDel enters its dropping state when the delay (the
    /// sojourn time of the packet at the head) has been above `target` for `interval`. It leaves this state when the
    /// delay falls below `target`, or when the queue is almost empty (`max_packet`). A *cycle* is one stay in the
    /// dropping state. During a cycle, the time between drops is `interval` / sqrt(count), where count is a number that
    /// grows by 1 with each drop (or mark). So the longer the delay stays high, the more often CoDel drops.
    #[derive(Copy)]
    pub struct CodelParams as p {
        /// Maximum length of the queue; an arrival that does not fit is dropped. Null: 1000p; in a fair discipline
        /// none, because its queues share one limit.
        limit: Option<Limit> = None,
        /// Queueing delay that CoDel accepts.
        target: Duration = Duration::from_millis(5),
        /// Time for which the delay must stay above `target` before the first drop (`entry` and `partial_parole` can
        /// change this). Set it to about the longest round-trip time that you expect.
        interval: Duration = Duration::from_millis(100),
        /// Marks ECN-capable packets instead of dropping them.
        ecn: bool = false,
        /// Sojourn time above which ECN-capable packets are marked, even if `ecn` is false; null: off.
        ce_threshold: Option<Duration> = None,
        /// Packets to which `ce_threshold` applies, as "VALUE/MASK". A packet is selected if (TOS AND MASK) = VALUE,
        /// where TOS is the byte of the IP header that holds DSCP and ECN field. "0x1/0x3" selects ECT(1) packets,
        /// which L4S flows send. Null: all packets.
        ce_threshold_selector: Option<Selector> = None,
        /// The delay that is compared with `target` and `ce_threshold`.
        sojourn: Sojourn = Sojourn::Queue,
        /// Increments count also when a packet is dropped because a limit was reached, as in Linux's fq_codel.
        overflow_counts: bool = false,
        /// Published version of the algorithm. The defaults of some parameters depend on it.
        variant: Variant = Variant::Rfc8289,
        /// Nothing is dropped while at most this many bytes are queued behind the packet at the head. Null: 1514B; 511B
        /// (acm_queue); the size of the largest packet so far, but at least 256B (draft01, kmn).
        max_packet: Option<Bytes> = None,
        /// Value of count at the start of a cycle that begins within `window` intervals after the last one. Null:
        /// delta, minus_two (draft01, acm_queue), minus_two_or_scaled (kmn).
        reentry: Option<Reentry> = None => match p.variant {
            Variant::Rfc8289 | Variant::Linux => Reentry::Delta,
            Variant::Draft01 | Variant::AcmQueue => Reentry::MinusTwo,
            Variant::Kmn => Reentry::MinusTwoOrScaled,
        },
        /// Number of intervals for which CoDel remembers count after a cycle. A cycle that begins within this time
        /// starts with the count that `reentry` specifies. A later cycle starts with a count of 1. The time is measured
        /// from drop_next, the scheduled time of the next drop of the old cycle. There is one exception: if the packet
        /// directly behind a dropped one ends the cycle, and that drop was not the first of the cycle, no further drop is
        /// scheduled, and drop_next keeps the scheduled time of that drop. Null: 16, 8 (draft01, kmn), 1 (acm_queue).
        window: Option<u32> = None => match p.variant {
            Variant::Rfc8289 | Variant::Linux => 16,
            Variant::Draft01 | Variant::Kmn => 8,
            Variant::AcmQueue => 1,
        },
        /// When count is incremented; null: with_drop, if_still_above (draft01, kmn).
        count_step: Option<CountStep> = None => match p.variant {
            Variant::Draft01 | Variant::Kmn => CountStep::IfStillAbove,
            _ => CountStep::WithDrop,
        },
        /// The time at which the dropping state begins, once the delay has risen above `target`. Null: at_interval,
        /// after_interval (linux), at_second_interval (acm_queue).
        entry: Option<Entry> = None => match p.variant {
            Variant::Linux => Entry::AfterInterval,
            Variant::AcmQueue => Entry::AtSecondInterval,
            _ => Entry::AtInterval,
        },
        /// Shortens the wait before the first drop of a cycle that begins soon after another. If the delay exceeds
        /// `target` again within `window` intervals, CoDel waits only `interval` / sqrt(count) instead of `interval`.
        /// Null: false, true (kmn).
        partial_parole: Option<bool> = None => p.variant == Variant::Kmn,
        /// How 1/sqrt(count) is computed; null: exact, newton16 (linux).
        inverse_sqrt: Option<InverseSqrt> = None => match p.variant {
            Variant::Linux => InverseSqrt::Newton16,
            _ => InverseSqrt::Exact,
        },
    }
}

impl CodelParams {
    /// Returns maxpacket: nothing is dropped while at most this many bytes are queued behind the head. `None` means
    /// that maxpacket is learned: it is the size of the largest packet so far, but at least 256 bytes.
    pub(super) fn max_packet(&self) -> Option<Bytes> {
        self.max_packet.or(match self.variant {
            Variant::Rfc8289 | Variant::Linux => Some(Bytes(1514)),
            Variant::Draft01 | Variant::Kmn => None,
            // the article's test is bytes < 512
            Variant::AcmQueue => Some(Bytes(511)),
        })
    }

    /// Returns `window` as a duration.
    #[inline]
    pub(super) fn soon(&self) -> Duration {
        self.interval * u64::from(self.window())
    }
}
