//! Tests of the datagrams that endpoints receive, and of the results of a run.

use crate::stacks::{Ticker, number, scenario, text, ticking};
use net::{Datagram, Duration, Ecn, Endpoint, Network, Outcome, Time, Transmit};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[test]
fn the_bytes_arrive_as_they_were_sent() {
    let (mut network, log) = ticking("\"droptail\"");
    network.run().unwrap();
    let log = log.lock().unwrap();
    for (number, (_, _, bytes)) in (0_u64..).zip(log.iter()).take(20) {
        assert_eq!((bytes.len(), &bytes[..8], bytes[8]), (1000, &number.to_be_bytes()[..], 0xab));
    }
    // The first datagram leaves at once: its 1028 bytes take 822.4 us at 10 Mbit/s, and propagation takes 10 ms. CUBIC's SYN, a
    // packet of 60 bytes (48 us), is sent just before the datagram or just after it. The upper limit allows for 74 bytes
    // (59.2 us).
    let first = log[0].0.0;
    assert!((10_822_400..=10_881_600).contains(&first), "{first}");
}

#[test]
fn a_row_counts_what_was_delivered_and_dropped() {
    // 1000 datagrams are sent in 5 s; the last few have not arrived at the end
    let (mut network, log) = ticking("{ droptail = { limit = \"20p\" } }");
    network.run().unwrap();
    let outcome = network.outcome().unwrap();
    let arrived = log.lock().unwrap().len() as f64;
    let row = |key: &str| number(&outcome, "client", key);
    assert_eq!((row("datagrams_sent"), row("goodput_bytes")), (1000.0, 1000.0 * arrived));
    assert!(row("dropped_packets") > 0.0, "CUBIC fills 20 packets");
    let in_flight = row("datagrams_sent") - arrived - row("dropped_packets");
    assert!((1.0..10.0).contains(&in_flight), "{in_flight}");
    assert!(number(&outcome, "cubic", "goodput_bytes") > 4e6, "CUBIC takes the rest of 10 Mbit/s");
    assert_eq!(number(&outcome, "client", "ce_packets"), 0.0);
}

#[test]
fn a_mark_arrives_with_its_datagram() {
    let (mut network, log) = ticking("{ codel = { ecn = true } }");
    network.run().unwrap();
    let marked = log.lock().unwrap().iter().filter(|(_, ecn, _)| *ecn == Ecn::Ce).count();
    assert!(marked > 0);
    assert_eq!(number(&network.outcome().unwrap(), "client", "ce_packets"), marked as f64);
}

#[test]
fn a_run_in_steps_is_the_same_run() {
    let queue = "{ codel = { ecn = true } }";
    let (mut straight, log) = ticking(queue);
    straight.run().unwrap();
    let (mut stepped, stepped_log) = ticking(queue);
    for ms in 1..=5000 {
        stepped.run_until(Time(ms * 1_000_000)).unwrap();
    }
    assert!(*log.lock().unwrap() == *stepped_log.lock().unwrap());
    assert!(text(&straight) == text(&stepped));
}

#[test]
fn a_capture_has_the_real_bytes_and_is_the_same_twice() {
    let capture = || {
        let (network, _) = ticking("{ codel = { ecn = true } }");
        let mut network = network.capture(Some("up"), [Vec::new(), Vec::new()]);
        network.run().unwrap();
        network.into_sink().unwrap().finish().unwrap()
    };
    let [left, right] = capture();
    let numbered = |file: &[u8], n: u64| {
        let mut text = n.to_be_bytes().to_vec();
        text.extend([0xab; 992]);
        file.windows(1000).filter(|bytes| **bytes == text).count()
    };
    assert_eq!([numbered(&left, 0), numbered(&left, 999), numbered(&right, 500)], [1, 1, 1]);
    assert!(capture() == [left, right]);
}

/// Tests that a result before the end covers the time so far, and counts what open connections have sent so far.
#[test]
fn a_result_before_the_end_covers_the_time_so_far() {
    let run = |seconds: u64| {
        let (mut network, _) = ticking("{ droptail = { limit = \"20p\" } }");
        network.run_until(Time(seconds * 1_000_000_000 - 1)).unwrap();
        network.outcome().unwrap()
    };
    // the same network, whose scenario ends after 2 s
    let text = scenario("{ droptail = { limit = \"20p\" } }").replace("\"5s\"", "\"2s\"");
    let mut short = Network::from_toml(&text).unwrap();
    let to = short.add_endpoint("server", Ticker::new(None)).unwrap();
    short.add_endpoint("client", Ticker::new(Some(to))).unwrap();
    short.run().unwrap();
    let (early, short) = (run(2), short.outcome().unwrap());
    assert_eq!(early.summary["duration_s"], 2.0);
    for app in ["client", "cubic"] {
        for key in ["goodput_mbit", "retransmits", "packets"] {
            assert_eq!(early.summary["apps"][app][key], short.summary["apps"][app][key], "{app} {key}");
        }
    }
    let utilisation = |of: &Outcome| of.summary["links"]["up"]["utilisation"].as_f64().unwrap();
    assert!((utilisation(&early) - utilisation(&short)).abs() < 0.01);
    assert_eq!(run(5).summary["duration_s"], 5.0);
}

/// Tests that a result during the warm-up covers the whole time so far.
#[test]
fn a_result_during_the_warm_up_covers_the_time_so_far() {
    let text = scenario("\"droptail\"").replace("duration = \"5s\"", "duration = \"5s\"\nrecord.warm_up = \"3s\"");
    let mut network = Network::from_toml(&text).unwrap();
    let to = network.add_endpoint("server", Ticker::new(None)).unwrap();
    network.add_endpoint("client", Ticker::new(Some(to))).unwrap();
    network.run_until(Time(2_000_000_000 - 1)).unwrap();
    let early = network.outcome().unwrap();
    assert_eq!(early.summary["duration_s"], 2.0);
    let (bytes, mbit) = (number(&early, "cubic", "goodput_bytes"), number(&early, "cubic", "goodput_mbit"));
    assert!(bytes > 0.0 && (mbit - bytes * 8e-6 / 2.0).abs() < 1e-6, "{bytes} bytes in 2 s, {mbit} Mbit/s");
}

#[test]
fn endpoints_do_not_change_the_rest_of_a_run_that_they_do_not_disturb() {
    // both endpoints only receive, so CUBIC's goodput equals that of a run without endpoints
    let mut alone = Network::from_toml(&scenario("\"droptail\"")).unwrap();
    alone.run().unwrap();
    let mut beside = Network::from_toml(&scenario("\"droptail\"")).unwrap();
    beside.add_endpoint("server", Ticker::new(None)).unwrap();
    beside.add_endpoint("client", Ticker::new(None)).unwrap();
    beside.run().unwrap();
    let goodput = |network: &Network| number(&network.outcome().unwrap(), "cubic", "goodput_bytes");
    assert_eq!(goodput(&alone), goodput(&beside));
}

#[test]
fn problems_are_found_before_a_run() {
    let mut network = Network::from_toml(&scenario("\"droptail\"")).unwrap();
    let unknown = network.add_endpoint("clint", Ticker::new(None)).unwrap_err().to_string();
    assert!(unknown.contains("did you mean \"client\"?"), "{unknown}");
    let taken = network.add_named("cubic", "client", 1500, Ticker::new(None)).unwrap_err();
    assert_eq!(taken.to_string(), "endpoint.cubic: another application has this name");
    network.add_endpoint("client", Ticker::new(None)).unwrap();
    let alone = network.build().unwrap_err().to_string();
    assert_eq!(alone, "endpoint.client: there is no endpoint at another node; add one that it can reach");
    let endpoint = "[app.mine]\nfrom = \"client\"\nto = [\"server\"]\n\
                    traffic = { endpoint = { port = 1, peer_ports = [2] } }\n";
    let mut network = Network::from_toml(&(scenario("\"droptail\"") + endpoint)).unwrap();
    let problem = network.build().unwrap_err();
    assert_eq!(problem.path, "app.mine.traffic.endpoint");
}

/// A receiver with a timeout every 50 ms. The arrival of a datagram moves the next timeout to 1 ms after the arrival.
struct Restless {
    at: Time,
    polls: Arc<AtomicU64>,
}

impl Endpoint for Restless {
    fn handle(&mut self, now: Time, _: Datagram) {
        self.at = now + Duration::from_millis(1);
    }
    fn poll_transmit(&mut self, _: Time) -> Option<Transmit> {
        self.polls.fetch_add(1, Ordering::Relaxed);
        None
    }
    fn next_timeout(&mut self) -> Option<Time> {
        Some(self.at)
    }
    fn on_timeout(&mut self, now: Time) {
        self.at = now + Duration::from_millis(50);
    }
}

#[test]
fn a_timeout_that_moves_wakes_its_endpoint_once() {
    let mut network = Network::from_toml(&scenario("\"droptail\"")).unwrap();
    let polls = Arc::new(AtomicU64::new(0));
    let to = network.add_endpoint("server", Restless { at: Time::ZERO, polls: polls.clone() }).unwrap();
    network.add_endpoint("client", Ticker::new(Some(to))).unwrap();
    network.run().unwrap();
    // at most 1000 datagrams arrive. Each datagram causes two polls: one on arrival, and one at the timeout 1 ms later.
    // The start of the run, and timeouts after 50 ms without a datagram, add a few polls
    let polls = polls.load(Ordering::Relaxed);
    assert!((1000..2100).contains(&polls), "{polls}");
}
