//! Tests rule 5 of docs/architecture.md: if departures are computed when a packet enters a link or a chain of links,
//! the results are byte for byte those of the same links run as ports, even for simultaneous events. Each random
//! network is run three times: with chains; with an event for each hop of a packet; and with a sink for records, which
//! makes every link a port.

use crate::common::{Dice, Ear, Numbers, equal, number, read, said};
use port::Change;
use record::Mask;
use sim::{Ended, World};
use units::{BitRate, Time};

/// Runs a scenario three times: with chains, on the fast path with an event for each hop, and with every link as a
/// port. The results may differ only in the number of events.
fn compare(toml: &str, what: &str) {
    let s = read(toml);
    let mut fast = World::build(&s).unwrap();
    fast.run(|_| true);
    let mut hops = World::build_driven(&s).unwrap();
    hops.run(|_| true);
    let mut slow = World::with_sink(&s, Ear::new(Mask::ALL)).unwrap();
    slow.run(|_| true);
    assert!(!slow.sink().records.is_empty());
    let slow = slow.outcome(&s);
    for (way, world) in [("chains", &fast), ("the fast path", &hops)] {
        let outcome = world.outcome(&s);
        if !equal(&outcome, &slow) {
            let (one, other) = (said(&outcome), said(&slow));
            let line = one.lines().zip(other.lines()).find(|(a, b)| a != b);
            panic!("{what}: {way} and ports differ, first in\n{line:.1000?}\n{toml}");
        }
    }
}

#[test]
fn when_nothing_coincides() {
    for n in 0..60 {
        compare(&Dice::new(n, Numbers::Odd, false).scenario(), &format!("odd {n}"));
    }
}

#[test]
fn when_much_happens_in_one_moment() {
    for n in 0..120 {
        compare(&Dice::new(n, Numbers::Round, false).scenario(), &format!("round {n}"));
    }
}

#[test]
fn beside_links_that_are_always_ports() {
    for n in 0..60 {
        let numbers = if n % 2 == 0 { Numbers::Round } else { Numbers::Odd };
        compare(&Dice::new(1000 + n, numbers, true).scenario(), &format!("mixed {n}"));
    }
}

#[test]
fn beside_shapers() {
    for n in 0..150 {
        let numbers = if n % 4 == 0 { Numbers::Odd } else { Numbers::Round };
        let mut dice = Dice { shapers: true, ..Dice::new(5000 + n, numbers, true) };
        compare(&dice.scenario(), &format!("shapers {n}"));
    }
}

#[test]
fn beside_links_with_opportunities() {
    for n in 0..60 {
        let numbers = if n % 2 == 0 { Numbers::Round } else { Numbers::Odd };
        let mut dice = Dice { opportunities: true, ..Dice::new(3000 + n, numbers, true) };
        compare(&dice.scenario(), &format!("opportunities {n}"));
    }
}

#[test]
fn where_chains_meet() {
    for n in 0..120 {
        let numbers = if n % 4 == 0 { Numbers::Odd } else { Numbers::Round };
        compare(&Dice::new(2000 + n, numbers, false).tree(), &format!("tree {n}"));
    }
}

#[test]
fn through_ports() {
    for n in 0..120 {
        let numbers = if n % 2 == 0 { Numbers::Odd } else { Numbers::Round };
        compare(&Dice::new(4000 + n, numbers, false).line(), &format!("line {n}"));
    }
}

/// Two pings leave at the same time and reach the bottleneck at the same time: one over links of 1 and 9 ms, the other
/// over links of 9 and 1 ms. Each ping has its own last link to the bottleneck. The ping that enters its last link
/// first is handled first, although that link has the higher number.
#[test]
fn the_packet_that_entered_its_last_link_first_goes_first() {
    let mut toml = "duration = '1s'\n".to_owned();
    for (name, from, to, rest) in [
        ("early_0", "e", "er", "delay = '1ms'"),
        ("z_early", "er", "r", "delay = '9ms'"),
        ("late_0", "l", "lr", "delay = '9ms'"),
        ("a_late", "lr", "r", "delay = '1ms'"),
        ("neck", "r", "d", "rate = '1mbit'\ndelay = '5ms'"),
        ("back", "d", "r", "delay = '5ms'"),
        ("to_early", "r", "e", "delay = '10ms'"),
        ("to_late", "r", "l", "delay = '10ms'"),
    ] {
        toml += &format!("[link.{name}]\nfrom = '{from}'\nto = '{to}'\n{rest}\n");
    }
    for (name, from) in [("a_late", "l"), ("z_early", "e")] {
        toml += &format!("[app.{name}]\nfrom = '{from}'\nto = ['d']\ntraffic.ping = {{ count = 1, size = '1000B' }}\n");
    }
    compare(&toml, "two pings");
    let mut world = World::build(&read(&toml)).unwrap();
    world.run(|_| true);
    let outcome = world.outcome(&read(&toml));
    let rtt = |app: &str| number(&outcome, &format!("apps.{app}.ping.rtt_ms.max"));
    // the bottleneck takes 8 ms to send a ping, and the second ping waits for the first
    assert!((rtt("a_late") - rtt("z_early") - 8.0).abs() < 0.5, "{} and {}", rtt("a_late"), rtt("z_early"));
}

/// Tests that no link of a chain, whether plain or a port, and no token bucket can be changed, and that the same links can
/// be changed in a world that a caller drives.
#[test]
fn a_link_whose_departures_are_computed_in_advance_refuses_a_change() {
    let mut toml = "duration = '2s'\n".to_owned();
    for (name, from, to, queue) in
        [("a", "s", "r1", "droptail = {}"), ("b", "r1", "r2", "codel = {}"), ("c", "r2", "d", "droptail = {}")]
    {
        toml += &format!("[link.{name}]\nfrom = '{from}'\nto = '{to}'\nrate = '1mbit'\ndelay = '1ms'\nqueue.{queue}\n");
    }
    toml += "[link.z]\nfrom = 'd'\nto = 's'\nrate = '2mbit'\nshaper = { max_sustained_rate = '1mbit' }\n";
    toml += "[app.x]\nfrom = 's'\nto = ['d']\ntraffic.ftp = {}\n";
    let s = read(&toml);
    let change = Change { rate: Some(BitRate(2_000_000)), ..Change::default() };
    let at = Time(1_000_000_000);
    let [mut chains, mut driven] = [World::build(&s).unwrap(), World::build_driven(&s).unwrap()];
    for world in [&mut chains, &mut driven] {
        assert_eq!(world.run_before(at, |_| true), Ended::Finished);
    }
    for i in 0..4 {
        let refused = chains.change(at, i, change, &s).unwrap_err();
        assert!(refused.message.contains("computed in advance"), "link {i}: {refused}");
        driven.change(at, i, change, &s).unwrap();
    }
}
