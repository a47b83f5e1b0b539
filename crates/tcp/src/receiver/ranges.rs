//! Ranges of data above holes, and the order in which they were last extended.   Source: RFC 2018 §4.

use crate::segment::{SackBlock, SackBlocks};

/// Maximum number of ranges in [`OutOfOrder::recent`].
const RECENT: usize = SackBlocks::MAX;

/// Ranges of data that were received out of order, above holes in the sequence space. The number of ranges is not limited.
#[derive(Clone, Debug, Default)]
pub(crate) struct OutOfOrder {
    /// The ranges in ascending order. They are disjoint and not adjacent.
    pub(crate) ranges: Vec<SackBlock>,
    /// The most recently extended ranges, newest first. Each range is identified by the offset of one of its bytes.
    pub(crate) recent: [u64; RECENT],
    pub(crate) count: u8,
    /// The block that the next ACK reports as a duplicate (D-SACK).
    pub(crate) duplicate: SackBlock,
}

impl OutOfOrder {
    /// Returns the range that contains `seq`.
    pub(crate) fn find(&self, seq: u64) -> Option<SackBlock> {
        let i = self.ranges.partition_point(|r| r.end <= seq);
        self.ranges.get(i).copied().filter(|r| r.start <= seq)
    }

    /// Returns the most recently extended ranges, newest first: at most [`RECENT`].
    pub(crate) fn recent_blocks(&self) -> impl Iterator<Item = SackBlock> {
        self.recent[..usize::from(self.count)].iter().filter_map(|&seq| self.find(seq))
    }

    /// Adds the range `[start, end)`. Returns false if all of its data was received before.
    pub(crate) fn insert(&mut self, start: u64, end: u64) -> bool {
        // `from` is the first range that touches the new range or lies above it. `to` is the first range that lies
        // above the new range without touching it
        let from = self.ranges.partition_point(|r| r.end < start);
        let to = from + self.ranges[from..].partition_point(|r| r.start <= end);
        let block = if from == to {
            self.ranges.insert(from, SackBlock { start, end });
            SackBlock { start, end }
        } else {
            let old = self.ranges[from];
            let merged = SackBlock { start: old.start.min(start), end: self.ranges[to - 1].end.max(end) };
            if to == from + 1 && merged == old {
                self.remember(start, old);
                return false;
            }
            self.ranges[from] = merged;
            self.ranges.drain(from + 1..to);
            merged
        };
        self.remember(start, block);
        true
    }

    /// Makes `block`, which contains `seq`, the most recent block.
    pub(crate) fn remember(&mut self, seq: u64, block: SackBlock) {
        let mut next = [seq; RECENT];
        let mut n = 1;
        for &old in &self.recent[..usize::from(self.count)] {
            if !(block.start..block.end).contains(&old) && n < RECENT {
                next[n] = old;
                n += 1;
            }
        }
        self.recent = next;
        self.count = n as u8;
    }

    /// Removes the ranges that begin at or below `next`. All data below `next` has arrived, so the data in these ranges
    /// is now in order. Returns the next byte that is expected after them.
    pub(crate) fn take(&mut self, mut next: u64) -> u64 {
        let n = self.ranges.partition_point(|r| r.start <= next);
        if n > 0 {
            next = next.max(self.ranges[n - 1].end);
            self.ranges.drain(..n);
        }
        let mut kept = 0;
        for i in 0..usize::from(self.count) {
            if self.recent[i] >= next {
                self.recent[kept] = self.recent[i];
                kept += 1;
            }
        }
        self.count = kept as u8;
        next
    }
}
