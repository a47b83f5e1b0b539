//! The lives of the packets in a window of a run: when each entered and left every queue on its way, was marked, dropped or delivered.
//!
//! ```text
//!  0 ............. from ................... until ........... end
//!  packets that    packets sent here are    only packets of the
//!  still travel    rows, and so are those   window are followed
//!  are kept        under way at its start   to their end
//! ```
//!
//! Records name a packet by flow, number and size. Two packets of one queue may have the same name (duplicate ACKs); they
//! differ in the time at which they entered it, and in their tags from link to link.
//!
//! Memory is bounded: a window with too many packets ends early, and [`Lives::until`] says when. Recording changes no result: it
//! adds no event and draws no random number.

mod follow;
mod lines;
mod senders;
mod sink;
mod table;

pub use senders::{Belief, NAMES};
pub use table::{Leg, Life, NO_LINE};

use lines::Lines;
use packet::{FlowId, NodeId};
use record::{FlowOwner, LinkId};
use scenario::Scenario;
use senders::Senders;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use table::{Key, NONE, Table};
use units::{Duration, Problem, Time};

/// Time after the window in which its packets are followed to their end.
const FOLLOWED_NS: u64 = 3_000_000_000;
/// The longest table.   Unit: bytes.
const MOST_BYTES: usize = 32 << 20;

/// An event that is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Landmark {
    /// A packet is dropped at this link.
    Drop(LinkId),
    /// A packet is marked at this link.
    Mark(LinkId),
    /// A sender's retransmission timer expires.
    Timeout,
}

/// The task of the sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Record,
    Find(Landmark),
}

/// Where in the run the sink is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Before,
    Inside,
    After,
}

/// A flow in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectedFlow {
    /// Its id.
    pub id: FlowId,
    /// Its owner.
    pub owner: FlowOwner,
    /// From the responder to the initiator.
    pub reverse: bool,
    /// The least one-way delay of its packets so far, from the start of the run.
    pub least: Duration,
}

/// The rows of a flow's two directions.
#[derive(Clone, Debug, Default)]
struct Slot {
    flow: FlowId,
    rows: [u32; 2],
    /// Packets with payload that no ACK has covered, by direction: the end of their payload, and their rows.
    unacknowledged: [BinaryHeap<Reverse<(u64, u32)>>; 2],
}

/// A packet that has arrived at a link and is not yet in its queue.
#[derive(Clone, Copy, Debug)]
struct Arriving {
    key: Key,
    /// Its row, if it came over another link.
    row: Option<u32>,
    life: Life,
    tag: u32,
    marked: Time,
}

/// A sink that records the lives of packets in a window, or looks for the next landmark.
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
    lines: Vec<Lines>,
    flows: Vec<DirectedFlow>,
    slots: Vec<Slot>,
    arriving: Option<Arriving>,
    /// The leg that entered a queue since the last reading of its link.
    entered: u32,
}

impl Lives {
    /// Records the packets in [from, until), at most about `most_packets`.   Errors: those of the scenario's network.
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
            lines: vec![Lines::default(); ends.len()],
            ends,
            table: Table::new(),
            senders: Senders::default(),
            flows: Vec::new(),
            slots: Vec::new(),
            arriving: None,
            entered: NONE,
        })
    }

    /// Looks for the first `landmark` after `after`.
    pub fn find(scenario: &Scenario, landmark: Landmark, after: Time) -> Result<Self, Problem> {
        Ok(Self { task: Task::Find(landmark), ..Self::new(scenario, after, Time::NEVER, 0)? })
    }

    /// Returns true if the rest of the run adds nothing.
    pub fn is_done(&self, now: Time) -> bool {
        match self.task {
            Task::Find(_) => self.found.is_some(),
            Task::Record => {
                let quiet = self.table.is_quiet() && self.slots.iter().all(Slot::is_acknowledged);
                now >= self.until && (quiet || now.0 >= self.until.0.saturating_add(FOLLOWED_NS))
            }
        }
    }

    /// The time of the landmark that was looked for.
    pub fn found(&self) -> Option<Time> {
        self.found
    }

    /// The window's start.
    pub fn from(&self) -> Time {
        self.from
    }

    /// The window's end: earlier than requested, if it had too many packets.
    pub fn until(&self) -> Time {
        self.until
    }

    /// The window ends earlier than requested.
    pub fn is_shortened(&self) -> bool {
        self.shortened
    }

    /// Packets by row. A row is of the window if [`Lives::has`] it.
    pub fn packets(&self) -> &[Life] {
        self.table.packets()
    }

    /// Whether this row is a packet of the window.
    pub fn has(&self, packet: u32) -> bool {
        self.packets().get(packet as usize).is_some_and(|life| life.used && life.sent < self.until)
    }

    /// Legs of all packets, in no order.
    pub fn legs(&self) -> &[Leg] {
        self.table.legs()
    }

    /// Flows by row.
    pub fn flows(&self) -> &[DirectedFlow] {
        &self.flows
    }

    /// States of senders, in order of time.
    pub fn beliefs(&self) -> &[Belief] {
        &self.senders.rows
    }

    /// Names of the states of senders.
    pub fn states(&self) -> &[String] {
        &self.senders.states
    }

    /// Names of the lines in the queue of a link; empty if it has one line.
    pub fn lines(&self, link: usize) -> &[String] {
        &self.lines[link].names
    }

    /// The line of a leg: that in which it was seen, or else that of its flow.
    pub fn line(&self, leg: &Leg) -> u16 {
        if leg.line != NO_LINE {
            return leg.line;
        }
        let flow = self.packets()[leg.packet as usize].flow;
        self.lines[usize::from(leg.link)].of(flow).unwrap_or(NO_LINE)
    }
}
