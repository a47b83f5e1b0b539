//! Queueing delays in the low-latency queue (L) and the classic queue (C) of dual-queue disciplines, at the end of each bin of
//! the series.
//!
//! The series of a link has one mean over the packets of both queues; here, each queue has its own series. Delays are
//! sampled at the same times as congestion windows, so sampling adds no events. Sampling is off unless a plot needs it.
//! A discipline has two queues if its probe reports [`Sample::QueueDelays`].

use packet::{Reading, Sample};
use record::Probed;
use units::{Duration, Time};

/// The samples of one link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueDelays {
    /// The link's number.
    pub link: u16,
    /// Queueing delay in L (`ms[0]`) and in C (`ms[1]`), one value for each bin that has ended.   Unit: ms.
    pub ms: [Vec<f64>; 2],
}

impl QueueDelays {
    pub(crate) fn new(link: u16) -> Self {
        Self { link, ms: Default::default() }
    }

    /// Takes a sample; all events before `now` must have been handled. Returns false for a discipline with one queue.
    pub(crate) fn sample(&mut self, now: Time, port: &impl Probed) -> bool {
        let mut found = None;
        let mut take = |sample: Sample| {
            if let Sample::QueueDelays(delays) = sample {
                found = Some(delays.map(Duration::millis));
            }
        };
        port.own(&mut Reading::samples(now, &mut take));
        if let Some(delays) = found {
            self.ms.iter_mut().zip(delays).for_each(|(of, ms)| of.push(ms));
        }
        found.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A made-up dual-queue discipline, whose probe has its own names for the two delays.
    struct Third;

    impl Probed for Third {
        fn own(&self, out: &mut Reading<'_>) {
            let (express, bulk) = (Duration::from_millis(1), Duration::from_millis(20));
            out.duration("express_delay", express);
            out.duration("bulk_delay", bulk);
            out.sample(Sample::QueueDelays([express, bulk]));
        }
    }

    struct Single;

    impl Probed for Single {
        fn own(&self, out: &mut Reading<'_>) {
            out.duration("qdelay_old", Duration::from_millis(3));
        }
    }

    #[test]
    fn a_dual_queue_discipline_is_known_by_its_samples_only() {
        let mut delays = QueueDelays::new(7);
        assert!(delays.sample(Time(1), &Third) && delays.sample(Time(2), &Third));
        assert_eq!(delays, QueueDelays { link: 7, ms: [vec![1.0, 1.0], vec![20.0, 20.0]] });
        assert!(!QueueDelays::new(8).sample(Time(1), &Single));
    }
}
