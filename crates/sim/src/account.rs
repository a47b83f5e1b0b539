//! The result of a run, computed by `measure` from the world's counters.

use crate::world::World;
use measure::{Account, Outcome};
use record::Sink;
use scenario::Scenario;
use traffic::Application;
use units::Duration;

impl<S: Sink> World<S> {
    /// Returns the result of the whole run if [`World::run`] has completed it, and otherwise the result of the run so
    /// far. `scenario` must be the scenario from which this world was built.
    pub fn outcome(&self, scenario: &Scenario) -> Outcome {
        // the figures of applications cover the whole run if it is complete; otherwise they end at the last event
        let now = if self.over { self.end } else { self.now() };
        let links = self.engine.net.links.iter().map(|link| link.account(now, self.capacity(scenario, &link.name)));
        Account {
            name: &scenario.name,
            seed: scenario.seed,
            duration: Duration(self.end.0),
            warm_up: scenario.record.warm_up,
            events: self.events(),
            links: links.collect(),
            grading: scenario.grading(),
            tally: &self.engine.tally,
            figures: self.apps.iter().map(|a| a.figures(now)).collect(),
            words: self.apps.iter().map(|a| a.words()).collect(),
            columns: self.apps.iter().map(|a| a.columns()).collect(),
        }
        .outcome()
    }

    /// Returns the number of bits that link `name` can carry after the warm-up; `None` without a rate. The reverse of
    /// link `x` is named `~x`, and has the same rate.
    fn capacity(&self, scenario: &Scenario, name: &str) -> Option<f64> {
        let link = scenario.link.get(name.trim_start_matches('~'))?;
        link.capacity(scenario.record.warm_up, Duration(self.end.0))
    }
}
