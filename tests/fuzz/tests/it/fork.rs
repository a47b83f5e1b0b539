//! Tests of rule 11 of docs/architecture.md: a clone of a world ends with the same bytes as a run without a pause, and
//! shares nothing with the original. Each random scenario is paused at a random time. Its world is then read and
//! cloned; in one clone a link is changed, and in another the senders are steered.
//!
//! `BLOATLAB_FORKS=1000` sets the number of scenarios (60 by default). If there are 1000 or more, they must include
//! every queue discipline, every law (AQM algorithm) within a fair-queueing discipline, and every application, stack,
//! controller, service and kind of delivery. Laws and controllers written in Python are not part of these scenarios;
//! `tests/python` clones worlds that contain them.

use super::{count, finish, same};
use fuzz::schema::Range;
use fuzz::source::Source;
use fuzz::world::tree;
use port::{Service, Shaper};
use scenario::read::{self, Format};
use scenario::{Change, Scenario};
use serde_json::{Value, json};
use sim::{Ended, Outcome, Steer, World};
use std::collections::BTreeSet;
use units::{BitRate, Duration, Prob, Rng, Time};

/// Returns the outcome with the number of events set to 0, because runs with equal results may differ in this number. A
/// world from `build_driven` has an event for each packet at the end of each link; other worlds save some of these
/// events. A change of a link is an event only if it is scheduled.
fn without_events(world: &World, scenario: &Scenario) -> Outcome {
    let mut outcome = world.outcome(scenario);
    outcome.summary["events"] = 0.into();
    outcome
}

/// Returns the names of all congestion controllers of the crate `tcp`, except the one that stands for Python code.
fn controllers() -> Vec<String> {
    let all = tcp::CongestionControl::ALL.iter().filter(|control| **control != tcp::CongestionControl::Python);
    all.map(|control| kind(json!(control))).collect()
}

/// Generates a random scenario; returns `None` if it cannot be built and run. If `number` is even, the first
/// application uses a congestion controller chosen by `number`, so that all controllers get their turn.
fn scenario(number: u64, rng: &mut Rng) -> Option<Scenario> {
    let bytes: Vec<u8> = (0..128).flat_map(|_| rng.bits().to_le_bytes()).collect();
    let mut drawn = tree(&mut Source::new(&bytes), Range::Usual);
    if number.is_multiple_of(2) {
        let all = controllers();
        let name = &all[(number / 2) as usize % all.len()];
        let stack = json!({ "preset": "linux-6", "congestion_control": name, "timestamps": true, "ecn": true, "ecn_feedback": "accecn" });
        drawn.entry("tcp").or_insert(json!({}))["controlled"] = stack;
        drawn["app"]["app0"]["tcp"] = json!("controlled");
    }
    let scenario = read::scenario(&Value::Object(drawn).to_string(), Format::Json, &[]).ok()?;
    let ready = |link: &scenario::Link| {
        link.queue.ready().is_ok() && link.service.delivery().is_none_or(|delivery| delivery.ready().is_ok())
    };
    let known = scenario.tcp.values().all(|stack| stack.ready().is_ok());
    (known && scenario.link.values().all(ready)).then_some(scenario)
}

/// Returns the name of the kind of service that a link provides.
fn service(link: &scenario::Link) -> &'static str {
    match &link.service {
        Service::Plain => "plain",
        Service::Shaper(Shaper::TokenBucket(_)) => "token bucket",
        Service::Shaper(Shaper::Htb(_)) => "htb",
        Service::Docsis(p) if p.model == docsis::Model::TwoQueue2012 => "modem of 2012",
        Service::Docsis(_) => "modem of 2013",
        Service::Docsis31(p) if p.downstream.is_some() => "docsis 3.1 downstream",
        Service::Docsis31(_) => "docsis 3.1",
        Service::Delivery(_) => "delivery",
    }
}

/// Returns the kind of a value in a scenario: the text itself, or the only key of a table.
fn kind(of: Value) -> String {
    match of {
        Value::String(word) => word,
        Value::Object(table) => table.into_iter().next().unwrap().0,
        other => panic!("{other} has no name"),
    }
}

/// Returns the kinds of all parts of a scenario. A test of 1000 or more scenarios checks that every kind has occurred.
fn kinds(scenario: &Scenario) -> Vec<String> {
    let mut seen = Vec::new();
    for link in scenario.link.values() {
        seen.push(format!("queue {}", link.queue.name()));
        seen.extend(link.queue.fair().map(|fair| format!("law {}", kind(json!(fair.law)))));
        seen.push(format!("service {}", service(link)));
        seen.extend(link.service.delivery().map(|delivery| format!("delivery {}", kind(json!(delivery)))));
    }
    for app in scenario.app.values() {
        seen.push(format!("app {}", app.traffic.name()));
        for stack in app.tcp_server.iter().chain([&app.tcp]).filter(|_| !app.traffic.is_datagrams()) {
            seen.push(format!("tcp {stack}"));
            let control = scenario.stack(stack).unwrap().control;
            seen.push(format!("controller {}", kind(json!(control.congestion_control))));
        }
    }
    seen
}

/// The kinds that [`service`] returns.
const SERVICES: [&str; 8] = [
    "plain",
    "token bucket",
    "htb",
    "modem of 2012",
    "modem of 2013",
    "docsis 3.1 downstream",
    "docsis 3.1",
    "delivery",
];

/// Reads the state of every link and of up to three senders of each application. Reading must not change the results of
/// the run.
fn read_all(world: &mut World, scenario: &Scenario, now: Time) {
    for i in 0..scenario.directed_links().len() {
        let link = world.link(i as u16, now);
        assert!(link.counts.offered.packets >= link.counts.dropped.packets);
    }
    for (i, app) in scenario.app.values().enumerate() {
        for row in 0..app.traffic.rows().min(3) {
            if let Some(sender) = world.sender(i, row) {
                assert!(sender.probe.cwnd_bytes >= 1 && sender.connection > 0);
            }
        }
    }
}

/// Changes a link at `now`, both in the world and in the scenario; returns false if the link cannot make the change.
fn change(world: &mut World, scenario: &mut Scenario, now: Time, rng: &mut Rng) -> bool {
    let name = scenario.link.keys().nth(rng.below(scenario.link.len() as u64) as usize).unwrap().clone();
    let before = scenario.clone();
    let link = scenario.link.get_mut(&name).unwrap();
    let mut change = Change { at: Duration(now.0), ..Change::default() };
    match rng.below(4) {
        0 => change.delay = Some(Duration(rng.below(50_000_000))),
        1 => change.loss = Prob::new(0.02).ok(),
        2 => change.jitter = Some(Duration(rng.below(5_000_000))),
        _ => change.rate = Some(BitRate(100_000 + rng.below(20_000_000))),
    }
    let Ok(made) = link.schedule(change) else { return false };
    for (i, (direction, _)) in before.directed_links().into_iter().enumerate() {
        if direction.trim_start_matches('~') == name {
            world.change(now, i as u16, made, &before).unwrap();
        }
    }
    true
}

/// Runs a scenario without a pause, then runs it again with a pause, clones the paused world, and compares the results.
/// Returns false if the run is too long to be tested.
fn check(number: u64, scenario: &Scenario, rng: &mut Rng) -> bool {
    let mut straight = World::build_driven(scenario).unwrap();
    if !finish(&mut straight) {
        return false;
    }
    let mut chained = World::build(scenario).unwrap();
    chained.run(|_| true);
    let what = format!("scenario {number}: a run with chains");
    same(&what, &without_events(&chained, scenario), &without_events(&straight, scenario));
    let straight = straight.outcome(scenario);
    let now = Time(rng.below(scenario.duration.0 + 1));
    let mut world = World::build_driven(scenario).unwrap();
    assert_eq!(world.run_before(now, |_| true), Ended::Finished);
    read_all(&mut world, scenario, now);
    let (mut fork, mut changed, mut steered) = (world.clone(), world.clone(), world.clone());
    // the changed clone and the steered clone run first, so that the comparisons below detect whether their runs affect
    // the third clone or the original
    let mut scheduled = scenario.clone();
    if change(&mut changed, &mut scheduled, now, rng) && finish(&mut changed) {
        let mut planned = World::build(&scheduled).unwrap();
        planned.run(|_| true);
        let what = format!("scenario {number}: a change");
        same(&what, &without_events(&changed, &scheduled), &without_events(&planned, &scheduled));
    }
    for (i, app) in scenario.app.values().enumerate() {
        if !app.traffic.is_datagrams() {
            steered.steer(now, i, 0, Steer::Cwnd(1_000 + rng.below(100_000)));
            steered.steer(now, i, 0, Steer::PacingRate(Some(10_000.0 + rng.below(1_000_000) as f64)));
        }
    }
    finish(&mut steered);
    finish(&mut fork);
    finish(&mut world);
    same(&format!("scenario {number}: the fork"), &fork.outcome(scenario), &straight);
    same(&format!("scenario {number}: the original"), &world.outcome(scenario), &straight);
    true
}

#[test]
fn forks_continue_to_the_same_bytes() {
    let (count, mut done, mut seen) = (count(), 0, BTreeSet::new());
    for number in 0.. {
        if done == count {
            break;
        }
        let mut rng = Rng::named(number, "fork");
        let Some(scenario) = scenario(number, &mut rng) else { continue };
        if !check(number, &scenario, &mut rng) {
            continue;
        }
        done += 1;
        seen.extend(kinds(&scenario));
    }
    if count >= 1000 {
        let named = |what: &str, names: &[&str]| names.iter().map(|name| format!("{what} {name}")).collect::<Vec<_>>();
        let laws: Vec<&str> =
            qdisc::LawSpec::NAMES.iter().copied().filter(|name| *name != qdisc::OUTSIDE.name).collect();
        let all = [
            named("queue", &qdisc::QDISCS.iter().map(|q| q.name).collect::<Vec<_>>()),
            named("law", &laws),
            named("service", &SERVICES),
            named("delivery", &port::DELIVERIES.iter().map(|d| d.name).collect::<Vec<_>>()),
            named("app", &traffic::APPS.iter().map(|a| a.name).collect::<Vec<_>>()),
            named("tcp", &tcp::PRESETS.iter().map(|p| p.0).collect::<Vec<_>>()),
            controllers().iter().map(|name| format!("controller {name}")).collect(),
        ];
        let missing: Vec<_> = all.concat().into_iter().filter(|name| !seen.contains(name)).collect();
        assert!(missing.is_empty(), "these never occurred: {missing:?}");
    }
    println!("{done} scenarios");
}
