//! fq_pie: many queues, each with PIE, served by DRR++.
//!
//! ```text
//! queue     jenkins(5-tuple; salt), one of 1024;   DRR++ as in fq_codel
//! arrival   PIE, with the delay of the packet's own queue
//! timer     updates the laws of all active queues; an idle queue runs its missed updates on its next arrival
//! full      drops half of the queue with the most bytes, from its head, at most drop_batch packets
//! ```
//!
//! Source: tc-fq_pie(8); ns-3 fq-pie; RFC 8033 for the law.   Units: bytes on the wire.
//! Departs: Linux drops the arrival when `limit` is reached; this model drops from the longest queue, like ns-3.
//! `memory_limit` counts bytes on the wire. It has no effect with the variant `linux` of `pie`, because Linux counts
//! the packets that arrive beyond its `memory_limit`, but drops none of them.

use super::preset::{Preset, preset};
use super::{ClassifierSpec, FairParams, HashParams, LawSees, Longest, Overflow, Quantum, SchedulerSpec};
use crate::LawSpec;
use crate::declared::params;
use crate::law::pie::{PieParams, PieVariant};
use units::{Bytes, Limit};

params! {
    /// Parameters of fq_pie, with tc's names and defaults. Each queue is managed by PIE. tc does not have `drop_batch`:
    /// when `limit` is reached, Linux drops the arrival. tc has only some of the keys of `pie`.
    pub struct FqPieParams {
        /// Maximum length of all queues together.
        limit: Limit = Limit::Packets(10_240),
        /// Number of queues.
        flows: u32 = 1024,
        /// Bytes that a queue may send in one turn.
        quantum: Bytes = Bytes(1514),
        /// Maximum length of all queues together in bytes, in addition to `limit`. It has no effect if `pie` has the
        /// variant linux: Linux counts the packets beyond this limit, but does not drop them.
        memory_limit: Bytes = Bytes(32 << 20),
        /// Maximum number of packets that are dropped at once, from the head of the longest queue, when a limit is
        /// reached.
        drop_batch: u32 = 64,
        /// Parameters of PIE, with the same keys as the discipline `pie`. Its `limit` applies to each queue.
        pie: PieParams = PieParams::default(),
    }
}

impl Preset for FqPieParams {
    fn composition(&self) -> FairParams {
        FairParams {
            limit: self.limit,
            memory_limit: (self.pie.variant != PieVariant::Linux).then_some(self.memory_limit),
            queue_limit: None,
            classifier: ClassifierSpec::Hash(HashParams { queues: self.flows, ..HashParams::default() }),
            scheduler: SchedulerSpec::DrrPlusPlus(Quantum { quantum: self.quantum }),
            law: LawSpec::Pie(self.pie.clone()),
            law_sees: LawSees::Own,
            overflow: Overflow::Longest(Longest { batch: self.drop_batch, ..Longest::default() }),
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
