//! One opportunity to send.

use units::{Duration, Time};

/// A moment at which a link sends, and the bytes that it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opportunity {
    /// Time of the opportunity.
    pub at: Time,
    /// Number of bytes that it carries, of packets that arrived before it.
    pub bytes: u64,
    /// Delay added to the link's own for packets that leave with it.
    pub extra_delay: Duration,
}
