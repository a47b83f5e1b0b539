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
use crate::declared::params;
use SfqVariant::{Linux, Mckenney, Ns2};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Limit};

/// A published version: defaults for the parameters that are null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SfqVariant {
    /// The paper of 1990: packet round robin, drops from the longest queue.
    Mckenney,
    /// ns-2: 16 queues by addresses only, its own overflow rule.
    Ns2,
    /// Linux sch_sfq: byte round robin, drops from the longest queue in packets.
    Linux,
}

params! {
    /// Parameters of SFQ. Those that default to null take the value of `variant`.
    pub struct SfqParams as p {
        /// Published version, from which parameters that are null take their values.
        variant: SfqVariant = Mckenney,
        /// Limit on all queues together; null: 128p, ns2 40p, linux 127p.
        limit: Option<Limit> = None => Limit::Packets(match p.variant {
            Mckenney => 128,
            Ns2 => 40,
            Linux => 127,
        }),
        /// Number of queues; null: 128, ns2 16, linux 1024.
        queues: Option<u32> = None => match p.variant {
            Mckenney => 128,
            Ns2 => 16,
            Linux => 1024,
        },
        /// Header fields that are hashed; null: five_tuple, ns2 addresses.
        key: Option<HashKey> = None => if p.variant == Ns2 { HashKey::Addresses } else { HashKey::FiveTuple },
        /// Time between changes of the hash's salt; null: never.
        perturb: Option<Duration> = None,
        /// Bytes per turn; null: one packet per turn, linux 1514.
        quantum: Option<Bytes> = None,
        /// Limit on each queue; null: only the shared limit, linux 127p.
        queue_limit: Option<Limit> = None,
        /// Packets dropped when the shared memory is full; null: longest by bytes, ns2 ns2_sfq, linux longest by packets.
        overflow: Option<Overflow> = None => match p.variant {
            Mckenney => longest(Measure::Bytes),
            Ns2 => Overflow::Ns2Sfq,
            Linux => longest(Measure::Packets),
        },
        /// The law of each queue: `{ lred = {..} }`, "lred" or "none".
        law: LawSpec = LawSpec::None,
    }
}

fn longest(by: Measure) -> Overflow {
    Overflow::Longest(Longest { by, from: End::Tail, batch: 1 })
}

impl Preset for SfqParams {
    fn composition(&self) -> FairParams {
        let linux = self.variant == Linux;
        let depth = Limit::Packets(127);
        FairParams {
            limit: self.limit(),
            queue_limit: self.queue_limit.or((linux && self.law.limit().is_none()).then_some(depth)),
            classifier: ClassifierSpec::Hash(HashParams {
                queues: self.queues(),
                key: self.key(),
                perturb: self.perturb,
                ..HashParams::default()
            }),
            scheduler: match self.quantum.or(linux.then_some(Bytes(1514))) {
                Some(quantum) => SchedulerSpec::ByteRoundRobin(Quantum { quantum }),
                None => SchedulerSpec::PacketRoundRobin,
            },
            law: self.law.clone(),
            overflow: self.overflow(),
            ..FairParams::default()
        }
    }
}

preset!(SfqParams, any_law);
