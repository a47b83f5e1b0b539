//! A growing ring buffer: power-of-two capacity, indexed from its front.

use units::prefetch;

/// First-in first-out storage of plain values.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    slots: Vec<T>,
    head: usize,
    len: usize,
}

impl<T: Copy + Default> Default for Ring<T> {
    fn default() -> Self {
        Self { slots: vec![T::default(); 16], head: 0, len: 0 }
    }
}

impl<T: Copy + Default> Ring<T> {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns true if the next `push` would double the storage.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.len == self.slots.len()
    }

    /// Appends `value`; doubles the storage if it is full.
    #[inline]
    pub(crate) fn push(&mut self, value: T) {
        if self.is_full() {
            self.grow();
        }
        self.put(value);
    }

    /// Appends `value`. There must be room for it.
    #[inline]
    pub(crate) fn put(&mut self, value: T) {
        debug_assert!(!self.is_full());
        let mask = self.slots.len() - 1;
        let i = (self.head + self.len) & mask;
        self.slots[i] = value;
        self.len += 1;
    }

    /// Removes and returns the oldest entry.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        let value = self.slots[self.head];
        self.head = (self.head + 1) & (self.slots.len() - 1);
        self.len -= 1;
        Some(value)
    }

    /// Removes the `n` oldest entries; `n` must be at most the number of entries.
    #[inline]
    pub(crate) fn remove(&mut self, n: usize) {
        debug_assert!(n <= self.len);
        self.head = (self.head + n) & (self.slots.len() - 1);
        self.len -= n;
    }

    /// Returns the `i`-th oldest entry.
    #[inline]
    pub(crate) fn get(&self, i: usize) -> Option<&T> {
        if i < self.len { Some(&self.slots[(self.head + i) & (self.slots.len() - 1)]) } else { None }
    }

    /// Returns the number of entries for which `is_true` returns true. These must be the oldest entries, as in
    /// `slice::partition_point`.
    pub(crate) fn partition_point(&self, is_true: impl Fn(&T) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len);
        // bounded: each iteration halves the range
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle).is_some_and(&is_true) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Returns a cursor at the `i`-th oldest entry. `i` may be the number of entries.
    #[inline]
    pub(crate) fn cursor(&self, i: usize) -> Cursor<'_, T> {
        Cursor { slots: &self.slots, at: self.head + i, end: self.head + self.len }
    }

    /// Prefetches the memory of the `i`-th oldest entry.
    #[inline]
    pub(crate) fn prefetch(&self, i: usize) {
        prefetch(&self.slots[(self.head + i) & (self.slots.len() - 1)], 0);
    }

    /// Doubles the storage.
    #[cold]
    pub(crate) fn grow(&mut self) {
        let old = self.slots.len();
        self.slots.rotate_left(self.head);
        self.head = 0;
        self.slots.resize(old * 2, T::default());
    }
}

/// A position in a ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a, T> {
    slots: &'a [T],
    at: usize,
    end: usize,
}

impl<'a, T> Cursor<'a, T> {
    /// Returns the entry at this position; `None` at the end.
    #[inline(always)]
    pub(crate) fn peek(&self) -> Option<&'a T> {
        if self.at < self.end { Some(&self.slots[self.at & (self.slots.len() - 1)]) } else { None }
    }

    /// Moves forward by one entry.
    #[inline(always)]
    pub(crate) fn advance(&mut self) {
        self.at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_survives_growth() {
        let mut r = Ring::default();
        let (mut next_in, mut next_out) = (0u32, 0u32);
        for round in 0..200u32 {
            for _ in 0..round % 7 + 3 {
                r.push(next_in);
                next_in += 1;
            }
            for _ in 0..round % 5 {
                assert_eq!(r.pop(), Some(next_out));
                next_out += 1;
            }
            if round % 3 == 0 {
                r.remove(2);
                next_out += 2;
            }
            assert_eq!(r.get(0), Some(&next_out));
            assert_eq!(r.get(r.len), None);
            for i in 0..=r.len {
                let mut cursor = r.cursor(i);
                assert_eq!(cursor.peek(), r.get(i));
                cursor.advance();
                assert_eq!(cursor.peek(), r.get(i + 1));
            }
            for bound in [0, next_out, next_in - r.len as u32 / 3, next_in] {
                let n = (0..r.len).filter(|&i| r.get(i).is_some_and(|v| *v < bound)).count();
                assert_eq!(r.partition_point(|v| *v < bound), n);
            }
        }
        assert_eq!(r.len as u32, next_in - next_out);
    }
}
