//! An opportunity.

use units::{Duration, Time};

/// A moment at which a link sends, and how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opportunity {
    /// When.
    pub at: Time,
    /// How many bytes of packets that arrived before.
    pub bytes: u64,
    /// What a packet that leaves with it takes besides the link's own delay.
    pub later: Duration,
}
