//! SFQ with hashing and serial search.
//!
//! ```text
//! group = h(5-tuple) of 64;  the first unused queue of its 4, kept while the session is active;  all in use: share one
//! P(no full group overflows) = n! / G^n [x^n] (sum_{j<=k} x^j / j!)^G        n sessions, G groups of k queues
//! ```
//!
//! Source: ARRIS 2013 ("hashing/serial searching").
//! Departs: none known; choices that the document leaves open (the shared queue, the end of a session, the overflow rule) are
//! parameters. Its "Ethertype" is read as the IP protocol.

use super::preset::{Preset, preset};
use super::{ClassifierSpec, FairParams, Overflow, SerialSearchParams, WhenFull};
use crate::LawSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Limit};

/// Parameters of SFQ with hashing and serial search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SfqHssParams {
    /// How much may wait in all queues together.
    pub limit: Limit,
    /// Groups that the hash chooses among.
    pub groups: u32,
    /// Queues in each group.
    pub ways: u32,
    /// The queue that a further session shares in a full group.
    pub when_full: WhenFull,
    /// Time for which a session keeps its queue after its last packet has left. 0s frees queues soonest, so that fewest collide.
    pub timeout: Duration,
    /// Packets to drop when the shared memory is full; tail is the literal reading of ARRIS 2013.
    pub overflow: Overflow,
    /// The law of each queue: `{ lred = {..} }`, "lred" or "none".
    pub law: LawSpec,
}

impl Default for SfqHssParams {
    /// ARRIS 2013: 64 groups of 4. 1000 packets, as droptail.
    fn default() -> Self {
        let SerialSearchParams { groups, ways, when_full, timeout, .. } = SerialSearchParams::default();
        Self {
            limit: Limit::Packets(1000),
            groups,
            ways,
            when_full,
            timeout,
            overflow: Overflow::Tail,
            law: LawSpec::None,
        }
    }
}

impl Preset for SfqHssParams {
    fn composition(&self) -> FairParams {
        let Self { groups, ways, when_full, timeout, .. } = *self;
        FairParams {
            limit: self.limit,
            classifier: ClassifierSpec::SerialSearch(SerialSearchParams {
                groups,
                ways,
                when_full,
                timeout,
                ..SerialSearchParams::default()
            }),
            law: self.law.clone(),
            overflow: self.overflow,
            ..FairParams::default()
        }
    }
}

preset!(SfqHssParams, any_law);
