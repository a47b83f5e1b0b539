//! Storage of the scoreboard's entries: inline if there are few, otherwise in a ring.

use super::entry::{Entry, LOST, SACKED};
use super::{IN_RING, Scoreboard};
use units::prefetch;

/// When the ring shrinks to this many entries, they move back into the scoreboard itself. This number is smaller than
/// `FEW`, so that entries do not move back and forth on every ACK if the window is about `FEW` segments.
const BACK: usize = 2;
/// Capacity, in entries, below which the ring never shrinks. A larger ring is halved, more than once if necessary, when
/// at most a quarter is used, so that a connection whose window was once large does not keep using many cache lines.
const LEAST_ROOM: usize = 8;

impl Scoreboard {
    /// Prefetches the entries that an ACK will need if they are in the ring: the oldest entry, and for SACK blocks also the
    /// newest.
    #[inline]
    pub(crate) fn prefetch(&self) {
        if self.held == IN_RING {
            self.ring.front().into_iter().chain(self.ring.back()).for_each(|e| prefetch(e, 0));
        }
    }

    /// Returns the number of outstanding segments, and the ring's size in bytes.
    pub(crate) fn footprint(&self) -> (usize, usize) {
        (self.len(), self.ring.capacity() * size_of::<Entry>())
    }

    /// Returns the number of segments marked lost and not SACKed.
    pub(crate) fn lost_segments(&self) -> u32 {
        self.iter().filter(|e| e.flags & (SACKED | LOST) == LOST).count() as u32
    }

    pub(crate) fn sacked_bytes(&self) -> u64 {
        self.iter().filter(|e| e.has(SACKED)).map(Entry::bytes).sum()
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        if self.held == IN_RING { self.ring.len() } else { usize::from(self.held) }
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<&Entry> {
        if self.held == IN_RING {
            self.ring.get(at)
        } else if at < usize::from(self.held) {
            self.few.get(at)
        } else {
            None
        }
    }

    /// Returns the entry at position `at`, which must be below `len`.
    #[inline]
    pub(crate) fn entry(&mut self, at: usize) -> &mut Entry {
        if self.held == IN_RING { &mut self.ring[at] } else { &mut self.few[at] }
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Entry> + ExactSizeIterator {
        (0..self.len()).map(|at| self.get(at).expect("below len"))
    }

    #[inline(always)]
    pub(crate) fn push_back(&mut self, e: Entry) {
        if self.held == IN_RING {
            return self.ring.push_back(e);
        }
        match self.few.get_mut(usize::from(self.held)) {
            Some(slot) => {
                *slot = e;
                self.held += 1;
            }
            None => {
                self.ring.extend(self.few);
                self.ring.push_back(e);
                self.held = IN_RING;
            }
        }
    }

    /// Removes the first entry. The scoreboard must not be empty.
    #[inline(always)]
    pub(crate) fn pop_front(&mut self) {
        if self.held != IN_RING {
            self.few.copy_within(1.., 0);
            self.held -= 1;
            return;
        }
        self.ring.pop_front();
        if self.ring.len() == BACK {
            for (slot, e) in self.few.iter_mut().zip(self.ring.drain(..)) {
                *slot = e;
            }
            self.held = BACK as u8;
            self.shrink();
        }
    }

    /// Halves the ring's capacity as long as at most a quarter is used.
    #[inline]
    pub(crate) fn shrink(&mut self) {
        let (len, room) = (self.ring.len(), self.ring.capacity());
        if room > LEAST_ROOM && len <= room / 4 {
            self.give_back((2 * len).next_power_of_two());
        }
    }

    #[cold]
    pub(crate) fn give_back(&mut self, room: usize) {
        self.ring.shrink_to(room.max(LEAST_ROOM));
    }
}
