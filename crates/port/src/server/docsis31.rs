//! The modem of DOCSIS 3.1: no queue but the managed one, or the two of an aggregate; a grant takes from its own what fits.

use super::{Asks, INFINITE, Serve, Taken};
use crate::Change;
use docsis::{Ask, Docsis31Params, Modem31};
use packet::{Backlog, GrantCounts, LinkView, PacketMeta};
use qdisc::Queue;
use units::{BitRate, Duration, Rng, Time};

/// The modem, which asks for itself.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Docsis31 {
    modem: Modem31,
    /// What the moments of requests are drawn from when something comes.
    rng: Rng,
}

impl Docsis31 {
    pub(crate) fn new(p: &Docsis31Params, rng: Rng) -> Self {
        Self { modem: Modem31::new(p), rng }
    }

    /// Grants by service flow: L, if there is one, and C.
    pub(crate) fn grants(&self) -> Vec<(&'static str, GrantCounts)> {
        let [l, c] = self.modem.counts();
        let names = if self.modem.has_low_latency() { vec![("L", l)] } else { Vec::new() };
        names.into_iter().chain([("C", c)]).collect()
    }
}

impl Serve for Docsis31 {
    fn view(&self, now: Time, _rate: Option<BitRate>) -> LinkView {
        let flow = self.modem.flow();
        LinkView {
            rate: flow.max_sustained_rate,
            peak_rate: flow.peak_traffic_rate.unwrap_or(INFINITE),
            tokens: self.modem.tokens(now),
            downstream_delay: Duration::ZERO,
        }
    }

    fn change(&mut self, now: Time, change: &Change) -> Option<Time> {
        self.modem.set_rates(now, change.max_sustained_rate, change.peak_traffic_rate);
        None
    }

    /// It asks the queue when it has a grant; until then it is told that there is something to ask for.
    fn holds_back(&mut self, now: Time, _rate: Option<BitRate>, waiting: Backlog) -> bool {
        if waiting.packets > 0 {
            self.modem.notify(now, &mut self.rng);
        }
        true
    }

    fn take(&mut self, _now: Time, _packet: &PacketMeta, _rate: Option<BitRate>) -> Taken {
        unreachable!("it asks for itself")
    }

    fn next(&self) -> Time {
        self.modem.deadline()
    }

    fn tick(&mut self, now: Time, queue: &Queue, _rng: &mut Rng, depart: &mut dyn FnMut(PacketMeta, Time)) -> Asks {
        match self.modem.advance(now, queue.frames(), &mut self.rng, depart) {
            Ask::Nothing => Asks::Nothing,
            Ask::Packet(flow) => Asks::Of(flow),
        }
    }

    fn given(&mut self, _now: Time, packet: Option<PacketMeta>) -> Option<(PacketMeta, Time)> {
        self.modem.given(packet);
        None
    }

    fn inside(&self) -> usize {
        self.modem.inside()
    }
}
