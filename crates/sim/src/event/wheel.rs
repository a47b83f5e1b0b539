//! A timing wheel in front of a heap.

use super::heap::Heap;
use super::key::TIME_SHIFT;

/// Right shift that turns a key into its slot number. A slot is 2^22 ns (4.2 ms) wide.
pub(super) const SLOT_SHIFT: u32 = TIME_SHIFT + 22;
/// Number of slots: the wheel reaches 4.3 s ahead.
pub(super) const SLOTS: usize = 1024;

/// A queue for many timers, which sorts timers only shortly before they are due.
///
/// Time is divided into slots. Keys of the slots up to `cursor` are in a small heap, which holds the smallest key. Keys
/// of the next `SLOTS - 1` slots are stored unsorted, slot by slot. Keys that were later when they were pushed are in a
/// second heap. When the small heap is empty, the cursor moves to the next slot with keys. So most timers cost a write
/// to their slot, a write to the bitmap and, later, operations on a heap that fits into the first-level cache. A single
/// heap of tens of thousands of timers would not fit, so its lower levels would cause cache misses.
#[derive(Clone, Debug)]
pub(super) struct Wheel {
    near: Heap,
    slots: Vec<Vec<u128>>,
    /// Empty vectors from slots that have been emptied. They are kept for reuse by other slots.
    spare: Vec<Vec<u128>>,
    /// Bitmap of the slots with keys.
    used: [u64; SLOTS / 64],
    /// Number of keys in `slots`.
    held: usize,
    cursor: u64,
    far: Heap,
}

impl Default for Wheel {
    fn default() -> Self {
        let (near, far) = (Heap::default(), Heap::default());
        let slots = vec![Vec::new(); SLOTS];
        Self { near, slots, spare: Vec::new(), used: [0; SLOTS / 64], held: 0, cursor: 0, far }
    }
}

impl Wheel {
    pub(super) fn len(&self) -> usize {
        self.near.len() + self.held + self.far.len()
    }

    /// Returns the smallest key. The small heap is empty only if the wheel has no key.
    #[inline]
    pub(super) fn top(&self) -> u128 {
        self.near.top()
    }

    #[inline]
    pub(super) fn push(&mut self, key: u128) {
        let slot = (key >> SLOT_SHIFT) as u64;
        let ahead = slot.wrapping_sub(self.cursor);
        if slot <= self.cursor {
            self.near.push(key);
        } else if ahead < SLOTS as u64 && self.near.len() > 0 {
            let i = slot as usize % SLOTS;
            let keys = &mut self.slots[i];
            if keys.is_empty()
                && let Some(room) = self.spare.pop()
            {
                *keys = room;
            }
            keys.push(key);
            self.used[i / 64] |= 1 << (i % 64);
            self.held += 1;
        } else {
            self.push_far(key);
        }
    }

    #[cold]
    fn push_far(&mut self, key: u128) {
        self.far.push(key);
        if self.near.len() == 0 {
            self.advance();
        }
    }

    #[inline]
    pub(super) fn pop(&mut self) {
        self.near.pop();
        if self.near.len() == 0 {
            self.advance();
        }
    }

    /// Moves the cursor to the next slot with keys, and moves the keys of that slot to the small heap.
    fn advance(&mut self) {
        let far = |far: &Heap| (far.top() >> SLOT_SHIFT) as u64;
        let next = self.next_used().min(far(&self.far));
        if self.len() == 0 {
            return;
        }
        self.cursor = next;
        let i = next as usize % SLOTS;
        self.used[i / 64] &= !(1 << (i % 64));
        let mut keys = std::mem::take(&mut self.slots[i]);
        self.held -= keys.len();
        for key in keys.drain(..) {
            self.near.push(key);
        }
        if keys.capacity() > 0 {
            self.spare.push(keys);
        }
        // bounded: each iteration removes one key
        while far(&self.far) <= next && self.far.len() > 0 {
            self.near.push(self.far.top());
            self.far.pop();
        }
    }

    /// Returns the first slot after the cursor that has keys, or `u64::MAX` if there is none.
    fn next_used(&self) -> u64 {
        if self.held == 0 {
            return u64::MAX;
        }
        let start = self.cursor as usize + 1;
        // bounded: the loop goes round the bitmap once. It reads the first word again at the end, for the bits below
        // `start`
        for word in 0..=SLOTS / 64 {
            let at = start / 64 + word;
            let mask = if word == 0 { u64::MAX << (start % 64) } else { u64::MAX };
            let bits = self.used[at % (SLOTS / 64)] & mask;
            if bits != 0 {
                return (at * 64) as u64 + u64::from(bits.trailing_zeros());
            }
        }
        u64::MAX
    }
}
