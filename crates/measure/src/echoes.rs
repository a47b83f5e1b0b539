//! Echo requests: the statistics that `ping` prints, and the round trips of the first 65 536 requests.

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
/// The first 65 536 echoes are stored individually. `sent` counts the requests sent after the warm-up. `rtt` and `loaded`
/// cover the replies that arrived after the warm-up. `least` and `idle` also cover the warm-up, because they represent
/// the idle path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Echoes {
    warm_up: Time,
    kept: Vec<Echo>,
    sent: u64,
    rtt: Histogram,
    least: Option<Duration>,
    /// Round trips that ended before the load began.
    idle: Histogram,
    /// Number and sum (ns) of the round trips under load after the warm-up.
    loaded: (u64, u128),
}

impl Echoes {
    /// Creates an empty list. The warm-up ends at `warm_up`.
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

    /// Records the reply to request `number`. `load` is the period with load. An echo answered before this period
    /// measures the idle path. An echo sent after this period is neither idle nor under load.
    pub(crate) fn answered(&mut self, number: u64, now: Time, rtt: Duration, load: &Range<Time>) {
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        if now < load.start {
            self.idle.record(rtt);
        }
        if now >= self.warm_up {
            self.rtt.record(rtt);
            if now >= load.start && now - rtt < load.end {
                self.loaded = (self.loaded.0 + 1, self.loaded.1 + u128::from(rtt.0));
            }
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

    /// Returns the delay added under load: the mean RTT after the warm-up minus the minimum RTT of the whole run;
    /// `None` without a reply after the warm-up.
    pub(crate) fn induced(&self) -> Option<Duration> {
        Some(self.rtt.mean()?.saturating_sub(self.least?))
    }

    /// Returns the 99th percentile of the RTT after the warm-up minus the minimum RTT of the whole run; `None` without
    /// a reply after the warm-up.
    pub(crate) fn induced_p99(&self) -> Option<Duration> {
        Some(self.rtt.percentile(99.0)?.saturating_sub(self.least?))
    }

    /// Returns the mean RTT of the echoes under load that were answered after the warm-up; `None` if there are none.
    pub(crate) fn loaded(&self) -> Option<Duration> {
        let (n, sum) = (u128::from(self.loaded.0), self.loaded.1);
        (n > 0).then(|| Duration(((sum + n / 2) / n) as u64))
    }

    /// Returns the median RTT of the echoes answered before `load`, the start of the load. Without such an echo, returns
    /// the minimum RTT of the run; `None` if there was no reply at all. The median is exact if all of these echoes are
    /// stored; otherwise it is computed from a histogram.
    pub(crate) fn unloaded(&self, load: Time) -> Option<Duration> {
        let before = self.kept.iter().take_while(|p| p.sent < load).filter_map(|p| Some((p.sent, p.rtt?)));
        let idle: Vec<u64> = before.filter(|(sent, rtt)| *sent + *rtt < load).map(|(_, rtt)| rtt.0).collect();
        let exact = idle.len() as u64 == self.idle.count();
        let median = if exact { median(&idle).map(Duration) } else { self.idle.percentile(50.0) };
        median.or(self.least)
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
        let (mut p, load) = (Echoes::default(), Time::ZERO..Time::NEVER);
        (0..3).for_each(|i| p.sent(Time(i * 1000)));
        // replies arrive out of order, and request 1 is never answered
        p.answered(2, Time(2070), Duration(70), &load);
        p.answered(0, Time(2080), Duration(50), &load);
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
            .for_each(|(i, rtt)| p.answered(i, Time(i * 1000 + rtt), Duration(rtt), &(Time::ZERO..Time::NEVER)));
        assert_eq!((p.count(), p.rtt().count(), p.kept().len()), (2, 2, 3));
        // the mean RTT minus the minimum RTT is (60 + 100) / 2 - 20 = 60
        assert_eq!(p.induced(), Some(Duration(60)));
    }

    /// Returns the echoes of a run with a warm-up of 1000, whose request i leaves at `900 i`.
    fn echoes(rtts: &[u64], load: &Range<Time>) -> Echoes {
        let mut p = Echoes::new(Time(1000));
        for (i, &rtt) in (0..).zip(rtts) {
            p.sent(Time(i * 900));
            p.answered(i, Time(i * 900 + rtt), Duration(rtt), load);
        }
        p
    }

    #[test]
    fn the_idle_line_ends_where_the_load_begins() {
        // four echoes are answered before the load begins at 4000, one is in transit at that time, and two are sent
        // under load
        let rtts = [21, 20, 23, 30, 500, 100, 140];
        let of = |load: Range<Time>| echoes(&rtts, &load);
        // the median of 20, 21, 23 and 30 is the mean of the middle two: (21 + 23) / 2 = 22
        let p = of(Time(4000)..Time::NEVER);
        assert_eq!(p.unloaded(Time(4000)), Some(Duration(22)));
        // five echoes end after the warm-up, with round trips of 23, 30, 500, 100 and 140. The last three are under load, and
        // their mean is 740 / 3
        assert_eq!(p.loaded(), Some(Duration(247)));
        // the load ends at 5000, so the last echo, which was sent at 5400, does not count
        assert_eq!(of(Time(4000)..Time(5000)).loaded(), Some(Duration(300)));
        let p = of(Time::ZERO..Time::NEVER);
        assert_eq!(
            p.unloaded(Time::ZERO),
            Some(Duration(20)),
            "no echo ended before the load, so the smallest round trip counts"
        );
        assert_eq!(p.loaded(), p.rtt().mean());
        assert_eq!(of(Time::NEVER..Time::NEVER).loaded(), None, "no load");
    }

    #[test]
    fn echoes_that_are_not_stored_count_like_others() {
        // Of 300 000 echoes, 100 000 each are answered before, under and after the load. Before the load, the first third
        // of the round trips take 10 and the others take 40, so the median is 40. Among the stored echoes, the median
        // would be 10.
        let (n, at) = (100_000, |i: usize| Time(i as u64 * 900));
        let load = at(n)..at(2 * n);
        let rtts = [vec![10; n / 3], vec![40; n - n / 3], vec![500; n], vec![20; n]].concat();
        let p = echoes(&rtts, &load);
        assert_eq!((p.count(), p.kept().len()), (3 * n as u64 - 2, KEPT));
        assert_eq!((p.loaded(), p.unloaded(load.start)), (Some(Duration(500)), Some(Duration(40))));
    }

    #[test]
    fn memory_is_bounded() {
        let mut p = Echoes::default();
        (0..70_000).for_each(|i| p.sent(Time(i)));
        p.answered(69_999, Time(70_004), Duration(5), &(Time::ZERO..Time::NEVER));
        assert_eq!((p.count(), p.kept().len(), p.rtt().count()), (70_000, KEPT, 1));
    }
}
