//! Schedulers: the order in which queues send.
//!
//! ```text
//! packet_round_robin   one packet per turn
//! new_first            one packet per turn; queues that have just become active go first, once (SFQ-CoDel)
//! byte_round_robin     sends while credit > 0; credit -= s per packet, credit += quantum before the next turn (Linux SFQ)
//! drr                  deficit += quantum once per turn; sends while deficit >= s; deficit = 0 when the queue becomes empty
//! strict_priority      one packet of the lowest-numbered queue that has packets (tc prio); other queues may starve
//! drr_plus_plus        a new and an old list; deficit <= 0: deficit += quantum, and the queue moves to the tail of the old list;
//!                      an empty queue moves from the new list to the old, or leaves the old
//!
//!            arrival                 credit used up                      empty
//!     idle ----------> (new) list ------------------> old list, tail ------------> idle
//! ```
//!
//! Source: Shreedhar & Varghese 1995 (DRR); MacGregor & Shi 2000 (DRR++); RFC 8290 §4.2; ns-2 sfq.cc, drr.cc, sfqcodel.cc.
//! Units: bytes on the wire; s is the size of a packet.
//! Departs: in DRR, a head that a law drops is not charged. The next head is then sent without another check of the
//! deficit, and may overdraw it by less than a packet.

use super::queues::{Listed, NONE, Queues};
use crate::declared::params;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Problem, ensure};

/// Smallest valid quantum, in bytes. With a smaller quantum, each packet would take many rounds.
const LEAST_QUANTUM: u64 = 64;

/// The order in which queues are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[serde(remote = "Self")]
#[schemars(transform = units::words::<SchedulerSpec>)]
pub enum SchedulerSpec {
    /// One packet from each queue in turn.
    PacketRoundRobin,
    /// One packet per turn. Queues that have just become active are served before the others (SFQ-CoDel).
    NewFirst,
    /// About `quantum` bytes per turn. The last packet of a turn may exceed the quantum; the queue's next turn is then
    /// shorter by the excess (Linux SFQ).
    ByteRoundRobin(Quantum),
    /// Deficit round robin: at most `quantum` bytes per turn, plus unused bytes of earlier turns, which a queue loses
    /// when it becomes empty.
    Drr(Quantum),
    /// DRR++ as in fq_codel: like `byte_round_robin`, but a queue that has just become active is served before the
    /// others, for one quantum.
    DrrPlusPlus(Quantum),
    /// Always serves the first band that has packets, so later bands may starve (tc prio). Needs `classifier = "prio"`.
    StrictPriority,
}

units::word_or_table!(SchedulerSpec);

params! {
    /// Parameters of the schedulers that count bytes: `byte_round_robin`, `drr` and `drr_plus_plus`.
    #[derive(Copy, Eq)]
    pub struct Quantum {
        /// Bytes that a queue may send in one turn.
        quantum: Bytes = Bytes(1514),
    }
}

impl Quantum {
    fn validate(self) -> Result<(), Problem> {
        let (q, least) = (self.quantum, LEAST_QUANTUM);
        let fits = (least..=1 << 30).contains(&q.0);
        ensure!(fits, "quantum", "{q} is not valid; expected {least}B to 1 GiB, best one packet or more");
        Ok(())
    }
}

impl SchedulerSpec {
    /// Returns an error that names the first invalid parameter, if there is one.
    pub(crate) fn validate(self) -> Result<(), Problem> {
        let (name, quantum) = match self {
            Self::PacketRoundRobin | Self::NewFirst | Self::StrictPriority => return Ok(()),
            Self::ByteRoundRobin(q) => ("byte_round_robin", q),
            Self::Drr(q) => ("drr", q),
            Self::DrrPlusPlus(q) => ("drr_plus_plus", q),
        };
        quantum.validate().map_err(|p| p.under(name))
    }
}

/// Returns `i`, or `None` for [`NONE`].
fn real(i: u32) -> Option<u32> {
    (i != NONE).then_some(i)
}

/// A list of queues, linked through [`FlowQueue::next`](super::queues::FlowQueue::next).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct QueueList {
    head: u32,
    tail: u32,
}

impl QueueList {
    const EMPTY: Self = Self { head: NONE, tail: NONE };

    fn push(&mut self, i: u32, queues: &mut Queues, listed: Listed) {
        let queue = &mut queues[i];
        queue.next = NONE;
        queue.listed = listed;
        if self.tail == NONE {
            self.head = i;
        } else {
            queues[self.tail].next = i;
        }
        self.tail = i;
    }

    /// Inserts queue `i` into a list that is sorted by queue number.   Bound: the search passes only queues with lower
    /// numbers, and there are at most 16 queues, one for each band.
    fn insert(&mut self, i: u32, queues: &mut Queues) {
        let walk = std::iter::successors(real(self.head), |q| real(queues[*q].next));
        let Some(before) = walk.take_while(|q| *q < i).last() else {
            queues[i].next = self.head;
            queues[i].listed = Listed::Old;
            self.head = i;
            if self.tail == NONE {
                self.tail = i;
            }
            return;
        };
        if before == self.tail {
            return self.push(i, queues, Listed::Old);
        }
        queues[i].next = queues[before].next;
        queues[i].listed = Listed::Old;
        queues[before].next = i;
    }

    fn pop(&mut self, queues: &mut Queues) {
        let queue = &mut queues[self.head];
        self.head = queue.next;
        queue.listed = Listed::No;
        if self.head == NONE {
            self.tail = NONE;
        }
    }
}

/// A scheduler with its state.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scheduler {
    spec: SchedulerSpec,
    new: QueueList,
    old: QueueList,
    /// Used by DRR only: true if the first queue in the list has already received the quantum for its current turn.
    in_turn: bool,
}

impl Scheduler {
    /// Creates a scheduler with no active queues from a valid `spec`.
    pub(crate) fn new(spec: SchedulerSpec) -> Self {
        Self { spec, new: QueueList::EMPTY, old: QueueList::EMPTY, in_turn: false }
    }

    /// Adds the idle queue `i` to a list. DRR++ and `new_first` add the queue to the new list if `fresh` is true. In
    /// all other cases, the queue joins the old list. If `fresh` is false, a queue under DRR++ keeps the deficit that
    /// it had when it became idle.
    #[inline]
    pub(crate) fn activate(&mut self, i: u32, queues: &mut Queues, fresh: bool) {
        use SchedulerSpec::{ByteRoundRobin, Drr, DrrPlusPlus, NewFirst, PacketRoundRobin, StrictPriority};
        queues[i].deficit = match self.spec {
            PacketRoundRobin | NewFirst | Drr(_) | StrictPriority => 0,
            DrrPlusPlus(_) if !fresh => queues[i].deficit,
            ByteRoundRobin(q) | DrrPlusPlus(q) => q.quantum.0 as i64,
        };
        match self.spec {
            NewFirst | DrrPlusPlus(_) if fresh => self.new.push(i, queues, Listed::New),
            StrictPriority => self.old.insert(i, queues),
            _ => self.old.push(i, queues, Listed::Old),
        }
    }

    /// Returns the queue whose turn it is; `None` if no queue is active. The queue may be empty.
    ///
    /// Bound: every iteration that passes over a queue has added a quantum to it, except perhaps the first under DRR,
    /// whose queue may already be in its turn. No queue needs more than 64 KB of credit. So the loop goes round the
    /// active queues at most 65 535 / quantum + 2 times. If the first queue has enough credit, there is only one
    /// iteration.
    #[inline]
    pub(crate) fn turn(&mut self, queues: &mut Queues) -> Option<u32> {
        use SchedulerSpec::{ByteRoundRobin, Drr, DrrPlusPlus, NewFirst, PacketRoundRobin, StrictPriority};
        loop {
            let i = if self.new.head == NONE { self.old.head } else { self.new.head };
            if i == NONE {
                return None;
            }
            match self.spec {
                PacketRoundRobin | NewFirst | StrictPriority => return Some(i),
                ByteRoundRobin(q) | DrrPlusPlus(q) => {
                    if queues[i].deficit > 0 {
                        return Some(i);
                    }
                    queues[i].deficit += q.quantum.0 as i64;
                }
                Drr(q) => {
                    let Some(need) = queues[i].fifo.front().map(|p| i64::from(p.size)) else { return Some(i) };
                    if !std::mem::replace(&mut self.in_turn, true) {
                        queues[i].deficit += q.quantum.0 as i64;
                    }
                    if queues[i].deficit >= need {
                        return Some(i);
                    }
                }
            }
            self.requeue(queues);
        }
    }

    /// Records that queue `i`, whose turn it is, sent a packet of `bytes` bytes. Returns true if the queue has become
    /// idle, that is, if it is empty and was removed from its list.
    #[inline]
    pub(crate) fn sent(&mut self, i: u32, bytes: u64, queues: &mut Queues) -> bool {
        use SchedulerSpec::{ByteRoundRobin, Drr, DrrPlusPlus, NewFirst, PacketRoundRobin, StrictPriority};
        let empty = queues[i].fifo.is_empty();
        match self.spec {
            PacketRoundRobin if !empty => self.requeue(queues),
            // an empty queue stays in the old list for one round. If it left the list, its next packet would make it
            // new again at once
            NewFirst => self.requeue(queues),
            DrrPlusPlus(_) => queues[i].deficit -= bytes as i64,
            ByteRoundRobin(_) | Drr(_) if !empty => queues[i].deficit -= bytes as i64,
            StrictPriority if !empty => {}
            PacketRoundRobin | ByteRoundRobin(_) | Drr(_) | StrictPriority => {
                self.leave(queues);
                return true;
            }
        }
        false
    }

    /// Ends the turn of a queue that had no packet to send. A queue in the new list moves to the old list; a queue in
    /// the old list is removed from that list and becomes idle. Returns true if the queue became idle.
    pub(crate) fn empty(&mut self, queues: &mut Queues) -> bool {
        if self.new.head == NONE {
            self.leave(queues);
            return true;
        }
        // RFC 8290 §4.2: an empty new queue moves to the old list. If it left both lists instead, its next packet would make it
        // new again.
        self.requeue(queues);
        false
    }

    /// Returns the active queues in the order in which their turns come: first the new list, then the old list.
    pub(crate) fn in_line<'a>(&self, queues: &'a Queues) -> impl Iterator<Item = u32> + use<'a> {
        let walk = move |head| std::iter::successors(real(head), move |i| real(queues[*i].next));
        walk(self.new.head).chain(walk(self.old.head))
    }

    /// Moves the first active queue to the end of the old list.
    fn requeue(&mut self, queues: &mut Queues) {
        self.in_turn = false;
        let list = if self.new.head == NONE { &mut self.old } else { &mut self.new };
        let i = list.head;
        list.pop(queues);
        self.old.push(i, queues, Listed::Old);
    }

    /// Removes the first active queue from its list.
    fn leave(&mut self, queues: &mut Queues) {
        self.in_turn = false;
        let list = if self.new.head == NONE { &mut self.old } else { &mut self.new };
        list.pop(queues);
    }
}
