//! Finds the longest of many queues, from which packets are dropped when the limit that the queues share is reached.
//!
//! ```text
//! grown     if the queue is longer now than its key in the heap, it rises
//! shrunk    the heap does not change
//! longest   the queue on top; if it is shorter now than its key, it sinks, and the next queue on top is examined
//! ```
//!
//! The heap changes only on a query, or when a queue grows beyond its key.

/// Number of bits in a queue number.
const NUMBER_BITS: u32 = 24;
/// Highest queue number.
const LAST: usize = (1 << NUMBER_BITS) - 1;

/// Lengths of queues, in any unit; lengths of 2^40 - 1 or more compare as equal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lengths {
    lengths: Vec<u64>,
    /// A max-heap with one key for each queue: the queue's [`standing`] when the key was last set. A queue that shrinks
    /// keeps its key, so a key may be larger than the present standing, but never smaller. No entry i of the heap is
    /// larger than its parent, which is entry `(i - 1) / 2`.
    heap: Vec<u64>,
    /// Position of each queue in the heap.
    places: Vec<u32>,
}

/// Combines a length and a queue number into one integer. The integer is larger for a longer queue; among queues of equal
/// length, it is larger for a lower number.
#[inline]
fn standing(length: u64, i: usize) -> u64 {
    length.min(u64::MAX >> NUMBER_BITS) << NUMBER_BITS | (LAST - i) as u64
}

/// Extracts the queue number from an integer that [`standing`] has computed.
#[inline]
fn number(standing: u64) -> usize {
    LAST - (standing as usize & LAST)
}

impl Lengths {
    /// Adds empty queues until there are `queues` queues in total. Queues cannot be removed.
    pub(crate) fn resize(&mut self, queues: usize) {
        for i in self.lengths.len()..queues {
            self.lengths.push(0);
            self.places.push(i as u32);
            self.heap.push(standing(0, i));
        }
    }

    /// Records that queue `i` has grown to `length`.
    #[inline]
    pub(crate) fn grown(&mut self, i: usize, length: u64) {
        self.lengths[i] = length;
        let key = standing(length, i);
        let place = self.places[i] as usize;
        if key > self.heap[place] {
            self.rise(place, key);
        }
    }

    /// Records that queue `i` has shrunk to `length`.
    #[inline]
    pub(crate) fn shrunk(&mut self, i: usize, length: u64) {
        self.lengths[i] = length;
    }

    /// Returns the longest queue (the first in a tie) and its length; `None` if all queues are empty.
    ///
    /// Bound: every iteration except the last sinks a queue that has shrunk since its key was last set.
    pub(crate) fn longest(&mut self) -> Option<(usize, u64)> {
        loop {
            let top = *self.heap.first()?;
            let i = number(top);
            let length = self.lengths[i];
            let key = standing(length, i);
            if key == top {
                return (length > 0).then_some((i, length));
            }
            self.sink(key);
        }
    }

    #[inline]
    fn put(&mut self, place: usize, key: u64) {
        self.heap[place] = key;
        self.places[number(key)] = place as u32;
    }

    /// Moves `key` up the heap from `place` until its parent is at least as large, and stores `key` there.
    fn rise(&mut self, mut place: usize, key: u64) {
        while place > 0 {
            let above = (place - 1) / 2;
            if self.heap[above] >= key {
                break;
            }
            self.put(place, self.heap[above]);
            place = above;
        }
        self.put(place, key);
    }

    /// Replaces the top key with `key`, and moves `key` down the heap until neither child is larger.
    fn sink(&mut self, key: u64) {
        let mut place = 0;
        // bound: each iteration goes one level down
        loop {
            let (left, right) = (2 * place + 1, 2 * place + 2);
            let at = |i: usize| self.heap.get(i).copied().unwrap_or(0);
            let (below, greatest) = if at(right) > at(left) { (right, at(right)) } else { (left, at(left)) };
            if greatest <= key {
                break;
            }
            self.put(place, greatest);
            place = below;
        }
        self.put(place, key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_longest_is_the_first_of_the_longest(
            steps in prop::collection::vec((0usize..100, 0u8..4, 40u64..1500), 1..400),
        ) {
            let mut lengths = Lengths::default();
            lengths.resize(3);
            lengths.resize(100);
            let mut plain = [0u64; 100];
            for (i, what, size) in steps {
                match what {
                    0 => {
                        plain[i] = plain[i].saturating_sub(size);
                        lengths.shrunk(i, plain[i]);
                    }
                    1 => {
                        // the reference: a linear search for the first of the longest queues
                        let most = plain.iter().copied().max().unwrap();
                        let first = plain.iter().position(|n| *n == most).unwrap();
                        prop_assert_eq!(lengths.longest(), (most > 0).then_some((first, most)));
                    }
                    _ => {
                        plain[i] += size;
                        lengths.grown(i, plain[i]);
                    }
                }
            }
        }
    }

    #[test]
    fn equals_are_told_apart_by_number() {
        let mut lengths = Lengths::default();
        lengths.resize(40);
        assert_eq!(lengths.longest(), None);
        [7, 39, 3, 20].iter().for_each(|i| lengths.grown(*i, 1500));
        for expected in [3, 7, 20, 39] {
            assert_eq!(lengths.longest(), Some((expected, 1500)));
            lengths.shrunk(expected, 0);
        }
        assert_eq!(lengths.longest(), None);
        lengths.grown(2, u64::MAX);
        assert_eq!(lengths.longest(), Some((2, u64::MAX)));
    }
}
