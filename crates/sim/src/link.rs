//! What carries the packets of a simulated link.
//!
//! A plain drop-tail link is a [`Fifo`], whose departures are known at enqueue; any other is a [`Port`]. The network gives them packets
//! and schedules their events.

use crate::fifo::{Capacity, Fifo, Meter};
use measure::LinkCounts;
use packet::PacketMeta;
use port::{Carries, Port, Service};
use qdisc::Spec;
use record::LinkId;
use scenario::{NetworkLink, Scenario};
use units::{Limit, Problem, Time};

/// A link of the world.
pub(crate) type Link = port::Link<Carrier>;

/// How a link is run.
pub(crate) enum Carrier {
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

/// Link number `i` at rest. It is a [`Fifo`] if it can be one and nothing of it is `seen` but its counts.
pub(crate) fn build(link: &NetworkLink, i: u16, scenario: &Scenario, seen: bool) -> Result<Link, Problem> {
    let carrier = match fast_path(link).filter(|_| !seen) {
        Some(fifo) => Carrier::Fifo(Box::new(fifo)),
        None => {
            let port = link.build_port(i, scenario.seed)?;
            let (lazy, cuts) = (!seen && port.can_wait(), link.port.splits_gso());
            Carrier::Port { port: Box::new(port), work: Time::NEVER, armed: Time::NEVER, lazy, cuts }
        }
    };
    link.build(i, scenario, scenario.duration, carrier)
}

impl Carrier {
    /// Takes out every packet that reaches the far end `now`; returns when the next does ([`Time::NEVER`]: none).
    pub(crate) fn arrive_all(&mut self, now: Time, meter: &mut Meter, arrived: &mut Vec<PacketMeta>) -> Time {
        match self {
            Self::Fifo(fifo) => {
                let mut next = fifo.next_arrival();
                while next == Some(now) {
                    let packet;
                    (packet, next) = fifo.arrive(now, meter);
                    arrived.push(packet);
                }
                next.unwrap_or(Time::NEVER)
            }
            Self::Port { port, .. } => {
                while let Some(packet) = port.arrive(now) {
                    arrived.push(packet);
                }
                port.arrival_at()
            }
        }
    }

    /// Brings the accounts of a [`Fifo`] up to `last`; a port's are.
    pub(crate) fn catch_up(&mut self, last: Time, meter: &mut Meter) {
        if let Self::Fifo(fifo) = self {
            fifo.catch_up(last, meter);
        }
    }
}

impl Carries for Carrier {
    #[inline]
    fn port(&self) -> Option<&Port> {
        match self {
            Self::Fifo(_) => None,
            Self::Port { port, .. } => Some(port),
        }
    }

    fn counts(&self, now: Time) -> LinkCounts {
        match self {
            Self::Fifo(fifo) => fifo.counts(),
            Self::Port { port, .. } => port.counts(now),
        }
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
