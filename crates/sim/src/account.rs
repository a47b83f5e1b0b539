//! The result of a run, computed by `measure` from the world's counters.

use crate::conn::SlotUse;
use crate::world::World;
use measure::{Account, Outcome};
use record::Sink;
use scenario::Scenario;
use std::borrow::Cow;
use std::ops::Range;
use traffic::Application;
use units::{Duration, Time};

impl<S: Sink> World<S> {
    /// Returns the result of the whole run if [`World::run`] has completed it, and otherwise the result of the run so
    /// far. `scenario` must be the scenario from which this world was built.
    pub fn outcome(&self, scenario: &Scenario) -> Outcome {
        self.outcome_at(scenario, self.now())
    }

    /// Returns the result of the run up to the time `last`. All events up to this time must have been processed. After
    /// the end of the run, `last` has no effect.
    ///
    /// During the run, the counters of links and the drop counts of applications may be out of date. If an application
    /// has series, these counts are brought up to date at the end of each bin.
    pub fn outcome_at(&self, scenario: &Scenario, last: Time) -> Outcome {
        let mut tally = Cow::Borrowed(&self.engine.tally);
        let mut end = self.end;
        if !self.over {
            // averages and shares cover the time so far
            end = last.min(self.last()) + Duration::from_nanos(1);
            let open = self.engine.conns.iter().filter(|c| c.used() != SlotUse::Free);
            open.for_each(|conn| conn.retire(tally.to_mut()));
        }
        // counting begins again at the end of the warm-up; during the warm-up, the counts cover the whole time so far
        let warm_up = Some(scenario.record.warm_up).filter(|of| *of < Duration(end.0)).unwrap_or_default();
        let measured = warm_up..Duration(end.0);
        let capacity = |name: &str| capacity(scenario, name, &measured);
        let links = self.engine.net.links.iter().map(|link| link.account(end, capacity(&link.name)));
        Account {
            name: &scenario.name,
            seed: scenario.seed,
            duration: measured.end,
            warm_up,
            events: self.events(),
            links: links.collect(),
            grading: scenario.grading(),
            tally: &tally,
            figures: self
                .apps
                .iter()
                .zip(&self.engine.apps)
                .map(|(a, state)| a.figures(end, state.timers.stop()))
                .collect(),
            words: self.apps.iter().map(|a| a.words()).collect(),
            columns: self.apps.iter().map(|a| a.columns()).collect(),
        }
        .outcome()
    }
}

/// Returns the number of bits that link `name` can carry in a part of the run; `None` without a rate. The reverse of link
/// `x` is named `~x`, and has the same rate.
fn capacity(scenario: &Scenario, name: &str, during: &Range<Duration>) -> Option<f64> {
    scenario.link.get(name.trim_start_matches('~'))?.capacity(during.start, during.end)
}
