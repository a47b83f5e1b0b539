//! Overflow rules: which packets are dropped when the memory shared by all queues is full.
//!
//! ```text
//! tail      drops the arrival                                                        (ARRIS 2013, read literally)
//! longest   drops the head or tail of the queue with the most bytes or packets, until the arrival fits;
//!           batch: up to `batch` packets or half of the queue's bytes at once
//! ns2_sfq   drops the arrival if own >= free / 2, or free < queues and own > limit / queues, or free = 0      (packets)
//! ```
//!
//! In `longest`, the arrival counts as part of its queue. In `ns2_sfq`, own is the number of packets in the arrival's
//! queue, and free is the number of packets that still fit within the limit.
//!
//! Source: McKenney 1990 (longest queue); ns-2 sfq.cc, drr.cc; RFC 8290 §4.1 and Linux since 2016 (batch).

use crate::declared::params;
use packet::Backlog;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Problem, ensure};

/// The rule that selects the packets to drop when the shared memory is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[serde(remote = "Self")]
#[schemars(transform = units::words::<Overflow>)]
pub enum Overflow {
    /// The arrival is dropped.
    Tail,
    /// Packets of the longest queue are dropped until the arrival fits. The arrival counts as part of its queue. If
    /// only the keyword is given, queues are compared by bytes, and packets are dropped from the head.
    Longest(Longest),
    /// The rule of ns-2's SFQ. Let q be the number of queues, n the number of packets in the arrival's queue, and f the
    /// number of packets for which `limit` still has room. The arrival is dropped if n >= f / 2, or if f < q and n >
    /// `limit` / q. Quotients are rounded down. The rule needs a limit in packets and a fixed number of queues, so it
    /// is not valid for `perfect` or the classifier `isolated`.
    Ns2Sfq,
}

units::word_or_table!(Overflow);

/// The unit in which the lengths of queues are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Bytes.
    Bytes,
    /// Packets.
    Packets,
}

/// The end of the queue from which packets are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The oldest packet.
    Head,
    /// The newest packet.
    Tail,
}

/// The queue from which packets are dropped if several queues are the longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tie {
    /// The queue with the lowest number.
    Lowest,
    /// The queue whose length changed last, which is often the queue of the arriving packet. There is one exception, as
    /// in Linux's sfq: if lengths are compared in packets and no queue holds more than one packet, a packet is dropped
    /// from the queue whose turn is next.
    Latest,
}

params! {
    /// Parameters of the overflow rule that drops packets of the longest queue. The rule applies when all queues
    /// together reach their limit.
    #[derive(Copy, Eq)]
    pub struct Longest {
        /// The unit in which the lengths of queues are compared.
        by: Measure = Measure::Bytes,
        /// The end of the queue from which packets are dropped. This key also applies to a queue that reaches a limit
        /// of its own, if queues have one. With `head`, this queue drops its oldest packets; with `tail`, it drops the
        /// arriving packet.
        from: End = End::Head,
        /// The queue from which packets are dropped if several queues are the longest.
        tie: Tie = Tie::Lowest,
        /// Maximum number of packets that are dropped from the longest queue in one batch. A batch also ends when half
        /// of the queue's bytes have been dropped. After each batch, the lengths of the queues are compared again.
        batch: u32 = 1,
    }
}

impl Measure {
    /// Returns the length of `backlog` in this unit.
    #[inline]
    pub(crate) fn of(self, backlog: Backlog) -> u64 {
        match self {
            Self::Bytes => backlog.bytes,
            Self::Packets => u64::from(backlog.packets),
        }
    }
}

impl Overflow {
    /// Returns an error that names the first invalid parameter, if there is one.
    pub(crate) fn validate(self) -> Result<(), Problem> {
        let none = matches!(self, Self::Longest(Longest { batch: 0, .. }));
        ensure!(!none, "longest.batch", "0 is not valid; expected at least 1");
        Ok(())
    }
}

/// Returns true if ns-2's SFQ would let an arriving packet join a queue that holds `own` packets. There are `queues`
/// queues; together they hold `total` packets, and may hold at most `limit`.
pub(super) fn ns2_sfq_fits(own: u32, total: u32, limit: u32, queues: u32) -> bool {
    let free = limit.saturating_sub(total);
    !(own >= free / 2 || (free < queues && own > limit / queues) || free == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ns2_sfq_by_hand() {
        // ns-2's defaults are 40 packets and 16 queues, so a share is 40 / 16 = 2 packets, rounded down
        let fits = |own, total| ns2_sfq_fits(own, total, 40, 16);
        // While all other queues are empty, a queue can grow until own >= (40 - own) / 2. This is the case at 13
        // packets: 27 places are free, and half of 27, rounded down, is 13.
        assert!(fits(12, 12) && !fits(13, 13));
        // with fewer than 16 places free, a queue with more than 2 packets may not grow
        assert!(fits(2, 25) && !fits(3, 25), "15 free");
        assert!(fits(3, 24), "16 free");
        // with one place free, half of it is 0, so even an empty queue may not grow
        assert!(fits(0, 38) && !fits(0, 39) && !fits(0, 40));
    }
}
