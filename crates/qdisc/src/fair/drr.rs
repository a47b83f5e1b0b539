//! DRR: deficit round robin.
//!
//! ```text
//! once a turn   deficit += quantum;   while head <= deficit: send it, deficit -= head;   queue empty: deficit = 0
//! full          the head of the queue with most bytes is dropped, until the arrival fits
//! ```
//!
//! Source: Shreedhar & Varghese, SIGCOMM 1995; ns-2 queue/drr.cc for the defaults.   Units: bytes on the wire.
//! Departs: the hash is of the 5-tuple, where ns-2 hashes node addresses.

use super::preset::{Preset, preset};
use super::{ClassifierSpec, End, FairParams, HashKey, HashParams, Longest, Measure, Overflow, Quantum, SchedulerSpec};
use crate::LawSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Limit};

/// Parameters of DRR.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DrrParams {
    /// How much may wait in all queues together.
    pub limit: Limit,
    /// Number of queues.
    pub queues: u32,
    /// Bytes that a queue may send in one turn; an unused rest is kept. Below a packet's size, a packet takes several turns.
    pub quantum: Bytes,
    /// Header fields that are hashed.
    pub key: HashKey,
    /// Packets to drop when the shared memory is full.
    pub overflow: Overflow,
    /// The law of each queue: `{ codel = {..} }`, "codel" or "none".
    pub law: LawSpec,
}

impl Default for DrrParams {
    /// ns-2: 25 000 bytes, 10 buckets, quantum 250.
    fn default() -> Self {
        Self {
            limit: Limit::Bytes(Bytes(25_000)),
            queues: 10,
            quantum: Bytes(250),
            key: HashKey::default(),
            overflow: Overflow::Longest(Longest { by: Measure::Bytes, from: End::Head, batch: 1 }),
            law: LawSpec::None,
        }
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
