//! Tests of forks: a fork gives the same results, byte for byte, and shares no state; a stack that cannot be copied is refused.

use crate::stacks::{Log, Ticker, scenario, text, ticking};
use net::{Datagram, Duration, Endpoint, Network, Time, Transmit};
use std::sync::{Arc, Mutex};

/// A ticker that can be forked. Each copy has its own log.
struct Forked {
    stack: Ticker,
    /// The logs of all copies.
    logs: Arc<Mutex<Vec<Log>>>,
}

impl Endpoint for Forked {
    fn handle(&mut self, now: Time, datagram: Datagram) {
        self.stack.handle(now, datagram);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Transmit> {
        self.stack.poll_transmit(now)
    }

    fn next_timeout(&mut self) -> Option<Time> {
        self.stack.next_timeout()
    }

    fn on_timeout(&mut self, now: Time) {
        self.stack.on_timeout(now);
    }

    fn fork(&self) -> Option<Box<dyn Endpoint + Send>> {
        let log = Log::new(Mutex::new(self.stack.log.lock().unwrap().clone()));
        self.logs.lock().unwrap().push(log.clone());
        let stack = Ticker { log, ..self.stack };
        Some(Box::new(Self { stack, logs: self.logs.clone() }))
    }
}

/// Returns a tuple: a network whose stacks can be forked, the log of the network's receiver, and the logs of the
/// receiver's copies.
fn forking(queue: &str, interval: Duration) -> (Network, Log, Arc<Mutex<Vec<Log>>>) {
    let mut network = Network::from_toml(&scenario(queue)).unwrap();
    let (receiver, logs) = (Ticker::new(None), Arc::default());
    let log = receiver.log.clone();
    let to = network.add_endpoint("server", Forked { stack: receiver, logs: Arc::clone(&logs) }).unwrap();
    let sender = Ticker { interval, ..Ticker::new(Some(to)) };
    network.add_endpoint("client", Forked { stack: sender, logs: Arc::default() }).unwrap();
    (network, log, logs)
}

#[test]
fn a_fork_continues_to_the_same_bytes() {
    for queue in ["\"droptail\"", "{ codel = { ecn = true } }", "\"cake\"", "\"dualpi2\"", "\"fq_pie\""] {
        // a datagram every 0.7 ms (11.7 Mbit/s) overloads the link, so in all forks but the first (at 0), datagrams are
        // in flight and in the queue
        for at in [Time::ZERO, Time(7_000_001), Time(2_345_678_901), Time(4_999_999_999)] {
            let interval = Duration::from_micros(700);
            let (mut straight, log, _) = forking(queue, interval);
            straight.run().unwrap();
            let (mut original, own, copies) = forking(queue, interval);
            original.run_until(at).unwrap();
            let mut fork = original.fork().unwrap();
            let before = own.lock().unwrap().len();
            fork.run().unwrap();
            assert_eq!(own.lock().unwrap().len(), before, "the fork's datagrams reach its own stack only");
            original.run().unwrap();
            assert!(text(&fork) == text(&straight) && text(&original) == text(&straight), "{queue} at {at}");
            let copy = copies.lock().unwrap()[0].clone();
            assert!(*copy.lock().unwrap() == *log.lock().unwrap() && *own.lock().unwrap() == *log.lock().unwrap());
        }
    }
}

#[test]
fn a_stack_without_a_fork_is_named() {
    let (mut network, _) = ticking("\"droptail\"");
    network.run_until(Time(1_000_000)).unwrap();
    let problem = network.fork().err().unwrap();
    assert_eq!(problem.to_string(), "endpoint.server: this stack cannot be forked; implement Endpoint::fork");
    // the failed fork left the network unchanged
    network.run().unwrap();
}

#[test]
fn a_panic_in_a_fork_is_a_line() {
    struct Bad;
    impl Endpoint for Bad {
        fn handle(&mut self, _: Time, _: Datagram) {}
        fn poll_transmit(&mut self, _: Time) -> Option<Transmit> {
            None
        }
        fn next_timeout(&mut self) -> Option<Time> {
            None
        }
        fn on_timeout(&mut self, _: Time) {}
        fn fork(&self) -> Option<Box<dyn Endpoint + Send>> {
            panic!("no copies\nof this");
        }
    }
    let mut network = Network::from_toml(&scenario("\"droptail\"")).unwrap();
    network.add_endpoint("server", Bad).unwrap();
    network.add_endpoint("client", Bad).unwrap();
    let problem = network.fork().err().unwrap();
    assert_eq!(problem.to_string(), "endpoint.server: panicked in fork: no copies of this");
}
