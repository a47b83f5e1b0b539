//! Servers, which take packets from a queue: one file for each type of link, dispatched through a closed enum.
//!
//! | trait | implemented by |
//! |---|---|
//! | [`Serializer`]: takes the next packet whenever it is free | plain link, token bucket, HTB, the modem of 2012 |
//! | [`Granted`]: takes packets at its own times | the modem of 2013, modem and CMTS of DOCSIS 3.1, opportunities |
//!
//! The modem of 2012 is the model of CableLabs 2012, and the modem of 2013 is CableLabs' DocsisLink for ns-2. Only the
//! modem of 2012 has a transmit queue, behind its token bucket. [`Step::Tick`] handles this modem's MAPs, and
//! [`Step::Room`] lets the modem take packets again when its transmit queue has room.
//!
//! [`Step::Tick`]: crate::egress::Step::Tick
//! [`Step::Room`]: crate::egress::Step::Room

mod bucket;
mod docsis31;
mod downstream31;
mod granted;
mod htb;
mod opportunity;
mod plain;
mod two_queue;

use crate::{Change, PortSpec, Service, Shaper};
use docsis::{Model, ShaperParams};
use packet::{
    Backlog, DropReason, FateSink, GrantCounts, LinkView, MarkReason, OpportunityCounts, PacketMeta, Point, ServiceFlow,
};
use qdisc::Queue;
use units::{BitRate, Bytes, Duration, Rng, Time};

/// The rate of a link on which packets take no time.
const INFINITE: BitRate = BitRate(u64::MAX);

/// Returns the link as a discipline sees it. The view has the rates of the service flow `flow`, whose token bucket
/// still holds `tokens`.
fn flow_view(flow: &ShaperParams, tokens: Bytes) -> LinkView {
    let peak_rate = flow.peak_traffic_rate.unwrap_or(INFINITE);
    LinkView { rate: flow.max_sustained_rate, peak_rate, tokens, downstream_delay: Duration::ZERO }
}

/// The result of serving a packet.
pub(crate) enum Taken {
    /// The last bit leaves at `end`; the next packet is requested at `free_at`.
    Sent { end: Time, free_at: Time },
    /// The packet leaves now and takes no time; the next packet is requested at once.
    Gone,
    /// The packet stays in the server until [`Server::free`] at `free_at`.
    Held { free_at: Time },
}

/// Fate of the packet that a server held until the link became free.
pub(crate) enum Freed {
    /// No packet was held, or the packet stays in the server.
    Nothing,
    /// The last bit of the packet leaves now.
    Sent(PacketMeta),
    /// The transmit queue is full, and the caller must drop the packet.
    Refused(PacketMeta),
}

/// The packet that a granted server requests from the queue at the end of [`Granted::tick`].
pub(crate) enum Request {
    /// No packet.
    Nothing,
    /// The next packet.
    Next,
    /// The next packet of a service flow.
    Of(ServiceFlow),
}

/// Operations that all servers support. `rate` is the link's rate, if it has one.
pub(crate) trait Serve {
    /// Returns true if a departure comes before an arrival at the same time.
    #[inline]
    fn departs_first(&self) -> bool {
        false
    }

    /// Returns the link as a discipline sees it.
    fn view(&self, now: Time, rate: Option<BitRate>) -> LinkView;

    /// Sets new rates from `now` on. If the change may move the time at which a busy link becomes free, returns the new
    /// time.
    fn change(&mut self, now: Time, change: &Change) -> Option<Time>;
}

/// A server that takes the next packet whenever the link is free.
pub(crate) trait Serializer: Serve {
    /// Returns true if the link may not take a packet from the queue now, although the link is free. `waiting` is the
    /// queue's backlog.
    fn holds_back(&mut self, now: Time, rate: Option<BitRate>, waiting: Backlog) -> bool;

    /// Serves a packet from the queue.
    fn take(&mut self, now: Time, packet: &PacketMeta, rate: Option<BitRate>) -> Taken;

    /// Returns the server as a [`Server`], which may have a clock or a transmit queue; `None` if servers of this type
    /// have neither.
    #[inline]
    fn as_server(&self) -> Option<&Server> {
        None
    }

    /// Like [`Self::as_server`], but the result is mutable.
    #[inline]
    fn as_server_mut(&mut self) -> Option<&mut Server> {
        None
    }
}

/// A server that takes packets at its own times, for example at a modem's grants or at a radio link's opportunities.
pub(crate) trait Granted: Serve {
    /// Reports that packets wait in the queue.
    fn notify(&mut self, now: Time);

    /// Returns the time at which the server next has work.
    fn next(&self) -> Time;

    /// Does the work due at [`Granted::next`]. Passes each departing packet to `depart`, with the time at which its
    /// last bit leaves; an opportunity may add a delay to this time. If the server requests a packet, the caller must
    /// then call [`Granted::answer`].
    fn tick(&mut self, now: Time, queue: &Queue, rng: &mut Rng, depart: &mut dyn FnMut(PacketMeta, Time)) -> Request;

    /// Receives the queue's answer to the request of [`Granted::tick`]: a packet, or `None` if the queue returned none.
    /// If the packet departs, returns the packet with its departure time.
    fn answer(&mut self, now: Time, packet: Option<PacketMeta>) -> Option<(PacketMeta, Time)>;

    /// Returns the number of packets that the server has taken from the queue but not yet put on the wire.
    fn inside(&self) -> usize {
        0
    }
}

/// A [`FateSink`] that passes drops and marks on to `fates`. If the link has opportunities, it also passes each drop to
/// the server, because the server counts the dropped packets that arrived or waited during a long gap.
pub(crate) struct Reported<'a, F> {
    pub server: Option<&'a mut Server>,
    pub now: Time,
    pub fates: F,
}

impl<F: FateSink> FateSink for Reported<'_, F> {
    fn dropped(&mut self, packet: &PacketMeta, reason: DropReason, point: Point) {
        if let Some(Server::Opportunities(link)) = &mut self.server {
            link.dropped(self.now, packet.stamp);
        }
        self.fates.dropped(packet, reason, point);
    }
    fn marked(&mut self, packet: &PacketMeta, reason: MarkReason, point: Point) {
        self.fates.marked(packet, reason, point);
    }
}

/// A server of any kind.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Server {
    Plain(plain::Plain),
    Bucket(bucket::Bucket),
    Htb(htb::Class),
    TwoQueue(Box<two_queue::TwoQueue>),
    Granted(Box<granted::Modem2013>),
    Docsis31(Box<docsis31::Docsis31>),
    Downstream31(Box<downstream31::Downstream>),
    Opportunities(Box<opportunity::Opportunities>),
}

/// If `$server` is a granted server, evaluates `$do` with `$it` as that server, and returns the result in `Some`.
/// Returns `None` for other servers.
macro_rules! if_granted {
    ($server:expr, $it:ident => $do:expr) => {
        match $server {
            Server::Plain(_) | Server::Bucket(_) | Server::Htb(_) | Server::TwoQueue(_) => None,
            Server::Granted($it) => Some($do),
            Server::Docsis31($it) => Some($do),
            Server::Downstream31($it) => Some($do),
            Server::Opportunities($it) => Some($do),
        }
    };
}

impl Server {
    /// Builds the idle server of a valid specification. `stream` creates the random stream with a given name.
    pub(crate) fn new(spec: &PortSpec, stream: impl Fn(&str) -> Rng) -> Self {
        match &spec.service {
            Service::Plain => Self::Plain(plain::Plain),
            Service::Shaper(Shaper::TokenBucket(p)) => Self::Bucket(bucket::Bucket::new(p, spec.rate)),
            Service::Shaper(Shaper::Htb(p)) => Self::Htb(htb::Class::new(p, spec.rate)),
            Service::Delivery(p) => {
                Self::Opportunities(Box::new(opportunity::Opportunities::new(p, stream("delivery"))))
            }
            Service::Docsis(p) => match p.model {
                Model::TwoQueue2012 => Self::TwoQueue(Box::new(two_queue::TwoQueue::new(p, spec.rate))),
                Model::DocsisLink2013 => Self::Granted(Box::new(granted::Modem2013::new(p, spec.rate))),
            },
            Service::Docsis31(p) if p.downstream.is_some() => {
                Self::Downstream31(Box::new(downstream31::Downstream::new(p)))
            }
            Service::Docsis31(p) => Self::Docsis31(Box::new(docsis31::Docsis31::new(p, stream("map")))),
        }
    }

    pub(crate) fn grants(&self) -> Vec<(&'static str, GrantCounts)> {
        if let Self::Docsis31(modem) = self { modem.grants() } else { Vec::new() }
    }

    /// Counts the opportunities that an idle link missed before `now`, so that a later query has fewer to count.
    pub(crate) fn count_idle(&mut self, now: Time) {
        if let Self::Opportunities(link) = self {
            link.count_idle(now);
        }
    }

    /// Returns true for a plain link, which has neither a shaper nor a modem nor delivery opportunities.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self, Self::Plain(_))
    }

    /// Makes a token bucket report a packet as sent when it takes the packet, with the later time at which the transmission
    /// ends. The bucket's rates must then never change. Does nothing for other servers.
    pub(crate) fn send_ahead(&mut self) {
        if let Self::Bucket(bucket) = self {
            bucket.send_ahead();
        }
    }

    /// Returns true for a token bucket after [`Self::send_ahead`].
    #[inline]
    pub(crate) fn sends_ahead(&self) -> bool {
        if let Self::Bucket(bucket) = self { bucket.sends_ahead() } else { false }
    }

    /// Returns true if a packet departs as soon as the server takes it, if the server's only work is to take the next
    /// packet when the link is free, and if a departure comes before an arrival at the same time.
    pub(crate) fn only_takes(&self) -> bool {
        self.is_plain() || self.sends_ahead()
    }

    pub(crate) fn opportunities(&self, now: Time) -> Option<OpportunityCounts> {
        if let Self::Opportunities(link) = self { Some(link.opportunities(now)) } else { None }
    }

    /// Handles the moment at which the link becomes free: sends a held packet, or moves it to the transmit queue.
    #[inline]
    pub(crate) fn free(&mut self, now: Time) -> Freed {
        match self {
            Self::Bucket(bucket) => bucket.free(),
            Self::TwoQueue(modem) => modem.free(now),
            _ => Freed::Nothing,
        }
    }

    /// Returns true if the server holds a packet until the link is free.
    #[inline]
    pub(crate) fn holds(&self) -> bool {
        match self {
            Self::Bucket(bucket) => bucket.holds(),
            Self::TwoQueue(modem) => modem.holds(),
            _ => false,
        }
    }

    /// Returns the earliest time at which a full transmit queue may have room; [`Time::NEVER`] if there is no transmit
    /// queue.
    #[inline]
    pub(crate) fn room_at(&self) -> Time {
        if let Self::TwoQueue(modem) = self { modem.room_at() } else { Time::NEVER }
    }

    pub(crate) fn transmit_backlog(&self, now: Time) -> Backlog {
        if let Self::TwoQueue(modem) = self { modem.transmit_backlog(now) } else { Backlog::default() }
    }

    /// Returns the time at which the server next has work.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        match self {
            Self::TwoQueue(modem) => modem.next_map(),
            _ => if_granted!(self, s => s.next()).unwrap_or(Time::NEVER),
        }
    }

    /// Calls [`Granted::tick`] if the server is granted. If the server is the modem of 2012, handles the MAP that is
    /// due.
    pub(crate) fn tick(
        &mut self,
        now: Time,
        queue: &Queue,
        rng: &mut Rng,
        depart: &mut dyn FnMut(PacketMeta, Time),
    ) -> Request {
        if let Self::TwoQueue(modem) = self {
            modem.map(now, rng, depart);
        }
        if_granted!(self, s => s.tick(now, queue, rng, depart)).unwrap_or(Request::Nothing)
    }

    pub(crate) fn answer(&mut self, now: Time, packet: Option<PacketMeta>) -> Option<(PacketMeta, Time)> {
        if_granted!(self, s => s.answer(now, packet))?
    }

    /// Returns the number of packets that the server has taken from the queue but not yet put on the wire.
    pub(crate) fn inside(&self) -> usize {
        match self {
            Self::Bucket(bucket) => usize::from(bucket.holds()),
            Self::TwoQueue(modem) => modem.inside(),
            _ => if_granted!(self, s => s.inside()).unwrap_or(0),
        }
    }
}

/// Evaluates `$do` with `$it` as the server, whatever its type.
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
}

impl Serializer for Server {
    /// A granted server takes packets only at its own times. So for a granted server, this method notifies the server
    /// if packets wait, and returns true. For any other server, it calls the server's own method.
    #[inline]
    fn holds_back(&mut self, now: Time, rate: Option<BitRate>, waiting: Backlog) -> bool {
        match self {
            Self::Plain(s) => s.holds_back(now, rate, waiting),
            Self::Bucket(s) => s.holds_back(now, rate, waiting),
            Self::Htb(s) => s.holds_back(now, rate, waiting),
            Self::TwoQueue(s) => s.holds_back(now, rate, waiting),
            _ => {
                if waiting.packets > 0 {
                    if_granted!(self, s => s.notify(now));
                }
                true
            }
        }
    }
    #[inline]
    fn take(&mut self, now: Time, packet: &PacketMeta, rate: Option<BitRate>) -> Taken {
        match self {
            Self::Plain(s) => s.take(now, packet, rate),
            Self::Bucket(s) => s.take(now, packet, rate),
            Self::Htb(s) => s.take(now, packet, rate),
            Self::TwoQueue(s) => s.take(now, packet, rate),
            _ => unreachable!("a granted server holds the queue back"),
        }
    }
    #[inline]
    fn as_server(&self) -> Option<&Server> {
        Some(self)
    }
    #[inline]
    fn as_server_mut(&mut self) -> Option<&mut Server> {
        Some(self)
    }
}
