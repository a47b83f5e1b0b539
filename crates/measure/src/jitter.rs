//! Jitter: how much the one-way delay differs from one packet to the next.
//!
//! ```text
//!   jitter = mean of |d_i - d_(i-1)| over consecutive arrivals
//! ```
//!
//! RFC 3550's running estimate approximates this mean, but is noisy because of its gain of 1/16.
//!
//! Source: RFC 3550 §6.4.1, A.8.   Units: ns.   Departs: the mean over all packets instead of the last estimate.

use units::Duration;

/// Mean absolute difference between consecutive one-way delays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Jitter {
    last: Option<Duration>,
    sum: u128,
    count: u64,
}

impl Jitter {
    /// Records the arrival of a packet with the one-way delay `delay`.
    #[inline]
    pub(crate) fn arrival(&mut self, delay: Duration) {
        if let Some(last) = self.last {
            self.sum += u128::from(delay.0.abs_diff(last.0));
            self.count += 1;
        }
        self.last = Some(delay);
    }

    /// Returns the mean so far; `None` before the second packet.
    pub(crate) fn mean(&self) -> Option<Duration> {
        (self.count > 0).then(|| Duration((self.sum / u128::from(self.count.max(1))) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_the_differences() {
        let mut j = Jitter::default();
        assert_eq!(j.mean(), None);
        j.arrival(Duration(10));
        assert_eq!(j.mean(), None);
        // the differences are 4, 3 and 0 ns over three steps, so the mean is 7 / 3 ns, rounded down
        for d in [14, 11, 11] {
            j.arrival(Duration(d));
        }
        assert_eq!(j.mean(), Some(Duration(2)));
    }
}
