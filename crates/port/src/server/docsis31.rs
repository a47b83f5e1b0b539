//! The DOCSIS 3.1 modem. Packets wait only in the managed queues, one for each service flow. Packets of a service flow
//! are sent until its grant is used up; if only a part of the last packet fits, the rest is sent in the next grant.

use super::{Granted, Request, Serve, flow_view};
use crate::Change;
use docsis::{Action, Docsis31Params, Modem31};
use packet::{GrantCounts, LinkView, PacketMeta};
use qdisc::Queue;
use units::{BitRate, Rng, Time};

/// The modem, and the random stream for the times of its requests and for the contents of the CMTS's MAPs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Docsis31 {
    modem: Modem31,
    rng: Rng,
}

impl Docsis31 {
    pub(crate) fn new(p: &Docsis31Params, rng: Rng) -> Self {
        Self { modem: Modem31::new(p), rng }
    }

    /// Returns the counts of grants for each service flow: for `L`, the low-latency flow, if the modem has one, and for
    /// `C`, the classic flow.
    pub(crate) fn grants(&self) -> Vec<(&'static str, GrantCounts)> {
        let [l, c] = self.modem.counts();
        let names = if self.modem.has_low_latency() { vec![("L", l)] } else { Vec::new() };
        names.into_iter().chain([("C", c)]).collect()
    }
}

impl Serve for Docsis31 {
    fn view(&self, now: Time, _rate: Option<BitRate>) -> LinkView {
        flow_view(self.modem.flow(), self.modem.tokens(now))
    }

    fn change(&mut self, now: Time, change: &Change) -> Option<Time> {
        self.modem.set_rates(now, change.max_sustained_rate, change.peak_traffic_rate);
        None
    }
}

impl Granted for Docsis31 {
    fn notify(&mut self, now: Time) {
        self.modem.notify(now, &mut self.rng);
    }

    fn next(&self) -> Time {
        self.modem.deadline()
    }

    fn tick(&mut self, now: Time, queue: &Queue, _rng: &mut Rng, depart: &mut dyn FnMut(PacketMeta, Time)) -> Request {
        match self.modem.advance(now, queue.frames(), &mut self.rng, depart) {
            Action::Wait => Request::Nothing,
            Action::Dequeue(flow) => Request::Of(flow),
        }
    }

    fn answer(&mut self, _now: Time, packet: Option<PacketMeta>) -> Option<(PacketMeta, Time)> {
        self.modem.dequeued(packet);
        None
    }

    fn inside(&self) -> usize {
        self.modem.inside()
    }
}
