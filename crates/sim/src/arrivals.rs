//! The datagrams that have arrived at applications, so that the second copy of a datagram does not count if a link
//! duplicates packets. A driven endpoint receives both copies.

use packet::{Flags, FlowId, PacketMeta};
use std::collections::{BTreeMap, BTreeSet};

/// Number of datagrams that a receiver remembers. Both copies leave a link at the same time, so few datagrams come between them.
const REMEMBERED: usize = 1024;

/// The numbers of the newest datagrams of each flow and direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrivals(BTreeMap<(FlowId, bool), BTreeSet<u64>>);

impl Arrivals {
    /// Records the arrival of a datagram. Returns true if a copy of it has already arrived.
    pub(crate) fn again(&mut self, packet: &PacketMeta) -> bool {
        let numbers = self.0.entry((packet.flow, packet.flags.has(Flags::REVERSE))).or_default();
        let first = numbers.insert(packet.seq);
        if numbers.len() > REMEMBERED {
            numbers.pop_first();
        }
        !first
    }
}
