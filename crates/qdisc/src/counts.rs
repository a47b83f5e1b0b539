//! Packet counts of one class of a discipline.

use packet::ClassCount;

/// A class's name and packet counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassProbe<'a> {
    /// Name of a class in the parameters, of a tin of CAKE, or of one of two coupled queues; `docsis_lld` also has the
    /// class `sanctioned`.
    pub name: &'a str,
    /// Counts of the class's offered, delivered and dropped packets.
    pub counts: ClassCount,
    /// Number of marks for each reason, in the order of [`packet::MarkReason`]: law, step. `None` if the discipline
    /// does not count the marks of this class.
    pub marked: Option<[u64; 2]>,
}
