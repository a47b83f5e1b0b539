//! Upper bounds on an application's use of the network, computed before a run.

use crate::Direction;
use units::Duration;

/// Upper bound on an application's traffic in a run. If arrivals or sizes are random, their means are used instead.
/// The fields are real numbers, because they may exceed any integer type; a field without a bound is infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// Direction of the data; `None` for both directions, and for datagrams.
    pub direction: Option<Direction>,
    /// Maximum number of TCP connections that carry data at the same time; 0 for datagrams.
    pub connections: f64,
    /// Payload of all TCP transfers.
    pub bytes: f64,
    /// Number of transfers, requests, messages or datagrams. Each needs at least one packet and, over TCP, perhaps its
    /// own connection.
    pub pieces: f64,
}

impl Demand {
    /// Returns the demand of an application that sends `pieces` datagrams and uses no TCP.
    pub(crate) const fn datagrams(pieces: f64) -> Self {
        Self { direction: None, connections: 0.0, bytes: 0.0, pieces }
    }
}

/// Returns an upper bound on how often an event occurs within `span`. The first event occurs at the start and the
/// others follow at intervals of `cycle`; there are at most `count` events. The result is infinite if `cycle` is zero
/// and `count` is `None`.
pub(crate) fn times(span: Duration, cycle: Duration, count: Option<u64>) -> f64 {
    let most = count.map_or(f64::INFINITY, |n| n as f64);
    if cycle.is_zero() { most } else { (span.0 as f64 / cycle.0 as f64 + 1.0).min(most) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_of_zero_is_unbounded() {
        let s = Duration::from_secs(1);
        assert_eq!(times(s * 10, s, None), 11.0);
        assert_eq!(times(s * 10, s, Some(3)), 3.0);
        assert_eq!(times(s * 10, Duration::ZERO, Some(3)), 3.0);
        assert_eq!(times(s, Duration::ZERO, None), f64::INFINITY);
    }
}
