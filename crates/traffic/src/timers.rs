//! The timers of one application, kept by its host.
//!
//! The simulator and the live bench, which runs applications over kernel sockets, both use this list. So both fire
//! timers in the same order, and drop the same timers when the application stops.

use crate::{Application, Host};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::Time;

/// A due event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Due {
    /// The application's start.
    Start,
    /// A timer that the application set with this token.
    Timer(u64),
    /// A timer that the application set with this token, and that fires even at the stop or later.
    Late(u64),
}

impl Due {
    /// Calls the application.
    pub fn call<H: Host>(self, app: &mut impl Application, host: &mut H) {
        match self {
            Self::Start => app.start(host),
            Self::Timer(token) | Self::Late(token) => app.timer(token, host),
        }
    }
}

/// The pending timers and the start of an application, ordered by time. Timers that are due at the same time fire in the
/// order in which they were set, and the application's start comes before them.
#[derive(Clone, Debug)]
pub struct Timers {
    heap: BinaryHeap<Reverse<(Time, u64, Due)>>,
    /// Number of timers set so far.
    set: u64,
    stop: Time,
}

impl Timers {
    /// Returns a list with a single event, the application's start at the time `start`. Events that are due at `stop`
    /// or later will be dropped, even the start, but not late timers. If `stop` is [`Time::NEVER`], nothing is dropped.
    pub fn new(start: Time, stop: Time) -> Self {
        Self { heap: BinaryHeap::from([Reverse((start, 0, Due::Start))]), set: 0, stop }
    }

    /// Sets the stop time to the stop time of `other`. Must be called before the earlier of the two stop times, because
    /// later the old stop time may already have decided which timers fire.
    pub fn stop_as(&mut self, other: &Self) {
        self.stop = other.stop;
    }

    /// Returns the stop time.
    pub fn stop(&self) -> Time {
        self.stop
    }

    /// Sets a timer, which cannot be cancelled.
    pub fn set(&mut self, at: Time, token: u64) {
        self.push(at, Due::Timer(token));
    }

    /// Sets a timer that fires even at the stop time or later.
    pub fn set_late(&mut self, at: Time, token: u64) {
        self.push(at, Due::Late(token));
    }

    fn push(&mut self, at: Time, due: Due) {
        self.set += 1;
        self.heap.push(Reverse((at, self.set, due)));
    }

    /// Returns the time of the earliest event, or [`Time::NEVER`] if there is none. This time may be later than the stop
    /// time.
    pub fn next(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |Reverse((at, ..))| *at)
    }

    /// Removes the first event that is due at `now` or earlier, and returns it with its time. Events that are due at the
    /// stop time or later are dropped and not returned, except timers set by [`Timers::set_late`].
    pub fn take(&mut self, now: Time) -> Option<(Time, Due)> {
        // bound: each iteration removes one timer
        while self.next() <= now {
            let Reverse((at, _, due)) = self.heap.pop()?;
            if at < self.stop || matches!(due, Due::Late(_)) {
                return Some((at, due));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_moment_then_in_the_order_of_setting() {
        let mut timers = Timers::new(Time(5), Time::NEVER);
        for (at, token) in [(7, 1), (5, 2), (7, 3), (6, 4)] {
            timers.set(Time(at), token);
        }
        assert_eq!((timers.next(), timers.take(Time(4))), (Time(5), None));
        let taken: Vec<_> = std::iter::from_fn(|| timers.take(Time(7))).map(|(at, due)| (at.0, due)).collect();
        let timer = Due::Timer;
        assert_eq!(taken, [(5, Due::Start), (5, timer(2)), (6, timer(4)), (7, timer(1)), (7, timer(3))]);
        assert_eq!((timers.next(), timers.take(Time::NEVER)), (Time::NEVER, None));
    }

    #[test]
    fn only_late_timers_at_the_stop_or_later() {
        let mut timers = Timers::new(Time(1), Time(9));
        [8, 9, 10].into_iter().for_each(|at| timers.set(Time(at), at));
        [7, 9].into_iter().for_each(|at| timers.set_late(Time(at), at));
        let taken: Vec<_> = std::iter::from_fn(|| timers.take(Time(20))).map(|(at, due)| (at.0, due)).collect();
        assert_eq!(taken, [(1, Due::Start), (7, Due::Late(7)), (8, Due::Timer(8)), (9, Due::Late(9))]);
        assert_eq!(timers.next(), Time::NEVER);
    }
}
