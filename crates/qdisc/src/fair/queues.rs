//! The queues of a fair discipline, created on first use.

use super::{Longest, Tie};
use crate::longest::Lengths;
use crate::{AnyLaw, Fifo};
use units::Time;

/// Stands for "no queue" where the number of a queue is stored.
pub(crate) const NONE: u32 = u32::MAX;

/// The scheduler's list that contains a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Listed {
    /// The queue is in no list, because it is idle.
    #[default]
    No,
    /// The queue is in the list of newly active queues.
    New,
    /// The queue is in the list of all other active queues.
    Old,
}

/// One queue: its packets, its law and its scheduling state.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FlowQueue {
    pub fifo: Fifo,
    pub law: AnyLaw,
    /// The queue's credit in the schedulers that count bytes (byte round robin, DRR and DRR++).   Unit: bytes.
    pub deficit: i64,
    /// The next queue in the same list.
    pub next: u32,
    pub listed: Listed,
    /// Time at which a packet last joined or left the queue, by departure or by a drop.
    pub last_active: Time,
    /// Serial number of the last change of this queue's length. The queue whose length changed last has the highest
    /// number. Kept up to date only for [`Tie::Latest`].
    pub changed: u64,
    /// The session that owns the queue, as the session's index and the generation of its flow; used only with serial
    /// search. The owner is the session that took the queue while the queue was free, not a session that shares the
    /// queue later.
    pub owner: (u32, u16),
}

/// All queues, by number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Queues {
    all: Vec<FlowQueue>,
    /// The length of every queue, kept up to date only for [`Tie::Lowest`].
    lengths: Lengths,
    /// Number of changes of length so far, in all queues (see [`FlowQueue::changed`]).
    changes: u64,
    /// A law in its initial state, which is copied into every new or reused queue.
    fresh: AnyLaw,
}

impl Queues {
    /// Creates an empty set of queues. `fresh` is the initial state of each queue's law.
    pub(crate) fn new(fresh: AnyLaw) -> Self {
        Self { all: Vec::new(), lengths: Lengths::default(), changes: 0, fresh }
    }

    /// Adds a queue and returns its number.
    pub(crate) fn add(&mut self) -> u32 {
        self.all.push(FlowQueue {
            fifo: Fifo::default(),
            law: self.fresh.fresh(),
            deficit: 0,
            next: NONE,
            listed: Listed::No,
            last_active: Time::ZERO,
            changed: 0,
            owner: (NONE, 0),
        });
        self.lengths.resize(self.all.len());
        self.all.len() as u32 - 1
    }

    /// Returns the queue number that is stored in `place`. If `place` holds [`NONE`], first adds a queue and stores the
    /// new queue's number in `place`.
    #[inline]
    pub(crate) fn at(&mut self, place: &mut u32) -> u32 {
        if *place == NONE {
            *place = self.add();
        }
        *place
    }

    /// Resets the law of queue `i`, which is reused for another flow.
    pub(crate) fn renew(&mut self, i: u32) {
        let law = self.fresh.fresh();
        self[i].law = law;
    }

    pub(crate) fn len(&self) -> u32 {
        self.all.len() as u32
    }

    /// Records that a packet joined queue `i`. A caller that uses [`Queues::longest`] must call this function after
    /// every arrival, always with the same `rule`.
    #[inline]
    pub(crate) fn grown(&mut self, i: u32, rule: Longest) {
        match rule.tie {
            Tie::Lowest => self.lengths.grown(i as usize, rule.by.of(self[i].fifo.backlog())),
            Tie::Latest => self.change(i),
        }
    }

    /// Records that a packet left queue `i`. See [`Queues::grown`].
    #[inline]
    pub(crate) fn shrunk(&mut self, i: u32, rule: Longest) {
        match rule.tie {
            Tie::Lowest => self.lengths.shrunk(i as usize, rule.by.of(self[i].fifo.backlog())),
            Tie::Latest => self.change(i),
        }
    }

    fn change(&mut self, i: u32) {
        self.changes += 1;
        self[i].changed = self.changes;
    }

    /// Returns the longest queue (in a tie, the one with the lowest number); `None` if no packet waits. Only for
    /// [`Tie::Lowest`].
    pub(crate) fn longest(&mut self) -> Option<u32> {
        self.lengths.longest().map(|(i, _)| i as u32)
    }
}

impl std::ops::Index<u32> for Queues {
    type Output = FlowQueue;
    #[inline]
    fn index(&self, i: u32) -> &FlowQueue {
        &self.all[i as usize]
    }
}

impl std::ops::IndexMut<u32> for Queues {
    #[inline]
    fn index_mut(&mut self, i: u32) -> &mut FlowQueue {
        &mut self.all[i as usize]
    }
}
