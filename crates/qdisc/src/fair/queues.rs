//! The queues of a fair discipline, made when a flow first needs one.

use super::Measure;
use crate::{AnyLaw, Fifo};
use packet::{Backlog, PacketMeta};
use units::Time;

/// Queues of one bound: 16 looks find the longest of them, and 64 bounds stand for 1024 queues.
const BLOCK: usize = 16;

/// No queue.
pub const NONE: u32 = u32::MAX;

/// Where a queue stands in the schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Listed {
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
pub struct FlowQueue {
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
pub struct Queues {
    all: Vec<FlowQueue>,
    /// For each [`BLOCK`] of queues, a length that none of them exceeds; kept up by [`Queues::grown`], taken down by
    /// [`Queues::longest`].
    bounds: Vec<u64>,
    /// A law that has seen nothing.
    fresh: AnyLaw,
}

impl Queues {
    /// None yet; each will start with `fresh`.
    pub fn new(fresh: AnyLaw) -> Self {
        Self { all: Vec::new(), bounds: Vec::new(), fresh }
    }

    /// A new queue's number.
    pub fn add(&mut self) -> u32 {
        self.all.push(FlowQueue {
            fifo: Fifo::default(),
            law: self.fresh.clone(),
            deficit: 0,
            next: NONE,
            listed: Listed::No,
            last_active: Time::ZERO,
            owner: (NONE, 0),
        });
        self.bounds.resize(self.all.len().div_ceil(BLOCK), 0);
        self.all.len() as u32 - 1
    }

    /// The number in `place`, made if there is none yet.
    #[inline]
    pub fn at(&mut self, place: &mut u32) -> u32 {
        if *place == NONE {
            *place = self.add();
        }
        *place
    }

    /// Gives queue `i` to another flow: its law starts anew.
    pub fn renew(&mut self, i: u32) {
        let law = self.fresh.clone();
        self[i].law = law;
    }

    /// How many there are.
    pub fn len(&self) -> u32 {
        self.all.len() as u32
    }

    /// Queue `i` has taken a packet in. Call it on every arrival if [`Queues::longest`] is to be asked, with the same measure.
    #[inline]
    pub fn grown(&mut self, i: u32, measure: Measure) {
        let i = i as usize;
        let bound = &mut self.bounds[i / BLOCK];
        *bound = (*bound).max(measure.of(self.all[i].fifo.backlog()));
    }

    /// The queue that holds most by `measure`, the lowest number among equals; `None` when nothing waits.
    ///
    /// The block of the greatest bound is looked through, which makes its bound exact; if it still is the greatest, the longest
    /// queue is in it. Bound: each block is looked through once at most, and in a steady state one or two are.
    pub fn longest(&mut self, measure: Measure) -> Option<u32> {
        let mut block = first_greatest(self.bounds.iter().copied())?.0;
        loop {
            let start = block * BLOCK;
            let part = &self.all[start..self.all.len().min(start + BLOCK)];
            let (place, length) = first_greatest(part.iter().map(|queue| measure.of(queue.fifo.backlog())))?;
            self.bounds[block] = length;
            let next = first_greatest(self.bounds.iter().copied())?.0;
            if next == block {
                return (length > 0).then_some((start + place) as u32);
            }
            block = next;
        }
    }
}

/// Place and value of the greatest, the first among equals.
#[inline]
fn first_greatest(values: impl Iterator<Item = u64>) -> Option<(usize, u64)> {
    values.enumerate().reduce(|best, next| if next.1 > best.1 { next } else { best })
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
pub fn less(total: &mut Backlog, packet: &PacketMeta) {
    total.packets -= 1;
    total.bytes -= packet.bytes();
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_longest_is_the_first_of_the_longest(
            steps in prop::collection::vec((0u32..100, 0u8..4, 40u16..1500), 1..400),
            packets in any::<bool>(),
        ) {
            let measure = if packets { Measure::Packets } else { Measure::Bytes };
            let mut queues = Queues::new(AnyLaw::None);
            (0..100).for_each(|_| { queues.add(); });
            for (i, what, size) in steps {
                match what {
                    0 => { queues[i].fifo.pop(); }
                    1 => {
                        // one look at each, the first of the longest
                        let lengths: Vec<u64> = (0..100).map(|i| measure.of(queues[i].fifo.backlog())).collect();
                        let most = lengths.iter().copied().max().unwrap();
                        let first = lengths.iter().position(|n| *n == most).unwrap() as u32;
                        prop_assert_eq!(queues.longest(measure), (most > 0).then_some(first));
                    }
                    _ => {
                        queues[i].fifo.push(PacketMeta { size, ..Default::default() });
                        queues.grown(i, measure);
                    }
                }
            }
        }
    }
}
