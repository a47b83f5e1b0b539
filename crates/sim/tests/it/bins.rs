//! Tests that a bin [a, b) of a series contains nothing that happens at b, the end of the bin.

use crate::common::{Dice, Ear, Numbers, column, read, series};
use record::{Mask, Record};
use sim::{Column, Outcome, Steer, World};
use units::Time;

/// Width of a bin in the scenarios of [`Dice`], ns.
const BIN: u64 = 10_000_000;
/// Number of bins in these scenarios.
const BINS: usize = 600;

/// Returns scenarios in which many events are simultaneous, and often happen at the end of a bin.
fn scenarios(count: u64) -> impl Iterator<Item = String> {
    (0..count).map(|n| match n % 3 {
        0 => Dice::new(5000 + n, Numbers::Round, true).scenario(),
        1 => Dice::new(5000 + n, Numbers::Round, false).tree(),
        _ => Dice::new(5000 + n, Numbers::Round, false).line(),
    })
}

/// Returns the column `name` of the series of flow 0 of `app` in one direction, one value for each bin. Returns `None`
/// if no packet of the flow arrived in this direction.
fn of_flow<'a>(outcome: &'a Outcome, app: &str, direction: &str, name: &str) -> Option<&'a [f64]> {
    let [Column::Text(apps), Column::Text(directions)] =
        ["app", "direction"].map(|c| column(outcome, "flow_series", c))
    else {
        panic!("names are text")
    };
    let Column::F64(values) = column(outcome, "flow_series", name) else { panic!("{name} is no number") };
    let first = (0..apps.len()).find(|i| apps[*i] == *app && directions[*i] == *direction)?;
    Some(&values[first..first + BINS])
}

#[test]
fn the_sender_at_the_end_of_a_bin_is_that_before_the_events_of_this_time() {
    let (mut read_states, mut overlaps) = (0, 0);
    for toml in scenarios(30) {
        let s = read(&toml);
        let mut world = World::build_driven(&s).unwrap();
        let mut states = Vec::new();
        for bin in 1..=BINS as u64 {
            world.run_before(Time(bin * BIN), |_| true);
            overlaps += (0..s.app.len()).filter(|app| world.active(*app, 0).len() > 1).count();
            states.push((0..s.app.len()).map(|app| world.sender(app, 0)).collect::<Vec<_>>());
        }
        world.run(|_| true);
        let outcome = world.outcome(&s);
        for (i, app) in s.app.keys().enumerate().filter(|(_, app)| s.app[*app].traffic.rows() > 0) {
            let columns = ["forward", "reverse"]
                .map(|way| ["cwnd_bytes", "ssthresh_bytes"].map(|name| of_flow(&outcome, app, way, name)));
            for (bin, state) in states.iter().enumerate().filter_map(|(bin, of)| Some((bin, of[i].as_ref()?))) {
                let [Some(cwnd), Some(ssthresh)] = columns[usize::from(state.reverse)] else { continue };
                let ssthresh = ssthresh[bin];
                let infinite = state.probe.ssthresh_bytes == u64::MAX;
                let expected = if infinite { f64::NAN } else { state.probe.ssthresh_bytes as f64 };
                let agree = cwnd[bin] == state.probe.cwnd_bytes as f64 && ssthresh.to_bits() == expected.to_bits();
                assert!(agree, "{app}, bin {bin}: {} and {ssthresh}, not {state:?}\n{toml}", cwnd[bin]);
                read_states += 1;
            }
        }
    }
    assert!(read_states > 10_000 && overlaps > 1000, "{read_states} states, {overlaps} with several connections");
}

#[test]
fn the_queue_at_the_end_of_a_bin_is_that_before_the_events_of_this_time() {
    let (mut lengths, mut changes_at_ends) = (0, 0);
    for toml in scenarios(30) {
        let s = read(&toml);
        let links = s.network().unwrap().links;
        // the expected queue lengths come from the links' own counters, in a run that pauses at the end of every bin
        let mut driven = World::build_driven(&s).unwrap();
        let mut expected = vec![Vec::new(); links.len()];
        for bin in 1..=BINS as u64 {
            let now = Time(bin * BIN);
            driven.run_before(now, |_| true);
            for (i, of) in expected.iter_mut().enumerate() {
                of.push(f64::from(driven.link(i as u16, now).counts.backlog.packets));
            }
        }
        driven.run(|_| true);
        let mut ports = World::with_sink(&s, Ear::new(Mask::ALL)).unwrap();
        ports.run(|_| true);
        let at_end = |of: &&(Time, Record)| {
            of.0.0.is_multiple_of(BIN) && matches!(of.1, Record::Enqueued { .. } | Record::Dequeued { .. })
        };
        changes_at_ends += ports.sink().records.iter().filter(at_end).count();
        let mut chains = World::build(&s).unwrap();
        chains.run(|_| true);
        for outcome in [driven.outcome(&s), ports.outcome(&s), chains.outcome(&s)] {
            for (link, expected) in links.iter().zip(&expected).filter(|(link, _)| link.recorded) {
                let found = series(&outcome, "queue_series", "queue_packets", "link", &link.name);
                assert_eq!(found, *expected, "{}\n{toml}", link.name);
                lengths += found.iter().filter(|n| **n > 0.0).count();
            }
        }
    }
    assert!(lengths > 10_000 && changes_at_ends > 1000, "{lengths} lengths, {changes_at_ends} changes");
}

#[test]
fn drops_count_in_the_bin_in_which_they_happen() {
    let (mut at_ends, mut all, mut compared) = (0, 0, 0);
    for toml in scenarios(60) {
        let s = read(&toml);
        let mut world = World::with_sink(&s, Ear::new(Mask::ALL)).unwrap();
        world.run(|_| true);
        let mut expected = vec![0.0; BINS];
        for (at, _) in world.sink().records.iter().filter(|(_, of)| matches!(of, Record::Dropped { .. })) {
            expected[(at.0 / BIN) as usize] += 1.0;
            all += 1;
            at_ends += u32::from(at.0 % BIN == 0);
        }
        let mut chains = World::build(&s).unwrap();
        chains.run(|_| true);
        for outcome in [world.outcome(&s), chains.outcome(&s)] {
            let Column::F64(dropped) = column(&outcome, "flow_series", "dropped_packets") else { panic!("numbers") };
            let sum = |bin: usize| dropped.iter().skip(bin).step_by(BINS).sum::<f64>();
            let sums: Vec<f64> = (0..BINS).map(sum).collect();
            if sums.iter().sum::<f64>() != expected.iter().sum::<f64>() {
                // if no packet of a flow arrived in a direction, the table omits this direction and its drops
                continue;
            }
            compared += 1;
            let bin = (0..BINS).find(|bin| sums[*bin] != expected[*bin]);
            assert!(bin.is_none(), "{bin:?}: {:?}\n{toml}", bin.map(|bin| (sums[bin], expected[bin])));
        }
    }
    assert!(compared > 80, "{compared} of 120 outcomes");
    assert!(at_ends > 10, "{at_ends} of {all} drops happen at the end of a bin");
}

#[test]
fn a_setting_at_the_end_of_a_bin_counts_in_the_next() {
    for (toml, bin) in scenarios(6).zip([100, 150, 199, 250, 300, BINS]) {
        let s = read(&toml);
        let mut straight = World::build_driven(&s).unwrap();
        let mut world = straight.clone();
        straight.run(|_| true);
        let now = Time(bin as u64 * BIN);
        world.run_before(now, |_| true);
        for app in 0..s.app.len() {
            world.steer(now, app, 0, Steer::Cwnd(7 * 1000));
        }
        world.run(|_| true);
        let [with, without] = [&world, &straight].map(|world| world.outcome(&s));
        for app in s.app.keys() {
            for (name, direction) in
                [("cwnd_bytes", "forward"), ("cwnd_bytes", "reverse"), ("dropped_packets", "forward")]
            {
                let of = |outcome| of_flow(outcome, app, direction, name).map(|values| format!("{:?}", &values[..bin]));
                assert_eq!(of(&with), of(&without), "{app} {name} {direction}\n{toml}");
            }
        }
    }
}
