//! The active flows of a queue, and the share of the queue that each class may use.

use super::average::{Average, Sampling};
use super::occupancy::Unit;
use packet::{Backlog, LinkView, PacketMeta, Reading};
use std::collections::BTreeMap;
use units::{Duration, Time};

/// The active flows, and the average length of the whole queue. The classes' shares are computed from both.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Active {
    unit: Unit,
    min_th: f64,
    total: Average,
    packet: u64,
    active_for: Duration,
    /// The class and the time of the last arrival of every active flow. The key is [`PacketMeta::directed_flow`].
    flows: BTreeMap<u64, (u8, Time)>,
    /// Active flows per class.
    per_class: Vec<u32>,
    next_sweep: Time,
}

impl Active {
    /// Creates the state with no active flows. `min_th` is a number of packets or bytes, depending on `unit`. `packet`
    /// is the size of a typical packet in bytes, and `classes` is the number of classes.
    pub(super) fn new(
        (min_th, unit): (f64, Unit),
        weight: f64,
        packet: u64,
        active_for: Duration,
        classes: usize,
    ) -> Self {
        Self {
            unit,
            min_th,
            total: Average::new(weight, Sampling::Arrivals),
            packet,
            active_for,
            flows: BTreeMap::new(),
            per_class: vec![0; classes],
            next_sweep: Time::ZERO,
        }
    }

    pub(super) fn unit(&self) -> Unit {
        self.unit
    }

    /// Records the arrival of a packet of class `p.class`.
    pub(super) fn arrival(&mut self, p: &PacketMeta, now: Time, link: &LinkView) {
        self.total.arrival(now, link, self.packet);
        if now >= self.next_sweep {
            self.sweep(now);
        }
        match self.flows.insert(p.directed_flow(), (p.class, now)) {
            Some((class, _)) if class == p.class => {}
            Some((class, _)) => {
                self.per_class[usize::from(class)] -= 1;
                self.per_class[usize::from(p.class)] += 1;
            }
            None => self.per_class[usize::from(p.class)] += 1,
        }
    }

    /// Removes the flows whose last packet arrived `active_for` ago or earlier.   Bound: each call visits every active
    /// flow once, and there are at most four calls per `active_for`.
    fn sweep(&mut self, now: Time) {
        let Self { flows, per_class, active_for, .. } = self;
        flows.retain(|_, (class, last)| {
            let active = now.since(*last) < *active_for;
            per_class[usize::from(*class)] -= u32::from(!active);
            active
        });
        self.next_sweep = now + Duration((self.active_for.0 / 4).max(1));
    }

    /// Returns true if the average length of the whole queue is at least `min_th`. Below `min_th`, the shares do not
    /// apply.
    pub(super) fn congested(&self) -> bool {
        self.total.get() >= self.min_th
    }

    /// Computes the share of the whole queue's average length that `class` may use: each active flow has an equal share, and a
    /// class gets the sum of its flows' shares.
    pub(super) fn share(&self, class: u8) -> f64 {
        let all = self.flows.len().max(1) as f64;
        self.total.get() * f64::from(self.per_class[usize::from(class)]) / all
    }

    /// Reports the average length of the whole queue, and the number of active flows that share the queue.
    pub(super) fn probe(&self, out: &mut Reading<'_>) {
        out.value("avg", self.unit.of_probe(), Some(self.total.get()));
        out.number("active_flows", self.flows.len() as u32);
    }

    /// Records that the backlog of the whole queue is `queued` from time `now` on.
    pub(super) fn now_queued(&mut self, queued: Backlog, now: Time, link: &LinkView) {
        self.total.now_queued(self.unit.of(queued), now, link, self.packet);
    }
}
