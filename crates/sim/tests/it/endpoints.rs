//! Tests datagrams with real bytes. The tests themselves play the endpoint, and send with `World::send_bytes`.

use packet::Ecn;
use scenario::Scenario;
use scenario::read::{Format, scenario};
use sim::{Wake, World};
use traffic::Traffic;
use units::Time;

/// Returns a scenario with a queue of 10 packets and an endpoint that the program supplies.
fn supplied() -> Scenario {
    let text = "duration = \"1s\"\n[link.up]\nfrom = \"a\"\nto = \"b\"\nboth_ways = true\nrate = \"1mbit\"\n\
                queue = { droptail = { limit = \"10p\" } }\n\
                [app.mine]\nfrom = \"a\"\nto = [\"b\"]\ntraffic = { endpoint = { port = 7, peer_ports = [8] } }\n";
    let mut scenario = scenario(text, Format::Toml, &[]).unwrap();
    if let Traffic::Endpoint(p) = &mut scenario.app.get_mut("mine").unwrap().traffic {
        p.supplied = true;
    }
    scenario
}

#[test]
fn bytes_are_freed_with_their_packets() {
    let mut world = World::build(&supplied()).unwrap();
    assert!(world.run_to_wake(Time::NEVER));
    assert_eq!(world.take_wakes(), [Wake::Due { app: 0 }]);
    for n in 0..100 {
        world.send_bytes(0, 0, (7, 8), Ecn::NotEct, 1000, vec![n; 972]);
    }
    // the queue has room for 10 datagrams, and one more is being sent
    assert_eq!(world.bodies(), 11);
    let mut arrived = Vec::new();
    while world.run_to_wake(Time::NEVER) {
        arrived.extend(world.take_wakes());
    }
    let expected = |n| Wake::Datagram { app: 0, peer: 0, ecn: Ecn::NotEct, bytes: vec![n; 972] };
    assert!(arrived == (0..11).map(expected).collect::<Vec<_>>());
    assert_eq!(world.bodies(), 0);
}

#[test]
fn a_stopped_run_counts_the_time_so_far() {
    let scenario = supplied();
    let mut world = World::build(&scenario).unwrap();
    while world.run_to_wake(Time(249_999_999)) {
        world.take_wakes();
        // a datagram takes 8 ms. Its arrival wakes the endpoint, which then sends the next datagram
        world.send_bytes(0, 0, (7, 8), Ecn::NotEct, 1000, vec![0; 972]);
    }
    // the last event before 250 ms is the sample at the end of bin 1500. A bin lasts 1 s / 6000 = 166 666 ns
    assert_eq!(world.now(), Time(1500 * 166_666));
    world.stop();
    let outcome = world.outcome(&scenario);
    assert_eq!(outcome.summary["duration_s"].as_f64().unwrap() * 1e9, (world.now().0 + 1) as f64);
    assert!(!world.run_to_wake(Time::NEVER), "the run has ended");
}
