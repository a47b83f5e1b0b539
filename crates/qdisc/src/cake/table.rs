//! A table of 1024 places in one array, for the queues or the hosts of a tin.
//!
//! ```text
//! place     h mod 1024          set     the eight places whose numbers differ only in the lowest three bits
//! ```

/// Number of places (entries) in a table. Tables of queues and tables of hosts have the same size.
pub(crate) const PLACES: usize = 1024;
/// Places in a set.
const WAYS: usize = 8;

/// A value for each place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table<T>(Box<[T; PLACES]>);

impl<T: Copy + Default> Default for Table<T> {
    fn default() -> Self {
        let zeroes = vec![T::default(); PLACES].into_boxed_slice();
        Self(zeroes.try_into().unwrap_or_else(|_| unreachable!("the length is PLACES")))
    }
}

#[inline]
pub(crate) fn place_of(hash: u32) -> u16 {
    (hash as usize % PLACES) as u16
}

impl<T> Table<T> {
    /// Finds the first place in the set of `hash` whose value satisfies `is`. The search starts at the hash's own place and wraps
    /// round the set.
    ///
    /// All eight places are tested, in memory order. This is faster than a loop with an early exit, which the CPU would have to
    /// predict.
    #[inline]
    pub(crate) fn first_in_set(&self, hash: u32, is: impl Fn(&T) -> bool) -> Option<u16> {
        let (inner, outer) = (hash as usize % WAYS, hash as usize % PLACES / WAYS * WAYS);
        let set = &self.0[outer..outer + WAYS];
        let hits = set.iter().enumerate().fold(0u8, |bits, (i, place)| bits | u8::from(is(place)) << i);
        let from_inner = hits.rotate_right(inner as u32).trailing_zeros() as usize;
        (hits != 0).then_some((outer + (inner + from_inner) % WAYS) as u16)
    }
}

// `% PLACES` changes no index, because every place is below 1024, but it lets the compiler omit the bounds check.
impl<T> std::ops::Index<u16> for Table<T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, i: u16) -> &T {
        &self.0[usize::from(i) % PLACES]
    }
}

impl<T> std::ops::IndexMut<u16> for Table<T> {
    #[inline(always)]
    fn index_mut(&mut self, i: u16) -> &mut T {
        &mut self.0[usize::from(i) % PLACES]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_searched_from_the_hash_on() {
        let mut table = Table::<u32>::default();
        // the hash 3 * 1024 + 21 belongs to place 21, which is in the set of places 16 to 23
        let hash = 3 * 1024 + 21;
        assert_eq!((place_of(hash), table.first_in_set(hash, |v| *v == 0)), (21, Some(21)));
        [21, 22, 23, 17].iter().for_each(|i| table[*i] = 9);
        assert_eq!(table.first_in_set(hash, |v| *v == 0), Some(16), "round the set");
        assert_eq!(table.first_in_set(hash - 3, |v| *v == 9), Some(21), "from 18 on");
        assert_eq!(table.first_in_set(hash, |v| *v == 7), None);
        table[24] = 7;
        assert_eq!(table.first_in_set(hash, |v| *v == 7), None, "another set");
    }
}
