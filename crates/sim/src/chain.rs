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
//! A link is *onward* if each of its packets continues over a link that only this link feeds. A packet has no event at
//! the far end of an onward link, and one event at the far end of the last link of a chain. [`roles`] finds the chains,
//! from the paths between applications. A port with a discipline can have a chain in front of it and one behind it
//! ([`crate::through`]).
//!
//! **Accounts.** A packet's passage is computed in advance, but counters, series and the drops of flows must show the state at
//! the current time. So each link logs when each packet arrives, starts and leaves, and [`Chained::settle`] moves the accounts
//! along this log. As on a `Fifo`, a departure precedes an arrival at the same time.
//!
//! **Simultaneous events** are handled in the order in which they were scheduled, so an arrival at the end of a chain needs the
//! time at which it would have been scheduled if every hop had an event. This is the time at which the preceding packet reached
//! the end of the chain or, if the last link was then empty, the time at which the packet itself entered the last link.
//! The arrival precedes all other events scheduled at that time. This rule holds for every *fed* link ([`Role::fed`]),
//! with or without chains, so it also applies where a link is observed, driven, or changed on schedule.
//!
//! A world has no chains if its links are observed or if its caller may change them ([`crate::World::build_driven`]). Tests compare
//! runs with chains, with an event for each hop, and with ports only (`tests/it/fast_path.rs`).

use crate::fifo::{Capacity, Fifo, Meter, TxTime};
use crate::ring::Ring;
use measure::LinkCounts;
use packet::{Backlog, Count, DropReason, Packed, PacketMeta};
use scenario::{NO_LINK, Network, NetworkLink};
use std::collections::BTreeSet;
use units::{BitRate, Duration, Time};

/// Maximum rate of a link in a chain. The limit is necessary because a packet must take time on every link. It does not
/// apply to a plain link that has a propagation delay.
const FASTEST: BitRate = BitRate(10_000_000_000);
/// Prefetch distance, in ring entries.
const LOOKAHEAD: usize = 8;

/// Kind of a link that may be part of a chain. Such a link has a constant rate and a constant delay, and drops packets
/// only in its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The queue is first-in first-out, so departures can be computed at enqueue.
    Plain,
    /// The queue is of any other type.
    Managed,
}

/// A link's role in a chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Role {
    /// True if every packet that reaches the far end continues over a link that only this link feeds.
    pub onward: bool,
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
/// begins at a node in `counted` cannot be part of a chain, because TCP small queues count every departure from such a
/// node.
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
    let tail = |i: usize| {
        let only = |i: usize| goes[i].first().copied().filter(|_| goes[i].len() == 1);
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
        .map(|i| Role { onward: onward(i), fed: fed(i), tail: tails[i], behind: behind(i).map(|port| port as u16) })
        .collect()
}

/// A packet in a link's log.
#[derive(Clone, Copy, Debug, Default)]
struct Passage {
    /// Time at which the packet arrives at the queue.
    at: Time,
    /// For a packet that is sent, the start of its transmission. For a dropped packet, the time at which an event for
    /// its arrival at the queue would have been scheduled, as in [`Arrival::since`].
    start: Time,
    /// Time at which the packet leaves the link: it arrives at the far end, or is dropped.
    left: Time,
    /// Index of the packet's flow and direction in the drop counts of flows: `2 * slot + direction`. Read only if the
    /// packet is dropped.
    flow: u32,
    size: u16,
    dropped: bool,
    /// The value of [`Arrival::first`] for the packet's arrival at the queue.
    first: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub at: Time,
    /// Time at which the event for this arrival would have been scheduled if every hop had an event. Zero if the
    /// arrival is part of the event that is being handled.
    pub since: Time,
    /// True if the event for this arrival would precede all other events scheduled at the time `since` for the same
    /// time.
    pub first: bool,
}

/// A packet on its way over the last link of a chain.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    /// Start of the packet's transmission.
    start: Time,
    packet: Packed,
}

/// A plain link in a chain. Packets are numbered in the order in which they are offered to the link. The first packet
/// of the run has number 0.
#[derive(Clone, Debug)]
pub(crate) struct Chained {
    pub role: Role,
    tx: TxTime,
    delay: Duration,
    capacity: Capacity,
    /// The packets on their way to the far end. On an onward link the ring is always empty, because arrivals at its far
    /// end have no events.
    ring: Ring<Last>,
    free_at: Time,
    /// Time at which the packet that was accepted last arrives at the far end; zero if no packet has been accepted.
    last_arrival: Time,
    /// The packets that the link has accepted or dropped, but that `delivered` and `dropped` do not include yet.
    log: Ring<Passage>,
    /// Number of the first packet in the log.
    front: u64,
    /// Number of the packet at which [`Chained::decide`] resumes its search. No earlier packet was still waiting when
    /// the latest packet arrived.
    decided: u64,
    /// The packets that wait in the queue, as of the latest arrival or the latest call of [`Chained::settle`].
    ahead: Backlog,
    /// Time up to which [`Chained::settle`] has updated the counters, the meter and the drop counts of flows.
    settled: Time,
    /// Packets that arrived at the far end up to `settled`.
    delivered: Count,
    /// Dropped packets that have been removed from the log.
    dropped: Count,
    /// Number of the first packet whose arrival has not yet been reported to the meter and to the flows' drop counts.
    entered: u64,
    /// Number of dropped packets in the log that the flows' drop counts do not include yet.
    drops: u32,
    seen: Seen,
}

/// Records which packets in a link's log have been reported to the link's meter.
#[derive(Clone, Debug)]
struct Seen {
    /// Number of the first packet that still waits in the queue according to the meter. If no packet waits, the number
    /// of the next packet whose arrival will be reported.
    started: u64,
    /// Time at which the transmission of packet `started` begins, if this packet waits in the queue; otherwise `NEVER`.
    next_start: Time,
    /// Number of packets that wait.
    waiting: u32,
}

/// The meter and the counters that a link updates.
pub(crate) struct Books<'a> {
    pub meter: &'a mut Meter,
    /// Dropped packets by flow and direction.
    pub flow_drops: &'a mut [u64],
}

impl Chained {
    /// Builds an idle link in a chain, with the rate, delay and queue capacity of `fifo`.
    pub(crate) fn new(fifo: &Fifo, role: Role) -> Self {
        let (tx, delay, capacity) = fifo.parameters();
        Self {
            role,
            tx,
            delay,
            capacity,
            ring: Ring::default(),
            free_at: Time::ZERO,
            last_arrival: Time::ZERO,
            log: Ring::default(),
            front: 0,
            decided: 0,
            ahead: Backlog::default(),
            settled: Time::ZERO,
            delivered: Count::default(),
            dropped: Count::default(),
            entered: 0,
            drops: 0,
            seen: Seen { started: 0, next_start: Time::NEVER, waiting: 0 },
        }
    }

    /// Returns the packet with this number, which must still be in the log.
    #[inline]
    fn passage(&self, number: u64) -> Option<&Passage> {
        self.log.get((number - self.front) as usize)
    }

    /// Removes from `ahead` the packets whose transmission has started by the time `at`.
    #[inline]
    fn decide(&mut self, at: Time) {
        // bounded: each iteration removes one of the packets that were waiting
        while self.ahead.packets > 0 {
            let Some(&Passage { at: came, start, size, .. }) = self.passage(self.decided) else { break };
            if start > at {
                break;
            }
            self.decided += 1;
            if start > came {
                self.ahead.packets -= 1;
                self.ahead.bytes -= u64::from(size);
            }
        }
    }

    /// Accepts or drops a packet that arrives at the queue. Returns the start of the packet's transmission and the
    /// packet's arrival at the far end; `None` if the packet is dropped. Packets must be offered in the order of their
    /// arrival.
    #[inline(always)]
    pub(crate) fn offer(&mut self, arrival: Arrival, size: u16, flow: u32) -> Option<(Time, Arrival)> {
        let Arrival { at, since, first } = arrival;
        let idle = self.free_at <= at;
        if idle {
            self.ahead = Backlog::default();
        } else {
            self.decide(at);
        }
        if self.capacity.is_full(self.ahead, size) {
            self.drops += 1;
            self.log.push(Passage { at, start: since, left: at, flow, size, dropped: true, first });
            return None;
        }
        let start = self.free_at.max(at);
        // if every hop had an event, the event for this packet's arrival at the far end would be scheduled when the
        // preceding packet arrives there or, if the link is empty now, when this packet arrives at the queue
        let since = at.max(self.last_arrival);
        self.free_at = start + self.tx.of(size);
        if self.ahead.packets == 0 {
            // none of the packets in the log waits, so `decide` can resume at the packet that is added below
            self.decided = self.front + self.log.len() as u64;
        }
        let left = self.free_at + self.delay;
        self.last_arrival = left;
        self.log.push(Passage { at, start, left, flow, size, dropped: false, first });
        if start > at {
            self.ahead.packets += 1;
            self.ahead.bytes += u64::from(size);
        }
        Some((start, Arrival { at: left, since, first: self.role.fed }))
    }

    /// Returns true if no packet is in the ring.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Returns true if the log has no room for another packet, so that [`Chained::settle`] should be called first.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.log.is_full()
    }

    /// Updates the counters, the meter and the drop counts of flows up to the time `last`.
    #[inline(never)]
    pub(crate) fn settle(&mut self, last: Time, books: &mut Books<'_>) {
        self.decide(last);
        self.see(last, books);
        let (mut gone, mut all, mut dropped) = (0, Count::default(), Count::default());
        // bounded: each iteration counts one packet of the log
        while let Some(passage) = self.log.get(gone)
            && passage.left <= last
        {
            gone += 1;
            all.add_size(passage.size);
            if passage.dropped {
                dropped.add_size(passage.size);
            }
        }
        self.delivered = self.delivered.plus(all.since(dropped));
        self.dropped = self.dropped.plus(dropped);
        self.log.remove(gone);
        self.front += gone as u64;
        self.entered = self.entered.max(self.front);
        self.settled = last;
    }

    /// Reports arrivals and transmission starts up to the time `last` to the meter, and adds dropped packets to the
    /// drop counts of their flows.
    #[inline]
    fn see(&mut self, last: Time, books: &mut Books<'_>) {
        if books.meter.is_none() && self.drops == 0 {
            return;
        }
        // bounded: each iteration reports one arrival or one transmission start of a packet in the log
        loop {
            let arrival = self.passage(self.entered).map_or(Time::NEVER, |next| next.at);
            let next_start = self.seen.next_start;
            if next_start.min(arrival) > last {
                break;
            }
            if next_start <= arrival {
                self.start_next(books);
            } else if self.seen.waiting > 0 || !self.pass_together(last, books) {
                self.enter(books);
            }
        }
    }

    /// Reports to the meter, in one step, the packets that arrive up to the time `last` and do not wait. The queue must
    /// be empty. Stops at the first packet that waits or is dropped, or for which the meter needs a new step. Returns
    /// false if no packet was reported.
    #[inline]
    fn pass_together(&mut self, last: Time, books: &mut Books<'_>) -> bool {
        let Some(meter) = books.meter else { return false };
        let Some(&Passage { at: first, .. }) = self.passage(self.entered) else { return false };
        let last = last.min(Time(meter.together_until(first).0 - 1));
        let (mut next, mut passed) = ((self.entered - self.front) as usize, Count::default());
        // bounded: each iteration counts one packet of the log
        while let Some(&Passage { at, start, size, dropped, .. }) = self.log.get(next)
            && (at <= last && start == at && !dropped)
        {
            next += 1;
            passed.add_size(size);
        }
        if passed.packets == 0 {
            return false;
        }
        meter.passed(first, passed);
        self.entered += passed.packets;
        self.seen.started = self.entered;
        true
    }

    /// Updates the accounts up to the nanosecond before `now`, and the flows' drop counts up to the current event,
    /// which takes place at `now` and was scheduled at `since`. A packet that is dropped at `now` counts if an event
    /// for its arrival would have preceded the current event. If `since` is `None`, no drop at `now` counts.
    pub(crate) fn settle_before(&mut self, now: Time, since: Option<Time>, books: &mut Books<'_>) {
        self.settle(Time(now.0.saturating_sub(1)), books);
        let Some(since) = since.filter(|_| self.drops > 0) else { return };
        let mut due = self.entered;
        for i in self.entered.. {
            let Some(Passage { start, dropped, first, .. }) = self.passage(i).filter(|of| of.at == now) else { break };
            if *dropped && (*start < since || *start == since && *first) {
                due = i + 1;
            }
        }
        while self.entered < due {
            if self.seen.next_start <= now { self.start_next(books) } else { self.enter(books) }
        }
    }

    /// Reports the next packet's arrival to the meter. If the packet was dropped, adds it to the drop count of its
    /// flow.
    #[inline]
    fn enter(&mut self, books: &mut Books<'_>) {
        let Some(&Passage { at, start, flow, size, dropped, .. }) = self.passage(self.entered) else { return };
        self.entered += 1;
        if dropped {
            self.drops -= 1;
            books.flow_drops[flow as usize] += 1;
        }
        let Some(meter) = books.meter else { return };
        if dropped {
            meter.dropped(at);
        } else if start > at {
            meter.enqueued(at, self.seen.waiting + 1);
            self.seen.waiting += 1;
            self.seen.next_start = self.seen.next_start.min(start);
            return;
        } else {
            meter.passed(at, Count { packets: 1, bytes: u64::from(size) });
        }
        self.pass();
    }

    /// Reports the start of the next waiting packet's transmission to the meter.
    #[inline]
    fn start_next(&mut self, books: &mut Books<'_>) {
        self.seen.next_start = Time::NEVER;
        let Some(&Passage { at, start, size, .. }) = self.passage(self.seen.started) else { return };
        self.seen.started += 1;
        self.seen.waiting -= 1;
        if let Some(meter) = books.meter {
            meter.dequeued(start, size, self.seen.waiting, start.since(at));
        }
        self.pass();
        if self.seen.waiting > 0 {
            self.seen.next_start = self.passage(self.seen.started).map_or(Time::NEVER, |next| next.start);
        }
    }

    /// Advances `seen.started` past the packets that never waited: packets that were dropped, and packets whose
    /// transmission started when they arrived.
    #[inline]
    fn pass(&mut self) {
        // bounded: each iteration takes one packet that has arrived
        while self.seen.started < self.entered && self.passage(self.seen.started).is_some_and(|of| of.start <= of.at) {
            self.seen.started += 1;
        }
    }

    /// Adds a packet to the ring; returns true if the ring was empty.
    #[inline]
    pub(crate) fn put(&mut self, start: Time, packet: Packed) -> bool {
        let first = self.ring.is_empty();
        self.ring.push(Last { start, packet });
        first
    }

    /// Removes and returns the first packet in flight, which has reached the far end.
    #[inline]
    pub(crate) fn arrive(&mut self) -> PacketMeta {
        let Last { start, packet } = self.ring.pop().expect("an arrival event implies a packet in flight");
        self.ring.prefetch(LOOKAHEAD);
        packet.at(start)
    }

    /// Returns the packet that has exactly `others` packets ahead of it in the ring, if there is one.
    #[inline]
    pub(crate) fn ahead(&self, others: usize) -> Option<PacketMeta> {
        self.ring.get(others).map(|t| t.packet.at(t.start))
    }

    /// Returns when the first packet in the ring starts its transmission and when it arrives at the far end.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<(Time, Time)> {
        let &Last { start, packet } = self.ring.get(0)?;
        Some((start, start + self.tx.of(packet.size()) + self.delay))
    }

    /// Returns the link's rate; `None` means that transmission takes no time.
    pub(crate) fn rate(&self) -> Option<BitRate> {
        self.tx.rate
    }

    /// Returns the packets in the log that arrived at the queue by the time `settled`.
    fn entered(&self) -> impl Iterator<Item = &Passage> {
        (0..).map_while(|i| self.log.get(i)).take_while(|of| of.at <= self.settled)
    }

    /// Returns the arrival time of the packet at the head of the queue; `None` if no packet waits.
    pub(crate) fn head_arrival(&self) -> Option<Time> {
        self.entered().find(|of| of.start > self.settled).map(|head| head.at)
    }

    /// Returns the counters and the backlog as of the last call of [`Chained::settle`].
    pub(crate) fn counts(&self) -> LinkCounts {
        let (mut dropped, mut backlog, mut in_flight) = (self.dropped, Backlog::default(), Count::default());
        for of in self.entered() {
            if of.dropped {
                dropped.add_size(of.size);
            } else if of.start > self.settled {
                backlog.packets += 1;
                backlog.bytes += u64::from(of.size);
            } else {
                in_flight.add_size(of.size);
            }
        }
        let mut offered = self.delivered;
        for (packets, bytes) in [
            (dropped.packets, dropped.bytes),
            (backlog.packets.into(), backlog.bytes),
            (in_flight.packets, in_flight.bytes),
        ] {
            offered.packets += packets;
            offered.bytes += bytes;
        }
        let mut drops = [0; DropReason::ALL.len()];
        drops[DropReason::TailFull as usize] = dropped.packets;
        let (delivered, in_flight) = (self.delivered, in_flight.packets);
        LinkCounts { offered, delivered, dropped, drops, backlog, in_flight, ..LinkCounts::default() }
    }
}
