//! One opportunity to send.

use units::{Duration, Time};

/// A moment at which a link sends, and the number of bytes that it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opportunity {
    pub at: Time,
    /// Number of bytes carried, from packets that arrived before `at`.
    pub bytes: u64,
    /// Delay of the packets sent at this opportunity, in addition to the link's delay.
    pub extra_delay: Duration,
}
