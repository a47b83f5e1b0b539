//! A tournament tree for the arrival events of links. There are few links, but these events are frequent.

use std::hint::select_unpredictable;

/// Returns the smaller of two keys. There is no branch, because the processor could not predict which link fires next.
#[inline(always)]
pub(super) fn lesser(a: u128, b: u128) -> u128 {
    select_unpredictable(b < a, b, a)
}

/// Number of leaves in a group.
const GROUP: usize = 8;

/// Number of leaves; the events of links without a leaf are pushed to the heap of ports. The number is a constant, so that
/// array indices need no bounds check.
pub(super) const LEAVES: usize = GROUP * GROUP;

/// A tournament tree that finds the smallest of the links' keys. Each leaf holds the key of one link's event, or
/// [`u128::MAX`] if the link has no event.
///
/// With at most two leaves, as in a dumbbell whose two directions are chains, setting a key takes one comparison. Otherwise
/// leaves are in groups of eight: setting a key repeats the seven comparisons of its group and, with more than one group, the
/// comparisons of the groups' winners. Nearly every world has at most two groups. The comparisons are made when a
/// key is set, because the processor can overlap them with other work at that point. If they were made when the winner
/// is read, the simulation would have to wait for them, because the winner decides what happens next.
#[derive(Clone, Debug)]
pub(super) struct Tournament {
    keys: [u128; LEAVES],
    winners: [u128; GROUP],
    winner: u128,
    size: Size,
}

/// The number of leaves in use: at most two, at most one group, at most two groups, or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    Two,
    OneGroup,
    TwoGroups,
    Groups,
}

#[inline(always)]
fn least(keys: &[u128; GROUP]) -> u128 {
    let [a, b, c, d, e, f, g, h] = *keys;
    lesser(lesser(lesser(a, b), lesser(c, d)), lesser(lesser(e, f), lesser(g, h)))
}

impl Tournament {
    /// Returns an empty tournament that uses its first `leaves` leaves.
    pub(super) fn new(leaves: usize) -> Self {
        let size = match leaves {
            0..=2 => Size::Two,
            3..=GROUP => Size::OneGroup,
            _ if leaves <= 2 * GROUP => Size::TwoGroups,
            _ => Size::Groups,
        };
        Self { keys: [u128::MAX; LEAVES], winners: [u128::MAX; GROUP], winner: u128::MAX, size }
    }

    #[inline]
    pub(super) fn top(&self) -> u128 {
        self.winner
    }

    /// Returns true if leaf number `leaf` has a key.
    #[inline(always)]
    pub(super) fn is_set(&self, leaf: usize) -> bool {
        self.keys[leaf % LEAVES] != u128::MAX
    }

    /// Sets the key of leaf number `leaf`, which must be less than [`LEAVES`].
    #[inline(always)]
    pub(super) fn set(&mut self, leaf: usize, key: u128) {
        self.keys[leaf % LEAVES] = key;
        if self.size == Size::Two {
            self.winner = lesser(self.keys[0], self.keys[1]);
        } else {
            self.compare(leaf);
        }
    }

    /// Repeats the comparisons after the key of `leaf` has changed.
    #[inline(never)]
    fn compare(&mut self, leaf: usize) {
        let groups = self.keys.as_chunks::<GROUP>().0;
        let group = leaf / GROUP % GROUP;
        let winner = least(&groups[group]);
        self.winners[group] = winner;
        self.winner = match self.size {
            Size::Two | Size::OneGroup => winner,
            Size::TwoGroups => lesser(self.winners[0], self.winners[1]),
            Size::Groups => least(&self.winners),
        };
    }

    #[cfg(test)]
    pub(super) fn pending(&self) -> usize {
        self.keys.iter().filter(|k| **k != u128::MAX).count()
    }
}
