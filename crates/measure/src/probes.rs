//! Round-trip probes: what `ping` prints, and each probe.

use crate::{Histogram, median};
use std::ops::Range;
use units::{Duration, Time};

/// Most probes that are kept one by one: at ten a second, those of 109 minutes.
const KEPT: usize = 65_536;

/// One probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Probe {
    /// When it left.
    pub sent: Time,
    /// How long until its answer came; none if there was none.
    pub rtt: Option<Duration>,
}

/// The probes of one application, numbered 0, 1, 2, ... in the order in which they left.
///
/// The first 65 536 are kept. Counts and the histogram are of what left or came after the warm-up; the least round trip is
/// that of the whole run, for it stands for the idle path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Probes {
    warm_up: Time,
    kept: Vec<Probe>,
    sent: u64,
    rtt: Histogram,
    least: Option<Duration>,
}

impl Probes {
    /// Statistics begin at `warm_up`.
    pub(crate) fn new(warm_up: Time) -> Self {
        Self { warm_up, ..Self::default() }
    }

    /// The next probe leaves.
    pub(crate) fn sent(&mut self, now: Time) {
        self.sent += u64::from(now >= self.warm_up);
        if self.kept.len() < KEPT {
            self.kept.push(Probe { sent: now, rtt: None });
        }
    }

    /// The answer to probe `number` has come.
    pub(crate) fn answered(&mut self, number: u64, now: Time, rtt: Duration) {
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        if now >= self.warm_up {
            self.rtt.record(rtt);
        }
        if let Some(probe) = usize::try_from(number).ok().and_then(|i| self.kept.get_mut(i)) {
            probe.rtt = Some(rtt);
        }
    }

    /// How many left.
    pub(crate) fn count(&self) -> u64 {
        self.sent
    }

    /// Round-trip times of the answered ones.
    pub(crate) fn rtt(&self) -> &Histogram {
        &self.rtt
    }

    /// What load adds to the round trip: the mean above the least of the whole run; `None` without an answer.
    pub(crate) fn induced(&self) -> Option<Duration> {
        Some(self.rtt.mean()?.saturating_sub(self.least?))
    }

    /// The same of the round trip that 99 of 100 probes do not exceed.
    pub(crate) fn induced_p99(&self) -> Option<Duration> {
        Some(self.rtt.percentile(99.0)?.saturating_sub(self.least?))
    }

    /// The mean round trip under a load: probes that were answered before it began or left when it was over do not count.
    pub(crate) fn loaded(&self, load: &Range<Time>) -> Option<Duration> {
        let (mut n, mut sum) = (u128::from(self.rtt.count()), self.rtt.sum());
        let late = self.kept.iter().rev().take_while(|p| p.sent >= load.end).filter_map(|p| Some((p.sent, p.rtt?)));
        let outside = self.idle(load.start).chain(late.filter(|(sent, _)| *sent >= load.start));
        for (_, rtt) in outside.filter(|(sent, rtt)| *sent + *rtt >= self.warm_up) {
            (n, sum) = (n.saturating_sub(1), sum.saturating_sub(u128::from(rtt.0)));
        }
        (n > 0).then(|| Duration(((sum + n / 2) / n) as u64))
    }

    /// The median round trip of the probes that were answered before `load`; without one the least of the run.
    pub(crate) fn unloaded(&self, load: Time) -> Option<Duration> {
        let idle: Vec<u64> = self.idle(load).map(|(_, rtt)| rtt.0).collect();
        median(&idle).map(Duration).or(self.least)
    }

    /// Those that were answered before `load`: when each left, and its round trip.
    fn idle(&self, load: Time) -> impl Iterator<Item = (Time, Duration)> + '_ {
        let before = self.kept.iter().take_while(move |p| p.sent < load);
        before.filter_map(|p| Some((p.sent, p.rtt?))).filter(move |(sent, rtt)| *sent + *rtt < load)
    }

    /// The kept ones, in order.
    pub(crate) fn kept(&self) -> &[Probe] {
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
        p.answered(2, Time(2070), Duration(70));
        p.answered(0, Time(2080), Duration(50));
        let rtts: Vec<_> = p.kept().iter().map(|k| (k.sent.0, k.rtt.map(|d| d.0))).collect();
        assert_eq!(rtts, [(0, Some(50)), (1000, None), (2000, Some(70))]);
        assert_eq!((p.count(), p.rtt().count()), (3, 2));
    }

    #[test]
    fn the_least_round_trip_may_be_in_the_warm_up() {
        let mut p = Probes::new(Time(1000));
        (0..3).for_each(|i| p.sent(Time(i * 1000)));
        [(0, 20), (1, 60), (2, 100)]
            .into_iter()
            .for_each(|(i, rtt)| p.answered(i, Time(i * 1000 + rtt), Duration(rtt)));
        assert_eq!((p.count(), p.rtt().count(), p.kept().len()), (2, 2, 3));
        // mean of 60 and 100, less 20
        assert_eq!(p.induced(), Some(Duration(60)));
    }

    #[test]
    fn the_idle_line_ends_where_the_load_begins() {
        let mut p = Probes::new(Time(1000));
        // four answered before the load at 4000, one under way when it begins, two under it
        let rtts = [21, 20, 23, 30, 500, 100, 140];
        (0..7).for_each(|i| p.sent(Time(i * 900)));
        rtts.into_iter().enumerate().for_each(|(i, rtt)| {
            let sent = i as u64 * 900;
            p.answered(i as u64, Time(sent + rtt), Duration(rtt));
        });
        // median of 20, 21, 23, 30: the mean of the middle two, rounded down
        assert_eq!(p.unloaded(Time(4000)), Some(Duration(22)));
        // of the five after the warm-up (23, 30, 500, 100, 140) those under load: 740 / 3
        assert_eq!(p.loaded(&(Time(4000)..Time::NEVER)), Some(Duration(247)));
        // the load is over at 5000: without the 140 that left at 5400
        assert_eq!(p.loaded(&(Time(4000)..Time(5000))), Some(Duration(300)));
        assert_eq!(p.unloaded(Time::ZERO), Some(Duration(20)), "no probe was idle: the least");
        assert_eq!(p.loaded(&(Time::ZERO..Time::NEVER)), p.rtt().mean());
        assert_eq!(p.loaded(&(Time::NEVER..Time::NEVER)), None, "no load");
    }

    #[test]
    fn memory_is_bounded() {
        let mut p = Probes::default();
        (0..70_000).for_each(|i| p.sent(Time(i)));
        p.answered(69_999, Time(70_004), Duration(5));
        assert_eq!((p.count(), p.kept().len(), p.rtt().count()), (70_000, KEPT, 1));
    }
}
