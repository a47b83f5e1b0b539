//! A simulated link: its queue, transmission and propagation.
//!
//! A plain drop-tail link is a [`Fifo`] or, in a chain, a [`Chained`]: its departures are known at enqueue. All other
//! links are [`Port`]s. So are plain links that are observed, have scheduled changes, or begin at a node with TCP small
//! queues. `net` offers packets to links and schedules their events.

use crate::chain::{Kind, Role};
use crate::chained::{Books, Chained};
use crate::fifo::{Capacity, Fifo, Meter};
use crate::inbox::Through;
use measure::LinkCounts;
use packet::PacketMeta;
use port::{Carries, Port, Service, Shaper};
use qdisc::Spec;
use record::LinkId;
use scenario::{NetworkLink, Scenario};
use units::{Limit, Problem, Time};

/// A link of the world.
pub(crate) type Link = port::Link<Carrier>;

/// The implementation of a link.
#[derive(Clone, Debug)]
pub(crate) enum Carrier {
    /// A plain link, whose departures are computed at enqueue.
    Fifo(Box<Fifo>),
    /// A [`Fifo`] in a chain.
    Chained(Box<Chained>),
    /// A [`Port`], which is used for every link that cannot be a [`Fifo`].
    ///
    /// A port's arrival event is scheduled at the moment at which it would be scheduled if the link were a [`Fifo`]. So
    /// the order of simultaneous events does not depend on whether a `Fifo` or a port runs the link.
    Port {
        port: Box<Port>,
        /// Time of the earliest event for the port's work; [`Time::NEVER`] if there is none.
        work: Time,
        /// Time of the earliest event that is scheduled for an arrival at the far end; [`Time::NEVER`] if there is
        /// none.
        armed: Time,
        /// True if the port's work has no event of its own while a packet is in flight. Work that falls due is then
        /// postponed until a packet arrives at either end of the link, or until the link's counts are read. A port is
        /// lazy only if [`Port::can_wait`] is true and the link is not observed (see [`build`]).
        lazy: bool,
        /// True if packets of several segments (GSO) are split before they enter the port.
        cuts: bool,
        /// The state of a port with a tail; `None` for a port without a tail.
        through: Option<Box<Through>>,
    },
}

/// Builds link number `i` in its idle state. If possible, the link is a [`Fifo`], or a [`Chained`] if the link has a
/// role in a chain. If `observed` is true (a sink records, captures or reads anything, or TCP small queues count the
/// link's packets), the link is always a port. `fixed` is true if nothing but scheduled changes can change the link.
pub(crate) fn build(
    link: &NetworkLink,
    i: u16,
    scenario: &Scenario,
    observed: bool,
    fixed: bool,
    role: Role,
) -> Result<Link, Problem> {
    let carrier = match fifo(link).filter(|_| lasting_kind(link) == Some(Kind::Plain) && !observed) {
        Some(fifo) if role != Role::default() => Carrier::Chained(Box::new(Chained::new(&fifo, role))),
        Some(fifo) => Carrier::Fifo(Box::new(fifo)),
        None => {
            let mut port = link.build_port(i, scenario.seed)?;
            if fixed && !observed && link.changes.is_empty() {
                port.send_ahead();
            }
            let (lazy, cuts) = (!observed && port.can_wait(), link.port.splits_gso());
            let through = role.tail.filter(|_| !observed).map(|tail| Box::new(Through::new(link, tail)));
            Carrier::Port { port: Box::new(port), work: Time::NEVER, armed: Time::NEVER, lazy, cuts, through }
        }
    };
    link.build(i, scenario, scenario.duration, carrier)
}

impl Carrier {
    /// Removes every packet that reaches the far end at the time `now`. Returns the time of the next arrival, or
    /// [`Time::NEVER`] if there is none.
    pub(crate) fn arrive_all(&mut self, now: Time, meter: &mut Meter, arrived: &mut Vec<PacketMeta>) -> Time {
        match self {
            Self::Fifo(fifo) => {
                let mut next = fifo.next_arrival();
                while next == Some(now) {
                    let (start, packet);
                    (start, packet, next) = fifo.arrive(now, meter);
                    arrived.push(packet.at(start));
                }
                next.unwrap_or(Time::NEVER)
            }
            Self::Chained(chained) => {
                while chained.next().is_some_and(|(_, at)| at == now) {
                    let (start, packet) = chained.arrive();
                    arrived.push(packet.at(start));
                }
                chained.next().map_or(Time::NEVER, |(_, at)| at)
            }
            Self::Port { port, .. } => {
                while let Some(packet) = port.arrive(now) {
                    arrived.push(packet);
                }
                port.arrival_at()
            }
        }
    }

    /// Returns true if arrivals at the far end have events at a later time than the packets' arrivals at the queue.
    pub(crate) fn has_arrivals(&self) -> bool {
        match self {
            Self::Fifo(fifo) => fifo.takes_time(),
            Self::Chained(chained) => !chained.role.onward,
            Self::Port { through, .. } => through.is_none(),
        }
    }

    /// Returns the number of the port whose tail ends with this link. (A port's tail is the chain of plain links behind
    /// the port.)
    #[inline]
    pub(crate) fn behind(&self) -> Option<u16> {
        match self {
            Self::Chained(chained) => chained.role.behind,
            Self::Fifo(_) | Self::Port { .. } => None,
        }
    }

    /// Updates the counters and the meter of a plain link up to the time `last`. Does nothing for a port, because `Net`
    /// brings its ports up to date separately.
    pub(crate) fn catch_up(&mut self, last: Time, books: &mut Books<'_>) {
        match self {
            Self::Fifo(fifo) => fifo.catch_up(last, books.meter),
            Self::Chained(chained) => chained.settle(last, books),
            Self::Port { .. } => {}
        }
    }
}

impl Carries for Carrier {
    #[inline]
    fn port(&self) -> Option<&Port> {
        match self {
            Self::Fifo(_) | Self::Chained(_) => None,
            Self::Port { port, .. } => Some(port),
        }
    }

    fn counts(&self, now: Time) -> LinkCounts {
        match self {
            Self::Fifo(fifo) => fifo.counts(),
            Self::Chained(chained) => chained.counts(),
            Self::Port { port, .. } => port.counts(now),
        }
    }
}

/// Returns the kind that the link has until its first scheduled change; `None` if the link cannot be part of a chain.
pub(crate) fn kind(link: &NetworkLink) -> Option<Kind> {
    let spec = &link.port;
    let lossless = spec.loss.get() == 0.0 && spec.lose.is_empty() && spec.impairments.is_none();
    let steady = spec.jitter.is_zero() && spec.lateness.is_none();
    if spec.service != Service::Plain || !lossless || !steady {
        return None;
    }
    let plain = match &spec.queue {
        Spec::Droptail(p) => {
            let known = !matches!(p.limit, Limit::Time(_)) || spec.rate.is_some();
            !p.drop_head && p.super_segment <= 1 && known
        }
        _ => false,
    };
    Some(if plain { Kind::Plain } else { Kind::Managed })
}

/// Returns true if the link has a token bucket. Its arrivals precede all other events that have the same time and were scheduled
/// at the same moment, like those of a *fed* link ([`Role::fed`]). Otherwise, their order would depend on whether the port sends
/// ahead ([`Port::send_ahead`]).
pub(crate) fn has_bucket(link: &NetworkLink) -> bool {
    matches!(link.port.service, Service::Shaper(Shaper::TokenBucket(_)))
}

/// Returns the link's kind; `None` if the link cannot be part of a chain or has scheduled changes.
pub(crate) fn lasting_kind(link: &NetworkLink) -> Option<Kind> {
    kind(link).filter(|_| link.changes.is_empty())
}

/// Returns a [`Fifo`] with the parameters of the link. Returns `None` if the link's queue is not drop-tail, or if the
/// queue's limit is a time that cannot be converted to bytes, because the link has no rate.
fn fifo(link: &NetworkLink) -> Option<Fifo> {
    let spec = &link.port;
    let Spec::Droptail(p) = &spec.queue else { return None };
    let short = u64::from(p.ns2_off_by_one);
    let capacity = match p.limit {
        Limit::Packets(n) => Capacity::Packets(n - short as u32),
        Limit::Bytes(b) => Capacity::Bytes(b.0 - short),
        Limit::Time(t) => Capacity::Bytes(spec.rate?.bytes_in(t).saturating_sub(short)),
    };
    Some(Fifo::new(spec.rate, spec.delay, capacity))
}

pub(crate) fn link_id(i: u16) -> LinkId {
    LinkId(i)
}
