//! Round-trip probes: what `ping` prints, and each probe.

use crate::Histogram;
use units::{Duration, Time};

/// Most probes that are kept one by one: at ten a second, those of 109 minutes.
pub const KEPT: usize = 65_536;

/// One probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// When it left.
    pub sent: Time,
    /// How long until its answer came; none if there was none.
    pub rtt: Option<Duration>,
}

/// The probes of one application, numbered 0, 1, 2, ... in the order in which they left.
///
/// The first 65 536 are kept; every answer is in the histogram.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Probes {
    kept: Vec<Probe>,
    sent: u64,
    rtt: Histogram,
}

impl Probes {
    /// The next probe leaves.
    pub fn sent(&mut self, now: Time) {
        self.sent += 1;
        if self.kept.len() < KEPT {
            self.kept.push(Probe { sent: now, rtt: None });
        }
    }

    /// Probe `number` was answered.
    pub fn answered(&mut self, number: u64, rtt: Duration) {
        self.rtt.record(rtt);
        if let Some(probe) = usize::try_from(number).ok().and_then(|i| self.kept.get_mut(i)) {
            probe.rtt = Some(rtt);
        }
    }

    /// How many left.
    pub fn count(&self) -> u64 {
        self.sent
    }

    /// Round-trip times of the answered ones.
    pub fn rtt(&self) -> &Histogram {
        &self.rtt
    }

    /// The kept ones, in order.
    pub fn kept(&self) -> &[Probe] {
        &self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_find_their_probe() {
        let mut p = Probes::default();
        (0..3).for_each(|i| p.sent(Time(i * 1000)));
        // out of order, and number 1 never
        p.answered(2, Duration(70));
        p.answered(0, Duration(50));
        let rtts: Vec<_> = p.kept().iter().map(|k| (k.sent.0, k.rtt.map(|d| d.0))).collect();
        assert_eq!(rtts, [(0, Some(50)), (1000, None), (2000, Some(70))]);
        assert_eq!((p.count(), p.rtt().count()), (3, 2));
    }

    #[test]
    fn memory_is_bounded() {
        let mut p = Probes::default();
        (0..70_000).for_each(|i| p.sent(Time(i)));
        p.answered(69_999, Duration(5));
        assert_eq!((p.count(), p.kept().len(), p.rtt().count()), (70_000, KEPT, 1));
    }
}
