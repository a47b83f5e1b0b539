//! Echo requests: the statistics that `ping` prints, and the round trip of each request.

use crate::{Histogram, median};
use std::ops::Range;
use units::{Duration, Time};

/// Maximum number of echoes that are stored individually. At ten echoes per second, this is enough for 109 minutes.
const KEPT: usize = 65_536;

/// An echo request and its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Echo {
    /// Time at which the request was sent.
    pub sent: Time,
    /// Round-trip time; `None` without a reply.
    pub rtt: Option<Duration>,
}

/// The echoes of one application, numbered 0, 1, 2, ... in the order in which their requests left.
///
/// The first 65 536 echoes are stored individually. The count covers only requests sent after the warm-up, and the
/// histogram only replies that arrived after the warm-up. The minimum RTT is taken over the whole run, because it
/// represents the idle path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Echoes {
    warm_up: Time,
    kept: Vec<Echo>,
    sent: u64,
    rtt: Histogram,
    least: Option<Duration>,
}

impl Echoes {
    /// Creates an empty list. The count and the histogram will cover only the time from `warm_up` on.
    pub(crate) fn new(warm_up: Time) -> Self {
        Self { warm_up, ..Self::default() }
    }

    /// Records that the next request was sent at `now`.
    pub(crate) fn sent(&mut self, now: Time) {
        self.sent += u64::from(now >= self.warm_up);
        if self.kept.len() < KEPT {
            self.kept.push(Echo { sent: now, rtt: None });
        }
    }

    /// Records the reply to request `number`.
    pub(crate) fn answered(&mut self, number: u64, now: Time, rtt: Duration) {
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        if now >= self.warm_up {
            self.rtt.record(rtt);
        }
        if let Some(probe) = usize::try_from(number).ok().and_then(|i| self.kept.get_mut(i)) {
            probe.rtt = Some(rtt);
        }
    }

    /// Returns the number of echoes sent after the warm-up.
    pub(crate) fn count(&self) -> u64 {
        self.sent
    }

    /// Returns the histogram of the round-trip times of the echoes answered after the warm-up.
    pub(crate) fn rtt(&self) -> &Histogram {
        &self.rtt
    }

    /// Returns the delay added under load: the mean RTT minus the minimum RTT of the whole run; `None` without a
    /// reply.
    pub(crate) fn induced(&self) -> Option<Duration> {
        Some(self.rtt.mean()?.saturating_sub(self.least?))
    }

    /// Returns the 99th percentile of the RTT minus the minimum RTT of the whole run; `None` without a
    /// reply.
    pub(crate) fn induced_p99(&self) -> Option<Duration> {
        Some(self.rtt.percentile(99.0)?.saturating_sub(self.least?))
    }

    /// Returns the mean RTT under load, where `load` is the time during which there was load. Echoes that were answered
    /// before the load began, or sent after the load ended, do not count.
    pub(crate) fn loaded(&self, load: &Range<Time>) -> Option<Duration> {
        let (mut n, mut sum) = (u128::from(self.rtt.count()), self.rtt.sum());
        let late = self.kept.iter().rev().take_while(|p| p.sent >= load.end).filter_map(|p| Some((p.sent, p.rtt?)));
        let outside = self.idle(load.start).chain(late.filter(|(sent, _)| *sent >= load.start));
        for (_, rtt) in outside.filter(|(sent, rtt)| *sent + *rtt >= self.warm_up) {
            (n, sum) = (n.saturating_sub(1), sum.saturating_sub(u128::from(rtt.0)));
        }
        (n > 0).then(|| Duration(((sum + n / 2) / n) as u64))
    }

    /// Returns the median RTT of the echoes answered before time `load`, or the minimum RTT of the run if there are
    /// none.
    pub(crate) fn unloaded(&self, load: Time) -> Option<Duration> {
        let idle: Vec<u64> = self.idle(load).map(|(_, rtt)| rtt.0).collect();
        median(&idle).map(Duration).or(self.least)
    }

    /// Returns the echoes answered before time `load`, each with its send time and round trip.
    fn idle(&self, load: Time) -> impl Iterator<Item = (Time, Duration)> + '_ {
        let before = self.kept.iter().take_while(move |p| p.sent < load);
        before.filter_map(|p| Some((p.sent, p.rtt?))).filter(move |(sent, rtt)| *sent + *rtt < load)
    }

    /// Returns the stored echoes, in the order in which their requests were sent.
    pub(crate) fn kept(&self) -> &[Echo] {
        &self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_find_their_probe() {
        let mut p = Echoes::default();
        (0..3).for_each(|i| p.sent(Time(i * 1000)));
        // replies arrive out of order, and request 1 is never answered
        p.answered(2, Time(2070), Duration(70));
        p.answered(0, Time(2080), Duration(50));
        let rtts: Vec<_> = p.kept().iter().map(|k| (k.sent.0, k.rtt.map(|d| d.0))).collect();
        assert_eq!(rtts, [(0, Some(50)), (1000, None), (2000, Some(70))]);
        assert_eq!((p.count(), p.rtt().count()), (3, 2));
    }

    #[test]
    fn the_least_round_trip_may_be_in_the_warm_up() {
        let mut p = Echoes::new(Time(1000));
        (0..3).for_each(|i| p.sent(Time(i * 1000)));
        [(0, 20), (1, 60), (2, 100)]
            .into_iter()
            .for_each(|(i, rtt)| p.answered(i, Time(i * 1000 + rtt), Duration(rtt)));
        assert_eq!((p.count(), p.rtt().count(), p.kept().len()), (2, 2, 3));
        // the mean RTT minus the minimum RTT is (60 + 100) / 2 - 20 = 60
        assert_eq!(p.induced(), Some(Duration(60)));
    }

    #[test]
    fn the_idle_line_ends_where_the_load_begins() {
        let mut p = Echoes::new(Time(1000));
        // four echoes are answered before the load begins at 4000, one is in transit at that time, and two are sent
        // under load
        let rtts = [21, 20, 23, 30, 500, 100, 140];
        (0..7).for_each(|i| p.sent(Time(i * 900)));
        rtts.into_iter().enumerate().for_each(|(i, rtt)| {
            let sent = i as u64 * 900;
            p.answered(i as u64, Time(sent + rtt), Duration(rtt));
        });
        // the median of 20, 21, 23 and 30 is the mean of the middle two: (21 + 23) / 2 = 22
        assert_eq!(p.unloaded(Time(4000)), Some(Duration(22)));
        // five echoes end after the warm-up, with round trips of 23, 30, 500, 100 and 140. The last three are under load, and
        // their mean is 740 / 3
        assert_eq!(p.loaded(&(Time(4000)..Time::NEVER)), Some(Duration(247)));
        // the load ends at 5000, so the last echo, which was sent at 5400, does not count
        assert_eq!(p.loaded(&(Time(4000)..Time(5000))), Some(Duration(300)));
        assert_eq!(
            p.unloaded(Time::ZERO),
            Some(Duration(20)),
            "no echo ended before the load, so the smallest round trip counts"
        );
        assert_eq!(p.loaded(&(Time::ZERO..Time::NEVER)), p.rtt().mean());
        assert_eq!(p.loaded(&(Time::NEVER..Time::NEVER)), None, "no load");
    }

    #[test]
    fn memory_is_bounded() {
        let mut p = Echoes::default();
        (0..70_000).for_each(|i| p.sent(Time(i)));
        p.answered(69_999, Time(70_004), Duration(5));
        assert_eq!((p.count(), p.kept().len(), p.rtt().count()), (70_000, KEPT, 1));
    }
}
