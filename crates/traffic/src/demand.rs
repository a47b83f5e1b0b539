//! What an application may ask of a network, at most and before it runs.

use crate::Direction;
use units::Duration;

/// The most that an application asks in a run. Real numbers, for they may exceed any whole one; infinite where nothing ends it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// Which way the data go; both ways if none.
    pub direction: Option<Direction>,
    /// TCP connections that carry data at the same time; 0 for datagrams.
    pub connections: f64,
    /// Payload of all TCP transfers.
    pub bytes: f64,
    /// Transfers, requests, messages or datagrams: each takes a packet at least, and over TCP a connection, perhaps.
    pub pieces: f64,
}

impl Demand {
    /// Datagrams alone.
    pub(crate) const fn datagrams(pieces: f64) -> Self {
        Self { direction: None, connections: 0.0, bytes: 0.0, pieces }
    }
}

/// How often something happens in `span` that happens every `cycle`, the first time at its start; at most `count` times.
/// Infinite if it takes no time.
pub(crate) fn times(span: Duration, cycle: Duration, count: Option<u64>) -> f64 {
    let most = count.map_or(f64::INFINITY, |n| n as f64);
    if cycle.is_zero() { most } else { (span.0 as f64 / cycle.0 as f64 + 1.0).min(most) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_no_time_never_ends() {
        let s = Duration::from_secs(1);
        assert_eq!(times(s * 10, s, None), 11.0);
        assert_eq!(times(s * 10, s, Some(3)), 3.0);
        assert_eq!(times(s * 10, Duration::ZERO, Some(3)), 3.0);
        assert_eq!(times(s, Duration::ZERO, None), f64::INFINITY);
    }
}
