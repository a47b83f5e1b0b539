//! fq_pie: PIE in each of many queues, DRR++ among them.
//!
//! ```text
//! queue = jenkins(5-tuple; salt) of 1024;   DRR++ as fq_codel;   PIE on each arrival, with the delay of its own queue
//! timer     all laws are updated; that of an idle queue on its next arrival, for all the time that has passed
//! full      half of the queue with most bytes, from its head, at most drop_batch packets
//! ```
//!
//! Source: tc-fq_pie(8); ns-3 fq-pie; RFC 8033 for the law.   Units: bytes on the wire.
//! Departs: Linux drops the arrival when `limit` is reached; this and ns-3 drop from the longest queue. Linux's `memory_limit`
//! counts the memory of its packet buffers.

use super::preset::{Preset, preset};
use super::{ClassifierSpec, End, FairParams, HashParams, LawSees, Longest, Measure, Overflow, Quantum, SchedulerSpec};
use crate::LawSpec;
use crate::law::pie::PieParams;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Limit};

/// Parameters of fq_pie.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FqPieParams {
    /// How much may wait in all queues together.
    pub limit: Limit,
    /// Number of queues.
    pub flows: u32,
    /// Bytes that a queue may send in one turn.
    pub quantum: Bytes,
    /// A second limit on all queues together, in bytes.
    pub memory_limit: Bytes,
    /// At most this many packets are dropped at once when a limit is reached.
    pub drop_batch: u32,
    /// PIE's own parameters, as for the discipline `pie`; its `limit` is each queue's.
    pub pie: PieParams,
}

impl Default for FqPieParams {
    /// tc-fq_pie(8).
    fn default() -> Self {
        Self {
            limit: Limit::Packets(10_240),
            flows: 1024,
            quantum: Bytes(1514),
            memory_limit: Bytes(32_000_000),
            drop_batch: 64,
            pie: PieParams::default(),
        }
    }
}

impl Preset for FqPieParams {
    fn composition(&self) -> FairParams {
        FairParams {
            limit: self.limit,
            memory_limit: Some(self.memory_limit),
            queue_limit: None,
            classifier: ClassifierSpec::Hash(HashParams { queues: self.flows, ..HashParams::default() }),
            scheduler: SchedulerSpec::DrrPlusPlus(Quantum { quantum: self.quantum }),
            law: LawSpec::Pie(self.pie.clone()),
            law_sees: LawSees::Own,
            overflow: Overflow::Longest(Longest { by: Measure::Bytes, from: End::Head, batch: self.drop_batch }),
        }
    }
    fn own_name(path: &str) -> String {
        match path {
            "classifier.hash.queues" => "flows".into(),
            "overflow.longest.batch" => "drop_batch".into(),
            _ => path.strip_prefix("law.").or(path.strip_prefix("scheduler.drr_plus_plus.")).unwrap_or(path).into(),
        }
    }
}

preset!(FqPieParams, own_law);
