//! The event set: small values keyed by one integer, first-in first-out among equal times.
//!
//! A key is 128 bits: the time of the event in nanoseconds (52), the time of its scheduling (38, as the difference to the time of
//! the event), its number among the events scheduled at that moment (14), its target (24). Comparing keys compares times, then the
//! order of scheduling. The arrivals of a link that is fed by one other link have number 0 (see [`crate::chain`]).
//!
//! The set has three parts. The next event is the earliest of the three first events, so the parts affect only the cost of
//! operations, not the order of events:
//!
//! | part | targets | structure |
//! |---|---|---|
//! | arrivals | plain links: few, with one event each, firing all the time | a tournament over one leaf per link, no branches |
//! | ports | links with a discipline: few, with several events each | a 4-ary heap |
//! | timers | connections, applications, the clock: tens of thousands that fire rarely | a wheel in front of a 4-ary heap |
//!
//! Events are never cancelled. Timers are lazy: a target ignores a timer that it no longer needs.
//!
//! Bounds: a run ends before [`LATEST`]; 2^21 targets of a kind; scheduling in the past panics. Events of one moment that were
//! scheduled more than 4 minutes before, or as the 16 384th of a moment or later, need not be in the order of scheduling.

mod heap;
mod tournament;
mod wheel;

use heap::Heap;
use tournament::{LEAVES, Tournament, lesser};
use units::Time;
use wheel::{TIME_SHIFT, Wheel};

/// The target of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The first packet in flight on this link arrives.
    Link(u16),
    /// The port of this link has work to do.
    Port(u16),
    /// A connection end's timer; even numbers are the initiator's: `2 * slot + side`.
    Timer(u32),
    /// An application's timer.
    App(u16),
    /// A packet that counts towards TCP small queues has left its host's device.
    Left,
    /// The world's own clock: samples of series, scheduled changes.
    Clock,
}

const KIND_SHIFT: u32 = 21;
const INDEX_MASK: u32 = (1 << KIND_SHIFT) - 1;
/// Place of the number, and of a rank.
const NUMBER_SHIFT: u32 = 24;
/// Place of the time of scheduling.
const AGE_SHIFT: u32 = 38;
const MAX_NUMBER: u64 = (1 << (AGE_SHIFT - NUMBER_SHIFT)) - 1;
/// Value of the field of an event scheduled for the moment of its scheduling; the field is smaller by the difference of the two.
const NOW: u64 = (1 << (TIME_SHIFT - AGE_SHIFT)) - 1;
/// Smallest value of that field. Ranks use the values below it, and the bits of the number.
const OLDEST: u64 = 1 << 3;

/// The time from which on no event can be scheduled: 52 days.
pub(crate) const LATEST: Time = Time((1 << (128 - TIME_SHIFT)) - 1);

impl Target {
    #[inline]
    fn pack(self) -> u32 {
        match self {
            Self::Link(i) => u32::from(i),
            Self::Timer(i) => 1 << KIND_SHIFT | i,
            Self::App(i) => 2 << KIND_SHIFT | u32::from(i),
            Self::Clock => 3 << KIND_SHIFT,
            Self::Port(i) => 4 << KIND_SHIFT | u32::from(i),
            Self::Left => 5 << KIND_SHIFT,
        }
    }
    #[inline]
    fn unpack(v: u32) -> Self {
        let index = v & INDEX_MASK;
        let kind = v >> KIND_SHIFT & 7;
        // most events belong to links
        if kind == 0 {
            return Self::Link(index as u16);
        }
        match kind {
            1 => Self::Timer(index),
            2 => Self::App(index as u16),
            3 => Self::Clock,
            4 => Self::Port(index as u16),
            _ => Self::Left,
        }
    }
}

/// The pending events of a world.
#[derive(Clone, Debug)]
pub(crate) struct Events {
    arrivals: Tournament,
    ports: Heap,
    timers: Wheel,
    /// The smaller of the first keys of `ports` and `timers`.
    other: u128,
    /// Number of events scheduled at this moment.
    scheduled: u64,
    now: Time,
    taken: u64,
    /// Key of the latest event taken.
    latest: u128,
    /// The links whose arrivals have number 0.
    first: Vec<bool>,
}

impl Events {
    /// Returns an empty set for a world with a link for each entry of `first`, which is true for links whose arrivals have number 0.
    pub(crate) fn new(first: Vec<bool>) -> Self {
        Self {
            arrivals: Tournament::new(first.len()),
            ports: Heap::default(),
            timers: Wheel::default(),
            other: u128::MAX,
            scheduled: 0,
            now: Time::ZERO,
            taken: 0,
            latest: 0,
            first,
        }
    }

    /// Returns the time of the last event taken.
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

    /// Returns the time at which the latest event was scheduled; `None` if it has a rank.
    pub(crate) fn since(&self) -> Option<Time> {
        let scheduled = (self.latest >> AGE_SHIFT) as u64 & NOW;
        (scheduled >= OLDEST).then(|| Time(time_of(self.latest).0.saturating_sub(NOW - scheduled)))
    }

    /// Returns the number of events taken.
    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    /// Returns the number of pending events.
    #[cfg(test)]
    fn pending(&self) -> usize {
        self.arrivals.pending() + self.ports.len() + self.timers.len()
    }

    #[inline]
    fn set_now(&mut self, at: Time) {
        self.scheduled = if at == self.now { self.scheduled } else { 0 };
        self.now = at;
    }

    /// Returns the key of the next event that is scheduled now.
    #[inline]
    fn key(&mut self, at: Time, target: Target) -> u128 {
        self.scheduled = (self.scheduled + 1).min(MAX_NUMBER);
        self.key_of(at, self.now, self.scheduled, target)
    }

    /// Returns the key of an event scheduled at `since`, with its number.
    #[inline]
    fn key_of(&self, at: Time, since: Time, number: u64, target: Target) -> u128 {
        if at < since {
            past(at, since);
        }
        let scheduled = NOW - (at.0 - since.0).min(NOW - OLDEST);
        key(at, u128::from(scheduled) << AGE_SHIFT | u128::from(number << NUMBER_SHIFT), target)
    }

    /// Schedules a timer at `at`, before all events of the same moment that have no rank or a higher rank.
    pub(crate) fn push_ranked(&mut self, at: Time, rank: usize, target: Target) {
        if at < self.now {
            past(at, self.now);
        }
        debug_assert!(
            (rank as u64) < OLDEST << (AGE_SHIFT - NUMBER_SHIFT),
            "a scenario has at most 65 536 applications"
        );
        let key = key(at, (rank as u128) << NUMBER_SHIFT, target);
        self.timers.push(key);
        self.other = self.other.min(key);
    }

    /// Schedules `target` at `at`, after all events already scheduled for that moment. For a plain link, call
    /// [`Events::set_arrival`].
    #[inline]
    pub(crate) fn push(&mut self, at: Time, target: Target) {
        let key = self.key(at, target);
        if matches!(target, Target::Link(_) | Target::Port(_) | Target::Left) {
            self.ports.push(key)
        } else {
            self.timers.push(key)
        }
        self.other = self.other.min(key);
    }

    /// Sets the one event of a plain link: the arrival of its first packet. The link must have no pending event, or its event
    /// must just have been taken.
    ///
    /// A taken event stays in its leaf. It must be set again or cleared before the next event is taken.
    #[inline]
    pub(crate) fn set_arrival(&mut self, at: Time, link: u16) {
        let first = self.first[usize::from(link)];
        let key =
            if first { self.key_of(at, self.now, 0, Target::Link(link)) } else { self.key(at, Target::Link(link)) };
        self.set_key(link, key);
    }

    /// Does the same as [`Events::set_arrival`] for a link whose arrivals have number 0, but the event counts as scheduled at
    /// `since`, which is not before now.
    #[inline]
    pub(crate) fn set_arrival_since(&mut self, at: Time, since: Time, link: u16) {
        debug_assert!(since >= self.now && self.first[usize::from(link)], "a link at the end of a chain");
        let key = self.key_of(at, since, 0, Target::Link(link));
        self.set_key(link, key);
    }

    #[inline]
    fn set_key(&mut self, link: u16, key: u128) {
        if usize::from(link) < LEAVES {
            self.arrivals.set(usize::from(link), key);
        } else {
            self.ports.push(key);
            self.other = self.other.min(key);
        }
    }

    /// Clears the event of a plain link that has become empty.
    #[inline]
    pub(crate) fn clear_arrival(&mut self, link: u16) {
        if usize::from(link) < LEAVES {
            self.arrivals.set(usize::from(link), u128::MAX);
        }
    }

    /// Takes the next event if it is due by `until`, and advances `now` to it.
    #[inline]
    pub(crate) fn take(&mut self, until: Time) -> Option<Target> {
        let arrival = self.arrivals.top();
        let key = lesser(arrival, self.other);
        let at = time_of(key);
        // an empty set has this time, and events that no run reaches
        if at > until || at == LATEST {
            return None;
        }
        self.set_now(at);
        self.latest = key;
        self.taken += 1;
        if self.other < arrival {
            self.pop_other();
        }
        Some(Target::unpack(key as u32))
    }

    /// Returns the timer that will probably fire next.
    #[inline]
    pub(crate) fn next_timer(&self) -> Option<u32> {
        match Target::unpack(self.timers.top() as u32) {
            Target::Timer(i) if self.timers.top() != u128::MAX => Some(i),
            _ => None,
        }
    }

    fn pop_other(&mut self) {
        if self.timers.top() < self.ports.top() {
            self.timers.pop()
        } else {
            self.ports.pop()
        }
        self.other = self.timers.top().min(self.ports.top());
    }
}

/// Returns a key from its parts; `order` has the bits between time and target.
#[inline]
fn key(at: Time, order: u128, target: Target) -> u128 {
    u128::from(at.min(LATEST).0) << TIME_SHIFT | order | u128::from(target.pack())
}

/// Returns the time in a key.
#[inline]
fn time_of(key: u128) -> Time {
    Time((key >> TIME_SHIFT) as u64)
}

#[cold]
fn past(at: Time, now: Time) -> ! {
    panic!("an event at {at} was scheduled in the past of {now}")
}

#[cfg(test)]
mod tests;
