//! Runs scenarios, in a single call or in slices.

use crate::charts::charts;
use scenario::Scenario;
use sim::{Ended, Outcome, Sinks, World};
use units::Problem;

/// Runs a scenario to its end, or until `progress` returns false. Records of the run go to `sinks`, which are returned.
/// `progress` receives the fraction of the run that is done, from 0 to 1.
pub fn simulate<'a>(
    scenario: &Scenario,
    sinks: Sinks<'a>,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<(Ended, Outcome, Sinks<'a>), Problem> {
    let mut world = World::recorded(scenario, sinks)?;
    let ended = world.run_recorded(progress);
    let outcome = world.outcome(scenario);
    Ok((ended, outcome, world.into_sink()))
}

/// Runs a scenario to its end, or until `progress` returns false, and computes its measures without recording packets.
/// `progress` receives the fraction of the run that is done, from 0 to 1.
pub fn measure(scenario: &Scenario, progress: &mut dyn FnMut(f64) -> bool) -> Result<(Ended, Outcome), Problem> {
    let mut world = World::build(scenario)?;
    let ended = world.run_unrecorded(progress);
    Ok((ended, world.outcome(scenario)))
}

/// Writes the summary as JSON. The interfaces for Python and for a web page call this function, so equal summaries have equal
/// bytes in both.
pub fn summary(outcome: &Outcome) -> String {
    outcome.summary.to_string()
}

/// A run in slices, for a program with a single thread that must stay responsive.
pub struct Run {
    scenario: Scenario,
    world: World,
}

impl Run {
    /// Builds a run.   Errors: the scenario exceeds a limit.
    pub fn new(scenario: Scenario) -> Result<Self, Problem> {
        let mut world = World::build(&scenario)?;
        // the charts show the delays in the two queues of a dual-queue discipline, so these delays must be sampled
        world.sample_queue_delays();
        Ok(Self { scenario, world })
    }

    /// Runs one slice, of at most 65 536 events. Returns the fraction of simulated time done, which is 1 only at the end.
    pub fn go_on(&mut self) -> f64 {
        let mut done = 0.0;
        let ended = self.world.run_unrecorded(&mut |fraction| {
            done = fraction;
            false
        });
        match ended {
            Ended::Finished => 1.0,
            Ended::Cancelled => f64::min(done, 1.0 - f64::EPSILON),
        }
    }

    /// Returns the outcome so far.
    pub fn outcome(&self) -> Outcome {
        self.world.outcome(&self.scenario)
    }

    /// Returns the charts of an outcome, with at most `points` bins.
    pub fn charts(&self, outcome: &Outcome, points: usize) -> serde_json::Value {
        charts(outcome, &self.scenario, self.world.queue_delays(), points)
    }

    /// Returns the scenario of this run.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }
}
