//! The event set: small values keyed by one integer, first-in first-out among equal times.
//!
//! A key is 128 bits: time in nanoseconds (64), sequence number (40), target (24). Comparing keys compares times, then the order
//! of scheduling. The set has three parts with one common sequence. The next event is the earliest of the three first events, so
//! the parts affect only the cost of operations, not the order of events:
//!
//! | part | targets | structure |
//! |---|---|---|
//! | arrivals | plain links: few, with one event each, firing all the time | a tournament over one leaf per link, no branches |
//! | ports | links with a discipline: few, with several events each | a 4-ary heap |
//! | timers | connections, applications, the clock: tens of thousands that fire rarely | a wheel in front of a 4-ary heap |
//!
//! Events are never cancelled. Timers are lazy: a target ignores a timer that it no longer needs.
//!
//! Bounds: 2^40 events per run (18 hours at 60 ns each), 2^21 targets of a kind; scheduling in the past panics.

mod heap;
mod tournament;
mod wheel;

use heap::Heap;
use tournament::{LEAVES, Tournament, lesser};
use units::Time;
use wheel::Wheel;

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
const SEQ_BITS: u32 = 40;

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
    sequence: u64,
    now: Time,
    taken: u64,
}

impl Events {
    /// Returns an empty set for a world with `links` links. Ranks 0 to `ranks` are for [`Events::push_ranked`].
    pub(crate) fn new(links: usize, ranks: usize) -> Self {
        Self {
            arrivals: Tournament::new(links),
            ports: Heap::default(),
            timers: Wheel::default(),
            other: u128::MAX,
            sequence: ranks as u64,
            now: Time::ZERO,
            taken: 0,
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
        assert!(at >= self.now && Time((next >> 64) as u64) >= at, "an event before {at} is pending");
        self.now = at;
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
    fn key(&mut self, at: Time, target: Target) -> u128 {
        self.sequence += 1;
        self.key_of(at, self.sequence, target)
    }

    #[inline]
    fn key_of(&self, at: Time, sequence: u64, target: Target) -> u128 {
        if at < self.now {
            past(at, self.now);
        }
        u128::from(at.0) << 64 | u128::from(sequence << (64 - SEQ_BITS) | u64::from(target.pack()))
    }

    /// Schedules a timer at `at`, before all events of the same moment that have no rank or a higher rank.
    pub(crate) fn push_ranked(&mut self, at: Time, rank: usize, target: Target) {
        let key = self.key_of(at, rank as u64, target);
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
        if usize::from(link) < LEAVES {
            let key = self.key(at, Target::Link(link));
            self.arrivals.set(usize::from(link), key);
        } else {
            self.push(at, Target::Link(link));
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
        let at = Time((key >> 64) as u64);
        // no event is ever scheduled at `NEVER`, so this time means that the set is empty
        if at > until || at == Time::NEVER {
            return None;
        }
        self.now = at;
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

#[cold]
fn past(at: Time, now: Time) -> ! {
    panic!("an event at {at} was scheduled in the past of {now}")
}

#[cfg(test)]
mod tests;
