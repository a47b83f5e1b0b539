//! One opportunity to send.

use units::{Duration, Time};

/// A moment at which a link can send, and the number of bytes that it can send then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opportunity {
    pub at: Time,
    /// Number of bytes that the link can send at this opportunity. Only packets that arrived before `at` can be sent.
    pub bytes: u64,
    /// Largest number of packets that may share this opportunity; a part of a packet counts as one. `u64::MAX`: no limit.
    pub packets: u64,
    /// Delay of the packets sent at this opportunity, in addition to the link's delay.
    pub extra_delay: Duration,
}
