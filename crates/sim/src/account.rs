//! A world's account: what `measure` makes its summary and tables from.

use crate::net::{Kind, Link};
use crate::world::World;
use measure::{Account, ClassCounts, Count, GrantCounts, LinkAccount, LinkCounts, Outcome};
use qdisc::ClassProbe;
use record::Sink;
use scenario::Scenario;
use traffic::Application;
use units::Time;

impl<S: Sink> World<S> {
    /// The result so far; after [`World::run`], of the whole run. `scenario` is the one that built this world.
    pub fn outcome(&self, scenario: &Scenario) -> Outcome {
        // after a run the machines look back from its end, before it from the last event
        let now = if self.over { self.end } else { self.now() };
        let links = self.core.net.links.iter().map(|l| LinkAccount {
            name: &l.name,
            capacity: capacity(scenario, &l.name),
            total: l.counts(now),
            before: l.meter.before.as_deref().cloned().unwrap_or_default(),
            classes: l.classes().iter().map(|c| c.name).collect(),
            service_flows: l.grants().iter().map(|(name, _)| *name).collect(),
            meter: l.meter.full.as_deref(),
        });
        Account {
            name: &scenario.name,
            seed: scenario.seed,
            duration: scenario.duration,
            warm_up: scenario.record.warm_up,
            events: self.events(),
            links: links.collect(),
            grading: scenario.grading(),
            tally: &self.core.tally,
            figures: self.apps.iter().map(|a| a.machine.figures(now)).collect(),
            words: self.apps.iter().map(|a| a.machine.words()).collect(),
            columns: self.apps.iter().map(|a| a.machine.columns()).collect(),
        }
        .outcome()
    }
}

/// What the rate of a link carries after the warm-up; one that leads back is the same as the one there.
fn capacity(scenario: &Scenario, name: &str) -> Option<f64> {
    scenario.link.get(name.trim_start_matches('~'))?.capacity(scenario.record.warm_up, scenario.duration)
}

impl Link {
    /// What it has counted before `now`, and what it holds.
    pub(crate) fn counts(&self, now: Time) -> LinkCounts {
        let m = &self.meter;
        let count = |c: qdisc::Count| Count { packets: c.packets, bytes: c.bytes };
        let backlog = match &self.kind {
            Kind::Fifo(fifo) => fifo.backlog(),
            Kind::Port { port, .. } => port.backlog(),
        };
        LinkCounts {
            offered: m.offered,
            delivered: m.delivered,
            dropped: m.dropped,
            drops: m.drops,
            marked: m.marked,
            backlog,
            in_flight: self.holds().1,
            classes: self
                .classes()
                .iter()
                .map(|c| ClassCounts {
                    offered: count(c.counts.offered),
                    delivered: count(c.counts.delivered),
                    dropped: count(c.counts.dropped),
                    marked: c.marked,
                })
                .collect(),
            opportunities: match &self.kind {
                Kind::Fifo(_) => None,
                Kind::Port { port, .. } => port.opportunities(now),
            },
            grants: self
                .grants()
                .iter()
                .map(|(_, g)| GrantCounts {
                    requested: g.requested,
                    granted: g.granted,
                    proactive: g.proactive,
                    used: g.used,
                })
                .collect(),
        }
    }

    /// The grants of its modem, if that tells of them.
    fn grants(&self) -> Vec<(&'static str, port::GrantCounts)> {
        match &self.kind {
            Kind::Fifo(_) => Vec::new(),
            Kind::Port { port, .. } => port.grants(),
        }
    }

    /// The classes of its discipline, if it has any.
    fn classes(&self) -> Vec<ClassProbe<'_>> {
        match &self.kind {
            Kind::Fifo(_) => Vec::new(),
            Kind::Port { port, .. } => port.classes(),
        }
    }
}
