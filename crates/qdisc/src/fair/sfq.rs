//! SFQ: stochastic fairness queueing.
//!
//! ```text
//! queue = h(flow), one of n;   round robin;   one memory for all queues;   overflow: see the variant
//!
//! variant    limit  queues  order            overflow                                  each queue
//! mckenney   128p   128     packets          tail of the longest queue (bytes)         -
//! ns2        40p    16      packets          ns2_sfq; hash of the addresses only       -
//! linux      127p   1024    bytes, 1514      tail of the longest queue (packets)       127p
//! ```
//!
//! In a tie, the variant linux drops from the queue whose length changed last.
//!
//! Source: McKenney, INFOCOM 1990; ns-2 queue/sfq.cc; Linux sch_sfq; ARRIS 2013.   Units: bytes on the wire.
//! Departs: McKenney does not specify sizes; 128 packets and 128 queues are about those of Linux (127 and 128). Linux has
//! 1024 hash values but only 128 queues for them, and drops an arrival that finds no free queue; here every hash value
//! can have a queue. Perturbation does not reorder a flow (see `classifier`). Since 2011, Linux has avoided reordering
//! by moving a flow's packets to the new queue.

use super::preset::{Preset, preset};
use super::{
    ClassifierSpec, End, FairParams, HashKey, HashParams, Longest, Measure, Overflow, Quantum, SchedulerSpec, Tie,
};
use crate::LawSpec;
use crate::declared::params;
use SfqVariant::{Linux, Mckenney, Ns2};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Limit};

/// A published version. It determines the values of the parameters that are omitted (null).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SfqVariant {
    /// The original (McKenney 1990): each queue sends one packet per turn. On overflow, the queue with the most bytes
    /// loses its newest packets.
    Mckenney,
    /// ns-2: 16 queues, selected by a hash of the addresses only, and the overflow rule ns2_sfq.
    Ns2,
    /// Linux sch_sfq: each queue may send `quantum` bytes per turn. On overflow, the queue with the most packets loses
    /// its newest packets.
    Linux,
}

params! {
    /// Parameters of SFQ (stochastic fairness queueing). Some defaults depend on `variant`. A hash assigns each flow to
    /// one of the queues, which send in turn.
    pub struct SfqParams as p {
        /// Published version of the algorithm. The defaults of some parameters depend on it.
        variant: SfqVariant = Mckenney,
        /// Maximum length of all queues together; null: 128p, 40p (ns2), 127p (linux).
        limit: Option<Limit> = None => Limit::Packets(match p.variant {
            Mckenney => 128,
            Ns2 => 40,
            Linux => 127,
        }),
        /// Number of queues; null: 128, 16 (ns2), 1024 (linux).
        queues: Option<u32> = None => match p.variant {
            Mckenney => 128,
            Ns2 => 16,
            Linux => 1024,
        },
        /// Header fields whose hash selects a packet's queue; null: five_tuple, addresses (ns2).
        key: Option<HashKey> = None => if p.variant == Ns2 { HashKey::Addresses } else { HashKey::FiveTuple },
        /// Time between changes of the hash's salt, a random number that is hashed with the header fields. After a
        /// change, a flow keeps its queue until all of its queued packets have left. Its next packet is hashed with the
        /// new salt. Null: never.
        perturb: Option<Duration> = None,
        /// Bytes that a queue may send in one turn; null: one packet per turn, 1514B (linux).
        quantum: Option<Bytes> = None,
        /// Maximum length of each queue; null: the law's `limit`, if it has one; otherwise 127p (linux) or no limit.
        queue_limit: Option<Limit> = None,
        /// The rule that selects the packets to drop when all queues together reach `limit`. Null:
        /// `{ longest = { from = "tail" } }`, ns2_sfq (ns2),
        /// `{ longest = { by = "packets", from = "tail", tie = "latest" } }` (linux).
        overflow: Option<Overflow> = None => match p.variant {
            Mckenney => longest(Measure::Bytes, Tie::Lowest),
            Ns2 => Overflow::Ns2Sfq,
            Linux => longest(Measure::Packets, Tie::Latest),
        },
        /// The AQM of each queue: the name of a law, such as "lred"; a table with its parameters, such as
        /// `{ lred = {..} }`; or "none".
        law: LawSpec = LawSpec::None,
    }
}

fn longest(by: Measure, tie: Tie) -> Overflow {
    Overflow::Longest(Longest { by, from: End::Tail, tie, batch: 1 })
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
