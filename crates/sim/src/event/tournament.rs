//! A tournament: the events of plain links, which are few and fire all the time.

use std::hint::select_unpredictable;

/// The lesser of two keys, without a branch: which link is next cannot be guessed.
#[inline]
pub(super) fn lesser(a: u128, b: u128) -> u128 {
    select_unpredictable(b < a, b, a)
}

/// A tournament: the least of one key per leaf, [`u128::MAX`] for none.
///
/// `keys[1]` is the winner, `keys[i]` the lesser of `keys[2 * i]` and `keys[2 * i + 1]`, and the leaves begin at `first`.
/// Changing a leaf plays the games on its way up: one comparison for each level, and nothing to mispredict.
#[derive(Clone, Debug)]
pub(super) struct Tournament {
    keys: [u128; 2 * LEAVES],
    first: usize,
}

/// Links that the tournament admits; those beyond are pushed like ports. Fixed, so that indices need no check.
pub(super) const LEAVES: usize = 64;

impl Tournament {
    pub(super) fn new(leaves: usize) -> Self {
        Self { keys: [u128::MAX; 2 * LEAVES], first: leaves.min(LEAVES).next_power_of_two() }
    }

    #[inline]
    pub(super) fn top(&self) -> u128 {
        self.keys[1]
    }

    #[inline]
    pub(super) fn set(&mut self, leaf: usize, key: u128) {
        let mut i = (self.first + leaf) % (2 * LEAVES);
        let mut best = key;
        self.keys[i] = key;
        // bounded: each turn goes one level up
        while i > 1 {
            best = lesser(best, self.keys[i ^ 1]);
            i /= 2;
            self.keys[i] = best;
        }
    }

    pub(super) fn pending(&self) -> usize {
        self.keys[self.first..2 * self.first].iter().filter(|k| **k != u128::MAX).count()
    }
}
