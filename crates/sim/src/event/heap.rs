//! A 4-ary heap of keys that touches one cache line per level.

use std::hint::select_unpredictable;

/// Four keys in one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Four([u128; 4]);

/// A group without keys.
pub(super) const EMPTY: Four = Four([u128::MAX; 4]);

/// A 4-ary implicit min-heap. Node `i` is stored as key `i + 3`, so the children of `i` are the four keys of group `i + 1`, one
/// cache line. Unused places hold [`u128::MAX`], so that every group is complete.
#[derive(Clone, Debug, Default)]
pub(super) struct Heap {
    groups: Vec<Four>,
    len: usize,
}

impl Heap {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn at(&mut self, i: usize) -> &mut u128 {
        let p = i + 3;
        &mut self.groups[p >> 2].0[p & 3]
    }

    #[inline]
    pub(super) fn top(&self) -> u128 {
        self.groups.first().map_or(u128::MAX, |g| g.0[3])
    }

    #[inline]
    pub(super) fn push(&mut self, key: u128) {
        let mut i = self.len;
        self.len += 1;
        if i + 3 >= 4 * self.groups.len() {
            self.groups.push(EMPTY);
        }
        while i > 0 {
            let parent = (i - 1) >> 2;
            let above = *self.at(parent);
            if above <= key {
                break;
            }
            *self.at(i) = above;
            i = parent;
        }
        *self.at(i) = key;
    }

    /// Removes the smallest key, if there is one.
    #[inline]
    pub(super) fn pop(&mut self) {
        if self.len == 0 {
            return;
        }
        self.len -= 1;
        let last = std::mem::replace(self.at(self.len), u128::MAX);
        if self.len > 0 {
            self.sift_down(last);
        }
    }

    /// Puts `key` at the root and sifts it down.
    #[inline]
    fn sift_down(&mut self, key: u128) {
        let mut i = 0;
        // bounded: each iteration goes one level down
        while let Some(Four(c)) = self.groups.get(i + 1) {
            // finds the smallest of four keys: two independent comparisons, and a third between their results
            let a = usize::from(c[1] < c[0]);
            let b = 2 + usize::from(c[3] < c[2]);
            let m = select_unpredictable(c[b] < c[a], b, a);
            let least = c[m];
            if least >= key {
                break;
            }
            *self.at(i) = least;
            i = 4 * i + 1 + m;
        }
        *self.at(i) = key;
    }
}
