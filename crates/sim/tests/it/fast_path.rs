//! Rule 5 of docs/architecture.md: links computed at enqueue, alone or as a chain, give the same results as the same links run as
//! ports, byte for byte, even for simultaneous events. Random networks run three times, once with a sink for records, which makes every link a
//! port, and once with an event for each hop of a packet.

use crate::common::{Dice, Ear, Numbers, read, said};
use record::Mask;
use sim::World;

/// Runs a scenario with chains, with the fast path alone, and without it. The results may differ only in the number of events.
fn compare(toml: &str, what: &str) {
    let s = read(toml);
    let mut fast = World::build(&s).unwrap();
    fast.run(|_| true);
    let mut hops = World::build_driven(&s).unwrap();
    hops.run(|_| true);
    let mut slow = World::with_sink(&s, Ear::new(Mask::ALL)).unwrap();
    slow.run(|_| true);
    assert!(!slow.sink().records.is_empty());
    let slow = said(&slow.outcome(&s));
    for (way, world) in [("chains", &fast), ("the fast path", &hops)] {
        let said = said(&world.outcome(&s));
        if said != slow {
            let line = said.lines().zip(slow.lines()).find(|(a, b)| a != b);
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
