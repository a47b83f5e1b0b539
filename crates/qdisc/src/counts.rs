//! Packet counts of one class of a discipline.

use packet::ClassCount;

/// Name and packet counts of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassProbe<'a> {
    /// Name of the class in the parameters.
    pub name: &'a str,
    /// Counts of the class's offered, delivered and dropped packets.
    pub counts: ClassCount,
    /// Marks by reason (law, step); `None` for a class that never marks.
    pub marked: Option<[u64; 2]>,
}
