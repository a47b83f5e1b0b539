//! A class of a discipline, for a look from outside.

use packet::ClassCount;

/// What a class tells of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassProbe<'a> {
    /// What its parameters call it.
    pub name: &'a str,
    /// What became of its packets.
    pub counts: ClassCount,
    /// Marks by reason (law, step); `None` for a class that never marks.
    pub marked: Option<[u64; 2]>,
}
