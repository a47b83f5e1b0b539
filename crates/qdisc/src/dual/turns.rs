//! The order in which L and C are served: weighted round robin by credit, or first in, first out with L's packets treated as
//! older.
//!
//! ```text
//! credit        starts at frame (w_C - w_L);  C's turn if L is empty;  L's turn if credit <= 0, or if C is empty
//!               while both have packets: L sends: credit += w_C size;  C sends: credit -= w_L size
//!               both are empty at a dequeue: credit is reset
//! time shift    L's turn if its head arrived no later than C's head + shift
//! ```
//!
//! Source: Linux sch_dualpi2 (weights 10 and 90 of 100); RFC 9332 §4.2.2 (weights), Appendix A (time-shifted FIFO).

use units::{Duration, Time};

/// Linux's largest Ethernet frame, bytes.
const FRAME: i64 = 1514;
/// Sum of the weights of L and C. Both weights are in millionths.
const WHOLE: i64 = 1_000_000;

/// The rule that selects the queue to serve next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Turns {
    Weighted {
        /// Weight of L, in millionths.
        weight_l: i64,
        /// Weight of C, in millionths.
        weight_c: i64,
        /// Credit, in millionths of a byte. While both queues have packets, L has the turn if the credit is 0 or below,
        /// and C if it is above 0.
        credit: i64,
    },
    /// Serves both queues in order of arrival, but treats each packet of L as if the packet had arrived earlier by this
    /// duration.
    Shifted(Duration),
}

impl Turns {
    /// Creates a weighted round robin. `share_c` is C's share, below 1.
    pub(crate) fn weighted(share_c: f64) -> Self {
        let weight_c = (share_c * WHOLE as f64 + 0.5) as i64;
        let mut turns = Self::Weighted { weight_l: WHOLE - weight_c, weight_c, credit: 0 };
        turns.reset();
        turns
    }

    /// Returns true if it is L's turn. `l` and `c` are the arrival times of the heads, `None` for an empty queue. If
    /// both queues are empty, returns false.
    #[inline]
    pub(crate) fn is_l(&self, l: Option<Time>, c: Option<Time>) -> bool {
        match (l, c) {
            (None, _) => false,
            (_, None) => true,
            (Some(l), Some(c)) => match self {
                Self::Weighted { credit, .. } => *credit <= 0,
                Self::Shifted(by) => l <= c + *by,
            },
        }
    }

    /// Updates the credit for a packet of `size` bytes, sent by L if `from_l` is true and by C if not. Called only if
    /// both queues had packets.
    #[inline]
    pub(crate) fn sent(&mut self, from_l: bool, size: u64) {
        if let Self::Weighted { weight_l, weight_c, credit } = self {
            let size = size as i64;
            *credit += if from_l { *weight_c * size } else { -*weight_l * size };
        }
    }

    /// Returns the credit in bytes, or `None` for a time-shifted FIFO.
    pub(crate) fn credit(&self) -> Option<f64> {
        match self {
            Self::Weighted { credit, .. } => Some(*credit as f64 / WHOLE as f64),
            Self::Shifted(_) => None,
        }
    }

    /// Resets the credit. Called at a dequeue that finds both queues empty.
    #[inline]
    pub(crate) fn reset(&mut self) {
        if let Self::Weighted { weight_l, weight_c, credit } = self {
            *credit = FRAME * (*weight_c - *weight_l);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the order in which `n` packets leave if neither queue is ever empty. `l` and `c` are the sizes of L's and C's
    /// packets.
    fn order(share: f64, l: u64, c: u64, n: usize) -> String {
        let mut turns = Turns::weighted(share);
        let one = |_| {
            let is_l = turns.is_l(Some(Time(9)), Some(Time(1)));
            turns.sent(is_l, if is_l { l } else { c });
            if is_l { 'L' } else { 'C' }
        };
        (0..n).map(one).collect()
    }

    #[test]
    fn nine_to_one_of_equal_packets() {
        // In hundredths of a frame, the credit starts at 10 - 90 = -80, and each packet of L adds 10. After eight
        // packets of L the credit is 0, so L sends a ninth, which raises the credit to 10. Then one packet of C
        // subtracts 90, and the credit is -80 again.
        assert_eq!(order(0.1, 1514, 1514, 30), "LLLLLLLLLC".repeat(3));
        // With a share of 1/16, the credit starts at -14/16 of a frame, and each packet of L adds 1/16. After 14
        // packets the credit is 0, so L sends a 15th packet before C sends one.
        assert_eq!(order(0.0625, 1514, 1514, 32), "LLLLLLLLLLLLLLLC".repeat(2));
        assert_eq!(
            Turns::weighted(0.1),
            Turns::Weighted { weight_l: 900_000, weight_c: 100_000, credit: -1_211_200_000 }
        );
    }

    #[test]
    fn bytes_are_shared_nine_to_one_whatever_the_sizes() {
        for (l, c) in [(1514, 300), (100, 1514), (66, 66)] {
            let order = order(0.1, l, c, 20_000);
            // skips the first 1000 packets, because the initial credit lets L send about 8 full frames (8 x 1514 B)
            // before C has its first turn
            let sent = |who, size| order.chars().skip(1000).filter(|o| *o == who).count() as f64 * size as f64;
            let ratio = sent('L', l) / sent('C', c);
            assert!((ratio - 9.0).abs() < 0.05, "{l} {c}: {ratio}");
        }
    }

    #[test]
    fn a_shift_lets_l_overtake_what_came_so_much_earlier() {
        let turns = Turns::Shifted(Duration::from_millis(50));
        let at = |ms: u64| Some(Time(ms * 1_000_000));
        assert!(turns.is_l(at(60), at(10)) && !turns.is_l(at(61), at(10)));
        assert!(turns.is_l(at(99), None) && !turns.is_l(None, at(1)));
    }
}
