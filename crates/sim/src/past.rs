//! Shared initial segments of runs, called pasts. Two runs are the same until a difference between their scenarios takes
//! effect, so the time before that is simulated once for both runs.
//!
//! ```text
//!   timeline   always (the network, the measurements), then (time, act): a link changes, an application starts or stops, the end
//!   common     of two timelines with the same `always`: the time of the first act in which they differ
//!   past       a world in which only acts before some time are scheduled; any scenario with the same earlier acts can continue it
//! ```
//!
//! [`Timeline::of`] alone decides what two runs share. It is conservative: if a key can affect the run and is not
//! listed as an act, it takes effect at the start. So two scenarios that differ in a link's rate, in the warm-up or in
//! the duration share nothing. The acts are the start of an application (with all its parameters), its stop, the
//! beginning and the end of the load, each of a link's `changes`, and the end of the run. Only a link without changes
//! may be a `Fifo`, so whether a link has `changes` takes effect at the start.
//!
//! A scenario that continues a past replaces the applications that have not started and the acts that have not
//! happened, and keeps everything else. The events of acts have ranks instead of sequence numbers, so their order does
//! not depend on when they were scheduled.

use crate::build::Schedule;
use crate::chain;
use crate::engine::Engine;
use crate::link;
use crate::tsq;
use crate::world::{Ended, World};
use measure::Outcome;
use measure::tally::ROWS_WITH_SERIES;
use scenario::{App, Scenario};
use std::mem;
use traffic::Traffic;
use units::{Problem, Time};

/// A scenario's run as text: everything that takes effect at the start, and the acts that follow, in time order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// Everything that takes effect at the start of the run, as one string. Runs with different strings share nothing.
    pub always: String,
    /// The acts: changes of links, starts and stops of applications, the start and the end of the load
    /// ([`Scenario::load`]), and as the last act the end of the run. They are in time order. Each entry has the time of an act
    /// and a string that describes the act; equal acts have equal strings.
    pub acts: Vec<(Time, String)>,
}

impl Timeline {
    /// Returns the timeline of a scenario; `None` if its run depends on more than the scenario: on code in Python, or on endpoints.
    ///
    /// Errors: the first problem of the scenario.
    pub fn of(scenario: &Scenario) -> Result<Option<Self>, Problem> {
        let network = scenario.network()?;
        let endpoint = network.apps.iter().any(|app| matches!(app.declared.traffic, Traffic::Endpoint(_)));
        // if a part of the scenario is written in Python, the settings of this part are in a table named `python`
        if endpoint || scenario.canonical().contains("\"python\":") {
            return Ok(None);
        }
        let mut acts = Vec::new();
        for link in &network.links {
            acts.extend(link.changes.iter().map(|(at, change)| (*at, format!("link {}: {change:?}", link.name))));
        }
        for app in &network.apps {
            let stacks = app.stacks.map(|stack| &network.stacks[usize::from(stack)]);
            let declared = App { stop: None, ..app.declared.clone() };
            acts.push((app.start, format!("app {}: {declared:?} {stacks:?}", app.name)));
            acts.push((app.stop, format!("app {}: stop", app.name)));
        }
        // When an echo is answered, it is counted either as idle or as under load. This depends on the declared starts and
        // stops of all applications. So runs whose load begins or ends at different times share nothing after the first of these
        // times. `start_spread` only delays starts, so no start comes before its declared time
        let load = scenario.load();
        acts.extend([(load.start, "the load begins".to_owned()), (load.end, "the load ends".to_owned())]);
        let end = Time(scenario.duration.0);
        acts.retain(|(at, _)| *at < end);
        acts.sort_by_key(|(at, _)| *at);
        acts.push((end, "end".to_owned()));

        let mut rest = scenario.clone();
        // the world does not depend on these keys
        (rest.name, rest.grade, rest.max_packets, rest.trace) = (String::new(), None, None, None);
        rest.expect.clear();
        // the tables `app` and `tcp` take effect only when an application starts, and `acts` describes each start with
        // all parameters of the application
        (rest.app, rest.tcp) = Default::default();
        let changing: Vec<bool> = rest.link.values_mut().map(|link| !mem::take(&mut link.changes).is_empty()).collect();
        let apps: Vec<&str> = network.apps.iter().map(|app| app.name.as_str()).collect();
        let series = |app: &scenario::NetworkApp| app.recorded && app.declared.traffic.rows() <= ROWS_WITH_SERIES;
        // four things depend on all applications together, even on those that start later: which links are in chains,
        // in which order simultaneous arrivals are handled, which nodes have TCP small queues, and whether there are
        // sampling events
        let counted = tsq::nodes(&network);
        let together = (chain::roles(&network, &counted, link::kind), counted, network.apps.iter().any(series));
        Ok(Some(Self { always: format!("{} {changing:?} {apps:?} {together:?}", rest.canonical()), acts }))
    }

    /// Returns the time up to which two runs are the same; zero if they share nothing.
    pub fn common(&self, other: &Self) -> Time {
        if self.always != other.always {
            return Time::ZERO;
        }
        let mut pairs = self.acts.iter().zip(&other.acts);
        // if all acts are equal, the runs are the same until they end, and they end at the same time
        let differing = pairs.find(|(one, other)| one != other).or(self.acts.last().zip(other.acts.last()));
        differing.map_or(Time::ZERO, |(one, other)| one.0.min(other.0))
    }
}

/// The beginning of a run, simulated up to a certain time. Only the acts of the [`Timeline`] before this time have been
/// scheduled, so any scenario whose timeline is the same up to this time can continue the run. A clone and the original
/// do not affect each other.
#[derive(Clone, Debug)]
pub struct Past {
    world: World,
    at: Time,
}

impl Past {
    /// Returns a past that ends at time 0, so no act has happened yet. Another scenario can continue this past if its
    /// timeline has the same `always` as the timeline of `scenario`.
    ///
    /// Errors: those of [`World::build`].
    pub fn new(scenario: &Scenario) -> Result<Self, Problem> {
        Ok(Self { world: World::unscheduled(scenario, (), true)?.0, at: Time::ZERO })
    }

    /// Continues the run with `scenario` until `until`, a time between the current time and the end. Calls `observe`
    /// between slices with the fraction of the run done. If `observe` returns false, the run stops, and the past can no
    /// longer be used.
    ///
    /// The timeline of `scenario` must have the same `always` as the timelines of the scenarios in all earlier calls
    /// (including [`Past::new`]), and the same acts before the current time.
    ///
    /// Errors: those of [`World::build`].
    pub fn advance(
        &mut self,
        scenario: &Scenario,
        until: Time,
        mut observe: impl FnMut(f64) -> bool,
    ) -> Result<Ended, Problem> {
        self.continue_as(scenario, until)?;
        let end = self.world.end.secs();
        Ok(self.world.run_unrecorded_before(until, &mut |world| observe(world.now().secs() / end)))
    }

    /// Continues the run with `scenario` to the end; returns the outcome. `observe` is called as in [`Past::advance`],
    /// and the timeline of `scenario` must meet the condition that is stated there.
    ///
    /// Errors: those of [`World::build`].
    pub fn finish(
        mut self,
        scenario: &Scenario,
        mut observe: impl FnMut(f64) -> bool,
    ) -> Result<(Ended, Outcome), Problem> {
        self.continue_as(scenario, Time::NEVER)?;
        let ended = self.world.run_unrecorded(&mut observe);
        Ok((ended, self.world.outcome(scenario)))
    }

    /// Builds the world of `scenario`, moves the state of the past into this world, and schedules the scenario's acts
    /// from the current time until just before `until`.
    fn continue_as(&mut self, scenario: &Scenario, until: Time) -> Result<(), Problem> {
        let (mut world, schedule) = World::unscheduled(scenario, (), true)?;
        mem::swap(&mut self.world, &mut world);
        self.world.continue_from(world, &schedule, self.at);
        self.world.schedule(&schedule, self.at..until);
        self.at = until;
        Ok(())
    }
}

impl World {
    /// Takes over the state of `past`, a world at time `at`, except for the applications that have not started.
    fn continue_from(&mut self, past: World, schedule: &Schedule, at: Time) {
        let started = |i: usize| schedule.starts[i] < at;
        // each field is named, so that a new field cannot be forgotten here
        let World { apps, engine, end: _, over: _, bin: _, next_sample, next_catch_up, tasks: _ } = past;
        let Engine {
            net,
            conns,
            paths,
            free_slots,
            draining_slots,
            stacks: _,
            headers: _,
            apps: states,
            app_events,
            deferred_acks,
            tally,
            next_port,
            wakes,
        } = engine;
        debug_assert!(app_events.is_empty() && deferred_acks.is_empty() && wakes.is_empty(), "between two events");
        let own = &mut self.engine;
        for mut conn in conns {
            let i = usize::from(paths[usize::from(conn.ends[0].path)].app);
            for end in &mut conn.ends {
                end.path = end.path - states[i].first_path + own.apps[i].first_path;
            }
            let [from, to] = [&tally, &own.tally].map(|tally| tally.apps[i].first_row as u32);
            conn.info.row = conn.info.row - from + to;
            own.conns.push(conn);
        }
        for (i, state) in states.into_iter().enumerate().filter(|(i, _)| started(*i)) {
            let fresh = mem::replace(&mut own.apps[i], state);
            let state = &mut own.apps[i];
            state.first_path = fresh.first_path;
            state.timers.stop_as(&fresh.timers);
        }
        own.tally.continue_from(tally, started);
        (own.net, own.free_slots, own.draining_slots) = (net, free_slots, draining_slots);
        own.next_port = next_port;
        for (i, app) in apps.into_iter().enumerate().filter(|(i, _)| started(*i)) {
            self.apps[i] = app;
        }
        (self.next_sample, self.next_catch_up) = (next_sample, next_catch_up);
    }
}
