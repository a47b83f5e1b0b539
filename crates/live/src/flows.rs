//! Maps real 5-tuples to flows.
//!
//! The first packet of a 5-tuple defines the flow and its forward direction. Sequence numbers are unwrapped to 64 bits,
//! because disciplines that compare ACK numbers do not handle wrapped numbers.
//!
//! Bound: [`MOST`] flows. Additional 5-tuples share slots by their hash, so that memory is bounded even during a port scan.

use packet::header::Header;
use packet::{FlowId, FlowTable, FlowTuple, Protocol};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Maximum number of flows with their own counters.
const MOST: usize = 65_536;

/// A 5-tuple in its forward direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Transport protocol.
    pub protocol: Protocol,
    /// The initiator's address.
    pub src: IpAddr,
    /// The responder's address.
    pub dst: IpAddr,
    /// The initiator's port.
    pub sport: u16,
    /// The responder's port.
    pub dport: u16,
}

/// Counters of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Direction {
    /// Packets that left the bench.
    pub packets: u64,
    /// Bytes of these packets.
    pub bytes: u64,
    /// Packets dropped in the bench.
    pub dropped: u64,
    /// Highest sequence number so far, and highest ACK number of a pure ACK, both unwrapped; `None` before the first of
    /// each kind.
    last: [Option<u64>; 2],
}

/// A flow and its counters.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The flow's 5-tuple.
    pub key: Key,
    /// Counters of the forward and the reverse direction.
    pub directions: [Direction; 2],
}

/// All flows seen so far.
#[derive(Clone, Debug, Default)]
pub struct Flows {
    index: BTreeMap<Key, u32>,
    /// The flows, by slot.
    pub all: Vec<Flow>,
    /// The 5-tuples, for classifiers.
    pub table: FlowTable,
}

impl Flows {
    /// Returns the packet's flow, and two booleans: true if the packet travels from responder to initiator, and true if
    /// the flow is new. For a 5-tuple without its own slot, both are false.
    pub fn find(&mut self, h: &Header) -> (FlowId, bool, bool) {
        let key = Key { protocol: h.protocol, src: h.src, dst: h.dst, sport: h.sport, dport: h.dport };
        if let Some(&slot) = self.index.get(&key) {
            return (FlowId::new(slot, 0), false, false);
        }
        let back = Key { src: h.dst, dst: h.src, sport: h.dport, dport: h.sport, ..key };
        if let Some(&slot) = self.index.get(&back) {
            return (FlowId::new(slot, 0), true, false);
        }
        if self.all.len() >= MOST {
            let slot = (fold(key.src) ^ fold(key.dst) ^ u32::from(key.sport ^ key.dport)) as usize % MOST;
            return (FlowId::new(slot as u32, 0), false, false);
        }
        let slot = self.all.len() as u32;
        self.index.insert(key, slot);
        self.all.push(Flow { key, directions: [Direction::default(); 2] });
        let id = FlowId::new(slot, 0);
        let tuple = FlowTuple {
            src: fold(key.src),
            dst: fold(key.dst),
            sport: key.sport,
            dport: key.dport,
            protocol: h.protocol,
            dscp: h.tos >> 2,
        };
        self.table.set(id, tuple);
        (id, false, true)
    }

    /// Unwraps the sequence number of a TCP segment, or the acknowledgement number of a pure ACK. The numbers of other
    /// protocols stay as they are.
    pub(crate) fn unwrap(&mut self, flow: FlowId, back: bool, pure_ack: bool, h: &Header) -> u64 {
        if h.protocol != Protocol::TCP {
            return u64::from(h.seq);
        }
        let Some(f) = self.all.get_mut(flow.slot()) else { return u64::from(h.seq) };
        let last = &mut f.directions[usize::from(back)].last[usize::from(pure_ack)];
        let number = match *last {
            // starts at 2^32, so that segments older than the first segment also have positive numbers
            None => u64::from(h.seq) + (1 << 32),
            Some(last) => last.wrapping_add_signed(i64::from(h.seq.wrapping_sub(last as u32) as i32)),
        };
        *last = Some(last.map_or(number, |l| l.max(number)));
        number
    }
}

/// Folds an address into 32 bits: IPv4 stays as it is, IPv6 is hashed by FNV-1a.
fn fold(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(a) => u32::from(a),
        IpAddr::V6(a) => a.octets().iter().fold(0x811c_9dc5, |h, b| (h ^ u32::from(*b)).wrapping_mul(0x0100_0193)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::craft;
    use packet::craft::Tcp;
    use packet::header;

    #[test]
    fn both_directions_are_one_flow_and_numbers_do_not_wrap() {
        let mut flows = Flows::default();
        let seg = |src, dst, ports, seq| {
            header::parse(&craft::tcp(false, src, dst, &Tcp { ports, bits: 0x18, seq, ..Tcp::default() }, 10)).unwrap()
        };
        let h = seg(1, 2, (9, 80), u32::MAX - 5);
        let (a, back, new) = flows.find(&h);
        assert!(!back && new);
        let (b, back, new) = flows.find(&seg(2, 1, (80, 9), 1));
        assert!(a == b && back && !new);
        let first = flows.unwrap(a, false, false, &h);
        let later = flows.unwrap(a, false, false, &seg(1, 2, (9, 80), 4));
        let again = flows.unwrap(a, false, false, &h);
        assert_eq!((later - first, again), (10, first));
        // numbers in the opposite direction are unwrapped separately
        assert_eq!(flows.unwrap(a, true, false, &seg(2, 1, (80, 9), 1)), 1 + (1 << 32));
        assert_eq!(flows.table.get(a).dport, 80);
    }
}
