//! SFQ-CoDel: CoDel in each of many bins, packet by packet.
//!
//! ```text
//! bin = h(5-tuple) of 1024;   one packet a turn;   a bin that has just become active goes before the others, once
//! CoDel (draft-01) per bin;   no drop while all bins hold at most maxpacket, or while the bin is empty behind the head
//! full: the tail of the bin with most packets
//! ```
//!
//! Source: ns-2 queue/sfqcodel.cc (K. Nichols, 2012-2013); White & Rice, CableLabs 2013.
//! With `isolate_cbr`, constant-rate flows share the last bin, and the others are hashed among the rest (ns-2 `isolate_`, which
//! its code calls experimental).
//! Departs: among equally full bins the one created first is dropped from, where ns-2 moves on; a queue cannot see the
//! application, so constant-rate means UDP, where ns-2 uses its packet type ("all voice packets in our simulations").

use super::preset::{Preset, preset};
use super::{ClassifierSpec, End, FairParams, HashParams, LawSees, Longest, Measure, Overflow, Quantum, SchedulerSpec};
use crate::LawSpec;
use crate::law::codel::{CodelParams, Variant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Limit};

/// Parameters of SFQ-CoDel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SfqCodelParams {
    /// How much may wait in all bins together.
    pub limit: Limit,
    /// Number of bins.
    pub queues: u32,
    /// Bytes per turn; null: one packet per turn, as ns-2's default.
    pub quantum: Option<Bytes>,
    /// CoDel's acceptable standing delay.
    pub target: Duration,
    /// CoDel's interval.
    pub interval: Duration,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Published version of CoDel.
    pub variant: Variant,
    /// UDP flows share a separate bin, as ns-2's constant-rate packets do under `isolate_`.
    pub isolate_cbr: bool,
}

impl Default for SfqCodelParams {
    /// ns-2's bins and CoDel; 1000 packets, as tc-codel(8).
    fn default() -> Self {
        Self {
            limit: Limit::Packets(1000),
            queues: 1024,
            quantum: None,
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            ecn: false,
            variant: Variant::Draft01,
            isolate_cbr: false,
        }
    }
}

impl Preset for SfqCodelParams {
    fn composition(&self) -> FairParams {
        FairParams {
            limit: self.limit,
            classifier: ClassifierSpec::Hash(HashParams {
                queues: self.queues,
                datagrams_apart: self.isolate_cbr,
                ..HashParams::default()
            }),
            scheduler: match self.quantum {
                Some(quantum) => SchedulerSpec::DrrPlusPlus(Quantum { quantum }),
                None => SchedulerSpec::NewFirst,
            },
            law: LawSpec::Codel(CodelParams {
                target: self.target,
                interval: self.interval,
                ecn: self.ecn,
                variant: self.variant,
                ..CodelParams::default()
            }),
            law_sees: LawSees::TotalUnlessLast,
            overflow: Overflow::Longest(Longest { by: Measure::Packets, from: End::Tail, batch: 1 }),
            ..FairParams::default()
        }
    }
    fn own_name(path: &str) -> String {
        path.rsplit('.').next().unwrap_or(path).into()
    }
}

preset!(SfqCodelParams, own_law);
