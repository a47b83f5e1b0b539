//! A world's account: what `measure` makes its summary and tables from.

use crate::world::World;
use measure::{Account, Outcome};
use record::Sink;
use scenario::Scenario;
use traffic::Application;

impl<S: Sink> World<S> {
    /// The result so far; after [`World::run`], of the whole run. `scenario` is the one that built this world.
    pub fn outcome(&self, scenario: &Scenario) -> Outcome {
        // after a run the machines look back from its end, before it from the last event
        let now = if self.over { self.end } else { self.now() };
        let links = self.core.net.links.iter().map(|link| link.account(now, capacity(scenario, &link.name)));
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
