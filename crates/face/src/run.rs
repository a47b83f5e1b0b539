//! One run.

use crate::charts::charts;
use record::Sink;
use scenario::Scenario;
use sim::{Ended, Outcome, World};
use units::Problem;

/// Runs a scenario with this sink, to its end or until `look` returns false. `look` receives the fraction done, 0 to 1.
pub fn simulate<S: Sink>(
    scenario: &Scenario,
    sink: S,
    look: &mut impl FnMut(f64) -> bool,
) -> Result<(Ended, Outcome), Problem> {
    let mut world = World::with_sink(scenario, sink)?;
    let ended = world.run(look);
    Ok((ended, world.outcome(scenario)))
}

/// The summary as JSON: the one text that every face gives, so that equal runs give equal bytes.
pub fn summary(outcome: &Outcome) -> String {
    outcome.summary.to_string()
}

/// A run in slices, for a host that has only one thread and must answer in between.
pub struct Run {
    scenario: Scenario,
    world: World,
}

impl Run {
    /// A run at its beginning.   Errors: a scenario that needs more than there is.
    pub fn new(scenario: Scenario) -> Result<Self, Problem> {
        let mut world = World::build(&scenario)?;
        // what its charts draw
        world.sample_queue_delays();
        Ok(Self { scenario, world })
    }

    /// Runs one slice, some ten thousand events; returns the fraction of the time done, and 1 only at the end.
    pub fn go_on(&mut self) -> f64 {
        let mut done = 0.0;
        let ended = self.world.run(|fraction| {
            done = fraction;
            false
        });
        match ended {
            Ended::Finished => 1.0,
            Ended::Cancelled => f64::min(done, 1.0 - f64::EPSILON),
        }
    }

    /// The outcome so far.
    pub fn outcome(&self) -> Outcome {
        self.world.outcome(&self.scenario)
    }

    /// Its charts, with at most `points` bins.
    pub fn charts(&self, outcome: &Outcome, points: usize) -> serde_json::Value {
        charts(outcome, &self.scenario, self.world.queue_delays(), points)
    }

    /// The scenario of this run.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }
}
