//! CableLabs' modem model of 2013 (ns-2's DocsisLink). Packets wait only in the managed queue. After a grant, packets
//! are sent until the grant is used up; if only a part of the last packet fits, the rest is sent in the next grant.

use super::{Granted, Request, Serve};
use crate::Change;
use docsis::{DocsisParams, GrantedLink, Next};
use packet::{LinkView, PacketMeta};
use qdisc::Queue;
use units::{BitRate, Duration, Rng, Time};

/// A modem that requests upstream capacity, and takes packets from the queue when a request is granted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Modem2013(GrantedLink);

impl Modem2013 {
    pub(crate) fn new(p: &DocsisParams, rate: Option<BitRate>) -> Self {
        Self(GrantedLink::new(p, rate))
    }
}

/// If the modem's next step is a departure, returns the packet and its departure time.
fn leaving(next: Next) -> Option<(PacketMeta, Time)> {
    if let Next::Depart(packet, end) = next { Some((packet, end)) } else { None }
}

impl Serve for Modem2013 {
    fn view(&self, now: Time, _rate: Option<BitRate>) -> LinkView {
        LinkView {
            rate: self.0.sustained_rate(),
            peak_rate: self.0.peak_rate(),
            tokens: self.0.tokens(now),
            downstream_delay: Duration::ZERO,
        }
    }

    fn change(&mut self, now: Time, change: &Change) -> Option<Time> {
        self.0.set_rates(now, change.max_sustained_rate, change.peak_traffic_rate);
        change.rate.into_iter().for_each(|r| self.0.set_rate(r));
        change.max_grant.into_iter().for_each(|m| self.0.set_max_grant(m));
        None
    }
}

impl Granted for Modem2013 {
    #[inline]
    fn notify(&mut self, now: Time) {
        self.0.notify(now);
    }

    #[inline]
    fn next(&self) -> Time {
        self.0.deadline()
    }

    fn tick(&mut self, now: Time, queue: &Queue, rng: &mut Rng, depart: &mut dyn FnMut(PacketMeta, Time)) -> Request {
        let next = self.0.advance(now, queue.backlog().bytes, rng);
        if next == Next::Dequeue {
            return Request::Next;
        }
        if let Some((packet, end)) = leaving(next) {
            depart(packet, end);
        }
        Request::Nothing
    }

    fn answer(&mut self, now: Time, packet: Option<PacketMeta>) -> Option<(PacketMeta, Time)> {
        leaving(self.0.send(now, packet))
    }

    fn inside(&self) -> usize {
        usize::from(self.0.fragment().is_some())
    }
}
