//! The interface of a port to its host.

use crate::egress::{Egress, Step};
use crate::env::{Env, PortCounters};
use crate::propagation::Propagation;
use crate::server::{Serve, Server};
use crate::{Change, PortSpec, Service};
use packet::{Backlog, Count, GrantCounts, LinkView, OpportunityCounts, PacketMeta, Reading};
use qdisc::{ClassProbe, Queue, QueueDiscipline};
use record::{LinkId, Probed, Sink};
use units::{BitRate, Problem, Rng, Time};

/// One bottleneck: a queue, a server and a wire. The crate's documentation describes the calls that a host makes, and
/// their order.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    server: Server,
    pub(crate) egress: Egress,
}

/// Evaluates `$do` with the port's server. A plain link, by far the most common server, gets its own code, without branches for
/// the other servers.
macro_rules! with_server {
    ($port:expr, $server:ident, $egress:ident => $do:expr) => {{
        let Port { server, egress: $egress } = $port;
        match server {
            Server::Plain($server) => $do,
            $server => $do,
        }
    }};
}

impl Port {
    /// Builds an idle port.
    ///
    /// The random streams depend only on `seed` and on their names: `{name}.queue`, `{name}.loss`, `{name}.jitter`,
    /// `{name}.lateness`, `{name}.mac`, `{name}.map` and `{name}.delivery`. Impairments have further streams, such as
    /// `{name}.burst_loss`.
    ///
    /// Errors: those of [`PortSpec::validate`]; the queue uses an algorithm implemented outside the core
    /// ([`packet::outside`]), and its factory has not been supplied; the link plays a trace that has not been read.
    pub fn build(spec: &PortSpec, link: LinkId, seed: u64, name: &str) -> Result<Self, Problem> {
        spec.validate()?;
        spec.queue.ready().map_err(|p| p.under("queue"))?;
        if let Service::Delivery(delivery) = &spec.service {
            delivery.ready().map_err(|p| p.under("delivery"))?;
        }
        let mut discipline = spec.queue.build();
        if let Service::Docsis31(modem) = &spec.service
            && let Some(of) = modem.aggregate()
            && let Some(flows) = discipline.service_flows_mut()
        {
            flows.aggregate(&of);
        }
        let stream = |part: &str| Rng::named(seed, &format!("{name}.{part}"));
        let egress = Egress {
            link,
            now: Time::ZERO,
            queue: Queue::new(discipline),
            rate: spec.rate,
            propagation: Propagation::new(spec, stream),
            idle: true,
            free_at: Time::ZERO,
            due: (Time::NEVER, Step::Free),
            served_at: Time::ZERO,
            transmit_dropped: Count::default(),
            queue_rng: stream("queue"),
            mac_rng: stream("mac"),
        };
        let mut port = Self { server: Server::new(spec, stream), egress };
        port.plan();
        Ok(port)
    }

    /// Updates the port's next step, after a change of its state.
    pub(crate) fn plan(&mut self) {
        self.egress.due = self.egress.next_step(&self.server);
    }

    /// Offers an arriving packet to the queue, which may drop it. [`Port::deadline`] may change.
    #[inline]
    pub fn offer<S: Sink>(&mut self, now: Time, packet: PacketMeta, env: &mut Env<'_, S>) {
        with_server!(self, server, egress => egress.offer(server, now, packet, env));
    }

    /// Does all work due by `now`, in time order, and passes the packets that have reached the far end to `out`. Their `stamp` is
    /// the arrival time.
    #[inline]
    pub fn poll<S: Sink>(&mut self, now: Time, env: &mut Env<'_, S>, out: &mut impl FnMut(PacketMeta)) {
        self.work(now, env);
        while let Some(packet) = self.arrive(now) {
            out(packet);
        }
    }

    /// Does all work due by `now`, in time order, without removing packets that have reached the far end.
    #[inline]
    pub fn work<S: Sink>(&mut self, now: Time, env: &mut Env<'_, S>) {
        with_server!(self, server, egress => egress.run(server, now, true, env));
    }

    /// Returns the next packet that has reached the far end by `now`; its `stamp` is the arrival time. The caller must
    /// already have done all work due by `now`.
    #[inline]
    pub fn arrive(&mut self, now: Time) -> Option<PacketMeta> {
        debug_assert!(self.balances(), "the port's books do not balance: {:?}", self.counters());
        self.egress.propagation.arrive(now)
    }

    /// Returns true if packets may arrive twice.
    #[inline]
    pub fn may_duplicate(&self) -> bool {
        self.egress.propagation.may_duplicate()
    }

    /// Returns true if the packet last returned by [`Port::arrive`] arrives a second time. Call this function once for
    /// each packet, because each call draws a random number.
    pub fn duplicates(&mut self) -> bool {
        self.egress.propagation.duplicates()
    }

    /// Does the work due by `last`, unless the port has already advanced to `last` or beyond. An idle link also counts
    /// its missed opportunities.
    #[inline]
    pub fn catch_up<S: Sink>(&mut self, last: Time, env: &mut Env<'_, S>) {
        if last > self.egress.now {
            self.work(last, env);
        }
        self.server.count_idle(last);
    }

    /// Returns the time at which the next call of [`Port::poll`] is due; [`Time::NEVER`] if no call is due before the
    /// next offer or change.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.work_at().min(self.arrival_at())
    }

    /// Returns the time at which the next packet reaches the far end; [`Time::NEVER`] if no packet is in flight.
    #[inline]
    pub fn arrival_at(&self) -> Time {
        self.egress.propagation.arrival_at()
    }

    /// Returns the packet at index `others` among the packets in flight, counted from 0 in order of arrival at the far
    /// end. The packet's `stamp` is its arrival time.
    #[inline]
    pub fn in_flight(&self, others: usize) -> Option<&PacketMeta> {
        self.egress.propagation.in_flight(others)
    }

    /// Returns the time at which the next call of [`Port::work`] is due; [`Time::NEVER`] if no call is due before the
    /// next offer or change.
    #[inline]
    pub fn work_at(&self) -> Time {
        let Self { server, egress } = self;
        let (time, step) = egress.due;
        // no event is needed for a link that becomes free while the queue is empty: when the next packet arrives later,
        // `offer` first lets the link poll the empty queue, and then enqueues the packet
        let no_event = step == Step::Free && egress.queue.backlog().packets == 0 && !server.holds();
        if no_event { egress.next_timed_step(server).0 } else { time }
    }

    /// Makes a token bucket put each packet on the wire when it takes the packet from the queue, with the later time at which
    /// the transmission ends, which is known then. The results are the same, but the host must no longer call
    /// [`Port::change`]. Has no effect on other servers, and on wires that do more than delay packets.
    pub fn send_ahead(&mut self) {
        if self.egress.propagation.is_plain() {
            self.server.send_ahead();
        }
    }

    /// Returns true for a token bucket after [`Port::send_ahead`].
    #[inline]
    pub fn sends_ahead(&self) -> bool {
        self.server.sends_ahead()
    }

    /// After [`Port::send_ahead`], returns the time at which the transmission ends of the packet that reaches the far end at
    /// the time `at`. Returns `None` if `send_ahead` had no effect.
    #[inline]
    pub fn left_ahead(&self, at: Time) -> Option<Time> {
        self.sends_ahead().then(|| self.egress.propagation.left(at))
    }

    /// Returns true if the host, while a packet is in flight, may postpone [`Port::work`] until the next offer, arrival or
    /// change. The results are the same.
    ///
    /// This is possible if the link keeps packets in order, and if the server's only work is to take the next packet when
    /// the link is free. No postponed departure can arrive before the packet that is in flight already. So when that
    /// packet arrives, the host can do all the postponed work, and each step still gets the time at which it was due.
    ///
    /// The host may not postpone the work of other links, for two reasons. If an offer and a postponed step fall due at
    /// the same time, their order depends on when the step's event was scheduled, but a postponed step has no event. And
    /// a link with its own clock may have work while no packet is in flight, so no arrival would trigger this work in time.
    #[inline]
    pub fn can_wait(&self) -> bool {
        self.server.only_takes() && self.is_ordered()
    }

    /// Returns true if the link becomes free at `now` while packets wait, and an event-driven host would have scheduled
    /// the event for this moment before `since`. Such a host schedules the event when the packet in transmission is
    /// dequeued or, if the queue is empty then and the link has no token bucket, when the next packet arrives.
    pub fn is_free_before(&self, now: Time, since: Time) -> bool {
        let Egress { idle, free_at, served_at, .. } = self.egress;
        let waiting = self.head_arrival().filter(|_| !self.sends_ahead()).unwrap_or(served_at);
        !idle && free_at == now && self.backlog().packets > 0 && served_at.max(waiting) < since
    }

    /// Returns true if packets never overtake one another on the link.
    #[inline]
    pub fn is_ordered(&self) -> bool {
        self.egress.propagation.is_ordered()
    }

    /// Applies `change` to the link from `now` on. The port's host (see the crate's documentation) must first do all work
    /// due up to `now`, with [`Port::poll`] or [`Port::work`], and call [`Change::validate`].
    pub fn change(&mut self, now: Time, change: Change) {
        let Self { server, egress } = self;
        if let Some(rate) = change.rate {
            egress.rate = Some(rate);
        }
        egress.propagation.change(&change);
        if let Some(free_at) = server.change(now, &change)
            && !egress.idle
        {
            egress.free_at = free_at;
        }
        if egress.idle && egress.queue.backlog().packets > 0 {
            // the old rate may have been zero, so the next poll must request a packet again
            egress.idle = false;
            egress.free_at = now;
        }
        self.plan();
    }

    /// Returns the counts of all packets so far, by fate.
    pub fn counters(&self) -> PortCounters {
        PortCounters {
            queue: *self.egress.queue.counters(),
            transmit_dropped: self.egress.transmit_dropped,
            lost: self.egress.propagation.lost,
            departed: self.egress.propagation.departed,
            delivered: self.egress.propagation.delivered,
        }
    }

    /// Returns the managed queue.
    pub fn queue(&self) -> &Queue {
        &self.egress.queue
    }

    /// Returns the counts by class; empty for a discipline without classes.
    pub fn classes(&self) -> Vec<ClassProbe<'_>> {
        self.egress.queue.discipline().classes()
    }

    /// Returns the counts of grants by service flow; empty except for a DOCSIS 3.1 modem.
    pub fn grants(&self) -> Vec<(&'static str, GrantCounts)> {
        self.server.grants()
    }

    /// Returns the packets and bytes in the managed queue.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        self.egress.queue.backlog()
    }

    /// Returns the link's current rate: the rate of the wire if the link is plain, otherwise the rate of its service. Returns
    /// `None` if the link has no rate.
    pub fn rate(&self, now: Time) -> Option<BitRate> {
        if self.server.is_plain() { self.egress.rate } else { Some(self.link_view(now).rate) }
    }

    /// Returns the earliest arrival time among the packets at the heads of the discipline's queues; `None` if no packet waits,
    /// or if the time is not known.
    pub fn head_arrival(&self) -> Option<Time> {
        self.egress.queue.discipline().head_arrival()
    }

    /// Returns the packets and bytes in the modem's transmit queue whose transmission has not begun at `now`.
    pub fn transmit_backlog(&self, now: Time) -> Backlog {
        self.server.transmit_backlog(now)
    }

    /// Returns the counts of opportunities before `now`, if the link has opportunities.
    pub fn opportunities(&self, now: Time) -> Option<OpportunityCounts> {
        self.server.opportunities(now)
    }

    /// Returns the link as the discipline sees it.
    #[inline]
    pub fn link_view(&self, now: Time) -> LinkView {
        self.server.view(now, self.egress.rate)
    }

    /// Returns true if the counters account for every packet that has left the queue.
    fn balances(&self) -> bool {
        let inside = self.server.inside() as u64;
        let left = self.egress.queue.counters().delivered.packets;
        let Propagation { lost, departed, delivered, .. } = &self.egress.propagation;
        left == inside + self.egress.transmit_dropped.packets + lost.packets + departed.packets
            && departed.packets == self.egress.propagation.len() as u64 + delivered.packets
    }
}

impl Probed for Port {
    /// Writes the backlogs, the counts so far, the link's rate, and the tokens that the queue discipline sees.
    fn around(&self, out: &mut Reading<'_>) {
        let (backlog, counters, view) = (self.backlog(), self.counters(), self.link_view(out.now()));
        out.packets("backlog", backlog.packets.into());
        out.bytes("backlog", backlog.bytes);
        out.packets("offered", counters.queue.offered.packets);
        out.packets("delivered", counters.delivered.packets);
        out.packets("dropped", counters.dropped().packets);
        out.packets("marked", counters.queue.marked.iter().flatten().sum());
        out.rate("rate", self.rate(out.now()).map(|rate| rate.0 as f64));
        out.bytes("tokens", view.tokens.0);
        out.packets("transmit_backlog", self.transmit_backlog(out.now()).packets.into());
    }

    fn own(&self, out: &mut Reading<'_>) {
        self.egress.queue.discipline().probe(out);
    }
}
