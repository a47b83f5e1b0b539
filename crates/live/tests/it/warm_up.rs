//! Tests that the measured counts of a link on the bench begin when the warm-up ends, however late the bench is
//! advanced.

use live::bench::{Arrival, Leaving};
use live::{Bench, Plan, Side, craft};
use port::Carries;
use scenario::read::{Format, scenario};
use units::{BitRate, Duration, Time};

const TEXT: &str = r#"
duration = "20s"
record.warm_up = "10s"
[link.up]
from = "a"
to = "b"
rate = "1mbit"
delay = "10ms"
queue.droptail = { limit = "10p" }
lose = [3]
[link.xback]
from = "b"
rate = "1mbit"
to = "a"
"#;

/// Sends one datagram of 1250 B every 5 ms from 0 to `until`. This is twice the rate of the link, because a datagram
/// takes 10 ms to transmit. Returns the bench.
fn overload(until: Time) -> Bench {
    let s = scenario(TEXT, Format::Toml, &[]).unwrap();
    let plan = Plan::new(&s, None, BitRate(1_000_000_000)).unwrap();
    let mut bench = Bench::build(&s, &plan, s.duration, ()).unwrap();
    let mut out = |_: Leaving<'_>| {};
    for k in (0..).take_while(|k| k * 5_000_000 < until.0) {
        let packet = craft::udp(false, 1, 2, (1000, 80), 1250, 0);
        let arrival = bench.arrive(Time(k * 5_000_000), Side::Left, &packet, &mut out);
        assert!(matches!(arrival, Arrival::Taken { .. }));
    }
    bench.advance(Time(until.0 - 1), &mut out);
    bench.finish(until);
    bench
}

#[test]
fn the_bench_counts_from_the_end_of_the_warm_up() {
    // the link and the expected numbers are the same as in the simulator's test (crates/sim/tests/it/measures.rs)
    let bench = overload(Time(20_000_000_000));
    let link = bench.links.iter().find(|l| l.name == "up").unwrap();
    let (all, before) = (link.carrier.counts(Time::ZERO), &link.before);
    let since = [
        all.offered.packets - before.offered.packets,
        all.delivered.packets - before.delivered.packets,
        all.dropped.packets - before.dropped.packets,
    ];
    assert_eq!(since, [2000, 1000, 1000]);
    assert_eq!((before.backlog.packets, before.in_flight, all.backlog.packets, all.in_flight), (10, 2, 10, 2));
    // the third packet was lost on the wire, during the warm-up
    assert_eq!(all.drops[packet::DropReason::LinkLoss as usize], 1);
    let meter = link.meter.as_ref().unwrap();
    assert_eq!((meter.queue.time(), meter.queue.mean(), meter.queue.max()), (Duration::from_secs(10), 10.0, 10));
    assert_eq!((meter.sojourn.count(), meter.sojourn.min()), (1000, Some(Duration::from_millis(100))));
}

#[test]
fn a_run_that_ends_in_its_warm_up_has_counted_nothing() {
    let bench = overload(Time(5_000_000_000));
    let link = bench.links.iter().find(|l| l.name == "up").unwrap();
    assert!(link.carrier.counts(Time::ZERO).offered.packets > 900);
    assert_eq!(link.carrier.counts(Time::ZERO), *link.before);
}
