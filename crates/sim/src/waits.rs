//! The wait in L and in C of disciplines of two queues, as it is at the end of each bin of the series.
//!
//! A link's series has the time of all its packets, those of both queues in one mean; here they are told apart. They are read where
//! windows are, so no event is added, and only for whoever draws them: other runs pay nothing.

use packet::{Item, Reading, Value};
use record::Probed;
use units::Time;

/// The names by which disciplines tell the wait in L, and in C. One that tells both has two queues.
const TOLD: [[&str; 2]; 2] = [["delay_l", "qdelay_l"], ["delay_c", "qdelay_old"]];

/// The readings of one link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Waits {
    /// Its number.
    pub link: u16,
    /// In L and in C, bin by bin.   Unit: ms.
    pub ms: [Vec<f64>; 2],
}

impl Waits {
    /// Of a link of which nothing has been read.
    pub(crate) fn of(link: u16) -> Self {
        Self { link, ms: Default::default() }
    }

    /// Reads it; everything before `now` has been done. False of a discipline of one queue.
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
