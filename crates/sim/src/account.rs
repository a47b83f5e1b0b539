//! A world's account: what `measure` makes its summary and tables from.

use crate::net::{Kind, Link};
use crate::world::World;
use measure::{Account, Count, LinkAccount, Outcome};
use record::Sink;
use scenario::Scenario;
use traffic::Application;
use units::Duration;

impl<S: Sink> World<S> {
    /// The result so far; after [`World::run`], of the whole run. `scenario` is the one that built this world.
    pub fn outcome(&self, scenario: &Scenario) -> Outcome {
        let links = self.core.net.links.iter().map(|l| {
            let m = &l.meter;
            LinkAccount {
                name: &l.name,
                capacity: capacity(scenario, &l.name),
                offered: m.offered,
                delivered: m.delivered,
                dropped: m.dropped,
                drops: m.drops,
                marked: m.marked,
                backlog: match &l.kind {
                    Kind::Fifo(fifo) => fifo.backlog(),
                    Kind::Port { port, .. } => port.backlog(),
                },
                classes: classes(l),
                meter: m.full.as_deref(),
            }
        });
        // after a run the machines look back from its end, before it from the last event
        let now = if self.over { self.end } else { self.now() };
        Account {
            name: &scenario.name,
            seed: scenario.seed,
            duration: scenario.duration,
            events: self.events(),
            links: links.collect(),
            tally: &self.core.tally,
            figures: self.apps.iter().map(|a| a.machine.figures(now)).collect(),
        }
        .outcome()
    }
}

/// What the rate of a link carries in the whole run; one that leads back is the same as the one there.
fn capacity(scenario: &Scenario, name: &str) -> Option<f64> {
    scenario.link.get(name.trim_start_matches('~'))?.capacity(Duration::ZERO, scenario.duration)
}

/// The classes of a link's discipline: offered, delivered, dropped.
fn classes(link: &Link) -> Vec<(&str, [Count; 3])> {
    let Kind::Port { port, .. } = &link.kind else { return Vec::new() };
    let count = |c: qdisc::Count| Count { packets: c.packets, bytes: c.bytes };
    let probes = port.classes();
    probes.iter().map(|c| (c.name, [c.counts.offered, c.counts.delivered, c.counts.dropped].map(count))).collect()
}
