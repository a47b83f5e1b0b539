//! Packet counts of one class of a discipline.

use packet::ClassCount;

/// A class's name and packet counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassProbe<'a> {
    /// The class's name in the parameters.
    pub name: &'a str,
    /// Counts of the class's offered, delivered and dropped packets.
    pub counts: ClassCount,
    /// Number of marks for each reason, in the order of [`packet::MarkReason`]: law, step. `None` for a class that
    /// never marks.
    pub marked: Option<[u64; 2]>,
}
