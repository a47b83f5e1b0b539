//! A directed link: the carrier of its packets, and its meter. The simulator and the live bench share this type.

use crate::{Port, PortCounters};
use measure::{ClassCounts, LinkAccount, LinkCounts, LinkMeter};
use packet::{DropReason, NodeId};
use units::Time;

/// Carries the packets of a [`Link`]: a [`Port`], or the host's own faster implementation of simple links.
pub trait Carries {
    /// Returns the port, if the carrier is a port.
    fn port(&self) -> Option<&Port>;
    /// Returns the counts of all events before `now`, and the packets still queued or in flight.
    fn counts(&self, now: Time) -> LinkCounts;
}

/// A directed link.
#[derive(Clone, Debug)]
pub struct Link<C = Port> {
    /// Name in the scenario.
    pub name: String,
    /// Node at the far end.
    pub to: NodeId,
    /// Queue, server and propagation.
    pub carrier: C,
    /// Series and distributions, if the link is recorded.
    pub meter: Option<Box<LinkMeter>>,
    /// Counts at the end of the warm-up.
    pub before: Box<LinkCounts>,
}

impl<C: Carries> Link<C> {
    /// Ends the warm-up at `now`. The caller must have done all work due before `now`.
    pub fn begin(&mut self, now: Time) {
        *self.before = self.carrier.counts(now);
        if let Some(meter) = &mut self.meter {
            meter.begin();
        }
    }

    /// Completes the link's measurements at `now`, the end of the run.
    pub fn finish(&mut self, now: Time) {
        if let Some(meter) = &mut self.meter {
            meter.finish(now);
        }
    }

    /// Returns the link's counters and measurements at `now`, with [`LinkAccount::capacity`] set to `capacity`.
    pub fn account(&self, now: Time, capacity: Option<f64>) -> LinkAccount<'_> {
        let port = self.carrier.port();
        LinkAccount {
            name: &self.name,
            capacity,
            total: self.carrier.counts(now),
            before: (*self.before).clone(),
            classes: port.into_iter().flat_map(Port::classes).map(|class| class.name).collect(),
            service_flows: port.into_iter().flat_map(Port::grants).map(|(name, _)| name).collect(),
            meter: self.meter.as_deref(),
        }
    }
}

impl Carries for Port {
    fn port(&self) -> Option<&Port> {
        Some(self)
    }

    fn counts(&self, now: Time) -> LinkCounts {
        let c = self.counters();
        LinkCounts {
            offered: c.queue.offered,
            delivered: c.delivered,
            dropped: c.dropped(),
            drops: drops(&c),
            marked: c.queue.marked.iter().flatten().sum(),
            backlog: self.backlog(),
            in_flight: c.in_flight(),
            classes: self.classes().iter().map(|c| ClassCounts { counts: c.counts, marked: c.marked }).collect(),
            opportunities: self.opportunities(now),
            grants: self.grants().iter().map(|(_, grants)| *grants).collect(),
        }
    }
}

/// Returns the number of dropped packets by reason, in the order of [`DropReason::ALL`].
fn drops(c: &PortCounters) -> [u64; DropReason::ALL.len()] {
    let mut drops = c.queue.dropped.map(|points| points.iter().map(|p| p.packets).sum());
    drops[DropReason::TransmitQueueFull as usize] += c.transmit_dropped.packets;
    drops[DropReason::LinkLoss as usize] += c.lost.packets;
    drops
}
