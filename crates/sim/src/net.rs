//! Routing: moves packets from link to link, and schedules each link's next event.

use crate::chained::{Arrival, Books, Chained, Dropped};
use crate::codec::Bodies;
use crate::event::{Events, Target};
use crate::fifo::Offered;
use crate::inbox::Through;
use crate::link::{Carrier, Link, link_id};
use crate::queue_delays::QueueDelays;
use crate::release::{Release, direction_index};
use crate::segment_tags::SegmentTags;
use crate::tsq::Tsq;
use measure::LinkMeter;
use packet::{Flags, FlowId, FlowTable, NodeId, Packed, PacketMeta};
use port::{Carries, Change, Env, Port};
use record::{CapturedPacket, LinkEnd, Mask, Record, Sink, Subject};
use scenario::Routes;
use units::{Duration, Time};

/// The two receivers of a port's records: the link's meter, if the link has one, and the run's sink.
pub(crate) type Tap<'a, S> = (Option<&'a mut LinkMeter>, &'a mut S);

#[derive(Clone, Debug)]
pub(crate) struct Net<S> {
    pub events: Events,
    pub links: Vec<Link>,
    pub routes: Routes,
    pub bodies: Bodies,
    /// The whole segment of each packet in flight. Used only if the sink captures packets.
    pub tags: SegmentTags,
    pub flows: FlowTable,
    pub sink: S,
    /// For each flow and direction: the packets that links have dropped since the counts were last added to the
    /// connection's results. The index is `2 * slot + direction`.
    pub flow_drops: Vec<u64>,
    /// For each TCP connection, by slot, modulo 2^32: the packets that have entered the network, including copies,
    /// minus the drops that have been taken from `flow_drops`, and minus the packets that arrived after the connection
    /// had ended. If this number equals the number of packets received, none of the connection's packets is in the
    /// network.
    pub sent: Vec<u32>,
    /// The packets that reach their host together in the current event; the vector is reused.
    pub arrived: Vec<PacketMeta>,
    /// The numbers of the links that are ports.
    pub ports: Vec<u16>,
    /// The numbers of the links in chains.
    pub chained: Vec<u16>,
    /// Scheduled departures of packets from their hosts' devices, for TCP small queues.
    pub tsq: Tsq,
    /// Queueing delays of dual-queue disciplines, if they are sampled.
    pub queue_delays: Vec<QueueDelays>,
    /// The datagrams that have arrived, to recognise duplicates. `None` if no link duplicates packets.
    pub arrivals: Option<traffic::Arrivals>,
}

impl<S: Sink> Net<S> {
    #[inline]
    pub(crate) fn now(&self) -> Time {
        self.events.now()
    }

    /// Counts packets of `flow` that enter the network.
    #[inline(always)]
    pub(crate) fn count_sent(&mut self, flow: FlowId, packets: u32) {
        let sent = &mut self.sent[flow.slot()];
        *sent = sent.wrapping_add(packets);
    }

    /// Schedules the timer of one end of a connection for `deadline`, unless it is already scheduled for this time or
    /// earlier. `timer` holds the time of the timer's earliest event, and is updated.
    #[inline]
    pub(crate) fn arm(&mut self, timer: &mut Time, deadline: Time, slot: usize, side: usize) {
        if deadline < *timer {
            *timer = deadline;
            let at = deadline.max(self.now());
            self.events.push(at, Target::Timer((2 * slot + side) as u32));
        }
    }

    /// Forwards a packet from `node` towards its destination. Always inlined, so that the packet stays in registers.
    #[inline(always)]
    pub(crate) fn send(&mut self, node: NodeId, packet: PacketMeta) {
        let i = self.routes.next(node, packet.dst);
        debug_assert_ne!(i, scenario::NO_LINK, "routes are checked when the world is built");
        self.offer(i, packet);
    }

    #[inline(always)]
    fn offer(&mut self, i: u16, packet: PacketMeta) {
        let now = self.events.now();
        let link = &mut self.links[usize::from(i)];
        match &mut link.carrier {
            Carrier::Fifo(fifo) => match fifo.offer(now, packet.packed(), &mut link.meter) {
                Offered::Behind => {}
                Offered::First(at) => self.events.set_arrival(at, i),
                Offered::Full => {
                    let Packed { seq, flow_body, rest } = packet.packed();
                    self.full(seq, flow_body, rest);
                }
            },
            Carrier::Chained(_) => {
                let Packed { seq, flow_body, rest } = packet.packed();
                self.offer_chain(i, seq, flow_body, rest);
            }
            Carrier::Port { .. } => self.offer_port(i, packet),
        }
    }

    /// Offers a packet to link `i`, and to the links that follow it in its chain. The other parameters are the fields of a
    /// [`Packed`].
    #[inline(never)]
    fn offer_chain(&mut self, i: u16, seq: u64, flow_body: u64, rest: u64) {
        let now = self.events.now();
        self.pass_on(i, Arrival { at: now, since: Time::ZERO, first: false }, Packed { seq, flow_body, rest });
    }

    /// Offers a packet that arrives at link `i` to this link, and to the links that follow it in its chain.
    #[inline(always)]
    pub(crate) fn pass_on(&mut self, mut i: u16, mut at: Arrival, packed: Packed) {
        let Packed { seq, flow_body, rest } = packed;
        // bounded: each iteration goes one link further along the packet's path, or makes room for the packet
        loop {
            let Carrier::Chained(chained) = &mut self.links[usize::from(i)].carrier else {
                return self.put_inbox(i, at, seq, flow_body, rest);
            };
            if chained.is_full() {
                self.make_room(i, at.at);
                continue;
            }
            let Some((start, arrival)) = chained.offer(at, packed.size()) else {
                return self.refuse(i, at, seq, flow_body, rest);
            };
            at = arrival;
            if let Some(next) = chained.role.next {
                i = next;
            } else if chained.role.onward {
                i = self.next_hop(i, packed.dst());
            } else {
                if chained.put(start, packed) {
                    self.events.set_arrival_since(arrival.at, start, i);
                }
                return;
            }
        }
    }

    /// Returns the link over which a packet to the node `to` continues at the far end of link `i`.
    #[inline(never)]
    fn next_hop(&self, i: u16, to: NodeId) -> u16 {
        self.routes.next(self.links[usize::from(i)].to, to)
    }

    /// Calls `act` for link `i`, which must be part of a chain. The packet that is now offered to the link arrives at
    /// its queue at the time `at`. `act` also receives a time up to which all events of this link have been handled.
    fn with_chained(&mut self, i: u16, at: Time, act: impl FnOnce(&mut Chained, Time, &mut Books<'_>)) {
        let last = Time(self.now().min(at).0.saturating_sub(1));
        let Self { links, flow_drops, .. } = self;
        let Link { carrier, meter, .. } = &mut links[usize::from(i)];
        let Carrier::Chained(chained) = carrier else { return debug_assert!(false, "the link is part of a chain") };
        act(chained, last, &mut Books { meter, flow_drops });
    }

    /// Makes room in the log of link `i` for a packet that arrives at the link's queue at the time `at`.
    #[cold]
    fn make_room(&mut self, i: u16, at: Time) {
        self.with_chained(i, at, Chained::make_room);
    }

    /// Drops a packet because the queue of link `i`, a link in a chain, is full. The last parameters are the fields of the
    /// packet's [`Packed`].
    #[inline(never)]
    fn refuse(&mut self, i: u16, Arrival { at, since, first }: Arrival, seq: u64, flow_body: u64, rest: u64) {
        let packet = Packed { seq, flow_body, rest }.at(self.now());
        let dropped = Dropped { at, since, first, size: packet.size, flow: direction_index(&packet) as u32 };
        self.with_chained(i, at, |chained, last, books| chained.log_drop(dropped, last, books));
        self.bodies.free(&packet);
    }

    /// Passes a packet to the sink, if the sink captures packets.
    #[inline]
    fn capture(&mut self, i: u16, end: LinkEnd, packet: &PacketMeta) {
        if self.sink.packets() {
            let (tuple, segment) = (self.flows.get(packet.flow), self.tags.segment(packet));
            let bytes = self.tags.body(packet).and_then(|body| self.bodies.bytes_at(packet.flags, body));
            let captured = CapturedPacket { link: link_id(i), end, packet, tuple, segment, bytes };
            self.sink.packet(self.events.now(), &captured);
        }
    }

    /// Drops a packet for which a queue has no room. The parameters are the fields of a [`Packed`], so that they stay in registers.
    #[inline(never)]
    fn full(&mut self, seq: u64, flow_body: u64, rest: u64) {
        let packet = &Packed { seq, flow_body, rest }.at(self.events.now());
        self.flow_drops[direction_index(packet)] += 1;
        self.bodies.free(packet);
    }

    #[inline(never)]
    fn offer_port(&mut self, i: u16, packet: PacketMeta) {
        self.capture(i, LinkEnd::Near, &packet);
        if packet.flags.has(Flags::GSO) && self.cut(i, &packet) {
            return;
        }
        self.with_port(i, |port, now, env| port.offer(now, packet, env));
    }

    /// If link `i` splits GSO packets, offers the segments of this packet to the link one by one, and returns true.
    #[cold]
    fn cut(&mut self, i: u16, packet: &PacketMeta) -> bool {
        if !matches!(self.links[usize::from(i)].carrier, Carrier::Port { cuts: true, .. }) {
            return false;
        }
        let mut packet = *packet;
        if self.sink.packets() {
            self.tags.take(&mut packet);
        }
        let pieces = self.bodies.cut(&packet);
        self.count_sent(packet.flow, pieces.len() as u32 - 1);
        for (mut piece, segment) in pieces {
            if self.sink.packets() {
                self.tags.put(&mut piece, Some(&segment));
            }
            self.with_port(i, |port, now, env| port.offer(now, piece, env));
        }
        true
    }

    /// Calls `act` for a port, and schedules the port's next event.
    #[inline]
    fn with_port(&mut self, i: u16, act: impl FnOnce(&mut Port, Time, &mut Env<'_, Tap<'_, S>>)) {
        self.act(i, act);
        self.read_change(i);
        self.schedule(i);
    }

    /// Lets the sink read a port whose state may have changed, if the sink takes a reading at every change.
    #[inline(always)]
    fn read_change(&mut self, i: u16) {
        let of = Subject::Link(link_id(i));
        if self.sink.probes()
            && let Some(port) = self.links[usize::from(i)].carrier.port()
            && self.sink.wants(of, true)
        {
            self.sink.read(self.events.now(), of, true, port);
        }
    }

    /// Calls `act` for a port.
    #[inline(always)]
    fn act<T>(&mut self, i: u16, act: impl FnOnce(&mut Port, Time, &mut Env<'_, Tap<'_, S>>) -> T) -> Option<T> {
        let now = self.events.now();
        self.act_in_chain(i, |port, _, env| act(port, now, env))
    }

    /// Calls `act` for a port. `act` also receives the port's [`Through`], which is `None` for a port without a tail.
    #[inline(always)]
    pub(crate) fn act_in_chain<T>(
        &mut self,
        i: u16,
        act: impl FnOnce(&mut Port, &mut Option<Box<Through>>, &mut Env<'_, Tap<'_, S>>) -> T,
    ) -> Option<T> {
        let Self { links, bodies, tags, flow_drops, tsq, events, flows, sink, .. } = self;
        let tags = if sink.packets() { Some(tags) } else { None };
        let mut release = Release { bodies, tags, flow_drops, tsq, events };
        let link = &mut links[usize::from(i)];
        let Carrier::Port { port, through, .. } = &mut link.carrier else { return None };
        let mut sink = (link.meter.as_deref_mut(), sink);
        Some(act(port, through, &mut Env { flows, fate: &mut release, sink: &mut sink }))
    }

    /// Schedules a port's next events. If the port has a tail, first passes the packets that the port has dequeued on
    /// to this tail. A lazy port needs no event for its work while a packet is in flight, because the port catches up
    /// when that packet arrives.
    #[inline(always)]
    fn schedule(&mut self, i: u16) {
        let Carrier::Port { port, armed, lazy, through, .. } = &mut self.links[usize::from(i)].carrier else { return };
        if through.is_some() {
            self.enter_tail(i);
            return self.wake_through(i);
        }
        if *lazy {
            if *armed != Time::NEVER {
                return;
            }
            let at = port.arrival_at();
            if at != Time::NEVER {
                return self.arm_arrival(i, at);
            }
        }
        self.schedule_all(i);
    }

    #[inline(never)]
    fn schedule_all(&mut self, i: u16) {
        let now = self.events.now();
        let Carrier::Port { port, work, armed, .. } = &mut self.links[usize::from(i)].carrier else { return };
        let work_at = port.work_at();
        if work_at < *work {
            *work = work_at;
            self.events.push(work_at.max(now), Target::Port(i));
        }
        let arrival_at = port.arrival_at();
        // the arrival may be earlier than the arrival that is already scheduled, because packets may overtake one
        // another
        if arrival_at < *armed {
            self.arm_arrival(i, arrival_at);
        }
    }

    /// Schedules the arrival event of link `i`, a port, for the time `at`.
    #[inline]
    fn arm_arrival(&mut self, i: u16, at: Time) {
        let now = self.events.now();
        let Carrier::Port { port, armed, .. } = &mut self.links[usize::from(i)].carrier else { return };
        *armed = at;
        if let Some(left) = port.left_ahead(at).filter(|left| *left > now) {
            self.events.set_arrival_since(at, left, i);
        } else if port.is_ordered() {
            self.events.set_arrival(at, i);
        } else {
            self.events.push(at, Target::Link(i));
        }
    }

    /// Handles an event for the work of port `i`; ignores the event if the port's work is not due now.
    pub(crate) fn port_work(&mut self, i: u16) {
        let now = self.events.now();
        let Carrier::Port { work, through, .. } = &mut self.links[usize::from(i)].carrier else { return };
        if *work == now {
            *work = Time::NEVER;
            if through.is_some() {
                self.follow(i, Time(now.0 - 1));
                return self.wake_through(i);
            }
            self.with_port(i, |port, now, env| port.work(now, env));
        }
    }

    /// Handles the arrival event of link `i`. If the packet has reached its host, returns the packet and its stamp;
    /// otherwise forwards it and returns `None`. Also returns `None` if several packets arrive together, or if the link
    /// may duplicate packets: the packets for the link's far node are then in `arrived`, and the others have been
    /// forwarded.
    #[inline(always)]
    pub(crate) fn link_event(&mut self, i: u16) -> Option<(Time, Packed)> {
        let now = self.events.now();
        if !self.ports.is_empty()
            && let Carrier::Chained(last) = &self.links[usize::from(i)].carrier
            && let Some(port) = last.role.behind
            && last.is_last_arrival()
        {
            self.follow(port, Time(now.0 - 1));
        }
        let link = &mut self.links[usize::from(i)];
        let to = link.to;
        match &mut link.carrier {
            Carrier::Fifo(fifo) => {
                let (start, packet, next) = fifo.arrive(now, &mut link.meter);
                if next == Some(now) {
                    self.arrive_together(i, to, packet.at(start));
                    return None;
                }
                match next {
                    Some(at) => self.events.set_arrival(at, i),
                    None => self.events.clear_arrival(i),
                }
                if packet.dst() == to {
                    return Some((start, packet));
                }
                self.send(to, packet.at(start));
            }
            Carrier::Chained(chained) => {
                let (start, packet) = chained.arrive();
                match chained.next() {
                    Some((_, at)) if at == now => {
                        self.arrive_together(i, to, packet.at(start));
                        return None;
                    }
                    Some((start, at)) => self.events.set_arrival_since(at, start.max(now), i),
                    None => self.chain_is_empty(i),
                }
                if packet.dst() == to {
                    return Some((start, packet));
                }
                self.send(to, packet.at(start));
            }
            Carrier::Port { .. } => return self.port_arrival(i, to).map(|packet| (packet.stamp, packet.packed())),
        }
        None
    }

    /// Handles the arrival event of a link that is a port. Returns the packet if it has reached its host, as
    /// [`Self::link_event`] does.
    #[inline(never)]
    fn port_arrival(&mut self, i: u16, to: NodeId) -> Option<PacketMeta> {
        let now = self.events.now();
        let Carrier::Port { armed, work, lazy, .. } = &mut self.links[usize::from(i)].carrier else { return None };
        if *armed != now {
            return None; // an overtaken packet has two events, and the first has already delivered it
        }
        *armed = Time::NEVER;
        // a reading must not depend on whether the end of a bin has already made the port catch up
        let works = *lazy || *work <= now || self.sink.probes();
        let (packet, next) = self.act(i, |port, now, env| {
            if works {
                port.work(now, env);
            }
            (port.arrive(now), port.arrival_at())
        })?;
        self.read_change(i);
        if next <= now || self.may_duplicate(i) {
            self.arrive_together(i, to, packet?);
            return None;
        }
        if works || next == Time::NEVER {
            self.schedule_arrival(i, next);
        } else {
            self.arm_arrival(i, next);
        }
        let packet = packet?;
        self.capture(i, LinkEnd::Far, &packet);
        if packet.dst == to {
            return Some(packet);
        }
        self.send(to, packet);
        None
    }

    /// Handles in a single event all packets that reach the far end of link `i` at the same time, so no other event
    /// comes between their arrivals. (For example, 24 SYNs sent at once reach the next queue together, not one by one.)
    #[cold]
    #[inline(never)]
    fn arrive_together(&mut self, i: u16, to: NodeId, first: PacketMeta) {
        let now = self.events.now();
        let mut arrived = std::mem::take(&mut self.arrived);
        arrived.push(first);
        let link = &mut self.links[usize::from(i)];
        let next = link.carrier.arrive_all(now, &mut link.meter, &mut arrived);
        if self.may_duplicate(i) {
            self.duplicate(i, &mut arrived);
        }
        for packet in &arrived {
            self.capture(i, LinkEnd::Far, packet);
        }
        self.schedule_arrival(i, next);
        self.forward(to, arrived);
    }

    #[inline]
    fn may_duplicate(&self, i: u16) -> bool {
        self.links[usize::from(i)].carrier.port().is_some_and(Port::may_duplicate)
    }

    /// Inserts a copy behind each packet that link `i` duplicates.
    #[cold]
    fn duplicate(&mut self, i: u16, arrived: &mut Vec<PacketMeta>) {
        for packet in std::mem::take(arrived) {
            arrived.push(packet);
            if let Carrier::Port { port, .. } = &mut self.links[usize::from(i)].carrier
                && port.duplicates()
            {
                let mut original = packet;
                original.body = self.tags.body(&packet).filter(|_| self.sink.packets()).unwrap_or(packet.body);
                let mut copy = self.bodies.copy(&original);
                if self.sink.packets() {
                    self.tags.put_copy(&packet, &mut copy);
                }
                self.count_sent(packet.flow, 1);
                arrived.push(copy);
            }
        }
    }

    /// Forwards the packets for other nodes, in order, and leaves the packets for node `to` in `self.arrived`.
    fn forward(&mut self, to: NodeId, mut arrived: Vec<PacketMeta>) {
        arrived.retain(|packet| {
            let home = packet.dst == to;
            if !home {
                self.send(to, *packet);
            }
            home
        });
        self.arrived = arrived;
    }

    /// Schedules the next arrival on link `i` for the time `next`, after the previous arrival has been handled. If
    /// `next` is [`Time::NEVER`], there is no next arrival, and the link's arrival event is cleared.
    #[inline]
    fn schedule_arrival(&mut self, i: u16, next: Time) {
        let now = self.events.now();
        match &mut self.links[usize::from(i)].carrier {
            Carrier::Fifo(_) if next == Time::NEVER => self.events.clear_arrival(i),
            Carrier::Chained(_) if next == Time::NEVER => self.chain_is_empty(i),
            Carrier::Fifo(_) => self.events.set_arrival(next, i),
            Carrier::Chained(chained) => {
                let start = chained.next().map_or(now, |(start, _)| start);
                self.events.set_arrival_since(next, start.max(now), i);
            }
            Carrier::Port { .. } => {
                if next == Time::NEVER {
                    self.events.clear_arrival(i);
                }
                self.schedule(i);
            }
        }
    }

    /// Clears the arrival event of link `i`, the last link of a chain, because no packet is left on this link. If the
    /// link also ends the tail of a port, schedules the port's work.
    fn chain_is_empty(&mut self, i: u16) {
        self.events.clear_arrival(i);
        if let Some(port) = self.links[usize::from(i)].carrier.behind() {
            self.wake_through(port);
        }
    }

    /// Replaces the `Fifo` of link `i` with the newly built `port`, which takes over the packets of the `Fifo`. Before
    /// the call, all earlier events must have been handled, and the accounts must be up to date.
    pub(crate) fn replace(&mut self, i: u16, mut port: Port, cuts: bool) {
        let carrier = &mut self.links[usize::from(i)].carrier;
        let Carrier::Fifo(fifo) = carrier else { return };
        port.resume(&fifo.state(Time(self.events.now().0.saturating_sub(1))), &self.flows);
        let (lazy, mut armed) = (port.can_wait(), port.arrival_at());
        if !port.is_ordered() {
            // packets of this port may overtake one another, so arrivals have events in the heap instead of the link's single
            // arrival event
            self.events.clear_arrival(i);
            armed = Time::NEVER;
        }
        *carrier = Carrier::Port { port: Box::new(port), work: Time::NEVER, armed, lazy, cuts, through: None };
        self.ports.push(i);
        self.ports.sort_unstable();
    }

    /// Applies a scheduled change to link `i`. A link with a schedule is always a port, never a `Fifo`.
    pub(crate) fn change(&mut self, i: u16, change: Change) {
        self.with_port(i, |port, now, env| {
            port.work(now, env);
            port.change(now, change);
        });
    }

    /// Lets every port do the work that the port has postponed and that was due before the current event. Brings the
    /// accounts of chains up to the current event.
    pub(crate) fn catch_up(&mut self) {
        let (now, since) = (self.events.now(), self.events.since());
        self.catch_up_to(Time(now.0.saturating_sub(1)));
        if let Some(since) = since {
            for n in 0..self.ports.len() {
                self.follow_before(self.ports[n], now, since);
                self.free_before(self.ports[n], now, since);
            }
        }
        let Self { links, chained, flow_drops, .. } = self;
        for i in chained {
            let Link { carrier, meter, .. } = &mut links[usize::from(*i)];
            if let Carrier::Chained(chained) = carrier {
                chained.settle_before(now, since, &mut Books { meter, flow_drops });
            }
        }
    }

    /// Lets a lazy port that becomes free at `now` send its next packet, if an event for the port's work would precede
    /// the current event, which was scheduled at `since`. (A lazy port has no event for its work while a packet is in
    /// flight.)
    fn free_before(&mut self, i: u16, now: Time, since: Time) {
        let Carrier::Port { port, lazy: true, .. } = &self.links[usize::from(i)].carrier else { return };
        if port.is_free_before(now, since) {
            self.act(i, |port, now, env| port.work(now, env));
            self.schedule(i);
        }
    }

    /// Samples the queueing delays of dual-queue disciplines, if requested. All events before `now` must have been handled.
    pub(crate) fn sample_queue_delays(&mut self, now: Time) {
        let links = &self.links;
        let port = |of: &QueueDelays| links[usize::from(of.link)].carrier.port();
        self.queue_delays.retain_mut(|of| port(of).is_some_and(|port| of.sample(now, port)));
    }

    fn catch_up_to(&mut self, last: Time) {
        for n in 0..self.ports.len() {
            let i = self.ports[n];
            self.follow(i, last);
            // the catch-up is not an event of the link, so there is no change for probes to read
            self.act(i, |port, _, env| port.catch_up(last, env));
            self.schedule(i);
        }
    }

    /// Updates the accounts of every link up to and including the time `last`.
    pub(crate) fn catch_up_accounts(&mut self, last: Time) {
        self.catch_up_to(last);
        let Self { links, flow_drops, .. } = self;
        for Link { carrier, meter, .. } in links {
            carrier.catch_up(last, &mut Books { meter, flow_drops });
        }
    }

    /// Closes the accounts of every link. `end` is the end of the run, and `last` is the last nanosecond before the
    /// end.
    pub(crate) fn finish(&mut self, last: Time, end: Time) {
        self.catch_up_accounts(last);
        self.links.iter_mut().for_each(|link| link.finish(end));
    }

    /// Ends the warm-up: the counts of all links start again at the time `now`.
    pub(crate) fn begin(&mut self, now: Time) {
        self.catch_up_accounts(Time(now.0 - 1));
        self.links.iter_mut().for_each(|link| link.begin(now));
    }

    /// Records a delivery, if the sink's mask includes it.
    #[inline]
    pub(crate) fn record_delivered(&mut self, packet: &PacketMeta, delay: Duration) {
        if self.sink.mask().has(Mask::DELIVERED) {
            self.sink.put(self.events.now(), Record::Delivered { packet: packet.into(), delay });
        }
    }
}
