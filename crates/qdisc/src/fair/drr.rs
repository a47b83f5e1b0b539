//! DRR: deficit round robin.
//!
//! ```text
//! turn   deficit += quantum, once;   while head <= deficit: send it, deficit -= head;   queue empty: deficit = 0
//! full   the head of the queue with the most bytes is dropped, until the arrival fits
//! ```
//!
//! Source: Shreedhar & Varghese, SIGCOMM 1995; ns-2 queue/drr.cc for the defaults.   Units: bytes on the wire.
//! Departs: by default the 5-tuple is hashed, where ns-2 hashes only the source's node address.

use super::preset::{Preset, preset};
use super::{ClassifierSpec, FairParams, HashKey, HashParams, Longest, Overflow, Quantum, SchedulerSpec};
use crate::LawSpec;
use crate::declared::params;
use units::{Bytes, Limit};

params! {
    /// Parameters of DRR (deficit round robin). A hash assigns each flow to one of the queues, which send in turn. The
    /// defaults are those of ns-2, except the default of `key`: ns-2 hashes only the sender's node address.
    pub struct DrrParams {
        /// Maximum length of all queues together.
        limit: Limit = Limit::Bytes(Bytes(25_000)),
        /// Number of queues.
        queues: u32 = 10,
        /// Bytes that a queue may send in one turn. While packets wait in the queue, unused bytes are added to its next
        /// turn. So a packet that is larger than the quantum waits for several turns.
        quantum: Bytes = Bytes(250),
        /// Header fields whose hash selects a packet's queue.
        key: HashKey = HashKey::FiveTuple,
        /// The rule that selects the packets to drop when all queues together reach `limit`.
        overflow: Overflow = Overflow::Longest(Longest::default()),
        /// The AQM of each queue: the name of a law, such as "codel"; a table with its parameters, such as
        /// `{ codel = {..} }`; or "none".
        law: LawSpec = LawSpec::None,
    }
}

impl Preset for DrrParams {
    fn composition(&self) -> FairParams {
        FairParams {
            limit: self.limit,
            classifier: ClassifierSpec::Hash(HashParams {
                queues: self.queues,
                key: self.key,
                ..HashParams::default()
            }),
            scheduler: SchedulerSpec::Drr(Quantum { quantum: self.quantum }),
            law: self.law.clone(),
            overflow: self.overflow,
            ..FairParams::default()
        }
    }
}

preset!(DrrParams, any_law);
