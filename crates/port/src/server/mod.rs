//! What takes packets from a queue: one file per kind of link, dispatched by a closed enum.
//!
//! A port asks its server in the order of time: whether it holds the queue back, what it does with the packet that it gets,
//! and what happens when it is free again. A server with a clock of its own (a modem's MAPs and grants) has moments, too.

mod bucket;
mod docsis31;
mod downstream31;
mod granted;
mod htb;
mod opportunity;
mod plain;
mod two_queue;

use crate::{Change, PortSpec, Service, Shaper};
use docsis::Model;
use packet::{
    Backlog, DropReason, FateSink, GrantCounts, LinkView, MarkReason, OpportunityCounts, PacketMeta, Point, ServiceFlow,
};
use qdisc::Queue;
use units::{BitRate, Rng, Time};

/// A rate that no packet waits for.
const INFINITE: BitRate = BitRate(u64::MAX);

/// What a server does with a packet that the queue gave it.
pub(crate) enum Taken {
    /// Its last bit leaves at `end`; the queue is asked again at `free_at`.
    Sent { end: Time, free_at: Time },
    /// It leaves now and takes no time: the queue is asked again at once.
    Gone,
    /// It stays inside, until [`Serve::freed`] at `free_at`.
    Held { free_at: Time },
}

/// What a server wants of the queue when its own clock has come.
pub(crate) enum Asks {
    /// Nothing.
    Nothing,
    /// The next packet.
    Next,
    /// The next packet of a service flow.
    Of(ServiceFlow),
}

/// The moments of a server. `rate` is the link's own rate, if it has one.
pub(crate) trait Serve {
    /// Whether a packet leaves before another arrives in the same moment.
    #[inline]
    fn departs_first(&self) -> bool {
        false
    }

    /// The link as a discipline sees it.
    fn view(&self, now: Time, rate: Option<BitRate>) -> LinkView;

    /// Other rates from now on. If that moves the moment at which a busy link is free: when that is.
    fn change(&mut self, now: Time, change: &Change) -> Option<Time>;

    /// Whether the queue, where so much waits, is not to be asked now.
    fn holds_back(&mut self, now: Time, rate: Option<BitRate>, waiting: Backlog) -> bool;

    /// The queue gave a packet.
    fn take(&mut self, now: Time, packet: &PacketMeta, rate: Option<BitRate>) -> Taken;

    /// Keeps the packet that [`Serve::take`] holds.
    fn hold(&mut self, _packet: PacketMeta) {
        unreachable!("it holds none")
    }

    /// The link is free: a held packet goes on, or is dropped because there is no room for it.
    #[inline]
    fn freed(&mut self, _now: Time) -> Result<(), PacketMeta> {
        Ok(())
    }

    /// Whether it keeps a packet until the link is free.
    #[inline]
    fn holds(&self) -> bool {
        false
    }

    /// The next moment of its own clock.
    #[inline]
    fn next(&self) -> Time {
        Time::NEVER
    }

    /// Its own clock has come to [`Serve::next`]: packets that leave go to `depart` with the moment of their last bit.
    /// Returns what it asks for, which [`Serve::given`] gets.
    fn tick(&mut self, _now: Time, _queue: &Queue, _rng: &mut Rng, _depart: &mut dyn FnMut(PacketMeta, Time)) -> Asks {
        Asks::Nothing
    }

    /// What the queue had when [`Serve::tick`] asked; returns what leaves, and when.
    fn given(&mut self, _now: Time, _packet: Option<PacketMeta>) -> Option<(PacketMeta, Time)> {
        None
    }

    /// When there is room again, if it holds the queue back.
    #[inline]
    fn room_at(&self) -> Time {
        Time::NEVER
    }

    /// Packets that have left the queue and not departed.
    fn inside(&self) -> usize {
        0
    }

    /// Of these, those in a transmit queue whose transmission has not begun by `now`.
    fn transmit_backlog(&self, _now: Time) -> Backlog {
        Backlog::default()
    }

    /// The queue dropped a packet that had arrived at `arrived`.
    fn dropped(&mut self, _now: Time, _arrived: Time) {}

    /// What hears of fates while the queue is at work: `fates`, and a server that wants to know of drops. A plain link does not, and
    /// pays nothing.
    #[inline]
    fn hearing<'a>(&'a mut self, _now: Time, fates: impl FateSink + 'a) -> impl FateSink + 'a {
        fates
    }

    /// What became of its opportunities before `now`, if it has such.
    fn opportunities(&self, _now: Time) -> Option<OpportunityCounts> {
        None
    }
}

/// Tells a server of drops on their way to the host.
struct Hearing<'a, F> {
    server: &'a mut Server,
    now: Time,
    fates: F,
}

impl<F: FateSink> FateSink for Hearing<'_, F> {
    fn dropped(&mut self, packet: &PacketMeta, reason: DropReason, point: Point) {
        self.server.dropped(self.now, packet.stamp);
        self.fates.dropped(packet, reason, point);
    }
    fn marked(&mut self, packet: &PacketMeta, reason: MarkReason, point: Point) {
        self.fates.marked(packet, reason, point);
    }
    fn left(&mut self, packet: &PacketMeta, at: Time) {
        self.fates.left(packet, at);
    }
}

/// Any server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Server {
    Plain(plain::Plain),
    Bucket(bucket::Bucket),
    Htb(htb::Class),
    TwoQueue(Box<two_queue::TwoQueue>),
    Granted(Box<granted::Granted>),
    Docsis31(Box<docsis31::Docsis31>),
    Downstream31(Box<downstream31::Downstream>),
    Opportunities(Box<opportunity::Opportunities>),
}

/// The same of whichever server it is.
macro_rules! each {
    ($server:expr, $it:ident => $do:expr) => {
        match $server {
            Server::Plain($it) => $do,
            Server::Bucket($it) => $do,
            Server::Htb($it) => $do,
            Server::TwoQueue($it) => $do,
            Server::Granted($it) => $do,
            Server::Docsis31($it) => $do,
            Server::Downstream31($it) => $do,
            Server::Opportunities($it) => $do,
        }
    };
}

impl Server {
    /// The server of a valid specification, at rest.
    /// `stream` gives the random stream of a name.
    pub(crate) fn new(spec: &PortSpec, stream: impl Fn(&str) -> Rng) -> Self {
        match &spec.service {
            Service::Plain => Self::Plain(plain::Plain),
            Service::Shaper(Shaper::TokenBucket(p)) => Self::Bucket(bucket::Bucket::new(p)),
            Service::Shaper(Shaper::Htb(p)) => Self::Htb(htb::Class::new(p, spec.rate)),
            Service::Delivery(p) => {
                Self::Opportunities(Box::new(opportunity::Opportunities::new(p, stream("delivery"))))
            }
            Service::Docsis(p) => match p.model {
                Model::TwoQueue2012 => Self::TwoQueue(Box::new(two_queue::TwoQueue::new(p, spec.rate))),
                Model::DocsisLink2013 => Self::Granted(Box::new(granted::Granted::new(p, spec.rate))),
            },
            Service::Docsis31(p) if p.downstream.is_some() => {
                Self::Downstream31(Box::new(downstream31::Downstream::new(p)))
            }
            Service::Docsis31(p) => Self::Docsis31(Box::new(docsis31::Docsis31::new(p, stream("map")))),
        }
    }

    /// What became of a modem's grants, by service flow; empty for all but a modem of DOCSIS 3.1.
    pub(crate) fn grants(&self) -> Vec<(&'static str, GrantCounts)> {
        if let Self::Docsis31(modem) = self { modem.grants() } else { Vec::new() }
    }

    /// Counts the opportunities that an idle link let pass before `now`, so that no later count has to.
    pub(crate) fn count_idle(&mut self, now: Time) {
        if let Self::Opportunities(link) = self {
            link.count_idle(now);
        }
    }

    /// A link with a rate and nothing else.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self, Self::Plain(_))
    }
}

impl Serve for Server {
    #[inline]
    fn departs_first(&self) -> bool {
        each!(self, s => s.departs_first())
    }
    #[inline]
    fn view(&self, now: Time, rate: Option<BitRate>) -> LinkView {
        each!(self, s => s.view(now, rate))
    }
    fn change(&mut self, now: Time, change: &Change) -> Option<Time> {
        each!(self, s => s.change(now, change))
    }
    #[inline]
    fn holds_back(&mut self, now: Time, rate: Option<BitRate>, waiting: Backlog) -> bool {
        each!(self, s => s.holds_back(now, rate, waiting))
    }
    #[inline]
    fn take(&mut self, now: Time, packet: &PacketMeta, rate: Option<BitRate>) -> Taken {
        each!(self, s => s.take(now, packet, rate))
    }
    fn hold(&mut self, packet: PacketMeta) {
        each!(self, s => s.hold(packet));
    }
    #[inline]
    fn freed(&mut self, now: Time) -> Result<(), PacketMeta> {
        each!(self, s => s.freed(now))
    }
    #[inline]
    fn holds(&self) -> bool {
        each!(self, s => s.holds())
    }
    #[inline]
    fn next(&self) -> Time {
        each!(self, s => s.next())
    }
    fn tick(&mut self, now: Time, queue: &Queue, rng: &mut Rng, depart: &mut dyn FnMut(PacketMeta, Time)) -> Asks {
        each!(self, s => s.tick(now, queue, rng, depart))
    }
    fn given(&mut self, now: Time, packet: Option<PacketMeta>) -> Option<(PacketMeta, Time)> {
        each!(self, s => s.given(now, packet))
    }
    #[inline]
    fn room_at(&self) -> Time {
        each!(self, s => s.room_at())
    }
    fn inside(&self) -> usize {
        each!(self, s => s.inside())
    }
    fn transmit_backlog(&self, now: Time) -> Backlog {
        each!(self, s => s.transmit_backlog(now))
    }
    fn dropped(&mut self, now: Time, arrived: Time) {
        each!(self, s => s.dropped(now, arrived));
    }
    #[inline]
    fn hearing<'a>(&'a mut self, now: Time, fates: impl FateSink + 'a) -> impl FateSink + 'a {
        Hearing { server: self, now, fates }
    }
    fn opportunities(&self, now: Time) -> Option<OpportunityCounts> {
        each!(self, s => s.opportunities(now))
    }
}
