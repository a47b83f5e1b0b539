//! The lives of the packets in a window of a run: when each packet entered and left every queue on its path, and when it was
//! marked, dropped or delivered.
//!
//! ```text
//!  0 ............. from ................... until ........... end
//!  only packets    packets sent here are    only packets of the
//!  in flight or    recorded, and so are     window are followed
//!  unacknowledged  those in flight or       until they end and
//!  are kept        unacknowledged at from   are acknowledged
//! ```
//!
//! Records identify a packet by flow, sequence number and size. Two packets in one queue may have the same identity (duplicate
//! ACKs). Within a queue, they are distinguished by their arrival times; between links, by their tags.
//!
//! Memory is bounded: a window with too many packets ends early, at [`Lives::until`]. Recording changes no result except
//! the number of events, and draws no random number.

mod follow;
mod senders;
mod sink;
mod subqueues;
mod table;

pub use senders::{NAMES, SenderRow};
pub use table::{Leg, Life, NO_SUBQUEUE};

use packet::{FlowId, NodeId};
use record::{FlowOwner, LinkId};
use scenario::Scenario;
use senders::Senders;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use subqueues::Subqueues;
use table::{Key, NONE, Table};
use units::{Duration, Problem, Time};

/// Maximum time for which the packets of a window are followed after the window ends.
const FOLLOWED_NS: u64 = 3_000_000_000;
/// Maximum size of the tables.   Unit: bytes.
const MOST_BYTES: usize = 32 << 20;

/// An event for which a sink can search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Landmark {
    /// A packet is dropped at this link.
    Drop(LinkId),
    /// A packet is marked at this link.
    Mark(LinkId),
    /// A sender's retransmission timer expires.
    Timeout,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Record,
    Find(Landmark),
}

/// The phase of the run: before, inside or after the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Before,
    Inside,
    After,
}

/// A flow in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectedFlow {
    /// The flow's id.
    pub id: FlowId,
    /// The flow's owner.
    pub owner: FlowOwner,
    /// True for the direction from the responder to the initiator.
    pub reverse: bool,
    /// Minimum one-way delay of the packets sent before the end of the window; `u64::MAX` ns if none has arrived.
    pub least: Duration,
}

/// The rows of a flow's two directions, and the flow's unacknowledged packets.
#[derive(Clone, Debug, Default)]
struct Slot {
    flow: FlowId,
    rows: [u32; 2],
    /// Packets with payload that no ACK has covered, by direction: the end of the payload, and the row of the packet.
    unacknowledged: [BinaryHeap<Reverse<(u64, u32)>>; 2],
}

/// A packet that has arrived at a link and is not yet in its queue.
#[derive(Clone, Copy, Debug)]
struct Arriving {
    key: Key,
    /// Row of the packet; `None` if its host has just sent it, or if the packet is not followed.
    row: Option<u32>,
    life: Life,
    tag: u32,
    marked: Time,
}

/// A sink that records what happens to the packets in a window, or searches for the next event of some kind (a
/// [`Landmark`]).
#[derive(Clone, Debug)]
pub struct Lives {
    task: Task,
    phase: Phase,
    from: Time,
    until: Time,
    shortened: bool,
    most_packets: usize,
    found: Option<Time>,
    next: Time,
    /// The node at the far end of each link.
    ends: Vec<NodeId>,
    table: Table,
    senders: Senders,
    subqueues: Vec<Subqueues>,
    flows: Vec<DirectedFlow>,
    slots: Vec<Slot>,
    arriving: Option<Arriving>,
    /// Row of the leg that began last, until its subqueue is looked up at the next reading of a link; then [`NONE`].
    entered: u32,
}

impl Lives {
    /// Returns a sink that records the packets sent in [from, until), at most about `most_packets`.
    ///
    /// Errors: the first problem found in the scenario.
    pub fn new(scenario: &Scenario, from: Time, until: Time, most_packets: usize) -> Result<Self, Problem> {
        let network = scenario.network()?;
        let ends: Vec<NodeId> = network.links.iter().map(|l| NodeId(l.to)).collect();
        Ok(Self {
            task: Task::Record,
            phase: Phase::Before,
            from,
            until: until.max(from),
            shortened: false,
            most_packets,
            found: None,
            next: from,
            subqueues: vec![Subqueues::default(); ends.len()],
            ends,
            table: Table::new(),
            senders: Senders::default(),
            flows: Vec::new(),
            slots: Vec::new(),
            arriving: None,
            entered: NONE,
        })
    }

    /// Returns a sink that searches for the first event of the type `landmark` that happens later than the time
    /// `after`.
    pub fn find(scenario: &Scenario, landmark: Landmark, after: Time) -> Result<Self, Problem> {
        Ok(Self { task: Task::Find(landmark), ..Self::new(scenario, after, Time::NEVER, 0)? })
    }

    /// Returns true if the sink needs no more of the run. A search is done when the landmark has been found. A window is
    /// done when it has ended and none of its packets is in flight or unacknowledged. It is done in any case 3 s after
    /// its end.
    pub fn is_done(&self, now: Time) -> bool {
        match self.task {
            Task::Find(_) => self.found.is_some(),
            Task::Record => {
                let quiet = self.table.is_quiet() && self.slots.iter().all(Slot::is_acknowledged);
                now >= self.until && (quiet || now.0 >= self.until.0.saturating_add(FOLLOWED_NS))
            }
        }
    }

    /// Returns the time of the landmark, if it has been found.
    pub fn found(&self) -> Option<Time> {
        self.found
    }

    /// Returns the start of the window.
    pub fn from(&self) -> Time {
        self.from
    }

    /// Returns the end of the window, which is earlier than requested if there were too many packets.
    pub fn until(&self) -> Time {
        self.until
    }

    /// Returns true if the window ends earlier than requested.
    pub fn is_shortened(&self) -> bool {
        self.shortened
    }

    /// Returns the packets by row, including rows that do not belong to the window (see [`Lives::has`]).
    pub fn packets(&self) -> &[Life] {
        self.table.packets()
    }

    /// Returns true if the row with this number holds a packet of the window. Such a packet was sent in the window, or
    /// before it and was still in flight or unacknowledged at the start of the window.
    pub fn has(&self, packet: u32) -> bool {
        self.packets().get(packet as usize).is_some_and(|life| life.used && life.sent < self.until)
    }

    /// Returns the legs of all packets (their passages over single links), in no particular order.
    pub fn legs(&self) -> &[Leg] {
        self.table.legs()
    }

    /// Returns the flows by row.
    pub fn flows(&self) -> &[DirectedFlow] {
        &self.flows
    }

    /// Returns the recorded states of senders, ordered by time.
    pub fn sender_rows(&self) -> &[SenderRow] {
        &self.senders.rows
    }

    /// Returns the names of the sender states.
    pub fn states(&self) -> &[String] {
        &self.senders.states
    }

    /// Returns the names of the subqueues in the queue of a link; an empty slice if the queue has no subqueues.
    pub fn subqueues(&self, link: usize) -> &[String] {
        &self.subqueues[link].names
    }

    /// Returns the subqueue of a leg: the subqueue in which the packet was found or, if that is unknown, the last known
    /// subqueue of the packet's flow.
    pub fn subqueue(&self, leg: &Leg) -> u16 {
        if leg.subqueue != NO_SUBQUEUE {
            return leg.subqueue;
        }
        let flow = self.packets()[leg.packet as usize].flow;
        self.subqueues[usize::from(leg.link)].of(flow).unwrap_or(NO_SUBQUEUE)
    }
}
