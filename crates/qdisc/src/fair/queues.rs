//! The queues of a fair discipline, made when a flow first needs one.

use super::Measure;
use crate::longest::Lengths;
use crate::{AnyLaw, Fifo};
use packet::{Backlog, PacketMeta};
use units::Time;

/// No queue.
pub(crate) const NONE: u32 = u32::MAX;

/// Where a queue stands in the schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Listed {
    /// Nowhere: it is idle.
    #[default]
    No,
    /// Among those that have just become active.
    New,
    /// Among the others.
    Old,
}

/// One queue: its packets, its law, its place in the schedule.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FlowQueue {
    /// What waits.
    pub fifo: Fifo,
    /// The law with the state of this queue.
    pub law: AnyLaw,
    /// Credit of the byte schedulers.   Unit: bytes.
    pub deficit: i64,
    /// The queue behind it in its list.
    pub next: u32,
    /// Its list.
    pub listed: Listed,
    /// Moment of the last arrival or departure.
    pub last_active: Time,
    /// The session that it was last given to alone (serial search).
    pub owner: (u32, u16),
}

/// All queues, by number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Queues {
    all: Vec<FlowQueue>,
    /// Kept up where [`Queues::longest`] is asked.
    lengths: Lengths,
    /// A law that has seen nothing.
    fresh: AnyLaw,
}

impl Queues {
    /// None yet; each will start with `fresh`.
    pub(crate) fn new(fresh: AnyLaw) -> Self {
        Self { all: Vec::new(), lengths: Lengths::default(), fresh }
    }

    /// A new queue's number.
    pub(crate) fn add(&mut self) -> u32 {
        self.all.push(FlowQueue {
            fifo: Fifo::default(),
            law: self.fresh.clone(),
            deficit: 0,
            next: NONE,
            listed: Listed::No,
            last_active: Time::ZERO,
            owner: (NONE, 0),
        });
        self.lengths.resize(self.all.len());
        self.all.len() as u32 - 1
    }

    /// The number in `place`, made if there is none yet.
    #[inline]
    pub(crate) fn at(&mut self, place: &mut u32) -> u32 {
        if *place == NONE {
            *place = self.add();
        }
        *place
    }

    /// Gives queue `i` to another flow: its law starts anew.
    pub(crate) fn renew(&mut self, i: u32) {
        let law = self.fresh.clone();
        self[i].law = law;
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u32 {
        self.all.len() as u32
    }

    /// Queue `i` has taken a packet in. Call it on every arrival if [`Queues::longest`] is to be asked, with the same measure.
    #[inline]
    pub(crate) fn grown(&mut self, i: u32, measure: Measure) {
        self.lengths.grown(i as usize, measure.of(self[i].fifo.backlog()));
    }

    /// A packet has left queue `i`. Call it as [`Queues::grown`].
    #[inline]
    pub(crate) fn shrunk(&mut self, i: u32, measure: Measure) {
        self.lengths.shrunk(i as usize, measure.of(self[i].fifo.backlog()));
    }

    /// The queue that holds most, the lowest number among equals; `None` when nothing waits.
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

/// Takes `packet` out of `total`.
#[inline]
pub(crate) fn less(total: &mut Backlog, packet: &PacketMeta) {
    total.packets -= 1;
    total.bytes -= packet.bytes();
}
