//! Who else is busy on a flow's hosts.
//!
//! ```text
//! host load = max(1, bulk flows of the source, bulk flows of the destination)      as far as the isolation looks at them
//! turn      = quantum / host load
//! ```
//!
//! Each side has a table of 1024 hosts, set-associative as that of the flows: a host keeps its place while it has bulk flows.
//!
//! Source: SPEC-TODAY 3.5.

use super::params::Isolation;

/// Places, of queues and of hosts, and how many of them a hash may choose from.
pub const PLACES: u32 = 1024;
/// Places in a set.
pub const WAYS: u32 = 8;

/// The places of the set that `hash` chooses, from the inner one on, round the set.
#[inline]
pub fn set_of(hash: u32) -> impl Iterator<Item = usize> + Clone {
    let outer = (hash % PLACES) & !(WAYS - 1);
    (0..WAYS).map(move |i| (outer + (hash + i) % WAYS) as usize)
}

/// Hosts of one side.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Side {
    tags: Vec<u32>,
    bulk: Vec<u16>,
}

impl Side {
    fn new() -> Self {
        Self { tags: vec![0; PLACES as usize], bulk: vec![0; PLACES as usize] }
    }

    /// The place of the host: its own, else one whose host is not busy, else one that is shared.
    fn place(&mut self, hash: u32) -> u16 {
        let own = set_of(hash).find(|p| self.tags[*p] == hash);
        let place = own.or_else(|| set_of(hash).find(|p| self.bulk[*p] == 0)).unwrap_or((hash % PLACES) as usize);
        self.tags[place] = hash;
        place as u16
    }
}

/// Where a flow's hosts stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    src: u16,
    dst: u16,
}

/// The hosts of a tin; sides that the isolation does not look at are not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    src: Option<Side>,
    dst: Option<Side>,
}

impl Hosts {
    /// Nobody is busy.
    pub fn new(isolation: Isolation) -> Self {
        let (src, dst) = isolation.shares_hosts();
        Self { src: src.then(Side::new), dst: dst.then(Side::new) }
    }

    /// Finds places for the hosts of a flow, by the hashes of their addresses.
    pub fn ends(&mut self, src: impl Fn() -> u32, dst: impl Fn() -> u32) -> Ends {
        Ends {
            src: self.src.as_mut().map_or(0, |s| s.place(src())),
            dst: self.dst.as_mut().map_or(0, |s| s.place(dst())),
        }
    }

    /// One bulk flow more between `ends`.
    #[inline]
    pub fn more(&mut self, ends: Ends) {
        for (side, at) in [(&mut self.src, ends.src), (&mut self.dst, ends.dst)] {
            if let Some(s) = side {
                s.bulk[usize::from(at)] += 1;
            }
        }
    }

    /// One less.
    #[inline]
    pub fn less(&mut self, ends: Ends) {
        for (side, at) in [(&mut self.src, ends.src), (&mut self.dst, ends.dst)] {
            if let Some(s) = side {
                s.bulk[usize::from(at)] -= 1;
            }
        }
    }

    /// By how many a flow between `ends` shares its turn.
    #[inline]
    pub fn load(&self, ends: Ends) -> u32 {
        let of = |side: &Option<Side>, at: u16| side.as_ref().map_or(1, |s| u32::from(s.bulk[usize::from(at)]));
        of(&self.src, ends.src).max(of(&self.dst, ends.dst)).max(1)
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
        assert!(all.iter().all(|e| hosts.load(*e) == 1), "nobody is busy");
        all.iter().for_each(|e| hosts.more(*e));
        // source 1 has three, destination 10 two
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
        let mut side = Side::new();
        // hashes that agree in their lowest ten bits but three
        let places: Vec<u16> = (0..9)
            .map(|i| {
                let p = side.place(PLACES * (i + 1) + 17);
                side.bulk[usize::from(p)] += 1;
                p
            })
            .collect();
        let mut distinct = places[..8].to_vec();
        distinct.sort_unstable();
        assert_eq!(distinct, (16..24).collect::<Vec<u16>>());
        assert_eq!(places[8], 17, "where its hash points");
    }
}
