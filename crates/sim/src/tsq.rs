//! TCP small queues: a packet counts towards its socket's limit until it has left its host's device. This module keeps
//! a list of the packets whose time of departure is known: they are being sent, are scheduled, or were dropped.
//!
//! A packet's device is the first link on its path. The packet leaves the device when its last bit is sent, or when it
//! is dropped there.

use packet::{Flags, FlowId, PacketMeta};
use scenario::Network;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use units::Time;

/// A packet that is leaving its host's device: the time at which it leaves, its number (which decides the order at
/// equal times), its flow, its direction (true means reverse) and its size.
type Leaving = (Time, u64, u32, bool, u16);

/// The packets that are leaving their hosts' devices, ordered by time of departure. The world has scheduled an event
/// for each departure; until then, the packet counts towards its socket's limit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tsq {
    leaving: BinaryHeap<Reverse<Leaving>>,
    number: u64,
}

impl Tsq {
    /// Adds a packet that leaves its host's device at the time `at`.
    pub(crate) fn put(&mut self, packet: &PacketMeta, at: Time) {
        self.number += 1;
        let back = packet.flags.has(Flags::REVERSE);
        self.leaving.push(Reverse((at, self.number, packet.flow.0, back, packet.size)));
    }

    /// Removes the next packet that has left by `now`; returns its flow, the side that sent it and its size in bytes.
    pub(crate) fn take(&mut self, now: Time) -> Option<(FlowId, usize, u64)> {
        let Reverse((at, _, flow, back, bytes)) = *self.leaving.peek()?;
        if at > now {
            return None;
        }
        self.leaving.pop();
        Some((FlowId(flow), usize::from(back), bytes.into()))
    }
}

/// Returns the nodes with TCP small queues: nodes with an endpoint that limits the number of its bytes in the node's
/// device.
pub(crate) fn nodes(network: &Network) -> BTreeSet<u16> {
    let counts = |stack: u16| network.stacks[usize::from(stack)].pacing.tsq;
    let of = |app: &scenario::NetworkApp| {
        let here = counts(app.stacks[0]).then_some(app.from);
        let there = app.to.iter().copied().filter(move |_| counts(app.stacks[1]));
        here.into_iter().chain(there).collect::<Vec<u16>>()
    };
    network.apps.iter().flat_map(of).collect()
}
