//! A tournament tree for the arrival events of plain links. There are few such links, but their events are frequent.

use std::hint::select_unpredictable;

/// Returns the smaller of two keys without a branch, because it cannot be predicted which link fires next.
#[inline(always)]
pub(super) fn lesser(a: u128, b: u128) -> u128 {
    select_unpredictable(b < a, b, a)
}

/// Links in a group.
const GROUP: usize = 8;

/// Number of links in the tournament; the events of additional links are pushed to the heap of ports. The number is a
/// constant, so that array indices need no bounds check.
pub(super) const LEAVES: usize = GROUP * GROUP;

/// A tournament tree that finds the smallest of the links' keys. Each link has one key, which is [`u128::MAX`] if the
/// link has no event.
///
/// Links are in groups of eight. Setting a key repeats the seven comparisons of its group and, with more than one
/// group, the comparison of the groups' winners. Nearly every world has only one group. The comparisons are made when a
/// key is set, because the processor can overlap them with other work at that point. If they were made when the winner
/// is read, the simulation would have to wait for them, because the winner decides what happens next.
#[derive(Clone, Debug)]
pub(super) struct Tournament {
    keys: [[u128; GROUP]; GROUP],
    winners: [u128; GROUP],
    winner: u128,
    one_group: bool,
}

#[inline(always)]
fn least(keys: &[u128; GROUP]) -> u128 {
    let [a, b, c, d, e, f, g, h] = *keys;
    lesser(lesser(lesser(a, b), lesser(c, d)), lesser(lesser(e, f), lesser(g, h)))
}

impl Tournament {
    pub(super) fn new(links: usize) -> Self {
        let none = [u128::MAX; GROUP];
        Self { keys: [none; GROUP], winners: none, winner: u128::MAX, one_group: links <= GROUP }
    }

    #[inline]
    pub(super) fn top(&self) -> u128 {
        self.winner
    }

    /// Sets the key of link number `link`, which must be less than [`LEAVES`].
    #[inline]
    pub(super) fn set(&mut self, link: usize, key: u128) {
        let group = link / GROUP % GROUP;
        self.keys[group][link % GROUP] = key;
        self.winner = least(&self.keys[group]);
        if !self.one_group {
            self.winners[group] = self.winner;
            self.winner = least(&self.winners);
        }
    }

    #[cfg(test)]
    pub(super) fn pending(&self) -> usize {
        self.keys.iter().flatten().filter(|k| **k != u128::MAX).count()
    }
}
