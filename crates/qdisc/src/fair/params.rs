//! `fair`: all four parts are parameters.

use super::{ClassifierSpec, Overflow, SchedulerSpec};
use crate::{LawSpec, Room};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Limit, Problem};

/// The backlog passed to a queue's law.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LawSees {
    /// Its own queue (RFC 8290's text, fq_pie).
    #[default]
    Own,
    /// All queues together, even when nothing waits in its own (Linux fq_codel).
    Total,
    /// All queues together; zero when its own queue is empty, so that CoDel never drops a queue's last packet (ns-2 SFQ-CoDel).
    TotalUnlessLast,
}

/// Parameters of a composition: a choice for each part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FairParams {
    /// How much may wait in all queues together.
    pub limit: Limit,
    /// A second limit on all queues together, in bytes; null: none.
    pub memory_limit: Option<Bytes>,
    /// How much may wait in each queue; null: the law's `limit`, or only the shared limit.
    pub queue_limit: Option<Limit>,
    /// How packets are assigned to queues.
    pub classifier: ClassifierSpec,
    /// The order of service.
    pub scheduler: SchedulerSpec,
    /// The law of each queue: `{ codel = {..} }`, "codel" or "none".
    pub law: LawSpec,
    /// The backlog passed to a queue's law.
    pub law_sees: LawSees,
    /// Packets to drop when the shared memory is full.
    pub overflow: Overflow,
}

impl Default for FairParams {
    /// Plain round robin over hashed queues; 1000 packets, as droptail.
    fn default() -> Self {
        Self {
            limit: Limit::Packets(1000),
            memory_limit: None,
            queue_limit: None,
            classifier: ClassifierSpec::default(),
            scheduler: SchedulerSpec::default(),
            law: LawSpec::None,
            law_sees: LawSees::Own,
            overflow: Overflow::Tail,
        }
    }
}

/// Refuses a limit under which nothing could wait, under the field name `path`.
pub(super) fn limit_holds(path: &str, limit: Limit) -> Result<(), Problem> {
    Room::validate(limit, false).map_err(|p| Problem::new(path, p.message))
}
