//! The weighted average of an occupancy.
//!
//! ```text
//!   arrivals   something queued            avg <- (1 - w) avg + w q        on an arrival of the class
//!              nothing queued since t      avg <- (1 - w)^m avg,           m = (now - t) / s
//!   time       avg <- q + (avg - q) (1 - w)^m    m = (time since the last update) / s, on every event of the class
//!   FRED       as `arrivals`, and avg <- (1 - w) avg + w q on a departure
//! ```
//!
//! `q` is the occupancy, `w` the weight of a sample, and `s` the transmission time of a typical packet. With
//! `arrivals`, an idle time counts as m samples of zero. This number of samples suits a class that fills the link
//! alone. For a class that sends fewer packets per second, m is too high: the average is too low, so the mean queue of
//! the class exceeds its threshold. For a class that sends more and smaller packets, m is too low: the average is too
//! high, so the mean queue stays below the threshold. With `time`, the average is taken over time, not over arrivals.
//!
//! Source: Floyd & Jacobson 1993 §4 (`arrivals`); `time` is ours.
//! Departs: after the decay for an idle time, ns-2, ns-3 and ALTQ also add the current sample, 0.

use crate::law::early::Weight;
use packet::LinkView;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Time;

/// When an average is sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sampling {
    /// At each arrival of the class. If the class has had nothing queued for some time, one sample of zero is added for
    /// each packet time of this period, as in RED. A packet time is the transmission time of a typical packet, whose
    /// size is set by the discipline's key `packet`.
    #[default]
    Arrivals,
    /// Once in each packet time, even if no packet arrives.
    Time,
}

/// The weighted average of an occupancy, in the unit of the samples: packets or bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Average {
    w: Weight,
    sampling: Sampling,
    avg: f64,
    /// Current occupancy.
    q: f64,
    /// Time at which `q` was last set, or at which [`Average::elapse`] was last called, whichever is later.
    since: Time,
}

impl Average {
    /// Creates the average for an empty queue: it starts at zero, and each new sample has weight `w`.
    pub(crate) fn new(w: f64, sampling: Sampling) -> Self {
        Self { w: Weight::new(w), sampling, avg: 0.0, q: 0.0, since: Time::ZERO }
    }

    pub(crate) fn get(&self) -> f64 {
        self.avg
    }

    /// Updates the average on an arrival, and returns the average. The sample is `q`, the occupancy before the arrival.
    /// `packet` is the size of a typical packet in bytes.
    pub(crate) fn arrival(&mut self, now: Time, link: &LinkView, packet: u64) -> f64 {
        if self.sampling == Sampling::Arrivals && self.q > 0.0 {
            self.avg += self.w.get() * (self.q - self.avg);
        } else {
            self.elapse(now, link, packet);
        }
        self.avg
    }

    /// Updates the average on a departure, as FRED does. The sample is `q`, the occupancy that remains after the
    /// departure.
    pub(crate) fn departure(&mut self, q: f64, now: Time) {
        self.avg += self.w.get() * (q - self.avg);
        (self.q, self.since) = (q, now);
    }

    /// Records that the occupancy is `q` from `now` on. With [`Sampling::Time`], first updates the average for the time
    /// during which the previous occupancy lasted.
    pub(crate) fn now_queued(&mut self, q: f64, now: Time, link: &LinkView, packet: u64) {
        if self.sampling == Sampling::Time {
            self.elapse(now, link, packet);
        }
        (self.q, self.since) = (q, now);
    }

    /// Updates the average as if the occupancy `q` had been sampled once per packet time since `since`. A packet time
    /// is the transmission time of a typical packet.
    fn elapse(&mut self, now: Time, link: &LinkView, packet: u64) {
        if self.avg != self.q {
            let m = now.since(self.since).secs() / link.rate.time_for(packet).secs().max(1e-9);
            self.avg = self.q + (self.avg - self.q) * self.w.rest(m);
        }
        // sets `since`, so that the next call does not count the same time again. `now_queued` sets `since` too, but is
        // not called after an arrival that is dropped
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::BitRate;

    const LINK: BitRate = BitRate(10_000_000);

    #[test]
    fn a_constant_queue_and_an_idle_one() {
        let link = LinkView::plain(LINK);
        let mut a = Average::new(0.002, Sampling::Arrivals);
        a.now_queued(20.0, Time::ZERO, &link, 1000);
        for _ in 0..500 {
            a.arrival(Time::ZERO, &link, 1000);
        }
        // after 500 samples of 20 packets the average is 20 (1 - 0.998^500) = 20 x 0.632489 = 12.64978
        assert!((a.get() - 12.649_78).abs() < 1e-4, "{}", a.get());
        // The class is idle for 80 ms, or 100 packet times of 0.8 ms. So the average is multiplied by 0.998^100 =
        // 0.818567, whether it is updated once or four times.
        a.now_queued(0.0, Time(0), &link, 1000);
        let mut b = a.clone();
        assert!((a.arrival(Time(80_000_000), &link, 1000) - 10.354_69).abs() < 1e-4);
        for ms in [20, 40, 60, 80] {
            b.arrival(Time(ms * 1_000_000), &link, 1000);
        }
        assert!((a.get() - b.get()).abs() < 1e-9);
        // with weight 1, the average is the current queue
        let mut now = Average::new(1.0, Sampling::Arrivals);
        now.now_queued(7.0, Time::ZERO, &link, 1000);
        assert_eq!(now.arrival(Time::ZERO, &link, 1000), 7.0);
    }

    #[test]
    fn by_time_it_does_not_matter_who_looks() {
        let link = LinkView::plain(LINK);
        let mut a = Average::new(0.002, Sampling::Time);
        a.now_queued(20.0, Time::ZERO, &link, 1000);
        let mut b = a.clone();
        for ms in 1..400 {
            b.arrival(Time(ms * 1_000_000), &link, 1000);
        }
        // 400 ms is 500 packet times of 0.8 ms, so the average is the same as after 500 samples, as in the test above
        assert!((a.arrival(Time(400_000_000), &link, 1000) - 12.649_78).abs() < 1e-4);
        assert!((b.arrival(Time(400_000_000), &link, 1000) - a.get()).abs() < 1e-9);
    }
}
