//! Ports in chains: the packets of a port with a discipline enter and leave it without events.
//!
//! If all packets of a port go the same way to their host over plain links, its *tail*, they arrive there in the order in which the
//! port dequeues them. So the port's work can wait until a packet arrives at the end of the tail, and one event per packet is
//! enough:
//!
//! ```text
//!   server --access--> r1 --port--> r2 --access--> home
//!          no event    ^  no event  ^              one event per packet: its arrival at home
//!                    inbox        tail
//! ```
//!
//! If only one plain link feeds the port, its packets wait in the port's *inbox* until the port reaches the times of their
//! arrivals.
//!
//! **When the port works.** The port dequeues its next packet before the packet in transmission arrives at the end of the tail. So
//! while packets are on the tail's last link, each of their arrivals first lets the port do the work that was due before
//! this arrival, and packets that the port dequeues enter the tail at once. While the last link is empty, the port has an event
//! of its own, one nanosecond after its next work or arrival. In both cases the port does only work that was due earlier
//! than the current time, so nothing depends on the order of simultaneous events. [`Net::catch_up`] handles the arrivals
//! at the current time.

use crate::chain::{Arrival, Tail};
use crate::event::Target;
use crate::fifo::TxTime;
use crate::link::Carrier;
use crate::net::Net;
use crate::ring::Ring;
use packet::{Flags, Packed, PacketMeta};
use record::Sink;
use scenario::NetworkLink;
use units::{Duration, Time};

/// A packet that will arrive at the port.
#[derive(Clone, Copy, Debug, Default)]
struct Inbound {
    at: Time,
    /// `since` and `first` decide the order of this arrival among simultaneous events, as in [`Arrival`].
    since: Time,
    first: bool,
    packet: Packed,
}

/// A port's place in a chain.
#[derive(Clone, Debug)]
pub(crate) struct Through {
    tail: Tail,
    /// Packets that will arrive at the port, in order of arrival. The port has not yet advanced to the times of these
    /// arrivals.
    inbox: Ring<Inbound>,
    /// Number of the port's packets in flight that have already been passed on to the tail.
    entered: usize,
    /// Time at which the last packet that was passed on to the tail arrives at the far end of the port's link.
    last_arrival: Time,
    /// Time of the latest arrival at the far end of the port's link that has been handled.
    arrived: Time,
    tx: TxTime,
    delay: Duration,
}

impl Through {
    pub(crate) fn new(link: &NetworkLink, tail: Tail) -> Self {
        let tx = TxTime::new(link.port.rate);
        Self {
            tail,
            inbox: Ring::default(),
            entered: 0,
            last_arrival: Time::ZERO,
            arrived: Time::ZERO,
            tx,
            delay: link.port.delay,
        }
    }

    /// Returns the next arrival at the port; [`Time::NEVER`] if the inbox is empty.
    #[inline]
    fn next_arrival(&self) -> Time {
        self.inbox.get(0).map_or(Time::NEVER, |next| next.at)
    }

    /// Returns the time at which the port dequeued a packet of `size` bytes that reaches the far end at the time `at`.
    #[inline]
    fn dequeued_at(&mut self, at: Time, size: u16) -> Time {
        Time(at.0 - self.delay.0 - self.tx.of(size).0)
    }

    /// Returns the time at which a port outside a chain would have scheduled the arrival of `first`, the first packet
    /// in flight: at the arrival of the preceding packet or, if no other packet was in flight, when `first` was
    /// dequeued.
    fn since(&mut self, first: &PacketMeta) -> Time {
        self.dequeued_at(first.stamp, first.size).max(self.arrived)
    }

    /// Returns the next packet in the inbox, if it arrives at the time `now` and its arrival precedes the current
    /// event, which was scheduled at the time `since`.
    fn before(&self, now: Time, since: Time) -> Option<Inbound> {
        let precedes = |next: &Inbound| next.since < since || next.since == since && next.first;
        self.inbox.get(0).filter(|next| next.at == now && precedes(next)).copied()
    }
}

impl<S: Sink> Net<S> {
    /// Puts a packet that will arrive at port `i` into its inbox.
    #[inline]
    pub(crate) fn put_inbox(&mut self, i: u16, arrival: Arrival, packet: Packed) {
        let Carrier::Port { work, through: Some(through), cuts, .. } = &mut self.links[usize::from(i)].carrier else {
            return debug_assert!(false, "a chain continues only over a port with a tail");
        };
        let meta = packet.at(arrival.at);
        if *cuts && meta.flags.has(Flags::GSO) {
            return self.put_pieces(i, arrival, &meta);
        }
        let Arrival { at, since, first } = arrival;
        through.inbox.push(Inbound { at, since, first, packet });
        if at < *work {
            self.wake_through(i);
        }
    }

    /// Splits a packet of several segments (GSO) that will arrive at port `i`, and puts the segments into the inbox.
    #[cold]
    fn put_pieces(&mut self, i: u16, arrival: Arrival, packet: &PacketMeta) {
        // bounded: at most as many segments as fit in a packet of 64 KB
        for (piece, _) in self.bodies.cut(packet) {
            self.put_inbox(i, arrival, piece.packed());
        }
    }

    /// If port `i` has a tail, handles the arrivals at the port and the port's work up to the time `last`, and passes
    /// the packets that the port has dequeued on to the tail.
    #[inline(never)]
    pub(crate) fn follow(&mut self, i: u16, last: Time) {
        self.act_in_chain(i, |port, through, env| {
            let Some(through) = through else { return };
            // bounded: each iteration takes one packet from the inbox
            while let Some(&Inbound { at, packet, .. }) = through.inbox.get(0).filter(|next| next.at <= last) {
                through.inbox.pop();
                port.offer(at, packet.at(at), env);
            }
            port.catch_up(last, env);
        });
        self.enter_tail(i);
        if let Carrier::Port { port, through: Some(through), .. } = &mut self.links[usize::from(i)].carrier {
            // bounded: each iteration takes one packet in flight
            while let Some(packet) = port.arrive(last) {
                through.entered -= 1;
                through.arrived = packet.stamp;
            }
        }
    }

    /// Handles the arrivals and the work of port `i` that are due at the time `now` and that precede the current event.
    /// The current event was scheduled at the time `since`.
    pub(crate) fn follow_before(&mut self, i: u16, now: Time, since: Time) {
        self.act_in_chain(i, |port, through, env| {
            let Some(through) = through else { return };
            // bounded: each iteration takes one packet from the inbox
            while let Some(Inbound { at, packet, .. }) = through.before(now, since) {
                through.inbox.pop();
                port.offer(at, packet.at(at), env);
            }
            // for a port outside a chain, the arrival of a packet at the far end is an event, and the port also does
            // its work in this event. This port has no such event. If it would precede the current event, the port
            // works here
            if port.in_flight(0).is_some_and(|packet| packet.stamp == now && through.since(packet) <= since) {
                port.work(now, env);
            }
        });
        self.enter_tail(i);
    }

    #[inline]
    fn through(&self, i: u16) -> Option<&Through> {
        let Carrier::Port { through, .. } = &self.links[usize::from(i)].carrier else { return None };
        through.as_deref()
    }

    /// Passes the packets that port `i` has dequeued on to the links of the port's tail.
    #[inline]
    pub(crate) fn enter_tail(&mut self, i: u16) {
        // bounded: each iteration takes one packet in flight
        while let Carrier::Port { port, through: Some(through), .. } = &mut self.links[usize::from(i)].carrier
            && let Some(packet) = port.in_flight(through.entered)
        {
            let (packet, at) = (packet.packed(), packet.stamp);
            through.entered += 1;
            let since = through.dequeued_at(at, packet.size()).max(through.last_arrival);
            through.last_arrival = at;
            let first = through.tail.first;
            self.pass_on(first, Arrival { at, since, first: true }, packet);
        }
    }

    /// Schedules the work of port `i`, unless packets are on the last link of the port's tail. In that case the port
    /// works when these packets arrive.
    #[inline]
    pub(crate) fn wake_through(&mut self, i: u16) {
        let Some(Through { tail, .. }) = self.through(i) else { return };
        if matches!(&self.links[usize::from(tail.last)].carrier, Carrier::Chained(last) if !last.is_empty()) {
            return;
        }
        let Carrier::Port { port, work, through: Some(through), .. } = &mut self.links[usize::from(i)].carrier else {
            return;
        };
        let next = through.next_arrival().min(port.work_at());
        let at = Time(next.0.saturating_add(1));
        if at < *work {
            *work = at;
            self.events.push(at, Target::Port(i));
        }
    }
}
