//! The downstream from the CMTS to a DOCSIS 3.1 modem. It serves the modem's service flows in turn.

use super::{Granted, Request, Serve, flow_view};
use crate::Change;
use docsis::{Action, Docsis31Params, Downstream31};
use packet::{LinkView, PacketMeta};
use qdisc::Queue;
use units::{BitRate, Rng, Time};

/// The downstream channel of one modem.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Downstream(Downstream31);

impl Downstream {
    pub(crate) fn new(p: &Docsis31Params) -> Self {
        Self(Downstream31::new(p))
    }
}

impl Serve for Downstream {
    fn view(&self, now: Time, _rate: Option<BitRate>) -> LinkView {
        flow_view(self.0.flow(), self.0.tokens(now))
    }

    fn change(&mut self, now: Time, change: &Change) -> Option<Time> {
        self.0.set_rates(now, change.max_sustained_rate, change.peak_traffic_rate);
        None
    }
}

impl Granted for Downstream {
    fn notify(&mut self, now: Time) {
        self.0.notify(now);
    }

    fn next(&self) -> Time {
        self.0.deadline()
    }

    fn tick(&mut self, now: Time, queue: &Queue, _rng: &mut Rng, depart: &mut dyn FnMut(PacketMeta, Time)) -> Request {
        if let Some((packet, end)) = self.0.sent() {
            depart(packet, end);
        }
        let heads = if self.0.has_low_latency() { queue.head_bytes() } else { [0, queue.backlog().packets.into()] };
        match self.0.advance(now, heads) {
            Action::Wait => Request::Nothing,
            Action::Dequeue(flow) => Request::Of(flow),
        }
    }

    fn answer(&mut self, now: Time, packet: Option<PacketMeta>) -> Option<(PacketMeta, Time)> {
        self.0.dequeued(now, packet);
        None
    }

    fn inside(&self) -> usize {
        usize::from(self.0.holds())
    }
}
