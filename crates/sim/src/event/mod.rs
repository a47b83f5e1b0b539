//! The event set: small values keyed by one integer, first-in first-out among equal times.
//!
//! A key consists of the time of the event, the time at which it was scheduled, its number among the events scheduled
//! at that moment, and its target. Comparing keys compares times, then the order of scheduling. The arrivals of a *fed*
//! link (see [`crate::chain`]), and of a link with a token bucket, have number 0.
//!
//! The set has three parts. The next event is the earliest of their first events, so the parts affect the cost of
//! operations, but not the order of events:
//!
//! | part | targets | structure |
//! |---|---|---|
//! | arrivals | links that deliver in order: few, with one event each, which fires often | a tournament, one leaf per link |
//! | ports | ports, and other arrivals: few, with several events each; departures (TCP small queues) | a 4-ary heap |
//! | timers | connections, applications, the clock: tens of thousands that fire rarely | a wheel in front of a 4-ary heap |
//!
//! Events are never cancelled, except the arrival event of a link ([`Events::clear_arrival`]). Timers are lazy: a
//! target ignores a timer that it no longer needs.
//!
//! Bounds: a run ends before [`LATEST`]; there are at most 2^21 targets of each type; scheduling in the past panics. Simultaneous
//! events may be handled out of order if they were scheduled more than 4 minutes ahead, or after 16 383 others at the same moment.

mod heap;
mod key;
mod tournament;
mod wheel;

use heap::Heap;
pub(crate) use key::Target;
use key::{LATEST, MAX_NUMBER, MAX_RANK, key, ranked, since, time_of};
use tournament::{LEAVES, Tournament, lesser};
use units::Time;
use wheel::Wheel;

/// A world's pending events.
#[derive(Clone, Debug)]
pub(crate) struct Events {
    arrivals: Tournament,
    ports: Heap,
    timers: Wheel,
    /// Key of an arrival at the current time; [`u128::MAX`] if there is none. If more arrivals are pending at the current
    /// time, the others are in the tournament. So the arrivals of a link that takes no time seldom cost a comparison there.
    at_once: u128,
    /// The smallest key outside the tournament.
    other: u128,
    /// Largest event number given out at the time `now`; zero if none has been given out yet.
    scheduled: u64,
    now: Time,
    taken: u64,
    /// Key of the event that was taken last.
    latest: u128,
    /// For each link, true if the link's arrivals have number 0, so that they precede all other events that have the
    /// same time and were scheduled at the same moment (see this file's head).
    first: Vec<bool>,
    /// For each link, its leaf in the tournament; [`LEAVES`] if it has none. Arrivals of links without a leaf are pushed to the
    /// heap of ports.
    leaves: Vec<u8>,
}

impl Events {
    /// Returns an empty event set. `first` has one entry for each link of the world: true if the arrivals of that link
    /// have number 0. `arriving` returns true for a link whose arrivals have events.
    pub(crate) fn new(first: Vec<bool>, arriving: impl Fn(usize) -> bool) -> Self {
        let mut used = 0;
        let mut leaf = |link| {
            let leaf = if arriving(link) { used } else { LEAVES };
            used += usize::from(leaf < LEAVES);
            leaf as u8
        };
        let leaves = (0..first.len()).map(&mut leaf).collect();
        Self {
            arrivals: Tournament::new(used),
            ports: Heap::default(),
            timers: Wheel::default(),
            at_once: u128::MAX,
            other: u128::MAX,
            scheduled: 0,
            now: Time::ZERO,
            taken: 0,
            latest: 0,
            first,
            leaves,
        }
    }

    /// Returns the current time: the time of the last event taken, or a later time set by [`Events::advance`].
    #[inline]
    pub(crate) fn now(&self) -> Time {
        self.now
    }

    /// Advances the time to `at`. No event before `at` may be pending.
    pub(crate) fn advance(&mut self, at: Time) {
        let next = lesser(self.arrivals.top(), self.other);
        assert!(at >= self.now && time_of(next) >= at.min(LATEST), "an event before {at} is pending");
        self.set_now(at);
    }

    /// Returns the time at which the event that was taken last was scheduled; `None` if that event has a rank.
    pub(crate) fn since(&self) -> Option<Time> {
        since(self.latest)
    }

    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    #[cfg(test)]
    fn pending(&self) -> usize {
        self.arrivals.pending() + self.ports.len() + self.timers.len() + usize::from(self.at_once != u128::MAX)
    }

    #[inline]
    fn set_now(&mut self, at: Time) {
        self.scheduled = if at == self.now { self.scheduled } else { 0 };
        self.now = at;
    }

    /// Returns the key of an event that is scheduled now and takes place at the time `at`.
    #[inline]
    fn key(&mut self, at: Time, target: Target) -> u128 {
        self.scheduled = (self.scheduled + 1).min(MAX_NUMBER);
        Self::key_of(at, self.now, self.scheduled, target)
    }

    /// Returns the key of an event at `at` that was scheduled at `since`. Panics if `at` is before `since`.
    #[inline]
    fn key_of(at: Time, since: Time, number: u64, target: Target) -> u128 {
        if at < since {
            past(at, since);
        }
        key(at, since, number, target)
    }

    /// Schedules a timer for the time `at`. The timer precedes all events of that time that have a higher rank or no
    /// rank.
    pub(crate) fn push_ranked(&mut self, at: Time, rank: usize, target: Target) {
        if at < self.now {
            past(at, self.now);
        }
        debug_assert!(rank <= MAX_RANK, "a scenario has fewer applications");
        let key = ranked(at, rank, target);
        self.timers.push(key);
        self.other = self.other.min(key);
    }

    /// Schedules an event of `target` for the time `at`. The event follows all events that have already been scheduled
    /// for that time. There is one exception: it precedes an arrival that [`Events::set_arrival_since`] has set with a
    /// `since` after the current time. If a link delivers its packets in order, call [`Events::set_arrival`] for its
    /// arrivals instead.
    #[inline]
    pub(crate) fn push(&mut self, at: Time, target: Target) {
        let key = self.key(at, target);
        if matches!(target, Target::Link(_) | Target::Port(_) | Target::Left) {
            return self.push_port(key);
        }
        self.timers.push(key);
        self.other = self.other.min(key);
    }

    /// Sets the arrival event of a link that delivers its packets in order. Such a link has only one event at a time,
    /// for its first packet in flight. The link must have no pending arrival event, or this event must just have been
    /// taken.
    ///
    /// [`Events::take`] does not remove the event of a link from the tournament. So after a link's event has been
    /// taken, the caller must set or clear the link's event before the next event is taken.
    #[inline]
    pub(crate) fn set_arrival(&mut self, at: Time, link: u16) {
        let first = self.first[usize::from(link)];
        let key =
            if first { Self::key_of(at, self.now, 0, Target::Link(link)) } else { self.key(at, Target::Link(link)) };
        if at == self.now && self.at_once == u128::MAX {
            self.clear_arrival(link);
            self.at_once = key;
            self.other = self.other.min(key);
            return;
        }
        self.set_key(link, key);
    }

    /// Sets the arrival event of a link, as [`Events::set_arrival`] does, but as if the event were scheduled at `since`,
    /// which must not be before the current time. The link's arrivals must have number 0.
    #[inline]
    pub(crate) fn set_arrival_since(&mut self, at: Time, since: Time, link: u16) {
        debug_assert!(since >= self.now && self.first[usize::from(link)], "the arrivals have number 0");
        let key = Self::key_of(at, since, 0, Target::Link(link));
        self.set_key(link, key);
    }

    #[inline(always)]
    fn set_key(&mut self, link: u16, key: u128) {
        let leaf = usize::from(self.leaves[usize::from(link)]);
        if leaf < LEAVES {
            self.arrivals.set(leaf, key);
        } else {
            self.push_port(key);
        }
    }

    #[inline(never)]
    fn push_port(&mut self, key: u128) {
        self.ports.push(key);
        self.other = self.other.min(key);
    }

    /// Clears the arrival event of a link that has no next arrival yet, or whose packets no longer arrive in order.
    #[inline]
    pub(crate) fn clear_arrival(&mut self, link: u16) {
        let leaf = usize::from(self.leaves[usize::from(link)]);
        if leaf < LEAVES && self.arrivals.is_set(leaf) {
            self.arrivals.set(leaf, u128::MAX);
        } else if self.at_once != u128::MAX && Target::of(self.at_once) == Target::Link(link) {
            self.at_once = u128::MAX;
            self.other = self.timers.top().min(self.ports.top());
        }
    }

    /// Takes the next event if it is due by `until`, and advances `now` to its time.
    #[inline]
    pub(crate) fn take(&mut self, until: Time) -> Option<Target> {
        let arrival = self.arrivals.top();
        let key = lesser(arrival, self.other);
        let at = time_of(key);
        // `at` is `LATEST` if the set is empty, or if the next event is scheduled for `LATEST` or a later time. No run
        // lasts until `LATEST`
        if at > until || at == LATEST {
            return None;
        }
        self.set_now(at);
        self.latest = key;
        self.taken += 1;
        if self.other < arrival {
            self.pop_other();
        }
        Some(Target::of(key))
    }

    /// Returns the number of the timer that will probably fire next, if it belongs to a connection. Returns `None` if the
    /// earliest key in `timers` belongs to an application or the clock, or if there is none.
    #[inline]
    pub(crate) fn next_timer(&self) -> Option<u32> {
        match Target::of(self.timers.top()) {
            Target::Timer(i) if self.timers.top() != u128::MAX => Some(i),
            _ => None,
        }
    }

    fn pop_other(&mut self) {
        if self.at_once == self.other {
            self.at_once = u128::MAX;
        } else if self.timers.top() < self.ports.top() {
            self.timers.pop()
        } else {
            self.ports.pop()
        }
        self.other = self.timers.top().min(self.ports.top()).min(self.at_once);
    }
}

#[cold]
fn past(at: Time, now: Time) -> ! {
    panic!("an event at {at} was scheduled in the past of {now}")
}

#[cfg(test)]
mod tests;
