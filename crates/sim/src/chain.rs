//! Chains of plain links: if one plain link feeds the next, a packet's whole passage through the chain is computed when the
//! packet enters the first link.
//!
//! A plain link fed by one other plain link receives packets in the order in which the other link sends them. So its
//! departures and its drops can be computed together with the departures of the other link:
//!
//! ```text
//!   server --access--> r1 --bottleneck--> r2 --access--> home
//!          no event    ^       no event    ^             one event per packet: its arrival at home
//! ```
//!
//! A plain link is *onward* if all its packets continue over links that it alone feeds, and each of these next links is
//! plain or a port with a tail ([`Tail`]). A packet has no event at the far end of an onward link, and one event at the
//! far end of the last link of a chain. [`roles`] finds the chains, from the paths between clients and servers. A port
//! with a discipline can have a chain in front of it and one behind it ([`crate::through`]).
//!
//! **Simultaneous events** are handled in the order in which they were scheduled. So an arrival at the end of a chain
//! needs the time at which it would have been scheduled if every hop had an event. If the last link is empty when the
//! packet enters it, this is the time of entry; otherwise, it is the time at which the preceding packet reaches the end
//! of the chain. Among simultaneous events that were scheduled at that time, the arrival comes first. This rule holds
//! for every *fed* link ([`Role::fed`]), with or without chains, so it also applies where a link is observed, driven, or
//! changed on schedule.
//!
//! A world has no chains if its links are observed or if its caller may change them ([`crate::World::build_driven`]). Tests compare
//! runs with chains, with an event for each hop, and with ports only (`tests/it/fast_path.rs`).

use scenario::{NO_LINK, Network, NetworkLink};
use std::collections::BTreeSet;
use units::BitRate;

/// Maximum rate of a link in a chain. The limit is necessary because a packet must take time on every link. It does not
/// apply to a plain link that has a propagation delay.
const FASTEST: BitRate = BitRate(10_000_000_000);

/// Kind of a link that may be part of a chain. Such a link has a constant rate and a constant delay, and drops packets
/// only in its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The queue is plain drop-tail, so departures can be computed at enqueue.
    Plain,
    /// The queue is of any other type.
    Managed,
}

/// A link's role in a chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Role {
    /// True if this link is plain, and every packet that reaches the far end continues over a link that only this link
    /// feeds. The next link must be plain, or a port with a tail.
    pub onward: bool,
    /// The next link, if this link is onward and all its packets continue over the same link.
    pub next: Option<u16>,
    /// True if an arrival at the far end precedes all other events that have the same time and were scheduled at the
    /// same moment. This is the case if this link has a tail, or if this link is plain and its only feeder is onward or
    /// has a tail.
    pub fed: bool,
    /// The links behind this link, if this link is a port and all packets that leave the port follow the same chain of
    /// links to their host.
    pub tail: Option<Tail>,
    /// The port whose tail ends with this link.
    pub behind: Option<u16>,
}

/// The chain of plain links behind a port, if every packet that leaves the port passes through all these links and
/// reaches its host at their end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tail {
    pub first: u16,
    pub last: u16,
}

/// Returns the role of every link. A link can be part of a chain only if `kind` returns a kind for it. A link that
/// begins at a node in `counted` cannot be part of a chain, because TCP small queues count departures from such a node.
pub(crate) fn roles(
    network: &Network,
    counted: &BTreeSet<u16>,
    kind: impl Fn(&NetworkLink) -> Option<Kind>,
) -> Vec<Role> {
    let can_be = |link: &NetworkLink, as_kind: Kind| {
        let sends_slowly = link.port.rate.is_some_and(|rate| rate <= FASTEST);
        let takes_time = sends_slowly || as_kind == Kind::Plain && !link.port.delay.is_zero();
        takes_time && !counted.contains(&link.from) && kind(link) == Some(as_kind)
    };
    let all_that = |as_kind| network.links.iter().map(|link| can_be(link, as_kind)).collect::<Vec<bool>>();
    let (plain, managed) = (all_that(Kind::Plain), all_that(Kind::Managed));
    // for each link, `feeds` holds the links from which its packets come (NO_LINK if they come from a host), and `goes`
    // holds the links over which its packets continue (NO_LINK if they have reached their host)
    let mut feeds = vec![BTreeSet::new(); network.links.len()];
    let mut goes = feeds.clone();
    let pairs = network.apps.iter().flat_map(|app| app.to.iter().flat_map(|to| [(app.from, *to), (*to, app.from)]));
    for (from, to) in pairs.collect::<BTreeSet<_>>() {
        let path = network.path(from, to).unwrap_or_default();
        let mut before = NO_LINK;
        for &link in &path {
            feeds[usize::from(link)].insert(before);
            if before != NO_LINK {
                goes[usize::from(before)].insert(link);
            }
            before = link;
        }
        if before != NO_LINK {
            goes[usize::from(before)].insert(NO_LINK);
        }
    }
    let one_feeder = |link: &u16| *link != NO_LINK && feeds[usize::from(*link)].len() == 1;
    let single = |link: &u16| one_feeder(link) && plain[usize::from(*link)];
    let only = |i: usize| goes[i].first().copied().filter(|_| goes[i].len() == 1);
    let tail = |i: usize| {
        let first = only(i).filter(|first| managed[i] && single(first))?;
        // bounded: every link of the tail is fed only by the link before it, so the loop never returns to an earlier
        // link
        let mut last = first;
        while let Some(next) = only(usize::from(last)).filter(single) {
            last = next;
        }
        (only(usize::from(last)) == Some(NO_LINK)).then_some(Tail { first, last })
    };
    let tails: Vec<Option<Tail>> = (0..network.links.len()).map(tail).collect();
    let through = |link: &u16| one_feeder(link) && tails[usize::from(*link)].is_some();
    let onward = |i: usize| plain[i] && !goes[i].is_empty() && goes[i].iter().all(|to| single(to) || through(to));
    let fed = |i: usize| {
        let by = feeds[i].first().filter(|by| single(&(i as u16)) && **by != NO_LINK);
        tails[i].is_some() || by.is_some_and(|by| onward(usize::from(*by)) || tails[usize::from(*by)].is_some())
    };
    let behind = |i: usize| tails.iter().position(|tail| tail.is_some_and(|tail| usize::from(tail.last) == i));
    (0..network.links.len())
        .map(|i| Role {
            onward: onward(i),
            next: only(i).filter(|_| onward(i)),
            fed: fed(i),
            tail: tails[i],
            behind: behind(i).map(|port| port as u16),
        })
        .collect()
}
