//! The queues of a tin: the queue that a packet joins, and the order of service.
//!
//! ```text
//! place     the hash selects a place and the set of 8 places around it. A flow keeps the place that it has in the set;
//!           otherwise it gets a free one; if there is none, it shares the place of the hash with other flows
//! sparse    a new or returning flow: served before the bulk flows, for one turn       (DRR++)
//! bulk      any other flow with packets: served in turn                               (DRR++)
//! decaying  an empty flow whose law has not come to rest yet: each dequeue visits one
//!
//! If the flow at the head of a list has a deficit of 0 or less, it gets quantum / host load more and moves to the end
//! of the bulk list. A sparse flow becomes bulk this way, or, if it is empty, waits in the bulk list for a new packet.
//! ```
//!
//! Only bulk flows count towards their hosts' load, so a flow in its first turn does not reduce the shares of other
//! flows. If the isolation shares by host, each of a host's sixty bulk flows gets at most a sixtieth of a quantum per
//! turn. A packet may then need many rounds, so the code computes the number of rounds instead of iterating.
//!
//! Source: Piece of CAKE; Linux's sch_cake.c (facts only); RFC 8290 for DRR++.
//! Departs: a share of a quantum keeps its fraction of a byte (CAKE rounds it up or down at random).

use super::hosts::{Ends, Hosts};
use super::lists::{Links, NONE, QueueList};
use super::params::Isolation;
use super::table::{PLACES, Table, place_of};
use crate::Fifo;
use crate::fair::{HashKey, hash};
use crate::law::cobalt::CobaltState;
use crate::longest::Lengths;
use packet::{FlowTuple, PacketMeta};

/// A queue's scheduling state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Set {
    /// In no list: the queue is empty, and the state of its law (COBALT) has decayed to rest. The place is free for
    /// another flow.
    #[default]
    Out,
    /// In the new list: the queue has its first turn, or waits for that turn. It does not count towards the loads of
    /// its hosts.
    Sparse,
    /// In the bulk list, because the queue was empty at the end of its first turn. It does not count towards the loads
    /// of its hosts.
    SparseWait,
    /// In the bulk list.
    Bulk,
    /// In the decaying list: the queue is empty, but the state of its law (COBALT) has not decayed to rest yet.
    Decaying,
}

/// The packets of one queue, and the state of its law.
#[derive(Clone, Debug, Default, PartialEq)]
struct Flow {
    fifo: Fifo,
    law: CobaltState,
}

/// All queues of a tin. The values that lookup and scheduling read are kept in separate tables, not in [`Flow`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Flows {
    isolation: Isolation,
    quantum: u32,
    /// Credit of a flow per turn, in bytes times 2^16. Entry i is for a flow whose host load is i + 1 (see
    /// [`Hosts::load`]).
    turns: Table<u32>,
    tags: Table<u32>,
    sets: Table<Set>,
    ends: Table<Ends>,
    /// Credit of each queue in bytes times 2^16.
    deficits: Table<i64>,
    /// The queues. The vector is empty until the tin's first packet arrives.
    all: Vec<Flow>,
    lengths: Lengths,
    hosts: Hosts,
    links: Links,
    new: QueueList,
    old: QueueList,
    decaying: QueueList,
    sparse: u32,
    bulk: u32,
}

impl Flows {
    /// Creates a tin without packets. Its FIFOs are allocated on the tin's first packet.
    pub(crate) fn new(isolation: Isolation, quantum: u32) -> Self {
        Self {
            isolation,
            quantum,
            turns: Table::default(),
            tags: Table::default(),
            sets: Table::default(),
            ends: Table::default(),
            deficits: Table::default(),
            all: Vec::new(),
            lengths: Lengths::default(),
            hosts: Hosts::new(isolation),
            links: Links::default(),
            new: QueueList::EMPTY,
            old: QueueList::EMPTY,
            decaying: QueueList::EMPTY,
            sparse: 0,
            bulk: 0,
        }
    }

    /// Allocates the FIFOs and fills `turns`. Called on the tin's first packet.
    #[cold]
    fn start(&mut self) {
        self.all.resize_with(PLACES, Flow::default);
        self.lengths.resize(PLACES);
        // each of a host's bulk flows has a queue, so a host load is at most the number of queues
        (0..PLACES as u16).for_each(|i| self.turns[i] = (self.quantum << 16) / (u32::from(i) + 1));
    }

    /// Counts the queues with packets, and the empty queues that still wait in the new or the bulk list.
    #[inline]
    pub(crate) fn active(&self) -> u32 {
        self.sparse + self.bulk
    }

    /// Counts sparse flows, including those in the bulk list whose queues became empty in their first turn.
    pub(crate) fn sparse(&self) -> u32 {
        self.sparse
    }

    /// Counts the queues with a positive BLUE drop probability.
    pub(crate) fn unresponsive(&self) -> u32 {
        self.all.iter().filter(|flow| flow.law.p_drop > 0.0).count() as u32
    }

    #[inline]
    pub(crate) fn bulk(&self) -> u32 {
        self.bulk
    }

    /// Computes the hash that assigns packets to queues. The isolation determines which parts of `tuple` are hashed.
    fn identity(&self, tuple: &FlowTuple, salt: u32) -> u32 {
        let host = |key| hash(tuple, key, salt);
        match self.isolation {
            Isolation::Flowblind => 0,
            Isolation::Srchost => host(HashKey::Source),
            Isolation::Dsthost => host(HashKey::Destination),
            Isolation::Hosts => host(HashKey::Source) ^ host(HashKey::Destination),
            Isolation::Flows | Isolation::DualSrchost | Isolation::DualDsthost | Isolation::TripleIsolate => {
                hash(tuple, HashKey::FiveTuple, salt)
            }
        }
    }

    /// Finds the queue for a packet with the 5-tuple `tuple`.   Bound: searches at most six sets of eight places.
    #[inline]
    pub(crate) fn place(&mut self, tuple: &FlowTuple, salt: u32) -> u16 {
        if self.all.is_empty() {
            self.start();
        }
        let identity = self.identity(tuple, salt);
        let direct = place_of(identity);
        if self.tags[direct] == identity && self.sets[direct] != Set::Out {
            return direct;
        }
        self.search(identity, tuple, salt)
    }

    fn search(&mut self, identity: u32, tuple: &FlowTuple, salt: u32) -> u16 {
        if let Some(own) = self.tags.first_in_set(identity, |tag| *tag == identity) {
            if self.sets[own] == Set::Out {
                self.ends[own] = self.find(tuple, salt);
            }
            return own;
        }
        let free = self.sets.first_in_set(identity, |set| *set == Set::Out);
        let place = free.unwrap_or(place_of(identity));
        self.tags[place] = identity;
        let ends = self.find(tuple, salt);
        // a bulk queue now counts towards the loads of the new flow's hosts, although it may also hold packets of older
        // flows
        if self.sets[place] == Set::Bulk {
            self.hosts.less(self.ends[place]);
            self.hosts.more(ends);
        }
        self.ends[place] = ends;
        place
    }

    fn find(&mut self, tuple: &FlowTuple, salt: u32) -> Ends {
        self.hosts.ends(|| hash(tuple, HashKey::Source, salt), || hash(tuple, HashKey::Destination, salt))
    }

    /// Changes the state of queue `i` to `set`. Updates the tin's numbers of sparse and bulk flows, and the numbers of
    /// bulk flows of the queue's two hosts.
    fn becomes(&mut self, i: u16, set: Set) {
        let ends = self.ends[i];
        match std::mem::replace(&mut self.sets[i], set) {
            Set::Out | Set::Decaying => {}
            Set::Sparse | Set::SparseWait => self.sparse -= 1,
            Set::Bulk => {
                self.bulk -= 1;
                self.hosts.less(ends);
            }
        }
        match set {
            Set::Out | Set::Decaying => {}
            Set::Sparse | Set::SparseWait => self.sparse += 1,
            Set::Bulk => {
                self.bulk += 1;
                self.hosts.more(ends);
            }
        }
    }

    /// Returns the credit of queue `i` per turn, in bytes times 2^16: a quantum divided by the host load.
    #[inline]
    fn turn(&self, i: u16) -> i64 {
        i64::from(self.turns[self.hosts.load(self.ends[i]) - 1])
    }

    /// Charges `cost` bytes to queue `i`.
    #[inline]
    pub(crate) fn pays(&mut self, i: u16, cost: u64) {
        self.deficits[i] -= (cost as i64) << 16;
    }

    #[inline]
    pub(crate) fn push(&mut self, i: u16, packet: PacketMeta) {
        let fifo = &mut self.all[usize::from(i)].fifo;
        fifo.push(packet);
        self.lengths.grown(usize::from(i), fifo.backlog().bytes);
        match self.sets[i] {
            Set::Sparse | Set::Bulk => {}
            Set::SparseWait => self.becomes(i, Set::Bulk),
            set @ (Set::Out | Set::Decaying) => {
                if set == Set::Decaying {
                    self.decaying.remove(i, &mut self.links);
                }
                self.new.push(i, &mut self.links);
                self.becomes(i, Set::Sparse);
                self.deficits[i] = self.turn(i);
            }
        }
    }

    #[inline]
    pub(crate) fn pop(&mut self, i: u16) -> Option<PacketMeta> {
        let fifo = &mut self.all[usize::from(i)].fifo;
        let packet = fifo.pop()?;
        self.lengths.shrunk(usize::from(i), fifo.backlog().bytes);
        Some(packet)
    }

    /// Removes the packet at position `place` of queue `i`. Position 0 is the oldest packet.
    pub(crate) fn remove(&mut self, i: u16, place: usize) -> Option<PacketMeta> {
        let fifo = &mut self.all[usize::from(i)].fifo;
        let packet = fifo.remove(place)?;
        self.lengths.shrunk(usize::from(i), fifo.backlog().bytes);
        Some(packet)
    }

    #[inline]
    pub(crate) fn fifo(&self, i: u16) -> &Fifo {
        &self.all[usize::from(i)].fifo
    }

    #[inline]
    pub(crate) fn law(&mut self, i: u16) -> &mut CobaltState {
        &mut self.all[usize::from(i)].law
    }

    /// Returns the queue whose turn it is; that queue may be empty. If `decaying_first` is true, the first decaying
    /// queue has the turn, if there is one. Otherwise, the new list is served before the bulk list, and the result is
    /// `None` if both lists are empty.
    ///
    /// Bound: visits each queue of the new list once, and each queue of the bulk list twice.
    #[inline]
    pub(crate) fn next(&mut self, decaying_first: bool) -> Option<u16> {
        if decaying_first && self.decaying.head != NONE {
            return Some(self.decaying.head);
        }
        while self.new.head != NONE {
            let i = self.new.head;
            if self.deficits[i] > 0 {
                return Some(i);
            }
            if self.sets[i] == Set::Sparse {
                self.becomes(i, if self.fifo(i).is_empty() { Set::SparseWait } else { Set::Bulk });
            }
            self.deficits[i] += self.turn(i);
            self.new.remove(i, &mut self.links);
            self.old.push(i, &mut self.links);
        }
        let i = self.old.head;
        if i == NONE || self.deficits[i] > 0 {
            return (i != NONE).then_some(i);
        }
        self.rounds();
        Some(self.old.head)
    }

    /// Serves the bulk list round-robin until the queue at its head has credit. In a turn, the queue at the head gets
    /// credit and moves to the end. The function does not take the turns one by one, but computes their result.
    ///
    /// The new head is the queue that needs the fewest turns to get credit (the first in a tie). Every queue in the
    /// list gets as many turns as the new head needs. The queues before the new head move to the end of the list and
    /// get one additional turn.
    fn rounds(&mut self) {
        let (mut rounds, mut first, mut i) = (i64::MAX, NONE, self.old.head);
        while i != NONE {
            let (debt, turn) = (-self.deficits[i], self.turn(i));
            // a queue needs floor(debt / turn) + 1 turns, or 0 if it has credit. The comparison avoids the division if the
            // result cannot be below `rounds`
            if debt < 0 {
                (rounds, first) = (0, i);
                break;
            }
            if debt < (rounds - 1).saturating_mul(turn) {
                (rounds, first) = (debt / turn + 1, i);
            }
            i = self.links.behind(i);
        }
        let mut turns = rounds + 1;
        i = self.old.head;
        // if queue `first` already had credit, `rounds` is 0: the queues before `first` get one turn, and `first` and
        // the queues behind it get none
        while i != NONE && turns > 0 {
            if i == first {
                turns = rounds;
            }
            self.deficits[i] += turns * self.turn(i);
            i = self.links.behind(i);
        }
        self.old.rotate(first, &mut self.links);
    }

    /// Removes the empty queue `i`, which [`Flows::next`] returned, from its list. `rests` is true if the state of the
    /// queue's law has decayed to rest; if false, the queue moves to the decaying list.
    pub(crate) fn emptied(&mut self, i: u16, rests: bool) {
        let list = match self.sets[i] {
            Set::Decaying => &mut self.decaying,
            _ if self.new.head == i => &mut self.new,
            _ => &mut self.old,
        };
        list.remove(i, &mut self.links);
        if rests {
            self.becomes(i, Set::Out);
        } else {
            self.decaying.push(i, &mut self.links);
            self.becomes(i, Set::Decaying);
        }
    }

    /// Returns the queue with the most bytes (the first in a tie) and its byte count.
    pub(crate) fn longest(&mut self) -> Option<(u16, u64)> {
        self.lengths.longest().map(|(place, bytes)| (place as u16, bytes))
    }
}
