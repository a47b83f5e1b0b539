//! Nodes, links and packets in flight: everything below the end hosts.

use crate::arena::Arena;
use crate::event::{Events, Target};
use crate::fifo::{Fifo, Offered};
use crate::meter::LinkMeter;
use packet::{DropReason, FateSink, Flags, FlowTable, MarkReason, NodeId, PacketMeta, Point};
use port::{Change, Env, Port};
use record::{LinkId, Mask, Record, Sink};
use tcp::Segment;
use units::{Duration, Time};

/// No link leads there.
pub(crate) const NO_LINK: u16 = u16::MAX;

/// How a link is run.
pub(crate) enum Kind {
    /// Computed at enqueue.
    Fifo(Box<Fifo>),
    /// Anything else. `work` is the moment of its earliest event for work; `armed` if its next arrival has an event.
    ///
    /// Arrivals have events of their own, scheduled when a [`Fifo`] would schedule them: so the order of events in one
    /// moment does not depend on which of the two runs a link.
    Port { port: Box<Port>, work: Time, armed: bool },
}

/// One link of the world.
pub(crate) struct Link {
    pub name: String,
    pub to: NodeId,
    pub kind: Kind,
    pub meter: LinkMeter,
}

impl Link {
    /// Packets in its queue, and packets that have left the queue but not reached the far end.
    pub fn holds(&self) -> (u64, u64) {
        match &self.kind {
            Kind::Fifo(fifo) => (u64::from(fifo.backlog().packets), fifo.in_flight()),
            Kind::Port { port, .. } => {
                let c = port.counters();
                let gone = c.transmit_dropped.packets + c.lost.packets + c.delivered.packets;
                (u64::from(port.backlog().packets), c.queue.delivered.packets - gone)
            }
        }
    }
}

/// What a segment keeps in the arena while its packet is in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body {
    pub segment: Segment,
    /// When its host sent it.
    pub sent: Time,
}

/// The network.
pub(crate) struct Net<S> {
    pub events: Events,
    pub links: Vec<Link>,
    /// Next link by node and destination, row by row.
    pub next: Vec<u16>,
    pub nodes: usize,
    pub bodies: Arena<Body>,
    pub flows: FlowTable,
    pub sink: S,
    /// Packets of each flow and direction that met their fate below the end hosts: `2 * slot + direction`.
    pub fated: Vec<u64>,
    /// Packets that wait until applications have answered (`tcp::TcpParams::ack_after_delivery`).
    pub after_apps: Vec<(NodeId, PacketMeta)>,
    /// Packets that a port has just let go; reused.
    pub landed: Vec<PacketMeta>,
}

/// Frees what a dropped packet owned.
struct Fates<'a> {
    bodies: &'a mut Arena<Body>,
    fated: &'a mut [u64],
}

impl FateSink for Fates<'_> {
    #[inline]
    fn dropped(&mut self, packet: &PacketMeta, _: DropReason, _: Point) {
        self.fated[lane_index(packet)] += 1;
        free(self.bodies, packet);
    }
    fn marked(&mut self, _: &PacketMeta, _: MarkReason, _: Point) {}
}

/// Index of a packet's flow and direction in [`Net::fated`].
#[inline]
fn lane_index(packet: &PacketMeta) -> usize {
    2 * packet.flow.slot() + usize::from(packet.flags.has(Flags::REVERSE))
}

/// Gives back the arena slot of a packet that goes no further.
#[inline]
pub(crate) fn free(bodies: &mut Arena<Body>, packet: &PacketMeta) {
    if !packet.flags.has(Flags::INLINE) {
        bodies.take(packet.body);
    }
}

/// A port's sink: the link's meter, and the run's own sink behind it.
struct Tap<'a, S> {
    meter: &'a mut LinkMeter,
    sink: &'a mut S,
}

impl<S: Sink> Sink for Tap<'_, S> {
    #[inline]
    fn mask(&self) -> Mask {
        Mask::ALL
    }
    #[inline]
    fn put(&mut self, now: Time, record: Record) {
        self.meter.put(now, record);
        if self.sink.mask().has(record.kind()) {
            self.sink.put(now, record);
        }
    }
}

impl<S: Sink> Net<S> {
    /// The current moment.
    #[inline]
    pub fn now(&self) -> Time {
        self.events.now()
    }

    /// A packet is at `node` and goes on towards its destination.
    #[inline]
    pub fn send(&mut self, node: NodeId, packet: PacketMeta) {
        let i = self.next[usize::from(node.0) * self.nodes + usize::from(packet.dst.0)];
        debug_assert_ne!(i, NO_LINK, "routes are checked when the world is built");
        self.offer(i, packet);
    }

    #[inline]
    fn offer(&mut self, i: u16, packet: PacketMeta) {
        let now = self.events.now();
        let link = &mut self.links[usize::from(i)];
        link.meter.offered(packet.size);
        match &mut link.kind {
            Kind::Fifo(fifo) => match fifo.offer(now, packet, &mut link.meter) {
                Offered::Behind => {}
                Offered::First(at) => self.events.push(at, Target::Link(i)),
                Offered::Full => {
                    let (reason, point) = (DropReason::TailFull, Point::Enqueue);
                    let record =
                        Record::Dropped { link: link_id(i), flow: packet.flow, size: packet.size, reason, point };
                    link.meter.put(now, record);
                    self.fated[lane_index(&packet)] += 1;
                    free(&mut self.bodies, &packet);
                }
            },
            Kind::Port { .. } => self.with_port(i, |port, now, env| port.offer(now, packet, env)),
        }
    }

    /// Lets a port do something and then schedules what it waits for.
    fn with_port(&mut self, i: u16, act: impl FnOnce(&mut Port, Time, &mut Env<'_, Tap<'_, S>>)) {
        let now = self.events.now();
        let link = &mut self.links[usize::from(i)];
        let Kind::Port { port, work, armed } = &mut link.kind else { return };
        let mut fates = Fates { bodies: &mut self.bodies, fated: &mut self.fated };
        let mut tap = Tap { meter: &mut link.meter, sink: &mut self.sink };
        act(port, now, &mut Env { flows: &self.flows, fate: &mut fates, sink: &mut tap });
        let work_at = port.work_at();
        if work_at < *work {
            *work = work_at;
            self.events.push(work_at.max(now), Target::Port(i));
        }
        let arrival_at = port.arrival_at();
        if !*armed && arrival_at != Time::NEVER {
            *armed = true;
            self.events.push(arrival_at, Target::Link(i));
        }
    }

    /// The event for the work of the port of link `i` has been taken.
    pub fn port_work(&mut self, i: u16) {
        self.events.drop_link();
        let now = self.events.now();
        let Kind::Port { work, .. } = &mut self.links[usize::from(i)].kind else { return };
        if *work == now {
            *work = Time::NEVER;
            self.with_port(i, |port, now, env| port.work(now, env));
        }
    }

    /// The event of link `i` has been taken. A packet that has reached its host is returned, or left in `landed` if
    /// a port let several go at once; others travel on.
    #[inline]
    pub fn link_event(&mut self, i: u16) -> Option<PacketMeta> {
        let now = self.events.now();
        let link = &mut self.links[usize::from(i)];
        let to = link.to;
        match &mut link.kind {
            Kind::Fifo(fifo) => {
                let (packet, next) = fifo.arrive(now, &mut link.meter);
                link.meter.delivered(packet.size);
                if next == Some(now) {
                    self.arrive_together(i, to, packet);
                    return None;
                }
                match next {
                    Some(at) => self.events.rearm_link(at, i),
                    None => self.events.drop_link(),
                }
                if packet.dst == to {
                    return Some(packet);
                }
                self.send(to, packet);
            }
            Kind::Port { armed, .. } => {
                self.events.drop_link();
                *armed = false;
                let mut landed = std::mem::take(&mut self.landed);
                self.with_port(i, |port, now, env| port.poll(now, env, &mut |packet| landed.push(packet)));
                for packet in &landed {
                    self.links[usize::from(i)].meter.delivered(packet.size);
                }
                self.go_on(to, landed);
            }
        }
        None
    }

    /// Packets that reach the far end in one moment: all were on their way before anything that they cause, so all go
    /// first. (24 SYNs sent at once meet a queue as 24, not one by one.)
    fn arrive_together(&mut self, i: u16, to: NodeId, first: PacketMeta) {
        let now = self.events.now();
        let mut landed = std::mem::take(&mut self.landed);
        landed.push(first);
        let link = &mut self.links[usize::from(i)];
        let Kind::Fifo(fifo) = &mut link.kind else { return };
        let mut next = fifo.next_arrival();
        while next == Some(now) {
            let packet;
            (packet, next) = fifo.arrive(now, &mut link.meter);
            link.meter.delivered(packet.size);
            landed.push(packet);
        }
        match next {
            Some(at) => self.events.rearm_link(at, i),
            None => self.events.drop_link(),
        }
        self.go_on(to, landed);
    }

    /// Those that travel on leave in order; those that are home stay in `landed`.
    fn go_on(&mut self, to: NodeId, mut landed: Vec<PacketMeta>) {
        landed.retain(|packet| {
            let home = packet.dst == to;
            if !home {
                self.send(to, *packet);
            }
            home
        });
        self.landed = landed;
    }

    /// Changes link `i`. Only ports change: a link with a schedule is never a [`Fifo`].
    pub fn change(&mut self, i: u16, change: Change) {
        self.with_port(i, |port, now, _| port.change(now, change));
    }

    /// Brings every link's accounts up to the `end` of the run, which happens just after the `last` moment that counts.
    pub fn settle(&mut self, last: Time, end: Time) {
        for link in &mut self.links {
            if let Kind::Fifo(fifo) = &mut link.kind {
                fifo.settle(last, &mut link.meter);
            }
            link.meter.finish(end);
        }
    }

    /// Tells the run's sink, if it wants to know.
    #[inline]
    pub fn tell_delivered(&mut self, packet: &PacketMeta, delay: Duration) {
        if self.sink.mask().has(Mask::DELIVERED) {
            let reverse = packet.flags.has(Flags::REVERSE);
            let record = Record::Delivered { flow: packet.flow, size: packet.size, reverse, delay };
            self.sink.put(self.events.now(), record);
        }
    }
}

/// Index of a link as records name it.
pub(crate) fn link_id(i: u16) -> LinkId {
    LinkId(i)
}
