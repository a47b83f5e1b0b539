//! The machine.

use crate::env::{Env, Fates, PortCounters};
use crate::flight::Flight;
use crate::server::{Serve, Server, Taken};
use crate::{Change, PortSpec};
use packet::{Backlog, DropReason, FateSink, Flags, LinkView, PacketMeta, Point, Reading};
use qdisc::{ClassProbe, Count, Cx, Queue, QueueDiscipline};
use record::{LinkId, Mask, Probed, Record, Sink};
use units::{BitRate, Problem, Rng, Time};

/// What a port does next by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The link is free: ask the queue.
    Free,
    /// The server's own clock.
    Tick,
    /// The discipline's timer.
    Wake,
    /// The transmit queue may have room.
    Room,
}

/// One bottleneck. See the crate's documentation for the calls and their order.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    link: LinkId,
    /// Up to here everything has been done.
    now: Time,
    queue: Queue,
    server: Server,
    rate: Option<BitRate>,
    flight: Flight,
    /// The link asked for a packet and got none; otherwise it asks at `free_at`.
    idle: bool,
    free_at: Time,
    transmit_dropped: Count,
    queue_rng: Rng,
    mac_rng: Rng,
}

impl Port {
    /// A port at rest.
    ///
    /// Its random streams are named `{name}.queue`, `{name}.loss`, `{name}.jitter`, `{name}.lateness` and
    /// `{name}.mac` under `seed`.
    ///
    /// Errors: what [`PortSpec::validate`] finds; a queue whose law is from outside and has not been brought.
    pub fn build(spec: &PortSpec, link: LinkId, seed: u64, name: &str) -> Result<Self, Problem> {
        spec.validate()?;
        spec.queue.ready().map_err(|p| p.under("queue"))?;
        let stream = |part: &str| Rng::named(seed, &format!("{name}.{part}"));
        Ok(Self {
            link,
            now: Time::ZERO,
            queue: Queue::new(spec.queue.build()),
            server: Server::new(spec),
            rate: spec.rate,
            flight: Flight::new(spec, stream),
            idle: true,
            free_at: Time::ZERO,
            transmit_dropped: Count::default(),
            queue_rng: stream("queue"),
            mac_rng: stream("mac"),
        })
    }

    /// A packet arrives at the queue. Afterwards [`Port::deadline`] is up to date.
    #[inline]
    pub fn offer<S: Sink>(&mut self, now: Time, packet: PacketMeta, env: &mut Env<'_, S>) {
        self.run(now, self.server.is_plain(), env);
        let view = self.link_view(now);
        let mut fates = Fates { now, link: self.link, env };
        let mut cx = Cx { now, rng: &mut self.queue_rng, link: &view, flows: fates.env.flows, fate: &mut fates };
        let kept = self.queue.enqueue(packet, &mut cx);
        if kept {
            let (link, backlog) = (self.link, self.queue.backlog());
            env.put(now, Mask::ENQUEUED, || Record::Enqueued {
                link,
                flow: packet.flow,
                reverse: packet.flags.has(Flags::REVERSE),
                seq: packet.seq,
                size: packet.size,
                backlog_packets: backlog.packets,
                backlog_bytes: backlog.bytes,
            });
        }
        if self.idle {
            self.serve(now, env);
        }
    }

    /// Does everything that is due by `now`, in the order of time, and gives out the packets that have reached the far end,
    /// `stamp` being the moment of their arrival.
    #[inline]
    pub fn poll<S: Sink>(&mut self, now: Time, env: &mut Env<'_, S>, out: &mut impl FnMut(PacketMeta)) {
        self.work(now, env);
        while let Some(packet) = self.flight.arrive(now) {
            out(packet);
        }
        debug_assert!(self.balances(), "the port's books do not balance: {:?}", self.counters());
    }

    /// Does everything that is due by `now`, in the order of time, and gives nothing out.
    #[inline]
    pub fn work<S: Sink>(&mut self, now: Time, env: &mut Env<'_, S>) {
        self.run(now, true, env);
    }

    /// The same as [`Port::work`], if the port is not beyond `last` already.
    #[inline]
    pub fn catch_up<S: Sink>(&mut self, last: Time, env: &mut Env<'_, S>) {
        if last > self.now {
            self.run(last, true, env);
        }
    }

    /// When [`Port::poll`] next has something to do; [`Time::NEVER`] if idle.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.work_at().min(self.arrival_at())
    }

    /// When the next packet reaches the far end.
    #[inline]
    pub fn arrival_at(&self) -> Time {
        self.flight.arrival_at()
    }

    /// When [`Port::work`] next has something to do.
    #[inline]
    pub fn work_at(&self) -> Time {
        let (time, step) = self.next_step();
        // a free link with nothing to send needs no event: the question is put, at its own time, before the next arrival
        let silent = step == Step::Free && self.queue.backlog().packets == 0 && !self.server.holds();
        if silent { self.next_but_free().0 } else { time }
    }

    /// Whether what [`Port::work`] has to do can wait for the next offer, arrival or change: nobody would see it before.
    ///
    /// On a plain link that keeps the order of packets whatever leaves later arrives later, too. So with a packet on its
    /// way, everything due before its arrival can be done then, each thing at its own moment.
    #[inline]
    pub fn can_wait(&self) -> bool {
        self.server.is_plain() && self.flight.keeps_order()
    }

    /// Changes the link from `now` on. The host has polled up to `now`, and has checked [`Change::validate`].
    pub fn change(&mut self, now: Time, change: Change) {
        if let Some(rate) = change.rate {
            self.rate = Some(rate);
        }
        self.flight.change(&change);
        if let Some(free_at) = self.server.change(now, &change)
            && !self.idle
        {
            self.free_at = free_at;
        }
        if self.idle && self.queue.backlog().packets > 0 {
            // a stopped link may go again: it asks in the next poll
            self.idle = false;
            self.free_at = now;
        }
    }

    /// What became of the packets so far.
    pub fn counters(&self) -> PortCounters {
        PortCounters {
            queue: *self.queue.counters(),
            transmit_dropped: self.transmit_dropped,
            lost: self.flight.lost,
            departed: self.flight.departed,
            delivered: self.flight.delivered,
        }
    }

    /// The managed queue, for probes.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// What became of each class's packets; empty for a discipline without classes.
    pub fn classes(&self) -> Vec<ClassProbe<'_>> {
        self.queue.discipline().classes()
    }

    /// Packets and bytes in the managed queue.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    /// Packets and bytes in the modem's transmit queue whose transmission has not begun by `now`.
    pub fn transmit_backlog(&self, now: Time) -> Backlog {
        self.server.transmit_backlog(now)
    }

    /// The link as the discipline sees it.
    #[inline]
    pub fn link_view(&self, now: Time) -> LinkView {
        self.server.view(now, self.rate)
    }

    /// What comes next, and when. Of equal times the earlier variant of [`Step`] comes first.
    #[inline]
    fn next_step(&self) -> (Time, Step) {
        let free = if self.idle { Time::NEVER } else { self.free_at };
        let other = self.next_but_free();
        if free <= other.0 { (free, Step::Free) } else { other }
    }

    #[inline]
    fn next_but_free(&self) -> (Time, Step) {
        let wake = self.queue.next_wake().unwrap_or(Time::NEVER);
        let tick = self.server.next();
        let next = if tick <= wake { (tick, Step::Tick) } else { (wake, Step::Wake) };
        if self.idle && self.queue.backlog().packets > 0 && self.server.room_at() < next.0 {
            return (self.server.room_at(), Step::Room);
        }
        next
    }

    /// Does what is due before `now`, or also at `now` if `inclusive`.
    ///
    /// Bound: each step serves a packet, finds the queue empty, or advances a clock (MAP, timer).
    #[inline]
    fn run<S: Sink>(&mut self, now: Time, inclusive: bool, env: &mut Env<'_, S>) {
        assert!(now >= self.now, "time goes back: {now} after {}", self.now);
        self.now = now;
        loop {
            let (time, step) = self.next_step();
            if time == Time::NEVER || time > now || (time == now && !inclusive) {
                return;
            }
            match step {
                Step::Free => self.free(time, env),
                Step::Tick => self.tick(time, env),
                Step::Wake => self.wake(time, env),
                Step::Room => self.serve(time, env),
            }
        }
    }

    /// The link has become free at `now`: what was held goes on, and the next packet is asked for.
    #[inline]
    fn free<S: Sink>(&mut self, now: Time, env: &mut Env<'_, S>) {
        if let Err(packet) = self.server.freed(now) {
            self.transmit_dropped.add(&packet);
            Fates { now, link: self.link, env }.dropped(&packet, DropReason::TransmitQueueFull, Point::Enqueue);
        }
        self.serve(now, env);
    }

    /// A free link takes the next packet, if there is one and nothing holds it back.
    #[inline]
    fn serve<S: Sink>(&mut self, now: Time, env: &mut Env<'_, S>) {
        // bound: a turn that does not return takes a packet out of the queue (an infinite rate empties it)
        loop {
            let held_back = self.server.holds_back(now, self.rate, self.queue.backlog());
            let packet = if held_back { None } else { self.dequeue(now, env) };
            let Some(packet) = packet else {
                self.idle = true;
                return;
            };
            self.free_at = match self.server.take(now, &packet, self.rate) {
                Taken::Gone => {
                    self.flight.depart(now, self.link, packet, now, env);
                    continue;
                }
                Taken::Sent { end, free_at } => {
                    self.flight.depart(now, self.link, packet, end, env);
                    free_at
                }
                Taken::Held { free_at } => {
                    self.server.hold(packet);
                    free_at
                }
            };
            self.idle = false;
            return;
        }
    }

    #[inline]
    fn dequeue<S: Sink>(&mut self, now: Time, env: &mut Env<'_, S>) -> Option<PacketMeta> {
        let view = self.link_view(now);
        let mut fates = Fates { now, link: self.link, env };
        let mut cx = Cx { now, rng: &mut self.queue_rng, link: &view, flows: fates.env.flows, fate: &mut fates };
        let packet = self.queue.dequeue(&mut cx)?;
        let (link, backlog) = (self.link, self.queue.backlog());
        env.put(now, Mask::DEQUEUED, || Record::Dequeued {
            link,
            flow: packet.flow,
            reverse: packet.flags.has(Flags::REVERSE),
            seq: packet.seq,
            size: packet.size,
            backlog_packets: backlog.packets,
            sojourn: now.since(packet.stamp),
        });
        Some(packet)
    }

    fn wake<S: Sink>(&mut self, now: Time, env: &mut Env<'_, S>) {
        let view = self.link_view(now);
        let mut fates = Fates { now, link: self.link, env };
        let mut cx = Cx { now, rng: &mut self.queue_rng, link: &view, flows: fates.env.flows, fate: &mut fates };
        self.queue.wake(&mut cx);
        if self.idle {
            self.serve(now, env);
        }
    }

    /// The server's own clock: a MAP, or a grant.
    fn tick<S: Sink>(&mut self, now: Time, env: &mut Env<'_, S>) {
        let (flight, link, waiting) = (&mut self.flight, self.link, self.queue.backlog().bytes);
        let depart = &mut |packet, end| flight.depart(now, link, packet, end, env);
        if self.server.tick(now, waiting, &mut self.mac_rng, depart) {
            let packet = self.dequeue(now, env);
            if let Some((packet, end)) = self.server.given(now, packet) {
                self.flight.depart(now, link, packet, end, env);
            }
        }
    }

    /// Every packet that left the queue is somewhere.
    fn balances(&self) -> bool {
        let inside = self.server.inside() as u64;
        let left = self.queue.counters().delivered.packets;
        let Flight { lost, departed, delivered, .. } = &self.flight;
        left == inside + self.transmit_dropped.packets + lost.packets + departed.packets
            && departed.packets == self.flight.len() as u64 + delivered.packets
    }
}

impl Probed for Port {
    /// What waits, what became of packets so far, and the link that the law sees.
    fn around(&self, out: &mut Reading<'_>) {
        let (backlog, counters, view) = (self.backlog(), self.counters(), self.link_view(out.now()));
        let dropped =
            counters.queue.dropped_total().packets + counters.transmit_dropped.packets + counters.lost.packets;
        out.packets("backlog", backlog.packets.into());
        out.bytes("backlog", backlog.bytes);
        out.packets("offered", counters.queue.offered.packets);
        out.packets("delivered", counters.delivered.packets);
        out.packets("dropped", dropped);
        out.packets("marked", counters.queue.marked.iter().flatten().sum());
        out.rate("rate", self.rate.map(|_| view.rate.0 as f64));
        out.bytes("tokens", view.tokens.0);
        out.packets("transmit_backlog", self.transmit_backlog(out.now()).packets.into());
    }

    fn own(&self, out: &mut Reading<'_>) {
        self.queue.discipline().probe(out);
    }
}
