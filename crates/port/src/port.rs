//! The machine.

use crate::htb::Htb;
use crate::{Change, Lateness, PortSpec, Service, Shaper};
use docsis::{GrantedLink, Mac, Model, Next, TokenBucket};
use packet::{Backlog, DropReason, FateSink, FlowTable, LinkView, MarkReason, PacketMeta, Point};
use qdisc::{ClassProbe, Count, Counters, Cx, Queue, QueueDiscipline};
use record::{LinkId, Mask, Record, Sink};
use std::collections::VecDeque;
use units::{BitRate, Duration, Problem, Rng, Time};

/// A rate that no packet waits for.
const INFINITE: BitRate = BitRate(u64::MAX);

/// What a port borrows from its host on every call.
pub struct Env<'a, S> {
    /// 5-tuples, for classifiers.
    pub flows: &'a FlowTable,
    /// Frees what dropped packets owned.
    pub fate: &'a mut dyn FateSink,
    /// Takes the records that its mask asks for.
    pub sink: &'a mut S,
}

impl<S: Sink> Env<'_, S> {
    #[inline]
    fn put(&mut self, now: Time, kind: Mask, record: impl FnOnce() -> Record) {
        if self.sink.mask().has(kind) {
            self.sink.put(now, record());
        }
    }
}

/// Turns fates into records on their way to the host.
struct Fates<'a, 'b, S> {
    now: Time,
    link: LinkId,
    env: &'a mut Env<'b, S>,
}

impl<S: Sink> FateSink for Fates<'_, '_, S> {
    fn dropped(&mut self, p: &PacketMeta, reason: DropReason, point: Point) {
        let (link, flow, size) = (self.link, p.flow, p.size);
        self.env.put(self.now, Mask::DROPPED, || Record::Dropped { link, flow, size, reason, point });
        self.env.fate.dropped(p, reason, point);
    }
    fn marked(&mut self, p: &PacketMeta, reason: MarkReason, point: Point) {
        let (link, flow) = (self.link, p.flow);
        self.env.put(self.now, Mask::MARKED, || Record::Marked { link, flow, reason, point });
        self.env.fate.marked(p, reason, point);
    }
}

/// What became of every packet offered to a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// The queue's own counters.
    pub queue: Counters,
    /// Dropped because the modem's transmit queue was full.
    pub transmit_dropped: Count,
    /// Lost by the link.
    pub lost: Count,
    /// Sent towards the far end (a modem counts a packet when it is granted).
    pub departed: Count,
    /// Arrived at the far end.
    pub delivered: Count,
}

/// What takes packets from the queue.
#[derive(Clone, Debug, PartialEq)]
enum Server {
    Plain,
    Shaper(TokenBucket),
    /// The buckets, and when the interface behind them has sent what it was given.
    Htb(Htb, Time),
    /// The packet that the bucket lets pass next, and the transmit queue behind it.
    Modem {
        bucket: TokenBucket,
        held: Option<PacketMeta>,
        mac: Box<Mac>,
    },
    Granted(Box<GrantedLink>),
}

/// What a port does next by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The link is free: ask the queue.
    Free,
    /// The modem's turn.
    Modem,
    /// The discipline's timer.
    Wake,
    /// The transmit queue may have room.
    Room,
}

/// The link behind the server: random loss, then propagation, which takes `delay` and, drawn anew for each packet, a time
/// that is uniform over the whole nanoseconds of [0, `jitter`], and one of the distribution `lateness`.
#[derive(Clone, Debug, PartialEq)]
struct Flight {
    delay: Duration,
    jitter: Duration,
    lateness: Option<Lateness>,
    reorder: bool,
    loss: f64,
    /// Numbers of packets still to be lost, the next one last.
    lose: Vec<u64>,
    loss_rng: Rng,
    jitter_rng: Rng,
    lateness_rng: Rng,
    /// On their way to the far end in the order of arrival there, `stamp` being its moment.
    ring: VecDeque<PacketMeta>,
    last_arrival: Time,
    lost: Count,
    departed: Count,
    delivered: Count,
}

impl Flight {
    /// The last bit of `packet` leaves at `end` (known at `now`): it is lost, or on its way.
    #[inline]
    fn depart<S: Sink>(&mut self, now: Time, link: LinkId, mut packet: PacketMeta, end: Time, env: &mut Env<'_, S>) {
        let by_chance = self.loss_rng.chance(self.loss);
        if by_chance || !self.lose.is_empty() && self.chosen() {
            self.lost.add(&packet);
            return Fates { now, link, env }.dropped(&packet, DropReason::LinkLoss, Point::Dequeue);
        }
        self.departed.add(&packet);
        let mut arrival = end + self.delay;
        if !self.jitter.is_zero() {
            arrival += Duration(self.jitter_rng.below(self.jitter.0.saturating_add(1)));
        }
        if let Some(lateness) = &self.lateness {
            arrival += lateness.at(self.lateness_rng.unit());
        }
        if self.reorder && arrival < self.last_arrival {
            return self.overtake(packet, arrival);
        }
        self.last_arrival = self.last_arrival.max(arrival);
        packet.stamp = self.last_arrival;
        self.ring.push_back(packet);
    }

    /// Whether the packet that leaves now is one of those to be lost; those before it have departed or been lost.
    #[cold]
    fn chosen(&mut self) -> bool {
        let number = self.departed.packets + self.lost.packets + 1;
        // bounded: each turn takes one off the list
        while self.lose.pop_if(|next| *next < number).is_some() {}
        self.lose.pop_if(|next| *next == number).is_some()
    }

    /// `packet` arrives before some that were sent before it, and behind those of the same moment.
    ///
    /// Bound: as many turns as it overtakes packets.
    #[cold]
    fn overtake(&mut self, mut packet: PacketMeta, arrival: Time) {
        packet.stamp = arrival;
        let overtaken = self.ring.iter().rev().take_while(|p| p.stamp > arrival).count();
        self.ring.insert(self.ring.len() - overtaken, packet);
    }

    /// The next packet that has arrived by `now`.
    #[inline]
    fn arrive(&mut self, now: Time) -> Option<PacketMeta> {
        let packet = self.ring.pop_front_if(|p| p.stamp <= now)?;
        self.delivered.add(&packet);
        Some(packet)
    }
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
        let server = match &spec.service {
            Service::Plain => Server::Plain,
            Service::Shaper(Shaper::TokenBucket(p)) => Server::Shaper(TokenBucket::new(p)),
            Service::Shaper(Shaper::Htb(p)) => Server::Htb(Htb::new(p, spec.rate), Time::ZERO),
            Service::Docsis(p) => match p.model {
                Model::TwoQueue2012 => {
                    let mac = Box::new(Mac::new(p, spec.rate));
                    Server::Modem { bucket: TokenBucket::new(&p.flow), held: None, mac }
                }
                Model::DocsisLink2013 => Server::Granted(Box::new(GrantedLink::new(p, spec.rate))),
            },
        };
        let stream = |part: &str| Rng::named(seed, &format!("{name}.{part}"));
        Ok(Self {
            link,
            now: Time::ZERO,
            queue: Queue::new(spec.queue.build()),
            server,
            rate: spec.rate,
            flight: Flight {
                delay: spec.delay,
                jitter: spec.jitter,
                lateness: spec.lateness,
                reorder: spec.reorder,
                loss: spec.loss.get(),
                lose: spec.lose.iter().rev().copied().collect(),
                loss_rng: stream("loss"),
                jitter_rng: stream("jitter"),
                lateness_rng: stream("lateness"),
                ring: VecDeque::new(),
                last_arrival: Time::ZERO,
                lost: Count::default(),
                departed: Count::default(),
                delivered: Count::default(),
            },
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
        self.run(now, self.server == Server::Plain, env);
        let view = self.link_view(now);
        let mut fates = Fates { now, link: self.link, env };
        let mut cx = Cx { now, rng: &mut self.queue_rng, link: &view, flows: fates.env.flows, fate: &mut fates };
        let kept = self.queue.enqueue(packet, &mut cx);
        if kept {
            let (link, backlog) = (self.link, self.queue.backlog());
            env.put(now, Mask::ENQUEUED, || Record::Enqueued {
                link,
                flow: packet.flow,
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
        self.flight.ring.front().map_or(Time::NEVER, |p| p.stamp)
    }

    /// When [`Port::work`] next has something to do.
    #[inline]
    pub fn work_at(&self) -> Time {
        let (time, step) = self.next_step();
        // a free link with nothing to send needs no event: the question is put, at its own time, before the next arrival
        let silent = step == Step::Free && self.queue.backlog().packets == 0 && self.held().is_none();
        if silent { self.next_but_free().0 } else { time }
    }

    /// Whether what [`Port::work`] has to do can wait for the next offer, arrival or change: nobody would see it before.
    ///
    /// On a plain link that keeps the order of packets whatever leaves later arrives later, too. So with a packet on its
    /// way, everything due before its arrival can be done then, each thing at its own moment.
    #[inline]
    pub fn can_wait(&self) -> bool {
        self.server == Server::Plain && !self.flight.reorder && !self.flight.ring.is_empty()
    }

    /// Changes the link from `now` on. The host has polled up to `now`, and has checked [`Change::validate`].
    pub fn change(&mut self, now: Time, change: Change) {
        if let Some(rate) = change.rate {
            self.rate = Some(rate);
        }
        self.flight.delay = change.delay.unwrap_or(self.flight.delay);
        self.flight.jitter = change.jitter.unwrap_or(self.flight.jitter);
        self.flight.loss = change.loss.map_or(self.flight.loss, units::Prob::get);
        let (msr, peak) = (change.max_sustained_rate, change.peak_traffic_rate);
        match &mut self.server {
            Server::Plain => {}
            Server::Shaper(bucket) => bucket.set_rates(now, msr, peak),
            Server::Htb(htb, sent) => {
                let rate = change.rate.filter(|_| htb.follows_link()).or(msr);
                let next = htb.set_rates(now, rate, peak);
                if !self.idle {
                    self.free_at = next.max(*sent);
                }
            }
            Server::Modem { bucket, mac, .. } => {
                bucket.set_rates(now, msr, peak);
                change.rate.into_iter().for_each(|r| mac.set_rate(r));
                change.max_grant.into_iter().for_each(|g| mac.set_max_grant(g));
            }
            Server::Granted(g) => {
                g.set_rates(now, msr, peak);
                change.rate.into_iter().for_each(|r| g.set_rate(r));
                change.max_grant.into_iter().for_each(|m| g.set_max_grant(m));
            }
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
        match &self.server {
            Server::Modem { mac, .. } => mac.backlog(now),
            _ => Backlog::default(),
        }
    }

    /// The link as the discipline sees it.
    #[inline]
    pub fn link_view(&self, now: Time) -> LinkView {
        let channel = self.rate.unwrap_or(INFINITE);
        let shaped = |bucket: &TokenBucket, downstream_delay: Duration| LinkView {
            rate: bucket.rate(),
            peak_rate: bucket.peak_rate().unwrap_or(channel),
            tokens: bucket.tokens(now),
            downstream_delay,
        };
        match &self.server {
            Server::Plain => LinkView::plain(channel),
            Server::Shaper(bucket) => shaped(bucket, Duration::ZERO),
            Server::Htb(htb, _) if htb.ceil() == htb.rate() => LinkView::plain(htb.rate()),
            Server::Htb(htb, _) => LinkView {
                rate: htb.rate(),
                peak_rate: htb.ceil(),
                tokens: htb.tokens(now),
                downstream_delay: Duration::ZERO,
            },
            Server::Modem { bucket, mac, .. } => shaped(bucket, mac.expected_wait(now)),
            Server::Granted(g) => LinkView {
                rate: g.sustained_rate(),
                peak_rate: g.peak_rate(),
                tokens: g.tokens(now),
                downstream_delay: Duration::ZERO,
            },
        }
    }

    fn held(&self) -> Option<&PacketMeta> {
        match &self.server {
            Server::Modem { held, .. } => held.as_ref(),
            _ => None,
        }
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
        let modem = match &self.server {
            Server::Plain | Server::Shaper(_) | Server::Htb(..) => Time::NEVER,
            Server::Modem { mac, .. } => mac.next_map(),
            Server::Granted(g) => g.deadline(),
        };
        let mut next = if modem <= wake { (modem, Step::Modem) } else { (wake, Step::Wake) };
        if let Server::Modem { mac, .. } = &self.server
            && self.idle
            && self.queue.backlog().packets > 0
            && mac.room_at() < next.0
        {
            next = (mac.room_at(), Step::Room);
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
                Step::Modem => self.modem(time, env),
                Step::Wake => self.wake(time, env),
                Step::Room => self.serve(time, env),
            }
        }
    }

    /// The link has become free at `now`: what the bucket let pass enters the transmit queue, and the next packet is asked for.
    #[inline]
    fn free<S: Sink>(&mut self, now: Time, env: &mut Env<'_, S>) {
        if let Server::Modem { held, mac, .. } = &mut self.server
            && let Some(packet) = held.take()
            && let Err(packet) = mac.push(now, packet)
        {
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
            let held_back = match &mut self.server {
                Server::Plain => self.rate == Some(BitRate(0)),
                Server::Shaper(_) => false,
                // it knows how much waits in its class, and does not ask an empty one
                Server::Htb(..) => self.queue.backlog().packets == 0,
                Server::Modem { mac, .. } => mac.holds_back(now),
                Server::Granted(g) => {
                    if self.queue.backlog().packets > 0 {
                        g.notify(now);
                    }
                    true
                }
            };
            let packet = if held_back { None } else { self.dequeue(now, env) };
            let Some(packet) = packet else {
                self.idle = true;
                return;
            };
            let serialize = self.rate.map_or(Duration::ZERO, |r| r.time_for(packet.bytes()));
            match &mut self.server {
                Server::Plain => {
                    self.free_at = now + serialize;
                    self.flight.depart(now, self.link, packet, self.free_at, env);
                    if self.rate.is_none() {
                        continue;
                    }
                }
                Server::Shaper(bucket) => {
                    self.free_at = now + serialize + bucket.take(now, packet.bytes());
                    self.flight.depart(now, self.link, packet, self.free_at, env);
                }
                Server::Htb(htb, sent) => {
                    *sent = now + htb.serialize(self.rate, packet.bytes());
                    self.free_at = (now + htb.charge(now, packet.bytes())).max(*sent);
                    self.flight.depart(now, self.link, packet, *sent, env);
                }
                Server::Modem { bucket, held, .. } => {
                    self.free_at = now + bucket.take(now, packet.bytes());
                    *held = Some(packet);
                }
                Server::Granted(_) => unreachable!("it asks for itself"),
            }
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

    /// The modem's MAP, or its grant.
    fn modem<S: Sink>(&mut self, now: Time, env: &mut Env<'_, S>) {
        match &mut self.server {
            Server::Modem { mac, .. } => {
                let (flight, link) = (&mut self.flight, self.link);
                mac.map(now, &mut self.mac_rng, |packet, end| flight.depart(now, link, packet, end, env));
            }
            Server::Granted(g) => {
                let mut next = g.advance(now, self.queue.backlog().bytes, &mut self.mac_rng);
                if next == Next::Dequeue {
                    let packet = self.dequeue(now, env);
                    if let Server::Granted(g) = &mut self.server {
                        next = g.send(now, packet);
                    }
                }
                if let Next::Depart(packet, end) = next {
                    self.flight.depart(now, self.link, packet, end, env);
                }
            }
            Server::Plain | Server::Shaper(_) | Server::Htb(..) => {}
        }
    }

    /// Every packet that left the queue is somewhere.
    fn balances(&self) -> bool {
        let inside = match &self.server {
            Server::Plain | Server::Shaper(_) | Server::Htb(..) => 0,
            Server::Modem { held, mac, .. } => mac.queued() + usize::from(held.is_some()),
            Server::Granted(g) => usize::from(g.fragment().is_some()),
        } as u64;
        let left = self.queue.counters().delivered.packets;
        let Flight { ring, lost, departed, delivered, .. } = &self.flight;
        left == inside + self.transmit_dropped.packets + lost.packets + departed.packets
            && departed.packets == ring.len() as u64 + delivered.packets
    }
}
