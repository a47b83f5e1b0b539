//! Queueing delay in L and in C of dual-queue disciplines, at the end of each bin of the series.
//!
//! A link's series has one mean over the packets of both queues; here they are separate. Sampled at the same bins as congestion
//! windows, so sampling adds no events; off unless a plot needs it.

use packet::{Item, Reading, Value};
use record::Probed;
use units::Time;

/// Names of the probe values for the delay in L and in C. A discipline that reports both has two queues.
const TOLD: [[&str; 2]; 2] = [["delay_l", "qdelay_l"], ["delay_c", "qdelay_old"]];

/// The readings of one link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Waits {
    /// The link's number.
    pub link: u16,
    /// Delay in L and in C, by bin.   Unit: ms.
    pub ms: [Vec<f64>; 2],
}

impl Waits {
    /// No readings yet of this link.
    pub(crate) fn of(link: u16) -> Self {
        Self { link, ms: Default::default() }
    }

    /// Takes a reading; all events before `now` are done. Returns false for a discipline with one queue.
    pub(crate) fn read(&mut self, now: Time, port: &impl Probed) -> bool {
        let ms = &mut self.ms;
        let mut put = |item: Item<'_>| {
            if let Item::Value(told, _, Value::Number(value)) = item
                && let Some(queue) = TOLD.iter().position(|names| names.contains(&told))
            {
                ms[queue].push(value.unwrap_or(f64::NAN));
            }
        };
        port.own(&mut Reading::new(now, false, &mut put));
        self.ms.iter().all(|ms| !ms.is_empty())
    }
}
