//! SFQ with hashing and serial search.
//!
//! ```text
//! group = h(5-tuple), one of 64;  a session takes the first unused queue of the group's 4, or shares one if all are in use
//! P(no group has more than k sessions) = n! / G^n [x^n] (sum_{j<=k} x^j / j!)^G
//!     n: sessions;  G: groups;  k: queues in a group;  [x^n]: the coefficient of x^n in the expression that follows
//! ```
//!
//! Source: ARRIS 2013 ("hashing/serial searching"). Departs: none known. ARRIS 2013 leaves open which queue sessions share,
//! when a session ends, and which packets are dropped on overflow; here these are parameters. We read its "Ethertype" as the IP
//! protocol.

use super::preset::{Preset, preset};
use super::{ClassifierSpec, FairParams, Overflow, SerialSearchParams, WhenFull};
use crate::LawSpec;
use crate::declared::params;
use units::{Duration, Limit};

params! {
    /// Parameters of SFQ with hashing and serial search. A hash assigns each flow to a group of queues, and a new flow
    /// takes the first unused queue of its group. The defaults of `groups` and `ways` are those of ARRIS 2013, which
    /// does not specify `when_full`, `timeout` or `overflow`.
    pub struct SfqHssParams {
        /// Maximum length of all queues together.
        limit: Limit = Limit::Packets(1000),
        /// Number of groups of queues. A hash assigns each flow to a group.
        groups: u32 = 64,
        /// Number of queues in each group.
        ways: u32 = 4,
        /// The queue that a new flow shares if all queues of its group are in use.
        when_full: WhenFull = WhenFull::First,
        /// Time for which a flow keeps its queue after its last packet has left. With 0s, the queue is free for another
        /// flow at once, so that flows share queues less often than with a longer time.
        timeout: Duration = Duration::ZERO,
        /// The rule that selects the packets to drop when all queues together reach `limit`.
        overflow: Overflow = Overflow::Tail,
        /// The AQM of each queue: the name of a law, such as "lred"; a table with its parameters, such as
        /// `{ lred = {..} }`; or "none".
        law: LawSpec = LawSpec::None,
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
