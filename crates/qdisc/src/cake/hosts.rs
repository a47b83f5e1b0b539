//! The host load of a flow: the number of bulk flows of its source or of its destination, whichever is larger.
//!
//! ```text
//! host load = max(1, bulk flows of the source, bulk flows of the destination)      a side that the isolation ignores counts 0
//! turn      = quantum / host load
//! ```
//!
//! Sources and destinations each have a table of 1024 hosts, set-associative like the table of flows. A host keeps its place while
//! it has bulk flows, unless all eight hosts of its set have bulk flows and a ninth one arrives.
//!
//! Source: Piece of CAKE; Linux's sch_cake.c (facts only).

use super::params::Isolation;
use super::table::{Table, place_of};

/// Source hosts or destination hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Side {
    /// True if the isolation needs the numbers of bulk flows of the hosts on this side. If false, these numbers all
    /// stay 0.
    counts: bool,
    tags: Table<u32>,
    /// Bulk flows of each host.
    bulk: Table<u16>,
}

impl Side {
    /// Finds a place for a host in the set of eight places that its hash selects. If the host already has a place,
    /// returns that place. Otherwise, returns a place whose host has no bulk flows. If there is none in the set,
    /// returns the place given by the hash, which the host then shares with another host. Always returns 0 if this side
    /// is not counted.
    fn place(&mut self, hash: impl Fn() -> u32) -> u16 {
        if !self.counts {
            return 0;
        }
        let hash = hash();
        let own = self.tags.first_in_set(hash, |tag| *tag == hash);
        let place = own.or_else(|| self.bulk.first_in_set(hash, |bulk| *bulk == 0)).unwrap_or(place_of(hash));
        self.tags[place] = hash;
        place
    }
}

/// The places of a flow's two hosts in the tables of the source hosts and of the destination hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ends {
    src: u16,
    dst: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hosts {
    src: Side,
    dst: Side,
}

impl Hosts {
    pub(crate) fn new(isolation: Isolation) -> Self {
        let (src, dst) = isolation.shares_hosts();
        Self { src: Side { counts: src, ..Side::default() }, dst: Side { counts: dst, ..Side::default() } }
    }

    /// Finds the places of a flow's two hosts from the hashes of their addresses.
    pub(crate) fn ends(&mut self, src: impl Fn() -> u32, dst: impl Fn() -> u32) -> Ends {
        Ends { src: self.src.place(src), dst: self.dst.place(dst) }
    }

    /// Adds one bulk flow to the counts of its two hosts, whose places are `ends`.
    #[inline]
    pub(crate) fn more(&mut self, ends: Ends) {
        self.src.bulk[ends.src] += u16::from(self.src.counts);
        self.dst.bulk[ends.dst] += u16::from(self.dst.counts);
    }

    /// Subtracts one bulk flow from the counts of its two hosts, whose places are `ends`.
    #[inline]
    pub(crate) fn less(&mut self, ends: Ends) {
        self.src.bulk[ends.src] -= u16::from(self.src.counts);
        self.dst.bulk[ends.dst] -= u16::from(self.dst.counts);
    }

    /// Returns the host load of a flow: the number of bulk flows of its source host or of its destination host,
    /// whichever is larger, but at least 1. `ends` contains the places of the two hosts.
    #[inline]
    pub(crate) fn load(&self, ends: Ends) -> u16 {
        self.src.bulk[ends.src].max(self.dst.bulk[ends.dst]).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greater_of_both_sides_counts() {
        let mut hosts = Hosts::new(Isolation::TripleIsolate);
        let ends = |hosts: &mut Hosts, src, dst| hosts.ends(|| src, || dst);
        let pairs = [(1, 10), (1, 11), (1, 12), (2, 10)];
        let all: Vec<Ends> = pairs.iter().map(|(s, d)| ends(&mut hosts, *s, *d)).collect();
        assert!(all.iter().all(|e| hosts.load(*e) == 1), "no bulk flows");
        all.iter().for_each(|e| hosts.more(*e));
        // source 1 has three bulk flows and destination 10 has two; the load of a flow is the larger of these two numbers
        assert_eq!(all.iter().map(|e| hosts.load(*e)).collect::<Vec<_>>(), [3, 3, 3, 2]);
        hosts.less(all[1]);
        assert_eq!(all.iter().map(|e| hosts.load(*e)).collect::<Vec<_>>(), [2, 2, 2, 2]);
        let mut sources = Hosts::new(Isolation::DualSrchost);
        let e = [ends(&mut sources, 1, 10), ends(&mut sources, 2, 10)];
        e.iter().for_each(|e| sources.more(*e));
        assert_eq!(sources.load(e[0]), 1, "destinations do not count");
    }

    #[test]
    fn nine_busy_hosts_of_one_set_share_a_place() {
        let mut side = Side { counts: true, ..Side::default() };
        // the lowest ten bits of all nine hashes are 17, so all nine belong to the set of places 16-23
        let places: Vec<u16> = (0..9)
            .map(|i| {
                let p = side.place(|| 1024 * (i + 1) + 17);
                side.bulk[p] += 1;
                p
            })
            .collect();
        let mut distinct = places[..8].to_vec();
        distinct.sort_unstable();
        assert_eq!(distinct, (16..24).collect::<Vec<u16>>());
        assert_eq!(places[8], 17, "where its hash points");
    }
}
