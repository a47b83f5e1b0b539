//! Drives the queue, the server and the packets in flight of a port, in time order.
//!
//! The code is generic over the server, so that the code for a plain link contains no branches for other servers.

use crate::env::{Env, Recorder};
use crate::propagation::Propagation;
use crate::server::{Freed, Reported, Request, Serializer, Server, Taken};
use packet::{Count, DropReason, FateSink, PacketMeta, Point, ServiceFlow};
use qdisc::{Context, Queue};
use record::{LinkId, Mask, Record, Sink};
use units::{BitRate, Rng, Time};

/// A step that falls due on the port's own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The link becomes free and requests a packet from the queue.
    Free,
    /// The server's own clock is due ([`Server::next`]), for example for a MAP or an opportunity.
    Tick,
    /// The discipline's timer is due.
    Wake,
    /// The transmit queue may have room again.
    Room,
}

/// Everything in a port except its server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Egress {
    pub link: LinkId,
    /// Time up to which all work has been done.
    pub now: Time,
    pub queue: Queue,
    pub rate: Option<BitRate>,
    pub propagation: Propagation,
    /// True if the last request to the queue returned no packet, or if no request was made because the server holds the
    /// packets back. If false, the link becomes free at `free_at`, and then makes the next request.
    pub idle: bool,
    pub free_at: Time,
    /// The next step and its time, as [`Egress::next_step`] returned them after the last call that may have changed them.
    pub due: (Time, Step),
    /// Time at which the last packet was taken from the queue. Not set if packets take no time, or if the server takes
    /// packets at its own times.
    pub served_at: Time,
    pub transmit_dropped: Count,
    pub queue_rng: Rng,
    pub mac_rng: Rng,
}

impl Egress {
    /// Enqueues an arriving packet.
    #[inline]
    pub(crate) fn offer<V: Serializer, S: Sink>(
        &mut self,
        server: &mut V,
        now: Time,
        packet: PacketMeta,
        env: &mut Env<'_, S>,
    ) {
        self.run(server, now, server.departs_first(), env);
        let kept = self.with_queue(server, now, env, |queue, context| queue.enqueue(packet, context));
        if kept {
            let (link, backlog) = (self.link, self.queue.backlog());
            env.put(now, Mask::ENQUEUED, || Record::Enqueued {
                link,
                packet: (&packet).into(),
                backlog_packets: backlog.packets,
                backlog_bytes: backlog.bytes,
            });
        }
        if self.idle {
            self.serve(server, now, env);
        }
        self.due = self.next_step(server);
    }

    /// Calls `act` with the queue and the [`Context`] that the queue's methods require.
    #[inline]
    fn with_queue<S: Sink, T>(
        &mut self,
        server: &mut impl Serializer,
        now: Time,
        env: &mut Env<'_, S>,
        act: impl FnOnce(&mut Queue, &mut Context<'_>) -> T,
    ) -> T {
        let (view, flows) = (server.view(now, self.rate), env.flows);
        let mut fates = Reported { server: server.as_server_mut(), now, fates: Recorder { now, link: self.link, env } };
        act(&mut self.queue, &mut Context { now, rng: &mut self.queue_rng, link: &view, flows, fate: &mut fates })
    }

    /// Returns the next step and its time. At equal times the earlier variant of [`Step`] comes first.
    #[inline]
    pub(crate) fn next_step(&self, server: &impl Serializer) -> (Time, Step) {
        let free = if self.idle { Time::NEVER } else { self.free_at };
        let other = self.next_timed_step(server);
        if free <= other.0 { (free, Step::Free) } else { other }
    }

    /// Returns the next step other than [`Step::Free`].
    #[inline]
    pub(crate) fn next_timed_step(&self, server: &impl Serializer) -> (Time, Step) {
        let wake = self.queue.next_wake().unwrap_or(Time::NEVER);
        let tick = server.as_server().map_or(Time::NEVER, Server::next);
        let next = if tick <= wake { (tick, Step::Tick) } else { (wake, Step::Wake) };
        let room_at = server.as_server().map_or(Time::NEVER, Server::room_at);
        if self.idle && self.queue.backlog().packets > 0 && room_at < next.0 { (room_at, Step::Room) } else { next }
    }

    /// Does the work due before `now`; with `inclusive`, also the work due at `now`.
    ///
    /// Bound: each step serves a packet, finds the queue empty, or moves on to a later event of the server (such as a
    /// MAP) or a later timer of the discipline.
    #[inline]
    pub(crate) fn run<S: Sink>(
        &mut self,
        server: &mut impl Serializer,
        now: Time,
        inclusive: bool,
        env: &mut Env<'_, S>,
    ) {
        assert!(now >= self.now, "time goes back: {now} after {}", self.now);
        debug_assert_eq!(self.due, self.next_step(server), "a call has not updated the next step");
        self.now = now;
        loop {
            let (time, step) = self.due;
            if time == Time::NEVER || time > now || (time == now && !inclusive) {
                return;
            }
            match step {
                Step::Free => self.free(server, time, env),
                Step::Tick => self.tick(server, time, env),
                Step::Wake => self.wake(server, time, env),
                Step::Room => self.serve(server, time, env),
            }
            self.due = self.next_step(server);
        }
    }

    /// Handles the link becoming free at `now`. If the server held a packet, the packet leaves, or enters the modem's transmit
    /// queue, or is dropped because that queue is full. Then the link requests the next packet.
    #[inline]
    fn free<S: Sink>(&mut self, server: &mut impl Serializer, now: Time, env: &mut Env<'_, S>) {
        match server.as_server_mut().map(|server| server.free(now)) {
            Some(Freed::Sent(packet)) => self.propagation.depart(now, self.link, &packet, now, env),
            Some(Freed::Refused(packet)) => {
                self.transmit_dropped.add(&packet);
                Recorder { now, link: self.link, env }.dropped(&packet, DropReason::TransmitQueueFull, Point::Enqueue);
            }
            Some(Freed::Nothing) | None => {}
        }
        self.serve(server, now, env);
    }

    /// Sends the next packet on a free link, unless the queue is empty or the server holds the packets back.
    #[inline]
    fn serve<S: Sink>(&mut self, server: &mut impl Serializer, now: Time, env: &mut Env<'_, S>) {
        // bound: every iteration that does not return removes a packet. The loop repeats only on a link without a rate, until the
        // queue is empty
        loop {
            let held_back = server.holds_back(now, self.rate, self.queue.backlog());
            let packet = if held_back { None } else { self.dequeue(server, now, None, env) };
            let Some(packet) = &packet else {
                self.idle = true;
                return;
            };
            self.free_at = match server.take(now, packet, self.rate) {
                Taken::Gone => {
                    self.propagation.depart(now, self.link, packet, now, env);
                    continue;
                }
                Taken::Sent { end, free_at } => {
                    self.propagation.depart(now, self.link, packet, end, env);
                    free_at
                }
                Taken::Held { free_at } => free_at,
            };
            self.idle = false;
            self.served_at = now;
            return;
        }
    }

    #[inline]
    fn dequeue<S: Sink>(
        &mut self,
        server: &mut impl Serializer,
        now: Time,
        of: Option<ServiceFlow>,
        env: &mut Env<'_, S>,
    ) -> Option<PacketMeta> {
        let packet = self.with_queue(server, now, env, |queue, context| match of {
            None => queue.dequeue(context),
            Some(flow) => queue.dequeue_of(flow, context),
        });
        if let Some(packet) = &packet {
            let (link, backlog) = (self.link, self.queue.backlog());
            env.put(now, Mask::DEQUEUED, || Record::Dequeued {
                link,
                packet: packet.into(),
                backlog_packets: backlog.packets,
                sojourn: now.since(packet.stamp),
            });
        }
        packet
    }

    fn wake<S: Sink>(&mut self, server: &mut impl Serializer, now: Time, env: &mut Env<'_, S>) {
        self.with_queue(server, now, env, Queue::wake);
        if self.idle {
            self.serve(server, now, env);
        }
    }

    /// Does the server's work due at `now`: a MAP, a grant or an opportunity.
    fn tick<S: Sink>(&mut self, server: &mut impl Serializer, now: Time, env: &mut Env<'_, S>) {
        let Some(clocked) = server.as_server_mut() else { return };
        let (propagation, link) = (&mut self.propagation, self.link);
        let depart = &mut |packet: PacketMeta, end| propagation.depart(now, link, &packet, end, env);
        let of = match clocked.tick(now, &self.queue, &mut self.mac_rng, depart) {
            Request::Nothing => return,
            Request::Next => None,
            Request::Of(flow) => Some(flow),
        };
        let packet = self.dequeue(server, now, of, env);
        if let Some((packet, end)) = server.as_server_mut().and_then(|server| server.answer(now, packet)) {
            self.propagation.depart(now, link, &packet, end, env);
        }
    }
}
