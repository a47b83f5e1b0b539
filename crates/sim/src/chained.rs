//! A plain link in a chain ([`crate::chain`]).
//!
//! A packet's passage is computed when the packet is offered, often before the packet arrives. But counters, series and the
//! drops of flows must show the state at the current time. So the link logs each passage, and [`Chained::settle`] updates the
//! accounts from the log. Packets leave the link in the order in which they arrive, so the times in the log ascend, and the
//! counts at any time follow from a binary search:
//!
//! ```text
//!   arrived by t     packets with at    <= t            delivered by t   packets with left <= t
//!   started by t     packets with start <= t            queue at t       arrived - started
//! ```
//!
//! As on a [`Fifo`], a departure precedes an arrival at the same time.

use crate::chain::Role;
use crate::fifo::{Capacity, Fifo, Meter, TxTime};
use crate::ring::Ring;
use measure::{LinkCounts, LinkMeter};
use packet::{Backlog, Count, DropReason, Packed, PacketMeta};
use units::{BitRate, Duration, Time};

/// Prefetch distance, in ring entries.
const LOOKAHEAD: usize = 8;

/// The arrival of a packet at a link, and its order among simultaneous events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub at: Time,
    /// Time at which the event for this arrival would have been scheduled if every hop had an event. Zero if the
    /// arrival is part of the event that is being handled.
    pub since: Time,
    /// True if the event for this arrival would precede all other events that take place at `at` and were scheduled at
    /// `since`.
    pub first: bool,
}

/// A packet that the link has accepted.
#[derive(Clone, Copy, Debug, Default)]
struct Passage {
    /// Time at which the packet arrives at the queue.
    at: Time,
    /// Start of the packet's transmission.
    start: Time,
    /// Time at which the packet arrives at the far end.
    left: Time,
    /// Bytes of all packets that the link has accepted since the run began, up to and including this packet.
    bytes: u64,
}

/// A packet that the link has dropped, because its queue has no room.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Dropped {
    pub at: Time,
    /// `since` and `first` of the packet's [`Arrival`].
    pub since: Time,
    pub first: bool,
    pub size: u16,
    /// Index of the packet's flow and direction in the drop counts of flows: `2 * slot + direction`.
    pub flow: u32,
}

/// A packet on its way over the last link of a chain.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    /// Start of the packet's transmission.
    start: Time,
    packet: Packed,
}

/// A plain link in a chain. Every `Count` except `dropped` counts accepted packets, from the first packet of the run.
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
    accepted: Count,
    /// Lower bound on the number of packets whose transmission will have started when the next packet arrives. It is
    /// brought up to date only if the queue seems full, and raised if it falls below `removed`.
    dequeued: Count,
    /// The accepted packets that have not been removed.
    log: Ring<Passage>,
    /// Packets removed from the log: they have arrived at the far end.
    removed: Count,
    /// The dropped packets that have not been reported, in the order of their arrival.
    drops: Ring<Dropped>,
    /// Dropped packets that have been reported to the meter and to the drop counts of flows. These are the drops up to
    /// `settled` or, after [`Chained::settle_before`], the drops up to the current event.
    dropped: Count,
    /// Time up to which [`Chained::settle`] has updated the accounts.
    settled: Time,
    /// Packets whose arrivals have been reported to the meter.
    seen_arrived: Count,
    /// Packets whose transmission starts have been reported to the meter.
    seen_started: Count,
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
            accepted: Count::default(),
            dequeued: Count::default(),
            log: Ring::default(),
            removed: Count::default(),
            drops: Ring::default(),
            dropped: Count::default(),
            settled: Time::ZERO,
            seen_arrived: Count::default(),
            seen_started: Count::default(),
        }
    }

    /// Accepts a packet that arrives at the queue. Returns the start of the packet's transmission and the packet's
    /// arrival at the far end. Returns `None` if the queue is full; the caller must then drop the packet. Packets must be
    /// offered in the order of their arrival. The log must have room ([`Chained::make_room`]).
    #[inline(always)]
    pub(crate) fn offer(&mut self, Arrival { at, .. }: Arrival, size: u16) -> Option<(Time, Arrival)> {
        if !self.has_room(at, size) {
            return None;
        }
        let start = self.free_at.max(at);
        // if every hop had an event, the event for this packet's arrival at the far end would be scheduled when the
        // preceding packet arrives there or, if the link is empty now, when this packet arrives at the queue
        let since = at.max(self.last_arrival);
        self.free_at = start + self.tx.of(size);
        let left = self.free_at + self.delay;
        self.last_arrival = left;
        self.accepted.add_size(size);
        self.log.put(Passage { at, start, left, bytes: self.accepted.bytes });
        Some((start, Arrival { at: left, since, first: self.role.fed }))
    }

    /// Logs a packet that [`Chained::offer`] has refused. All events up to the time `last` must have been handled.
    #[inline(never)]
    pub(crate) fn log_drop(&mut self, packet: Dropped, last: Time, books: &mut Books<'_>) {
        if self.drops.is_full() {
            self.settle(last, books);
        }
        self.drops.push(packet);
    }

    /// Returns true if the queue has room for a packet of `size` bytes that arrives at the time `at`.
    #[inline(always)]
    fn has_room(&mut self, at: Time, size: u16) -> bool {
        // `dequeued` is a lower bound, so `queue` never underestimates the queue. `dequeued` is recounted only if the queue
        // seems full
        !self.capacity.is_full(self.queue(), size) || self.has_room_at(at, size)
    }

    /// Brings `dequeued` up to date for an arrival at the time `at`, and returns what [`Chained::has_room`] returns.
    #[inline(never)]
    fn has_room_at(&mut self, at: Time, size: u16) -> bool {
        if self.free_at <= at {
            self.dequeued = self.accepted;
        }
        // bounded: each iteration takes one packet of the log
        while let Some(next) = self.passage(self.dequeued).filter(|next| next.start <= at) {
            self.dequeued = Count { packets: self.dequeued.packets + 1, bytes: next.bytes };
        }
        !self.capacity.is_full(self.queue(), size)
    }

    /// Returns the packets in the queue, according to `dequeued`.
    #[inline(always)]
    fn queue(&self) -> Backlog {
        let Count { packets, bytes } = self.accepted.since(self.dequeued);
        Backlog { packets: packets as u32, bytes }
    }

    /// Returns the packet that follows the first `before.packets` accepted packets, if it has been accepted. It must not
    /// have been removed from the log.
    #[inline]
    fn passage(&self, before: Count) -> Option<&Passage> {
        self.log.get((before.packets - self.removed.packets) as usize)
    }

    /// Returns the count of the removed packets and of the first `n` packets in the log.
    #[inline]
    fn first(&self, n: usize) -> Count {
        let bytes = n.checked_sub(1).and_then(|last| self.log.get(last)).map_or(self.removed.bytes, |last| last.bytes);
        Count { packets: self.removed.packets + n as u64, bytes }
    }

    /// Returns true if no packet is in the ring.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Returns true if no other packet follows the next arrival.
    #[inline]
    pub(crate) fn is_last_arrival(&self) -> bool {
        self.ring.get(1).is_none()
    }

    /// Returns true if the log has no room for another packet.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.log.is_full()
    }

    /// Makes room in the log for another packet: removes the packets that have left the link by the time `last`, and
    /// doubles the log if there are none.
    #[inline(never)]
    pub(crate) fn make_room(&mut self, last: Time, books: &mut Books<'_>) {
        self.settle(last, books);
        if self.log.is_full() {
            self.log.grow();
        }
    }

    /// Updates the counters, the meter and the drop counts of flows up to the time `last`.
    #[inline(never)]
    pub(crate) fn settle(&mut self, last: Time, books: &mut Books<'_>) {
        // bounded: each iteration reports one dropped packet
        while self.drops.get(0).is_some_and(|next| next.at <= last) {
            self.report_drop(books);
        }
        if let Some(meter) = books.meter {
            self.report(last, meter);
        }
        let gone = self.log.partition_point(|of| of.left <= last);
        self.removed = self.first(gone);
        self.log.remove(gone);
        if self.dequeued.packets < self.removed.packets {
            self.dequeued = self.removed;
        }
        self.settled = last;
    }

    /// Updates the accounts up to the nanosecond before `now`, and the flows' drop counts up to the current event,
    /// which takes place at `now` and was scheduled at `since`. A packet that is dropped at `now` counts if an event
    /// for its arrival would have preceded the current event. If `since` is `None`, no drop at `now` counts. If a drop
    /// at `now` counts, the meter is updated up to `now`.
    pub(crate) fn settle_before(&mut self, now: Time, since: Option<Time>, books: &mut Books<'_>) {
        self.settle(Time(now.0.saturating_sub(1)), books);
        let Some(since) = since else { return };
        let mut due = 0;
        // bounded: each iteration looks at one packet dropped at `now`
        for i in 0.. {
            let Some(drop) = self.drops.get(i).filter(|drop| drop.at == now) else { break };
            if drop.since < since || drop.since == since && drop.first {
                due = i + 1;
            }
        }
        for _ in 0..due {
            self.report_drop(books);
        }
    }

    /// Reports the next dropped packet to the meter, and adds it to the drop count of its flow.
    fn report_drop(&mut self, books: &mut Books<'_>) {
        let Some(Dropped { at, size, flow, .. }) = self.drops.pop() else { return };
        if let Some(meter) = books.meter {
            self.report(at, meter);
            meter.dropped(at);
        }
        books.flow_drops[flow as usize] += 1;
        self.dropped.add_size(size);
    }

    /// Reports arrivals and transmission starts up to the time `last` to the meter, in the order of time.
    #[inline]
    fn report(&mut self, last: Time, meter: &mut LinkMeter) {
        let (mut arrived, mut started) = (self.seen_arrived, self.seen_started);
        let cursor = |after: Count| self.log.cursor((after.packets - self.removed.packets) as usize);
        let (mut arrivals, mut heads) = (cursor(arrived), cursor(started));
        // bounded: each iteration reports one transmission start, or at least one arrival
        loop {
            let waiting = (arrived.packets - started.packets) as u32;
            let next = arrivals.peek();
            let arrives = next.map_or(Time::NEVER, |next| next.at);
            if waiting > 0
                && let Some(head) = heads.peek().filter(|head| head.start <= arrives)
            {
                if head.start > last {
                    break;
                }
                let size = (head.bytes - started.bytes) as u16;
                started = Count { packets: started.packets + 1, bytes: head.bytes };
                heads.advance();
                meter.dequeued(head.start, size, waiting - 1, head.start.since(head.at));
                continue;
            }
            let Some(next) = next.filter(|next| next.at <= last) else { break };
            if next.start > next.at {
                arrived = Count { packets: arrived.packets + 1, bytes: next.bytes };
                arrivals.advance();
                meter.enqueued(next.at, waiting + 1);
                continue;
            }
            // the packet finds the queue empty and the link idle. It is reported together with the packets after it that do
            // not wait either, up to the end of the meter's bin or of the warm-up
            let before = arrived;
            let last = last.min(Time(meter.together_until(next.at).0 - 1));
            // bounded: each iteration takes one packet of the log
            while let Some(of) = arrivals.peek().filter(|of| of.at <= last && of.start == of.at) {
                arrived = Count { packets: arrived.packets + 1, bytes: of.bytes };
                arrivals.advance();
            }
            meter.passed(next.at, arrived.since(before));
            (started, heads) = (arrived, arrivals);
        }
        (self.seen_arrived, self.seen_started) = (arrived, started);
    }

    /// Adds a packet to the ring; returns true if the ring was empty.
    #[inline]
    pub(crate) fn put(&mut self, start: Time, packet: Packed) -> bool {
        let first = self.ring.is_empty();
        self.ring.push(Last { start, packet });
        first
    }

    /// Removes the first packet in flight, at its arrival. Returns the start of its transmission and the packet.
    #[inline]
    pub(crate) fn arrive(&mut self) -> (Time, Packed) {
        let Last { start, packet } = self.ring.pop().expect("an arrival event implies a packet in flight");
        self.ring.prefetch(LOOKAHEAD);
        (start, packet)
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

    /// Returns the arrival time of the packet at the head of the queue; `None` if no packet waits.
    pub(crate) fn head_arrival(&self) -> Option<Time> {
        let head = self.log.get(self.log.partition_point(|of| of.start <= self.settled))?;
        Some(head.at).filter(|at| *at <= self.settled)
    }

    /// Returns the counters and the backlog as of the last call of [`Chained::settle`].
    pub(crate) fn counts(&self) -> LinkCounts {
        let arrived = self.first(self.log.partition_point(|of| of.at <= self.settled));
        let started = self.first(self.log.partition_point(|of| of.start <= self.settled));
        let delivered = self.first(self.log.partition_point(|of| of.left <= self.settled));
        let queue = arrived.since(started);
        let mut drops = [0; DropReason::ALL.len()];
        drops[DropReason::TailFull as usize] = self.dropped.packets;
        LinkCounts {
            offered: arrived.plus(self.dropped),
            delivered,
            dropped: self.dropped,
            drops,
            backlog: Backlog { packets: queue.packets as u32, bytes: queue.bytes },
            in_flight: started.since(delivered).packets,
            ..LinkCounts::default()
        }
    }
}
