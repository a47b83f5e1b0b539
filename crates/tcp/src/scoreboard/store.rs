//! Where a scoreboard keeps its entries: a few in itself, more in a ring.

use super::entry::{Entry, LOST, SACKED};
use super::{IN_RING, Scoreboard};
use units::prefetch;

/// Entries at which those in the ring come back: less than `FEW`, or a window of that size would move all the time.
const BACK: usize = 2;
/// Room of the ring that is not given back. A larger ring of which a quarter is in use gives back half: what a window once was
/// is no reason to walk through so many cache lines.
const LEAST_ROOM: usize = 8;

impl Scoreboard {
    /// Asks for the entries that an ACK will need, if they are in the ring: the oldest, and those that SACK blocks tell of.
    #[inline]
    pub(crate) fn prefetch(&self) {
        if self.held == IN_RING {
            self.ring.front().into_iter().chain(self.ring.back()).for_each(|e| prefetch(e, 0));
        }
    }

    /// Segments in flight, and bytes of the ring.
    pub(crate) fn footprint(&self) -> (usize, usize) {
        (self.len(), self.ring.capacity() * size_of::<Entry>())
    }

    /// Segments taken for lost that are not SACKed.
    pub(crate) fn lost_segments(&self) -> u32 {
        self.iter().filter(|e| e.flags & (SACKED | LOST) == LOST).count() as u32
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        if self.held == IN_RING { self.ring.len() } else { usize::from(self.held) }
    }

    /// The entry at position `at`, if there is one.
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

    /// The entry at a position below `len`.
    #[inline]
    pub(crate) fn entry(&mut self, at: usize) -> &mut Entry {
        if self.held == IN_RING { &mut self.ring[at] } else { &mut self.few[at] }
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Entry> + ExactSizeIterator {
        (0..self.len()).map(|at| self.get(at).expect("below len"))
    }

    #[inline]
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

    /// Removes the first entry; the board is not empty.
    #[inline]
    pub(crate) fn pop_front(&mut self) {
        if self.held != IN_RING {
            self.few.copy_within(1.., 0);
            self.held -= 1;
            return;
        }
        self.ring.pop_front();
        let (len, room) = (self.ring.len(), self.ring.capacity());
        if len == BACK {
            for (slot, e) in self.few.iter_mut().zip(self.ring.drain(..)) {
                *slot = e;
            }
            self.held = BACK as u8;
        }
        if room > LEAST_ROOM && len <= room / 4 {
            self.give_back(room / 2);
        }
    }

    #[cold]
    pub(crate) fn give_back(&mut self, room: usize) {
        self.ring.shrink_to(room.max(LEAST_ROOM));
    }
}
