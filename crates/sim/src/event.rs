//! The event set: small values keyed by one integer, first-in first-out among equal times.
//!
//! A key is 128 bits: time in nanoseconds (64), sequence number (40), target (24). Comparing keys compares moments, then
//! the order of scheduling; the target rides along. Two 4-ary implicit heaps share one sequence: links, of which a world
//! has few and which fire all the time, and timers, of which it may have tens of thousands that fire rarely. The earlier
//! of the two tops is next, so the split changes the cost of an operation and never the order of events.
//!
//! There is no cancelling. Timers are lazy: who no longer wants one ignores it when it fires.
//!
//! Bounds: 2^40 events per run (18 hours at 60 ns each), 2^21 targets of a kind; scheduling in the past panics.

use units::Time;

/// What an event is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The first packet in flight on this link arrives.
    Link(u16),
    /// The port of this link has work to do.
    Port(u16),
    /// A connection end's timer; even numbers are the initiator's: `2 * slot + side`.
    Timer(u32),
    /// An application's timer.
    App(u16),
    /// The world's own clock: series are sampled, scheduled changes happen.
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
        }
    }
    #[inline]
    fn unpack(v: u32) -> Self {
        let index = v & INDEX_MASK;
        match v >> KIND_SHIFT & 7 {
            0 => Self::Link(index as u16),
            1 => Self::Timer(index),
            2 => Self::App(index as u16),
            3 => Self::Clock,
            _ => Self::Port(index as u16),
        }
    }
}

/// A 4-ary implicit min-heap.
#[derive(Clone, Debug, Default)]
struct Heap(Vec<u128>);

impl Heap {
    #[inline]
    fn top(&self) -> u128 {
        self.0.first().copied().unwrap_or(u128::MAX)
    }

    #[inline]
    fn push(&mut self, key: u128) {
        let v = &mut self.0;
        let mut i = v.len();
        v.push(key);
        while i > 0 {
            let parent = (i - 1) >> 2;
            if v[parent] <= key {
                break;
            }
            v[i] = v[parent];
            i = parent;
        }
        v[i] = key;
    }

    #[inline]
    fn pop(&mut self) {
        if let Some(last) = self.0.pop()
            && !self.0.is_empty()
        {
            self.sift_down(last);
        }
    }

    /// Puts `key` at the root and lets it sink to its place.
    #[inline]
    fn sift_down(&mut self, key: u128) {
        let v = &mut self.0[..];
        let n = v.len();
        let mut i = 0;
        loop {
            let c = 4 * i + 1;
            let m = if c + 4 <= n {
                // a tournament of four: two independent comparisons, then one
                let a = if v[c + 1] < v[c] { c + 1 } else { c };
                let b = if v[c + 3] < v[c + 2] { c + 3 } else { c + 2 };
                if v[b] < v[a] { b } else { a }
            } else if c < n {
                let mut m = c;
                for j in c + 1..n {
                    if v[j] < v[m] {
                        m = j;
                    }
                }
                m
            } else {
                break;
            };
            if v[m] >= key {
                break;
            }
            v[i] = v[m];
            i = m;
        }
        v[i] = key;
    }
}

/// The pending events of a world.
#[derive(Clone, Debug, Default)]
pub struct Events {
    links: Heap,
    timers: Heap,
    sequence: u64,
    now: Time,
    taken: u64,
}

impl Events {
    /// The moment of the last event taken.
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// How many events have been taken.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// How many events are pending.
    pub fn pending(&self) -> usize {
        self.links.0.len() + self.timers.0.len()
    }

    #[inline]
    fn key(&mut self, at: Time, target: Target) -> u128 {
        assert!(at >= self.now, "an event at {at} was scheduled in the past of {}", self.now);
        self.sequence += 1;
        u128::from(at.0) << 64 | u128::from(self.sequence << (64 - SEQ_BITS) | u64::from(target.pack()))
    }

    /// Schedules `target` at `at`, after everything already scheduled for that moment.
    #[inline]
    pub fn push(&mut self, at: Time, target: Target) {
        let key = self.key(at, target);
        if matches!(target, Target::Link(_) | Target::Port(_)) { self.links.push(key) } else { self.timers.push(key) }
    }

    /// Takes the next event if it is due by `until`, and moves `now` to it.
    ///
    /// A link's or a port's event stays at the top of its heap until [`Events::rearm_link`] or [`Events::drop_link`] says what becomes
    /// of it: replacing the top costs half of a pop and a push. One of the two must come before the next `take`; what is pushed
    /// in between has a later key and leaves the top where it is.
    #[inline]
    pub fn take(&mut self, until: Time) -> Option<Target> {
        let (link, timer) = (self.links.top(), self.timers.top());
        let key = link.min(timer);
        let at = Time((key >> 64) as u64);
        if at > until || key == u128::MAX {
            return None;
        }
        self.now = at;
        self.taken += 1;
        if timer < link {
            self.timers.pop();
        }
        Some(Target::unpack(key as u32))
    }

    /// Gives the link event just taken a new moment.
    #[inline]
    pub fn rearm_link(&mut self, at: Time, link: u16) {
        let key = self.key(at, Target::Link(link));
        self.links.sift_down(key);
    }

    /// Forgets the link event just taken.
    #[inline]
    pub fn drop_link(&mut self) {
        self.links.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rng;

    #[test]
    fn equal_times_leave_in_the_order_they_came() {
        let mut e = Events::default();
        for i in 0..50 {
            e.push(Time(7), if i % 2 == 0 { Target::Timer(i) } else { Target::App(i as u16) });
        }
        for i in 0..50 {
            let t = e.take(Time(7)).unwrap();
            assert_eq!(t, if i % 2 == 0 { Target::Timer(i) } else { Target::App(i as u16) });
        }
        assert_eq!(e.take(Time::NEVER), None);
    }

    #[test]
    fn agrees_with_a_sorted_list() {
        // reference: a plain vector sorted by (time, order of scheduling)
        let mut rng = Rng::named(3, "events");
        let mut e = Events::default();
        let mut reference: Vec<(u64, usize, Target)> = Vec::new();
        let mut n = 0;
        for _ in 0..20_000 {
            if rng.below(5) < 3 || reference.is_empty() {
                let at = e.now().0 + rng.below(1000);
                let target = match rng.below(3) {
                    0 => Target::Link(rng.below(9) as u16),
                    1 => Target::Timer(rng.below(1 << 21) as u32),
                    _ => Target::Clock,
                };
                e.push(Time(at), target);
                reference.push((at, n, target));
                n += 1;
            } else {
                let i = (0..reference.len()).min_by_key(|&i| (reference[i].0, reference[i].1)).unwrap();
                let (at, _, target) = reference.swap_remove(i);
                assert_eq!(e.take(Time::NEVER), Some(target));
                assert_eq!(e.now(), Time(at));
                if let Target::Link(l) = target {
                    if rng.below(2) == 0 {
                        let again = at + rng.below(500);
                        e.rearm_link(Time(again), l);
                        reference.push((again, n, target));
                        n += 1;
                    } else {
                        e.drop_link();
                    }
                }
            }
            assert_eq!(e.pending(), reference.len());
        }
    }

    #[test]
    #[should_panic(expected = "in the past")]
    fn the_past_is_closed() {
        let mut e = Events::default();
        e.push(Time(5), Target::Clock);
        e.take(Time(5));
        e.push(Time(4), Target::Clock);
    }
}
