//! Differential test of `sim::Past`: runs that share their common initial segment (past) give the same bytes as
//! separate runs.
//!
//! The first variant of a random scenario is the scenario itself. Every other variant has some differences: a link
//! changes, an application starts or stops at another time or has other traffic, or a setting differs from the start of
//! the run. [`sim::Timeline`] determines the time up to which a variant has the same past as the first variant. The
//! first variant is simulated once. At each of these times, a copy of it continues as the variant.
//!
//! `BLOATLAB_FORKS=1000` sets the number of scenarios; without it, `cargo test` runs 60.

use super::{count, equal, finish, same};
use fuzz::schema::Range;
use fuzz::source::Source;
use fuzz::world::text;
use scenario::read::{self, Format};
use scenario::{Change, Scenario};
use sim::{Ended, Outcome, Past, Timeline, World};
use std::panic::{AssertUnwindSafe, catch_unwind};
use units::{BitRate, Duration, Prob, Rng, Time};

/// Number of variants of each scenario, not counting the first.
const VARIANTS: usize = 6;

/// Returns a random scenario; `None` if it is not valid or cannot be built.
fn scenario(rng: &mut Rng) -> Option<Scenario> {
    let bytes: Vec<u8> = (0..128).flat_map(|_| rng.bits().to_le_bytes()).collect();
    let scenario = read::scenario(&text(&mut Source::new(&bytes), Range::Usual), Format::Json, &[]).ok()?;
    World::build(&scenario).is_ok().then_some(scenario)
}

/// Runs to the end; returns `None` if the scenario cannot be built or its run is too long.
fn plain(scenario: &Scenario) -> Option<Outcome> {
    let mut world = World::build(scenario).ok()?;
    finish(&mut world).then(|| world.outcome(scenario))
}

/// Returns a random time in the run.
fn moment(of: &Scenario, rng: &mut Rng) -> Duration {
    Duration(rng.below(of.duration.0))
}

/// Schedules a change for every link at the end of the run, and makes some applications start late.
///
/// Two scenarios share no past if a link has scheduled changes in only one of them ([`Timeline`]). So a variant that
/// adds a change to a link can share a past with the base only if the base also has a change for this link.
fn prepared(mut base: Scenario, rng: &mut Rng) -> Scenario {
    for link in base.link.values_mut() {
        let _ = link.schedule(Change { at: base.duration, delay: Some(Duration(1)), ..Change::default() });
    }
    for name in base.app.keys().cloned().collect::<Vec<_>>() {
        if rng.below(2) == 0 {
            let start = moment(&base, rng);
            let app = base.app.get_mut(&name).unwrap();
            (app.start, app.stop) = (start, None);
        }
    }
    base
}

/// Returns a variant: `base` with at most three random differences. An application may get the traffic of an
/// application of the scenario `donor`.
fn variant(base: &Scenario, donor: &Scenario, rng: &mut Rng) -> Scenario {
    let mut made = base.clone();
    for _ in 0..1 + rng.below(3) {
        let link_name = made.link.keys().nth(rng.below(made.link.len() as u64) as usize).unwrap().clone();
        let app_name = made.app.keys().nth(rng.below(made.app.len() as u64) as usize).unwrap().clone();
        let at = moment(&made, rng);
        let link = made.link.get_mut(&link_name).unwrap();
        let app = made.app.get_mut(&app_name).unwrap();
        match rng.below(16) {
            0..4 => {
                let mut change = Change { at, ..Change::default() };
                match rng.below(4) {
                    0 => change.delay = Some(Duration(rng.below(50_000_000))),
                    1 => change.loss = Prob::new(0.02).ok(),
                    2 => change.jitter = Some(Duration(rng.below(5_000_000))),
                    _ => change.rate = Some(BitRate(100_000 + rng.below(20_000_000))),
                }
                let _ = link.schedule(change);
            }
            4..7 => (app.start, app.stop) = (at, None),
            7..9 => app.stop = Some(at),
            // the application gets the traffic, the stack (BBR instead of the donor's own `mine`) and the number of
            // servers of an application of the donor, but keeps its own start
            9..13 => {
                if let Some(other) = donor.app.values().nth(rng.below(3) as usize) {
                    app.traffic = other.traffic.clone();
                    app.tcp = if other.tcp == "mine" { "bbr".into() } else { other.tcp.clone() };
                    app.tcp_server = None;
                    app.to = vec![app.to[0].clone(); other.to.len()];
                }
            }
            13 => app.dscp = rng.below(64) as u8,
            14 => link.rate = Some(BitRate(100_000 + rng.below(20_000_000))),
            _ => {
                made.name = format!("variant {at}");
                made.max_packets = Some(1 << 40);
            }
        }
    }
    made
}

/// Simulates the first variant, and continues each of `variants` from the initial segment (past) that it shares with
/// the first variant. Returns one pair per variant: the time at which its shared past ends, and its outcome. A `skew`
/// above 0 makes the shared past too long on purpose.
fn shared(variants: &[Scenario], skew: Duration) -> Vec<(Time, Outcome)> {
    let first = &variants[0];
    let timelines: Vec<_> = variants.iter().map(|v| Timeline::of(v).unwrap().unwrap()).collect();
    let common: Vec<Time> = timelines.iter().map(|of| timelines[0].common(of)).collect();
    let mut order: Vec<usize> = (0..variants.len()).collect();
    order.sort_by_key(|i| common[*i]);
    let mut past = Past::new(first).unwrap();
    let mut outcomes = Vec::new();
    for i in order {
        // a variant whose differences from the first variant exist from the start of the run, such as another network,
        // cannot continue the past of the first variant
        let from_start = timelines[i].always != timelines[0].always;
        let until = if from_start { Time::ZERO } else { (common[i] + skew).min(Time(first.duration.0)) };
        let ended = past.advance(first, until, |_| true).unwrap();
        assert_eq!(ended, Ended::Finished);
        let own = if from_start { Past::new(&variants[i]).unwrap() } else { past.clone() };
        let (ended, outcome) = own.finish(&variants[i], |_| true).unwrap();
        assert_eq!(ended, Ended::Finished);
        outcomes.push((i, until, outcome));
    }
    outcomes.sort_by_key(|(i, ..)| *i);
    outcomes.into_iter().map(|(_, until, outcome)| (until, outcome)).collect()
}

/// Makes the variants of scenario `number`, and runs each of them separately, without a shared past. Returns the
/// variants and the outcomes of these runs.
///
/// Leaves out variants that cannot be built, take too long or cannot share a past. Returns `None` if the base scenario
/// itself would be left out, or if the random choices give no scenario that can be built.
fn variants(number: u64) -> Option<(Vec<Scenario>, Vec<Outcome>)> {
    let mut rng = Rng::named(number, "past");
    let (base, donor) = (scenario(&mut rng)?, scenario(&mut rng)?);
    let base = prepared(base, &mut rng);
    let mut made = vec![base.clone()];
    made.extend((0..VARIANTS).map(|_| variant(&base, &donor, &mut rng)));
    let (mut kept, mut outcomes) = (Vec::new(), Vec::new());
    for variant in made {
        // a run that depends on external code, such as a controller in Python, cannot share a past with other runs
        let alone = matches!(Timeline::of(&variant), Ok(None));
        if let Some(outcome) = plain(&variant).filter(|_| !alone) {
            kept.push(variant);
            outcomes.push(outcome);
        } else if kept.is_empty() {
            return None;
        }
    }
    Some((kept, outcomes))
}

#[test]
fn a_common_past_gives_the_same_bytes() {
    let (mut runs, mut sharing, mut saved) = (0, 0, 0.0);
    for (number, (made, plain)) in (0..).filter_map(|number| Some((number, variants(number)?))).take(count()) {
        for (i, (until, outcome)) in shared(&made, Duration::ZERO).into_iter().enumerate() {
            same(&format!("scenario {number}: variant {i}"), &outcome, &plain[i]);
            runs += 1;
            sharing += u32::from(i > 0 && until > Time::ZERO);
            saved += if i > 0 { until.secs() / made[i].duration.secs() } else { 0.0 };
        }
    }
    println!("{runs} runs; {sharing} share a past, of {saved:.0} durations in sum");
    assert!(3 * sharing > runs, "too few runs share a past for this test to mean anything");
}

/// If shared pasts are 20 ms too long, the comparison with separate runs fails in at least half of the scenarios.
#[test]
fn a_wrong_common_time_is_found() {
    let scenarios = (0..).filter_map(variants).take(20);
    let found = scenarios.filter(|(made, plain)| {
        // in a build with debug assertions, `shared` panics if an event is scheduled too late. Then `outcomes` is
        // empty, and the scenario counts as one in which the wrong time is detected
        let outcomes = catch_unwind(AssertUnwindSafe(|| shared(made, Duration::from_millis(20)))).unwrap_or_default();
        outcomes.is_empty() || outcomes.iter().zip(plain).any(|((_, outcome), plain)| !equal(outcome, plain))
    });
    assert!(found.count() >= 10, "this test does not find a planted error");
}
