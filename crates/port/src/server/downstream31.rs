//! The CMTS's downstream to a modem of DOCSIS 3.1: it asks the service flow whose turn it is.

use super::{Asks, INFINITE, Serve, Taken};
use crate::Change;
use docsis::{Ask, Docsis31Params, Downstream31};
use packet::{Backlog, LinkView, PacketMeta};
use qdisc::Queue;
use units::{BitRate, Duration, Rng, Time};

/// The downstream, which asks for itself.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Downstream(Downstream31);

impl Downstream {
    pub(crate) fn new(p: &Docsis31Params) -> Self {
        Self(Downstream31::new(p))
    }
}

impl Serve for Downstream {
    fn view(&self, now: Time, _rate: Option<BitRate>) -> LinkView {
        let flow = self.0.flow();
        LinkView {
            rate: flow.max_sustained_rate,
            peak_rate: flow.peak_traffic_rate.unwrap_or(INFINITE),
            tokens: self.0.tokens(now),
            downstream_delay: Duration::ZERO,
        }
    }

    fn change(&mut self, now: Time, change: &Change) -> Option<Time> {
        self.0.set_rates(now, change.max_sustained_rate, change.peak_traffic_rate);
        None
    }

    /// It asks the queue when it has tokens and the channel; until then it is told that there is something to ask for.
    fn holds_back(&mut self, now: Time, _rate: Option<BitRate>, waiting: Backlog) -> bool {
        if waiting.packets > 0 {
            self.0.notify(now);
        }
        true
    }

    fn take(&mut self, _now: Time, _packet: &PacketMeta, _rate: Option<BitRate>) -> Taken {
        unreachable!("it asks for itself")
    }

    fn next(&self) -> Time {
        self.0.deadline()
    }

    fn tick(&mut self, now: Time, queue: &Queue, _rng: &mut Rng, _depart: &mut dyn FnMut(PacketMeta, Time)) -> Asks {
        let heads = if self.0.has_low_latency() { queue.head_bytes() } else { [0, queue.backlog().packets.into()] };
        match self.0.advance(now, heads) {
            Ask::Nothing => Asks::Nothing,
            Ask::Packet(flow) => Asks::Of(flow),
        }
    }

    fn given(&mut self, now: Time, packet: Option<PacketMeta>) -> Option<(PacketMeta, Time)> {
        self.0.given(now, packet)
    }
}
