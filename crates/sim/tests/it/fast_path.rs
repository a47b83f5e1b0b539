//! Rule 5 of docs/architecture.md: a link computed at enqueue gives the same results as the same link run as a port, byte for
//! byte, even for simultaneous events. Random networks run twice, once with a sink for records, which makes every link a
//! port.

use crate::common::{Dice, Ear, Numbers, read, said};
use record::Mask;
use sim::World;

/// Runs a scenario with and without the fast path. The results may differ only in the number of events.
fn compare(toml: &str, what: &str) {
    let s = read(toml);
    let mut fast = World::build(&s).unwrap();
    fast.run(|_| true);
    let mut slow = World::with_sink(&s, Ear::new(Mask::ALL)).unwrap();
    slow.run(|_| true);
    assert!(!slow.sink().records.is_empty());
    let (fast, slow) = (said(&fast.outcome(&s)), said(&slow.outcome(&s)));
    if fast != slow {
        let line = fast.lines().zip(slow.lines()).find(|(a, b)| a != b);
        panic!("{what}: the fast path and the port differ, first in\n{line:.1000?}\n{toml}");
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
