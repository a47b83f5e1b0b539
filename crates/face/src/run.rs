//! A run.

use crate::charts::charts;
use record::Sink;
use scenario::Scenario;
use sim::{Ended, Outcome, World};
use units::Problem;

/// Runs a scenario with this sink, to its end or until `progress` returns false. `progress` receives the fraction done, 0 to 1.
pub fn simulate<S: Sink>(
    scenario: &Scenario,
    sink: S,
    progress: &mut impl FnMut(f64) -> bool,
) -> Result<(Ended, Outcome), Problem> {
    let mut world = World::with_sink(scenario, sink)?;
    let ended = world.run(progress);
    Ok((ended, world.outcome(scenario)))
}

/// Writes the summary as JSON. All faces do it here, so that equal runs have equal bytes.
pub fn summary(outcome: &Outcome) -> String {
    outcome.summary.to_string()
}

/// A run in slices, for a host with one thread that must respond in between.
pub struct Run {
    scenario: Scenario,
    world: World,
}

impl Run {
    /// Builds a run.   Errors: a scenario that exceeds a limit.
    pub fn new(scenario: Scenario) -> Result<Self, Problem> {
        let mut world = World::build(&scenario)?;
        // for its charts
        world.sample_queue_delays();
        Ok(Self { scenario, world })
    }

    /// Runs one slice, some ten thousand events; returns the fraction of simulated time done, which is 1 only at the end.
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

    /// The charts of an outcome, with at most `points` bins.
    pub fn charts(&self, outcome: &Outcome, points: usize) -> serde_json::Value {
        charts(outcome, &self.scenario, self.world.queue_delays(), points)
    }

    /// The scenario of this run.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }
}
