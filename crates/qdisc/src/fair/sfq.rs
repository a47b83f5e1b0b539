//! SFQ: stochastic fairness queueing.
//!
//! ```text
//! queue = h(flow) of n;   round robin;   one memory for all;   overflow: see the variant
//!
//! variant    limit  queues  order            overflow                                  each queue
//! mckenney   128p   128     packets          tail of the longest queue (bytes)         -
//! ns2        40p    16      packets          ns2_sfq; hash of the addresses only       -
//! linux      127p   1024    bytes, 1514      tail of the longest queue (packets)       127p
//! ```
//!
//! Source: McKenney, INFOCOM 1990; ns-2 queue/sfq.cc; Linux sch_sfq; ARRIS 2013.   Units: bytes on the wire.
//! Departs: McKenney does not specify sizes, so 128 packets and queues are Linux's. Linux keeps 128 slots behind 1024 hash
//! values and drops an arrival that finds no slot; here every hash value can have a queue. Perturbation does not reorder a flow
//! (see `classifier`), as in Linux since 2011, which moves the packets along.

use super::preset::{Preset, preset};
use super::{ClassifierSpec, End, FairParams, HashKey, HashParams, Longest, Measure, Overflow, Quantum, SchedulerSpec};
use crate::LawSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Limit};

/// A published version: defaults for the parameters that are null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SfqVariant {
    /// The paper of 1990: packet round robin, drops from the longest queue.
    #[default]
    Mckenney,
    /// ns-2: 16 queues by addresses only, its own overflow rule.
    Ns2,
    /// Linux sch_sfq: byte round robin, drops from the longest queue in packets.
    Linux,
}

/// Parameters of SFQ. Those that default to null take the value of `variant`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SfqParams {
    /// Published version, from which parameters that are null take their values.
    pub variant: SfqVariant,
    /// How much may wait in all queues together; null: 128p, ns2 40p, linux 127p.
    pub limit: Option<Limit>,
    /// Number of queues; null: 128, ns2 16, linux 1024.
    pub queues: Option<u32>,
    /// Header fields that are hashed; null: five_tuple, ns2 addresses.
    pub key: Option<HashKey>,
    /// Time between changes of the hash's salt; null: never.
    pub perturb: Option<Duration>,
    /// Bytes per turn; null: one packet per turn, linux 1514.
    pub quantum: Option<Bytes>,
    /// How much may wait in each queue; null: only the shared limit, linux 127p.
    pub queue_limit: Option<Limit>,
    /// Packets to drop when the shared memory is full; null: longest by bytes, ns2 ns2_sfq, linux longest by packets.
    pub overflow: Option<Overflow>,
    /// The law of each queue: `{ lred = {..} }`, "lred" or "none".
    pub law: LawSpec,
}

impl Preset for SfqParams {
    fn composition(&self) -> FairParams {
        use SfqVariant::{Linux, Mckenney, Ns2};
        let longest = |by| Overflow::Longest(Longest { by, from: End::Tail, batch: 1 });
        let (limit, queues, key, quantum, depth, overflow) = match self.variant {
            Mckenney => (128, 128, HashKey::FiveTuple, None, None, longest(Measure::Bytes)),
            Ns2 => (40, 16, HashKey::Addresses, None, None, Overflow::Ns2Sfq),
            Linux => (127, 1024, HashKey::FiveTuple, Some(Bytes(1514)), Some(127), longest(Measure::Packets)),
        };
        let own_depth = if self.law.limit().is_some() { None } else { depth.map(Limit::Packets) };
        FairParams {
            limit: self.limit.unwrap_or(Limit::Packets(limit)),
            queue_limit: self.queue_limit.or(own_depth),
            classifier: ClassifierSpec::Hash(HashParams {
                queues: self.queues.unwrap_or(queues),
                key: self.key.unwrap_or(key),
                perturb: self.perturb,
                ..HashParams::default()
            }),
            scheduler: match self.quantum.or(quantum) {
                Some(quantum) => SchedulerSpec::ByteRoundRobin(Quantum { quantum }),
                None => SchedulerSpec::PacketRoundRobin,
            },
            law: self.law.clone(),
            overflow: self.overflow.unwrap_or(overflow),
            ..FairParams::default()
        }
    }
}

preset!(SfqParams, any_law);
