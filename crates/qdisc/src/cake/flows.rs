//! The queues of a tin: which one a packet joins, and whose turn it is.
//!
//! ```text
//! place     the hash's own, if it is this flow's and in use; else in its set of 8: the flow's, a free one, or a shared one
//! sparse    new to the tin: first, for one turn        bulk      the others, in turn        (DRR++)
//! decaying  empty, with a law that has not come to rest: looked at once for each packet that leaves
//!
//! deficit <= 0: += quantum / host load, to the end of the bulk ones; sparse becomes bulk, or waits if it is empty
//! ```
//!
//! Only bulk flows count as load of their hosts, so a sparse flow's first turn is free. Sixty flows of one host have a sixtieth of a
//! quantum each: rounds in which none of them comes into credit are added up at once.
//!
//! Source: SPEC-TODAY 3.5; RFC 8290 for DRR++.
//! Departs: what is left when a quantum is shared is kept as a fraction of a byte (CAKE: rounded up or down by chance).

use super::hosts::{Ends, Hosts, PLACES, set_of};
use super::params::Isolation;
use crate::Fifo;
use crate::fair::{HashKey, hash};
use crate::law::cobalt::CobaltState;
use packet::FlowTuple;

/// No queue.
const NONE: u16 = u16::MAX;

/// Where a queue stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Set {
    /// Nowhere: empty, its law at rest.
    #[default]
    Out,
    /// In its free turn, or waiting for it.
    Sparse,
    /// It had its free turn and is empty, among the bulk ones.
    SparseWait,
    /// Among those that take turns.
    Bulk,
    /// Empty, its law not at rest.
    Decaying,
}

/// One queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flow {
    /// What waits.
    pub fifo: Fifo,
    /// The law's state.
    pub law: CobaltState,
    /// Credit, bytes times 2^16.
    deficit: i64,
    ends: Ends,
    set: Set,
    before: u16,
    behind: u16,
}

/// Queues in order, linked both ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line {
    head: u16,
    tail: u16,
}

impl Line {
    const EMPTY: Self = Self { head: NONE, tail: NONE };

    fn push(&mut self, i: u16, flows: &mut [Flow]) {
        (flows[usize::from(i)].before, flows[usize::from(i)].behind) = (self.tail, NONE);
        match self.tail {
            NONE => self.head = i,
            tail => flows[usize::from(tail)].behind = i,
        }
        self.tail = i;
    }

    fn remove(&mut self, i: u16, flows: &mut [Flow]) {
        let Flow { before, behind, .. } = flows[usize::from(i)];
        match before {
            NONE => self.head = behind,
            b => flows[usize::from(b)].behind = behind,
        }
        match behind {
            NONE => self.tail = before,
            b => flows[usize::from(b)].before = before,
        }
    }
}

/// Which of a tin's lines a queue is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    New,
    Old,
    Decaying,
}

/// Queues of one bound.
const BLOCK: usize = 32;

/// All queues of a tin.
#[derive(Clone, Debug, PartialEq)]
pub struct Flows {
    isolation: Isolation,
    quantum: u32,
    tags: Vec<u32>,
    /// None before the first packet.
    all: Vec<Flow>,
    hosts: Hosts,
    new: Line,
    old: Line,
    decaying: Line,
    sparse: u32,
    bulk: u32,
    /// For each [`BLOCK`] of queues, bytes that none of them exceeds.
    bounds: Vec<u64>,
}

impl Flows {
    /// No packet has come.
    pub fn new(isolation: Isolation, quantum: u32) -> Self {
        Self {
            isolation,
            quantum,
            tags: Vec::new(),
            all: Vec::new(),
            hosts: Hosts::new(isolation),
            new: Line::EMPTY,
            old: Line::EMPTY,
            decaying: Line::EMPTY,
            sparse: 0,
            bulk: 0,
            bounds: Vec::new(),
        }
    }

    /// Queues with packets, and those in line for want of a look.
    #[inline]
    pub fn active(&self) -> u32 {
        self.sparse + self.bulk
    }

    /// Sparse flows, waiting ones among them.
    pub fn sparse(&self) -> u32 {
        self.sparse
    }

    /// Queues whose BLUE drops.
    pub fn unresponsive(&self) -> u32 {
        self.all.iter().filter(|flow| flow.law.p_drop > 0.0).count() as u32
    }

    /// Bulk flows.
    #[inline]
    pub fn bulk(&self) -> u32 {
        self.bulk
    }

    /// The hash that tells one queue's packets from another's.
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

    /// The queue that a packet of `tuple` joins.   Bound: two looks at each place of a set.
    #[inline]
    pub fn place(&mut self, tuple: &FlowTuple, salt: u32) -> u16 {
        if self.all.is_empty() {
            self.all.resize_with(PLACES as usize, Flow::default);
            self.tags.resize(PLACES as usize, 0);
            self.bounds.resize(PLACES as usize / BLOCK, 0);
        }
        let identity = self.identity(tuple, salt);
        let direct = (identity % PLACES) as usize;
        if self.tags[direct] == identity && self.all[direct].set != Set::Out {
            return direct as u16;
        }
        self.search(identity, tuple, salt)
    }

    fn search(&mut self, identity: u32, tuple: &FlowTuple, salt: u32) -> u16 {
        let mut set = set_of(identity);
        if let Some(own) = set.clone().find(|p| self.tags[*p] == identity) {
            if self.all[own].set == Set::Out {
                self.all[own].ends = self.find(tuple, salt);
            }
            return own as u16;
        }
        let place = set.find(|p| self.all[*p].set == Set::Out).unwrap_or((identity % PLACES) as usize);
        self.tags[place] = identity;
        let ends = self.find(tuple, salt);
        // the flows that shared it count for the new one's hosts from now on
        if self.all[place].set == Set::Bulk {
            self.hosts.less(self.all[place].ends);
            self.hosts.more(ends);
        }
        self.all[place].ends = ends;
        place as u16
    }

    fn find(&mut self, tuple: &FlowTuple, salt: u32) -> Ends {
        self.hosts.ends(|| hash(tuple, HashKey::Source, salt), || hash(tuple, HashKey::Destination, salt))
    }

    /// Moves queue `i` to a set: the tin's counts and the hosts' follow.
    fn becomes(&mut self, i: u16, set: Set) {
        let flow = &mut self.all[usize::from(i)];
        match std::mem::replace(&mut flow.set, set) {
            Set::Out | Set::Decaying => {}
            Set::Sparse | Set::SparseWait => self.sparse -= 1,
            Set::Bulk => {
                self.bulk -= 1;
                self.hosts.less(flow.ends);
            }
        }
        match set {
            Set::Out | Set::Decaying => {}
            Set::Sparse | Set::SparseWait => self.sparse += 1,
            Set::Bulk => {
                self.bulk += 1;
                self.hosts.more(flow.ends);
            }
        }
    }

    /// What a turn gives, bytes times 2^16: the host's share of a quantum.
    #[inline]
    fn turn(&self, i: u16) -> i64 {
        let load = self.hosts.load(self.all[usize::from(i)].ends);
        (i64::from(self.quantum) << 16) / i64::from(load)
    }

    /// `cost` bytes of queue `i` were sent.
    #[inline]
    pub fn pays(&mut self, i: u16, cost: u64) {
        self.all[usize::from(i)].deficit -= (cost as i64) << 16;
    }

    /// Queue `i` has taken a packet in.
    #[inline]
    pub fn joined(&mut self, i: u16) {
        let flow = &self.all[usize::from(i)];
        let bound = &mut self.bounds[usize::from(i) / BLOCK];
        *bound = (*bound).max(flow.fifo.backlog().bytes);
        match flow.set {
            Set::Sparse | Set::Bulk => {}
            Set::SparseWait => self.becomes(i, Set::Bulk),
            Set::Out | Set::Decaying => {
                if flow.set == Set::Decaying {
                    self.decaying.remove(i, &mut self.all);
                }
                self.new.push(i, &mut self.all);
                self.becomes(i, Set::Sparse);
                self.all[usize::from(i)].deficit = self.turn(i);
            }
        }
    }

    /// The queue whose turn it is; it may be empty. `look`: at a decaying one first. `None`: none is in line.
    ///
    /// Bound: a look at each queue in line, three times: rounds without credit for any are skipped.
    #[inline]
    pub fn next(&mut self, look: bool) -> Option<u16> {
        if look && self.decaying.head != NONE {
            return Some(self.decaying.head);
        }
        let mut looks = 0;
        loop {
            let (i, line) = match (self.new.head, self.old.head) {
                (NONE, NONE) => return None,
                (NONE, old) => (old, Place::Old),
                (new, _) => (new, Place::New),
            };
            let flow = &self.all[usize::from(i)];
            if flow.deficit > 0 {
                return Some(i);
            }
            if flow.set == Set::Sparse {
                self.becomes(i, if self.all[usize::from(i)].fifo.is_empty() { Set::SparseWait } else { Set::Bulk });
            }
            let turn = self.turn(i);
            self.all[usize::from(i)].deficit += turn;
            self.take_out(i, line);
            self.old.push(i, &mut self.all);
            looks += 1;
            if looks == self.active() {
                self.skip();
            }
        }
    }

    /// Adds up the rounds in which no queue of the old line comes into credit. Nothing else is in line.
    fn skip(&mut self) {
        let mut rounds = i64::MAX;
        let mut i = self.old.head;
        while i != NONE {
            let flow = &self.all[usize::from(i)];
            rounds = rounds.min((-flow.deficit).max(0) / self.turn(i));
            i = flow.behind;
        }
        if rounds == 0 {
            return;
        }
        i = self.old.head;
        while i != NONE {
            let more = rounds * self.turn(i);
            let flow = &mut self.all[usize::from(i)];
            flow.deficit += more;
            i = flow.behind;
        }
    }

    fn take_out(&mut self, i: u16, line: Place) {
        match line {
            Place::New => self.new.remove(i, &mut self.all),
            Place::Old => self.old.remove(i, &mut self.all),
            Place::Decaying => self.decaying.remove(i, &mut self.all),
        }
    }

    /// Queue `i`, the one of [`Flows::next`], turned out to be empty. `rests`: so has its law.
    pub fn emptied(&mut self, i: u16, rests: bool) {
        let line = match self.all[usize::from(i)].set {
            Set::Decaying => Place::Decaying,
            _ if self.new.head == i => Place::New,
            _ => Place::Old,
        };
        self.take_out(i, line);
        if rests {
            self.becomes(i, Set::Out);
        } else {
            self.decaying.push(i, &mut self.all);
            self.becomes(i, Set::Decaying);
        }
    }

    /// The queue with most bytes and their number, the first among equals.
    ///
    /// The block of the greatest bound is looked through, which makes its bound exact; if it still is the greatest, the longest
    /// queue is in it. Bound: each block is looked through once at most.
    pub fn longest(&mut self) -> Option<(u16, u64)> {
        let first_greatest =
            |values: &mut dyn Iterator<Item = u64>| values.enumerate().reduce(|a, b| if b.1 > a.1 { b } else { a });
        loop {
            let (block, bound) = first_greatest(&mut self.bounds.iter().copied())?;
            let start = block * BLOCK;
            let part = &self.all[start..start + BLOCK];
            let (place, bytes) = first_greatest(&mut part.iter().map(|f| f.fifo.backlog().bytes))?;
            self.bounds[block] = bytes;
            if bytes == bound {
                return (bytes > 0).then_some(((start + place) as u16, bytes));
            }
        }
    }
}

impl std::ops::Index<u16> for Flows {
    type Output = Flow;
    #[inline]
    fn index(&self, i: u16) -> &Flow {
        &self.all[usize::from(i)]
    }
}

impl std::ops::IndexMut<u16> for Flows {
    #[inline]
    fn index_mut(&mut self, i: u16) -> &mut Flow {
        &mut self.all[usize::from(i)]
    }
}
