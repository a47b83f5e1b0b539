//! The burst ratio of a stream of numbered packets, some of which are lost or late.
//!
//! ```text
//!   missed      = lost or late
//!   burst ratio = mean length of runs of missed packets / mean length if losses were independent, 1 / (1 - p)
//!               = missed / runs * (1 - p),    p = missed / packets
//! ```
//!
//! A run is a sequence of missed packets in the order of sending. Runs at the beginning and at the end count like any
//! other.
//!
//! # Counting runs without storing delays
//!
//! The delay above which a packet is late is known only at the end. So each packet has a level, which grows with its
//! delay: 0 is on time at every limit, and [`LOST`] is lost, or late at every limit. At the end, a packet is missed if its
//! level is above a limit. A run begins between neighbours with levels a and b if a <= limit < b. So each pair of
//! neighbours with a < b adds 1 to `begins[a]` and subtracts 1 from `begins[b]`. The number of runs is then the sum of
//! `begins[0..=limit]`.
//!
//! A packet is late if its delay exceeds the minimum delay by more than `late_after`. A packet that arrives out of order
//! takes its place in the order of sending. It is certainly late if it was sent more than `late_after` before a packet
//! that has already arrived. So only packets sent at most `late_after` before the packet with the highest number are
//! stored one by one (at most 65 536).
//!
//! Source: ITU-T G.107 (2005), burst ratio BurstR.

use std::collections::{BTreeMap, VecDeque};

/// Number of delay levels that are late at some limits and on time at others.
pub(crate) const LEVELS: usize = 65_536;
/// Level of a packet that was lost, or is late at every limit.
pub(crate) const LOST: u32 = LEVELS as u32 + 1;
/// Maximum number of packets that are stored one by one.
const STORED: u64 = 65_536;

/// Numbers of packets dropped during the warm-up and after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dropped {
    /// Dropped during the warm-up.
    pub before: u64,
    /// Dropped after the warm-up.
    pub after: u64,
}

/// The runs of missed packets after the warm-up.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bursts {
    /// The change of the number of runs from one limit to the next higher one, keyed by the higher one. A change of 0 may be
    /// absent.
    begins: BTreeMap<u32, i32>,
    /// Level of the last packet that is no longer in `recent`; 0 if there is none.
    last: u32,
    /// Levels of the last packets before number `next`, newest last. Packets that have not arrived have the level
    /// [`LOST`].
    recent: VecDeque<u32>,
    /// Maximum length of `recent`.
    window: u64,
    /// One more than the highest number that has arrived.
    next: u64,
    /// The value of `next` at the end of the warm-up.
    since: u64,
    /// Packets that arrived during the warm-up.
    warm: u64,
    /// Packets that arrived after the warm-up.
    arrived: u64,
    /// The first arrival with a number of `since` or above: how many packets from `since` on were missing before it, and
    /// its level.
    first: (u64, u32),
}

impl Bursts {
    /// Returns the state before the first packet. A packet is certainly late if a packet that was sent more than
    /// `reach` packets later arrives before it.
    pub(crate) fn new(reach: u64) -> Self {
        Self {
            begins: BTreeMap::new(),
            last: 0,
            recent: VecDeque::new(),
            window: reach.saturating_add(1).min(STORED),
            next: 0,
            since: 0,
            warm: 0,
            arrived: 0,
            first: (0, 0),
        }
    }

    /// Records the arrival of packet `number` during the warm-up.
    pub(crate) fn warm_up(&mut self, number: u64) {
        self.warm += 1;
        self.next = self.next.max(number + 1);
        self.since = self.next;
    }

    /// Records the arrival of packet `number` after the warm-up.
    pub(crate) fn arrival(&mut self, number: u64, level: u32) {
        self.arrived += 1;
        if let Some(after) = self.next.checked_sub(number + 1) {
            // overtaken: the highest number that has arrived is `number + after`
            if let Some(place) = (self.recent.len() as u64).checked_sub(after + 1) {
                self.recent[place as usize] = level;
            }
            return;
        }
        let missing = number - self.next;
        if self.next == self.since {
            self.first = (missing, level);
        }
        // a run is counted only at its beginning, so it is enough to store at most `window` of the missing packets
        (0..missing.min(self.window)).for_each(|_| self.push(LOST));
        self.push(level);
        self.next = number + 1;
    }

    fn push(&mut self, level: u32) {
        self.recent.push_back(level);
        if self.recent.len() as u64 > self.window {
            let level = self.recent.pop_front().unwrap_or(LOST);
            if self.last < level {
                *self.begins.entry(self.last).or_default() += 1;
                *self.begins.entry(level).or_default() -= 1;
            }
            self.last = level;
        }
    }

    /// Returns the burst ratio; 1 if no packet or every packet was missed. Packets above level `limit` are late, and
    /// `late` is their number.
    pub(crate) fn ratio(&self, limit: u32, late: u64, dropped: Dropped) -> f64 {
        let (missed, packets) = (dropped.after + late, dropped.after + self.arrived);
        if missed == 0 || missed == packets {
            return 1.0;
        }
        let settled = self.warm + self.arrived + dropped.before + dropped.after;
        // overtaken packets that are still in transit are neither lost nor late. They are taken to be the newest packets
        // with the level `LOST`
        let mut in_transit = self.next.saturating_sub(settled);
        let missed_or_played = |level: &&u32| {
            let skip = **level == LOST && in_transit > 0;
            in_transit -= u64::from(skip);
            !skip
        };
        let mut runs = self.begins.range(..=limit).map(|(_, &n)| i64::from(n)).sum::<i64>();
        let mut after = if settled > self.next { LOST } else { 0 };
        for &level in self.recent.iter().rev().filter(missed_or_played).chain([&self.last]) {
            runs += i64::from(level <= limit && limit < after);
            after = level;
        }
        let (missing, level) = self.first;
        if missing > 0 && self.warm + dropped.before >= self.since + missing && level <= limit {
            runs -= 1; // all packets of the first run were dropped during the warm-up
        }
        missed as f64 / runs.max(1) as f64 * (1.0 - missed as f64 / packets as f64)
    }
}
