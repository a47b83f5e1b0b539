//! fq_codel: many queues, each with CoDel, served by DRR++.
//!
//! ```text
//! queue = jenkins(5-tuple; salt), one of 1024
//! enqueue   an idle queue joins the new list with deficit = quantum
//! dequeue   the first queue of the new list, otherwise of the old list;
//!           deficit <= 0: deficit += quantum, moves to the tail of the old list, and the next queue has its turn
//!           CoDel examines the queue's head;  empty: moves from new to old, or out of old;  sent: deficit -= size
//! full      drops half of the queue with the most bytes, from its head, at most drop_batch packets; with
//!           overflow_counts, each drop increments the count of the queue's CoDel
//! ```
//!
//! Where Linux and RFC 8290 differ, the defaults are Linux's. CoDel does not drop while at most one packet's bytes are queued
//! behind the packet at the head. Linux counts the bytes of all queues together (`law_sees = "total"`), so a queue may lose its
//! last packet. The RFC runs CoDel on each queue, which suggests the queue's own backlog (`law_sees = "own"`). If many flows have
//! one or two packets each, they lose packets with "total", but not with "own". Linux also counts overflow drops as CoDel's drops
//! (`overflow_counts`); the RFC does not mention this.
//!
//! Source: RFC 8290 §4.1, §4.2; tc-fq_codel(8) for names and defaults; measured drop rates of Linux (ten flows at 5 Mbit/s with a
//! round-trip time of 50 ms).   Units: bytes on the wire.
//! Departs: `memory_limit` counts bytes on the wire, where Linux counts the memory of its packet buffers. CoDel is that of RFC
//! 8289, unless `variant = "linux"` selects Linux's CoDel with its 16-bit arithmetic.

use super::preset::{Preset, preset};
use super::{ClassifierSpec, FairParams, HashParams, LawSees, Longest, Overflow, Quantum, SchedulerSpec};
use crate::LawSpec;
use crate::declared::params;
use crate::law::Selector;
use crate::law::codel::{CodelParams, Variant};
use units::{Bytes, Duration, Limit};

params! {
    /// Parameters of fq_codel, with tc's names and defaults. Each queue is managed by CoDel. tc does not have
    /// `law_sees`, `overflow_counts` or `variant`.
    pub struct FqCodelParams {
        /// Maximum length of all queues together.
        limit: Limit = Limit::Packets(10_240),
        /// Number of queues.
        flows: u32 = 1024,
        /// Queueing delay that CoDel accepts.
        target: Duration = Duration::from_millis(5),
        /// CoDel's interval: time for which the delay must stay above `target` before the first drop. Set it to about
        /// the longest round-trip time that you expect.
        interval: Duration = Duration::from_millis(100),
        /// Bytes that a queue may send in one turn.
        quantum: Bytes = Bytes(1514),
        /// Marks ECN-capable packets instead of dropping them.
        ecn: bool = true,
        /// Sojourn time above which every ECN-capable packet is marked; null: off.
        ce_threshold: Option<Duration> = None,
        /// Packets to which `ce_threshold` applies, as "VALUE/MASK". A packet is selected if (TOS AND MASK) = VALUE,
        /// where TOS is the byte of the IP header that holds DSCP and ECN field. "0x1/0x3" selects ECT(1) packets,
        /// which L4S flows send. Null: all packets.
        ce_threshold_selector: Option<Selector> = None,
        /// Maximum length of all queues together in bytes, in addition to `limit`.
        memory_limit: Bytes = Bytes(32 << 20),
        /// Maximum number of packets that are dropped at once, from the head of the longest queue, when a limit is
        /// reached.
        drop_batch: u32 = 64,
        /// Published version of CoDel. The versions differ mainly in count, the number that determines how often CoDel
        /// drops. The discipline `codel` explains count, cycles and `interval`.
        variant: Variant = Variant::Rfc8289,
        /// The backlog that CoDel checks before it drops, without the packet at the head (in the descriptions of the
        /// variants: the bytes behind the head). CoDel drops nothing while this backlog is at most `max_packet` bytes
        /// (a key of the discipline `codel`: 1514B with the variants rfc8289 and linux).
        law_sees: LawSees = LawSees::Total,
        /// Increments CoDel's count also when a packet is dropped because a limit was reached, as in Linux. CoDel then
        /// drops more often.
        overflow_counts: bool = true,
    }
}

impl Preset for FqCodelParams {
    fn composition(&self) -> FairParams {
        FairParams {
            limit: self.limit,
            memory_limit: Some(self.memory_limit),
            queue_limit: None,
            classifier: ClassifierSpec::Hash(HashParams { queues: self.flows, ..HashParams::default() }),
            scheduler: SchedulerSpec::DrrPlusPlus(Quantum { quantum: self.quantum }),
            law: LawSpec::Codel(CodelParams {
                target: self.target,
                interval: self.interval,
                ecn: self.ecn,
                ce_threshold: self.ce_threshold,
                ce_threshold_selector: self.ce_threshold_selector,
                variant: self.variant,
                overflow_counts: self.overflow_counts,
                ..CodelParams::default()
            }),
            law_sees: self.law_sees,
            overflow: Overflow::Longest(Longest { batch: self.drop_batch, ..Longest::default() }),
        }
    }
    fn own_name(path: &str) -> String {
        match path {
            "classifier.hash.queues" => "flows".into(),
            "overflow.longest.batch" => "drop_batch".into(),
            // every other parameter is named by the last part of its path: law.codel.target becomes target
            _ => path.rsplit('.').next().unwrap_or(path).into(),
        }
    }
}

preset!(FqCodelParams, own_law);
