//! The parameters of the discipline `fair`, in which each of the four parts can be chosen.

use super::{ClassifierSpec, HashParams, Overflow, SchedulerSpec};
use crate::LawSpec;
use crate::declared::params;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Limit};

/// The backlog that a queue's law takes into account. CoDel, for example, drops nothing while this backlog is at most
/// `max_packet`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LawSees {
    /// The backlog of the packet's own queue, as in the text of RFC 8290, and in fq_pie.
    Own,
    /// The backlog of all queues together, even if the packet is the last one of its own queue. Linux's fq_codel does
    /// this.
    Total,
    /// The backlog of all queues together, but zero for the last packet of a queue. So CoDel never drops this packet.
    /// ns-2's SFQ-CoDel does this.
    TotalUnlessLast,
}

params! {
    /// Parameters of a discipline that you compose from four parts: a classifier, a scheduler, a law and an overflow
    /// rule.
    pub struct FairParams {
        /// Maximum length of all queues together.
        limit: Limit = Limit::Packets(1000),
        /// Maximum length of all queues together in bytes, in addition to `limit`; null: no such limit.
        memory_limit: Option<Bytes> = None,
        /// Maximum length of each queue; null: the law's `limit`, if it has one; otherwise none.
        queue_limit: Option<Limit> = None,
        /// The classifier, which assigns packets to queues.
        classifier: ClassifierSpec = ClassifierSpec::Hash(HashParams::default()),
        /// The scheduler, which determines the order in which queues send.
        scheduler: SchedulerSpec = SchedulerSpec::PacketRoundRobin,
        /// The AQM of each queue: the name of a law, such as "codel"; a table with its parameters, such as
        /// `{ codel = {..} }`; or "none".
        law: LawSpec = LawSpec::None,
        /// The backlog that a queue's law uses. CoDel, for example, drops nothing while this backlog is at most
        /// `max_packet`.
        law_sees: LawSees = LawSees::Own,
        /// The rule that selects the packets to drop when all queues together reach `limit` or `memory_limit`.
        overflow: Overflow = Overflow::Tail,
    }
}
