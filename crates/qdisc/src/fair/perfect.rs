//! Perfect isolation: a queue for each session, packet round robin, one memory for all.
//!
//! ```text
//! with m other queues that hold packets of s bytes, a lone packet waits between 0 and m s / C, uniformly, plus its service
//! ```
//!
//! A forced collision: flows that carry a code point listed in `shared_dscp` share one queue.
//!
//! Source: ARRIS 2013 Figures 5 to 7.
//! Departs: none known; ARRIS 2013 does not specify the overflow rule, so it is a parameter.

use super::preset::{Preset, preset};
use super::{ClassifierSpec, FairParams, IsolatedParams, Overflow, Quantum, SchedulerSpec};
use crate::LawSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Limit};

/// Parameters of perfect isolation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PerfectParams {
    /// How much may wait in all queues together.
    pub limit: Limit,
    /// Forced collision: all flows with the same code point in this list (`app.NAME.dscp`, 0 to 63) share one queue.
    pub shared_dscp: Vec<u8>,
    /// Bytes per turn; null: one packet per turn.
    pub quantum: Option<Bytes>,
    /// Packets to drop when the shared memory is full; tail is the literal reading of ARRIS 2013.
    pub overflow: Overflow,
    /// The law of each queue: `{ lred = {..} }`, "lred" or "none".
    pub law: LawSpec,
}

impl Default for PerfectParams {
    /// ARRIS 2013; 1000 packets, as droptail.
    fn default() -> Self {
        Self {
            limit: Limit::Packets(1000),
            shared_dscp: Vec::new(),
            quantum: None,
            overflow: Overflow::Tail,
            law: LawSpec::None,
        }
    }
}

impl Preset for PerfectParams {
    fn composition(&self) -> FairParams {
        FairParams {
            limit: self.limit,
            classifier: ClassifierSpec::Isolated(IsolatedParams { shared_dscp: self.shared_dscp.clone() }),
            scheduler: match self.quantum {
                Some(quantum) => SchedulerSpec::ByteRoundRobin(Quantum { quantum }),
                None => SchedulerSpec::PacketRoundRobin,
            },
            law: self.law.clone(),
            overflow: self.overflow,
            ..FairParams::default()
        }
    }
}

preset!(PerfectParams, any_law);
