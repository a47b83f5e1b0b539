//! Storage for the parts of packets in flight that only end hosts read; each part is found by its index.

use units::prefetch;

/// Slots for values. Each value is stored once and taken once. The free list is last-in first-out, so the slot reused
/// next is probably still in the cache.
#[derive(Clone, Debug)]
pub(crate) struct Arena<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Arena<T> {
    #[inline]
    pub(crate) fn put(&mut self, value: T) -> u32 {
        match self.free.pop() {
            Some(i) => {
                self.slots[i as usize] = Some(value);
                i
            }
            None => {
                self.slots.push(Some(value));
                (self.slots.len() - 1) as u32
            }
        }
    }

    /// Removes and returns a value. Panics if the value is missing, because its packet was delivered or dropped before.
    #[inline]
    pub(crate) fn take(&mut self, index: u32) -> T {
        let value = self.slots[index as usize].take().expect("a body is taken once");
        self.free.push(index);
        value
    }

    /// Stores a copy of the value at `index` and returns the copy's index.
    pub(crate) fn copy(&mut self, index: u32) -> u32
    where
        T: Clone,
    {
        let value = self.slots[index as usize].clone().expect("a body is copied before it is taken");
        self.put(value)
    }

    /// Prefetches the slot of a value that will be taken soon.
    #[inline]
    pub(crate) fn prefetch(&self, index: u32) {
        if let Some(slot) = self.slots.get(index as usize) {
            prefetch(slot, 0);
        }
    }

    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        self.slots.get(index as usize)?.as_ref()
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_reused() {
        let mut a = Arena::default();
        let i = a.put('x');
        let j = a.put('y');
        assert_eq!(a.take(i), 'x');
        assert_eq!(a.put('z'), i);
        assert_eq!((a.take(i), a.take(j), a.len()), ('z', 'y', 0));
    }
}
