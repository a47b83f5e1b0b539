//! A link of the world: a queue, what is on its way, and the meter that counts both.
//!
//! A plain drop-tail link is a [`Fifo`], whose departures are known at enqueue; any other is a [`Port`]. The network gives them packets
//! and schedules their events.

use crate::fifo::{Capacity, Fifo};
use crate::meter::LinkMeter;
use measure::{ClassCounts, LinkCounts, LinkMeterParams};
use packet::{Backlog, FateSink, FlowTable, GrantCounts, NodeId, PacketMeta};
use port::{Env, Port, Service};
use qdisc::{ClassProbe, Spec};
use record::{LinkId, Mask, Record, Sink};
use scenario::{NetworkLink, Scenario};
use units::{Duration, Limit, Problem, Time};

/// How a link is run.
pub(crate) enum Kind {
    /// Computed at enqueue.
    Fifo(Box<Fifo>),
    /// Anything else. `work` is the moment of its earliest event for work; `armed` that of its earliest event for
    /// an arrival ([`Time::NEVER`]: none).
    ///
    /// Arrivals have events of their own, scheduled when a [`Fifo`] would schedule them: so the order of events in one
    /// moment does not depend on which of the two runs a link.
    ///
    /// Where nobody takes records, the work of a port that [`Port::can_wait`] has no event while a packet is on its way: it is done
    /// with the next arrival at either end, or before the run looks at the link. Such a port is `lazy`.
    ///
    /// Packets of several segments are cut before it if it `cuts`.
    Port { port: Box<Port>, work: Time, armed: Time, lazy: bool, cuts: bool },
}

/// One link of the world.
pub(crate) struct Link {
    pub name: String,
    pub to: NodeId,
    pub kind: Kind,
    pub meter: LinkMeter,
}

/// A port's sink: the link's meter, and the run's own sink behind it.
pub(crate) struct Tap<'a, S> {
    meter: &'a mut LinkMeter,
    sink: &'a mut S,
}

impl<S: Sink> Sink for Tap<'_, S> {
    #[inline]
    fn mask(&self) -> Mask {
        Mask::ALL
    }
    // the kind of record is known where it is made: there nothing of it is built that nobody reads
    #[inline(always)]
    fn put(&mut self, now: Time, record: Record) {
        self.meter.put(now, record);
        if self.sink.mask().has(record.kind()) {
            self.sink.put(now, record);
        }
    }
}

impl Link {
    /// Link number `i` at rest. It is a [`Fifo`] if it can be one and nothing of it is `seen` but its counts.
    pub(crate) fn build(link: &NetworkLink, i: u16, scenario: &Scenario, seen: bool) -> Result<Self, Problem> {
        let kind = match fast_path(link).filter(|_| !seen) {
            Some(fifo) => Kind::Fifo(Box::new(fifo)),
            None => {
                let at = format!("link.{}", link.name);
                let port = Port::build(&link.port, link_id(i), scenario.seed, &at).map_err(|p| p.under(&at))?;
                let (lazy, cuts) = (!seen && port.can_wait(), link.port.cuts());
                Kind::Port { port: Box::new(port), work: Time::NEVER, armed: Time::NEVER, lazy, cuts }
            }
        };
        let params = LinkMeterParams {
            link: link_id(i),
            limit: queue_cap(&link.port.queue),
            start: Time::ZERO,
            duration: scenario.duration,
            bin: scenario.bin(),
            warm_up: Time(scenario.record.warm_up.0),
        };
        let meter = LinkMeter::new(link.recorded.then_some(params))?;
        Ok(Self { name: link.name.clone(), to: NodeId(link.to), kind, meter })
    }

    /// The port, if it is one.
    #[inline]
    pub(crate) fn port(&self) -> Option<&Port> {
        match &self.kind {
            Kind::Fifo(_) => None,
            Kind::Port { port, .. } => Some(port),
        }
    }

    /// Lets a port do something; its records go to the meter and to `sink`.
    #[inline(always)]
    pub(crate) fn act<S: Sink, T>(
        &mut self,
        flows: &FlowTable,
        fate: &mut dyn FateSink,
        sink: &mut S,
        act: impl FnOnce(&mut Port, &mut Env<'_, Tap<'_, S>>) -> T,
    ) -> Option<T> {
        let Kind::Port { port, .. } = &mut self.kind else { return None };
        let mut tap = Tap { meter: &mut self.meter, sink };
        Some(act(port, &mut Env { flows, fate, sink: &mut tap }))
    }

    /// Takes out every packet that reaches the far end `now`; returns when the next does ([`Time::NEVER`]: none).
    pub(crate) fn arrive_all(&mut self, now: Time, arrived: &mut Vec<PacketMeta>) -> Time {
        match &mut self.kind {
            Kind::Fifo(fifo) => {
                let mut next = fifo.next_arrival();
                while next == Some(now) {
                    let packet;
                    (packet, next) = fifo.arrive(now, &mut self.meter);
                    arrived.push(packet);
                }
                next.unwrap_or(Time::NEVER)
            }
            Kind::Port { port, .. } => {
                while let Some(packet) = port.arrive(now) {
                    arrived.push(packet);
                }
                port.arrival_at()
            }
        }
    }

    /// Brings the accounts of a [`Fifo`] up to `last`; a port's are.
    fn settle(&mut self, last: Time) {
        if let Kind::Fifo(fifo) = &mut self.kind {
            fifo.settle(last, &mut self.meter);
        }
    }

    /// The warm-up is over, of which `last` was the last moment: it begins to count.
    pub(crate) fn begin(&mut self, last: Time) {
        self.settle(last);
        self.meter.before = Some(Box::new(self.counts(last + Duration(1))));
        if let Some(full) = &mut self.meter.full {
            full.begin();
        }
    }

    /// The run ends just after the `last` moment that counts.
    pub(crate) fn finish(&mut self, last: Time, end: Time) {
        self.settle(last);
        self.meter.finish(end);
    }

    fn backlog(&self) -> Backlog {
        match &self.kind {
            Kind::Fifo(fifo) => fifo.backlog(),
            Kind::Port { port, .. } => port.backlog(),
        }
    }

    /// Packets in its queue, and packets that have left the queue but not reached the far end.
    pub(crate) fn holds(&self) -> (u64, u64) {
        let in_flight = match &self.kind {
            Kind::Fifo(fifo) => fifo.in_flight(),
            Kind::Port { port, .. } => port.counters().in_flight(),
        };
        (self.backlog().packets.into(), in_flight)
    }

    /// What it has counted before `now`, and what it holds.
    pub(crate) fn counts(&self, now: Time) -> LinkCounts {
        let m = &self.meter;
        LinkCounts {
            offered: m.offered,
            delivered: m.delivered,
            dropped: m.dropped,
            drops: m.drops,
            marked: m.marked,
            backlog: self.backlog(),
            in_flight: self.holds().1,
            classes: self.classes().iter().map(|c| ClassCounts { counts: c.counts, marked: c.marked }).collect(),
            opportunities: self.port().and_then(|port| port.opportunities(now)),
            grants: self.grants().iter().map(|(_, grants)| *grants).collect(),
        }
    }

    /// The grants of its modem, if that tells of them.
    pub(crate) fn grants(&self) -> Vec<(&'static str, GrantCounts)> {
        self.port().map_or_else(Vec::new, Port::grants)
    }

    /// The classes of its discipline, if it has any.
    pub(crate) fn classes(&self) -> Vec<ClassProbe<'_>> {
        self.port().map_or_else(Vec::new, Port::classes)
    }
}

/// Packets for which the distribution of the queue's length has a bin of its own.
fn queue_cap(queue: &Spec) -> u32 {
    let segments = if let Spec::Droptail(p) = queue { u32::from(p.super_segment) } else { 1 };
    match queue.limit() {
        Some(Limit::Packets(n)) => n.saturating_mul(segments),
        _ => 4096,
    }
}

/// A link that can be computed at enqueue, if this is one.
fn fast_path(link: &NetworkLink) -> Option<Fifo> {
    let spec = &link.port;
    let Spec::Droptail(p) = &spec.queue else { return None };
    let random = spec.loss.get() > 0.0 || !spec.lose.is_empty() || !spec.jitter.is_zero() || spec.lateness.is_some();
    let plain = spec.service == Service::Plain && !random && link.changes.is_empty();
    if !plain || p.drop_head || p.super_segment > 1 {
        return None;
    }
    let short = u64::from(p.ns2_off_by_one);
    let capacity = match p.limit {
        Limit::Packets(n) => Capacity::Packets(n - short as u32),
        Limit::Bytes(b) => Capacity::Bytes(b.0 - short),
        Limit::Time(t) => Capacity::Bytes(spec.rate?.bytes_in(t).saturating_sub(short)),
    };
    Some(Fifo::new(spec.rate, spec.delay, capacity))
}

/// Index of a link as records name it.
pub(crate) fn link_id(i: u16) -> LinkId {
    LinkId(i)
}
