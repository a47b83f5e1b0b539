//! Tests that a stack's misbehaviour ends the run with a one-line message, and that the results are kept.

use crate::stacks::{Ticker, number, scenario, text};
use net::{Datagram, Ecn, Endpoint, Network, Problem, Time, Transmit};
use std::net::SocketAddr;

/// The time at which the stack misbehaves.
const AT: Time = Time(2_000_000_000);

#[derive(Clone, Copy, Debug)]
enum Fault {
    TimeoutInThePast,
    EndlessSending,
    AboveMtu,
    Panic,
    UnknownAddress,
}

/// A stack that sends nothing until it misbehaves.
struct Bad {
    fault: Fault,
    to: SocketAddr,
    done: bool,
}

impl Endpoint for Bad {
    fn handle(&mut self, _: Time, _: Datagram) {}

    fn poll_transmit(&mut self, now: Time) -> Option<Transmit> {
        if now < AT || std::mem::replace(&mut self.done, !matches!(self.fault, Fault::EndlessSending)) {
            return None;
        }
        let (to, len) = match self.fault {
            Fault::TimeoutInThePast => return None,
            Fault::Panic => panic!("index out of\nbounds"),
            Fault::AboveMtu => (self.to, 1473),
            Fault::EndlessSending => (self.to, 1472),
            Fault::UnknownAddress => (SocketAddr::new(self.to.ip(), 1), 100),
        };
        Some(Transmit { to, ecn: Ecn::NotEct, bytes: vec![0; len] })
    }

    fn next_timeout(&mut self) -> Option<Time> {
        let again = !self.done || matches!(self.fault, Fault::TimeoutInThePast);
        again.then_some(AT)
    }

    fn on_timeout(&mut self, _: Time) {}
}

/// Tests that `build` fails on every call. If the second call reported success, a run would simulate nothing.
#[test]
fn a_network_that_cannot_be_built_fails_every_time() {
    let network = Network::from_toml(&scenario("\"droptail\"")).unwrap();
    let mut network = network.with_sink::<()>(|_| Err(Problem::new("disk", "is full")));
    for _ in 0..2 {
        assert_eq!(network.build().unwrap_err().to_string(), "disk: is full");
    }
}

/// Runs a network in which a stack misbehaves as `fault` says while CUBIC uses the same bottleneck. Returns the message
/// of the failure that ended the run.
fn line(fault: Fault) -> String {
    let mut network = Network::from_toml(&scenario("\"droptail\"")).unwrap();
    let to = network.add_endpoint("server", Ticker::new(None)).unwrap();
    network.add_named("bad", "client", 1500, Bad { fault, to, done: false }).unwrap();
    let failure = network.run().unwrap_err();
    assert_eq!((failure.endpoint.as_str(), failure.at), ("bad", AT));
    // the results cover the first 2 s. 1448 of 1500 bytes are payload, so CUBIC's goodput on the link of 10 Mbit/s is
    // below 9.66 Mbit/s; slow start reduces it further
    let (outcome, before) = (network.outcome().unwrap(), text(&network));
    assert!((8.0..9.6).contains(&number(&outcome, "cubic", "goodput_mbit")), "{}", outcome.summary["apps"]);
    assert_eq!(network.run().unwrap_err(), failure, "the run has ended");
    assert!(text(&network) == before);
    failure.to_string()
}

#[test]
fn a_timeout_that_is_never_in_the_future() {
    let action = "asked 1000 times in a row for a timeout that is not in the future";
    assert_eq!(line(Fault::TimeoutInThePast), format!("endpoint \"bad\" at 2.000000000 s: {action}"));
}

#[test]
fn sending_without_end() {
    let action = "sent 65536 datagrams at one moment, and there are more";
    assert_eq!(line(Fault::EndlessSending), format!("endpoint \"bad\" at 2.000000000 s: {action}"));
}

#[test]
fn a_datagram_above_the_mtu() {
    // the IP packet has 1473 bytes of payload and 28 bytes of IPv4 and UDP headers
    let action = "sent an IP packet of 1501 bytes, more than the MTU of 1500 bytes";
    assert_eq!(line(Fault::AboveMtu), format!("endpoint \"bad\" at 2.000000000 s: {action}"));
}

#[test]
fn a_panic() {
    let action = "panicked in poll_transmit: index out of bounds";
    assert_eq!(line(Fault::Panic), format!("endpoint \"bad\" at 2.000000000 s: {action}"));
}

#[test]
fn a_datagram_to_nobody() {
    let line = line(Fault::UnknownAddress);
    assert!(line.ends_with(":1, but no endpoint of another node has this address"), "{line}");
}
