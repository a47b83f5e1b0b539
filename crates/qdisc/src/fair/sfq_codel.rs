//! SFQ-CoDel: many queues ("bins"), each running CoDel, served one packet at a time.
//!
//! ```text
//! bin = h(5-tuple), one of 1024;   one packet per turn;   a bin that has just become active goes before the others, once
//! CoDel (draft-01) in each bin;    no drop while all bins together hold at most maxpacket, or if no packet is behind the head
//! full                             drops the tail of the bin with the most packets
//! ```
//!
//! Source: ns-2 queue/sfqcodel.cc (K. Nichols, 2012-2013); White & Rice, CableLabs 2013. With `isolate_cbr`, constant-rate
//! flows share the last bin, and other flows are hashed among the other bins (ns-2 `isolate_`, which its code calls
//! experimental).
//! Departs: on overflow, the arrival counts as part of its bin, and is itself dropped if its bin has the most packets.
//! ns-2 drops before the arrival joins, so it always accepts the arrival. Among equally full bins, the bin created
//! first loses a packet; ns-2 drops from each of them in turn. A queue has no information about the application, so UDP
//! counts as constant-rate; ns-2 uses its packet type ("all voice packets in our simulations").

use super::preset::{Preset, preset};
use super::{ClassifierSpec, End, FairParams, HashParams, LawSees, Longest, Measure, Overflow, Quantum, SchedulerSpec};
use crate::LawSpec;
use crate::declared::params;
use crate::law::codel::{CodelParams, Variant};
use units::{Bytes, Duration, Limit};

params! {
    /// Parameters of SFQ-CoDel. Its queues are called bins, and each bin is managed by CoDel. The default of `limit` is
    /// from tc-codel(8); all other defaults are ns-2's.
    pub struct SfqCodelParams {
        /// Maximum length of all bins together.
        limit: Limit = Limit::Packets(1000),
        /// Number of bins.
        queues: u32 = 1024,
        /// Bytes that a bin may send in one turn; null: one packet per turn, as in ns-2.
        quantum: Option<Bytes> = None,
        /// Queueing delay that CoDel accepts.
        target: Duration = Duration::from_millis(5),
        /// CoDel's interval: time for which the delay must stay above `target` before the first drop. Set it to about
        /// the longest round-trip time that you expect.
        interval: Duration = Duration::from_millis(100),
        /// Marks ECN-capable packets instead of dropping them.
        ecn: bool = false,
        /// Published version of CoDel. The versions differ mainly in count, the number that determines how often CoDel
        /// drops. The discipline `codel` explains count, cycles and `interval`. In the descriptions of the variants,
        /// "the bytes behind the head" are the bytes in all bins, but 0 if the head is the last packet of its bin.
        variant: Variant = Variant::Draft01,
        /// Puts all UDP flows into one bin, which no other flow uses. ns-2's `isolate_` does this for packets of
        /// constant-rate traffic.
        isolate_cbr: bool = false,
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
            overflow: Overflow::Longest(Longest { by: Measure::Packets, from: End::Tail, ..Longest::default() }),
            ..FairParams::default()
        }
    }
    fn own_name(path: &str) -> String {
        path.rsplit('.').next().unwrap_or(path).into()
    }
}

preset!(SfqCodelParams, own_law);
