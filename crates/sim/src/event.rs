//! The event set: small values keyed by one integer, first-in first-out among equal times.
//!
//! A key is 128 bits: time in nanoseconds (64), sequence number (40), target (24). Comparing keys compares moments, then
//! the order of scheduling; the target rides along. Three parts share one sequence, and the earliest of their tops is next,
//! so the split changes the cost of an operation and never the order of events:
//!
//! | part | who | how |
//! |---|---|---|
//! | lines | plain links: few, fire all the time, one event each | a tournament over one leaf per link, no branches |
//! | ports | links with a discipline: few, several events each | a 4-ary heap |
//! | timers | connections, applications, the clock: tens of thousands that fire rarely | a wheel before a 4-ary heap |
//!
//! There is no cancelling. Timers are lazy: who no longer wants one ignores it when it fires.
//!
//! Bounds: 2^40 events per run (18 hours at 60 ns each), 2^21 targets of a kind; scheduling in the past panics.

use std::hint::select_unpredictable;
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

/// The lesser of two keys, without a branch: which link is next cannot be guessed.
#[inline]
fn lesser(a: u128, b: u128) -> u128 {
    select_unpredictable(b < a, b, a)
}

/// A tournament: the least of one key per leaf, [`u128::MAX`] for none.
///
/// `keys[1]` is the winner, `keys[i]` the lesser of `keys[2 * i]` and `keys[2 * i + 1]`, and the leaves begin at `first`.
/// Changing a leaf plays the games on its way up: one comparison for each level, and nothing to mispredict.
#[derive(Clone, Debug)]
struct Tournament {
    keys: [u128; 2 * LINES],
    first: usize,
}

/// Links that the tournament admits; those beyond are pushed like ports. Fixed, so that indices need no check.
const LINES: usize = 64;

impl Tournament {
    fn new(leaves: usize) -> Self {
        Self { keys: [u128::MAX; 2 * LINES], first: leaves.min(LINES).next_power_of_two() }
    }

    #[inline]
    fn top(&self) -> u128 {
        self.keys[1]
    }

    #[inline]
    fn set(&mut self, leaf: usize, key: u128) {
        let mut i = (self.first + leaf) % (2 * LINES);
        let mut best = key;
        self.keys[i] = key;
        // bounded: each turn goes one level up
        while i > 1 {
            best = lesser(best, self.keys[i ^ 1]);
            i /= 2;
            self.keys[i] = best;
        }
    }

    fn pending(&self) -> usize {
        self.keys[self.first..2 * self.first].iter().filter(|k| **k != u128::MAX).count()
    }
}

/// Four keys in one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Four([u128; 4]);

/// No key.
const EMPTY: Four = Four([u128::MAX; 4]);

/// A 4-ary implicit min-heap. Node `i` is key `i + 3`, so that the children of `i` are the four of group `i + 1`: one
/// level, one cache line. Places without a node hold [`u128::MAX`], so a level is always four.
#[derive(Clone, Debug, Default)]
struct Heap {
    groups: Vec<Four>,
    len: usize,
}

impl Heap {
    fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn at(&mut self, i: usize) -> &mut u128 {
        let p = i + 3;
        &mut self.groups[p >> 2].0[p & 3]
    }

    #[inline]
    fn top(&self) -> u128 {
        self.groups.first().map_or(u128::MAX, |g| g.0[3])
    }

    #[inline]
    fn push(&mut self, key: u128) {
        let mut i = self.len;
        self.len += 1;
        if i + 3 >= 4 * self.groups.len() {
            self.groups.push(EMPTY);
        }
        while i > 0 {
            let parent = (i - 1) >> 2;
            let above = *self.at(parent);
            if above <= key {
                break;
            }
            *self.at(i) = above;
            i = parent;
        }
        *self.at(i) = key;
    }

    /// Removes the least key, if there is one.
    #[inline]
    fn pop(&mut self) {
        if self.len == 0 {
            return;
        }
        self.len -= 1;
        let last = std::mem::replace(self.at(self.len), u128::MAX);
        if self.len > 0 {
            self.sift_down(last);
        }
    }

    /// Puts `key` at the root and lets it sink to its place.
    #[inline]
    fn sift_down(&mut self, key: u128) {
        let mut i = 0;
        // bounded: each turn goes one level down
        while let Some(Four(c)) = self.groups.get(i + 1) {
            // a tournament of four: two independent comparisons, then one
            let a = usize::from(c[1] < c[0]);
            let b = 2 + usize::from(c[3] < c[2]);
            let m = select_unpredictable(c[b] < c[a], b, a);
            let least = c[m];
            if least >= key {
                break;
            }
            *self.at(i) = least;
            i = 4 * i + 1 + m;
        }
        *self.at(i) = key;
    }
}

/// Width of a wheel's slot as a power of two of nanoseconds (4 ms), and how many there are: 4.3 s ahead.
const SLOT_SHIFT: u32 = 64 + 22;
const SLOTS: usize = 1024;

/// Many timers: sorted only when they are near.
///
/// Time is cut into slots. Keys of the slots up to `cursor` are in a small heap, which alone is asked for the least; those
/// of the next [`SLOTS`] lie unsorted, slot by slot; those beyond are in a heap of their own. When the small heap is empty,
/// the cursor moves on to the next slot with keys. So a timer costs two writes to places that are known, and its part of a
/// heap that fits in the first level of the cache, where one heap of tens of thousands would cost a miss per level.
#[derive(Clone, Debug)]
struct Wheel {
    near: Heap,
    slots: Vec<Vec<u128>>,
    /// Room of slots that were emptied, for those that are filled next.
    spare: Vec<Vec<u128>>,
    /// Which slots have keys: a bit each.
    used: [u64; SLOTS / 64],
    /// Keys in `slots`.
    held: usize,
    cursor: u64,
    far: Heap,
}

impl Default for Wheel {
    fn default() -> Self {
        let (near, far) = (Heap::default(), Heap::default());
        let slots = vec![Vec::new(); SLOTS];
        Self { near, slots, spare: Vec::new(), used: [0; SLOTS / 64], held: 0, cursor: 0, far }
    }
}

impl Wheel {
    fn len(&self) -> usize {
        self.near.len() + self.held + self.far.len()
    }

    /// The least key. The small heap is empty only if there is none.
    #[inline]
    fn top(&self) -> u128 {
        self.near.top()
    }

    #[inline]
    fn push(&mut self, key: u128) {
        let slot = (key >> SLOT_SHIFT) as u64;
        let ahead = slot.wrapping_sub(self.cursor);
        if slot <= self.cursor {
            self.near.push(key);
        } else if ahead < SLOTS as u64 && self.near.len > 0 {
            let i = slot as usize % SLOTS;
            let keys = &mut self.slots[i];
            if keys.is_empty()
                && let Some(room) = self.spare.pop()
            {
                *keys = room;
            }
            keys.push(key);
            self.used[i / 64] |= 1 << (i % 64);
            self.held += 1;
        } else {
            self.push_far(key);
        }
    }

    #[cold]
    fn push_far(&mut self, key: u128) {
        self.far.push(key);
        if self.near.len == 0 {
            self.advance();
        }
    }

    #[inline]
    fn pop(&mut self) {
        self.near.pop();
        if self.near.len == 0 {
            self.advance();
        }
    }

    /// Moves the cursor to the next slot with keys, and its keys to the small heap.
    fn advance(&mut self) {
        let far = |far: &Heap| (far.top() >> SLOT_SHIFT) as u64;
        let next = self.next_used().min(far(&self.far));
        if self.len() == 0 {
            return;
        }
        self.cursor = next;
        let i = next as usize % SLOTS;
        self.used[i / 64] &= !(1 << (i % 64));
        let mut keys = std::mem::take(&mut self.slots[i]);
        self.held -= keys.len();
        for key in keys.drain(..) {
            self.near.push(key);
        }
        if keys.capacity() > 0 {
            self.spare.push(keys);
        }
        // bounded: each turn takes one out
        while far(&self.far) <= next && self.far.len > 0 {
            self.near.push(self.far.top());
            self.far.pop();
        }
    }

    /// The first slot after the cursor that has keys; the end of time if none has.
    fn next_used(&self) -> u64 {
        if self.held == 0 {
            return u64::MAX;
        }
        let start = self.cursor as usize + 1;
        // bounded: once around, the first word a second time for its lower bits
        for word in 0..=SLOTS / 64 {
            let at = start / 64 + word;
            let mask = if word == 0 { u64::MAX << (start % 64) } else { u64::MAX };
            let bits = self.used[at % (SLOTS / 64)] & mask;
            if bits != 0 {
                return (at * 64) as u64 + u64::from(bits.trailing_zeros());
            }
        }
        u64::MAX
    }
}

/// The pending events of a world.
#[derive(Clone, Debug)]
pub struct Events {
    lines: Tournament,
    ports: Heap,
    timers: Wheel,
    /// The lesser of the two heaps' tops.
    other: u128,
    sequence: u64,
    now: Time,
    taken: u64,
}

impl Events {
    /// No events, for a world with so many links.
    pub fn new(links: usize) -> Self {
        Self {
            lines: Tournament::new(links),
            ports: Heap::default(),
            timers: Wheel::default(),
            other: u128::MAX,
            sequence: 0,
            now: Time::ZERO,
            taken: 0,
        }
    }

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
        self.lines.pending() + self.ports.len() + self.timers.len()
    }

    #[inline]
    fn key(&mut self, at: Time, target: Target) -> u128 {
        if at < self.now {
            past(at, self.now);
        }
        self.sequence += 1;
        u128::from(at.0) << 64 | u128::from(self.sequence << (64 - SEQ_BITS) | u64::from(target.pack()))
    }

    /// Schedules `target` at `at`, after everything already scheduled for that moment. A plain link's event is set by
    /// [`Events::set_line`] instead.
    #[inline]
    pub fn push(&mut self, at: Time, target: Target) {
        let key = self.key(at, target);
        if matches!(target, Target::Link(_) | Target::Port(_)) {
            self.ports.push(key)
        } else {
            self.timers.push(key)
        }
        self.other = self.other.min(key);
    }

    /// The one event of a plain link: when its first packet arrives. It may be set when none is, or when it was just taken.
    ///
    /// A taken event stays in its leaf until it is set anew or cleared; one of the two must come before the next is taken.
    #[inline]
    pub fn set_line(&mut self, at: Time, link: u16) {
        if usize::from(link) < LINES {
            let key = self.key(at, Target::Link(link));
            self.lines.set(usize::from(link), key);
        } else {
            self.push(at, Target::Link(link));
        }
    }

    /// A plain link is empty.
    #[inline]
    pub fn clear_line(&mut self, link: u16) {
        if usize::from(link) < LINES {
            self.lines.set(usize::from(link), u128::MAX);
        }
    }

    /// Takes the next event if it is due by `until`, and moves `now` to it.
    #[inline]
    pub fn take(&mut self, until: Time) -> Option<Target> {
        let line = self.lines.top();
        let key = lesser(line, self.other);
        let at = Time((key >> 64) as u64);
        // nothing ever happens at the end of time: that is an empty set
        if at > until || at == Time::NEVER {
            return None;
        }
        self.now = at;
        self.taken += 1;
        if self.other < line {
            self.pop_other();
        }
        Some(Target::unpack(key as u32))
    }

    /// The timer that is likely to be the next.
    #[inline]
    pub fn next_timer(&self) -> Option<u32> {
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
mod tests {
    use super::*;
    use units::Rng;

    #[test]
    fn equal_times_leave_in_the_order_they_came() {
        let target = |i: u32| match i % 3 {
            0 => Target::Timer(i),
            1 => Target::App(i as u16),
            _ => Target::Link(i as u16),
        };
        let mut e = Events::new(1);
        for i in 0..50 {
            e.push(Time(7), target(i));
        }
        for i in 0..50 {
            assert_eq!(e.take(Time(7)).unwrap(), target(i));
        }
        assert_eq!(e.take(Time::NEVER), None);
    }

    #[test]
    fn agrees_with_a_sorted_list() {
        // reference: a plain vector of (time, order of scheduling, target), searched for its least
        // within a slot of the wheel, over some, and beyond all
        for (links, span) in [(1, 1000), (2, 1 << 24), (3, 1 << 34), (9, 1 << 29), (70, 1 << 34)] {
            let mut rng = Rng::named(3, "events");
            let mut e = Events::new(links as usize);
            let mut reference: Vec<(u64, usize, Target)> = Vec::new();
            let is_line = |t: Target| matches!(t, Target::Link(l) if u64::from(l) < links);
            let is_set = |r: &[(u64, usize, Target)], t| is_line(t) && r.iter().any(|e| e.2 == t);
            for n in 0..20_000 {
                let at = e.now().0 + rng.below(span);
                if rng.below(5) < 3 || reference.is_empty() {
                    let target = match rng.below(4) {
                        0 => Target::Link((links - 1 - rng.below(links.min(9))) as u16),
                        1 => Target::Link(100 + rng.below(9) as u16),
                        2 => Target::Timer(rng.below(1 << 21) as u32),
                        _ => Target::Clock,
                    };
                    match target {
                        _ if is_set(&reference, target) => continue,
                        Target::Link(l) if is_line(target) => e.set_line(Time(at), l),
                        _ => e.push(Time(at), target),
                    }
                    reference.push((at, n, target));
                } else {
                    let i = (0..reference.len()).min_by_key(|&i| (reference[i].0, reference[i].1)).unwrap();
                    let (at, _, target) = reference.swap_remove(i);
                    assert_eq!(e.take(Time::NEVER), Some(target));
                    assert_eq!(e.now(), Time(at));
                    if let Target::Link(l) = target
                        && is_line(target)
                    {
                        if rng.below(2) == 0 {
                            let again = at + rng.below(span / 2);
                            e.set_line(Time(again), l);
                            reference.push((again, n, target));
                        } else {
                            e.clear_line(l);
                        }
                    }
                }
                assert_eq!(e.pending(), reference.len());
            }
        }
    }

    #[test]
    #[should_panic(expected = "in the past")]
    fn the_past_is_closed() {
        let mut e = Events::new(1);
        e.push(Time(5), Target::Clock);
        e.take(Time(5));
        e.push(Time(4), Target::Clock);
    }
}
