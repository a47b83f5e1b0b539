//! The datagrams that have arrived at applications, so that the second copy of a datagram does not count if a link
//! duplicates packets. A driven endpoint receives both copies.
//!
//! The simulator and the live bench, which runs applications over kernel sockets, both use this list.

use packet::FlowId;
use std::collections::{BTreeMap, BTreeSet};

/// Number of datagrams that a receiver remembers. Both copies leave a link at the same time, so few datagrams come between them.
const REMEMBERED: usize = 1024;

/// The numbers of the newest datagrams of each flow and direction.
#[derive(Clone, Debug, Default)]
pub struct Arrivals(BTreeMap<(FlowId, bool), BTreeSet<u64>>);

impl Arrivals {
    /// Records the arrival of datagram `number` of a flow and direction. Returns true if a copy of it has already arrived.
    pub fn again(&mut self, flow: FlowId, back: bool, number: u64) -> bool {
        let numbers = self.0.entry((flow, back)).or_default();
        let first = numbers.insert(number);
        if numbers.len() > REMEMBERED {
            numbers.pop_first();
        }
        !first
    }
}
